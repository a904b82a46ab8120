//! The strategy `lines` and its preset: seed 5.

use chunkmill::chunk::Kind;

use super::kinds;
use crate::common::cut;

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
