//! The crate text-splitter behind the pipe of `pipe.rs`, with every sizer that matters here.
//!
//! `text-splitter-worker DOCUMENTS SYNTAX SIZER MAX OVERLAP`, where SYNTAX is `markdown` or `text`, and SIZER is
//! `tiktoken` (tiktoken-rs, which its documentation uses), `toktok` (the counter that chunkmill uses) or `chars`.

#[path = "../../pipe.rs"]
mod pipe;

use std::ops::Range;
use std::path::Path;

use pipe::Text;
use serde_json::json;
use text_splitter::{Characters, ChunkConfig, ChunkSizer, MarkdownSplitter, TextSplitter};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Cut = Box<dyn Fn(&str) -> Vec<Range<usize>> + Sync>;

struct Toktok(toktok::Tokenizer);

impl ChunkSizer for Toktok {
    fn size(&self, chunk: &str) -> usize {
        self.0.count(chunk.as_bytes())
    }
}

fn cut<S: ChunkSizer + Sync + 'static>(markdown: bool, sizer: S, max: usize, overlap: usize) -> Cut {
    fn ranges<'t>(chunks: impl Iterator<Item = (usize, &'t str)>) -> Vec<Range<usize>> {
        chunks.map(|(start, chunk)| start..start + chunk.len()).collect()
    }
    let config = ChunkConfig::new(max).with_sizer(sizer).with_overlap(overlap).unwrap();
    if markdown {
        let splitter = MarkdownSplitter::new(config);
        Box::new(move |text| ranges(splitter.chunk_indices(text)))
    } else {
        let splitter = TextSplitter::new(config);
        Box::new(move |text| ranges(splitter.chunk_indices(text)))
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, syntax, sizer, max, overlap] = &arguments[..] else {
        panic!("text-splitter-worker DOCUMENTS SYNTAX SIZER MAX OVERLAP");
    };
    let loaded = pipe::load(Path::new(file));
    let (max, overlap, markdown) = (max.parse().unwrap(), overlap.parse().unwrap(), syntax == "markdown");
    let cut = match sizer.as_str() {
        "tiktoken" => cut(markdown, tiktoken_rs::cl100k_base().unwrap(), max, overlap),
        "toktok" => cut(markdown, Toktok(toktok::Tokenizer::builtin("cl100k_base").unwrap()), max, overlap),
        "chars" => cut(markdown, Characters, max, overlap),
        other => panic!("unknown sizer `{other}`"),
    };
    let ready = json!({
        "versions": versions(sizer),
        "settings": { "syntax": syntax, "sizer": sizer, "max": max, "overlap": overlap },
        "unit": if sizer == "chars" { "chars" } else { "tokens" },
        "max": max,
    });
    let shown = |text: &Text, ranges: Vec<Range<usize>>| {
        let show = |range: Range<usize>| json!({ "start": range.start, "end": range.end, "text": &text.text[range] });
        ranges.into_iter().map(show).collect()
    };
    pipe::serve(&loaded, ready, |_, text| cut(&text.text), shown);
}

/// Returns the versions in the lock file.
fn versions(sizer: &str) -> serde_json::Value {
    let lock = include_str!("../Cargo.lock");
    let version = |name: &str| {
        let after = &lock[lock.find(&format!("name = \"{name}\"\nversion = \"")).unwrap()..];
        after.split('"').nth(3).unwrap().to_owned()
    };
    let mut versions = json!({ "text-splitter": version("text-splitter") });
    match sizer {
        "tiktoken" => versions["tiktoken-rs"] = version("tiktoken-rs").into(),
        "toktok" => versions["toktok-rs"] = version("toktok-rs").into(),
        _ => {}
    }
    versions
}
