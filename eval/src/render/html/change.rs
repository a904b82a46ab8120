//! What changed since a baseline.

use std::fmt::Write;

use super::{Section, Text, details, each, name, row, table};
use crate::render::change::{Change, Changes};
use crate::render::view::{View, difference, whole};
use crate::report::Report;

/// How many changes are listed.
const ROWS: usize = 15;

pub(super) fn section(view: &View, baseline: &Report) -> Section {
    let changes = Changes::new(view, baseline);
    let mut body = String::new();
    for warning in &changes.warnings {
        let _ = write!(body, "<p class=\"note\">{}</p>", Text(warning));
    }
    body.push_str(&winner(view, baseline));
    let largest = changes.largest(ROWS);
    if !largest.is_empty() {
        let rows: Vec<String> = largest.iter().map(|change| change_row(view, change)).collect();
        let head =
            ["Setting, largest change first", "before", "now", "change", "questions better", "worse", "as before"];
        body.push_str(&table("Changes", &head, &rows));
    }
    for (what, ids) in [("only in this run", &changes.new), ("only in the baseline", &changes.gone)] {
        if !ids.is_empty() {
            let list = each(ids, |id| format!("<li>{}</li>", Text(id)));
            body.push_str(&details(&format!("{} {what}", ids.len()), &format!("<ul class=\"plain-list\">{list}</ul>")));
        }
    }
    let lead = format!(
        "{} The baseline is of {} by version {}. <code>chunkmill-eval gate</code> says whether a change is more than noise.",
        Text(&changes.sentence(view)),
        Text(&baseline.created),
        Text(&baseline.tool_version)
    );
    Section { id: "change", title: "Change against the baseline", lead, body }
}

fn winner(view: &View, baseline: &Report) -> String {
    let then = baseline.verdict.as_ref().map(|verdict| verdict.best.as_str());
    match (then, view.best().map(|cell| cell.id.as_str())) {
        (Some(then), Some(now)) if then == now => {
            format!("<p class=\"plain\">The best setting is as before: {}.</p>", Text(now))
        }
        (Some(then), Some(now)) => {
            format!("<p class=\"plain\">The best setting was {}; now it is {}.</p>", Text(then), Text(now))
        }
        _ => String::new(),
    }
}

fn change_row(view: &View, change: &Change) -> String {
    let numbers = [
        view.value(change.was),
        view.value(change.now),
        difference(change.difference()),
        whole(change.better as u64),
        whole(change.worse as u64),
        whole(change.same as u64),
    ];
    row(&name(view, change.cell), &numbers)
}
