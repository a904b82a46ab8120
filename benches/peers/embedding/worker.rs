//! chunkmill's own embedding engines behind the pipe that `worker.py` describes, which lets the driver alternate
//! them with everyone else's.
//!
//! `embedding-worker --engine cpu --texts FILE [--precision bf16] [--model FOLDER|ID] [--question TEXT]`
//!
//! With a question, the model is a reranker and the vectors are scores.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark may fail")]
#![expect(clippy::print_stdout, reason = "standard output is the pipe")]

use std::io::{BufRead, stdin};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Backend, Batcher, Device, Engine, Isa, PrecisionSetting, Role, load, load_reranker};
use clap::Parser;
use serde::Deserialize;
use serde_json::json;

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    engine: Engine,
    #[arg(long, default_value_t)]
    precision: PrecisionSetting,
    /// The instruction set to stay within.
    #[arg(long, env = "CHUNKMILL_CPU_ISA")]
    cpu_isa: Option<Isa>,
    /// A file of JSON lines, each with a `text`.
    #[arg(long)]
    texts: PathBuf,
    #[arg(long, default_value_t)]
    model: ModelRef,
    #[arg(long)]
    batch_tokens: Option<usize>,
    #[arg(long)]
    question: Option<String>,
    /// Passed by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
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
    let Arguments { engine, precision, cpu_isa: isa, .. } = arguments;
    let backend = Backend { engine, precision, device: Device::Cpu, isa, ..Backend::default() };
    let stop = AtomicBool::new(false);
    let (batch_tokens, make): (usize, Box<dyn Fn() -> Vec<f32>>) = if let Some(question) = &arguments.question {
        let reranker = load_reranker(backend, &arguments.model).unwrap();
        let passages: Vec<&str> = texts.iter().map(String::as_str).collect();
        (384, Box::new(move || reranker.scores(question, &passages).unwrap()))
    } else {
        let embedder = load(backend, &arguments.model).unwrap();
        let batch_tokens = arguments.batch_tokens.unwrap_or(embedder.batching().tokens);
        let (texts, stop) = (&texts, &stop);
        let run = move || {
            // A new batcher for each run, because a batcher remembers the vectors of earlier texts.
            let mut batcher = Batcher::new(embedder.as_ref(), Some(batch_tokens));
            batcher.embed(texts, Role::Document, stop, &|_, _| ()).unwrap().vectors
        };
        (batch_tokens, Box::new(run))
    };
    let isa = if engine == Engine::Cpu { isa.unwrap_or_else(Isa::best).name() } else { "its own" };
    println!(
        "{}",
        json!({
            "ready": engine.name(),
            "versions": { "chunkmill": env!("CARGO_PKG_VERSION") },
            "settings": { "batch_tokens": batch_tokens, "instructions": isa },
        })
    );

    let mut vectors = Vec::new();
    for line in stdin().lock().lines() {
        match serde_json::from_str(&line.unwrap()).unwrap() {
            Request::Run(run) => {
                let start = Instant::now();
                vectors = make();
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
