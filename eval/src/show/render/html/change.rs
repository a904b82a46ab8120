//! The changes since a baseline: what a reader must know at once, above everything else, and the details.

use super::parts::{Section, capital, details, each, name, row, sentence, table};
use crate::data::report::Cell;
use crate::findings::change::{BrokenQuestion, Change, Evidence, LostQuestion, MovedQuestion};
use crate::findings::gate::State;
use crate::show::render::baseline::{Baseline, sure};
use crate::show::render::text::Text;
use crate::show::render::view::{View, counted, difference, share, whole};

/// Largest number of changes listed.
const ROWS: usize = 12;

/// Number of questions that are named above everything else.
const NAMED: usize = 6;

/// Renders the change in a few lines, red or green.
pub(super) fn banner(view: &View, baseline: &Baseline) -> String {
    let outcome = &baseline.outcome;
    let evidence = &outcome.evidence;
    let class = if outcome.passed { "good" } else { "worse" };
    let mut body = each(evidence.loss(), |_| format!("<p>Lost evidence: {}.</p>", Text(&evidence.kinds())));
    body.push_str(&each(baseline.figures(view.report), |figures| format!("<p>{}.</p>", sentence(&figures))));
    let lost = evidence.lost.iter().map(|lost| {
        format!("<li><b>{}</b> {} <small>{}</small></li>", Text(&lost.query), Text(&lost.text), Text(&lost.places()))
    });
    body.push_str(&short_list(lost, evidence.lost.len()));
    let failed = outcome.by_state(State::Failed);
    let failed = failed.map(|check| {
        format!("<li><b>{}</b> {} <small>{}</small></li>", Text(&check.what), Text(&check.cell), Text(&check.text))
    });
    body.push_str(&short_list(failed, outcome.by_state(State::Failed).count()));
    if !outcome.broken.is_empty() {
        let broken = counted(outcome.broken.len(), "question");
        body += &["<p>", &broken, " broke: a setting now has at most half of what it had.</p>"].concat();
    }
    format!(
        "<div class=\"gate {class}\" role=\"status\"><p class=\"says-so\">{}</p>{body}<p><small>Compared with the baseline of {} \
         by the default thresholds.</small></p></div>",
        Text(&capital(&outcome.verdict())),
        Text(baseline.report.created.get(..10).unwrap_or(&baseline.report.created))
    )
}

fn short_list(items: impl Iterator<Item = String>, count: usize) -> String {
    if count == 0 {
        return String::new();
    }
    let more = count.saturating_sub(NAMED);
    let more = if more > 0 { format!("<li>and {more} more, below</li>") } else { String::new() };
    format!("<ul>{}{more}</ul>", items.take(NAMED).collect::<String>())
}

pub(super) fn section(view: &View, baseline: &Baseline) -> Section {
    let changes = &baseline.changes;
    let mut body = lost(&changes.evidence);
    body.push_str(&broken(&baseline.outcome.broken));
    body.push_str(&each(&changes.notes, |note| format!("<p class=\"note\">{}.</p>", Text(&capital(note)))));
    body.push_str(&winner(view, baseline));
    let rows: Vec<String> =
        baseline.largest(view, ROWS).into_iter().map(|(cell, change)| change_row(view, cell, change)).collect();
    if !rows.is_empty() {
        let mut head =
            vec!["Setting, largest change first", "before", "now", "change", "sure", "questions better", "worse"];
        if !changes.evidence.lost.is_empty() {
            head.push("before → now with lost ones as misses");
        }
        body.push_str(&table("Changes", &head, &rows));
    }
    body.push_str(&questions(view, &changes.moved));
    for (what, ids) in [("only in this run", &changes.added), ("only in the baseline", &changes.missing)] {
        if !ids.is_empty() {
            let list = each(ids, |id| format!("<li>{}</li>", Text(id)));
            body.push_str(&details(&format!("{} {what}", ids.len()), &format!("<ul class=\"plain-list\">{list}</ul>")));
        }
    }
    let lead = format!(
        "{} The baseline was created on {} by version {}; the two runs have {} in common. \
         <code>chunkmill-eval gate</code> decides whether a change may pass.",
        Text(&baseline.sentence(view)),
        Text(&baseline.report.created),
        Text(&baseline.report.tool_version),
        counted(changes.questions, "question")
    );
    Section { id: "change", title: "Change against the baseline", lead, body }
}

fn winner(view: &View, baseline: &Baseline) -> String {
    let then = baseline.report.verdict.as_ref().map(|verdict| verdict.best.as_str());
    match (then, view.best().map(|cell| cell.id.as_str())) {
        (Some(then), Some(now)) if then == now => {
            format!("<p class=\"plain\">The best setting is the same as before: <code>{}</code>.</p>", Text(now))
        }
        (Some(then), Some(now)) => format!(
            "<p class=\"plain\">The best setting was <code>{}</code>; now it is <code>{}</code>.</p>",
            Text(then),
            Text(now)
        ),
        _ => String::new(),
    }
}

fn change_row(view: &View, cell: &Cell, change: &Change) -> String {
    let c = change.comparison;
    let moved = format!("{} <small>{} to {}</small>", difference(c.difference), difference(c.lo), difference(c.hi));
    let mut numbers = vec![
        view.value(change.before),
        view.value(change.after),
        moved,
        sure(change).to_owned(),
        whole(change.better as u64),
        whole(change.worse as u64),
    ];
    numbers.extend(change.all.map(|all| format!("{} → {}", view.value(all.before), view.value(all.after))));
    row(&name(view, cell), &numbers)
}

fn lost(evidence: &Evidence) -> String {
    let Some(loss) = evidence.loss() else { return String::new() };
    let rows: Vec<String> = evidence.lost.iter().map(lost_row).collect();
    let head = ["Question", "lost"];
    format!(
        "<h3>Lost evidence</h3><p class=\"plain\">{}: {}. These questions are not in the figures, or only with what is left of \
         their evidence.</p>{}",
        Text(&loss),
        Text(&evidence.kinds()),
        with_words("Lost evidence", &head, &rows)
    )
}

/// Renders a table whose last column has words.
fn with_words(name: &str, head: &[&str], rows: &[String]) -> String {
    format!("<div class=\"worded\">{}</div>", table(name, head, rows))
}

fn lost_row(lost: &LostQuestion) -> String {
    let texts = each(lost.references.iter().filter(|reference| !reference.text.is_empty()), |reference| {
        format!("<small>{}</small>", Text(&reference.text))
    });
    let heading = format!("{} <small>{}</small>{texts}", Text(&lost.text), Text(&lost.query));
    format!("<tr><th scope=\"row\">{heading}</th><td class=\"words\">{}", Text(&lost.places()))
}

fn broken(broken: &[BrokenQuestion]) -> String {
    if broken.is_empty() {
        return String::new();
    }
    let rows: Vec<String> = broken
        .iter()
        .map(|broken| {
            let BrokenQuestion { query, text, before, after, cells, of, handed_over, cell, .. } = broken;
            let now = each(handed_over, |citation| format!("<code>{}</code><br>", Text(citation)));
            let heading = format!("{} <small>{} · {}</small>", Text(text), Text(query), Text(cell));
            let (before, after) = (share(*before), share(*after));
            format!(
                "<tr><th scope=\"row\">{heading}</th><td>{before}<td>{after}<td>{cells} of {of}<td class=\"words\">{now}"
            )
        })
        .collect();
    let head = ["Question", "before", "now", "settings", "handed over now"];
    format!(
        "<h3>Questions that broke</h3><p class=\"plain\">A setting now has at most half of what it had. The figures are of the \
         setting that fell most.</p>{}",
        with_words("Questions that broke", &head, &rows)
    )
}

fn questions(view: &View, moved: &[MovedQuestion]) -> String {
    if moved.is_empty() {
        return String::new();
    }
    let rows: Vec<String> = moved
        .iter()
        .map(|moved| {
            let heading = format!("{} <small>{}</small>", Text(&moved.text), Text(&moved.query));
            row(&heading, &[view.value(moved.before), view.value(moved.after), difference(moved.after - moved.before)])
        })
        .collect();
    let head = ["Question, averaged over the settings", "before", "now", "change"];
    format!("<h3>Questions that moved most</h3>{}", table("Questions that moved most", &head, &rows))
}
