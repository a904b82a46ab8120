//! Damaged and hostile files in the folder of a run: every one is an error with its name, or does no harm.

use std::fs;
use std::path::{Path, PathBuf};

use chunkmill_eval::data::report::Report;
use chunkmill_eval::findings::analysis::analyse;
use chunkmill_eval::findings::assemble::MeasuredRun;
use chunkmill_eval::findings::gate::{Thresholds, gate};
use chunkmill_eval::findings::sets::{Set, Sets};
use chunkmill_eval::run::sweep::{Labelled, Run};
use chunkmill_eval::show;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{arg, dice, eval, folder};
use crate::example;

/// Values that a program would not have written.
fn hostile() -> Vec<Value> {
    vec![
        json!(0),
        json!(-1),
        json!(1e308),
        json!(-1e308),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(4_000_000_000_u64),
        json!(0.5),
        json!(null),
        json!(""),
        json!("x"),
        json!([]),
        json!({}),
        json!([0]),
        json!([[9, 9]]),
        json!(true),
    ]
}

/// Replaces one value, anywhere in a value.
fn damage(value: &mut Value, next: &mut dyn FnMut() -> f64) {
    let mut pick = |of: usize| ((next() * of as f64) as usize).min(of.saturating_sub(1));
    match value {
        Value::Object(fields) if !fields.is_empty() && pick(12) > 0 => {
            let at = pick(fields.len());
            let key = fields.keys().nth(at).unwrap().clone();
            damage(&mut fields[&key], next);
        }
        Value::Array(list) if !list.is_empty() && pick(12) > 0 => {
            let at = pick(list.len());
            match pick(6) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                _ => damage(&mut list[at], next),
            }
        }
        other => {
            let values = hostile();
            *other = values[pick(values.len())].clone();
        }
    }
}

/// Does everything that is done with a report.
fn show(report: &Report, other: &Report) {
    let folder = TempDir::new().unwrap();
    for (report, before) in [(report, other), (other, report)] {
        let _ = show::write(report, show::Baseline::new(before, report).ok().as_ref(), folder.path());
    }
    let set = Set { name: "a".to_owned(), report: report.clone(), synthetic: Some(other.clone()) };
    let _ = show::table::table(
        &Sets::new(vec![set]),
        &report.cells.first().map_or_else(String::new, |cell| cell.id.clone()),
    );
    let _ = gate(report, other, &Thresholds::default());
    let mut again = report.clone();
    again.scoring.resamples = again.scoring.resamples.min(100);
    again.scoring.permutations = again.scoring.permutations.min(100);
    analyse(&mut again);
}

#[test]
fn a_damaged_report_is_an_error_or_is_shown() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("report.json");
    let good = example::report(4, 12);
    let value = serde_json::to_value(&good).unwrap();
    let mut next = dice(5);
    let (mut refused, mut shown) = (0, 0);
    for _ in 0..400 {
        let mut bad = value.clone();
        damage(&mut bad, &mut next);
        fs::write(&file, bad.to_string()).unwrap();
        match Report::read(&file) {
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("report.json: ") && error.to_string().contains("help: "), "{error}");
            }
            Ok(report) => {
                shown += 1;
                show(&report, &good);
            }
        }
    }
    assert!(refused > 50 && shown > 50, "{refused} {shown}");
    let text = value.to_string();
    for broken in [&text[..text.len() / 2], "", "[]", "{}", "\u{0}"] {
        fs::write(&file, broken).unwrap();
        assert!(Report::read(&file).is_err());
    }
    assert!(Report::read(Path::new("/dev")).is_err());
}

/// Sweeps two small datasets, and returns the run, its record and its `run.json`.
fn swept(home: &TempDir) -> (PathBuf, PathBuf, PathBuf) {
    let at = |name: &str| home.path().join(name);
    let page =
        |word: &str| format!("# {word}\n\n{}\n", format!("The {word} opens at six, and closes at nine. ").repeat(9));
    crate::common::write(home.path(), "set/corpus/a.md", page("gate").as_bytes());
    crate::common::write(home.path(), "set/corpus/b.md", page("door").as_bytes());
    let reference = json!([{"doc_id": "a.md", "start": 8, "end": 16, "text": "The gate"}]);
    let lines: Vec<String> = (0..3)
        .map(|at| json!({"query_id": format!("q{at}"), "query": "gate?", "references": reference}).to_string())
        .collect();
    crate::common::write(home.path(), "set/queries.jsonl", lines.join("\n").as_bytes());
    let sweep = "[defaults.embedding]\nembedder = 'fake'\ncache = 'off'\n[[grid]]\nstrategy = 'recursive'\nunit = 'tokens'\nmax = [30]\nmode = ['keyword', 'hybrid']\n[timing]\nrepeats = 1\n";
    fs::write(at("sweep.toml"), sweep).unwrap();
    let (code, _, err) = sweeping(home);
    assert_eq!(code, 0, "{err}");
    let record = fs::read_dir(at("run/records")).unwrap().next().unwrap().unwrap().path();
    (at("run"), record, at("run/run.json"))
}

fn sweeping(home: &TempDir) -> (i32, String, String) {
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    eval(&["sweep", "--labels", &at("set"), "--sweep", &at("sweep.toml"), "-o", &at("run")])
}

/// Reports a run in this process.
fn reported(run: &Path) -> chunkmill::error::Result<Report> {
    let plan = Run::read(run)?;
    let labelled = Labelled::read(&plan.labels)?;
    let measured = MeasuredRun::read(run, plan, labelled)?;
    let report = measured.report();
    let folder = TempDir::new().unwrap();
    measured.write_trec(folder.path(), true)?;
    show::write(&report, None, folder.path())?;
    Report::read(folder.path()).unwrap();
    Ok(report)
}

#[test]
fn a_damaged_run_is_an_error_or_is_measured_again() {
    let home = folder(&[]);
    let (run, record, plan) = swept(&home);
    let good = reported(&run).unwrap();
    let mut next = dice(6);
    for file in [&record, &plan] {
        let whole = fs::read(file).unwrap();
        let value: Value = serde_json::from_slice(&whole).unwrap();
        let mut refused = 0;
        for _ in 0..400 {
            let mut bad = value.clone();
            damage(&mut bad, &mut next);
            fs::write(file, bad.to_string()).unwrap();
            match reported(&run) {
                Ok(_) => {}
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().contains("help: "), "{error}");
                }
            }
        }
        assert!(refused > 100, "{refused}");
        for broken in [&whole[..whole.len() / 2], b"", b"[]", b"{}", b"\xff\xfe"] {
            fs::write(file, broken).unwrap();
            let error = reported(&run).unwrap_err().to_string();
            assert!(error.contains(arg(file)) && error.contains("help: "), "{error}");
            let (code, _, said) = eval(&["report", arg(&run)]);
            assert!(code == 2 && !said.contains("panicked"), "{code} {said}");
        }
        fs::write(file, &whole).unwrap();
    }
    // A sweep measures a damaged record again.
    let mut bad: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    bad["variants"][0]["answers"][0]["rows"] = json!([99]);
    fs::write(&record, bad.to_string()).unwrap();
    let error = reported(&run).unwrap_err().to_string();
    assert!(
        error.contains("is damaged: its answers are not those") && error.contains("run the sweep again"),
        "{error}"
    );
    let (code, _, said) = sweeping(&home);
    assert!(code == 0 && !said.contains("already done"), "{said}");
    assert_eq!(reported(&run).unwrap().cells[0].values, good.cells[0].values);
    // A pipe or a link in the place of a file does not hang, and is not followed.
    #[cfg(unix)]
    {
        fs::remove_file(&record).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&record).status().unwrap().success());
        let error = reported(&run).unwrap_err().to_string();
        assert!(error.contains("a FIFO, where a file belongs"), "{error}");
        let precious = home.path().join("precious");
        fs::write(&precious, "mine").unwrap();
        for (name, expected) in [(".lock", 5), ("run.json.part", 5), ("report.html.part", 5)] {
            let _ = fs::remove_file(run.join(name));
            std::os::unix::fs::symlink(&precious, run.join(name)).unwrap();
            assert_eq!(sweeping(&home).0, expected, "{name}");
            assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
            let _ = fs::remove_file(run.join(name));
        }
        let _ = fs::remove_file(&record);
        assert_eq!(sweeping(&home).0, 0);
    }
}
