//! What is true of every chunk, whatever the document, strategy, unit and limits.

use std::collections::HashSet;
use std::ops::Range;

use chunkmill::chunk::{Chunk, Preset, Spec, Strategy, Switch, chunk};
use chunkmill::document::{BlockKind, Document, is_blank};
use chunkmill::tokens::Unit;
use proptest::prelude::*;

use crate::common::sizer;

/// Checks every promise about the chunks of one document; `exact` also recounts positions and
/// sizes in the slowest and plainest way.
pub fn check(document: &Document, spec: &Spec, chunks: &[Chunk], exact: bool) {
    let text = &document.text;
    let sizer = sizer(spec);
    let ruler = sizer.measure(document).unwrap();
    let mut ids = HashSet::new();
    let mut covered = document.body.start;
    for (index, chunk) in chunks.iter().enumerate() {
        let at = format!("{} with `{spec}`, chunk {index}", document.source.path);
        let content = chunk.content(document);
        assert_eq!(chunk.index, index, "{at}");
        assert!(ids.insert(chunk.id.clone()), "{at}: id {} twice", chunk.id);

        // No text is lost, and none is in two chunks.
        assert!(chunk.range.start >= covered, "{at}: overlaps the chunk before");
        let lost = kept(document, spec, covered..chunk.range.start);
        assert!(is_blank(&lost), "{at}: lost {lost:?}");
        covered = chunk.range.end;

        // Content is prefix and source; a chunk of nothing exists only for an empty document.
        assert_eq!(&content[chunk.prefix.len()..], &text[chunk.range.clone()], "{at}");
        assert!(chunks.len() == 1 || !is_blank(&text[chunk.range.clone()]), "{at}: blank");
        if chunk.has_overlap {
            assert!(index > 0 && chunk.sub_index > Some(0), "{at}: overlap without a sibling before");
        }

        // The maximum holds, except for one atomic block, which says so.
        let size = match spec.unit() {
            // What is code is known of a range of the document, not of the text of a prefix. That of
            // a window is a range too; any other is prose to the packer.
            Unit::Estimate => {
                let after = ruler.size_after(&chunk.prefix, chunk.range.clone()).unwrap();
                let window = text[..chunk.range.start].ends_with(&chunk.prefix);
                let start = chunk.range.start - if window { chunk.prefix.len() } else { 0 };
                ruler.size(start..chunk.range.end).unwrap().min(after)
            }
            _ => sizer.size(&content).unwrap(),
        };
        if size > spec.max() {
            assert!(chunk.flags.iter().any(|flag| flag.starts_with("oversized_")), "{at}: over max: {content:?}");
            assert!(chunk.prefix.is_empty(), "{at}: an oversized chunk has a prefix");
        }
        if exact {
            let before = &text[..chunk.range.start];
            assert_eq!(document.positions.char_at(chunk.range.start), before.chars().count(), "{at}");
            let (first, last) = document.positions.lines_of(&chunk.range);
            assert_eq!(first, before.matches('\n').count() + 1, "{at}");
            let inner = text[chunk.range.clone()].strip_suffix('\n').unwrap_or(&text[chunk.range.clone()]);
            assert_eq!(last, first + inner.matches('\n').count(), "{at}");
        }
    }
    let lost = kept(document, spec, covered..document.body.end);
    assert!(is_blank(&lost), "{} with `{spec}`: lost the end: {lost:?}", document.source.path);
    check_sections(document, spec, chunks);
}

/// What a range holds that the spec does not declare dropped: with `lines` headings of level 2 and 3
/// with nothing under them, elsewhere code and tables that are switched off.
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
            at = here.range.end.min(next);
        }
        block = here.next;
    }
    kept.push_str(&document.text[at..range.end]);
    kept
}

/// Chunks count up inside their section, and sections inside the document.
fn check_sections(document: &Document, spec: &Spec, chunks: &[Chunk]) {
    let mut expected = (0, 0);
    for chunk in chunks {
        let at = format!("{} with `{spec}`, chunk {}", document.source.path, chunk.index);
        assert_eq!((chunk.section_index, chunk.sub_index.unwrap_or(0)), expected, "{at}");
        let last = expected.1 + 1 == chunk.n_in_section;
        expected = if last { (expected.0 + 1, 0) } else { (expected.0, expected.1 + 1) };
    }
    assert_eq!(expected.1, 0, "the last section is complete");
}

/// Markdown of all kinds, with what usually breaks chunkers mixed in.
fn markdown() -> impl Strategy_<Value = String> {
    let inline = prop_oneof![
        4 => "[a-z]{1,9}( [a-z]{1,9}){0,30}\\.",
        1 => "[a-zA-Z0-9 ,.!?#*_`\\[\\]()<>$~|\\\\-]{0,60}",
        1 => "[日本語中文한국어]{1,40}",
        1 => "(🚲|👩‍👩‍👧‍👦|e\u{301}|\u{200b}|\u{a0}|\t|x){1,12}",
        1 => "[0-9]{1,40}",
    ];
    let block = (inline.clone(), inline.clone(), inline.clone(), 0..18usize).prop_map(|(a, b, c, kind)| match kind {
        0 => format!("# {a}"),
        1 => format!("## {a}\n{b}"),
        2 => format!("### {a}\n\n{b}"),
        3 => format!("{a}\n==="),
        4 => format!("```\n{a}\n\n# {b}\n\n{c}\n```"),
        5 => format!("~~~~\n{a}\n```\n{b}"),
        6 => format!("- {a}\n- {b}\n\n  {c}\n  - {a}"),
        7 => format!("1. {a}\n\n   ```\n   {b}\n\n   {c}\n   ```\n2. {a}"),
        8 => format!("| {} | b |\n|---|---|\n| c | {} |", a.replace('|', ""), b.replace('|', "")),
        9 => format!("> {a}\n>\n> # {b}\n{c}"),
        10 => format!("<div>\n{a}\n\n{b}</div>"),
        11 => format!("[{a}]: http://example.org/{b}\n[x]: <y>"),
        12 => format!("text[^1]\n\n[^1]: {a}\n    {b}"),
        13 => format!("    {a}\n\n    {b}"),
        14 => format!("$$\n{a}\n$$"),
        15 => format!("---\n{a}: {b}\n---"),
        _ => format!("{a}\n{b}"),
    });
    let gap = prop_oneof![3 => Just("\n\n"), 2 => Just("\n"), 1 => Just("\r\n\r\n"), 1 => Just("\n \n\n"), 1 => Just("\r"), 1 => Just("\n\u{a0}\n"), 1 => Just("\n\n\u{3000}\n\u{2028}\n")];
    let start = prop_oneof![4 => Just(""), 1 => Just("\u{feff}"), 1 => Just("---\ntitle: t\ntags: [a, b]\n---\n"), 1 => Just("\n\n"), 1 => Just("\u{a0}\n")];
    (start, prop::collection::vec((block, gap), 0..14)).prop_map(|(start, blocks)| {
        let body: String = blocks.into_iter().map(|(block, gap)| block + gap).collect();
        format!("{start}{body}")
    })
}

fn specs() -> impl Strategy_<Value = Spec> {
    let strategy = prop::sample::select(Strategy::ALL.to_vec());
    let unit = prop::sample::select(Unit::ALL.to_vec());
    let percent = || 0..100usize;
    let switches = prop::collection::vec(any::<bool>(), Switch::ALL.len());
    (strategy, unit, 1..200usize, percent(), percent(), percent(), switches).prop_map(
        |(strategy, unit, max, target, min, overlap, switches)| {
            let target = max - target * max / 100;
            let (min, overlap) = (min * target / 100, (overlap * max / 100).min(max - 1));
            let switches = Switch::ALL.into_iter().zip(switches);
            let switches: String = switches.map(|(switch, on)| format!(" {}={on}", switch.name())).collect();
            format!("{strategy} unit={unit} min={min} target={target} max={max} overlap={overlap}{switches}")
                .parse()
                .unwrap()
        },
    )
}

use proptest::strategy::Strategy as Strategy_;

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_promise_holds_for_generated_markdown(text in markdown(), spec in specs()) {
        for path in ["doc.md", "doc.txt"] {
            let document = Document::from_text(path, text.clone());
            let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
            check(&document, &spec, &chunks, true);
            prop_assert_eq!(&chunks, &chunk(&document, &spec, sizer(&spec)).unwrap());
        }
    }

    #[test]
    fn every_promise_holds_for_arbitrary_text(text in ".{0,400}", spec in specs()) {
        let document = Document::from_text("doc.md", text);
        check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), true);
    }

    #[test]
    fn a_spec_survives_its_text_form(spec in specs()) {
        prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec.clone());
        prop_assert_eq!(Spec::resolve(&spec.settings()).unwrap(), spec);
    }
}

/// A preset with another unit, its numbers scaled to sizes that make several chunks of a page.
pub fn preset_in(preset: Preset, unit: Unit) -> Spec {
    let (min, target, max, overlap) = match unit {
        Unit::Chars => (200, 1200, 1500, 50),
        Unit::Tokens | Unit::Model | Unit::Words | Unit::Estimate => (50, 300, 400, 20),
        Unit::Lines => (5, 30, 40, 3),
    };
    format!("{preset} unit={unit} min={min} target={target} max={max} overlap={overlap}").parse().unwrap()
}
