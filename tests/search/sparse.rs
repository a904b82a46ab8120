//! Sparse vectors, from `index --sparse-model` to the order of the results.

use std::path::Path;

use chunkmill::chunk::Context;
use chunkmill::dataset::{Dataset, SPARSE, Table, sparse_vectors};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Backend, SparseEmbedder, SparseVector, load_sparse};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, json_lines, run, tree, write};
use crate::tiny::{SparseQueries, Tiny};

const QUESTION: &str = "the cat sat on a mat";

fn corpus() -> TempDir {
    let many: String =
        (0..30).map(|part| format!("## Part {part}\n\nThe dog{} ran.\n\n", "s".repeat(part % 3))).collect();
    let home = folder(&[
        ("docs/a.md", "# The cat\n\nThe cat sat on a mat.\n"),
        ("docs/b.md", "# Dog\n\nA dog ran on the mat.\n"),
        ("docs/c.md", "# And\n\nAnd the dog sat, and the cat ran.\n"),
        ("docs/many.md", &format!("# Many\n\n{many}")),
    ]);
    sparse(home.path(), "sparse", 48, SparseQueries::Table);
    home
}

fn sparse(home: &Path, name: &str, hidden: usize, queries: SparseQueries) {
    let tiny = Tiny { layers: 1, ..Tiny::new("bert", hidden, 3) };
    tiny.write_sparse(&home.join(name), ["max", "relu"], queries);
}

/// Indexes the documents and returns what the program reported.
fn index(home: &Path, out: &str, more: &[&str]) -> Value {
    let args = ["index", "docs", "-o", out, "--embedder", "fake", "--embedding-cache", "off", "--max", "60", "--json"];
    let (code, out, errors) = run(home, &[&args, more].concat());
    assert_eq!(code, 0, "{errors}");
    json_lines(&out).pop().unwrap()
}

const WITH: [&str; 2] = ["--sparse-model", "sparse"];

fn search(home: &Path, out: &str, more: &[&str]) -> Vec<Value> {
    let (code, out, errors) = run(home, &[&["search", out, QUESTION, "-k", "100", "--json"], more].concat());
    assert_eq!(code, 0, "{errors}");
    json_lines(&out)
}

/// Returns each chunk's id, its flags and its sparse vector.
fn stored(out: &Path) -> Vec<(String, Vec<String>, SparseVector)> {
    let dataset = Dataset::open(out).unwrap();
    let mut all = Vec::new();
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read(file, &["chunk_id", "flags", SPARSE], None).unwrap() {
            let batch = batch.unwrap();
            let texts = |array: &dyn arrow::array::Array| {
                let array = array.as_any().downcast_ref::<arrow::array::StringArray>().unwrap();
                array.iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
            };
            let flags = batch.column(1).as_any().downcast_ref::<arrow::array::ListArray>().unwrap();
            let vectors = sparse_vectors(batch.column(2)).unwrap();
            for (at, (id, vector)) in texts(batch.column(0)).into_iter().zip(vectors).enumerate() {
                all.push((id, texts(&flags.value(at)), vector));
            }
        }
    }
    all
}

fn open(home: &Path, name: &str) -> Box<dyn SparseEmbedder> {
    load_sparse(Backend::default(), &ModelRef::Folder(home.join(name))).unwrap()
}

fn dot(a: &SparseVector, b: &SparseVector) -> f64 {
    let weight = |token| b.weights().iter().find(|(other, _)| *other == token).map_or(0.0, |(_, weight)| *weight);
    a.weights().iter().map(|&(token, x)| f64::from(x * weight(token))).sum()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-4 * b.abs().max(1.0)
}

#[test]
fn chunks_are_ranked_by_the_dot_products_of_their_sparse_vectors() {
    let home = corpus();
    for (name, queries) in [("sparse", SparseQueries::Table), ("by-network", SparseQueries::Network)] {
        sparse(home.path(), name, 48, queries);
        index(home.path(), name_of_out(name), &["--sparse-model", name]);
        let model = open(home.path(), name);
        let question = model.query(QUESTION).unwrap();
        let chunks = stored(&home.path().join(name_of_out(name)));
        assert!(chunks.len() > 5);
        // The model sees what the other one sees: headings and content.
        let content = "# The cat\n\nThe cat sat on a mat.\n";
        let seen = Context::Full.before("The cat", content.to_owned(), Some("The cat"), "a.md");
        let vector = model.embed(&[&model.encode(&seen).unwrap().ids]).unwrap().pop().unwrap();
        assert_eq!(chunks.iter().find(|(id, ..)| id.starts_with("a.md")).unwrap().2, vector);
        let (code, _, errors) = run(home.path(), &["verify", name_of_out(name), "--corpus", "docs"]);
        assert_eq!(code, 0, "{errors}");
        let found = search(home.path(), name_of_out(name), &["--mode", "sparse", "--sparse-model", name]);
        let mut expected: Vec<(&String, f64)> = chunks
            .iter()
            .map(|(id, _, vector)| (id, dot(vector, &question)))
            .filter(|(_, score)| *score > 0.0)
            .collect();
        expected.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        assert_eq!(found.len(), expected.len());
        for (hit, (_, score)) in found.iter().zip(&expected) {
            let own = chunks.iter().find(|(id, ..)| hit["chunk_id"] == **id).unwrap();
            assert!(close(hit["score"].as_f64().unwrap(), *score) && close(dot(&own.2, &question), *score), "{hit}");
        }
    }
}

fn name_of_out(name: &str) -> &str {
    if name == "sparse" { "out" } else { "out2" }
}

#[test]
fn the_sparse_score_has_its_share_of_a_sum_and_its_weight_among_ranks() {
    let home = corpus();
    index(home.path(), "out", &WITH);
    index(home.path(), "plain", &[]);
    let scores = |hits: &[Value]| hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect::<Vec<_>>();
    // Without a share, nothing differs from a dataset without sparse vectors, and no sparse model is needed.
    let plain = search(home.path(), "plain", &[]);
    assert_eq!(scores(&search(home.path(), "out", &["--sparse-share", "0"])), scores(&plain));
    assert_eq!(scores(&search(home.path(), "plain", &["--sparse-share", "1"])), scores(&plain));
    // The sum of terms: each with mean 0, so shares can be read from sums of two searches.
    let with = |share: &str| search(home.path(), "out", &[&WITH[..], &["--sparse-share", share]].concat());
    let [none, all, some] = [with("0"), with("1"), with("0.25")];
    for hit in &some {
        let in_other = |hits: &[Value]| {
            hits.iter().find(|other| other["chunk_id"] == hit["chunk_id"]).unwrap()["score"].as_f64().unwrap()
        };
        let sum = 0.75 * in_other(&none) + 0.25 * in_other(&all);
        assert!(close(hit["score"].as_f64().unwrap(), sum), "{hit}: {sum}");
    }
    assert!(
        some.iter().any(|hit| hit["scores"]["sparse"]["score"].as_f64().is_some_and(|score| score > 0.0)),
        "{}",
        some[0]
    );
    let ranks = search(home.path(), "out", &[&WITH[..], &["--fusion", "rrf"]].concat());
    let first = &ranks[0];
    let part = |list: &str| first["scores"][list]["rank"].as_f64().map_or(0.0, |rank| 1.0 / (60.0 + rank));
    let sum = ["vector", "keyword", "sparse"].iter().map(|list| part(list)).sum::<f64>();
    assert!(part("sparse") > 0.0 && close(first["score"].as_f64().unwrap(), sum), "{first}");
}

#[test]
fn sparse_vectors_are_reused_and_the_bytes_are_those_of_a_run_from_scratch() {
    for more in [&[][..], &["--pooling", "late"]] {
        let home = corpus();
        Tiny::new("bert", 48, 3).write(&home.path().join("dense"));
        let index = |out: &str, options: &[&str]| {
            let args =
                ["index", "docs", "-o", out, "--model", "dense", "--embedding-cache", "off", "--max", "60", "--json"];
            let (code, out, errors) = run(home.path(), &[&args, options, more].concat());
            assert_eq!(code, 0, "{errors}");
            json_lines(&out).pop().unwrap()
        };
        let first = index("out", &WITH);
        write(home.path(), "docs/a.md", b"# The cat\n\nThe cats sat on a mat, and a dog ran.\n");
        let second = index("out", &WITH);
        let chunks = first["chunks"].as_u64().unwrap();
        assert!(second["chunks_reused"].as_u64().unwrap() + 2 >= chunks, "{second}");
        index("fresh", &WITH);
        assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("fresh")), "{more:?}");
        // Another sparse model makes other files, and none of its vectors is an old one.
        sparse(home.path(), "other", 96, SparseQueries::Table);
        let third = index("out", &["--sparse-model", "other"]);
        assert_eq!(third["chunks_reused"], 0);
        index("fresh", &["--sparse-model", "other", "--fresh"]);
        assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("fresh")), "{more:?}");
        // And without one, there is no column.
        index("out", &[]);
        let schema = Dataset::open(home.path().join("out")).unwrap().manifest().schema(Table::Chunks);
        assert!(schema.column_with_name(SPARSE).is_none());
    }
}

#[test]
fn the_cache_has_sparse_vectors_too() {
    let home = corpus();
    let run = |out: &str| {
        let args = ["index", "docs", "-o", out, "--embedder", "fake", "--embedding-cache", "cache", "--max", "60"];
        let (code, _, errors) = run(home.path(), &[&args[..], &WITH].concat());
        assert_eq!(code, 0, "{errors}");
    };
    run("out");
    let before = tree(&home.path().join("out"));
    run("again");
    assert_eq!(before, tree(&home.path().join("again")));
    let texts = stored(&home.path().join("out")).len();
    let database = home.path().join("cache/embeddings-v1.sqlite");
    let rows: i64 = rusqlite::Connection::open(database)
        .unwrap()
        .query_row("SELECT count(*) FROM vectors", [], |row| row.get(0))
        .unwrap();
    assert!(rows as usize >= texts, "{rows} vectors in the cache of {texts} chunks");
}

#[test]
fn a_text_that_the_sparse_model_truncates_is_flagged_or_refused() {
    let home = corpus();
    write(home.path(), "docs/long.md", format!("# Long\n\n{}\n", "The cat sat on the mat. ".repeat(8)).as_bytes());
    index(home.path(), "out", &WITH);
    let flagged = |id: &str| {
        let chunks = stored(&home.path().join("out"));
        let of = chunks.iter().filter(|(chunk, ..)| chunk.starts_with(id)).collect::<Vec<_>>();
        of.iter().any(|(_, flags, _)| flags.iter().any(|flag| flag == "sparse_truncated"))
    };
    assert!(flagged("long.md") && !flagged("a.md"));
    // Reused, the flag stays.
    write(home.path(), "docs/a.md", b"# The cat\n\nSat.\n");
    let said = index(home.path(), "out", &WITH);
    assert!(flagged("long.md") && said["sparse_truncated"].as_u64() > Some(0), "{said}");
    // The parts that are there are no excuse.
    for out in ["denied", "out"] {
        let args = ["index", "docs", "-o", out, "--embedder", "fake", "--max", "60", "--deny-truncation"];
        let (code, _, errors) = run(home.path(), &[&args[..], &WITH].concat());
        assert!(code == 5 && errors.contains("would be truncated to the 40 tokens"), "{code}: {errors}");
    }
}

#[test]
fn a_search_says_which_sparse_model_it_lacks() {
    let home = corpus();
    index(home.path(), "out", &WITH);
    index(home.path(), "plain", &[]);
    let fails = |args: &[&str]| {
        let (code, _, errors) = run(home.path(), &[&["search"], args, &[QUESTION]].concat());
        assert_ne!(code, 0);
        errors
    };
    let errors = fails(&["out"]);
    assert!(errors.contains("was a local folder") && errors.contains("--sparse-model FOLDER"), "{errors}");
    sparse(home.path(), "other", 48, SparseQueries::Network);
    let errors = fails(&["out", "--sparse-model", "other"]);
    assert!(errors.contains("is not the sparse model of the dataset"), "{errors}");
    let errors = fails(&["plain", "--mode", "sparse"]);
    assert!(errors.contains("index with --sparse-model"), "{errors}");
    let (code, _, errors) = run(home.path(), &["search", "out", QUESTION, "--mode", "keyword"]);
    assert_eq!(code, 0, "{errors}");
}

#[test]
fn shards_promotions_and_deletions_keep_sparse_vectors() {
    let home = corpus();
    let run = |args: &[&str]| {
        let (code, out, errors) = run(home.path(), args);
        assert_eq!(code, 0, "{args:?}: {errors}");
        out
    };
    index(home.path(), "whole", &WITH);
    let job = ["--embedder", "fake", "--embedding-cache", "off", "--max", "60"];
    let plan = run(&[&["plan", "docs", "-o", "out", "--shards", "2"], &job[..], &WITH].concat());
    write(home.path(), "plan.json", plan.as_bytes());
    for shard in ["1/2", "2/2"] {
        run(&["run", "--plan", "plan.json", "--shard", shard, "-o", "out"]);
    }
    run(&["commit", "--plan", "plan.json", "-o", "out"]);
    assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("whole")));
    let before = stored(&home.path().join("out"));
    run(&["promote", "out", "a.md", "important"]);
    assert_eq!(stored(&home.path().join("out")), before);
    run(&["delete", "out", "b.md"]);
    let rest: Vec<_> = before.into_iter().filter(|(id, ..)| !id.starts_with("b.md")).collect();
    assert_eq!(stored(&home.path().join("out")), rest);
    run(&["verify", "out"]);
}

#[test]
fn the_same_sparse_model_under_another_name_is_recorded_by_its_new_name() {
    let home = corpus();
    index(home.path(), "out", &WITH);
    std::fs::rename(home.path().join("sparse"), home.path().join("renamed")).unwrap();
    let again = index(home.path(), "out", &["--sparse-model", "renamed"]);
    assert_eq!(again["chunks_reused"], again["chunks"]);
    index(home.path(), "fresh", &["--sparse-model", "renamed"]);
    assert_eq!(tree(&home.path().join("out")), tree(&home.path().join("fresh")));
    let (code, _, errors) = run(home.path(), &["verify", "out"]);
    assert_eq!(code, 0, "{errors}");
}

#[test]
fn a_recorded_sparse_model_is_found_without_the_one_of_the_settings() {
    let home = corpus();
    index(home.path(), "out", &WITH);
    sparse(home.path(), "other", 48, SparseQueries::Network);
    write(home.path(), "chunkmill.toml", b"[embedding]\nsparse_model = 'sparse'\n");
    // A folder has to be named, and the settings name it.
    assert!(!search(home.path(), "out", &[]).is_empty());
}
