//! Evidence handed over at equal token budgets, because recall at k favours large chunks.

use std::fmt::Write;

use super::parts::{Section, details, each, figure, name};
use crate::data::report::{Cell, Summary};
use crate::score::judge::{all_in_context, in_context, in_tokens};
use crate::show::render::svg::{Axis, Curve, Look, Plot, Scale, Value};
use crate::show::render::text::Text;
use crate::show::render::view::{View, count, counted, percent, share, summary, whole};

/// Height of the plot in pixels.
const HEIGHT: f64 = 250.0;

/// Number of settings in the plot.
const CURVES: usize = 6;

/// A budget in tokens, and the name of the metric at it.
type Budget = (usize, String);

/// Plots evidence against tokens handed over: the recommended setting with its intervals, in front of a few others that
/// represent the rest. Returns `None` if there are fewer than two budgets.
#[expect(clippy::cast_precision_loss, reason = "budgets are drawn, not counted")]
pub(super) fn curves(view: &View) -> Option<String> {
    let budgets = view.at_budgets(in_context);
    let known = |cell: &Cell| -> Vec<(f64, Summary)> {
        let mut known: Vec<(f64, Summary)> =
            budgets.iter().filter_map(|(budget, name)| Some((*budget as f64, summary(cell, name)?))).collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        known
    };
    let mut cells = some(view);
    cells.retain(|cell| known(cell).len() > 1);
    if cells.is_empty() {
        return None;
    }
    let is_advised = |cell: &Cell| view.advised().is_some_and(|advised| advised.id == cell.id);
    let curve = |(at, cell): (usize, &&Cell)| {
        let is_advised = is_advised(cell);
        let look = if is_advised { Look::Main } else { Look::Other };
        let value = |(x, s): (f64, Summary)| Value {
            x,
            y: s.mean,
            interval: is_advised.then_some((s.lo, s.hi)),
            says: format!("{}, {} tokens: {} ({} to {})", cell.id, count(x), share(s.mean), share(s.lo), share(s.hi)),
        };
        Curve { values: known(cell).into_iter().map(value).collect(), look, label: (at + 1).to_string() }
    };
    // The recommended one is drawn last, on top.
    let mut curves: Vec<Curve> = cells.iter().enumerate().map(curve).rev().collect();
    curves.sort_by_key(|curve| curve.look == Look::Main);
    let title = "Evidence in what is handed over";
    let plot = Plot {
        title: format!("{title}, against its tokens, for {}", counted(cells.len(), "setting")),
        x: Axis {
            title: "budget, tokens".to_owned(),
            scale: Scale::steps(budgets.iter().map(|(budget, _)| *budget as f64).collect()),
        },
        y: Axis {
            title: "share of the evidence’s text".to_owned(),
            scale: Scale::metric(curves.iter().flat_map(Curve::heights)),
        },
        height: HEIGHT,
        curves,
        cloud: Vec::new(),
        dots: Vec::new(),
    };
    let item = |(at, cell): (usize, &&Cell)| {
        let class = if is_advised(cell) { " class=\"main\"" } else { "" };
        let value = view.quality(cell).map_or_else(|| "–".to_owned(), |value| view.value(value));
        format!("<li{class}><b>{}</b> <span>{}</span> <span>{value}</span></li>", at + 1, Text(&cell.id))
    };
    let key = format!(
        "<p class=\"axis-name\">Settings, with {}</p><ol class=\"lines\">{}</ol>",
        Text(view.primary_title()),
        each(cells.iter().enumerate(), item)
    );
    Some(figure(title, &plot, "", &key))
}

/// Picks a few cells, evenly spread from the first to the last, and the recommended one.
fn some<'r>(view: &View<'r>) -> Vec<&'r Cell> {
    let cells = view.choice();
    let last = cells.len().saturating_sub(1);
    if last < CURVES {
        return cells;
    }
    let mut places: Vec<usize> = (0..CURVES).map(|at| at * last / (CURVES - 1)).collect();
    let advised = view.advised().and_then(|advised| cells.iter().position(|cell| cell.id == advised.id));
    if let Some(advised) = advised.filter(|advised| !places.contains(advised)) {
        // It takes the place of the nearest one that is neither the first nor the last.
        let nearest = (1..CURVES - 1).min_by_key(|&at| places[at].abs_diff(advised)).unwrap_or(1);
        places[nearest] = advised;
    }
    places.into_iter().map(|at| cells[at]).collect()
}

pub(super) fn section(view: &View) -> Option<Section> {
    let (contexts, cut) = (view.at_budgets(in_context), view.at_budgets(in_tokens));
    let (handed, hits) = ("Evidence in what is handed over", "Recall in the list of hits");
    let of_hits = || {
        format!(
            "<p>The same for the list of hits, cut off at the budget: what your own program would get if it added hits \
             until the budget is spent.</p>{}",
            heated(view, hits, &cut, &[])
        )
    };
    let body = match (contexts.is_empty(), cut.is_empty()) {
        (true, true) => return None,
        (true, false) => of_hits(),
        (false, true) => heated(view, handed, &contexts, &view.at_budgets(all_in_context)),
        (false, false) => {
            let table = heated(view, handed, &contexts, &view.at_budgets(all_in_context));
            format!("{table}{}", details(hits, &of_hits()))
        }
    };
    Some(Section {
        id: "budgets",
        title: "Equal budgets",
        lead:
            "How much of the evidence’s text <code>chunkmill context</code> hands over within a token budget, and how \
               many questions get all of it. Recall at k favours large chunks; this metric does not. The best setting \
               at each budget is outlined."
                .to_owned(),
        body,
    })
}

/// Renders a table of the settings that represent the rest, and the best setting at each budget.
fn heated(view: &View, title: &str, budgets: &[Budget], all: &[Budget]) -> String {
    let value = |cell: &Cell, name: &str| summary(cell, name).map(|summary| summary.mean);
    // Cells that differ in k alone have the same value at a budget, so the winners come from all cells.
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
    for (budget, name) in budgets {
        let (unit, tokens) = (view.unit(name), whole(*budget as u64));
        let _ = write!(head, "<th scope=\"col\" class=\"n\" title=\"{}\">{tokens} tokens</th>", Text(&unit));
    }
    let shown = || cells.iter().flat_map(|cell| budgets.iter().filter_map(|(_, name)| value(cell, name)));
    let range = (shown().fold(1.0, f64::min), shown().fold(0.0, f64::max));
    let rows = each(&cells, |cell| {
        let complete = |budget: usize| {
            let (_, name) = all.iter().find(|(known, _)| *known == budget)?;
            Some(format!(" <small>all {}</small>", percent(value(cell, name)?)))
        };
        let mut row = format!("<tr><th scope=\"row\">{}</th>", name(view, cell));
        for ((budget, metric), winner) in budgets.iter().zip(&winners) {
            let Some(mean) = value(cell, metric) else {
                row.push_str("<td>–");
                continue;
            };
            let class = if winner.is_some_and(|winner| winner.id == cell.id) { " class=peak" } else { "" };
            let warmth = if range.1 > range.0 { (mean - range.0) / (range.1 - range.0) } else { 1.0 } * 100.0;
            let complete = complete(*budget).unwrap_or_default();
            let _ = write!(row, "<td{class} style=--h:{warmth:.0}>{}{complete}", share(mean));
        }
        row
    });
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\"><table class=\"heated\"><thead><tr>{head}\
         </tr></thead><tbody>{rows}</tbody></table></div>\n"
    )
}
