//! Records that a job sets aside in the staging folder: they are read again before the job ends,
//! and never become part of a dataset.
//!
//! A record is bytes with their length before them. It can be found again by its place, so what is
//! kept in memory of a million chunk ids is a million numbers at most.

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use super::workspace::Workspace;
use crate::error::{Error, Result};
use crate::storage::{Input, Output};

/// A file of records that is being written.
#[derive(Debug)]
pub(crate) struct Spool<'a> {
    workspace: &'a Workspace,
    path: PathBuf,
    file: BufWriter<Box<dyn Output>>,
    end: u64,
}

/// The same file, being read.
#[derive(Debug)]
pub(crate) struct Records {
    path: PathBuf,
    file: BufReader<Input>,
    at: u64,
    end: u64,
}

impl<'a> Spool<'a> {
    /// Begins a file under this name. What a run that did not end left there is overwritten.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn create(workspace: &'a Workspace, name: &str) -> Result<Self> {
        let (path, file) = workspace.scratch(name)?;
        let file = BufWriter::new(file);
        Ok(Self { workspace, path, file, end: 0 })
    }

    /// Adds a record and gives its place.
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

    /// Ends the file and turns to its first record.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn into_records(self) -> Result<Records> {
        let mut file = self.file;
        file.flush().map_err(Error::io("write", &self.path))?;
        let storage = self.workspace.storage();
        let file = storage.open(&self.path).map_err(Error::io("read", &self.path))?;
        if storage.is_object_store() {
            // Nobody will clear up behind a run there; what is open stays.
            storage.remove_file(&self.path).map_err(Error::io("remove", &self.path))?;
        }
        Ok(Records { path: self.path, file: BufReader::new(file), at: 0, end: self.end })
    }
}

impl Records {
    /// The next record, or `None` at the end.
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
            // A length that is wrong would be the disk's fault; it must not become an allocation.
            let len = u64::from_le_bytes(len).min(self.end);
            let read = self.file.by_ref().take(len).read_to_end(&mut record)? as u64;
            if read == len { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
        });
        read.map_err(Error::io("read", &self.path))?;
        self.at += size_of::<u64>() as u64 + record.len() as u64;
        Ok(Some(record))
    }

    /// The record at a place that [`Spool::push`] gave.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub(crate) fn read_at(&mut self, place: u64) -> Result<Option<Vec<u8>>> {
        // Relative, so that what is buffered already need not be read again.
        let offset = place.wrapping_sub(self.at).cast_signed();
        self.file.seek_relative(offset).map_err(Error::io("read", &self.path))?;
        self.at = place;
        self.read()
    }
}
