//! `chunkmill-eval diff`: shows two runs side by side.

use std::fmt::Write as _;

use chunkmill::cli::{print, print_json};
use chunkmill::error::{Error, exit};
use chunkmill::value::{count, one_of};

use super::lost::{QUESTION, broken, lost};
use super::pair::PairArgs;
use crate::data::report::Report;
use crate::findings::analysis::figure;
use crate::findings::change::{Change, Changes, Means, MovedQuestion, changes};
use crate::labels::set::beginning;

/// Width of the column of setting names; a longer name shifts only its own line.
const NAME: usize = 44;

pub(super) fn run(args: &PairArgs) -> anyhow::Result<u8> {
    let (a, b, metrics) = args.read()?;
    for metric in &metrics {
        known(&a, metric, &args.a.display().to_string())?;
        known(&b, metric, &args.b.display().to_string())?;
    }
    let found = changes(&a, &b, &metrics)?;
    if args.json { print_json(&found) } else { print(describe(&a, &b, &found, &metrics)) }?;
    Ok(exit::DONE)
}

pub(super) fn known(report: &Report, metric: &str, origin: &str) -> Result<(), Error> {
    if report.cells.iter().any(|cell| cell.values.contains_key(metric)) {
        return Ok(());
    }
    let names: Vec<&str> = report.metrics.iter().map(|metric| metric.name.as_str()).collect();
    Err(Error::setting(origin, format!("has no values of the metric `{metric}`"), one_of(metric, &names)))
}

fn describe(a: &Report, b: &Report, found: &Changes, metrics: &[String]) -> String {
    let mut lines: Vec<String> = found.evidence.loss().into_iter().collect();
    lines.extend(lost(&found.evidence, false));
    lines.extend([("A", a), ("B", b)].map(|(name, report)| best(name, report)));
    lines.extend(found.notes.iter().map(|note| format!("note: {note}")));
    for metric in metrics {
        let title = a.metric(metric).map_or(metric.as_str(), |metric| metric.title.as_str());
        let percent = a.scoring.confidence * 100.0;
        lines.push(format!("\n{title} ({metric}) over {}:", count(found.questions, "question")));
        lines.push(format!("{:NAME$} {:>8} {:>8} {:>8}  {percent} % interval", "setting", "A", "B", "B − A"));
        lines.extend(found.changes.iter().filter(|change| change.metric == *metric).map(row));
        let all = found.changes.iter().filter(|change| change.metric == *metric);
        let all: Vec<(&str, Means)> = all.filter_map(|change| Some((change.cell.as_str(), change.all?))).collect();
        if !all.is_empty() {
            lines.push(format!("over all {}, lost evidence as misses:", count(found.evidence.questions, "question")));
            lines.extend(all.into_iter().map(|(cell, means)| {
                let values = [means.before, means.after, means.after - means.before].map(figure);
                format!("{cell:NAME$} {:>8} {:>8} {:>8}", values[0], values[1], values[2])
            }));
        }
    }
    for (name, cells) in [("A", &found.missing), ("B", &found.added)] {
        lines.extend(cells.iter().map(|cell| format!("only in {name}: {cell}")));
    }
    if !found.broken.is_empty() {
        lines.push(format!("\nquestions that broke by {}: a setting now has at most half of what it had:", metrics[0]));
        lines.extend(broken(&found.broken, false));
    }
    if !found.moved.is_empty() {
        lines.push(format!("\nquestions that moved most by {}, on average over the settings (A → B):", metrics[0]));
        lines.extend(moved(&found.moved, "  "));
    }
    lines.join("\n")
}

fn best(name: &str, report: &Report) -> String {
    let settings = count(report.cells.len(), "setting");
    let mut line = format!("{name}: {} of {}, {settings}", report.labels.name, report.created);
    if let Some(verdict) = &report.verdict {
        let _ = write!(line, "; best is `{}`", verdict.best);
    }
    line
}

fn row(change: &Change) -> String {
    if change.differences.is_empty() {
        return format!("{:NAME$} no question has a value in both", change.cell);
    }
    let Change { cell, before, after, comparison, better, worse, .. } = change;
    let sure = match (better + worse, comparison.separable) {
        (0, _) => "the same for every question".to_owned(),
        (_, true) => format!("real: {better} better, {worse} worse"),
        (_, false) => format!("could be chance: {better} better, {worse} worse"),
    };
    let [before, after, difference, lo, hi] =
        [*before, *after, comparison.difference, comparison.lo, comparison.hi].map(figure);
    format!("{cell:NAME$} {before:>8} {after:>8} {difference:>8}  {lo} to {hi}  {sure}")
}

/// Formats questions with their values before and after, one per line.
pub(super) fn moved(moved: &[MovedQuestion], indent: &str) -> Vec<String> {
    let line = |question: &MovedQuestion| {
        let MovedQuestion { query, text, before, after } = question;
        format!("{indent}{} → {}  {query}: {}", figure(*before), figure(*after), beginning(text, QUESTION))
    };
    moved.iter().map(line).collect()
}
