//! Columns of a batch of rows, whose types are checked.

use arrow::array::{ArrayRef, AsArray, ListArray, PrimitiveArray, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use chunkmill_base::error::{Error, Result};
use chunkmill_dataset::dataset::{Dataset, FileEntry};

/// A batch of a file whose columns must have certain types.
pub(super) struct Columns<'d> {
    pub(super) dataset: &'d Dataset,
    /// The file that it is from; `None` if it is from the cache.
    pub(super) file: Option<&'d FileEntry>,
    pub(super) batch: RecordBatch,
}

impl<'d> Columns<'d> {
    pub(super) fn of_file(dataset: &'d Dataset, file: &'d FileEntry, batch: RecordBatch) -> Self {
        Self { dataset, file: Some(file), batch }
    }

    pub(super) fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| self.damaged(&format!("there is no column `{name}`")))
    }

    pub(super) fn text(&self, name: &str) -> Result<StringArray> {
        let column = self.column(name)?.as_string_opt::<i32>().cloned();
        column.ok_or_else(|| self.damaged(&format!("`{name}` is not a text column")))
    }

    pub(super) fn ints(&self, name: &str) -> Result<PrimitiveArray<Int64Type>> {
        let column = self.column(name)?.as_primitive_opt::<Int64Type>().cloned();
        column.ok_or_else(|| self.damaged(&format!("`{name}` is not an integer column")))
    }

    pub(super) fn lists(&self, name: &str) -> Result<ListArray> {
        let column = self.column(name)?.as_list_opt::<i32>().cloned();
        column.ok_or_else(|| self.damaged(&format!("`{name}` is not a list column")))
    }

    pub(super) fn small(&self, number: impl TryInto<u32>) -> Result<u32> {
        number.try_into().map_err(|_| self.damaged("a position is out of range"))
    }

    pub(super) fn damaged(&self, problem: &str) -> Error {
        damaged(self.dataset, self.file, problem)
    }
}

/// Returns the elements of a list of texts.
pub(super) fn texts_of(list: &ArrayRef) -> Option<Vec<String>> {
    Some(list.as_string_opt::<i32>()?.iter().flatten().map(str::to_owned).collect())
}

/// Returns the error for a dataset, or one of its files, with something wrong in it.
pub(super) fn damaged<'f>(dataset: &Dataset, file: impl Into<Option<&'f FileEntry>>, problem: &str) -> Error {
    let root = dataset.root();
    Error::Dataset {
        path: file.into().map_or_else(|| root.path().to_owned(), |file| root.join(&file.path)),
        problem: problem.to_owned(),
        help: "the dataset is damaged: index the corpus again".to_owned(),
    }
}
