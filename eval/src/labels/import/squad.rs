//! `SQuAD` 1.1 and 2.0, and other sets in its format, such as CUAD and COVID-QA: texts, and questions with
//! answers.
//!
//! There are two layouts: the authors' JSON of articles with paragraphs, and a hub's rows of one question each.
//! CUAD has one paragraph per contract and counts every answer. COVID-QA has numbers as ids, and `document_id`
//! instead of a title.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use chunkmill::error::Result;
use serde::Deserialize;
use serde_json::Value;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{Assembly, Source, TextPlace, by_votes, file_name, offset, placed, quoted};
use super::table::{self, LooseRecord, each, form, tables};
use crate::labels::set::{Place, Query, Reference, id, optional_id};

#[derive(Deserialize)]
struct File {
    data: Vec<LooseRecord<Article>>,
}

#[derive(Deserialize)]
struct Article {
    title: Option<String>,
    paragraphs: Vec<LooseRecord<Paragraph>>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    #[serde(default, deserialize_with = "optional_id")]
    document_id: Option<String>,
    qas: Vec<LooseRecord<SquadQuestion>>,
}

#[derive(Deserialize)]
struct SquadQuestion {
    #[serde(deserialize_with = "id")]
    id: String,
    #[serde(rename = "question")]
    text: String,
    #[serde(default, deserialize_with = "table::records")]
    answers: Vec<LooseRecord<SquadAnswer>>,
}

#[derive(Deserialize)]
struct SquadAnswer {
    text: String,
    #[serde(default)]
    answer_start: Value,
}

/// A row of a table on a hub.
#[derive(Deserialize)]
struct SquadRow {
    title: Option<String>,
    #[serde(default, deserialize_with = "optional_id")]
    document_id: Option<String>,
    context: String,
    #[serde(flatten)]
    question: SquadQuestion,
}

const ARTICLES: &str =
    r#"the file is {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}"#;
const OFFSET: &str = "answer_start counts characters of the context";
const ROW: &str =
    r#"a row is {"id", "title" or "document_id", "context", "question", "answers": {"text": [], "answer_start": []}}"#;

/// Reads a `SQuAD` file, the rows of a table, or the tables of a split below a folder. An article becomes the text
/// file `TITLE.txt`, with a blank line between paragraphs. If several people answered a question, their answers
/// are alternatives, the most frequent first; with `all`, each is separate evidence, as CUAD counts them.
/// Questions without an answer are left out. An answer that is not at its offset is looked for in its paragraph.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) with the file and line if it is not a table of this form;
/// [`Error::Named`](chunkmill::error::Error::Named) if the file cannot be read.
pub fn squad(path: &Path, split: Option<&str>, all: bool) -> Result<ImportedSet> {
    let files = tables(path, split)?;
    let mut set = ImportedSet::default();
    for (origin, Article { title, paragraphs }) in read(&files, &mut set.left_out)? {
        let paragraphs: Vec<Paragraph> = usable(paragraphs, &origin, "paragraph", ARTICLES, &mut set.left_out);
        let first = || paragraphs.iter().find_map(|paragraph| paragraph.document_id.clone());
        let title = title.filter(|title| !title.is_empty()).or_else(first).unwrap_or_default();
        let doc_id = free_name(&title, &set);
        let mut document = Assembly::default();
        for Paragraph { context, qas, .. } in paragraphs {
            let base = document.add(&context).start;
            for question in usable(qas, &origin, "question", ARTICLES, &mut set.left_out) {
                let origin = format!("{origin}:question {}", question.id);
                let mut any: Vec<Vec<Place>> = Vec::new();
                for SquadAnswer { text, answer_start } in
                    usable(question.answers, &origin, "answer", ROW, &mut set.left_out)
                {
                    let length = text.chars().count();
                    let chars = offset(&answer_start).map(|start| start..start.saturating_add(length));
                    match placed(&context, chars, &text) {
                        Ok(TextPlace { range, mended }) => {
                            let range = base + range.start..base + range.end;
                            any.push(vec![quoted(&doc_id, &document.text, range)]);
                            if let Some(how) = mended {
                                set.mended.add(&origin, how, OFFSET);
                            }
                        }
                        Err(problem) => set.left_out.add(&origin, problem, OFFSET),
                    }
                }
                let any = by_votes(any);
                let references = match any.is_empty() {
                    true => Vec::new(),
                    false if all => any.into_iter().map(|places| Reference::any(vec![places])).collect(),
                    false => vec![Reference::any(any)],
                };
                let text = question.text.trim().to_owned();
                let query = Query::new(question.id, text, references);
                if let Err(problem) = set.keep(query) {
                    set.left_out.add(&origin, problem, ROW);
                }
            }
        }
        set.documents.insert(doc_id, document.text.into_bytes());
    }
    Ok(set)
}

/// Returns the records that can be used. The others are left out, named by their kind and number.
fn usable<T>(
    records: Vec<LooseRecord<T>>,
    origin: &str,
    kind: &str,
    help: &'static str,
    left_out: &mut Flaws,
) -> Vec<T> {
    let usable = (1..).zip(records).filter_map(|(number, LooseRecord(record)): (usize, LooseRecord<T>)| match record {
        Ok(record) => Some(record),
        Err(problem) => {
            left_out.add(&format!("{origin}:{kind} {number}"), problem, help);
            None
        }
    });
    usable.collect()
}

/// Reads the articles of files, each with its origin: the file in which it begins, and its number in the authors'
/// JSON.
fn read(files: &[PathBuf], left_out: &mut Flaws) -> Result<Vec<(String, Article)>> {
    let mut articles: Vec<(String, Article)> = Vec::new();
    let mut rows = Vec::new();
    for file in files {
        // A file without a table's extension has always been read as the authors' JSON.
        let source = matches!(form(file), None | Some("json")).then(|| Source::whole(file)).transpose()?;
        match source {
            Some(source) if form(file).is_none() || source.text().trim_start().starts_with('{') => {
                let parsed: File = serde_json::from_str(source.text())
                    .map_err(|error| source.wrong(error.line(), error.to_string(), ARTICLES))?;
                for (number, LooseRecord(article)) in (1..).zip(parsed.data) {
                    let origin = format!("{}:article {number}", file.display());
                    match article {
                        Ok(article) => articles.push((origin, article)),
                        Err(problem) => left_out.add(&origin, problem, ARTICLES),
                    }
                }
            }
            _ => rows.push(file.clone()),
        }
    }
    // Rows with the same title, or without one with the same document id or text, form an article, wherever they
    // are.
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut paragraphs: HashMap<(usize, String), usize> = HashMap::new();
    let mut found: Vec<(String, Option<String>, Vec<Paragraph>)> = Vec::new();
    for file in rows {
        let origin = file.display().to_string();
        each(&[file], ROW, left_out, |row| {
            let SquadRow { title, document_id, context, question } = row.read()?;
            let title = title.filter(|title| !title.is_empty());
            let key = title.as_ref().or(document_id.as_ref()).unwrap_or(&context);
            let at = *known.entry(key.clone()).or_insert_with(|| {
                found.push((origin.clone(), title, Vec::new()));
                found.len() - 1
            });
            let of = &mut found[at].2;
            let paragraph = *paragraphs.entry((at, context.clone())).or_insert_with(|| {
                of.push(Paragraph { context, document_id, qas: Vec::new() });
                of.len() - 1
            });
            of[paragraph].qas.push(LooseRecord(Ok(question)));
            Ok(())
        })?;
    }
    articles.extend(found.into_iter().map(|(origin, title, paragraphs)| {
        let paragraphs = paragraphs.into_iter().map(|paragraph| LooseRecord(Ok(paragraph))).collect();
        (origin, Article { title, paragraphs })
    }));
    Ok(articles)
}

/// Returns a name that no earlier article has. Titles may repeat or be missing.
fn free_name(title: &str, set: &ImportedSet) -> String {
    let title = if title.is_empty() { "article" } else { title };
    let mut name = file_name(title, "txt");
    let mut next = 2;
    while set.documents.contains_key(&name) {
        name = file_name(&format!("{title}-{next}"), "txt");
        next += 1;
    }
    name
}
