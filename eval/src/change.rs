//! What differs between two runs, question by question?
//!
//! The gate, the comparison of two runs, and a report with a baseline all use this module, so they cannot disagree.
//! Cells are matched by id, questions by id and text. Cells and questions that only one run has are reported, not
//! compared.

mod questions;

use chunkmill::error::{Error, Result};
use serde::Serialize;

use crate::analysis::{Clusters, compare, direction};
use crate::report::{Cell, Comparison, Report};
use crate::stats::{Clustered, mean};
use questions::Questions;

/// Number of questions that moved most to list in each direction.
const NAMED: usize = 5;

/// The changes of a run's results in a later run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changes {
    /// Differences between the runs other than the settings, one sentence each.
    pub notes: Vec<String>,
    /// Number of questions that both runs scored.
    pub questions: usize,
    /// Ids of the cells that only the earlier run has.
    pub missing: Vec<String>,
    /// Ids of the cells that only the later run has.
    pub added: Vec<String>,
    /// One change for each common cell and each metric, in the order of the earlier run.
    pub changes: Vec<Change>,
    /// The questions that moved most by the first metric, averaged over the cells: the fallen ones first.
    pub moved: Vec<Moved>,
}

/// A cell by one metric, before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The cell's id.
    pub cell: String,
    /// Name of the metric.
    pub metric: String,
    /// Its mean before, over the questions for which both runs have a value.
    pub before: f64,
    /// Its mean after, over the same questions.
    pub after: f64,
    /// After minus before. All changes are one family for the correction.
    pub comparison: Comparison,
    /// Number of questions that are better than before.
    pub better: usize,
    /// Number of questions that are worse.
    pub worse: usize,
    /// The questions that moved most, worst first.
    pub moved: Vec<Moved>,
    /// After minus before for the questions with both values, by cluster; empty if there are none.
    #[serde(skip)]
    pub differences: Clustered,
}

/// A question whose value changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// Id of the question.
    pub query: String,
    /// The question.
    pub text: String,
    /// Its value before.
    pub before: f64,
    /// Its value after.
    pub after: f64,
}

/// Compares two runs by these metrics. Intervals and tests use the scoring settings of the earlier run.
///
/// # Errors
/// [`Error::Setting`] if answers were scored by different rules, or the runs have no question in common.
pub fn changes(before: &Report, after: &Report, metrics: &[String]) -> Result<Changes> {
    same_scoring(before, after)?;
    let questions = Questions::of(before, after)?;
    let pairs: Vec<(&Cell, &Cell)> =
        before.cells.iter().filter_map(|cell| Some((cell, after.cell(&cell.id)?))).collect();
    let mut values = Vec::new();
    for metric in metrics {
        values.extend(pairs.iter().map(|(one, other)| (one, metric, questions.values(one, other, metric))));
    }
    let clusters = Clusters::of_questions(questions.records());
    let cluster = |value: &Value| (clusters.number(value.question), value.rise());
    let differences: Vec<Clustered> = values.iter().map(|(.., values)| values.iter().map(cluster).collect()).collect();
    let comparisons = compare(&differences, &before.scoring);
    let mut moved = Vec::new();
    if let Some(metric) = metrics.first() {
        let of_metric = values.iter().filter(|(_, name, _)| *name == metric).map(|(.., values)| values.as_slice());
        moved = most(&questions.averaged(of_metric), direction(before, metric), &questions);
    }
    let changes =
        values.iter().zip(differences).zip(comparisons).map(|(((cell, metric, values), differences), comparison)| {
            let direction = direction(before, metric);
            let count = |sign: f64| values.iter().filter(|value| value.rise() * direction * sign > 0.0).count();
            Change {
                cell: cell.id.clone(),
                metric: (*metric).clone(),
                before: mean(&values.iter().map(|value| value.before).collect::<Vec<_>>()),
                after: mean(&values.iter().map(|value| value.after).collect::<Vec<_>>()),
                comparison,
                better: count(1.0),
                worse: count(-1.0),
                moved: most(values, direction, &questions),
                differences,
            }
        });
    let only = |one: &Report, other: &Report| {
        one.cells.iter().filter(|cell| other.cell(&cell.id).is_none()).map(|cell| cell.id.clone()).collect()
    };
    Ok(Changes {
        changes: changes.collect(),
        notes: notes(before, after, &pairs, &questions),
        questions: questions.both(),
        missing: only(before, after),
        added: only(after, before),
        moved,
    })
}

/// One question's value in both runs.
#[derive(Debug, Clone, Copy)]
struct Value {
    /// Position among the questions of both runs.
    question: usize,
    before: f64,
    after: f64,
}

impl Value {
    fn rise(&self) -> f64 {
        self.after - self.before
    }
}

/// Returns the questions that moved most: those that got worse, worst first, then those that got better, least
/// first.
fn most(values: &[Value], direction: f64, questions: &Questions) -> Vec<Moved> {
    let gain = |value: &Value| value.rise() * direction;
    let mut moved: Vec<&Value> = values.iter().filter(|value| value.rise() != 0.0).collect();
    moved.sort_by(|a, b| gain(a).total_cmp(&gain(b)));
    let fallen = moved.iter().take_while(|value| gain(value) < 0.0).count();
    let risen = (moved.len() - NAMED.min(moved.len())).max(fallen);
    let named = moved[..fallen.min(NAMED)].iter().chain(&moved[risen..]);
    named.map(|value| questions.moved(value)).collect()
}

fn same_scoring(before: &Report, after: &Report) -> Result<()> {
    let rules = |report: &Report| {
        let scoring = &report.scoring;
        [("coverage", scoring.coverage.clone()), ("depth", scoring.depth.to_string())]
    };
    for ((name, one), (_, other)) in rules(before).into_iter().zip(rules(after)) {
        if one != other {
            return Err(Error::Setting {
                origin: format!("scoring.{name}"),
                problem: format!("is `{one}` in one run and `{other}` in the other: their figures cannot be compared"),
                help: "score both runs by the same rule".to_owned(),
            });
        }
    }
    Ok(())
}

fn notes(before: &Report, after: &Report, pairs: &[(&Cell, &Cell)], questions: &Questions) -> Vec<String> {
    let mut notes = Vec::new();
    let (one, other) = (&before.labels, &after.labels);
    let (gone, new) = (before.queries.len() - questions.both(), after.queries.len() - questions.both());
    if gone + new > 0 || one.queries_hash != other.queries_hash {
        notes.push(format!(
            "the questions are not the same: only those in both runs are compared; {} in both, {gone} only in the earlier one, {new} only in the later one",
            questions.both()
        ));
    }
    if one.corpus_hash != other.corpus_hash {
        notes.push(format!("the documents are not the same: {} before, {} after", one.documents, other.documents));
    }
    for (what, of) in [("model", (|cell| &cell.model) as fn(&Cell) -> &String), ("engine", |cell| &cell.engine)] {
        if let Some((a, b)) = pairs.iter().find(|(a, b)| of(a) != of(b)) {
            notes.push(format!("the {what} is not the same: {} before, {} after", of(a), of(b)));
        }
    }
    if before.tool_version != after.tool_version {
        notes.push(format!("chunkmill was {} before, and is {} after", before.tool_version, after.tool_version));
    }
    if before.environment != after.environment {
        notes.push("the machine is not the same: times cannot be compared".to_owned());
    }
    notes
}
