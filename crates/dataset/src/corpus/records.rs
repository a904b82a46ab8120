//! Documents that are inside files, such as rows of tables: their bytes, in a file that has no name and is gone when the
//! run ends. A document is read twice, in any order, and most files can only be read from the start.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use chunkmill_text::document::{Layer, ReadSettings, Refusal};

use crate::storage;

/// A document that is inside a file.
#[derive(Debug, Clone)]
pub(super) struct Record {
    file: Arc<Mutex<File>>,
    /// What is known of the document: a line of JSON, or nothing.
    metadata: Range<u64>,
    /// Length of the bytes, which follow.
    bytes: u64,
    kind: RecordKind,
}

/// How the bytes of a document are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// As text.
    Text,
    /// As a file of its name.
    File,
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && self.metadata == other.metadata
    }
}

impl Eq for Record {}

impl Record {
    /// Returns the size in bytes, without metadata.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the BLAKE3 hash of metadata and bytes, in hexadecimal; without metadata, that of the bytes.
    pub(super) fn hash(&self) -> io::Result<String> {
        let all = self.read(self.metadata.start..self.metadata.end + self.bytes)?;
        Ok(blake3::hash(&all).to_hex().to_string())
    }

    /// Reads the document. Its name decides how; see [`Format::of_path`](chunkmill_text::document::Format::of_path) for
    /// names without an extension.
    ///
    /// # Errors
    /// The outer one if the bytes cannot be read again.
    pub(super) fn layer(&self, path: &str, settings: &ReadSettings) -> io::Result<Result<Layer, Refusal>> {
        let hash = self.hash()?;
        let metadata = self.read(self.metadata.clone())?;
        let bytes = self.read(self.metadata.end..self.metadata.end + self.bytes)?;
        let read = match self.kind {
            RecordKind::Text => Layer::read(path, bytes),
            RecordKind::File => chunkmill_read::read(path, bytes, settings),
        };
        Ok(match read {
            Ok(layer) => Ok(Layer { hash, metadata: serde_json::from_slice(&metadata).unwrap_or_default(), ..layer }),
            Err(refusal) => Err(Refusal { hash, ..refusal }),
        })
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let len = range.end.saturating_sub(range.start);
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(range.start))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Writes the documents of one file.
#[derive(Debug)]
pub(super) struct RecordWriter {
    out: BufWriter<File>,
    file: Arc<Mutex<File>>,
    at: u64,
    kind: RecordKind,
}

impl RecordWriter {
    /// Creates a writer of documents that are read in this way.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new(kind: RecordKind) -> io::Result<Self> {
        let file = storage::unnamed_file()?;
        Ok(Self { out: BufWriter::new(file.try_clone()?), file: Arc::new(Mutex::new(file)), at: 0, kind })
    }

    /// Adds a document. It can be read after [`finish`](Self::finish).
    ///
    /// # Errors
    /// The system's.
    pub(super) fn add(&mut self, metadata: &str, bytes: &[u8]) -> io::Result<Record> {
        self.out.write_all(metadata.as_bytes())?;
        self.out.write_all(bytes)?;
        let metadata = self.at..self.at + metadata.len() as u64;
        self.at = metadata.end + bytes.len() as u64;
        Ok(Record { file: Arc::clone(&self.file), metadata, bytes: bytes.len() as u64, kind: self.kind })
    }

    /// Writes what was not yet written.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
