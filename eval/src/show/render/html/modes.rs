//! Ways to search the same chunks side by side, and datasets where fusing them does harm.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::parts::{Section, build_name, capital, each};
use crate::data::report::{Cell, HybridVerdict};
use crate::show::render::prose::hybrid_sentence;
use crate::show::render::text::Text;
use crate::show::render::view::{View, difference};

/// Largest number of datasets listed, and of further datasets where fusing does harm.
const ROWS: usize = 12;

/// The order of the columns; any other mode comes after them.
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
    }
    body.push_str(&table(view, &modes, verdict.map_or(&[][..], |verdict| &verdict.hybrid)));
    Some(Section {
        id: "modes",
        title: "Vector, keyword and hybrid",
        lead: format!(
            "{} of each way to search the same chunks at the same k; the best in each row is bold. Each interval is for \
             one difference alone; the words better and worse are {}.",
            Text(&capital(view.primary_title())),
            super::leaderboard::correction(view.report.scoring.correction)
        ),
        body,
    })
}

pub(super) fn modes<'r>(view: &View<'r>) -> Vec<&'r str> {
    let all: BTreeSet<&str> = view.report.cells.iter().map(|cell| cell.retrieval.as_str()).collect();
    let mut modes: Vec<&str> = all.into_iter().collect();
    modes.sort_by_key(|mode| ORDER.iter().position(|known| known == mode).unwrap_or(ORDER.len()));
    modes
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
    let harm = |verdict: &&HybridVerdict| verdict.comparison.separable && verdict.comparison.difference < 0.0;
    let is_worse = |key: &&&(&str, usize)| groups[**key].iter().any(|c| by_hybrid.get(c.id.as_str()).is_some_and(harm));
    let several: Vec<&(&str, usize)> = order.iter().filter(|key| groups[*key].len() > 1).collect();
    let (first, rest) = several.split_at(several.len().min(ROWS));
    let rows = each(first.iter().chain(rest.iter().filter(is_worse).take(ROWS)), |key| {
        row(view, modes, &groups[key], &by_hybrid)
    });
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Ways to search\" tabindex=\"0\"><table><thead><tr>{head}</tr>\
         </thead><tbody>{rows}</tbody></table></div>\n"
    )
}

fn row(view: &View, modes: &[&str], cells: &[&Cell], verdicts: &BTreeMap<&str, &HybridVerdict>) -> String {
    let best = cells[0];
    let mut row = format!("<tr><th scope=\"row\">{}</th><td>{}", build_name(view, best), best.k);
    for mode in modes {
        let cell = cells.iter().find(|cell| cell.retrieval == *mode);
        let value = cell.and_then(|cell| view.quality(cell)).map_or_else(|| "–".to_owned(), |value| view.value(value));
        let bold = cell.is_some_and(|cell| cell.id == best.id);
        let value = if bold { format!("<b>{value}</b>") } else { value };
        let _ = write!(row, "<td>{value}");
    }
    if !verdicts.is_empty() {
        let verdict = cells.iter().find_map(|cell| verdicts.get(cell.id.as_str()));
        let _ = write!(row, "<td class=w>{}", verdict.map_or_else(|| "–".to_owned(), |verdict| plain(verdict)));
    }
    row
}

fn plain(verdict: &HybridVerdict) -> String {
    let c = verdict.comparison;
    let word = match c.separable {
        false => "no clear difference",
        true if c.difference < 0.0 => "<strong class=\"bad\">worse</strong>",
        true => "<strong>better</strong>",
    };
    format!("{word} <small>{} ({} to {})</small>", difference(c.difference), difference(c.lo), difference(c.hi))
}
