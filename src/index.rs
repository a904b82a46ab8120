//! The job: corpus in, dataset out.
//!
//! Documents are assigned to parts by their ids; a part is one file of each table. A part whose inputs are what they
//! were, in the snapshot before or in a run that was stopped, is taken over as it is; only the others are built.
//! When all parts are there, links are resolved over all of them, and one commit makes them the dataset. So a run
//! over a corpus that changed in places ends in the same bytes as one that starts from nothing.
//!
//! # What each step costs, and where it ends
//!
//! A part is four files. Measured with `make growth` on two cores, but for what follows from the code; what embedding takes
//! is the model's affair.
//!
//! | step | time | memory | where it ends |
//! | --- | --- | --- | --- |
//! | [`plan`] | finds all documents and reads them once, on one machine | 600 bytes a document | when one machine takes too long to read the corpus |
//! | [`run_shard`] | finds all documents; reads those of its parts twice, and cuts and embeds them: the more machines, the less for each | 600 bytes a document of the whole corpus, and a few blocks of a megabyte of documents with their vectors | there can be no more shards than parts, and the largest part takes its time |
//! | [`commit`], parts | reads the receipts, and writes a file of edges for each part: 18 to 25 s for 25,000 of them, 100,000 files and 1,000,000,000 chunks (223 MB) | 2 kB a file | |
//! | [`commit`], links | reads the outlines of all documents twice, on one thread: 5.6 s for 100,000 with ten places that can be named and five links each | 160 bytes a document of that kind | the catalog of links is in the memory of one machine: 16 GB for 100 million such documents |
//! | manifest | 410 bytes a file: 41 MB for 100,000 files, which a reader has after 0.2 s (88 MB) | three times its size | one file serves as far as names do: the 400,000 files that there can be make 164 MB, 0.6 s (286 MB); their commit took 96 s (773 MB) |
//! | `verify` | reads every file once, on all cores | 16 bytes a document, 24 a chunk | 24 GB for a thousand million chunks |
//! | search | reads what is known of each chunk, and all vectors | 50 bytes a chunk, 4 a value of its vector | a vector database is made for more |

mod build;
mod edges;
mod inputs;
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

use crate::chunk::{self, Chunk, Pooling, Spec};
use crate::corpus::{Content, Fetched, Filter, Quarantined, Root, Source};
use crate::document::{Admission, Costly, Document};
use crate::embed::{Cache, Embedder, Passage, Reading};
use crate::error::{Error, Result, Skip};
use crate::links::Outline;
use crate::storage::Location;
use crate::store::{ChunkRow, Counts, Dataset, DocumentRow, Manifest, Output, Part, QuarantineRow, Staging};
use crate::tokens::Sizer;
use build::Builder;
use parts::PartWork;
use reuse::Earlier;

pub(crate) use ordered::{Results, in_order};

pub use lifecycle::{Changed, delete, promote};
#[doc(hidden)] // The harness measures it.
pub use memory::peak_memory;
pub use shards::{Changes, Estimate, Plan, PlannedPart, Receipt, commit, plan, run_shard};
pub use table::TableFilter;
pub use tally::{Standing, Tally};

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
        /// Their size.
        bytes: u64,
        /// Chunks in it.
        chunks: u64,
    },
    /// A document was read, parsed and chunked, or quarantined.
    Prepared {
        /// Its size when it was found.
        bytes: u64,
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

impl Report {
    /// Of a commit of what others had made.
    fn of_commit(manifest: Manifest, quarantined: Vec<QuarantineRow>, elapsed: Duration) -> Self {
        let (chunks_kept, stages) = (manifest.counts.chunks, [Duration::ZERO, Duration::ZERO, elapsed]);
        let (texts_embedded, texts_cached, tokens_read) = (0, 0, 0);
        Self { manifest, quarantined, chunks_kept, texts_embedded, texts_cached, tokens_read, elapsed, stages }
    }
}

/// A document as rows: its own, and for each chunk a row and the text that the model sees.
#[doc(hidden)] // The harness measures this step of the job alone.
pub struct Prepared {
    /// The row of `documents`.
    pub document: DocumentRow,
    /// The rows of `chunks`.
    pub chunks: Vec<ChunkRow>,
    /// What the model sees for each chunk.
    pub texts: Vec<String>,
    /// With [`Pooling::Late`] it sees this instead.
    pub reading: Option<Reading>,
    /// What links can name in it, and its own links.
    pub outline: Outline,
}

/// What makes rows of a source.
#[doc(hidden)] // The harness measures this step of the job alone.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// How documents are chunked.
    pub spec: &'a Spec,
    /// Measures in the spec's unit.
    pub sizer: Sizer<'a>,
    /// Which documents are let in.
    pub admission: Admission,
    /// Promotion levels by document that count instead of those in the front matter.
    pub levels: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Recipe<'a> {
    /// Reads, parses, chunks and counts one document.
    ///
    /// # Errors
    /// The outer error is the sizer's; the inner one says why the document is passed over.
    pub fn cut(&self, source: impl Into<Fetched>) -> Result<Result<Cut<'a>, Quarantined>> {
        let source: Fetched = source.into();
        let (memory, limit) = (source.bytes(), self.admission.memory_of(source.bytes()));
        if memory > limit {
            // Not even its bytes fit.
            let hash = source.hash();
            return Ok(Err(Quarantined::of(source.source(), Skip::TooCostly { memory, limit }, hash)));
        }
        source.read().map_or_else(|passed_over| Ok(Err(passed_over)), |read| self.cut_content(read))
    }

    /// The same of a document that was read.
    ///
    /// # Errors
    /// Those of [`cut`](Self::cut).
    pub fn cut_content(&self, (source, content): (Source, Content)) -> Result<Result<Cut<'a>, Quarantined>> {
        let limit = self.admission.memory_of(content.text.len() as u64);
        let too_costly =
            |source, memory, hash| Ok(Err(Quarantined::of(source, Skip::TooCostly { memory, limit }, Some(hash))));
        let mut document = match Document::parse_within(source, content, limit) {
            Ok(document) => document,
            Err(Costly { source, content_hash, memory }) => return too_costly(source, memory, content_hash),
        };
        if let Err(reason) = self.admission.admit(&mut document) {
            return Ok(Err(Quarantined::of(document.source, reason, Some(document.content_hash))));
        }
        if let Some(level) = self.levels.and_then(|levels| levels.get(&*document.source.doc_id)) {
            document.promotion_level = Some(level.clone());
        }
        // Measured once, for its chunks and for their numbers of tokens.
        let ruler = self.sizer.measure(&document)?;
        let chunks = chunk::chunk_measured(&ruler, self.spec)?;
        let memory = chunks.iter().map(chunk_bytes).sum();
        if memory > limit {
            return too_costly(document.source, memory, document.content_hash);
        }
        let row = DocumentRow::new(&document, chunks.len());
        let count = |chunk: &Chunk| ruler.tokens_between(&chunk.prefix, chunk.range.clone(), &chunk.suffix);
        let n_tokens = chunks.iter().map(count).collect::<Result<_>>()?;
        Ok(Ok(Cut { row, document, chunks, n_tokens, spec: self.spec }))
    }

    /// Reads, parses, chunks and counts one document, and makes its rows.
    ///
    /// # Errors
    /// Those of [`cut`](Self::cut).
    pub fn prepare(&self, source: impl Into<Fetched>) -> Result<Result<Prepared, Quarantined>> {
        Ok(self.cut(source)?.map(Cut::prepare))
    }
}

/// About how many bytes of memory a chunk takes.
fn chunk_bytes(chunk: &Chunk) -> u64 {
    let Chunk { id, heading_path, header_path, prefix, suffix, .. } = chunk;
    let path: usize = heading_path.iter().map(|title| size_of::<String>() + title.len()).sum();
    let texts = [id, header_path, prefix, suffix].map(String::len).iter().sum::<usize>() + path;
    (size_of::<Chunk>() + size_of::<usize>() + texts) as u64
}

/// A row of short texts, its links, its vector of some 400 values, and what the batch makes of it.
const ROW_BYTES: usize = 2500;

/// A document that is cut, and not yet in rows: those of a large one need not be in memory together.
#[doc(hidden)] // The harness measures this step of the job alone.
pub struct Cut<'a> {
    /// The row of `documents`.
    pub row: DocumentRow,
    document: Document,
    chunks: Vec<Chunk>,
    n_tokens: Vec<usize>,
    spec: &'a Spec,
}

impl Cut<'_> {
    /// All rows, with what the model sees of each.
    #[must_use]
    pub fn prepare(self) -> Prepared {
        let (document, spec, outline, passage) = (self.row.clone(), self.spec, self.outline(), self.passage());
        let chunks: Vec<ChunkRow> = self.rows().collect();
        let texts = chunks.iter().map(|row| embed_text(row, &document, spec)).collect();
        let reading = passage.map(|passage| Reading::of(passage, &chunks));
        Prepared { document, chunks, texts, reading, outline }
    }

    /// The document as the model reads it whole, if it does.
    fn passage(&self) -> Option<Arc<Passage>> {
        let Document { title, source, text, .. } = &self.document;
        let name = self.spec.context().name_of(title.as_deref(), &source.path);
        (self.spec.pooling() == Pooling::Late).then(|| Arc::new(Passage::new(name, text.clone())))
    }

    /// What links can name in it, and its own links.
    fn outline(&self) -> Outline {
        Outline::new(&self.document, &self.chunks)
    }

    /// About how many bytes of memory its rows would take together, with their vectors.
    fn row_bytes(&self) -> usize {
        let texts = |chunk: &Chunk| {
            let path: usize = chunk.heading_path.iter().map(String::len).sum();
            chunk.prefix.len() + chunk.range.len() + chunk.suffix.len() + 2 * path
        };
        self.chunks.iter().map(|chunk| ROW_BYTES + texts(chunk)).sum()
    }

    /// The rows of `chunks`, each made when it is asked for.
    pub fn rows(self) -> impl Iterator<Item = ChunkRow> {
        let Self { row, document, chunks, n_tokens, spec } = self;
        let counted = chunks.into_iter().zip(n_tokens);
        counted.map(move |(chunk, n_tokens)| ChunkRow::new(&document, chunk, spec, &row, n_tokens))
    }
}

impl Reading {
    /// What is read of a document for some of its chunks.
    fn of(passage: Arc<Passage>, chunks: &[ChunkRow]) -> Self {
        let spans = chunks.iter().map(|row| span(row, passage.text())).collect();
        Self { passage, spans }
    }
}

/// The bytes of a chunk in its document, with the overlap that stands before them.
fn span(row: &ChunkRow, text: &str) -> Range<usize> {
    let [start, end, prefix] =
        [row.start_byte, row.end_byte, row.prefix_len].map(|byte| usize::try_from(byte).unwrap_or_default());
    let overlap = row.content.get(..prefix).filter(|_| row.has_overlap).unwrap_or_default().trim();
    let before = text.get(..start).unwrap_or_default().trim_end();
    // Other prefixes, such as headings, stand elsewhere.
    before.strip_suffix(overlap).filter(|_| !overlap.is_empty()).map_or(start, str::len)..end
}

/// What the model sees of a chunk.
fn embed_text(row: &ChunkRow, document: &DocumentRow, spec: &Spec) -> String {
    let shown = row.normalized_content.as_ref().unwrap_or(&row.content);
    spec.context().before(&row.header_path, shown.clone(), document.title.as_deref(), &document.path)
}

/// Runs a job and commits its dataset to `out`.
///
/// # Errors
/// Any [`Error`]; the dataset that was there before is then still there. Setting `stop` ends the
/// job with [`Error::Interrupted`] at the next document or batch. Parts that were finished are kept for the next run.
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
    let mut staging = Staging::open(out)?;
    // Starting over mends a dataset that is damaged.
    let earlier = Dataset::find(out).or_else(|error| if job.fresh { Ok(None) } else { Err(error) })?;
    let mut parts = parts::find(job, out, &parts::promotions(earlier.as_ref()))?;
    watch(parts::discovered(parts.iter()));
    let manifest = Manifest::new(&job.spec, job.admission, embedder.info(), job.output);

    // What is there already, and still right.
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

    // The others.
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
        manifest,
        quarantined,
        chunks_kept: chunks_kept + built.chunks_kept,
        texts_embedded: built.texts_embedded,
        texts_cached: built.texts_cached,
        tokens_read: built.tokens_read,
        elapsed: started.elapsed(),
        stages: [preparing, embedding, writing + publishing.elapsed()],
    })
}
