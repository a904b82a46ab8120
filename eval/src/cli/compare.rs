//! `chunkmill-eval compare`: one page with several runs side by side.

use std::path::{Path, PathBuf};

use chunkmill::cli::print;
use chunkmill::error::{Error, exit};

use crate::data::files::replace;
use crate::data::report::{FILE, Report};
use crate::show::page::comparison;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill-eval compare minilm=run-a e5=run-b -o compare.html\n\
\x20 chunkmill-eval compare runs/2026-11-* -o compare.html";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Two or more runs: folders or files named report.json; NAME=RUN names one on the page
    #[arg(required = true, num_args = 2..)]
    runs: Vec<String>,
    /// File of the page
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "compare.html")]
    page: PathBuf,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let mut reports: Vec<(String, Report)> = Vec::new();
    for run in &args.runs {
        let (name, path) = named(run);
        if reports.iter().any(|(known, _)| *known == name) {
            let help = "name them apart: NAME=RUN";
            return Err(Error::setting("RUN", format!("two runs are called `{name}`"), help).into());
        }
        reports.push((name, Report::read(path)?));
    }
    if args.page.is_dir() {
        let help = format!("name a file, for example {}", args.page.join("compare.html").display());
        return Err(Error::setting(args.page.display().to_string(), "is a folder", help).into());
    }
    replace(&args.page, comparison(&reports)?.as_bytes())?;
    print(args.page.display())?;
    Ok(exit::DONE)
}

/// Returns the name of a run and its path: what stands before `=`, or else the last part of the path that says
/// something.
fn named(run: &str) -> (String, &Path) {
    if let Some((name, path)) = run.split_once('=').filter(|_| !Path::new(run).exists()) {
        return (name.to_owned(), Path::new(path));
    }
    let path = Path::new(run);
    let folder = if path.file_name().is_some_and(|name| name == FILE) { path.parent().unwrap_or(path) } else { path };
    // Many runs are in folders of this name.
    let folder =
        if folder.file_name().is_some_and(|name| name == "run") { folder.parent().unwrap_or(folder) } else { folder };
    let name = folder.file_name().map_or_else(|| run.to_owned(), |name| name.to_string_lossy().into_owned());
    (name, path)
}
