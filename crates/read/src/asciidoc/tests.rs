//! AsciiDoc from the file to the layer: its blocks, its places, and the count of what is left out.

use chunkmill_text::document::{Document, DropReason, Layer};

use crate::check;

#[track_caller]
fn counted(text: &str) -> Layer {
    check::counted("a.adoc", text)
}

#[track_caller]
fn reads(text: &str, expected: &str) {
    assert_eq!(counted(text).text, expected);
}

const SAMPLES: [&str; 8] = [
    "// first\n= The *Title*\nJane Doe <jane@x.org>; Bob R. Roe\nv1.2, 2024-05-01: Last one\n:toc:\n:keywords: one, two\n:url: https://x.org/a\n:name: A longer name \\\n  on two lines\n\nIntro of {name} at {url}[the site] and {none}, {empty}{sp}.\n\n[[here]]\n== Section\n\nSee <<here>>, <<here,the *place*>>, <<Other part>>, xref:b.adoc#c[C], xref:d#e[].\n\n[#own]\n=== Other part ===\n\nTitle\n-----\nText +\nbroken.\n\n'''\n\n<<<\n\n## Marked\n\nifdef::x[]\nShown.\nendif::[]\nifndef::y[One line.]\n\ninclude::part.adoc[leveloffset=1]\n",
    ".Code\n[source,rust]\n----\nfn a() {} // <1>\n\n  *b*\n----\n<1> First.\n<2> Second.\n\n....\nlit\n....\n\n```sh\nls\n```\n\n  indented\n    more\n\n====\nExample.\n\n. one\n====\n\n****\nSide.\n****\n\n[quote, A. Person, A book]\n____\nQuoted.\n____\n\n[verse]\n____\na\n  b\n____\n\n++++\n<br>\n++++\n\n[stem]\n++++\nx^2\n++++\n\n--\nOpen.\n--\n\n////\nhidden\n////\n// line\n\n[WARNING]\n.Careful\n====\nDo not.\n\nReally.\n====\n\nNOTE: A note\nof two lines.\n\n[TIP]\nA tip.\n\n----\nopen",
    "* a\n** b\nmore\n*** c\n* d\n+\n----\ncode\n----\n+\nSecond.\n\n* [x] done\n* [ ] open\n* [*] star\n\n//-\n\n. one\n.. two\n. three\n\n//-\n\n4. four\n5. five\n\n//-\n\n- x\n\n  literal\n\n- y\n// comment\n\n//-\n\nTerm:: Meaning.\nOther::\n  Below it.\n  Two lines.\nOuter:::\nInner;; text\n* item\n+\nAttached.\n\na. letter\n\nText after.\n",
    ".People\n[cols=\"1,2a\",options=\"header\"]\n|===\n|Name |Age\n\n|Ann\n|4 \\| 2\n\n2+|wide *one*\n.2+^.>s|tall |x\n|y\n3*|z\n|===\n\n,===\na,\"b \"\"q\"\" c\",d\n\"e\nf\",g\n,===\n\n[format=dsv]\n|===\na:b\nc:d\n|===\n\n!===\n!n !m\n!===\n\n|===\nl|lit *x* m|mono *y* e|em\n|===\n",
    "A *b* _c_ `d` ``e``f **g**h __i__j #k# [.role]#l# x^2^ H~2~O +*p*+ ++q++ +++<b>+++ pass:[*r*] stem:[x^2] kbd:[Ctrl+C] btn:[OK] menu:File[Open > New] image:i.png[An image,100] icon:x[] \"`quoted`\" '`single`' ((term)) (((hid, den))) [[in]]here anchor:an[] footnote:[A *note*.] footnote:n[Named.] footnote:n[] http://a.b/c. https://d.e[text,role=x] <https://f.g> mailto:a@b.c[Mail] link:file.html[\"A, b\",window=_blank] \\*not* \\{name} \\http://x.y `a *b* {x}` *a _b `c` d_ e* a*b*c ** * _ ` # + ^ ~\n",
    "[[[ref]]] [bibliography]\n* [[[one]]] Book.\n\nimage::a b.png[Alt text]\n\nvideo::v.mp4[]\n\nfoo::bar[x]\n\n[source]\nint x;\n\n[discrete]\n== Not a section\n\n:attr!:\n:!other:\n\n.Title only\n\n[abstract]\nShort.\n\n+\n\n*\n\n.\n\n[]\n\n|===\n",
    "\u{feff}= T\r\n\r\nA *é* b +\r\nc\r\n\r\n* x\r\n+\r\ny\r\n\r\n|===\r\n|é |b\r\n|===\r\n\u{a0}nb\u{a0}\r\n\u{b}\r\n",
    "* a\n- b\n* c\n- d\n. e\n.. f\n... g\n.... h\n..... i\n\n+\nz\n\n====\n====\n--\n****\n____\n====\nx\n",
];

#[test]
fn a_document_says_who_wrote_it() {
    let layer = counted(SAMPLES[0]);
    let read = layer.structure.as_deref().unwrap();
    assert_eq!((read.title.as_deref(), &*read.tags.join("+")), (Some("The Title"), "one+two"));
    let keys = ["author", "authors", "email", "date", "version"];
    let about: Vec<_> = keys.iter().map(|key| read.metadata[*key].as_str().unwrap()).collect();
    assert_eq!(about, ["Jane Doe", "Jane Doe; Bob R. Roe", "jane@x.org", "2024-05-01", "1.2"]);
    let intro = "# The **Title**\n\nIntro of A longer name on two lines at [the site](https://x.org/a) and {none}, .\n";
    assert!(layer.text.starts_with(intro), "{}", layer.text);
    assert!(layer.text.ends_with("Shown.\nOne line.\n\n`include::part.adoc[leveloffset=1]`\n"));
    let document = Document::parse("a.adoc".into(), layer);
    let sections: Vec<_> = document.sections.iter().map(|s| (s.level, s.title.as_str(), s.anchor.as_str())).collect();
    assert_eq!(
        sections,
        [
            (1, "The Title", "the-title"),
            (2, "Section", "here"),
            (3, "Other part", "own"),
            (2, "Title", "title"),
            (2, "Marked", "marked")
        ]
    );
    let targets: Vec<_> = document.links.iter().map(|link| link.target.as_str()).collect();
    assert_eq!(targets, ["https://x.org/a", "#here", "#here", "#_other_part", "b.adoc#c", "d.adoc#e"]);
    assert!(document.anchors.iter().any(|(name, _)| name == "_title"));
}

#[test]
fn a_reference_to_an_attribute_stands_for_its_bytes() {
    let document = Document::parse("a.adoc".into(), counted(":v: 1.2.3\n\nSee {v}.\n"));
    assert_eq!((&*document.text, document.place(&(5..6))), ("See 1.2.3.\n", 15..18));
}

#[test]
fn blocks_have_the_kind_of_their_lines() {
    reads(
        SAMPLES[1],
        "**Code**\n\n```rust\nfn a() {} // <1>\n\n  *b*\n```\n\n1. First.\n2. Second.\n\n```\nlit\n```\n\n```sh\nls\n```\n\n```\nindented\n  more\n```\n\nExample.\n\n1. one\n\n> Side.\n\n> Quoted.\n>\n> \u{2014} A. Person, A book\n\n> a\n>   b\n\n$$\nx^2\n$$\n\nOpen.\n\n> **Careful**\n>\n> **Warning:** Do not.\n>\n> Really.\n\n> **Note:** A note\n> of two lines.\n\n> **Tip:** A tip.\n\n```\nopen\n```\n",
    );
}

#[test]
fn lists_are_nested_by_their_marks() {
    reads(
        SAMPLES[2],
        "- a\n\n  - b\n    more\n    - c\n\n- d\n\n  ```\n  code\n  ```\n\n  Second.\n\n- [x] done\n- [ ] open\n- [x] star\n\n1. one\n   1. two\n2. three\n\n4. four\n5. five\n\n- x\n\n  ```\n  literal\n  ```\n\n- y\n\nTerm\n\n: Meaning.\n\nOther\n\n: Below it.\n  Two lines.\n\n  Outer\n\n  : Inner\n\n    : text\n\n      - item\n\n        Attached.\n\n        1. letter\n\nText after.\n",
    );
}

#[test]
fn cells_take_the_columns_that_they_say() {
    let text = counted(SAMPLES[3]).text;
    let people = "**People**\n\n| Name | Age |\n| --- | --- |\n| Ann | 4 \\| 2 |\n| wide **one** | |\n| **tall** | x |\n| | y |\n| z | z |\n| z | |\n\n";
    assert!(text.starts_with(people), "{text}");
    assert!(text.contains("| a | b \"q\" c | d |\n| --- | --- | --- |\n| e f | g | |\n"), "{text}");
    assert!(text.contains("| a | b |\n| --- | --- |\n| c | d |\n\n| n | m |\n"), "{text}");
    assert!(text.ends_with("| `lit *x*` | `mono y` | *em* |\n| --- | --- | --- |\n"), "{text}");
}

#[test]
fn marks_are_read_where_they_may_stand() {
    reads(
        SAMPLES[4],
        "A **b** *c* `d` `e`f **g**h *i*j k l x^2 H2O *p* q <b> *r* $x^2$ Ctrl+C OK File > Open > New ![An image](i.png)  \u{201c}quoted\u{201d} \u{2018}single\u{2019} term  here  [^1] [^2] [^2] http://a.b/c. [text](https://d.e) https://f.g [Mail](mailto:a@b.c) [A, b](file.html) *not* {name} http://x.y `a b {x}` **a *b `c` d* e** a*b*c ** * _ ` # + ^ ~\n\n[^1]: A **note**.\n\n[^2]: Named.\n",
    );
}

#[test]
fn comments_are_counted() {
    let layer = counted("a\n\n// x\n////\nyz\n////\n");
    let read = layer.structure.unwrap();
    assert_eq!(read.dropped.iter().map(|d| (d.reason, d.chars)).collect::<Vec<_>>(), [(DropReason::Comment, 13)]);
}

/// Texts that are repeated to make a file whose end tags are missing, or whose nesting is deep.
const HOSTILE: [&str; 27] = [
    "*",
    "`a ",
    "\\*a ",
    "<<",
    "<< a",
    "[[",
    "[",
    "link:",
    "link:a[",
    "====\n",
    "* a\n- b\n",
    "* a\n[x]\n",
    "((",
    "footnote:[",
    "{a}",
    "|===\n|",
    "\"`",
    "a^b",
    "[quote]\n",
    ".t\n",
    "http://",
    "+++",
    "* a\n+\n",
    "a::\n",
    "image::",
    "\"",
    "_a *b `c ",
];

#[test]
fn all_characters_of_all_samples_are_counted() {
    for sample in SAMPLES {
        counted(sample);
    }
}

#[test]
fn any_text_is_read_and_counted() {
    check::mutations_are_counted("a.adoc", &SAMPLES);
}

#[test]
fn hostile_texts_take_linear_time() {
    check::takes_linear_time("a.adoc", &HOSTILE);
}

#[test]
fn soft_hyphens_and_spaces_without_width_are_left_out_and_counted() {
    reads("so\u{ad}ft\u{200b} hy\u{ad}phen\u{200d}s\n\n\u{200b}\n", "soft hyphen\u{200d}s\n");
}

#[test]
fn a_power_is_written_with_a_caret() {
    reads("10^6^ 1^st^ x^(n)^ y^_n_^ `2^8^` ^3^ H~2~O\n", "10^6 1st x^(n) y^*n* `2^8` 3 H2O\n");
}

#[test]
fn signs_are_written_as_they_are_meant() {
    reads(
        "(C) (R) (TM) a -- b, c--d -- e... f->g => <- <= `a -> b --` \\(C) \\-> x.... --opt ----\n",
        "© ® ™ a — b, c—d — e… f→g ⇒ ← ⇐ `a -> b --` (C) -> x.... --opt ----\n",
    );
}

#[test]
fn an_image_may_name_its_text_and_raw_markup_with_words_is_code() {
    reads(
        "image::x.png[alt=Al t,width=3]\n\nimage::y.png[width=3, alt=\"A, b\"]\n\nimage:z.png[Zed,10] image:w.png[width=1]\n",
        "![Al t](x.png)\n\n![A, b](y.png)\n\n![Zed](z.png) ![](w.png)\n",
    );
    reads("++++\n<p>Seen</p>\n++++\n\n++++\n<br class=\"x\">\n++++\n", "```html\n<p>Seen</p>\n```\n");
}

#[test]
fn no_mark_counts_between_plus_signs() {
    reads(
        "The *Log++*++Event* and `12++`*++4` and (`++`++r`, `++`++n`).\n",
        "The **Log*Event** and ``12`*4`` and (`` `r ``, `` `n ``).\n",
    );
    reads("An \\++c*d++ *e*, C++ or *g*.\n", "An ++c*d++ **e**, C++ or **g**.\n");
}
