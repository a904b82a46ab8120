//! `junit.xml`: settings, questions and checks as test cases, which every continuous integration service can show.

use std::collections::HashMap;
use std::fmt::Write;

use chunkmill::cli::visible;

use super::view::View;
use crate::data::report::{Cell, Report};
use crate::findings::analysis::figure;
use crate::findings::change::{BrokenQuestion, LostQuestion};
use crate::findings::gate::Outcome;
use crate::labels::set::beginning;

/// Largest number of characters of a question in the name of its case.
const QUESTION: usize = 120;

/// A test case.
struct Case {
    class: &'static str,
    name: String,
    /// Seconds, if it was timed.
    time: Option<f64>,
    result: Result,
}

/// The result of a case, with its text.
enum Result {
    Passed,
    Says(String),
    Failed(String),
    Skipped(String),
}

/// Renders the XML. The suite `sweep` has a case for each dataset whose indexing was timed, and one for each cell, best
/// first. With the outcome of a gate there are two more. `questions` has a case for each question: it fails if it was
/// found in the baseline and is not now, even if the gate passes because that could be chance. `gate` has a case for
/// the evidence and one for each check.
pub fn junit(report: &Report, outcome: Option<&Outcome>) -> String {
    let mut suites = vec![("sweep", sweep(report))];
    if let Some(outcome) = outcome {
        suites.push(("questions", questions(report, outcome)));
        suites.push(("gate", gate(outcome)));
    }
    let all = || suites.iter().flat_map(|(_, cases)| cases);
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"chunkmill-eval\"".to_owned();
    let _ = writeln!(xml, " {}>", totals(all()));
    for (name, cases) in &suites {
        // The schema allows no time zone.
        let created = report.created.trim_end_matches('Z');
        let created = created.get(..19).unwrap_or(created);
        let _ =
            writeln!(xml, "  <testsuite name=\"{name}\" {} timestamp=\"{}\">", totals(cases.iter()), escape(created));
        for case in cases {
            case.write(&mut xml);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Returns the attributes that sum up some cases.
fn totals<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let (mut tests, mut failures, mut skipped, mut time) = (0, 0, 0, 0.0);
    for case in cases {
        tests += 1;
        failures += usize::from(matches!(case.result, Result::Failed(_)));
        skipped += usize::from(matches!(case.result, Result::Skipped(_)));
        time += case.time.unwrap_or_default();
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time:.3}\"")
}

/// Indexing counts once for each dataset, not for each way to search it.
fn sweep(report: &Report) -> Vec<Case> {
    let view = View::new(report);
    let mut cases: Vec<Case> = View::builds(&view.ranked)
        .into_iter()
        .filter_map(|cell| {
            let (name, time) = (cell.build.clone(), Some(seconds(cell)?));
            Some(Case { class: "sweep.index", name, time, result: Result::Passed })
        })
        .collect();
    cases.extend(view.ranked.iter().map(|cell| {
        let says = view.summary(cell).map_or_else(
            || "not scored".to_owned(),
            |s| format!("{} {:.4} [{:.4}, {:.4}]", view.primary(), s.mean, s.lo, s.hi),
        );
        let class = match cell.retrieval.as_str() {
            "vector" => "sweep.vector",
            "keyword" => "sweep.keyword",
            "graph" => "sweep.graph",
            _ => "sweep.hybrid",
        };
        Case { class, name: cell.id.clone(), time: None, result: Result::Says(says) }
    }));
    cases
}

fn questions(report: &Report, outcome: &Outcome) -> Vec<Case> {
    let broken: HashMap<&str, &BrokenQuestion> =
        outcome.broken.iter().map(|broken| (broken.query.as_str(), broken)).collect();
    let lost: HashMap<&str, &LostQuestion> =
        outcome.evidence.lost.iter().map(|lost| (lost.query.as_str(), lost)).collect();
    let name = |id: &str, text: &str| format!("{id}: {}", beginning(text, QUESTION));
    let case = |name: String, result: Result| Case { class: "questions", name, time: None, result };
    let mut cases: Vec<Case> = Vec::new();
    for query in &report.queries {
        let result = match (lost.get(query.id.as_str()), broken.get(query.id.as_str())) {
            (Some(lost), _) => lost_result(lost, outcome),
            (None, Some(broken)) => Result::Failed(fall(broken)),
            (None, None) => Result::Passed,
        };
        cases.push(case(name(&query.id, &query.text), result));
    }
    // Questions that lost all their evidence are not scored.
    cases.extend(
        outcome
            .evidence
            .lost
            .iter()
            .filter(|lost| !report.queries.iter().any(|query| query.id == lost.query))
            .map(|lost| case(name(&lost.query, &lost.text), lost_result(lost, outcome))),
    );
    cases
}

fn lost_result(lost: &LostQuestion, outcome: &Outcome) -> Result {
    let says = format!("lost evidence: {}", lost.places());
    if outcome.lost_too_much() { Result::Failed(says) } else { Result::Skipped(says) }
}

fn fall(broken: &BrokenQuestion) -> String {
    let BrokenQuestion { cell, metric, before, after, cells, of, handed_over, .. } = broken;
    let now =
        if handed_over.is_empty() { String::new() } else { format!("; now handed over: {}", handed_over.join(", ")) };
    let (before, after) = (figure(*before), figure(*after));
    format!("{metric} {before} before, {after} now, in {cells} of {of} settings, most in {cell}{now}")
}

fn gate(outcome: &Outcome) -> Vec<Case> {
    let evidence = match outcome.evidence.loss() {
        None => Result::Passed,
        Some(says) if outcome.lost_too_much() => Result::Failed(says),
        Some(says) => Result::Says(says),
    };
    let mut cases = vec![Case { class: "gate", name: "evidence".to_owned(), time: None, result: evidence }];
    cases.extend(outcome.named().into_iter().map(|(name, failure)| {
        let result = failure.map_or(Result::Passed, Result::Failed);
        Case { class: "gate", name, time: None, result }
    }));
    cases
}

impl Case {
    fn write(&self, xml: &mut String) {
        let Self { class, name, time, result } = self;
        let _ = write!(xml, "    <testcase classname=\"{class}\" name=\"{}\"", escape(name));
        if let Some(time) = time {
            let _ = write!(xml, " time=\"{time:.3}\"");
        }
        let _ = match result {
            Result::Passed => writeln!(xml, "/>"),
            Result::Says(says) => writeln!(xml, "><system-out>{}</system-out></testcase>", escape(says)),
            Result::Skipped(why) => writeln!(xml, "><skipped message=\"{}\"/></testcase>", escape(why)),
            Result::Failed(why) => {
                writeln!(xml, "><failure type=\"worse\" message=\"{0}\">{0}</failure></testcase>", escape(why))
            }
        };
    }
}

/// Returns the seconds of one indexing run, if the sweep timed it.
fn seconds(cell: &Cell) -> Option<f64> {
    let seconds = cell.cost.index.as_ref()?.seconds.median;
    seconds.is_finite().then(|| seconds.max(0.0))
}

/// Escapes text for XML 1.0, which cannot represent most control characters. The text may be shown on a terminal.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
