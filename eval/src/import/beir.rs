//! BEIR: `corpus.jsonl`, `queries.jsonl`, and judgements of whole documents in `qrels/SPLIT.tsv`.

use std::collections::BTreeMap;
use std::path::Path;

use chunkmill::error::{Error, Result};
use serde_json::{Map, Value};

use super::Imported;
use super::source::{Judged, Source, file_name};

const DOCUMENT: &str = r#"a line is {"_id", "title"?, "text"}"#;
const QUERY: &str = r#"a line is {"_id", "text"}"#;
const JUDGEMENT: &str = "a line is query-id, corpus-id and score with tabs between; the first line may be these names";

/// Reads a data set in BEIR's layout. A document becomes the text file `ID.txt`: its title, a blank
/// line, its text. The judgements are those of `qrels/SPLIT.tsv`, or of `qrels.tsv` if there is no
/// folder `qrels`.
///
/// # Errors
/// [`Error::Setting`] with file and line for what is not in that layout, an id that comes twice, or
/// a judgement of an unknown question; [`Error::Named`] if a file cannot be read.
pub fn beir(folder: &Path, split: &str) -> Result<Imported> {
    let corpus = Source::read(&folder.join("corpus.jsonl"))?;
    let mut documents = BTreeMap::new();
    for (line, object) in corpus.objects(DOCUMENT)? {
        let wrong = |problem: String| corpus.wrong(line, problem, DOCUMENT);
        let id = id(&object).map_err(wrong)?;
        let text = string(&object, "text").map_err(wrong)?;
        let title = if object.contains_key("title") { string(&object, "title").map_err(wrong)? } else { "" };
        let parts: Vec<&str> = [title, text].into_iter().filter(|part| !part.is_empty()).collect();
        let name = file_name(&id, "txt");
        if name.len() > 255 {
            return Err(wrong(format!("_id `{id}` is too long to name a file")));
        }
        if documents.insert(name, parts.join("\n\n").into_bytes()).is_some() {
            return Err(wrong(format!("_id `{id}` was used before")));
        }
    }

    let queries = Source::read(&folder.join("queries.jsonl"))?;
    let mut judged = Judged::default();
    for (line, object) in queries.objects(QUERY)? {
        let wrong = |problem: String| queries.wrong(line, problem, QUERY);
        let id = id(&object).map_err(wrong)?;
        if !judged.ask(&id, string(&object, "text").map_err(wrong)?) {
            return Err(wrong(format!("_id `{id}` was used before")));
        }
    }

    let qrels = folder.join("qrels");
    let qrels = if qrels.is_dir() { qrels.join(format!("{split}.tsv")) } else { folder.join("qrels.tsv") };
    let qrels = Source::read(&qrels)?;
    for (line, text) in qrels.lines() {
        let wrong = |problem: String| -> Error { qrels.wrong(line, problem, JUDGEMENT) };
        let fields: Vec<&str> = text.split('\t').map(str::trim).collect();
        let [query, document, grade] = fields[..] else {
            return Err(wrong(format!("{} fields, not 3", fields.len())));
        };
        if line == 1 && grade == "score" {
            continue;
        }
        judged.judge(query, document, grade).map_err(wrong)?;
    }
    Ok(judged.into_set(documents, |id| file_name(id, "txt")))
}

/// The field `_id`, which some data sets write as a number.
fn id(object: &Map<String, Value>) -> Result<String, String> {
    match object.get("_id") {
        Some(Value::String(id)) if !id.is_empty() => Ok(id.clone()),
        Some(Value::Number(id)) => Ok(id.to_string()),
        _ => Err("_id is missing or empty".to_owned()),
    }
}

fn string<'o>(object: &'o Map<String, Value>, key: &str) -> Result<&'o str, String> {
    object.get(key).and_then(Value::as_str).ok_or_else(|| format!("{key} is missing or no text"))
}
