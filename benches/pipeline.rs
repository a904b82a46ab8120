//! Throughput of each stage on our own corpus: parsing, counting, chunking per strategy and unit, lines of JSON,
//! embedding, and the whole job without a model.
//!
//! `make bench` runs it. Compare runs by ratio: machines differ, and shared ones are noisy.

#![allow(missing_docs, clippy::unwrap_used, reason = "criterion's macros, and a benchmark may fail")]

use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use chunkmill::chunk::{Spec, chunk};
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root, discover, read};
use chunkmill::dataset::{ChunkLines, ChunkRow, DocumentRow, FloatEncoding, Output};
use chunkmill::document::{Admission, Document, Layer, Origin, ReadSettings};
use chunkmill::duplicates::DropRule;
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Batcher, EmbeddingTypes, Engine, Role, load};
use chunkmill::job::{Job, Recipe, run};
use chunkmill::tokens::{TokenCounter, cl100k};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn root() -> Root {
    Root::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder/corpus"))
}

fn filter() -> Filter {
    Filter::new(&[], &[], true, DEFAULT_MAX_BYTES).unwrap()
}

fn layers() -> Vec<(Origin, Layer)> {
    let found = discover(&[root()], &filter(), &[]).unwrap();
    found.sources.into_iter().map(|source| read(source, &ReadSettings::default()).unwrap()).collect()
}

fn parsed() -> Vec<Document> {
    layers().into_iter().map(|(origin, layer)| Document::parse(origin, layer)).collect()
}

fn bytes(documents: &[Document]) -> Throughput {
    Throughput::Bytes(documents.iter().map(|document| document.text.len() as u64).sum())
}

fn stages(c: &mut Criterion) {
    let documents = parsed();
    let mut group = c.benchmark_group("stage");
    group.throughput(bytes(&documents));
    group.bench_function("parse", |b| {
        b.iter_batched(
            layers,
            |layers| {
                layers.into_iter().map(|(origin, layer)| Document::parse(origin, layer).blocks.len()).sum::<usize>()
            },
            criterion::BatchSize::LargeInput,
        );
    });
    group.bench_function("count", |b| {
        b.iter(|| documents.iter().map(|document| cl100k().count(black_box(&document.text)).unwrap()).sum::<usize>());
    });
    group.finish();
}

fn strategies(c: &mut Criterion) {
    let documents = parsed();
    let mut group = c.benchmark_group("chunk");
    group.throughput(bytes(&documents));
    for text in [
        "ragdocs",
        "header unit=tokens min=50 max=400 overlap=20",
        "heading-tokens",
        "heading unit=chars max=1500 overlap=50",
        "none",
    ] {
        let spec: Spec = text.parse().unwrap();
        group.bench_with_input(BenchmarkId::from_parameter(text), &spec, |b, spec| {
            let sizer = spec.sizer(None).unwrap();
            b.iter(|| documents.iter().map(|document| chunk(document, spec, sizer).unwrap().len()).sum::<usize>());
        });
    }
    group.finish();
}

fn lines(c: &mut Criterion) {
    let spec: Spec = "heading-tokens".parse().unwrap();
    let sizer = spec.sizer(None).unwrap();
    let recipe = Recipe { spec: &spec, sizer, admission: Admission::default(), levels: None };
    let rows = |source| {
        let cut = recipe.cut(source).unwrap().unwrap();
        (cut.row.clone(), cut.rows().collect())
    };
    let found = discover(&[root()], &filter(), &[]).unwrap();
    let documents: Vec<(DocumentRow, Vec<ChunkRow>)> = found.sources.into_iter().map(rows).collect();
    let mut out = Vec::new();
    let ours = |out: &mut Vec<u8>| {
        out.clear();
        for (document, rows) in &documents {
            let lines = ChunkLines::new(document);
            for row in rows {
                lines.push(row, out);
            }
        }
    };
    ours(&mut out);
    let mut group = c.benchmark_group("lines");
    group.throughput(Throughput::Bytes(out.len() as u64));
    group.bench_function("ours", |b| b.iter(|| ours(&mut out)));
    group.bench_function("serde_json", |b| {
        b.iter(|| {
            out.clear();
            for row in documents.iter().flat_map(|(_, rows)| rows) {
                serde_json::to_writer(&mut out, row).unwrap();
                out.push(b'\n');
            }
        });
    });
    group.finish();
}

fn embedding(c: &mut Criterion) {
    let stop = AtomicBool::new(false);
    let spec = Spec::default();
    let sizer = spec.sizer(None).unwrap();
    let texts: Vec<String> = parsed()
        .iter()
        .flat_map(|document| {
            let chunks = chunk(document, &spec, sizer).unwrap();
            chunks.iter().map(|chunk| chunk.content(document)).collect::<Vec<_>>()
        })
        .take(64)
        .collect();
    let mut group = c.benchmark_group("embed");
    group.sample_size(10);
    for (name, engine) in [("fake", Engine::Fake), ("candle", Engine::Candle)] {
        // The real model is only measured if `make model` has downloaded it.
        let Ok(embedder) = load(engine, &ModelRef::default()) else { continue };
        let once =
            || Batcher::new(embedder.as_ref(), Some(2048)).embed(&texts, Role::Document, &stop, &|_, _| ()).unwrap();
        group.throughput(Throughput::Elements(once().tokens_read as u64));
        group.bench_function(name, |b| b.iter(once));
    }
    group.finish();
}

fn job(c: &mut Criterion) {
    let documents = parsed();
    let embedder = load(Engine::Fake, &ModelRef::default()).unwrap();
    let job = Job {
        roots: vec![root()],
        filter: filter(),
        admission: Admission::default(),
        drop_duplicates: DropRule::None,
        skip_boilerplate: None,
        spec: Spec::default(),
        output: Output { files: 2, embedding_type: EmbeddingTypes::default(), float_encoding: FloatEncoding::Bss },
        batch_tokens: Some(2048),
        deny_truncation: false,
        fresh: true,
        allow_shrink: true,
        cache: None,
    };
    let mut group = c.benchmark_group("job");
    group.throughput(bytes(&documents));
    group.sample_size(20);
    group.bench_function("without a model", |b| {
        b.iter_batched(
            || tempfile::TempDir::new().unwrap(),
            |out| {
                run(&job, &out.path().into(), embedder.as_ref(), &AtomicBool::new(false), &|_| ())
                    .unwrap()
                    .manifest
                    .counts
            },
            criterion::BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, stages, strategies, lines, embedding, job);
criterion_main!(benches);
