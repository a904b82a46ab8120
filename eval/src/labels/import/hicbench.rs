//! `HiCBench`: questions about long documents, with many sentences of evidence.
//!
//! The layout is the one that `TencentYoutuResearch/HiChunk` describes and reads: `qas/NAME.jsonl` with `input`,
//! `evidences` and `_id` (the document's id), next to the documents in `docs/NAME/ID.txt` (its README writes
//! `doc`). Other sets with the same layout are read by their name. Whether the set on a hub has this layout could
//! not be checked.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use chunkmill::error::Result;
use serde::Deserialize;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{Numbers, Source, file_name, not_in_document, quoted};
use super::table::{each, needed};
use crate::labels::set::{Finder, Query, Reference, id};

#[derive(Deserialize)]
struct HicbenchQuestion {
    #[serde(rename = "_id", deserialize_with = "id")]
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
/// [`Error::Setting`](chunkmill::error::Error::Setting) if the file is not a table;
/// [`Error::Named`](chunkmill::error::Error::Named) if it cannot be read.
pub fn hicbench(folder: &Path, name: &str) -> Result<ImportedSet> {
    let questions = needed(&folder.join("qas"), name)?;
    let folders = ["docs", "doc"].map(|docs| folder.join(docs).join(name));
    let mut set = ImportedSet::default();
    let mut left_out = Flaws::default();
    let mut texts: BTreeMap<String, (String, Finder)> = BTreeMap::new();
    let mut numbers = Numbers::default();
    each(&questions, QUESTION, &mut left_out, |row| {
        let HicbenchQuestion { document, input, evidences } = row.read()?;
        let doc_id = file_name(&document, "md");
        let (text, finder) = match texts.entry(doc_id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let file = format!("{document}.txt");
                let plain = Path::new(&file).file_name().is_some_and(|name| *name == *file);
                let file = folders.iter().map(|folder| folder.join(&file)).find(|file| plain && file.is_file());
                let file = file.ok_or_else(|| format!("there is no document `{document}`"))?;
                let text = Source::whole(&file).map_err(|error| error.to_string())?.text().to_owned();
                let finder = Finder::new(&text);
                new.insert((text, finder))
            }
        };
        let mut references: Vec<Reference> = Vec::new();
        for evidence in evidences.iter().filter(|evidence| !evidence.trim().is_empty()) {
            let Some(range) = finder.find(evidence) else {
                set.left_out.add(&row.origin, not_in_document(evidence), QUESTION);
                continue;
            };
            let reference = Reference::any(vec![vec![quoted(&doc_id, text, range)]]);
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
        let (id, text) = (numbers.next(&document), input.trim().to_owned());
        set.keep(Query::new(id, text, references))
    })?;
    set.left_out.extend(left_out);
    set.documents = texts.into_iter().map(|(doc_id, (text, _))| (doc_id, text.into_bytes())).collect();
    Ok(set)
}
