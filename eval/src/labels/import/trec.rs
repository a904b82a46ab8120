//! TREC: a folder of documents, questions as `id TAB text`, and judgements ("qrels") of documents.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use chunkmill::corpus::{self, Filter, Root};
use chunkmill::document::MAX_BYTES;
use chunkmill::error::{Error, Result};
use chunkmill::value::count;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{JudgedQuestions, Source};
use crate::labels::set::Place;

const QUERY: &str = "a line is a question's id, a tab, and its text";
const JUDGEMENT: &str = "a line is question, iteration, document and grade with white space between";

/// Reads judgements of the documents in a folder. A document is named by its path below the folder, with or
/// without the extension; without it only if no other document has the same name. Its bytes are kept.
///
/// # Errors
/// [`Error::Corpus`] if the folder has no documents; [`Error::Named`] if a file cannot be read.
pub fn trec(qrels: &Path, queries: &Path, folder: &Path) -> Result<ImportedSet> {
    let filter = Filter::new(&["**".to_owned()], &[], true, MAX_BYTES)?;
    let found = corpus::discover(&[Root::new(folder)], &filter, &[])?;
    let mut documents = BTreeMap::new();
    let mut stems: HashMap<String, Option<String>> = HashMap::new();
    for source in found.sources {
        let (file, id) = (source.file(), source.origin.doc_id.to_string());
        documents.insert(id.clone(), fs::read(&file).map_err(Error::io("read", &file))?);
        let stem = Path::new(&id).with_extension("").to_string_lossy().into_owned();
        stems.entry(stem).and_modify(|other| *other = None).or_insert(Some(id));
    }

    let judged = judgements(qrels, queries)?;
    let known: Vec<String> = documents.keys().cloned().collect();
    let name = |id: &str| match stems.get(id) {
        _ if known.binary_search_by(|name| name.as_str().cmp(id)).is_ok() => id.to_owned(),
        Some(Some(name)) => name.clone(),
        _ => id.to_owned(),
    };
    Ok(judged.into_set(documents, |id| Place { doc_id: name(id), quote: None }))
}

/// Reads questions and their judgements.
pub(super) fn judgements(qrels: &Path, queries: &Path) -> Result<JudgedQuestions> {
    let mut judged = JudgedQuestions::default();
    let mut left_out = Flaws::default();
    Source::read(queries)?.lines(QUERY, &mut left_out, |_, text| {
        let (id, text) = text.split_once('\t').ok_or("there is no tab")?;
        if id.trim().is_empty() {
            return Err("the id is empty".to_owned());
        }
        judged.ask(id.trim(), text.trim())
    });
    Source::read(qrels)?.lines(JUDGEMENT, &mut left_out, |_, text| {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [query, _, document, grade] = fields[..] else {
            return Err(format!("{}, not 4", count(fields.len(), "field")));
        };
        judged.judge(query, document, grade)
    });
    judged.left_out = left_out;
    Ok(judged)
}
