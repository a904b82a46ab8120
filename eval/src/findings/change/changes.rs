//! Compares two runs.

use std::collections::HashSet;

use chunkmill::error::{Error, Result};
use chunkmill::value::count;
use serde::Serialize;

use super::broken::{self, BrokenQuestion};
use super::difference::{Change, MovedQuestion};
use super::evidence::Evidence;
use super::questions::{CommonQuestions, QuestionValue};
use crate::data::report::{Cell, Report};
use crate::findings::analysis::{Clusters, compare, direction};
use crate::score::stats::{ClusteredValues, mean};

/// Number of questions that moved most to list in each direction.
const NAMED: usize = 5;

/// The changes of a run's results in a later run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changes {
    /// Differences between the runs other than the settings, one sentence each.
    pub notes: Vec<String>,
    /// The evidence of the earlier run, compared with that of the later one.
    pub evidence: Evidence,
    /// Number of questions that both runs scored by the same evidence. Only they are compared.
    pub questions: usize,
    /// Ids of the cells that only the earlier run has.
    pub missing: Vec<String>,
    /// Ids of the cells that only the later run has.
    pub added: Vec<String>,
    /// One change for each common cell and each metric, in the order of the earlier run.
    pub changes: Vec<Change>,
    /// The questions that moved most by the first metric, averaged over the cells: the fallen ones first.
    pub moved: Vec<MovedQuestion>,
    /// The questions that broke by the first metric, each once.
    pub broken: Vec<BrokenQuestion>,
}

/// Compares two runs by these metrics. Intervals and tests use the scoring settings of the earlier run.
///
/// # Errors
/// [`Error::Setting`] if answers were scored by different rules, if the runs have no question in common and none lost
/// its evidence, or if the later run does not say which evidence it could score.
pub fn changes(before: &Report, after: &Report, metrics: &[String]) -> Result<Changes> {
    same_scoring(before, after)?;
    let evidence = Evidence::of(before, after)?;
    let questions = CommonQuestions::of(before, after, &evidence)?;
    let pairs: Vec<(&Cell, &Cell)> =
        before.cells.iter().filter_map(|cell| Some((cell, after.cell(&cell.id)?))).collect();
    let mut values = Vec::new();
    let mut all = Vec::new();
    for metric in metrics {
        values.extend(pairs.iter().map(|(one, other)| (one, metric, questions.values(one, other, metric))));
        let is_share = direction(before, metric) > 0.0 && !evidence.lost.is_empty();
        all.extend(pairs.iter().map(|(one, other)| is_share.then(|| questions.all(one, other, metric)).flatten()));
    }
    let clusters = Clusters::of_questions(questions.records());
    let cluster = |value: &QuestionValue| (clusters.number(value.question), value.rise());
    let differences: Vec<ClusteredValues> =
        values.iter().map(|(.., values)| values.iter().map(cluster).collect()).collect();
    let comparisons = compare(&differences, &before.scoring);
    let mut moved = Vec::new();
    if let Some(metric) = metrics.first() {
        let of_metric = values.iter().filter(|(_, name, _)| *name == metric).map(|(.., values)| values.as_slice());
        moved = most(&questions.averaged(of_metric), direction(before, metric), &questions);
    }
    let found = values.iter().zip(all).zip(differences.into_iter().zip(comparisons));
    let changes: Vec<Change> = found
        .map(|(((cell, metric, values), all), (differences, comparison))| {
            let direction = direction(before, metric);
            let number = |sign: f64| values.iter().filter(|value| value.rise() * direction * sign > 0.0).count();
            Change {
                cell: cell.id.clone(),
                metric: (*metric).clone(),
                before: mean(&values.iter().map(|value| value.before).collect::<Vec<_>>()),
                after: mean(&values.iter().map(|value| value.after).collect::<Vec<_>>()),
                comparison,
                better: number(1.0),
                worse: number(-1.0),
                all,
                moved: most(values, direction, &questions),
                fallen: if direction > 0.0 { broken::fallen(values, &questions) } else { Vec::new() },
                differences,
            }
        })
        .collect();
    let only = |one: &Report, other: &Report| {
        one.cells.iter().filter(|cell| other.cell(&cell.id).is_none()).map(|cell| cell.id.clone()).collect()
    };
    Ok(Changes {
        broken: broken::merged(changes.iter().filter(|change| Some(&change.metric) == metrics.first())),
        changes,
        notes: notes(before, after, &pairs, &evidence),
        questions: questions.both(),
        evidence,
        missing: only(before, after),
        added: only(after, before),
        moved,
    })
}

/// Returns the questions that moved most: those that got worse, worst first, then those that got better, least
/// first.
fn most(values: &[QuestionValue], direction: f64, questions: &CommonQuestions) -> Vec<MovedQuestion> {
    let gain = |value: &QuestionValue| value.rise() * direction;
    let mut moved: Vec<&QuestionValue> = values.iter().filter(|value| value.rise() != 0.0).collect();
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
            return Err(Error::setting(
                format!("scoring.{name}"),
                format!("is `{one}` in one run and `{other}` in the other: their figures cannot be compared"),
                "score both runs by the same rule",
            ));
        }
    }
    Ok(())
}

fn notes(before: &Report, after: &Report, pairs: &[(&Cell, &Cell)], evidence: &Evidence) -> Vec<String> {
    let mut notes = evidence.notes();
    let (one, other) = (&before.labels, &after.labels);
    let known: HashSet<(&str, &str)> = before.queries.iter().map(|query| (&*query.id, &*query.text)).collect();
    let new = after.queries.iter().filter(|query| !known.contains(&(&*query.id, &*query.text))).count();
    if new > 0 {
        notes.push(format!(
            "{} of this run could not be compared: the earlier one did not score them",
            count(new, "question")
        ));
    }
    if one.corpus_hash != other.corpus_hash {
        let (then, now) = (one.documents, other.documents);
        notes.push(format!("the documents have changed since the earlier run ({then} then, {now} now)"));
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
