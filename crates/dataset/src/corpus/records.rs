//! Documents that are inside files, such as rows of tables: their bytes, in a file that has no name and is gone when the
//! run ends. A document is read twice, in any order, and most files can only be read from the start. All of a corpus are in
//! one file, because a process may have only so many open.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use chunkmill_base::error::{Error, Result};
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
        Ok(hash(&self.read()?))
    }

    /// Reads the document. Its name decides how; see [`Format::of_path`](chunkmill_text::document::Format::of_path) for
    /// names without an extension.
    ///
    /// # Errors
    /// The outer one if the bytes cannot be read again.
    pub(super) fn layer(&self, path: &str, settings: &ReadSettings) -> io::Result<Result<Layer, Refusal>> {
        let mut metadata = self.read()?;
        let hash = hash(&metadata);
        let bytes = metadata.split_off(usize::try_from(self.metadata.end - self.metadata.start).unwrap_or_default());
        let read = match self.kind {
            RecordKind::Text => Layer::read(path, bytes),
            RecordKind::File => chunkmill_read::read(path, bytes, settings),
        };
        Ok(match read {
            Ok(layer) => Ok(Layer { hash, metadata: serde_json::from_slice(&metadata).unwrap_or_default(), ..layer }),
            Err(refusal) => Err(Refusal { hash, ..refusal }),
        })
    }

    /// Reads the metadata, and the bytes behind it.
    fn read(&self) -> io::Result<Vec<u8>> {
        let len = self.metadata.end - self.metadata.start + self.bytes;
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.metadata.start))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Writes the documents that are inside the files of a corpus. There is no file before the first of them.
#[derive(Debug, Default)]
pub(super) struct RecordWriter {
    out: Option<(BufWriter<File>, Arc<Mutex<File>>)>,
    at: u64,
}

impl RecordWriter {
    /// Adds a document. It can be read after [`finish`](Self::finish).
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(super) fn add(&mut self, kind: RecordKind, metadata: &str, bytes: &[u8]) -> Result<Record> {
        self.write(kind, metadata, bytes).map_err(Error::io("write", std::env::temp_dir()))
    }

    fn write(&mut self, kind: RecordKind, metadata: &str, bytes: &[u8]) -> io::Result<Record> {
        let (out, file) = match &mut self.out {
            Some(open) => open,
            none => {
                let file = storage::unnamed_file()?;
                none.insert((BufWriter::new(file.try_clone()?), Arc::new(Mutex::new(file))))
            }
        };
        out.write_all(metadata.as_bytes())?;
        out.write_all(bytes)?;
        let metadata = self.at..self.at + metadata.len() as u64;
        self.at = metadata.end + bytes.len() as u64;
        Ok(Record { file: Arc::clone(file), metadata, bytes: bytes.len() as u64, kind })
    }

    /// Writes what was not yet written.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(super) fn finish(&mut self) -> Result<()> {
        let flushed = self.out.as_mut().map_or(Ok(()), |(out, _)| out.flush());
        flushed.map_err(Error::io("write", std::env::temp_dir()))
    }
}
