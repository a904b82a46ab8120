//! Books are built here, part by part.

use chunkmill_text::document::{Document, DropReason, Layer, LinkKind, ReadFlag, visible_chars};

use super::*;
use crate::check::{check, kept_and_dropped, layer_of, mutations, zip};
use crate::read as read_file;

const CONTAINER: &str = r#"<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"#;

const METADATA: &str = r##"<dc:title>A &amp; B</dc:title><dc:title>Second</dc:title><dc:creator id="c">Ann</dc:creator><dc:creator>Bob</dc:creator><dc:language>en</dc:language><dc:date opf:event="creation">2001</dc:date><dc:date opf:event="publication">2002-03-04</dc:date><dc:publisher>P</dc:publisher><dc:subject>Tea</dc:subject><dc:subject>Time</dc:subject><dc:identifier>other</dc:identifier><dc:identifier id="uid">urn:isbn:1</dc:identifier><meta refines="#c" property="role">aut</meta>"##;

const NAV: &str = r##"<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>Nav</title></head><body><nav epub:type="toc"><h1>Contents</h1><ol><li><a href="text/ch%201.xhtml">One</a></li><li><span>Part</span><ol><li><a href="text/ch2.xhtml">Two <i>it</i></a><ol><li><a href="text/ch2.xhtml#mid">Middle</a></li></ol></li></ol></li></ol></nav><nav epub:type="landmarks"><ol><li><a href="text/notes.xhtml">Notes</a></li></ol></nav></body></html>"##;

const NCX: &str = r#"<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "x"><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><docTitle><text>A</text></docTitle><navMap><navPoint id="a"><navLabel><text>One</text></navLabel><content src="text/ch%201.xhtml"/><navPoint id="b"><navLabel><text>Two</text></navLabel><content src="text/ch2.xhtml"/></navPoint></navPoint></navMap><pageList><pageTarget><navLabel><text>1</text></navLabel><content src="text/ch2.xhtml#mid"/></pageTarget></pageList></ncx>"#;

const ONE: &str = r##"<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><style>p { color: red }</style></head><body><section id="s"><h1 id="top">First &mdash; chapter</h1><p id="p1">See <a href="ch2.xhtml#mid">the middle</a>, <a href="ch2.xhtml">two</a>, <a href="#p1">here</a>, <a href="Notes.xhtml#n(1)">a note</a>, <a href="https://example.org/x">out</a> and <a href="none.xhtml">none</a>.</p><a id="empty"/><p>Last<!-- a comment -->.</p><p hidden="hidden">unseen</p><img src="../i.png" alt="A picture"/></section></body></html>"##;

const TWO: &str = r##"<html xmlns="http://www.w3.org/1999/xhtml"><body><p>No heading <b>here</p><div id="mid"><p>In the middle.</p></div><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"##;

const NOTES: &str = r##"<html xmlns="http://www.w3.org/1999/xhtml"><body><h2>Notes</h2><p id="n(1)">A note. <a href="ch%201.xhtml">Back</a></p></body></html>"##;

const FILES: [(&str, &str); 5] = [
    ("OEBPS/nav.xhtml", NAV),
    ("OEBPS/toc.ncx", NCX),
    ("OEBPS/text/ch 1.xhtml", ONE),
    ("OEBPS/text/ch2.xhtml", TWO),
    ("OEBPS/text/notes.xhtml", NOTES),
];

/// Returns a book of EPUB 3, or of EPUB 2 without a page that is the table of contents.
fn opf(is_three: bool) -> String {
    let nav = if is_three {
        r#"<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="scripted nav"/>"#
    } else {
        ""
    };
    format!(
        r#"<?xml version="1.0"?><package version="3.0" unique-identifier="uid" xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">{METADATA}</metadata><manifest><item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>{nav}<item id="n" href="text/notes.xhtml" media-type="application/xhtml+xml"/><item id="c1" href="text/ch%201.xhtml" media-type="application/xhtml+xml"/><item id="c2" href="text/ch2.xhtml" media-type="application/xhtml+xml"/><item id="i" href="i.png" media-type="image/png"/></manifest><spine toc="ncx"><itemref idref="n" linear="no"/><itemref idref="nav"/><itemref idref="c1"/><itemref idref="c2"/></spine></package>"#
    )
}

fn book_of(opf: &str, more: &[(&str, &[u8])]) -> Vec<u8> {
    let mut parts: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", CONTAINER.as_bytes()),
        ("OEBPS/content.opf", opf.as_bytes()),
    ];
    parts.extend(more);
    zip(&parts)
}

fn book(is_three: bool) -> Vec<u8> {
    let files = FILES.map(|(name, text)| (name, text.as_bytes()));
    book_of(&opf(is_three), &files)
}

/// Returns a book with one page.
fn page(text: &str) -> Vec<u8> {
    let opf =
        r#"<package><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>"#;
    book_of(opf, &[("OEBPS/a.xhtml", text.as_bytes())])
}

fn refused(bytes: Vec<u8>) -> Skip {
    read_file("a.epub", bytes, &ReadSettings::default()).unwrap_err().reason
}

/// Reads a book with the bytes that the stretches of its pages have, to count them.
fn counted(bytes: &[u8]) -> Layer {
    let source = Layer::from(String::new());
    let mut writer = LayerWriter::new("epub", 1 << 20);
    write(bytes, &mut writer, &ReadSettings::default()).unwrap();
    writer.finish(&source).unwrap()
}

const TEXT: &str = "# First — chapter\n\nSee [the middle](#text/ch2.xhtml#mid), [two](#text/ch2.xhtml), [here](#text/ch%201.xhtml#p1), [a note](#text/notes.xhtml#n%281%29), [out](https://example.org/x) and [none](none.xhtml).\n\nLast.\n\n![A picture](../i.png)\n";

#[test]
fn a_book_has_its_pages_in_order_with_titles_from_the_contents() {
    let layer = layer_of("a.epub", &book(true));
    let two =
        "## Two it\n\nNo heading **here**\n\n### Middle\n\n**In the middle.**\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n";
    assert_eq!(layer.text, format!("{TEXT}\n{two}\n## Notes\n\nA note. [Back](#text/ch%201.xhtml)\n"));
    let layer = layer_of("a.epub", &book(false));
    assert!(layer.text.contains("## Two\n\nNo heading **here**\n\n**In the middle.**"), "{}", layer.text);
    assert_eq!(layer.map.stretches(), Some(&[][..]));
}

#[test]
fn a_book_says_who_wrote_it() {
    let document = Document::parse("a.epub".into(), layer_of("a.epub", &book(true)));
    assert_eq!((document.title.as_deref(), &document.tags[..]), (Some("A & B"), &["Tea".into(), "Time".into()][..]));
    assert_eq!(
        serde_json::to_string(&document.metadata).unwrap(),
        r#"{"author":["Ann","Bob"],"date":"2002-03-04","identifier":"urn:isbn:1","lang":"en","publisher":"P"}"#
    );
}

#[test]
fn places_and_anchors_are_named_by_their_pages() {
    let document = Document::parse("a.epub".into(), layer_of("a.epub", &book(true)));
    let starts = |text: &str| document.text.find(text).unwrap();
    let names: Vec<_> = document.places.iter().map(|(_, place)| &*place.name).collect();
    assert_eq!(
        names,
        [
            "text/ch 1.xhtml#top",
            "text/ch 1.xhtml#p1",
            "text/ch 1.xhtml#empty",
            "text/ch2.xhtml",
            "text/ch2.xhtml#mid",
            "text/notes.xhtml",
            "text/notes.xhtml#n(1)",
        ]
    );
    let anchors: Vec<_> = document.anchors.iter().map(|(name, at)| (&**name, *at)).collect();
    let named: Vec<_> = document.sections.iter().map(|section| &*section.anchor).collect();
    assert!(named.contains(&"text/ch 1.xhtml#top") && named.contains(&"text/ch2.xhtml"), "{named:?}");
    for name in ["text/ch 1.xhtml", "text/ch 1.xhtml#s"] {
        assert!(anchors.contains(&(name, 0)), "{name} {anchors:?}");
    }
    let paragraph = anchors.iter().find(|(name, _)| *name == "text/ch 1.xhtml#p1").unwrap();
    assert!(paragraph.1 <= starts("See [the") && paragraph.1 > 0);
    // The part of a link after its `#` names a place.
    let all: Vec<&str> = anchors.iter().map(|(name, _)| *name).chain(named).collect();
    for link in document.links.iter().filter(|link| link.kind == LinkKind::Link) {
        let Some(place) = link.target.strip_prefix('#') else { continue };
        assert!(all.contains(&&*names::decoded_name(place)), "{place} {all:?}");
    }
}

#[test]
fn each_character_is_read_or_counted() {
    for (bytes, pages) in [(book(true), &[NAV, ONE, TWO, NOTES][..]), (book(false), &[ONE, TWO, NOTES])] {
        let layer = counted(&bytes);
        let (kept, dropped) = kept_and_dropped(&layer);
        let all: u64 = pages.iter().map(|page| text_of(page)).sum();
        // The comment, with the XML declaration, which is one in HTML, and the alternative text.
        let comments = visible_chars(" a comment ") + visible_chars(r#"?xml version="1.0" encoding="utf-8"?"#);
        assert_eq!(kept + dropped, all + comments + visible_chars("A picture"));
        let structure = layer.structure.as_ref().unwrap();
        let navigation = structure.dropped.iter().find(|dropped| dropped.reason == DropReason::Navigation);
        assert_eq!(navigation.is_some(), pages.len() == 4);
    }
}

/// Returns how many characters are between the tags of a page.
fn text_of(page: &str) -> u64 {
    let page = page.replace("<!-- a comment -->", "").replace("&mdash;", "—");
    page.split('<').skip(1).map(|rest| rest.split_once('>').map_or(0, |(_, text)| visible_chars(text))).sum()
}

#[test]
fn a_table_of_contents_is_not_read_but_what_is_beside_it() {
    let opf = r#"<package><manifest><item id="a" href="a.xhtml" properties="nav"/></manifest><spine><itemref idref="a"/></spine></package>"#;
    let links = "<nav><ol><li><a href='#x'>X</a></li></ol></nav>";
    let read = |text: String| book_of(opf, &[("OEBPS/a.xhtml", text.as_bytes())]);
    assert!(matches!(refused(read(format!("<h1>C</h1>{links}"))), Skip::NoText { pictures: false }));
    let text = layer_of("a.epub", &read(format!("{links}<h1 id='x'>Title</h1><p>The text of the book.</p>"))).text;
    assert_eq!(text, "# Title\n\nThe text of the book.\n");
}

#[test]
fn the_contents_of_epub_2_are_left_out_and_the_text_around_them_is_kept() {
    let opf = r#"<package><manifest><item id="a" href="a.xhtml"/><item id="b" href="b.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine><guide><reference type="toc" href="a.xhtml"/></guide></package>"#;
    let list = "<ul><li><a href='b.xhtml'>One</a></li><li><a href='b.xhtml#b'>Two</a></li><li><a href='b.xhtml#c'>Three</a></li></ul>";
    let read = |before: &str| {
        let contents = format!("<h1>Contents</h1>{before}{list}");
        let files: [(&str, &[u8]); 2] = [("OEBPS/a.xhtml", contents.as_bytes()), ("OEBPS/b.xhtml", b"<p>b</p>")];
        layer_of("a.epub", &book_of(opf, &files)).text
    };
    assert_eq!(read(""), "b\n");
    assert_eq!(read("<p>What is in here.</p>"), "# Contents\n\nWhat is in here.\n\nb\n");
}

#[test]
fn a_container_may_name_other_forms_first() {
    let container =
        CONTAINER.replace("<rootfile ", r#"<rootfile full-path="a.pdf" media-type="application/pdf"/><rootfile "#);
    let opf =
        r#"<package><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></package>"#;
    let parts: [(&str, &[u8]); 3] = [
        ("META-INF/container.xml", container.as_bytes()),
        ("OEBPS/content.opf", opf.as_bytes()),
        ("OEBPS/a.xhtml", b"<p>a</p>"),
    ];
    assert_eq!(layer_of("a.epub", &zip(&parts)).text, "a\n");
}

#[test]
fn pages_in_other_encodings_are_decoded() {
    let mut text = br#"<?xml version="1.0" encoding="iso-8859-1"?><p>caf"#.to_vec();
    text.extend(b"\xe9</p>");
    let opf =
        r#"<package><manifest><item id="a" href="a.html"/></manifest><spine><itemref idref="a"/></spine></package>"#;
    assert_eq!(layer_of("a.epub", &book_of(opf, &[("OEBPS/a.html", &text)])).text, "café\n");
    let wide: Vec<u8> = "\u{feff}<p>wide</p>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(layer_of("a.epub", &book_of(opf, &[("OEBPS/a.html", &wide)])).text, "wide\n");
}

#[test]
fn encrypted_books_are_refused_but_not_those_with_hidden_fonts() {
    let list = |method: &str, part: &str| {
        format!(
            r#"<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod Algorithm="{method}"/><enc:CipherData><enc:CipherReference URI="{part}"/></enc:CipherData></enc:EncryptedData></encryption>"#
        )
    };
    let with = |list: &str| {
        let mut files = FILES.map(|(name, text)| (name, text.as_bytes())).to_vec();
        files.push(("META-INF/encryption.xml", list.as_bytes()));
        book_of(&opf(true), &files)
    };
    let aes = "http://www.w3.org/2001/04/xmlenc#aes128-cbc";
    assert!(matches!(refused(with(&list(aes, "OEBPS/text/ch%201.xhtml"))), Skip::Encrypted));
    let text = layer_of("a.epub", &book(true)).text;
    assert_eq!(layer_of("a.epub", &with(&list("http://www.idpf.org/2008/embedding", "OEBPS/f.otf"))).text, text);
    assert_eq!(layer_of("a.epub", &with(&list(aes, "OEBPS/i.png"))).text, text);
}

#[test]
fn books_without_text_or_order_are_refused() {
    assert!(matches!(refused(page("<html><body><img src='a.png'/></body></html>")), Skip::NoText { pictures: false }));
    assert!(matches!(refused(b"no zip".to_vec()), Skip::Malformed { .. }));
    let refusal = refused(zip(&[("mimetype", b"application/epub+zip")]));
    assert_eq!(refusal.to_string(), "cannot be read as a book: it has no part \"META-INF/container.xml\"");
    assert!(matches!(refused(book_of("<package/>", &[])), Skip::NoText { pictures: false }));
}

#[test]
fn a_page_that_is_missing_is_flagged_and_a_part_may_stand_for_another() {
    let opf = r#"<package><manifest><item id="a" href="a.xhtml"/><item id="b" href="b.pdf" media-type="application/pdf" fallback="c"/><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>"#;
    let layer = layer_of("a.epub", &book_of(opf, &[("OEBPS/C.xhtml", b"<p>c</p>")]));
    assert_eq!((&*layer.text, &layer.structure.unwrap().flags[..]), ("c\n", &[ReadFlag::MissingPage][..]));
}

#[test]
fn references_are_followed() {
    let follow = |reference: &str| names::follow("a/b/c.xhtml", reference);
    let some = |part: &str, element: &str| Some((part.to_owned(), element.to_owned()));
    assert_eq!(follow("../d%20e.xhtml#f%2Fg"), some("a/d e.xhtml", "f/g"));
    assert_eq!(follow("#x"), some("a/b/c.xhtml", "x"));
    assert_eq!(follow("/x?y#z"), some("x", "z"));
    assert_eq!(follow("../../../../x%ff"), some("x%ff", ""));
    assert_eq!((follow("mailto:a@b"), follow("//host/x")), (None, None));
    assert_eq!(names::short_name("a", "ab/c"), "/ab/c");
}

#[test]
fn hostile_books_are_read_in_time() {
    let deep = format!("{}text", "<div id='a'><b>".repeat(30_000));
    let links = "<a href='#a%'>x</a> ".repeat(30_000);
    for text in [deep, links] {
        let _ = read_file("a.epub", page(&text), &ReadSettings::default());
    }
    let points = format!("<ncx>{}", "<navPoint><navLabel>x</navLabel><content src='a.xhtml#b'/>".repeat(30_000));
    let files = [("OEBPS/toc.ncx", points.as_bytes()), ("OEBPS/text/ch2.xhtml", TWO.as_bytes())];
    assert!(read_file("a.epub", book_of(&opf(false), &files), &ReadSettings::default()).is_ok());
    let bomb = format!("<p>{}</p>", "a".repeat(70 << 20));
    assert!(matches!(refused(page(&bomb)), Skip::Growth { .. }));
}

#[test]
fn no_change_of_bytes_makes_it_panic() {
    let read = |bytes: Vec<u8>| {
        if let Ok(layer) = read_file("a.epub", bytes, &ReadSettings::default()) {
            check(&layer, None);
        }
    };
    let bytes = book(true);
    let mut state = 7_u64;
    for _ in 0..600 {
        let mut bytes = bytes.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(state >> 33).unwrap() % bytes.len();
            bytes[at] = (state >> 20) as u8;
        }
        read(bytes);
    }
    let opf = opf(true);
    let texts = [CONTAINER, &*opf, NAV, NCX, ONE, TWO, NOTES];
    let names = ["META-INF/container.xml", "OEBPS/content.opf"].into_iter().chain(FILES.map(|(name, _)| name));
    let whole: Vec<(&str, &str)> = names.zip(texts).collect();
    for (changed, text) in texts.iter().enumerate() {
        mutations(&[text], 150, |bytes| {
            let parts: Vec<(&str, &[u8])> = whole
                .iter()
                .enumerate()
                .map(|(at, (name, text))| (*name, if at == changed { bytes } else { text.as_bytes() }))
                .collect();
            read(zip(&parts));
        });
    }
}

#[test]
fn notes_of_pages_have_labels_of_their_own() {
    let text = r##"<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body><p>Word<a epub:type="noteref" href="#n1" id="r1">1</a>.</p><aside epub:type="footnote" id="n1"><p><a href="#r1">1.</a> Note.</p></aside></body></html>"##;
    assert_eq!(layer_of("a.epub", &page(text)).text, "Word[^a-1].\n\n[^a-1]: Note.\n");
}
