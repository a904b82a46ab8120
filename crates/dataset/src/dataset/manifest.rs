//! The manifest: the one file that describes a dataset.
//!
//! Everything else is found through it, and a snapshot exists from the moment its manifest is in place. Its form
//! on disk is a private struct with a version. Raise [`FORMAT_VERSION`] when an older reader would misread a newer
//! manifest or the files it names.
//!
//! It contains the hash of every other file. Its last field, `checksum`, is its own hash: the BLAKE3 of all bytes
//! before that line, which is what `head -n -2 manifest.json | b3sum` prints. So if a single bit of a manifest has
//! changed, none of it is trusted, whatever that bit would have meant.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, SchemaRef};
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::{count, did_you_mean};
use chunkmill_embed::hub::plain;
use chunkmill_embed::{
    EmbeddingTypes, Engine, MAX_DIM, MAX_VOCABULARY, ModelInfo, Precision, QueryModel, Representation,
    SPARSE_TRUNCATED, ServiceModel, SparseModel,
};
use chunkmill_text::chunk::{Settings, Spec};
use chunkmill_text::document::{Admission, LinkKind, PARSER_VERSION};
use chunkmill_text::tokens::Encoding;
use serde::{Deserialize, Serialize};

use super::rows::{EdgeRow, flagged};
use super::schema::{FloatEncoding, Table};
use crate::corpus::InnerDocuments;
use crate::storage::Location;

/// Version of the manifest and of the files it names.
pub const FORMAT_VERSION: u32 = 8;

/// The oldest version that is read. Earlier ones are from before the first release.
const OLDEST: u32 = 8;

/// Maximum number of files per table: file names have five digits for the number.
pub const MAX_FILES: usize = 99_999;

/// Largest number of anything in a dataset. Sums up to it do not overflow.
const MOST: u64 = 1 << 52;

/// The bytes before and after the checksum, at the end of the file.
const AROUND_CHECKSUM: [&str; 2] = ["  \"checksum\": \"", "\"\n}\n"];

/// Advice for a dataset whose manifest cannot be used.
const MEND: &str = "index the corpus again, with --fresh or into a new folder";

/// Name of the manifest in the dataset's folder.
pub(super) const FILE: &str = "manifest.json";

/// Folders of the files that the manifest names.
pub(super) const FOLDERS: [&str; 5] =
    ["data/chunks", "data/documents", "data/edges", "data/duplicates", "state/outlines"];

/// The description of a dataset and of everything it was made with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Version of chunkmill that wrote it.
    pub tool_version: String,
    /// Version of the parser. Another version may cut the same document in different places.
    pub parser_version: u32,
    /// Which documents were admitted.
    pub admission: Admission,
    /// Which files have documents inside them.
    #[serde(default, skip_serializing_if = "InnerDocuments::is_none")]
    pub inner: InnerDocuments,
    /// How documents were chunked.
    pub spec: SpecRecord,
    /// The model that produced the vectors.
    #[serde(with = "ModelRecord")]
    pub model: ModelInfo,
    /// How files are laid out.
    pub output: Output,
    /// Totals.
    pub counts: Counts,
    /// The parts that documents are assigned to, in order. Part `i` has file `i` of each table.
    pub parts: Vec<PartRecord>,
    /// Every data file, sorted by path.
    pub files: Vec<FileEntry>,
    /// The files for people.
    pub texts: Texts,
}

/// BLAKE3 hashes, in hexadecimal, of the files for people. The names of these files are fixed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    /// Hash of the card, `README.md`.
    pub card: String,
    /// Hash of the list of documents that are not indexed, `quarantine.jsonl`.
    pub quarantine: String,
}

/// A part without its files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// The inputs it was made from.
    #[serde(flatten)]
    pub inputs: PartInputs,
    /// Totals over the part, without edges.
    pub counts: Counts,
}

/// The inputs that determine a part's files: the same inputs give the same files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartInputs {
    /// Hash of documents, settings, model and versions. Empty if rows were removed since, or if it is unknown.
    pub inputs: String,
    /// Documents whose promotion level was set in this dataset, not by their front matter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub promotions: BTreeMap<String, String>,
}

/// A part that is finished but not yet committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The part's record in the manifest.
    pub record: PartRecord,
    /// The part's files, without those of edges.
    pub files: Vec<FileEntry>,
}

impl Part {
    /// Returns the part's files of a table.
    pub(crate) fn of(&self, table: Table) -> impl Iterator<Item = &FileEntry> {
        self.files.iter().filter(move |file| file.table == table.name())
    }
}

/// A spec in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecRecord {
    /// The spec as text that can be parsed again.
    pub text: String,
    /// See [`Spec::fingerprint`].
    pub fingerprint: String,
    /// The spec as settings.
    pub settings: Settings,
}

impl SpecRecord {
    /// Returns the encoding that tokens are counted in.
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
    pub embedding_type: EmbeddingTypes,
    /// How their values are encoded.
    pub float_encoding: FloatEncoding,
}

/// Totals over a dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Documents found, whether indexed or quarantined.
    pub discovered: u64,
    /// Documents indexed.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Documents not indexed.
    pub quarantined: u64,
    /// Bytes of the indexed documents.
    pub bytes: u64,
    /// Tokens of all chunks, in the encoding of the chunk settings.
    pub tokens: u64,
    /// The model's tokens of all chunks, before truncation.
    pub model_tokens: u64,
    /// Chunks that the model truncated.
    pub truncated: u64,
    /// Chunks that the sparse model truncated.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sparse_truncated: u64,
    /// Links inside the corpus, including those to missing targets.
    pub edges: u64,
    /// Edges that lead to no document, or to one without the section they name.
    pub unresolved_edges: u64,
    /// Edges by kind of link.
    pub edges_by_kind: EdgeKinds,
    /// Documents that have nearly the words of another.
    #[serde(default)]
    pub duplicates: u64,
}

/// Edges by kind of link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeKinds {
    /// `[text](target)`.
    pub link: EdgeCount,
    /// `[[target]]`.
    pub wikilink: EdgeCount,
    /// `![alt](target)`. Most images are files that are not documents, and so are unresolved.
    pub image: EdgeCount,
}

/// Number of edges of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeCount {
    /// All edges of the kind.
    pub edges: u64,
    /// Edges that are not resolved.
    pub unresolved: u64,
}

/// A data file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// The table it belongs to.
    pub table: String,
    /// Path below the dataset's folder.
    pub path: String,
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// BLAKE3 of its bytes, in hexadecimal.
    pub blake3: String,
}

impl Counts {
    /// Adds the counts of a part.
    pub fn add(&mut self, part: &Self) {
        self.discovered += part.discovered;
        self.documents += part.documents;
        self.chunks += part.chunks;
        self.quarantined += part.quarantined;
        self.bytes += part.bytes;
        self.tokens += part.tokens;
        self.model_tokens += part.model_tokens;
        self.truncated += part.truncated;
        self.sparse_truncated += part.sparse_truncated;
    }

    /// Returns whether a model truncated a chunk.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated > 0 || self.sparse_truncated > 0
    }

    /// Returns every number.
    fn all(&self) -> [u64; 18] {
        let Self { discovered, documents, chunks, quarantined, bytes, tokens, model_tokens, truncated, .. } = *self;
        let Self {
            sparse_truncated,
            edges,
            unresolved_edges,
            edges_by_kind: EdgeKinds { link, wikilink, image },
            duplicates,
            ..
        } = *self;
        [
            discovered,
            documents,
            chunks,
            quarantined,
            bytes,
            tokens,
            model_tokens,
            truncated,
            sparse_truncated,
            edges,
            unresolved_edges,
            link.edges,
            link.unresolved,
            wikilink.edges,
            wikilink.unresolved,
            image.edges,
            image.unresolved,
            duplicates,
        ]
    }

    /// Adds rows of `chunks`.
    pub(super) fn add_chunks(&mut self, rows: &RecordBatch) {
        let truncated = rows.column_by_name("truncated").and_then(|column| column.as_boolean_opt());
        self.chunks += rows.num_rows() as u64;
        self.tokens += sum(rows, "n_tokens");
        self.model_tokens += sum(rows, "n_model_tokens");
        self.truncated += truncated.map_or(0, |column| column.true_count() as u64);
        let flags = rows.column_by_name("flags").and_then(|flags| flagged(flags, SPARSE_TRUNCATED));
        self.sparse_truncated += flags.into_iter().flatten().filter(|is_flagged| *is_flagged).count() as u64;
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Returns the sum of a column of counts.
fn sum(rows: &RecordBatch, column: &str) -> u64 {
    let column = rows.column_by_name(column).and_then(|column| column.as_primitive_opt::<Int64Type>());
    column.and_then(arrow::compute::sum).unwrap_or_default().unsigned_abs()
}

impl Manifest {
    /// Returns the vectors that the chunks have, the most exact first.
    pub fn representations(&self) -> Vec<Representation> {
        Representation::all(self.model.dim, self.output.embedding_type)
    }

    /// Returns the columns of a table.
    pub fn schema(&self, table: Table) -> SchemaRef {
        table.schema(&self.representations(), self.model.sparse.is_some())
    }

    /// Creates a manifest without files.
    #[must_use]
    pub fn new(spec: &Spec, admission: Admission, inner: &InnerDocuments, model: &ModelInfo, output: Output) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            parser_version: PARSER_VERSION,
            admission: admission.of_dataset(),
            inner: inner.clone(),
            spec: spec.into(),
            model: model.clone(),
            output,
            counts: Counts::default(),
            parts: Vec::new(),
            files: Vec::new(),
            texts: Texts::default(),
        }
    }

    /// Returns each part with its files, without those of edges and duplicates; `None` for one that lacks some.
    pub fn parts_with_files(&self) -> impl Iterator<Item = Option<Part>> {
        let of = |folder: &'static str| self.files.iter().filter(move |file| file.path.starts_with(folder));
        let mut tables = ["data/chunks/", "data/documents/", "state/outlines/"].map(of);
        self.parts.iter().map(move |record| {
            let files = tables.each_mut().map(|files| files.next().cloned());
            Some(Part { record: record.clone(), files: files.into_iter().collect::<Option<_>>()? })
        })
    }

    /// Reads the manifest of a dataset.
    ///
    /// # Errors
    /// [`Error::Dataset`] if there is no manifest, it is damaged, or a newer chunkmill wrote it; [`Error::Io`].
    pub fn read(root: &Location) -> Result<Self> {
        let path = root.join(FILE);
        let wrong = |problem: String, help: &str| Error::Dataset { path: path.clone(), problem, help: help.to_owned() };
        let bytes = match root.read(FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let meant = did_you_mean(root.meant().filter(|meant| meant.join(FILE).is_file()));
                // Somebody may have named the documents.
                let is_folder =
                    root.storage().find(root.path()).is_ok_and(|found| found.is_some_and(|it| it.is_folder));
                let corpus = if is_folder && meant.is_empty() { root.to_string() } else { "CORPUS".to_owned() };
                let help = format!("make the dataset first: chunkmill index {corpus} -o OUT{meant}");
                return Err(wrong("does not exist".to_owned(), &help));
            }
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        let damaged = |problem: &dyn Display| wrong(format!("is damaged: {problem}"), MEND);
        let intact = is_intact(&bytes);
        if intact == Some(false) {
            return Err(damaged(&"its bytes have changed since they were written (their BLAKE3 is not its checksum)"));
        }
        let version: FormatVersion = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
        version.refuse_newer(&path)?;
        if version.format_version < OLDEST {
            let problem = format!("has format version {}, from before the first release", version.format_version);
            return Err(wrong(problem, MEND));
        }
        if intact.is_none() {
            return Err(damaged(&"it does not end in its checksum"));
        }
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
        let Output { files, .. } = manifest.output;
        if files == 0 || files > MAX_FILES || !(manifest.parts.is_empty() || manifest.parts.len() == files) {
            return Err(damaged(&format_args!(
                "it records {} and {} per table",
                count(manifest.parts.len(), "part"),
                count(files, "file")
            )));
        }
        if let Some(problem) = manifest.implausible() {
            return Err(damaged(&problem));
        }
        if let Some(file) = manifest.files.iter().find(|file| plain(&file.path).is_none()) {
            let problem = format!("names `{}`, which is not inside the dataset", file.path);
            return Err(wrong(problem, "do not use this dataset"));
        }
        Ok(manifest)
    }

    /// Returns what no dataset can have, if there is any: a number that we would trust when we add or make room.
    fn implausible(&self) -> Option<String> {
        let Self { model, counts, parts, files, .. } = self;
        if model.dim == 0 || model.dim > MAX_DIM {
            return Some(format!("it records vectors of {}", count(model.dim, "dimension")));
        }
        if let Some(sparse) = model.sparse.as_ref().filter(|sparse| sparse.vocabulary > MAX_VOCABULARY) {
            return Some(format!("it records a vocabulary of {}", count(sparse.vocabulary, "token")));
        }
        let sum = |get: fn(&FileEntry) -> u64| files.iter().map(get).fold(0, u64::saturating_add);
        let sums = [sum(|file| file.rows), sum(|file| file.bytes)];
        let counts = parts.iter().map(|part| &part.counts).chain([counts]).flat_map(Counts::all);
        let most = sums.into_iter().chain(counts).max()?;
        (most > MOST).then(|| format!("it counts up to {most}, which no dataset reaches"))
    }

    /// Returns whether there is a `manifest.json`.
    pub(super) fn exists(root: &Location) -> Result<bool> {
        root.has(FILE)
    }

    /// Fails if the manifest has a newer version, whatever else is or is not there. A damaged manifest says
    /// nothing about its version.
    pub(super) fn refuse_newer(root: &Location) -> Result<()> {
        let path = root.join(FILE);
        let bytes = root.read(FILE).ok().filter(|bytes| is_intact(bytes) != Some(false));
        let version = bytes.and_then(|bytes| serde_json::from_slice::<FormatVersion>(&bytes).ok());
        version.map_or(Ok(()), |version| version.refuse_newer(&path))
    }

    /// Returns whether the `manifest.json` there is one of ours, of any version, or the damaged beginning or end
    /// of one.
    pub(super) fn is_at(root: &Location) -> bool {
        root.read(FILE).is_ok_and(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            ["\"format_version\":", "\"tool_version\":"].iter().all(|name| text.contains(name))
                || is_intact(&bytes).is_some()
        })
    }

    /// Returns the bytes on disk, including the checksum.
    pub(super) fn to_json(&self) -> String {
        let fields = serde_json::to_string_pretty(self).unwrap_or_default();
        let fields = format!("{},\n", fields.strip_suffix("\n}").unwrap_or(&fields));
        let [before, after] = AROUND_CHECKSUM;
        format!("{fields}{before}{}{after}", blake3::hash(fields.as_bytes()).to_hex())
    }
}

/// Returns whether the bytes of a manifest match the checksum that they end in; `None` if they do not end in one.
fn is_intact(bytes: &[u8]) -> Option<bool> {
    let [before, after] = AROUND_CHECKSUM.map(str::as_bytes);
    let (rest, said) = bytes.strip_suffix(after)?.split_last_chunk::<{ 2 * blake3::OUT_LEN }>()?;
    Some(blake3::hash(rest.strip_suffix(before)?).to_hex().as_bytes() == said)
}

#[derive(Deserialize)]
struct FormatVersion {
    format_version: u32,
}

impl FormatVersion {
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

/// [`ModelInfo`] on disk.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ModelInfo")]
struct ModelRecord {
    id: String,
    revision: Option<String>,
    dim: usize,
    max_tokens: usize,
    pooling: String,
    normalize: bool,
    engine: Engine,
    precision: Precision,
    fingerprint: String,
    arithmetic: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<QueryModel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sparse: Option<SparseModel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<ServiceModel>,
    files: BTreeMap<String, String>,
}

/// Returns the number of the file that contains a document's rows.
pub fn file_of(doc_id: &str, files: usize) -> usize {
    let hash = blake3::hash(doc_id.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    let files = files.max(1) as u64;
    usize::try_from(u64::from_le_bytes(first) % files).unwrap_or_default()
}
