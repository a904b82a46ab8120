//! The strategies `semantic`, `code_aware` and `fixed` with their presets: seed 3.

use chunkmill::chunk::Boundary;

use super::kinds;
use crate::common::cut;

#[test]
fn a_section_that_fits_is_one_chunk_with_all_below_it() {
    let cut = cut("docs", "# A\n\nIntro.\n\n## B\n\nText.\n\n### C\n\nMore.\n\n## D\n\nEnd.\n");
    assert_eq!(cut.chunks.len(), 1);
    assert_eq!(cut.ids(), ["doc.md_chunk_0"]);
}

#[test]
fn a_section_that_does_not_gives_its_own_text_and_its_subsections() {
    let long = |word: &str| format!("{word} ").repeat(600);
    let text = format!("# A\n\nIntro.\n\n## B\n\n{}\n\n## C\n\n{}\n", long("b"), long("c"));
    let cut = cut("docs", &text);
    assert_eq!(cut.paths(), ["A", "A > C"], "the short introduction goes with the first subsection");
    assert!(cut.contents()[0].starts_with("# A\n\nIntro.\n\n## B"));
}

#[test]
fn siblings_merge_up_to_the_target_and_cousins_never() {
    let section = |name: &str, words: usize| format!("## {name}\n\n{}\n\n", "w ".repeat(words));
    // 200 words are 260 tokens: two are within the target of 600, three are not.
    let sections: String = ["a", "b", "c", "d", "e"].map(|name| section(name, 200)).concat();
    let cut = cut("docs", &format!("# T\n\n{}\n\n{sections}# U\n\nother\n", "w ".repeat(390)));
    let starts: Vec<String> = cut.contents().iter().map(|content| content[..4].to_owned()).collect();
    assert_eq!(starts, ["# T\n", "## a", "## c", "## e", "# U\n"]);
}

#[test]
fn paragraphs_are_never_cut() {
    let text = format!("# A\n\n{}\n\nShort.\n\n```\n{}\n```\n", "word ".repeat(900), "x = 1;\n".repeat(700));
    let cut = cut("docs", &text);
    let flags: Vec<_> = cut.chunks.iter().flat_map(|chunk| chunk.flags.clone()).collect();
    assert_eq!(flags, ["oversized_paragraph", "oversized_code_block"]);
    assert!(cut.chunks.iter().all(|chunk| chunk.flags.is_empty() || chunk.prefix(&cut.document).is_empty()));
}

#[test]
fn pieces_of_one_section_overlap() {
    let text = format!("# A\n\n{}", "some words of a paragraph that is not long\n\n".repeat(200));
    let cut = cut("docs", &text);
    assert!(cut.chunks.len() > 2);
    assert!(cut.chunks[1..].iter().all(|chunk| chunk.repeats.overlap.is_some()));
}

#[test]
fn without_boundaries_sections_count_for_nothing() {
    let text: String = (0..40).map(|i| format!("# S{i}\n\n{}\n\n", "w ".repeat(40))).collect();
    let cut = cut("docs respect_boundaries=false target=100 max=150 min=10 overlap=10", &text);
    assert!(cut.chunks[1..].iter().all(|chunk| chunk.repeats.overlap.is_some()), "overlap also between sections");
}

#[test]
fn footnotes_are_chunks_of_their_own() {
    let text = "# A\n\nText[^1] and[^long name].\n\n[^1]: The first.\n\n[^long name]: The second.\n\nAfter.\n";
    for preset in ["docs", "code", "fixed", "pdf"] {
        let cut = cut(preset, text);
        assert_eq!(kinds(&cut), ["text", "footnote", "footnote", "text"], "{preset}");
        assert_eq!(cut.ids()[1..3], ["doc.md_footnote_1", "doc.md_footnote_long name"]);
        assert_eq!(cut.contents()[1], "[^1]: The first.");
    }
}

#[test]
fn a_heading_with_nothing_under_it_is_no_chunk_of_its_own() {
    let long = "w ".repeat(700);
    let text = format!("# A\n\n## B\n\n{long}\n\n## Empty\n\n## C\n\n{long}\n");
    let cut = cut("docs", &text);
    let starts: Vec<&str> =
        cut.chunks.iter().map(|c| cut.document.text[c.range.clone()].lines().next().unwrap()).collect();
    assert_eq!(starts, ["# A", "## Empty"], "each goes with what follows");
}

#[test]
fn code_and_tables_can_be_left_out() {
    let text = "# A\n\nBefore.\n\n```\ncode\n```\n\nBetween.\n\n| a |\n|---|\n| b |\n\nAfter.\n";
    let all = |spec: &str| cut(spec, text).contents().concat();
    assert!(all("docs").contains("code") && all("docs").contains("| b |"));
    let without = all("docs include_code=false");
    assert!(!without.contains("code") && without.contains("Before.") && without.contains("| b |"));
    let without = all("docs include_tables=false");
    assert!(!without.contains("| b |") && without.contains("After.") && without.contains("code"));
}

#[test]
fn code_aware_keeps_code_and_prose_apart() {
    let text = "# A\n\nBefore.\n\n```rust\nfn a() {}\n```\n\n```rust\nfn b() {}\n```\n\nBetween.\n\n- item\n\n  ```\n  in a list\n  ```\n\n## B\n\n```\nx\n```\n";
    let cut = cut("code", text);
    assert_eq!(kinds(&cut), ["text", "code", "text", "code"]);
    assert_eq!(cut.contents()[1], "```rust\nfn a() {}\n```\n\n```rust\nfn b() {}\n```");
    assert!(cut.contents()[2].contains("in a list"), "code inside a list stays with its item");
    assert_eq!(cut.contents()[3], "## B\n\n```\nx\n```", "a heading alone goes with what follows");
    assert_eq!(cut.chunks[1].boundary, Boundary::Code);
}

#[test]
fn fixed_windows_have_the_target_size_and_the_overlap() {
    let text = "word ".repeat(2000);
    let cut = cut("fixed", &text);
    // 385 words are 500 tokens, 76 words are 98, and 461 words are 599.
    let words: Vec<usize> = cut.contents().iter().map(|content| content.split_whitespace().count()).collect();
    assert!(words[..words.len() - 1].iter().all(|&count| count == 385), "{words:?}");
    assert!(*words.last().unwrap() <= 462);
    assert!(cut.chunks[1..].iter().all(|chunk| chunk.prefix(&cut.document).split_whitespace().count() == 77));
}

#[test]
fn a_window_starts_on_the_line_of_its_first_text() {
    let numbered = |mark: &str, count: usize| (0..count).map(|i| format!("{mark}{i} ")).collect::<String>();
    for overlap in [0, 50, 100] {
        let text = format!("# A\n\n{}\n\n\n{}\n", numbered("w", 383).trim_end(), numbered("x", 400));
        let cut = cut(&format!("fixed overlap={overlap}"), &text);
        let second = &cut.chunks[1];
        assert!(text[second.range.clone()].starts_with("x0 "), "{overlap}: {:?}", second.range);
        assert_eq!(cut.document.positions.lines_of(&second.range).0, 6, "{overlap}");
        assert_eq!(second.repeats.overlap.is_some(), overlap > 0);
        assert!(cut.contents()[1].contains("\n\n\nx0") == (overlap > 0), "the content is the same");
    }
}

#[test]
fn code_within_the_maximum_is_not_called_oversized_for_its_heading() {
    let heading = format!("## {}", "word ".repeat(40).trim_end());
    // 2,300 characters of code are 575 tokens; the heading has 53.
    let code = format!("```\n{}```", "let x = some_call();\n".repeat(109));
    let cut = cut("fixed", &format!("{heading}\n\n{code}\n"));
    let flags: Vec<_> = cut.chunks.iter().flat_map(|chunk| chunk.flags.clone()).collect();
    assert_eq!(flags, ["oversized_with_headings"]);
}

#[test]
fn fixed_windows_hold_code_and_tables_whole() {
    let code = format!("```\n{}```", "let x = some_call(1);\n".repeat(20));
    let table = format!("| a | b |\n|---|---|\n{}", "| cell | cell |\n".repeat(40));
    let text = format!("{}\n\n{code}\n\n{}\n\n{table}\nend\n", "word ".repeat(360), "word ".repeat(300));
    for unit in ["estimate", "tokens", "chars max=1500 target=900 min=10", "words"] {
        let cut = cut(&format!("fixed unit={unit}"), &text);
        let holding =
            |part: &str| cut.chunks.iter().filter(|c| cut.document.text[c.range.clone()].contains(part)).count();
        assert_eq!((holding(&code), holding(table.trim_end())), (1, 1), "{unit}");
        assert!(cut.chunks.len() >= 3 && cut.chunks.iter().all(|chunk| chunk.flags.is_empty()), "{unit}");
    }
    let large = format!("before\n\n```\n{}```\n\nafter {}", "let x = some_call(1);\n".repeat(200), "w ".repeat(500));
    let cut = cut("fixed", &large);
    assert!(cut.chunks.iter().any(|chunk| chunk.flags == ["oversized_code_block"]));
    assert!(
        cut.chunks.iter().all(|chunk| chunk.prefix(&cut.document).chars().count() < 600),
        "a block does not become overlap"
    );
}

#[test]
fn overlap_from_code_is_counted_as_code() {
    let text = format!("```\n{0}\n{0}\n```\n\nafter one.\n\n{1}", "x".repeat(6000), "some words here\n\n".repeat(300));
    let cut = cut("docs", &text);
    for chunk in &cut.chunks {
        assert!(chunk.prefix(&cut.document).chars().count() <= 60 * 4 + 2, "{}", chunk.prefix(&cut.document).len());
    }
}

#[test]
fn a_heading_and_its_code_are_code() {
    let text = format!("## A\n\nfirst\n\n## B\n\n```\n{}```\n", "let x = 1;\n".repeat(400));
    let cut = cut("code", &text);
    assert_eq!(kinds(&cut), ["text", "code"]);
    assert!(cut.contents()[1].starts_with("## B\n\n```"));
}

#[test]
fn ids_of_footnotes_are_unique_whatever_their_labels() {
    let long = "word ".repeat(1200);
    let text = format!(
        "x[^1] y[^1_1] z[^1_sub_0]\n\n[^1]: {long}\n\n    {long}\n\n[^1]: second\n\n[^1_1]: third\n\n[^1_sub_0]: fourth\n"
    );
    let cut = cut("docs", &text);
    let unique: std::collections::HashSet<&str> = cut.ids().into_iter().collect();
    assert_eq!(unique.len(), cut.chunks.len(), "{:?}", cut.ids());
    assert!(unique.contains("doc.md_footnote_1_sub_0") && unique.contains("doc.md_footnote_1_sub_1"));
}

#[test]
fn fixed_windows_respect_sections_unless_told_otherwise() {
    let text: String = (0..4).map(|i| format!("# S{i}\n\n{}\n\n", "w ".repeat(300))).collect();
    assert_eq!(cut("fixed", &text).chunks.len(), 4);
    let cut = cut("fixed respect_boundaries=false", &text);
    assert!(cut.chunks.iter().any(|chunk| chunk.prefix(&cut.document).contains('w')));
}
