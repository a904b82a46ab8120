//! The page in a real browser: at desktop and phone width, light and dark, with and without JavaScript.
//!
//! The test uses an installed Chromium if there is one, otherwise the one in a pinned npm package. It writes the
//! page and screenshots to the folder in `CHUNKMILL_SCREENSHOTS`, if that is set, for inspection.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use chunkmill_eval::data::report::{Cell, Report};
use chunkmill_eval::show;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::common::note;
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

/// Returns the file of axe-core, or `None` like [`browser`].
pub fn axe() -> Option<PathBuf> {
    static FETCHING: Mutex<()> = Mutex::new(());
    let _one = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axe-4.14.1");
    let file = folder.join("axe.min.js");
    if file.exists() || script("axe.mjs").arg(&folder).status().is_ok_and(|status| status.success()) {
        return Some(file);
    }
    let reason = "this needs npm to download axe-core";
    assert!(env::var_os("CHUNKMILL_REQUIRE_ALL").is_none(), "{reason}");
    note(&format!("SKIPPED: {reason}"));
    None
}

/// Returns what the driver observed on a page: everything, or only at two widths.
fn drive(browser: &Browser, page: &str, name: &str, few: bool) -> Option<Map<String, Value>> {
    let axe = axe()?;
    let folder = TempDir::new().unwrap();
    let shots = env::var_os("CHUNKMILL_SCREENSHOTS").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&shots).unwrap();
    let file = shots.join(format!("{name}.html"));
    fs::write(&file, page).unwrap();
    let mut command = script("drive.mjs");
    let profile = TempDir::new().unwrap();
    command.args([browser.program.as_path(), profile.path(), &file, &shots, &axe]).args(few.then_some("few"));
    if let Some(own) = &browser.own {
        command.env("LD_LIBRARY_PATH", own.join("lib")).env("FONTCONFIG_FILE", own.join("fonts.conf"));
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(seen.as_object().unwrap().clone())
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Checks that people can read the page at this width, whatever it shows.
fn reads(name: &str, seen: &Value) {
    assert_eq!(seen["requests"], Value::Array(Vec::new()), "{name}: nothing is fetched or sent");
    assert_eq!(seen["problems"], Value::Array(Vec::new()), "{name}: nothing fails or is refused");
    // Not compared with `innerWidth`: a phone zooms out until a page that is too wide fits.
    let screen: u64 = name.split('-').next().unwrap().parse().unwrap_or(390);
    assert!(seen["wide"].as_u64() <= Some(screen), "{name}: {} wide by {}", seen["wide"], seen["beyond"]);
    assert_eq!(seen["tiny"], 0, "{name}: no text is smaller than 12 pixels");
    assert!(seen["contrast"][0].as_f64() >= Some(4.5), "{name}: {}", seen["contrast"]);
    if let Some(found) = seen.get("axe") {
        assert_eq!(*found, Value::Array(Vec::new()), "{name}: no finding of axe-core");
    }
}

/// Checks what the page says against the report: it recommends one setting everywhere, names none that the report does
/// not have, and shows the report's figures.
fn agrees(name: &str, seen: &Value, report: &Report) {
    reads(name, seen);
    let advised = &report.verdict.as_ref().unwrap().advised;
    assert_eq!(texts(&seen["advised"]), [advised], "{name}: one setting is marked");
    assert!(seen["answer"].as_str().unwrap().contains(advised), "{name}: {}", seen["answer"]);
    let is_command = |named: &str| named.starts_with("chunkmill") || named.starts_with("--") || named == "synth";
    for named in texts(&seen["named"]).into_iter().filter(|named| !is_command(named)) {
        assert!(report.cell(named).is_some(), "{name} names `{named}`, which the report does not have");
    }
    let primary = &report.scoring.primary;
    let shown = |id: &str| format!("{:.3}", report.cell(id).unwrap().metrics[primary].mean);
    let mut last = f64::INFINITY;
    for row in seen["board"].as_array().unwrap().iter().chain(seen["first"].as_array().unwrap()) {
        let row = texts(row);
        assert_eq!(row[1], shown(row[0]), "{name}: {}", row[0]);
    }
    for row in seen["board"].as_array().unwrap() {
        let mean = report.cell(texts(row)[0]).unwrap().metrics[primary].mean;
        assert!(mean <= last + 1e-9, "{name}: best first");
        last = mean;
    }
    assert_eq!(seen["rows"], report.cells.len(), "{name}: every setting is in the table");
    assert_eq!(seen["asked"], report.queries.len(), "{name}: every question is on the page");
    assert!(seen["shown"].as_u64() == Some(20) || report.queries.len() <= 40, "{name}: first the worst ones");
    assert_eq!(seen["ready"], "yes", "{name}");
    let text = seen["text"].as_str().unwrap();
    for nonsense in ["NaN", "undefined", "[object", "Infinity", "null"] {
        assert!(!text.contains(nonsense), "{name}: {nonsense}");
    }
}

const SECTIONS: [&str; 8] = ["change", "questions", "settings", "sizes", "budgets", "modes", "costs", "method"];

#[test]
fn the_page_works_in_chromium() {
    let Some(browser) = browser() else { return };
    let report = example::report(1, 700);
    let mut baseline = example::report(2, 700);
    baseline.cells.truncate(690);
    let baseline = show::Baseline::new(&baseline, &report).unwrap();
    let page = show::page::page(&report, Some(&baseline)).unwrap();
    let Some(mut seen) = drive(&browser, &page, "large", false) else { return };
    let (used, _print, without) =
        (seen.remove("using").unwrap(), seen.remove("print").unwrap(), seen.remove("no-script").unwrap());
    for (name, seen) in &seen {
        agrees(name, seen, &report);
        assert_eq!(texts(&seen["sections"]), SECTIONS, "{name}");
    }
    assert!(numbers(&seen["1400-light"]["fold"])[0] < 900.0, "{}", seen["1400-light"]["fold"]);
    assert_eq!(texts(&seen["1400-light"]["sections"])[0], "change", "which comes before the advice");
    assert_ne!(seen["1400-light"]["paper"], seen["1400-dark"]["paper"]);
    assert!(without["wide"].as_u64() <= Some(390) && without["problems"] == Value::Array(Vec::new()));
    let markdown = show::markdown::markdown(&report, Some(&baseline));
    assert_eq!(
        without["markdown"].as_str().unwrap().trim(),
        markdown.trim(),
        "without a script, there is the Markdown"
    );

    assert_eq!(used["problems"], Value::Array(Vec::new()));
    let mut chunks: Vec<f64> = report.cells.iter().map(|cell| cell.chunks as f64).collect();
    chunks.sort_by(f64::total_cmp);
    assert_eq!(numbers(&used["sorted_up"]), chunks);
    chunks.reverse();
    assert_eq!(numbers(&used["sorted_down"]), chunks);
    assert_eq!(used["sort_says"], "ascending");
    let count = |of: &dyn Fn(&Cell) -> bool| report.cells.iter().filter(|cell| of(cell)).count();
    let by_mode = texts(&used["by_mode"]);
    assert!(
        by_mode.len() == count(&|cell| cell.retrieval == "keyword") && by_mode.iter().all(|id| id.contains("keyword"))
    );
    let both = count(&|cell| cell.retrieval == "keyword" && cell.k == 5);
    assert_eq!(used["by_mode_and_k"], both);
    assert_eq!(used["says"], format!("{both} of 700 settings"));
    assert_eq!(
        texts(&used["found"]).len(),
        count(&|cell| cell.spec_text.starts_with("recursive") && cell.spec_text.contains("max=400"))
    );
    let verdict = report.verdict.as_ref().unwrap();
    assert_eq!(used["alike"], verdict.not_separable.len() + 1, "and the best itself");
    assert_eq!(used["back"], 700);
    // The questions of the recommended setting.
    let advised = report.cell(&verdict.advised).unwrap();
    let values: Vec<f64> = advised.values[example::PRIMARY].iter().flatten().copied().collect();
    let lost = texts(&used["lost"]);
    assert_eq!(lost.len(), values.iter().filter(|value| **value < 1.0).count());
    assert!(lost[0].ends_with(&format!("{:.3}", values.iter().copied().fold(f64::INFINITY, f64::min))), "{}", lost[0]);
    assert!(texts(&used["nobody"]).iter().all(|found| found.starts_with("0 of ")));
    let differ = used["differ"].as_array().unwrap();
    assert!(!differ.is_empty() && differ.iter().all(|pair| texts(pair)[0] != texts(pair)[1]));
    let words = texts(&used["words"]);
    assert!(words.len() == 15 && words.iter().all(|text| text.contains("local cache folder")), "{words:?}");
    // The worst question, opened: what was wanted, and where it is in what was handed over.
    let opened = used["opened"].as_str().unwrap();
    assert!(opened.contains("Wanted") && opened.contains("or 1 other place"), "{opened}");
    assert!(opened.contains(&verdict.advised), "{opened}");
    assert!(
        texts(&used["marks"])[0].contains("the next run reads every file again."),
        "a line feed is a space: {}",
        used["marks"]
    );
    let all = report.queries.len();
    assert_eq!((&used["kept"], &used["closed"]), (&json!([1, "true", all]), &json!([0, "false", all])));
    // Two per million tokens embedded, three per million tokens read, a thousand questions of 1,024 tokens.
    let priced = used["priced"].as_str().unwrap();
    assert!(priced.contains("EUR") && priced.contains("3.07 EUR"), "{priced}");
    let tokens = format!(", tokens of the k best chunks {:.0}", advised.metrics["retrieved_tokens"].mean);
    let point = used["point"].as_str().unwrap().replace(',', "");
    assert!(point.starts_with(&verdict.advised) && point.contains(&tokens.replace(',', "")), "{point} {tokens}");
    assert_eq!(texts(&used["focus"])[0], "skip");
}

/// The kinds of result that a reader must tell apart at a glance.
#[test]
fn the_page_says_a_tie_a_ceiling_a_clear_winner_and_a_failed_gate() {
    let Some(browser) = browser() else { return };
    let alter = |change: &dyn Fn(&mut Cell)| {
        let mut report = example::report(6, 24);
        for cell in &mut report.cells {
            change(cell);
        }
        chunkmill_eval::findings::analysis::analyse(&mut report);
        report.answers = Default::default();
        report
    };
    let put = |cell: &mut Cell, value: f64| {
        cell.values.values_mut().flatten().flatten().for_each(|old| *old = value.min(*old + value));
        cell.values.insert(example::PRIMARY.to_owned(), vec![Some(value); cell.outcomes.len()]);
        let letter = if value >= 1.0 { "f" } else { "p" };
        cell.outcomes = letter.repeat(cell.outcomes.len());
    };
    let ceiling = alter(&|cell| put(cell, 1.0));
    let tied = alter(&|cell| put(cell, 0.5));
    let winner = alter(&|cell| {
        if cell.retrieval == "hybrid" && cell.k == 5 {
            put(cell, 0.9)
        }
    });
    let before = example::report(6, 24);
    let worse = alter(&|cell| cell.values.values_mut().flatten().flatten().for_each(|value| *value *= 0.4));
    let failed = show::Baseline::new(&before, &worse).unwrap();
    assert!(!failed.outcome().passed);
    for (name, report, baseline, words) in [
        ("ceiling", &ceiling, None, "find everything, so these questions do not tell them apart"),
        ("tied", &tied, None, "equally good"),
        ("winner", &winner, None, "hybrid"),
        ("failed", &worse, Some(&failed), "FAILED"),
    ] {
        let page = show::page::page(report, baseline).unwrap();
        let Some(seen) = drive(&browser, &page, name, true) else { return };
        for (width, seen) in &seen {
            agrees(&format!("{width} {name}").replace(' ', "-"), seen, report);
            assert!(seen["text"].as_str().unwrap().contains(words), "{name}: {}", seen["text"]);
            assert_eq!(seen["gate"], if baseline.is_some() { "gate worse" } else { "" }, "{name}");
            if baseline.is_none() && width.starts_with("1400") {
                assert!(numbers(&seen["fold"]).iter().all(|&bottom| bottom < 900.0), "{name}: {}", seen["fold"]);
            }
        }
    }
}

#[test]
fn several_runs_are_side_by_side_in_chromium() {
    let Some(browser) = browser() else { return };
    let reports = [("minilm", 3, 30), ("e5", 4, 36), ("last week", 5, 12)];
    let reports = reports.map(|(name, seed, cells)| (name.to_owned(), example::report(seed, cells)));
    let page = show::page::comparison(&reports).unwrap();
    let Some(seen) = drive(&browser, &page, "compare", true) else { return };
    for (name, seen) in &seen {
        reads(name, seen);
        assert_eq!(texts(&seen["sections"])[..2], ["runs", "matrix"], "{name}");
        let text = seen["text"].as_str().unwrap();
        for (run, report) in &reports {
            let advised = report.cell(&report.verdict.as_ref().unwrap().advised).unwrap();
            let mean = format!("{:.3}", advised.metrics[&report.scoring.primary].mean);
            assert!(text.contains(run) && text.contains(&advised.id) && text.contains(&mean), "{name}: {run}");
        }
    }
}

#[test]
fn text_from_outside_does_nothing_in_chromium() {
    let Some(browser) = browser() else { return };
    let report = crate::render::hostile();
    let Some(seen) = drive(&browser, &crate::render::page(&report, &report), "hostile", true) else { return };
    for (name, seen) in &seen {
        reads(name, seen);
        assert_eq!((&seen["rows"], &seen["ready"]), (&Value::from(90), &Value::from("yes")), "{name}");
    }
}
