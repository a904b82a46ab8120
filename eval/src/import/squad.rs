//! `SQuAD` 1.1 and 2.0: one JSON file of articles, their paragraphs, and questions with answers.

use std::path::Path;

use chunkmill::error::{Error, Result};
use serde::Deserialize;

use super::Imported;
use super::source::{Source, bytes_of, file_name};
use crate::labels::{Place, Query, Quote, Reference};

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
    qas: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    #[serde(rename = "question")]
    text: String,
    #[serde(default)]
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
    answer_start: usize,
}

const PARAGRAPHS: &str = "\n\n";

/// Reads a `SQuAD` file. An article becomes the text file `TITLE.txt`, its paragraphs with a blank
/// line between. The answers that several people gave to a question are alternatives, those given most
/// often first. Questions without an answer are left out.
///
/// # Errors
/// [`Error::Setting`] with file and line if it is not such a file; with file and question for an
/// answer that is not where it says, or an id that comes twice; [`Error::Named`] if the file cannot
/// be read.
pub fn squad(file: &Path) -> Result<Imported> {
    let source = Source::read(file)?;
    let parsed: File = serde_json::from_str(source.text()).map_err(|error| {
        let help =
            r#"the file is {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}"#;
        source.wrong(error.line(), error.to_string(), help)
    })?;
    let mut set = Imported::default();
    let mut ids = std::collections::HashSet::new();
    for article in parsed.data {
        let doc_id = free_name(&article.title, &set);
        let mut text = String::new();
        for paragraph in article.paragraphs {
            let separator = if text.is_empty() { "" } else { PARAGRAPHS };
            text += separator;
            let base = text.len();
            text += &paragraph.context;
            for question in paragraph.qas {
                let wrong = |problem: String| -> Error {
                    source.wrong(
                        format!("question {}", question.id),
                        problem,
                        "answer_start counts characters of the context",
                    )
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
                    let range = bytes_of(&paragraph.context, &chars)
                        .filter(|range| !range.is_empty() && paragraph.context[range.clone()] == answer.text)
                        .ok_or_else(|| wrong(format!("answer {:?} is not at {}", answer.text, answer.answer_start)))?;
                    let quote = Quote { range: base + range.start..base + range.end, text: answer.text.clone() };
                    Ok(vec![Place { doc_id: doc_id.clone(), quote: Some(quote) }])
                };
                let any = by_votes(&question.answers).into_iter().map(place).collect::<Result<_>>()?;
                let reference = Reference { any, grade: None };
                let text = question.text.trim().to_owned();
                let query = Query { id: question.id, text, references: vec![reference], grade: 1.0, tags: Vec::new() };
                set.queries.push(query);
            }
        }
        set.documents.insert(doc_id, text.into_bytes());
    }
    Ok(set)
}

/// Each answer once, those given most often first.
fn by_votes(answers: &[Answer]) -> Vec<&Answer> {
    let same = |a: &Answer, b: &Answer| a.answer_start == b.answer_start && a.text == b.text;
    let mut votes: Vec<(&Answer, usize)> = Vec::new();
    for answer in answers {
        match votes.iter_mut().find(|(known, _)| same(known, answer)) {
            Some((_, count)) => *count += 1,
            None => votes.push((answer, 1)),
        }
    }
    votes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    votes.into_iter().map(|(answer, _)| answer).collect()
}

/// A name that no earlier article has: titles come twice, or are missing.
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
