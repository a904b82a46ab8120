//! The effect of the largest allowed chunk on quality: one small plot per strategy, each in front of all others.

use std::collections::BTreeMap;

use super::parts::{Section, capital, details, each, figure, row, table};
use crate::data::report::{Cell, Summary};
use crate::show::render::svg::{Axis, Curve, Look, Plot, Scale, Value};
use crate::show::render::text::Text;
use crate::show::render::view::{View, setting};

/// Height of a drawing in pixels.
const HEIGHT: f64 = 150.0;

/// Cells of one strategy that differ only in their largest chunk.
struct Family<'r> {
    strategy: String,
    unit: String,
    /// Best first.
    cells: Vec<(f64, &'r Cell, Summary)>,
}

pub(super) fn section(view: &View) -> Option<Section> {
    let families = families(view);
    if families.is_empty() {
        return None;
    }
    let mut units: Vec<&str> = Vec::new();
    for family in &families {
        if !units.contains(&family.unit.as_str()) {
            units.push(&family.unit);
        }
    }
    let drawn = each(&units, |unit| {
        let alike: Vec<&Family> = families.iter().filter(|family| family.unit == **unit).collect();
        format!("<div class=\"panels\">{}</div>", each(0..alike.len(), |at| panel(view, &alike, at)))
    });
    let rows: Vec<String> = families.iter().flat_map(|family| values(view, family)).collect();
    let head = ["Strategy and largest chunk", &Text(view.primary_title()).to_string(), "interval"];
    Some(Section {
        id: "size",
        title: "Chunk size",
        lead: format!(
            "{} by the largest allowed chunk. Along a curve, nothing else differs: the other settings are the best ones \
             for the strategy. The band is the interval of each mean; the other strategies are grey.",
            Text(&capital(view.primary_title()))
        ),
        body: format!("{drawn}{}", details("The values", &table("Values by the largest chunk", &head, &rows))),
    })
}

/// Returns, for each strategy and unit, the family of the best cell that has a family; best first.
fn families<'r>(view: &View<'r>) -> Vec<Family<'r>> {
    let mut all: Vec<(Vec<String>, Family)> = Vec::new();
    let mut places = BTreeMap::new();
    for &cell in &view.ranked {
        let (Some(summary), Ok(max)) = (view.summary(cell), setting(cell, "max").parse::<f64>()) else { continue };
        let key = super::heat::shared(view, cell, &["max"]);
        let at = *places.entry(key.clone()).or_insert_with(|| {
            let family = Family { strategy: setting(cell, "strategy"), unit: setting(cell, "unit"), cells: Vec::new() };
            all.push((key, family));
            all.len() - 1
        });
        // Two cells of the same size show the same settings; the better one represents both.
        let cells = &mut all[at].1.cells;
        if max.is_finite() && cells.iter().all(|(known, ..)| known.total_cmp(&max).is_ne()) {
            cells.push((max, cell, summary));
        }
    }
    let mut chosen: Vec<Family> = Vec::new();
    for (_, family) in all {
        let is_known = chosen.iter().any(|known| (&known.strategy, &known.unit) == (&family.strategy, &family.unit));
        if family.cells.len() > 1 && !is_known {
            chosen.push(family);
        }
    }
    chosen
}

impl Family<'_> {
    fn curve(&self, look: Look, says: impl Fn(f64, Summary) -> String) -> Curve {
        let value = |&(x, _, s): &(f64, &Cell, Summary)| {
            let interval = (look == Look::Main).then_some((s.lo, s.hi));
            Value { x, y: s.mean, interval, says: says(x, s) }
        };
        let mut values: Vec<Value> = self.cells.iter().map(value).collect();
        values.sort_by(|a, b| a.x.total_cmp(&b.x));
        Curve { values, look, label: String::new() }
    }
}

fn panel(view: &View, families: &[&Family], at: usize) -> String {
    let family = families[at];
    let all = || families.iter().flat_map(|family| &family.cells);
    let others = families.iter().enumerate().filter(|(other, _)| *other != at);
    let mut curves: Vec<Curve> = others.map(|(_, family)| family.curve(Look::Other, |_, _| String::new())).collect();
    curves.push(family.curve(Look::Main, |x, s| {
        format!("max {x} {}: {} ({} to {})", family.unit, view.value(s.mean), view.value(s.lo), view.value(s.hi))
    }));
    let mut steps: Vec<f64> = all().map(|(max, ..)| *max).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let unit = if family.unit.is_empty() { String::new() } else { format!(", {}", family.unit) };
    let plot = Plot {
        title: format!("{} by the largest chunk, {}", view.primary_title(), family.strategy),
        x: Axis { title: format!("largest chunk{unit}"), scale: Scale::steps(steps) },
        y: Axis {
            title: view.primary_title().to_owned(),
            scale: Scale::metric(all().flat_map(|(_, _, s)| [s.lo, s.hi])),
        },
        height: HEIGHT,
        curves,
        cloud: Vec::new(),
        dots: Vec::new(),
    };
    let (max, cell, best) = family.cells[0];
    let caption = format!(
        "{} <small>{}best at {max}: {}</small>",
        Text(&family.strategy),
        Text(&beside(view, cell)),
        view.value(best.mean)
    );
    figure(&caption, &plot, "", "")
}

/// Returns the settings that are the same along a curve.
fn beside(view: &View, cell: &Cell) -> String {
    let set =
        |key: &str| Some(setting(cell, key)).filter(|value| !value.is_empty()).map(|value| format!("{key} {value} · "));
    let chosen: String = ["min", "overlap"].into_iter().filter_map(set).collect();
    format!("{chosen}{} · ", view.detail(cell))
}

fn values(view: &View, family: &Family) -> Vec<String> {
    let mut cells = family.cells.clone();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    let line = |(max, _, s): &(f64, &Cell, Summary)| {
        let heading = format!("{} <small>max {max} {}</small>", Text(&family.strategy), Text(&family.unit));
        row(&heading, &[view.value(s.mean), format!("{} to {}", view.value(s.lo), view.value(s.hi))])
    };
    cells.iter().map(line).collect()
}
