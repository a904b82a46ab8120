//! `chunkmill-eval sweep`: measures every setting of a grid against labels.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use chunkmill::chunk::Pooling;
use chunkmill::cli::{EmbeddingFlags, ServiceFlags, ThreadFlags, note, print, print_json};
use chunkmill::config::{EmbeddingOptions, Options, ServiceOptions};
use chunkmill::error::exit;
use chunkmill::value::count;
use serde_json::json;

use super::report::{OutputArgs, write};
use crate::data::record::{DatasetRecord, Record};
use crate::data::report::FILE;
use crate::findings::assemble::MeasuredRun;
use crate::labels::set::corpus_of;
use crate::run::plan::{self, Plan};
use crate::run::sweep::{Event, Labelled, Run, SweepSettings, begin, check_models, sweep};
use crate::run::worker::{ChunkReply, ChunkRequest, Request, delegate};
use crate::score::judge::{Chunks, Judge};

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill-eval sweep --labels set --sweep sweep.toml --list\n\
\x20 chunkmill-eval sweep --labels set --sweep sweep.toml -o run";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Folder with corpus/ and queries.jsonl
    #[arg(long, value_name = "SET")]
    labels: PathBuf,
    /// TOML file with lists of settings to try
    #[arg(long, value_name = "FILE")]
    sweep: PathBuf,
    /// Folder of the run; an interrupted run resumes
    #[arg(short, long = "output", value_name = "RUN", required_unless_present_any = ["list", "verify"])]
    out: Option<PathBuf>,
    /// Try only the setting with this id, as `--list` and reports name it; repeatable
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Only list what would be tried and what would be skipped
    #[arg(long, conflicts_with = "verify")]
    list: bool,
    /// Only check the labels and the model, and chunk the corpus with every setting: number of chunks, and how much of
    /// the evidence they can hold
    #[arg(long)]
    verify: bool,
    /// Keep the datasets in the folder of the run
    #[arg(long)]
    keep_datasets: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    embedding: EmbeddingFlags,
    #[command(flatten)]
    service: ServiceFlags,
    #[command(flatten)]
    threads: ThreadFlags,
}

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    let Args { labels, sweep: file, out, only, list, verify, keep_datasets, output, embedding, service, threads } =
        args;
    let json = output.json;
    let flags = Options { embedding: embedding.0, service: service.0, run: threads.0, ..Options::default() };
    let plan = plan::read(&file, flags.or(environment()?))?;
    let plan = if only.is_empty() { plan } else { plan.only(&only)? };
    if list {
        return print_plan(&plan, json);
    }
    let baseline = output.baseline()?;
    let labelled = if baseline.is_some() { Labelled::read_changed(&labels) } else { Labelled::read(&labels) }?;
    // All evidence of the baseline was lost: that is a result, and it is reported as one.
    let had_evidence = !verify && baseline.as_ref().is_some_and(|baseline| !baseline.queries.is_empty());
    if !had_evidence {
        labelled.require_evidence()?;
    }
    let models = check_models(&plan)?;
    if verify {
        return print_preview(&plan, &labelled, json);
    }
    let out = out.context("the folder of the run is missing: name it with -o RUN")?;
    let run = Run::new(&plan, &labelled, &models, command(), now());
    tell_of_replaced(&run, &out, &out);
    if !labelled.has_evidence() {
        let _lock = begin(&run, &out, &labelled.labels)?;
        write(&MeasuredRun::nothing(run, labelled)?, None, baseline.as_ref(), &out, &output)?;
        return Ok(exit::CHECK_FAILED);
    }
    note(forecast(&plan, &labelled)?);
    let mut progress = Progress::new();
    let settings = SweepSettings { keep_datasets, ..SweepSettings::default() };
    sweep(&plan, &run, &out, &labelled, &settings, &mut |event| progress.on(&event))?;
    let measured = MeasuredRun::read(&out, run, labelled)?;
    write(&measured.report(), Some(&measured), baseline.as_ref(), &out, &output)
}

/// Says that a report is replaced of which this run will not have everything. `run` is the run's folder, `report` that
/// of its report.
pub(super) fn tell_of_replaced(now: &Run, run: &Path, report: &Path) {
    if report.join(FILE).is_file()
        && let Some(lost) = now.lost(run)
    {
        tracing::warn!("the report in {} is replaced: {lost}; another folder keeps both", report.display());
    }
}

/// Reads only the settings from the environment that change no result: a variable set for other work must not
/// change the measurements.
pub(super) fn environment() -> anyhow::Result<Options> {
    let Options { embedding, service, run, .. } = Options::from_env()?;
    let ServiceOptions { requests, requests_per_minute, tokens_per_minute, request_timeout, max_tokens, .. } = service;
    let service = ServiceOptions {
        requests,
        requests_per_minute,
        tokens_per_minute,
        request_timeout,
        max_tokens,
        ..ServiceOptions::default()
    };
    let EmbeddingOptions { device, batch_tokens, embedding_cache, embedding_cache_size, .. } = embedding;
    let embedding =
        EmbeddingOptions { device, batch_tokens, embedding_cache, embedding_cache_size, ..EmbeddingOptions::default() };
    Ok(Options { embedding, service, run, ..Options::default() })
}

/// Returns the command line without the path of the program.
pub(super) fn command() -> Vec<String> {
    std::env::args().skip(1).collect()
}

/// Returns the current time as RFC 3339.
pub(super) fn now() -> String {
    let now = chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now());
    now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

fn print_plan(plan: &Plan, json: bool) -> anyhow::Result<u8> {
    if json {
        let cells: Vec<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
        let builds: Vec<&str> = plan.builds.iter().map(|build| build.name.as_str()).collect();
        let summary = json!({ "datasets": builds, "cells": cells, "left_out": plan.left_out });
        print_json(&summary)?;
        return Ok(exit::DONE);
    }
    for cell in &plan.cells {
        print(&cell.id)?;
    }
    for left_out in &plan.left_out {
        print(format_args!("left out: {}: {}", left_out.id, left_out.reason))?;
    }
    let (cells, builds) = (count(plan.cells.len(), "cell"), count(plan.builds.len(), "dataset"));
    print(format_args!("{cells} over {builds}; {} left out", count(plan.left_out.len(), "setting")))?;
    Ok(exit::DONE)
}

/// Prints what is known without embedding anything.
fn print_preview(plan: &Plan, labelled: &Labelled, json: bool) -> anyhow::Result<u8> {
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, plan.scoring.duplicates)?;
    for build in &plan.builds {
        let corpus = corpus_of(&labelled.labels.path);
        let chunked: ChunkReply =
            delegate(&Request::Chunk(ChunkRequest { corpus, options: Box::new(build.options.clone()) }))
                .with_context(|| format!("cell `{}` failed", build.name))?;
        let places = &chunked.chunks;
        let (reachable, whole) = Chunks::new(&judge, &chunked.documents, places).reachable(&judge);
        let (chunks, texts) = (places.len(), chunked.texts);
        let tokens: usize = places.iter().map(|place| place.tokens).sum();
        if json {
            let row = json!({
                "build": build.name, "chunks": chunks, "texts": texts, "tokens": tokens,
                "evidence_reachable": reachable, "evidence_whole": whole, "chunk_seconds": chunked.seconds,
            });
            print_json(&row)?;
        } else {
            print(format_args!(
                "{}: {}, {} to embed, {}; {:.1} % of the references are in one chunk, {:.1} % in several",
                build.name,
                count(chunks, "chunk"),
                count(texts, "different text"),
                count(tokens, "token"),
                100.0 * whole,
                100.0 * (reachable - whole)
            ))?;
        }
    }
    Ok(exit::DONE)
}

/// Describes the cost of a sweep before it starts. Its duration is only known after the first dataset.
#[expect(clippy::cast_precision_loss, reason = "megabytes are shown")]
fn forecast(plan: &Plan, labelled: &Labelled) -> anyhow::Result<String> {
    let documents = labelled.corpus.texts.values().map(String::len).sum::<usize>() as f64 / 1e6;
    let (mut passes, mut late) = (0.0, Vec::new());
    for build in &plan.builds {
        let config = build.options.clone().resolve()?;
        if config.spec.pooling() == Pooling::Late && plan.timing.repeats == 0 && config.cache.is_some() {
            // One pass serves all of them, in windows that overlap by a quarter.
            if !late.contains(&&build.options.embedding) {
                late.push(&build.options.embedding);
                passes += 4.0 / 3.0;
            }
        } else {
            passes += plan.timing.repeats.max(1) as f64;
        }
    }
    let ways: usize = plan.builds.iter().map(|build| build.variants.len()).sum();
    let cached = if plan.timing.repeats == 0 { ", minus what is cached" } else { "" };
    Ok(format!(
        "{} over {documents:.2} MB of documents: up to {:.2} MB of text to embed{cached}, {passes:.1} times the \
         documents; {} to search with {} each\n",
        count(plan.builds.len(), "dataset"),
        documents * passes,
        count(ways, "way"),
        count(labelled.labels.queries.len(), "question"),
    ))
}

/// Reports the progress of a sweep on standard error.
pub(super) struct Progress {
    started: Instant,
    /// Number of datasets built so far.
    made: u32,
    /// Number of datasets not started yet.
    left: u32,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), made: 0, left: 0 }
    }

    pub(super) fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Read(settings, tokens) => {
                let (settings, tokens) = (count(*settings, "setting"), count(*tokens, "token"));
                note(format_args!("read the documents once for {settings}: {tokens}\n"));
            }
            Event::Begun(at, of, name) => {
                self.left = u32::try_from(of - at).unwrap_or(u32::MAX);
                note(format_args!("[{at}/{of}] {name}: "));
            }
            Event::Kept => note("already done\n"),
            Event::Done(record) => {
                let dataset = &record.dataset;
                let (chunks, vectors) = (count(dataset.chunks, "chunk"), count(dataset.texts, "vector"));
                let reused = dataset.texts_reused;
                self.made += 1;
                let elapsed = self.started.elapsed();
                let rest = (elapsed / self.made * self.left).as_secs();
                let rest = if self.left > 0 { format!(", about {rest} s to go") } else { String::new() };
                let seconds = elapsed.as_secs();
                note(format_args!("{chunks}, {reused} of {vectors} reused, {seconds} s so far{rest}\n"));
                tracing::info!("{}", details(record));
            }
        }
    }
}

/// Says more about a dataset.
#[expect(clippy::cast_precision_loss, reason = "megabytes are shown")]
fn details(record: &Record) -> String {
    let DatasetRecord { documents, tokens, truncated, bytes, model, snapshot, .. } = &record.dataset;
    let mut parts = vec![
        format!("{} of {}", count(*tokens, "token"), count(*documents, "document")),
        format!("{} truncated by {model}", count(*truncated, "chunk")),
        format!("{:.1} MB", *bytes as f64 / 1e6),
    ];
    parts.extend(record.index.as_ref().map(|index| format!("indexed in {:.2} s", index.seconds.median)));
    parts.extend(record.variants.iter().filter(|way| !way.search_ms.is_empty()).map(|way| {
        let mean = way.search_ms.iter().sum::<f64>() / way.search_ms.len() as f64;
        format!("{} in {mean:.1} ms", way.name)
    }));
    format!("{}; snapshot {snapshot}", parts.join(", "))
}
