//! The first screen: the change, if there is a baseline; which settings to use, how good they are, how certain that is, and the most informative plot.

use std::fmt::Write;

use super::parts::{details, each, sentence};
use super::{budgets, plot};
use crate::data::report::{Cell, Report, Verdict};
use crate::findings::analysis::{Clusters, favoured};
use crate::show::render::text::Text;
use crate::show::render::view::{View, chance, counted, percent, share, whole};

pub(super) fn header(view: &View, change: &str) -> String {
    let report = view.report;
    let labels = &report.labels;
    let day = report.created.get(..10).unwrap_or(&report.created);
    format!(
        "<header class=\"masthead\"><p class=\"brand\">chunkmill <span>evaluation</span></p><h1>Chunk settings for {}</h1>\
         <p class=\"facts\"><span>{}</span><span>{}</span><span>{}</span><span>{}</span></p>{change}\
         <div id=\"verdict\" class=\"verdict\" tabindex=\"-1\">{}</div></header>",
        Text(&labels.name),
        counted(report.cells.len(), "setting"),
        counted(labels.scored, "question"),
        counted(labels.documents, "document"),
        Text(day),
        report.verdict.as_ref().map_or_else(|| none(view), |verdict| body(view, verdict)),
    )
}

fn none(view: &View) -> String {
    format!(
        "<div class=\"says\"><p class=\"answer\">No question could be scored, so there is no verdict.</p>{}</div>",
        notes(view)
    )
}

fn body(view: &View, verdict: &Verdict) -> String {
    let (answer, rest) = first_sentence(&verdict.text);
    let words = match rest.trim() {
        "" => String::new(),
        rest => details("The rest of the verdict", &format!("<p class=\"more\">{}</p>", sentence(rest))),
    };
    // Without measurements at two budgets, the costs are the most informative.
    let drawn = budgets::curves(view).or_else(|| plot::first(view)).unwrap_or_default();
    format!(
        "<div class=\"says\"><p class=\"answer\">{}</p>{}{}</div>{drawn}{}{words}",
        sentence(answer),
        notes(view),
        settings(verdict),
        tiles(view, verdict)
    )
}

/// Splits a text after its first sentence. Names of settings may contain anything and do not end it.
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
    let Some(advised) = view.advised() else { return String::new() };
    if let Some(summary) = view.summary(advised) {
        let confidence = percent(view.report.scoring.confidence);
        let interval = format!("{confidence} interval {} to {}", view.value(summary.lo), view.value(summary.hi));
        tile(&Text(view.primary_title()).to_string(), &view.value(summary.mean), &interval);
    }
    let others = view.ranked.iter().filter(|cell| cell.p_best.is_some() && cell.id != verdict.best).count();
    if others > 0 {
        let other = view.ranked.iter().find(|cell| cell.p_best.is_some() && cell.id != advised.id);
        let other = other.and_then(|cell| Some(format!("next: {}, {}", Text(&cell.id), Text(&chance(cell.p_best?)))));
        let p = Text(&chance(advised.p_best.unwrap_or_default())).to_string();
        tile("Probability of being the best", &p, &other.unwrap_or_default());
        let open = verdict.not_separable.len();
        let is_part = others + 1 < view.report.cells.len() && view.report.labels.synthetic;
        let without = if is_part { " (keyword search alone is left out)" } else { "" };
        tile("Not ruled out", &number(open), &format!("of {}{without}", counted(others, "other setting")));
    }
    if verdict.cheapest != advised.id
        && let Some((cheapest, share)) = smaller(view, verdict)
    {
        tile(
            "Smallest equally good dataset",
            &share,
            &format!("of the recommended one’s size: {}", Text(&cheapest.id)),
        );
    }
    if verdict.minimum_detectable_effect > 0.0 {
        let more = verdict.runner_up.as_ref().filter(|next| next.more_questions > 0);
        let more = more.map_or_else(String::new, |next| {
            format!("; about {} more would separate the first two", whole(rough(next.more_questions)))
        });
        let value = format!("±{}", share(verdict.minimum_detectable_effect));
        tile("Smallest difference they can show", &value, &format!("four times out of five{more}"));
    }
    if let Some(record) = verdict.held_out {
        let note =
            format!("on the half of the questions not used for choosing; {} choose the same", percent(record.same));
        tile("Checked on other questions", &view.value(record.held_out), &note);
    }
    format!("<dl class=\"tiles\">{tiles}</dl>")
}

/// Rounds up to two digits: the estimate is not more precise than that.
fn rough(count: u64) -> u64 {
    let step = 10_u64.pow(count.checked_ilog10().unwrap_or_default().saturating_sub(1));
    count.div_ceil(step) * step
}

/// Returns the smallest dataset that is not ruled out, and its size as a share of the recommended one's.
#[expect(clippy::cast_precision_loss, reason = "it is shown in per cent")]
fn smaller<'r>(view: &View<'r>, verdict: &Verdict) -> Option<(&'r Cell, String)> {
    let cheapest = view.report.cell(&verdict.cheapest)?;
    let advised = view.advised().filter(|advised| advised.cost.bytes > 0)?;
    Some((cheapest, percent(cheapest.cost.bytes as f64 / advised.cost.bytes as f64)))
}

/// Renders the caveats that a reader must know before trusting the results.
fn notes(view: &View) -> String {
    let report = view.report;
    let proposed = favoured(report).map(|favoured| sentence(&favoured));
    let notes = [drifted(report), not_indexed(report), synthetic(report), proposed, one_place(report)];
    each(notes.into_iter().flatten(), |note| format!("<p class=\"note\">{note}</p>"))
}

fn drifted(report: &Report) -> Option<String> {
    // A moved reference is scored at its new place.
    let fits = |state: &str| matches!(state, "valid" | "moved");
    let states = &report.labels.states;
    let drifted: usize = states.iter().filter(|(state, _)| !fits(state)).map(|(_, count)| count).sum();
    (drifted > 0).then(|| {
        format!(
            "References that no longer match their documents were left out: {} of {}. \
             <code>chunkmill-eval verify</code> lists them.",
            number(drifted),
            number(states.values().sum())
        )
    })
}

fn not_indexed(report: &Report) -> Option<String> {
    let lost = report.labels.not_indexed;
    (lost > 0).then(|| format!("References in documents that were not indexed count as not found: {}.", number(lost)))
}

fn synthetic(report: &Report) -> Option<String> {
    report.labels.synthetic.then(|| {
        "The questions were made up from the documents. Real questions may rank the settings differently.".to_owned()
    })
}

fn one_place(report: &Report) -> Option<String> {
    let places = Clusters::of(report).too_few()?;
    let places = counted(places, "place");
    Some(format!("All evidence is in {places}, so the intervals are too narrow for questions about others."))
}

fn number(value: usize) -> String {
    whole(value as u64)
}
