//! The metrics of ranked lists equal those of `pytrec_eval` and ranx on random runs with ties, duplicates, empty
//! results, and graded and missing judgements.
//!
//! The test installs `pytrec-eval-terrier` instead of `pytrec_eval`: it is the same code with a wheel, whereas the
//! original downloads `trec_eval` from GitHub during installation.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use chunkmill_eval::score::metrics::{Gain, Ranking, Ties, ordered};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::common::note;
use crate::python::environment;

const RUNS: usize = 1_500;
const CUTOFFS: [usize; 6] = [1, 3, 5, 10, 20, 100];
const TOLERANCE: f64 = 1e-9;

/// One question's results, as a search with duplicates would return them, and its judgements.
struct Case {
    results: Vec<(String, f64)>,
    judged: HashMap<String, f64>,
}

/// Random numbers that are the same on every run.
struct Dice(TestRng);

impl Dice {
    fn below(&mut self, end: u32) -> u32 {
        self.0.next_u32() % end
    }
}

fn cases() -> Vec<Case> {
    let mut dice = Dice(TestRng::from_seed(RngAlgorithm::ChaCha, &[6; 32]));
    let make = |at: usize| {
        // Some runs have many ties and some have none. Some are empty, and some are longer than every cutoff.
        let levels = [2, 8, 1_000_000][dice.below(3) as usize];
        let length = match at % 10 {
            0 => 0,
            1 => 130 + dice.below(40),
            _ => 1 + dice.below(40),
        };
        let documents = length.max(12) + dice.below(20);
        let mut results: Vec<(String, f64)> = Vec::new();
        for _ in 0..length {
            // Eighths are exact even in the 32 bits that trec_eval keeps, so a million levels cause no ties there.
            let score = f64::from(dice.below(levels)) / 8.0 - 3.0;
            results.push((format!("d{}", dice.below(documents)), score));
        }
        let grades = [1, 3][dice.below(2) as usize];
        let judged = (0..1 + dice.below(20))
            .map(|_| (format!("d{}", dice.below(documents + 10)), f64::from(dice.below(grades + 1))))
            .collect();
        Case { results, judged }
    };
    (0..RUNS).map(make).collect()
}

/// Returns the best score of each id.
fn unique(results: &[(String, f64)]) -> HashMap<&str, f64> {
    let mut best: HashMap<&str, f64> = HashMap::new();
    for (id, score) in results {
        let known = best.entry(id).or_insert(*score);
        *known = known.max(*score);
    }
    best
}

fn values(ranking: &Ranking) -> HashMap<String, f64> {
    let at = |name: &str, k: usize| match name {
        "ndcg" => ranking.ndcg(k, Gain::Linear),
        "ndcg_exponential" => ranking.ndcg(k, Gain::Exponential),
        "map" => ranking.average_precision(k),
        "recall" => ranking.recall(k),
        "precision" => ranking.precision(k),
        "mrr" => ranking.reciprocal_rank(k),
        _ => ranking.hit(k),
    };
    let names = ["ndcg", "ndcg_exponential", "map", "recall", "precision", "mrr", "hit"];
    let cutoffs = CUTOFFS.iter().map(|&k| (k.to_string(), k)).chain([("all".to_owned(), usize::MAX)]);
    cutoffs.flat_map(|(label, k)| names.map(|name| (format!("{name}@{label}"), at(name, k)))).collect()
}

/// Number of compared values, and the largest difference.
#[derive(Default)]
struct Compared {
    values: usize,
    farthest: f64,
    above_zero: usize,
}

impl Compared {
    fn with(&mut self, whose: &str, query: &str, ours: &HashMap<String, f64>, theirs: &Map<String, Value>) {
        assert!(theirs.len() > 30, "{whose} {query}: {theirs:?}");
        for (name, theirs) in theirs {
            let (ours, theirs) = (ours[name], theirs.as_f64().unwrap());
            let apart = (ours - theirs).abs();
            assert!(apart <= TOLERANCE, "{whose} {query} {name}: {ours}, theirs {theirs}");
            self.values += 1;
            self.above_zero += usize::from(theirs > 0.0);
            self.farthest = self.farthest.max(apart);
        }
    }
}

#[test]
fn ranked_lists_are_scored_as_pytrec_eval_and_ranx_score_them() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parity");
    let Some(python) = environment(&[scripts.join("requirements.txt")]) else { return };
    let cases = cases();
    let (mut qrels, mut runs) = (Map::new(), Map::new());
    let (mut ties, mut duplicates, mut unjudged) = (0, 0, 0);
    for (at, case) in cases.iter().enumerate() {
        let run = unique(&case.results);
        let mut scores: Vec<u64> = run.values().map(|score| score.to_bits()).collect();
        scores.sort_unstable();
        scores.dedup();
        ties += usize::from(scores.len() < run.len());
        duplicates += usize::from(run.len() < case.results.len());
        unjudged += usize::from(run.keys().any(|id| !case.judged.contains_key(*id)));
        let judged: Map<String, Value> =
            case.judged.iter().map(|(id, &grade)| (id.clone(), json!(grade as i64))).collect();
        qrels.insert(format!("q{at}"), Value::Object(judged));
        runs.insert(format!("q{at}"), json!(run));
    }
    assert!(ties > 500 && duplicates > 500 && unjudged > 1_000, "{ties} {duplicates} {unjudged}");
    let empty = cases.iter().filter(|case| case.results.is_empty()).count();

    let home = TempDir::new().unwrap();
    let file = home.path().join("runs.json");
    fs::write(&file, json!({"qrels": qrels, "runs": runs, "cutoffs": CUTOFFS}).to_string()).unwrap();
    let mut command = Command::new(&python);
    command.current_dir(home.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.arg(scripts.join("check.py")).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();

    let (mut trec, mut ranx) = (Compared::default(), Compared::default());
    for (at, case) in cases.iter().enumerate() {
        let query = format!("q{at}");
        // Our code receives the duplicates.
        let ranked = ordered(case.results.clone(), Ties::LargerFirst);
        trec.with(
            "trec_eval",
            &query,
            &values(&Ranking::of_ids(ranked, &case.judged)),
            object(&theirs["trec"][&query]),
        );
        let order = theirs["ranx"][&query]["order"].as_array().unwrap();
        let order: Vec<String> = order.iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        assert_eq!(order.len(), unique(&case.results).len());
        let ranking = Ranking::of_ids(order, &case.judged);
        ranx.with("ranx", &query, &values(&ranking), object(&theirs["ranx"][&query]["values"]));
    }
    for (name, compared) in [("pytrec_eval", &trec), ("ranx", &ranx)] {
        let Compared { values, farthest, above_zero } = compared;
        assert!(*above_zero > values / 3, "{name}: only {above_zero} of {values} values are above zero");
        note(&format!("{name}: {RUNS} runs, {values} values, at most {farthest:e} apart"));
    }
    note(&format!(
        "of {RUNS} runs, {ties} have ties, {duplicates} duplicates, {unjudged} unjudged results; {empty} are empty"
    ));
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}
