//! Recall at equal budgets of tokens, because recall at k favours large chunks.

use std::fmt::Write;

use super::{Section, each, name};
use crate::render::view::{View, share, whole};
use crate::report::Cell;

pub(super) fn section(view: &View) -> Option<Section> {
    let budgets = view.budgets();
    if budgets.is_empty() {
        return None;
    }
    let value = |cell: &Cell, name: &str| cell.metrics.get(name).map(|summary| summary.mean);
    // Cells that differ in k alone have the same recall at a budget, so the winners come from all cells.
    let winners: Vec<Option<&Cell>> = budgets
        .iter()
        .map(|(_, name)| {
            let scored = view.ranked.iter().copied().filter(|cell| value(cell, name).is_some());
            scored.reduce(|best, cell| if value(cell, name) > value(best, name) { cell } else { best })
        })
        .collect();
    let mut cells = view.choice();
    for winner in winners.iter().flatten() {
        if !cells.iter().any(|cell| cell.id == winner.id) {
            cells.push(winner);
        }
    }
    let mut head = "<th scope=\"col\">Setting</th>".to_owned();
    for (budget, _) in &budgets {
        let _ = write!(head, "<th scope=\"col\" class=\"n\">{} tokens</th>", whole(*budget as u64));
    }
    let shown = || cells.iter().flat_map(|cell| budgets.iter().filter_map(|(_, name)| value(cell, name)));
    let range = (shown().fold(1.0, f64::min), shown().fold(0.0, f64::max));
    let rows = each(&cells, |cell| row(view, cell, &budgets, &winners, range));
    Some(Section {
        id: "budgets",
        title: "Recall at equal token budgets",
        lead: "How much of the evidence is in the results when they are cut to the same number of tokens. Recall at k \
               favours large chunks; this does not. The best of all settings at each budget is outlined."
            .to_owned(),
        body: format!(
            "<div class=\"scroll\" role=\"region\" aria-label=\"Recall at equal token budgets\" tabindex=\"0\">\
             <table class=\"heated\"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>\n"
        ),
    })
}

fn row(
    view: &View,
    cell: &Cell,
    budgets: &[(usize, String)],
    winners: &[Option<&Cell>],
    (low, high): (f64, f64),
) -> String {
    let mut row = format!("<tr><th scope=\"row\">{}</th>", name(view, cell));
    for ((_, metric), winner) in budgets.iter().zip(winners) {
        let Some(mean) = cell.metrics.get(metric).map(|summary| summary.mean) else {
            row.push_str("<td class=\"n\">–</td>");
            continue;
        };
        let class = if winner.is_some_and(|winner| winner.id == cell.id) { "n peak" } else { "n" };
        let heat = if high > low { (mean - low) / (high - low) } else { 1.0 };
        let _ = write!(row, "<td class=\"{class}\" style=\"--h:{heat:.2}\">{}</td>", share(mean));
    }
    row + "</tr>"
}
