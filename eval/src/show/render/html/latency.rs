//! Time per question, by way to search.

use super::modes;
use super::parts::{Section, details, name, row, table};
use crate::data::report::{Cell, Percentiles, Spread};
use crate::show::render::svg::Scale;
use crate::show::render::text::Text;
use crate::show::render::view::{View, significant};

pub(super) fn section(view: &View) -> Option<Section> {
    let timed = |cell: &&&Cell| cell.cost.query_ms.p50 > 0.0 && cell.cost.query_ms.p95.is_finite();
    let cells: Vec<&Cell> = view.ranked.iter().filter(timed).copied().collect();
    if cells.is_empty() {
        return None;
    }
    let groups: Vec<(&str, Vec<&Cell>)> = modes::modes(view)
        .into_iter()
        .map(|mode| (mode, cells.iter().copied().filter(|cell| cell.retrieval == mode).collect::<Vec<_>>()))
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    let scale = Scale::linear(groups.iter().flat_map(|(_, cells)| [0.0, middle(cells, |cost| cost.0.p95)]));
    let rows: Vec<String> = groups.iter().map(|(mode, cells)| mode_row(mode, cells, &scale)).collect();
    let head = [
        "Search",
        "p50, ms",
        "p95, ms",
        "p50 to p95, from 0",
        "p99, ms",
        "search alone p50, ms",
        "search alone p95, ms",
        "settings",
    ];
    let chosen: Vec<String> =
        view.choice().iter().filter(|cell| timed(cell)).map(|cell| row(&name(view, cell), &times(cell))).collect();
    let columns = ["Setting", "p50, ms", "p95, ms", "p99, ms", "search alone p50, ms", "search alone p95, ms"];
    let few = details("By setting", &table("Time per question by setting", &columns, &chosen));
    Some(Section {
        id: "latency",
        title: "Latency",
        lead: "Time per question in milliseconds, including embedding the question: the median over all settings with \
               the same search. Half of the questions take no longer than p50, 95&nbsp;% no longer than p95."
            .to_owned(),
        body: format!("{}{few}", table("Time per question by way to search", &head, &rows)),
    })
}

/// Returns the median over the cells of a time, which `time` takes from those of a question and of search alone.
fn middle(cells: &[&Cell], time: fn((Percentiles, Percentiles)) -> f64) -> f64 {
    Spread::of(cells.iter().map(|cell| time((cell.cost.query_ms, cell.cost.search_ms))).collect()).median
}

fn mode_row(mode: &str, cells: &[&Cell], scale: &Scale) -> String {
    let [p50, p95, p99] = [middle(cells, |t| t.0.p50), middle(cells, |t| t.0.p95), middle(cells, |t| t.0.p99)];
    let [low, high] = [p50, p95].map(|value| scale.place(value));
    let bar = format!("<span class=\"range\" aria-hidden=\"true\" style=\"--l:{low:.1};--h:{high:.1}\"></span>");
    let alone = [middle(cells, |t| t.1.p50), middle(cells, |t| t.1.p95)].map(significant);
    let [alone50, alone95] = alone;
    let numbers = [
        format!("<b>{}</b>", significant(p50)),
        significant(p95),
        bar,
        significant(p99),
        alone50,
        alone95,
        cells.len().to_string(),
    ];
    row(&Text(mode).to_string(), &numbers)
}

fn times(cell: &Cell) -> Vec<String> {
    let (all, search) = (cell.cost.query_ms, cell.cost.search_ms);
    [all.p50, all.p95, all.p99, search.p50, search.p95].map(significant).to_vec()
}
