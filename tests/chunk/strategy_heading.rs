//! Seed 4: every line of its validation criteria, and its listed tests.

use chunkmill::chunk::Preset;
use chunkmill::tokens::{TokenCounter, cl100k};

use crate::common::{Cut, cut};

fn tokens(text: &str) -> usize {
    cl100k().count(text).unwrap()
}

/// Returns one section of `count` tokens: three for the heading and its line end, and one per word.
fn section(count: usize) -> String {
    let text = format!("# H\n{}", " word".repeat(count - 3));
    assert_eq!(tokens(&text), count, "the test's own text");
    text
}

/// Returns the tokens at which a chunk's window starts and ends in its section.
fn window(cut: &Cut, index: usize) -> (usize, usize) {
    let chunk = &cut.chunks[index];
    let text = &cut.document.text;
    let start = chunk.repeats.overlap.as_ref().map_or(chunk.range.start, |overlap| overlap.start);
    (tokens(&text[..start]), tokens(&text[..chunk.range.end]))
}

#[test]
fn five_h2_sections_are_five_chunks() {
    let text: String = (0..5).map(|i| format!("## s{i}\n\ntext {i}\n\n")).collect();
    let cut = cut("heading-tokens", &text);
    assert_eq!(cut.ids(), ["doc.md#0", "doc.md#1", "doc.md#2", "doc.md#3", "doc.md#4"]);
    assert!(cut.chunks.iter().all(|chunk| chunk.sub_index.is_none()));
}

#[test]
fn every_level_starts_a_chunk_and_three_headings_are_three() {
    assert_eq!(cut("heading-tokens", "# a\nx\n## b\ny\n# c\nz\n").contents(), ["# a\nx", "## b\ny", "# c\nz"]);
    let six: String = (1..=6).map(|level| format!("{} h\n\n", "#".repeat(level))).collect();
    assert_eq!(cut("heading-tokens", &six).chunks.len(), 6);
}

#[test]
fn a_long_section_becomes_windows_of_exactly_max_that_overlap_by_exactly_overlap() {
    let cut = cut("heading-tokens", &section(2000));
    assert_eq!(cut.chunks.len(), 5, "512, then 462 more each");
    for index in 0..cut.chunks.len() {
        let (start, end) = window(&cut, index);
        if index + 1 < cut.chunks.len() {
            assert_eq!(end - start, 512);
            assert_eq!(end - window(&cut, index + 1).0, 50);
        }
        assert_eq!(tokens(&cut.contents()[index]), end - start);
        assert_eq!(cut.chunks[index].sub_index, Some(index));
        assert_eq!(cut.chunks[index].repeats.overlap.is_some(), index > 0);
    }
    assert_eq!(window(&cut, 4).1, 2000);
}

#[test]
fn the_last_tokens_of_a_window_are_the_first_of_the_next() {
    let prose = "The quick brown fox doesn't jump; it's 12,345.67 times lazier — naïve café 日本語 🚲.\n\n".repeat(200);
    for (max, overlap) in [(64, 10), (128, 50), (512, 50), (1024, 0)] {
        let cut = cut(&format!("heading-tokens max={max} overlap={overlap}"), &prose);
        let section = tokens(prose.trim_end());
        let mut first = 0;
        for (index, content) in cut.contents().iter().enumerate() {
            assert!(tokens(content) <= max);
            let (start, end) = window(&cut, index);
            assert!(start >= first && end <= section);
            if index > 0 {
                let before = window(&cut, index - 1);
                // A cut inside a character moves by at most the rest of the character's tokens.
                assert!((before.1 - start).abs_diff(overlap) <= 3, "window {index}: {before:?} then {start}");
            }
            first = start;
        }
    }
}

#[test]
fn the_heading_path_nests_and_resets() {
    let text = "# H1 Text\n\n## H2 Text\n\n### H3 Text\n\n## New H2\n\n# New H1\n\n### Deep\n";
    let paths: Vec<Vec<String>> =
        cut("heading-tokens", text).chunks.into_iter().map(|chunk| chunk.heading_path.to_vec()).collect();
    assert_eq!(paths[2], ["H1 Text", "H2 Text", "H3 Text"]);
    assert_eq!(paths[3], ["H1 Text", "New H2"]);
    assert_eq!(paths[4], ["New H1"]);
    assert_eq!(paths[5], ["New H1", "Deep"]);
}

#[test]
fn windows_inherit_the_heading_path() {
    let text = format!("# Top\n\n## Long\n{}", " word".repeat(700));
    let cut = cut("heading-tokens", &text);
    assert!(cut.chunks[1..].len() > 1);
    assert!(cut.chunks[1..].iter().all(|chunk| *chunk.heading_path == ["Top", "Long"]));
}

#[test]
fn text_before_the_first_heading_has_an_empty_path() {
    let cut = cut("heading-tokens", "preamble\n\n# a\n");
    assert_eq!(cut.contents()[0], "preamble");
    assert!(cut.chunks[0].heading_path.is_empty());
    assert_eq!(cut.chunks[0].index, 0);
}

#[test]
fn a_file_without_headings_or_under_the_limit_is_one_chunk() {
    assert_eq!(cut("heading-tokens", "just text\n\nmore text\n").chunks.len(), 1);
    assert_eq!(cut("heading-tokens", &section(100)).chunks.len(), 1);
    assert_eq!(cut("heading-tokens", &section(512)).chunks.len(), 1, "exactly the limit");
    assert_eq!(cut("heading-tokens", &section(513)).chunks.len(), 2, "one over");
}

#[test]
fn an_empty_file_is_one_empty_chunk() {
    for text in ["", "\n\n", "---\nx: t\n---\n", "\u{feff}"] {
        let cut = cut("heading-tokens", text);
        assert_eq!(cut.contents(), [""], "{text:?}");
        assert_eq!(cut.ids(), ["doc.md#0"]);
    }
}

#[test]
fn ids_are_path_and_index_and_unique() {
    let text = format!("{}\n\n# b\n\nx\n", section(1500));
    let cut = cut("heading-tokens", &text);
    let expected: Vec<String> = (0..cut.chunks.len()).map(|index| format!("doc.md#{index}")).collect();
    assert_eq!(cut.ids(), expected);
}

#[test]
fn known_token_counts() {
    assert_eq!(tokens("hello world"), 2);
    assert_eq!(tokens(""), 0);
    assert_eq!(tokens("don't"), 2);
    assert_eq!(tokens("<|endoftext|>"), 7, "special tokens are ordinary text");
}

#[test]
fn chunking_twice_gives_the_same() {
    let text = section(3000);
    assert_eq!(cut("heading-tokens", &text).chunks, cut("heading-tokens", &text).chunks);
}

#[test]
fn line_ranges_map_to_source_lines() {
    let text = "intro\n\n# a\n\none\ntwo\n\n# b\nthree\n";
    let cut = cut("heading-tokens", text);
    let lines: Vec<&str> = text.lines().collect();
    for (chunk, content) in cut.chunks.iter().zip(cut.contents()) {
        let (first, last) = cut.document.positions.lines_of(&chunk.range);
        assert_eq!(lines[first - 1..last].join("\n"), content);
    }
}

#[test]
fn a_cut_inside_a_character_moves_to_its_edge() {
    // Each of these characters is three tokens, so windows of four end inside one.
    let text = "\u{1f9ff}\u{1fa80}".repeat(40);
    let cut = cut("heading-tokens max=4 overlap=0", &text);
    let whole: String = cut.contents().concat();
    assert_eq!(whole, text);
    assert!(cut.chunks.len() >= 40);
}

#[test]
fn other_limits_work_as_well() {
    let text = section(3000);
    for max in [64, 128, 512, 1024] {
        let cut = cut(&format!("heading-tokens max={max}"), &text);
        assert!(cut.contents().iter().all(|content| tokens(content) <= max));
    }
    assert_eq!(Preset::HeadingTokens.spec().max(), 512);
    assert_eq!(Preset::HeadingTokens.spec().overlap(), 50);
}
