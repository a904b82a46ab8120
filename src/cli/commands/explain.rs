//! `chunkmill explain`: every boundary of a file, and why it is there.

use std::ops::Range;
use std::path::Path;

use serde::Serialize;

use super::chunk::model_counter;
use super::compare;
use crate::chunk::{self, Chunk};
use crate::cli::args::ConfigArgs;
use crate::cli::flags::{ChunkFlags, ModelFlags, ReadFlags};
use crate::cli::line::{Line, Look};
use crate::cli::output::{print, print_json, print_line, print_prose};
use crate::cli::start::warn_of_settings;
use crate::config::{Config, Options};
use crate::corpus::{self, Root};
use crate::document::{Document, Dropped, Format, on_one_line};
use crate::error::{Error, exit};
use crate::tokens::{Ruler, Unit};
use crate::value::count;

/// Number of characters shown of each chunk.
const SHOWN: usize = 72;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill explain README.md --preset ragdocs\n\
\x20 chunkmill explain README.md --compare\n\
\x20 chunkmill explain README.md --compare=\"structure max=128,windows max=256\"";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file to explain; of a document inside a file, FILE#NAME
    file: std::path::PathBuf,
    #[command(flatten)]
    read: ReadFlags,
    #[command(flatten)]
    chunking: ChunkFlags,
    #[command(flatten)]
    model: ModelFlags,
    /// Compare where several specs cut. Each is a preset or a strategy, then key=value pairs; name none to compare all
    /// presets
    #[arg(
        long,
        value_name = "SPEC,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with_all = ["preset", "strategy", "unit", "min", "target", "max", "overlap"]
    )]
    compare: Option<String>,
    #[command(flatten)]
    config: ConfigArgs,
    /// Show the whole text of each chunk: of a document that is not text, the layer that it is read as
    #[arg(long, conflicts_with_all = ["compare", "json"])]
    layer: bool,
    /// Print one JSON object per chunk, or per spec with --compare
    #[arg(long)]
    json: bool,
}

/// One chunk, explained.
#[derive(Serialize)]
struct ChunkExplanation<'a> {
    chunk_id: &'a str,
    start_line: usize,
    end_line: usize,
    start_byte: usize,
    end_byte: usize,
    /// Its bytes in the file, where these are not those of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<[u64; 2]>,
    /// Its place in a document that is not text, as it is cited.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// Size of the content in the spec's unit.
    size: usize,
    unit: &'static str,
    /// Why it starts here.
    starts_at: String,
    /// Number of sections it touches.
    sections: usize,
    has_overlap: bool,
    flags: &'a [&'static str],
    heading_path: &'a [String],
    /// Start of its source text.
    text: String,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let flags =
        Options { corpus: args.read.0, chunking: args.chunking.0, embedding: args.model.0, ..Options::default() };
    let config = args.config.resolve(flags)?;
    warn_of_settings(&config);
    let document = read(&args.file, &config)?;
    if let Some(specs) = args.compare {
        let specs = compare::named(&specs)?;
        let needed = specs.iter().any(|(_, spec)| spec.unit() == Unit::Model);
        let counter = needed.then(|| config.counter()).transpose()?;
        compare::run(&document, &specs, counter.as_deref(), args.json)?;
        return Ok(exit::DONE);
    }
    let counter = model_counter(&config)?;
    let sizer = config.spec.sizer(counter.as_deref())?;
    let chunks = chunk::chunk(&document, &config.spec, sizer)?;
    let ruler = sizer.measure(&document)?;
    let explained: Vec<ChunkExplanation<'_>> = chunks
        .iter()
        .map(|chunk| explain(&document, chunk, &ruler, config.spec.unit().name()))
        .collect::<Result<_, _>>()?;
    if args.json {
        for chunk in &explained {
            print_json(chunk)?;
        }
        return Ok(exit::DONE);
    }
    print_prose(format!(
        "{}: {}, {}, {} with {}",
        args.file.display(),
        count(document.lines(), "line"),
        count(document.sections.len(), "section"),
        count(explained.len(), "chunk"),
        config.spec
    ))?;
    if let Format::Written(format) = document.format {
        print_prose(format!("  read as {format}; lines are those of its layer; {}", left_out(&document)))?;
    }
    for flag in &document.flags {
        print(format!("  document flag: {flag}"))?;
    }
    for signal in &document.signals {
        let line = document.positions.line_at(signal.range.start);
        let text: String = document.text[signal.range.clone()].chars().take(60).collect();
        let quoted = if signal.quoted { ", quoted" } else { "" };
        print(format!("  {} at line {line}{quoted}: {text:?}", signal.kind))?;
    }
    for (index, chunk) in explained.iter().enumerate() {
        for line in render(index, chunk) {
            print_line(&line)?;
        }
        if !args.layer {
            print_line(&shown(&chunk.text))?;
            continue;
        }
        for line in document.text[chunk.start_byte..chunk.end_byte].lines() {
            print_line(&shown(line))?;
        }
    }
    Ok(exit::DONE)
}

/// Reads and parses the named file.
fn read(file: &Path, config: &Config) -> crate::error::Result<Document> {
    let wrong = |problem: String| Error::Corpus {
        path: file.to_owned(),
        problem,
        help: "name one readable document".to_owned(),
    };
    if file.is_dir() {
        return Err(wrong("is a folder".to_owned()));
    }
    // A document inside a file is named by the file, `#` and its name.
    let name = file.to_string_lossy();
    let inner = name.split_once('#').filter(|_| !config.filter.inner().is_none() && !file.exists());
    let found = corpus::discover(&[Root::new(inner.map_or(file, |(outer, _)| Path::new(outer)))], &config.filter, &[])?;
    let is_it = |path: &str| inner.is_none_or(|(_, name)| path.split_once('#').is_some_and(|(_, other)| other == name));
    if let Some(passed_over) = found.quarantined.iter().find(|document| is_it(&document.path)) {
        return Err(wrong(passed_over.reason.to_string()));
    }
    let is_outer = |source: &corpus::Source| !source.origin.path.contains('#');
    if let (None, [first, _, ..]) = (inner, &found.sources[..])
        && !found.sources.iter().any(is_outer)
    {
        return Err(wrong(format!("is a table of documents; name one of them, such as `{}`", first.origin.path)));
    }
    let source = found.sources.into_iter().find(|source| is_it(&source.origin.path));
    let source = source.ok_or_else(|| wrong("was not found".to_owned()))?;
    let (origin, layer) =
        corpus::read(source, &config.admission.read).map_err(|passed_over| wrong(passed_over.reason.to_string()))?;
    Ok(Document::parse(origin, layer))
}

/// Returns how many characters are not in the layer of a document, by reason.
fn left_out(document: &Document) -> String {
    let reason = |dropped: &Dropped| dropped.reason.name().replace('_', " ");
    let one = |dropped: &Dropped| format!("{} ({})", count(dropped.chars, "character"), reason(dropped));
    let all: Vec<String> = document.dropped.iter().map(one).collect();
    if all.is_empty() { "nothing is left out".to_owned() } else { format!("left out: {}", all.join(", ")) }
}

fn explain<'a>(
    document: &Document,
    chunk: &'a Chunk,
    ruler: &Ruler<'_>,
    unit: &'static str,
) -> crate::error::Result<ChunkExplanation<'a>> {
    let (start_line, end_line) = document.positions.lines_of(&chunk.range);
    let text = on_one_line(&document.text[chunk.range.clone()]);
    Ok(ChunkExplanation {
        chunk_id: &chunk.id,
        start_line,
        end_line,
        start_byte: chunk.range.start,
        end_byte: chunk.range.end,
        file_bytes: (!document.source_map.is_identity())
            .then(|| document.source_range(&chunk.range))
            .flatten()
            .map(|Range { start, end }| [start, end]),
        place: document.cited_place(&chunk.range),
        size: ruler.size_between(&chunk.prefix(document), chunk.range.clone(), chunk.suffix(document))?,
        unit,
        starts_at: chunk.boundary.to_string(),
        sections: chunk.sections(document),
        has_overlap: chunk.repeats.overlap.is_some(),
        flags: &chunk.flags,
        heading_path: &chunk.heading_path,
        text: beginning(&text),
    })
}

/// Returns the first characters of a text.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

fn shown(text: &str) -> Line {
    Line::default().with(Look::Plain, format!("      | {text}"))
}

fn render(index: usize, chunk: &ChunkExplanation<'_>) -> [Line; 3] {
    let mut notes = vec![chunk.starts_at.clone()];
    if chunk.sections > 1 {
        notes.push(format!("{} sections together", chunk.sections));
    }
    if chunk.has_overlap {
        notes.push("overlaps the previous chunk".to_owned());
    }
    notes.extend(chunk.flags.iter().map(|flag| (*flag).to_owned()));
    // Most names of units are plural.
    let unit = if chunk.size == 1 { chunk.unit.trim_end_matches('s') } else { chunk.unit };
    let path = if chunk.heading_path.is_empty() { "(no heading)".to_owned() } else { chunk.heading_path.join(" > ") };
    let place = chunk.place.as_ref().map(|place| format!("  {place}")).unwrap_or_default();
    let place = format!("lines {}-{}{place}", chunk.start_line, chunk.end_line);
    [
        Line::default(),
        Line::default()
            .with(Look::Faint, format!("{index:>4}  "))
            .with(Look::Place, place)
            .with(Look::Plain, format!("  {} {unit}  {path}", chunk.size)),
        Line::default().with(Look::Faint, format!("      {}", notes.join("; "))),
    ]
}
