//! Small vectors: do bytes and signs find what floats find?

use chunkmill::dataset::Dataset;
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Engine, load};
use chunkmill::search::{FoundChunk, Mode, Query, Searcher};
use tempfile::TempDir;

use crate::common::{run, write};
use crate::dataset::jobs::Numbers;

/// More chunks than are scored again.
const DOCUMENTS: usize = 70;
const SECTIONS: usize = 40;

fn sentence(random: &mut Numbers, words: usize) -> String {
    (0..words).map(|_| format!("w{} ", 1 + random.below(1 + random.clone().below(400)))).collect()
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
    for document in 0..DOCUMENTS {
        let sections = (0..SECTIONS).map(|at| format!("## Part {at}\n\n{}\n\n", sentence(&mut random, 30)));
        write(home.path(), &format!("docs/{document}.md"), sections.collect::<String>().as_bytes());
    }
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
    for (types, least, most) in [("f32,int8", 300, 0.02), ("f32,bits", 285, 0.15), ("int8,bits", 280, 0.15), ("int8", 285, 0.02)] {
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
        let together = small.nearest(&queries, 10, &chunkmill::search::Filter::default()).unwrap();
        for (at, together) in together.iter().enumerate() {
            assert_eq!(*together, found(&small, Mode::Vector, at));
        }
    }
}
