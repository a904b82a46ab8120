//! Parsing: blocks, sections, tags, links and positions.

use chunkmill::document::{Document, LinkKind};

use super::{kinds, parse, titles};

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
            "lines unit=lines min=2 max=4 overlap=0",
            "line-threshold",
            "ragdocs min=1 max=40 overlap=10",
            "heading-tokens max=6 overlap=2",
        ] {
            let spec: Spec = spec.parse().unwrap();
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
