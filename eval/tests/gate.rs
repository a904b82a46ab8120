//! The gate passes on noise, fails if a run is really worse, names what changed, and reports the result with its
//! exit code. Also tests the comparison of two runs side by side.

use std::collections::BTreeSet;

use chunkmill_eval::data::report::{IndexCost, Report, Spread};
use chunkmill_eval::findings::change::changes;
use chunkmill_eval::findings::gate::{Outcome, State, Thresholds, gate};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{METRIC, arg, dice, eval, folder, note, report_of};

const QUESTIONS: usize = 150;
const CELLS: [&str; 4] = ["a · vector", "a · keyword", "b · vector", "b · keyword"];

/// Returns a run of four settings over 150 questions. Cells of one sweep mostly fail on the same questions.
fn run(seed: u8) -> Report {
    let mut next = dice(seed);
    let difficulty: Vec<f64> = (0..QUESTIONS).map(|_| next()).collect();
    let mut cell = || difficulty.iter().map(|&hard| Some(if next() * 0.6 + 0.2 > hard { 1.0 } else { 0.5 })).collect();
    report_of(&CELLS.map(|id| (id, cell())))
}

/// Returns the run again: each value is measured again with probability `noise` and falls to 0 with probability
/// `fall`.
fn again(run: &Report, noise: f64, fall: f64, seed: u8) -> Report {
    let mut next = dice(seed);
    let mut other = run.clone();
    for value in other.cells.iter_mut().flat_map(|cell| cell.values.get_mut(METRIC).unwrap()).flatten() {
        if next() < noise {
            *value = if next() < 0.5 { 1.0 } else { 0.5 };
        }
        if next() < fall {
            *value = 0.0;
        }
    }
    other
}

fn checked(run: &Report, baseline: &Report) -> Outcome {
    gate(run, baseline, &Thresholds::default()).unwrap()
}

fn states(outcome: &Outcome, state: State) -> Vec<(&str, &str)> {
    outcome.by_state(state).map(|check| (check.cell.as_str(), check.what.as_str())).collect()
}

#[test]
fn the_same_run_passes_and_nothing_is_counted_as_a_comparison() {
    let outcome = checked(&run(1), &run(1));
    assert!(outcome.passed && outcome.moved.is_empty() && outcome.notes.is_empty(), "{outcome:?}");
    assert_eq!((outcome.comparisons, outcome.questions, outcome.checks.len()), (0, QUESTIONS, 6), "4 metrics, 2 sizes");
}

#[test]
fn noise_passes_and_what_is_really_worse_fails() {
    const TRIES: u8 = 100;
    // No drop is allowed, so the only protection from false alarms is the test for chance.
    let strict = Thresholds { max_drop: [(METRIC.to_owned(), 0.0)].into(), ..Thresholds::default() };
    let alarms = |noise, fall, thresholds: &Thresholds| {
        let failed = |&seed: &u8| {
            let baseline = run(seed);
            !gate(&again(&baseline, noise, fall, !seed), &baseline, thresholds).unwrap().passed
        };
        (0..TRIES).filter(failed).count()
    };
    let usual = Thresholds::default();
    // Both runs are measured with the same noise, so neither is better by construction.
    let noise = (0..TRIES).filter(|&seed| {
        let (one, other) = (again(&run(seed), 0.1, 0.0, !seed), again(&run(seed), 0.1, 0.0, seed ^ 0x80));
        !gate(&other, &one, &strict).unwrap().passed
    });
    let noise = noise.count();
    let (slight, large) = (alarms(0.02, 0.03, &usual), alarms(0.02, 0.2, &usual));
    note(&format!(
        "alarms in {TRIES} runs: noise {noise} (nothing allowed), 3 % of answers lost {slight}, 20 % {large}"
    ));
    assert!(noise <= 5 && large == usize::from(TRIES), "{noise} {slight} {large}");
}

#[test]
fn a_planted_drop_fails_the_cell_it_is_in_and_names_its_questions() {
    let baseline = run(3);
    let mut worse = baseline.clone();
    for value in &mut worse.cells[2].values.get_mut(METRIC).unwrap()[..40] {
        *value = Some(0.0);
    }
    worse.cells[2].values.get_mut(METRIC).unwrap()[77] = Some(3.0);
    let outcome = checked(&worse, &baseline);
    assert_eq!(states(&outcome, State::Failed), [("b · vector", METRIC)]);
    assert_eq!(outcome.comparisons, 1, "cells in which nothing changed are not counted");
    let change = outcome.by_state(State::Failed).next().unwrap().change.as_ref().unwrap();
    assert_eq!((change.worse, change.better, change.moved.len()), (40, 1, 6));
    assert!(change.moved[..5].iter().all(|moved| moved.before == 1.0 && moved.after == 0.0), "{:?}", change.moved);
    assert_eq!(change.moved[5].query, "q77");
    let named = outcome.named();
    assert_eq!(named.iter().filter(|(_, failure)| failure.is_some()).count(), 1);
    assert_eq!(named.iter().find(|(_, failure)| failure.is_some()).unwrap().0, format!("b · vector: {METRIC}"));
    // A drop of this size may be allowed, and a rise never fails.
    let lenient = Thresholds { max_drop: [(METRIC.to_owned(), 0.5)].into(), ..Thresholds::default() };
    assert!(gate(&worse, &baseline, &lenient).unwrap().passed);
    assert!(checked(&baseline, &worse).passed);
}

#[test]
fn where_less_is_better_rising_fails() {
    let mut baseline = run(4);
    baseline.metrics[0].higher_is_better = false;
    let mut other = baseline.clone();
    for value in other.cells[0].values.get_mut(METRIC).unwrap().iter_mut().flatten() {
        *value += 0.3;
    }
    assert!(!checked(&other, &baseline).passed);
    assert!(checked(&baseline, &other).passed);
}

#[test]
fn a_drop_that_could_be_chance_is_said_and_passes() {
    let baseline = run(5);
    let mut other = baseline.clone();
    let values = other.cells[1].values.get_mut(METRIC).unwrap();
    values[..3].fill(Some(0.0));
    let outcome = checked(&other, &baseline);
    assert!(outcome.passed);
    assert_eq!(states(&outcome, State::Unsure), [("a · keyword", METRIC)]);
    // Five questions cannot prove anything, however bad they are.
    let (few, none) = (report_of(&[("a", vec![Some(1.0); 5])]), report_of(&[("a", vec![Some(0.0); 5])]));
    assert!(checked(&none, &few).passed);
    let (few, none) = (report_of(&[("a", vec![Some(1.0); 6])]), report_of(&[("a", vec![Some(0.0); 6])]));
    assert!(!checked(&none, &few).passed);
}

#[test]
fn what_the_run_lacks_fails() {
    let baseline = run(6);
    let mut other = baseline.clone();
    other.cells.remove(1);
    other.cells[0].id = "new".to_owned();
    let outcome = checked(&other, &baseline);
    assert_eq!(states(&outcome, State::Failed), [("a · vector", "cell"), ("a · keyword", "cell")]);
    let mut other = baseline.clone();
    other.cells[3].values.insert(METRIC.to_owned(), vec![None; QUESTIONS]);
    assert_eq!(states(&checked(&other, &baseline), State::Failed), [("b · keyword", METRIC)]);
}

#[test]
fn questions_are_matched_by_id_and_text_and_what_changed_is_said() {
    let baseline = run(7);
    let mut other = baseline.clone();
    // The same questions in another order.
    other.queries.reverse();
    for cell in &mut other.cells {
        cell.values.get_mut(METRIC).unwrap().reverse();
    }
    assert_eq!(checked(&other, &baseline).comparisons, 0);
    other.queries[0].text = "Another question".to_owned();
    other.labels.queries_hash = "other".to_owned();
    other.labels.corpus_hash = "other".to_owned();
    other.environment.cores = 64;
    let outcome = checked(&other, &baseline);
    assert_eq!(outcome.questions, QUESTIONS - 1);
    let notes = outcome.notes.join("\n");
    for words in [
        "1 question of the earlier run is not in queries.jsonl any more, which is no lost evidence: q149",
        "1 question of this run could not be compared",
        "documents have changed since the earlier run (3 then, 3 now)",
        "machine is not",
    ] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    for query in &mut other.queries {
        query.id = format!("other {}", query.id);
    }
    assert!(gate(&other, &baseline, &Thresholds::default()).unwrap_err().to_string().contains("no question in common"));
    let mut other = baseline.clone();
    other.scoring.coverage = "any byte".to_owned();
    assert!(gate(&other, &baseline, &Thresholds::default()).unwrap_err().to_string().contains("any byte"));
}

#[test]
fn sizes_and_times_are_compared_as_they_can_be() {
    let baseline = run(8);
    let seconds = |median, min, max| {
        let seconds = Spread { median, min, max };
        Some(IndexCost { repeats: 3, seconds, ..IndexCost::default() })
    };
    let with = |bytes, p95, index: Option<IndexCost>| {
        let mut run = baseline.clone();
        for cell in &mut run.cells {
            cell.cost.bytes = bytes;
            cell.cost.query_ms.p95 = p95;
            cell.cost.index.clone_from(&index);
        }
        run
    };
    let base = with(1_000, 2.0, seconds(10.0, 9.0, 12.0));
    let found = |run: &Report, thresholds: &Thresholds| gate(run, &base, thresholds).unwrap();
    let usual = Thresholds::default();
    assert!(found(&with(1_099, 50.0, seconds(99.0, 98.0, 99.0)), &usual).passed, "times are not checked by default");
    let larger = found(&with(1_101, 2.0, None), &usual);
    assert_eq!(states(&larger, State::Failed), [("a · vector", "bytes"), ("b · vector", "bytes")], "once per build");
    let mut grown = with(2_000, 2.0, None);
    grown.labels.bytes *= 2;
    assert!(found(&grown, &usual).passed, "twice the documents");
    let strict = Thresholds { max_slower: 1.5, max_larger: f64::INFINITY, ..Thresholds::default() };
    let slow = found(&with(9_000, 3.1, seconds(20.0, 17.0, 22.0)), &strict);
    assert_eq!(states(&slow, State::Failed).len(), 4, "{:?}", states(&slow, State::Failed));
    assert_eq!(states(&slow, State::Unsure), [("a · vector", "index_seconds"), ("b · vector", "index_seconds")]);
    let slower = found(&with(9_000, 2.9, seconds(20.0, 18.1, 22.0)), &strict);
    assert_eq!(states(&slower, State::Failed), [("a · vector", "index_seconds"), ("b · vector", "index_seconds")]);
}

#[test]
fn thresholds_come_from_a_file_and_wrong_ones_are_refused() {
    let good = "allow_lost = 3\nmax_slower = 2\nmax_larger = inf\n[max_drop]\nrecall_at_k = 0.05\n";
    let files = folder(&[
        ("good.toml", good),
        ("key.toml", "max_slowr = 2\n"),
        ("number.toml", "[max_drop]\nrecall_at_k = -0.1\n"),
        ("ratio.toml", "max_larger = 0.5\n"),
    ]);
    let read = |name: &str| Thresholds::read(&files.path().join(name));
    let max_drop = [(METRIC.to_owned(), 0.05)].into();
    assert_eq!(
        read("good.toml").unwrap(),
        Thresholds { allow_lost: 3, max_drop, max_slower: 2.0, max_larger: f64::INFINITY }
    );
    for (name, words) in [("key.toml", "max_slowr"), ("number.toml", "-0.1"), ("ratio.toml", "0.5")] {
        let error = read(name).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(name), "{error}");
    }
    let unknown = Thresholds { max_drop: [("recal".to_owned(), 0.1)].into(), ..Thresholds::default() };
    let error = gate(&run(1), &run(1), &unknown).unwrap_err().to_string();
    assert!(error.contains("recal") && error.contains(METRIC), "{error}");
    assert!(gate(&report_of(&[]), &report_of(&[]), &Thresholds::default()).is_err(), "nothing to compare");
}

#[test]
fn changes_are_those_of_the_questions() {
    let (one, other) = (run(9), again(&run(9), 0.3, 0.0, 1));
    let found = changes(&one, &other, &[METRIC.to_owned()]).unwrap();
    assert_eq!(found.changes.len(), CELLS.len());
    for change in &found.changes {
        assert!((change.after - change.before - change.comparison.difference).abs() < 1e-12);
        assert!(
            change.comparison.lo <= change.comparison.difference
                && change.comparison.difference <= change.comparison.hi
        );
        assert_eq!(change.better + change.worse, change.differences.sums().iter().filter(|rise| **rise != 0.0).count());
        let rises: Vec<f64> = change.moved.iter().map(|moved| moved.after - moved.before).collect();
        assert!(rises.is_sorted() && rises.len() == 10, "{rises:?}");
    }
    let back = changes(&other, &one, &[METRIC.to_owned()]).unwrap();
    for (there, back) in found.changes.iter().zip(&back.changes) {
        assert!((there.comparison.difference + back.comparison.difference).abs() < 1e-12);
        assert_eq!(there.comparison.p, back.comparison.p);
    }
}

/// Writes runs to folders as a sweep does.
fn written(reports: &[(&str, &Report)]) -> TempDir {
    let files: Vec<(String, String)> = reports
        .iter()
        .map(|(name, report)| (format!("{name}/report.json"), serde_json::to_string(report).unwrap()))
        .collect();
    folder(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>())
}

#[test]
fn the_program_exits_0_on_noise_and_1_on_a_drop_and_says_why() {
    let baseline = run(10);
    let (noise, worse) = (again(&baseline, 0.03, 0.0, 1), again(&baseline, 0.0, 0.3, 2));
    let runs = written(&[("base", &baseline), ("noise", &noise), ("worse", &worse)]);
    let path = |name: &str| runs.path().join(name);
    let base = path("base/report.json");
    let gate =
        |name: &str, more: &[&str]| eval(&[&["gate", arg(&path(name)), "--baseline", arg(&base)][..], more].concat());

    let (code, out, err) = gate("noise", &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("passed: "), "the verdict is first: {out}");
    assert!(gate("noise", &["-v"]).1.contains("questions that moved most"));
    let (code, out, _) = gate("worse", &[]);
    assert_eq!(code, 1, "{out}");
    assert!(out.starts_with("FAILED: 4 of 6 checks are worse than allowed\n"), "{out}");
    let rows = out.lines().filter(|line| line.starts_with("recall_at_k  ") && line.ends_with("  FAILED")).count();
    assert_eq!(rows, 4, "a row for each metric and setting: {out}");
    let broken = |line: &&str| line.starts_with("  ") && line.contains(" of 4 settings  q");
    let broken: Vec<&str> = out.lines().filter(broken).collect();
    let ids: BTreeSet<&str> = broken.iter().filter_map(|line| line.split("  ").nth(2)?.split(':').next()).collect();
    assert!(broken.len() == 20 && ids.len() == 20, "each question once: {out}");
    assert!(out.lines().count() < 40, "{out}");
    note(&out);

    let (code, out, _) = gate("worse", &["--json"]);
    let outcome: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &outcome["passed"]), (1, &Value::Bool(false)));
    assert_eq!(outcome["checks"].as_array().unwrap().iter().filter(|check| check["state"] == "failed").count(), 4);
    assert_eq!(gate("worse", &["--max-drop", "recall_at_k=0.9"]).0, 0);
    for wrong in
        [["--max-drop", "recall_at_k"], ["--max-drop", "recal=0.1"], ["--max-larger", "0.2"], ["--max-slower", "x"]]
    {
        let (code, _, err) = gate("noise", &wrong);
        assert_eq!(code, 2, "{wrong:?}: {err}");
    }
    let (code, _, err) = eval(&["gate", arg(&path("none")), "--baseline", arg(&base)]);
    assert!(code == 2 && err.contains("none"), "{code} {err}");
}

#[test]
fn the_program_shows_two_runs_side_by_side() {
    let one = run(11);
    let mut other = again(&one, 0.0, 0.3, 1);
    other.cells[1] = one.cells[1].clone();
    other.cells[3].id = "new".to_owned();
    let runs = written(&[("one", &one), ("other", &other)]);
    let (a, b) = (runs.path().join("one"), runs.path().join("other"));
    let (code, out, err) = eval(&["diff", arg(&a), arg(&b)]);
    assert_eq!((code, err.as_str()), (0, ""));
    for words in [
        "Recall (recall_at_k) over 150 questions",
        "the same for every question",
        "real: 0 better",
        "only in A: b · keyword",
        "only in B: new",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    note(&out);
    let (code, out, _) = eval(&["diff", arg(&a), arg(&b), "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["missing"][0], &found["questions"]), (0, &"b · keyword".into(), &150.into()));
    let (code, _, err) = eval(&["diff", arg(&a), arg(&b), "--metric", "recal"]);
    assert!(code == 2 && err.contains("recall_at_k"), "{code} {err}");
}
