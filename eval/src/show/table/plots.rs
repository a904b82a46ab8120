//! The plots: quality against budget and against size, what each part brings, and synthetic against real questions.

use super::{bytes as bytes_of, changed, chosen, first, pairs, shown, size, variants};
use crate::data::report::Cell;
use crate::findings::analysis::figure;
use crate::findings::sets::{Set, Sets, Shift};
use crate::score::judge::in_context;
use crate::score::stats::mean;
use crate::show::svg::{Axis, Curve, Dot, Look, Plot, Scale, Value};
use crate::show::view::counted;

/// Width of a plot in pixels.
pub(super) const WIDTH: f64 = 860.0;

/// Height of a plot between its axes in pixels.
const HEIGHT: f64 = 340.0;

/// Returns whether a cell is searched like the own one, with nothing changed in the search.
fn is_searched_like(cell: &Cell, own: &Cell) -> bool {
    cell.id == format!("{}, {}, k={}", cell.build, own.retrieval, own.k)
}

/// Returns whether the settings of a cell's build are those of a preset.
fn is_design(cell: &Cell) -> bool {
    !cell.build.contains('=')
}

#[expect(clippy::cast_precision_loss, reason = "budgets are drawn, not counted")]
pub(super) fn budgets(sets: &Sets, own: &str) -> Option<Plot> {
    let budgets = super::budgets(sets);
    let own = first(sets)?.cell(own)?;
    let curve = |id: &str| {
        let cell = first(sets)?.cell(id)?;
        let name = Some(&cell.build).filter(|_| is_design(cell) && is_searched_like(cell, own))?;
        let value = |&budget: &usize| {
            let y = mean(&sets.means(id, &in_context(budget))?);
            Some(Value { x: budget as f64, y, interval: None, says: format!("{name}, {budget} tokens: {}", figure(y)) })
        };
        let values = budgets.iter().map(value).collect::<Option<Vec<_>>>()?;
        let look = if cell.id == own.id { Look::Main } else { Look::Other };
        Some(Curve { values, look, label: name.clone() })
    };
    let curves: Vec<Curve> = sets.common().into_iter().filter_map(curve).collect();
    (curves.len() > 1 && budgets.len() > 1).then(|| Plot {
        title: format!("Evidence handed over by each design, mean of {}", counted(sets.as_slice().len(), "set")),
        x: Axis {
            title: "tokens handed over".to_owned(),
            scale: Scale::steps(budgets.iter().map(|&budget| budget as f64).collect()),
        },
        y: Axis {
            title: "share of the evidence's text".to_owned(),
            scale: Scale::metric(curves.iter().flat_map(Curve::heights)),
        },
        height: HEIGHT,
        curves,
        cloud: Vec::new(),
        dots: Vec::new(),
    })
}

/// Plots quality against size: each design, and each size of the own design, searched like the own setting.
pub(super) fn bytes(sets: &Sets, own: &str) -> Option<Plot> {
    let report = first(sets)?;
    let metric = report.scoring.primary.as_str();
    let own = report.cell(own)?;
    let curve = |id: &str| {
        let cell = report.cell(id)?;
        // Other settings than the sizes change the size little.
        let is_size = cell.build.strip_prefix(own.build.as_str()).is_some_and(|rest| rest.starts_with(" max="));
        if !(is_size || is_design(cell)) || !is_searched_like(cell, own) {
            return None;
        }
        let size = |set: &Set| Some(bytes_of(set.report.cell(id)?) / size(&set.report));
        let (x, y) =
            (mean(&sets.as_slice().iter().map(size).collect::<Option<Vec<_>>>()?), mean(&sets.means(id, metric)?));
        let says = format!("{id}: {} at {} times the documents", figure(y), figure(x));
        Some(Curve {
            values: vec![Value { x, y, interval: None, says }],
            look: if cell.build == own.build { Look::Main } else { Look::Other },
            label: cell.build.clone(),
        })
    };
    let curves: Vec<Curve> = sets.common().into_iter().filter_map(curve).collect();
    (curves.len() > 1).then(|| Plot {
        title: format!("Quality against size, mean of {}", counted(sets.as_slice().len(), "set")),
        x: Axis {
            title: "bytes of the dataset per byte of documents".to_owned(),
            scale: Scale::cost(curves.iter().flat_map(|curve| curve.values.iter().map(|value| value.x))),
        },
        y: Axis {
            title: format!("{metric}, {}", own.retrieval),
            scale: Scale::metric(curves.iter().flat_map(Curve::heights)),
        },
        height: HEIGHT,
        curves,
        cloud: Vec::new(),
        dots: Vec::new(),
    })
}

/// Plots what one change to the own setting does, at the budget that decides.
#[expect(clippy::cast_precision_loss, reason = "there are few parts")]
pub(super) fn parts(sets: &Sets, own: &str) -> Option<Plot> {
    let report = first(sets)?;
    let (cell, ids) = (report.cell(own)?, variants(sets, own));
    let shifts: Vec<Shift> = sets.shifts(&ids, own, &report.scoring.primary).into_iter().collect::<Option<_>>()?;
    let place = |at: usize| (at + 1) as f64;
    let curve = |(at, (id, shift)): (usize, (&&str, &Shift))| {
        let (y, interval) = shift.all;
        Curve {
            values: vec![Value {
                x: place(at),
                y,
                interval: Some((interval.lo, interval.hi)),
                says: format!("{}: {}", changed(id, cell), shown(shift.all).replace("**", "")),
            }],
            look: if interval.excludes_zero() { Look::Main } else { Look::Other },
            label: (at + 1).to_string(),
        }
    };
    let curves: Vec<Curve> = ids.iter().zip(&shifts).enumerate().map(curve).collect();
    (!curves.is_empty()).then(|| Plot {
        title: format!("One change to {own}; mean of {}", counted(sets.as_slice().len(), "set")),
        x: Axis {
            title: "number of the change in the table".to_owned(),
            scale: Scale::linear((0..shifts.len()).map(place)),
        },
        y: Axis {
            title: format!("change of {}, with its 95 % interval", report.scoring.primary),
            scale: Scale::linear(curves.iter().flat_map(Curve::heights).chain([0.0])),
        },
        height: HEIGHT,
        curves,
        cloud: Vec::new(),
        dots: Vec::new(),
    })
}

pub(super) fn synthetic(sets: &Sets) -> Option<Plot> {
    let all: Vec<(&str, f64, f64)> = sets.as_slice().iter().flat_map(pairs).collect();
    let curve = |set: &Set| {
        let (id, x, y) = chosen(&pairs(set))?;
        let says = format!("{}: {id}, {} by synthetic questions, {} by real ones", set.name, figure(x), figure(y));
        Some(Curve { values: vec![Value { x, y, interval: None, says }], look: Look::Main, label: set.name.clone() })
    };
    let curves: Vec<Curve> = sets.as_slice().iter().filter_map(curve).collect();
    let dots: Vec<Dot> = Vec::new();
    (!all.is_empty()).then(|| Plot {
        title: "Settings by synthetic and by real questions; the synthetic choice of each set is named".to_owned(),
        x: Axis { title: "by synthetic questions".to_owned(), scale: Scale::metric(all.iter().map(|pair| pair.1)) },
        y: Axis { title: "by real questions".to_owned(), scale: Scale::metric(all.iter().map(|pair| pair.2)) },
        height: HEIGHT,
        curves,
        cloud: all.iter().map(|pair| Some((pair.1, pair.2))).collect(),
        dots,
    })
}
