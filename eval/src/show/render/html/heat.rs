//! Heat maps of the effect of the smallest and the largest allowed chunk on quality, one map per overlap.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::parts::{Section, capital, details};
use crate::data::report::Cell;
use crate::show::render::text::Text;
use crate::show::render::view::{View, setting};

/// The settings that span the maps. All other settings are the same within a group.
const SPAN: [&str; 3] = ["min", "max", "overlap"];

/// Cells that differ only in [`SPAN`].
struct Group<'r> {
    strategy: String,
    /// Other settings that they share, as text.
    shared: String,
    cells: Vec<&'r Cell>,
}

pub(super) fn section(view: &View) -> Option<Section> {
    let mut known = BTreeSet::new();
    let mut is_new = |group: &Group| known.insert((group.strategy.clone(), group.cells[0].retrieval.clone()));
    let groups: Vec<Group> = groups(view).into_iter().filter(|group| axes(group).is_some() && is_new(group)).collect();
    if groups.is_empty() {
        return None;
    }
    let mut body = "<div class=\"heats\">".to_owned();
    let mut seen = BTreeSet::new();
    let mut others = String::new();
    for group in &groups {
        let map = figure(view, group);
        if seen.insert(&group.strategy) { body.push_str(&map) } else { others.push_str(&map) }
    }
    body.push_str("</div>");
    if !others.is_empty() {
        let count = groups.len() - seen.len();
        let more = format!("{count} more, by strategy and search");
        body.push_str(&details(&more, &format!("<div class=\"heats\">{others}</div>")));
    }
    Some(Section {
        id: "heat",
        title: "Size and overlap",
        lead: format!(
            "{} by the smallest and the largest allowed chunk and by overlap. The stronger the colour, the better \
             within a strategy; its best setting is outlined. Each strategy is shown with its best search and k.",
            Text(&capital(view.primary_title()))
        ),
        body,
    })
}

/// Groups the cells; groups are in the order of their best cells.
fn groups<'r>(view: &View<'r>) -> Vec<Group<'r>> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for &cell in view.ranked.iter().filter(|cell| view.quality(cell).is_some()) {
        let at = *places.entry(shared(view, cell, &SPAN)).or_insert_with(|| {
            let unit = setting(cell, "unit");
            let target = setting(cell, "target");
            let target =
                if target.is_empty() || follows(cell) { String::new() } else { format!("target {target} · ") };
            let shared = format!("{target}{}", view.detail(cell));
            let shared = if unit.is_empty() { shared } else { format!("{unit} · {shared}") };
            groups.push(Group { strategy: setting(cell, "strategy"), shared, cells: Vec::new() });
            groups.len() - 1
        });
        groups[at].cells.push(cell);
    }
    groups
}

/// Returns everything that a cell shares with the cells that differ from it only in the settings `but`.
pub(super) fn shared(view: &View, cell: &Cell, but: &[&str]) -> Vec<String> {
    let keys = cell.spec.keys().filter(|key| !(but.contains(&key.as_str()) || *key == "target" && follows(cell)));
    keys.map(|key| format!("{key}={}", setting(cell, key))).chain([view.detail(cell), cell.model.clone()]).collect()
}

/// Whether a cell's target equals its maximum, and is therefore not a setting of its own.
fn follows(cell: &Cell) -> bool {
    setting(cell, "target") == setting(cell, "max")
}

/// Returns the settings of rows, columns and maps, if at least two vary: min × max per overlap, otherwise overlap ×
/// max or min × overlap.
fn axes(group: &Group) -> Option<(&'static str, &'static str, Option<&'static str>)> {
    let varies = |key: &str| levels(&group.cells, key).len() > 1;
    match SPAN.map(varies) {
        [true, true, overlap] => Some(("min", "max", overlap.then_some("overlap"))),
        [false, true, true] => Some(("overlap", "max", None)),
        [true, false, true] => Some(("min", "overlap", None)),
        _ => None,
    }
}

/// Returns the values of a setting in numeric order.
fn levels(cells: &[&Cell], key: &str) -> Vec<String> {
    let mut levels: Vec<String> = cells.iter().map(|cell| setting(cell, key)).collect();
    levels.sort_by(|a, b| {
        let number = |text: &str| text.parse::<f64>().unwrap_or(-1.0);
        number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
    });
    levels.dedup();
    levels
}

fn figure(view: &View, group: &Group) -> String {
    let Some((rows, columns, maps)) = axes(group) else { return String::new() };
    let best = group.cells.first().map(|cell| cell.id.as_str());
    let values = || group.cells.iter().filter_map(|cell| view.quality(cell));
    let range = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let mut drawn = String::new();
    if maps.is_some() {
        // Cells are sorted best first, so each place gets the best value over all minima.
        drawn = map(view, &group.cells, ("overlap", columns), "<caption>at the best min</caption>", range, best);
    }
    for level in maps.map_or_else(|| vec![String::new()], |key| levels(&group.cells, key)) {
        let cells: Vec<&Cell> =
            group.cells.iter().copied().filter(|cell| maps.is_none_or(|key| setting(cell, key) == level)).collect();
        let caption = maps.map_or_else(String::new, |key| format!("<caption>{key} {}</caption>", Text(shown(&level))));
        drawn.push_str(&map(view, &cells, (rows, columns), &caption, range, best));
    }
    format!(
        "<figure class=\"heat\"><figcaption><b>{}</b> <small>{}</small></figcaption><div class=\"maps\">{drawn}</div>\
         </figure>\n",
        Text(&group.strategy),
        Text(&group.shared)
    )
}

fn map(
    view: &View,
    cells: &[&Cell],
    axes: (&str, &str),
    caption: &str,
    (low, high): (f64, f64),
    best: Option<&str>,
) -> String {
    let (rows, columns) = (levels(cells, axes.0), levels(cells, axes.1));
    let mut table = format!(
        "<table data-u=\"{}\">{caption}<thead><tr><th scope=\"col\"><small>{} ╲ {}</small></th>",
        Text(view.primary_title()),
        axes.0,
        axes.1
    );
    for column in &columns {
        let _ = write!(table, "<th scope=\"col\">{}</th>", Text(shown(column)));
    }
    table.push_str("</tr></thead><tbody>");
    for row in &rows {
        let _ = write!(table, "<tr><th>{}", Text(shown(row)));
        for column in &columns {
            let cell = cells.iter().find(|c| setting(c, axes.0) == *row && setting(c, axes.1) == *column);
            let Some((cell, value)) = cell.and_then(|cell| Some((cell, view.quality(cell)?))) else {
                table.push_str("<td class=none>–");
                continue;
            };
            let heat = if high > low { (value - low) / (high - low) } else { 1.0 };
            let heat = if view.higher_is_better() { heat } else { 1.0 - heat } * 100.0;
            let class = if Some(cell.id.as_str()) == best { " class=peak" } else { "" };
            let _ = write!(table, "<td{class} style=--h:{heat:.0}>{}", view.value(value));
        }
    }
    table + "</tbody></table>"
}

/// Renders the value of a setting, which may be absent in some strategies.
fn shown(level: &str) -> &str {
    if level.is_empty() { "none" } else { level }
}
