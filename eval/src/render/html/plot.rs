//! Quality against cost: one scatter plot per cost, with the settings that no other beats on both.
//!
//! Places are in per cent of the drawing's width, so it fits any screen while text and points keep their size.

use std::fmt::Write;

use super::scale::Scale;
use super::{Section, Text, details, name, row, table};
use crate::render::view::{View, count, significant};
use crate::report::Cell;

/// Height of the drawing in pixels.
const HEIGHT: f64 = 240.0;

/// A cost: its name in [`Cell::pareto`], its title, and its value for a cell.
struct Axis {
    name: &'static str,
    title: &'static str,
    of: fn(&Cell) -> Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "sizes are drawn, not counted")]
const AXES: [Axis; 4] = [
    Axis {
        name: "retrieved_tokens",
        title: "Tokens handed to the reader",
        of: |cell| cell.metrics.get("retrieved_tokens").map(|summary| summary.mean),
    },
    Axis { name: "query_ms", title: "Time of a question, median, ms", of: |cell| positive(cell.cost.query_ms.p50) },
    Axis { name: "bytes", title: "Size of the dataset, MB", of: |cell| positive(cell.cost.bytes as f64 / 1e6) },
    Axis {
        name: "index_seconds",
        title: "Time to index, s",
        of: |cell| cell.cost.index.as_ref().map(|index| index.seconds.median),
    },
];

/// What was not measured is zero.
fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

pub(super) fn section(view: &View) -> Option<Section> {
    let plots: Vec<String> = AXES.iter().filter_map(|axis| plot(view, axis)).collect();
    let missing: Vec<&str> = AXES.iter().filter(|axis| points(view, axis).is_empty()).map(|axis| axis.title).collect();
    let missing = if missing.is_empty() {
        String::new()
    } else {
        format!(" Not measured: {}.", missing.join("; ").to_lowercase())
    };
    (!plots.is_empty()).then(|| Section {
        id: "pareto",
        title: "Quality against cost",
        lead: format!(
            "Each point is a setting; up is better, left is cheaper. The line joins the settings that no other beats on \
             both at once.{missing}"
        ),
        body: format!(
            "<p class=\"key\"><span><i class=\"dot best\"></i>best by {}</span><span><i class=\"dot front\"></i>no other \
             is both cheaper and better</span><span><i class=\"dot\"></i>all others</span></p><div class=\"plots\">{}</div>",
            Text(view.primary_title()),
            plots.concat()
        ),
    })
}

/// A cell's place in the ranking, cost and quality.
struct Point<'r> {
    at: usize,
    cell: &'r Cell,
    x: f64,
    y: f64,
}

fn points<'r>(view: &View<'r>, axis: &Axis) -> Vec<Point<'r>> {
    let point = |(at, &cell): (usize, &&'r Cell)| {
        let (x, y) = ((axis.of)(cell)?, view.quality(cell)?);
        x.is_finite().then_some(Point { at, cell, x, y })
    };
    view.ranked.iter().enumerate().filter_map(point).collect()
}

fn plot(view: &View, axis: &Axis) -> Option<String> {
    let points = points(view, axis);
    if points.is_empty() {
        return None;
    }
    let (x, y) = (Scale::cost(points.iter().map(|p| p.x)), Scale::linear(points.iter().map(|p| p.y)));
    let mut front: Vec<&Point> = points.iter().filter(|p| p.cell.pareto.iter().any(|n| n == axis.name)).collect();
    front.sort_by(|a, b| a.x.total_cmp(&b.x));
    let best = view.best().map(|cell| cell.id.as_str());
    let mut drawing = grid(&x, &y);
    step_line(&front, &x, &y, &mut drawing);
    // What matters is drawn last, on top.
    let (others, marked): (Vec<&Point>, Vec<&Point>) =
        points.iter().rev().partition(|p| !front.iter().any(|f| f.at == p.at) && Some(p.cell.id.as_str()) != best);
    for point in others.into_iter().chain(marked) {
        let is_front = front.iter().any(|f| f.at == point.at);
        let class = match (Some(point.cell.id.as_str()) == best, is_front) {
            (true, _) => " class=\"best\"",
            (_, true) => " class=\"front\"",
            _ => "",
        };
        let radius = if class.is_empty() { "3" } else { "5" };
        let (x, y) = (x.place(point.x), height(&y, point.y));
        let _ = write!(drawing, "<circle{class} data-i=\"{}\" cx=\"{x:.1}%\" cy=\"{y:.0}\" r=\"{radius}\"/>", point.at);
    }
    let summary = format!("{} against {}: {} settings", view.primary_title(), axis.title.to_lowercase(), points.len());
    Some(format!(
        "<figure class=\"plot\"><figcaption>{}</figcaption><p class=\"axis-name\">{}</p><div class=\"canvas\"><svg role=\"img\" aria-label=\"{}\" \
         width=\"100%\" height=\"{HEIGHT}\">{drawing}</svg></div><p class=\"tip\" aria-live=\"polite\"></p>{}</figure>\n",
        Text(axis.title),
        Text(view.primary_title()),
        Text(&summary),
        list(view, axis, &front)
    ))
}

/// From the top, in pixels.
fn height(scale: &Scale, value: f64) -> f64 {
    HEIGHT - scale.place(value) * HEIGHT / 100.0
}

fn grid(x: &Scale, y: &Scale) -> String {
    let mut lines = String::new();
    for tick in y.ticks() {
        let (at, label) = (height(y, tick), tick_text(tick));
        let _ = write!(lines, "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{at:.0}\" y2=\"{at:.0}\"/>");
        let _ = write!(lines, "<text x=\"-8\" y=\"{:.0}\" text-anchor=\"end\">{label}</text>", at + 4.0);
    }
    for tick in x.ticks() {
        let (at, label) = (x.place(tick), tick_text(tick));
        let _ = write!(
            lines,
            "<line class=\"tick\" x1=\"{at:.1}%\" x2=\"{at:.1}%\" y1=\"{HEIGHT}\" y2=\"{}\"/>",
            HEIGHT + 5.0
        );
        let _ = write!(lines, "<text x=\"{at:.1}%\" y=\"{}\" text-anchor=\"middle\">{label}</text>", HEIGHT + 19.0);
    }
    let _ = write!(lines, "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"{HEIGHT}\" y2=\"{HEIGHT}\"/>");
    lines
}

fn tick_text(value: f64) -> String {
    if value >= 10.0 {
        return count(value);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Quality stays what a cheaper setting gives until the next one on the front.
fn step_line(front: &[&Point], x: &Scale, y: &Scale, drawing: &mut String) {
    let mut line = |x1: f64, x2: f64, y1: f64, y2: f64| {
        let _ = write!(drawing, "<line class=\"step\" x1=\"{x1:.1}%\" x2=\"{x2:.1}%\" y1=\"{y1:.0}\" y2=\"{y2:.0}\"/>");
    };
    for pair in front.windows(2) {
        let (from, to) = (x.place(pair[0].x), x.place(pair[1].x));
        let (before, after) = (height(y, pair[0].y), height(y, pair[1].y));
        line(from, to, before, before);
        line(to, to, before, after);
    }
}

fn list(view: &View, axis: &Axis, front: &[&Point]) -> String {
    let rows: Vec<String> =
        front.iter().map(|point| row(&name(view, point.cell), &[significant(point.x), view.value(point.y)])).collect();
    if rows.is_empty() {
        return String::new();
    }
    let plural = if rows.len() == 1 { "" } else { "s" };
    let summary = format!("{} setting{plural} on the line", rows.len());
    let head = ["Setting", &Text(axis.title).to_string(), &Text(view.primary_title()).to_string()];
    details(&summary, &table(&format!("Settings on the line: {}", axis.title), &head, &rows))
}
