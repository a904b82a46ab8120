//! `HiCBench`: questions about long documents, with many sentences of evidence.
//!
//! The layout is the one that `TencentYoutuResearch/HiChunk` describes and reads: `qas/NAME.jsonl` with `input`,
//! `evidences` and `_id` (the document's id), next to the documents in `docs/NAME/ID.txt` (its README writes
//! `doc`). Other sets with the same layout are read by their name. Whether the set on a hub has this layout could
//! not be checked.

use std::collections::BTreeMap;
use std::path::Path;

use chunkmill::error::Result;
use serde::Deserialize;

use super::Imported;
use super::source::{Numbers, Source, document_name, quoted};
use super::table::{self, each, needed};
use crate::labels::{Finder, Query, Reference};

#[derive(Deserialize)]
struct Question {
    #[serde(rename = "_id", deserialize_with = "table::id")]
    document: String,
    input: String,
    evidences: Vec<String>,
}

const QUESTION: &str =
    r#"a row is {"_id": "DOCUMENT", "input", "evidences": ["text"]}, and the document is docs/NAME/DOCUMENT.txt"#;

/// Reads the questions of `qas/NAME` and the documents that they name. A document becomes the Markdown file
/// `ID.md`, because its sections begin with `#`. Every sentence of the evidence is separate evidence, and its
/// white space may differ; sentences that are not in the document are counted. A question is named by its document
/// and its number there, from 1.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) with the file and line if the format is wrong or a
/// document is missing; [`Error::Named`](chunkmill::error::Error::Named) if a file cannot be read.
pub fn hicbench(folder: &Path, name: &str) -> Result<Imported> {
    let questions = needed(&folder.join("qas"), name)?;
    let folders = ["docs", "doc"].map(|docs| folder.join(docs).join(name));
    let mut set = Imported::default();
    let mut texts: BTreeMap<String, (String, Finder)> = BTreeMap::new();
    let mut numbers = Numbers::default();
    each(&questions, QUESTION, |mut row| {
        let Question { document, input, evidences } = row.read()?;
        let doc_id = document_name(&document, "md").map_err(|problem| row.wrong(problem))?;
        if !texts.contains_key(&doc_id) {
            let file = format!("{document}.txt");
            let plain = Path::new(&file).file_name().is_some_and(|name| *name == *file);
            let file = folders.iter().map(|folder| folder.join(&file)).find(|file| plain && file.is_file());
            let file = file.ok_or_else(|| row.wrong(format!("there is no document `{document}`")))?;
            let text = Source::read(&file)?.text().to_owned();
            let finder = Finder::new(&text);
            texts.insert(doc_id.clone(), (text, finder));
        }
        let (text, finder) = &texts[&doc_id];
        let mut references: Vec<Reference> = Vec::new();
        for evidence in evidences.iter().filter(|evidence| !evidence.trim().is_empty()) {
            let Some(range) = finder.find(evidence) else {
                set.unplaced += 1;
                continue;
            };
            let reference = Reference { any: vec![vec![quoted(&doc_id, text, range)]], grade: None };
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
        let (id, text) = (numbers.next(&document), input.trim().to_owned());
        if references.is_empty() {
            set.without_evidence += 1;
        } else {
            set.queries.push(Query { id, text, references, grade: 1.0, tags: Vec::new() });
        }
        Ok(())
    })?;
    set.documents = texts.into_iter().map(|(doc_id, (text, _))| (doc_id, text.into_bytes())).collect();
    Ok(set)
}
