//! Arguments and reports shared by the commands that write a dataset.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use serde::Serialize;

use super::args::{ConfigArgs, CorpusArgs};
use super::flags::{ChunkFlags, JobEmbeddingFlags, OutputFlags, RunFlags, ServiceFlags};
use super::output::{print_json, print_prose, tell};
use super::progress::{Interval, Progress, ProgressMode};
use super::start::use_threads;
use crate::chunk::{Context, Spec};
use crate::config::{self, Config, Options};
use crate::corpus::{OtherFiles, Root};
use crate::dataset::{ChunkChanges, Counts, Manifest};
use crate::document::MALFORMED_FRONT_MATTER;
use crate::embed::{Embedder, Engine, SPARSE_TRUNCATED};
use crate::error::{Error, exit};
use crate::job::{DocumentChanges, Job, Report, SkippedBoilerplate};
use crate::storage::Location;
use crate::tokens::Unit;
use crate::value::count;

/// The corpus, the dataset and the settings of a job.
#[derive(clap::Args)]
pub(super) struct JobArgs {
    #[command(flatten)]
    pub(super) corpus: CorpusArgs,
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    #[arg(short, long = "output", value_name = "OUT")]
    pub(super) out: Location,
    #[command(flatten)]
    chunking: ChunkFlags,
    #[command(flatten)]
    embedding: JobEmbeddingFlags,
    #[command(flatten)]
    service: ServiceFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    config: ConfigArgs,
}

impl JobArgs {
    /// Merges the settings from all sources.
    pub(super) fn options(self) -> crate::error::Result<Options> {
        let names_service = self.service.0.endpoint.is_some();
        let options = self.config.merge(Options {
            corpus: self.corpus.flags.0,
            chunking: self.chunking.0,
            embedding: self.embedding.0,
            service: self.service.0,
            output: self.output.0,
            run: self.run.0,
            ..Options::default()
        })?;
        if names_service && options.embedding.embedder != Some(Engine::Remote) {
            let help = "add --embedder remote --model NAME, or leave it out";
            return Err(Error::setting("endpoint", "means nothing unless a service computes the vectors", help));
        }
        Ok(options)
    }
}

/// Arguments for showing progress.
#[derive(clap::Args)]
pub(super) struct ProgressArgs {
    /// How to show progress: auto, plain, json, never [default: auto]
    #[arg(long, value_name = "MODE", help_heading = "Running")]
    progress: Option<ProgressMode>,
    /// Seconds between lines of plain or json progress; 0 prints every step [default: 5]
    #[arg(long, value_name = "SECONDS", help_heading = "Running")]
    progress_interval: Option<Interval>,
}

impl ProgressArgs {
    pub(super) fn start(&self, quiet: bool) -> anyhow::Result<Progress> {
        let mode = match self.progress {
            _ if quiet => ProgressMode::Never,
            Some(mode) => mode,
            None => config::variable("PROGRESS")?.unwrap_or(ProgressMode::Auto),
        };
        let interval = match self.progress_interval {
            Some(interval) => interval,
            None => config::variable("PROGRESS_INTERVAL")?.unwrap_or_default(),
        };
        Ok(Progress::start(mode, interval))
    }
}

/// A job with its model, ready to run.
pub(super) struct Ready {
    pub(super) job: Job,
    pub(super) embedder: Box<dyn Embedder>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Ready {
    /// Loads the model and opens the cache. Sets up threads and Ctrl-C for the whole process.
    pub(super) fn new(roots: Vec<Root>, config: Config, fresh: bool) -> anyhow::Result<Self> {
        use_threads(config.threads)?;
        let stop = stop_on_interrupt()?;
        let embedder = config.embedder()?;
        let job = config.job(roots, fresh)?;
        Ok(Self { job, embedder, stop })
    }
}

/// The code of documents that are left out because they are duplicates.
const DUPLICATE: &str = "duplicate";

/// Prints the result of a job, unless `quiet`, and returns the exit code.
pub(super) fn print_report(report: &Report, out: &str, json: bool, quiet: bool) -> anyhow::Result<u8> {
    if json {
        print_json(&Summary::from(report))?;
    } else if !quiet {
        print_prose(describe(report, out))?;
    }
    // Duplicates were left out on request.
    let is_done = report.quarantined.iter().all(|document| document.code == DUPLICATE);
    Ok(if is_done { exit::DONE } else { exit::QUARANTINED })
}

/// Installs a handler for Ctrl-C: the first one asks the job to stop cleanly, the second one ends the process.
pub(super) fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(exit::INTERRUPTED.into());
        }
        tell("interrupted: stopping cleanly; press Ctrl-C again to stop at once\n");
    })
    .context("cannot watch for Ctrl-C")?;
    Ok(stop)
}

/// The output of `--json`.
#[derive(Serialize)]
pub struct Summary<'a> {
    #[serde(flatten)]
    counts: Counts,
    changes: &'a DocumentChanges,
    chunk_changes: Option<ChunkChanges>,
    other_files: &'a OtherFiles,
    malformed_front_matter: usize,
    skipped_paragraphs: u64,
    chunks_reused: u64,
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
    sparse: Option<SparseSummary<'a>>,
}

/// The work of a sparse model.
#[derive(Serialize)]
struct SparseSummary<'a> {
    model: &'a str,
    model_fingerprint: &'a str,
    texts_embedded: usize,
    tokens_read: usize,
    seconds: f64,
}

impl<'a> From<&'a Report> for Summary<'a> {
    fn from(report: &'a Report) -> Self {
        let [preparing, embedding, writing] = report.stages.map(|stage| stage.as_secs_f64());
        Self {
            counts: report.manifest.counts,
            changes: &report.documents,
            chunk_changes: report.chunks,
            other_files: &report.other_files,
            malformed_front_matter: report.malformed_front_matter.len(),
            skipped_paragraphs: report.skipped.paragraphs,
            chunks_reused: report.chunks_reused,
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
            sparse: report.manifest.model.sparse.as_ref().map(|model| SparseSummary {
                model: &model.id,
                model_fingerprint: &model.fingerprint,
                texts_embedded: report.sparse.texts,
                tokens_read: report.sparse.tokens,
                seconds: report.sparse.time.as_secs_f64(),
            }),
        }
    }
}

/// Says how documents are cut, and whether the model sees more than the content; the first time, also how to find better
/// settings than the default.
fn chosen(report: &Report) -> String {
    let manifest = &report.manifest;
    let shown = match Spec::resolve(&manifest.spec.settings).map(|spec| spec.context()) {
        Ok(Context::Headings) => ", with headings shown to the model",
        Ok(Context::Document) => ", with names shown to the model",
        Ok(Context::Full) => ", with names and headings shown to the model",
        Ok(Context::None) | Err(_) => "",
    };
    let is_first = !report.is_update && manifest.spec.fingerprint == Spec::default().fingerprint();
    let advice = "\n             the default; `chunkmill-eval recommend` finds what suits your documents";
    format!("{}{shown}{}", manifest.spec.text, if is_first { advice } else { "" })
}

/// Says where the links that lead nowhere are listed, if there are any.
fn listed(counts: Counts) -> &'static str {
    if counts.unresolved_edges > 0 { " (`chunkmill stats --links` lists them)" } else { "" }
}

/// Says how many links there are, and how many of them lead nowhere.
pub(super) fn links(edges: u64, unresolved: u64) -> String {
    let lost = match unresolved {
        0 => String::new(),
        1 => ", 1 leads nowhere".to_owned(),
        lost => format!(", {lost} lead nowhere"),
    };
    format!("{edges}{lost}")
}

fn changes(report: &Report) -> String {
    let DocumentChanges { new, changed, deleted, .. } = &report.documents;
    let chunks = report.chunks.map(|ChunkChanges { added, removed, kept }| {
        format!("; chunks: {added} added, {removed} removed, {kept} kept")
    });
    for (list, what) in [(new, "new"), (changed, "changed"), (deleted, "deleted")] {
        if list.count > 0 {
            tracing::info!("{what}: {list}");
        }
    }
    let documents = format!("{} new, {} changed, {} deleted", new.count, changed.count, deleted.count);
    format!("  documents  {documents}{}", chunks.unwrap_or_default())
}

/// Says which files are no documents, and what lists them unless they are listed.
pub(super) fn left_out(others: &OtherFiles, are_listed: bool) -> String {
    let list = if are_listed { "" } else { "; `plan -v` lists them" };
    format!("  left out   {others} (`--include` names what to index{list})")
}

/// Says how many paragraphs are left out of what is embedded, if there are any.
pub(super) fn skipped(skipped: &SkippedBoilerplate) -> Option<String> {
    let (paragraphs, documents) = (skipped.paragraphs, skipped.documents.len());
    let verb = if paragraphs == 1 { "is" } else { "are" };
    let (paragraphs, documents) = (count(paragraphs, "paragraph"), count(documents, "document"));
    (!skipped.is_empty()).then(|| format!("  skipped    {paragraphs} in {documents} {verb} not embedded"))
}

/// Says how many chunks the model read in part only, and what helps; `None` if it read all of them.
pub fn truncated(manifest: &Manifest) -> Option<String> {
    if manifest.counts.truncated == 0 {
        return None;
    }
    let (counts, most) = (manifest.counts, manifest.model.max_tokens as u64);
    let spec = Spec::resolve(&manifest.spec.settings).ok();
    let is_in_tokens = spec.as_ref().is_some_and(|spec| spec.unit() == Unit::Tokens);
    // Most chunks fit if a typical one fills four fifths of what the model reads.
    let fits = (most * counts.tokens).checked_div(counts.model_tokens).map(|fits| fits * 4 / 5 / 8 * 8);
    let fits = fits.filter(|&fits| fits >= 8 && is_in_tokens);
    let own = spec.map(|spec| spec.max() as u64);
    // A few chunks of other text than most may be truncated although most fit.
    let help = match (fits, own) {
        (Some(fits), Some(own)) if fits >= own => "",
        (Some(fits), _) => &format!("lower --max (about {fits}), or "),
        (None, _) => "lower --max, or ",
    };
    Some(format!(
        "{} of {}: the model reads {most} tokens; {help}take a model that reads more (`chunkmill model list`)",
        counts.truncated,
        count(counts.chunks, "chunk"),
    ))
}

fn describe(report: &Report, out: &str) -> String {
    let Summary { counts, tokens_read, seconds, seconds_preparing, seconds_embedding, seconds_writing, sparse, .. } =
        Summary::from(report);
    let bytes: u64 = report.manifest.files.iter().map(|file| file.bytes).sum();
    let mut lines = vec![
        format!(
            "{} of {} indexed: {}, {}, in {seconds:.1} s",
            counts.documents,
            count(counts.discovered, "document"),
            count(counts.chunks, "chunk"),
            count(counts.tokens, "token")
        ),
        format!("  chunked    {}", chosen(report)),
        format!("  links      {}{}", links(counts.edges, counts.unresolved_edges), listed(counts)),
    ];
    if report.is_update {
        lines.push(changes(report));
    }
    if report.documents.deleted.count > 0 {
        lines.push(format!("  deleted    {}, which the corpus no longer has", report.documents.deleted));
    }
    if report.other_files.paths.count > 0 {
        lines.push(left_out(&report.other_files, false));
    }
    if report.chunks_reused > 0 {
        lines.push(format!(
            "  reused     {} of the previous run, vectors included",
            count(report.chunks_reused, "chunk")
        ));
    }
    if report.texts_cached > 0 {
        lines.push(format!("  cached     {} with a vector from the cache", count(report.texts_cached, "text")));
    }
    if report.texts_embedded > 0 {
        lines.push(format!(
            "  embedded   {}: {}, {}, {:.0} tokens/s",
            report.manifest.model.id,
            count(report.texts_embedded, "text"),
            count(tokens_read, "token"),
            rate(tokens_read, seconds_embedding - report.sparse.time.as_secs_f64())
        ));
    }
    if let Some(SparseSummary { model, texts_embedded: 1.., tokens_read, seconds, .. }) = sparse {
        let tokens = count(tokens_read, "token");
        lines.push(format!("  sparse     {model}: {tokens}, {:.0} tokens/s", rate(tokens_read, seconds)));
    }
    tracing::info!(
        "preparing took {seconds_preparing:.1} s, embedding {seconds_embedding:.1} s, writing {seconds_writing:.1} s; they overlap"
    );
    let files = count(report.manifest.files.len(), "file");
    lines.push(format!("  dataset    {out}: {files}, {}", size(bytes)));
    lines.extend(truncated(&report.manifest).map(|words| format!("  truncated  {words}")));
    if let Some(sparse) = report.manifest.model.sparse.as_ref().filter(|_| counts.sparse_truncated > 0) {
        let chunks = count(counts.chunks, "chunk");
        lines.push(format!(
            "  truncated  {} of {chunks}: the sparse model reads {} tokens (flag `{SPARSE_TRUNCATED}`)",
            counts.sparse_truncated, sparse.max_tokens
        ));
    }
    let malformed = &report.malformed_front_matter;
    if !malformed.is_empty() {
        lines.push(format!(
            "  malformed  front matter of {} is not valid and was read line by line (flag `{MALFORMED_FRONT_MATTER}`; -v names them)",
            count(malformed.len(), "document")
        ));
        for id in malformed {
            tracing::info!("the front matter of {id} is not valid");
        }
    }
    if counts.duplicates > 0 {
        let alike = count(counts.duplicates, "near-duplicate");
        lines.push(format!("  alike      {alike} (`chunkmill stats --duplicates` lists them)"));
    }
    lines.extend(skipped(&report.skipped));
    let (dropped, quarantined): (Vec<_>, Vec<_>) = report.quarantined.iter().partition(|row| row.code == DUPLICATE);
    if !dropped.is_empty() {
        lines.push(format!("  dropped    {}, see {out}/quarantine.jsonl", count(dropped.len(), "duplicate")));
    }
    for document in quarantined.iter().take(10) {
        lines.push(format!("  quarantine {}: {}", document.doc_id, document.reason));
    }
    if quarantined.len() > 10 {
        lines.push(format!("  quarantine … {} in all, see {out}/quarantine.jsonl", quarantined.len()));
    }
    lines.join("\n")
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn rate(tokens: usize, seconds: f64) -> f64 {
    if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 }
}

/// Writes a number of bytes for people.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => count(bytes, "byte"),
        1_000..100_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
