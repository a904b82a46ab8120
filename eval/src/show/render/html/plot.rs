//! Quality against cost: one scatter plot per cost, with the settings that no other setting beats on both.

use super::parts::{Section, details, figure, row, table};
use crate::data::report::Cell;
use crate::findings::analysis::quality_beside;
use crate::show::render::svg::{Axis, Curve, Dot, Look, Plot, Scale, Value};
use crate::show::render::text::Text;
use crate::show::render::view::{View, counted, number, significant, summary};

/// Height of a drawing in pixels.
const HEIGHT: f64 = 240.0;

/// A cost: its name in [`Cell::pareto`], its title, its quantity and unit, and its value for a cell.
struct Cost {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    of: fn(&Cell) -> Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "sizes are drawn, not counted")]
const COSTS: [Cost; 4] = [
    Cost {
        name: "retrieved_tokens",
        title: "Tokens to read",
        unit: "tokens of the k best chunks",
        of: |cell| summary(cell, "retrieved_tokens").map(|summary| summary.mean),
    },
    Cost {
        name: "query_ms",
        title: "Time per question",
        unit: "median, ms",
        of: |cell| positive(cell.cost.query_ms.p50),
    },
    Cost {
        name: "bytes",
        title: "Size of the dataset",
        unit: "on disk, MB",
        of: |cell| positive(cell.cost.bytes as f64 / 1e6),
    },
    Cost {
        name: "index_seconds",
        title: "Time to index",
        unit: "median, s",
        of: |cell| cell.cost.index.as_ref().map(|index| index.seconds.median),
    },
];

/// Returns `None` for zero, which means not measured.
fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

pub(super) fn section(view: &View) -> Option<Section> {
    let plots: Vec<String> = COSTS.iter().filter_map(|cost| plot(view, cost)).collect();
    let named = |what: &str, is: &dyn Fn(&Cost) -> bool| {
        let titles: Vec<&str> = COSTS.iter().filter(|cost| is(cost)).map(|cost| cost.title).collect();
        if titles.is_empty() { String::new() } else { format!(" {what}: {}.", titles.join("; ").to_lowercase()) }
    };
    let is_measured = |cost: &Cost| places(view, cost).iter().any(Option::is_some);
    let missing = named("Not measured", &|cost| !is_measured(cost));
    let same = named("The same for all", &|cost| is_measured(cost) && plot(view, cost).is_none());
    (!plots.is_empty()).then(|| Section {
        id: "pareto",
        title: "Quality against cost",
        lead: format!(
            "Each point is a setting; up is better, left is cheaper. The line connects the settings that no other \
             setting beats on both. The tokens of the k best chunks are plotted against the evidence in these \
             chunks.{missing}{same}"
        ),
        body: format!(
            "<p class=\"key\"><span><i class=\"mark best\"></i>the recommended one</span><span><i class=\"mark front\"></i>no other \
             is both cheaper and better</span><span><i class=\"mark\"></i>all others</span></p><div class=\"plots\">{}</div>",
            plots.concat()
        ),
    })
}

/// Draws the first plot for which there are values.
pub(super) fn first(view: &View) -> Option<String> {
    COSTS.iter().find_map(|cost| plot(view, cost))
}

/// Returns cost and quality of each cell in the order of the ranking, if both are known.
fn places(view: &View, cost: &Cost) -> Vec<Option<(f64, f64)>> {
    let quality = quality_beside(view.report, cost.name);
    let place = |cell: &Cell| {
        let (x, y) = ((cost.of)(cell)?, summary(cell, quality)?.mean);
        x.is_finite().then_some((x, y))
    };
    view.ranked.iter().map(|cell| place(cell)).collect()
}

/// Draws the plot of a cost; returns `None` if the cost was not measured or is the same for all cells.
fn plot(view: &View, cost: &Cost) -> Option<String> {
    let quality = quality_beside(view.report, cost.name);
    let places = places(view, cost);
    let points = || places.iter().flatten();
    let (first, _) = points().next()?;
    points().find(|(x, _)| x.total_cmp(first).is_ne())?;
    let best = view.advised().map(|cell| cell.id.as_str());
    let is_best = |at: usize| Some(view.ranked[at].id.as_str()) == best;
    let is_front = |at: usize| view.ranked[at].pareto.iter().any(|name| name == cost.name);
    let known = || places.iter().enumerate().filter_map(|(at, place)| place.map(|(x, y)| (at, x, y)));
    let mut front: Vec<(usize, f64, f64)> = known().filter(|(at, ..)| is_front(*at)).collect();
    front.sort_by(|a, b| a.1.total_cmp(&b.1));
    let dot = |(at, x, y): (usize, f64, f64)| Dot { x, y, best: is_best(at), at };
    let mut dots: Vec<Dot> = known().filter(|(at, ..)| is_front(*at) || is_best(*at)).map(dot).collect();
    dots.sort_by_key(|dot| dot.best);
    let line = front.iter().map(|&(_, x, y)| Value { x, y, ..Value::default() }).collect();
    let y_title = view.title(quality);
    let plot = Plot {
        title: format!("{y_title} against {}: {}", cost.title.to_lowercase(), counted(points().count(), "setting")),
        x: Axis { title: cost.unit.to_owned(), scale: Scale::cost(points().map(|point| point.0)) },
        y: Axis { title: y_title.to_owned(), scale: Scale::metric(points().map(|point| point.1)) },
        height: HEIGHT,
        curves: vec![Curve { values: line, look: Look::Front, label: String::new() }],
        cloud: places.clone(),
        dots,
    };
    // For a point, the script shows the values of the columns with these names.
    let columns = format!(" data-y=\"{}\" data-x=\"{}\"", Text(quality), cost.name);
    let below = format!("<p class=\"tip\" aria-live=\"polite\"></p>{}", list(view, cost, quality, &front));
    Some(figure(cost.title, &plot, &columns, &below))
}

fn list(view: &View, cost: &Cost, quality: &str, front: &[(usize, f64, f64)]) -> String {
    let metric = view.report.metric(quality);
    let line = |&(at, x, y): &(usize, f64, f64)| {
        row(&Text(&view.ranked[at].id).to_string(), &[significant(x), number(metric, y)])
    };
    let rows: Vec<String> = front.iter().map(line).collect();
    if rows.is_empty() {
        return String::new();
    }
    let summary = format!("{} on the line", counted(rows.len(), "setting"));
    let head = ["Setting", cost.unit, &Text(view.title(quality)).to_string()];
    details(&summary, &table(&format!("Settings on the line: {}", cost.title), &head, &rows))
}
