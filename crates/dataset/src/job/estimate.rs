//! How much work a run will be: from a sample of the documents and a trial of the model, or, where each text costs money,
//! counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use blake3::Hash;
use chunkmill_base::error::{Error, Result};
use chunkmill_embed::batch::Survey;
use chunkmill_embed::{Batcher, Embedder, Parallel, Role};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::build::BLOCK_BYTES;
use super::job::Job;
use super::paragraphs::SkippedBoilerplate;
use super::prepare::Recipe;
use crate::corpus::{self, FetchedDocument, Source};
use crate::dataset::file_of;

/// Largest number of bytes of documents that are chunked for an estimate.
const SAMPLE_BYTES: u64 = 2 << 20;

/// Largest number of documents in the sample for an estimate.
const SAMPLE_DOCUMENTS: usize = 64;

/// Time spent on measuring the speed of the model on this machine.
const CALIBRATION: Duration = Duration::from_secs(2);

/// The estimated work to build the parts, from a sample of the documents and a short trial of the model. With a service, all
/// documents are read, and it is not tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Number of documents to embed.
    pub documents: u64,
    /// Size of these documents in bytes.
    pub bytes: u64,
    /// Number of their chunks.
    pub chunks: u64,
    /// Number of tokens in these chunks, in the encoding of the chunk settings.
    pub tokens: u64,
    /// Number of tokens that the model will read if all texts differ and none is in the cache.
    pub model_tokens: u64,
    /// Seconds on this machine, in one process.
    pub seconds: f64,
    /// Seconds with a static model, which is a table of vectors; 0 in plans of versions without this field.
    #[serde(default)]
    pub seconds_static: f64,
    /// Work for a service; `None` if the model is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceWork>,
}

/// Work for a service: counted, not estimated, because it is paid for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceWork {
    /// Number of distinct texts that are not in the cache.
    pub texts: u64,
    /// Number of their tokens, as far as we can count them.
    pub tokens: u64,
    /// Number of distinct texts whose vectors are in the cache.
    pub texts_cached: u64,
    /// Number of requests.
    pub requests: u64,
}

/// Estimates the work by chunking a sample of the documents and embedding some of it.
pub(super) fn estimate(
    job: &Job,
    embedder: &dyn Embedder,
    documents: &[Source],
    skipped: &SkippedBoilerplate,
    stop: &AtomicBool,
) -> Result<Estimate> {
    if matches!(embedder.batching().parallel, Parallel::Requests(_)) {
        // Counts what a service will be asked for.
        return each_unknown(job, embedder, documents, skipped, stop, &mut |_| Ok(()));
    }
    let sizer = job.spec.sizer(Some(embedder.counter()))?;
    let recipe = Recipe { spec: &job.spec, sizer, admission: job.admission, levels: None };
    let bytes: u64 = documents.iter().map(|source| source.bytes).sum();
    let every = documents.len().div_ceil(SAMPLE_DOCUMENTS).max(1);
    let (mut sampled, mut chunks, mut tokens, mut model_tokens) = (0, 0, 0, 0);
    let mut texts = Vec::new();
    let started = Instant::now();
    // Small documents first, so a large one does not represent all of them, unless all are large.
    let mut sample: Vec<&Source> = documents.iter().step_by(every).collect();
    sample.sort_by_key(|source| source.bytes);
    for source in sample {
        if sampled > 0 && sampled + source.bytes > SAMPLE_BYTES {
            break;
        }
        sampled += source.bytes;
        let Ok(cut) = recipe.cut(source.clone())? else { continue };
        let prepared = cut.skipping(skipped).prepare();
        chunks += prepared.chunks.len() as u64;
        tokens += prepared.chunks.iter().map(|row| row.n_tokens.unsigned_abs()).sum::<u64>();
        texts.extend(prepared.texts);
    }
    let preparing = started.elapsed();
    for text in &texts {
        model_tokens += embedder.encode(text, Role::Document)?.ids.len() as u64;
    }
    let rate = speed(job, embedder, &texts, stop)?;
    let scale = |sum: u64| if sampled == 0 { 0 } else { mul_div(sum, bytes, sampled) };
    let model_tokens = scale(model_tokens);
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let [seconds, seconds_static] = if sampled == 0 {
        [0.0; 2]
    } else {
        let threads = rayon::current_num_threads() as f64;
        let preparing = preparing.as_secs_f64() * bytes as f64 / sampled as f64 / threads;
        [rate, STATIC_RATE * threads].map(|rate| preparing + model_tokens as f64 / rate)
    };
    let documents = documents.len() as u64;
    Ok(Estimate {
        documents,
        bytes,
        chunks: scale(chunks),
        tokens: scale(tokens),
        model_tokens,
        seconds,
        seconds_static,
        service: None,
    })
}

/// Receives texts with their hashes.
pub(super) type TextReceiver<'a> = &'a mut dyn FnMut(Vec<(Hash, &str)>) -> Result<()>;

/// Passes on the texts that a service will be asked for, each with its hash, and counts them.
pub(super) fn each_unknown(
    job: &Job,
    embedder: &dyn Embedder,
    documents: &[Source],
    skipped: &SkippedBoilerplate,
    stop: &AtomicBool,
    found: TextReceiver<'_>,
) -> Result<Estimate> {
    let sizer = job.spec.sizer(Some(embedder.counter()))?;
    let recipe = Recipe { spec: &job.spec, sizer, admission: job.admission, levels: None };
    let started = Instant::now();
    let mut survey = Survey::new(embedder, job.batch_tokens, job.cache.as_deref());
    let mut estimate = Estimate { documents: documents.len() as u64, ..Estimate::default() };
    // As they are embedded: part by part.
    let part = |source: &Source| file_of(&source.origin.doc_id, job.output.files);
    let parts = documents.chunk_by(|a, b| part(a) == part(b));
    for sources in parts.flat_map(|part| corpus::blocks(part, BLOCK_BYTES)) {
        let prepare = |source: FetchedDocument| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            Ok(recipe.cut(source)?.map(|cut| cut.skipping(skipped).prepare()))
        };
        let prepared = corpus::fetch(sources)?.into_par_iter().map(prepare).collect::<Result<Vec<_>>>()?;
        let prepared: Vec<_> = prepared.into_iter().flatten().collect();
        estimate.bytes += sources.iter().map(|source| source.bytes).sum::<u64>();
        let rows = || prepared.iter().flat_map(|document| &document.chunks);
        estimate.chunks += rows().count() as u64;
        estimate.tokens += rows().map(|row| row.n_tokens.unsigned_abs()).sum::<u64>();
        let texts: Vec<&str> = prepared.iter().flat_map(|document| &document.texts).map(String::as_str).collect();
        found(survey.add(&texts)?)?;
    }
    let Survey { texts, tokens, cached, batches, .. } = survey;
    estimate.seconds = started.elapsed().as_secs_f64();
    estimate.model_tokens = tokens;
    estimate.service = Some(ServiceWork { texts, tokens, texts_cached: cached, requests: batches });
    Ok(estimate)
}

fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) / u128::from(c)).unwrap_or(u64::MAX)
}

/// Tokens per second and thread with a static model: half of the measured rate, because other tables are wider.
const STATIC_RATE: f64 = 5e6;

/// Measures how many tokens per second the model reads.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn speed(job: &Job, embedder: &dyn Embedder, texts: &[String], stop: &AtomicBool) -> Result<f64> {
    let mut batcher = Batcher::new(embedder, job.batch_tokens);
    let mut run = |texts: &[String]| -> Result<(usize, Duration)> {
        let started = Instant::now();
        let tokens = batcher.embed(texts, Role::Document, stop, &|_, _| ())?.tokens_read;
        // A sparse model reads them too; the tokens are counted once.
        batcher.sparse(texts, stop, &|_, _| ())?;
        Ok((tokens, started.elapsed()))
    };
    // The first texts warm up threads and memory.
    let (warm_up, rest) = texts.split_at(texts.len().min(16));
    let (mut tokens, mut time) = run(warm_up)?;
    if rest.len() >= warm_up.len() {
        (tokens, time) = (0, Duration::ZERO);
        for texts in rest.chunks(128) {
            let (more, took) = run(texts)?;
            (tokens, time) = (tokens + more, time + took);
            if time > CALIBRATION {
                break;
            }
        }
    }
    Ok((tokens as f64 / time.as_secs_f64().max(1e-9)).max(1.0))
}
