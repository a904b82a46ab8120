//! Every setting, best first, with its interval drawn in its row.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::scale::Scale;
use super::{Section, Text, each, name};
use crate::render::view::{View, difference, number, percent, significant, whole};
use crate::report::{Cell, Metric};

/// Metrics with a column from the start; the others come with a tick of a box.
const SHOWN: [&str; 5] = ["span_recall", "span_precision", "recall_at_k", "ndcg_at_10", "retrieved_tokens"];

pub(super) fn section(view: &View) -> Section {
    let scale = Scale::linear(view.ranked.iter().filter_map(|cell| view.summary(cell)).flat_map(|s| [s.lo, s.hi]));
    let metrics: Vec<&Metric> = view.report.metrics.iter().filter(|metric| metric.name != view.primary()).collect();
    let rows = each(view.ranked.iter().enumerate(), |(at, cell)| row(view, at, cell, &scale, &metrics));
    Section {
        id: "leaderboard",
        title: "All settings",
        lead: format!(
            "Best first by {}. The bar is the {} interval of the mean, the dot the mean. A <em class=\"tie\">tie</em> is a \
             setting that these questions cannot tell from the best, at a p-value corrected for the number of comparisons.",
            Text(view.primary_title()),
            percent(view.report.scoring.confidence)
        ),
        body: format!(
            "{}<div class=\"scroll board\" role=\"region\" aria-label=\"All settings\" tabindex=\"0\"><table id=\"board\">\
             <thead><tr>{}</tr></thead><tbody>{rows}</tbody></table></div>\n",
            controls(view),
            head(view, &metrics)
        ),
    }
}

fn head(view: &View, metrics: &[&Metric]) -> String {
    let mut head = format!(
        "<th scope=\"col\" class=\"n\">#</th><th scope=\"col\">Setting</th><th scope=\"col\" class=\"quality\" aria-sort=\"descending\">{}</th>\
         <th scope=\"col\" class=\"n\">Against the best</th>",
        Text(view.primary_title())
    );
    for metric in metrics {
        let (class, meaning, title) = (class(metric), Text(&metric.meaning), Text(&metric.title));
        let _ = write!(head, "<th scope=\"col\" class=\"{class}\" title=\"{meaning}\">{title}</th>");
    }
    for title in ["Chunks", "Dataset, MB", "Index, s", "Question p50, ms"] {
        let _ = write!(head, "<th scope=\"col\" class=\"n\">{title}</th>");
    }
    head + "<th scope=\"col\">Unbeaten at its cost in</th>"
}

fn class(metric: &Metric) -> &'static str {
    if SHOWN.contains(&metric.name.as_str()) { "n" } else { "n x" }
}

#[expect(clippy::cast_precision_loss, reason = "three digits of a size are shown")]
fn row(view: &View, at: usize, cell: &Cell, scale: &Scale, metrics: &[&Metric]) -> String {
    let tie = if view.ties(cell) { " data-t" } else { "" };
    let pareto = if cell.pareto.is_empty() { "" } else { " data-p" };
    let mut row = format!(
        "<tr id=\"c{at}\" data-r=\"{}\" data-k=\"{}\"{tie}{pareto}><td class=\"n\">{}</td><th scope=\"row\">{}</th>{}{}",
        Text(&cell.retrieval),
        cell.k,
        at + 1,
        name(view, cell),
        interval(view, cell, scale),
        against(view, cell)
    );
    for metric in metrics {
        let value = cell.metrics.get(&metric.name).map(|summary| number(Some(metric), summary.mean));
        let _ = write!(row, "<td class=\"{}\">{}</td>", class(metric), value.as_deref().unwrap_or("–"));
    }
    let index = cell.cost.index.as_ref().map(|index| significant(index.seconds.median));
    for number in [
        whole(cell.chunks),
        significant(cell.cost.bytes as f64 / 1e6),
        index.unwrap_or_else(|| "–".to_owned()),
        significant(cell.cost.query_ms.p50),
    ] {
        let _ = write!(row, "<td class=\"n\">{number}</td>");
    }
    let costs: Vec<&str> = cell.pareto.iter().map(|name| cost_name(name)).collect();
    let _ = writeln!(row, "<td class=\"costs\">{}</td></tr>", Text(&costs.join(", ")));
    row
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

fn interval(view: &View, cell: &Cell, scale: &Scale) -> String {
    let Some(s) = view.summary(cell) else { return "<td class=\"quality\">–</td>".to_owned() };
    let (low, high, mean) = (scale.place(s.lo), scale.place(s.hi), scale.place(s.mean));
    format!(
        "<td class=\"quality\"><b>{}</b> <small>{}–{}</small><i class=\"iv\" style=\"--l:{low:.1}%;--w:{:.1}%;--m:{mean:.1}%\">\
         </i></td>",
        view.value(s.mean),
        view.value(s.lo),
        view.value(s.hi),
        high - low
    )
}

fn against(view: &View, cell: &Cell) -> String {
    let Some(c) = cell.comparison else { return "<td class=\"n\">best</td>".to_owned() };
    let tie = if view.ties(cell) { " <em class=\"tie\">tie</em>" } else { "" };
    format!(
        "<td class=\"n\" title=\"{} to {}, p {:.3} after correction\">{}{tie}</td>",
        difference(c.lo),
        difference(c.hi),
        c.p_adjusted,
        difference(c.difference)
    )
}

fn controls(view: &View) -> String {
    let retrievals: BTreeSet<&str> = view.report.cells.iter().map(|cell| cell.retrieval.as_str()).collect();
    let ks: BTreeSet<usize> = view.report.cells.iter().map(|cell| cell.k).collect();
    let options = |values: Vec<String>| each(values, |value| format!("<option>{}</option>", Text(&value)));
    format!(
        "<div class=\"controls\"><div class=\"js-only filters\">\
         <label class=\"wide\">Find <input type=\"search\" id=\"find\" placeholder=\"recursive max=400\"></label>\
         <label>Search <select id=\"by-r\"><option value=\"\">any</option>{}</select></label>\
         <label>k <select id=\"by-k\"><option value=\"\">any</option>{}</select></label>\
         <label class=\"check\"><input type=\"checkbox\" id=\"only-t\"> ties with the best</label>\
         <label class=\"check\"><input type=\"checkbox\" id=\"only-p\"> unbeaten at its cost</label></div>\
         <label class=\"check all\"><input type=\"checkbox\" id=\"all\"> all metrics</label>\
         <output class=\"js-only\" id=\"shown\" aria-live=\"polite\"></output></div>",
        options(retrievals.into_iter().map(str::to_owned).collect()),
        options(ks.into_iter().map(|k| k.to_string()).collect()),
    )
}
