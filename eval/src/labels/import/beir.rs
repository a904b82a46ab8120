//! BEIR: documents, questions, and judgements of whole documents in `qrels/SPLIT.tsv`.
//!
//! On a hub the same data is in the tables `corpus`, `queries`, and `qrels` or `data`. `LongEmbed` uses other
//! names: `doc_id`, `qid`, and judgements without a score, each of which means that the document is relevant.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use chunkmill::error::Result;
use chunkmill::value::count;
use serde_json::{Map, Value};

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{JudgedQuestions, Source, file_name};
use super::table::{each, needed, of_split, part};
use crate::labels::set::Place;

const DOCUMENT: &str = r#"a line is {"_id", "title"?, "text"}"#;
const QUERY: &str = r#"a line is {"_id", "text"}"#;
const JUDGEMENT: &str = "a line is query-id, corpus-id and score with tabs between; the first line may be these names";
const JUDGED: &str = r#"a row is {"query-id", "corpus-id", "score"?}"#;

/// Names of an id in different sets.
const DOCUMENT_ID: [&str; 3] = ["_id", "doc_id", "docid"];
const QUERY_ID: [&str; 3] = ["_id", "qid", "query_id"];
const JUDGED_QUERY: [&str; 3] = ["query-id", "qid", "query_id"];
const JUDGED_DOCUMENT: [&str; 3] = ["corpus-id", "doc_id", "docid"];

/// Reads a data set in BEIR's layout. A document becomes the text file `ID.txt`: its title, a blank line, its
/// text. The judgements come from `qrels/SPLIT.tsv`, from `qrels.tsv` if there is no folder `qrels`, or from a
/// table `qrels` or `data`.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) if a file is not a table or no table belongs to the split;
/// [`Error::Named`](chunkmill::error::Error::Named) if a file cannot be read.
pub fn beir(folder: &Path, split: &str) -> Result<ImportedSet> {
    let mut documents = BTreeMap::new();
    let mut judged = JudgedQuestions::default();
    let mut mended = Flaws::default();
    each(&needed(folder, "corpus")?, DOCUMENT, &mut judged.left_out, |row| {
        let id = id(&row.fields, &DOCUMENT_ID)?;
        let titled = row.fields.get("title").is_some_and(|title| !title.is_null());
        let title = if titled { string(&row.fields, "title")? } else { "" };
        let text = match row.fields.get("text") {
            Some(Value::Null) => {
                mended.add(&row.origin, format!("the text of document `{id}` is null; it is taken as empty"), DOCUMENT);
                ""
            }
            _ => string(&row.fields, "text")?,
        };
        let parts: Vec<&str> = [title, text].into_iter().filter(|part| !part.is_empty()).collect();
        match documents.entry(file_name(&id, "txt")) {
            Entry::Occupied(_) => Err(format!("_id `{id}` was used before")),
            Entry::Vacant(new) => {
                new.insert(parts.join("\n\n").into_bytes());
                Ok(())
            }
        }
    })?;

    let mut left_out = Flaws::default();
    each(&needed(folder, "queries")?, QUERY, &mut left_out, |row| {
        let id = id(&row.fields, &QUERY_ID)?;
        judged.ask(&id, string(&row.fields, "text")?)
    })?;

    match judgements(folder, split)? {
        Judgements::Lines(file) => lines(&file, &mut judged, &mut left_out)?,
        Judgements::Tables(files) => each(&files, JUDGED, &mut left_out, |row| {
            let (query, document) = (id(&row.fields, &JUDGED_QUERY)?, id(&row.fields, &JUDGED_DOCUMENT)?);
            let grade = match row.fields.get("score") {
                None | Some(Value::Null) => "1".to_owned(),
                Some(Value::String(score)) => score.clone(),
                Some(score) => score.to_string(),
            };
            judged.judge(&query, &document, &grade)
        })?,
    }
    judged.left_out.extend(left_out);
    let mut set = judged.into_set(documents, |id| Place { doc_id: file_name(id, "txt"), quote: None });
    set.mended = mended;
    Ok(set)
}

/// Where the judgements are.
enum Judgements {
    /// A file that may lack a header line.
    Lines(PathBuf),
    Tables(Vec<PathBuf>),
}

fn judgements(folder: &Path, split: &str) -> Result<Judgements> {
    let qrels = folder.join("qrels");
    let lines = if qrels.is_dir() { qrels.join(format!("{split}.tsv")) } else { folder.join("qrels.tsv") };
    if lines.is_file() {
        return Ok(Judgements::Lines(lines));
    }
    let single = |files: &[PathBuf]| files.len() == 1 && files[0].parent() == Some(folder);
    for name in ["qrels", "data"] {
        match part(folder, name)? {
            Some(files) if single(&files) => return Ok(Judgements::Tables(files)),
            Some(files) => return of_split(&folder.join(name), &files, Some(split)).map(Judgements::Tables),
            None => {}
        }
    }
    Ok(Judgements::Lines(lines))
}

fn lines(file: &Path, judged: &mut JudgedQuestions, left_out: &mut Flaws) -> Result<()> {
    Source::read(file)?.lines(JUDGEMENT, left_out, |line, text| {
        let fields: Vec<&str> = text.split('\t').map(str::trim).collect();
        let [query, document, grade] = fields[..] else {
            return Err(format!("{}, not 3", count(fields.len(), "field")));
        };
        if line == 1 && grade == "score" { Ok(()) } else { judged.judge(query, document, grade) }
    });
    Ok(())
}

/// Returns an id, which some data sets write as a number.
fn id(object: &Map<String, Value>, names: &[&str]) -> Result<String, String> {
    match names.iter().find_map(|name| object.get(*name)) {
        Some(Value::String(id)) if !id.is_empty() => Ok(id.clone()),
        Some(Value::Number(id)) => Ok(id.to_string()),
        _ => Err(format!("{} is missing or empty", names[0])),
    }
}

fn string<'o>(object: &'o Map<String, Value>, key: &str) -> Result<&'o str, String> {
    object.get(key).and_then(Value::as_str).ok_or_else(|| format!("{key} is missing or not text"))
}
