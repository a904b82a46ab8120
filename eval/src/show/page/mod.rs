//! `report.html` and `compare.html`: one self-contained page that a script makes from the report's data.
//!
//! A designer changes the look in `page.html`, `page.css` and `page.js`; no other file contains HTML. The page's own
//! policy forbids every connection, and text from outside reaches the page only as data, which the script adds as
//! text nodes. Without a script, the page shows the Markdown.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `data` | How much of a report does the page get, and in which form? |
//! | `page.html`, `page.css`, `page.js` | What does the page look like, and what can a reader do with it? |

mod data;

use chunkmill::error::Result;

use super::baseline::Baseline;
use super::markdown::markdown;
use super::text::Text;
use crate::data::report::Report;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Renders the page of a report. With a baseline, it begins with the change.
///
/// # Errors
/// Only if memory is short: the data is serialised and compressed.
pub fn page(report: &Report, baseline: Option<&Baseline>) -> Result<String> {
    let title = format!("Chunk settings for {}", report.labels.name);
    Ok(filled(&title, &data::packed(data::of_report(report, baseline))?, &markdown(report, baseline)))
}

/// Renders the page that lays several named reports side by side.
///
/// # Errors
/// Like [`page`].
pub fn comparison(reports: &[(String, Report)]) -> Result<String> {
    let title = format!("{} runs compared", reports.len());
    let summaries: Vec<String> =
        reports.iter().map(|(name, report)| format!("# {name}\n\n{}", markdown(report, None))).collect();
    Ok(filled(&title, &data::packed(data::of_several(reports))?, &summaries.join("\n")))
}

/// Fills in the template. The texts that are filled in are not searched for further places.
fn filled(title: &str, data: &str, markdown: &str) -> String {
    let mut page = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = TEMPLATE;
    while let Some((before, name, after)) = rest
        .split_once("{{")
        .and_then(|(before, rest)| rest.split_once("}}").map(|(name, after)| (before, name, after)))
    {
        page.push_str(before);
        match name {
            "title" => page.push_str(&Text(title).to_string()),
            "style" => page.push_str(STYLE),
            "script" => page.push_str(SCRIPT),
            "data" => page.push_str(data),
            "markdown" => page.push_str(&Text(markdown).to_string()),
            other => debug_assert!(false, "the template names {other}"),
        }
        rest = after;
    }
    page + rest
}
