//! `report.md`: a summary for reviewers of a pull request, in GitHub's Markdown.

use std::fmt::Write;

use chunkmill::cli::visible;
use chunkmill::value;

use super::baseline::{Baseline, sure};
use super::prose::{hybrid_leaders, hybrid_sentence, prose};
use super::view::{View, bytes, chance, count, difference, share};
use crate::data::report::{Advice, Cell, ChanceBin, ChanceRecord, Report, RiskPoint, Spread};
use crate::findings::change::{BrokenQuestion, Evidence};

/// Largest number of cells listed.
const TOP: usize = 10;

/// Largest number of questions listed.
const NAMED: usize = 50;

/// Largest number of questions that are listed because they are not all found.
const NAMED_OPEN: usize = 10;

/// Renders the change against a baseline, the verdict, the best ten settings, and fused search compared with its
/// halves.
pub fn markdown(report: &Report, baseline: Option<&Baseline>) -> String {
    let view = View::new(report);
    let mut text = format!("## Chunk settings for {}\n\n", escape(&report.labels.name));
    if let Some(baseline) = baseline {
        change(&view, baseline, &mut text);
        text.push_str("### Result of this run\n\n");
    }
    verdict(&view, &mut text);
    questions(report, &mut text);
    leaders(&view, &mut text);
    hybrid(&view, &mut text);
    chances(report, &mut text);
    let labels = &report.labels;
    let _ = writeln!(
        text,
        "<sub>{}, {}, {} · labels {} · corpus {} · chunkmill-eval {} · {}</sub>",
        value::count(report.cells.len(), "setting"),
        value::count(labels.scored, "question"),
        value::count(labels.documents, "document"),
        escape(&labels.queries_hash),
        escape(&labels.corpus_hash),
        escape(&report.tool_version),
        escape(&report.created)
    );
    text
}

fn verdict(view: &View, text: &mut String) {
    let Some(verdict) = &view.report.verdict else {
        text.push_str("No question could be scored, so there is no verdict.\n\n");
        return;
    };
    let Advice { headline, gain, cost, certainty, next, caveats } = &verdict.advice;
    if headline.is_empty() {
        let _ = writeln!(text, "{}\n", sentence(&verdict.text));
    } else {
        let _ = writeln!(text, "**{}**\n", sentence(headline));
    }
    for (name, words) in [("You gain", gain), ("It costs", cost), ("How sure", certainty), ("Do next", next)] {
        if !words.is_empty() {
            let _ = writeln!(text, "- {name}: {}", sentence(words));
        }
    }
    for caveat in caveats {
        let _ = writeln!(text, "- Caveat: {}", sentence(caveat));
    }
    text.push('\n');
    let toml = visible(verdict.toml.trim_end());
    let fence = fence(&toml);
    let _ = writeln!(text, "{fence}toml\n{toml}\n{fence}\n");
}

/// Returns the recommended setting.
fn advised(report: &Report) -> Option<&Cell> {
    report.cell(&report.verdict.as_ref()?.advised)
}

/// Names the questions whose evidence the recommended setting does not hand over in full.
fn questions(report: &Report, text: &mut String) {
    let Some(cell) = advised(report) else { return };
    let words = |letter| match letter {
        'p' => Some("a part"),
        'm' => Some("missed"),
        'u' => Some("unreachable"),
        _ => None,
    };
    let found = report.queries.iter().zip(cell.outcomes.chars());
    let open: Vec<_> = found.filter_map(|(query, letter)| Some((query, words(letter)?))).collect();
    if open.is_empty() {
        return;
    }
    let all = value::count(report.labels.scored, "question");
    let _ = writeln!(text, "### Not all found: {} of {all}\n", open.len());
    for (query, words) in open.iter().take(NAMED_OPEN) {
        let _ = writeln!(text, "- {} ({words}): {}", escape(&query.id), escape(&query.text));
    }
    let hidden = open.len().saturating_sub(NAMED_OPEN);
    if hidden > 0 {
        let _ = writeln!(text, "- and {hidden} more, in report.html");
    }
    text.push('\n');
}

/// Says whether the recommended setting knows when the documents have no answer.
fn chances(report: &Report, text: &mut String) {
    let Some(ChanceRecord { reliability, risk, area }) = advised(report).and_then(|cell| cell.chance.as_ref()) else {
        return;
    };
    let _ = writeln!(
        text,
        "### Questions without an answer\n\nEach question was asked once more without the documents that answer it. Answering \
         only with a chance of evidence of at least p:\n\n| p | answered, of those with an answer | answered, of those without one |\n\
         | --: | --: | --: |"
    );
    for RiskPoint { least, answered, mistaken } in risk {
        let _ = writeln!(text, "| {least} | {} | {} |", share(*answered), share(*mistaken));
    }
    let _ = writeln!(
        text,
        "\nArea under the risk curve: {area:.3}. Is a chance right?\n\n| said | found | chunks |\n| --: | --: | --: |"
    );
    for ChanceBin { said, found, chunks, .. } in reliability {
        let _ = writeln!(text, "| {said:.3} | {found:.3} | {chunks} |");
    }
    text.push('\n');
}

fn leaders(view: &View, text: &mut String) {
    let timed = view.ranked.iter().any(|cell| cell.cost.index.is_some());
    let [title, line] = if timed { [" indexing |", " --: |"] } else { ["", ""] };
    let primary = escape(view.primary_title());
    let _ =
        writeln!(text, "| # | setting | {primary} | P(best) | against the best | tokens of k chunks | size |{title}");
    let _ = writeln!(text, "| --: | --- | --- | --: | --- | --: | --: |{line}");
    for (at, cell) in view.ranked.iter().take(TOP).enumerate() {
        let quality = view.summary(cell).map_or_else(
            || "–".to_owned(),
            |s| format!("**{}** ({} to {})", view.value(s.mean), view.value(s.lo), view.value(s.hi)),
        );
        let (place, name, against) = (at + 1, escape(&cell.id), against(view, cell));
        let p_best = cell.p_best.map_or_else(|| "–".to_owned(), chance);
        let tokens = cell.metrics.get("retrieved_tokens").map_or_else(|| "–".to_owned(), |s| count(s.mean));
        let size = bytes(cell.cost.bytes);
        let seconds = cell.cost.index.as_ref().map_or_else(|| "–".to_owned(), |index| indexing(index.seconds));
        let indexing = if timed { format!(" {seconds} |") } else { String::new() };
        let _ = writeln!(text, "| {place} | {name} | {quality} | {p_best} | {against} | {tokens} | {size} |{indexing}");
    }
    let hidden = view.ranked.get(TOP..).unwrap_or_default();
    if !hidden.is_empty() {
        let open = match hidden.iter().filter(|cell| view.is_open(cell)).count() {
            0 => String::new(),
            open => format!(" ({open} not ruled out)"),
        };
        let more = value::count(hidden.len(), "more setting");
        let _ = write!(text, "\nreport.html shows {more}{open}.\n");
    }
    text.push('\n');
}

/// Writes how long indexing took, with the range of several runs.
fn indexing(Spread { median, min, max }: Spread) -> String {
    if max > min { format!("{median:.1} s ({min:.1} to {max:.1})") } else { format!("{median:.1} s") }
}

fn against(view: &View, cell: &Cell) -> String {
    match cell.comparison {
        None => "best".to_owned(),
        Some(comparison) if view.is_open(cell) => format!("{} (not ruled out)", difference(comparison.difference)),
        Some(comparison) => difference(comparison.difference),
    }
}

fn hybrid(view: &View, text: &mut String) {
    let Some(verdict) = view.report.verdict.as_ref().filter(|verdict| !verdict.hybrid.is_empty()) else { return };
    let _ = writeln!(text, "### Hybrid search compared with its halves\n\n{}\n", hybrid_sentence(view.report, verdict));
    for verdict in hybrid_leaders(view, 3) {
        let _ = writeln!(text, "- {}: {}", escape(&verdict.hybrid), sentence(&verdict.text));
    }
    text.push('\n');
}

fn change(view: &View, baseline: &Baseline, text: &mut String) {
    let (changes, outcome) = (&baseline.changes, &baseline.outcome);
    let _ = writeln!(text, "### Change against the baseline\n\n**{}**\n", escape(&outcome.verdict()));
    lost(&changes.evidence, text);
    if let Some(figures) = baseline.figures(view.report) {
        let _ = writeln!(text, "{}.\n", sentence(&figures));
    }
    let _ = writeln!(text, "{}\n", escape(&baseline.sentence(view)));
    let largest = baseline.largest(view, TOP);
    if !largest.is_empty() {
        let all = if changes.evidence.lost.is_empty() { ["", ""] } else { [" with lost ones as misses |", " --: |"] };
        let _ = writeln!(text, "| setting | before | now | change | | questions better / worse |{}", all[0]);
        let _ = writeln!(text, "| --- | --: | --: | --: | --- | --: |{}", all[1]);
    }
    for (cell, change) in largest {
        let all = change.all.map(|all| format!(" {} → {} |", view.value(all.before), view.value(all.after)));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} / {} |{}",
            escape(&cell.id),
            view.value(change.before),
            view.value(change.after),
            difference(change.comparison.difference),
            sure(change),
            change.better,
            change.worse,
            all.unwrap_or_default()
        );
    }
    text.push('\n');
    broken(&outcome.broken, text);
    for note in &changes.notes {
        let _ = writeln!(text, "> {}\n", escape(note));
    }
    for (what, ids) in [("Only in this run", &changes.added), ("Only in the baseline", &changes.missing)] {
        if !ids.is_empty() {
            let _ = writeln!(text, "\n{what}: {}.", value::count(ids.len(), "setting"));
        }
    }
    text.push('\n');
}

fn lost(evidence: &Evidence, text: &mut String) {
    if evidence.lost.is_empty() {
        return;
    }
    let _ = writeln!(text, "Lost evidence: {}.\n\n| | question | lost |\n| --- | --- | --- |", evidence.kinds());
    for lost in evidence.lost.iter().take(NAMED) {
        let (id, question, places) = (escape(&lost.query), escape(&lost.text), escape(&lost.places()));
        let _ = writeln!(text, "| {id} | {question} | {places} |");
    }
    if let Some(rest @ [_, ..]) = evidence.lost.get(NAMED..) {
        let ids: Vec<String> = rest.iter().map(|lost| escape(&lost.query)).collect();
        let _ = writeln!(text, "\nAnd {} more: {}.", rest.len(), ids.join(", "));
    }
    text.push('\n');
}

fn broken(broken: &[BrokenQuestion], text: &mut String) {
    if broken.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{} broke: a setting now has at most half of what it had.\n\n| | question | before | now | settings | handed over now |\n\
         | --- | --- | --: | --: | --: | --- |",
        value::count(broken.len(), "question")
    );
    for BrokenQuestion { query, text: question, before, after, cells, of, handed_over, .. } in broken.iter().take(NAMED)
    {
        let (id, question, now) = (escape(query), escape(question), escape(&handed_over.join(", ")));
        let (before, after) = (share(*before), share(*after));
        let _ = writeln!(text, "| {id} | {question} | {before} | {after} | {cells} of {of} | {now} |");
    }
    if broken.len() > NAMED {
        let _ = writeln!(text, "\nAnd {} more.", broken.len() - NAMED);
    }
    text.push('\n');
}

/// Renders a text in which settings are code.
fn sentence(text: &str) -> String {
    prose(text, escape, |code| format!("`{}`", visible(code).replace(['\n', '\t'], " ")))
}

/// Escapes text that Markdown and its inline HTML then show literally, on one line.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '|' | '[' | ']' | '~' | '#' | '@' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\t' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns a code fence that the text cannot close.
fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut ticks = 0;
    for c in text.chars() {
        ticks = if c == '`' { ticks + 1 } else { 0 };
        longest = longest.max(ticks);
    }
    "`".repeat(3.max(longest + 1))
}
