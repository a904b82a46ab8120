//! LegalBench-RAG: questions about contracts and policies, with the ranges of characters that answer them.
//!
//! The layout is that of the benchmark's folder `data`: `benchmarks/NAME.json` next to `corpus/`, as read by the
//! code in `ZeroEntropy-cc/legalbenchrag`. That code opens documents in text mode, so a line end is one character
//! in every file. Documents are therefore written with these line ends here, and character offsets become bytes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Component, Path};

use chunkmill::error::Result;
use serde::Deserialize;

use super::Imported;
use super::source::{Numbers, Source, bytes_of, quoted};
use super::table::{each, needed};
use crate::labels::{Query, Reference};

#[derive(Deserialize)]
struct Test {
    query: String,
    snippets: Vec<Snippet>,
}

#[derive(Deserialize)]
struct Snippet {
    file_path: String,
    span: (usize, usize),
    answer: Option<String>,
}

const TEST: &str = r#"a benchmark is {"tests": [{"query", "snippets": [{"file_path", "span": [start, end], "answer"?}]}]}, in characters of corpus/FILE_PATH"#;

/// Reads the benchmarks in `benchmarks/`, or those with these names, and the documents that they name. Every
/// snippet is separate evidence. A question is named by its benchmark and its number there, from 1, and tagged
/// with the benchmark.
///
/// # Errors
/// [`Error::Setting`](chunkmill::error::Error::Setting) with the file and row if the format is wrong, a document
/// is missing, or a snippet's text is not at its offsets; [`Error::Named`](chunkmill::error::Error::Named) if a
/// file cannot be read.
pub fn legalbench_rag(folder: &Path, names: &[String]) -> Result<Imported> {
    let benchmarks = folder.join("benchmarks");
    let mut files = Vec::new();
    for name in names {
        files.extend(needed(&benchmarks, name)?);
    }
    if names.is_empty() {
        files = needed(folder, "benchmarks")?;
    }
    let mut set = Imported::default();
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut numbers = Numbers::default();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        each(&[file], TEST, |mut row| {
            let Test { query, snippets } = row.read()?;
            let id = numbers.next(&name);
            let mut references = Vec::new();
            for Snippet { file_path, span: (start, end), answer } in snippets {
                let text = match texts.entry(file_path.clone()) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        let plain = Path::new(&file_path).components().all(|part| matches!(part, Component::Normal(_)));
                        let path = folder.join("corpus").join(&file_path);
                        if !plain || !path.is_file() {
                            return Err(row.wrong(format!("there is no document `{file_path}` in corpus/")));
                        }
                        new.insert(Source::exact(&path)?.text().replace("\r\n", "\n").replace('\r', "\n"))
                    }
                };
                let range = bytes_of(text, &(start..end)).filter(|range| !range.is_empty());
                let fits = |range: &std::ops::Range<usize>| {
                    answer.as_ref().is_none_or(|answer| *answer == text[range.clone()])
                };
                let range = range.filter(fits).ok_or_else(|| {
                    let what = answer.as_ref().map_or("text".to_owned(), |answer| format!("{answer:?}"));
                    row.wrong(format!("characters {start}..{end} of `{file_path}` are not {what}"))
                })?;
                references.push(Reference { any: vec![vec![quoted(&file_path, text, range)]], grade: None });
            }
            if references.is_empty() {
                set.without_evidence += 1;
                return Ok(());
            }
            let text = query.trim().to_owned();
            set.queries.push(Query { id, text, references, grade: 1.0, tags: vec![name.clone()] });
            Ok(())
        })?;
    }
    set.documents = texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    Ok(set)
}
