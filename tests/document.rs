//! Parsing: front matter, blocks, sections, tags, links and positions.

use chunkmill::document::{BlockKind, Document, LinkKind};
use proptest::prelude::*;

fn parse(text: &str) -> Document {
    Document::from_text("doc.md", text)
}

fn kinds(document: &Document) -> Vec<&'static str> {
    document.blocks.iter().map(|block| block.kind.name()).collect()
}

fn titles(document: &Document) -> Vec<&str> {
    document.sections.iter().map(|section| section.title.as_str()).collect()
}

#[test]
fn yaml_front_matter_gives_title_tags_aliases_and_the_rest() {
    let document = parse(
        "---\ntitle: My Page\ntags: [one, '#two']\naliases: Other, Name\ndate: 2024-05-01\nnested: {a: [1, 2.5, true, null]}\n---\n# H\n",
    );
    assert_eq!(document.title.as_deref(), Some("My Page"));
    assert_eq!(document.tags, ["one", "two"]);
    assert_eq!(document.aliases, ["Other", "Name"]);
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"date":"2024-05-01","nested":{"a":[1,2.5,true,null]}}"#);
    assert!(document.flags.is_empty());
}

#[test]
fn toml_front_matter_gives_the_same() {
    let document =
        parse("+++\ntitle = \"My Page\"\ntags = [\"one\"]\ndate = 2024-05-01\n[extra]\nweight = 3\n+++\ntext\n");
    assert_eq!(document.title.as_deref(), Some("My Page"));
    assert_eq!(document.tags, ["one"]);
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"date":"2024-05-01","extra":{"weight":3}}"#);
    assert_eq!(&document.text[document.body.clone()], "text\n");
}

#[test]
fn front_matter_is_recognised_with_crlf_and_a_byte_order_mark() {
    let document = parse("\u{feff}---\r\ntitle: T\r\n---\r\n# H\r\n");
    assert_eq!(document.title.as_deref(), Some("T"));
    assert_eq!(titles(&document), ["H"]);
    assert_eq!(document.sections[0].range.start, "\u{feff}---\r\ntitle: T\r\n---\r\n".len());
}

#[test]
fn front_matter_is_nowhere_but_at_the_start() {
    for text in ["text\n\n---\nfoo: bar\n---\n", "---\n\nfoo: bar\n---\n", "---\nfoo: bar\n", "----\nfoo: bar\n----\n"]
    {
        let document = parse(text);
        assert_eq!(document.body, 0..text.len(), "{text:?}");
        assert!(document.metadata.is_empty() && document.flags.is_empty(), "{text:?}");
    }
}

#[test]
fn malformed_front_matter_is_a_flag_and_stays_as_text() {
    for text in ["---\na: [1\n---\nx\n", "---\njust words\n---\nx\n", "---\n- a\n- b\n---\nx\n", "+++\na = \n+++\nx\n"]
    {
        let document = parse(text);
        assert_eq!(document.flags, ["malformed_front_matter"], "{text:?}");
        assert_eq!(document.blocks[0].kind, BlockKind::FrontMatter);
        assert_eq!(document.body, 0..text.len());
        assert!(document.sections.iter().all(|section| section.level == 0), "no heading is read from it");
    }
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
    }
    let document = parse(&(bomb + "---\ntext\n"));
    assert_eq!(document.flags, ["malformed_front_matter"]);
}

#[test]
fn empty_front_matter_is_front_matter() {
    let document = parse("---\n---\ntext\n");
    assert_eq!(&document.text[document.body.clone()], "text\n");
    assert!(document.flags.is_empty());
}

#[test]
fn odd_values_in_front_matter_cost_no_metadata() {
    let document = parse("---\ntags: [a, null]\nx: .nan\ntitle: T\n---\ntext\n");
    assert_eq!((document.title.as_deref(), document.tags.as_slice()), (Some("T"), &["a".to_owned()][..]));
    assert!(document.flags.is_empty());
    assert!(parse("---\n# only a comment\n---\ntext\n").flags.is_empty());
}

#[test]
fn the_title_falls_back_to_the_first_heading_of_level_1() {
    assert_eq!(parse("## no\n\n# yes\n\n# later\n").title.as_deref(), Some("yes"));
    assert_eq!(parse("## only this\n").title, None);
}

#[test]
fn blocks_have_their_kinds_and_nest() {
    let text = "# h\n\npara\n\n- item\n  - inner\n\n```\ncode\n```\n\n| a |\n|---|\n| b |\n\n> quote\n\n<div>\nhtml\n</div>\n\n[^1]: note\n\n$$\nx\n$$\n\n***\n\n[r]: http://example.org\n";
    let document = parse(text);
    let expected = [
        "heading",
        "paragraph",
        "list",
        "list_item",
        "list",
        "list_item",
        "code_block",
        "table",
        "quote",
        "paragraph",
        "html",
        "footnote",
        "paragraph",
        "math",
        "rule",
        "references",
    ];
    assert_eq!(kinds(&document), expected);
    assert_eq!(document.blocks[2].next, 6, "the list contains what follows up to the code");
    assert_eq!(&text[document.blocks[15].range.clone()], "[r]: http://example.org");
}

#[test]
fn headings_of_all_kinds_are_read() {
    let text = "Setext\n======\n\nx\n\nTwo\n---\n\n# Closed #\n\n# C#\n\n## With `code` and *style* and [link](x)\n\n#Tag\n\n####### seven\n\n# attr {#id}\n";
    assert_eq!(titles(&parse(text)), ["Setext", "Two", "Closed", "C#", "With code and style and link", "attr"]);
}

#[test]
fn headings_inside_quotes_lists_and_code_open_no_section() {
    let text = "> # quoted\n\n- # listed\n\n```\n# code\n```\n\n<!--\n# comment\n-->\n\n    # indented\n\n# real\n";
    assert_eq!(titles(&parse(text)), ["", "real"]);
}

#[test]
fn sections_cover_the_body_and_know_their_parents() {
    let text = "\n\npre\n\n# a\n\n### c\n\n## b\n\n# d\n";
    let document = parse(text);
    assert_eq!(document.sections.iter().map(|s| s.parent).collect::<Vec<_>>(), [None, None, Some(1), Some(1), None]);
    assert_eq!(document.heading_path(3), ["a", "b"]);
    let mut at = 0;
    for section in &document.sections {
        assert_eq!(section.range.start, at);
        at = section.range.end;
    }
    assert_eq!(at, text.len());
}

#[test]
fn tags_are_found_in_text_and_nowhere_else() {
    let text = "#start and #with/slash, #snake_case. Not C# or a#b or #1 or \\#escaped or `#code` or ##double.\n\n```\n#fence\n```\n\n# Heading #intitle\n\n[#link](x) #日本 #dup #dup\n";
    assert_eq!(parse(text).tags, ["start", "with/slash", "snake_case", "intitle", "日本", "dup"]);
}

#[test]
fn links_images_and_wikilinks_keep_target_text_and_range() {
    let text = "[text *x*](to.md#a \"title\") ![alt](img.png) [[Page]] [[Page|shown]] <http://example.org> [ref][r] [![in](i.png)](out.md)\n\n[r]: ref.md\n";
    let document = parse(text);
    let links: Vec<_> =
        document.links.iter().map(|l| (l.kind, l.target.as_str(), l.text.as_str(), &text[l.range.clone()])).collect();
    use LinkKind::{Image, Link, Wikilink};
    assert_eq!(
        links,
        [
            (Link, "to.md#a", "text x", "[text *x*](to.md#a \"title\")"),
            (Image, "img.png", "alt", "![alt](img.png)"),
            (Wikilink, "Page", "Page", "[[Page]]"),
            (Wikilink, "Page", "shown", "[[Page|shown]]"),
            (Link, "http://example.org", "http://example.org", "<http://example.org>"),
            (Link, "ref.md", "ref", "[ref][r]"),
            (Link, "out.md", "in", "[![in](i.png)](out.md)"),
            (Image, "i.png", "in", "![in](i.png)"),
        ]
    );
}

#[test]
fn brackets_in_the_text_of_a_link_make_no_wikilink() {
    let text = "[[a]](to.md 'title') ![[b]](i.png)\n[[c|d]](<x y.md>) [[e]](f(g)\\).md) [[h]](\n) [[k]](m) ![[n]] [[o]](\n\n[[p]](unclosed [[Q r]] [[q|r]]\n\n[q  R]: s.md\n[q]: t.md\n";
    let document = parse(text);
    let found: Vec<_> = document
        .links
        .iter()
        .map(|l| (l.kind, l.named, l.target.as_str(), l.text.as_str(), &text[l.range.clone()]))
        .collect();
    use chunkmill::document::LinkKind::{Image, Link, Wikilink};
    assert_eq!(
        found,
        [
            (Link, false, "to.md", "a", "[[a]](to.md 'title')"),
            (Image, false, "i.png", "b", "![[b]](i.png)"),
            (Link, false, "x y.md", "d", "[[c|d]](<x y.md>)"),
            (Link, false, "f(g)).md", "e", "[[e]](f(g)\\).md)"),
            (Wikilink, true, "h", "h", "[[h]]"),
            (Link, false, "m", "k", "[[k]](m)"),
            (Image, true, "n", "n", "![[n]]"),
            (Wikilink, true, "o", "o", "[[o]]"),
            (Wikilink, true, "p", "p", "[[p]]"),
            (Link, false, "s.md", "Q r", "[[Q r]]"),
            (Wikilink, true, "q", "r", "[[q|r]]"),
        ]
    );
}

#[test]
fn positions_are_exact_with_all_line_ends_and_scripts() {
    let text = "\u{feff}a\r\nb\tc\n日本\r\n👩‍👩‍👧\ne\u{301}\rsame line\n\nlast";
    let positions = parse(text).positions;
    for (chars, (byte, _)) in text.char_indices().enumerate() {
        assert_eq!(positions.char_at(byte), chars);
        assert_eq!(positions.line_at(byte), text[..byte].matches('\n').count() + 1);
    }
    assert_eq!(positions.char_at(text.len()), text.chars().count());
    let long = "é".repeat(5000) + &"x".repeat(3000) + "日";
    let positions = parse(&long).positions;
    for (chars, (byte, _)) in long.char_indices().enumerate().step_by(97) {
        assert_eq!(positions.char_at(byte), chars);
    }
}

#[test]
fn plain_text_is_paragraphs_without_structure() {
    let document = Document::from_text("notes.txt", "# not a heading\nstill\n\n\n- not a list\n");
    assert_eq!(kinds(&document), ["paragraph", "paragraph"]);
    assert_eq!(document.sections.len(), 1);
    assert_eq!(document.format.name(), "text");
}

/// Possible keys and values of front matter, and lines that are neither.
const SCALARS: &[&str] = &[
    "a",
    "Title",
    "ms.date",
    "two words",
    "01/18/2026",
    "2026-01-18",
    "2.0.0",
    "1.5",
    "12",
    "0x1f",
    "0o7",
    "1e5",
    "1_000",
    "007",
    "12:30:45",
    "https://a.b/c?d=e&f",
    "a: b",
    "a:b",
    "a #b",
    "a#b",
    "it's",
    "'q'",
    "\"q\"",
    "say \"q\"",
    "`c`",
    "[a, b]",
    "{a: b}",
    "a]",
    "&x",
    "*x",
    "!y",
    "yes",
    "No",
    "ON",
    "off",
    "null",
    "Null",
    "~",
    "true",
    "FALSE",
    "y",
    "n",
    ".inf",
    "inf",
    "Infinity",
    "nan",
    "1 2",
    "-",
    "- a",
    "|",
    ">",
    "@a",
    "%a",
    "é",
    "a  b",
    "a, b",
    "c ",
    "?",
    "? a",
    "<<",
    "",
    " ",
    "1-2",
    "1-2-3",
    "1/2",
    "90 deg",
    "5 m",
    "title",
    "tags",
    "aliases",
    "t",
    "f",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1500), failure_persistence: None, ..ProptestConfig::default() })]

    /// We read plain front matter ourselves, and a YAML parser reads any other. A comment makes it other.
    #[test]
    fn plain_front_matter_says_what_it_says_to_yaml(lines in prop::collection::vec(
        (prop::sample::select(SCALARS), prop::sample::select(SCALARS), 0..9), 1..7)) {
        let line = |(key, value, kind): &(&str, &str, i32)| match kind {
            0 => format!("{key}:\n"),
            1 => format!("{key}:\n  - {value}\n"),
            2 => format!("- {value}\n"),
            3 => format!("  - {value}\n  - {key}\n"),
            4 => format!("{key}:   {value}\r\n"),
            5 => format!("  {value}\n"),
            _ => format!("{key}: {value}\n"),
        };
        let yaml: String = lines.iter().map(line).collect();
        let read = |text: String| {
            let document = parse(&text);
            let front = &document.text[document.body.clone()] == "x\n";
            (document.title, document.tags, document.aliases, document.metadata, document.flags, front)
        };
        let (plain, other) = (read(format!("---\nk: v\n{yaml}---\nx\n")), read(format!("---\nk: v\n{yaml}# c\n---\nx\n")));
        prop_assert_eq!(plain, other, "{:?}", yaml);
    }
}
