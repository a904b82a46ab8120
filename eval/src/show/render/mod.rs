//! Renders a report for people and programs. Every format is a pure function of the report.
//!
//! [`html`] is for reading, [`markdown`] for a pull request, [`csv`] for a spreadsheet, [`junit`] for continuous
//! integration, and [`json`] for programs. [`table`] compares several runs. [`svg`] draws plots.

mod baseline;
pub mod csv;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod svg;
pub mod table;
mod text;
mod view;

use std::fs;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};
use chunkmill::value;

use crate::data::files::replace;
use crate::data::report::{FILE, HybridVerdict, Report, Verdict};
use crate::findings::analysis::direction;
pub use baseline::Baseline;
use view::View;

/// Writes `report.html`, `report.json`, `report.md`, `report.csv` and `junit.xml` into a folder, which is created if
/// necessary, and returns the paths in that order. Each file is written under another name first, so a reader sees
/// either the old file or the new one. With a baseline, the page and the Markdown begin with the
/// changes since then.
///
/// # Errors
/// [`Error::Io`] if the folder or a file cannot be written.
pub fn write(report: &Report, baseline: Option<&Baseline>, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let path = |name: &str| folder.join(name);
    let json = json::json(report).map_err(Error::io("write", path(FILE)))?;
    let csv = csv::csv(report).map_err(Error::io("write", path("report.csv")))?;
    let files = [
        ("report.html", html::html(report, baseline)),
        (FILE, json),
        ("report.md", markdown::markdown(report, baseline)),
        ("report.csv", csv),
        ("junit.xml", junit::junit(report, None)),
    ];
    let place = |(name, text): (&str, String)| replace(&path(name), text.as_bytes()).map(|()| path(name));
    files.into_iter().map(place).collect()
}

/// Summarizes all comparisons of fused search: their joint result, and the number of each individual result.
fn hybrid_sentence(report: &Report, verdict: &Verdict) -> String {
    let gain = |verdict: &HybridVerdict| verdict.comparison.difference * direction(report, &report.scoring.primary);
    let all = &verdict.hybrid;
    let count = |sign: f64| all.iter().filter(|v| v.comparison.separable && gain(v) * sign > 0.0).count();
    let (better, worse) = (count(1.0), count(-1.0));
    let open = all.len() - better - worse;
    let each = format!(
        "Compared on each dataset alone, hybrid search wins {better} and loses {worse} of {}; {open} cannot be told \
         apart (corrected for the number of comparisons).",
        value::count(all.len(), "comparison")
    );
    verdict.hybrid_overall.as_ref().map_or(each.clone(), |overall| format!("{} {each}", overall.text))
}

/// Renders a text of [`crate::findings::analysis`]: settings, which are between backticks, with `code` and the rest with
/// `plain`.
fn prose(text: &str, plain: impl Fn(&str) -> String, code: impl Fn(&str) -> String) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    // With an unpaired backtick, the pieces cannot be told apart.
    if pieces.len().is_multiple_of(2) {
        return plain(text);
    }
    pieces.iter().enumerate().map(|(at, piece)| if at % 2 == 0 { plain(piece) } else { code(piece) }).collect()
}

/// Returns the comparisons of fused search that matter most: those whose better side ranks highest.
fn hybrid_leaders<'r>(view: &View<'r>, count: usize) -> Vec<&'r HybridVerdict> {
    let Some(verdict) = &view.report.verdict else { return Vec::new() };
    let place = |id: &str| view.ranked.iter().position(|cell| cell.id == id).unwrap_or(usize::MAX);
    let mut verdicts: Vec<_> = verdict.hybrid.iter().collect();
    verdicts.sort_by_cached_key(|verdict| place(&verdict.hybrid).min(place(&verdict.half)));
    verdicts.truncate(count);
    verdicts
}
