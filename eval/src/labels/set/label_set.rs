//! A set of labels in its folder.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use chunkmill::corpus::{self, Filter, Root};
use chunkmill::document::{MAX_BYTES, ReadSettings};
use chunkmill::error::{Error, Result};

use super::corpus::Corpus;
use super::folder::{CORPUS, corpus_of, queries_of};
use super::lines::REFERENCE;
use super::question::Query;
use crate::data::files::TextFile;

/// Help for a path that is not a set.
pub(crate) const SET: &str =
    "name a set of labels, a folder with corpus/ and queries.jsonl; `chunkmill-eval import` and `synth` create one";

/// A set of labelled questions.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelSet {
    /// The set's folder.
    pub path: PathBuf,
    /// The questions, in the order of the file.
    pub queries: Vec<Query>,
}

impl LabelSet {
    /// Reads the questions of a set.
    ///
    /// # Errors
    /// [`Error::Setting`] with the file and line for anything that is not a well-formed question; [`Error::Named`]
    /// if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_checked(path, true)
    }

    /// Reads the questions of a set whose documents may have changed since it fitted them. A reference without a range
    /// whose text is not in its document has then drifted like any other, and is no mistake in the file.
    ///
    /// # Errors
    /// The other ones of [`read`](Self::read).
    pub fn read_changed(path: &Path) -> Result<Self> {
        Self::read_checked(path, false)
    }

    fn read_checked(path: &Path, must_fit: bool) -> Result<Self> {
        let file = queries_of(path);
        let text = TextFile::whole(&file, SET)?;
        let mut set = Self { path: path.to_owned(), queries: Vec::new() };
        let mut ids = HashSet::new();
        let mut corpus = None;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |problem: String| {
                Error::setting(
                    format!("{}:{}", file.display(), index + 1),
                    problem,
                    format!(
                        r#"a line is {{"query_id", "query", "references": [{{"doc_id", "start", "end", "text", "grade"?}}], "grade"?, "tags"?}}; {REFERENCE}; a reference may be {{"any": [places], "grade"?}}"#
                    ),
                )
            };
            let mut query = Query::parse(line).map_err(wrong)?;
            if !query.is_located() {
                let corpus: &mut Corpus = match &mut corpus {
                    Some(corpus) => corpus,
                    None => corpus.insert(set.corpus()?),
                };
                query.locate(corpus).or_else(|problem| if must_fit { Err(wrong(problem)) } else { Ok(()) })?;
            }
            if !ids.insert(query.id.clone()) {
                return Err(wrong(format!("query_id `{}` was used before", query.id)));
            }
            set.queries.push(query);
        }
        Ok(set)
    }

    /// Reads all documents at once. The memory used is the size of their texts. A folder whose documents were all deleted
    /// is a corpus too: one that lost everything.
    ///
    /// # Errors
    /// [`Error::Corpus`] if the set has no corpus.
    pub fn corpus(&self) -> Result<Corpus> {
        if has_no_files(&self.path.join(CORPUS)) {
            return Ok(Corpus::default());
        }
        let filter = Filter::new(&["**".to_owned()], &[], true, MAX_BYTES)?;
        let found = corpus::discover(&[Root::new(corpus_of(&self.path))], &filter, &[])?;
        let documents = found.sources.len() + found.quarantined.len();
        let read = found.sources.into_iter().filter_map(|source| corpus::read(source, &ReadSettings::default()).ok());
        let (mut texts, mut pages) = (BTreeMap::new(), BTreeMap::new());
        for (origin, layer) in read {
            let doc_id = (*origin.doc_id).to_owned();
            let places = layer.structure.iter().flat_map(|structure| &structure.places);
            let starts: Vec<_> = places.filter_map(|(start, place)| Some((*start, place.page?))).collect();
            if !starts.is_empty() {
                pages.insert(doc_id.clone(), starts);
            }
            texts.insert(doc_id, layer.text);
        }
        Ok(Corpus { documents, texts, pages })
    }
}

/// Returns whether a folder and those in it contain nothing else than folders.
fn has_no_files(folder: &Path) -> bool {
    let is_empty_folder =
        |entry: fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && has_no_files(&entry.path());
    fs::read_dir(folder).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(is_empty_folder)))
}
