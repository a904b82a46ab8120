//! `NarrativeQA`: questions about whole books and film scripts, without places in them.
//!
//! The layout is that of `deepmind/narrativeqa` on a hub: every row has its question and the whole story in
//! `document.text`. For retrieval of the same stories as published by `LongEmbed`, use [`beir`](super::beir()).

use std::path::Path;

use chunkmill::error::Result;
use serde::Deserialize;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{Numbers, file_name};
use super::table::{each, tables};
use crate::labels::set::{Query, Reference, id};

#[derive(Deserialize)]
struct NarrativeRow {
    document: Story,
    question: NarrativeQuestion,
}

#[derive(Deserialize)]
struct Story {
    #[serde(deserialize_with = "id")]
    id: String,
    kind: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct NarrativeQuestion {
    text: String,
}

const ROW: &str = r#"a row is {"document": {"id", "kind"?, "text"}, "question": {"text"}}"#;

/// Reads questions from a file, or from the files of a split below a folder. A story becomes the text file
/// `ID.txt`, which as a whole is the evidence of its questions. A question is named by its story and its number
/// there, from 1, and tagged with the story's kind.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) if a file is not a table;
/// [`Error::Named`](chunkmill::error::Error::Named) if a file cannot be read.
pub fn narrativeqa(path: &Path, split: Option<&str>) -> Result<ImportedSet> {
    let mut set = ImportedSet::default();
    let mut left_out = Flaws::default();
    let mut numbers = Numbers::default();
    each(&tables(path, split)?, ROW, &mut left_out, |row| {
        let NarrativeRow { document: Story { id, kind, text }, question } = row.read()?;
        let doc_id = file_name(&id, "txt");
        let known = set.documents.entry(doc_id.clone()).or_insert_with(|| text.as_bytes().to_vec());
        if known.as_slice() != text.as_bytes() {
            return Err(format!("story `{id}` has a different text in an earlier row"));
        }
        let (id, text, references) =
            (numbers.next(&id), question.text.trim().to_owned(), vec![Reference::to(doc_id, None)]);
        set.keep(Query { tags: kind.into_iter().collect(), ..Query::new(id, text, references) })
    })?;
    set.left_out = left_out;
    Ok(set)
}
