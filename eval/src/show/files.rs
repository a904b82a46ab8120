//! All files of a report, in its folder.

use std::fs;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};

use super::baseline::Baseline;
use super::{csv, json, junit, markdown, page};
use crate::data::files::replace;
use crate::data::report::{FILE, Report};

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
        ("report.html", page::page(report, baseline)?),
        (FILE, json),
        ("report.md", markdown::markdown(report, baseline)),
        ("report.csv", csv),
        ("junit.xml", junit::junit(report, None)),
    ];
    let place = |(name, text): (&str, String)| replace(&path(name), text.as_bytes()).map(|()| path(name));
    files.into_iter().map(place).collect()
}
