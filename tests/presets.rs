//! Seeds 2, 3 and 5 and the baselines: what each preset does with a document.

use chunkmill::chunk::{Boundary, Kind};

use crate::common::{Cut, cut, note, shared};

fn kinds(cut: &Cut) -> Vec<&'static str> {
    cut.chunks.iter().map(|chunk| chunk.kind.name()).collect()
}

fn paragraphs(count: usize) -> String {
    (0..count).map(|i| format!("Paragraph {i} has its own distinct content here.\n\n")).collect()
}

/// The tests of seed 2 itself.
mod sections {
    use super::*;

    #[test]
    fn large_sections_are_split_below_the_maximum_and_at_sentences() {
        let cut = cut("sections", &format!("# Title\n\n{}", "Paragraph. ".repeat(500)));
        assert!(cut.chunks.len() > 1);
        for content in cut.contents() {
            assert!(content.chars().count() <= 3000);
            assert!(content.ends_with('.'), "ends in mid-sentence: {content:?}");
        }
        assert!(cut.chunks[1..].iter().all(|chunk| chunk.boundary == Boundary::Sentence));
    }

    #[test]
    fn tiny_sections_merge_when_their_level_allows() {
        let cut = cut("sections", "# Title\n## A\nSmall.\n## B\nAlso small.\n## C\nMore content here.");
        assert_eq!(cut.contents(), ["# Title\n## A\nSmall.\n## B\nAlso small.\n## C\nMore content here."]);
        assert_eq!(cut.paths(), ["Title > A"], "a title alone takes the next section, though that is deeper");
        assert_eq!(cut.ids(), ["doc.md_chunk_0"]);
    }

    #[test]
    fn a_small_last_section_joins_the_one_before() {
        let long = "Some words. ".repeat(40);
        for last in ["## B\n\nSmall.", "## B\n\nSmall.\n\n## C\n\nTiny.", "## B"] {
            let text = format!("# A\n\n{long}\n\n{last}\n");
            assert_eq!(cut("sections", &text).contents(), [text.trim_end()]);
        }
        let full = "Some words. ".repeat(249);
        let text = format!("# A\n\n{full}\n\n## B\n\nSmall.\n");
        assert_eq!(cut("sections", &text).contents()[1], "## B\n\nSmall.", "not beyond the maximum");
    }

    #[test]
    fn a_small_section_never_takes_a_deeper_one() {
        let text = "## A\nSmall.\n### B\nAlso small.\n## C\nLast.";
        assert_eq!(cut("sections", text).contents(), ["## A\nSmall.", "### B\nAlso small.\n## C\nLast."]);
    }

    #[test]
    fn a_section_is_whole_up_to_the_maximum_and_packed_to_the_target_above_it() {
        let whole = cut("sections", &format!("# T\n\n{}", paragraphs(60)));
        assert_eq!(whole.chunks.len(), 1, "2,900 characters are within 3,000");
        let split = cut("sections", &format!("# T\n\n{}", paragraphs(80)));
        let sizes: Vec<usize> = split.contents().iter().map(|content| content.chars().count()).collect();
        assert!(sizes.iter().all(|&size| size <= 1500 + 202), "{sizes:?}");
        assert!(split.chunks.iter().all(|chunk| chunk.n_in_section == split.chunks.len()));
        assert!(split.chunks.iter().enumerate().all(|(at, chunk)| chunk.sub_index == Some(at)));
    }

    #[test]
    fn adjacent_chunks_of_a_section_overlap_by_200_characters() {
        let cut = cut("sections", &format!("# T\n\n{}", paragraphs(80)));
        let contents = cut.contents();
        for (at, pair) in contents.windows(2).enumerate() {
            let end: String = pair[0].chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
            assert!(pair[1].starts_with(&format!("{end}\n\n")), "chunk {}", at + 1);
            assert!(cut.chunks[at + 1].repeats.overlap.is_some() && cut.chunks[0].repeats.overlap.is_none());
        }
    }

    #[test]
    fn a_small_last_piece_joins_the_one_before() {
        let text = format!("{}\n\n{}\n\nEnd.", "a".repeat(1498), "b".repeat(1498));
        let ends: Vec<bool> = cut("sections max=2000", &text).contents().iter().map(|c| c.ends_with("End.")).collect();
        assert_eq!(ends, [false, true]);
    }

    #[test]
    fn sentences_are_not_cut_at_line_ends_nor_inside_links() {
        let sentence =
            "A sentence that goes on over the end of\na line and has [a link. With two. Sentences](x.md) in it. ";
        let cut = cut("section max=300 target=150 min=10 overlap=0", &sentence.repeat(20));
        assert!(cut.chunks.len() >= 10);
        for content in cut.contents() {
            assert!(content.starts_with("A sentence") && content.ends_with("in it."), "{content:?}");
        }
    }

    #[test]
    fn a_sentence_over_the_maximum_is_kept_and_flagged() {
        let text = format!("Short. {} end. Short again.", "word ".repeat(100));
        let cut = cut("section max=200 target=150 min=10 overlap=20", &text);
        assert_eq!(cut.chunks.iter().filter(|chunk| chunk.flags == ["oversized_sentence"]).count(), 1);
    }
}

/// The other formats of seed 2.
mod formats {
    use super::*;
    use crate::common::cut_as;

    #[test]
    fn plain_text_is_packed_by_paragraphs_and_then_by_sentences() {
        let text = format!("{}\n\n{}", "Short one.\n\n".repeat(3), "Dr. Who met 3.5 people. ".repeat(200));
        let cut = cut_as("notes.txt", "sections", &text);
        assert!(cut.chunks.len() >= 3);
        for content in cut.contents() {
            assert!(content.chars().count() <= 3000 && content.ends_with('.'), "{content:?}");
        }
    }

    #[test]
    fn yaml_and_json_are_cut_at_their_top_level_keys() {
        let values = "  x: some value here\n".repeat(20);
        let yaml = format!("# about this\nname: demo\n\n# where\nservers:\n{values}\nlast:\n{values}");
        let cut = cut_as("conf.yaml", "sections", &yaml);
        assert_eq!(cut.paths(), ["name", "last"], "a small key takes the next one");
        assert!(cut.contents()[0].contains("# about this\nname: demo\n\n# where\nservers:"), "comments stay");
        let json = format!("{{\"a\": \"{0}\", \"b\": [1, 2], \"c\": \"{0}\"}}", "v".repeat(400));
        let cut = cut_as("conf.json", "sections", &json);
        assert_eq!(cut.paths(), ["a", "b"]);
        assert!(cut.contents()[1].starts_with("\"b\": [1, 2]"));
        let named: Vec<&str> =
            cut.document.headings_in(&cut.chunks[1].range).map(|section| section.title.as_str()).collect();
        assert_eq!(named, ["b", "c"], "each key of a chunk is in its row");
    }

    #[test]
    fn documentation_comments_and_code_are_chunks_of_their_own() {
        for (path, text, expected) in [
            (
                "a.rs",
                "use x;\n\n/// Says it.\nfn a() {\n    b();\n}\n",
                ["use x;", "/// Says it.", "fn a() {\n    b();\n}"],
            ),
            (
                "a.py",
                "def a():\n    \"\"\"Says it.\"\"\"\n    b()\n",
                ["def a():", "    \"\"\"Says it.\"\"\"", "    b()"],
            ),
            (
                "a.ts",
                "import x;\n\n/** Says it. */\nfunction a() {}\n",
                ["import x;", "/** Says it. */", "function a() {}"],
            ),
            ("a.go", "package p\n\n// A says it.\nfunc A() {}\n", ["package p", "// A says it.", "func A() {}"]),
            ("A.java", "import x;\n\n/** Says it. */\nclass A {}\n", ["import x;", "/** Says it. */", "class A {}"]),
            (
                "a.c",
                "#include <x>\n\n/* Says it. */\nint a(void);\n",
                ["#include <x>", "/* Says it. */", "int a(void);"],
            ),
            ("a.cpp", "#include <x>\n\n/// Says it.\nvoid a() {}\n", ["#include <x>", "/// Says it.", "void a() {}"]),
            ("a.js", "import x\n\n/** Says it. */\nconst a = 1\n", ["import x", "/** Says it. */", "const a = 1"]),
        ] {
            for preset in ["sections min=1", "code"] {
                let cut = cut_as(path, preset, text);
                assert_eq!(cut.contents(), expected, "{path} with {preset}");
                assert_eq!(kinds(&cut), ["code", "text", "code"], "{path} with {preset}");
            }
        }
    }
}

/// Seed 3.
mod semantic {
    use super::*;

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
        let large =
            format!("before\n\n```\n{}```\n\nafter {}", "let x = some_call(1);\n".repeat(200), "w ".repeat(500));
        let cut = cut("fixed", &large);
        assert!(cut.chunks.iter().any(|chunk| chunk.flags == ["oversized_code_block"]));
        assert!(
            cut.chunks.iter().all(|chunk| chunk.prefix(&cut.document).chars().count() < 600),
            "a block does not become overlap"
        );
    }

    #[test]
    fn overlap_from_code_is_counted_as_code() {
        let text =
            format!("```\n{0}\n{0}\n```\n\nafter one.\n\n{1}", "x".repeat(6000), "some words here\n\n".repeat(300));
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
}

/// Seed 5.
mod lines {
    use super::*;

    const RULES: &str = "line-threshold min=10 max=20";

    fn long(lines: usize) -> String {
        (0..lines).map(|i| format!("line {i}\n\n")).collect()
    }

    #[test]
    fn a_document_up_to_the_threshold_is_one_chunk() {
        let short = cut("line-threshold", &"line\n".repeat(500));
        assert_eq!(short.chunks[0].kind, Kind::Document);
        assert_eq!(short.chunks.len(), 1);
        let long = cut("line-threshold", &format!("intro\n\n## A\n\n{}", "line\n".repeat(500)));
        assert_eq!(kinds(&long), ["text", "text"]);
    }

    #[test]
    fn the_lines_of_the_whole_file_count() {
        let text = format!("---\n{}---\n## A\n\n{}\n## B\n\nb\n", "key: value\n".repeat(3), long(3));
        assert_eq!(cut("line-threshold min=15 max=20", &text).paths(), ["## A", "## B"]);
    }

    #[test]
    fn longer_ones_are_cut_at_headings_2_and_3_with_the_path_as_written() {
        let text = "# T\n\nintro\n\n## A\n\na\n\n#### deep\n\nd\n\n### B\n\nb\n\n## C\n\nc\n";
        let cut = cut(RULES, text);
        assert_eq!(cut.paths(), ["", "## A", "## A > ### B", "## C"]);
        assert!(cut.contents()[1].contains("#### deep"));
        assert_eq!(*cut.chunks[2].heading_path, ["T", "A", "B"]);
    }

    #[test]
    fn a_document_without_such_headings_is_one_chunk_up_to_the_limit() {
        assert_eq!(cut(RULES, &format!("# T\n\n{}", "line\n".repeat(15))).chunks.len(), 1);
        assert!(cut(RULES, &long(30)).chunks.len() > 1);
    }

    #[test]
    fn sections_over_the_limit_are_split_between_paragraphs_and_code_is_not_cut() {
        let text = format!("## A\n\n{}```\n{}```\n\n{}", long(8), "code\n\n".repeat(15), long(8));
        let cut = cut(RULES, &text);
        assert!(cut.chunks.iter().any(|chunk| chunk.flags == ["oversized_code_block"]));
        assert!(cut.chunks.iter().all(|chunk| &*chunk.header_path == "## A"));
    }

    #[test]
    fn empty_sections_are_skipped() {
        let text = "## Empty\n\n## A\n\n### B\n\ntext\n\nmore\n\n## Also empty\n\n# T\n\nunder it\n\n### Last\n";
        let cut = cut(RULES, text);
        assert_eq!(cut.paths(), ["## A > ### B", "## Also empty"], "a heading of level 1 is text of its section");
        assert!(cut.contents()[1].contains("under it"));
    }

    #[test]
    fn ids_are_guids_that_follow_from_document_and_position() {
        let text = format!("## A\n\n{}\n## B\n\n{}", long(8), long(8));
        let (first, second) = (cut(RULES, &text), cut(RULES, &text));
        assert_eq!(first.ids(), second.ids());
        let unique: std::collections::HashSet<&str> = first.ids().into_iter().collect();
        assert_eq!(unique.len(), first.chunks.len());
        for id in first.ids() {
            let groups: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(groups, [8, 4, 4, 4, 12]);
            assert!(id.chars().all(|c| c == '-' || c.is_ascii_hexdigit()) && id.as_bytes()[14] == b'8', "{id}");
        }
    }
}

/// Compares with the chunks that Chroma's chunkers make of three of its corpora, as published with its evaluation.
#[test]
fn baselines_cut_chromas_corpora_into_as_many_chunks_as_chromas_own() {
    let Some(root) = shared("chroma") else { return };
    let expected: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("expected_omega.json")).unwrap()).unwrap();
    let corpora: Vec<String> = ["chatlogs", "state_of_the_union", "wikitexts"]
        .iter()
        .map(|name| std::fs::read_to_string(root.join(format!("corpora/{name}.md"))).unwrap())
        .collect();
    for (strategy, theirs) in [("chroma_recursive", "recursive"), ("windows", "token")] {
        for (max, overlap) in [(200, 0), (400, 0), (400, 200), (800, 400)] {
            let spec = format!("{strategy} unit=tokens max={max} overlap={overlap}");
            let chunks: usize = corpora.iter().map(|text| cut(&spec, text).chunks.len()).sum();
            note(&format!("{spec}: {chunks}"));
            let key = format!("{theirs} {max}/{overlap}");
            assert_eq!(chunks as u64, expected[&key][2].as_u64().unwrap(), "{spec}");
        }
    }
}

#[test]
fn recursive_cuts_at_the_coarsest_separator_that_serves() {
    let text = "one two\n\nthree four five. six seven eight\nnine";
    let cuts = |strategy: &str| cut(&format!("{strategy} unit=chars max=20 overlap=0"), text);
    let (chroma, langchain) = (cuts("chroma_recursive"), cuts("recursive"));
    assert_eq!(chroma.contents(), ["one two", "three four five", ". six seven eight", "nine"]);
    assert_eq!(chroma.chunks[2].boundary, Boundary::Separator("."));
    assert_eq!(langchain.contents(), ["one two", "three four five.", "six seven eight", "nine"]);
    assert_eq!(langchain.chunks[2].boundary, Boundary::Separator(" "));
}

#[test]
fn recursive_repeats_whole_pieces() {
    let cut = cut("recursive unit=chars max=14 overlap=8", "aaa bbb ccc ddd eee fff");
    assert_eq!(cut.contents(), ["aaa bbb ccc", "bbb ccc ddd", "ccc ddd eee", "ddd eee fff"]);
}
