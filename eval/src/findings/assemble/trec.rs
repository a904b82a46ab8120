//! TREC runs and qrels of everything that was searched, for `trec_eval` and similar tools.
//!
//! ```text
//! trec/
//!   documents.qrels               relevant documents of each question, with grades
//!   BUILD.chunks.qrels            relevant chunks of a dataset
//!   BUILD.SEARCH.documents.run    documents by their best chunk; documents.qrels scores them as `doc_…`
//!   BUILD.SEARCH.chunks.run       chunks
//! ```
//!
//! A chunk is named by its document and bytes. Qrels can only say that a single chunk answers a question, so a
//! chunk counts if it contains at least half of a reference's text, or if at least half of its own text belongs to
//! a reference. Our chunk figures count what chunks contain together, and therefore differ.

use std::fs;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};

use super::measured::MeasuredRun;
use crate::data::files::replace;
use crate::data::record::{Record, VariantRecord, file_name};
use crate::data::trec;

/// File of the relevant documents of each question.
const DOCUMENTS: &str = "documents.qrels";

/// Returns the part of a file name for a way to search: its name if that is a plain word, else an escaped form.
fn search_name(name: &str) -> String {
    if name.chars().all(|c| c.is_ascii_alphanumeric()) { name.to_owned() } else { file_name(name) }
}

impl MeasuredRun {
    /// Returns the number of ways to search, summed over all datasets.
    pub fn searches(&self) -> usize {
        self.records.iter().map(|record| record.variants.len()).sum()
    }

    /// Writes all TREC files into the subfolder `trec` and returns its path. Files of an earlier report are
    /// removed, even if none are wanted now.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written or removed.
    pub fn write_trec(&self, folder: &Path, wanted: bool) -> Result<Option<PathBuf>> {
        let folder = folder.join("trec");
        if folder.join(DOCUMENTS).is_file() {
            fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        }
        if !wanted {
            return Ok(None);
        }
        let write = |name: &str, text: &str| replace(&folder.join(name), text.as_bytes());
        write(DOCUMENTS, &self.documents_qrels())?;
        for (at, record) in self.records.iter().enumerate() {
            let build = file_name(&record.build);
            let ids: Vec<String> = record
                .chunks
                .iter()
                .map(|place| format!("{}:{}-{}", record.documents[place.doc], place.start, place.end))
                .collect();
            write(&format!("{build}.chunks.qrels"), &self.chunks_qrels(at, &ids))?;
            for found in record.variants.iter().filter(|found| found.dropped.is_none()) {
                let name = format!("{build}.{}", search_name(&found.name));
                write(&format!("{name}.chunks.run"), &self.chunks_run(found, &ids))?;
                write(&format!("{name}.documents.run"), &self.documents_run(record, found))?;
            }
        }
        Ok(Some(folder))
    }

    /// Returns the ids of the questions that can be scored, with their positions among these and in the set.
    fn asked(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        let queries = &self.labelled.labels.queries;
        self.judge.queries().enumerate().map(|(at, query)| (queries[query].id.as_str(), at, query))
    }

    fn documents_qrels(&self) -> String {
        let rows = self.asked().flat_map(|(id, at, _)| {
            self.judge.relevant_documents(at).into_iter().map(move |(document, grade)| (id, document, grade))
        });
        trec::qrels(rows)
    }

    fn chunks_qrels(&self, build: usize, ids: &[String]) -> String {
        let chunks = &self.chunks[build];
        let rows = self.asked().flat_map(|(id, at, _)| {
            let relevant = chunks.relevant(&self.judge, at).into_iter();
            relevant.map(move |(row, grade)| (id, ids[row].as_str(), grade))
        });
        trec::qrels(rows)
    }

    fn chunks_run(&self, found: &VariantRecord, ids: &[String]) -> String {
        let rows = self.asked().flat_map(|(id, _, query)| {
            let answer = &found.answers[query];
            let ranked = (1..).zip(answer.rows.iter().zip(&answer.scores));
            ranked.map(move |(rank, (&row, &score))| (id, ids[row].as_str(), rank, f64::from(score)))
        });
        trec::run(rows, &found.name)
    }

    /// Documents have no score of their own; the reciprocal rank keeps their order.
    fn documents_run(&self, record: &Record, found: &VariantRecord) -> String {
        let rows = self.asked().flat_map(|(id, _, query)| {
            let ranked = (1_u32..).zip(&found.answers[query].documents);
            ranked.map(move |(rank, &doc)| (id, record.documents[doc].as_str(), rank as usize, 1.0 / f64::from(rank)))
        });
        trec::run(rows, &found.name)
    }
}
