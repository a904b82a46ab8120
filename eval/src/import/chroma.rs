//! The data of Chroma's chunking evaluation: a CSV of questions whose references are ranges of
//! Unicode characters, end exclusive, and a folder of corpora, one document each.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};
use serde::Deserialize;

use super::Imported;
use super::source::{Source, bytes_of};
use crate::labels::{Query, Quote, Reference};

#[derive(Deserialize)]
struct Row {
    question: String,
    references: String,
    corpus_id: String,
}

#[derive(Deserialize)]
struct Place {
    content: String,
    start_index: usize,
    end_index: usize,
}

const HELP: &str = r#"columns question, references and corpus_id; references is [{"content", "start_index", "end_index"}] in characters"#;

/// Reads the questions and the corpora that they name. A question is named by its corpus and its number there,
/// from 1. Characters become bytes.
///
/// # Errors
/// [`Error::Setting`] with the file and line if a row has the wrong format, a corpus is missing, or a reference's
/// text is not at its offsets; [`Error::Named`] if a file cannot be read.
pub fn chroma(corpora: &Path, questions: &Path) -> Result<Imported> {
    let source = Source::read(questions)?;
    let mut set = Imported::default();
    let mut texts: BTreeMap<String, (String, Source)> = BTreeMap::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut reader = csv::Reader::from_reader(source.text().as_bytes());
    let headers = reader.headers().cloned().map_err(|error| source.wrong(1, error.to_string(), HELP))?;
    for record in reader.into_records() {
        let record = record
            .map_err(|error| source.wrong(error.position().map_or(0, csv::Position::line), error.to_string(), HELP))?;
        let line = record.position().map_or(0, csv::Position::line);
        let wrong = |problem: String| -> Error { source.wrong(line, problem, HELP) };
        let row: Row = record.deserialize(Some(&headers)).map_err(|error| wrong(error.to_string()))?;
        let places: Vec<Place> =
            serde_json::from_str(&row.references).map_err(|error| wrong(format!("references: {error}")))?;
        if !texts.contains_key(&row.corpus_id) {
            let file = corpus_file(corpora, &row.corpus_id)
                .ok_or_else(|| wrong(format!("there is no corpus `{}` in {}", row.corpus_id, corpora.display())))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            texts.insert(row.corpus_id.clone(), (name, Source::exact(&file)?));
        }
        let (doc_id, text) = &texts[&row.corpus_id];
        let references = places.into_iter().map(|place| {
            let Place { content, start_index, end_index } = place;
            let range = bytes_of(text.text(), &(start_index..end_index))
                .filter(|range| !range.is_empty() && text.text()[range.clone()] == content)
                .ok_or_else(|| {
                    wrong(format!("characters {start_index}..{end_index} of {doc_id} are not {content:?}"))
                })?;
            let quote = Quote { range, text: content };
            Ok(Reference::to(doc_id.clone(), Some(quote)))
        });
        let references: Vec<Reference> = references.collect::<Result<_>>()?;
        let number = numbers.entry(row.corpus_id.clone()).or_default();
        *number += 1;
        if references.is_empty() {
            set.without_evidence += 1;
            continue;
        }
        let (id, text) = (format!("{}-{number:04}", row.corpus_id), row.question.trim().to_owned());
        if text.is_empty() {
            return Err(wrong("question is empty".to_owned()));
        }
        set.queries.push(Query { id, text, references, grade: 1.0, tags: vec![row.corpus_id] });
    }
    set.documents = texts.into_values().map(|(name, source)| (name, source.text().as_bytes().to_vec())).collect();
    Ok(set)
}

/// Returns the file of a corpus. Its id may be the file's own name or lack the extension, but must not be a path.
fn corpus_file(corpora: &Path, id: &str) -> Option<PathBuf> {
    let plain = Path::new(id).file_name().is_some_and(|name| name == id);
    let names = [format!("{id}.md"), format!("{id}.txt"), id.to_owned()];
    names.iter().map(|name| corpora.join(name)).find(|file| plain && file.is_file())
}
