//! The measured steps of a sweep, each in its own process.
//!
//! The parent writes a [`Request`] to the standard input of `chunkmill-eval work` and reads the result from its
//! standard output. Each step therefore starts from nothing: it has its own memory, it does not benefit from the
//! caches of the previous step, and its peak memory is the operating system's count for that process. It does what
//! `chunkmill index` and `chunkmill search` do, with the same code, so the evaluated dataset is the one that would
//! be shipped.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use chunkmill::cli::{print_json, tell};
use chunkmill::config::{Config, Options, SearchOptions};
use chunkmill::corpus::{self, Root};
use chunkmill::dataset::{ChunkRow, Dataset, Manifest, Table};
use chunkmill::embed::{self, Batcher, Reading, Reranker};
use chunkmill::job::{self, Recipe};
use chunkmill::search::{
    CANDIDATES, Context as Packed, Filter, FoundChunk, Mode, Passage, Query, QuestionVectors, Searcher, StoredAs,
};
use chunkmill::tokens::Unit;
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::reranker::OnceReranker;
use crate::data::record::{Answer, ChunkPlace, ContextPlaces, DatasetRecord, VariantRecord};

/// Largest number of documents that are ranked for a question.
const DOCUMENTS: usize = 100;

/// Bytes of documents that are read together. Their chunks for all settings are in memory at once.
const BLOCK_BYTES: u64 = 1 << 18;

/// The subcommand that performs requests.
pub const COMMAND: &str = "work";

/// A step of a sweep.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Read, parse and chunk all documents, without a model. Returns a [`ChunkReply`].
    Chunk(ChunkRequest),
    /// Read the documents once for the chunks of several settings with late pooling, and leave the vectors in the
    /// cache. Returns a [`ReadReply`].
    Read(ReadRequest),
    /// Run the whole job. Returns an [`IndexReply`].
    Index(IndexRequest),
    /// Query a dataset. Returns an [`AskReply`].
    Ask(AskRequest),
}

/// Which corpus is chunked, and how.
#[derive(Debug, Serialize, Deserialize)]
pub struct ChunkRequest {
    /// The corpus.
    pub corpus: PathBuf,
    /// Settings.
    pub options: Box<Options>,
}

/// Which corpus is read once for several settings.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadRequest {
    /// The corpus.
    pub corpus: PathBuf,
    /// The settings. All have the same model settings.
    pub options: Vec<Options>,
}

/// Which corpus becomes a dataset, and where.
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexRequest {
    /// The corpus.
    pub corpus: PathBuf,
    /// Settings.
    pub options: Box<Options>,
    /// Folder of the dataset, which should not exist yet.
    pub out: PathBuf,
}

/// Which dataset is asked which questions, and in which ways.
#[derive(Debug, Serialize, Deserialize)]
pub struct AskRequest {
    /// The dataset.
    pub dataset: PathBuf,
    /// Settings of the model.
    pub options: Box<Options>,
    /// The questions.
    pub queries: Vec<String>,
    /// The documents that answer each question, by id; none if that is not known.
    pub sources: Vec<Vec<String>>,
    /// The questions as vectors, if they are known.
    pub vectors: Option<QueryVectors>,
    /// The ways to search.
    pub variants: Vec<Way>,
    /// Number of chunks to retrieve.
    pub depth: usize,
    /// Token budgets of the contexts to pack.
    pub budgets: Vec<usize>,
}

/// A way to search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub options: SearchOptions,
    /// The form in which vectors are stored and searched: `f32`, `int8`, `f32,bits@256`.
    pub stored_as: String,
}

/// The result of [`Request::Chunk`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ChunkReply {
    /// Ids of the documents.
    pub documents: Vec<String>,
    /// Their chunks.
    pub chunks: Vec<ChunkPlace>,
    /// Number of different texts that a model would embed.
    pub texts: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Peak resident memory in bytes.
    pub peak_rss: Option<u64>,
}

/// The result of [`Request::Read`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadReply {
    /// Number of tokens that the model read.
    pub tokens_read: u64,
}

/// The result of [`Request::Index`].
#[derive(Debug, Serialize, Deserialize)]
pub struct IndexReply {
    /// The dataset.
    pub dataset: DatasetRecord,
    /// Seconds from start to commit.
    pub seconds: f64,
    /// Seconds of work by stage: chunk, embed, write.
    pub stages: [f64; 3],
    /// Peak resident memory in bytes.
    pub peak_rss: Option<u64>,
}

/// Questions as vectors of a model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct QueryVectors {
    /// The vectors of each question.
    pub vectors: Vec<QuestionVectors>,
    /// Milliseconds to embed each question.
    pub embed_ms: Vec<f64>,
}

/// The result of [`Request::Ask`].
#[derive(Debug, Serialize, Deserialize)]
pub struct AskReply {
    /// The questions as vectors; `None` if no way to search needed them.
    pub vectors: Option<QueryVectors>,
    /// The results of each way to search.
    pub variants: Vec<VariantRecord>,
    /// Ids of the documents.
    pub documents: Vec<String>,
    /// The chunks, by row.
    pub chunks: Vec<ChunkPlace>,
    /// Peak resident memory in bytes.
    pub peak_rss: Option<u64>,
}

/// Performs a request in another process.
///
/// # Errors
/// The error that the process reports.
pub fn delegate<T: DeserializeOwned>(request: &Request) -> anyhow::Result<T> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut child = Command::new(program)
        .arg(COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start a process for a step of the sweep")?;
    let text = serde_json::to_vec(request)?;
    // The child reads the whole request before it writes anything. If it has already ended, its exit code tells
    // why.
    let sent = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(&text));
    let output = child.wait_with_output().context("cannot wait for a step of the sweep")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let said = said.trim().trim_start_matches("error: ");
        bail!("{}", if said.is_empty() { output.status.to_string() } else { said.to_owned() });
    }
    sent.context("cannot send the request to a step of the sweep")?;
    tell(said);
    serde_json::from_slice(&output.stdout).context("a step of the sweep returned a result that cannot be read")
}

/// Performs the request on standard input and writes its result to standard output.
///
/// # Errors
/// Any error of reading the request, performing it, or writing the result.
pub fn serve() -> anyhow::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).context("cannot read the request")?;
    let result = match serde_json::from_str(&text).context("the request cannot be read; `work` is only for sweeps")? {
        Request::Chunk(request) => serde_json::to_value(request.perform()?)?,
        Request::Read(request) => serde_json::to_value(request.perform()?)?,
        Request::Index(request) => serde_json::to_value(request.perform()?)?,
        Request::Ask(request) => serde_json::to_value(request.perform()?)?,
    };
    print_json(&result)
}

/// Checks settings, and sets the number of threads for the whole process.
fn ready(options: Options) -> anyhow::Result<Config> {
    let config = options.resolve()?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(config.threads.unwrap_or_default());
    threads.build_global().context("cannot start the worker threads")?;
    Ok(config)
}

impl ChunkRequest {
    /// Chunks a corpus. Documents that the job would quarantine are skipped.
    fn perform(self) -> anyhow::Result<ChunkReply> {
        let Self { corpus, options } = self;
        let config = ready(*options)?;
        let started = Instant::now();
        let counter = match config.spec.unit() {
            Unit::Model => Some(config.counter()?),
            _ => None,
        };
        let sizer = config.spec.sizer(counter.as_deref())?;
        let recipe = Recipe { spec: &config.spec, sizer, admission: config.admission, levels: None };
        let found = corpus::discover(&[Root::new(corpus)], &config.filter, &[])?;
        let prepared: Vec<_> =
            found.sources.into_par_iter().map(|source| recipe.prepare(source)).collect::<Result<_, _>>()?;
        let seconds = started.elapsed().as_secs_f64();
        let mut chunked =
            ChunkReply { documents: Vec::new(), chunks: Vec::new(), texts: 0, seconds, peak_rss: job::peak_memory() };
        let mut texts = HashSet::new();
        for prepared in prepared.into_iter().flatten() {
            let doc = chunked.documents.len();
            chunked.documents.push(prepared.document.doc_id.to_string());
            let place =
                |row: &ChunkRow| self::place(doc, row.overlap_start_byte, [row.start_byte, row.end_byte, row.n_tokens]);
            chunked.chunks.extend(prepared.chunks.iter().map(place));
            texts.extend(prepared.texts);
        }
        chunked.texts = texts.len() as u64;
        Ok(chunked)
    }
}

impl ReadRequest {
    /// Reads the documents once for several settings.
    fn perform(self) -> anyhow::Result<ReadReply> {
        let Self { corpus, options } = self;
        let specs = options.iter().map(|options| Ok(options.clone().resolve()?.spec));
        let specs = specs.collect::<chunkmill::error::Result<Vec<_>>>()?;
        let config = ready(options.into_iter().next().context("no settings")?)?;
        let embedder = config.embedder()?;
        let (filter, admission, batch_tokens) = (config.filter.clone(), config.admission, config.batch_tokens);
        let job = config.job(vec![Root::new(&corpus)], true)?;
        let mut batcher = Batcher::new(embedder.as_ref(), batch_tokens).with_cache(job.cache.as_deref());
        let mut recipes = Vec::new();
        for spec in &specs {
            spec.encoding().load();
            recipes.push(Recipe { spec, sizer: spec.sizer(Some(embedder.counter()))?, admission, levels: None });
        }
        let found = corpus::discover(&[Root::new(&corpus)], &filter, &[])?;
        let mut tokens_read = 0;
        for sources in corpus::blocks(&found.sources, BLOCK_BYTES) {
            let read = sources.par_iter().map(|source| {
                let mut readings: Vec<Reading> = Vec::new();
                for recipe in &recipes {
                    let Some(next) = recipe.prepare(source.clone())?.ok().and_then(|prepared| prepared.reading) else {
                        continue;
                    };
                    match readings.iter_mut().find(|reading| reading.passage.is_same(&next.passage)) {
                        Some(reading) => reading.spans.extend(next.spans),
                        None => readings.push(next),
                    }
                }
                Ok(readings)
            });
            let readings = read.collect::<chunkmill::error::Result<Vec<_>>>()?.concat();
            tokens_read += batcher.read(&readings, &AtomicBool::new(false), &|_, _| ())?.tokens_read as u64;
        }
        Ok(ReadReply { tokens_read })
    }
}

impl IndexRequest {
    /// Runs the whole job.
    fn perform(self) -> anyhow::Result<IndexReply> {
        let Self { corpus, options, out } = self;
        let config = ready(*options)?;
        let embedder = config.embedder()?;
        let job = config.job(vec![Root::new(corpus)], true)?;
        let report = job::run(&job, &out.as_path().into(), embedder.as_ref(), &AtomicBool::new(false), &|_| {})?;
        let Manifest { counts, spec, model, files, .. } = &report.manifest;
        let snapshot = Dataset::open(&out)?.id();
        let settings = match serde_json::to_value(&spec.settings)? {
            Value::Object(settings) => settings,
            _ => Map::new(),
        };
        Ok(IndexReply {
            dataset: DatasetRecord {
                snapshot,
                spec: settings,
                spec_text: spec.text.clone(),
                model: model.id.clone(),
                model_fingerprint: model.fingerprint.clone(),
                engine: format!("{} {}", model.engine, model.precision),
                documents: counts.documents,
                quarantined: counts.quarantined,
                chunks: counts.chunks,
                tokens: counts.tokens,
                truncated: counts.truncated,
                bytes: files.iter().map(|file| file.bytes).sum(),
                dim: report.manifest.representations().first().map_or(0, |of| of.dim),
                vector_bytes: counts.chunks
                    * report.manifest.representations().iter().map(|of| of.bytes() as u64).sum::<u64>(),
                texts: (report.texts_embedded + report.texts_cached) as u64,
                texts_reused: report.texts_cached as u64,
            },
            seconds: report.elapsed.as_secs_f64(),
            stages: report.stages.map(|stage| stage.as_secs_f64()),
            peak_rss: job::peak_memory(),
        })
    }
}

impl AskRequest {
    /// Asks a dataset every question in every way to search.
    fn perform(self) -> anyhow::Result<AskReply> {
        let Self { dataset, options, queries, sources, vectors, variants, depth, budgets } = self;
        let config = ready(*options)?;
        let dataset = Dataset::open(&dataset)?;
        let (documents, chunks) = places(&dataset)?;
        let searchers = searchers(&dataset, &variants)?;
        let mut rerankers: HashMap<String, OnceReranker> = HashMap::new();
        let ways: Vec<(&str, &Searcher, Config)> = variants
            .iter()
            .map(|Way { name, options, stored_as }| {
                let way = Options { search: options.clone(), ..Options::default() }.resolve()?;
                let searcher = searchers.iter().find(|(known, _)| known.to_string() == *stored_as);
                let (_, searcher) = searcher.context("no searcher")?;
                searcher.prepare(way.mode, &way.ranking)?;
                if let Some(model) = &way.rerank
                    && !rerankers.contains_key(&model.to_string())
                {
                    let reranker = embed::load_reranker(config.backend, model)?;
                    rerankers.insert(model.to_string(), OnceReranker::new(reranker));
                }
                Ok((name.as_str(), searcher, way))
            })
            .collect::<anyhow::Result<_>>()?;
        let needs_vectors = ways.iter().any(|(_, _, way)| way.mode.needs_vector() || way.mode == Mode::Sparse);
        let vectors = match vectors {
            Some(vectors) if needs_vectors => Some(vectors),
            None if needs_vectors => Some(embed_all(&config, &queries)?),
            _ => None,
        };
        let session = Session {
            queries: &queries,
            sources: &sources,
            vectors: vectors.as_ref().map_or(&[], |embedded| embedded.vectors.as_slice()),
            by_id: documents.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect(),
            depth,
            budgets: &budgets,
        };
        let mut records = Vec::new();
        for (name, searcher, way) in ways {
            let reranker = way.rerank.as_ref().and_then(|model| rerankers.get(&model.to_string()));
            records.push(session.ask(name, searcher, &way, reranker)?);
        }
        Ok(AskReply { vectors, variants: records, documents, chunks, peak_rss: job::peak_memory() })
    }
}

/// Opens a dataset once for each form in which vectors are stored.
fn searchers(dataset: &Dataset, variants: &[Way]) -> anyhow::Result<Vec<(StoredAs, Searcher)>> {
    // No keyword cache: an index kept by another run would only make the first search cheaper, which is not timed.
    let mut searchers: Vec<(StoredAs, Searcher)> = Vec::new();
    for Way { stored_as, .. } in variants {
        let stored_as: StoredAs = stored_as.parse().map_err(anyhow::Error::msg)?;
        if !searchers.iter().any(|(known, _)| *known == stored_as) {
            let searcher = Searcher::open_as(dataset.clone(), None, stored_as)?;
            searcher.prepare_contexts()?;
            searchers.push((stored_as, searcher));
        }
    }
    Ok(searchers)
}

/// Everything that is the same for all ways to search.
struct Session<'a> {
    queries: &'a [String],
    /// The documents that answer each question, by id.
    sources: &'a [Vec<String>],
    /// The vectors of each question; empty if no way to search needs them.
    vectors: &'a [QuestionVectors],
    /// Positions of the documents by their ids.
    by_id: HashMap<&'a str, usize>,
    depth: usize,
    budgets: &'a [usize],
}

impl Session<'_> {
    /// Asks all questions in one way to search.
    fn ask(
        &self,
        name: &str,
        searcher: &Searcher,
        way: &Config,
        reranker: Option<&OnceReranker>,
    ) -> anyhow::Result<VariantRecord> {
        let Config { mode, ranking, fill, .. } = *way;
        // How much is read in a given time must not depend on what was read before.
        let each_time = way.rerank_time.is_some();
        let rerank = way.rerank(reranker.map(|once| -> &dyn Reranker {
            if each_time { once.inner() } else { once }
        }));
        // Contexts are packed from as many chunks as `chunkmill context` uses, whatever else is scored.
        let k = self.depth.max(CANDIDATES);
        let mut record =
            VariantRecord { name: name.to_owned(), mode: mode.name().to_owned(), ..VariantRecord::default() };
        let query = |at: usize| {
            let vectors = self.vectors.get(at);
            Query {
                mode,
                text: &self.queries[at],
                vector: vectors.and_then(|vectors| vectors.vector.as_deref()),
                sparse: vectors.and_then(|vectors| vectors.sparse.as_ref()),
                k,
                ranking,
                fill,
                rerank,
                ..Query::default()
            }
        };
        // The first search finds the processor's caches cold, so it is not counted.
        if !self.queries.is_empty() {
            searcher.search(&query(0))?;
        }
        let mut hits = Vec::new();
        for at in 0..self.queries.len() {
            let query = query(at);
            reranker.map(OnceReranker::saved_ms);
            let started = Instant::now();
            hits.push(searcher.search(&query)?);
            let saved = reranker.map_or(0.0, OnceReranker::saved_ms);
            record.search_ms.push(milliseconds(started.elapsed()) + saved);
        }
        let answer = |(at, hits): (usize, &Vec<FoundChunk>)| {
            let query = query(at);
            let documents = ranked_documents(searcher, &query, hits)?;
            let candidates = &hits[..hits.len().min(CANDIDATES)];
            let contexts = searcher.contexts(candidates, self.budgets, query.fill_rule())?;
            let hits = &hits[..hits.len().min(self.depth)];
            let chances = chances_of(hits);
            let is_asked_again = !chances.is_empty() && !self.sources[at].is_empty();
            let without = is_asked_again.then(|| found_without(searcher, &query, &self.sources[at])).transpose()?;
            Ok(Answer {
                rows: hits.iter().map(|hit| hit.row as usize).collect(),
                scores: hits.iter().map(|hit| single(hit.score)).collect(),
                chances,
                chances_without: without.map_or_else(Vec::new, |hits| chances_of(&hits)),
                documents: documents.iter().filter_map(|id| self.by_id.get(id).copied()).collect(),
                contexts: contexts
                    .iter()
                    .map(|context| handed_over(context, &self.by_id))
                    .collect::<anyhow::Result<_>>()?,
            })
        };
        // This part is not timed, so it can run in parallel.
        record.answers = hits.par_iter().enumerate().map(answer).collect::<anyhow::Result<_>>()?;
        Ok(record)
    }
}

/// Embeds all questions one after the other, as users ask them. Returns the vectors and the milliseconds that each
/// took.
fn embed_all(config: &Config, queries: &[String]) -> anyhow::Result<QueryVectors> {
    let embedder = config.embedder()?;
    let embed = |text: &str| {
        let (vector, sparse) = (embed::query(embedder.as_ref(), text)?, embed::sparse_query(embedder.as_ref(), text)?);
        Ok::<_, chunkmill::error::Error>(QuestionVectors { vector: Some(vector), sparse })
    };
    // The first pass through a model finds the processor's caches cold, so it is not counted.
    if let Some(first) = queries.first() {
        embed(first)?;
    }
    let timed = |text: &String| {
        let started = Instant::now();
        let vector = embed(text)?;
        Ok((vector, milliseconds(started.elapsed())))
    };
    let timed: Vec<(QuestionVectors, f64)> = queries.iter().map(timed).collect::<chunkmill::error::Result<_>>()?;
    let (vectors, embed_ms) = timed.into_iter().unzip();
    Ok(QueryVectors { vectors, embed_ms })
}

/// Converts a context to places.
fn handed_over(context: &Packed, by_id: &HashMap<&str, usize>) -> anyhow::Result<ContextPlaces> {
    let passage = |passage: &Passage| {
        let doc = by_id.get(passage.doc_id.as_str()).copied().context("a passage belongs to no known document")?;
        let place = |number: &u64| usize::try_from(*number).context("a document is too large");
        let range = |[start, end]: &[u64; 2]| Ok([place(start)?, place(end)?]);
        Ok((doc, passage.ranges.iter().map(range).collect::<anyhow::Result<_>>()?))
    };
    let passages = context.passages.iter().map(passage).collect::<anyhow::Result<_>>()?;
    Ok(ContextPlaces { tokens: context.tokens, passages })
}

/// Number of the best chunks whose chances are judged: those that the formula of the chance was fitted on.
const JUDGED: usize = 20;

/// Returns the best chunks if the documents that answer a question are left out. A reranker does not change their chances.
fn found_without(
    searcher: &Searcher,
    query: &Query<'_>,
    sources: &[String],
) -> chunkmill::error::Result<Vec<FoundChunk>> {
    let filter = Filter { without: sources.to_vec(), ..Filter::default() };
    searcher.search(&Query { k: JUDGED, rerank: None, filter, ..query.clone() })
}

/// Returns the chances of evidence of the best chunks, if they are known.
fn chances_of(hits: &[FoundChunk]) -> Vec<f32> {
    hits.iter().take(JUDGED).filter_map(|hit| hit.chance).map(single).collect()
}

/// Returns the best documents by their best chunks, in the order of [`Searcher::documents`]. The list is read as
/// deep as necessary; a fused list may end earlier.
fn ranked_documents<'s>(
    searcher: &'s Searcher,
    query: &Query<'_>,
    hits: &[FoundChunk],
) -> chunkmill::error::Result<Vec<&'s str>> {
    let ids = |hits: &[FoundChunk]| {
        let mut seen = HashSet::new();
        let ids = hits.iter().map(|hit| searcher.place(hit.row).document.doc_id.as_str());
        ids.filter(|id| seen.insert(*id)).take(DOCUMENTS).collect::<Vec<_>>()
    };
    let mut documents = ids(hits);
    let mut k = query.k;
    let mut found = hits.len();
    while documents.len() < DOCUMENTS && found == k && k < searcher.len() {
        k = k.saturating_mul(8);
        let deeper = searcher.search(&Query { k, ..query.clone() })?;
        documents = ids(&deeper);
        found = deeper.len();
    }
    Ok(documents)
}

/// Returns the ids of a dataset's documents, and where each chunk is, by row.
fn places(dataset: &Dataset) -> anyhow::Result<(Vec<String>, Vec<ChunkPlace>)> {
    const COLUMNS: [&str; 5] = ["doc_id", "overlap_start_byte", "start_byte", "end_byte", "n_tokens"];
    let mut documents: Vec<String> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut chunks = Vec::new();
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read(file, &COLUMNS, None)? {
            let batch = batch?;
            let column =
                |name: &str| batch.column_by_name(name).with_context(|| format!("there is no column `{name}`"));
            let ids = column("doc_id")?.as_string::<i32>();
            let [overlap, start, end, tokens] = ["overlap_start_byte", "start_byte", "end_byte", "n_tokens"]
                .map(|name| column(name).map(AsArray::as_primitive::<Int64Type>));
            let (overlap, start, end, tokens) = (overlap?, start?, end?, tokens?);
            for at in 0..batch.num_rows() {
                let id = ids.value(at);
                let doc = if let Some(&doc) = numbers.get(id) {
                    doc
                } else {
                    documents.push(id.to_owned());
                    numbers.insert(id.to_owned(), documents.len() - 1);
                    documents.len() - 1
                };
                let overlap = overlap.is_valid(at).then(|| overlap.value(at));
                chunks.push(place(doc, overlap, [start, end, tokens].map(|column| column.value(at))));
            }
        }
    }
    Ok((documents, chunks))
}

/// Returns the place of a chunk with these columns: the start of its overlap if it has one, start, end, tokens.
fn place(doc: usize, overlap_start: Option<i64>, columns: [i64; 3]) -> ChunkPlace {
    let [start, end, tokens] = columns;
    let [start, end, tokens] =
        [overlap_start.unwrap_or(start), end, tokens].map(|value| usize::try_from(value).unwrap_or_default());
    ChunkPlace { doc, start, end, tokens }
}

#[expect(clippy::cast_possible_truncation, reason = "more digits are not kept")]
fn single(score: f64) -> f32 {
    score as f32
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
