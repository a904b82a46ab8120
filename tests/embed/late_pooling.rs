//! Late pooling: every token's state counts once, from the window that cuts the text farthest from it. Nothing
//! depends on threads, batches, caches, or how a document's chunks are requested.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Batcher, Cache, Embedder, EmbeddingResult, Engine, Passage, Reading, Window, load};
use tempfile::TempDir;

use crate::common::{folder, run};
use crate::tiny::tiny_model;

fn read(batcher: &mut Batcher<'_>, readings: &[Reading]) -> EmbeddingResult {
    batcher.read(readings, &AtomicBool::new(false), &|_, _| ()).unwrap()
}

fn reading(name: Option<&str>, text: &str, spans: &[Range<usize>]) -> Reading {
    Reading { passage: Arc::new(Passage::new(name.map(str::to_owned), text.to_owned())), spans: spans.to_vec() }
}

/// Returns a document of several windows, and spans of every kind in it.
fn document() -> (String, Vec<Range<usize>>) {
    let words = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran"];
    let text: String =
        (0..90).map(|i| format!("{}{}", words[i * i % 7 % 8], if i % 9 == 8 { "\n" } else { " " })).collect();
    let len = text.len();
    let spans = vec![0..len, 0..3, 4..40, 30..len / 2, len / 2..len, len - 4..len, 100..101, 3..4];
    (text, spans)
}

/// Computes the mean over a chunk's tokens, each on its own from the window that cuts the text farthest from it, or
/// the later window in a tie.
fn expected(embedder: &dyn Embedder, name: Option<&str>, text: &str, span: &Range<usize>) -> Vec<f64> {
    let by_token = embedder.by_token().unwrap();
    let [before, after] = by_token.frame(name).unwrap();
    let tokens = by_token.tokens(text).unwrap();
    let room = embedder.info().max_tokens - before.len() - after.len();
    let mut starts = vec![0];
    while starts[starts.len() - 1] + room < tokens.len() {
        starts.push(starts.len() * (room * 3 / 4));
    }
    let mut vector = vec![0.0; embedder.info().dim];
    for (at, token) in tokens.iter().enumerate() {
        if token.end as usize <= span.start || token.start as usize >= span.end {
            continue;
        }
        let end = |start: usize| (start + room).min(tokens.len());
        // The distance to the nearest place where the window cuts the text.
        let depth = |start: usize| {
            let left = if start == 0 { usize::MAX } else { at - start };
            left.min(if end(start) == tokens.len() { usize::MAX } else { end(start) - 1 - at })
        };
        let holds = starts.iter().copied().filter(|&start| (start..end(start)).contains(&at));
        let start = holds.max_by_key(|&start| depth(start)).unwrap();
        let inner = tokens[start..end(start)].iter().map(|token| token.id);
        let ids = before.iter().copied().chain(inner).chain(after.iter().copied()).collect();
        let own = before.len() + at - start;
        let window = Window { ids, ranges: std::iter::once(own..own + 1).collect() };
        let state = by_token.sums(&[&window]).unwrap();
        vector.iter_mut().zip(&state).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    vector
}

fn cosine(a: &[f32], b: &[f64]) -> f64 {
    let dot = a.iter().zip(b).map(|(&a, b)| f64::from(a) * b).sum::<f64>();
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    dot / norm(&mut a.iter().map(|&x| f64::from(x))) / norm(&mut b.iter().copied())
}

#[test]
fn a_vector_is_the_mean_over_the_tokens_of_its_chunk() {
    let home = TempDir::new().unwrap();
    tiny_model(home.path());
    let (text, spans) = document();
    for engine in [Engine::Cpu, Engine::Candle] {
        let embedder = load(engine, &ModelRef::Folder(home.path().to_owned())).unwrap();
        let dim = embedder.info().dim;
        for name in [None, Some("dog")] {
            let all = read(&mut Batcher::new(embedder.as_ref(), None), &[reading(name, &text, &spans)]);
            let tokens = embedder.by_token().unwrap().tokens(&text).unwrap();
            assert!(all.tokens_read > tokens.len(), "windows overlap");
            for (index, span) in spans.iter().enumerate().filter(|(_, span)| !text[(*span).clone()].trim().is_empty()) {
                let vector = &all.vectors[index * dim..][..dim];
                let cosine = cosine(vector, &expected(embedder.as_ref(), name, &text, span));
                assert!(cosine > 0.9999, "{engine} {name:?} {span:?}: {cosine}");
                let overlap = tokens.iter().filter(|t| (t.end as usize) > span.start && (t.start as usize) < span.end);
                assert_eq!(all.n_tokens[index], overlap.count());
            }
        }
    }
}

#[test]
fn a_document_within_the_limit_whose_chunk_is_all_of_it_is_read_as_a_text_is() {
    let home = TempDir::new().unwrap();
    tiny_model(home.path());
    let embedder = load(Engine::Cpu, &ModelRef::Folder(home.path().to_owned())).unwrap();
    let by_token = embedder.by_token().unwrap();
    let text = "the cat sat on a mat";
    let [before, after] = by_token.frame(None).unwrap();
    let ids: Vec<u32> = by_token.tokens(text).unwrap().iter().map(|token| token.id).collect();
    let whole = embedder.encode(text, chunkmill::embed::Role::Document).unwrap().ids;
    assert_eq!([before, ids, after].concat(), whole);
    let sum =
        by_token.sums(&[&Window { ids: whole.clone(), ranges: std::iter::once(0..whole.len()).collect() }]).unwrap();
    let vector = embedder.embed_ids(&[&whole]).unwrap();
    assert!(cosine(&vector, &sum.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()) > 0.999_999);
}

#[test]
fn not_a_bit_depends_on_batches_caches_or_what_else_is_asked_for() {
    let home = TempDir::new().unwrap();
    tiny_model(home.path());
    let embedder = load(Engine::Cpu, &ModelRef::Folder(home.path().to_owned())).unwrap();
    let embedder = embedder.as_ref();
    let (text, spans) = document();
    let readings = [
        reading(None, &text, &spans),
        reading(Some("mat"), &text, &spans),
        reading(None, "", std::slice::from_ref(&(0..0))),
    ];
    let all = read(&mut Batcher::new(embedder, None), &readings);
    assert!(all.vectors.iter().all(|x| x.is_finite()));
    for tokens in [1, 30, 4096] {
        assert!(all.vectors == read(&mut Batcher::new(embedder, Some(tokens)), &readings).vectors, "{tokens}");
    }
    let alone: Vec<f32> = readings
        .iter()
        .flat_map(|of| of.spans.iter().map(|span| Reading { spans: vec![span.clone()], ..of.clone() }))
        .flat_map(|one| read(&mut Batcher::new(embedder, None), &[one]).vectors)
        .collect();
    assert!(all.vectors == alone, "chunks that are requested one by one");
    let cache = TempDir::new().unwrap();
    let cache = Cache::open(cache.path(), 1 << 20).unwrap();
    let cached = || read(&mut Batcher::new(embedder, None).with_cache(Some(&cache)), &readings);
    let (first, again) = (cached(), cached());
    assert!(first.computed > 0 && again.computed == 0 && again.tokens_read == 0);
    assert!(all.vectors == first.vectors && all.vectors == again.vectors);
}

#[test]
fn a_job_reads_documents_and_says_so() {
    let long =
        format!("# Cats\n\n{}\n\n## Dogs\n\n{}\n", "the cat sat on a mat. ".repeat(80), "the dog ran. ".repeat(90));
    let home = folder(&[("docs/long.md", &long), ("docs/short.md", "# Mats\n\nA mat.\n"), ("docs/blank.txt", " \n")]);
    let index = |out: &str, args: &[&str]| {
        let all = [&["index", "docs", "--output", out, "--embedder", "fake", "--json"], args].concat();
        let (code, _, said) = run(home.path(), &all);
        assert_eq!(code, 0, "{said}");
    };
    let id = |out: &str| {
        let text = std::fs::read_to_string(home.path().join(out).join("manifest.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["files"].clone()
    };
    index("one", &["--pooling", "late", "--threads", "1"]);
    index("two", &["--pooling", "late", "--threads", "2", "--batch-tokens", "7"]);
    index("chunk", &[]);
    assert_eq!(id("one"), id("two"));
    let said = run(home.path(), &["stats", "one"]).1;
    assert!(said.contains("the model read each document whole"), "{said}");
    assert_ne!(id("one"), id("chunk"));
    // After an edit, the dataset is the same as after a run from scratch.
    std::fs::write(home.path().join("docs/long.md"), long.replace("Dogs", "Birds")).unwrap();
    index("two", &["--pooling", "late"]);
    index("fresh", &["--pooling", "late"]);
    assert_eq!(id("two"), id("fresh"));
    assert_ne!(id("one"), id("two"));
}

#[test]
fn a_model_that_does_not_pool_by_mean_is_refused() {
    let home = folder(&[("docs/a.md", "the cat sat on a mat\n")]);
    tiny_model(&home.path().join("tiny"));
    std::fs::write(home.path().join("tiny/1_Pooling/config.json"), r#"{"pooling_mode_cls_token": true}"#).unwrap();
    let (code, _, refused) =
        run(home.path(), &["index", "docs", "-o", "out", "--model", "./tiny", "--pooling", "late"]);
    assert_eq!(code, 2, "{refused}");
    assert!(refused.contains("pools by `cls`") && refused.contains("--pooling chunk"), "{refused}");
}
