//! `SQuAD` 1.1 and 2.0, and other sets in its format, such as CUAD and COVID-QA: texts, and questions with
//! answers.
//!
//! There are two layouts: the authors' JSON of articles with paragraphs, and a hub's rows of one question each.
//! CUAD has one paragraph per contract and counts every answer. COVID-QA has numbers as ids, and `document_id`
//! instead of a title.

use std::collections::HashMap;
use std::path::Path;

use chunkmill::error::{Error, Result};
use serde::Deserialize;

use super::Imported;
use super::source::{Assembly, Source, by_votes, bytes_of, file_name, quoted};
use super::table::{self, each, form, tables};
use crate::labels::{Place, Query, Reference};

#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    #[serde(default)]
    title: String,
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    #[serde(default, deserialize_with = "optional_id")]
    document_id: Option<String>,
    qas: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    #[serde(deserialize_with = "table::id")]
    id: String,
    #[serde(rename = "question")]
    text: String,
    #[serde(default, deserialize_with = "table::records")]
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
    answer_start: usize,
}

/// A row of a table on a hub.
#[derive(Deserialize)]
struct Row {
    title: Option<String>,
    #[serde(default, deserialize_with = "optional_id")]
    document_id: Option<String>,
    context: String,
    #[serde(flatten)]
    question: Question,
}

fn optional_id<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Option<String>, D::Error> {
    table::id(from).map(Some)
}

const ARTICLES: &str =
    r#"the file is {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}"#;
const ROW: &str =
    r#"a row is {"id", "title" or "document_id", "context", "question", "answers": {"text": [], "answer_start": []}}"#;

/// Reads a `SQuAD` file, the rows of a table, or the tables of a split below a folder. An article becomes the text
/// file `TITLE.txt`, with a blank line between paragraphs. If several people answered a question, their answers
/// are alternatives, the most frequent first; with `all`, each is separate evidence, as CUAD counts them.
/// Questions without an answer are left out.
///
/// # Errors
/// [`Error::Setting`] with the file and line if the format is wrong, or with the file and question if an answer is
/// not at its offset or an id appears twice; [`Error::Named`] if the file cannot be read.
pub fn squad(path: &Path, split: Option<&str>, all: bool) -> Result<Imported> {
    let files = tables(path, split)?;
    let mut set = Imported::default();
    let mut ids = std::collections::HashSet::new();
    for (origin, article) in read(&files)? {
        let first = article.paragraphs.iter().find_map(|paragraph| paragraph.document_id.as_deref());
        let title = if article.title.is_empty() { first.unwrap_or_default() } else { &article.title };
        let doc_id = free_name(title, &set);
        let mut document = Assembly::default();
        for Paragraph { context, qas, .. } in article.paragraphs {
            let base = document.add(&context).start;
            for question in qas {
                let wrong = |problem: String| Error::Setting {
                    origin: format!("{origin}:question {}", question.id),
                    problem,
                    help: "answer_start counts characters of the context".to_owned(),
                };
                if !ids.insert(question.id.clone()) {
                    return Err(wrong("the id was used before".to_owned()));
                }
                if question.answers.is_empty() {
                    set.without_evidence += 1;
                    continue;
                }
                let place = |answer: &Answer| {
                    let chars = answer.answer_start..answer.answer_start.saturating_add(answer.text.chars().count());
                    let range = bytes_of(&context, &chars)
                        .filter(|range| !range.is_empty() && context[range.clone()] == answer.text)
                        .ok_or_else(|| wrong(format!("answer {:?} is not at {}", answer.text, answer.answer_start)))?;
                    Ok(vec![quoted(&doc_id, &document.text, base + range.start..base + range.end)])
                };
                let any: Vec<Vec<Place>> = question.answers.iter().map(place).collect::<Result<_>>()?;
                let any = by_votes(any);
                let references = if all {
                    any.into_iter().map(|places| Reference { any: vec![places], grade: None }).collect()
                } else {
                    vec![Reference { any, grade: None }]
                };
                let text = question.text.trim().to_owned();
                set.queries.push(Query { id: question.id, text, references, grade: 1.0, tags: Vec::new() });
            }
        }
        set.documents.insert(doc_id, document.text.into_bytes());
    }
    Ok(set)
}

/// Reads the articles of files, each with the file in which it begins.
fn read(files: &[std::path::PathBuf]) -> Result<Vec<(String, Article)>> {
    let mut articles: Vec<(String, Article)> = Vec::new();
    let mut rows = Vec::new();
    for file in files {
        // A file without a table's extension has always been read as the authors' JSON.
        let source = matches!(form(file), None | Some("json")).then(|| Source::read(file)).transpose()?;
        match source {
            Some(source) if form(file).is_none() || source.text().trim_start().starts_with('{') => {
                let parsed: File = serde_json::from_str(source.text())
                    .map_err(|error| source.wrong(error.line(), error.to_string(), ARTICLES))?;
                articles.extend(parsed.data.into_iter().map(|article| (file.display().to_string(), article)));
            }
            _ => rows.push(file.clone()),
        }
    }
    // Rows with the same title, or without one with the same document id or text, form an article, wherever they
    // are.
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut paragraphs: HashMap<(usize, String), usize> = HashMap::new();
    for file in rows {
        let origin = file.display().to_string();
        each(&[file], ROW, |mut row| {
            let Row { title, document_id, context, question } = row.read()?;
            let title = title.filter(|title| !title.is_empty());
            let key = title.as_ref().or(document_id.as_ref()).unwrap_or(&context);
            let at = *known.entry(key.clone()).or_insert_with(|| {
                articles.push((origin.clone(), Article { title: title.unwrap_or_default(), paragraphs: Vec::new() }));
                articles.len() - 1
            });
            let of = &mut articles[at].1.paragraphs;
            let paragraph = *paragraphs.entry((at, context.clone())).or_insert_with(|| {
                of.push(Paragraph { context, document_id, qas: Vec::new() });
                of.len() - 1
            });
            of[paragraph].qas.push(question);
            Ok(())
        })?;
    }
    Ok(articles)
}

/// Returns a name that no earlier article has. Titles may repeat or be missing.
fn free_name(title: &str, set: &Imported) -> String {
    let title = if title.is_empty() { "article" } else { title };
    let mut name = file_name(title, "txt");
    let mut next = 2;
    while set.documents.contains_key(&name) {
        name = file_name(&format!("{title}-{next}"), "txt");
        next += 1;
    }
    name
}
