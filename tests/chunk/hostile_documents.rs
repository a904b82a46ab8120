//! Chunking: documents that break other chunkers, and bounded costs.

use chunkmill::chunk::{Preset, Spec, Strategy, chunk};
use chunkmill::document::Document;
use chunkmill::tokens::Unit;

use crate::chunk::properties::preset_in;
use crate::common::{cut, sizer};
use crate::promises::check;

fn every_preset_and_unit() -> impl Iterator<Item = Spec> {
    let pairs = Preset::ALL.into_iter().flat_map(|preset| Unit::ALL.map(|unit| (preset, unit)));
    pairs.map(|(preset, unit)| preset_in(preset, unit))
}

#[test]
fn hostile_documents_keep_every_promise() {
    let deep_quote = "> ".repeat(10_000) + "x\n";
    let deep_list: String = (0..400).map(|depth| format!("{}- item {depth}\n", "  ".repeat(depth))).collect();
    let texts = [
        String::new(),
        " \n\t\n".to_owned(),
        "# only a heading".to_owned(),
        "#".to_owned(),
        "\u{feff}# heading after a byte order mark\r\n\r\ntext\r\n".to_owned(),
        "a\0b\0\0c".to_owned(),
        "[".repeat(60_000),
        "`".repeat(60_000),
        "a".repeat(90_000),
        " ".repeat(90_000) + "x",
        "0123456789".repeat(9_000),
        "日本語".repeat(15_000),
        "👩‍👩‍👧‍👦".repeat(4_000),
        "e\u{301}".repeat(15_000),
        "\r".repeat(1000) + "# a\rb\r# c\r",
        "| a ".repeat(2000) + "|\n" + &"|---".repeat(2000) + "|\n| x |\n",
        deep_quote,
        deep_list,
        "```\nnever closed\n\n# not a heading\n".to_owned(),
        "x\n\n".repeat(6_000),
        "# h\n".repeat(6_000),
    ];
    for text in &texts {
        let document = Document::from_text("doc.md", text.clone());
        for spec in every_preset_and_unit() {
            check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), false);
        }
    }
}

#[test]
fn a_block_that_is_blank_to_unicode_alone_may_stand_behind_the_end_of_a_section() {
    let document = Document::from_text("doc.md", "- a.\n\n  a.\n  - a.\n\n    bcbcjf a.\n\n    \u{a0}\n\n");
    for spec in ["header unit=chars min=0 max=1 overlap=0", "structure unit=chars min=0 max=1 overlap=0"] {
        let spec: Spec = spec.parse().unwrap();
        check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), true);
    }
}

#[test]
fn no_piece_goes_on_from_one_that_is_blank() {
    let document = Document::from_text("doc.md", "    👩\u{200d}👩\u{200d}👧\u{200d}👦\n\n    a.\n\n");
    let spec: Spec = "section unit=tokens min=0 target=4 max=6 overlap=1 cut_oversized=true".parse().unwrap();
    check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), true);
}

#[test]
fn a_hundred_megabyte_line_and_deep_nesting_finish() {
    let line = Document::from_text("doc.md", "a".repeat(100 << 20));
    let spec: Spec = "heading-tokens".parse().unwrap();
    let chunks = chunk(&line, &spec, sizer(&spec)).unwrap();
    assert!(chunks.len() > 10_000);
    let nested = Document::from_text("doc.md", "> ".repeat(100_000) + "x\n" + &"[".repeat(1 << 20));
    let spec: Spec = "ragdocs".parse().unwrap();
    check(&nested, &spec, &chunk(&nested, &spec, sizer(&spec)).unwrap(), false);
}

#[test]
fn front_matter_is_dropped_unless_it_has_no_keys() {
    let good = cut("none", "---\ntitle: A\n---\n\ntext\n");
    assert_eq!(good.contents(), ["text"]);
    let bad = cut("none", "---\ntitle: [\n---\n\ntext\n");
    assert_eq!((bad.contents(), bad.document.flags), (vec!["text".to_owned()], vec!["malformed_front_matter"]));
    let none = cut("none", "---\nno key\n---\n\ntext\n");
    assert_eq!(none.contents(), ["---\nno key\n---\n\ntext"]);
    assert_eq!(none.document.flags, ["malformed_front_matter"]);
}

#[test]
fn link_reference_definitions_are_not_lost() {
    for spec in ["ragdocs min=1 max=20 overlap=0", "heading-tokens", "none"] {
        let cut = cut(spec, "# a\n\ntext [x]\n\n[x]: http://example.org/one\n[y]: http://example.org/two\n");
        let all = cut.contents().concat();
        assert!(all.contains("[y]: http://example.org/two"), "{spec}");
    }
}

#[test]
fn definitions_after_leading_blank_lines_are_not_lost() {
    let text = "\n\n[a]: http://example.org/x\n[b]: <y>\n\n# a\n";
    assert_eq!(cut("ragdocs min=0 max=1 overlap=0", text).contents(), ["[a]: http://example.org/x\n[b]: <y>", "# a"]);
}

#[test]
fn lines_that_are_blank_only_to_unicode_lose_nothing() {
    for blank in ["\u{a0}", "\u{3000}", "\u{2028}", "\u{2003} "] {
        let long = "word ".repeat(500);
        let one = cut("ragdocs", &format!("{blank}\n{long}"));
        assert_eq!(one.contents(), [long.trim_end()], "{blank:?}");
        let text = format!("# a\n\nx\n\n{blank}\nsetext\n===\n\n{long}\n\n{blank}\n- {long}\n");
        for spec in ["ragdocs", "ragdocs min=0 max=30 overlap=5", "heading-tokens"] {
            let cut = cut(spec, &text);
            check(&cut.document, &spec.parse().unwrap(), &cut.chunks, true);
        }
    }
}

#[test]
fn a_heading_stays_with_the_block_that_follows_it() {
    let filler = "x".repeat(180);
    let text = format!("# a\n\n## b\n\n{filler}\n\n## c\n\n{filler}\n");
    let cut = cut("ragdocs min=250 max=260 overlap=0", &text);
    assert!(cut.document.text[cut.chunks[1].range.clone()].starts_with("## c\n\nx"));
}

#[test]
fn chains_of_quotes_cost_no_more_than_their_text() {
    let text = ">".repeat(200_000) + "x\n";
    let cut = cut("header unit=tokens min=0 max=64 overlap=0", &text);
    assert_eq!(cut.chunks.len(), 1);
    assert_eq!(cut.chunks[0].flags, ["oversized_quote"]);
}

#[test]
fn what_every_chunk_repeats_is_bounded() {
    let tags: String = (0..5000).map(|i| format!("#tag{i}\n\n# h\n")).collect();
    let cut = cut("heading-tokens", &tags);
    assert_eq!(cut.document.tags.len(), 200);
    assert_eq!(cut.document.flags, ["many_tags"]);
    let title = crate::common::cut("heading-tokens", &format!("# {}\n\n## b\n", "t".repeat(100_000)));
    assert_eq!(title.chunks.last().unwrap().heading_path[0].len(), 300);
    assert!(title.contents().concat().contains(&"t".repeat(50)));
}

#[test]
fn a_whole_document_is_one_chunk() {
    let cut = cut("none", "# a\n\nb\n\n## c\n\nd\n");
    assert_eq!(cut.contents(), ["# a\n\nb\n\n## c\n\nd"]);
    assert_eq!(cut.ids(), ["doc.md_chunk_0"]);
    assert_eq!(cut.chunks[0].kind.name(), "document");
}

#[test]
fn a_heading_of_nothing_but_a_hard_space_loses_nothing() {
    let document = Document::from_text("doc.md", "\u{a0}\n---\na.: a.\n---\n\n");
    for strategy in Strategy::ALL {
        for unit in Unit::ALL {
            for limits in
                ["min=0 max=1 overlap=0", "min=1 max=3 overlap=0", "min=2 max=9 overlap=2", "min=0 max=99 overlap=1"]
            {
                let spec: Spec = format!("{strategy} unit={unit} {limits}").parse().unwrap();
                check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), true);
            }
        }
    }
}
