//! Reading a dataset, through its manifest only.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection};
use parquet::file::metadata::PageIndexPolicy;

use super::{FileEntry, Manifest, Table};
use crate::error::{Error, Result};

/// An open snapshot.
#[derive(Debug, Clone)]
pub struct Dataset {
    root: PathBuf,
    manifest: Manifest,
}

impl Dataset {
    /// Opens the snapshot that the manifest in `root` names.
    ///
    /// # Errors
    /// Those of [`Manifest::read`].
    pub fn open(root: &Path) -> Result<Self> {
        Ok(Self { root: root.to_owned(), manifest: Manifest::read(root)? })
    }

    /// The same, but `None` if there is no manifest.
    ///
    /// # Errors
    /// Those of [`Manifest::read`] but for that.
    pub fn find(root: &Path) -> Result<Option<Self>> {
        if Manifest::exists(root) { Self::open(root).map(Some) } else { Ok(None) }
    }

    /// The dataset's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the dataset is.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The files of a table, in order.
    pub fn files(&self, table: Table) -> impl Iterator<Item = &FileEntry> {
        self.manifest.files.iter().filter(move |file| file.table == table.name())
    }

    /// Reads some columns of a file, a batch of rows at a time: all rows, or those in `rows`,
    /// ranges in ascending order.
    ///
    /// # Errors
    /// [`Error::Dataset`] if the file is missing or is not the Parquet file it should be.
    pub fn read(
        &self,
        file: &FileEntry,
        columns: &[&str],
        rows: Option<Vec<Range<usize>>>,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>>> {
        let path = self.root.join(&file.path);
        let damaged = {
            let path = path.clone();
            move |problem: String| Error::Dataset {
                path: path.clone(),
                problem,
                help: "the dataset is damaged: index the corpus again".to_owned(),
            }
        };
        let opened = File::open(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Dataset {
                path: path.clone(),
                problem: "is gone".to_owned(),
                help: "if the dataset was just replaced, run again; else index the corpus again".to_owned(),
            },
            _ => damaged(error.to_string()),
        })?;
        // With the index of pages, those without a row that is asked for are not read.
        let places = if rows.is_some() { PageIndexPolicy::Optional } else { PageIndexPolicy::Skip };
        let options = ArrowReaderOptions::new().with_offset_index_policy(places);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(opened, options);
        let builder = builder.map_err(|error| damaged(error.to_string()))?;
        let roots: Vec<usize> = columns
            .iter()
            .map(|&name| builder.schema().index_of(name).map_err(|error| damaged(error.to_string())))
            .collect::<Result<_>>()?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
        let total = usize::try_from(file.rows).unwrap_or(usize::MAX);
        let mut builder = builder.with_projection(mask).with_batch_size(4096);
        if let Some(rows) = rows {
            builder = builder.with_row_selection(RowSelection::from_consecutive_ranges(rows.into_iter(), total));
        }
        let reader = builder.build();
        let reader = reader.map_err(|error| damaged(error.to_string()))?;
        Ok(reader.map(move |batch| batch.map_err(|error| damaged(error.to_string()))))
    }
}

/// The values of a column of vectors, row-major as f32, however they are stored; `None` if it is no column of vectors of
/// this many dimensions.
#[must_use]
pub fn vectors(column: &ArrayRef, dim: usize) -> Option<ArrayRef> {
    let values = match column.data_type() {
        DataType::FixedSizeList(_, size) if usize::try_from(*size) == Ok(dim) => {
            column.as_fixed_size_list().values().clone()
        }
        DataType::List(_) => column.as_list::<i32>().values().clone(),
        _ => return None,
    };
    let values = cast(&values, &DataType::Float32).ok()?;
    (values.len() == column.len() * dim).then_some(values)
}
