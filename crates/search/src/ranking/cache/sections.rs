//! Named blocks of bytes, in memory and in one file.
//!
//! ```text
//! magic, checksum of the directory, its length, the directory, then each section at a multiple of 64 bytes
//! ```
//!
//! The directory is a list of names, places and checksums in JSON. Numbers are in the byte order of the machine, which is part
//! of the magic. A section is used where it lies, without a copy: as numbers, or as a table in the Arrow IPC format.

use std::collections::BTreeMap;
use std::io::{self, Write};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::{Buffer, ScalarBuffer};
use arrow::datatypes::ArrowNativeType;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamWriter;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// Start of a file.
const MAGIC: &[u8] = if cfg!(target_endian = "little") { b"chunkmill search le\n" } else { b"chunkmill search be\n" };

/// Sections start at multiples of this: all number types, and a line of a processor's cache, fit.
const ALIGNMENT: usize = 64;

/// Number of bytes that one thread adds to a checksum.
const BLOCK: usize = 4 << 20;

/// Named blocks of bytes.
#[derive(Debug, Default)]
pub(in super::super) struct Sections(BTreeMap<String, Buffer>);

/// Where a section is in the file.
#[derive(Serialize, Deserialize)]
struct SectionPlace {
    name: String,
    start: usize,
    len: usize,
    checksum: u64,
}

impl Sections {
    /// Adds a section.
    pub(in super::super) fn insert(&mut self, name: impl Into<String>, bytes: impl Into<Buffer>) {
        self.0.insert(name.into(), bytes.into());
    }

    /// Adds a section with a table.
    ///
    /// # Errors
    /// If the batches do not have the same columns.
    pub(in super::super) fn insert_table(&mut self, name: &str, batches: &[RecordBatch]) -> Result<(), ArrowError> {
        let mut bytes = Vec::new();
        if let Some(first) = batches.first() {
            let mut writer = StreamWriter::try_new(&mut bytes, &first.schema())?;
            batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.finish()?;
        }
        self.insert(name, bytes);
        Ok(())
    }

    /// Returns the bytes of a section.
    pub(in super::super) fn get(&self, name: &str) -> Option<&Buffer> {
        self.0.get(name)
    }

    /// Returns a section as numbers.
    pub(in super::super) fn numbers<T: ArrowNativeType>(&self, name: &str) -> Option<ScalarBuffer<T>> {
        numbers(self.get(name)?.clone())
    }

    /// Returns a section as text.
    pub(in super::super) fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// Returns a section as a table.
    pub(in super::super) fn table(&self, name: &str) -> Option<Vec<RecordBatch>> {
        let mut rest = self.get(name)?.clone();
        let mut decoder = StreamDecoder::new().with_require_alignment(true);
        let mut batches = Vec::new();
        while !rest.is_empty() {
            batches.extend(decoder.decode(&mut rest).ok()?);
        }
        decoder.finish().ok()?;
        Some(batches)
    }

    /// Returns the sections whose names start with this, by the rest of their names.
    pub(super) fn below(&self, prefix: &str) -> BTreeMap<String, Buffer> {
        let below =
            self.0.iter().filter_map(|(name, bytes)| Some((name.strip_prefix(prefix)?.to_owned(), bytes.clone())));
        below.collect()
    }

    /// Writes all sections to a file.
    pub(super) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        // Places count from the end of the directory, whose length depends on them.
        let mut start = 0;
        let place = |(name, bytes): (&String, &Buffer)| {
            let place = SectionPlace { name: name.clone(), start, len: bytes.len(), checksum: checksum(bytes) };
            start = (start + bytes.len()).next_multiple_of(ALIGNMENT);
            place
        };
        let places: Vec<SectionPlace> = self.0.iter().map(place).collect();
        let directory = serde_json::to_vec(&places)?;
        let mut written = 0;
        let mut put = |bytes: &[u8]| {
            written += bytes.len();
            to.write_all(bytes)?;
            Ok::<_, io::Error>(written)
        };
        put(MAGIC)?;
        put(&checksum(&directory).to_ne_bytes())?;
        put(&directory.len().to_ne_bytes())?;
        let mut end = put(&directory)?;
        for bytes in self.0.values() {
            put(&vec![0; end.next_multiple_of(ALIGNMENT) - end])?;
            end = put(bytes)?;
        }
        Ok(())
    }

    /// Reads the sections of a file without copying them; `None` if anything is wrong with it.
    pub(super) fn read(file: &Buffer) -> Option<Self> {
        let rest = file.strip_prefix(MAGIC)?;
        let (expected, rest) = rest.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let directory = rest.get(..usize::from_ne_bytes(*len))?;
        if checksum(directory) != u64::from_ne_bytes(*expected) {
            return None;
        }
        let places: Vec<SectionPlace> = serde_json::from_slice(directory).ok()?;
        let mut end = file.len() - rest.len() + directory.len();
        let first = end.next_multiple_of(ALIGNMENT);
        let mut section = |place: SectionPlace| {
            let start = first.checked_add(place.start)?;
            let is_zero = |gap: &[u8]| gap.iter().all(|byte| *byte == 0);
            if !file.get(end..start).is_some_and(is_zero) {
                return None;
            }
            end = start.checked_add(place.len).filter(|end| *end <= file.len())?;
            let bytes = file.slice_with_length(start, place.len);
            (checksum(&bytes) == place.checksum).then_some((place.name, bytes))
        };
        let sections = places.into_iter().map(&mut section).collect::<Option<_>>()?;
        (end == file.len()).then_some(Self(sections))
    }
}

/// Returns bytes as numbers; `None` if there is part of one left, or if they start where no number can.
pub(in super::super) fn numbers<T: ArrowNativeType>(bytes: Buffer) -> Option<ScalarBuffer<T>> {
    let len = bytes.len() / size_of::<T>();
    let fits = len * size_of::<T>() == bytes.len() && bytes.as_ptr().align_offset(align_of::<T>()) == 0;
    fits.then(|| ScalarBuffer::new(bytes, 0, len))
}

/// Returns a column of a table in its type.
pub(in super::super) fn column<A: Array + Clone + 'static>(batch: &RecordBatch, name: &str) -> Option<A> {
    batch.column_by_name(name)?.as_any().downcast_ref::<A>().cloned()
}

/// Creates a table of columns without nulls.
///
/// # Errors
/// If the columns differ in length.
pub(in super::super) fn table_of<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter(columns)
}

/// Returns a checksum against damage. It is no protection against somebody who writes the file.
fn checksum(bytes: &[u8]) -> u64 {
    let blocks = bytes.par_chunks(BLOCK).map(XxHash3_64::oneshot);
    let blocks: Vec<u8> = blocks.collect::<Vec<u64>>().iter().flat_map(|block| block.to_ne_bytes()).collect();
    XxHash3_64::oneshot(&blocks)
}
