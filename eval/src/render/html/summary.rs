//! The first screen: which settings to use, how good they are, and how sure that is.

use std::fmt::Write;

use super::{Text, each};
use crate::render::view::{View, percent, share, whole};
use crate::report::{Cell, Verdict};

pub(super) fn header(view: &View) -> String {
    let report = view.report;
    let labels = &report.labels;
    let day = report.created.get(..10).unwrap_or(&report.created);
    format!(
        "<header class=\"top\"><p class=\"brand\">chunkmill <span>evaluation</span></p><h1>Chunk settings for {}</h1>\
         <p class=\"facts\"><span>{} settings</span><span>{} questions</span><span>{} documents</span><span>{}</span></p>\
         {}<div id=\"verdict\" class=\"verdict\">{}</div></header>",
        Text(&labels.name),
        number(report.cells.len()),
        number(labels.scored),
        number(labels.documents),
        Text(day),
        warnings(view),
        report.verdict.as_ref().map_or_else(|| none().to_owned(), |verdict| body(view, verdict)),
    )
}

fn none() -> &'static str {
    "<p class=\"answer\">No question could be scored, so there is no verdict.</p>"
}

fn body(view: &View, verdict: &Verdict) -> String {
    format!("<div><p class=\"answer\">{}</p>{}</div>{}", Text(&verdict.text), tiles(view, verdict), settings(verdict))
}

fn settings(verdict: &Verdict) -> String {
    if verdict.toml.is_empty() {
        return String::new();
    }
    format!(
        "<figure class=\"toml\"><figcaption>For <code>chunkmill.toml</code><button type=\"button\" id=\"copy\" \
         class=\"js-only\">Copy</button></figcaption><pre id=\"toml\" tabindex=\"0\">{}</pre></figure>",
        Text(verdict.toml.trim_end())
    )
}

fn tiles(view: &View, verdict: &Verdict) -> String {
    let mut tiles = String::new();
    let mut tile = |title: &str, value: &str, note: &str| {
        let _ = write!(tiles, "<div><dt>{title}</dt><dd><b>{value}</b> <span>{note}</span></dd></div>");
    };
    if let Some(summary) = view.best().and_then(|cell| view.summary(cell)) {
        let interval = format!(
            "{} interval {} to {}",
            percent(view.report.scoring.confidence),
            view.value(summary.lo),
            view.value(summary.hi)
        );
        tile(&Text(view.primary_title()).to_string(), &view.value(summary.mean), &interval);
    }
    let equals = verdict.not_separable.len();
    let note = if equals == 0 { "the best stands alone" } else { "these questions cannot tell them from the best" };
    tile("As good, as far as one can tell", &number(equals), note);
    if verdict.cheapest != verdict.best
        && let Some(cheapest) = view.report.cell(&verdict.cheapest)
    {
        tile("Smallest of them", &smaller(view, cheapest), &Text(&cheapest.id).to_string());
    }
    if verdict.minimum_detectable_effect > 0.0 {
        let note = "a smaller one would likely go unseen with these questions";
        tile("Smallest difference that shows", &share(verdict.minimum_detectable_effect), note);
    }
    format!("<dl class=\"tiles\">{tiles}</dl>")
}

/// The size of the cheapest dataset beside that of the best.
#[expect(clippy::cast_precision_loss, reason = "it is shown in per cent")]
fn smaller(view: &View, cheapest: &Cell) -> String {
    match view.best() {
        Some(best) if best.cost.bytes > 0 => {
            format!("{} of the size", percent(cheapest.cost.bytes as f64 / best.cost.bytes as f64))
        }
        _ => crate::render::view::bytes(cheapest.cost.bytes),
    }
}

/// What a reader has to know before believing any of it.
fn warnings(view: &View) -> String {
    let labels = &view.report.labels;
    let mut notes = Vec::new();
    if labels.synthetic {
        notes.push(
            "Questions were made up from the documents themselves. They compare settings; they do not say how good search \
             is for real questions."
                .to_owned(),
        );
    }
    let drifted: usize = labels.states.iter().filter(|(state, _)| *state != "valid").map(|(_, count)| count).sum();
    if drifted > 0 {
        let all: usize = labels.states.values().sum();
        notes.push(format!(
            "{} of {} references no longer stand where the labels say. <code>chunkmill-eval verify</code> names them.",
            number(drifted),
            number(all)
        ));
    }
    each(notes, |note| format!("<p class=\"note\">{note}</p>"))
}

fn number(value: usize) -> String {
    whole(value as u64)
}
