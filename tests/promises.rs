//! The promises of chunkmill for every document and every spec, as one function that panics if a promise is broken,
//! and a substitute for a model's tokenizer.
//!
//! The suite and the fuzz target in `tests/fuzz` both include this file, so there is one list of promises. It uses
//! nothing but the light half of the library.

use std::collections::HashSet;
use std::ops::Range;

use chunkmill::chunk::{Chunk, Normalizer, Settings, Spec, Strategy, Switch, chunk};
use chunkmill::document::{BlockKind, Document, is_blank};
use chunkmill::setting::Table as _;
use chunkmill::tokens::{Breaks, Ends, Sizer, TokenCounter, Unit};

/// Returns the number of ends of lines in a text: line feeds, and carriage returns without one.
pub fn line_ends(text: &str) -> usize {
    text.matches('\n').count() + text.replace("\r\n", "").matches('\r').count()
}

/// Returns the sizer of a spec. Its `model` counts words between white space.
pub fn sizer(spec: &Spec) -> Sizer<'static> {
    spec.sizer(Some(&Words)).unwrap()
}

/// A substitute for a model's tokenizer: words, and no promise about where it breaks.
pub struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> chunkmill::error::Result<usize> {
        Ok(text.split_whitespace().count())
    }

    fn ends(&self, text: &str) -> chunkmill::error::Result<Ends> {
        let at = |word: &str| (word.as_ptr() as usize - text.as_ptr() as usize + word.len()) as u32;
        Ok(Ends::new(text.len(), text.split_whitespace().map(at)))
    }

    fn breaks(&self) -> Breaks {
        Breaks::Unknown
    }
}

/// Checks every promise about the chunks of one document. With `exact`, also recounts positions and sizes in the
/// slowest and plainest way.
pub fn check(document: &Document, spec: &Spec, chunks: &[Chunk], exact: bool) {
    let text = &document.text;
    let sizer = sizer(spec);
    let ruler = sizer.measure(document).unwrap();
    let mut ids = HashSet::new();
    let mut covered = document.body.start;
    for (index, chunk) in chunks.iter().enumerate() {
        let at = format!("{} with `{spec}`, chunk {index}", document.origin.path);
        let content = chunk.content(document);
        assert_eq!(chunk.index, index, "{at}");
        assert!(ids.insert(chunk.id.clone()), "{at}: id {} twice", chunk.id);

        // No text is lost, and none is in two chunks.
        assert!(chunk.range.start >= covered, "{at}: overlaps the chunk before");
        let lost = kept(document, spec, covered..chunk.range.start);
        assert!(is_blank(&lost), "{at}: lost {lost:?}");
        covered = chunk.range.end;

        // Content is prefix, source, and the end of a fence. An empty chunk exists only for an empty document.
        let (prefix, suffix) = (chunk.prefix(document), chunk.suffix(document));
        let source = &content[prefix.len()..content.len() - suffix.len()];
        assert_eq!(source, &text[chunk.range.clone()], "{at}");
        let marks = suffix.trim_start_matches(['\n', '\r', ' ', '\t', '>']).trim_end();
        let closes = marks.len() > 2 && marks.trim_matches(['`', '~']).is_empty() && suffix.starts_with(['\n', '\r']);
        assert!(suffix.is_empty() || spec.is_on(Switch::CutOversized) && closes, "{at}: {suffix:?}");
        assert!(chunks.len() == 1 || !is_blank(&text[chunk.range.clone()]), "{at}: blank");
        if let Some(overlap) = &chunk.repeats.overlap {
            assert!(index > 0 && chunk.sub_index > Some(0), "{at}: overlap without a sibling before");
            let near = text.get(overlap.end..chunk.range.start).is_some_and(is_blank);
            assert!(overlap.start < overlap.end && near, "{at}: {overlap:?} is not just before {:?}", chunk.range);
            assert!(prefix.trim_end().ends_with(text[overlap.clone()].trim_end()), "{at}: {prefix:?}");
        }

        // The maximum holds, except for one atomic block, which is flagged.
        let size = match spec.unit() {
            // Which text is code is known for a range of the document, not for the text of a prefix. The prefix of a
            // window is a range too. The packer treats any other prefix as prose.
            Unit::Estimate => {
                let after = ruler.size_between(&prefix, chunk.range.clone(), suffix).unwrap();
                let window = chunk.repeats.overlap.as_ref().filter(|overlap| overlap.end == chunk.range.start);
                let start = window.map_or(chunk.range.start, |overlap| overlap.start);
                ruler.size(start..chunk.range.end).unwrap().min(after)
            }
            _ => sizer.size(&content).unwrap(),
        };
        if size > spec.max() {
            assert!(chunk.flags.iter().any(|flag| flag.starts_with("oversized_")), "{at}: over max: {content:?}");
            let cut = spec.is_on(Switch::CutOversized);
            // Only the design of `header` adds overlap and headers whatever the size.
            let plain = spec.strategy() != Strategy::Header || cut;
            assert!(!plain || prefix.is_empty(), "{at}: an oversized chunk has a prefix");
            assert!(!cut || source.trim().chars().count() == 1, "{at}: could be cut: {content:?}");
        }
        if exact {
            let before = &text[..chunk.range.start];
            assert_eq!(document.positions.char_at(chunk.range.start), before.chars().count(), "{at}");
            let (first, last) = document.positions.lines_of(&chunk.range);
            let inside_end = before.ends_with('\r') && text[chunk.range.start..].starts_with('\n');
            assert_eq!(first, line_ends(before) + 1 - usize::from(inside_end), "{at}");
            let own = &text[chunk.range.clone()];
            let inner = ["\r\n", "\n", "\r"].iter().find_map(|end| own.strip_suffix(end)).unwrap_or(own);
            assert_eq!(last, first + line_ends(inner), "{at}");
        }
    }
    let lost = kept(document, spec, covered..document.body.end);
    assert!(is_blank(&lost), "{} with `{spec}`: lost the end: {lost:?}", document.origin.path);
    check_sections(document, spec, chunks);
    check_headings(document, chunks);
}

/// Returns the text of a range except for what the spec declares dropped: headings of level 2 and 3 with nothing
/// under them for `lines`, and code and tables that are switched off for other strategies.
fn kept(document: &Document, spec: &Spec, range: Range<usize>) -> String {
    let seed_3 = matches!(spec.strategy(), Strategy::Semantic | Strategy::CodeAware | Strategy::Fixed);
    let dropped = |kind: BlockKind| match kind {
        BlockKind::Heading(2 | 3) => spec.strategy() == Strategy::Lines,
        BlockKind::Code => seed_3 && !spec.is_on(Switch::IncludeCode),
        BlockKind::Table => seed_3 && !spec.is_on(Switch::IncludeTables),
        _ => false,
    };
    let mut kept = String::new();
    let mut at = range.start;
    let mut block = 0;
    while let Some(here) = document.blocks.get(block).filter(|here| here.range.start < range.end) {
        let next = document.blocks.get(here.next).map_or(document.body.end, |next| next.range.start);
        let empty = !matches!(here.kind, BlockKind::Heading(_)) || {
            let under = document.blocks.get(here.next).map(|next| next.kind);
            matches!(under, None | Some(BlockKind::Heading(1..=3)))
        };
        if here.range.start >= at && dropped(here.kind) && empty {
            kept.push_str(&document.text[at..here.range.start]);
            at = here.range.end.min(next).min(range.end);
        }
        block = here.next;
    }
    kept.push_str(&document.text[at..range.end]);
    kept
}

/// Checks that chunks count up inside their section, and sections inside the document.
fn check_sections(document: &Document, spec: &Spec, chunks: &[Chunk]) {
    let mut expected = (0, 0);
    for chunk in chunks {
        let at = format!("{} with `{spec}`, chunk {}", document.origin.path, chunk.index);
        assert_eq!((chunk.section_index, chunk.sub_index.unwrap_or(0)), expected, "{at}");
        let last = expected.1 + 1 == chunk.n_in_section;
        expected = if last { (expected.0 + 1, 0) } else { (expected.0, expected.1 + 1) };
    }
    assert_eq!(expected.1, 0, "the last section is complete");
}

/// Checks that every heading is named by the chunk that contains its first character, and by no other.
fn check_headings(document: &Document, chunks: &[Chunk]) {
    let first = |text: &str| text.char_indices().find(|(_, c)| !c.is_whitespace()).map_or(0, |(at, _)| at);
    let begun = document.sections.iter().filter(|section| section.level > 0 && !section.continues);
    let mut begun =
        begun.map(|section| (section.range.start + first(&document.text[section.range.clone()]), section)).peekable();
    for chunk in chunks {
        let mut expected = Vec::new();
        while let Some((at, section)) = begun.next_if(|(at, _)| *at < chunk.range.end) {
            expected.extend((at >= chunk.range.start).then_some(section));
        }
        let named: Vec<_> = document.headings_in(&chunk.range).collect();
        assert_eq!(named, expected, "{} {:?}", document.origin.path, chunk.range);
    }
}

/// Checks that ranges can be cut out of the text, that sections follow each other without a gap, and that blocks are
/// in order, each container before what it contains.
fn check_document(document: &Document) {
    let Document { text, body, blocks, sections, .. } = document;
    let mut start = body.start;
    for (index, block) in blocks.iter().enumerate() {
        assert!(block.range.end <= body.end && text.get(block.range.clone()).is_some(), "block {index}: {block:?}");
        assert!(start <= block.range.start && index < block.next && block.next <= blocks.len(), "block {index}");
        start = block.range.start;
    }
    let mut start = body.start;
    for section in sections {
        assert!(section.range.start == start && text.get(section.range.clone()).is_some(), "{section:?}");
        start = section.range.end;
    }
    assert_eq!(start, if sections.is_empty() { body.start } else { body.end }, "sections cover the body");
    let mut start = body.start;
    for link in &document.links {
        assert!(start <= link.range.start && text.get(link.range.clone()).is_some(), "{link:?}");
        start = link.range.start;
    }
}

/// Checks that cleaning a chunk loses nothing but white space and what redaction removes.
fn check_cleaned(document: &Document, chunk: &Chunk) {
    let ink = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let whitespace = Normalizer { whitespace: true, ..Normalizer::default() };
    let cleaned = |normalizer: Normalizer| normalizer.normalize(document, &chunk.repeats, chunk.range.clone());
    assert_eq!(ink(&cleaned(whitespace)), ink(&chunk.content(document)));
    assert_eq!(cleaned(Normalizer::default()), chunk.content(document));
    let _ = cleaned(Normalizer { unicode: true, redact_urls: true, ..whitespace });
}

/// One extension for each way of reading a document.
const EXTENSIONS: [&str; 18] = [
    "md", "mdx", "txt", "yaml", "json", "rs", "py", "js", "ts", "go", "java", "c", "cpp", "rb", "sh", "sql", "html",
    "toml",
];

/// Sizes in every unit, from those for which everything is over the limit to those for which nothing is.
const SIZES: [usize; 16] = [1, 2, 3, 4, 6, 9, 14, 21, 32, 48, 75, 120, 250, 500, 1500, 4096];

/// Number of bytes at the start of an input that say what to do with the rest.
const HEADER: usize = 8;

/// Checks every promise for an input of the fuzzer: a header that chooses file and spec, then the text. Shorter
/// inputs are ignored.
pub fn check_input(input: &[u8]) {
    let Some((header, text)) = input.split_first_chunk::<HEADER>() else { return };
    let [strategy, unit, max, target, min, overlap, extension, switches] = header.map(usize::from);
    let max = SIZES[max % SIZES.len()];
    let share = |of: usize, byte: usize| of * (byte % 101) / 100;
    let target = max - share(max - 1, target);
    let mut settings = Settings {
        strategy: Some(Strategy::ALL[strategy % Strategy::ALL.len()]),
        unit: Some(Unit::ALL[unit % Unit::ALL.len()]),
        min: Some(share(target, min)),
        target: Some(target),
        max: Some(max),
        overlap: Some(share(max - 1, overlap)),
        ..Settings::default()
    };
    for (bit, switch) in Switch::ALL.into_iter().enumerate() {
        let on = switches >> bit & 1 != 0;
        settings.set(switch.name(), if on { "true" } else { "false" }).unwrap();
    }
    let spec = Spec::resolve(&settings).unwrap();
    let path = format!("doc.{}", EXTENSIONS[extension % EXTENSIONS.len()]);
    let document = Document::from_text(&path, String::from_utf8_lossy(text));
    check_document(&document);
    let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
    // Recounting takes quadratic time.
    check(&document, &spec, &chunks, text.len() <= 1024);
    chunks.iter().for_each(|chunk| check_cleaned(&document, chunk));
    assert_eq!(chunks, chunk(&document, &spec, sizer(&spec)).unwrap(), "the same again");
}
