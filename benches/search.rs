//! Latency of one question over 100,000 chunks with vectors of 384 values: by vector, by keyword, by both, and with
//! sparse vectors of 60 tokens; and with vectors in bytes and signs.
//!
//! Vectors are random directions, and texts are random words with the word frequencies of a language. An exact
//! search reads all of them, whatever they contain. The job itself builds the dataset once, in a temporary folder.
//! `make bench` runs this and prints percentiles next to criterion's means.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::pedantic,
    reason = "criterion's macros, and a benchmark may fail"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use chunkmill::chunk::Spec;
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter as CorpusFilter, Root};
use chunkmill::dataset::{Dataset, FloatEncoding, Output};
use chunkmill::document::Admission;
use chunkmill::duplicates::DropRule;
use chunkmill::embed::{
    Batching, Embedder, EmbeddingTypes, EncodedText, Engine, ModelInfo, ModelInput, Parallel, Precision, Reads, Role,
    SparseEmbedder, SparseModel, SparseVector,
};
use chunkmill::error::Result;
use chunkmill::job::{Job, run};
use chunkmill::search::{Mode, Packing, Query, Ranking, Searcher, Share};
use chunkmill::tokens::{TokenCounter, cl100k};
use criterion::{Criterion, criterion_group, criterion_main};
use rayon::prelude::*;

/// Documents, of 100 chunks each, unless the variable `DOCUMENTS` says another number.
const DOCUMENTS: usize = 1000;
const SECTIONS: usize = 100;
const WORDS: usize = 80;
const DIM: usize = 384;
const QUESTIONS: u64 = 500;

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns one of 50,000 words, the n-th about as often as 1/n.
    fn word(&mut self) -> String {
        format!("w{}", 50_000f64.powf(self.unit()) as u64)
    }

    fn direction(&mut self) -> Vec<f32> {
        let normal = |random: &mut Self| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let values: Vec<f64> = (0..DIM).map(|_| normal(self)).collect();
        let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
        values.iter().map(|x| (x / length) as f32).collect()
    }
}

/// Number of weights of a chunk's sparse vector.
const TOKENS: usize = 60;

/// A sparse model that returns random tokens of 30,000 for each text, the n-th about as often as 1/n.
struct Tokens(SparseModel);

impl Tokens {
    fn vector(random: &mut Random, count: usize) -> SparseVector {
        let token = |random: &mut Random| (30_000f64.powf(random.unit()) as u32, random.unit() as f32);
        SparseVector::rounded((0..count).map(|_| token(random)))
    }
}

impl SparseEmbedder for Tokens {
    fn info(&self) -> &SparseModel {
        &self.0
    }

    fn encode(&self, text: &str) -> Result<EncodedText> {
        Ok(hashed(text))
    }

    fn embed(&self, batch: &[&[u32]]) -> Result<Vec<SparseVector>> {
        let seed = |ids: &[u32]| Random(u64::from(ids[2]) << 32 | u64::from(ids[3]));
        Ok(batch.iter().map(|ids| Self::vector(&mut seed(ids), TOKENS)).collect())
    }

    fn query(&self, _: &str) -> Result<SparseVector> {
        Ok(SparseVector::default())
    }
}

/// Returns the hash of a text as its tokens.
fn hashed(text: &str) -> EncodedText {
    let hash = blake3::hash(text.as_bytes());
    let ids = hash.as_bytes().as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    EncodedText { ids, n_tokens: 8, cut: None }
}

/// An embedder that returns a random direction for each text.
struct Directions(ModelInfo, Tokens);

impl Directions {
    fn new() -> Self {
        let sparse = SparseModel {
            id: "tokens".to_owned(),
            revision: None,
            vocabulary: 30_000,
            max_tokens: 512,
            precision: Precision::F32,
            fingerprint: "tokens".to_owned(),
            arithmetic: String::new(),
            files: BTreeMap::new(),
        };
        let info = ModelInfo {
            id: "directions".to_owned(),
            revision: None,
            files: BTreeMap::new(),
            dim: DIM,
            max_tokens: 512,
            pooling: "mean".to_owned(),
            normalize: true,
            engine: Engine::Fake,
            precision: Precision::F32,
            fingerprint: "directions".to_owned(),
            arithmetic: String::new(),
            query: None,
            sparse: Some(sparse.clone()),
            service: None,
        };
        Self(info, Tokens(sparse))
    }
}

impl Embedder for Directions {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    fn encode(&self, text: &str, _: Role) -> Result<EncodedText> {
        Ok(hashed(text))
    }

    fn sparse(&self) -> Option<&dyn SparseEmbedder> {
        Some(&self.1)
    }

    fn embed(&self, batch: &[ModelInput<'_>]) -> Result<Vec<f32>> {
        let direction = |ids: &[u32]| Random(u64::from(ids[0]) << 32 | u64::from(ids[1])).direction();
        Ok(batch.iter().flat_map(|input| direction(input.ids)).collect())
    }

    fn counter(&self) -> &dyn TokenCounter {
        cl100k()
    }

    fn batching(&self) -> Batching {
        Batching {
            reads: Reads::Ids,
            tokens: 2048,
            texts: usize::MAX,
            mixed: true,
            padded: false,
            parallel: Parallel::Cores,
            remember: true,
        }
    }
}

fn index(folder: &Path) -> Dataset {
    let mut random = Random(1);
    std::fs::create_dir(folder.join("docs")).unwrap();
    let documents = std::env::var("DOCUMENTS").map_or(DOCUMENTS, |number| number.parse().unwrap());
    for document in 0..documents {
        let mut text = String::new();
        for section in 0..SECTIONS {
            let words: Vec<String> = (0..WORDS).map(|_| random.word()).collect();
            write!(text, "## {} {section}\n\n{}\n\n", random.word(), words.join(" ")).unwrap();
        }
        std::fs::write(folder.join(format!("docs/{document}.md")), text).unwrap();
    }
    let job = Job {
        roots: vec![Root::new(folder.join("docs"))],
        filter: CorpusFilter::new(&[], &[], true, DEFAULT_MAX_BYTES).unwrap(),
        admission: Admission::default(),
        drop_duplicates: DropRule::None,
        skip_boilerplate: None,
        spec: "heading-tokens".parse::<Spec>().unwrap(),
        output: Output { files: 8, embedding_type: EmbeddingTypes::default(), float_encoding: FloatEncoding::Bss },
        batch_tokens: None,
        deny_truncation: false,
        fresh: true,
        allow_shrink: true,
        cache: None,
    };
    let out = folder.join("out");
    run(&job, &out.as_path().into(), &Directions::new(), &AtomicBool::new(false), &|_| ()).unwrap();
    Dataset::open(&out).unwrap()
}

/// A question of six words, with its vectors.
struct Question {
    text: String,
    vector: Vec<f32>,
    sparse: SparseVector,
}

fn question(number: u64) -> Question {
    let mut random = Random(number + 1_000_000);
    let words: Vec<String> = (0..6).map(|_| random.word()).collect();
    Question { text: words.join(" "), vector: random.direction(), sparse: Tokens::vector(&mut random, 8) }
}

/// Returns the default ranking, without sparse vectors unless they are wanted.
fn ranking(with_sparse: bool) -> Ranking {
    let default = Ranking::default();
    if with_sparse { default } else { Ranking { sparse_share: Share::ZERO, ..default } }
}

fn ask(searcher: &Searcher, mode: Mode, question: &Question, with_sparse: bool, texts: bool) -> usize {
    let Question { text, vector, sparse } = question;
    let ranking = ranking(with_sparse);
    let query = Query { mode, text, vector: Some(vector), sparse: Some(sparse), k: 10, ranking, ..Query::default() };
    let found = searcher.search(&query).unwrap();
    if texts { searcher.hits(&found, false).unwrap().len() } else { found.len() }
}

/// Prints how much memory this process has for itself, and how much of it is files that others can share.
fn memory(when: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("RssAnon") || line.starts_with("RssFile"));
    let lines: Vec<String> = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    eprintln!("memory {when}: {}", lines.join(", "));
}

/// Prints how long questions take with vectors in each width, next to one read of the bytes that a question reads.
fn small_vectors(dataset: &Dataset, cache: &Path, questions: &[Question]) {
    let chunks = dataset.manifest().counts.chunks as usize;
    for (types, bytes) in [
        ("f32", 4 * DIM),
        ("f32,int8", DIM),
        ("f32,bits", DIM / 8),
        ("int8", DIM),
        ("int8,bits", DIM / 8),
        ("bits", DIM / 8),
    ] {
        let searcher = Searcher::open_as(dataset.clone(), Some(cache.to_owned()), types.parse().unwrap()).unwrap();
        searcher.prepare(Mode::Hybrid, &ranking(false)).unwrap();
        let words = vec![1_u64; chunks * bytes / 8];
        let mut times: [Vec<Duration>; 4] = Default::default();
        let timed = |times: &mut Vec<Duration>, work: &mut dyn FnMut()| {
            let start = Instant::now();
            work();
            times.push(start.elapsed());
        };
        // By turns, because other work on the machine comes and goes.
        for question in &questions[..200] {
            timed(&mut times[0], &mut || {
                black_box(words.par_chunks(1 << 16).map(|words| words.iter().sum::<u64>()).sum::<u64>());
            });
            timed(&mut times[1], &mut || {
                black_box(ask(&searcher, Mode::Vector, question, false, false));
            });
        }
        for question in &questions[..200] {
            timed(&mut times[2], &mut || {
                black_box(ask(&searcher, Mode::Hybrid, question, false, false));
            });
            timed(&mut times[3], &mut || {
                black_box(ask(&searcher, Mode::Vector, question, false, false));
            });
        }
        let of = ["read", "vector", "hybrid", "vector after hybrid"].into_iter().zip(times).map(|(of, mut times)| {
            times.sort_unstable();
            let [p50, p95] = [times.len() / 2, times.len() * 19 / 20].map(|at| times[at].as_secs_f64() * 1e3);
            format!("{of} p50 {p50:.2}, p95 {p95:.2} ms")
        });
        eprintln!("{types:<9} {}", of.collect::<Vec<_>>().join("; "));
    }
}

fn latency(c: &mut Criterion) {
    let folder = tempfile::TempDir::new().unwrap();
    let dataset = index(folder.path());
    let chunks = dataset.manifest().counts.chunks;
    let timed = |what: &str, work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        eprintln!("{what:<34} {:>8.1} ms", start.elapsed().as_secs_f64() * 1e3);
    };
    let cache = folder.path().join("cache");
    let default = Ranking::default();
    let mut searcher = None;
    timed("open", &mut || searcher = Some(Searcher::open(dataset.clone(), Some(cache.clone())).unwrap()));
    let searcher = searcher.unwrap();
    timed("read the vectors", &mut || searcher.prepare(Mode::Vector, &default).unwrap());
    timed("build the keyword index", &mut || searcher.prepare(Mode::Keyword, &default).unwrap());
    timed("read the sparse vectors", &mut || searcher.prepare(Mode::Sparse, &default).unwrap());
    memory("after reading the dataset");
    drop(searcher);
    let mut searcher = None;
    timed("open from the cache", &mut || {
        searcher = Some(Searcher::open(dataset.clone(), Some(cache.clone())).unwrap())
    });
    let searcher = searcher.unwrap();
    for (what, mode) in [("vectors", Mode::Vector), ("keyword index", Mode::Keyword), ("sparse vectors", Mode::Sparse)]
    {
        timed(&format!("the {what} from the cache"), &mut || searcher.prepare(mode, &default).unwrap());
    }
    memory("from the cache");
    let questions: Vec<_> = (0..QUESTIONS).map(question).collect();
    small_vectors(searcher.dataset(), &cache, &questions);
    for (mode, with_sparse, texts) in [
        (Mode::Vector, false, false),
        (Mode::Keyword, false, false),
        (Mode::Sparse, true, false),
        (Mode::Hybrid, false, false),
        (Mode::Hybrid, true, false),
        (Mode::Hybrid, false, true),
    ] {
        let mut times: Vec<Duration> = Vec::new();
        for question in &questions {
            let start = Instant::now();
            black_box(ask(&searcher, mode, question, with_sparse, texts));
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let at = |share: f64| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1e3;
        let sparse = if with_sparse && mode == Mode::Hybrid { " and sparse" } else { "" };
        let what = format!("{mode}{sparse}{}", if texts { " with texts" } else { "" });
        eprintln!("{chunks} chunks, {what:<19} p50 {:.1}, p95 {:.1}, p99 {:.1} ms", at(0.5), at(0.95), at(0.99));
    }
    let mut times: Vec<Duration> = Vec::new();
    for question in &questions {
        let (text, vector, ranking) = (&*question.text, Some(&*question.vector), ranking(false));
        let found = searcher.search(&Query { text, vector, ranking, k: 50, ..Query::default() }).unwrap();
        let start = Instant::now();
        black_box(searcher.context(&found, 2000, Packing::Evidence).unwrap());
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1e3;
    eprintln!(
        "a context of 2,000 tokens from 50 hits, including their texts: p50 {:.1}, p95 {:.1} ms",
        at(0.5),
        at(0.95)
    );
    let vectors: Vec<&[f32]> = questions.iter().map(|question| &question.vector[..]).collect();
    timed("500 questions by vector at once", &mut || {
        black_box(searcher.nearest(&vectors, 10, &chunkmill::search::Filter::default()).unwrap());
    });
    let mut group = c.benchmark_group("search");
    group.sample_size(50);
    for mode in [Mode::Vector, Mode::Keyword, Mode::Hybrid] {
        let mut next = 0;
        group.bench_function(mode.name(), |b| {
            b.iter(|| {
                next = (next + 1) % questions.len();
                ask(&searcher, mode, &questions[next], false, false)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, latency);
criterion_main!(benches);
