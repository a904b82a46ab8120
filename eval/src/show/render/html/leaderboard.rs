//! Every setting, best first.
//!
//! With hundreds of rows, this is most of the page, so a row shows only what you need for a choice, with as little
//! markup as HTML allows. All metrics are shown for a few settings here, and for all settings in `report.csv`.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::parts::{Section, details, each, name, row, table};
use crate::data::report::{Cell, Correction, Metric};
use crate::show::render::text::Text;
use crate::show::render::view::{View, chance, counted, difference, number, percent, significant, summary, whole};

/// Metrics with a column, in addition to the primary metric.
const SHOWN: [&str; 2] = ["span_recall", "retrieved_tokens"];

/// Number of settings shown with all metrics.
const FEW: usize = 6;

pub(super) fn section(view: &View) -> Section {
    let is_shown = |metric: &&Metric| SHOWN.contains(&metric.name.as_str()) && metric.name != view.primary();
    let metrics: Vec<&Metric> = view.report.metrics.iter().filter(is_shown).collect();
    let one_dataset = View::builds(&view.ranked).len() == 1;
    let rows = each(view.ranked.iter().enumerate(), |(at, cell)| board_row(view, at, cell, &metrics, one_dataset));
    Section {
        id: "leaderboard",
        title: "All settings",
        lead: format!(
            "Best first by {}. A setting is <em class=\"open\">not ruled out</em> if it is not significantly worse than the \
             best ({}), or comes out best in 2.5&nbsp;% or more of the samples. P(best) is the share of samples in which it does.",
            Text(view.primary_title()),
            correction(view.report.scoring.correction)
        ),
        body: format!(
            "{}<div class=\"scroll board\" role=\"region\" aria-label=\"All settings\" tabindex=\"0\"><table id=\"board\" data-mean=\"{}\">\
             <thead><tr>{}</tr></thead><tbody>{rows}</tbody></table></div>\n{}",
            controls(view),
            Text(view.primary()),
            head(view, &metrics),
            all_metrics(view)
        ),
    }
}

/// Names the correction for multiple comparisons in words.
pub(super) fn correction(correction: Correction) -> &'static str {
    match correction {
        Correction::MaxT => "corrected for the number of comparisons by MaxT",
        Correction::Holm => "corrected for the number of comparisons by Holm’s method",
    }
}

fn head(view: &View, metrics: &[&Metric]) -> String {
    let mut head = String::new();
    // The script finds a column by the name in `data-c`.
    let mut column = |column: &str, class: &str, title: &str, says: &str| {
        let sorted = if column == view.primary() { " aria-sort=\"descending\"" } else { "" };
        let _ = write!(
            head,
            "<th scope=\"col\" class=\"{class}\" data-c=\"{}\" title=\"{}\"{sorted}>{}</th>",
            Text(column),
            Text(says),
            Text(title)
        );
    };
    column("rank", "n", "#", "Rank by the primary metric");
    column("setting", "", "Setting", "");
    column("search", "", "Search", "");
    column("k", "n", "k", "Number of best chunks taken");
    column(view.primary(), "n", view.primary_title(), &view.unit(view.primary()));
    let interval = format!("{} interval", percent(view.report.scoring.confidence));
    column("interval", "", &interval, "The bar is the interval of the mean, the dot is the mean; from 0 to 1");
    column("p_best", "n", "P(best)", "Probability of being the best of all, in per cent");
    column("against", "n", "Against the best", "Difference of the means; intervals and p-values are in report.csv");
    for metric in metrics {
        column(&metric.name, "n", &metric.title, &view.unit(&metric.name));
    }
    column("chunks", "n", "Chunks", "Chunks in the dataset");
    column("bytes", "n", "Dataset, MB", "Size on disk, millions of bytes");
    column("index_seconds", "n", "Index, s", "Median time of a whole run without the cache, in seconds");
    column("query_ms", "n", "Question p50, ms", "Median time per question, in milliseconds");
    column("pareto", "", "Unbeaten in", "No other setting is both better and cheaper in this");
    head
}

#[expect(clippy::cast_precision_loss, reason = "three digits of a size are shown")]
fn board_row(view: &View, at: usize, cell: &Cell, metrics: &[&Metric], one_dataset: bool) -> String {
    let mut row = format!(
        "<tr><td>{}<th>{}<td>{}<td>{}{}<td>{}<td>{}",
        at + 1,
        label(view, cell, one_dataset),
        Text(&cell.retrieval),
        cell.k,
        interval(view, cell),
        Text(&cell.p_best.map_or_else(|| "–".to_owned(), chance)),
        against(view, cell)
    );
    for metric in metrics {
        let value = cell.metrics.get(&metric.name).map(|summary| number(Some(metric), summary.mean));
        let _ = write!(row, "<td>{}", value.as_deref().unwrap_or("–"));
    }
    let index = cell.cost.index.as_ref().map(|index| significant(index.seconds.median));
    let costs: Vec<&str> = cell.pareto.iter().map(|name| cost_name(name)).collect();
    let _ = writeln!(
        row,
        "<td>{}<td>{}<td>{}<td>{}<td>{}",
        whole(cell.chunks),
        significant(cell.cost.bytes as f64 / 1e6),
        index.as_deref().unwrap_or("–"),
        significant(cell.cost.query_ms.p50),
        Text(&costs.join(", "))
    );
    row
}

/// Renders the dataset's name and what the name leaves out: the settings behind a preset if there are several
/// datasets, and the details of a search beyond its mode and k.
fn label(view: &View, cell: &Cell, one_dataset: bool) -> String {
    let usual = format!("{} · k={}", cell.retrieval, cell.k);
    let detail = view.detail(cell);
    let more = detail.strip_prefix(&cell.retrieval).and_then(|rest| rest.strip_suffix(&format!("k={}", cell.k)));
    let more = if detail == usual { "" } else { more.unwrap_or(&detail).trim_matches([' ', '·']) };
    let says_all = one_dataset || cell.build.contains('=') || cell.build == cell.spec_text;
    let settings = if says_all { "" } else { cell.spec_text.as_str() };
    let small = |text: &str| if text.is_empty() { String::new() } else { format!("<small>{}</small>", Text(text)) };
    format!("{}{}{}", Text(&cell.build), small(settings), small(more))
}

fn cost_name(name: &str) -> &str {
    match name {
        "retrieved_tokens" => "tokens",
        "bytes" => "size",
        "index_seconds" => "indexing",
        "query_ms" => "question",
        other => other,
    }
}

/// Renders two columns: the mean, and its interval, for which the script draws a bar.
fn interval(view: &View, cell: &Cell) -> String {
    view.summary(cell).map_or_else(
        || "<td>–<td>–".to_owned(),
        |s| format!("<td>{}<td>{}–{}", view.value(s.mean), view.value(s.lo), view.value(s.hi)),
    )
}

fn against(view: &View, cell: &Cell) -> String {
    let Some(c) = cell.comparison else { return "best".to_owned() };
    let open = if view.is_open(cell) { " <em>not ruled out</em>" } else { "" };
    format!("{}{open}", difference(c.difference))
}

fn controls(view: &View) -> String {
    let retrievals: BTreeSet<&str> = view.report.cells.iter().map(|cell| cell.retrieval.as_str()).collect();
    let ks: BTreeSet<usize> = view.report.cells.iter().map(|cell| cell.k).collect();
    let options = |values: Vec<String>| each(values, |value| format!("<option>{}</option>", Text(&value)));
    format!(
        "<div class=\"controls js-only\">\
         <label class=\"wide\">Find <input type=\"search\" id=\"find\" placeholder=\"recursive max=400\"></label>\
         <label>Search <select id=\"by-r\"><option value=\"\">any</option>{}</select></label>\
         <label>k <select id=\"by-k\"><option value=\"\">any</option>{}</select></label>\
         <label class=\"check\"><input type=\"checkbox\" id=\"only-t\"> not ruled out</label>\
         <label class=\"check\"><input type=\"checkbox\" id=\"only-p\"> unbeaten in a cost</label>\
         <output id=\"shown\" aria-live=\"polite\"></output></div>",
        options(retrievals.into_iter().map(str::to_owned).collect()),
        options(ks.into_iter().map(|k| k.to_string()).collect()),
    )
}

/// Renders a table with a row per metric and a column for each of a few settings.
fn all_metrics(view: &View) -> String {
    let mut cells = view.choice();
    view.shorten(&mut cells, FEW);
    let known = |metric: &&Metric| cells.iter().any(|cell| cell.metrics.contains_key(&metric.name));
    let metrics: Vec<&Metric> = view.report.metrics.iter().filter(known).collect();
    if metrics.is_empty() {
        return String::new();
    }
    let names: Vec<String> = cells.iter().map(|cell| name(view, cell)).collect();
    let head: Vec<&str> = std::iter::once("Metric").chain(names.iter().map(String::as_str)).collect();
    let line = |metric: &&Metric| {
        let heading = format!("<span title=\"{}\">{}</span>", Text(&view.unit(&metric.name)), Text(&metric.title));
        let value = |cell: &&Cell| summary(cell, &metric.name).map(|s| number(Some(metric), s.mean));
        row(&heading, &cells.iter().map(|cell| value(cell).unwrap_or_else(|| "–".to_owned())).collect::<Vec<_>>())
    };
    let rows: Vec<String> = metrics.iter().map(line).collect();
    let (all, few) = (counted(metrics.len(), "metric"), counted(cells.len(), "representative setting"));
    let title = format!("All {all} of {few}");
    details(&title, &table("All metrics of some settings", &head, &rows))
}
