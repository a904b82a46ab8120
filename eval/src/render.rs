//! A report as people and programs want it: every form is a pure function of the report.
//!
//! [`html`] for reading, [`markdown`] for a pull request, [`csv`] for a spreadsheet, [`junit`] for continuous
//! integration, and [`json`] for programs; [`table`] of several runs. [`svg`] draws.

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

use crate::analysis::direction;
use crate::record::replace;
use crate::report::{FILE, HybridVerdict, Report, Verdict};
pub use baseline::Baseline;
use view::View;

/// Writes `report.html`, `report.json`, `report.md`, `report.csv` and `junit.xml` into a folder, which is made if it
/// is not there. Each is written under another name first, so a reader sees the old file or the new one. Gives the
/// paths in that order. With a baseline, page and Markdown also say what changed since.
///
/// # Errors
/// [`Error::Io`] if the folder or a file cannot be written, [`Error::Setting`] if the baseline cannot be compared.
pub fn write(report: &Report, baseline: Option<&Report>, folder: &Path) -> Result<Vec<PathBuf>> {
    let baseline = baseline.map(|baseline| Baseline::new(baseline, report)).transpose()?;
    let baseline = baseline.as_ref();
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let path = |name: &str| folder.join(name);
    let json = json::json(report).map_err(Error::io("write", path(FILE)))?;
    let csv = csv::csv(report).map_err(Error::io("write", path("report.csv")))?;
    let files = [
        ("report.html", html::html(report, baseline)),
        (FILE, json),
        ("report.md", markdown::markdown(report, baseline)),
        ("report.csv", csv),
        ("junit.xml", junit::junit(report, &[])),
    ];
    let place = |(name, text): (&str, String)| replace(&path(name), text.as_bytes()).map(|()| path(name));
    files.into_iter().map(place).collect()
}

/// What all comparisons of fused search say together, and how many say what alone.
fn hybrid_sentence(report: &Report, verdict: &Verdict) -> String {
    let gain = |verdict: &HybridVerdict| verdict.comparison.difference * direction(report, &report.scoring.primary);
    let all = &verdict.hybrid;
    let count = |sign: f64| all.iter().filter(|v| v.comparison.separable && gain(v) * sign > 0.0).count();
    let (better, worse) = (count(1.0), count(-1.0));
    let open = all.len() - better - worse;
    let each = format!(
        "Of {} comparisons of one dataset each it wins {better}, loses {worse}, and {open} cannot be told apart, corrected for \
         their number.",
        all.len()
    );
    verdict.hybrid_overall.as_ref().map_or(each.clone(), |overall| format!("{} {each}", overall.text))
}

/// A text of [`crate::analysis`], in which settings stand between backticks, with each piece as `plain` or `code` shows it.
fn prose(text: &str, plain: impl Fn(&str) -> String, code: impl Fn(&str) -> String) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    // A backtick too many: nobody knows which is which.
    if pieces.len().is_multiple_of(2) {
        return plain(text);
    }
    pieces.iter().enumerate().map(|(at, piece)| if at % 2 == 0 { plain(piece) } else { code(piece) }).collect()
}

/// The comparisons of fused search that matter most: those whose better side ranks highest.
fn hybrid_leaders<'r>(view: &View<'r>, count: usize) -> Vec<&'r HybridVerdict> {
    let Some(verdict) = &view.report.verdict else { return Vec::new() };
    let place = |id: &str| view.ranked.iter().position(|cell| cell.id == id).unwrap_or(usize::MAX);
    let mut verdicts: Vec<_> = verdict.hybrid.iter().collect();
    verdicts.sort_by_cached_key(|verdict| place(&verdict.hybrid).min(place(&verdict.half)));
    verdicts.truncate(count);
    verdicts
}
