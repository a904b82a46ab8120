//! Seed 1, sections 8.3 to 8.6: every rule on chunks, ids, metadata and configuration.

use chunkmill::chunk::{Chunk, Preset, Settings, Spec, Strategy};
use chunkmill::dataset::{ChunkRow, DocumentRow};
use chunkmill::tokens::Unit;

use crate::common::{Cut, cut};

/// Returns paragraphs of about `size` characters, each different.
fn paragraphs(count: usize, size: usize) -> String {
    let paragraph = |i: usize| format!("Paragraph {i} {}", "word ".repeat(size / 5));
    (0..count).map(|i| paragraph(i).trim_end().to_owned()).collect::<Vec<_>>().join("\n\n")
}

fn rows(cut: &Cut) -> Vec<ChunkRow> {
    let document = DocumentRow::new(&cut.document, cut.chunks.len());
    let row = |chunk: &Chunk| ChunkRow::new(&cut.document, chunk.clone(), &Spec::default(), &document, 0);
    cut.chunks.iter().map(row).collect()
}

// 8.3.1 the hierarchy

#[test]
fn each_header_of_level_1_to_6_starts_a_section() {
    let text: String = (1..=6).map(|level| format!("{} h{level}\n\ntext {level}\n\n", "#".repeat(level))).collect();
    let cut = cut("ragdocs min=1", &text);
    assert_eq!(
        cut.paths(),
        ["h1", "h1 > h2", "h1 > h2 > h3", "h1 > h2 > h3 > h4", "h1 > h2 > h3 > h4 > h5", "h1 > h2 > h3 > h4 > h5 > h6"]
    );
}

#[test]
fn the_header_path_joins_titles_with_an_angle_bracket() {
    let cut = cut("ragdocs min=1", "# Architecture\n\na\n\n## Components\n\nb\n");
    assert_eq!(cut.paths()[1], "Architecture > Components");
    assert_eq!(*cut.chunks[1].heading_path, ["Architecture", "Components"]);
}

#[test]
fn parent_headers_are_put_before_the_content() {
    let text = "# Guide\n\nintro\n\n## Install\n\nrun it\n\n### Linux\n\nuse apt\n";
    assert_eq!(cut("ragdocs min=1 parent_headers=false", text).contents()[2], "### Linux\n\nuse apt");
    let with = cut("ragdocs min=1", text);
    assert_eq!(with.contents()[2], "# Guide\n\n## Install\n\n### Linux\n\nuse apt");
    assert_eq!(with.chunks[2].prefix(&with.document), "# Guide\n\n## Install\n\n");
    assert!(with.chunks[2].repeats.overlap.is_none());
}

#[test]
fn pieces_of_a_split_section_carry_its_own_header_too() {
    let text = format!("# Guide\n\n## Install\n\n{}", paragraphs(6, 100));
    let cut = cut("ragdocs min=20 max=300 overlap=10 parent_headers=true", &text);
    let split: Vec<String> = cut.contents();
    assert_eq!(cut.paths()[1], "Guide > Install");
    assert!(split.len() > 2);
    assert!(split.iter().all(|content| content.starts_with("# Guide\n\n## Install\n\n")), "{split:#?}");
}

#[test]
fn a_document_without_headers_is_split_at_paragraphs() {
    let cut = cut("ragdocs", &paragraphs(40, 150));
    assert!(cut.chunks.len() > 3);
    for content in cut.contents() {
        let own = content.rsplit_once("\n\nParagraph").map_or(content.as_str(), |(_, last)| last);
        assert!(own.ends_with("word"), "ends in mid-paragraph: {content:?}");
    }
    assert!(cut.paths().iter().all(|path| path.is_empty()));
}

#[test]
fn a_single_paragraph_is_a_single_chunk_whatever_its_length() {
    assert_eq!(cut("ragdocs", "Just this.").contents(), ["Just this."]);
    let long = cut("ragdocs", &"word ".repeat(1000));
    assert_eq!(long.chunks.len(), 1);
    assert_eq!(long.chunks[0].flags, ["oversized_paragraph"]);
}

// 8.3.2 merging

#[test]
fn small_sections_are_merged_forward_until_the_minimum() {
    let body = "x".repeat(60);
    let text: String = (0..7).map(|i| format!("## s{i}\n\n{body}\n\n")).collect();
    let cut = cut("ragdocs min=200 max=1500", &text);
    // Three sections of 67 characters and two gaps of 2 make 205. The last section joins the one before.
    assert_eq!(cut.chunks.iter().map(|chunk| chunk.sections(&cut.document)).collect::<Vec<_>>(), [3, 4]);
    assert!(cut.contents()[0].starts_with("## s0") && cut.contents()[0].contains("## s2"));
    assert!(cut.contents()[1].ends_with(&format!("## s6\n\n{body}")));
}

#[test]
fn a_small_last_section_joins_the_one_before_where_both_fit() {
    let crumb = "# B\n\nsmall b";
    for (before, joined) in [(paragraphs(1, 250), true), (paragraphs(6, 300), true), (paragraphs(1, 1475), false)] {
        let cut = cut("ragdocs", &format!("# A\n\n{before}\n\n{crumb}\n"));
        let last = cut.contents().pop().unwrap();
        assert!(last.ends_with(crumb) && last.chars().count() <= 1500);
        assert_eq!(last == crumb, !joined, "{last:?}");
    }
}

#[test]
fn a_section_at_the_minimum_is_not_merged() {
    let section = |name: &str, size: usize| format!("## {name}\n\n{}", "x".repeat(size - 6));
    let text = format!("{}\n\n{}\n", section("a", 200), section("b", 200));
    assert_eq!(cut("ragdocs min=200", &text).chunks.len(), 2);
    let text = format!("{}\n\n{}\n", section("a", 199), section("b", 200));
    assert_eq!(cut("ragdocs min=200", &text).chunks.len(), 1);
}

#[test]
fn a_merged_chunk_has_the_path_of_its_first_section_with_text() {
    let cut = cut("ragdocs min=200", "# Top\n\n## A\n\nshort\n\n## B\n\nshort too\n");
    assert_eq!(cut.paths(), ["Top > A"]);
    assert!(cut.contents()[0].contains("## A") && cut.contents()[0].contains("## B"));
}

// 8.3.2 splitting

#[test]
fn a_large_section_is_split_at_blank_lines_below_the_maximum() {
    let cut = cut("ragdocs min=200 max=1000 overlap=0", &format!("# Big\n\n{}", paragraphs(12, 300)));
    assert!(cut.chunks.len() >= 4);
    for (chunk, content) in cut.chunks.iter().zip(cut.contents()) {
        assert!(content.chars().count() <= 1000);
        let before = &cut.document.text[..chunk.range.start];
        assert!(before.is_empty() || before.ends_with("\n\n"), "cut inside a paragraph");
    }
}

#[test]
fn headings_keep_to_the_text_under_them_though_that_fits_only_without_them() {
    let text = format!("# Title\n\n## A\n{}", "word ".repeat(36));
    let cut = cut("ragdocs max=190 min=100 overlap=0", &text);
    assert_eq!(cut.contents(), [text.trim_end()]);
    assert_eq!(cut.chunks[0].flags, ["oversized_with_headings"], "the paragraph is within the maximum");
    for preset in ["ragdocs", "docs unit=chars max=1500 target=900 min=10", "sections max=1500"] {
        let fits = self::cut(preset, &format!("# A\n\n{}", "x".repeat(1495)));
        assert!(fits.chunks[0].flags.is_empty(), "{preset}: exactly the maximum");
        let over = self::cut(preset, &format!("# A\n\n{}", "x".repeat(1498)));
        assert_eq!(over.chunks[0].flags, ["oversized_with_headings"], "{preset}");
        let large = self::cut(preset, &format!("# A\n\n{}", "x".repeat(1501)));
        assert!(large.chunks[0].flags.iter().all(|flag| !flag.ends_with("headings")), "{preset}");
    }
}

#[test]
fn pieces_are_numbered_below_their_chunk() {
    let text = format!("# One\n\n{}\n\n# Two\n\n{}", paragraphs(4, 300), "y".repeat(250));
    let cut = cut("ragdocs max=700", &text);
    assert_eq!(cut.ids(), ["doc.md_chunk_0_sub_0", "doc.md_chunk_0_sub_1", "doc.md_chunk_1"]);
    assert_eq!(cut.chunks.iter().map(|chunk| chunk.index).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(cut.chunks[1].sub_index.is_some() && cut.chunks[2].sub_index.is_none());
}

#[test]
fn a_paragraph_is_never_cut() {
    let long = "word ".repeat(500);
    let cut = cut("ragdocs max=700", &format!("# a\n\nbefore\n\n{long}\n\nafter\n"));
    let whole = cut.chunks.iter().find(|chunk| &cut.document.text[chunk.range.clone()] == long.trim_end());
    assert_eq!(whole.unwrap().flags, ["oversized_paragraph"]);
}

#[test]
fn code_tables_and_list_items_are_never_cut() {
    let code = format!("```\n{}\n```", "line of code\n\n".repeat(60));
    let table = format!("| a |\n|---|\n{}", "| cell |\n".repeat(120));
    let item = format!("- {}", "word ".repeat(200));
    let text = format!("# a\n\n{code}\n\n{table}\n\n{item}\n- small\n");
    let cut = cut("ragdocs max=500 min=1", &text);
    let flags: Vec<_> = cut.chunks.iter().flat_map(|chunk| chunk.flags.clone()).collect();
    assert_eq!(flags, ["oversized_code_block", "oversized_table", "oversized_list_item"]);
}

#[test]
fn a_long_list_is_split_between_its_items() {
    let items: String = (0..60).map(|i| format!("- item number {i} of a long list\n")).collect();
    let cut = cut("ragdocs max=400 min=1 overlap=0 parent_headers=false", &format!("# List\n\n{items}"));
    assert!(cut.chunks.len() > 4 && cut.chunks.iter().all(|chunk| chunk.flags.is_empty()));
    assert!(cut.contents().iter().skip(1).all(|content| content.starts_with("- item")));
}

// 8.3.2 overlap

#[test]
fn siblings_overlap_by_the_last_characters_of_the_one_before() {
    let cut =
        cut("ragdocs min=200 max=1000 overlap=50 parent_headers=false", &format!("# Big\n\n{}", paragraphs(12, 150)));
    let contents = cut.contents();
    assert!(contents.len() > 1);
    for pair in contents.windows(2) {
        let tail: String = pair[0].chars().skip(pair[0].chars().count() - 50).collect();
        assert!(pair[1].starts_with(&format!("{tail}\n\n")), "{:?} after {:?}", pair[1], pair[0]);
        assert!(pair[1].chars().count() <= 1000);
    }
    assert!(
        cut.chunks[1..]
            .iter()
            .all(|chunk| chunk.repeats.overlap.is_some() && chunk.prefix(&cut.document).chars().count() == 52)
    );
}

#[test]
fn pieces_near_the_maximum_and_over_it_overlap_too() {
    for size in [1380, 1440, 1451, 1490, 1499, 1600, 5000] {
        for parent_headers in [true, false] {
            let second = "x".repeat(size);
            let text = format!("# A\n\n{}\n\n{second}\n", paragraphs(1, 1390));
            let cut = cut(&format!("ragdocs parent_headers={parent_headers}"), &text);
            let [first, last] = &cut.contents()[..] else { panic!("{size}: two pieces") };
            let tail: String = first.chars().skip(first.chars().count() - 50).collect();
            let prefix = last.strip_suffix(&second).unwrap();
            assert!(prefix.ends_with(&format!("{tail}\n\n")), "{size}: {prefix:?}");
            assert!(cut.chunks[1].repeats.overlap.is_some());
            let expected: &[&str] = match size {
                ..1448 => &[],
                1448..=1500 => &["oversized_with_overlap"],
                _ => &["oversized_paragraph"],
            };
            assert_eq!(cut.chunks[1].flags, expected, "{size}");
        }
    }
}

#[test]
fn sections_do_not_overlap() {
    let text: String = (0..4).map(|i| format!("# s{i}\n\n{}\n\n", "x".repeat(400))).collect();
    let cut = cut("ragdocs overlap=50", &text);
    assert_eq!(cut.chunks.len(), 4);
    assert!(cut.chunks.iter().all(|chunk| chunk.repeats.overlap.is_none() && chunk.prefix(&cut.document).is_empty()));
}

#[test]
fn pieces_of_different_sections_do_not_overlap() {
    let text = format!("# One\n\n{}\n\n# Two\n\n{}", paragraphs(6, 300), paragraphs(6, 300));
    let cut = cut("ragdocs max=800", &text);
    let first_of_two = cut.chunks.iter().find(|chunk| chunk.section_index == 1).unwrap();
    assert_eq!(first_of_two.sub_index, Some(0));
    assert!(first_of_two.repeats.overlap.is_none());
}

#[test]
fn no_overlap_means_none() {
    let cut = cut("ragdocs max=700 overlap=0 parent_headers=false", &format!("# Big\n\n{}", paragraphs(12, 150)));
    assert!(cut.chunks.iter().all(|chunk| chunk.prefix(&cut.document).is_empty()));
}

// 8.4 the data model

#[test]
fn a_row_has_every_field_of_the_data_model() {
    let text = "---\ntitle: Guide\ntags: [install, linux]\naliases: [Setup]\nowner: docs\n---\n# Guide\n\nSee [[Home]] and [more](more.md). #howto\n";
    let cut = cut("ragdocs", text);
    let row = &rows(&cut)[0];
    assert_eq!(row.chunk_id, "doc.md_chunk_0");
    assert_eq!(&*row.doc_id, "doc.md");
    assert_eq!(row.content, "# Guide\n\nSee [[Home]] and [more](more.md). #howto");
    assert_eq!(row.chunk_index, 0);
    assert_eq!(&*row.header_path, "Guide");
    assert_eq!(usize::try_from(row.start_byte).unwrap(), text.find("# Guide").unwrap());
    assert_eq!(usize::try_from(row.end_byte).unwrap(), text.trim_end().len());
    assert_eq!(row.start_char, row.start_byte, "all ASCII");
    assert_eq!(&*row.path, "doc.md");
    assert_eq!(*row.tags, ["install", "linux", "howto"]);
    assert_eq!(*row.aliases, ["Setup"]);
    assert_eq!(&*row.metadata, r#"{"owner":"docs"}"#);
    let links: Vec<_> = row.links.iter().map(|link| (link.kind, link.target.as_str())).collect();
    assert_eq!(links, [("wikilink", "Home"), ("link", "more.md")]);
}

#[test]
fn a_chunk_has_the_links_that_start_in_it() {
    let text = format!("# a\n\n[[One]] {}\n\n# b\n\n[[Two]] {}\n", "x".repeat(300), "y".repeat(300));
    let targets: Vec<Vec<String>> =
        rows(&cut("ragdocs", &text)).into_iter().map(|row| row.links.into_iter().map(|l| l.target).collect()).collect();
    assert_eq!(targets, [["One"], ["Two"]]);
}

#[test]
fn positions_are_characters_of_the_original_document() {
    let text = "# Ünï\n\nçödé\n\n# 日本\n\n語\n";
    let cut = cut("ragdocs min=1", text);
    for row in rows(&cut) {
        let slice: String =
            text.chars().skip(row.start_char as usize).take((row.end_char - row.start_char) as usize).collect();
        assert_eq!(slice, row.content);
    }
}

// 8.6 configuration

#[test]
fn the_defaults_are_those_of_the_configuration_that_runs() {
    let spec = Preset::Ragdocs.spec();
    assert_eq!((spec.strategy(), spec.unit()), (Strategy::Header, Unit::Chars));
    assert_eq!((spec.min(), spec.max(), spec.overlap()), (200, 1500, 50));
    assert_eq!(Spec::resolve(&toml_settings("preset = \"ragdocs\"")).unwrap(), spec, "without other configuration");
}

#[test]
fn chunking_can_be_disabled() {
    let settings: Settings = toml_settings("strategy = \"none\"");
    assert_eq!(Spec::resolve(&settings).unwrap().strategy(), Strategy::None);
}

#[test]
fn every_parameter_can_be_set() {
    let settings = toml_settings("strategy = \"header\"\nmin = 300\nmax = 2000\noverlap = 80\nparent_headers = true");
    let spec = Spec::resolve(&settings).unwrap();
    assert_eq!(
        (spec.min(), spec.max(), spec.overlap(), spec.is_on(chunkmill::chunk::Switch::ParentHeaders)),
        (300, 2000, 80, true)
    );
}

fn toml_settings(text: &str) -> Settings {
    chunkmill::config::Options::parse(&format!("[chunking]\n{text}"), "test").unwrap().chunking
}

#[test]
fn merging_splitting_and_overlap_are_deterministic() {
    let text = format!("# a\n\nshort\n\n# b\n\n{}\n\n# c\n\nend\n", paragraphs(9, 300));
    assert_eq!(cut("ragdocs", &text).chunks, cut("ragdocs", &text).chunks);
}
