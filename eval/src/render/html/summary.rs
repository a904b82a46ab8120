//! The first screen: which settings to use, how good they are, and how sure that is.

use std::fmt::Write;

use super::{Text, sentence};
use crate::render::view::{View, percent, share, whole};
use crate::report::{Cell, Verdict};

pub(super) fn header(view: &View) -> String {
    let report = view.report;
    let labels = &report.labels;
    let day = report.created.get(..10).unwrap_or(&report.created);
    format!(
        "<header class=\"masthead\"><p class=\"brand\">chunkmill <span>evaluation</span></p><h1>Chunk settings for {}</h1>\
         <p class=\"facts\"><span>{} settings</span><span>{} questions</span><span>{} documents</span><span>{}</span></p>\
         <div id=\"verdict\" class=\"verdict\">{}</div>{}</header>",
        Text(&labels.name),
        number(report.cells.len()),
        number(labels.scored),
        number(labels.documents),
        Text(day),
        report.verdict.as_ref().map_or_else(|| none().to_owned(), |verdict| body(view, verdict)),
        warnings(view),
    )
}

fn none() -> &'static str {
    "<p class=\"answer\">No question could be scored, so there is no verdict.</p>"
}

fn body(view: &View, verdict: &Verdict) -> String {
    let (answer, rest) = first_sentence(&verdict.text);
    format!(
        "<p class=\"answer\">{}</p>{}<p class=\"more\">{}</p>{}",
        sentence(answer),
        settings(verdict),
        sentence(rest),
        tiles(view, verdict)
    )
}

/// A text's first sentence, and what follows. Names of settings, which may hold anything, do not end it.
fn first_sentence(text: &str) -> (&str, &str) {
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    let end = ends.into_iter().find(|end| text[..*end].matches('`').count().is_multiple_of(2));
    text.split_at(end.unwrap_or(text.len()))
}

fn settings(verdict: &Verdict) -> String {
    if verdict.toml.is_empty() {
        return String::new();
    }
    format!(
        "<figure class=\"toml\"><figcaption><span>For <code>chunkmill.toml</code></span><button type=\"button\" id=\"copy\" \
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
        let confidence = percent(view.report.scoring.confidence);
        let interval = format!("{confidence} interval {} to {}", view.value(summary.lo), view.value(summary.hi));
        tile(&Text(view.primary_title()).to_string(), &view.value(summary.mean), &interval);
    }
    let equals = verdict.not_separable.len();
    let note =
        if equals == 0 { "no other is as good" } else { "settings that these questions cannot tell from the best" };
    tile("Ties", &number(equals), note);
    if verdict.cheapest != verdict.best
        && let Some((cheapest, share)) = smaller(view, verdict)
    {
        tile("Smallest of the ties", &share, &format!("of the best one’s size: {}", Text(&cheapest.id)));
    }
    if verdict.minimum_detectable_effect > 0.0 {
        let note = "a smaller difference would likely go unseen with these questions";
        tile("What would show", &format!("±{}", share(verdict.minimum_detectable_effect)), note);
    }
    format!("<dl class=\"tiles\">{tiles}</dl>")
}

/// The smallest dataset that is as good, and its size as a share of the best one's.
#[expect(clippy::cast_precision_loss, reason = "it is shown in per cent")]
fn smaller<'r>(view: &View<'r>, verdict: &Verdict) -> Option<(&'r Cell, String)> {
    let cheapest = view.report.cell(&verdict.cheapest)?;
    let best = view.best().filter(|best| best.cost.bytes > 0)?;
    Some((cheapest, percent(cheapest.cost.bytes as f64 / best.cost.bytes as f64)))
}

/// What a reader has to know before believing any of it.
fn warnings(view: &View) -> String {
    let labels = &view.report.labels;
    // What was moved is scored at its new place. That labels are synthetic, the verdict says itself.
    let fits = |state: &str| matches!(state, "valid" | "moved");
    let drifted: usize = labels.states.iter().filter(|(state, _)| !fits(state)).map(|(_, count)| count).sum();
    if drifted == 0 {
        return String::new();
    }
    format!(
        "<p class=\"note\">{} of {} references no longer fit their documents and were left out. <code>chunkmill-eval \
         verify</code> names them.</p>",
        number(drifted),
        number(labels.states.values().sum())
    )
}

fn number(value: usize) -> String {
    whole(value as u64)
}
