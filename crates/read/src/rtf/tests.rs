//! RTF from the file to the layer: its blocks, its places, and the count of what is left out.

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Document, DropReason, Layer, ReadFlag};

use crate::check::layer_of;
use crate::{ReadSettings, read};

/// Reads a document with these contents.
fn rtf(body: &str) -> Layer {
    layer_of("a.rtf", format!("{{\\rtf1\\ansi {body}}}").as_bytes())
}

fn text(body: &str) -> String {
    rtf(body).text
}

fn dropped(layer: &Layer) -> Vec<(DropReason, u64)> {
    let read = layer.structure.as_ref().expect("a reader wrote it");
    let mut all: Vec<_> = read.dropped.iter().map(|dropped| (dropped.reason, dropped.chars)).collect();
    all.sort();
    all
}

fn places(layer: &Layer) -> Vec<(usize, &str)> {
    let read = layer.structure.as_ref().expect("a reader wrote it");
    read.places.iter().map(|(at, place)| (*at, &*place.name)).collect()
}

#[test]
fn paragraphs_have_their_ordinals() {
    let layer = rtf("One\\par\\par Two\r\n still\\\r\nThree");
    assert_eq!(layer.text, "One\n\nTwo still\n\nThree\n");
    assert_eq!(places(&layer), [(0, "par 1"), (4, "par 3"), (15, "par 4")]);
}

#[test]
fn other_files_are_refused() {
    for bytes in [&b"Hello"[..], b"", b"{\\rt"] {
        let refusal = read("a.rtf", bytes.to_vec(), &ReadSettings::default()).unwrap_err();
        assert!(matches!(refusal.reason, Skip::Malformed { format: "an RTF file", .. }), "{:?}", refusal.reason);
    }
    assert_eq!(layer_of("a.rtf", b"\xef\xbb\xbf \n{\\rtf1 a").text, "a\n");
}

#[test]
fn bytes_are_decoded_by_the_font_and_the_document() {
    assert_eq!(text("caf\\'e9 \\'93a\\'94 \\'x \\'a"), "café “a” x a\n");
    assert_eq!(text("\\ansicpg1251 \\'cf\\'f0"), "Пр\n");
    let fonts = "\\deff1{\\fonttbl{\\f1\\fcharset0 Arial;}{\\f2\\fcharset204{\\*\\falt A;} Cyr;}{\\f3\\fcharset2 Symbol;}{\\f4\\fcharset128 \\'82\\'6c;}{\\f5\\fcharset255 T;}}";
    assert_eq!(text(&format!("{fonts}\\'e9{{\\f2 \\'cf\\'f0}}{{\\f3 a\\'b7\\u-3913 ?}}\\'e9")), "éПрα••é\n");
    assert_eq!(text(&format!("{fonts}\\f4 \\'82\\'a0\\'83A\\'b1 \\f5\\'82")), "あアｱ é\n");
    assert_eq!(text("\\mac caf\\'8e \\pc\\'e1"), "café ß\n");
    // Spaces after control words belong to them.
    assert_eq!(text("{\\fonttbl\\f0\\fcharset238 A;\\f1\\fcharset161 B;}\\f0\\'e8\\f1\\'e8"), "čθ\n");
}

#[test]
fn a_code_page_that_is_not_known_is_flagged() {
    let layer = rtf("\\ansicpg1361 a\\'e9");
    assert_eq!(layer.text, "aé\n");
    assert_eq!(layer.structure.expect("a reader wrote it").flags, [ReadFlag::UnknownCodePage]);
    assert!(rtf("\\ansicpg1361 a").structure.expect("a reader wrote it").flags.is_empty());
}

#[test]
fn text_in_utf8_is_read_as_it_is() {
    assert_eq!(text("Grüße – 日本"), "Grüße – 日本\n");
    assert_eq!(layer_of("a.rtf", b"{\\rtf1 Gr\xfc\xdfe}").text, "Grüße\n");
}

#[test]
fn unicode_replaces_what_older_programs_show() {
    assert_eq!(text("\\u8364\\'80\\u8364 ?\\uc0\\u8364 ?\\uc2\\u12354\\'82\\'a0."), "€€€?あ.\n");
    assert_eq!(text("\\u-10179?\\u-8704? \\u128512? {\\u-10179?}a \\u55357"), "😀 😀 \u{fffd}a \u{fffd}\n");
    assert_eq!(text("\\u8211\\endash x \\u8364\\par y"), "–x €\n\ny\n");
    assert_eq!(text("{\\uc1{\\u65}b}"), "Ab\n");
}

#[test]
fn special_characters_are_characters() {
    let body = "a\\tab b\\~c\\_d\\-e\\{\\}\\\\ \\lquote x\\rquote  \\ldblquote y\\rdblquote\\emdash\\endash\\bullet";
    assert_eq!(text(body), "a\tb\u{a0}c-de{}\\ ‘x’ “y”—–•\n");
}

#[test]
fn looks_are_marked_where_they_change() {
    assert_eq!(
        text("a {\\b bold}{\\b  more }{\\i it\\i0  no} \\b\\i x\\plain  y"),
        "a **bold more** *it* no ***x*** y\n"
    );
    assert_eq!(text("{\\b a\\line b}\\line c"), "**a\nb**\nc\n");
}

#[test]
fn headings_are_known_by_outline_or_style() {
    let styles = "{\\stylesheet{Normal;}{\\s1 heading 1;}{\\s2\\sbasedon1 Mine;}{\\s3\\outlinelevel2 X;}{\\s4 Title;}{\\s5 toc 1;}{\\s6 heading 2,h2;}{\\*\\cs9 heading 5;}}";
    let layer = rtf(&format!(
        "{styles}\\pard\\s4 The {{\\b title}}\\par\\pard\\s1 One\\par\\s2 Two\\par\\s3 Three\\par\\s5 One 1\\par\\s6 Six\\par\\pard\\outlinelevel0 Out\\par\\pard\\s1\\outlinelevel9 No\\par\\pard Text"
    ));
    assert_eq!(layer.text, "# The title\n\n# One\n\n# Two\n\n### Three\n\n## Six\n\n# Out\n\nNo\n\nText\n");
    assert!(dropped(&layer).contains(&(DropReason::Navigation, 4)));
    assert_eq!(layer.structure.expect("a reader wrote it").title.as_deref(), Some("The title"));
}

#[test]
fn lists_have_bullets_or_numbers() {
    let item =
        |marker: &str, level: u8, text: &str| format!("{{\\listtext {marker}\\tab}}\\ilvl{level}\\ls1 {text}\\par ");
    let body = [item("\\'b7", 0, "a"), item("1.", 1, "b"), item("2.", 1, "c"), item("\\'b7", 0, "d")].concat();
    let layer = rtf(&format!(
        "{body}\\pard after\\par {{\\pntext 7)\\tab}}seven\\par{{\\pntext b)\\tab}}eight\\par{{\\pntext o\\tab}}x"
    ));
    assert_eq!(layer.text, "- a\n  1. b\n  2. c\n- d\n\nafter\n\n7. seven\n2. eight\n\n- x\n");
    assert_eq!(dropped(&layer), [(DropReason::Markup, 11)]);
}

#[test]
fn letters_of_lists_are_numbers() {
    let items = |markers: &[&str]| {
        markers.iter().map(|marker| format!("{{\\pntext {marker}\\tab}}x\\par ")).collect::<String>()
    };
    let numbers = |markers: &[&str]| text(&items(markers)).replace(". x\n", " ");
    assert_eq!(numbers(&["I.", "II.", "III.", "IV.", "V."]), "1 2 3 4 5 ");
    assert_eq!(numbers(&["b)", "c)", "d)", "zz)", "(1.2)"]), "2 3 4 5 2 ");
    assert_eq!(numbers(&["h.", "i.", "j."]), "8 9 10 ");
}

#[test]
fn signs_in_fields_are_characters() {
    let field = |instruction: &str| format!("{{\\field{{\\*\\fldinst {instruction}}}{{\\fldrslt\\f14 J}}}}");
    assert_eq!(
        text(&[field("SYMBOL 74 \\\\f \"Wingdings\" \\\\s 12"), field("SYMBOL 0x61 \\\\f Symbol")].concat()),
        "☺α\n"
    );
}

#[test]
fn lists_without_text_are_looked_up() {
    let tables = "{\\*\\listtable{\\list{\\listlevel\\levelnfc23{\\leveltext\\'01\\'b7;}}{\\listlevel\\levelnfc0}{\\listname ;}\\listid7}{\\list{\\listlevel\\levelnfc255}\\listid8}}{\\*\\listoverridetable{\\listoverride\\listid7\\ls1}{\\listoverride\\listid8\\ls2}}";
    let body = "\\ls1 a\\par\\ilvl1 b\\par c\\par\\pard\\ls2 d\\par\\ls9 e";
    assert_eq!(text(&format!("{tables}{body}")), "- a\n  1. b\n  2. c\n\nd\n\ne\n");
}

#[test]
fn a_table_has_its_rows_and_its_place() {
    let layer = rtf(
        "x\\par\\trowd\\cellx1\\cellx2\\pard\\intbl {\\b A}\\cell B\\cell\\row\\trowd\\intbl 1\\par 2\\cell\\cell\\row\\pard after\\par",
    );
    assert_eq!(layer.text, "x\n\n| **A** | B |\n| --- | --- |\n| 1 2 | |\n\nafter\n");
    assert_eq!(places(&layer), [(0, "par 1"), (2, "par 2"), (41, "par 7")]);
}

#[test]
fn a_table_in_a_cell_is_its_text() {
    let body = "\\intbl out \\par\\itap2 a\\nestcell{\\nonesttables\\par}b\\nestcell{\\*\\nesttableprops\\trowd\\nestrow}{\\nonesttables\\par}c\\nestcell{\\*\\nesttableprops\\nestrow}\\pard\\intbl\\cell y\\cell\\row";
    assert_eq!(text(body), "| out a b c | y |\n| --- | --- |\n");
}

#[test]
fn rows_without_their_ends_are_kept() {
    assert_eq!(text("\\intbl a\\cell b"), "| a | b |\n| --- | --- |\n");
    assert_eq!(text("\\trowd a\\cell b\\par c\\cell\\row d"), "| a | b c |\n| --- | --- |\n\nd\n");
    let cells = "x\\cell ".repeat(70);
    assert_eq!(text(&format!("{cells}\\row")).matches("| x").count(), 63);
}

#[test]
fn long_tables_are_written_in_parts() {
    let rows = format!("\\intbl {}", "a\\cell b\\cell\\row ".repeat(40_000));
    let layer = rtf(&rows);
    assert_eq!(layer.text.matches("---").count(), 4);
    assert_eq!(layer.text.matches("| a | b |").count(), 40_001);
}

#[test]
fn links_have_their_address() {
    let field = |instruction: &str| format!("{{\\field{{\\*\\fldinst {{{instruction}}}}}{{\\fldrslt {{\\b here}}}}}}");
    let body = format!(
        "See {}, {}, {} p. {}",
        field("HYPERLINK \"https://a.b/c\" \\\\o \"tip\""),
        field("HYPERLINK \\\\l \"_Toc1\""),
        field("HYPERLINK c.html"),
        field("PAGEREF x"),
    );
    let layer = rtf(&body);
    assert_eq!(layer.text, "See [**here**](https://a.b/c), [**here**](#_Toc1), [**here**](c.html) p. **here**\n");
    assert_eq!(dropped(&layer), [(DropReason::Markup, 8)]);
    let layer =
        rtf("{\\*\\bkmkstart _Toc1}{\\*\\bkmkend _Toc1}\\par{\\field{\\*\\fldinst HYPERLINK \"#_Toc1\"}{\\fldrslt a}}");
    assert_eq!(Document::parse("a.rtf".into(), layer).links[0].target, "#_Toc1");
}

#[test]
fn footnotes_are_at_the_end() {
    let layer = rtf(
        "a{\\super\\chftn{\\footnote\\pard {\\super\\chftn} First\\par second {\\i x}}} b{\\footnote Other}\\par c",
    );
    assert_eq!(layer.text, "a[^1] b[^2]\n\nc\n\n[^1]: First\n\n    second *x*\n\n[^2]: Other\n");
    assert_eq!(places(&layer)[2].1, "footnote 1");
    assert_eq!(Document::parse("a.rtf".into(), layer).footnotes.len(), 2);
}

#[test]
fn what_is_not_shown_is_counted() {
    let layer = rtf(
        "a{\\v hide}{\\deleted del}{\\*\\annotation no}{\\header Head}{\\pict\\bin3 \\}}89ab}{\\object{\\*\\objdata 01}{\\result r}}{\\*\\unknown{\\b u}}{\\colortbl;}} after",
    );
    assert_eq!(layer.text, "ar\n");
    let expected = [
        (DropReason::Hidden, 9),
        (DropReason::Comment, 2),
        (DropReason::Markup, 2),
        (DropReason::RunningHead, 4),
        (DropReason::Deleted, 3),
        (DropReason::Attachment, 9),
    ];
    assert_eq!(dropped(&layer), expected);
}

#[test]
fn text_in_boxes_follows_its_paragraph() {
    let shape = "{\\shp{\\*\\shpinst\\shpleft0{\\sp{\\sn shapeType}{\\sv 202}}{\\shptxt In the {\\i box}\\par}}{\\shprslt{\\*\\do{\\dptxbxtext copy\\par}}}}";
    let layer = rtf(&format!("Around{shape} it\\par next"));
    assert_eq!(layer.text, "Around it\n\nIn the *box*\n\nnext\n");
    assert!(dropped(&layer).contains(&(DropReason::Repeated, 4)));
    assert_eq!(text("{\\upr{old}{\\*\\ud{n\\u233 e}w}}"), "néw\n");
}

#[test]
fn formulas_are_text() {
    let body = "{\\mmath{\\*\\moMath{\\mr x}{\\msSup{\\msSupPr{\\mctrlPr m}}{\\me y}{\\msup 2}}{\\mf{\\mfPr{\\mtype bar}}{\\mnum a}{\\mden b}}}{\\mmathPict pic}}";
    assert_eq!(text(body), "xy^2a/b\n");
}

#[test]
fn the_document_says_what_it_is() {
    let layer = rtf(
        "{\\info{\\title A \\'e9}{\\author Me}{\\operator You}{\\keywords a, b}{\\doccomm C}{\\creatim\\yr2018\\mo3\\dy26\\hr15\\min46}{\\revtim\\yr0}{\\*\\company X}}x",
    );
    let read = layer.structure.expect("a reader wrote it");
    assert_eq!(read.title.as_deref(), Some("A é"));
    assert_eq!(
        serde_json::to_string(&read.metadata).expect("it is JSON"),
        r#"{"author":"Me","created":"2018-03-26T15:46","description":"C","keywords":["a","b"]}"#
    );
    assert_eq!(layer.text, "x\n");
}

#[test]
fn groups_that_are_too_deep_are_counted() {
    let layer = rtf(&format!("a{}b c\\u233 ?{}d", "{".repeat(300), "}".repeat(300)));
    assert_eq!(layer.text, "ad\n");
    assert_eq!(dropped(&layer), [(DropReason::Limit, 4)]);
}

#[test]
fn two_documents_in_one_file_are_read() {
    assert_eq!(layer_of("a.rtf", b"{\\rtf1 \\b One}\n{\\rtf1 Two}\0").text, "**One**\n\nTwo\n");
}

#[test]
fn line_ends_in_a_row_are_the_end_of_a_paragraph() {
    let layer = rtf("a\\line b\\line\\line c\\par d");
    assert_eq!(layer.text, "a\nb\n\nc\n\nd\n");
    assert_eq!(places(&layer).iter().map(|(_, name)| *name).collect::<Vec<_>>(), ["par 1", "par 2"]);
}

/// A document with something of everything.
const SAMPLE: &str = "{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fcharset0 A;}{\\f1\\fcharset128 \\'82\\'6c;}{\\f2\\fcharset2 Symbol;}}{\\stylesheet{\\s1\\sbasedon0\\outlinelevel0 heading 1;}{\\s5 toc 1;}}{\\*\\listtable{\\list{\\listlevel\\levelnfc23}\\listid7}}{\\*\\listoverridetable{\\listoverride\\listid7\\ls1}}{\\info{\\title T}{\\creatim\\yr2018\\mo3\\dy26}}\\pard\\s1 {\\*\\bkmkstart m}Head\\par\\pard a{\\b b}\\i c\\plain {\\footnote {\\super\\chftn} Note\\par more}\\par{\\listtext 1.\\tab}\\ls1 one\\par\\ilvl1 two\\par\\pard{\\field{\\*\\fldinst HYPERLINK \"http://a\" \\\\l \"b\"}{\\fldrslt link \\f1\\'82\\'a0}}\\u-10179?\\u-8704?\\line\\line x{\\shp{\\*\\shpinst{\\shptxt Box\\par}}}\\par\\trowd\\pard\\intbl A\\cell B{\\itap2 n\\nestcell{\\*\\nesttableprops\\nestrow}}\\cell\\row\\pard{\\pict\\bin4 \\}{1ab}{\\upr{o}{\\*\\ud n}}{\\v h}{\\header H}\\~\\_ \\'e9\\par}";

#[test]
fn damaged_files_are_read_without_fault() {
    let mut seed = 42u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("31 bits") % below.max(1)
    };
    let alphabet = b"{}\\{}\\*'u0-9 \x00\xe3\x81\n;\"ab";
    for _ in 0..4000 {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        for _ in 0..=next(6) {
            let at = next(bytes.len());
            let to = (at + 1 + next(40)).min(bytes.len());
            match next(4) {
                0 => drop(bytes.drain(at..to)),
                1 => {
                    let piece = bytes[at..to].to_vec();
                    let into = next(bytes.len());
                    bytes.splice(into..into, piece);
                }
                2 => bytes.truncate(to),
                _ => bytes[at] = alphabet[next(alphabet.len())],
            }
        }
        if let Ok(layer) = read("a.rtf", bytes, &ReadSettings::default()) {
            crate::check::check(&layer, None);
        }
    }
}

#[test]
fn long_files_of_one_thing_are_read_without_fault() {
    for piece in [
        "\\b a\\b0 b ",
        "a\\par ",
        "a\\cell ",
        "{\\footnote a}",
        "{\\listtext 1.}a\\par\\ilvl1 ",
        "{\\field{\\*\\fldinst HYPERLINK a}{\\fldrslt ",
        "\\line a",
        "{",
        "}",
        "\\u-10179?",
    ] {
        let _ = read("a.rtf", format!("{{\\rtf1 {}", piece.repeat(30_000)).into_bytes(), &ReadSettings::default());
    }
}

#[test]
fn a_power_is_written_with_a_caret() {
    assert_eq!(
        text("10{\\super 6} m\\super -2\\nosupersub  H{\\sub 2}O 1{\\super st} \\b x\\super 2\\super0 y\\b0 z"),
        "10^6 m^-2 H2O 1st **x^2y**z\n"
    );
    assert_eq!(text("a{\\super\\b n\\b0} b"), "a^**n** b\n");
}

#[test]
fn bullets_and_numbers_that_are_typed_make_lists() {
    let item = |indent: u32, mark: &str, words: &str| {
        format!("{{\\pard \\li{indent} \\fi-360 {mark} \\tx360\\tab {words}\\par}}")
    };
    let list =
        [item(360, "\\bullet", "one"), item(720, "\\endash", "{\\b deep}"), item(360, "\\bullet", "two")].concat();
    assert_eq!(text(&format!("a\\par{list}\\pard b\\tab c")), "a\n\n- one\n  - **deep**\n- two\n\nb\tc\n");
    assert_eq!(text(&[item(360, "1.", "one"), item(360, "2.", "two")].concat()), "1. one\n2. two\n");
    assert_eq!(text(&[item(360, "Term", "is")].concat()), "Term \tis\n");
}

#[test]
fn text_in_a_font_for_code_is_code() {
    let fonts = "\\deff0{\\fonttbl{\\f0\\froman Times;}{\\f1\\fmodern X;}{\\f2 Courier New;}{\\f3\\fmodern\\fcharset128 MS Gothic;}}";
    assert_eq!(
        text(&format!(
            "{fonts}a {{\\f1 b`c}} {{\\f3 d}}\\par\\pard\\f2 fn x() \\{{\\par\\par   y;\\par\\}}\\par\\pard\\f0 end"
        )),
        "a ``b`c`` d\n\n```\nfn x() {\n\n  y;\n}\n```\n\nend\n"
    );
    assert_eq!(text("\\deff2{\\fonttbl{\\f2\\fmodern Courier;}}\\f2 all of it"), "all of it\n");
}
