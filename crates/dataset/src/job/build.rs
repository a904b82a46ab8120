//! Building the parts that cannot be reused.
//!
//! Three stages run at once: preparing (read, parse, chunk, count), embedding, and writing. Each hands the rows of
//! a part to the next stage one block at a time. Memory therefore contains the model and the rows of a few blocks,
//! however large the corpus, and the slowest stage hides the time of the others. A finished part has a receipt. If
//! the run is interrupted later, the next one does not have to rebuild that part.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use chunkmill_base::error::{Error, Result};
use chunkmill_embed::{Batcher, Embedder, ModelInfo, Reading, Role, SPARSE_TRUNCATED, SparseResult, SparseVector};
use chunkmill_text::chunk::Pooling;
use chunkmill_text::tokens::Sizer;
use rayon::prelude::*;

use super::event::{Event, Watcher};
use super::inputs;
use super::job::Job;
use super::memory::{Budget, Share};
use super::parts::PartWork;
use super::prepare::{Cut, PreparedDocument, ROW_BYTES, Recipe, embed_text, span};
use super::report::SparseWork;
use super::reuse::{ChunkValues, Earlier, SparseValues};
use crate::corpus::{self, FetchedDocument};
use crate::dataset::{
    ChunkRow, DocumentOutline, DocumentRow, Manifest, OutlineRow, Part, PartInputs, PartRecord, PartWriter,
    QuarantineRow, Workspace,
};
use crate::links::Outline;

/// Bytes of documents per block. Their rows with vectors take a few times as much memory. A larger document is a
/// block of its own, or several blocks if it has many rows.
pub(super) const BLOCK_BYTES: u64 = 1 << 20;

/// Bytes of rows with vectors above which the rows of a document are split into several blocks.
const MOST_ROW_BYTES: usize = 8 << 20;

/// Estimated bytes of a chunk on disk, in addition to its text and its vector.
const ROW_BYTES_ON_DISK: usize = 512;

/// Bytes of a token and its weight in a sparse vector on disk, uncompressed.
const TOKEN_BYTES_ON_DISK: usize = 6;

/// Everything that is needed to build parts.
pub(super) struct Builder<'a> {
    pub(super) job: &'a Job,
    pub(super) sizer: Sizer<'a>,
    pub(super) recipe: inputs::InputRecipe<'a>,
    pub(super) embedder: &'a dyn Embedder,
    pub(super) workspace: &'a Workspace,
    pub(super) manifest: &'a Manifest,
    /// Source of the vectors of unchanged documents.
    pub(super) earlier: Option<Earlier>,
    pub(super) stop: &'a AtomicBool,
    pub(super) watch: Watcher<'a>,
}

/// A part that is not built yet.
struct OpenPart {
    index: usize,
    work: PartWork,
    /// Documents with a text that a service refuses, with its words.
    refused: Refused,
}

/// The words of a service about documents with a text that it refuses, by their ids.
type Refused = BTreeMap<Arc<str>, String>;

/// The result of a build.
#[derive(Default)]
pub(super) struct BuildResult {
    pub(super) parts: Vec<(usize, Part)>,
    pub(super) chunks_reused: u64,
    pub(super) texts_embedded: usize,
    pub(super) texts_cached: usize,
    pub(super) tokens_read: usize,
    pub(super) sparse: SparseWork,
    /// Time spent in each stage: preparing, embedding, writing.
    pub(super) busy: [Duration; 3],
    /// Documents that a service refused, by the number of their part, which is not finished.
    refused: BTreeMap<usize, Refused>,
}

impl BuildResult {
    /// Adds another pass, over parts of the first one.
    fn add(&mut self, pass: Self) {
        let Self { parts, chunks_reused, texts_embedded, texts_cached, tokens_read, sparse, busy, refused: _ } = pass;
        let is_first = self.busy == [Duration::ZERO; 3];
        self.parts.extend(parts);
        self.texts_embedded += texts_embedded;
        self.tokens_read += tokens_read;
        self.sparse.add(sparse.texts, sparse.tokens, sparse.time);
        // Later passes find in the cache what the first one put there.
        if is_first {
            self.chunks_reused = chunks_reused;
            self.texts_cached = texts_cached;
        }
        for (sum, busy) in self.busy.iter_mut().zip(busy) {
            *sum += busy;
        }
    }
}

/// Rows of some documents of a part, on their way through the stages.
struct Block {
    index: usize,
    chunks: Vec<ChunkRow>,
    texts: Vec<String>,
    /// Documents to read with late pooling; only a sparse model then reads the texts.
    readings: Vec<Reading>,
    /// Document of an earlier block that the first chunks belong to.
    continued: Option<DocumentRow>,
    documents: Vec<DocumentRow>,
    outlines: Vec<OutlineRow>,
    vectors: Vec<f32>,
    /// A vector for each chunk, if there is a sparse model.
    sparse: Vec<SparseVector>,
    /// Size of the documents in bytes.
    bytes: u64,
    /// Whether a service refused one of its texts, so the part is not written.
    is_refused: bool,
    /// Inputs of the part, in its last block only.
    end: Option<PartInputs>,
    /// Memory that is reserved for the block.
    share: Option<Arc<Share>>,
}

impl Block {
    fn new(index: usize) -> Self {
        let (chunks, texts, readings, documents, outlines) = Default::default();
        let (vectors, sparse, continued, end, share) = Default::default();
        let (bytes, is_refused) = (0, false);
        Self {
            index,
            chunks,
            texts,
            readings,
            continued,
            documents,
            outlines,
            vectors,
            sparse,
            bytes,
            is_refused,
            end,
            share,
        }
    }

    /// Adds a document without its chunks. `chunk_id` returns the id of each chunk.
    fn begin<'i>(&mut self, document: DocumentRow, chunk_id: impl Fn(usize) -> &'i str, outline: &Outline) {
        self.outlines.push(OutlineRow::Document(DocumentOutline::new(&document, chunk_id, outline)));
        self.documents.push(document);
    }

    /// Adds the rows of a document. With late pooling, only a sparse model reads the texts of chunks.
    fn add(&mut self, prepared: PreparedDocument, has_sparse: bool) {
        let PreparedDocument { document, chunks, texts, reading, outline } = prepared;
        self.begin(document, |chunk| chunks[chunk].chunk_id.as_str(), &outline);
        self.chunks.extend(chunks);
        if reading.is_none() || has_sparse {
            self.texts.extend(texts);
        }
        self.readings.extend(reading);
    }
}

/// Passes blocks to the next stage and measures the time spent on making them.
struct Sender<'a> {
    done: &'a SyncSender<Block>,
    busy: Duration,
    since: Instant,
}

impl Sender<'_> {
    /// Waits until the block is taken. Returns `false` if the next stage has ended.
    fn send(&mut self, block: Block) -> bool {
        self.busy += self.since.elapsed();
        let taken = self.done.send(block).is_ok();
        self.since = Instant::now();
        taken
    }
}

/// A chunked document.
enum ChunkedDocument<'a> {
    /// All its rows.
    Whole(Box<PreparedDocument>),
    /// A document with too many rows to be in memory together.
    Large(Box<Cut<'a>>),
}

impl ChunkedDocument<'_> {
    fn chunks(&self) -> usize {
        match self {
            Self::Whole(prepared) => prepared.chunks.len(),
            Self::Large(cut) => cut.chunks.len(),
        }
    }
}

impl Builder<'_> {
    /// Returns an error if the job was told to stop.
    fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Builds parts in the given order.
    pub(super) fn build(&self, parts: Vec<(usize, PartWork)>) -> Result<BuildResult> {
        let mut total = BuildResult::default();
        let mut parts: Vec<_> =
            parts.into_iter().map(|(index, work)| OpenPart { index, work, refused: BTreeMap::new() }).collect();
        // A service may refuse a text after rows of its document were written, so the part is built again without the
        // document. Vectors of the others are in the cache.
        while !parts.is_empty() {
            let built = self.pass(&parts)?;
            parts = built
                .refused
                .iter()
                .filter_map(|(index, refused)| {
                    let part = parts.iter().find(|part| part.index == *index)?;
                    let refused =
                        part.refused.iter().chain(refused).map(|(id, said)| (id.clone(), said.clone())).collect();
                    Some(OpenPart { index: part.index, work: part.work.clone(), refused })
                })
                .collect();
            total.add(built);
        }
        Ok(total)
    }

    /// Builds parts once. Parts with a refused document are not finished.
    fn pass(&self, parts: &[OpenPart]) -> Result<BuildResult> {
        let (prepared, to_embed) = sync_channel(0);
        let (with_vectors, to_write) = sync_channel(0);
        let bytes = parts.iter().map(|part| part.work.bytes()).sum();
        let budget = Budget::new(self.job.admission)?;
        let (preparing, embedding, writing) = thread::scope(|scope| {
            let preparing = scope.spawn(move || self.prepare(parts, &budget, &prepared));
            let writing = scope.spawn(move || self.write(to_write, bytes));
            let embedding = self.embed(&to_embed, &with_vectors);
            drop((to_embed, with_vectors));
            (join(preparing), embedding, join(writing))
        });
        // The first stage to fail has the reason; the others only saw their queue close.
        let preparing = preparing?;
        let embedding = embedding?;
        let (parts, writing) = writing?;
        Ok(BuildResult { parts, busy: [preparing, embedding.busy[1], writing], ..embedding })
    }

    fn prepare(&self, parts: &[OpenPart], budget: &Arc<Budget>, done: &SyncSender<Block>) -> Result<Duration> {
        let mut sender = Sender { done, busy: Duration::ZERO, since: Instant::now() };
        for OpenPart { index, work, refused } in parts {
            let PartWork { sources, passed_over, inputs: PartInputs { promotions, .. } } = work;
            let index = *index;
            let spec = &self.job.spec;
            let recipe = Recipe { spec, sizer: self.sizer, admission: self.job.admission, levels: Some(promotions) };
            let mut inputs = self.recipe.begin(passed_over);
            let mut block = Block::new(index);
            block.outlines = passed_over.iter().cloned().map(OutlineRow::Quarantined).collect();
            let mut blocks = corpus::blocks(sources, budget.block_bytes(BLOCK_BYTES)).peekable();
            loop {
                let sources = blocks.next().unwrap_or_default();
                block.share = Some(Arc::new(budget.enter(sources)));
                sender.since = Instant::now();
                let prepare = |source: FetchedDocument| {
                    self.go_on()?;
                    let bytes = source.bytes();
                    let cut = recipe.cut(source)?.map(|cut| cut.signed().skipping(self.recipe.skipped));
                    let made = cut.and_then(|cut| match refused.get(&cut.row.doc_id) {
                        Some(said) => Err(cut.refused(said)),
                        None if cut.row_bytes() <= MOST_ROW_BYTES => {
                            Ok(ChunkedDocument::Whole(Box::new(cut.prepare())))
                        }
                        None => Ok(ChunkedDocument::Large(Box::new(cut))),
                    });
                    (self.watch)(Event::Prepared { bytes, chunks: made.as_ref().map_or(0, ChunkedDocument::chunks) });
                    Ok(made)
                };
                let made = corpus::fetch(sources)?.into_par_iter().map(prepare).collect::<Result<Vec<_>>>()?;
                // A file may have changed since it was hashed; the contents that were read here count.
                for (source, made) in sources.iter().zip(made) {
                    block.bytes += source.bytes;
                    match made {
                        Ok(ChunkedDocument::Whole(prepared)) => {
                            inputs.document(source, Some(&prepared.document.content_hash));
                            block.add(*prepared, self.embedder.sparse().is_some());
                        }
                        Ok(ChunkedDocument::Large(cut)) => {
                            inputs.document(source, Some(&cut.row.content_hash));
                            let Some(last) = self.in_pieces(*cut, block, &mut sender)? else { return Ok(sender.busy) };
                            block = last;
                        }
                        Err(passed_over) => {
                            inputs.document(source, passed_over.hash.as_deref());
                            block.outlines.push(OutlineRow::Quarantined(QuarantineRow::from(&passed_over)));
                        }
                    }
                }
                let is_last = blocks.peek().is_none();
                if is_last {
                    block.end = Some(PartInputs { inputs: inputs.value(), promotions: promotions.clone() });
                }
                if !sender.send(std::mem::replace(&mut block, Block::new(index))) {
                    return Ok(sender.busy);
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(sender.busy)
    }

    /// Sends the rows of a document in several blocks, the first together with what `block` already contains.
    /// Returns the last block, which is not sent yet, or `None` if the next stage has ended.
    fn in_pieces(&self, cut: Cut<'_>, mut block: Block, sender: &mut Sender<'_>) -> Result<Option<Block>> {
        let document = cut.row.clone();
        block.begin(document.clone(), |chunk| cut.chunks[chunk].id.as_str(), &cut.outline());
        let mut weight = 0;
        let passage = cut.passage();
        for row in cut.rows() {
            self.go_on()?;
            weight += ROW_BYTES + 2 * row.content.len();
            if passage.is_none() || self.embedder.sparse().is_some() {
                block.texts.push(embed_text(&row, &document, &self.job.spec));
            }
            if let Some(passage) = &passage {
                let same = block.readings.last_mut().filter(|last| Arc::ptr_eq(&last.passage, passage));
                let span = span(&row);
                match same {
                    Some(reading) => reading.spans.push(span),
                    None => block.readings.push(Reading { passage: Arc::clone(passage), spans: vec![span] }),
                }
            }
            block.chunks.push(row);
            if weight >= MOST_ROW_BYTES {
                weight = 0;
                let (share, continued) = (block.share.clone(), Some(document.clone()));
                let next = Block { continued, share, ..Block::new(block.index) };
                if !sender.send(std::mem::replace(&mut block, next)) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(block))
    }

    fn embed(&self, prepared: &Receiver<Block>, done: &SyncSender<Block>) -> Result<BuildResult> {
        let mut total = BuildResult::default();
        let mut batcher = Batcher::new(self.embedder, self.job.batch_tokens).with_cache(self.job.cache.as_deref());
        for mut block in prepared {
            let started = Instant::now();
            let (mut texts, mut readings) = (std::mem::take(&mut block.texts), std::mem::take(&mut block.readings));
            let kept = match &self.earlier {
                Some(earlier) => earlier.vectors(block.continued.iter().chain(&block.documents), &block.chunks),
                None => block.chunks.iter().map(|_| None).collect(),
            };
            total.chunks_reused += kept.iter().flatten().count() as u64;
            let mut is_new = kept.iter().map(Option::is_none);
            texts.retain(|_| is_new.next().unwrap_or(true));
            let progress = |texts, tokens| (self.watch)(Event::Embedded { texts, tokens });
            let embedded = match self.job.spec.pooling() {
                Pooling::Chunk => batcher.embed_some(&texts, Role::Document, self.stop, &progress)?,
                Pooling::Late => {
                    let mut is_new = kept.iter().map(Option::is_none);
                    let spans = readings.iter_mut().map(|reading| &mut reading.spans);
                    spans.for_each(|spans| spans.retain(|_| is_new.next().unwrap_or(true)));
                    batcher.read(&readings, self.stop, &progress)?
                }
            };
            if !embedded.refused.is_empty() {
                block.is_refused = true;
                let new: Vec<_> = block.chunks.iter().zip(&kept).filter(|(_, kept)| kept.is_none()).collect();
                let refused = total.refused.entry(block.index).or_default();
                refused.extend(
                    embedded
                        .refused
                        .iter()
                        .filter_map(|(&at, said)| Some((new.get(at)?.0.doc_id.clone(), said.clone()))),
                );
            }
            let sparse_started = Instant::now();
            let sparse = batcher.sparse(&texts, self.stop, &progress)?;
            let has_sparse = sparse.is_some();
            if has_sparse != self.embedder.info().sparse.is_some() {
                let problem = "its record and the model do not agree".to_owned();
                return Err(Error::Embed { doing: "running the sparse model", problem });
            }
            let SparseResult { vectors, truncated, computed, tokens_read } = sparse.unwrap_or_default();
            total.sparse.add(computed, tokens_read, sparse_started.elapsed());
            let sparse = vectors.into_iter().zip(truncated);
            let mut sparse = sparse.map(|(vector, is_truncated)| SparseValues { vector, is_truncated });
            let vectors = embedded.vectors.chunks(self.embedder.info().dim);
            let mut new = vectors.zip(&embedded.n_tokens).map(|(vector, &n_tokens)| ChunkValues {
                vector: vector.to_vec(),
                sparse: sparse.next().unwrap_or_default(),
                n_tokens: i64::try_from(n_tokens).unwrap_or(i64::MAX),
            });
            for (row, kept) in block.chunks.iter_mut().zip(kept) {
                let Some(ChunkValues { vector, sparse, n_tokens }) = kept.or_else(|| new.next()) else { break };
                row.set_embedding(&vector, n_tokens, embedded.max_tokens);
                block.vectors.extend(vector);
                if has_sparse {
                    row.set_sparse(sparse.is_truncated);
                    block.sparse.push(sparse.vector);
                }
            }
            if self.job.deny_truncation && !block.is_refused {
                deny_truncated(&block.chunks, self.embedder)?;
            }
            total.texts_embedded += embedded.computed;
            total.texts_cached += embedded.cached;
            total.tokens_read += embedded.tokens_read;
            total.busy[1] += started.elapsed();
            (self.watch)(Event::Ready { chunks: block.chunks.len() });
            if done.send(block).is_err() {
                break;
            }
        }
        Ok(total)
    }

    /// Writes the blocks to files. `open` is the size of the documents in unfinished parts, in bytes.
    fn write(&self, embedded: Receiver<Block>, mut open: u64) -> Result<(Vec<(usize, Part)>, Duration)> {
        let mut parts = Vec::new();
        let mut busy = Duration::ZERO;
        let mut writer = None;
        let mut refused_part = None;
        // Bytes of documents so far, estimated bytes on disk for them, and bytes of documents in the current part.
        let (mut bytes, mut weight, mut part_bytes) = (0, 0, 0);
        for mut block in embedded {
            let started = Instant::now();
            if block.is_refused {
                (writer, refused_part) = (None, Some(block.index));
            }
            if refused_part == Some(block.index) {
                continue;
            }
            bytes += block.bytes;
            part_bytes += block.bytes;
            weight += block.chunks.iter().map(|row| row.content.len() + ROW_BYTES_ON_DISK).sum::<usize>()
                + block.vectors.len() * size_of::<f32>()
                + block.sparse.iter().map(|vector| vector.weights().len() * TOKEN_BYTES_ON_DISK).sum::<usize>();
            let mut write = || {
                let mut part = match writer.take() {
                    Some(part) => part,
                    None => PartWriter::new(self.workspace, self.manifest, block.index)?,
                };
                part.push(&block.chunks, &block.vectors, &block.sparse, &block.documents, &block.outlines)?;
                let Some(inputs) = block.end.take() else {
                    writer = Some(part);
                    return Ok(None);
                };
                let (files, counts) = part.finish()?;
                let part = Part { record: PartRecord { inputs, counts }, files };
                self.workspace.finish_part(block.index, &part)?;
                Ok(Some(part))
            };
            // Assumes that the unfinished parts take as much room per byte as the blocks so far.
            let need = weight as u64 * open / bytes.max(1);
            if let Some(part) = write().map_err(|error: Error| error.with_need(need))? {
                parts.push((block.index, part));
                open -= std::mem::take(&mut part_bytes);
            }
            busy += started.elapsed();
        }
        Ok((parts, busy))
    }
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Fails if a model truncated a chunk.
fn deny_truncated(chunks: &[ChunkRow], embedder: &dyn Embedder) -> Result<()> {
    let is_truncated = |row: &ChunkRow| row.truncated == Some(true);
    let is_sparse_truncated = |row: &ChunkRow| row.flags.contains(&SPARSE_TRUNCATED);
    let ModelInfo { max_tokens, sparse, .. } = embedder.info();
    let sparse = sparse.as_ref().map_or(*max_tokens, |sparse| sparse.max_tokens);
    let deny = |is_truncated: &dyn Fn(&ChunkRow) -> bool, max_tokens| {
        let mut truncated = chunks.iter().filter(|row| is_truncated(row));
        match truncated.next() {
            None => Ok(()),
            Some(first) => {
                Err(Error::Truncated { count: 1 + truncated.count(), max_tokens, first: first.chunk_id.clone() })
            }
        }
    };
    deny(&is_truncated, *max_tokens)?;
    deny(&is_sparse_truncated, sparse)
}
