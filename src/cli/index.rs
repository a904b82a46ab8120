//! `chunkmill index`: the job.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use serde::Serialize;

use super::args::{ChunkArgs, CorpusArgs, ModelArgs, OutputArgs, ThreadArgs, merge};
use super::progress::{Interval, Mode, Progress};
use super::{print, use_threads, warn_unused};
use crate::config::{self, Config, EmbeddingCache, EmbeddingOptions, Options};
use crate::embed::{self, Cache};
use crate::error::exit;
use crate::index::{self, Job, Report};
use crate::options::switch;
use crate::store::{Counts, FileSystem};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Folder of the dataset
    #[arg(short, long = "output", value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    chunking: ChunkArgs,
    #[command(flatten)]
    model: ModelArgs,
    /// Most tokens in a batch of the model [default: what suits the embedder]
    #[arg(long, value_name = "N", help_heading = "Embedding")]
    batch_tokens: Option<NonZeroUsize>,
    /// Fail if a chunk is longer than the model reads
    #[arg(long, value_name = "BOOL", value_parser = switch, num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Embedding")]
    deny_truncation: Option<bool>,
    /// Where vectors are kept for other runs: auto (the user's cache folder), off, or a folder [default: auto]
    #[arg(long, value_name = "auto|off|FOLDER", help_heading = "Embedding")]
    embedding_cache: Option<EmbeddingCache>,
    /// Most that it may take on disk; what was not used for long goes first [default: 4294967296]
    #[arg(long, value_name = "BYTES", help_heading = "Embedding")]
    embedding_cache_size: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Use nothing that earlier runs made
    #[arg(long, help_heading = "Running")]
    fresh: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Running")]
    json: bool,
    /// How progress is shown: auto, plain, json, never [default: auto]
    #[arg(long, value_name = "MODE", help_heading = "Running")]
    progress: Option<Mode>,
    /// Seconds between two lines of plain or json progress; 0 shows every step [default: 5]
    #[arg(long, value_name = "SECONDS", help_heading = "Running")]
    progress_interval: Option<Interval>,
}

pub(super) fn run(args: Args, quiet: bool) -> anyhow::Result<u8> {
    let roots = args.corpus.roots()?;
    let mode = match args.progress {
        _ if quiet => Mode::Never,
        Some(mode) => mode,
        None => config::variable("PROGRESS")?.unwrap_or(Mode::Auto),
    };
    let interval = match args.progress_interval {
        Some(interval) => interval,
        None => config::variable("PROGRESS_INTERVAL")?.unwrap_or_default(),
    };
    let config = merge(Options {
        corpus: args.corpus.options(),
        chunking: args.chunking.options(),
        embedding: EmbeddingOptions {
            batch_tokens: args.batch_tokens,
            deny_truncation: args.deny_truncation,
            embedding_cache: args.embedding_cache,
            embedding_cache_size: args.embedding_cache_size,
            ..args.model.options()
        },
        output: args.output.options(),
        threads: args.threads.threads,
    })?;
    warn_unused(&config);
    use_threads(config.threads)?;
    let stop = stop_on_interrupt()?;
    let embedder = embed::load(config.backend, &config.model.clone().unwrap_or_default())?;
    let cache = open_cache(&config);
    let job = Job {
        roots,
        filter: config.filter,
        admission: config.admission,
        spec: config.spec,
        output: config.output,
        batch_tokens: config.batch_tokens,
        deny_truncation: config.deny_truncation,
        cache,
        fresh: args.fresh,
        disk: Arc::new(FileSystem),
    };
    let progress = Progress::start(mode, interval);
    let result = index::run(&job, &args.out, embedder.as_ref(), &stop, &|event| progress.on(event));
    progress.finish();
    let report = result?;
    if args.json {
        print(serde_json::to_string(&Summary::from(&report))?)?;
    } else {
        print(describe(&report, &args.out.display().to_string()))?;
    }
    Ok(if report.quarantined.is_empty() { exit::DONE } else { exit::QUARANTINED })
}

/// The cache of vectors, if there is to be one. Without it, a job is slower and no less right.
fn open_cache(config: &Config) -> Option<Arc<Cache>> {
    let opened = Cache::open(config.cache.as_deref()?, config.cache_size);
    opened.map(Arc::new).map_err(|error| tracing::warn!("{error}; this run goes on without a cache of vectors")).ok()
}

/// The first Ctrl-C asks the job to end cleanly, the second ends the process.
fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(exit::INTERRUPTED.into());
        }
        let _ = writeln!(std::io::stderr(), "interrupted: ending cleanly, press Ctrl-C again to end at once");
    })
    .context("cannot watch for Ctrl-C")?;
    Ok(stop)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    counts: Counts,
    chunks_kept: u64,
    texts_embedded: usize,
    texts_cached: usize,
    tokens_read: usize,
    seconds: f64,
    seconds_preparing: f64,
    seconds_embedding: f64,
    seconds_writing: f64,
    spec: &'a str,
    spec_fingerprint: &'a str,
    model: &'a str,
    model_fingerprint: &'a str,
}

impl<'a> From<&'a Report> for Summary<'a> {
    fn from(report: &'a Report) -> Self {
        let [preparing, embedding, writing] = report.stages.map(|stage| stage.as_secs_f64());
        Self {
            counts: report.manifest.counts,
            chunks_kept: report.chunks_kept,
            texts_embedded: report.texts_embedded,
            texts_cached: report.texts_cached,
            tokens_read: report.tokens_read,
            seconds: report.elapsed.as_secs_f64(),
            seconds_preparing: preparing,
            seconds_embedding: embedding,
            seconds_writing: writing,
            spec: &report.manifest.spec.text,
            spec_fingerprint: &report.manifest.spec.fingerprint,
            model: &report.manifest.model.id,
            model_fingerprint: &report.manifest.model.fingerprint,
        }
    }
}

fn describe(report: &Report, out: &str) -> String {
    let Summary { counts, tokens_read, seconds, seconds_preparing, seconds_embedding, seconds_writing, .. } =
        Summary::from(report);
    let bytes: u64 = report.manifest.files.iter().map(|file| file.bytes).sum();
    let mut lines = vec![
        format!(
            "{} of {} documents indexed: {} chunks, {} tokens, in {seconds:.1} s",
            counts.documents, counts.discovered, counts.chunks, counts.tokens
        ),
        format!("  chunked    {}", report.manifest.spec.text),
        format!("  edges      {}, {} unresolved", counts.edges, counts.unresolved_edges),
        format!(
            "  embedded   {}: {} texts, {tokens_read} tokens, {:.0} tokens/s",
            report.manifest.model.id,
            report.texts_embedded,
            rate(tokens_read, seconds_embedding)
        ),
        format!(
            "  time       preparing {seconds_preparing:.1} s, embedding {seconds_embedding:.1} s, writing {seconds_writing:.1} s (they overlap)"
        ),
        format!("  dataset    {out}: {} files, {:.1} MB", report.manifest.files.len(), megabytes(bytes)),
    ];
    if report.chunks_kept > 0 {
        lines.insert(3, format!("  kept       {} chunks with their vectors from before", report.chunks_kept));
    }
    if report.texts_cached > 0 {
        lines.push(format!("  cached     {} texts more had their vectors in the cache", report.texts_cached));
    }
    if counts.truncated > 0 {
        lines.push(format!(
            "  truncated  {} chunks are longer than the {} tokens the model reads (column `truncated`)",
            counts.truncated, report.manifest.model.max_tokens
        ));
    }
    for document in report.quarantined.iter().take(10) {
        lines.push(format!("  quarantine {}: {}", document.doc_id, document.reason));
    }
    if report.quarantined.len() > 10 {
        lines.push(format!("  quarantine … {} in all, see {out}/quarantine.jsonl", report.quarantined.len()));
    }
    lines.join("\n")
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn rate(tokens: usize, seconds: f64) -> f64 {
    if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
