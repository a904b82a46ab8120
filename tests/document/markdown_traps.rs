//! Constructs that break Markdown chunkers, one test per trap. Other modules have the traps of front matter
//! (`front_matter`), of byte order marks and headings (`parsing`), and of chunk limits on hostile texts
//! (`chunk::hostile_documents`).

use std::time::Instant;

use chunkmill::chunk::{Spec, chunk};
use chunkmill::document::{BlockKind, Document, Footnote, is_blank};

use proptest::prelude::*;

use crate::common::sizer;
use crate::promises::check;

/// Specs that cut, with limits small enough to force cuts.
const SPECS: [&str; 3] =
    ["ragdocs", "header unit=tokens min=5 max=20 overlap=3", "heading unit=chars max=40 overlap=5"];

/// Parses a document and checks that neither its blocks nor its chunks lose a byte.
fn parse_as(path: &str, text: &str) -> Document {
    let document = Document::from_text(path, text);
    let (mut index, mut covered) = (0, document.body.start);
    while let Some(block) = document.blocks.get(index) {
        // An empty list item extends over the indentation of what follows it: only white space is in both.
        let start = block.range.start;
        let between = &text[covered.min(start)..covered.max(start)];
        assert!(is_blank(between), "{path}: lost or in two blocks: {between:?} of {text:?}");
        assert!(text.is_char_boundary(block.range.end), "{path}: {text:?}");
        covered = covered.max(block.range.end);
        index = block.next;
    }
    assert!(is_blank(&text[covered..document.body.end]), "{path}: the end is lost of {text:?}");
    for spec in SPECS {
        let spec: Spec = spec.parse().unwrap();
        check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), true);
    }
    document
}

fn parse(text: &str) -> Document {
    parse_as("doc.md", text)
}

fn titles(document: &Document) -> Vec<&str> {
    document.sections.iter().map(|section| section.title.as_str()).filter(|title| !title.is_empty()).collect()
}

/// Returns the kind and text of the top-level blocks.
fn top<'t>(document: &Document, text: &'t str) -> Vec<(BlockKind, &'t str)> {
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(block) = document.blocks.get(index) {
        found.push((block.kind, text[block.range.clone()].trim_end()));
        index = block.next;
    }
    found
}

/// Checks that a region is one block of this kind, between two headings that are the only ones.
fn one_block(path: &str, region: &str, kind: BlockKind) {
    for end in ["\n", "\r\n"] {
        let region = region.replace('\n', end);
        for (before, after) in [("\n", "\n"), ("", "\n"), ("\n", "\n\n"), ("", "")] {
            let text = format!("# a\n{before}{region}{end}{after}# b\n\nend\n");
            let document = parse_as(path, &text);
            assert_eq!(titles(&document), ["a", "b"], "{text:?}");
            assert_eq!(top(&document, &text)[1], (kind, region.as_str()), "{text:?}");
        }
    }
}

#[test]
fn mdx_code_is_no_markdown() {
    for code in [
        "export const meta = {\n  title: 'x',\n\n# not a heading\n\n  list: [1, 2],\n}",
        "import A from './a'\nimport {\n  B,\n\n# not a heading\n} from './b'",
        "export default function Page() {\n  // don't count this {\n  return `\n\n# not { a heading\n\n`;\n}",
        "import './style.css'",
    ] {
        let text = format!("# a\n\n{code}\n\n# b\n");
        let document = parse_as("doc.mdx", &text);
        assert_eq!(titles(&document), ["a", "b"], "{text:?}");
        assert_eq!(top(&document, &text)[1], (BlockKind::Template, code));
    }
    let code = "export const a = {\n# h\n}\n";
    assert_eq!(titles(&parse_as("doc.mdx", code)), [""; 0]);
    assert_eq!(titles(&parse_as("doc.md", code)), ["h"], "only MDX files hold code");
}

#[test]
fn sentences_in_mdx_stay_sentences() {
    for text in [
        "import duties are high\n\n# a\n\nexport them: (all\n\n# b\n",
        "import a from the shop {\n\n# a\n\ntext\n\n# b\n",
        "export const never = {\n\n# a\n\nclosed\n\n# b\n",
        "    export const code = {\n\n# a\n\n# b\n\n}\n",
        "import A from 'a'\n# a\n\n# b\n",
    ] {
        assert_eq!(titles(&parse_as("doc.mdx", text)), ["a", "b"], "{text:?}");
    }
}

#[test]
fn liquid_blocks_are_no_markdown() {
    one_block("doc.md", "{% highlight bash %}\n# not a heading\n\n# nor this\n{% endhighlight %}", BlockKind::Template);
    one_block("doc.md", "{%- comment -%}\nnot\n===\n\n- a list\n{%- endcomment -%}", BlockKind::Template);
    one_block("doc.md", "{% mermaid %}\n# é 日本 {% x %}\n{% endmermaid %} rest", BlockKind::Template);
}

#[test]
fn hugo_shortcodes_are_no_markdown() {
    one_block(
        "doc.md",
        "{{< highlight go \"linenos=true\" >}}\n# not a heading\n\n```\n{{< / highlight >}}",
        BlockKind::Template,
    );
    one_block("doc.md", "{{< mermaid >}}\n# not a heading\n{{< /mermaid >}}", BlockKind::Template);
    one_block("doc.md", "{{/*\n# not a heading\n*/}}", BlockKind::Template);
    one_block("doc.md", "{{- /*\n\n# not a heading\n*/ -}}", BlockKind::Template);
}

#[test]
fn templates_around_markdown_hide_none() {
    for text in [
        "{% raw %}\n# a\n\n```\n{{ x }}\n```\n\n# b\n{% endraw %}\n",
        "{% tabs %}\n\n# a\n\n{% endtabs %}\n\n# b\n",
        "{{< tabs >}}\n\n# a\n\n{{< /tabs >}}\n\n# b\n",
        "{{% highlight %}}\n\n# a\n\n{{% /highlight %}}\n\n# b\n",
        "{% if x %}\n\n# a\n\n{% endif %}\n\n# b\n",
        "text {% comment %}\n\n# a\n\n# b\n",
        "{% code %}\n```\n# no\n```\n{% endcode %}\n\n# a\n\n# b\n",
    ] {
        assert_eq!(titles(&parse(text)), ["a", "b"], "{text:?}");
    }
}

#[test]
fn what_is_not_closed_hides_nothing() {
    for open in [
        "{% highlight x %}",
        "{% comment %}",
        "{{< mermaid >}}",
        "{{< mermaid file=\"x\" />}}",
        "{{/* x",
        "$$",
        "$$ x",
        "::: tip",
        "{{< chart >}}\n\n# h\n\n{{< chart >}}\nx\n{{< /chart >}}",
    ] {
        let text = format!("{open}\n\n# a\n\n# b\n");
        let expected: &[&str] = if open.contains("# h") { &["h", "a", "b"] } else { &["a", "b"] };
        assert_eq!(titles(&parse(&text)), expected, "{text:?}");
    }
}

#[test]
fn code_and_comments_win_over_templates() {
    for (open, close) in [("```", "```"), ("~~~~", "~~~~"), ("- ```", "  ```"), ("> ```", "> ```"), ("<!--", "-->")] {
        for marker in ["{% highlight %}", "{{/*", "$$", "::: tip", "{{< highlight >}}"] {
            let inner = if open.starts_with("- ") {
                format!("  {marker}")
            } else if open.starts_with('>') {
                format!("> {marker}")
            } else {
                marker.to_owned()
            };
            let text = format!(
                "{open}\n{inner}\n{close}\n\n# a\n\n{{% endhighlight %}} {{{{< /highlight >}}}} */}}}} $$\n:::\n\n# b\n"
            );
            assert_eq!(titles(&parse(&text)), ["a", "b"], "{text:?}");
        }
    }
    let indented = "text\n\n    {% highlight %}\n\n# a\n\n{% endhighlight %}\n\n# b\n";
    assert_eq!(titles(&parse(indented)), ["a", "b"]);
}

#[test]
fn a_region_inside_a_list_item_stays_there() {
    let text = "- item\n\n  {% highlight sh %}\n\n# comment\n  {% endhighlight %}\n\n  after\n\n# a\n";
    let document = parse(text);
    assert_eq!(titles(&document), ["a"]);
    assert!(document.blocks.iter().any(|block| block.kind == BlockKind::Template));
    assert_eq!(top(&document, text).len(), 2);
}

#[test]
fn math_of_several_lines_is_one_formula() {
    one_block("doc.md", "$$\n# x\n$$", BlockKind::Math);
    one_block("doc.md", "$$\nx\n=\ny\n\n- z \\$\n$$", BlockKind::Math);
    one_block("doc.md", "$$ x\n= y\n+ z $$", BlockKind::Math);
    let shell = "$$ is the last token.\n\n# a\n\n$$ again.\n\n# b\n";
    assert_eq!(titles(&parse(shell)), ["a", "b"]);
}

#[test]
fn headings_in_containers_open_no_section() {
    let text = "# a\n\n::: tip Title\n## inside\n\ntext *x*\n\n:::: note\n### deeper\n::::\n\n:::\n\n## b\n";
    let document = parse(text);
    assert_eq!(titles(&document), ["a", "b"]);
    assert!(document.blocks.iter().filter(|block| matches!(block.kind, BlockKind::Heading(_))).count() == 4);
    for text in [
        ":::image type=\"x\":::\n\n# a\n\n:::\n\n# b\n",
        "::: moniker range=\"x\"\n\n# a\n\n::: moniker-end\n\n# b\n",
        ":::::\n\n# a\n\n:::\n\n# b\n",
    ] {
        assert_eq!(titles(&parse(text)), ["a", "b"], "{text:?}");
    }
}

#[test]
fn html_ends_at_a_blank_line_and_comments_do_not() {
    let text = "<div>\n# no\n</div>\n\n<!--\n# no\n\n# no\n-->\n\n<div>\n# no\n\n# a\n\n</div>\n\n# b\n";
    assert_eq!(titles(&parse(text)), ["a", "b"]);
}

#[test]
fn a_line_after_a_table_is_a_row() {
    let text = "| a |\n|---|\n| b |\nnot a row\n\nafter\n";
    let document = parse(text);
    assert_eq!(top(&document, text)[0], (BlockKind::Table, "| a |\n|---|\n| b |\nnot a row"));
}

#[test]
fn a_table_of_two_thousand_columns_is_one_block() {
    let columns = 2000;
    let row = |cell: &str| cell.repeat(columns) + "|\n";
    let text = row("| a ") + &row("|---") + &"| b |\n".repeat(200);
    let start = Instant::now();
    let document = Document::from_text("doc.md", text.clone());
    // The parser fills short rows up to all columns, and stops if that costs too much.
    assert!(document.blocks.len() <= 2, "cells are not blocks");
    let spec: Spec = "ragdocs".parse().unwrap();
    check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), false);
    assert!(start.elapsed().as_secs() < 10);
}

#[test]
fn code_with_crlf_keeps_its_bytes() {
    let text = "# a\r\n\r\n```sh\r\n# x\r\n\r\ny\r\n```\r\n\r\n    # indented\r\n\r\n    z\r\n\r\n# b\r\n";
    let document = parse(text);
    assert_eq!(titles(&document), ["a", "b"]);
    assert_eq!(top(&document, text)[1], (BlockKind::Code, "```sh\r\n# x\r\n\r\ny\r\n```"));
    assert_eq!(top(&document, text)[2], (BlockKind::Code, "    # indented\r\n\r\n    z"));
}

#[test]
fn fences_of_all_kinds() {
    for text in [
        "````\n```\n# no\n```\n````\n\n# a\n",
        "~~~\n```\n# no\n~~~\n\n# a\n",
        "``` `\n# a\n",
        "- x\n\n  ```\n  # no\n  ```\n\n# a\n",
        "1. x\n   - y\n\n         # indented code\n\n# a\n",
    ] {
        assert_eq!(titles(&parse(text)), ["a"], "{text:?}");
    }
    assert_eq!(titles(&parse("# a\n\n```\nnever closed\n\n# no\n")), ["a"]);
}

#[test]
fn footnotes_are_known_by_their_labels() {
    let text =
        "a[^1] b[^note]\n\n[^1]: One.\n\n[^note]: Two.\n    more\n\n    # inside\n\n> [^in]: in a quote\n\n# h\n";
    let document = parse(text);
    assert_eq!(titles(&document), ["h"]);
    let footnotes: Vec<_> =
        document.footnotes.iter().map(|Footnote { label, block }| (label.as_str(), *block)).collect();
    assert_eq!(footnotes.iter().map(|note| note.0).collect::<Vec<_>>(), ["1", "note"]);
    for (label, block) in footnotes {
        assert_eq!(document.blocks[block].kind, BlockKind::Footnote);
        assert!(text[document.blocks[block].range.clone()].starts_with(&format!("[^{label}]:")));
    }
}

#[test]
fn odd_characters_lose_nothing() {
    for text in [
        "# a\rtext\r\r# b\r",
        "a\0b\n\n# c\0d\n\n\0\n",
        "#\ttab\n\n-\titem\n\n\tcode\n\n>\tquote\n",
        "\u{a0}# not\n\n\u{a0}\n\n# a\u{a0}b\n",
        "👩\u{200d}👩\u{200d}👧 e\u{301} \u{200d}\n\n# 👩\u{200d}🚀\n",
        "没有空格的中文段落也要保留\n\n# 标题\n\n本文。次の文。\n",
        "\u{feff}\u{feff}# a\n",
        "\u{85}\u{2028}x\u{2029}\u{b}\u{c}\n",
        "# only a heading",
        "#",
        "",
        "\n",
        " \t\r\n \n",
    ] {
        parse(text);
        parse_as("doc.mdx", text);
        parse_as("doc.txt", text);
    }
    assert!(parse(" \t\r\n \n").sections.is_empty());
}

#[test]
fn nesting_without_end_costs_no_stack() {
    let depth = 10_000;
    let texts = [
        "> ".repeat(depth) + "x\n\n# a\n",
        "- ".repeat(depth) + "x\n\n# a\n",
        "1) ".repeat(depth) + "x\n\n# a\n",
        "[".repeat(depth) + "x" + &"](y)".repeat(depth) + "\n\n# a\n",
        "![a".repeat(depth) + &"](y)".repeat(depth) + "\n\n# a\n",
        "*".repeat(depth) + "x\n\n# a\n",
        "<b>".repeat(depth) + "x\n\n# a\n",
        ":::: x\n".repeat(depth) + &"::::\n".repeat(depth) + "\n# a\n",
        "{% highlight %}\n".repeat(depth) + "\n# a\n",
        "{{< code >}}\n{{/*\n$$ x\n\n".repeat(depth) + "# a\n",
    ];
    for text in texts {
        let start = Instant::now();
        let document = Document::from_text("doc.md", text);
        assert_eq!(titles(&document), ["a"], "{:?}…", &document.text[..20]);
        let spec: Spec = "ragdocs".parse().unwrap();
        check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), false);
        assert!(start.elapsed().as_secs() < 20, "{:?}… took {:?}", &document.text[..20], start.elapsed());
    }
}

#[test]
fn code_without_end_in_mdx_is_read_once() {
    let text = "export const a = {\n".repeat(100_000);
    let start = Instant::now();
    let document = Document::from_text("doc.mdx", text);
    assert_eq!(document.blocks.len(), 1);
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn a_megabyte_of_brackets_or_backticks() {
    for unit in ["[", "`", "` ", "``` ", "]("] {
        let start = Instant::now();
        let document = Document::from_text("doc.md", unit.repeat((1 << 20) / unit.len()) + "\n\n# a\n");
        assert!(document.blocks.len() <= 2, "{unit:?}");
        assert!(start.elapsed().as_secs() < 20, "{unit:?} took {:?}", start.elapsed());
    }
}

#[test]
fn a_hundred_megabytes_without_a_line_end() {
    let document = Document::from_text("doc.md", "word ".repeat(20 << 20));
    assert_eq!(document.sections.len(), 1);
    for spec in ["header unit=chars min=0 max=4000 overlap=0", "heading unit=chars max=4000 overlap=0"] {
        let spec: Spec = spec.parse().unwrap();
        let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
        let covered: usize = chunks.iter().map(|chunk| chunk.range.len()).sum();
        assert!(covered + chunks.len() >= document.text.trim_end().len(), "`{spec}` lost text");
    }
}

const PIECES: &[&str] = &[
    "{% highlight %}",
    "{% endhighlight %}",
    "{%- comment -%}",
    "{% endcomment %}",
    "{{< code >}}",
    "{{< /code >}}",
    "{{/*",
    "*/}}",
    "$$",
    ":::",
    "::: tip",
    ":::: x",
    "export const a = {",
    "}",
    "import a from 'b'",
    "```",
    "~~~~",
    "<!--",
    "-->",
    "<div>",
    "# h",
    "é日本",
    "\u{200b}",
    "[^1]: note",
    "[a]: b",
    "===",
    "text",
    "|a|b|",
    "|-|-|",
    " ",
    "    ",
    "  ",
    "- ",
    "1. ",
    "> ",
    "\t",
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mixture_of_templates_and_markdown_loses_text(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        let text = pieces.concat();
        parse_as("doc.md", &text);
        parse_as("doc.mdx", &text);
    }
}
