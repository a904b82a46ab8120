//! SciFact with the default model, through the whole pipeline, reproduces the published figures.
//!
//! The test takes minutes, so it is ignored by default: `make scifact` runs it.

use std::collections::HashMap;
use std::fs;

use chunkmill::dataset::Dataset;
use chunkmill::embed::{Backend, Embedder, Engine, PrecisionSetting, Role, load};
use chunkmill::search::{Filter, Searcher};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{default_model, finish, json_lines, program_with_models, shared, write};

/// Computes nDCG at `k` with graded gains, as `trec_eval` does: gain over log2(rank + 1).
fn ndcg(ranked: &[String], relevant: &HashMap<String, f64>, k: usize) -> f64 {
    let dcg = |gains: &mut dyn Iterator<Item = f64>| {
        gains.enumerate().map(|(i, gain)| gain / (i as f64 + 2.0).log2()).sum::<f64>()
    };
    let gained = dcg(&mut ranked.iter().take(k).map(|doc| relevant.get(doc).copied().unwrap_or(0.0)));
    let mut ideal: Vec<f64> = relevant.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    gained / dcg(&mut ideal.into_iter().take(k))
}

#[test]
#[ignore = "minutes: run it with `make scifact`"]
fn scifact_gives_the_published_figures() {
    let (Some(data), Some(model)) = (shared("scifact"), default_model()) else { return };
    let home = TempDir::new().unwrap();
    for document in json_lines(&fs::read_to_string(data.join("corpus.jsonl")).unwrap()) {
        let text = |key: &str| document[key].as_str().unwrap().to_owned();
        write(
            home.path(),
            &format!("docs/{}.txt", text("_id")),
            format!("{} {}", text("title"), text("text")).as_bytes(),
        );
    }
    let mut judged: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for line in fs::read_to_string(data.join("qrels.tsv")).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let grade: f64 = fields[2].parse().unwrap();
        judged.entry(fields[0].to_owned()).or_default().insert(fields[1].to_owned(), grade);
    }
    let queries = json_lines(&fs::read_to_string(data.join("queries.jsonl")).unwrap());
    // `auto` is bf16 if the processor multiplies bf16. int8 must be requested, because it changes more.
    for (precision, may_differ) in [("f32", 0.0001), ("bf16", 0.001), ("auto", 0.001), ("int8", 0.005)] {
        let index =
            ["index", "docs", "-o", precision, "--preset", "none", "--embedder", "cpu", "--precision", precision];
        let (code, out, err) = finish(program_with_models(home.path()).args(index).output().unwrap());
        assert_eq!(code, 0, "{err}");
        eprintln!("{out}");
        let dataset = Dataset::open(home.path().join(precision)).unwrap();
        let precision = PrecisionSetting::Fixed(dataset.manifest().model.precision);
        let embedder = load(Backend { precision, ..Engine::Cpu.into() }, &model).unwrap();
        let (ndcg_at_10, recall_at_100) = figures(&dataset, embedder.as_ref(), &queries, &judged);
        eprintln!("SciFact in {precision}: nDCG@10 {ndcg_at_10:.5}, R@100 {recall_at_100:.5}");
        assert!((ndcg_at_10 - 0.64508).abs() <= may_differ, "{precision}: {ndcg_at_10}");
        assert!((recall_at_100 - 0.925).abs() <= 0.002, "{precision}: {recall_at_100}");
    }
}

/// Returns nDCG at 10 and recall at 100, as means over the judged queries.
fn figures(
    dataset: &Dataset,
    embedder: &dyn Embedder,
    queries: &[Value],
    judged: &HashMap<String, HashMap<String, f64>>,
) -> (f64, f64) {
    let searcher = Searcher::open(dataset.clone(), None).unwrap();
    let (mut total_ndcg, mut total_recall, mut count) = (0.0, 0.0, 0.0);
    for query in queries {
        let Some(relevant) = judged.get(query["_id"].as_str().unwrap()) else { continue };
        let ids = embedder.encode(query["text"].as_str().unwrap(), Role::Query).unwrap().ids;
        let vector = embedder.embed_ids(&[&ids]).unwrap();
        let found = searcher.nearest(&[&vector], 100, &Filter::default()).unwrap().remove(0);
        let doc = |row| searcher.place(row).document.doc_id.trim_end_matches(".txt").to_owned();
        let ranked: Vec<String> = found.iter().map(|found| doc(found.row)).collect();
        total_ndcg += ndcg(&ranked, relevant, 10);
        let found = ranked.iter().filter(|doc| relevant.get(*doc).is_some_and(|&grade| grade > 0.0)).count();
        total_recall += found as f64 / relevant.values().filter(|&&grade| grade > 0.0).count() as f64;
        count += 1.0;
    }
    assert_eq!(count, 300.0, "judged queries");
    (total_ndcg / count, total_recall / count)
}
