//! `chunkmill explain --compare`: where several specs cut the same file, side by side.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::chunk::{self, Boundary, Chunk, Preset, Spec};
use crate::cli::output::{print, print_json};
use crate::document::Document;
use crate::error::Result;
use crate::tokens::TokenCounter;
use crate::value::count;

/// The letters that name columns. They limit how many specs can be compared.
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// One spec's chunks of the file.
#[derive(Serialize)]
struct SpecChunks {
    /// The preset or strategy, as it was named.
    name: String,
    spec: String,
    chunks: usize,
    /// Tokens of the contents, in the spec's encoding: the smallest, the median, the largest.
    tokens: [usize; 3],
    overlapping: usize,
    flagged: usize,
    starts: Vec<Start>,
}

/// Where a chunk starts.
#[derive(Serialize)]
struct Start {
    byte: usize,
    line: usize,
    why: String,
    #[serde(skip)]
    sign: String,
}

/// Returns the specs to compare, each with its name. If none are named, these are the presets.
pub(crate) fn named(specs: &str) -> Result<Vec<(String, Spec)>> {
    if specs.is_empty() {
        return Ok(Preset::ALL.map(|preset| (preset.to_string(), preset.spec())).into());
    }
    let named = |text: &str| {
        let name = text.split_whitespace().next().unwrap_or_default();
        Ok((name.to_owned(), text.parse()?))
    };
    specs.split(',').map(named).collect()
}

pub(crate) fn run(
    document: &Document,
    specs: &[(String, Spec)],
    counter: Option<&dyn TokenCounter>,
    json: bool,
) -> anyhow::Result<()> {
    anyhow::ensure!(specs.len() <= LETTERS.len(), "at most {} specs can be compared", LETTERS.len());
    let compared =
        specs.iter().map(|(name, spec)| compare(document, name, spec, counter)).collect::<Result<Vec<_>>>()?;
    if json {
        return compared.iter().try_for_each(print_json);
    }
    print(table(document, &compared))?;
    print(map(document, &compared))
}

fn compare(document: &Document, name: &str, spec: &Spec, counter: Option<&dyn TokenCounter>) -> Result<SpecChunks> {
    let chunks = chunk::chunk(document, spec, spec.sizer(counter)?)?;
    let mut tokens: Vec<usize> =
        chunks.iter().map(|chunk| spec.encoding().counter().count(&chunk.content(document))).collect::<Result<_>>()?;
    tokens.sort_unstable();
    let at = |index: usize| tokens.get(index).copied().unwrap_or_default();
    Ok(SpecChunks {
        name: name.to_owned(),
        spec: spec.to_string(),
        chunks: chunks.len(),
        tokens: [at(0), at(tokens.len() / 2), at(tokens.len().saturating_sub(1))],
        overlapping: chunks.iter().filter(|chunk| chunk.repeats.overlap.is_some()).count(),
        flagged: chunks.iter().filter(|chunk| !chunk.flags.is_empty()).count(),
        starts: chunks.iter().map(|chunk| start(document, chunk)).collect(),
    })
}

fn start(document: &Document, chunk: &Chunk) -> Start {
    let sign = match chunk.boundary {
        Boundary::Start => "^".to_owned(),
        Boundary::Heading(level) => format!("h{level}"),
        Boundary::BlankLine => "p".to_owned(),
        Boundary::Block => "b".to_owned(),
        Boundary::Line => "l".to_owned(),
        Boundary::Sentence => "s".to_owned(),
        Boundary::Limit => "|".to_owned(),
        Boundary::Separator(_) => "/".to_owned(),
        Boundary::Code => "c".to_owned(),
        Boundary::Prose => "t".to_owned(),
        Boundary::Footnote => "f".to_owned(),
    };
    let byte = chunk.range.start;
    Start { byte, line: document.positions.line_at(byte), why: chunk.boundary.to_string(), sign }
}

fn table(document: &Document, compared: &[SpecChunks]) -> String {
    let path = &document.origin.path;
    let (lines, sections) = (count(document.lines(), "line"), count(document.sections.len(), "section"));
    let mut table = format!("{path}: {lines}, {sections}\n\n");
    let widest = |of: fn(&SpecChunks) -> &str| compared.iter().map(|spec| of(spec).len()).max().unwrap_or_default();
    let (names, width) = (widest(|spec| &spec.name), widest(|spec| &spec.spec));
    let _ =
        writeln!(table, "   {:names$}  {:width$}  chunks  tokens: least  median    most  overlapping  flagged", "", "");
    for (letter, spec) in LETTERS.iter().zip(compared) {
        let [least, median, most] = spec.tokens;
        let _ = writeln!(
            table,
            "{}  {:names$}  {:width$}  {:>6}  {least:>13}  {median:>6}  {most:>6}  {:>11}  {:>7}",
            char::from(*letter),
            spec.name,
            spec.spec,
            spec.chunks,
            spec.overlapping,
            spec.flagged
        );
    }
    table
}

/// Renders one row for each place where any of the specs starts a chunk.
fn map(document: &Document, compared: &[SpecChunks]) -> String {
    let mut rows: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (column, spec) in compared.iter().enumerate() {
        for start in &spec.starts {
            rows.entry(start.byte).or_insert_with(|| vec!["."; compared.len()])[column] = &start.sign;
        }
    }
    let mut map = String::from(
        "A chunk starts: ^ at the start, h1–h6 at a heading, c at code, t at text after it, f at a footnote;\n\
         because the previous one is full: p at a paragraph, b at a block, l at a line, s at a sentence, / at a separator, | at the limit\n\n",
    );
    let letters = columns(LETTERS[..compared.len()].iter().map(|&letter| char::from(letter)));
    let _ = writeln!(map, "  line  {}", letters.trim_end());
    for (byte, signs) in rows {
        let signs = columns(signs);
        // Lines can be very long, and there can be many rows.
        let line: String = document.text[byte..].chars().take_while(|&c| c != '\n').take(200).collect();
        let text: String = line.trim().chars().take(60).collect();
        let _ = writeln!(map, "{:>6}  {signs} {text}", document.positions.line_at(byte));
    }
    map
}

fn columns(cells: impl IntoIterator<Item: std::fmt::Display>) -> String {
    cells.into_iter().fold(String::new(), |mut row, cell| {
        let _ = write!(row, "{cell:<3}");
        row
    })
}
