//! The data of Chroma's chunking evaluation: a CSV of questions whose references are ranges of
//! Unicode characters, end exclusive, and a folder of corpora, one document each.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use chunkmill::error::Result;
use serde::Deserialize;
use serde_json::Value;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{Numbers, Source, TextPlace, offset, placed, quoted};
use super::table::{LooseRecord, separated};
use crate::labels::set::{Query, Reference};

#[derive(Deserialize)]
struct ChromaRow {
    question: String,
    references: String,
    corpus_id: String,
}

#[derive(Deserialize)]
struct ChromaPlace {
    content: String,
    #[serde(default)]
    start_index: Value,
    #[serde(default)]
    end_index: Value,
}

const HELP: &str = r#"columns question, references and corpus_id; references is [{"content", "start_index", "end_index"}] in characters"#;

/// Reads the questions and the corpora that they name. A question is named by its corpus and its number there,
/// from 1. Characters become bytes. A reference that is not at its offsets is looked for in its corpus.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) if the file is not a table;
/// [`Error::Named`](chunkmill::error::Error::Named) if it cannot be read.
pub fn chroma(corpora: &Path, questions: &Path) -> Result<ImportedSet> {
    let mut set = ImportedSet::default();
    let mut left_out = Flaws::default();
    let mut texts: BTreeMap<String, (String, Source)> = BTreeMap::new();
    let mut numbers = Numbers::default();
    separated(questions, b',', HELP, &mut left_out, |row| {
        let origin = row.origin.clone();
        let ChromaRow { question, references, corpus_id } = row.read()?;
        let places: Vec<LooseRecord<ChromaPlace>> =
            serde_json::from_str(&references).map_err(|error| format!("references: {error}"))?;
        let (doc_id, text) = match texts.entry(corpus_id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let file = corpus_file(corpora, &corpus_id)
                    .ok_or_else(|| format!("there is no corpus `{corpus_id}` in {}", corpora.display()))?;
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                new.insert((name, Source::exact(&file).map_err(|error| error.to_string())?))
            }
        };
        let mut references = Vec::new();
        for LooseRecord(place) in places {
            let found = place.map_err(|problem| format!("references: {problem}")).and_then(|place| {
                let ChromaPlace { content, start_index, end_index } = place;
                let chars = offset(&start_index).zip(offset(&end_index)).map(|(start, end)| start..end);
                placed(text.text(), chars, &content)
            });
            match found {
                Ok(TextPlace { range, mended }) => {
                    if let Some(how) = mended {
                        set.mended.add(&origin, how, HELP);
                    }
                    references.push(Reference::any(vec![vec![quoted(doc_id, text.text(), range)]]));
                }
                Err(problem) => set.left_out.add(&origin, problem, HELP),
            }
        }
        let (id, text) = (numbers.next(&corpus_id), question.trim().to_owned());
        set.keep(Query { tags: vec![corpus_id], ..Query::new(id, text, references) })
    })?;
    set.left_out.extend(left_out);
    set.documents = texts.into_values().map(|(name, source)| (name, source.text().as_bytes().to_vec())).collect();
    Ok(set)
}

/// Returns the file of a corpus. Its id may be the file's own name or lack the extension, but must not be a path.
fn corpus_file(corpora: &Path, id: &str) -> Option<PathBuf> {
    let plain = Path::new(id).file_name().is_some_and(|name| name == id);
    let names = [format!("{id}.md"), format!("{id}.txt"), id.to_owned()];
    names.iter().map(|name| corpora.join(name)).find(|file| plain && file.is_file())
}
