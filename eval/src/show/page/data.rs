//! How much of a report the page gets: enough for every table and plot, small enough to be sent by mail.
//!
//! It is `report.json` with the best setting first, numbers of a few digits, and for each question only the metric that
//! decides. The rest is in `report.json` and `report.csv`.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chunkmill::error::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use crate::data::answers::AnswerPlaces;
use crate::data::report::{Cell, Report, Summary};
use crate::findings::analysis::{Clusters, representatives};
use crate::findings::change::changes;
use crate::score::judge::NO_ANSWER;
use crate::show::baseline::Baseline;
use crate::show::prose::hybrid_sentence;
use crate::show::view::{View, counted};

/// The metrics of contexts begin so.
const IN_CONTEXT: &str = "evidence_in_context_";

/// Largest number of values of single questions. With more settings than that, the best ones and the representatives
/// have them.
const VALUES: usize = 40_000;

/// Returns the data of one report's page.
pub(super) fn of_report(report: &Report, baseline: Option<&Baseline>) -> Value {
    json!({ "runs": [run(report, true)], "change": baseline.map(|baseline| change(report, baseline)) })
}

/// Returns the data of a comparison: every run, and how each differs from the first.
pub(super) fn of_several(reports: &[(String, Report)]) -> Value {
    let named = |(name, report): &(String, Report)| {
        let mut run = run(report, false);
        if let Value::Object(run) = &mut run {
            run.insert("name".to_owned(), name.clone().into());
        }
        run
    };
    let against: Vec<Value> = match reports.split_first() {
        Some(((_, first), others)) => (1..).zip(others).map(|(at, (_, other))| difference(first, at, other)).collect(),
        None => Vec::new(),
    };
    json!({ "runs": reports.iter().map(named).collect::<Vec<_>>(), "against": against, "change": null })
}

/// Compares a run with the first one, if both scored the same questions by the same rules.
fn difference(first: &Report, at: usize, other: &Report) -> Value {
    match changes(first, other, std::slice::from_ref(&first.scoring.primary)) {
        Ok(found) => {
            let known: Vec<_> = found.changes.iter().filter(|change| change.better + change.worse > 0).collect();
            let problem = known.is_empty().then_some("no setting of both runs differs on the questions of both");
            let with_lost =
                found.changes.iter().filter_map(|change| Some((change.cell.clone(), json!(change.all?.after))));
            json!({
                "run": at,
                "notes": found.notes,
                "changes": known,
                "problem": problem,
                "loss": found.evidence.loss(),
                "with_lost": with_lost.collect::<Map<_, _>>(),
            })
        }
        Err(error) => json!({ "run": at, "problem": error.to_string() }),
    }
}

fn run(report: &Report, whole: bool) -> Value {
    let view = View::new(report);
    let few = representatives(report);
    let asked = report.queries.len().max(1);
    let mut room = (VALUES / asked).max(few.len());
    let cell = |cell: &&Cell| {
        let has_values = whole && (few.contains(&cell.id) || room > few.len());
        if has_values && !few.contains(&cell.id) {
            room -= 1;
        }
        self::cell(cell, &report.scoring.primary, has_values)
    };
    let cells: Vec<Value> = view.ranked.iter().map(cell).collect();
    let hybrid = report.verdict.as_ref().filter(|verdict| !verdict.hybrid.is_empty());
    let hybrid = hybrid.map(|verdict| hybrid_sentence(report, verdict));
    let clusters = Clusters::of(report);
    let drawn = match clusters.too_few() {
        Some(places) => format!("each question alone: the evidence is in only {}", counted(places, "place")),
        None => format!("questions with evidence in the same place: {}", counted(clusters.len(), "group")),
    };
    let reasons = report.left_out.iter().map(|left| json!({ "id": left.id, "reason": left.reason.to_string() }));
    // A comparison shows no questions.
    let queries = if whole { &report.queries[..] } else { &[] };
    let nothing = AnswerPlaces::default();
    json!({
        "tool_version": report.tool_version,
        "created": report.created,
        "command": report.command,
        "environment": report.environment,
        "labels": report.labels,
        "scoring": report.scoring,
        "metrics": report.metrics,
        "queries": queries,
        "answers": if whole { &report.answers } else { &nothing },
        "cells": cells,
        "representatives": few,
        "left_out": reasons.collect::<Vec<_>>(),
        "verdict": report.verdict,
        "hybrid": hybrid,
        "drawn": drawn,
    })
}

fn cell(cell: &Cell, primary: &str, has_values: bool) -> Value {
    let metric = |(name, s): (&String, &Summary)| {
        // No plot shows the intervals of the others.
        let has_interval = name == primary || name.starts_with(IN_CONTEXT);
        let shown = if has_interval { json!([s.mean, s.lo, s.hi]) } else { json!([s.mean]) };
        (name.clone(), shown)
    };
    let metrics: Map<String, Value> = cell.metrics.iter().map(metric).collect();
    let shown = [primary, NO_ANSWER].into_iter().filter(|_| has_values);
    let values = shown.filter_map(|name| Some((name.to_owned(), json!(cell.values.get(name)?))));
    json!({
        "id": cell.id,
        "build": cell.build,
        "spec": cell.spec,
        "spec_text": cell.spec_text,
        "model": cell.model,
        "engine": cell.engine,
        "retrieval": cell.retrieval,
        "k": cell.k,
        "chunks": cell.chunks,
        "metrics": rounded(metrics.into(), 3),
        "values": rounded(values.collect::<Map<_, _>>().into(), 3),
        "outcomes": if has_values { cell.outcomes.as_str() } else { "" },
        "cost": cell.cost,
        "p_best": cell.p_best,
        "comparison": cell.comparison,
        "pareto": cell.pareto,
    })
}

fn change(report: &Report, baseline: &Baseline) -> Value {
    let view = View::new(report);
    let lost = baseline.changes.evidence.lost.iter().map(|lost| json!([lost.query, lost.text, lost.places()]));
    json!({
        "date": baseline.report.created,
        "version": baseline.report.tool_version,
        "verdict": baseline.outcome.verdict(),
        "loss": baseline.outcome.evidence.kinds(),
        "figures": baseline.figures(report),
        "sentence": baseline.sentence(&view),
        "outcome": baseline.outcome,
        "changes": baseline.changes,
        "lost": lost.collect::<Vec<_>>(),
    })
}

/// Compresses the data and writes it in letters.
pub(super) fn packed(data: Value) -> Result<String> {
    let failed = |error: std::io::Error| Error::io("write", "report.html")(error);
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(rounded(data, 6).to_string().as_bytes()).map_err(failed)?;
    Ok(STANDARD.encode(packed.finish().map_err(failed)?))
}

/// Rounds all numbers to so many decimals, in the same way as every other form of the report.
fn rounded(mut value: Value, decimals: usize) -> Value {
    match &mut value {
        Value::Number(number) if number.is_f64() => {
            let text = number.as_f64().map(|number| format!("{number:.decimals$}"));
            text.and_then(|text| text.parse::<f64>().ok()).map_or(Value::Null, |number| Value::from(number + 0.0))
        }
        Value::Array(all) => std::mem::take(all).into_iter().map(|value| rounded(value, decimals)).collect(),
        Value::Object(all) => {
            std::mem::take(all).into_iter().map(|(name, value)| (name, rounded(value, decimals))).collect()
        }
        _ => value,
    }
}
