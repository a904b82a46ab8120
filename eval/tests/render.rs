//! Every form of a report: complete, readable by other programs, and harmless whatever the documents contain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use chunkmill_eval::data::report::{Advice, Cell, IndexCost, Report, Spread};
use chunkmill_eval::data::trec;
use chunkmill_eval::findings::gate::{Thresholds, gate};
use chunkmill_eval::show::svg::{Axis, Curve, Look, Plot, Scale, Value};
use chunkmill_eval::show::{self, Baseline};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::common::{METRIC, arg, data_of, eval, note, report_of};
use crate::example;
use crate::python::environment;

const HOSTILE: &str = "</script></style><script>alert('x')</script><img src=x onerror=\"alert(1)\"> & ' \" `|*_ \u{1}";

/// Renders the page with a baseline.
pub fn page(report: &Report, baseline: &Report) -> String {
    show::page::page(report, Some(&Baseline::new(baseline, report).unwrap())).unwrap()
}

fn plain(report: &Report) -> String {
    show::page::page(report, None).unwrap()
}

fn cells(page: &str) -> Vec<Json> {
    data_of(page)["runs"][0]["cells"].as_array().unwrap().clone()
}

/// The page is sent by mail.
#[test]
fn the_page_of_700_cells_and_800_questions_is_below_400_kilobytes() {
    let report = example::asked_again(example::report(1, 700), 7);
    let page = plain(&report);
    assert_eq!((cells(&page).len(), report.queries.len()), (700, 840));
    assert!(page.len() <= 400_000, "{} bytes", page.len());
    note(&format!("{} bytes for 700 settings and 840 questions", page.len()));
    // The settings that the page names have their answers, and others as far as there is room.
    let data = data_of(&page);
    let with: Vec<&Json> =
        data["runs"][0]["cells"].as_array().unwrap().iter().filter(|cell| cell["outcomes"] != "").collect();
    let ids: Vec<&str> = with.iter().map(|cell| cell["id"].as_str().unwrap()).collect();
    assert!((20..700).contains(&with.len()), "{}", with.len());
    for id in data["runs"][0]["representatives"].as_array().unwrap() {
        assert!(ids.contains(&id.as_str().unwrap()), "{id}");
    }
    assert!(ids.contains(&report.verdict.as_ref().unwrap().advised.as_str()));
}

#[test]
fn the_page_has_every_setting_best_first_with_the_figures_of_the_report() {
    let report = example::report(3, 90);
    let data = data_of(&plain(&report));
    let mut means: Vec<(f64, &Cell)> =
        report.cells.iter().map(|cell| (cell.metrics[example::PRIMARY].mean, cell)).collect();
    means.sort_by(|a, b| b.0.total_cmp(&a.0));
    let close = |json: &Json, value: f64| (json.as_f64().unwrap() - value).abs() <= 5.001e-4;
    let shown = data["runs"][0]["cells"].as_array().unwrap();
    assert_eq!(shown.len(), 90);
    for (shown, (mean, cell)) in shown.iter().zip(&means) {
        assert!(close(&shown["metrics"][example::PRIMARY][0], *mean), "{}", cell.id);
        let cell = report.cell(shown["id"].as_str().unwrap()).unwrap();
        for (name, summary) in &cell.metrics {
            let all = [summary.mean, summary.lo, summary.hi];
            let shown = shown["metrics"][name].as_array().unwrap();
            assert!(shown.iter().zip(all).all(|(shown, value)| close(shown, value)), "{name} of {}", cell.id);
            assert_eq!(shown.len(), if name.starts_with("evidence_in") { 3 } else { 1 }, "{name}");
        }
        assert!(close(&shown["p_best"], cell.p_best.unwrap()));
        assert_eq!(shown["cost"]["bytes"], cell.cost.bytes);
        assert_eq!(shown["outcomes"], *cell.outcomes);
        for (shown, value) in
            shown["values"][example::PRIMARY].as_array().unwrap().iter().zip(&cell.values[example::PRIMARY])
        {
            assert!(close(shown, value.unwrap()));
        }
    }
    let json = serde_json::to_value(&report).unwrap();
    for key in ["queries", "answers", "metrics", "labels", "scoring", "environment", "command"] {
        assert_eq!(data["runs"][0][key], json[key], "{key}");
    }
}

#[test]
fn every_form_says_how_probably_a_setting_is_the_best() {
    let report = example::report(3, 90);
    let chance = |p: f64| match p {
        p if p > 0.99 => ">99".to_owned(),
        p if p < 0.01 => "<1".to_owned(),
        p => format!("{:.0}", p * 100.0),
    };
    let text = show::markdown::markdown(&report, None);
    let csv = rows(&show::csv::csv(&report).unwrap());
    for (at, row) in csv.iter().enumerate() {
        let value = |name: &str| row.iter().find(|(column, _)| column == name).unwrap().1.clone();
        let p = report.cell(&value("id")).unwrap().p_best.unwrap();
        assert_eq!(value("p_best").parse::<f64>().unwrap(), p);
        if at < 10 {
            let line = text.lines().find(|line| line.starts_with(&format!("| {} |", at + 1))).unwrap();
            assert!(line.contains(&format!("{}\u{a0}%", chance(p))), "{line}");
        }
    }
}

#[test]
fn several_runs_are_compared_by_the_questions_that_they_share() {
    let first = example::report(3, 30);
    let mut second = example::report(3, 36);
    let worse = &mut second.cells[2];
    worse.values.get_mut(example::PRIMARY).unwrap().iter_mut().for_each(|value| *value = Some(0.1));
    let id = worse.id.clone();
    let mut other = example::report(4, 12);
    other.queries.iter_mut().for_each(|query| query.id.push('x'));
    let named = [("a", first), ("b", second), ("c", other)].map(|(name, report)| (name.to_owned(), report));
    let data = data_of(&show::page::comparison(&named).unwrap());
    let names: Vec<&str> = data["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let against = data["against"].as_array().unwrap();
    let changes = against[0]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "only one setting differs");
    assert_eq!((&changes[0]["cell"], &changes[0]["comparison"]["separable"]), (&Json::from(id), &Json::from(true)));
    assert!(against[1]["problem"].as_str().unwrap().contains("no question in common"), "{}", against[1]);
    assert_eq!(against[0]["loss"], Json::Null);
}

#[test]
fn the_program_compares_runs_by_name() {
    let home = TempDir::new().unwrap();
    for (name, seed) in [("one", 1), ("two", 2)] {
        show::write(&example::report(seed, 6), None, &home.path().join(name)).unwrap();
    }
    let (one, two, page) = (home.path().join("one"), home.path().join("two/report.json"), home.path().join("c.html"));
    let (code, said, problem) = eval(&["compare", arg(&one), &format!("second={}", two.display()), "-o", arg(&page)]);
    assert_eq!((code, said.trim()), (0, arg(&page)), "{problem}");
    let data = data_of(&fs::read_to_string(&page).unwrap());
    assert_eq!((&data["runs"][0]["name"], &data["runs"][1]["name"]), (&Json::from("one"), &Json::from("second")));
    let (code, _, problem) = eval(&["compare", arg(&one), arg(&one), "-o", arg(&page)]);
    assert!(code == 2 && problem.contains("two runs are called `one`"), "{problem}");
    let (code, _, problem) = eval(&["compare", arg(&one), "-o", arg(&page)]);
    assert!(code == 2 && problem.contains("2 values"), "{problem}");
}

/// Curves that end at the same point have their names around it, one above the other.
#[test]
fn labels_of_curves_do_not_overlap() {
    let curve = |(name, y): (&str, f64)| Curve {
        values: vec![Value { x: 1.0, y: 0.0, ..Value::default() }, Value { x: 2.0, y, ..Value::default() }],
        look: Look::Other,
        label: name.to_owned(),
    };
    let axis = |high| Axis { title: String::new(), scale: Scale::linear([0.0, high].into_iter()) };
    let plot = Plot {
        title: String::new(),
        x: axis(2.0),
        y: axis(1.0),
        height: 200.0,
        curves: [("a", 0.5), ("b", 0.5), ("c", 0.5), ("d", 1.0)].map(curve).to_vec(),
        cloud: Vec::new(),
        dots: Vec::new(),
    };
    let drawn = plot.inline();
    let mut places: Vec<f64> = Vec::new();
    for label in drawn.split("<text class=\"other\"").skip(1) {
        places.push(label.split(" y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap());
    }
    places.sort_by(f64::total_cmp);
    assert_eq!(places[1..], [91.0, 104.0, 117.0], "the middle one is at its curve's end");
    assert!(places[0] < 30.0, "and one with room stays where its curve ends: {places:?}");
}

#[test]
fn the_axis_of_a_share_ends_at_one() {
    let top = |scale: Scale| scale.ticks().into_iter().fold(0.0, f64::max);
    for low in [0.0, 0.4, 0.93, 1.0] {
        let scale = Scale::metric([low, 1.0].into_iter());
        assert!(scale.place(1.0) >= 100.0 && top(scale) <= 1.0, "{low}");
    }
    assert!(top(Scale::metric([0.0, 300.0].into_iter())) >= 300.0);
    assert!(Scale::linear([0.0, 1.0].into_iter()).place(1.0) < 100.0, "costs have room");
}

#[test]
fn a_plot_is_a_file_of_its_own() {
    let value = |x: f64| Value { x, y: x / 10.0, interval: Some((0.0, 1.0)), says: HOSTILE.to_owned() };
    let axis = |scale| Axis { title: HOSTILE.to_owned(), scale };
    let plot = Plot {
        title: HOSTILE.to_owned(),
        x: axis(Scale::steps(vec![1.0, 2.0, 8.0])),
        y: axis(Scale::linear([0.0, 1.0].into_iter())),
        height: 200.0,
        curves: vec![Curve {
            values: [1.0, 2.0, 8.0].map(value).to_vec(),
            look: Look::Main,
            label: HOSTILE.to_owned(),
        }],
        cloud: vec![Some((1.0, 0.5)), None],
        dots: Vec::new(),
    };
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("plot.svg");
    fs::write(&file, plot.standalone(640.0)).unwrap();
    let program = "import sys, xml.etree.ElementTree as tree\n\
                   root = tree.parse(sys.argv[1]).getroot()\n\
                   names = [it.tag.split('}')[1] for it in root.iter()]\n\
                   print(root.get('width'), names.count('script'), names.count('circle'), names.count('polygon'))";
    let output = Command::new("python3").args(["-c", program]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.trim(), "640 0 3 1", "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns a report in which every string is replaced. Names that other parts refer to stay consistent.
pub fn hostile() -> Report {
    let mut report = example::report(4, 90);
    let bad = || HOSTILE.to_owned();
    for cell in &mut report.cells {
        cell.id.push_str(HOSTILE);
        cell.build.push_str(HOSTILE);
        cell.spec_text.push_str(HOSTILE);
        cell.retrieval.push_str(HOSTILE);
        cell.spec.insert("strategy".to_owned(), HOSTILE.into());
        cell.spec.insert("unit".to_owned(), HOSTILE.into());
        (cell.model, cell.engine, cell.snapshot) = (bad(), bad(), bad());
        cell.pareto.push(bad());
    }
    let verdict = report.verdict.as_mut().unwrap();
    verdict.best.push_str(HOSTILE);
    verdict.cheapest.push_str(HOSTILE);
    verdict.not_separable.iter_mut().for_each(|id| id.push_str(HOSTILE));
    (verdict.text, verdict.toml) = (bad(), bad());
    verdict.advised.push_str(HOSTILE);
    let Advice { headline, gain, cost, certainty, next, caveats } = &mut verdict.advice;
    (*headline, *gain, *cost, *certainty, *next, *caveats) = (bad(), bad(), bad(), bad(), bad(), vec![bad()]);
    for hybrid in &mut verdict.hybrid {
        hybrid.hybrid.push_str(HOSTILE);
        hybrid.half.push_str(HOSTILE);
        hybrid.text = bad();
    }
    for metric in &mut report.metrics {
        (metric.title, metric.meaning) = (bad(), bad());
    }
    for query in &mut report.queries {
        (query.id, query.text, query.tags) = (bad(), bad(), vec![bad()]);
    }
    let answers = &mut report.answers;
    answers.documents.iter_mut().for_each(|document| *document = bad());
    answers.handed_over.iter_mut().for_each(|handed| handed.cell.push_str(HOSTILE));
    for excerpt in &mut answers.excerpts {
        excerpt.text = bad() + &excerpt.text[HOSTILE.len()..];
    }
    for left in &mut report.left_out {
        (left.id, left.reason) = (bad(), bad().into());
    }
    report.labels.states.insert(bad(), 1);
    let labels = &mut report.labels;
    (labels.name, labels.queries_hash, labels.corpus_hash) = (bad(), bad(), bad());
    let machine = &mut report.environment;
    (machine.os, machine.arch, machine.cpu) = (bad(), bad(), Some(bad()));
    (report.command, report.tool_version, report.created) = (vec![bad()], bad(), bad());
    report.scoring.coverage = bad();
    report
}

#[test]
fn text_from_outside_is_text_on_the_page() {
    let report = hostile();
    let page = page(&report, &report);
    assert_eq!(page.matches("<script").count(), 2, "only the page's own, and its data");
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("</style").count(), 1);
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;/script&gt;&lt;/style&gt;"), "the title and the Markdown are escaped");
    // An attribute that ended early would leave the rest of the text outside quotes.
    assert!(!page.contains("onerror=\""));
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(!page.contains("https://") && !page.contains("innerHTML ="));
}

#[test]
fn text_from_outside_is_text_in_markdown() {
    let report = hostile();
    let text = show::markdown::markdown(&report, Some(&Baseline::new(&report, &report).unwrap()));
    let fenced: Vec<&str> = text.split("```").collect();
    assert_eq!(fenced.len(), 3, "the TOML has a fence that its text does not close");
    for prose in [fenced[0], fenced[2]] {
        assert!(!prose.contains("<script") && !prose.contains("<img"), "{prose}");
    }
    let cells = |line: &&str| line.replace("\\|", "").matches('|').count();
    let table: Vec<&str> = fenced[2].lines().filter(|line| line.starts_with('|')).collect();
    assert!(table.len() >= 12, "{text}");
    assert!(table[..12].iter().all(|line| cells(line) == 9), "{table:?}");
}

#[test]
fn what_is_missing_breaks_nothing() {
    let full = || example::report(5, 12);
    let mut untimed = full();
    for cell in &mut untimed.cells {
        cell.cost = Default::default();
        cell.pareto.clear();
        cell.evidence = Default::default();
    }
    let mut one = example::report(5, 1);
    one.verdict = None;
    let mut unscored = full();
    unscored.cells.iter_mut().for_each(|cell| {
        cell.metrics.clear();
        cell.values.clear();
        cell.comparison = None;
    });
    (unscored.verdict, unscored.answers, unscored.queries) = (None, Default::default(), Vec::new());
    let mut unknown = full();
    unknown.metrics.clear();
    unknown.scoring.budgets.clear();
    unknown.answers.excerpts.clear();
    let mut odd = full();
    for name in ["span_recall", example::PRIMARY, "evidence_in_context_512"] {
        odd.cells[0].metrics.get_mut(name).unwrap().mean = f64::NAN;
    }
    odd.cells[1].cost.query_ms.p50 = f64::INFINITY;
    odd.created = "é".to_owned();
    odd.verdict.as_mut().unwrap().best = "none such".to_owned();
    let empty = example::report(5, 0);
    for (name, report) in [
        ("untimed", untimed),
        ("one", one),
        ("unscored", unscored),
        ("unknown", unknown),
        ("odd", odd),
        ("empty", empty),
    ] {
        let baseline = full();
        let baseline = Baseline::new(&baseline, &report).ok();
        assert_eq!(baseline.is_some(), name != "unscored", "{name}");
        let page = show::page::page(&report, baseline.as_ref()).unwrap();
        assert_eq!(cells(&page).len(), report.cells.len(), "{name}");
        assert!(show::markdown::markdown(&report, baseline.as_ref()).contains("Chunk settings for larder"), "{name}");
        assert_eq!(rows(&show::csv::csv(&report).unwrap()).len(), report.cells.len(), "{name}");
        let cases = show::junit::junit(&report, None).matches("<testcase classname=\"sweep.").count();
        let timed: BTreeSet<&str> =
            report.cells.iter().filter(|cell| cell.cost.index.is_some()).map(|cell| cell.build.as_str()).collect();
        assert_eq!(cases, report.cells.len() + timed.len(), "{name}");
    }
}

fn rows(csv: &str) -> Vec<Vec<(String, String)>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |record: csv::StringRecord| head.iter().cloned().zip(record.iter().map(str::to_owned)).collect();
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[test]
fn the_csv_gives_back_every_digit() {
    let report = example::report(6, 40);
    let rows = rows(&show::csv::csv(&report).unwrap());
    assert_eq!(rows.len(), 40);
    for row in rows {
        let value = |name: &str| row.iter().find(|(column, _)| column == name).unwrap().1.clone();
        let cell = report.cell(&value("id")).unwrap();
        assert_eq!(value("k"), cell.k.to_string());
        assert_eq!(value("bytes"), cell.cost.bytes.to_string());
        for (name, summary) in &cell.metrics {
            assert_eq!(value(name).parse::<f64>().unwrap(), summary.mean);
            assert_eq!(value(&format!("{name}_lo")).parse::<f64>().unwrap(), summary.lo);
        }
    }
}

/// Spreadsheets run any cell that begins with one of these characters.
#[test]
fn no_text_in_the_csv_is_a_formula_and_every_number_is_a_number() {
    let mut report = example::report(6, 8);
    let texts = ["=1+1", "+A1", "-2+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "＝1", "plain"];
    for (cell, text) in report.cells.iter_mut().zip(texts) {
        cell.model = text.to_owned();
        cell.spec.insert("unit".to_owned(), text.into());
    }
    let rows = rows(&show::csv::csv(&report).unwrap());
    let mut negative = 0;
    for row in &rows {
        let value = |name: &str| row.iter().find(|(column, _)| column == name).unwrap().1.clone();
        for (column, value) in row {
            let number = value.parse::<f64>();
            assert!(
                number.is_ok() || !value.starts_with(['=', '+', '-', '@', '\t', '\r', '＝']),
                "{column}: {value:?}"
            );
            negative += usize::from(number.is_ok_and(|number| number < 0.0));
        }
        let text = report.cell(&value("id")).unwrap().model.clone();
        let expected = if text == "plain" { text } else { format!("'{text}") };
        assert_eq!((value("model"), value("unit")), (expected.clone(), expected));
    }
    assert!(negative > 0, "differences from the best are negative, and numbers");
}

/// Two datasets of three searches each, timed, with questions whose text is hostile.
fn timed() -> Report {
    let cells = ["a · vector", "a · keyword", "a · hybrid", "b · vector", "b · keyword", "b · hybrid"];
    let mut report = report_of(&cells.map(|id| (id, vec![Some(1.0); 12])));
    for cell in &mut report.cells {
        let seconds = if cell.build == "a" { 1.5 } else { 2.25 };
        let seconds = Spread { median: seconds, min: seconds, max: seconds };
        cell.cost.index = Some(IndexCost { repeats: 1, seconds, ..IndexCost::default() });
    }
    report.queries[7].text = HOSTILE.to_owned();
    report
}

#[test]
fn junit_has_a_case_per_question_and_check_and_times_each_dataset_once() {
    let before = timed();
    let mut after = timed();
    // Question 7 breaks in three settings, question 3 in one, and question 5 only gets a little worse.
    for cell in &mut after.cells[..3] {
        cell.values.get_mut(METRIC).unwrap()[7] = Some(0.0);
    }
    after.cells[4].values.get_mut(METRIC).unwrap()[3] = Some(0.5);
    after.cells[4].values.get_mut(METRIC).unwrap()[5] = Some(0.9);
    let outcome = gate(&after, &before, &Thresholds::default()).unwrap();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("junit.xml");
    let read = |xml: &str| {
        fs::write(&file, xml).unwrap();
        let program = "import sys, xml.etree.ElementTree as tree\n\
                       root = tree.parse(sys.argv[1]).getroot()\n\
                       for s in [root, *root]:\n\
                       \x20   n = [len(s.findall(f'.//{t}')) for t in ('testcase', 'failure', 'skipped', 'error')]\n\
                       \x20   assert n == [int(s.get(a)) for a in ('tests', 'failures', 'skipped', 'errors')], (s.attrib, n)\n\
                       \x20   times = [float(c.get('time', 0)) for c in s.iter('testcase')]\n\
                       \x20   assert '-' not in s.get('time') and abs(sum(times) - float(s.get('time'))) < 1e-9, s.attrib\n\
                       print([(s.get('name'), s.get('time'), len(s)) for s in root])\n\
                       print([c.get('name')[:2] for c in root.iter('testcase') if c.find('failure') is not None])\n\
                       print(any(\"alert('x')\" in c.get('name') for c in root.iter('testcase')))";
        let output = Command::new("python3").args(["-c", program]).arg(&file).output().unwrap();
        assert!(output.status.success(), "{}\n{xml}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        read(&show::junit::junit(&after, Some(&outcome))),
        "[('sweep', '3.750', 8), ('questions', '0.000', 12), ('gate', '0.000', 9)]\n['q3', 'q7']\nTrue\n"
    );
    // Nothing was timed.
    let mut untimed = hostile();
    untimed.cells.iter_mut().for_each(|cell| cell.cost.index = None);
    assert!(read(&show::junit::junit(&untimed, None)).starts_with("[('sweep', '0.000', 90)]\n[]\n"));
}

/// Returns whether two values are equal except for the last digits of numbers.
fn near(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(one), Json::Number(other)) => (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 2e-3,
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| near(a, b))
        }
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| other.get(key).is_some_and(|it| near(value, it)))
        }
        (one, other) => one == other,
    }
}

#[test]
fn a_report_fits_its_schema_and_a_broken_one_does_not() {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema/requirements.txt");
    let Some(python) = environment(&[requirements]) else { return };
    let folder = TempDir::new().unwrap();
    let (code, schema, _) = eval(&["schema"]);
    assert_eq!(code, 0);
    fs::write(folder.path().join("schema.json"), schema).unwrap();
    let report = example::report(7, 18);
    show::write(&report, None, folder.path()).unwrap();
    // The values themselves are not compared: the JSON reader may be off by a number's last bit.
    let read = Report::read(folder.path()).unwrap();
    assert!(near(&data_of(&plain(&read)), &data_of(&plain(&report))), "what is written is what is read");
    let program = "import json, sys, jsonschema\n\
                   schema, report = (json.load(open(f'{sys.argv[1]}/{n}.json')) for n in ('schema', 'report'))\n\
                   jsonschema.Draft202012Validator.check_schema(schema)\n\
                   valid = jsonschema.Draft202012Validator(schema).is_valid\n\
                   print(valid(report))\n\
                   print(valid({**report, 'cells': [{**report['cells'][0], 'k': 'five'}]}))\n\
                   print(valid({k: v for k, v in report.items() if k != 'scoring'}))\n\
                   print(valid({**report, 'verdict': None, 'more': 1}))";
    let output = Command::new(python).args(["-c", program]).arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    assert_eq!(said.trim(), "True False False True", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_program_renders_a_run_beside_it_or_elsewhere() {
    let (run, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    show::write(&example::report(8, 12), None, run.path()).unwrap();
    let names = ["report.html", "report.json", "report.md", "report.csv", "junit.xml"];
    names[..1].iter().chain(&names[2..]).for_each(|name| fs::remove_file(run.path().join(name)).unwrap());
    let (code, said, _) = eval(&["report", arg(run.path())]);
    assert_eq!((code, said.lines().filter(|line| Path::new(line).is_file()).count()), (0, 5), "{said}");
    let out = other.path().join("deep/er");
    let file = run.path().join("report.json");
    assert_eq!(eval(&["report", arg(&file), "-o", arg(&out), "--baseline", arg(run.path())]).0, 0);
    for folder in [run.path(), &out] {
        let mut found: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        found.sort();
        let mut names = names.to_vec();
        names.sort_unstable();
        assert_eq!(found, names, "and no unfinished file");
    }
    assert!(data_of(&fs::read_to_string(out.join("report.html")).unwrap())["change"].is_object());
    let (code, _, problem) = eval(&["report", arg(other.path())]);
    assert_eq!(code, 2);
    assert!(problem.contains("report.json"), "{problem}");
}

#[test]
fn a_run_file_keeps_our_order_for_readers_that_sort_by_score_in_32_bits() {
    let scores = [0.9, 0.9, 0.9 - 1e-12, 0.5, f64::NAN, f64::NEG_INFINITY, -7.0];
    let docs = ["a", "z", "m m", "b\t%", "n", "i", "c"];
    let rows = scores.iter().zip(docs).enumerate().map(|(at, (score, doc))| ("q 1", doc, at + 1, *score));
    let again = [("q2", "x", 1, 0.95)];
    let text = trec::run(rows.chain(again), "my run");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert!(lines.iter().all(|words| words.len() == 6 && words[1] == "Q0" && words[5] == "my%20run"));
    let read: Vec<f32> = lines[..7].iter().map(|words| words[4].parse().unwrap()).collect();
    assert!(read.windows(2).all(|pair| pair[0] > pair[1]), "{read:?}");
    assert!((read[0] - 0.9).abs() < 1e-6 && (read[3] - 0.5).abs() < 1e-6, "true where they can be");
    assert_eq!(lines[2][2], "m%20m");
    assert_eq!(lines[3][2], "b%09%25");
    assert_eq!(lines[7][..5], ["q2", "Q0", "x", "1", "0.95"]);
    assert_eq!(trec::qrels([("q 1", "m m", 2.0), ("q2", "é", 0.0)]), "q%201 0 m%20m 2\nq2 0 é 0\n");
}
