//! The job: corpus in, dataset out.
//!
//! Documents are worked on in the order of the files they go to. Three stages run at once, each
//! handing the next one file's rows at a time through a queue of length one: preparing (read,
//! parse, chunk, count), embedding, writing. So memory holds the model and a few files' rows,
//! however large the corpus, and every stage that is not the slowest is hidden behind it. Links wait
//! on disk for the last document; what they lead to is found and written before the commit.

mod edges;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::chunk::{self, Spec};
use crate::corpus::{self, Filter, Quarantined, Root, Source};
use crate::document::{Admission, Document};
use crate::embed::{Batcher, Cache, Embedder, Role};
use crate::error::{Error, Result};
use crate::links::Outline;
use crate::store::{self, ChunkRow, Counts, DocumentRow, FileEntry, Manifest, Output, QuarantineRow, Staging};
use crate::tokens::Sizer;
use edges::Collector;

/// What to index, and how.
#[derive(Debug, Clone)]
pub struct Job {
    /// Where documents come from.
    pub roots: Vec<Root>,
    /// Which files are documents.
    pub filter: Filter,
    /// Which documents are let in.
    pub admission: Admission,
    /// How they are chunked.
    pub spec: Spec,
    /// How the dataset is laid out.
    pub output: Output,
    /// Most tokens in a batch of the model; `None` is the embedder's own number.
    pub batch_tokens: Option<usize>,
    /// Whether a chunk that the model would cut stops the job.
    pub deny_truncation: bool,
    /// Where vectors are looked for and kept. It changes no byte of the result.
    pub cache: Option<Arc<Cache>>,
}

/// What a running job tells its watcher.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// The corpus was walked.
    Discovered {
        /// Documents found, those already quarantined included.
        documents: u64,
        /// Their size.
        bytes: u64,
    },
    /// A document was read, parsed and chunked, or quarantined.
    Prepared {
        /// Chunks it gave.
        chunks: usize,
    },
    /// A batch was embedded, or taken from the cache.
    Embedded {
        /// Texts in it.
        texts: usize,
        /// Tokens the model read.
        tokens: usize,
    },
    /// All chunks of a file have their vectors, those with equal texts too.
    Ready {
        /// How many.
        chunks: usize,
    },
}

/// Watches a job; called from any thread.
pub type Watcher<'a> = &'a (dyn Fn(Event) + Sync);

/// What came of a job.
#[derive(Debug)]
pub struct Report {
    /// The committed manifest.
    pub manifest: Manifest,
    /// Every document that is not indexed.
    pub quarantined: Vec<Quarantined>,
    /// Different texts that were embedded.
    pub texts_embedded: usize,
    /// Different texts whose vectors were in the cache.
    pub texts_cached: usize,
    /// Tokens the model read for those that were embedded.
    pub tokens_read: usize,
    /// Time from start to commit.
    pub elapsed: Duration,
    /// Time the stages were at work: preparing, embedding, writing. They overlap.
    pub stages: [Duration; 3],
}

/// One file's rows on their way.
struct Batch {
    file: usize,
    chunks: Vec<ChunkRow>,
    texts: Vec<String>,
    documents: Vec<DocumentRow>,
    vectors: Vec<f32>,
}

/// A document as rows: its own, and for each chunk a row and the text that the model sees.
pub struct Prepared {
    /// The row of `documents`.
    pub document: DocumentRow,
    /// The rows of `chunks`.
    pub chunks: Vec<ChunkRow>,
    /// What the model sees for each chunk.
    pub texts: Vec<String>,
    /// What links can name in it, and its own links.
    pub outline: Outline,
}

/// What makes rows of a source.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// How documents are chunked.
    pub spec: &'a Spec,
    /// Measures in the spec's unit.
    pub sizer: Sizer<'a>,
    /// Which documents are let in.
    pub admission: Admission,
}

impl Recipe<'_> {
    /// Reads, parses, chunks and counts one document.
    ///
    /// # Errors
    /// The outer error is the sizer's; the inner one says why the document is passed over.
    pub fn prepare(&self, source: Source) -> Result<Result<Prepared, Quarantined>> {
        let (source, content) = match corpus::read(source) {
            Ok(read) => read,
            Err(quarantined) => return Ok(Err(quarantined)),
        };
        let mut document = Document::parse(source, content);
        if let Err(reason) = self.admission.admit(&mut document) {
            return Ok(Err(Quarantined::of(document.source, reason)));
        }
        let chunks = chunk::chunk(&document, self.spec, self.sizer)?;
        let row = DocumentRow::new(&document, chunks.len());
        let row_of = |chunk| ChunkRow::new(&document, chunk, self.spec, &row);
        let rows = chunks.iter().map(row_of).collect::<Result<Vec<_>>>()?;
        let texts = chunks.iter().zip(&rows).map(|(chunk, row)| {
            let shown = row.normalized_content.as_ref().unwrap_or(&row.content);
            chunk::embed_text(chunk, shown.clone(), self.spec)
        });
        let texts = texts.collect();
        let outline = Outline::new(&document, &chunks);
        Ok(Ok(Prepared { document: row, chunks: rows, texts, outline }))
    }
}

/// Runs a job and commits its dataset to `out`.
///
/// # Errors
/// Any [`Error`]; the dataset that was there before is then still there. Setting `stop` ends the
/// job with [`Error::Interrupted`] at the next document or batch.
pub fn run(job: &Job, out: &Path, embedder: &dyn Embedder, stop: &AtomicBool, watch: Watcher<'_>) -> Result<Report> {
    let started = Instant::now();
    let sizer = Sizer::new(job.spec.unit(), Some(embedder.counter()))?;
    let found = corpus::discover(&job.roots, &job.filter, &[out.to_owned()])?;
    let staging = Staging::open(out)?;
    let discovered = (found.sources.len() + found.quarantined.len()) as u64;
    watch(Event::Discovered { documents: discovered, bytes: found.sources.iter().map(|source| source.bytes).sum() });
    let mut manifest = Manifest::new(&job.spec, job.admission, embedder.info(), job.output);
    let mut quarantined = found.quarantined;
    let mut files: Vec<Vec<Source>> = vec![Vec::new(); job.output.files];
    for source in found.sources {
        files[store::file_of(&source.doc_id, job.output.files)].push(source);
    }

    let (prepared, to_embed) = sync_channel(1);
    let (with_vectors, to_write) = sync_channel(1);
    let collector = Collector::new(&staging, job.output.files)?;
    let manifest_ref = &manifest;
    let staging_ref = &staging;
    let (preparing, embedding, writing) = thread::scope(|scope| {
        let preparing = scope.spawn(move || prepare_files(files, job, sizer, stop, watch, collector, &prepared));
        let writing = scope.spawn(move || write_files(&to_write, staging_ref, manifest_ref));
        let embedding = embed_files(&to_embed, job, embedder, stop, watch, &with_vectors);
        drop((to_embed, with_vectors));
        (join(preparing), embedding, join(writing))
    });
    // The first stage that failed has the reason; the others only saw their queue close.
    let (found_late, collector, preparing) = preparing?;
    let embedding = embedding?;
    let (mut entries, mut totals, mut writing) = writing?;
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }

    let edges_started = Instant::now();
    entries.extend(collector.write(&staging, &manifest, &mut totals, stop)?);
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    writing += edges_started.elapsed();

    quarantined.extend(found_late);
    quarantined.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
    manifest.counts = Counts { discovered, quarantined: quarantined.len() as u64, ..totals };
    manifest.files = entries;
    let lines: Vec<QuarantineRow> = quarantined.iter().map(QuarantineRow::from).collect();
    staging.commit(&manifest, &lines)?;
    Ok(Report {
        manifest,
        quarantined,
        texts_embedded: embedding.computed,
        texts_cached: embedding.cached,
        tokens_read: embedding.tokens_read,
        elapsed: started.elapsed(),
        stages: [preparing, embedding.busy, writing],
    })
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn prepare_files(
    files: Vec<Vec<Source>>,
    job: &Job,
    sizer: Sizer<'_>,
    stop: &AtomicBool,
    watch: Watcher<'_>,
    mut collector: Collector,
    done: &SyncSender<Batch>,
) -> Result<(Vec<Quarantined>, Collector, Duration)> {
    let mut busy = Duration::ZERO;
    let mut quarantined = Vec::new();
    for (file, sources) in files.into_iter().enumerate() {
        let started = Instant::now();
        let recipe = Recipe { spec: &job.spec, sizer, admission: job.admission };
        let prepare = |source| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let prepared = recipe.prepare(source)?;
            watch(Event::Prepared { chunks: prepared.as_ref().map_or(0, |prepared| prepared.chunks.len()) });
            Ok(prepared)
        };
        let prepared: Vec<Result<Prepared, Quarantined>> =
            sources.into_par_iter().map(prepare).collect::<Result<_>>()?;
        let mut batch =
            Batch { file, chunks: Vec::new(), texts: Vec::new(), documents: Vec::new(), vectors: Vec::new() };
        for document in prepared {
            match document {
                Ok(prepared) => {
                    collector.add(file, &prepared)?;
                    batch.documents.push(prepared.document);
                    batch.chunks.extend(prepared.chunks);
                    batch.texts.extend(prepared.texts);
                }
                Err(passed_over) => quarantined.push(passed_over),
            }
        }
        busy += started.elapsed();
        if done.send(batch).is_err() {
            break;
        }
    }
    Ok((quarantined, collector, busy))
}

#[derive(Default)]
struct Embedding {
    computed: usize,
    cached: usize,
    tokens_read: usize,
    busy: Duration,
}

fn embed_files(
    prepared: &Receiver<Batch>,
    job: &Job,
    embedder: &dyn Embedder,
    stop: &AtomicBool,
    watch: Watcher<'_>,
    done: &SyncSender<Batch>,
) -> Result<Embedding> {
    let mut total = Embedding::default();
    let mut batcher = Batcher::new(embedder, job.batch_tokens).with_cache(job.cache.as_deref());
    let max_tokens = embedder.info().max_tokens;
    for mut batch in prepared {
        let started = Instant::now();
        let chunks = batch.chunks.len();
        let texts = std::mem::take(&mut batch.texts);
        let progress = |texts, tokens| watch(Event::Embedded { texts, tokens });
        let vectors = batcher.embed(&texts, Role::Document, stop, &progress)?;
        for (row, n_tokens) in batch.chunks.iter_mut().zip(&vectors.n_tokens) {
            row.n_model_tokens = Some(i64::try_from(*n_tokens).unwrap_or(i64::MAX));
            row.truncated = Some(*n_tokens > max_tokens);
        }
        if job.deny_truncation {
            deny_truncated(&batch.chunks, max_tokens)?;
        }
        batch.vectors = vectors.vectors;
        total.computed += vectors.computed;
        total.cached += vectors.cached;
        total.tokens_read += vectors.tokens_read;
        total.busy += started.elapsed();
        watch(Event::Ready { chunks });
        if done.send(batch).is_err() {
            break;
        }
    }
    Ok(total)
}

fn deny_truncated(chunks: &[ChunkRow], max_tokens: usize) -> Result<()> {
    let mut truncated = chunks.iter().filter(|row| row.truncated == Some(true));
    match truncated.next() {
        None => Ok(()),
        Some(first) => {
            Err(Error::Truncated { count: 1 + truncated.count(), max_tokens, first: first.chunk_id.clone() })
        }
    }
}

fn write_files(
    embedded: &Receiver<Batch>,
    staging: &Staging,
    manifest: &Manifest,
) -> Result<(Vec<FileEntry>, Counts, Duration)> {
    let mut entries = Vec::new();
    let mut counts = Counts::default();
    let mut busy = Duration::ZERO;
    for batch in embedded {
        let started = Instant::now();
        let written =
            store::write_table(staging, manifest, batch.file, &batch.chunks, &batch.vectors, &batch.documents)?;
        entries.extend(written);
        counts.add(&batch.chunks, &batch.documents);
        busy += started.elapsed();
    }
    Ok((entries, counts, busy))
}
