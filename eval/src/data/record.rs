//! The measurements of one dataset: a file in the run's folder, written once the dataset has answered all questions.
//!
//! Together with the labels, a record contains everything that scoring needs: the place of every chunk, the chunks
//! that each way to search found for each question, and the costs. A run can therefore be scored again, by other
//! rules or for another k, without running anything; only other budgets need other contexts. The key identifies the
//! inputs of a record; a record with another key is measured again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};
use chunkmill::safely;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::report::IndexCost;

use crate::data::files::replace;

/// Version of the format of records.
pub const FORMAT_VERSION: u32 = 3;

/// Largest offset in a document, and largest number of tokens of a chunk.
const LARGEST: usize = 1 << 31;

/// Larger times, in milliseconds or seconds, were not measured.
const MOST: f64 = 1e12;

/// Larger counts were not measured.
const MOST_BYTES: u64 = 1 << 50;

/// The folder of records, in a run's folder.
const FOLDER: &str = "records";

/// The measurements of a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Equal for records with the same inputs.
    pub key: String,
    /// Name of the build.
    pub build: String,
    /// The dataset.
    pub dataset: DatasetRecord,
    /// Repeated timings, if requested.
    pub index: Option<IndexCost>,
    /// Peak resident memory in bytes by stage.
    pub peak_rss: BTreeMap<String, u64>,
    /// Ids of the documents; chunks refer to positions in this list.
    pub documents: Vec<String>,
    /// The chunks, in the order of the dataset's rows.
    pub chunks: Vec<ChunkPlace>,
    /// Milliseconds to embed each question; empty if no way to search needed it.
    pub embed_ms: Vec<f64>,
    /// The results of each way to search, in the order of the build's variants.
    pub variants: Vec<VariantRecord>,
}

/// A dataset as it was built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetRecord {
    /// Identity of its snapshot.
    pub snapshot: String,
    /// Its chunk settings from its manifest.
    pub spec: Map<String, Value>,
    /// Its chunk settings in one line.
    pub spec_text: String,
    /// The model's id.
    pub model: String,
    /// Identifies everything that determines its vectors.
    pub model_fingerprint: String,
    /// The engine that ran the model, and its precision.
    pub engine: String,
    /// Number of its documents.
    pub documents: u64,
    /// Number of quarantined documents.
    pub quarantined: u64,
    /// Number of its chunks.
    pub chunks: u64,
    /// Tokens of all chunks, `cl100k_base`.
    pub tokens: u64,
    /// Number of chunks whose end the model does not see.
    pub truncated: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Dimensions of its vectors.
    pub dim: usize,
    /// Bytes of its vectors, uncompressed.
    pub vector_bytes: u64,
    /// Number of distinct texts to embed.
    pub texts: u64,
    /// Number of texts whose vectors were in the cache.
    pub texts_reused: u64,
}

/// The place of a chunk, serialized as a list of its four numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[usize; 4]", into = "[usize; 4]")]
pub struct ChunkPlace {
    /// Position of its document in [`Record::documents`].
    pub doc: usize,
    /// First byte in the document, including the overlap with the previous chunk.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Number of its tokens, `cl100k_base`, including everything placed before its text.
    pub tokens: usize,
}

impl From<[usize; 4]> for ChunkPlace {
    fn from([doc, start, end, tokens]: [usize; 4]) -> Self {
        Self { doc, start, end, tokens }
    }
}

impl From<ChunkPlace> for [usize; 4] {
    fn from(ChunkPlace { doc, start, end, tokens }: ChunkPlace) -> Self {
        [doc, start, end, tokens]
    }
}

/// The results of one way to search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Its name.
    pub name: String,
    /// `vector`, `keyword`, `hybrid` or `graph`.
    pub mode: String,
    /// Answers to the questions of the set, in its order; empty if the way to search was dropped.
    pub answers: Vec<Answer>,
    /// Milliseconds of each search.
    pub search_ms: Vec<f64>,
    /// Why it was not asked all questions, if it was dropped.
    #[serde(default)]
    pub dropped: Option<Elimination>,
}

/// Why a race dropped a way to search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Elimination {
    /// Number of questions it was asked.
    pub questions: usize,
    /// Its mean over them by the primary metric.
    pub mean: f64,
    /// Id of the setting that is significantly better.
    pub better: String,
    /// Its mean minus that setting's.
    pub difference: f64,
}

/// The results for a question, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Rows of the chunks.
    pub rows: Vec<usize>,
    /// Their scores, in single precision.
    pub scores: Vec<f32>,
    /// The chances of evidence of the first of them; empty if the search does not know any.
    pub chances: Vec<f32>,
    /// The chances of the best chunks if the documents that answer the question are left out; empty if they are not known.
    pub chances_without: Vec<f32>,
    /// The documents ranked by their best chunks, as positions in [`Record::documents`].
    pub documents: Vec<usize>,
    /// The context that `chunkmill context` hands over, for each budget of the run.
    pub contexts: Vec<ContextPlaces>,
}

/// A context: places in reading order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPlaces {
    /// Number of its tokens, including labels.
    pub tokens: usize,
    /// Its passages: each one a document, as a position in [`Record::documents`], and byte ranges in it.
    pub passages: Vec<(usize, Vec<[usize; 2]>)>,
}

/// Returns the path of a build's record in a run's folder. Its name is readable and unique to the build.
pub fn path(run: &Path, build: &str) -> PathBuf {
    run.join(FOLDER).join(format!("{}.json", file_name(build)))
}

/// Turns a readable name into a file name that every file system accepts.
pub fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "=.-_".contains(c) { c } else { '-' };
    let readable: String = name.chars().take(80).map(plain).collect();
    format!("{readable}-{}", &blake3::hash(name.as_bytes()).to_hex()[..8])
}

impl Record {
    /// Reads the record of a build that was asked `queries` questions in `ways` ways to search, if there is one with
    /// this key.
    #[must_use]
    pub fn find(run: &Path, build: &str, key: &str, ways: usize, queries: usize) -> Option<Self> {
        // A record that is damaged or has another format is measured again.
        Self::read(run, build, key, ways, queries).ok().flatten()
    }

    /// Reads a record like [`Record::find`]. Returns `None` if there is none with this key.
    ///
    /// # Errors
    /// [`Error::Setting`] with the file if it is damaged.
    pub fn read(run: &Path, build: &str, key: &str, ways: usize, queries: usize) -> Result<Option<Self>> {
        let path = path(run, build);
        let wrong = |problem: String| {
            Error::setting(
                path.display().to_string(),
                format!("is damaged: {problem}"),
                "run the sweep again: it measures this dataset again and keeps the others",
            )
        };
        let bytes = match safely::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(|error| wrong(error.to_string()))?,
        };
        let record: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if record.format_version != FORMAT_VERSION || record.key != key {
            return Ok(None);
        }
        record.check(ways, queries).map_err(|problem| wrong(problem.to_owned()))?;
        Ok(Some(record))
    }

    /// Checks that every number is in range and every position names something, because scoring relies on that.
    fn check(&self, ways: usize, queries: usize) -> std::result::Result<(), &'static str> {
        let is_range = |start: usize, end: usize| start <= end && end <= LARGEST;
        let documents = |docs: &[usize]| docs.iter().all(|&doc| doc < self.documents.len());
        let is_place = |chunk: &ChunkPlace| {
            chunk.doc < self.documents.len() && is_range(chunk.start, chunk.end) && chunk.tokens <= LARGEST
        };
        if !self.chunks.iter().all(is_place) {
            return Err("a chunk is not in any document");
        }
        let is_context = |context: &ContextPlaces| {
            context.tokens <= LARGEST
                && context.passages.iter().all(|(doc, ranges)| {
                    *doc < self.documents.len() && ranges.iter().all(|&[start, end]| is_range(start, end))
                })
        };
        let is_answer = |answer: &Answer| {
            answer.rows.iter().all(|&row| row < self.chunks.len())
                && answer.scores.len() == answer.rows.len()
                && answer.chances.len() <= answer.rows.len()
                && answer.chances.iter().chain(&answer.chances_without).all(|chance| (0.0..=1.0).contains(chance))
                && documents(&answer.documents)
                && answer.contexts.iter().all(is_context)
        };
        let is_time = |&ms: &f64| (0.0..MOST).contains(&ms);
        let is_way = |way: &VariantRecord| {
            let asked = if way.dropped.is_some() { 0 } else { queries };
            way.answers.len() == asked && way.answers.iter().all(is_answer) && way.search_ms.iter().all(is_time)
        };
        if self.variants.len() != ways || !self.variants.iter().all(is_way) {
            return Err("its answers are not those to the questions of the run");
        }
        let index = self.index.iter().flat_map(|index| {
            let spreads = index.stages.values().chain([&index.seconds, &index.chunking_share]);
            spreads.flat_map(|spread| [spread.median, spread.min, spread.max])
        });
        if !index.chain(self.embed_ms.iter().copied()).all(|time| is_time(&time)) {
            return Err("a time is out of range");
        }
        let DatasetRecord { chunks, tokens, bytes, vector_bytes, dim, .. } = &self.dataset;
        let counts = [*chunks, *tokens, *bytes, *vector_bytes, *dim as u64];
        if counts.iter().chain(self.peak_rss.values()).any(|&count| count > MOST_BYTES) || *dim > LARGEST {
            return Err("a count is out of range");
        }
        Ok(())
    }

    /// Writes the record atomically.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn write(&self, run: &Path) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|e| Error::io("write", run)(e.into()))?;
        replace(&path(run, &self.build), &text)
    }
}
