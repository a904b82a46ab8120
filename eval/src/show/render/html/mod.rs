//! `report.html`: one self-contained page.
//!
//! It can be read in full without JavaScript, which only sorts, filters, copies, draws the bars of intervals, and
//! explains figures on hover. The page's own policy forbids every connection. Text from outside reaches the page
//! only through `Text`.

mod budgets;
mod change;
mod cost;
mod evidence;
mod heat;
mod latency;
mod leaderboard;
mod method;
mod modes;
mod plot;
mod sizes;
mod summary;
mod worst;

use super::baseline::Baseline;
use super::svg::{self, Plot};
use super::text::Text;
use super::view::View;
use crate::data::report::{Cell, Report};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The content security policy: nothing is fetched, sent or embedded, whatever a document contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// A part of the page with its own heading.
struct Section {
    /// Anchor for links to it.
    id: &'static str,
    title: &'static str,
    /// An introduction that says what the section shows and how to read it, as HTML.
    lead: String,
    body: String,
}

/// Renders the page. With a baseline, it begins with the change.
#[must_use]
pub fn html(report: &Report, baseline: Option<&Baseline>) -> String {
    let view = View::new(report);
    let sections: Vec<Section> = [
        baseline.map(|baseline| change::section(&view, baseline)),
        Some(leaderboard::section(&view)),
        sizes::section(&view),
        heat::section(&view),
        modes::section(&view),
        budgets::section(&view),
        worst::section(&view),
        evidence::section(&view),
        evidence::truncation(&view),
        plot::section(&view),
        latency::section(&view),
        cost::section(&view),
        Some(method::section(&view)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let links = each(&sections, |s| format!("<li><a href=\"#{}\">{}</a></li>", s.id, s.title));
    let body = each(&sections, Section::html);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Chunk settings for {name}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}{plots}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>\n{header}\n<div class=\"frame\">\n\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n<main>\n{body}</main>\n</div>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        name = Text(&report.labels.name),
        plots = svg::STYLE,
        header = summary::header(&view, &baseline.map(|baseline| change::banner(&view, baseline)).unwrap_or_default()),
    )
}

impl Section {
    fn html(&self) -> String {
        let Self { id, title, lead, body } = self;
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{title}</h2>\n<p class=\"lead\">{lead}</p>\n{body}</section>\n"
        )
    }
}

/// Renders a text in which settings are code.
fn sentence(text: &str) -> String {
    let plain = |plain: &str| Text(&plain.replace(" %", "\u{a0}%")).to_string();
    super::prose(text, plain, |code| format!("<code>{}</code>", Text(code)))
}

/// Capitalizes the first letter.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Concatenates the HTML of some things.
fn each<T>(things: impl IntoIterator<Item = T>, html: impl Fn(T) -> String) -> String {
    let mut all = String::new();
    for thing in things {
        all.push_str(&html(thing));
    }
    all
}

/// Renders a plot with its caption above, the names of its axes, and `below` under it. `attributes` are those of the
/// figure.
fn figure(caption: &str, plot: &Plot, attributes: &str, below: &str) -> String {
    format!(
        "<figure class=\"plot\"{attributes}><figcaption>{caption}</figcaption><p class=\"axis-name\">{}</p>\
         <div class=\"canvas\">{}</div><p class=\"axis-name x\">{}</p>{below}</figure>\n",
        Text(&plot.y.title),
        plot.inline(),
        Text(&plot.x.title)
    )
}

/// Renders a table that scrolls in its own box if it is wider than the page. `name` says what it lists; the titles
/// of the columns include their units.
fn table(name: &str, head: &[&str], rows: &[String]) -> String {
    let columns = each(head.iter().enumerate(), |(at, title)| {
        let class = if at == 0 { "" } else { " class=\"n\"" };
        format!("<th scope=\"col\"{class}>{title}</th>")
    });
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{name}\" tabindex=\"0\"><table><thead><tr>{columns}</tr>\
         </thead><tbody>{}</tbody></table></div>\n",
        rows.concat()
    )
}

/// Renders a row of [`table`]: its heading as HTML, then its numbers. Closing tags that HTML does not require are
/// left out, as in all rows.
fn row(heading: &str, numbers: &[String]) -> String {
    format!("<tr><th scope=\"row\">{heading}</th>{}", each(numbers, |number| format!("<td>{number}")))
}

/// Renders a cell's name in a table: the name of its dataset, and below it the search and the full settings.
fn name(view: &View, cell: &Cell) -> String {
    format!(
        "<span class=\"spec\">{}</span> <small>{}</small>{}",
        Text(&cell.build),
        Text(&view.detail(cell)),
        full(cell)
    )
}

/// Renders a cell's name where only its dataset matters.
fn build_name(view: &View, cell: &Cell) -> String {
    let model = if view.one_model { String::new() } else { format!(" <small>{}</small>", Text(&cell.model)) };
    format!("<span class=\"spec\">{}</span>{model}{}", Text(&cell.build), full(cell))
}

/// Renders the full settings of a dataset, if they differ from its name.
fn full(cell: &Cell) -> String {
    let says_all = cell.spec_text == cell.build;
    if says_all { String::new() } else { format!("<small class=\"full\">{}</small>", Text(&cell.spec_text)) }
}

/// Renders a body that opens below its summary.
fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>{body}</details>\n")
}
