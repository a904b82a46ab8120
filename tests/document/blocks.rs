//! A document's blocks and titles are those that the parser reports, with the same bytes.

use std::ops::Range;
use std::path::Path;

use chunkmill::document::{BlockKind, Document, MAX_TITLE};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::chunk::properties::markdown;
use crate::common::{documents, powershell};

/// The kind and the bytes of each block, from the start of its line, and the titles of top-level headings.
type Outline = (Vec<(&'static str, Range<usize>)>, Vec<String>);

/// Returns what the parser reports, read in the simplest way.
fn reported(text: &str, body: Range<usize>) -> Outline {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
        | Options::ENABLE_WIKILINKS;
    let (mut blocks, mut titles) = (Vec::new(), Vec::new());
    let (mut depth, mut title) = (0, None);
    for (event, range) in Parser::new_ext(&text[body.clone()], options).into_offset_iter() {
        let kind = match &event {
            Event::Start(Tag::Heading { level, .. }) => {
                title = (depth == 0).then(String::new);
                BlockKind::Heading(*level as u8)
            }
            Event::Start(Tag::Paragraph) => BlockKind::Paragraph,
            Event::Start(Tag::CodeBlock(_)) => BlockKind::Code,
            Event::Start(Tag::HtmlBlock) => BlockKind::Html,
            Event::Start(Tag::Table(_)) => BlockKind::Table,
            Event::Start(Tag::List(_)) => BlockKind::List,
            Event::Start(Tag::Item) => BlockKind::ListItem,
            Event::Start(Tag::BlockQuote(_)) => BlockKind::Quote,
            Event::Start(Tag::FootnoteDefinition(_)) => BlockKind::Footnote,
            Event::Rule => BlockKind::Rule,
            Event::Text(part) | Event::Code(part) | Event::DisplayMath(part) => {
                title.iter_mut().for_each(|title| title.push_str(part));
                continue;
            }
            Event::InlineMath(_) => {
                title.iter_mut().for_each(|title| title.push_str(&text[body.clone()][range.clone()]));
                continue;
            }
            Event::SoftBreak | Event::HardBreak => {
                title.iter_mut().for_each(|title| title.push(' '));
                continue;
            }
            Event::End(end) => {
                let container = matches!(
                    end,
                    TagEnd::Table | TagEnd::List(_) | TagEnd::Item | TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition
                );
                depth -= usize::from(container);
                if matches!(end, TagEnd::Heading(_)) {
                    titles.extend(title.take().map(|title| {
                        let line = title.split_whitespace().collect::<Vec<_>>().join(" ");
                        line.chars().take(MAX_TITLE).collect()
                    }));
                }
                continue;
            }
            _ => continue,
        };
        let container = matches!(
            kind,
            BlockKind::Table | BlockKind::List | BlockKind::ListItem | BlockKind::Quote | BlockKind::Footnote
        );
        depth += usize::from(container);
        let (start, end) = (range.start + body.start, range.end + body.start);
        let line = text[body.start..start].rfind(['\n', '\r']).map_or(body.start, |feed| body.start + feed + 1);
        blocks.push((kind.name(), line..end));
    }
    (blocks, titles)
}

fn outline(document: &Document) -> Outline {
    let unreported = |kind: BlockKind| matches!(kind, BlockKind::References | BlockKind::FrontMatter);
    let shown = |kind: BlockKind| if kind == BlockKind::Math { "paragraph" } else { kind.name() };
    let blocks = document.blocks.iter().filter(|block| !unreported(block.kind));
    let titles = document.sections.iter().filter(|section| section.level > 0).map(|section| section.title.clone());
    (blocks.map(|block| (shown(block.kind), block.range.clone())).collect(), titles.collect())
}

fn same(text: &str) {
    // We do not read regions of template languages and front matter as Markdown.
    if !["$$", "{%", "{{", ":::"].iter().any(|mark| text.contains(mark)) {
        let document = Document::from_text("doc.md", text);
        // Front matter that is the whole page is its text, which the parser does not know.
        let is_all_front_matter = document.body.start > 0 && text[document.body.end..].starts_with("---");
        if document.flags.is_empty() && !is_all_front_matter {
            // The parser takes a carriage return alone for the end of a line in some places only.
            let fed = text.replace("\r\n", "\u{e000}\n").replace('\r', "\n").replace("\u{e000}\n", "\r\n");
            assert_eq!(outline(&document), reported(&fed, document.body.clone()), "{text:?}");
        }
    }
}

/// Returns how many blocks contain the most nested one, and the kind of the last block that no other contains.
fn depth_and_last(text: &str) -> (usize, BlockKind) {
    let blocks = Document::from_text("doc.md", text).blocks;
    assert!(blocks.iter().all(|block| text.is_char_boundary(block.range.start) && block.range.end <= text.len()));
    let (mut open, mut depth, mut last) = (Vec::<usize>::new(), 0, BlockKind::Paragraph);
    for (at, block) in blocks.iter().enumerate() {
        open.retain(|&next| next > at);
        if open.is_empty() {
            last = block.kind;
        }
        depth = depth.max(open.len());
        open.push(block.next);
    }
    (depth, last)
}

#[test]
fn quotes_and_lists_nest_to_a_limit_and_what_is_deeper_is_text() {
    // A line that continues a paragraph lazily costs as much as there are levels.
    for levels in [">", "> ", "- ", "* ", "1. ", "12) ", "> - ", "- > ", "\t- ", ">\t", "[^a]: > ", "[^a\\]b]: > - "] {
        for (count, lazy) in [(5000, "b\n"), (5000, "\n\nb\n"), (70, "b\n")] {
            let start = format!("{}a\n", levels.repeat(count));
            let text = [&*start, lazy, "\n# End\n\n", &start, lazy].concat();
            let (depth, _) = depth_and_last(&text);
            assert!(depth <= 2 * 256 + 2, "{levels:?}: {depth}");
            let document = Document::from_text("doc.md", text);
            assert_eq!(document.sections.last().map(|section| section.title.as_str()), Some("End"), "{levels:?}");
        }
    }
    // Markers below others, each in a line of its own.
    let steps: String = (0..400).map(|level| format!("{}- a\n", "  ".repeat(level))).collect();
    assert!(depth_and_last(&steps).0 <= 2 * 256 + 2);
}

#[test]
fn below_the_limit_nothing_nests_differently_and_long_rules_stay_rules() {
    for levels in [">", "> ", "- ", "1. ", "> - ", "[^a]: > "] {
        let count = 250 / levels.len();
        let (start, steps) = (levels.repeat(count), "  ".repeat(60));
        same(&format!("{start}a\nlazy\n\nb\n\n- a\n{steps}- b\n"));
    }
    for rule in ["- ", "* ", "-\t"] {
        same(&format!("a\n\n{}\n\nb\n", rule.repeat(300)));
    }
    let (_, last) = depth_and_last(&format!("a\n\n{}\n", "- ".repeat(300)));
    assert_eq!(last, BlockKind::Rule);
    let code = format!("```\n{}- a\n```\n", " ".repeat(300));
    assert_eq!(depth_and_last(&code), (0, BlockKind::Code));
}

/// Possible beginnings of a line.
#[rustfmt::skip]
const STARTS: &[&str] = &[
    "* ", "+ ", "-", "1. ", "2) ", "1984", "1984. ", "> ", "# ", "### ", "#", "####### ", "    ", "   ", " ", "\t",
    "|", "a|b", "|-|-|", "- | -", "-|-", ":- | -", "---", "===", "***", "```", "```sh", "~~~", "  ```", "[b]: c",
    "[^1]: ", "<b>", "<!-- ", "-->", "<pre>", "</pre>", "<div>", "(", "\"", "*a*", "**", "_", "`a` ", "!", ":::",
    "$$", "$$\n", "{{/* ", "*/}}", "{% highlight %}\n", "{% endhighlight %}\n", "\u{a0}", "é", "\\",
];

/// Possible contents of a line.
#[rustfmt::skip]
const INLINES: &[&str] = &[
    " [a](b) ", " ![a b](c#d) ", " [`a b`](c) ", " [a\nb](c) ", " [a \nb](c) ", " [a\n  b](c) ", " [a\r\nb](c) ",
    " `[a](b)` ", " ``a` [b](c)`` ", " ``a` [b](c)`` d`ef ", " ` [a](b) ", " ` ``[a](b)` ", " `a\\` [b](c) ",
    " \\`[a](b)` ", " \\[a](b) ", " \\![a](b) ", " [a\\](b) ", " [a](b \"c\") ", " [a](<b>) ", " []( b) ", " [](a) ",
    " [a]() ", " [ a](b) ", " [a](b(c)) ", " [a_b](c_d) ", " [_a_](b) ", " [*a*](b) ", " [a&amp;b](c) ",
    " [a](b&amp;c) ", " [^1](a) ", " [[a]](b) ", " [[a]] ", " [a][b] ", " [a](b)[c] ", " [c](d) ", " [b] ",
    " [a [b](c)](d) ", " [a] (b) ", " <a [b](c)> ", " $a [b](c)$ ", " #tag ", " `#a` ", " [#a](b) ", " [a](#b) ",
    " [`#a`](b) ", " [ ] ", " [x] ", " ![[a]] ", " *[a](b)* ", " ~~[a](b)~~ ", " [a](b)* ", " ![![a](b)](c) ",
    " [![a](b)](c) ", " <https://a.b> ", " &#35;a ", " a_b_c ", " _a_ ", " $$ ", " [a](b~c) ", " [a](\nb) ",
    " [a]\n(b) ", " `a\nb` ", " {#a} ", " # ", " a # ", " ] [a](b) ", " [a](b) ] ", " [ [a](b) ", " [`a]`](b) ", "\\",
    " [` a `](b) ", " [``a``](b) ", " [a`b`](c) ", " [a!](b) ", " [a](b!c) ", " !![a](b) ", " [é](ü) ",
    " [a\u{a0}](b) ", " [a](b\u{a0}) ", " [x](y 'z') ", " [a](b*c) [d](e*f) ", " [a](mailto:b@c.d) ", " ^[a](b) ",
    " :a: ", " \u{0}[a](b) ", " [a](b)(c) ", " [a](\\b) ",
];

#[test]
fn our_corpus_and_a_large_one_are_read_as_the_parser_reads_them() {
    let larder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder/corpus");
    for root in std::iter::once(larder.as_path()).chain(powershell()) {
        let documents = documents(root);
        assert!(documents.len() > 20, "{} has documents", root.display());
        documents
            .iter()
            .filter(|document| document.origin.path.ends_with(".md"))
            .for_each(|document| same(&document.text));
    }
}

/// Generates lines that begin, continue and end in the ways that decide how they are read.
fn lines() -> impl Strategy<Value = String> {
    let start = prop_oneof![
        6 => Just(String::new()),
        4 => Just("- ".to_owned()),
        3 => Just("  ".to_owned()),
        2 => prop::sample::select(STARTS.to_vec()).prop_map(str::to_owned),
        2 => "[-+*|:=_~`#>.)1a \\t]{1,6}\n?",
    ];
    let inline =
        prop_oneof![4 => Just(""), 2 => Just("[a](b)"), 2 => Just("`c`"), 3 => prop::sample::select(INLINES.to_vec())];
    let words = || prop_oneof!["[a-z]{1,3}", "[a-z]{1,9}( [a-z]{1,9}){9}\\."];
    let odd = vec!["\r\n", "  \n", "\\\n", "\n \n", "\n\n\n\n", ""];
    let end = prop_oneof![6 => Just("\n"), 6 => Just("\n\n"), 1 => prop::sample::select(odd)];
    let line = (start, words(), inline, prop_oneof![words(), Just(String::new())], end);
    let line = line.prop_map(|(start, one, inline, two, end)| format!("{start}{one}{inline}{two}{end}"));
    prop::collection::vec(line, 0..16).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_markdown_is_read_as_the_parser_reads_it(text in markdown()) {
        same(&text);
    }

    #[test]
    fn lines_of_all_kinds_are_read_as_the_parser_reads_them(text in lines()) {
        same(&text);
    }
}
