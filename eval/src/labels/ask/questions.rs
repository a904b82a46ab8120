//! The file of questions: one per line, with their evidence or without it.

use std::collections::HashSet;
use std::path::Path;

use chunkmill::error::{Error, Result};
use serde::Deserialize;

use crate::data::files::TextFile;
use crate::labels::set::{Query, optional_id};

/// A question without evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Id, unique in its file.
    pub id: String,
    /// The question.
    pub text: String,
}

/// The questions of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuestionFile {
    /// Questions that name their evidence.
    pub labelled: Vec<Query>,
    /// Questions that do not.
    pub plain: Vec<OpenQuestion>,
}

/// A question without evidence, written as a JSON object.
#[derive(Deserialize)]
struct Plain {
    #[serde(default, deserialize_with = "optional_id")]
    query_id: Option<String>,
    query: String,
}

impl QuestionFile {
    /// Reads a file of questions with one line of text or one JSON object per line. An object has `query`, and
    /// optionally `query_id` and `references`.
    ///
    /// # Errors
    /// [`Error::Named`] if it cannot be read, [`Error::Setting`] with the file and line for anything that is not a
    /// question.
    pub fn read(path: &Path) -> Result<Self> {
        let text = TextFile::whole(path, "name a file with a question on each line, or a queries.jsonl")?;
        let mut questions = Self::default();
        let mut ids = HashSet::new();
        let lines = text.lines().enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |problem: String| {
                Error::setting(
                    format!("{}:{}", path.display(), at + 1),
                    problem,
                    r#"a line is a question, or {"query", "query_id"?, "references"?}"#.to_owned(),
                )
            };
            let number = format!("q{:03}", questions.labelled.len() + questions.plain.len() + 1);
            let id = if !line.trim_start().starts_with('{') {
                questions.plain.push(OpenQuestion { id: number.clone(), text: line.trim().to_owned() });
                number
            } else if let Ok(query) = Query::parse(line) {
                let id = query.id.clone();
                questions.labelled.push(query);
                id
            } else {
                // A line with references is a label, or is meant to be one.
                if line.contains("\"references\"") {
                    return Err(wrong(Query::parse(line).err().unwrap_or_default()));
                }
                let Plain { query_id, query } = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
                let id = query_id.unwrap_or(number);
                questions.plain.push(OpenQuestion { id: id.clone(), text: query.trim().to_owned() });
                id
            };
            if !ids.insert(id.clone()) {
                return Err(wrong(format!("query_id `{id}` was used before")));
            }
        }
        if ids.is_empty() {
            return Err(Error::setting(path.display().to_string(), "has no question", "write a question on each line"));
        }
        Ok(questions)
    }
}
