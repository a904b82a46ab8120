//! MIRACL: passages of Wikipedia in many languages, judged by speakers of them.
//!
//! The layout is that of `miracl/miracl` and `miracl/miracl-corpus` on a hub, below one folder or two:
//! `miracl-v1.0-LANG/topics/topics.miracl-v1.0-LANG-SPLIT.tsv`, `…/qrels/qrels.miracl-v1.0-LANG-SPLIT.tsv`, and
//! `miracl-corpus-v1.0-LANG/docs-*.jsonl` with `docid`, `title` and `text`. A passage's id consists of its
//! article's id, `#`, and its number there. The hub has the passages as `.jsonl.gz`, which must be decompressed
//! first.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use chunkmill::error::Result;
use serde::Deserialize;

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{Assembly, file_name, quoted};
use super::table::{each, needed};
use super::trec::judgements;
use crate::labels::set::Place;

#[derive(Deserialize)]
struct Passage {
    docid: String,
    title: Option<String>,
    text: String,
}

const PASSAGE: &str = r#"a line is {"docid": "ARTICLE#NUMBER", "title", "text"}"#;

/// The place of each passage: its document, and its bytes there unless the passage is a document of its own.
type Places = HashMap<String, (String, Option<Range<usize>>)>;

/// Reads one or several languages into one set. A passage becomes the text file `LANG/ID.txt` with its title, a
/// blank line and its text. With `articles`, the passages of an article form one file, and a judged passage is a
/// place in it. Questions are named `LANG-ID` and tagged with their language. Judgements of 0 are left out.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) if a file is not a table;
/// [`Error::Named`](chunkmill::error::Error::Named) if a file cannot be read.
pub fn miracl(folder: &Path, corpus: &Path, languages: &[String], split: &str, articles: bool) -> Result<ImportedSet> {
    let mut set = ImportedSet::default();
    for language in languages {
        let of = |kind: &str| {
            let name = format!("miracl-v1.0-{language}");
            folder.join(&name).join(kind).join(format!("{kind}.{name}-{split}.tsv"))
        };
        let judged = judgements(&of("qrels"), &of("topics"))?;
        let (documents, places) = passages(corpus, language, articles, &mut set.left_out)?;
        let texts: BTreeMap<String, String> = if articles { documents.clone() } else { BTreeMap::new() };
        let documents = documents.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
        let mut part = judged.into_set(documents, |id| match places.get(id) {
            Some((name, Some(range))) => quoted(name, &texts[name], range.clone()),
            Some((name, None)) => Place { doc_id: name.clone(), quote: None },
            None => Place { doc_id: format!("{language}/{}", file_name(id, "txt")), quote: None },
        });
        for query in &mut part.queries {
            query.id = format!("{language}-{}", query.id);
            query.tags.push(language.clone());
        }
        set.documents.extend(part.documents);
        set.queries.extend(part.queries);
        set.left_out.extend(part.left_out);
        set.not_asked += part.not_asked;
        set.without_evidence += part.without_evidence;
        set.without_document += part.without_document;
    }
    Ok(set)
}

/// Returns the documents of a language, and the place of each passage in them.
fn passages(
    corpus: &Path,
    language: &str,
    articles: bool,
    left_out: &mut Flaws,
) -> Result<(BTreeMap<String, String>, Places)> {
    let mut texts: BTreeMap<String, Assembly> = BTreeMap::new();
    let mut places = Places::new();
    each(&needed(corpus, &format!("miracl-corpus-v1.0-{language}"))?, PASSAGE, left_out, |row| {
        let Passage { docid, title, text } = row.read()?;
        if places.contains_key(&docid) {
            return Err(format!("passage `{docid}` appears twice"));
        }
        let (article, _) = docid.split_once('#').unwrap_or((&docid, ""));
        let document = if articles { article } else { &docid };
        let name = format!("{language}/{}", file_name(document, "txt"));
        let assembly = texts.entry(name.clone()).or_default();
        if let Some(title) = title.filter(|title| assembly.text.is_empty() && !title.is_empty()) {
            assembly.add(&title);
        }
        let range = (!text.is_empty()).then(|| assembly.add(&text)).filter(|_| articles);
        places.insert(docid, (name, range));
        Ok(())
    })?;
    Ok((texts.into_iter().map(|(name, assembly)| (name, assembly.text)).collect(), places))
}
