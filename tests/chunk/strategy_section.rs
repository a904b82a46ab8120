//! The strategy `section` and its preset, seed 2: the tests of the seed itself, and its other formats.

use chunkmill::chunk::Boundary;

use super::kinds;
use crate::common::{cut, cut_as};

fn paragraphs(count: usize) -> String {
    (0..count).map(|i| format!("Paragraph {i} has its own distinct content here.\n\n")).collect()
}

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
        ("a.py", "def a():\n    \"\"\"Says it.\"\"\"\n    b()\n", ["def a():", "    \"\"\"Says it.\"\"\"", "    b()"]),
        (
            "a.ts",
            "import x;\n\n/** Says it. */\nfunction a() {}\n",
            ["import x;", "/** Says it. */", "function a() {}"],
        ),
        ("a.go", "package p\n\n// A says it.\nfunc A() {}\n", ["package p", "// A says it.", "func A() {}"]),
        ("A.java", "import x;\n\n/** Says it. */\nclass A {}\n", ["import x;", "/** Says it. */", "class A {}"]),
        ("a.c", "#include <x>\n\n/* Says it. */\nint a(void);\n", ["#include <x>", "/* Says it. */", "int a(void);"]),
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
