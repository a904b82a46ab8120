//! Building the parts that cannot be taken over.
//!
//! Three stages run at once, each handing the next one part's rows at a time through a queue of
//! length one: preparing (read, parse, chunk, count), embedding, writing. So memory holds the model and a
//! few parts' rows, however large the corpus, and every stage that is not the slowest is hidden
//! behind it. A part that is written has a receipt, so that a run that is stopped later need not make it again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::inputs::{self, Input};
use super::reuse::{Earlier, Kept};
use super::{Event, Job, Recipe, Watcher};
use crate::corpus::Source;
use crate::embed::{Batcher, Embedder, Role};
use crate::error::{Error, Result};
use crate::store::{
    self, ChunkRow, Counts, DocumentOutline, DocumentRow, Manifest, OutlineRow, Part, PartRecord, QuarantineRow,
    Staging,
};
use crate::tokens::Sizer;

/// What a part is built with.
pub(super) struct Builder<'a> {
    pub(super) job: &'a Job,
    pub(super) sizer: Sizer<'a>,
    pub(super) recipe: inputs::Recipe,
    pub(super) embedder: &'a dyn Embedder,
    pub(super) staging: &'a Staging,
    pub(super) manifest: &'a Manifest,
    /// Where vectors of unchanged documents come from.
    pub(super) earlier: Option<Earlier>,
    pub(super) stop: &'a AtomicBool,
    pub(super) watch: Watcher<'a>,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Built {
    pub(super) parts: Vec<(usize, Part)>,
    pub(super) chunks_kept: u64,
    pub(super) texts_embedded: usize,
    pub(super) texts_cached: usize,
    pub(super) tokens_read: usize,
    /// Time the stages were at work: preparing, embedding, writing.
    pub(super) busy: [Duration; 3],
}

/// A part's number, its documents, and the hash of each one's file.
pub(super) type ToBuild = (usize, Vec<Source>, Vec<Option<String>>);

/// One part's rows on their way.
struct Batch {
    index: usize,
    inputs: String,
    chunks: Vec<ChunkRow>,
    texts: Vec<String>,
    documents: Vec<DocumentRow>,
    outlines: Vec<OutlineRow>,
    vectors: Vec<f32>,
}

impl Builder<'_> {
    /// Builds parts, in this order.
    pub(super) fn build(&self, parts: Vec<ToBuild>) -> Result<Built> {
        let (prepared, to_embed) = sync_channel(1);
        let (with_vectors, to_write) = sync_channel(1);
        let (preparing, embedding, writing) = thread::scope(|scope| {
            let preparing = scope.spawn(move || self.prepare(parts, &prepared));
            let writing = scope.spawn(move || self.write(&to_write));
            let embedding = self.embed(&to_embed, &with_vectors);
            drop((to_embed, with_vectors));
            (join(preparing), embedding, join(writing))
        });
        // The first stage that failed has the reason; the others only saw their queue close.
        let preparing = preparing?;
        let embedding = embedding?;
        let (parts, writing) = writing?;
        Ok(Built { parts, busy: [preparing, embedding.busy[1], writing], ..embedding })
    }

    fn prepare(&self, parts: Vec<ToBuild>, done: &SyncSender<Batch>) -> Result<Duration> {
        let mut busy = Duration::ZERO;
        let recipe = Recipe { spec: &self.job.spec, sizer: self.sizer, admission: self.job.admission };
        for (index, sources, contents) in parts {
            let started = Instant::now();
            let prepare = |source: &Source| {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
                let prepared = recipe.prepare(source.clone())?;
                (self.watch)(Event::Prepared { chunks: prepared.as_ref().map_or(0, |prepared| prepared.chunks.len()) });
                Ok(prepared)
            };
            let prepared = sources.par_iter().map(prepare).collect::<Result<Vec<_>>>()?;
            // A file may have changed since it was looked at; what counts is what was read.
            let content = |(prepared, looked_at): (&Result<super::Prepared, _>, Option<String>)| match prepared {
                Ok(prepared) => Some(prepared.document.content_hash.clone()),
                Err(_) => looked_at,
            };
            let contents = prepared.iter().zip(contents).map(content);
            let inputs =
                self.recipe.inputs(sources.iter().zip(contents).map(|(source, content)| Input { source, content }));
            let mut batch = Batch {
                index,
                inputs,
                chunks: Vec::new(),
                texts: Vec::new(),
                documents: Vec::new(),
                outlines: Vec::new(),
                vectors: Vec::new(),
            };
            for document in prepared {
                match document {
                    Ok(prepared) => {
                        let outline = DocumentOutline::new(&prepared.document, &prepared.chunks, &prepared.outline);
                        batch.outlines.push(OutlineRow::Document(outline));
                        batch.documents.push(prepared.document);
                        batch.chunks.extend(prepared.chunks);
                        batch.texts.extend(prepared.texts);
                    }
                    Err(passed_over) => {
                        batch.outlines.push(OutlineRow::Quarantined(QuarantineRow::from(&passed_over)));
                    }
                }
            }
            busy += started.elapsed();
            if done.send(batch).is_err() {
                break;
            }
        }
        Ok(busy)
    }

    fn embed(&self, prepared: &Receiver<Batch>, done: &SyncSender<Batch>) -> Result<Built> {
        let mut total = Built::default();
        let mut batcher = Batcher::new(self.embedder, self.job.batch_tokens).with_cache(self.job.cache.as_deref());
        let max_tokens = self.embedder.info().max_tokens;
        for mut batch in prepared {
            let started = Instant::now();
            let texts = std::mem::take(&mut batch.texts);
            let kept = match &self.earlier {
                Some(earlier) => earlier.vectors(&batch.documents, &batch.chunks)?,
                None => texts.iter().map(|_| None).collect(),
            };
            total.chunks_kept += kept.iter().flatten().count() as u64;
            let new = texts.into_iter().zip(&kept).filter(|(_, kept)| kept.is_none()).map(|(text, _)| text);
            let new: Vec<String> = new.collect();
            let progress = |texts, tokens| (self.watch)(Event::Embedded { texts, tokens });
            let embedded = batcher.embed(&new, Role::Document, self.stop, &progress)?;
            let mut embedded_rows = embedded.vectors.chunks(self.embedder.info().dim).zip(&embedded.n_tokens);
            for (row, kept) in batch.chunks.iter_mut().zip(&kept) {
                let (vector, n_tokens) = match kept {
                    Some(Kept { vector, n_tokens }) => (vector.as_slice(), *n_tokens),
                    None => match embedded_rows.next() {
                        Some((vector, &n_tokens)) => (vector, i64::try_from(n_tokens).unwrap_or(i64::MAX)),
                        None => break,
                    },
                };
                batch.vectors.extend_from_slice(vector);
                row.n_model_tokens = Some(n_tokens);
                row.truncated = Some(usize::try_from(n_tokens).is_ok_and(|n_tokens| n_tokens > max_tokens));
            }
            if self.job.deny_truncation {
                deny_truncated(&batch.chunks, max_tokens)?;
            }
            total.texts_embedded += embedded.computed;
            total.texts_cached += embedded.cached;
            total.tokens_read += embedded.tokens_read;
            total.busy[1] += started.elapsed();
            (self.watch)(Event::Ready { chunks: batch.chunks.len() });
            if done.send(batch).is_err() {
                break;
            }
        }
        Ok(total)
    }

    fn write(&self, embedded: &Receiver<Batch>) -> Result<(Vec<(usize, Part)>, Duration)> {
        let mut parts = Vec::new();
        let mut busy = Duration::ZERO;
        for Batch { index, inputs, chunks, documents, outlines, vectors, .. } in embedded {
            let started = Instant::now();
            let (staging, manifest) = (self.staging, self.manifest);
            let [chunk_file, document_file] =
                store::write_table(staging, manifest, index, &chunks, &vectors, &documents)?;
            let outline_file = store::write_outlines(staging, manifest, index, outlines.iter())?;
            let counts = Counts::of_part(&chunks, &documents, outlines.len() - documents.len());
            let record = PartRecord { inputs, counts };
            let part = Part { record, files: vec![chunk_file, document_file, outline_file] };
            staging.finish_part(index, &part)?;
            parts.push((index, part));
            busy += started.elapsed();
        }
        Ok((parts, busy))
    }
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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
