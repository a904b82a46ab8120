//! The page in a real browser: at desktop and phone width, light and dark, with and without JavaScript.
//!
//! The test uses an installed Chromium if there is one, otherwise the one in a pinned npm package. It writes the
//! page and screenshots to the folder in `CHUNKMILL_SCREENSHOTS`, if that is set, for inspection.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use chunkmill_eval::show::render;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{arg, note};
use crate::example;

/// Names under which systems install Chromium.
const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// A browser, and the folder of its own libraries and fonts if it was downloaded.
pub struct Browser {
    pub program: PathBuf,
    pub own: Option<PathBuf>,
}

/// Returns a command that runs a script of this folder with Node.
pub fn script(name: &str) -> Command {
    let mut node = Command::new("node");
    node.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser").join(name));
    node
}

/// Returns `None` and prints the reason if there is no browser. With `CHUNKMILL_REQUIRE_ALL`, the test fails
/// instead.
pub fn browser() -> Option<Browser> {
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if has_node && let Some(browser) = installed().or_else(fetched) {
        return Some(browser);
    }
    let reason = "this needs Node and a Chromium, or npm to download one on x86-64 Linux";
    assert!(env::var_os("CHUNKMILL_REQUIRE_ALL").is_none(), "{reason}");
    note(&format!("SKIPPED: {reason}"));
    None
}

fn installed() -> Option<Browser> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let all = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|file| file.is_file()).map(|program| Browser { program, own: None })
}

fn fetched() -> Option<Browser> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return None;
    }
    // Two tests may need it at the same time: one downloads it while the other waits.
    static FETCHING: Mutex<()> = Mutex::new(());
    let _one = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium-153.0.0");
    let complete = folder.join("complete");
    if !complete.exists() {
        if !script("fetch.mjs").arg(&folder).status().is_ok_and(|status| status.success()) {
            return None;
        }
        fs::write(complete, "").unwrap();
    }
    Some(Browser { program: folder.join("chromium"), own: Some(folder) })
}

/// Returns what the driver observed on a page.
fn drive(browser: &Browser, page: &Path, folder: &Path) -> Value {
    let mut command = script("drive.mjs");
    let profile = TempDir::new().unwrap();
    command.args([browser.program.as_path(), profile.path(), page, folder]);
    if let Some(own) = &browser.own {
        command.env("LD_LIBRARY_PATH", own.join("lib")).env("FONTCONFIG_FILE", own.join("fonts.conf"));
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn reads(name: &str, seen: &Value, cells: usize) {
    assert_eq!(seen["requests"], Value::Array(Vec::new()), "{name}: nothing is fetched or sent");
    assert_eq!(seen["problems"], Value::Array(Vec::new()), "{name}: nothing fails or is refused");
    // Not compared with `innerWidth`: a phone zooms out until a page that is too wide fits.
    let screen: u64 = name.split('-').next().unwrap().parse().unwrap();
    assert!(seen["wide"].as_u64() <= Some(screen), "{name}: {} wide by {}", seen["wide"], seen["beyond"]);
    assert_eq!(seen["sections"].as_array().unwrap().len(), 13, "{name}");
    assert_eq!(seen["rows"], cells, "{name}: every setting is in the table");
    assert_eq!(
        seen["controls"].as_u64() > Some(0),
        !name.contains("no-script"),
        "{name}: no control without its script"
    );
    assert_eq!(seen["tiny"], 0, "{name}: no text is smaller than 12 pixels");
    assert!(seen["contrast"][0].as_f64() >= Some(4.5), "{name}: {}", seen["contrast"]);
}

#[test]
fn the_page_works_in_chromium() {
    let Some(browser) = browser() else { return };
    let folder = TempDir::new().unwrap();
    let shots = env::var_os("CHUNKMILL_SCREENSHOTS").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&shots).unwrap();
    let report = example::report(1, 700);
    let mut baseline = example::report(2, 700);
    baseline.cells.truncate(690);
    let baseline = render::Baseline::new(&baseline, &report).unwrap();
    render::write(&report, Some(&baseline), folder.path()).unwrap();
    let page = shots.join("page.html");
    fs::copy(folder.path().join("report.html"), &page).unwrap();
    let seen = drive(&browser, &page, &shots);
    for (name, seen) in
        seen.as_object().unwrap().iter().filter(|(name, _)| !["using", "print"].contains(&name.as_str()))
    {
        reads(name, seen, report.cells.len());
    }
    assert!(
        numbers(&seen["1400-light"]["fold"]).iter().all(|&bottom| bottom < 900.0),
        "{}",
        seen["1400-light"]["fold"]
    );
    assert_ne!(seen["1400-light"]["paper"], seen["1400-dark"]["paper"]);

    let used = &seen["using"];
    assert_eq!(used["problems"], Value::Array(Vec::new()));
    let mut chunks: Vec<f64> = report.cells.iter().map(|cell| cell.chunks as f64).collect();
    chunks.sort_by(f64::total_cmp);
    assert_eq!(numbers(&used["sorted_up"]), chunks);
    chunks.reverse();
    assert_eq!(numbers(&used["sorted_down"]), chunks);
    assert_eq!(used["sort_says"], "ascending");
    let count =
        |of: &dyn Fn(&chunkmill_eval::data::report::Cell) -> bool| report.cells.iter().filter(|cell| of(cell)).count();
    assert_eq!(texts(&used["by_mode"]), vec!["keyword"; count(&|cell| cell.retrieval == "keyword")]);
    let both = count(&|cell| cell.retrieval == "keyword" && cell.k == 5);
    assert_eq!(texts(&used["by_mode_and_k"]), vec!["keyword5"; both]);
    assert_eq!(used["says"], format!("{both} of 700"));
    let found = texts(&used["found"]);
    assert_eq!(found.len(), count(&|cell| cell.spec_text.starts_with("recursive max=400")));
    assert_eq!(used["ties"], report.verdict.as_ref().unwrap().not_separable.len() + 1, "and the best itself");
    assert_eq!(used["front"], count(&|cell| !cell.pareto.is_empty()));
    assert_eq!(used["back"], 700);
    // A point in the plot of tokens shows how much evidence its chunks contain, not the primary metric.
    let best = report.cell(&report.verdict.as_ref().unwrap().best).unwrap();
    let recall = format!("recall of text {:.3}", best.metrics["span_recall"].mean);
    let point = used["point"].as_str().unwrap();
    assert!(point.starts_with("#1 ") && point.contains(&recall) && point.contains("tokens read "), "{point}");
    assert_eq!(used["near"], used["point"], "so does the place next to it in the cloud");
    let hover = used["hover"].as_str().unwrap();
    assert!(hover.ends_with(" · chunks") && hover.starts_with("semantic min="), "{hover}");
    assert_eq!(texts(&used["focus"]), ["skip", "js-only", "toml", "SUMMARY"]);
}

#[test]
fn text_from_outside_does_nothing_in_chromium() {
    let Some(browser) = browser() else { return };
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let report = crate::render::hostile();
    fs::write(&page, crate::render::page(&report, &report)).unwrap();
    let seen = drive(&browser, Path::new(arg(&page)), folder.path());
    for (name, seen) in
        seen.as_object().unwrap().iter().filter(|(name, _)| !["using", "print"].contains(&name.as_str()))
    {
        reads(name, seen, 90);
    }
}
