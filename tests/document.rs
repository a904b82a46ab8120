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
fn what_does_not_look_like_keys_is_a_flag_and_stays_as_text() {
    for text in [
        "---\njust words\n---\nx\n",
        "---\n- a\n- b\n---\nx\n",
        "---\nNote: it is old.\n\nMore of it.\n---\nx\n",
        "---\nIn this chapter we say one thing: nothing.\nSo: a\n b: : c\n---\nx\n",
        "---\na: : b\nc\nd\ne\n---\nx\n",
        "+++\nwords\n+++\nx\n",
    ] {
        let document = parse(text);
        assert_eq!(document.flags, ["malformed_front_matter"], "{text:?}");
        assert_eq!(document.blocks[0].kind, BlockKind::FrontMatter);
        assert_eq!(document.body, 0..text.len());
        assert!(document.sections.iter().all(|section| section.level == 0), "no heading is read from it");
    }
}

#[test]
fn scalars_of_front_matter_are_read_as_they_are_written() {
    let list =
        ["en", "no", "y", "on", "1.10", "007", "0x1f", "Yes", "2024-05-01", "12:30", "1_000", "+1", ".5", "Null"];
    for word in list.into_iter().chain(["true", "1e5", ".inf", "1.0", "\u{20ac}5"]) {
        let document = parse(&format!(
            "---\ntitle: {word}\ntags: [{word}, pear]\naliases:\n  - {word}\nlang: {word}\ndate: {word}\n---\nx\n"
        ));
        assert_eq!(document.title.as_deref(), Some(word));
        assert_eq!(
            (document.tags.as_slice(), document.aliases.as_slice()),
            (&[word.into(), "pear".into()][..], &[word.into()][..])
        );
        assert_eq!([&document.metadata["lang"], &document.metadata["date"]], [word; 2]);
        assert!(document.flags.is_empty(), "{word}");
    }
    let document = parse("---\ntitle: '1.10'\ntags: \"no\"\n---\nx\n");
    assert_eq!((document.title.as_deref(), document.tags), (Some("1.10"), vec!["no".to_owned()]));
    let document =
        parse("+++\ntitle = 1.10\ntags = [2.0, true, 'no', 0x1f]\ndate = 2024-05-01\nversion = 1.10\nn = 3\n+++\nx\n");
    assert_eq!((document.title.as_deref(), document.tags.join(" ")), (Some("1.10"), "2.0 true no 0x1f".to_owned()));
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"date":"2024-05-01","n":3,"version":"1.10"}"#);
    // Other keys have the types of YAML 1.2, and no number changes.
    let document = parse("---\na: 1.10\nb: 1.5\nc: 12\nd: true\ne: no\nf: ~\ng: 007\nh: '3'\n---\nx\n");
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"a":"1.10","b":1.5,"c":12,"d":true,"e":"no","f":null,"g":"007","h":"3"}"#);
}

#[test]
fn keys_of_front_matter_are_known_in_upper_and_lower_case() {
    let document = parse("---\nTitle: Pear press\nTAGS: [fruit]\ntags: no\nAliases: One, Two\nOwner: me\n---\nx\n");
    assert_eq!(document.title.as_deref(), Some("Pear press"));
    assert_eq!(document.tags, ["no", "fruit"]);
    assert_eq!(document.aliases, ["One", "Two"]);
    assert_eq!(serde_json::Value::Object(document.metadata).to_string(), r#"{"Owner":"me"}"#);
}

#[test]
fn anchors_and_merge_keys_of_yaml_are_followed() {
    let document = parse("---\nbase: &b {x: 1, y: 2}\nown: {<<: *b, y: 3}\ntitle: &t Name\nalias: *t\n---\nx\n");
    assert_eq!((document.title.as_deref(), document.aliases.as_slice()), (Some("Name"), &["Name".to_owned()][..]));
    assert_eq!(document.metadata["own"].to_string(), r#"{"x":1,"y":3}"#);
}

#[test]
fn front_matter_that_breaks_the_rules_is_read_line_by_line() {
    for (front, title, tags, aliases) in [
        ("title: Get-It: the guide\ntags: [a]\n", "Get-It: the guide", "a", ""),
        ("title: Where-Object\naliases:\n  - ?\n  - where\n", "Where-Object", "", "? where"),
        ("title: T\ntags:\n- %\n- no\n", "T", "% no", ""),
        ("title: @handle\ntags: [@a, b]\n", "@handle", "@a b", ""),
        ("title: *star*\ntags: a\n", "*star*", "a", ""),
        ("title: `code`\ntags:\n\t- a\n\t- b\n", "`code`", "a b", ""),
        ("title: \"Unclosed\ntags: [a, b\naliases: [c]\n", "Unclosed", "a b", "c"),
        ("title: 'Unclosed\ntags: a\n", "Unclosed", "a", ""),
        ("title: \"Foo\" and bar\ntags: ['x, y', \"z\n", "\"Foo\" and bar", "x, y z", ""),
        ("title: One\ntitle: Two\ntags: [a]\ntags: [b]\n", "Two", "a b", ""),
        ("title: The: long\n  way: home\ntags: [one,\n  two]\n", "The: long way: home", "one two", ""),
        ("title:Pears\ntags: [no]\n", "Pears", "no", ""),
        ("# about\ntitle: %x # c\n\ntags:\n  - a # c\n  - 'b'\n", "%x", "a b", ""),
        ("Title: a: b\r\nTags: [c]\r\n", "a: b", "c", ""),
        ("Title: a: b\rTags: [c]\r", "a: b", "c", ""),
        ("\ttitle: A\n\ttags: b\n", "A", "b", ""),
    ] {
        let text = format!("---\n{front}---\n# H\n\nx\n");
        let document = parse(&text);
        assert_eq!(document.title.as_deref(), Some(title), "{front:?}");
        let names = |names: &[String]| names.join(" ");
        assert_eq!([names(&document.tags), names(&document.aliases)], [tags, aliases], "{front:?}");
        assert_eq!(document.flags, ["malformed_front_matter"], "{front:?}");
        assert_eq!(&document.text[document.body], "# H\n\nx\n", "{front:?}");
    }
    // What follows the rules keeps its types and structure.
    let document = parse("---\ntitle: a: b\nn: 3\nauthor:\n  name: X\n  tags: [1]\nms.date: 01/02/2026\n---\nx\n");
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"author":{"name":"X","tags":[1]},"ms.date":"01/02/2026","n":3}"#);
    let document = parse("+++\ntitle = Get It\ntags = ['a', b]\nn = 3\n[extra]\nx = 1\n+++\nx\n");
    assert_eq!((document.title.as_deref(), document.tags.join(" ")), (Some("Get It"), "a b".to_owned()));
    assert_eq!(serde_json::Value::Object(document.metadata).to_string(), r#"{"extra":{"x":1},"n":3}"#);
}

#[test]
fn long_front_matter_that_breaks_the_rules_takes_linear_time() {
    for line in ["a: [b: c\n", "  - [x\n", "k: : [\n", "\"\n", "'a: b\n"] {
        let text = format!("---\ntitle: a: b\nlist:\n{}---\nx\n", line.repeat(65_000 / line.len()));
        assert_eq!(parse(&text).flags, ["malformed_front_matter"]);
    }
}

#[test]
fn a_page_of_front_matter_alone_has_it_as_text() {
    for (text, is) in [
        ("---\ntitle: Plan\ndescription: The zebra.\n---\n", "title: Plan\ndescription: The zebra."),
        ("\u{feff}---\r\nDescription: x\r\n---\r\n\r\n", "Description: x"),
        ("+++\ntitle = \"A\"\n+++\n  \n", "title = \"A\""),
        ("---\ntitle: a: b\n---\n", "title: a: b"),
    ] {
        let document = parse(text);
        assert_eq!(document.text[document.body.clone()].trim_end(), is);
        assert_eq!(kinds(&document), ["front_matter"]);
        assert_eq!(&document.text[document.blocks[0].range.clone()], is);
    }
    assert!(parse("---\nlayout: x\n---\n").blocks.is_empty(), "it says nothing about the page");
    assert_eq!(parse("---\ntitle: x\n---\ny\n").blocks.len(), 1);
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
    for (text, title) in [
        ("<h1 align=\"center\">Pear Press</h1>\n\n<h2>Install</h2>\n", "Pear Press"),
        ("<div>\n<H1\n id=a>Pears &amp; <b>plums</b>\n</H1>\n</div>\n\n# Later\n", "Pears & plums"),
        ("<h1>\n\n**Pear** press\n\n</h1>\n", "Pear press"),
        ("<!-- <h1>no</h1> --><h1><img src=x alt=\"A logo\"></h1>\n", "A logo"),
        ("# First\n\n<h1>Second</h1>\n", "First"),
        ("<h1></h1>\n\n<h1>Full</h1>\n", "Full"),
    ] {
        assert_eq!(parse(text).title.as_deref(), Some(title), "{text:?}");
    }
    assert_eq!(parse("`<h1>a</h1>` <h10>b</h10>\n\n<h1 b='never closed\n").title, None);
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
    let text =
        "#00C6BD #fff #FFF0 #a1b2c3d4 #abc #123 #2024-05 are none; #cafe #Feed #c0ffee1 #abcde #abc/d #design are.\n";
    assert_eq!(parse(text).tags, ["cafe", "Feed", "c0ffee1", "abcde", "abc/d", "design"]);
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
    let text = "\u{feff}a\r\nb\tc\n日本\r\n👩‍👩‍👧\ne\u{301}\rnext line\n\nlast";
    let positions = parse(text).positions;
    for (chars, (byte, _)) in text.char_indices().enumerate() {
        assert_eq!(positions.char_at(byte), chars);
        let inside = text[..byte].ends_with('\r') && text[byte..].starts_with('\n');
        let line = crate::promises::line_ends(&text[..byte]) + 1 - usize::from(inside);
        assert_eq!(positions.line_at(byte), line);
        assert!(positions.line(line).unwrap().contains(&byte));
    }
    let lines: Vec<&str> = (1..).map_while(|line| positions.line(line)).map(|line| &text[line]).collect();
    assert_eq!(lines, ["\u{feff}a\r\n", "b\tc\n", "日本\r\n", "👩‍👩‍👧\n", "e\u{301}\r", "next line\n", "\n", "last"]);
    assert_eq!(positions.line(0), None);
    assert_eq!(parse("").positions.line(1), None);
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

/// A text of every format, with as much structure as the format has.
const STRUCTURED: &[(&str, &str)] = &[
    (
        "a.md",
        "---\ntitle: T\ntags: [a]\n---\n# A\n\nOne line\nand two. #tag\n\n- x\n  - y\n\n```rust\nfn a() {}\n# no\n```\n\n| a |\n|---|\n| b |\n| c |\n\nB\n=\n\n> q\n\n{% highlight x %}\n# no\n{% endhighlight %}\n\n<!-- c\n-->\n\n[r]: x.md\n",
    ),
    ("a.txt", "one\ntwo\n\n\nthree\n\nfour\n"),
    ("a.yaml", "# about\n\na: 1\nb:\n  - x\n  - y\n# c\nc: |\n  text\n  more\n"),
    ("a.json", "{\n  \"a\": [1,\n 2],\n  // c\n  \"b\": {\"x\": \"y\"}\n}\n"),
    (
        "a.py",
        "\"\"\"Doc.\"\"\"\n# c\nclass A:\n    x = 'a'\n\n    def b(self):\n        \"\"\"B.\"\"\"\n        return 1\n\n\ndef c():\n    pass\n",
    ),
    ("a.rs", "//! Here.\n\n/// Doc.\nfn a() {\n    // c\n    let b = \"x\";\n}\n\nstruct B {\n    c: u8,\n}\n"),
    (
        "a.c",
        "// one\n#define X \\\n  1\n#ifdef Y\nint y(void);\n#endif\nint a(void)\n{\n  return 1; // b\n}\n\n/* c */\nint d(void) { return '\\n'; }\n",
    ),
    ("a.js", "// c\nexport function a() {\n  return /x/\n}\nconst b = () => 1\nclass C {\n  d() {}\n}\n"),
    ("a.go", "package a\n\n// B is b.\ntype B struct {\n\tC int\n}\n\nfunc d() int {\n\treturn 1\n}\n"),
];

#[test]
fn a_line_ends_with_either_mark_or_both_in_every_format() {
    for (path, text) in STRUCTURED {
        let plain = Document::from_text(path, *text);
        assert!(plain.blocks.len() > 1, "{path}");
        for end in ["\r", "\r\n"] {
            let other = Document::from_text(path, text.replace('\n', end));
            let shown = |document: &Document| {
                let lines = |at: &std::ops::Range<usize>| {
                    let (first, last) = document.positions.lines_of(at);
                    (document.text[at.clone()].replace("\r\n", "\n").replace('\r', "\n"), first, last)
                };
                let blocks: Vec<_> = document.blocks.iter().map(|block| (block.kind, lines(&block.range))).collect();
                let sections: Vec<_> = document.sections.iter().map(|s| (s.title.clone(), lines(&s.range))).collect();
                let links: Vec<_> = document.links.iter().map(|link| lines(&link.range)).collect();
                let rest = (document.title.clone(), document.tags.clone(), document.flags.clone(), document.lines());
                format!("{blocks:#?} {sections:#?} {links:#?} {rest:?}")
            };
            assert_eq!(shown(&other), shown(&plain), "{path} with {end:?}");
        }
    }
}

#[test]
fn chunks_count_lines_that_end_with_either_mark() {
    use chunkmill::chunk::{Spec, chunk};
    for (path, text) in STRUCTURED {
        for spec in [
            "structure max=8 min=1",
            "lines threshold=2",
            "line-threshold",
            "ragdocs min=1 max=40 overlap=10",
            "heading-tokens max=6 overlap=2",
        ] {
            let Ok(spec) = spec.parse::<Spec>() else { continue };
            let lines = |end: &str| {
                let document = Document::from_text(path, text.replace('\n', end));
                let chunks = chunk(&document, &spec, crate::common::sizer(&spec)).unwrap();
                let place = |chunk: &chunkmill::chunk::Chunk| {
                    let before = document.text[..chunk.range.start].replace("\r\n", "\n").replace('\r', "\n");
                    let first = before.matches('\n').count() + 1;
                    assert_eq!(document.positions.line_at(chunk.range.start), first, "{path} {spec}");
                    document.text[chunk.range.clone()].replace("\r\n", "\n").replace('\r', "\n")
                };
                chunks.iter().map(place).collect::<Vec<_>>()
            };
            if spec.unit() == chunkmill::tokens::Unit::Lines {
                assert_eq!(lines("\r"), lines("\n"), "{path} {spec}");
            } else {
                lines("\r");
            }
        }
    }
}

/// Returns the titles of the items of a source file.
fn items(path: &str, text: &str) -> Vec<String> {
    let document = Document::from_text(path, text);
    let own = document.sections.iter().filter(|section| section.level > 0 && !section.continues);
    own.map(|section| section.title.clone()).collect()
}

#[test]
fn code_that_no_compiler_reads_hides_nothing() {
    let (one, two) =
        ("int one(void) { return 1; }\n\n", "int two(void) { return 2; }\n\nint three(void) { return 3; }\n");
    for dead in [
        "#if 0\nvoid dead(void) {\n#endif\n",
        "#if 0 /* never */\nstruct dead {\n  int a; don't\n#endif\n",
        "# if (0)\n}}} ((( {\n# endif\n",
        "#if 0\n{\n#if X\n{\n#else\n{\n#endif\n{\n#endif\n",
        "#if 0\n{\n#elif 0\n{\n#else\nint x;\n#endif\n",
        "#if 1\nint x;\n#else\nvoid dead(void) {\n#endif\n",
        "#if 1\nint x;\n#elif Y\n{\n#else\n{\n#endif\n",
        "#ifdef A\nint x;\n#if 0\n{\n#endif\n#endif\n",
    ] {
        for path in ["a.c", "a.cpp"] {
            assert_eq!(items(path, &format!("{one}{dead}\n{two}")), ["one", "two", "three"], "{dead:?}");
        }
    }
    let live = "#if 1\nvoid live(void) {\n#else\n{{{\n#endif\n  x();\n}\n\n";
    assert_eq!(items("a.c", &format!("{one}{live}{two}")), ["one", "live", "two", "three"]);
    let other = "#if 0\nvoid dead(void) {\n#else\nvoid live(void) {\n#endif\n  x();\n}\n\n";
    assert_eq!(items("a.c", &format!("{one}{other}{two}")), ["one", "live", "two", "three"]);
    for branches in [
        "#ifdef A\nvoid f(int a) {\n#else\nvoid f(long a) {\n#endif\n  x();\n}\n\n",
        "void f(int a)\n{\n#ifdef A\n  if (a) {\n#else\n  if (!a) {\n#endif\n    x();\n  }\n}\n\n",
        "void f(int a) {\n#ifdef A\n  if (a) {\n#endif\n    x();\n#ifdef A\n  }\n#endif\n}\n\n",
    ] {
        let mut found = items("a.c", &format!("{one}{branches}{two}"));
        found.dedup();
        assert_eq!(found, ["one", "f", "two", "three"], "{branches:?}");
    }
}

#[test]
fn what_a_common_js_module_exports_is_an_item() {
    for (text, names) in [
        (
            "exports.one = function (x) {\n  return 1;\n};\n\nmodule.exports.two = (x) => {\n  return 2;\n};\n",
            &["one", "two"][..],
        ),
        ("exports.one = async x => x\nexports.two = class {\n  a() {}\n}\nexports.three = 3\n", &["one", "two"][..]),
        ("module.exports = function () {\n};\n", &["module.exports"][..]),
        ("module.exports = function named(a) {\n};\nfunction b() {}\n", &["named", "b"][..]),
        ("module.exports = async (a) => {\n};\n", &["module.exports"][..]),
        (
            "module.exports = {\n  one(x) { return 1 },\n  two: function (x) { return { a: 1 } },\n  three: (x) => x,\n  four,\n  'five': async () => {\n  },\n  six: 6\n};\n\nfunction seven() {}\n",
            &["module.exports", "one", "two", "three", "five", "seven"][..],
        ),
        ("module.exports = require('x');\nexports.a = b;\nexported.c = function () {};\n", &[][..]),
    ] {
        assert_eq!(items("a.js", text), names, "{text}");
        assert_eq!(items("a.cjs", text), names, "{text}");
    }
}

#[test]
fn types_in_a_group_of_go_are_items() {
    let text = "package a\n\ntype (\n\t// A is a.\n\tA struct {\n\t\tX int\n\t}\n\n\tB interface {\n\t\tRead(p []byte) (n int, err error)\n\t}\n\tC = int\n\tD[T any] struct{ x T }\n\tE func(a int) error\n\tF map[string]int\n)\n\ntype G struct{}\n\nfunc h() {}\n";
    assert_eq!(items("a.go", text), ["A", "B", "Read", "C", "D", "E", "F", "G", "h"]);
    let document = Document::from_text("a.go", text);
    let levels: Vec<_> =
        document.sections.iter().filter(|s| !s.continues).map(|s| (s.level, s.title.as_str())).collect();
    assert!(levels.contains(&(1, "A")) && levels.contains(&(2, "Read")) && levels.contains(&(1, "h")), "{levels:?}");
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
