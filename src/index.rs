//! The job: corpus in, dataset out.
//!
//! Documents are assigned to parts by their ids; a part is one file of each table. A part whose inputs are what they
//! were, in the snapshot before or in a run that was stopped, is taken over as it is; only the others are built.
//! When all parts are there, links are resolved over all of them, and one commit makes them the dataset. So a run
//! over a corpus that changed in places ends in the same bytes as one that starts from nothing.

mod build;
mod edges;
mod inputs;
mod reuse;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::chunk::{self, Spec};
use crate::corpus::{self, Filter, Quarantined, Root, Source};
use crate::document::{Admission, Document};
use crate::embed::{Cache, Embedder};
use crate::error::{Error, Result};
use crate::links::Outline;
use crate::store::{
    self, ChunkRow, Counts, Dataset, Disk, DocumentRow, FileEntry, Manifest, Output, Part, QuarantineRow, Staging,
};
use crate::tokens::Sizer;
use build::Builder;
use reuse::Earlier;

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
    /// Whether the dataset that is there counts for nothing. The cache counts all the same.
    pub fresh: bool,
    /// What everything is written through.
    pub disk: Arc<dyn Disk>,
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
    /// A part was taken over as it is.
    Kept {
        /// Documents in it.
        documents: u64,
        /// Chunks in it.
        chunks: u64,
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
    pub quarantined: Vec<QuarantineRow>,
    /// Chunks whose vectors earlier runs had made.
    pub chunks_kept: u64,
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
/// job with [`Error::Interrupted`] at the next document or batch. Parts that were finished are kept for the next run.
pub fn run(job: &Job, out: &Path, embedder: &dyn Embedder, stop: &AtomicBool, watch: Watcher<'_>) -> Result<Report> {
    let started = Instant::now();
    let sizer = Sizer::new(job.spec.unit(), Some(embedder.counter()))?;
    let found = corpus::discover(&job.roots, &job.filter, &[out.to_owned()])?;
    let mut staging = Staging::open(out, Arc::clone(&job.disk))?;
    let discovered = (found.sources.len() + found.quarantined.len()) as u64;
    watch(Event::Discovered { documents: discovered, bytes: found.sources.iter().map(|source| source.bytes).sum() });
    let mut manifest = Manifest::new(&job.spec, job.admission, embedder.info(), job.output);
    let mut parts: Vec<Vec<Source>> = vec![Vec::new(); job.output.files];
    for source in found.sources {
        parts[store::file_of(&source.doc_id, job.output.files)].push(source);
    }

    // What is there already, and still right.
    let recipe = inputs::Recipe::new(job, embedder.info());
    let look = |sources: &Vec<Source>| {
        let looked_at = inputs::look_at(sources);
        (recipe.inputs(looked_at.iter().cloned()), looked_at.into_iter().map(|input| input.content).collect())
    };
    let looked_at: Vec<(String, Vec<Option<String>>)> = parts.iter().map(look).collect();
    let earlier = if job.fresh { None } else { Dataset::find(out)? };
    let usable = |part: &Part, index: usize| {
        part.record.inputs == looked_at[index].0 && !(job.deny_truncation && part.record.counts.truncated > 0)
    };
    let in_place = |part: &Part| {
        part.files.iter().all(|file| out.join(&file.path).metadata().is_ok_and(|found| found.len() == file.bytes))
    };
    let mut finished: Vec<Option<Part>> = (0..parts.len())
        .map(|index| earlier.as_ref()?.manifest().part(index).filter(|part| usable(part, index) && in_place(part)))
        .collect();
    staging
        .keep(|index, part| !job.fresh && finished.get(index).is_some_and(Option::is_none) && usable(part, index))?;
    for (&index, part) in staging.finished() {
        finished[index] = Some(part.clone());
    }
    let mut chunks_kept = 0;
    for Counts { discovered, chunks, .. } in finished.iter().flatten().map(|part| part.record.counts) {
        chunks_kept += chunks;
        watch(Event::Kept { documents: discovered, chunks });
    }

    // The others.
    let to_build = parts.into_iter().zip(looked_at).enumerate().filter(|(index, _)| finished[*index].is_none());
    let to_build: Vec<_> = to_build.map(|(index, (sources, (_, contents)))| (index, sources, contents)).collect();
    let earlier = match earlier {
        Some(dataset) if !to_build.is_empty() => Earlier::open(dataset, &manifest)?,
        _ => None,
    };
    let builder =
        Builder { job, sizer, recipe, embedder, staging: &staging, manifest: &manifest, earlier, stop, watch };
    let built = builder.build(to_build)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    for (index, part) in built.parts {
        finished[index] = Some(part);
    }
    let finished: Vec<Part> = finished.into_iter().flatten().collect();

    // What concerns all of them.
    let edges_started = Instant::now();
    let mut counts = Counts::default();
    for part in &finished {
        counts.add(&part.record.counts);
    }
    let outlines: Vec<FileEntry> = finished.iter().filter_map(|part| part.files.last().cloned()).collect();
    let resolved = edges::write(&staging, &manifest, &outlines, &mut counts, stop)?;
    let mut quarantined: Vec<QuarantineRow> = found.quarantined.iter().map(QuarantineRow::from).collect();
    counts.discovered += quarantined.len() as u64;
    counts.quarantined += quarantined.len() as u64;
    quarantined.extend(resolved.quarantined);
    quarantined.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
    manifest.counts = counts;
    manifest.parts = finished.iter().map(|part| part.record.clone()).collect();
    manifest.files = finished.into_iter().flat_map(|part| part.files).chain(resolved.files).collect();
    manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    let [preparing, embedding, writing] = built.busy;
    let writing = writing + edges_started.elapsed();
    staging.commit(&manifest, &quarantined)?;
    Ok(Report {
        manifest,
        quarantined,
        chunks_kept: chunks_kept + built.chunks_kept,
        texts_embedded: built.texts_embedded,
        texts_cached: built.texts_cached,
        tokens_read: built.tokens_read,
        elapsed: started.elapsed(),
        stages: [preparing, embedding, writing],
    })
}
