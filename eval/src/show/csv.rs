//! `report.csv`: one row per cell, for a spreadsheet or a data frame.

use std::io;

use csv::Writer;

use super::view::{View, setting};
use crate::data::report::{Cell, Report};

/// The chunk settings with a column of their own, whether or not a row's strategy reads them.
const SETTINGS: [&str; 6] = ["strategy", "unit", "min", "target", "max", "overlap"];

/// Renders one row per cell, best first: its settings, each metric of [`Report::metrics`] as `name`, `name_std`,
/// `name_lo` and `name_hi`, the outcome of the evidence, and the costs. Numbers keep all their digits; values that
/// do not apply are empty. A text that begins like a formula is preceded by an apostrophe.
///
/// # Errors
/// No report can cause an error; the signature is that of the writer.
pub fn csv(report: &Report) -> io::Result<String> {
    let columns = columns(report);
    let names = columns.iter().map(|(name, _)| name.clone()).collect();
    let values = |cell: &Cell| columns.iter().map(|(_, value)| value(cell)).collect();
    rows(std::iter::once(names).chain(View::new(report).ranked.into_iter().map(values)))
}

/// Renders lines of fields. A text that begins like a formula is preceded by an apostrophe.
///
/// # Errors
/// No text can cause an error; the signature is that of the writer.
pub(super) fn rows(lines: impl IntoIterator<Item = Vec<String>>) -> io::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(line.into_iter().map(inert))?;
    }
    let bytes = writer.into_inner().map_err(|e| io::Error::other(e.to_string()))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Returns a field that no spreadsheet runs as a formula. Names of settings and models may come from anyone, so a
/// text that begins like a formula gets an apostrophe, which makes it plain text there. A number may have a sign
/// and is kept.
fn inert(field: String) -> String {
    let runs = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if runs && field.parse::<f64>().is_err() { format!("'{field}") } else { field }
}

/// A column: its name, and its value for a cell.
type Column<'r> = (String, Box<dyn Fn(&Cell) -> String + 'r>);

fn column<'r>(name: impl Into<String>, value: impl Fn(&Cell) -> String + 'r) -> Column<'r> {
    (name.into(), Box::new(value))
}

fn columns(report: &Report) -> Vec<Column<'_>> {
    let mut columns = vec![column("id", |cell| cell.id.clone()), column("spec", |cell| cell.spec_text.clone())];
    columns.extend(SETTINGS.map(|key| column(key, move |cell| setting(cell, key))));
    columns.extend([
        column("model", |cell| cell.model.clone()),
        column("engine", |cell| cell.engine.clone()),
        column("retrieval", |cell| cell.retrieval.clone()),
        column("k", |cell| cell.k.to_string()),
        column("build", |cell| cell.build.clone()),
        column("snapshot", |cell| cell.snapshot.clone()),
        column("chunks", |cell| cell.chunks.to_string()),
    ]);
    for metric in &report.metrics {
        let name = metric.name.as_str();
        let of = move |cell: &Cell| cell.metrics.get(name).copied();
        columns.push(column(name, move |cell| of(cell).map_or_else(String::new, |s| s.mean.to_string())));
        columns
            .push(column(format!("{name}_std"), move |cell| of(cell).map_or_else(String::new, |s| s.std.to_string())));
        columns.push(column(format!("{name}_lo"), move |cell| of(cell).map_or_else(String::new, |s| s.lo.to_string())));
        columns.push(column(format!("{name}_hi"), move |cell| of(cell).map_or_else(String::new, |s| s.hi.to_string())));
    }
    columns.extend(comparisons());
    columns.extend(costs());
    columns
}

fn comparisons() -> Vec<Column<'static>> {
    vec![
        column("difference_to_best", |cell| optional(cell.comparison, |c| c.difference)),
        column("difference_lo", |cell| optional(cell.comparison, |c| c.lo)),
        column("difference_hi", |cell| optional(cell.comparison, |c| c.hi)),
        column("p_adjusted", |cell| optional(cell.comparison, |c| c.p_adjusted)),
        column("p_best", |cell| optional(cell.p_best, |p| p)),
        column("separable_from_best", |cell| optional(cell.comparison, |c| c.separable)),
        column("pareto", |cell| cell.pareto.join(" ")),
        column("evidence_whole", |cell| cell.evidence.whole.to_string()),
        column("evidence_split", |cell| cell.evidence.split.to_string()),
        column("evidence_missed", |cell| cell.evidence.missed.to_string()),
        column("evidence_unreachable", |cell| cell.evidence.unreachable.to_string()),
    ]
}

fn costs() -> Vec<Column<'static>> {
    let index = |cell: &Cell| cell.cost.index.clone();
    vec![
        column("documents", |cell| cell.cost.documents.to_string()),
        column("quarantined", |cell| cell.cost.quarantined.to_string()),
        column("tokens", |cell| cell.cost.tokens.to_string()),
        column("bytes", |cell| cell.cost.bytes.to_string()),
        column("vector_bytes", |cell| cell.cost.vector_bytes.to_string()),
        column("truncated", |cell| cell.cost.truncated.to_string()),
        column("index_repeats", move |cell| optional(index(cell), |i| i.repeats)),
        column("index_seconds", move |cell| optional(index(cell), |i| i.seconds.median)),
        column("index_seconds_min", move |cell| optional(index(cell), |i| i.seconds.min)),
        column("index_seconds_max", move |cell| optional(index(cell), |i| i.seconds.max)),
        column("chunking_share", move |cell| optional(index(cell), |i| i.chunking_share.median)),
        column("peak_rss", |cell| optional(cell.cost.peak_rss.get("index"), |peak| *peak)),
        column("query_ms_p50", |cell| cell.cost.query_ms.p50.to_string()),
        column("query_ms_p95", |cell| cell.cost.query_ms.p95.to_string()),
        column("query_ms_p99", |cell| cell.cost.query_ms.p99.to_string()),
        column("search_ms_p50", |cell| cell.cost.search_ms.p50.to_string()),
        column("search_ms_p95", |cell| cell.cost.search_ms.p95.to_string()),
    ]
}

fn optional<T, V: ToString>(value: Option<T>, of: impl Fn(T) -> V) -> String {
    value.map_or_else(String::new, |value| of(value).to_string())
}
