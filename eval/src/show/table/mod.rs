//! Several runs of one sweep file over several sets of labels, for a page of records.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `text` | Which tables does a reader need? |
//! | `lines` | Which rows does a spreadsheet need? |
//! | `plots` | What is drawn? |

mod lines;
mod plots;
mod text;

use std::io;

use crate::data::report::{Cell, Report};
use crate::findings::analysis::signed;
use crate::findings::sets::{Set, Sets};
use crate::score::stats::{Interval, mean};

/// Renders files, returned by name: `table.md`, `table.csv` and plots.
///
/// `own` is the id of the cell that the others are compared with. Cells with the same way to search, whose build begins
/// with the name of its build, are variants of that cell with something changed.
///
/// # Errors
/// No run can cause an error; the signature is that of the writer of `table.csv`.
pub fn table(sets: &Sets, own: &str) -> io::Result<Vec<(String, String)>> {
    let mut files =
        vec![("table.md".to_owned(), text::tables(sets, own)), ("table.csv".to_owned(), lines::csv(sets, own)?)];
    let plots = [
        ("budgets.svg", plots::budgets(sets, own)),
        ("bytes.svg", plots::bytes(sets, own)),
        ("parts.svg", plots::parts(sets, own)),
        ("synthetic.svg", plots::synthetic(sets)),
    ];
    files.extend(plots.into_iter().filter_map(|(name, plot)| Some((name.to_owned(), plot?.standalone(plots::WIDTH)))));
    Ok(files)
}

fn first(sets: &Sets) -> Option<&Report> {
    sets.as_slice().first().map(|set| &set.report)
}

fn budgets(sets: &Sets) -> Vec<usize> {
    first(sets).map_or_else(Vec::new, |report| report.scoring.budgets.clone())
}

/// Returns the mean of some cells over all sets, best first.
fn best_first<'s>(sets: &'s Sets, metric: &str) -> Vec<(&'s str, f64)> {
    let scored = sets.common().into_iter().filter_map(|id| Some((id, mean(&sets.means(id, metric)?))));
    let mut scored: Vec<(&str, f64)> = scored.collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    scored
}

#[expect(clippy::cast_precision_loss, reason = "sizes are shown, not counted")]
fn size(report: &Report) -> f64 {
    report.labels.bytes.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "sizes are shown, not counted")]
fn bytes(cell: &Cell) -> f64 {
    cell.cost.bytes as f64
}

/// Returns a change with its interval, bold if chance does not explain it.
fn shown((change, interval): (f64, Interval)) -> String {
    let figure = if interval.excludes_zero() { format!("**{}**", signed(change)) } else { signed(change) };
    format!("{figure} ({} to {})", signed(interval.lo), signed(interval.hi))
}

/// Returns the cells that differ from the own cell in something, and search in the same way.
fn variants<'s>(sets: &'s Sets, own: &str) -> Vec<&'s str> {
    let Some((report, cell)) = first(sets).and_then(|report| Some((report, report.cell(own)?))) else {
        return Vec::new();
    };
    let is_variant = |id: &&str| {
        report.cell(id).is_some_and(|other| {
            other.id != own
                && other.k == cell.k
                && (other.build == cell.build || other.build.starts_with(&format!("{} ", cell.build)))
                && other.retrieval == cell.retrieval
        })
    };
    sets.common().into_iter().filter(is_variant).collect()
}

/// Returns the part of a cell's id that another cell's id lacks: `hybrid language=none` → `language=none`.
fn changed(id: &str, own: &Cell) -> String {
    let known: Vec<&str> = own.id.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let words = id.split([' ', ',']).filter(|word| !word.is_empty() && !known.contains(word));
    words.collect::<Vec<_>>().join(" ")
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
