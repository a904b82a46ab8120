//! QASPER: questions about papers, answered by several people, who also marked the paragraphs with the answer.
//!
//! The layout is that of `qasper-{train,dev,test}-v0.3.json` (papers by id), and of `allenai/qasper` on a hub,
//! where the converter turned each list of records into an object of lists. Checked against the sample files of
//! `allenai/qasper-led-baseline`.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use chunkmill::document::on_one_line;
use chunkmill::error::Result;
use serde::Deserialize;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{Assembly, by_votes, file_name, not_in_document, quoted};
use super::table::{self, LooseRecord, each, tables};
use crate::labels::set::{Finder, Place, Query, Reference, id};

#[derive(Deserialize)]
struct Paper {
    #[serde(deserialize_with = "id")]
    id: String,
    title: String,
    #[serde(rename = "abstract")]
    summary: Option<String>,
    #[serde(deserialize_with = "table::records")]
    full_text: Vec<QasperSection>,
    #[serde(deserialize_with = "table::records")]
    qas: Vec<LooseRecord<QasperQuestion>>,
    #[serde(default, deserialize_with = "table::records")]
    figures_and_tables: Vec<Figure>,
}

#[derive(Deserialize)]
struct QasperSection {
    section_name: Option<String>,
    paragraphs: Vec<String>,
}

#[derive(Deserialize)]
struct Figure {
    caption: Option<String>,
}

#[derive(Deserialize)]
struct QasperQuestion {
    #[serde(rename = "question_id", deserialize_with = "id")]
    id: String,
    #[serde(rename = "question")]
    text: String,
    #[serde(deserialize_with = "table::records")]
    answers: Vec<LooseRecord<Annotation>>,
}

#[derive(Deserialize)]
struct Annotation {
    answer: QasperAnswer,
}

#[derive(Deserialize)]
struct QasperAnswer {
    evidence: Vec<String>,
}

const PAPER: &str = r#"a paper is {"id", "title", "abstract", "full_text": [{"section_name", "paragraphs"}], "qas": [{"question", "question_id", "answers": [{"answer": {"evidence"}}]}]}; in the authors' JSON its id is the key"#;

/// Prefix of a figure's or table's caption when the caption is evidence.
const FLOAT: &str = "FLOAT SELECTED:";

/// Separator of the parts of a section's name, from outermost to innermost.
const BELOW: &str = ":::";

/// Reads papers from a file, or from the files of a split below a folder. A paper becomes the Markdown file
/// `ID.md`: its title, its abstract, its sections with headings of their depth, and the captions of its figures
/// and tables. The evidence from one person is an alternative that needs all of its paragraphs. The most frequent
/// alternative comes first.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) if a file is not a table;
/// [`Error::Named`](chunkmill::error::Error::Named) if a file cannot be read.
pub fn qasper(path: &Path, split: Option<&str>) -> Result<ImportedSet> {
    let mut set = ImportedSet::default();
    let mut left_out = Flaws::default();
    each(&tables(path, split)?, PAPER, &mut left_out, |row| {
        let paper: Paper = row.read()?;
        let doc_id = file_name(&paper.id, "md");
        if set.documents.contains_key(&doc_id) {
            return Err(format!("paper `{}` appears twice", paper.id));
        }
        let document = Document::of(&paper);
        for (number, LooseRecord(question)) in (1..).zip(paper.qas) {
            let mut origin = format!("{}:question {number}", row.origin);
            let asked = question.and_then(|QasperQuestion { id, text, answers }| {
                origin = format!("{}:question {id}", row.origin);
                let any = document.evidence(&doc_id, answers, &origin, &mut set.left_out);
                let references = if any.is_empty() { Vec::new() } else { vec![Reference::any(any)] };
                set.keep(Query::new(id, text.trim().to_owned(), references))
            });
            if let Err(problem) = asked {
                set.left_out.add(&origin, problem, PAPER);
            }
        }
        set.documents.insert(doc_id, document.text.into_bytes());
        Ok(())
    })?;
    set.left_out.extend(left_out);
    Ok(set)
}

/// A paper as one text with an index of its paragraphs.
struct Document {
    text: String,
    /// The first place of each paragraph, by its words.
    paragraphs: HashMap<String, Range<usize>>,
    finder: Finder,
}

impl Document {
    fn of(paper: &Paper) -> Self {
        let mut assembly = Assembly::default();
        let mut paragraphs = HashMap::new();
        let mut paragraph = |assembly: &mut Assembly, text: &str| {
            let text = text.trim();
            if !text.is_empty() {
                let range = assembly.add(text);
                paragraphs.entry(on_one_line(text)).or_insert(range);
            }
        };
        assembly.add(&format!("# {}", on_one_line(&paper.title)));
        if let Some(summary) = &paper.summary {
            paragraph(&mut assembly, summary);
        }
        for QasperSection { section_name, paragraphs } in &paper.full_text {
            if let Some(name) = section_name.as_deref().filter(|name| !name.trim().is_empty()) {
                let parts: Vec<&str> = name.split(BELOW).collect();
                let depth = "#".repeat((parts.len() + 1).min(6));
                assembly.add(&format!("{depth} {}", on_one_line(parts.last().copied().unwrap_or_default())));
            }
            for text in paragraphs {
                paragraph(&mut assembly, text);
            }
        }
        let captions: Vec<&str> =
            paper.figures_and_tables.iter().filter_map(|figure| figure.caption.as_deref()).collect();
        if captions.iter().any(|caption| !caption.trim().is_empty()) {
            assembly.add("## Figures and tables");
            for caption in captions {
                paragraph(&mut assembly, caption);
            }
        }
        let finder = Finder::new(&assembly.text);
        Self { text: assembly.text, paragraphs, finder }
    }

    /// Returns the evidence of several people, the most frequent first. The passages of one person are left out if the
    /// document does not have all of them.
    fn evidence(
        &self,
        doc_id: &str,
        answers: Vec<LooseRecord<Annotation>>,
        origin: &str,
        left_out: &mut Flaws,
    ) -> Vec<Vec<Place>> {
        let mut alternatives = Vec::new();
        for LooseRecord(annotation) in answers {
            let evidence = match annotation {
                Ok(Annotation { answer: QasperAnswer { evidence } }) => evidence,
                Err(problem) => {
                    left_out.add(origin, problem, PAPER);
                    continue;
                }
            };
            let wanted: Vec<&String> = evidence.iter().filter(|evidence| !evidence.trim().is_empty()).collect();
            let mut ranges: Vec<Range<usize>> = Vec::new();
            for evidence in &wanted {
                match self.find(evidence) {
                    Some(range) => ranges.push(range),
                    None => left_out.add(origin, not_in_document(evidence), PAPER),
                }
            }
            if ranges.len() < wanted.len() || ranges.is_empty() {
                continue;
            }
            ranges.sort_by_key(|range| (range.start, range.end));
            ranges.dedup();
            alternatives.push(ranges.into_iter().map(|range| quoted(doc_id, &self.text, range)).collect());
        }
        by_votes(alternatives)
    }

    /// Finds a whole paragraph, or else the first place with this text.
    fn find(&self, evidence: &str) -> Option<Range<usize>> {
        let evidence = evidence.trim();
        let evidence = evidence.strip_prefix(FLOAT).unwrap_or(evidence);
        self.paragraphs.get(&on_one_line(evidence)).cloned().or_else(|| self.finder.find(evidence))
    }
}
