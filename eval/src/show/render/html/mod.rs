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
mod parts;
mod plot;
mod sizes;
mod summary;
mod worst;

use super::baseline::Baseline;
use super::svg;
use super::text::Text;
use super::view::View;
use crate::data::report::Report;
use parts::{Section, each};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The content security policy: nothing is fetched, sent or embedded, whatever a document contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// Renders the page. With a baseline, it begins with the change.
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
