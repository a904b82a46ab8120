//! Many chunks: do bytes and signs find what floats find, and what sets the scale of scores?

use chunkmill::dataset::Dataset;
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Engine, load};
use chunkmill::search::{Filter, FoundChunk, Fusion, Mode, Query, Ranking, Searcher};
use tempfile::TempDir;

use crate::common::{run, write};
use crate::dataset::jobs::Numbers;

/// More chunks than are scored again.
const DOCUMENTS: usize = 70;
const SECTIONS: usize = 40;

fn sentence(random: &mut Numbers, words: usize) -> String {
    (0..words).map(|_| format!("w{} ", 1 + random.below(1 + random.clone().below(400)))).collect()
}

fn corpus(home: &TempDir, random: &mut Numbers) {
    for document in 0..DOCUMENTS {
        let sections = (0..SECTIONS).map(|at| format!("## Part {at}\n\n{}\n\n", sentence(random, 30)));
        write(home.path(), &format!("docs/{document}.md"), sections.collect::<String>().as_bytes());
    }
}

/// Returns a searcher of the same corpus, whose vectors are stored in these types.
fn searcher(home: &TempDir, types: &str) -> Searcher {
    let args = ["index", "docs", "-o", types, "--embedder", "fake", "--preset", "ragdocs", "--min", "1"];
    let (code, _, err) = run(home.path(), &[&args[..], &["--embedding-type", types]].concat());
    assert_eq!(code, 0, "{err}");
    let searcher = Searcher::open(Dataset::open(home.path().join(types)).unwrap(), None).unwrap();
    assert!(searcher.len() >= DOCUMENTS * SECTIONS);
    searcher
}

#[test]
fn small_vectors_find_what_floats_find_and_score_it_nearly_alike() {
    let home = TempDir::new().unwrap();
    let mut random = Numbers::new(3);
    corpus(&home, &mut random);
    let questions: Vec<String> = (0..30).map(|_| sentence(&mut random, 8)).collect();
    let embedder = load(Engine::Fake, &ModelRef::default()).unwrap();
    let vectors: Vec<Vec<f32>> =
        questions.iter().map(|text| chunkmill::embed::query(embedder.as_ref(), text).unwrap()).collect();
    let found = |searcher: &Searcher, mode: Mode, at: usize| -> Vec<FoundChunk> {
        let (text, vector) = (questions[at].as_str(), Some(&vectors[at][..]));
        searcher.search(&Query { mode, text, vector, k: 10, ..Query::default() }).unwrap()
    };
    let floats = searcher(&home, "f32");
    // How many of the best ten are found at least, of 300, and how far their scores may be off.
    for (types, least, most) in
        [("f32,int8", 300, 0.02), ("f32,bits", 285, 0.15), ("int8,bits", 280, 0.15), ("int8", 285, 0.05)]
    {
        let small = searcher(&home, types);
        for mode in [Mode::Vector, Mode::Hybrid] {
            let mut shared = 0;
            for at in 0..questions.len() {
                let (wanted, found) = (found(&floats, mode, at), found(&small, mode, at));
                assert_eq!(found.len(), 10);
                for wanted in wanted {
                    let Some(same) = found.iter().find(|found| found.row == wanted.row) else { continue };
                    shared += 1;
                    let difference = (same.score - wanted.score).abs();
                    assert!(difference <= most * wanted.score.abs().max(0.1), "{types} {mode}: {same:?} {wanted:?}");
                }
            }
            assert!(shared >= least, "{types} {mode}: {shared}");
        }
        let queries: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let together = small.nearest(&queries, 10, &Filter::default()).unwrap();
        for (at, together) in together.iter().enumerate() {
            assert_eq!(*together, found(&small, Mode::Vector, at));
        }
    }
}

#[test]
fn many_questions_at_once_find_what_each_finds_alone() {
    let home = TempDir::new().unwrap();
    let mut random = Numbers::new(5);
    corpus(&home, &mut random);
    let embedder = load(Engine::Fake, &ModelRef::default()).unwrap();
    let texts: Vec<String> = (0..20).map(|_| sentence(&mut random, 8)).collect();
    let mut vectors: Vec<Vec<f32>> =
        texts.iter().map(|text| chunkmill::embed::query(embedder.as_ref(), text).unwrap()).collect();
    // Also questions that are no text's: of one value, of zeros, of any length, and random ones, which are near to nothing.
    let dim = vectors[0].len();
    for at in [0, 1, dim - 1] {
        let one = |value: f32| (0..dim).map(|place| if place == at { value } else { 0.0 }).collect();
        vectors.extend([one(1.0), one(-3.0)]);
    }
    vectors.extend([0.0, 1e-44, 1e-30, 1e-5, 1e5, 1e15].map(|size| vectors[3].iter().map(|x| x * size).collect()));
    vectors.extend((0..20).map(|_| (0..dim).map(|_| random.below(2001) as f32 / 1000.0 - 1.0).collect()));
    let queries: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
    let some = Filter { paths: vec!["**/*1*".to_owned().into()], ..Filter::default() };
    for types in ["f32", "f16", "int8", "bits", "f32,int8", "f16,bits"] {
        let searcher = searcher(&home, types);
        for (k, filter) in [(1, &Filter::default()), (10, &some), (60, &Filter::default()), (10_000, &some)] {
            let together = searcher.nearest(&queries, k, filter).unwrap();
            for (query, together) in queries.iter().zip(together) {
                let vector = Some(*query);
                let query = Query { mode: Mode::Vector, vector, k, filter: filter.clone(), ..Query::default() };
                assert_eq!(together, searcher.search(&query).unwrap(), "{types}, {k} hits");
            }
        }
    }
}

#[test]
fn small_vectors_serve_every_mode_filter_and_number_of_hits_on_any_number_of_threads() {
    let home = TempDir::new().unwrap();
    let mut random = Numbers::new(9);
    corpus(&home, &mut random);
    let (floats, embedder) = (searcher(&home, "f32"), load(Engine::Fake, &ModelRef::default()).unwrap());
    let text = sentence(&mut random, 8);
    let vector = chunkmill::embed::query(embedder.as_ref(), &text).unwrap();
    let threads = |count: usize| rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
    for types in ["f32,bits", "f16,int8", "bits"] {
        let small = searcher(&home, types);
        for mode in Mode::ALL.into_iter().filter(|mode| *mode != Mode::Sparse) {
            for fusion in Fusion::ALL {
                for (path, k) in [(None, 5), (Some("3.md"), 5), (None, 100_000), (Some("3.md"), 100_000)] {
                    let paths = path.iter().map(|path| path.parse().unwrap()).collect();
                    let (filter, ranking) =
                        (Filter { paths, ..Filter::default() }, Ranking { fusion, ..Ranking::default() });
                    let query =
                        Query { mode, text: &text, vector: Some(&vector), k, filter, ranking, ..Query::default() };
                    let found = threads(1).install(|| small.search(&query).unwrap());
                    assert_eq!(found, threads(3).install(|| small.search(&query).unwrap()), "{types} {mode} {k}");
                    let wanted = floats.search(&query).unwrap();
                    // Ranks are those of lists of a fixed length, which share other rows.
                    let is_fused = fusion == Fusion::Rrf && matches!(mode, Mode::Hybrid | Mode::Graph);
                    assert!(is_fused || found.len() == wanted.len(), "{types} {mode} {k}");
                    assert!(!found.is_empty() || path.is_some(), "{types} {mode} {k}");
                    assert!(found.is_sorted_by(|a, b| a.score >= b.score) && found.iter().all(|f| f.score.is_finite()));
                    if path.is_some() {
                        assert!(found.len() <= SECTIONS);
                    }
                }
            }
        }
    }
}

#[test]
fn among_many_chunks_the_best_thousand_set_the_scale() {
    let home = TempDir::new().unwrap();
    let mut random = Numbers::new(5);
    corpus(&home, &mut random);
    let searcher = searcher(&home, "f32");
    let embedder = load(Engine::Fake, &ModelRef::default()).unwrap();
    for _ in 0..5 {
        let text = sentence(&mut random, 8);
        let vector = chunkmill::embed::query(embedder.as_ref(), &text).unwrap();
        let query = Query { text: &text, vector: Some(&vector), k: searcher.len(), ..Query::default() };
        let found = searcher.search(&query).unwrap();
        assert_eq!(found.len(), searcher.len());
        let of = |part: fn(&FoundChunk) -> Option<f64>| -> Vec<f64> {
            found.iter().map(|found| part(found).unwrap_or_default()).collect()
        };
        let vectors = of(|found| found.parts.vector.map(|part| part.score));
        let keywords = of(|found| found.parts.keyword.map(|part| part.score));
        let z = |scores: &[f64]| -> Vec<f64> {
            let mut best = scores.to_vec();
            best.sort_by(|a, b| b.total_cmp(a));
            best.truncate(1000);
            let mean = best.iter().sum::<f64>() / 1000.0;
            let variance = best.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / 1000.0;
            scores.iter().map(|score| (score - mean) / variance.sqrt()).collect()
        };
        for ((found, vector), keyword) in found.iter().zip(z(&vectors)).zip(z(&keywords)) {
            let sum = 0.6 * vector + 0.4 * keyword;
            assert!((found.score - sum).abs() < 1e-4 * sum.abs().max(1.0), "{found:?}: {sum}");
        }
    }
}
