//! Several runs of one sweep file over several sets of labels, for a page of records: tables of designs × ways to
//! search × budgets, and four plots.
//!
//! A figure over sets is the mean of the sets' means, so a set with many questions has no more weight than another.
//! The standard error of a difference is the root of the sum of the sets' squared errors, divided by the number of
//! sets: sets are independent.

use std::collections::BTreeMap;
use std::fmt::Write;

use chunkmill::value::count;

use super::markdown::escape;
use super::svg::{Axis, Curve, Dot, Look, Plot, Scale, Value};
use crate::data::report::{Cell, Report};
use crate::findings::analysis::{Clusters, figure};
use crate::score::judge::in_context;
use crate::score::stats::{ClusteredValues, kendall_tau_b, normal_quantile};

/// Width of a plot in pixels.
const WIDTH: f64 = 860.0;

/// Height of a plot between its axes in pixels.
const HEIGHT: f64 = 340.0;

/// A set of labels with its runs.
#[derive(Debug)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// The run with its own questions.
    pub report: Report,
    /// The run with synthetic questions from its documents, if there is one.
    pub synthetic: Option<Report>,
}

/// Renders files, returned by name: `table.md` and plots.
///
/// `own` is the id of the cell whose parts are examined. Cells with the same way to search, whose build begins with
/// the name of its build, are variants of that cell with something changed.
pub fn table(sets: &[Set], own: &str) -> Vec<(String, String)> {
    let mut files = vec![("table.md".to_owned(), tables(sets, own))];
    let plots = [
        ("budgets.svg", budgets_plot(sets, own)),
        ("bytes.svg", bytes_plot(sets, own)),
        ("parts.svg", parts_plot(sets, own)),
        ("synthetic.svg", synthetic_plot(sets)),
    ];
    files.extend(plots.into_iter().filter_map(|(name, plot)| Some((name.to_owned(), plot?.standalone(WIDTH)))));
    files
}

/// Returns the cells that all runs have, in the order of the first run.
fn common(sets: &[Set]) -> Vec<&str> {
    let Some((first, others)) = sets.split_first() else { return Vec::new() };
    let ids = first.report.cells.iter().map(|cell| cell.id.as_str());
    ids.filter(|id| others.iter().all(|set| set.report.cell(id).is_some())).collect()
}

/// Returns a cell's mean in each set; `None` if one of the sets lacks it.
fn means(sets: &[Set], id: &str, metric: &str) -> Option<Vec<f64>> {
    sets.iter().map(|set| Some(set.report.cell(id)?.metrics.get(metric)?.mean)).collect()
}

fn mean(values: &[f64]) -> f64 {
    crate::score::stats::mean(values)
}

fn budgets(sets: &[Set]) -> Vec<usize> {
    sets.first().map_or_else(Vec::new, |set| set.report.scoring.budgets.clone())
}

/// Returns the design of a cell, if its settings are those of a preset and its search has the default settings.
fn design(cell: &Cell) -> Option<&str> {
    let plain = format!("{}, {}, k={}", cell.build, cell.retrieval, cell.k);
    (cell.id == plain && !cell.build.contains('=')).then_some(cell.build.as_str())
}

fn tables(sets: &[Set], own: &str) -> String {
    let mut text = String::new();
    for budget in budgets(sets) {
        let metric = in_context(budget);
        let mut rows: Vec<(&str, Vec<f64>)> =
            common(sets).into_iter().filter_map(|id| Some((id, means(sets, id, &metric)?))).collect();
        rows.sort_by(|a, b| mean(&b.1).total_cmp(&mean(&a.1)));
        let names: Vec<String> = sets.iter().map(|set| escape(&set.name)).collect();
        let _ = write!(text, "### Evidence in {budget} tokens\n\n| setting | mean | {} |\n", names.join(" | "));
        let _ = writeln!(text, "| --- | --: |{}", " --: |".repeat(sets.len()));
        let best: Vec<f64> =
            (0..sets.len()).map(|at| rows.iter().map(|row| row.1[at]).fold(f64::MIN, f64::max)).collect();
        for (id, values) in &rows {
            let shown: Vec<String> = values
                .iter()
                .zip(&best)
                .map(|(value, best)| if value >= best { format!("**{}**", figure(*value)) } else { figure(*value) })
                .collect();
            let _ = writeln!(text, "| {} | {} | {} |", escape(id), figure(mean(values)), shown.join(" | "));
        }
        text.push('\n');
    }
    let parts = parts(sets, own);
    if !parts.is_empty() {
        let _ = write!(
            text,
            "### {} minus variants with one change\n\n| | changed | difference | 95 % interval |\n",
            escape(own)
        );
        text.push_str("| --: | --- | --: | --- |\n");
        for (at, part) in (1..).zip(&parts) {
            let (lo, hi) = part.interval();
            let _ = writeln!(
                text,
                "| {at} | {} | {} | {} to {} |",
                escape(&part.name),
                figure(part.gain),
                figure(lo),
                figure(hi)
            );
        }
        text.push('\n');
    }
    if sets.iter().any(|set| set.synthetic.is_some()) {
        text.push_str(
            "### Synthetic and real questions\n\n| set | settings | Kendall's tau-b | loss of the synthetic choice |\n",
        );
        text.push_str("| --- | --: | --: | --: |\n");
        for set in sets {
            let pairs = pairs(set);
            let (made, real): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(_, made, real)| (*made, *real)).unzip();
            let (Some(tau), Some(chosen)) = (kendall_tau_b(&made, &real), chosen(&pairs)) else { continue };
            let most = real.iter().copied().fold(f64::MIN, f64::max);
            let lost = figure(most - chosen.2);
            let _ = writeln!(text, "| {} | {} | {} | {lost} |", escape(&set.name), pairs.len(), figure(tau));
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// One change to a setting.
struct Part {
    name: String,
    /// The setting minus the changed one, mean over sets.
    gain: f64,
    error: f64,
}

impl Part {
    fn interval(&self) -> (f64, f64) {
        let reach = normal_quantile(0.975) * self.error;
        (self.gain - reach, self.gain + reach)
    }
}

fn parts(sets: &[Set], own: &str) -> Vec<Part> {
    let Some(cell) = sets.first().and_then(|set| set.report.cell(own)) else { return Vec::new() };
    let is_variation = |id: &&str| {
        let other = sets.first().and_then(|set| set.report.cell(id));
        other.is_some_and(|other| {
            other.id != own
                && other.k == cell.k
                && (other.build == cell.build || other.build.starts_with(&format!("{} ", cell.build)))
                && other.retrieval == cell.retrieval
        })
    };
    let part = |id: &str| {
        let mut differences = Vec::new();
        for set in sets {
            let (one, other) = (set.report.cell(own)?, set.report.cell(id)?);
            let metric = &set.report.scoring.primary;
            let values = one.values.get(metric)?.iter().zip(other.values.get(metric)?);
            let clusters = Clusters::of(&set.report);
            differences.push(clusters.gather(values.map(|(one, other)| Some((*one)? - (*other)?))));
        }
        let gains: Vec<f64> = differences.iter().map(ClusteredValues::mean).collect();
        let squares: f64 = differences.iter().map(|row| row.standard_error().powi(2)).sum();
        #[expect(clippy::cast_precision_loss, reason = "there are few sets")]
        let error = squares.sqrt() / sets.len() as f64;
        Some(Part { name: changed(id, cell), gain: mean(&gains), error })
    };
    common(sets).into_iter().filter(is_variation).filter_map(part).collect()
}

/// Returns the part of a cell's id that another cell's id lacks: `hybrid language=none` → `language=none`.
fn changed(id: &str, own: &Cell) -> String {
    let known: Vec<&str> = own.id.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let words = id.split([' ', ',']).filter(|word| !word.is_empty() && !known.contains(word));
    words.collect::<Vec<_>>().join(" ")
}

#[expect(clippy::cast_precision_loss, reason = "budgets are drawn, not counted")]
fn budgets_plot(sets: &[Set], own: &str) -> Option<Plot> {
    let budgets = budgets(sets);
    let own = sets.first()?.report.cell(own)?;
    let curve = |id: &str| {
        let cell = sets.first()?.report.cell(id)?;
        let name = design(cell).filter(|_| cell.retrieval == own.retrieval && cell.k == own.k)?;
        let value = |&budget: &usize| {
            let y = mean(&means(sets, id, &in_context(budget))?);
            Some(Value { x: budget as f64, y, interval: None, says: format!("{name}, {budget} tokens: {}", figure(y)) })
        };
        let values = budgets.iter().map(value).collect::<Option<Vec<_>>>()?;
        let look = if cell.id == own.id { Look::Main } else { Look::Other };
        Some(Curve { values, look, label: name.to_owned() })
    };
    let curves: Vec<Curve> = common(sets).into_iter().filter_map(curve).collect();
    (curves.len() > 1 && budgets.len() > 1).then(|| Plot {
        title: format!("Evidence handed over by each design, mean of {}", count(sets.len(), "set")),
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

/// Plots quality against size: each design, and each size of the own design, with its best way to search.
#[expect(clippy::cast_precision_loss, reason = "sizes are drawn, not counted")]
fn bytes_plot(sets: &[Set], own: &str) -> Option<Plot> {
    let metric = sets.first()?.report.scoring.primary.clone();
    let mut best: BTreeMap<&str, (f64, f64, &str)> = BTreeMap::new();
    for id in common(sets) {
        let size = |set: &Set| Some(set.report.cell(id)?.cost.bytes as f64 / set.report.labels.bytes.max(1) as f64);
        let (Some(values), Some(sizes)) = (means(sets, id, &metric), sets.iter().map(size).collect::<Option<Vec<_>>>())
        else {
            continue;
        };
        let Some(cell) = sets.first()?.report.cell(id) else { continue };
        // The context that the model sees before a chunk does not change the size.
        if cell.build.contains('=') && !cell.build.contains(" max=") {
            continue;
        }
        let (y, x) = (mean(&values), mean(&sizes));
        let entry = best.entry(cell.build.as_str()).or_insert((x, y, id));
        if y > entry.1 {
            *entry = (x, y, id);
        }
    }
    let own_build = &sets.first()?.report.cell(own)?.build;
    let curve = |(build, &(x, y, id)): (&&str, &(f64, f64, &str))| Curve {
        values: vec![Value {
            x,
            y,
            interval: None,
            says: format!("{id}: {} at {} times the documents", figure(y), figure(x)),
        }],
        look: if *build == own_build { Look::Main } else { Look::Other },
        label: (*build).to_owned(),
    };
    let curves: Vec<Curve> = best.iter().map(curve).collect();
    (curves.len() > 1).then(|| Plot {
        title: format!("Quality against size, mean of {}", count(sets.len(), "set")),
        x: Axis {
            title: "bytes of the dataset per byte of documents".to_owned(),
            scale: Scale::cost(curves.iter().flat_map(|curve| curve.values.iter().map(|value| value.x))),
        },
        y: Axis {
            title: format!("{metric}, best way to search"),
            scale: Scale::metric(curves.iter().flat_map(Curve::heights)),
        },
        height: HEIGHT,
        curves,
        cloud: Vec::new(),
        dots: Vec::new(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "there are few parts")]
fn parts_plot(sets: &[Set], own: &str) -> Option<Plot> {
    let parts = parts(sets, own);
    let place = |at: usize| (at + 1) as f64;
    let curve = |(at, part): (usize, &Part)| Curve {
        values: vec![Value {
            x: place(at),
            y: part.gain,
            interval: Some(part.interval()),
            says: format!(
                "{}: {} ({} to {})",
                part.name,
                figure(part.gain),
                figure(part.interval().0),
                figure(part.interval().1)
            ),
        }],
        look: if part.interval().0 > 0.0 { Look::Main } else { Look::Other },
        label: (at + 1).to_string(),
    };
    let curves: Vec<Curve> = parts.iter().enumerate().map(curve).collect();
    (!curves.is_empty()).then(|| Plot {
        title: format!("{own} minus variants with one change; mean of {}", count(sets.len(), "set")),
        x: Axis {
            title: "number of the change in the table".to_owned(),
            scale: Scale::linear((0..parts.len()).map(place)),
        },
        y: Axis {
            title: "gain, with its 95 % interval".to_owned(),
            scale: Scale::linear(curves.iter().flat_map(Curve::heights).chain([0.0])),
        },
        height: HEIGHT,
        curves,
        cloud: Vec::new(),
        dots: Vec::new(),
    })
}

/// Returns the settings with their means by synthetic and by real questions. Leaves out keyword search alone, which
/// synthetic questions favour.
fn pairs(set: &Set) -> Vec<(&str, f64, f64)> {
    let Some(synthetic) = &set.synthetic else { return Vec::new() };
    let pair = |cell: &'_ Cell| {
        let made = synthetic.cell(&cell.id)?.metrics.get(&synthetic.scoring.primary)?.mean;
        let real = cell.metrics.get(&set.report.scoring.primary)?.mean;
        Some((made, real))
    };
    let cells = set.report.cells.iter().filter(|cell| cell.retrieval != "keyword");
    cells.filter_map(|cell| pair(cell).map(|(made, real)| (cell.id.as_str(), made, real))).collect()
}

/// Returns the setting that the synthetic questions would choose.
fn chosen<'p>(pairs: &[(&'p str, f64, f64)]) -> Option<(&'p str, f64, f64)> {
    pairs.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best })
}

fn synthetic_plot(sets: &[Set]) -> Option<Plot> {
    let all: Vec<(&str, f64, f64)> = sets.iter().flat_map(pairs).collect();
    let curve = |set: &Set| {
        let (id, x, y) = chosen(&pairs(set))?;
        let says = format!("{}: {id}, {} by synthetic questions, {} by real ones", set.name, figure(x), figure(y));
        Some(Curve { values: vec![Value { x, y, interval: None, says }], look: Look::Main, label: set.name.clone() })
    };
    let curves: Vec<Curve> = sets.iter().filter_map(curve).collect();
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
