//! chunkmill's own embedding engines behind the pipe that `worker.py` describes, so that the driver
//! runs them in turn with everyone else's.
//!
//! `embedding-worker --engine candle --texts FILE [--model FOLDER|ID]`

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark may fail")]
#![expect(clippy::print_stdout, reason = "standard output is the pipe")]

use std::io::{BufRead, stdin};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use chunkmill::embed::batch::DEFAULT_BATCH_TOKENS;
use chunkmill::embed::hub::ModelRef;
use chunkmill::embed::{Batcher, Device, Engine, Role, load};
use clap::{Parser, ValueEnum};
use serde::Deserialize;
use serde_json::json;

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    engine: Engine,
    /// What the engine `cpu` computes in; candle knows f32 alone.
    #[arg(long, default_value = "auto")]
    precision: Precision,
    /// JSON lines with a `text` each.
    #[arg(long)]
    texts: PathBuf,
    #[arg(long, default_value_t)]
    model: ModelRef,
    #[arg(long, default_value_t = DEFAULT_BATCH_TOKENS)]
    batch_tokens: usize,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Until the library has a type of that meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Precision {
    Auto,
    F32,
    Bf16,
    Int8,
}

#[derive(Deserialize)]
struct Line {
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Request {
    Run(usize),
    Vectors(PathBuf),
}

fn main() {
    let arguments = Arguments::parse();
    let texts: Vec<String> = std::fs::read_to_string(&arguments.texts)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Line>(line).unwrap().text)
        .collect();
    // The precision goes into `load` here, once it takes one.
    assert!(matches!(arguments.precision, Precision::Auto | Precision::F32), "candle computes in f32");
    let embedder = load(arguments.engine, &arguments.model, Device::Cpu).unwrap();
    println!(
        "{}",
        json!({
            "ready": arguments.engine.name(),
            "versions": { "chunkmill": env!("CARGO_PKG_VERSION") },
            "settings": { "batch_tokens": arguments.batch_tokens },
        })
    );

    let stop = AtomicBool::new(false);
    let mut vectors = Vec::new();
    for line in stdin().lock().lines() {
        match serde_json::from_str(&line.unwrap()).unwrap() {
            Request::Run(run) => {
                let start = Instant::now();
                // A new one each time, so that no vector is remembered from the run before.
                let mut batcher = Batcher::new(embedder.as_ref(), arguments.batch_tokens);
                vectors = batcher.embed(&texts, Role::Document, &stop, &|_, _| ()).unwrap().vectors;
                let seconds = start.elapsed().as_secs_f64();
                println!("{}", json!({ "run": run, "seconds": seconds, "texts": texts.len() }));
            }
            Request::Vectors(path) => {
                let bytes: Vec<u8> = vectors.iter().flat_map(|value: &f32| value.to_le_bytes()).collect();
                std::fs::write(&path, bytes).unwrap();
                println!("{}", json!({ "vectors": path }));
            }
        }
    }
}
