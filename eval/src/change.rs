//! What differs between two runs, question by question?
//!
//! The gate, the comparison of two runs and a report beside its baseline all start from here, so they cannot
//! disagree. Cells are the same if their ids are, questions if their ids and texts are: what only one run has is
//! named, not compared.

mod questions;

use chunkmill::error::{Error, Result};
use serde::Serialize;

use crate::analysis::{Clusters, compare, direction};
use crate::report::{Cell, Comparison, Report};
use crate::stats::{Clustered, mean};
use questions::Questions;

/// How many of the questions that moved most are named, each way.
const NAMED: usize = 5;

/// What became of a run's results in another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changes {
    /// What was not the same beside the settings, a sentence each.
    pub notes: Vec<String>,
    /// Questions that both runs scored.
    pub questions: usize,
    /// Cells that only the run before has.
    pub missing: Vec<String>,
    /// Cells that only the run after has.
    pub added: Vec<String>,
    /// One for each cell of both runs and each metric, in the order of the run before.
    pub changes: Vec<Change>,
    /// The questions that moved most by the first metric, averaged over the cells: fallen ones first.
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
    /// Its mean after, over the same.
    pub after: f64,
    /// After less before. All changes are one family for the correction.
    pub comparison: Comparison,
    /// Questions that are better than before.
    pub better: usize,
    /// Questions that are worse.
    pub worse: usize,
    /// Those of them that moved most, worst first.
    pub moved: Vec<Moved>,
    /// After less before for the questions that have both, by cluster; empty if none has.
    #[serde(skip)]
    pub differences: Clustered,
}

/// A question whose value is another than before.
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

/// Compares two runs by these metrics. Intervals and tests are made as the run before says.
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

/// The questions that moved most: those that got worse, worst first, then those that got better, least first.
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
                problem: format!(
                    "is `{one}` in the one run and `{other}` in the other: their figures mean different things"
                ),
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
            "the questions are not the same: {} in both runs are compared, {gone} only in the one before, {new} only in the one after",
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
