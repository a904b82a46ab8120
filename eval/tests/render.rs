//! Every form of a report: complete, readable by other programs, and harmless whatever the documents contain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use chunkmill_eval::data::report::{IndexCost, Report, Spread, TextPiece};
use chunkmill_eval::data::trec;
use chunkmill_eval::findings::gate::{Thresholds, gate};
use chunkmill_eval::show::render::svg::{Axis, Curve, Look, Plot, Scale, Value};
use chunkmill_eval::show::render::{self, Baseline};
use tempfile::TempDir;

use crate::common::{METRIC, arg, eval, note, report_of};
use crate::example;
use crate::python::environment;

const SECTIONS: [&str; 13] = [
    "leaderboard",
    "size",
    "heat",
    "modes",
    "budgets",
    "worst",
    "evidence",
    "truncation",
    "pareto",
    "latency",
    "cost",
    "change",
    "method",
];

const HOSTILE: &str = "</script></style><script>alert('x')</script><img src=x onerror=\"alert(1)\"> & ' \" `|*_ \u{1}";

fn changed() -> Report {
    let mut baseline = example::report(2, 60);
    baseline.cells.truncate(55);
    baseline.cells[3].id = "gone".to_owned();
    baseline
}

/// Renders the page with a baseline.
pub fn page(report: &Report, baseline: &Report) -> String {
    render::html::html(report, Some(&Baseline::new(baseline, report).unwrap()))
}

#[test]
fn the_page_has_every_section_once_and_links_to_it() {
    let page = page(&example::report(1, 60), &changed());
    for id in SECTIONS {
        assert_eq!(page.matches(&format!("<section id=\"{id}\"")).count(), 1, "{id}");
        assert_eq!(page.matches(&format!("href=\"#{id}\"")).count(), 1, "{id}");
    }
}

/// Returns the rows of the table of all settings as they are in the page.
fn board(page: &str) -> Vec<&str> {
    let table = page.split("<table id=\"board\"").nth(1).unwrap().split("</table>").next().unwrap();
    table.split("<tbody>").nth(1).unwrap().split("<tr>").skip(1).collect()
}

/// The page is sent by mail, with what a real sweep has: five questions, each with a context of a thousand tokens.
#[test]
fn the_page_of_700_cells_is_below_300_kilobytes() {
    let mut report = example::report(1, 700);
    for chunk in &mut report.worst[0].retrieved {
        chunk.pieces.push(TextPiece { text: "word ".repeat(300), evidence: false });
    }
    report.worst = vec![report.worst[0].clone(); 5];
    let page = render::html::html(&report, None);
    assert_eq!(board(&page).len(), 700);
    assert!(page.len() <= 300_000, "{} bytes", page.len());
    note(&format!("{} bytes for 700 settings", page.len()));
}

#[test]
fn the_leaderboard_is_best_first() {
    let report = example::report(3, 90);
    let page = render::html::html(&report, None);
    let mut means: Vec<(f64, &str)> =
        report.cells.iter().map(|cell| (cell.metrics[example::PRIMARY].mean, cell.id.as_str())).collect();
    means.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (row, (mean, id)) in board(&page).iter().zip(&means) {
        let spec = id.split(" · ").next().unwrap();
        assert!(row.contains(&format!("<th>{spec}<td>")), "{id}");
        assert!(row.contains(&format!("<td>{mean:.3}<td>")), "{id}");
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
    let (page, text) = (render::html::html(&report, None), render::markdown::markdown(&report, None));
    let csv = rows(&render::csv::csv(&report).unwrap());
    for (at, row) in csv.iter().enumerate() {
        let value = |name: &str| row.iter().find(|(column, _)| column == name).unwrap().1.clone();
        let p = report.cell(&value("id")).unwrap().p_best.unwrap();
        assert_eq!(value("p_best").parse::<f64>().unwrap(), p);
        let shown = format!("{}\u{a0}%", chance(p));
        let on_page = shown.replace('<', "&lt;").replace('>', "&gt;");
        assert!(board(&page)[at].contains(&format!("<td>{on_page}<td>")), "{on_page}");
        if at < 10 {
            let line = text.lines().find(|line| line.starts_with(&format!("| {} |", at + 1))).unwrap();
            assert!(line.contains(&shown), "{line}");
        }
    }
    let mut outside = report.clone();
    outside.cells.iter_mut().for_each(|cell| cell.p_best = None);
    assert!(!board(&render::html::html(&outside, None)).iter().any(|row| row.contains("\u{a0}%")));
}

#[test]
fn sizes_have_curves_only_where_they_vary() {
    let mut report = example::report(5, 540);
    let section = |report: &Report| {
        let page = render::html::html(report, None);
        page.split("<section id=\"size\"").nth(1).map(|rest| rest.split("</section>").next().unwrap().to_owned())
    };
    let drawn = section(&report).unwrap();
    // `lines` was tried with only one size.
    for (strategy, panels) in [("semantic", 1), ("header", 1), ("recursive", 1), ("lines", 0)] {
        assert_eq!(drawn.matches(&format!("<figcaption>{strategy} ")).count(), panels, "{strategy}");
    }
    assert_eq!(drawn.matches("class=\"band\"").count(), 3, "a band of intervals in each");
    for cell in &report.cells {
        let summary = cell.metrics[example::PRIMARY];
        let says =
            format!("max {} tokens: {:.3} ({:.3} to {:.3})", cell.spec["max"], summary.mean, summary.lo, summary.hi);
        let is_best = report.verdict.as_ref().unwrap().best == cell.id;
        assert!(!is_best || drawn.contains(&says), "{says}");
    }
    report.cells.retain(|cell| cell.spec["max"] == 400);
    assert_eq!(section(&report), None);
}

/// The tokens of the k best chunks are plotted against the quality of these chunks, not against that of a context of
/// another size.
#[test]
fn quality_and_tokens_are_of_the_same_chunks() {
    let report = example::report(9, 120);
    let page = render::html::html(&report, None);
    let plot = |cost: &str| {
        let at = page.find(&format!("data-x=\"{cost}\"")).unwrap();
        let figure = page[..at].rfind("<figure").unwrap();
        page[figure..].split("</figure>").next().unwrap().to_owned()
    };
    let tokens = plot("retrieved_tokens");
    assert!(tokens.contains("data-y=\"span_recall\"") && tokens.contains("<p class=\"axis-name\">recall of text</p>"));
    assert!(plot("bytes").contains(&format!("data-y=\"{}\"", example::PRIMARY)));
    let figures = |cell: &chunkmill_eval::data::report::Cell| {
        (cell.metrics["retrieved_tokens"].mean, cell.metrics["span_recall"].mean)
    };
    for cell in &report.cells {
        let (cost, quality) = figures(cell);
        let beaten =
            report.cells.iter().map(figures).any(|(c, q)| (c < cost && q >= quality) || (c <= cost && q > quality));
        assert_eq!(cell.pareto.iter().any(|name| name == "retrieved_tokens"), !beaten, "{}", cell.id);
        if !beaten {
            assert!(tokens.contains(&format!("<td>{quality:.3}<")), "{}", cell.id);
        }
    }
}

#[test]
fn a_cost_that_is_the_same_for_all_has_no_plot() {
    let mut report = example::report(9, 120);
    let drawn = |report: &Report, cost: &str| render::html::html(report, None).contains(&format!("data-x=\"{cost}\""));
    assert!(drawn(&report, "bytes") && drawn(&report, "query_ms"));
    report.cells.iter_mut().for_each(|cell| cell.cost.bytes = 7);
    assert!(!drawn(&report, "bytes") && drawn(&report, "query_ms"));
    assert!(render::html::html(&report, None).contains("The same for all: size of the dataset."));
}

#[test]
fn the_first_screen_draws_evidence_against_budgets_or_else_quality_against_cost() {
    let mut report = example::report(5, 90);
    let head = |report: &Report| {
        let page = render::html::html(report, None);
        page.split("</header>").next().unwrap().to_owned()
    };
    let first = head(&report);
    assert_eq!(first.matches("<figure class=\"plot\"").count(), 1);
    let best = report.cell(&report.verdict.as_ref().unwrap().best).unwrap();
    for (budget, tokens) in [(256, "256"), (512, "512"), (1024, "1,024"), (2048, "2,048")] {
        let summary = best.metrics[&format!("evidence_in_context_{budget}")];
        let says = format!("{tokens} tokens: {:.3} ({:.3} to {:.3})", summary.mean, summary.lo, summary.hi);
        assert!(first.contains(&says), "{says}");
    }
    report.scoring.budgets.clear();
    assert!(head(&report).contains("data-x=\"retrieved_tokens\""));
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
    for worst in &mut report.worst {
        for evidence in &mut worst.evidence {
            (evidence.doc_id, evidence.state, evidence.text) = (bad(), bad(), Some(bad()));
        }
        for chunk in &mut worst.retrieved {
            chunk.citation = bad();
            chunk.pieces.iter_mut().for_each(|piece| piece.text = bad());
        }
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
    assert_eq!(page.matches("<script").count(), 1, "only the page's own");
    assert_eq!(page.matches("</script").count(), 1);
    assert_eq!(page.matches("</style").count(), 1);
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
    // An attribute that ended early would leave the rest of the text outside quotes.
    assert!(!page.contains("onerror=\""));
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn text_from_outside_is_text_in_markdown() {
    let report = hostile();
    let text = render::markdown::markdown(&report, Some(&Baseline::new(&report, &report).unwrap()));
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
    (unscored.verdict, unscored.worst, unscored.queries) = (None, Vec::new(), Vec::new());
    let mut unknown = full();
    unknown.metrics.clear();
    unknown.scoring.budgets.clear();
    unknown.worst[0].query = 10_000;
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
        let page = render::html::html(&report, baseline.as_ref());
        assert!(page.contains("<section id=\"method\""), "{name}");
        let shown = page.split("<script>").next().unwrap();
        assert!(!shown.contains("NaN") && !shown.contains("inf%") && !shown.contains("inf<"), "{name}");
        assert!(render::markdown::markdown(&report, baseline.as_ref()).contains("Chunk settings for larder"), "{name}");
        assert_eq!(rows(&render::csv::csv(&report).unwrap()).len(), report.cells.len(), "{name}");
        let cases = render::junit::junit(&report, None).matches("<testcase classname=\"sweep.").count();
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
    let rows = rows(&render::csv::csv(&report).unwrap());
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
    let rows = rows(&render::csv::csv(&report).unwrap());
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
        read(&render::junit::junit(&after, Some(&outcome))),
        "[('sweep', '3.750', 8), ('questions', '0.000', 12), ('gate', '0.000', 9)]\n['q3', 'q7']\nTrue\n"
    );
    // Nothing was timed.
    let mut untimed = hostile();
    untimed.cells.iter_mut().for_each(|cell| cell.cost.index = None);
    assert!(read(&render::junit::junit(&untimed, None)).starts_with("[('sweep', '0.000', 90)]\n[]\n"));
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
    render::write(&report, None, folder.path()).unwrap();
    // The values themselves are not compared: the JSON reader may be off by a number's last bit.
    let read = Report::read(folder.path()).unwrap();
    assert!(render::html::html(&read, None) == render::html::html(&report, None), "what is written is what is read");
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
    render::write(&example::report(8, 12), None, run.path()).unwrap();
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
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("<section id=\"change\""));
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

/// If only the maximum was set, the target equals it. The maps still span minimum and maximum.
#[test]
fn a_target_that_follows_the_maximum_parts_no_map() {
    let mut report = example::report(8, 540);
    let tables = |report: &Report| render::html::html(report, None).matches("min ╲ max").count();
    let before = tables(&report);
    assert!(before > 0);
    for cell in &mut report.cells {
        let max = cell.spec["max"].clone();
        cell.spec.insert("target".to_owned(), max);
    }
    assert_eq!(tables(&report), before);
}
