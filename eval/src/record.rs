//! What was measured of one dataset: a file of the run's folder, written when the dataset has been asked.
//!
//! A record has everything that scoring needs beside the labels: where every chunk stands, which chunks
//! each way to search found for each question, and what all that cost. So a run can be scored again,
//! by other rules or for other k, without running anything; other budgets are other contexts. Its key says what it was made from; a
//! record with another key is made again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::report::IndexCost;

/// Version of the form of records.
pub const FORMAT_VERSION: u32 = 2;

/// The folder of records, in a run's folder.
const FOLDER: &str = "records";

/// What was measured of a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Equal for records that were made from the same.
    pub key: String,
    /// Name of the build.
    pub build: String,
    /// The dataset.
    pub dataset: DatasetRecord,
    /// Repeated timings, if any were asked for.
    pub index: Option<IndexCost>,
    /// Peak resident memory in bytes by stage.
    pub peak_rss: BTreeMap<String, u64>,
    /// Ids of the documents, in the order in which chunks name them.
    pub documents: Vec<String>,
    /// The chunks, in the order of the dataset's rows.
    pub chunks: Vec<ChunkPlace>,
    /// Milliseconds to embed each question; empty if no way to search needed it.
    pub embed_ms: Vec<f64>,
    /// What each way to search found, in the order of the build's variants.
    pub variants: Vec<VariantRecord>,
}

/// A dataset as it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetRecord {
    /// Identity of its snapshot.
    pub snapshot: String,
    /// Its chunk settings, as its manifest has them.
    pub spec: Map<String, Value>,
    /// The same in one line.
    pub spec_text: String,
    /// The model's id.
    pub model: String,
    /// Identifies what decides its vectors.
    pub model_fingerprint: String,
    /// What ran it, and in what precision.
    pub engine: String,
    /// Documents in it.
    pub documents: u64,
    /// Documents that are in quarantine.
    pub quarantined: u64,
    /// Chunks in it.
    pub chunks: u64,
    /// Tokens of all chunks, `cl100k_base`.
    pub tokens: u64,
    /// Chunks of which the model does not see the end.
    pub truncated: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Dimensions of its vectors.
    pub dim: usize,
    /// Bytes of its vectors, uncompressed.
    pub vector_bytes: u64,
    /// Different texts that were to be embedded.
    pub texts: u64,
    /// Those whose vectors were in the cache.
    pub texts_reused: u64,
}

/// Where a chunk stands. Written as a list of its four numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[usize; 4]", into = "[usize; 4]")]
pub struct ChunkPlace {
    /// Position of its document in [`Record::documents`].
    pub doc: usize,
    /// First byte of the document that it holds, what it repeats of the chunk before included.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Its tokens, `cl100k_base`, with everything that stands before its text.
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

/// What a way to search found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VariantRecord {
    /// Its name.
    pub name: String,
    /// `vector`, `keyword`, `hybrid` or `graph`.
    pub mode: String,
    /// For each question of the set, in its order; none if it was dropped.
    pub answers: Vec<Answer>,
    /// Milliseconds of each search.
    pub search_ms: Vec<f64>,
    /// Why it was not asked all questions.
    #[serde(default)]
    pub dropped: Option<Dropped>,
}

/// Why a race was over for a way to search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// After so many questions.
    pub questions: usize,
    /// Its mean over them by the metric that decides.
    pub mean: f64,
    /// The setting that is surely better.
    pub better: String,
    /// Its mean less that one's.
    pub difference: f64,
}

/// What was found for a question, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Rows of the chunks.
    pub rows: Vec<usize>,
    /// Their scores, in single precision.
    pub scores: Vec<f32>,
    /// The documents by their best chunks, as positions in [`Record::documents`].
    pub documents: Vec<usize>,
    /// What `chunkmill context` hands over, for each budget of the run.
    pub contexts: Vec<HandedOver>,
}

/// A context: places in the order in which they are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOver {
    /// Its tokens, labels included.
    pub tokens: usize,
    /// Its passages: each a document, as a position in [`Record::documents`], and ranges of its bytes.
    pub passages: Vec<(usize, Vec<[usize; 2]>)>,
}

/// The file of a build in a run's folder: readable, and not another build's.
#[must_use]
pub fn path(run: &Path, build: &str) -> PathBuf {
    run.join(FOLDER).join(format!("{}.json", file_name(build)))
}

/// A name that every file system takes, for one that people read.
#[must_use]
pub fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "=.-_".contains(c) { c } else { '-' };
    let readable: String = name.chars().take(80).map(plain).collect();
    format!("{readable}-{}", &blake3::hash(name.as_bytes()).to_hex()[..8])
}

impl Record {
    /// The record of a build, if there is one with this key.
    #[must_use]
    pub fn find(run: &Path, build: &str, key: &str) -> Option<Self> {
        // One that cannot be read, or is of another form, is made again.
        let record: Self = serde_json::from_slice(&fs::read(path(run, build)).ok()?).ok()?;
        (record.format_version == FORMAT_VERSION && record.key == key).then_some(record)
    }

    /// Writes the record, all of it or nothing.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn write(&self, run: &Path) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|e| Error::io("write", run)(e.into()))?;
        replace(&path(run, &self.build), &text)
    }
}

/// Writes a file under another name first, so that it is never there in part. Its folder is made if need be.
///
/// # Errors
/// [`Error::Io`] if it cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let write = || {
        let mut file = fs::File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&part);
        Error::io("write", path)(error)
    })
}
