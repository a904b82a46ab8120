//! The manifest: the one file that says what a dataset is.
//!
//! Everything else is found through it, and a snapshot exists from the moment it is in place. Its
//! form on disk is a private struct with a version; raise [`FORMAT_VERSION`] when an older reader
//! would misread a newer manifest or the files it names.
//!
//! It says the hash of every other file, and its last field, `checksum`, that of itself: the BLAKE3 of all bytes before
//! that line, which is what `head -n -2 manifest.json | b3sum` prints. So nothing of a manifest in which a bit has
//! changed is believed, whatever the bit would have meant.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use serde::{Deserialize, Serialize};

use super::rows::EdgeRow;
use super::schema::FloatEncoding;
use crate::chunk::{Settings, Spec};
use crate::document::{Admission, LinkKind, PARSER_VERSION, SecurityProfile};
use crate::embed::{EmbeddingType, Engine, ModelInfo, Precision, QueryModel, Representation};
use crate::error::{Error, Result};
use crate::hub::plain;
use crate::storage::Location;
use crate::tokens::Encoding;
use crate::value::did_you_mean;

/// Version of the manifest and of the files it names.
pub const FORMAT_VERSION: u32 = 4;

/// Most files of a table: file names have five digits for them.
pub const MAX_FILES: usize = 99_999;

/// The first version whose manifest ends in its checksum.
const FIRST_WITH_CHECKSUM: u32 = 4;

/// What stands before and after the checksum, at the end of the file.
const AROUND_CHECKSUM: [&str; 2] = ["  \"checksum\": \"", "\"\n}\n"];

/// What mends a dataset whose manifest cannot be used.
const MEND: &str = "index the corpus again, with --fresh or into a new folder";

/// Name of the manifest in the dataset's folder.
pub(super) const FILE: &str = "manifest.json";

/// Folders of the files that it names.
pub(super) const FOLDERS: [&str; 4] = ["data/chunks", "data/documents", "data/edges", "state/outlines"];

/// What a dataset is and what it was made with. Fields that older versions did not write have defaults; a
/// dataset of such a version is read, and made again by the next run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Version of chunkmill that wrote it.
    pub tool_version: String,
    /// Version of the parser; another one may cut the same document elsewhere.
    pub parser_version: u32,
    /// Which documents were let in.
    #[serde(default = "everything")]
    pub admission: Admission,
    /// How documents were chunked.
    pub spec: SpecRecord,
    /// What made the vectors.
    #[serde(with = "ModelRecord")]
    pub model: ModelInfo,
    /// How files are laid out.
    pub output: Output,
    /// Totals.
    pub counts: Counts,
    /// The parts that documents are assigned to, in order; part `i` has the `i`-th file of each table.
    #[serde(default)]
    pub parts: Vec<PartRecord>,
    /// Every data file, sorted by path.
    pub files: Vec<FileEntry>,
    /// The files that are for people.
    #[serde(default)]
    pub texts: Texts,
}

/// The files that are for people: BLAKE3 of their bytes, in hexadecimal. Their names are always the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    /// Of the card, `README.md`.
    pub card: String,
    /// Of the list of documents that are not indexed, `quarantine.jsonl`.
    pub quarantine: String,
}

/// What a part is, its files aside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// What it was made from.
    #[serde(flatten)]
    pub inputs: PartInputs,
    /// Totals over it, edges aside.
    pub counts: Counts,
}

/// What decides a part's files: when it is the same, so are they.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartInputs {
    /// Hash of documents, settings, model and versions. Empty if rows were taken out since, or it is unknown.
    pub inputs: String,
    /// Documents with a promotion level that was given to them here, and not by their front matter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub promotions: BTreeMap<String, String>,
}

/// A part that is finished and not yet committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What the manifest will say of it.
    pub record: PartRecord,
    /// Its files, those of edges aside.
    pub files: Vec<FileEntry>,
}

/// A spec as recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecRecord {
    /// In the form that parses back.
    pub text: String,
    /// See [`Spec::fingerprint`].
    pub fingerprint: String,
    /// As settings.
    pub settings: Settings,
}

impl SpecRecord {
    /// Which tokens are counted.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.settings.encoding.unwrap_or_default()
    }
}

impl From<&Spec> for SpecRecord {
    fn from(spec: &Spec) -> Self {
        Self { text: spec.to_string(), fingerprint: spec.fingerprint(), settings: spec.settings() }
    }
}

/// How files are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Files per table.
    pub files: usize,
    /// How vectors are stored.
    pub embedding_type: EmbeddingType,
    /// How their values are encoded.
    pub float_encoding: FloatEncoding,
}

/// Totals over a dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Documents found: indexed and quarantined.
    pub discovered: u64,
    /// Documents indexed.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Documents not indexed.
    pub quarantined: u64,
    /// Bytes of the indexed documents.
    pub bytes: u64,
    /// Tokens, in the chunk settings' encoding, of all chunks.
    pub tokens: u64,
    /// The model's tokens of all chunks, before it cut any.
    pub model_tokens: u64,
    /// Chunks the model cut.
    pub truncated: u64,
    /// Links to somewhere in the corpus, or to what is not there.
    #[serde(default)]
    pub edges: u64,
    /// Those of them that lead to no document, or to none with the section they name.
    #[serde(default)]
    pub unresolved_edges: u64,
    /// The same by kind of link.
    #[serde(default)]
    pub edges_by_kind: EdgeKinds,
}

/// Edges by kind of link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EdgeKinds {
    /// `[text](target)`.
    pub link: EdgeCount,
    /// `[[target]]`.
    pub wikilink: EdgeCount,
    /// `![alt](target)`. Most images are files that are no documents, and so unresolved.
    pub image: EdgeCount,
}

/// How many edges of a kind there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EdgeCount {
    /// All of them.
    pub edges: u64,
    /// Those that are not resolved.
    pub unresolved: u64,
}

/// A data file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Table it belongs to.
    pub table: String,
    /// Path below the dataset's folder.
    pub path: String,
    /// Rows in it.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 of its bytes, in hexadecimal.
    pub blake3: String,
}

impl Counts {
    /// Adds those of a part.
    pub fn add(&mut self, part: &Self) {
        self.discovered += part.discovered;
        self.documents += part.documents;
        self.chunks += part.chunks;
        self.quarantined += part.quarantined;
        self.bytes += part.bytes;
        self.tokens += part.tokens;
        self.model_tokens += part.model_tokens;
        self.truncated += part.truncated;
    }

    /// Adds rows of `chunks`.
    pub(super) fn add_chunks(&mut self, rows: &RecordBatch) {
        let truncated = rows.column_by_name("truncated").and_then(|column| column.as_boolean_opt());
        self.chunks += rows.num_rows() as u64;
        self.tokens += sum(rows, "n_tokens");
        self.model_tokens += sum(rows, "n_model_tokens");
        self.truncated += truncated.map_or(0, |column| column.true_count() as u64);
    }

    /// Adds rows of `documents`.
    pub(super) fn add_documents(&mut self, rows: &RecordBatch) {
        self.discovered += rows.num_rows() as u64;
        self.documents += rows.num_rows() as u64;
        self.bytes += sum(rows, "bytes");
    }

    /// Adds a document that is not indexed.
    pub(super) fn add_quarantined(&mut self) {
        self.discovered += 1;
        self.quarantined += 1;
    }

    /// Adds an edge.
    pub(crate) fn add_edge(&mut self, edge: &EdgeRow) {
        let unresolved = u64::from(!edge.resolved);
        self.edges += 1;
        self.unresolved_edges += unresolved;
        let kind = match edge.kind {
            LinkKind::Link => &mut self.edges_by_kind.link,
            LinkKind::Wikilink => &mut self.edges_by_kind.wikilink,
            LinkKind::Image => &mut self.edges_by_kind.image,
        };
        kind.edges += 1;
        kind.unresolved += unresolved;
    }
}

/// The sum of a column of counts.
fn sum(rows: &RecordBatch, column: &str) -> u64 {
    let column = rows.column_by_name(column).and_then(|column| column.as_primitive_opt::<Int64Type>());
    column.and_then(arrow::compute::sum).unwrap_or_default().unsigned_abs()
}

impl Manifest {
    /// The vectors that its chunks have.
    #[must_use]
    pub fn representations(&self) -> [Representation; 1] {
        Representation::all(self.model.dim, self.output.embedding_type)
    }

    /// A manifest without files.
    #[must_use]
    pub fn new(spec: &Spec, admission: Admission, model: &ModelInfo, output: Output) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            parser_version: PARSER_VERSION,
            admission: admission.of_dataset(),
            spec: spec.into(),
            model: model.clone(),
            output,
            counts: Counts::default(),
            parts: Vec::new(),
            files: Vec::new(),
            texts: Texts::default(),
        }
    }

    /// The files of part `index`, those of edges aside; `None` if the manifest does not know parts, or not this one.
    #[must_use]
    pub fn part(&self, index: usize) -> Option<Part> {
        let record = self.parts.get(index)?.clone();
        let of = |folder: &str| self.files.iter().filter(move |file| file.path.starts_with(folder)).nth(index).cloned();
        let files = ["data/chunks/", "data/documents/", "state/outlines/"].map(of);
        Some(Part { record, files: files.into_iter().collect::<Option<_>>()? })
    }

    /// Reads the manifest of a dataset.
    ///
    /// # Errors
    /// [`Error::Dataset`] if there is none, it is damaged, or a newer chunkmill wrote it; [`Error::Io`].
    pub fn read(root: &Location) -> Result<Self> {
        let path = root.join(FILE);
        let wrong = |problem: String, help: &str| Error::Dataset { path: path.clone(), problem, help: help.to_owned() };
        let bytes = match root.read(FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let meant = did_you_mean(root.meant().filter(|meant| meant.join(FILE).is_file()));
                let help = format!("make the dataset first: chunkmill index CORPUS -o OUT{meant}");
                return Err(wrong("does not exist".to_owned(), &help));
            }
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        let damaged = |problem: &dyn Display| wrong(format!("is damaged: {problem}"), MEND);
        let intact = is_intact(&bytes);
        if intact == Some(false) {
            return Err(damaged(&"its bytes are not those that were written (their BLAKE3 is not its checksum)"));
        }
        let version: Version = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
        version.refuse_newer(&path)?;
        if intact.is_none() && version.format_version >= FIRST_WITH_CHECKSUM {
            return Err(damaged(&"it does not end in its checksum"));
        }
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
        let Output { files, .. } = manifest.output;
        if files == 0 || files > MAX_FILES || !(manifest.parts.is_empty() || manifest.parts.len() == files) {
            return Err(damaged(&format_args!("{} parts, and {files} files of each table", manifest.parts.len())));
        }
        if let Some(file) = manifest.files.iter().find(|file| plain(&file.path).is_none()) {
            let problem = format!("names `{}`, which is not inside the dataset", file.path);
            return Err(wrong(problem, "do not use this dataset"));
        }
        Ok(manifest)
    }

    /// Whether there is a `manifest.json`.
    pub(super) fn exists(root: &Location) -> Result<bool> {
        root.has(FILE)
    }

    /// Refuses a place whose manifest is of a newer version, whatever else is or is not there. One that is damaged says
    /// nothing of its version.
    pub(super) fn refuse_newer(root: &Location) -> Result<()> {
        let path = root.join(FILE);
        let bytes = root.read(FILE).ok().filter(|bytes| is_intact(bytes) != Some(false));
        let version = bytes.and_then(|bytes| serde_json::from_slice::<Version>(&bytes).ok());
        version.map_or(Ok(()), |version| version.refuse_newer(&path))
    }

    /// Whether the `manifest.json` there is one of ours, of any version, or what damage has left of one: its beginning or
    /// its end.
    pub(super) fn is_at(root: &Location) -> bool {
        root.read(FILE).is_ok_and(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            ["\"format_version\":", "\"tool_version\":"].iter().all(|name| text.contains(name))
                || is_intact(&bytes).is_some()
        })
    }

    /// Its bytes on disk, with the checksum.
    pub(super) fn to_json(&self) -> String {
        let fields = serde_json::to_string_pretty(self).unwrap_or_default();
        let fields = format!("{},\n", fields.strip_suffix("\n}").unwrap_or(&fields));
        let [before, after] = AROUND_CHECKSUM;
        format!("{fields}{before}{}{after}", blake3::hash(fields.as_bytes()).to_hex())
    }
}

/// Whether the bytes of a manifest are those that were written, by the checksum in which they end; `None` if they end in
/// none.
fn is_intact(bytes: &[u8]) -> Option<bool> {
    let [before, after] = AROUND_CHECKSUM.map(str::as_bytes);
    let (rest, said) = bytes.strip_suffix(after)?.split_last_chunk::<{ 2 * blake3::OUT_LEN }>()?;
    Some(blake3::hash(rest.strip_suffix(before)?).to_hex().as_bytes() == said)
}

#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

impl Version {
    fn refuse_newer(&self, path: &Path) -> Result<()> {
        if self.format_version <= FORMAT_VERSION {
            return Ok(());
        }
        let version = self.format_version;
        Err(Error::Dataset {
            path: path.to_owned(),
            problem: format!("has format version {version}; this chunkmill reads up to {FORMAT_VERSION}"),
            help: "use a newer chunkmill".to_owned(),
        })
    }
}

/// What version 1 let in.
fn everything() -> Admission {
    Admission { profile: SecurityProfile::Permissive, ..Admission::default() }
}

/// [`ModelInfo`] on disk. Versions that knew only candle and f32 did not say so.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ModelInfo")]
struct ModelRecord {
    id: String,
    revision: Option<String>,
    dim: usize,
    max_tokens: usize,
    pooling: String,
    normalize: bool,
    #[serde(default = "candle")]
    engine: Engine,
    #[serde(default = "f32")]
    precision: Precision,
    fingerprint: String,
    #[serde(default)]
    arithmetic: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<QueryModel>,
    files: BTreeMap<String, String>,
}

fn candle() -> Engine {
    Engine::Candle
}

fn f32() -> Precision {
    Precision::F32
}
