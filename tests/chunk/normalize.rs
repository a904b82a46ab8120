//! The cleaned text of a chunk: what is removed, what stays, and what is never touched.

use chunkmill::chunk::{Normalizer, Repeats};
use chunkmill::document::{BlockKind, Document};
use proptest::prelude::*;
use url::Url;

const OFF: Normalizer<'static> = Normalizer { whitespace: false, unicode: false, redact_urls: false, base_url: None };
const WHITESPACE: Normalizer<'static> = Normalizer { whitespace: true, ..OFF };
const UNICODE: Normalizer<'static> = Normalizer { unicode: true, ..OFF };
const REDACT: Normalizer<'static> = Normalizer { redact_urls: true, ..OFF };
const ALL: Normalizer<'static> = Normalizer { whitespace: true, unicode: true, redact_urls: true, base_url: None };

/// Cleans a whole document.
fn whole(normalizer: &Normalizer<'_>, path: &str, text: &str) -> String {
    let document = Document::from_text(path, text);
    normalizer.normalize(&document, &Repeats::default(), document.body.clone())
}

fn table(normalizer: &Normalizer<'_>, rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(whole(normalizer, "guide/a.md", text), *expected, "{text:?}");
    }
}

#[test]
fn layout_goes_and_markdown_structure_stays() {
    table(
        &WHITESPACE,
        &[
            ("", ""),
            (" \n\t\n\u{a0}\n", ""),
            ("one two", "one two"),
            ("one   two\tthree\u{a0}\u{3000}four \u{2009}five", "one two three four five"),
            ("zero\u{200b}width\u{feff}  stays", "zero\u{200b}width\u{feff} stays"),
            ("trailing  \nspace\u{a0}\t\n", "trailing\nspace"),
            ("\n \n\na\n\n\n \n\nb\n\n", "a\n\nb"),
            ("a\r\nb\r\n\r\n\r\n\r\nc\rd", "a\nb\n\nc\nd"),
            ("#   Title   here  \ntext", "# Title here\ntext"),
            ("- a   b\n  - c   d\n\n\n    e   f\n", "- a b\n  - c d\n\n    e f"),
            ("-   a   b\n\n      c   d\n", "-   a b\n\n      c d"),
            ("12.  a   b\n     c   d", "12.  a b\n     c d"),
            (">  - a   b\n>    - c   d\n>\t\n> e", ">  - a b\n>    - c d\n>\n> e"),
            ("a  b\n    # no heading  here", "a b\n    # no heading here"),
            ("| a    | b |\n|------|---|\n| c    | d |", "| a | b |\n|------|---|\n| c | d |"),
            ("\u{3000}\u{3000}日本語\u{3000}テキスト", "日本語 テキスト"),
            ("<div>\n  <b>a   b</b>\n</div>", "<div>\n  <b>a b</b>\n</div>"),
        ],
    );
}

#[test]
fn code_keeps_its_white_space_but_not_its_carriage_returns() {
    table(
        &WHITESPACE,
        &[
            ("a   b\n\n```\nx  =  1  \n\n\n\ty\n```\n\n\n\nc   d", "a b\n\n```\nx  =  1  \n\n\n\ty\n```\n\nc d"),
            ("```\r\nx  =  1\r\n\r\n\r\ny\r\n```\r\n", "```\nx  =  1\n\n\ny\n```"),
            ("a\n\n    x  =  1\n\n\n    y  =  2\n\nb   c", "a\n\n    x  =  1\n\n\n    y  =  2\n\nb c"),
            ("- a   b\n\n  ~~~\n  x  =  1\n  ~~~\n- c   d", "- a b\n\n  ~~~\n  x  =  1\n  ~~~\n- c d"),
            ("> ```\n> x   y\n> ```\n> a   b", "> ```\n> x   y\n> ```\n> a b"),
            ("<pre>\nx   y\n</pre>\n\na   b", "<pre>\nx   y\n</pre>\n\na b"),
            ("<PRE class=a>x   y</pre>\n\na   b", "<PRE class=a>x   y</pre>\n\na b"),
            (
                "<div  a>\n<pre>\nx   y\n</pre>\n<b>a   b</b>\n<STYLE>a   {\n}</STYLE >\n</div>",
                "<div a>\n<pre>\nx   y\n</pre>\n<b>a b</b>\n<STYLE>a   {\n}</STYLE >\n</div>",
            ),
            ("<div>\n<prefix>x   y\n<textarea>x   </text>  y", "<div>\n<prefix>x y\n<textarea>x   </text>  y"),
            ("`x   y` is inline", "`x y` is inline"),
            ("```\nnever closed   \n\n\n", "```\nnever closed   "),
        ],
    );
}

#[test]
fn plain_text_has_no_structure_but_indentation() {
    let text = "   Chapter   I\n\n\n\n-   one\n    > two\n```\nx   y\n```\n";
    assert_eq!(whole(&WHITESPACE, "a.txt", text), "   Chapter I\n\n- one\n    > two\n```\nx y\n```");
    let script = "if x\n\tthen  {\n\t\ty   \n\n\n    }";
    assert_eq!(whole(&WHITESPACE, "a.sh", script), "if x\n\tthen {\n\t\ty\n\n    }", "an unknown format");
}

#[test]
fn unicode_is_composed_in_code_as_well() {
    table(
        &UNICODE,
        &[
            ("cafe\u{301}  \u{212b}", "caf\u{e9}  \u{c5}"),
            ("```\ne\u{301}\n```", "```\n\u{e9}\n```"),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
            ("ﬁ stays ½", "ﬁ stays ½"),
        ],
    );
}

#[test]
fn urls_lose_query_and_user_wherever_they_stand() {
    table(
        &REDACT,
        &[
            ("see https://x.org/a?token=s, then", "see https://x.org/a, then"),
            ("see https://x.org/a?token=s.", "see https://x.org/a."),
            ("is it https://x.org/a?", "is it https://x.org/a?"),
            ("(https://x.org/a?b=(c)&d[]=e)", "(https://x.org/a)"),
            ("https://x.org/a?b=c#part-2", "https://x.org/a#part-2"),
            ("https://x.org/#/a?b", "https://x.org/#/a?b"),
            ("https://x.org/a?b=1&#38;token=s#end", "https://x.org/a#end"),
            ("<https://x.org/?a=b>", "<https://x.org/>"),
            ("[a](https://x.org/?a=b \"title?\")", "[a](https://x.org/ \"title?\")"),
            ("[a](<https://x.org/?a=b c d>)", "[a](<https://x.org/>)"),
            ("[https://x.org?a](https://x.org?a)", "[https://x.org](https://x.org)"),
            ("[a]\n\n[a]: https://x.org/?a=b 'title?'", "[a]\n\n[a]: https://x.org/ 'title?'"),
            ("**https://x.org/?a=b**", "**https://x.org/**"),
            ("https://x.org/\\_a?b\\_c\\)d e", "https://x.org/\\_a e"),
            ("<a href=\"https://x.org/?a=b\">", "<a href=\"https://x.org/\">"),
            ("<a href='https://x.org/?a=b'>", "<a href='https://x.org/'>"),
            ("https://x.org/?q=O'Brien&token=s end", "https://x.org/ end"),
            ("```\ncurl \"https://u:p@x.org/?key=s\"\n```", "```\ncurl \"https://x.org/\"\n```"),
            ("`wss://x.org/?key=s`", "`wss://x.org/`"),
            ("    let url = \"https://x.org/?a=b\\n\";", "    let url = \"https://x.org/\\n\";"),
            ("postgres://u:p@ss@db/name ftp://u@h/f", "postgres://db/name ftp://h/f"),
            ("https://user:pa#ss@host/ mysql://u:p?w@h/x?y", "https://host/ mysql://h/x"),
            ("https://user:p@ss/w@rd@host.com/x", "https://host.com/x"),
            ("[a](https://u:/p@host/x) (https://u:p#(w)@h)", "[a](https://host/x) (https://h)"),
            ("http://localhost:8080/@me http://[::1]/@me", "http://localhost:8080/@me http://[::1]/@me"),
            ("https://medium.com/@someone u@x.org", "https://medium.com/@someone u@x.org"),
            ("| a |\n|---|\n|https://x.org?a=b|c|", "| a |\n|---|\n|https://x.org|c|"),
            ("https://x.org?titles=A|B&token=s end", "https://x.org end"),
            ("見よhttps://x.org/?q=日本&t=s。次の文", "見よhttps://x.org/。次の文"),
            ("[a](page.md?token=s#part) ![b](/c.png?x)", "[a](page.md#part) ![b](/c.png)"),
            ("[a](//cdn.org/p?x=1&amp;y=2)", "[a](//cdn.org/p)"),
            ("[a]\n\n[a]: page.md?token=s", "[a]\n\n[a]: page.md"),
            ("[![b](c.png?x)](d.md?y)", "[![b](c.png)](d.md)"),
            ("what? [no](x.md) link://, ://?x", "what? [no](x.md) link://, ://?x"),
        ],
    );
}

#[test]
fn relative_destinations_become_absolute() {
    let base = Url::parse("https://x.org/docs").unwrap();
    let normalizer = Normalizer { base_url: Some(&base), ..OFF };
    table(
        &normalizer,
        &[
            ("[b](b.md)", "[b](https://x.org/docs/guide/b.md)"),
            ("[b](../b.md#part \"a title\")", "[b](https://x.org/docs/b.md#part \"a title\")"),
            ("[b](/b.md?q=1)", "[b](https://x.org/b.md?q=1)"),
            ("![b](<b c.png>)", "![b](<https://x.org/docs/guide/b%20c.png>)"),
            (
                "[b](b_(c).md) [d](d\\(.md)",
                "[b](https://x.org/docs/guide/b_(c).md) [d](https://x.org/docs/guide/d%28.md)",
            ),
            ("[b](b.md?a=1&amp;c=2)", "[b](https://x.org/docs/guide/b.md?a=1&c=2)"),
            ("[`](z`](b.md)", "[`](z`](https://x.org/docs/guide/b.md)"),
            ("[![i](i.png)](b.md)", "[![i](https://x.org/docs/guide/i.png)](https://x.org/docs/guide/b.md)"),
            ("[b]\n\n[b]: b.md 'title'\n", "[b]\n\n[b]: https://x.org/docs/guide/b.md 'title'\n"),
            ("[b]\n\n  [b]:\n  <b c.md>", "[b]\n\n  [b]:\n  <https://x.org/docs/guide/b%20c.md>"),
            (
                "[b]\r\n\r\n[b]: b.md\r\n[c]: c.md",
                "[b]\r\n\r\n[b]: https://x.org/docs/guide/b.md\r\n[c]: https://x.org/docs/guide/c.md",
            ),
            ("[b]\n\n[b]:\r\n b.md", "[b]\n\n[b]:\r\n https://x.org/docs/guide/b.md"),
            ("[b](b.md \"[c](c.md\")", "[b](b.md \"[c](c.md\")"),
            (
                "[b](#part) [[b]] ![[b]] [c](https://y.org/) <a@b.c>",
                "[b](#part) [[b]] ![[b]] [c](https://y.org/) <a@b.c>",
            ),
            (
                "[b](mailto:a@b.c) [c]() `[d](d.md)`\n\n    [e](e.md)",
                "[b](mailto:a@b.c) [c]() `[d](d.md)`\n\n    [e](e.md)",
            ),
        ],
    );
    let redacting = Normalizer { redact_urls: true, ..normalizer };
    table(&redacting, &[("[b](b.md?token=s#part)", "[b](https://x.org/docs/guide/b.md#part)")]);
}

#[test]
fn a_link_has_an_absolute_url() {
    let base = Url::parse("https://u:p@x.org/docs/?v=1").unwrap();
    let document = Document::from_text("a b/c?d.md", "");
    let absolute =
        |redact_urls, target| Normalizer { redact_urls, base_url: Some(&base), ..OFF }.absolute(&document, target);
    assert_eq!(absolute(false, "e.md").unwrap(), "https://u:p@x.org/docs/a%20b/e.md");
    assert_eq!(absolute(true, "e.md?x#y").unwrap(), "https://x.org/docs/a%20b/e.md#y");
    assert_eq!(absolute(true, "#part").unwrap(), "https://x.org/docs/a%20b/c%3Fd.md#part");
    assert_eq!(absolute(true, "https://y.org?token=s").unwrap(), "https://y.org/");
    assert_eq!(absolute(false, "https://y.org?token=s").unwrap(), "https://y.org?token=s");
    assert_eq!(absolute(true, "mailto:a@b.c?subject=s").unwrap(), "mailto:a@b.c?subject=s");
    assert_eq!(absolute(true, "https://[bad"), None);
    assert_eq!(absolute(true, "https://u:p@ss/w@rd@y.org/x").unwrap(), "https://y.org/x");
    assert_eq!(absolute(true, "https://u:p?w@y.org/x?z").unwrap(), "https://y.org/x");
    assert_eq!(REDACT.absolute(&document, "e.md"), None);
    let no_folder = Url::parse("mailto:a@b.c").unwrap();
    assert_eq!(Normalizer { base_url: Some(&no_folder), ..OFF }.absolute(&document, "e.md"), None);
}

/// Cleans the first occurrence of `part`, with an overlap: the text just before it, otherwise anywhere before it.
fn part(normalizer: &Normalizer<'_>, text: &str, overlap: &str, part: &str) -> String {
    let document = Document::from_text("a.md", text);
    let start = text.find(part).unwrap();
    let at = if text[..start].ends_with(overlap) { start - overlap.len() } else { text.find(overlap).unwrap() };
    let overlap = (!overlap.is_empty()).then_some(at..at + overlap.len());
    normalizer.normalize(&document, &Repeats { overlap, ..Repeats::default() }, start..start + part.len())
}

#[test]
fn prefix_and_source_are_one_text() {
    let text = "# A\n\none   two   three\n\n```\nx  y\nz  w\n```\n";
    assert_eq!(part(&WHITESPACE, text, "# A", "one   two"), "# A\n\none two");
    assert_eq!(part(&WHITESPACE, text, "on", "e   two"), "one two", "a window cut inside a word");
    assert_eq!(part(&WHITESPACE, text, "one ", "  two   three"), "one two three");
    assert_eq!(part(&WHITESPACE, text, "x  y\n", "z  w"), "x  y\nz  w", "code before code is known as such");
    let html = "<div>\n<pre>\nx  y\nz  w\n</pre>\n</div>\n";
    assert_eq!(part(&WHITESPACE, html, "", "z  w"), "z  w", "the chunk starts inside the element");
    assert_eq!(part(&WHITESPACE, text, "one   two", "z  w"), "one two\n\nz  w");
    assert_eq!(part(&WHITESPACE, "a\r\nb", "a\r", "\nb"), "a\nb", "a line end half in each");
    assert_eq!(part(&UNICODE, "e\u{301}x", "e", "\u{301}x"), "\u{e9}x");
    assert_eq!(part(&REDACT, "https://x.org/?a b", "https://x.org/?a ", "b"), "https://x.org/ b");
}

#[test]
fn a_secret_that_a_chunk_border_cuts_does_not_leak() {
    let text = "see https://user:password@x.org/?token=secret&more=1#end and [a](b.md)\n\n[c]: d.md";
    assert_eq!(part(&REDACT, text, "", "see https://user:pass"), "see https://user:pass");
    assert_eq!(part(&REDACT, text, "", "word@x.org/?tok"), "x.org/");
    assert_eq!(part(&REDACT, text, "?tok", "en=secret&more=1#end and"), "#end and");
    assert_eq!(part(&REDACT, text, "", "et&more=1#end"), "#end");
    let base = Url::parse("https://x.org/").unwrap();
    let cut = Normalizer { base_url: Some(&base), ..OFF };
    assert_eq!(part(&cut, text, "", "and [a](b."), "and [a](b.", "half a destination is not replaced");
    assert_eq!(part(&cut, text, "", "[c]: d.m"), "[c]: d.m");
    assert_eq!(part(&cut, text, "", "[c]: d.md"), "[c]: https://x.org/d.md");
}

#[test]
fn long_lines_cost_linear_time() {
    let unit = "https://u@x.org/(?a](b?c [x](y?z) \\";
    let html = "<div><pre>a   ";
    for text in [
        unit.repeat(20_000),
        html.repeat(20_000),
        "a:".repeat(200_000),
        "](".repeat(200_000),
        "://".repeat(200_000),
        "[".repeat(50_000),
    ] {
        let document = Document::from_text("a.md", text.as_str());
        let base = Url::parse("https://x.org/").unwrap();
        let normalizer = Normalizer { base_url: Some(&base), ..ALL };
        let mut length = 0;
        // As chunks of a long line, and as a whole.
        for start in (0..text.len()).step_by(1000) {
            length += normalizer.normalize(&document, &Repeats::default(), start..(start + 1000).min(text.len())).len();
        }
        assert!(length > 0 && !normalizer.normalize(&document, &Repeats::default(), 0..text.len()).is_empty());
    }
}

/// Returns the characters that must not be lost.
fn ink(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn blocks(text: &str, keep: impl Fn(BlockKind) -> bool) -> Vec<(BlockKind, String)> {
    let document = Document::from_text("a.md", text);
    let blocks = document.blocks.iter().filter(|block| keep(block.kind));
    blocks.map(|block| (block.kind, text[block.range.clone()].trim_end().to_owned())).collect()
}

/// Generates Markdown with more layout than it needs. It starts with a heading, so no part of it is read as front
/// matter.
fn markdown() -> impl Strategy<Value = String> {
    let word = "[a-z]{1,5}|[a-z]{1,5}|e\u{301}|日本|\u{212b}|🚲|[a-z]\\*\\*|`x  y`|https://x\\.org/a\\?b=c#d|\\[a\\]\\(b\\?c\\)|ftp://u:p@h/";
    let space = prop_oneof![4 => Just(" "), 2 => Just("   "), 1 => Just("\t"), 1 => Just(" \u{a0} "), 1 => Just("\u{2009}"), 1 => Just("  \n"), 1 => Just("\n   ")];
    let words = prop::collection::vec((word, space), 1..8);
    let inline = words.prop_map(|words| words.into_iter().map(|(word, space)| word + space).collect::<String>());
    let block = (inline.clone(), inline, 0..13usize).prop_map(|(a, b, kind)| match kind {
        0 => format!("##   {a}\n{b}"),
        1 => format!("```\n{a}\n\n\n  {b}\n```"),
        2 => format!("-   {}\n  -  {}\n\n    - c  d", a.replace('\n', " "), b.replace('\n', " ")),
        3 => format!("12.  {}\n\n     ~~~\n     x   y\n     ~~~", a.replace('\n', " ")),
        4 => format!("| {} |  b |\n|---|:-----|\n|  c | {} |", a.replace('\n', " "), b.replace('\n', " ")),
        5 => format!(">   {}\n>\n>     code  x\n> - {}", a.replace('\n', " "), b.replace('\n', " ")),
        6 => format!("<div>\n   {a}<pre>x   y</pre></div>"),
        7 => format!("<pre>\n{a}\n\n\n{b}</pre>"),
        8 => "    code  x\n\n\n    y".to_owned(),
        9 => "[a]:   b.md?c   'title'".to_owned(),
        10 => format!("{a}\n==="),
        _ => a,
    });
    let gap = prop_oneof![2 => Just("\n\n"), 1 => Just("\r\n\r\n"), 1 => Just("\n \n\t\n\n"), 1 => Just("\n\n\n\n\n")];
    prop::collection::vec((block, gap), 0..9).prop_map(|blocks| {
        "# t\n\n".to_owned() + &blocks.into_iter().map(|(block, gap)| block + gap).collect::<String>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cleaned_text_is_clean(text in markdown(), whitespace: bool, unicode: bool, redact_urls: bool) {
        let normalizer = Normalizer { whitespace, unicode, redact_urls, base_url: None };
        let once = whole(&normalizer, "a.md", &text);
        prop_assert_eq!(whole(&normalizer, "a.md", &once), once);
    }

    #[test]
    fn white_space_alone_is_lost_and_the_structure_stays(text in markdown()) {
        let clean = whole(&WHITESPACE, "a.md", &text);
        prop_assert_eq!(ink(&clean), ink(&text));
        prop_assert!(!clean.contains("\n\n\n") || blocks(&clean, |_| true).iter().any(|(_, text)| text.contains("\n\n\n")));
        let code = |kind| kind == BlockKind::Code;
        let unix = text.replace("\r\n", "\n");
        prop_assert_eq!(blocks(&clean, code), blocks(&unix, code));
        let kinds = |text: &str| blocks(text, |_| true).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
        prop_assert_eq!(kinds(&clean), kinds(&unix));
    }

    #[test]
    fn every_part_of_any_text_is_cleaned_without_loss(text in any::<String>(), cuts in any::<[prop::sample::Index; 3]>()) {
        let document = Document::from_text("a.md", text.as_str());
        let mut cuts = cuts.map(|cut| text.floor_char_boundary(cut.index(text.len() + 1)));
        cuts.sort_unstable();
        let [start, end, at] = cuts;
        // Alone, after the text just before it, after other text before it.
        for (overlap, range) in [(None, 0..at), (Some(start..at), at..text.len()), (Some(start..end), at..text.len())] {
            let repeats = Repeats { overlap: overlap.filter(|overlap| !overlap.is_empty()), ..Repeats::default() };
            let raw = format!("{}{}", repeats.before(&document, range.start), &text[range.clone()]);
            prop_assert_eq!(OFF.normalize(&document, &repeats, range.clone()), raw.clone());
            prop_assert_eq!(ink(&WHITESPACE.normalize(&document, &repeats, range.clone())), ink(&raw));
            let composed = UNICODE.normalize(&document, &repeats, range.clone());
            let again = Document::from_text("a.md", composed.as_str());
            prop_assert_eq!(UNICODE.normalize(&again, &Repeats::default(), 0..composed.len()), composed.clone());
            let clean = Normalizer { unicode: true, ..WHITESPACE }.normalize(&document, &repeats, range);
            prop_assert_eq!(ink(&clean), ink(&composed));
        }
    }

    #[test]
    fn what_looks_like_urls_is_redacted_once(text in "([a-z]{1,2}|://|[@?#&\\\\()\\[\\]<>\"'`|. ]|\n){0,40}") {
        let once = whole(&REDACT, "a.txt", &text);
        prop_assert_eq!(whole(&REDACT, "a.txt", &once), once);
        whole(&ALL, "a.md", &text);
    }
}
