//! Draws a plot.

use std::fmt::Write;

use super::scale::Scale;
use crate::show::text::Text;
use crate::show::view::count;

/// The style of plots, for a page that defines `--ink`, `--soft`, `--rule`, `--surface` and `--accent`.
pub const STYLE: &str = include_str!("plot.css");

/// The light and dark colours of a standalone file.
const COLOURS: &str = "svg{--surface:#fff;--ink:#1b1f24;--soft:#59626c;--rule:#e2dfd8;--accent:#0b6b62}\
                       @media(prefers-color-scheme:dark){svg{--surface:#1a1e21;--ink:#e6e9ea;--soft:#9ba6ad;--rule:#2d3438;\
                       --accent:#62cbbb}}";

/// Width of the layer that stretches, in its own units.
const STRETCH: f64 = 1000.0;

/// Smallest distance between the labels of curves, in pixels.
const LINE: f64 = 13.0;

/// A plot, from top to bottom and from back to front.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// A description, also for people who cannot see the plot.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Height between the axes in pixels.
    pub height: f64,
    /// Curves, the last one on top.
    pub curves: Vec<Curve>,
    /// Points without a name. Points that cannot be drawn are `None`, so positions identify the points.
    pub cloud: Vec<Option<(f64, f64)>>,
    /// Points that matter, drawn last.
    pub dots: Vec<Dot>,
}

/// An axis of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The measured quantity, with its unit.
    pub title: String,
    /// The places of its values.
    pub scale: Scale,
}

/// Values that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its values, from left to right.
    pub values: Vec<Value>,
    /// Its role among the curves.
    pub look: Look,
    /// The label at its end; none if empty.
    pub label: String,
}

/// A value of a curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Value {
    /// Its horizontal position.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The lower and the upper end of its interval.
    pub interval: Option<(f64, f64)>,
    /// Text shown on hover. If empty, no point is drawn.
    pub says: String,
}

/// The role of a curve among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The subject of the plot.
    Main,
    /// A curve for comparison.
    Other,
    /// A Pareto front in steps: each value applies until the next.
    Front,
}

/// A point that matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot {
    /// Its horizontal position.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// Whether it is the best of all.
    pub best: bool,
    /// Its position in the cloud.
    pub at: usize,
}

impl Plot {
    /// Renders the plot for a page with [`STYLE`], in a box with room for the numbers next to the axes.
    pub fn inline(&self) -> String {
        format!(
            "<svg class=\"drawn\" role=\"img\" aria-label=\"{}\" width=\"100%\" height=\"{}\">{}</svg>",
            Text(&self.title),
            self.height,
            self.drawing()
        )
    }

    /// Renders a standalone file, `width` pixels wide, that follows the reader's light or dark mode.
    pub fn standalone(&self, width: f64) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a label has few letters")]
        let longest = self.curves.iter().map(|curve| curve.label.chars().count()).max().unwrap_or_default() as f64;
        // Seven pixels per letter.
        let (left, top, right, bottom) = (52.0, 64.0, 16.0 + longest.min(40.0) * 7.0, 52.0);
        let (inner, all) = (width - left - right, self.height + top + bottom);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drawn\" role=\"img\" width=\"{width}\" height=\"{all}\" \
             viewBox=\"0 0 {width} {all}\"><title>{title}</title><style>{COLOURS}{STYLE}</style>\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/><text class=\"title\" x=\"16\" y=\"26\">{title}</text>\
             <text x=\"16\" y=\"46\">{}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <svg x=\"{left}\" y=\"{top}\" width=\"{inner}\" height=\"{}\" overflow=\"visible\">{}</svg></svg>\n",
            Text(&self.y.title),
            width - right,
            all - 12.0,
            Text(&self.x.title),
            self.height,
            self.drawing(),
            title = Text(&self.title),
        )
    }

    fn drawing(&self) -> String {
        let mut drawing = self.grid();
        let mut stretched = String::new();
        self.cloud(&mut stretched);
        self.curves.iter().for_each(|curve| self.curve(curve, &mut stretched));
        let _ = write!(
            drawing,
            "<svg viewBox=\"0 0 {STRETCH} {0}\" preserveAspectRatio=\"none\" width=\"100%\" height=\"{0}\" \
             overflow=\"visible\">{stretched}</svg>",
            self.height
        );
        self.curves.iter().for_each(|curve| self.points(curve, &mut drawing));
        self.labels(&mut drawing);
        for &Dot { x, y, best, at } in &self.dots {
            let (class, x, y) = (if best { "best" } else { "front" }, self.x.scale.place(x), self.down(y));
            let _ = write!(drawing, "<circle class=\"{class}\" data-i=\"{at}\" cx=\"{x:.1}%\" cy=\"{y:.0}\" r=\"5\"/>");
        }
        drawing
    }

    fn grid(&self) -> String {
        let (mut lines, height) = (String::new(), self.height);
        for tick in self.y.scale.ticks() {
            let (at, label) = (self.down(tick), tick_text(tick));
            let _ = write!(
                lines,
                "<line class=\"grid\" x2=\"100%\" y1=\"{at:.0}\" y2=\"{at:.0}\"/><text x=\"-8\" y=\"{:.0}\" \
                 text-anchor=\"end\">{label}</text>",
                at + 4.0
            );
        }
        for tick in self.x.scale.ticks() {
            let (at, label) = (self.x.scale.place(tick), tick_text(tick));
            let _ = write!(
                lines,
                "<line class=\"axis\" x1=\"{at:.1}%\" x2=\"{at:.1}%\" y1=\"{height}\" y2=\"{}\"/><text x=\"{at:.1}%\" \
                 y=\"{}\" text-anchor=\"middle\">{label}</text>",
                height + 5.0,
                height + 19.0
            );
        }
        let _ = write!(lines, "<line class=\"axis\" x2=\"100%\" y1=\"{height}\" y2=\"{height}\"/>");
        lines
    }

    /// Draws each point as a line of zero length, of which only the round caps are visible.
    fn cloud(&self, drawing: &mut String) {
        if self.cloud.is_empty() {
            return;
        }
        drawing.push_str("<path class=\"cloud\" d=\"");
        for point in &self.cloud {
            let _ = match *point {
                Some((x, y)) => write!(drawing, "M{:.0} {:.0}z", self.along(x), self.down(y)),
                None => write!(drawing, "M0 0"),
            };
        }
        drawing.push_str("\"/>");
    }

    fn curve(&self, curve: &Curve, drawing: &mut String) {
        let mut band = Vec::new();
        if let Some(interval) = curve.values.iter().map(|value| value.interval).collect::<Option<Vec<_>>>() {
            let ends = || curve.values.iter().zip(&interval);
            band.extend(ends().map(|(value, (lo, _))| (value.x, *lo)));
            band.extend(ends().rev().map(|(value, (_, hi))| (value.x, *hi)));
        }
        let mut line = Vec::new();
        for Value { x, y, .. } in &curve.values {
            if let (Look::Front, Some(&(_, before))) = (curve.look, line.last()) {
                line.push((*x, before));
            }
            line.push((*x, *y));
        }
        let class = curve.look.class();
        for (what, class, points) in [("polygon", "band", band), ("polyline", class, line)] {
            if points.len() > 1 {
                let places: Vec<String> =
                    points.iter().map(|(x, y)| format!("{:.0},{:.0}", self.along(*x), self.down(*y))).collect();
                let _ = write!(drawing, "<{what} class=\"{class}\" points=\"{}\"/>", places.join(" "));
            }
        }
    }

    fn points(&self, curve: &Curve, drawing: &mut String) {
        // A single value has no band.
        if let [Value { x, interval: Some((lo, hi)), .. }] = curve.values[..] {
            let (x, lo, hi) = (self.x.scale.place(x), self.down(lo), self.down(hi));
            let _ =
                write!(drawing, "<line class=\"main\" x1=\"{x:.1}%\" x2=\"{x:.1}%\" y1=\"{lo:.0}\" y2=\"{hi:.0}\"/>");
        }
        for Value { x, y, says, .. } in curve.values.iter().filter(|value| !value.says.is_empty()) {
            let (class, x, y) = (curve.look.class(), self.x.scale.place(*x), self.down(*y));
            let _ = write!(
                drawing,
                "<circle class=\"{class}\" cx=\"{x:.1}%\" cy=\"{y:.0}\" r=\"4\"><title>{}</title></circle>",
                Text(says)
            );
        }
    }

    /// Draws each label at the end of its curve, or as near to it as the labels that it would cover allow.
    fn labels(&self, drawing: &mut String) {
        let end = |curve: &'_ Curve| curve.values.last().map(|value| (self.x.scale.place(value.x), self.down(value.y)));
        let labelled = self.curves.iter().filter(|curve| !curve.label.is_empty());
        let mut ends: Vec<((f64, f64), &Curve)> = labelled.filter_map(|curve| Some((end(curve)?, curve))).collect();
        ends.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
        while !ends.is_empty() {
            // The labels that one could cover, from left to right.
            let mut right = f64::MIN;
            let apart = ends.iter().position(|((x, _), curve)| {
                let is_apart = right > f64::MIN && *x > right;
                right = right.max(x + width_of(&curve.label));
                is_apart
            });
            let mut near: Vec<_> = ends.drain(..apart.unwrap_or(ends.len())).collect();
            near.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
            let wanted: Vec<f64> = near.iter().map(|end| end.0.1).collect();
            for (((x, _), curve), at) in near.iter().zip(spread(&wanted, LINE)) {
                let _ = write!(
                    drawing,
                    "<text class=\"{}\" x=\"{x:.1}%\" dx=\"9\" y=\"{:.0}\">{}</text>",
                    curve.look.class(),
                    at + 4.0,
                    Text(&curve.label)
                );
            }
        }
    }

    /// Returns the distance from the left, in units of the layer that stretches.
    fn along(&self, value: f64) -> f64 {
        self.x.scale.place(value) * STRETCH / 100.0
    }

    /// Returns the distance from the top in pixels.
    fn down(&self, value: f64) -> f64 {
        self.height - self.y.scale.place(value) * self.height / 100.0
    }
}

impl Curve {
    /// Returns all values that the vertical axis must include.
    pub fn heights(&self) -> impl Iterator<Item = f64> {
        self.values.iter().flat_map(|value| {
            let (lo, hi) = value.interval.unwrap_or((value.y, value.y));
            [lo, value.y, hi]
        })
    }
}

impl Look {
    fn class(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Other => "other",
            Self::Front => "front",
        }
    }
}

/// Returns about how wide a label is with the space before it, in percent of a plot of usual width.
#[expect(clippy::cast_precision_loss, reason = "a label is short")]
fn width_of(label: &str) -> f64 {
    1.0 + 0.8 * label.chars().count() as f64
}

/// Returns the places nearest to the wanted ones, which ascend, that are at least `apart` from each other. Places
/// that are too close form a block around their middle.
#[expect(clippy::cast_precision_loss, reason = "a plot has few labels")]
fn spread(wanted: &[f64], apart: f64) -> Vec<f64> {
    let without_room = wanted.iter().enumerate().map(|(at, place)| place - at as f64 * apart);
    // The sum and the number of places of each block.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for place in without_room {
        let mut block = (place, 1);
        while let Some(last) = blocks.pop_if(|last| last.0 / last.1 as f64 > block.0 / block.1 as f64) {
            block = (block.0 + last.0, block.1 + last.1);
        }
        blocks.push(block);
    }
    let places = blocks.iter().flat_map(|&(sum, count)| std::iter::repeat_n(sum / count as f64, count));
    places.enumerate().map(|(at, place)| place + at as f64 * apart).collect()
}

fn tick_text(value: f64) -> String {
    if value >= 10.0 {
        return count(value);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
