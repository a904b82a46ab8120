//! The job: corpus in, dataset out.
//!
//! Documents are assigned to parts by their ids; a part is one file of each table. If the inputs of a part have
//! not changed since the previous snapshot or an interrupted run, the part is reused as it is. Only the other
//! parts are built. When all parts exist, links are resolved over all of them, and one commit makes them the
//! dataset. An incremental run therefore ends with the same bytes as a run that starts from nothing.
//!
//! # What each step costs, and how far it scales
//!
//! A part is four files. The figures were measured with `make growth` on two cores, except those that follow from
//! the code. They do not include embedding, whose cost depends on the model.
//!
//! | step | time | memory | limit |
//! | --- | --- | --- | --- |
//! | [`plan`] | finds all documents and reads them once, on one machine | 600 bytes per document | the time that one machine takes to read the corpus |
//! | [`run_shard`] | finds all documents; reads those of its parts twice, chunks and embeds them. More machines mean less work for each | 600 bytes per document of the whole corpus, and a few blocks of a megabyte of documents with their vectors | shards beyond the number of parts have nothing to do, and the largest part sets the shortest time |
//! | [`commit`], parts | reads the receipts and writes one file of edges per part: 18 to 25 s for 25,000 parts with 100,000 files and 1,000,000,000 chunks (223 MB) | 2 kB per file | |
//! | [`commit`], links | reads the outlines of all documents twice, on one thread: 5.6 s for 100,000 documents with ten anchors and five links each | 160 bytes per document of that kind | the catalog of links must fit in the memory of one machine: 16 GB for 100 million documents of that kind |
//! | manifest | 410 bytes per file: 41 MB for 100,000 files, loaded by a reader in 0.2 s (88 MB) | three times its size | one manifest is enough for all files that can be named: for the maximum of 400,000 files it has 164 MB and loads in 0.6 s (286 MB); their commit took 96 s (773 MB) |
//! | `verify` | reads every file once, on all cores | 16 bytes per document, 24 per chunk | 24 GB for a billion chunks |
//! | search | reads the positions and headings of all chunks, and all vectors | 50 bytes per chunk, and 4 per value of its vector | for more, use a vector database |

mod build;
mod edges;
mod inputs;
mod leaving;
mod lifecycle;
mod memory;
mod ordered;
mod parts;
mod publish;
mod reuse;
mod shards;
mod table;
mod tally;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chunkmill_base::error::{Error, Result, Skip};
use chunkmill_embed::{Cache, Embedder, Passage, Reading};
use chunkmill_text::chunk::{self, Chunk, Pooling, Spec};
use chunkmill_text::document::{
    Admission, Costly, Document, Layer, MALFORMED_FRONT_MATTER, Origin, blank_data_urls, without_data_urls,
};
use chunkmill_text::tokens::Sizer;

use crate::corpus::{self, Fetched, Filter, Quarantined, Root};
use crate::dataset::{ChunkRow, Counts, Dataset, DocumentRow, Manifest, Output, Part, QuarantineRow, Staging};
use crate::links::Outline;
use crate::storage::Location;
use build::Builder;
use parts::PartWork;
use reuse::Earlier;

pub use ordered::{Results, in_order};

pub use leaving::Leaving;
pub use lifecycle::{Changed, delete, promote};
#[doc(hidden)] // The harness measures it.
pub use memory::peak_memory;
pub use shards::{Changes, Estimate, Plan, PlannedPart, Receipt, commit, plan, run_shard};
pub use table::TableFilter;
pub use tally::{Standing, Tally};

/// The corpus to index, and the settings to use.
#[derive(Debug, Clone)]
pub struct Job {
    /// Roots of the corpus.
    pub roots: Vec<Root>,
    /// Filter that selects which files are documents.
    pub filter: Filter,
    /// Rules for admitting documents.
    pub admission: Admission,
    /// Chunk settings.
    pub spec: Spec,
    /// Layout of the dataset.
    pub output: Output,
    /// Largest number of tokens in a batch of the model; `None` uses the embedder's default.
    pub batch_tokens: Option<usize>,
    /// Whether the job fails if the model would truncate a chunk.
    pub deny_truncation: bool,
    /// Cache of vectors. It does not affect the bytes of the result.
    pub cache: Option<Arc<Cache>>,
    /// Whether to ignore the existing dataset. The cache is used anyway.
    pub fresh: bool,
    /// Whether more than half of the documents of the existing dataset may be deleted, because they are not in the corpus.
    pub allow_shrink: bool,
}

/// A progress event of a running job.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// The corpus has been searched for documents.
    Discovered {
        /// Number of documents found, including those already quarantined.
        documents: u64,
        /// Total size in bytes, without those already quarantined.
        bytes: u64,
    },
    /// A part was reused as it is.
    Kept {
        /// Number of documents in it.
        documents: u64,
        /// Total size in bytes, without those quarantined at discovery.
        bytes: u64,
        /// Number of chunks in it.
        chunks: u64,
    },
    /// A document was read, parsed and chunked, or quarantined.
    Prepared {
        /// Size in bytes at discovery.
        bytes: u64,
        /// Number of its chunks.
        chunks: usize,
    },
    /// A batch was embedded, or its vectors came from the cache.
    Embedded {
        /// Number of texts in it.
        texts: usize,
        /// Number of tokens that the model read; 0 if the vectors came from the cache.
        tokens: usize,
    },
    /// All chunks of a block have their vectors, including those with duplicate texts.
    Ready {
        /// Number of chunks.
        chunks: usize,
    },
}

/// Callback for the events of a job. It is called from any thread.
pub type Watcher<'a> = &'a (dyn Fn(Event) + Sync);

/// The result of a job.
#[derive(Debug)]
pub struct Report {
    /// The committed manifest.
    pub manifest: Manifest,
    /// All documents that are not indexed.
    pub quarantined: Vec<QuarantineRow>,
    /// Documents of the previous snapshot that are not in the corpus any more.
    pub deleted: Leaving,
    /// Ids of the documents whose front matter is not valid, see [`MALFORMED_FRONT_MATTER`].
    pub malformed_front_matter: Vec<String>,
    /// Number of chunks in reused parts, or with vectors from the previous snapshot.
    pub chunks_kept: u64,
    /// Number of distinct texts that were embedded.
    pub texts_embedded: usize,
    /// Number of distinct texts whose vectors were in the cache.
    pub texts_cached: usize,
    /// Number of tokens that the model read for the embedded texts.
    pub tokens_read: usize,
    /// Time from start to commit.
    pub elapsed: Duration,
    /// Time spent in each stage: preparing, embedding, writing. The stages overlap.
    pub stages: [Duration; 3],
}

impl Report {
    /// Creates the report of a commit of parts that other processes built.
    fn of_commit(
        manifest: Manifest,
        quarantined: Vec<QuarantineRow>,
        out: &Location,
        deleted: Leaving,
        elapsed: Duration,
    ) -> Result<Self> {
        let (chunks_kept, stages) = (manifest.counts.chunks, [Duration::ZERO, Duration::ZERO, elapsed]);
        let (texts_embedded, texts_cached, tokens_read) = (0, 0, 0);
        Ok(Self {
            malformed_front_matter: publish::flagged(out, MALFORMED_FRONT_MATTER)?,
            manifest,
            quarantined,
            deleted,
            chunks_kept,
            texts_embedded,
            texts_cached,
            tokens_read,
            elapsed,
            stages,
        })
    }
}

/// A document as rows: its own row, and for each chunk a row and the text that the model sees.
#[doc(hidden)] // The harness measures this step of the job alone.
pub struct Prepared {
    /// Row of the table `documents`.
    pub document: DocumentRow,
    /// Rows of the table `chunks`.
    pub chunks: Vec<ChunkRow>,
    /// Text that the model sees for each chunk.
    pub texts: Vec<String>,
    /// Document that the model reads instead, with [`Pooling::Late`].
    pub reading: Option<Reading>,
    /// Anchors that links can name in the document, and its outgoing links.
    pub outline: Outline,
}

/// The settings that turn a source into rows.
#[doc(hidden)] // The harness measures this step of the job alone.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// Chunk settings.
    pub spec: &'a Spec,
    /// Sizer for the unit of the spec.
    pub sizer: Sizer<'a>,
    /// Rules for admitting documents.
    pub admission: Admission,
    /// Promotion levels by document id. They override those in the front matter.
    pub levels: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Recipe<'a> {
    /// Reads, parses, chunks and counts one document.
    ///
    /// # Errors
    /// The outer error comes from the sizer; the inner one says why the document is quarantined.
    pub fn cut(&self, source: impl Into<Fetched>) -> Result<Result<Cut<'a>, Quarantined>> {
        let source: Fetched = source.into();
        let (memory, limit) = (source.bytes(), self.admission.memory_of(source.bytes()));
        if memory > limit {
            // Not even its bytes fit.
            let hash = source.hash();
            return Ok(Err(Quarantined::of(source.origin(), Skip::TooCostly { memory, limit }, hash)));
        }
        source.read().map_or_else(|passed_over| Ok(Err(passed_over)), |read| self.cut_layer(read))
    }

    /// Does the same as [`cut`](Self::cut) for a document that has already been read.
    ///
    /// # Errors
    /// Those of [`cut`](Self::cut).
    pub fn cut_layer(&self, (origin, layer): (Origin, Layer)) -> Result<Result<Cut<'a>, Quarantined>> {
        let limit = self.admission.memory_of(layer.text.len() as u64);
        let too_costly =
            |origin, memory, hash| Ok(Err(Quarantined::of(origin, Skip::TooCostly { memory, limit }, Some(hash))));
        let mut document = match Document::parse_within(origin, layer, limit) {
            Ok(document) => document,
            Err(Costly { origin, content_hash, memory }) => return too_costly(origin, memory, content_hash),
        };
        if let Err(reason) = self.admission.admit(&mut document) {
            return Ok(Err(Quarantined::of(document.origin, reason, Some(document.content_hash))));
        }
        if let Some(level) = self.levels.and_then(|levels| levels.get(&*document.origin.doc_id)) {
            document.promotion_level = Some(level.clone());
        }
        // Measured once, to cut the document and to count the tokens of its chunks.
        let ruler = self.sizer.measure(&document)?;
        let memory = document.memory();
        let chunks = match chunk::chunk_within(&ruler, self.spec, limit.saturating_sub(memory))? {
            Ok(chunks) => chunks,
            Err(more) => return too_costly(document.origin, memory + more, document.content_hash),
        };
        let row = DocumentRow::new(&document, chunks.len());
        let count = |chunk: &Chunk| {
            let document = ruler.document();
            ruler.tokens_between(&chunk.prefix(document), chunk.range.clone(), chunk.suffix(document))
        };
        let n_tokens = chunks.iter().map(count).collect::<Result<_>>()?;
        Ok(Ok(Cut { row, document, chunks, n_tokens, spec: self.spec }))
    }

    /// Reads, parses, chunks and counts one document, and builds its rows.
    ///
    /// # Errors
    /// Those of [`cut`](Self::cut).
    pub fn prepare(&self, source: impl Into<Fetched>) -> Result<Result<Prepared, Quarantined>> {
        Ok(self.cut(source)?.map(Cut::prepare))
    }
}

/// Estimated bytes of a row: short texts, links, a vector of about 400 values, and what the batch adds for it.
const ROW_BYTES: usize = 2500;

/// A chunked document whose rows are not built yet. The rows of a large document need not be in memory together.
#[doc(hidden)] // The harness measures this step of the job alone.
pub struct Cut<'a> {
    /// Row of the table `documents`.
    pub row: DocumentRow,
    document: Document,
    chunks: Vec<Chunk>,
    n_tokens: Vec<usize>,
    spec: &'a Spec,
}

impl Cut<'_> {
    /// Builds all rows, each with the text that the model sees.
    #[must_use]
    pub fn prepare(self) -> Prepared {
        let (document, spec, outline, passage) = (self.row.clone(), self.spec, self.outline(), self.passage());
        let chunks: Vec<ChunkRow> = self.rows().collect();
        let texts = chunks.iter().map(|row| embed_text(row, &document, spec)).collect();
        let reading = passage.map(|passage| Reading { passage, spans: chunks.iter().map(span).collect() });
        Prepared { document, chunks, texts, reading, outline }
    }

    /// Returns the document as the model reads it whole, if the spec uses late pooling.
    fn passage(&self) -> Option<Arc<Passage>> {
        let Document { title, origin, text, .. } = &self.document;
        let name = self.spec.context().name_of(title.as_deref(), &origin.path);
        (self.spec.pooling() == Pooling::Late).then(|| Arc::new(Passage::new(name, blank_data_urls(text.clone()))))
    }

    /// Returns the anchors that links can name in the document, and its outgoing links.
    fn outline(&self) -> Outline {
        Outline::new(&self.document, &self.chunks)
    }

    /// Estimates the memory that all its rows would take together with their vectors, in bytes.
    fn row_bytes(&self) -> usize {
        let texts = |chunk: &Chunk| {
            let path: usize = chunk.heading_path.iter().map(String::len).sum();
            chunk.prefix(&self.document).len() + chunk.range.len() + chunk.suffix(&self.document).len() + 2 * path
        };
        self.chunks.iter().map(|chunk| ROW_BYTES + texts(chunk)).sum()
    }

    /// Returns the rows of the table `chunks`, each built on demand.
    pub fn rows(self) -> impl Iterator<Item = ChunkRow> {
        let Self { row, document, chunks, n_tokens, spec } = self;
        let counted = chunks.into_iter().zip(n_tokens);
        counted.map(move |(chunk, n_tokens)| ChunkRow::new(&document, chunk, spec, &row, n_tokens))
    }
}

/// Returns the byte range of a chunk in its document, including the overlap before it.
fn span(row: &ChunkRow) -> Range<usize> {
    let start = row.overlap_start_byte.unwrap_or(row.start_byte);
    let [start, end] = [start, row.end_byte].map(|byte| usize::try_from(byte).unwrap_or_default());
    start..end
}

/// Returns the text that the model sees for a chunk.
fn embed_text(row: &ChunkRow, document: &DocumentRow, spec: &Spec) -> String {
    let shown = row.normalized_content.as_ref().unwrap_or(&row.content);
    let shown = without_data_urls(shown).into_owned();
    spec.context().before(&row.header_path, shown, document.title.as_deref(), &document.path)
}

/// Runs a job and commits its dataset to `out`.
///
/// # Errors
/// Any [`Error`]; the previous dataset is then unchanged. Setting `stop` ends the job with [`Error::Interrupted`]
/// at the next document or batch. Finished parts are kept for the next run.
pub fn run(
    job: &Job,
    out: &Location,
    embedder: &dyn Embedder,
    stop: &AtomicBool,
    watch: Watcher<'_>,
) -> Result<Report> {
    let started = Instant::now();
    job.spec.encoding().load();
    let sizer = job.spec.sizer(Some(embedder.counter()))?;
    // Before the folder is opened as a dataset, which a folder of documents is not.
    corpus::check_apart(&job.roots, out)?;
    let mut staging = Staging::open(out)?;
    // A fresh run repairs a damaged dataset.
    let earlier = Dataset::find(out).or_else(|error| if job.fresh { Ok(None) } else { Err(error) })?;
    let mut parts = parts::find(job, out, &parts::promotions(earlier.as_ref()))?;
    let deleted = Leaving::find(job, out, earlier.as_ref(), &parts)?;
    watch(parts::discovered(parts.iter()));
    let manifest = Manifest::new(&job.spec, job.admission, embedder.info(), job.output);

    // Parts that exist already and are still valid.
    let recipe = inputs::Recipe::new(job, embedder.info());
    for part in &mut parts {
        part.look(&recipe)?;
    }
    let earlier = earlier.filter(|_| !job.fresh);
    let in_place = |(index, work): (usize, &PartWork)| {
        let part = earlier.as_ref()?.manifest().part(index)?;
        (parts::is_usable(job, work, &part) && staging.is_in_place(&part)).then_some(part)
    };
    let mut finished: Vec<Option<Part>> = parts.iter().enumerate().map(in_place).collect();
    staging.keep(|index, part| {
        let is_open = finished.get(index).is_some_and(Option::is_none);
        !job.fresh && is_open && parts::is_usable(job, &parts[index], part)
    })?;
    for (&index, part) in staging.finished() {
        finished[index] = Some(part.clone());
    }
    let mut chunks_kept = 0;
    for (work, part) in parts.iter().zip(&finished) {
        let Some(Counts { discovered, chunks, .. }) = part.as_ref().map(|part| part.record.counts) else { continue };
        chunks_kept += chunks;
        watch(Event::Kept { documents: discovered, bytes: work.bytes(), chunks });
    }

    // The parts that must be built.
    let to_build: Vec<_> = parts.into_iter().enumerate().filter(|(index, _)| finished[*index].is_none()).collect();
    let earlier = match earlier {
        Some(dataset) if !to_build.is_empty() => Earlier::open(dataset, &manifest),
        _ => None,
    };
    let (workspace, manifest_so_far) = (staging.workspace(), &manifest);
    let builder = Builder { job, sizer, recipe, embedder, workspace, manifest: manifest_so_far, earlier, stop, watch };
    let built = builder.build(to_build)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    for (index, part) in built.parts {
        finished[index] = Some(part);
    }

    let publishing = Instant::now();
    let (manifest, quarantined) = publish::publish(staging, manifest, finished.into_iter().flatten().collect(), stop)?;
    let [preparing, embedding, writing] = built.busy;
    Ok(Report {
        malformed_front_matter: publish::flagged(out, MALFORMED_FRONT_MATTER)?,
        manifest,
        quarantined,
        deleted,
        chunks_kept: chunks_kept + built.chunks_kept,
        texts_embedded: built.texts_embedded,
        texts_cached: built.texts_cached,
        tokens_read: built.tokens_read,
        elapsed: started.elapsed(),
        stages: [preparing, embedding, writing + publishing.elapsed()],
    })
}
