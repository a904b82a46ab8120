//! A chunk is filed under the first section in it that has text, whatever the strategy.

use chunkmill::chunk::{Kind, Preset, Spec};
use chunkmill::document::Document;
use proptest::prelude::*;

use crate::common::{Cut, cut, cut_as};
use crate::promises::check;

/// Returns a text of `count` words that no other text has.
fn words(name: &str, count: usize) -> String {
    (0..count).map(|i| format!("{name}{i} ")).collect::<String>().trim_end().to_owned()
}

/// Returns the chunk with a text of its own.
fn holding<'c>(cut: &'c Cut, text: &str) -> &'c chunkmill::chunk::Chunk {
    let found = cut.chunks.iter().find(|chunk| cut.document.text[chunk.range.clone()].contains(text));
    found.unwrap_or_else(|| panic!("{text} is in no chunk"))
}

/// Every preset that cuts, with limits at which short documents are cut, too.
fn specs() -> Vec<Spec> {
    let cutting = Preset::ALL.into_iter().filter(|preset| *preset != Preset::None).map(Preset::spec);
    let small = ["header max=300 min=60", "section max=400 target=200 min=60", "structure min=10 max=40"];
    let small = small.into_iter().chain(["docs max=90 target=50 min=20", "code max=90 target=50 min=20"]);
    let small =
        small.chain(["fixed max=60 target=50 min=20 overlap=8", "heading max=40 overlap=5", "lines min=1 max=9"]);
    let small = small.chain(["recursive max=40", "windows max=40", "docs respect_boundaries=false"]);
    cutting.chain(small.map(|spec| spec.parse().unwrap())).collect()
}

#[test]
fn a_title_without_text_does_not_hide_the_section_under_it() {
    let text = format!("# Guide\n\n## Install\n\n{}\n\n## Use\n\n{}\n", words("i", 90), words("u", 90));
    for spec in specs() {
        let cut = cut(&spec.to_string(), &text);
        let first = holding(&cut, "i0 ");
        if first.kind != Kind::Document && !spec.to_string().starts_with("lines") {
            assert_eq!(*first.heading_path, ["Guide", "Install"], "{spec}");
            assert_eq!(&*first.header_path, "Guide > Install", "{spec}");
        }
    }
}

#[test]
fn headings_with_nothing_to_read_under_them_do_not_count() {
    let long = words("w", 60);
    for nothing in
        ["", "<!-- todo -->\n\n", "<a name=\"full\"></a>\n\n", "<a id=\"x\"></a>\n<!--\n\nb -->\n\n", "---\n\n"]
    {
        for (head, path) in [
            ("# T\n\n## Empty\n\n### Deeper\n\n", vec!["Full"]),
            ("Title\n=====\n\nEmpty\n-----\n\n", vec!["Full"]),
            ("# 1. Part\n\n# 1. Part\n\n", vec!["Full"]),
            ("# <a name=\"t\"></a>\n\n", vec!["Full"]),
        ] {
            let text = format!("{head}{nothing}# Full\n\n{long}\n");
            for preset in ["structure", "ragdocs", "sections", "docs", "code", "fixed", "pdf", "recursive", "windows"] {
                let cut = cut(preset, &text);
                assert_eq!(*holding(&cut, "w0 ").heading_path, *path, "{preset}: {text}");
            }
        }
    }
}

#[test]
fn code_tables_images_and_quotes_are_text() {
    let long = words("w", 60);
    for something in
        ["```\nx\n```", "| a |\n|---|\n| b |", "![a picture](a.png)", "> quoted", "- item", "<img src=\"a.png\">"]
    {
        let text = format!("# First\n\n{something}\n\n# Second\n\n{long}\n");
        for preset in ["structure", "ragdocs", "docs", "fixed", "recursive", "windows"] {
            let cut = cut(preset, &text);
            assert_eq!(*cut.chunks[0].heading_path, ["First"], "{preset}: {text}");
        }
    }
}

#[test]
fn a_chunk_without_any_text_keeps_its_first_heading() {
    for preset in ["structure", "ragdocs", "sections", "docs", "code", "fixed", "pdf", "recursive", "windows"] {
        let cut = cut(preset, "# A\n\n## B\n\n## C\n");
        assert_eq!(*cut.chunks[0].heading_path, ["A"], "{preset}");
    }
}

#[test]
fn an_item_of_source_code_is_text_of_its_own() {
    let text = "/// Says it.\nmod a {\n    fn b() {\n        c();\n    }\n}\n";
    for preset in ["structure", "sections", "recursive"] {
        assert_eq!(*cut_as("a.rs", preset, text).chunks[0].heading_path, ["a"], "{preset}");
    }
}

#[test]
fn an_empty_section_stays_in_its_chapter() {
    let (before, after) = (words("w", 800), words("f", 700));
    for preset in ["docs", "code", "fixed", "pdf"] {
        for empty in ["## Empty", "## Empty\n\n### Deeper\n\n#### Deepest", "Empty\n-----"] {
            let text = format!("# T\n\n{before}\n\n{empty}\n\n# Other\n\n{after}\n");
            let cut = cut(preset, &text);
            assert_eq!(*holding(&cut, "f0 ").heading_path, ["Other"], "{preset}");
            let chapter = holding(&cut, "# Other");
            let source = &text[chapter.range.clone()];
            assert!(source.starts_with("# Other"), "{preset}: {source:.40}");
            assert_eq!(*holding(&cut, "Empty").heading_path, ["T"], "{preset}");
        }
        let text = format!("# T\n\n{before}\n\n## Empty\n\n## Full\n\n{after}\n");
        let cut = cut(preset, &text);
        assert_eq!(*holding(&cut, "f0 ").heading_path, ["T", "Full"], "{preset}");
    }
}

/// A section of a generated page.
#[derive(Debug, Clone)]
struct Generated {
    level: usize,
    title: &'static str,
    /// The text under its heading.
    body: String,
    /// Whether a reader sees that text.
    shown: bool,
}

fn sections() -> impl proptest::strategy::Strategy<Value = Vec<Generated>> {
    let size = prop::sample::select(vec![3_usize, 20, 60, 150, 400]);
    let code = prop::sample::select(vec![2_usize, 30, 90]);
    let body = prop_oneof![
        3 => Just((String::new(), false)),
        1 => Just(("<!-- nothing -->".to_owned(), false)),
        1 => Just(("<a id=\"anchor\"></a>".to_owned(), false)),
        1 => Just(("***".to_owned(), false)),
        4 => size.prop_map(|count| (words("word", count), true)),
        1 => code.prop_map(|lines| (format!("```\n{}```", "run it now\n".repeat(lines)), true)),
        1 => Just(("![picture](a.png)".to_owned(), true)),
        1 => Just(("| a |\n|---|\n| b |".to_owned(), true)),
    ];
    let title = prop::sample::select(vec!["Install", "Use", "1. Start", "Install it all"]);
    let section = (1..5_usize, title, body);
    let section = section.prop_map(|(level, title, (body, shown))| Generated { level, title, body, shown });
    prop::collection::vec(section, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_chunk_of_any_page_has_the_path_of_its_first_text(
        sections in sections(), front in any::<bool>(), spec in prop::sample::select(specs()),
    ) {
        let mut text = if front { "---\ntitle: x\n---\n".to_owned() } else { String::new() };
        let mut open: Vec<(usize, &str)> = Vec::new();
        // Where each section starts, where its shown text is, and its path.
        let mut expected = Vec::new();
        for Generated { level, title, body, shown } in &sections {
            open.retain(|(above, _)| above < level);
            open.push((*level, title));
            let path: Vec<String> = open.iter().map(|(_, title)| (*title).to_owned()).collect();
            let start = text.len();
            text += &format!("{} {title}\n\n", "#".repeat(*level));
            let body_start = text.len();
            text += body;
            expected.push((start, if *shown { body_start..text.len() } else { 0..0 }, path));
            text += if body.is_empty() { "" } else { "\n\n" };
        }
        let document = Document::from_text("page.md", text);
        let chunks = chunkmill::chunk::chunk(&document, &spec, crate::common::sizer(&spec)).unwrap();
        check(&document, &spec, &chunks, false);
        for chunk in chunks.iter().filter(|chunk| chunk.kind != Kind::Document) {
            let touches = |shown: &std::ops::Range<usize>| {
                shown.start < chunk.range.end && chunk.range.start < shown.end
            };
            let first = expected.iter().find(|(_, shown, _)| touches(shown));
            let first = first.or_else(|| expected.iter().rev().find(|(start, ..)| *start <= chunk.range.start));
            let (_, _, path) = first.unwrap();
            prop_assert_eq!(&chunk.heading_path[..], &path[..], "{} {:?}", spec, chunk.content(&document));
        }
    }
}
