//! Records that a job writes to the staging folder. They are read back before the job ends and never become part
//! of a dataset.
//!
//! A record is its length followed by its bytes. It can be found again by its offset, so a million chunk ids take
//! at most a million numbers in memory.

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use chunkmill_base::error::{Error, Result};

use super::workspace::Workspace;
use crate::storage::{Input, OutputFile};

/// A file of records that is being written.
#[derive(Debug)]
pub(crate) struct Spool<'a> {
    workspace: &'a Workspace,
    path: PathBuf,
    file: BufWriter<Box<dyn OutputFile>>,
    end: u64,
}

/// A finished file of records that is being read.
#[derive(Debug)]
pub(crate) struct Records {
    path: PathBuf,
    file: BufReader<Input>,
    at: u64,
    end: u64,
}

impl<'a> Spool<'a> {
    /// Creates a file with this name. A file that an interrupted run left there is overwritten.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn create(workspace: &'a Workspace, name: &str) -> Result<Self> {
        let (path, file) = workspace.scratch(name)?;
        let file = BufWriter::new(file);
        Ok(Self { workspace, path, file, end: 0 })
    }

    /// Adds a record and returns its offset.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<u64> {
        let place = self.end;
        let len = record.len() as u64;
        let written = self.file.write_all(&len.to_le_bytes()).and_then(|()| self.file.write_all(record));
        written.map_err(Error::io("write", &self.path))?;
        self.end += size_of::<u64>() as u64 + len;
        Ok(place)
    }

    /// Finishes the file and returns a reader at its first record.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn into_records(self) -> Result<Records> {
        let mut file = self.file;
        file.flush().map_err(Error::io("write", &self.path))?;
        let storage = self.workspace.storage();
        let file = storage.open(&self.path).map_err(Error::io("read", &self.path))?;
        if storage.is_object_store() {
            // Nothing cleans up after a run there. The file stays readable because it is open.
            storage.remove_file(&self.path).map_err(Error::io("remove", &self.path))?;
        }
        Ok(Records { path: self.path, file: BufReader::new(file), at: 0, end: self.end })
    }
}

impl Records {
    /// Reads the next record; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn read(&mut self) -> Result<Option<Vec<u8>>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let mut len = [0; size_of::<u64>()];
        let mut record = Vec::new();
        let read = self.file.read_exact(&mut len).and_then(|()| {
            // A corrupt length must not become a huge allocation.
            let len = u64::from_le_bytes(len).min(self.end);
            let read = self.file.by_ref().take(len).read_to_end(&mut record)? as u64;
            if read == len { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
        });
        read.map_err(Error::io("read", &self.path))?;
        self.at += size_of::<u64>() as u64 + record.len() as u64;
        Ok(Some(record))
    }

    /// Reads the record at an offset that [`Spool::push`] returned.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn read_at(&mut self, place: u64) -> Result<Option<Vec<u8>>> {
        // A relative seek keeps what is already buffered.
        let offset = place.wrapping_sub(self.at).cast_signed();
        self.file.seek_relative(offset).map_err(Error::io("read", &self.path))?;
        self.at = place;
        self.read()
    }
}
