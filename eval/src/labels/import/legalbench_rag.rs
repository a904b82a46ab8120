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

use super::flaws::Flaws;
use super::imported::ImportedSet;
use super::source::{Numbers, Source, TextPlace, bytes_of, placed, quoted};
use super::table::{LooseRecord, each, needed};
use crate::labels::set::{Place, Query, Reference};

#[derive(Deserialize)]
struct Test {
    query: String,
    snippets: Vec<LooseRecord<Snippet>>,
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
/// [`Error::Setting`](chunkmill::error::Error::Setting) if a benchmark is not a table;
/// [`Error::Named`](chunkmill::error::Error::Named) if a file cannot be read.
pub fn legalbench_rag(folder: &Path, names: &[String]) -> Result<ImportedSet> {
    let benchmarks = folder.join("benchmarks");
    let mut files = Vec::new();
    for name in names {
        files.extend(needed(&benchmarks, name)?);
    }
    if names.is_empty() {
        files = needed(folder, "benchmarks")?;
    }
    let mut set = ImportedSet::default();
    let mut left_out = Flaws::default();
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut numbers = Numbers::default();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        each(&[file], TEST, &mut left_out, |row| {
            let Test { query, snippets } = row.read()?;
            let id = numbers.next(&name);
            let mut references = Vec::new();
            for LooseRecord(snippet) in snippets {
                match snippet.and_then(|snippet| place(folder, &snippet, &mut texts)) {
                    Ok((place, mended)) => {
                        references.push(Reference::any(vec![vec![place]]));
                        if let Some(how) = mended {
                            set.mended.add(&row.origin, how, TEST);
                        }
                    }
                    Err(problem) => set.left_out.add(&row.origin, problem, TEST),
                }
            }
            let text = query.trim().to_owned();
            set.keep(Query { tags: vec![name.clone()], ..Query::new(id, text, references) })
        })?;
    }
    set.left_out.extend(left_out);
    set.documents = texts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    Ok(set)
}

/// Returns where a snippet is, and what was wrong with its place if it is elsewhere.
fn place(
    folder: &Path,
    Snippet { file_path, span: (start, end), answer }: &Snippet,
    texts: &mut BTreeMap<String, String>,
) -> Result<(Place, Option<String>), String> {
    let text = match texts.entry(file_path.clone()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => {
            let plain = Path::new(file_path).components().all(|part| matches!(part, Component::Normal(_)));
            let path = folder.join("corpus").join(file_path);
            if !plain || !path.is_file() {
                return Err(format!("there is no document `{file_path}` in corpus/"));
            }
            let source = Source::exact(&path).map_err(|error| error.to_string())?;
            new.insert(source.text().replace("\r\n", "\n").replace('\r', "\n"))
        }
    };
    let in_file = |problem: String| format!("`{file_path}`: {problem}");
    let TextPlace { range, mended } = if let Some(answer) = answer {
        placed(text, Some(*start..*end), answer).map_err(in_file)?
    } else {
        let range = bytes_of(text, &(*start..*end)).filter(|range| !range.is_empty());
        let range = range.ok_or_else(|| in_file(format!("characters {start}..{end} are not text")))?;
        TextPlace { range, mended: None }
    };
    Ok((quoted(file_path, text, range), mended.map(in_file)))
}
