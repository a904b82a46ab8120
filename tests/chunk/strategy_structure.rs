//! The strategy `structure` and the rules of the packer that came with it.

use chunkmill::chunk::{Chunk, Spec, chunk};
use chunkmill::document::{BlockKind, Document};
use chunkmill::tokens::{TokenCounter, cl100k};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

fn cut(text: &str, spec: &str) -> (Document, Vec<Chunk>) {
    let document = Document::from_text("a.md", text);
    let spec: Spec = spec.parse().unwrap();
    let chunks = chunk(&document, &spec, spec.sizer(None).unwrap()).unwrap();
    (document, chunks)
}

fn contents(text: &str, spec: &str) -> Vec<String> {
    let (document, chunks) = cut(text, spec);
    chunks.iter().map(|chunk| chunk.content(&document)).collect()
}

/// Returns a paragraph of this many words, one token each.
fn prose(words: usize) -> String {
    format!("{}.", vec!["word"; words].join(" "))
}

#[test]
fn sections_are_kept_apart_unless_one_is_under_the_minimum() {
    let [long, short] = [prose(40), prose(5)];
    let text = format!("# A\n\n{long}\n\n## B\n\n{long}\n\n## C\n\n{short}\n\n## D\n\n{long}");
    let chunks = contents(&text, "structure min=20 max=100");
    assert_eq!(chunks.len(), 3);
    assert!(chunks[0].starts_with("# A") && chunks[1].starts_with("## B"));
    assert_eq!(chunks.iter().filter(|chunk| chunk.contains("## C")).count(), 1);
    assert!(!chunks.iter().any(|chunk| chunk.starts_with("## C") && !chunk.contains("## D")), "C is too small alone");
}

#[test]
fn what_is_too_small_is_merged_inside_its_parent_first() {
    let [long, short] = [prose(40), prose(5)];
    // The small section is between a sibling before it and another parent after it.
    let text = format!("# A\n\n{long}\n\n## B\n\n{long}\n\n## C\n\n{short}\n\n# D\n\n{long}");
    let chunks = contents(&text, "structure min=20 max=100");
    assert!(chunks.iter().any(|chunk| chunk.starts_with("## B") && chunk.contains("## C")), "{chunks:?}");
    // The rest of a section joins that section, not the next one.
    let text = format!("# A\n\n{long}\n\n{short}\n\n# B\n\n{long}");
    assert_eq!(contents(&text, "structure min=20 max=60").len(), 2);
}

#[test]
fn a_heading_stays_with_its_text() {
    let text = format!("# A\n\n## B\n\n### C\n\n{}\n\n## D\n\n{}", prose(55), prose(30));
    let chunks = contents(&text, "structure min=10 max=60");
    assert!(chunks[0].starts_with("# A\n\n## B\n\n### C\n\nword"), "{chunks:?}");
    assert!(chunks.iter().all(|chunk| !chunk.lines().last().unwrap().starts_with('#')), "{chunks:?}");
}

#[test]
fn the_pieces_of_a_long_section_are_alike() {
    let text = format!("# A\n\n{}", vec![prose(18); 9].join("\n\n"));
    let (document, chunks) = cut(&text, "structure min=10 max=100");
    let sizes: Vec<usize> = chunks.iter().map(|c| cl100k().count(&c.content(&document)).unwrap()).collect();
    assert_eq!(sizes.len(), 2);
    assert!(sizes[0].abs_diff(sizes[1]) < 25, "{sizes:?}");
    assert!(chunks.iter().all(|chunk| chunk.n_in_section == 2 && chunk.sub_index.is_some()));
}

#[test]
fn what_a_colon_announces_stays_with_it() {
    let text = format!("{}\n\n{}\n\nAnd now a list:\n\n- {}\n- {}", prose(20), prose(20), prose(8), prose(8));
    let chunks = contents(&text, "structure min=10 max=60");
    assert!(chunks[1].starts_with("And now a list:\n\n- word"), "{chunks:?}");
}

#[test]
fn pieces_of_a_table_repeat_its_header() {
    let rows: String = (0..30).map(|row| format!("| cell {row} | other |\n")).collect();
    let head = "| a | b |\n|---|---|\n";
    for spec in ["structure min=10 max=80", "section unit=tokens min=0 target=80 max=80 overlap=0 cut_oversized=true"] {
        let (document, chunks) = cut(&format!("{head}{rows}"), spec);
        assert!(chunks.len() > 2, "{spec}");
        let mut seen = String::new();
        for (index, chunk) in chunks.iter().enumerate() {
            let content = chunk.content(&document);
            assert!(content.starts_with(head) && cl100k().count(&content).unwrap() <= 80, "{spec}: {content}");
            assert_eq!(chunk.prefix(&document), if index == 0 { "" } else { head });
            assert!(chunk.repeats.overlap.is_none() && chunk.flags.is_empty());
            seen.push_str(&document.text[chunk.range.clone()]);
            seen.push('\n');
            let parsed = Document::from_text("piece.md", content);
            assert_eq!(parsed.blocks[0].kind, BlockKind::Table, "each piece is a table");
        }
        assert_eq!(seen, document.text);
    }
}

#[test]
fn pieces_of_a_fence_are_fences() {
    let lines: String = (0..40).map(|line| format!("    let x{line} = {line};\n")).collect();
    let text = format!("Text.\n\n~~~~rust\nfn main() {{\n{lines}}}\n~~~~\n\nMore.");
    let (document, chunks) = cut(&text, "structure min=10 max=80");
    let code: Vec<&Chunk> = chunks.iter().filter(|chunk| chunk.content(&document).contains("let x")).collect();
    assert!(code.len() > 3);
    for (index, chunk) in code.iter().enumerate() {
        let content = chunk.content(&document);
        assert!(cl100k().count(&content).unwrap() <= 80);
        let fence = content.split_once("~~~~rust\n").unwrap().1;
        assert!(fence.contains("\n~~~~"), "{content}");
        assert_eq!(chunk.prefix(&document), if index == 0 { "" } else { "~~~~rust\n" });
        assert_eq!(chunk.suffix(&document), if index + 1 == code.len() { "" } else { "\n~~~~" });
    }
}

#[test]
fn a_fence_is_closed_once_when_its_last_piece_joins_the_one_before() {
    let line = "fja a a aab a jrjrlp kpaq jv a a aabtq yf rikbbf bfez a akef a baei a bae a a.";
    let text = format!("```\na.\n\n# a.\n\n{line}\n```\n\n# a.\n\n");
    let (document, chunks) = cut(&text, "section unit=tokens min=2 target=12 max=14 overlap=0 cut_oversized=true");
    assert!(chunks.len() > 4);
    for chunk in &chunks[..chunks.len() - 1] {
        let content = chunk.content(&document);
        assert!(cl100k().count(&content).unwrap() <= 14, "{content}");
        assert_eq!(content.matches("```").count(), 2, "{content}");
    }
}

#[test]
fn what_repeats_too_much_repeats_nothing() {
    let wide: String = (0..60).map(|column| format!("| column {column} ")).collect();
    let text = format!("{wide}|\n{}|\n{}", "|---".repeat(60), format!("{wide}|\n").repeat(4));
    let (document, chunks) = cut(&text, "structure min=10 max=120");
    assert!(
        chunks.len() > 4 && chunks.iter().all(|chunk| chunk.prefix(&document).is_empty() && chunk.flags.is_empty())
    );
}

#[test]
fn overlap_is_whole_sentences_and_at_most_half_a_chunk() {
    let sentences: Vec<String> = (0..24).map(|n| format!("Sentence number {n} is here.")).collect();
    let text = sentences.join(" ");
    for overlap in [0, 8, 15, 59] {
        let (document, chunks) = cut(&text, &format!("structure min=10 max=60 overlap={overlap}"));
        for (index, chunk) in chunks.iter().enumerate() {
            assert!(cl100k().count(&chunk.content(&document)).unwrap() <= 60);
            assert_eq!(chunk.repeats.overlap.is_some(), overlap > 7 && index > 0);
            assert_eq!(chunk.repeats.overlap.is_some(), !chunk.prefix(&document).is_empty());
            assert!(cl100k().count(chunk.prefix(&document).trim_end()).unwrap() <= overlap.min(30));
            let prefix = chunk.prefix(&document);
            let whole = prefix.trim_end();
            assert!(whole.is_empty() || whole.starts_with("Sentence") && whole.ends_with('.'), "{whole}");
            assert!(document.text[..chunk.range.start].ends_with(&chunk.prefix(&document)));
        }
    }
}

#[test]
fn overlap_does_not_reach_into_code() {
    let text = format!("# A\n\n{}\n\n```\ncode();\n```\n\n{}", prose(30), prose(30));
    let (document, chunks) = cut(&text, "structure min=10 max=50 overlap=20");
    assert!(chunks.iter().all(|chunk| !chunk.prefix(&document).contains("code")));
}

#[test]
fn a_small_chunk_costs_more_than_a_cut_elsewhere() {
    let text = format!("# A\n\n{}", [45, 3, 45, 3].map(prose).join("\n\n"));
    let (document, chunks) = cut(&text, "structure min=20 max=60");
    let sizes: Vec<usize> = chunks.iter().map(|c| cl100k().count(&c.content(&document)).unwrap()).collect();
    assert!(sizes.iter().all(|&size| size >= 20), "{sizes:?}");
}

#[test]
fn thousands_of_headings_lines_and_levels_take_no_time() {
    for text in [
        "# a\n".repeat(50_000),
        "- a\n".repeat(50_000),
        format!("```\n{}```", "x\n".repeat(100_000)),
        format!("| a |\n|---|\n{}", "| b |\n".repeat(50_000)),
        ">".repeat(10_000) + "a",
        "a".repeat(200_000),
        "a b. ".repeat(50_000),
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿".repeat(5_000),
        format!("a{}", "\u{301}".repeat(50_000)),
    ] {
        let (document, chunks) = cut(&text, "structure");
        let largest = chunks.iter().map(|chunk| cl100k().count(&chunk.content(&document)).unwrap()).max().unwrap();
        assert!(largest <= 256, "{largest} tokens of {}", &text[..8]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A chunk crosses a heading only if one of the sections in it is too small on its own.
    #[test]
    fn headings_are_crossed_only_by_the_merge_rule(
        sections in prop::collection::vec((1..5usize, prop::collection::vec(1..60usize, 1..4)), 1..12),
    ) {
        let section = |(level, paragraphs): &(usize, Vec<usize>)| {
            let text: Vec<String> = paragraphs.iter().map(|&words| prose(words)).collect();
            format!("{} Title\n\n{}", "#".repeat(*level), text.join("\n\n"))
        };
        let text = sections.iter().map(section).collect::<Vec<_>>().join("\n\n");
        let (document, chunks) = cut(&text, "structure min=30 max=100");
        for chunk in chunks {
            let content = chunk.content(&document);
            prop_assert!(cl100k().count(&content).unwrap() <= 100);
            let parts: Vec<&str> = content.split("\n\n#").collect();
            let small = |part: &&str| cl100k().count(part).unwrap() < 30;
            prop_assert!(parts.len() == 1 || parts.iter().any(small), "{content}");
        }
    }

    /// Forced cuts are between what readers see as characters.
    #[test]
    fn a_grapheme_is_never_cut(text in "(👩‍👩‍👧‍👦|e\u{301}|🇩🇪|👍🏽|क्षि|a|각){20,80}", max in 30..60usize) {
        let (document, chunks) = cut(&text, &format!("structure min=0 max={max}"));
        let bounds: Vec<usize> = document.text.grapheme_indices(true).map(|(at, _)| at).collect();
        for chunk in chunks {
            prop_assert!(bounds.binary_search(&chunk.range.start).is_ok(), "{:?}", chunk.content(&document));
        }
    }
}

#[test]
fn no_cut_is_inside_a_link_where_one_between_links_is_near() {
    for separator in [" ", ", ", " and "] {
        let link = |page: usize| match page % 3 {
            0 => format!("[the long label of page {page}](https://example.org/p/{page})"),
            1 => format!("[![an image of page {page}](i{page}.png \"a title\")](https://example.org/p/{page} 'of it')"),
            _ => format!("![what page {page} looks like](<a path to {page}.png>)"),
        };
        let text = format!("# Links\n\n{}\n", (0..90).map(link).collect::<Vec<_>>().join(separator));
        for spec in [
            "structure",
            "structure min=10 max=64",
            "structure unit=chars min=50 max=400",
            "docs cut_oversized=true max=120 target=100 min=20",
        ] {
            let (document, chunks) = cut(&text, spec);
            assert!(chunks.len() > 2, "{spec}");
            for chunk in &chunks[1..] {
                let at = chunk.range.start;
                let inside = document.links.iter().find(|link| link.range.start < at && at < link.range.end);
                assert_eq!(inside, None, "{spec} {separator:?}");
            }
        }
    }
    // A link over the maximum is cut all the same.
    let long = format!("[{}](a.md)", "word ".repeat(100).trim_end());
    assert!(cut(&long, "structure min=5 max=20").1.len() > 4);
}
