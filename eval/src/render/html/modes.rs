//! Ways to search side by side over the same chunks, and in plain words where fusing them does harm.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Section, Text, build_name, details, each, sentence};
use crate::render::view::{View, difference};
use crate::render::{hybrid_leaders, hybrid_sentence};
use crate::report::{Cell, HybridVerdict};

/// How many datasets are listed.
const ROWS: usize = 12;

/// The order of the columns; any other comes after.
const ORDER: [&str; 4] = ["vector", "keyword", "hybrid", "graph"];

pub(super) fn section(view: &View) -> Option<Section> {
    let modes = modes(view);
    if modes.len() < 2 {
        return None;
    }
    let verdict = view.report.verdict.as_ref().filter(|verdict| !verdict.hybrid.is_empty());
    let mut body = String::new();
    if let Some(verdict) = verdict {
        let _ = write!(body, "<p class=\"plain\">{}</p>", Text(&hybrid_sentence(view.report, verdict)));
        body.push_str(&said(view));
    }
    body.push_str(&table(view, &modes, verdict.map_or(&[][..], |verdict| &verdict.hybrid)));
    Some(Section {
        id: "modes",
        title: "Vector, keyword and hybrid",
        lead: format!(
            "{} of each way to search the same chunks at the same k; the best of a row is bold. Intervals are of each difference \
             by itself; whether it is called better or worse is corrected for the number of comparisons.",
            Text(view.primary_title())
        ),
        body,
    })
}

fn modes<'r>(view: &View<'r>) -> Vec<&'r str> {
    let all: BTreeSet<&str> = view.report.cells.iter().map(|cell| cell.retrieval.as_str()).collect();
    let mut modes: Vec<&str> = all.into_iter().collect();
    modes.sort_by_key(|mode| ORDER.iter().position(|known| known == mode).unwrap_or(ORDER.len()));
    modes
}

/// The sentence of each comparison: those that matter most, then the other losses.
fn said(view: &View) -> String {
    let item = |verdict: &HybridVerdict| {
        let name = view.report.cell(&verdict.hybrid).map_or_else(String::new, |cell| {
            format!("<span class=\"spec\">{}</span> <small>k={}</small><br>", Text(&cell.build), cell.k)
        });
        format!("<li>{name}{}</li>", sentence(&verdict.text))
    };
    let leaders = hybrid_leaders(view, usize::MAX);
    let (first, rest) = leaders.split_at(leaders.len().min(3));
    let losses: Vec<&&HybridVerdict> =
        rest.iter().filter(|v| v.comparison.separable && v.comparison.difference < 0.0).collect();
    let mut text = format!("<ul class=\"said\">{}</ul>", each(first, |verdict| item(verdict)));
    if !losses.is_empty() {
        let list = each(&losses, |verdict| item(verdict));
        let summary = format!("{} more where hybrid is worse", losses.len());
        text.push_str(&details(&summary, &format!("<ul class=\"said\">{list}</ul>")));
    }
    text
}

fn table(view: &View, modes: &[&str], verdicts: &[HybridVerdict]) -> String {
    let mut groups: BTreeMap<(&str, usize), Vec<&Cell>> = BTreeMap::new();
    let mut order = Vec::new();
    for &cell in view.ranked.iter().filter(|cell| view.quality(cell).is_some()) {
        let key = (cell.build.as_str(), cell.k);
        groups.entry(key).or_insert_with(|| {
            order.push(key);
            Vec::new()
        });
        groups.entry(key).and_modify(|cells| cells.push(cell));
    }
    let by_hybrid: BTreeMap<&str, &HybridVerdict> = verdicts.iter().map(|v| (v.hybrid.as_str(), v)).collect();
    let mut head = "<th scope=\"col\">Chunks</th><th scope=\"col\" class=\"n\">k</th>".to_owned();
    head.push_str(&each(modes, |mode| format!("<th scope=\"col\" class=\"n\">{}</th>", Text(mode))));
    if !verdicts.is_empty() {
        head.push_str("<th scope=\"col\">Hybrid against its better half</th>");
    }
    let shown = order.iter().filter(|key| groups[*key].len() > 1).take(ROWS);
    let rows = each(shown, |key| row(view, modes, &groups[key], &by_hybrid));
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Ways to search\" tabindex=\"0\"><table><thead><tr>{head}</tr>\
         </thead><tbody>{rows}</tbody></table></div>\n"
    )
}

fn row(view: &View, modes: &[&str], cells: &[&Cell], verdicts: &BTreeMap<&str, &HybridVerdict>) -> String {
    let best = cells[0];
    let mut row = format!("<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td>", build_name(view, best), best.k);
    for mode in modes {
        let cell = cells.iter().find(|cell| cell.retrieval == *mode);
        let value = cell.and_then(|cell| view.quality(cell)).map_or_else(|| "–".to_owned(), |value| view.value(value));
        let bold = cell.is_some_and(|cell| cell.id == best.id);
        let value = if bold { format!("<b>{value}</b>") } else { value };
        let _ = write!(row, "<td class=\"n\">{value}</td>");
    }
    if !verdicts.is_empty() {
        let verdict = cells.iter().find_map(|cell| verdicts.get(cell.id.as_str()));
        let _ =
            write!(row, "<td class=\"w\">{}</td>", verdict.map_or_else(|| "–".to_owned(), |verdict| plain(verdict)));
    }
    row + "</tr>"
}

fn plain(verdict: &HybridVerdict) -> String {
    let c = verdict.comparison;
    let word = match c.separable {
        false => "no difference that shows",
        true if c.difference < 0.0 => "<strong class=\"bad\">worse</strong>",
        true => "<strong>better</strong>",
    };
    format!("{word} <small>{} ({} to {})</small>", difference(c.difference), difference(c.lo), difference(c.hi))
}
