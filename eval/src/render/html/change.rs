//! The changes since a baseline.

use super::{Section, Text, capital, details, each, name, row, table};
use crate::change::{Change, Moved};
use crate::render::baseline::{Baseline, sure};
use crate::render::view::{View, counted, difference, whole};
use crate::report::Cell;

/// Largest number of changes listed.
const ROWS: usize = 12;

pub(super) fn section(view: &View, baseline: &Baseline) -> Section {
    let changes = &baseline.changes;
    let mut body = each(&changes.notes, |note| format!("<p class=\"note\">{}.</p>", Text(&capital(note))));
    body.push_str(&winner(view, baseline));
    let rows: Vec<String> =
        baseline.largest(view, ROWS).into_iter().map(|(cell, change)| change_row(view, cell, change)).collect();
    if !rows.is_empty() {
        let head = ["Setting, largest change first", "before", "now", "change", "sure", "questions better", "worse"];
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
    let numbers = [
        view.value(change.before),
        view.value(change.after),
        moved,
        sure(change).to_owned(),
        whole(change.better as u64),
        whole(change.worse as u64),
    ];
    row(&name(view, cell), &numbers)
}

fn questions(view: &View, moved: &[Moved]) -> String {
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
