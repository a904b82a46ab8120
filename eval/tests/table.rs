//! Runs over several label sets, side by side.

use std::fs;

use chunkmill_eval::data::report::Report;
use chunkmill_eval::show::json::json;
use tempfile::TempDir;

use crate::common::{METRIC, arg, dice, eval, report_of};

const OWN: &str = "structure, hybrid, k=5";

/// Returns a run in which each setting finds this share of the questions. The questions of a set vary in difficulty.
fn run(name: &str, seed: u8, shares: &[(&str, f64)]) -> Report {
    let mut next = dice(seed);
    let hard: Vec<f64> = (0..120).map(|_| next()).collect();
    let found = |share: f64| hard.iter().map(|hard| Some(f64::from(u8::from(*hard < share)))).collect();
    let cells: Vec<(&str, Vec<Option<f64>>)> = shares.iter().map(|&(id, share)| (id, found(share))).collect();
    let mut report = report_of(&cells);
    report.labels.name = name.to_owned();
    for cell in &mut report.cells {
        let (build, rest) = cell.id.split_once(", ").unwrap();
        (cell.build, cell.retrieval) = (build.to_owned(), rest.split([' ', ',']).next().unwrap().to_owned());
        let values = cell.values[METRIC].clone();
        report.scoring.budgets = vec![500, 1000];
        for budget in [500, 1000] {
            cell.values.insert(format!("evidence_in_context_{budget}"), values.clone());
        }
    }
    report.scoring.primary = "evidence_in_context_1000".to_owned();
    chunkmill_eval::findings::analysis::analyse(&mut report);
    report
}

const SHARES: [(&str, f64); 5] = [
    (OWN, 0.8),
    ("structure, hybrid language=none, k=5", 0.7),
    ("structure max=64, hybrid, k=5", 0.79),
    ("recursive, hybrid, k=5", 0.5),
    ("recursive, keyword, k=5", 0.9),
];

fn written(home: &TempDir, name: &str, report: &Report) -> String {
    let file = home.path().join(name);
    fs::write(&file, json(report).unwrap()).unwrap();
    arg(&file).to_owned()
}

#[test]
fn sets_are_put_side_by_side() {
    let home = TempDir::new().unwrap();
    let (one, two) = (run("one", 1, &SHARES), run("two", 2, &SHARES));
    // The synthetic questions would choose the worst setting other than keyword search.
    let made = run("made", 3, &SHARES.map(|(id, share)| (id, 1.0 - share)));
    let [a, b, c] = [("a.json", &one), ("b.json", &two), ("c.json", &made)].map(|(name, of)| written(&home, name, of));
    let out = home.path().join("out");
    let (code, said, problem) = eval(&["table", &a, &b, "--synthetic", &c, "--synthetic", &c, "-o", arg(&out)]);
    assert_eq!(code, 0, "{problem}");
    assert_eq!(said.lines().count(), 6);
    let text = fs::read_to_string(out.join("table.md")).unwrap();
    let mean = |report: &Report, id: &str| report.cell(id).unwrap().metrics["evidence_in_context_500"].mean;
    let own = (mean(&one, OWN) + mean(&two, OWN)) / 2.0;
    assert!(text.contains(&format!("| {OWN} | {own:.3} | ")), "{text}");
    // The best value of a budget is bold, and the rows are in the order of the means.
    let keyword = SHARES[4].0;
    let best = (mean(&one, keyword) + mean(&two, keyword)) / 2.0;
    assert!(text.contains(&format!("| {keyword} | **{best:.3}** | **{best:.3}** | ")), "{text}");
    assert!(text.find(keyword) < text.find(OWN), "{text}");
    // A change is shown with its interval, for each set and for all of them; a part is a setting that differs from ours.
    let by_set = |report: &Report| mean(report, SHARES[1].0) - mean(report, OWN);
    let lost = (by_set(&one) + by_set(&two)) / 2.0;
    let row = text.lines().filter(|line| line.contains("language=none")).nth(1).unwrap();
    for change in [lost, by_set(&one), by_set(&two)] {
        assert!(row.contains(&format!("| **{change:.3}** (-")), "{row}");
    }
    let part = format!("| 1 | language=none | **{lost:.3}** (");
    assert!(text.contains(&part), "{text}");
    assert!(text.contains("| 2 | max=64 | ") && !text.contains("| 3 | "), "{text}");
    // All sets, each half of them, and each set for the other choose the same.
    let chosen = |budget| text.lines().any(|line| line.starts_with(&format!("| {budget} | {keyword} | {best:.3} | ")));
    assert!(chosen("500") && chosen("1,000") && text.contains(&format!(" | {best:.3} | {own:.3} |\n")), "{text}");
    let lines = fs::read_to_string(out.join("table.csv")).unwrap();
    assert_eq!(lines.lines().count(), 1 + 2 * 2 * SHARES.len(), "{lines}");
    let line = |id: &str| lines.lines().find(|line| line.starts_with(&format!("\"{id}\",one,500,"))).unwrap();
    assert!(line(OWN).ends_with(&format!(",{},0,0,0", mean(&one, OWN))), "{lines}");
    assert!(line(SHARES[1].0).contains(&format!(",{},-0.", mean(&one, SHARES[1].0))), "{lines}");
    assert!(text.contains("| one | 4 | -1.000 |"), "the order is reversed: {text}");
    for (name, holds) in [
        ("budgets.svg", "recursive, 500 tokens"),
        ("bytes.svg", "structure max=64"),
        ("parts.svg", "language=none"),
        ("synthetic.svg", "one: recursive, hybrid"),
    ] {
        let svg = fs::read_to_string(out.join(name)).unwrap();
        assert!(svg.starts_with("<svg xmlns") && svg.contains(holds) && svg.len() < 60_000, "{name}: {svg}");
    }
    // Runs of different sweeps have only some settings in common.
    let few = written(&home, "few.json", &run("few", 4, &SHARES[1..3]));
    let (code, _, problem) = eval(&["table", &a, &few, "-o", arg(&out)]);
    assert!(code == 0 && problem.contains("not every run has `structure, hybrid, k=5`"), "{problem}");
    let text = fs::read_to_string(out.join("table.md")).unwrap();
    assert!(!text.contains("recursive") && !text.contains("synthetic"), "{text}");
    assert_eq!(eval(&["table", &a, &b, "--synthetic", &c, "-o", arg(&out)]).0, 2);
}

/// Names of settings and sets come from anyone, and the tables are read as Markdown.
#[test]
fn names_in_tables_are_text() {
    let home = TempDir::new().unwrap();
    let bad = "<script>alert(1)</script>|*x*`_[l](http://e)\n# y, hybrid, k=5";
    let mut report = run("<img src=x onerror=alert(2)>|**n**", 1, &[(bad, 0.5), ("plain, hybrid, k=5", 0.4)]);
    report.cells[1].id = format!("{bad} more");
    report.cells[1].build = report.cells[0].build.clone();
    let [a, b] = ["a.json", "b.json"].map(|name| written(&home, name, &report));
    let out = home.path().join("out");
    let (code, _, problem) = eval(&["table", &a, "--synthetic", &b, "--of", bad, "-o", arg(&out)]);
    assert_eq!(code, 0, "{problem}");
    let files = fs::read_dir(&out).unwrap().map(|file| file.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|end| end != "csv")) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("<script") && !text.contains("<img"), "{}: {text}", file.display());
    }
    let text = fs::read_to_string(out.join("table.md")).unwrap();
    assert!(!text.contains("[l](http") && !text.contains("\n# y") && text.contains("&lt;script&gt;"), "{text}");
    // Every row of a table has as many columns as its head.
    let mut columns = 0;
    for line in text.lines() {
        let bars = line.replace("\\|", "").matches('|').count();
        assert!(columns == 0 || bars == 0 || columns == bars, "{line}");
        columns = if line.starts_with('|') { bars } else { 0 };
    }
    assert!(text.lines().filter(|line| line.starts_with('|') && line.contains("&lt;script")).count() >= 2, "{text}");
}
