//! chunkmill's own chunkers behind the pipe of `pipe.rs`, which lets the driver alternate them with everyone else's,
//! and the floors: the cost of parsing alone and of counting alone.
//!
//! `chunking-worker DOCUMENTS WORK [SPEC]`, where WORK is
//!
//! - `rows`: parse, cut according to SPEC, and count the tokens of every chunk's content, as for a dataset;
//! - `cut`: the same without the counts, for sizes in characters;
//! - `parse`: only parse the document's structure;
//! - `events`: only produce the events of the Markdown parser that we build on;
//! - `count`: only count the tokens of each document.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark may fail")]
#![expect(clippy::print_stdout, reason = "standard output is the pipe")]

mod pipe;

use std::path::Path;

use chunkmill::chunk::{Chunk, Spec, chunk_measured};
use chunkmill::document::{Document, Layer, Origin, SourceMap};
use chunkmill::tokens::{TokenCounter, Unit, cl100k};
use pipe::Text;
use pulldown_cmark::{Options, Parser};
use serde_json::{Value, json};

/// The same allocator as in the program.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Returns the options that `document::markdown` parses with.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
        | Options::ENABLE_WIKILINKS
}

fn parsed(origin: &Origin, text: &Text) -> Document {
    let layer = Layer {
        text: text.text.clone(),
        map: SourceMap::default(),
        hash: String::new(),
        bytes: text.text.len() as u64,
        metadata: serde_json::Map::new(),
        structure: None,
    };
    Document::parse(origin.clone(), layer)
}

/// The timed work: turns a text in memory into its chunks, each with its exact number of tokens, as `Recipe::cut`
/// does.
fn rows(origin: &Origin, text: &Text, spec: &Spec, counted: bool) -> Vec<(Chunk, Option<usize>)> {
    let document = parsed(origin, text);
    let ruler = spec.sizer(None).unwrap().measure(&document).unwrap();
    let chunks = chunk_measured(&ruler, spec).unwrap();
    if !counted {
        return chunks.into_iter().map(|chunk| (chunk, None)).collect();
    }
    let count = |chunk: &Chunk| {
        ruler.tokens_between(&chunk.prefix(&document), chunk.range.clone(), chunk.suffix(&document)).unwrap()
    };
    chunks
        .into_iter()
        .map(|chunk| {
            let n_tokens = count(&chunk);
            (chunk, Some(n_tokens))
        })
        .collect()
}

fn shown(text: &Text, rows: Vec<(Chunk, Option<usize>)>) -> Vec<Value> {
    let document = Document::from_text(&text.path, text.text.as_str());
    let show = |(chunk, tokens): (Chunk, Option<usize>)| {
        json!({
            "start": chunk.range.start,
            "end": chunk.range.end,
            "text": chunk.content(&document),
            "skip": chunk.prefix(&document).len(),
            "tail": chunk.suffix(&document).len(),
            "tokens": tokens,
            "flags": chunk.flags,
            "path": chunk.heading_path,
        })
    };
    rows.into_iter().map(show).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, work, spec @ ..] = &arguments[..] else { panic!("chunking-worker DOCUMENTS WORK [SPEC]") };
    let loaded = pipe::load(Path::new(file));
    let origins: Vec<Origin> = loaded.0.iter().map(|text| text.path.as_str().into()).collect();
    // The vocabulary is unpacked once per process, which is part of starting up, not of chunking.
    cl100k().count("").unwrap();
    let versions = json!({ "chunkmill": env!("CARGO_PKG_VERSION") });
    let nothing = |_: &Text, _: usize| Vec::new();
    match work.as_str() {
        "rows" | "cut" => {
            let spec: Spec = spec.join(" ").parse().unwrap();
            let unit = if spec.unit() == Unit::Chars { "chars" } else { "tokens" };
            let settings = json!({ "spec": spec.to_string() });
            let ready = json!({ "versions": versions, "settings": settings, "unit": unit, "max": spec.max() });
            pipe::serve(&loaded, ready, |i, text| rows(&origins[i], text, &spec, work == "rows"), shown);
        }
        "parse" => {
            let ready = json!({ "versions": versions, "settings": {} });
            pipe::serve(&loaded, ready, |i, text| parsed(&origins[i], text).blocks.len(), nothing);
        }
        "events" => {
            let ready = json!({ "versions": { "pulldown-cmark": "as chunkmill's" }, "settings": {} });
            let events = |text: &Text| Parser::new_ext(&text.text, options()).into_offset_iter().count();
            pipe::serve(&loaded, ready, |_, text| events(text), nothing);
        }
        "count" => {
            let ready = json!({ "versions": { "toktok-rs": "behind chunkmill's counter" }, "settings": {} });
            pipe::serve(&loaded, ready, |_, text| cl100k().count(&text.text).unwrap(), nothing);
        }
        other => panic!("unknown work `{other}`"),
    }
}
