//! `ConTEB`: documents in chunks, and questions that name the chunks that answer them.
//!
//! The layout is that of the sets of `illuin-conteb` on a hub, as read by the code in `illuin-tech/conteb`: a part
//! `documents` with `chunk_id` and `chunk`, and a part `queries` with `query` and `chunk_id` or `chunk_ids`. A
//! chunk's id consists of its document's id, `_`, and its number there.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use chunkmill::error::Result;
use serde::Deserialize;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{Assembly, Numbers, file_name, quoted};
use super::table::{each, needed, of_split};
use crate::labels::set::{Query, Reference};

#[derive(Deserialize)]
struct Chunk {
    chunk_id: String,
    chunk: String,
}

#[derive(Deserialize)]
struct ContebQuestion {
    query: String,
    chunk_id: Option<String>,
    chunk_ids: Option<Vec<String>>,
}

const CHUNK: &str = r#"a row of `documents` is {"chunk_id": "DOCUMENT_NUMBER", "chunk"}"#;
const QUESTION: &str = r#"a row of `queries` is {"query", "chunk_id"} or {"query", "chunk_ids"}"#;

/// Reads documents and questions of a split. Without one, the first of `test`, `validation` and `train` counts, as
/// in `ConTEB` itself. A document becomes the text file `ID.txt`, with its chunks in the order of their numbers
/// and a blank line between them. Each chunk that a question names is separate evidence. A question is named by
/// its document and its number there, from 1.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) if a file is not a table or none belongs to the split;
/// [`Error::Named`](chunkmill::error::Error::Named) if a file cannot be read.
pub fn conteb(folder: &Path, split: Option<&str>) -> Result<ImportedSet> {
    let files = |name: &str| of_split(folder, &needed(folder, name)?, split);
    let mut set = ImportedSet::default();
    let mut chunks: BTreeMap<String, BTreeMap<u64, String>> = BTreeMap::new();
    each(&files("documents")?, CHUNK, &mut set.left_out, |row| {
        let Chunk { chunk_id, chunk } = row.read()?;
        let (document, number) = parts(&chunk_id).ok_or_else(|| format!("`{chunk_id}` is not a chunk id"))?;
        match chunks.entry(document.to_owned()).or_default().entry(number) {
            Entry::Occupied(_) => Err(format!("chunk `{chunk_id}` appears twice")),
            Entry::Vacant(new) => {
                new.insert(chunk);
                Ok(())
            }
        }
    })?;

    let mut texts: HashMap<String, (String, BTreeMap<u64, Range<usize>>)> = HashMap::new();
    for (document, chunks) in chunks {
        let mut assembly = Assembly::default();
        let places = chunks.into_iter().filter(|(_, chunk)| !chunk.is_empty());
        let places = places.map(|(number, chunk)| (number, assembly.add(&chunk))).collect();
        texts.insert(document, (assembly.text, places));
    }

    let mut numbers = Numbers::default();
    let mut left_out = Flaws::default();
    each(&files("queries")?, QUESTION, &mut left_out, |row| {
        let ContebQuestion { query, chunk_id, chunk_ids } = row.read()?;
        let named: Vec<String> = chunk_ids.unwrap_or_default().into_iter().chain(chunk_id).collect();
        let mut references: Vec<Reference> = Vec::new();
        for chunk_id in &named {
            let place = parts(chunk_id).and_then(|(document, number)| {
                let (text, places) = texts.get(document)?;
                Some(quoted(&file_name(document, "txt"), text, places.get(&number)?.clone()))
            });
            let Some(place) = place else {
                set.left_out.add(&row.origin, format!("there is no chunk `{chunk_id}`, or it is empty"), QUESTION);
                continue;
            };
            let reference = Reference::any(vec![vec![place]]);
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
        let Some((document, _)) = named.first().and_then(|chunk_id| parts(chunk_id)) else {
            set.without_evidence += 1;
            return Ok(());
        };
        let (id, text) = (numbers.next(document), query.trim().to_owned());
        set.keep(Query::new(id, text, references))
    })?;
    set.left_out.extend(left_out);
    for (document, (text, _)) in texts {
        set.documents.insert(file_name(&document, "txt"), text.into_bytes());
    }
    Ok(set)
}

/// Splits a chunk's id into its document and its number there.
fn parts(chunk_id: &str) -> Option<(&str, u64)> {
    let (document, number) = chunk_id.rsplit_once('_')?;
    Some((document, number.parse().ok().filter(|_| !document.is_empty())?))
}
