//! Packages are built here, part by part.

use std::fmt::Write as _;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Document, DropReason, Layer, ReadFlag};

use crate::check::{layer_of, zip};
use crate::{ReadSettings, read};

const W: &str = r#"xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main""#;
const S: &str = r#"xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;
const P: &str = r#"xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;
const O: &str = r#"xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0""#;

fn relations(all: &[(&str, &str, &str)]) -> String {
    let one = |(id, kind, target): &(&str, &str, &str)| {
        let mode = if target.contains("://") { r#" TargetMode="External""# } else { "" };
        format!(r#"<Relationship Id="{id}" Type="http://x/relationships/{kind}" Target="{target}"{mode}/>"#)
    };
    format!("<Relationships>{}</Relationships>", all.iter().map(one).collect::<String>())
}

fn word_parts(body: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let document = format!("<w:document {W}><w:body>{body}</w:body></w:document>");
    let rels = relations(&[
        ("s", "styles", "styles.xml"),
        ("n", "numbering", "numbering.xml"),
        ("f", "footnotes", "footnotes.xml"),
        ("c", "comments", "comments.xml"),
        ("h", "header", "header1.xml"),
        ("l", "hyperlink", "https://example.org/a"),
        ("i", "image", "media/image1.png"),
    ]);
    let mut parts = vec![("word/document.xml", &*document), ("word/_rels/document.xml.rels", &*rels)];
    parts.extend(more);
    zip(&parts)
}

fn word(body: &str) -> Layer {
    layer_of("a.docx", &word_parts(body, &[]))
}

fn places(layer: &Layer) -> Vec<(&str, &str)> {
    let all = &layer.structure.as_ref().unwrap().places;
    let ends = all.iter().skip(1).map(|(at, _)| *at).chain([layer.text.len()]);
    all.iter().zip(ends).map(|((at, place), end)| (&*place.name, layer.text[*at..end].trim())).collect()
}

fn dropped(layer: &Layer, reason: DropReason) -> u64 {
    let dropped = &layer.structure.as_ref().unwrap().dropped;
    dropped.iter().find(|dropped| dropped.reason == reason).map_or(0, |dropped| dropped.chars)
}

fn code(path: &str, bytes: &[u8]) -> &'static str {
    read(path, bytes.to_vec(), &ReadSettings::default()).map_or_else(|refusal| refusal.reason.code(), |_| "read")
}

fn p(text: &str) -> String {
    format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
}

fn styled(style: &str, text: &str) -> String {
    format!(r#"<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#)
}

fn item(list: u32, level: u32, text: &str) -> String {
    format!(
        r#"<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list}"/></w:numPr></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#
    )
}

fn styles() -> String {
    let style = |id: &str, inside: &str| format!(r#"<w:style w:type="paragraph" w:styleId="{id}">{inside}</w:style>"#);
    let all = [
        style("H1", r#"<w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr>"#),
        style("Own", r#"<w:name w:val="Own"/><w:basedOn w:val="H1"/>"#),
        style("Loop", r#"<w:name w:val="Loop"/><w:basedOn w:val="Loop"/>"#),
        style("T", r#"<w:name w:val="Title"/>"#),
        style("Toc", r#"<w:name w:val="toc 1"/>"#),
        style("Code", r#"<w:name w:val="Source Code"/>"#),
        style("IQ", r#"<w:name w:val="Intense Quote"/><w:basedOn w:val="Own2"/>"#),
        style("Own2", r#"<w:name w:val="Own 2"/>"#),
        style("BT", r#"<w:name w:val="Block Text"/>"#),
        style("LB2", r#"<w:name w:val="List Bullet 2"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>"#),
    ];
    format!("<w:styles {W}>{}</w:styles>", all.concat())
}

fn numbering() -> String {
    let level = |level: u32, format: &str| {
        format!(r#"<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{format}"/></w:lvl>"#)
    };
    format!(
        r#"<w:numbering {W}><w:abstractNum w:abstractNumId="0">{}{}</w:abstractNum><w:abstractNum w:abstractNumId="1">{}{}</w:abstractNum><w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val=" "/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="4"><w:abstractNumId w:val="2"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num></w:numbering>"#,
        level(0, "bullet"),
        level(1, "bullet"),
        level(0, "decimal"),
        level(1, "lowerLetter"),
    )
}

fn full(body: &str) -> Layer {
    layer_of("a.docx", &word_parts(body, &[("word/styles.xml", &styles()), ("word/numbering.xml", &numbering())]))
}

#[test]
fn paragraphs_have_the_place_of_an_xpath() {
    let table = "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>";
    let layer =
        word(&format!("{}<w:p/>{table}{}<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>", p("one"), p("two"), p("in")));
    assert_eq!(layer.text, "one\n\ntwo\n\nin\n");
    assert_eq!(places(&layer), [("body/p[1]", "one"), ("body/p[3]", "two"), ("body/sdt[1]", "in")]);
}

#[test]
fn headings_are_found_by_the_names_and_bases_of_styles() {
    let outline = r#"<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>Level</w:t></w:r></w:p>"#;
    let layer = full(
        &[styled("T", "Name"), styled("H1", "A"), styled("Own", "B"), styled("Loop", "c"), outline.into()].concat(),
    );
    assert_eq!(layer.text, "# Name\n\n# A\n\n# B\n\nc\n\n### Level\n");
    assert_eq!(layer.structure.unwrap().title.as_deref(), Some("Name"));
    assert_eq!(word(&styled("Heading2", "No styles")).text, "## No styles\n");
}

#[test]
fn an_item_goes_on_in_paragraphs_with_a_mark_that_is_not_to_be_seen() {
    let code = |text: &str| {
        let list = r#"<w:numPr><w:ilvl w:val="0"/><w:numId w:val="4"/></w:numPr>"#;
        format!(r#"<w:p><w:pPr><w:pStyle w:val="SourceCode"/>{list}</w:pPr><w:r>{text}</w:r></w:p>"#)
    };
    let lines = "<w:t>a</w:t><w:br/><w:t>b</w:t>";
    let layer = full(&[item(2, 0, "one"), item(4, 0, "more"), code(lines), item(2, 0, "two")].concat());
    assert_eq!(layer.text, "1. one\n\n   more\n\n   ```\n   a\n   b\n   ```\n2. two\n");
    // A paragraph of several lines is a listing. Those of one line are one together.
    let layer = word(&[code(lines), code(lines), code("<w:t>c</w:t>"), code("<w:t>d</w:t>")].concat());
    assert_eq!(layer.text, "```\na\nb\n```\n\n```\na\nb\n```\n\n```\nc\nd\n```\n");
}

#[test]
fn lists_have_levels_and_numbers() {
    let layer = full(
        &[
            item(1, 0, "a"),
            item(1, 1, "b"),
            item(1, 0, "c"),
            p("between"),
            item(2, 0, "one"),
            item(2, 1, "deep"),
            item(2, 0, "two"),
            p("between"),
            item(2, 0, "three"),
            item(3, 0, "seven"),
            styled("LB2", "second"),
            item(0, 0, "none"),
        ]
        .concat(),
    );
    assert_eq!(
        layer.text,
        "- a\n  - b\n- c\n\nbetween\n\n1. one\n   1. deep\n2. two\n\nbetween\n\n3. three\n\n7. seven\n   - second\n\nnone\n"
    );
    assert_eq!(places(&layer)[1], ("body/p[2]", "- b"));
}

#[test]
fn a_table_has_cells_for_spans_and_merged_rows() {
    let cell = |inside: &str| format!("<w:tc>{inside}</w:tc>");
    let wide = cell(&format!(r#"<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{}"#, p("wide")));
    let merged = cell(r"<w:tcPr><w:vMerge/></w:tcPr><w:p/>");
    let nested = cell(&format!("{}<w:tbl><w:tr>{}{}</w:tr></w:tbl><w:p/>", p("x"), cell(&p("y")), cell(&p("z"))));
    let rows = [
        format!("<w:tr>{wide}{}</w:tr>", cell(&p("c"))),
        format!("<w:tr>{}{}{nested}</w:tr>", cell(&p("1")), cell(&(p("2") + &p("3")))),
        format!("<w:tr>{merged}{}{}</w:tr>", cell(&p("4")), cell("<w:p/>")),
    ];
    let layer = word(&format!("<w:tbl>{}</w:tbl>{}", rows.concat(), p("after")));
    assert_eq!(layer.text, "| wide | | c |\n| --- | --- | --- |\n| 1 | 2 3 | x y z |\n| | 4 | |\n\nafter\n");
    assert_eq!(places(&layer)[0].0, "body/tbl[1]");
}

#[test]
fn looks_links_and_bookmarks_are_written_once() {
    let bold = |text: &str| format!("<w:r><w:rPr><w:b/></w:rPr><w:t>{text}</w:t></w:r>");
    let off = r#"<w:r><w:rPr><w:b w:val="0"/></w:rPr><w:t> plain </w:t></w:r>"#;
    let link = format!(r#"<w:hyperlink r:id="l" w:anchor="x">{}</w:hyperlink>"#, bold("site"));
    let local = r#"<w:hyperlink w:anchor="here"><w:r><w:t>up</w:t></w:r></w:hyperlink>"#;
    let mark = r#"<w:bookmarkStart w:id="0" w:name="here"/>"#;
    let mono = r#"<w:r><w:rPr><w:rFonts w:ascii="Courier New"/></w:rPr><w:t>x = 1</w:t></w:r>"#;
    let layer = word(&format!("<w:p>{}{}{off}{link} {mark}{local}{mono}</w:p>", bold("a "), bold("b")));
    assert_eq!(layer.text, "**a b** plain [**site**](https://example.org/a#x)[up](#here)`x = 1`\n");
}

#[test]
fn fields_keep_their_results_and_links() {
    let mark = |kind: &str| format!(r#"<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>"#);
    let field = |code: &str, result: &str| {
        format!(
            "{}<w:r><w:instrText>{code}</w:instrText></w:r>{}<w:r><w:t>{result}</w:t></w:r>{}",
            mark("begin"),
            mark("separate"),
            mark("end")
        )
    };
    let layer = word(&format!("<w:p>{}{}</w:p>", field("PAGE", "7"), field(r#" HYPERLINK "a.html" \l "b""#, "link")));
    assert_eq!(layer.text, "7[link](a.html#b)\n");
    assert_eq!(dropped(&layer, DropReason::Markup), 4 + 22);
}

#[test]
fn what_is_not_shown_is_dropped_and_counted() {
    let body = [
        r"<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>"
            .to_owned(),
        r"<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>shown</w:t></w:r></w:p>".to_owned(),
        styled("Toc", "Contents 1"),
    ];
    let header = format!("<w:hdr {W}>{}</w:hdr>", p("head"));
    let comments = format!("<w:comments {W}><w:comment>{}</w:comment></w:comments>", p("why?"));
    let parts = [("word/header1.xml", &*header), ("word/comments.xml", &comments), ("word/styles.xml", &styles())];
    let layer = layer_of("a.docx", &word_parts(&body.concat(), &parts));
    assert_eq!(layer.text, "new\n\nshown\n");
    for (reason, chars) in [
        (DropReason::Deleted, 4),
        (DropReason::Hidden, 6),
        (DropReason::Navigation, 9),
        (DropReason::RunningHead, 4),
        (DropReason::Comment, 4),
    ] {
        assert_eq!(dropped(&layer, reason), chars, "{reason:?}");
    }
}

#[test]
fn text_boxes_are_read_once_after_their_paragraph() {
    let boxed = |text: &str| format!("<w:txbxContent>{}</w:txbxContent>", p(text));
    let layer = word(&format!(
        "<w:p><w:r><w:t>a</w:t><mc:AlternateContent><mc:Choice>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>b</w:t></w:r></w:p>",
        boxed("box"),
        boxed("box")
    ));
    assert_eq!(layer.text, "ab\n\nbox\n");
    assert_eq!(dropped(&layer, DropReason::Repeated), 3);
}

#[test]
fn notes_are_footnotes_in_the_order_of_their_references() {
    let note = |id: u32, text: &str| format!(r#"<w:footnote w:id="{id}">{}</w:footnote>"#, p(text));
    let notes =
        format!("<w:footnotes {W}>{}{}{}</w:footnotes>", note(1, "first"), note(2, "second"), note(3, "unused"));
    let to = |id: u32| format!(r#"<w:r><w:footnoteReference w:id="{id}"/></w:r>"#);
    let body = format!("<w:p><w:r><w:t>a</w:t></w:r>{}<w:r><w:t>b</w:t></w:r>{}</w:p>", to(2), to(1));
    let layer = layer_of("a.docx", &word_parts(&body, &[("word/footnotes.xml", &notes)]));
    assert_eq!(layer.text, "a[^1]b[^2]\n\n[^1]: second\n\n[^2]: first\n");
    assert_eq!(places(&layer)[1].0, "footnotes/footnote[2]");
    assert_eq!(dropped(&layer, DropReason::Hidden), 6);
}

#[test]
fn code_pictures_symbols_and_formulas_are_written() {
    let picture = r#"<w:p><w:r><w:drawing><wp:docPr descr="A  cat"/><a:blip r:embed="i"/></w:drawing></w:r></w:p>"#;
    let symbols = r#"<w:p><w:r><w:sym w:font="Symbol" w:char="F061"/><w:noBreakHyphen/><w:t>1</w:t><w:softHyphen/><w:br/><w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>2</w:t></w:r></w:p>"#;
    let math = "<w:p><m:oMathPara><m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></m:oMathPara></w:p>";
    let layer =
        full(&[styled("Code", "a {"), styled("Code", "}"), picture.into(), symbols.into(), math.into()].concat());
    assert_eq!(layer.text, "```\na {\n}\n```\n\n![A cat](word/media/image1.png)\n\nα-1\n10^2\n\n$$\n(a+b)/2\n$$\n");
    assert_eq!(places(&layer)[0].0, "body/p[1]");
}

#[test]
fn properties_are_metadata() {
    let core = r#"<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title> A &amp; B </dc:title><dc:creator>Me</dc:creator><cp:keywords>x, y</cp:keywords><dcterms:created>2024-01-01T00:00:00Z</dcterms:created></cp:coreProperties>"#;
    let about = layer_of("a.docx", &word_parts(&p("a"), &[("docProps/core.xml", core)])).structure.unwrap();
    assert_eq!(about.title.as_deref(), Some("A & B"));
    assert_eq!(
        serde_json::to_string(&about.metadata).unwrap(),
        r#"{"author":"Me","keywords":["x","y"],"created":"2024-01-01T00:00:00Z"}"#
            .parse::<serde_json::Value>()
            .unwrap()
            .to_string()
    );
}

fn sheet(rows: &str) -> Vec<u8> {
    let book = format!(
        r#"<workbook {S}><sheets><sheet name="Prices" sheetId="1" r:id="a"/><sheet name="Old stock" sheetId="2" state="hidden" r:id="b"/></sheets></workbook>"#
    );
    let rels = relations(&[
        ("a", "worksheet", "worksheets/sheet1.xml"),
        ("b", "worksheet", "/xl/worksheets/sheet2.xml"),
        ("t", "sharedStrings", "sharedStrings.xml"),
        ("s", "styles", "styles.xml"),
    ]);
    let strings = format!("<sst {S}><si><t>Name</t></si><si><r><t>Da</t></r><r><t>te</t></r></si></sst>");
    let styles = format!(
        r#"<styleSheet {S}><numFmts><numFmt numFmtId="164" formatCode="d\.m\.yyyy"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>"#
    );
    let first = format!(r#"<worksheet {S}><dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData></worksheet>"#);
    let second = format!("<worksheet {S}><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>");
    zip(&[
        ("xl/workbook.xml", &book),
        ("xl/_rels/workbook.xml.rels", &rels),
        ("xl/sharedStrings.xml", &strings),
        ("xl/styles.xml", &styles),
        ("xl/worksheets/sheet1.xml", &first),
        ("xl/worksheets/sheet2.xml", &second),
    ])
}

#[test]
fn a_sheet_is_a_section_with_its_tables() {
    let rows = r#"<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>x</t></is></c><c r="C2" s="1"><v>45352</v></c></row><row r="6"><c r="B6" t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c><f>1+1</f><v>2</v></c></row>"#;
    let layer = layer_of("a.xlsx", &sheet(rows));
    assert_eq!(
        layer.text,
        "## Prices\n\n| Name | Date |\n| --- | --- |\n| x | 2024-03-01 |\n\n| TRUE | #N/A | 2 |\n| --- | --- | --- |\n\n## Old stock\n\n| 1 |\n| --- |\n"
    );
    let names: Vec<_> = places(&layer).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Prices!A1:C2", "Prices!A1:C1", "Prices!A2:C2", "Prices!B6:D6", "'Old stock'!A1"]);
    assert_eq!(dropped(&layer, DropReason::Markup), 3);
    assert_eq!(layer.structure.unwrap().metadata["hidden_sheets"], serde_json::json!(["Old stock"]));
}

#[test]
fn a_long_table_is_written_in_parts_below_the_same_head() {
    let mut rows = String::new();
    for row in 1..=450 {
        write!(rows, r#"<row r="{row}"><c r="A{row}"><v>{row}</v></c></row>"#).unwrap();
    }
    let layer = layer_of("a.xlsx", &sheet(&rows));
    let names: Vec<_> = places(&layer).into_iter().map(|(name, _)| name).filter(|name| name.contains(':')).collect();
    assert_eq!(names, ["Prices!A1:A200", "Prices!A201:A400", "Prices!A401:A450"]);
    let document = Document::parse("a.xlsx".into(), layer.clone());
    let cited = |from: &str, to: &str| {
        let at = |row: &str| layer.text.rfind(&format!("| {row} |")).unwrap();
        document.cited_place(&(at(from)..at(to) + 1)).unwrap()
    };
    assert_eq!(
        (cited("7", "9"), cited("150", "205"), cited("440", "440")),
        ("Prices!A7:A9".into(), "Prices!A150:A205".into(), "Prices!A440".into())
    );
    assert!(layer.text.contains("| 1 |\n| --- |\n| 201 |\n"));
}

#[test]
fn cells_far_away_cost_nothing_and_cells_outside_are_refused() {
    let far = r#"<row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row><row r="1048576"><c r="XFD1048576"><v>3</v></c></row>"#;
    assert!(layer_of("a.xlsx", &sheet(far)).text.starts_with("## Prices\n\n| 1 | 2 |\n| --- | --- |\n\n| 3 |\n"));
    for outside in [r#"<row r="1"><c r="XFE1"><v>1</v></c></row>"#, r#"<row r="1048577"><c><v>1</v></c></row>"#] {
        assert_eq!(code("a.xlsx", &sheet(outside)), "malformed");
    }
    let mut diagonal = String::new();
    for at in 1..=700 {
        write!(diagonal, r#"<row r="{at}">{}<c><v>1</v></c></row>"#, "<c/>".repeat(at)).unwrap();
    }
    assert!(layer_of("a.xlsx", &sheet(&diagonal)).text.contains("| 1 |"));
}

#[test]
fn one_string_in_many_cells_is_bounded() {
    let strings = format!("<sst {S}><si><t>{}</t></si></sst>", "x".repeat(1 << 20));
    let cells = r#"<c t="s"><v>0</v></c>"#.repeat(10_000);
    let book = format!(r#"<workbook {S}><sheets><sheet name="a" r:id="a"/></sheets></workbook>"#);
    let rels = relations(&[("a", "worksheet", "a.xml"), ("t", "sharedStrings", "b.xml")]);
    let sheet = format!("<worksheet {S}><sheetData><row>{cells}</row></sheetData></worksheet>");
    let parts = [
        ("xl/workbook.xml", &*book),
        ("xl/_rels/workbook.xml.rels", &rels),
        ("xl/a.xml", &sheet),
        ("xl/b.xml", &strings),
    ];
    assert_eq!(code("a.xlsx", &zip(&parts)), "growth");
}

fn slides(shapes: &str, notes: &str) -> Vec<u8> {
    let deck = format!(
        r#"<p:presentation {P}><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>"#
    );
    let rels = relations(&[("a", "slide", "slides/slide1.xml"), ("b", "slide", "slides/slide2.xml")]);
    let slide = |shapes: &str| format!("<p:sld {P}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>");
    let own = relations(&[("l", "hyperlink", "https://example.org"), ("n", "notesSlide", "../notesSlides/n.xml")]);
    let notes = format!("<p:notes {P}>{notes}</p:notes>");
    zip(&[
        ("ppt/presentation.xml", &deck),
        ("ppt/_rels/presentation.xml.rels", &rels),
        ("ppt/slides/slide1.xml", &slide(shapes)),
        ("ppt/slides/_rels/slide1.xml.rels", &own),
        ("ppt/slides/slide2.xml", &slide(&shape(r#"<p:ph type="ctrTitle"/>"#, &["Start"]))),
        ("ppt/notesSlides/n.xml", &notes),
    ])
}

fn shape(placeholder: &str, paragraphs: &[&str]) -> String {
    let paragraph = |text: &&str| {
        let level = text.len() - text.trim_start().len();
        format!(r#"<a:p><a:pPr lvl="{level}"/><a:r><a:t>{}</a:t></a:r></a:p>"#, text.trim_start())
    };
    let paragraphs: String = paragraphs.iter().map(paragraph).collect();
    format!("<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:txBody>{paragraphs}</p:txBody></p:sp>")
}

#[test]
fn slides_are_sections_in_the_order_of_the_deck() {
    let table = "<p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:r><a:t>h</a:t></a:r></a:p></a:tc></a:tr><a:tr><a:tc><a:p><a:r><a:t>v</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:graphicFrame>";
    let link = r#"<p:sp><p:txBody><a:p><a:r><a:rPr b="1"><a:hlinkClick r:id="l"/></a:rPr><a:t>go</a:t></a:r></a:p></p:txBody></p:sp>"#;
    let shapes = [
        shape(r#"<p:ph idx="1"/>"#, &["one", " deep", "two"]),
        shape(r#"<p:ph type="title"/>"#, &["Title"]),
        shape(r#"<p:ph type="sldNum"/>"#, &["12"]),
        table.into(),
        link.into(),
    ];
    let layer = layer_of("a.pptx", &slides(&shapes.concat(), &shape(r#"<p:ph type="body"/>"#, &["Say", "this"])));
    assert_eq!(
        layer.text,
        "## Start\n\n## Title\n\n- one\n  - deep\n- two\n\n| h |\n| --- |\n| v |\n\n[**go**](https://example.org)\n\n> Notes: Say\n>\n> this\n"
    );
    let all = &layer.structure.as_ref().unwrap().places;
    assert_eq!((&*all[1].1.name, all[1].1.page), ("slide 2", Some(2)));
    assert_eq!(dropped(&layer, DropReason::RunningHead), 2);
}

fn open_document(styles: &str, body: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content {O}><office:automatic-styles>{styles}</office:automatic-styles><office:body>{body}</office:body></office:document-content>"
    );
    let meta = format!(
        "<office:document-meta {O}><office:meta><dc:title>Doc</dc:title><meta:initial-creator>A</meta:initial-creator><dc:creator>B</dc:creator></office:meta></office:document-meta>"
    );
    zip(&[("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", &content), ("meta.xml", &meta)])
}

#[test]
fn a_text_has_headings_lists_tables_and_notes() {
    let styles = r#"<style:style style:name="T1" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style><text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/></text:list-style>"#;
    let body = r#"<office:text><text:tracked-changes><text:changed-region><text:deletion><office:change-info><dc:creator>me</dc:creator></office:change-info><text:p>gone</text:p></text:deletion></text:changed-region></text:tracked-changes><text:h text:outline-level="2">Head</text:h><text:p>a
        b<text:s text:c="2"/>c<text:span text:style-name="T1">bold</text:span><text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>Note.</text:p></text:note-body></text:note> <text:a xlink:href="x.html">link</text:a><office:annotation><text:p>hm</text:p></office:annotation></text:p><text:list text:style-name="L1"><text:list-item><text:p>one</text:p><text:p>more</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list><table:table><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>h</text:p></table:table-cell><table:covered-table-cell/></table:table-row><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table></office:text>"#;
    let layer = layer_of("a.odt", &open_document(styles, body));
    assert_eq!(
        layer.text,
        "## Head\n\na b  c**bold**[^1] [link](x.html)\n\n1. one\n\n   more\n   - deep\n2. two\n\n| h | |\n| --- | --- |\n| 1 | 2 |\n\n[^1]: Note.\n"
    );
    assert_eq!((dropped(&layer, DropReason::Deleted), dropped(&layer, DropReason::Comment)), (4, 2));
    let names: Vec<_> = places(&layer).into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["text/h[1]", "text/p[1]", "text/list[1]", "text/table[1]", "text/p[1]"]);
    let about = layer.structure.unwrap();
    assert_eq!((about.title.as_deref(), about.metadata["author"].as_str()), (Some("Doc"), Some("A")));
}

#[test]
fn drawn_pages_are_slides() {
    let body = r#"<office:presentation><draw:page><draw:frame presentation:class="outline"><draw:text-box><text:list><text:list-item><text:p>one</text:p></text:list-item></text:list></draw:text-box></draw:frame><draw:frame presentation:class="title"><draw:text-box><text:p>Title</text:p></draw:text-box></draw:frame><presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>Say</text:p></draw:text-box></draw:frame></presentation:notes></draw:page><draw:page><draw:custom-shape><text:p>free</text:p></draw:custom-shape></draw:page></office:presentation>"#;
    let layer = layer_of("a.odp", &open_document("", body));
    assert_eq!(layer.text, "## Title\n\n- one\n\n> Notes: Say\n\n## Slide 2\n\nfree\n");
    assert_eq!(places(&layer)[1].0, "slide 2");
}

#[test]
fn sheets_of_open_document_have_ranges_and_bounded_repeats() {
    let cell = |text: &str, more: &str| format!("<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>");
    let empty = r#"<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>"#;
    let row = format!(
        "<table:table-row>{}{}</table:table-row>",
        cell("a", ""),
        cell("1. 3.", r#"office:value-type="date" office:date-value="2024-03-01""#)
    );
    let body =
        format!("<office:spreadsheet><table:table table:name=\"T\">{row}{empty}</table:table></office:spreadsheet>");
    let layer = layer_of("a.ods", &open_document("", &body));
    assert_eq!(layer.text, "## T\n\n| a | 2024-03-01 |\n| --- | --- |\n");
    assert_eq!(places(&layer)[0].0, "T!A1:B1");
    let message = "<table:content-validations><table:content-validation><table:error-message><text:p>too small</text:p></table:error-message></table:content-validation></table:content-validations>";
    let layer = layer_of("a.ods", &open_document("", &body.replacen('>', &format!(">{message}"), 1)));
    assert_eq!((places(&layer)[0].0, dropped(&layer, DropReason::Hidden)), ("T!A1:B1", 8));
    let many = format!(
        "<office:spreadsheet><table:table table:name=\"T\"><table:table-row table:number-rows-repeated=\"1000000\">{}</table:table-row></table:table></office:spreadsheet>",
        cell("x", r#"table:number-columns-repeated="16384""#)
    );
    let layer = layer_of("a.ods", &open_document("", &many));
    assert!(layer.text.len() < 100_000);
    assert_eq!(layer.structure.unwrap().flags, [ReadFlag::RepeatedCellsCut]);
}

#[test]
fn encrypted_and_broken_files_are_refused() {
    let mut compound = vec![0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0];
    assert_eq!(code("a.docx", &compound), "malformed");
    compound.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(code("a.docx", &compound), "encrypted");
    let manifest = r#"<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>"#;
    assert_eq!(code("a.odt", &zip(&[("META-INF/manifest.xml", manifest), ("content.xml", "?")])), "encrypted");
    for path in ["a.docx", "a.pptx", "a.xlsx", "a.odt"] {
        assert_eq!(code(path, b""), "malformed", "{path}");
        assert_eq!(code(path, b"PK\x03\x04"), "malformed", "{path}");
        assert_eq!(code(path, &zip(&[("x", "y")])), "malformed", "{path}");
    }
    let whole = word_parts(&p("a"), &[]);
    assert_eq!(code("a.docx", &whole[..whole.len() - 30]), "malformed");
    assert_eq!(code("a.docx", &zip(&[("word/document.xml", "<a><b></a>")])), "malformed");
    assert_eq!(code("a.docx", &zip(&[("word/document.xml", &format!("<w:document {W}><w:body><w:p>"))])), "malformed");
}

#[test]
fn hostile_packages_are_refused() {
    let deep = format!("{}{}", "<w:sdt>".repeat(10_000), "</w:sdt>".repeat(10_000));
    assert_eq!(code("a.docx", &word_parts(&deep, &[])), "malformed");
    let entities = r#"<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>"#;
    assert_eq!(code("a.docx", &zip(&[("word/document.xml", entities)])), "malformed");
    assert_eq!(word(&p("&b; &#x41;&amp;")).text, "&b; A&\n", "unknown entities are text");
    let bomb = zip(&[("word/document.xml", &" ".repeat(129 << 20))]);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(code("a.docx", &bomb), "growth");
    let settings = ReadSettings { growth: 1 << 20, ..ReadSettings::default() };
    assert!(matches!(read("a.docx", bomb, &settings).unwrap_err().reason, Skip::Malformed { .. }));
}

#[test]
fn no_change_of_a_byte_is_fatal() {
    let samples = [
        (
            "a.docx",
            word_parts(
                &[p("a"), item(2, 1, "b"), styled("H1", "c")].concat(),
                &[("word/styles.xml", &styles()), ("word/numbering.xml", &numbering())],
            ),
        ),
        ("a.xlsx", sheet(r#"<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" s="1"><v>1</v></c></row>"#)),
        ("a.pptx", slides(&shape(r#"<p:ph type="body"/>"#, &["a", " b"]), "")),
        (
            "a.odt",
            open_document(
                "",
                "<office:text><text:list><text:list-item><text:p>a<text:s/></text:p></text:list-item></text:list></office:text>",
            ),
        ),
    ];
    let mut state: u64 = 7;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for (path, sample) in &samples {
        for _ in 0..1000 {
            let mut bytes = sample.clone();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                match random(3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes.insert(at, bytes[at]),
                    _ => bytes[at] = u8::try_from(random(256)).unwrap(),
                }
            }
            let _ = read(path, bytes, &ReadSettings::default());
        }
    }
}

#[test]
fn no_change_of_the_markup_is_fatal() {
    let body = format!(
        r#"{}{}<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{}</w:tc></w:tr></w:tbl><w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:hyperlink r:id="l"><w:r><w:rPr><w:b/></w:rPr><w:t>x</w:t><w:footnoteReference w:id="1"/></w:r></w:hyperlink><m:oMath><m:f><m:num><m:t>1</m:t></m:num></m:f></m:oMath></w:p>"#,
        item(2, 1, "b"),
        styled("Code", "c"),
        p("d"),
    );
    let mut state: u64 = 11;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    // Only whole tags are left out, doubled or swapped, so most of the results are read, not refused.
    let tags: Vec<&str> = body.split_inclusive('>').collect();
    let mut read_at_all = 0;
    for _ in 0..800 {
        let mut tags = tags.clone();
        let (at, other) = (random(tags.len()), random(tags.len()));
        match random(3) {
            0 => drop(tags.remove(at)),
            1 => tags.insert(at, tags[at]),
            _ => tags.swap(at, other),
        }
        let bytes = word_parts(&tags.concat(), &[("word/styles.xml", &styles()), ("word/numbering.xml", &numbering())]);
        if let Ok(layer) = read("a.docx", bytes, &ReadSettings::default()) {
            crate::check::check(&layer, None);
            read_at_all += 1;
        }
    }
    assert!(read_at_all > 50, "{read_at_all}");
}

#[test]
fn a_power_is_written_with_a_caret() {
    let run = |properties: &str, text: &str| format!("<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>");
    let up = r#"<w:vertAlign w:val="superscript"/>"#;
    let bold = format!("<w:b/>{up}");
    let body = [
        run("", "10"),
        run(up, "-"),
        run(up, "6"),
        run("", " and "),
        run("<w:b/>", "x"),
        run(&bold, "n+1"),
        run("<w:b/>", "y"),
    ];
    assert_eq!(word(&format!("<w:p>{}</w:p>", body.concat())).text, "10^-6 and **x^(n+1)y**\n");
    let body = [run("", "1"), run(up, "st"), run("", " a"), run(&bold, "2"), run("", "b")];
    assert_eq!(word(&format!("<w:p>{}</w:p>", body.concat())).text, "1st a^**2**b\n");
    let style = r#"<style:style style:name="U" style:family="text"><style:text-properties style:text-position="super 58%"/></style:style><style:style style:name="D" style:family="text"><style:text-properties style:text-position="-33% 58%"/></style:style>"#;
    let body = r#"<text:p>10<text:span text:style-name="U">6</text:span> H<text:span text:style-name="D">2</text:span>O</text:p>"#;
    let body = format!("<office:text>{body}</office:text>");
    assert_eq!(layer_of("a.odt", &open_document(style, &body)).text, "10^6 H2O\n");
    let slide = r#"<p:sp><p:txBody><a:p><a:r><a:t>10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r><a:r><a:t> H</a:t></a:r><a:r><a:rPr baseline="-25000"/><a:t>2</a:t></a:r><a:r><a:t>O</a:t></a:r></a:p></p:txBody></p:sp>"#;
    assert!(layer_of("a.pptx", &slides(slide, "")).text.ends_with("\n10^6 H2O\n"));
}

#[test]
fn paragraphs_of_quotations_are_one_quotation() {
    let body = [p("a"), styled("IQ", "q <w:b/>1"), styled("BT", "2"), p("b"), styled("IQ", "3"), styled("Code", "c")];
    assert_eq!(full(&body.concat()).text, "a\n\n> q 1\n>\n> 2\n\nb\n\n> 3\n\n```\nc\n```\n");
    assert_eq!(word(&styled("Quote", "No styles")).text, "> No styles\n");
}

#[test]
fn a_drawing_that_is_no_picture_has_its_alternative_text() {
    let shape = r#"<w:p><w:r><w:t>a </w:t></w:r><w:r><w:drawing><wp:docPr descr="A  box"/></w:drawing></w:r><w:r><w:drawing><wp:docPr name="none"/></w:drawing></w:r></w:p>"#;
    assert_eq!(word(shape).text, "a ![A box]()\n");
}

const C: &str = r#"xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main""#;

/// Points of a chart: their numbers and texts.
fn points(all: &[(u32, &str)]) -> String {
    all.iter().map(|(at, text)| format!(r#"<c:pt idx="{at}"><c:v>{text}</c:v></c:pt>"#)).collect()
}

/// A series: its name, and the points of its categories and values.
fn series(name: &str, categories: &str, values: &str) -> String {
    let name = if name.is_empty() {
        String::new()
    } else {
        format!(
            "<c:tx><c:strRef><c:f>Sheet1!$B$1</c:f><c:strCache>{}</c:strCache></c:strRef></c:tx>",
            points(&[(0, name)])
        )
    };
    format!(
        "<c:ser>{name}<c:cat>{categories}</c:cat><c:val><c:numRef><c:numCache><c:formatCode>General</c:formatCode>{values}</c:numCache></c:numRef></c:val></c:ser>"
    )
}

/// A chart with a title.
fn chart(title: &str, series: &str) -> String {
    format!(
        "<c:chartSpace {C}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart>{series}</c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )
}

/// A slide with this chart.
fn slide_with(chart: &str) -> Layer {
    let frame = format!(r#"<p:graphicFrame><a:graphic><c:chart {C} r:id="c"/></a:graphic></p:graphicFrame>"#);
    let deck = format!(r#"<p:presentation {P}><p:sldIdLst><p:sldId id="256" r:id="a"/></p:sldIdLst></p:presentation>"#);
    let slide = format!("<p:sld {P}><p:cSld><p:spTree>{frame}</p:spTree></p:cSld></p:sld>");
    layer_of(
        "a.pptx",
        &zip(&[
            ("ppt/presentation.xml", &*deck),
            ("ppt/_rels/presentation.xml.rels", &relations(&[("a", "slide", "slides/slide1.xml")])),
            ("ppt/slides/slide1.xml", &slide),
            ("ppt/slides/_rels/slide1.xml.rels", &relations(&[("c", "chart", "../charts/chart1.xml")])),
            ("ppt/charts/chart1.xml", chart),
        ]),
    )
}

#[test]
fn the_data_of_a_chart_are_a_table() {
    let quarters = points(&[(0, "Q1"), (1, "Q2"), (2, "Q3")]);
    let both = [
        series("Sales", &quarters, &points(&[(0, "4.5"), (2, "7")])),
        series("Costs", &quarters, &points(&[(0, "1"), (1, "2"), (2, "3")])),
    ];
    let layer = slide_with(&chart("By quarter", &both.concat()));
    assert_eq!(
        layer.text,
        "## Slide 1\n\nBy quarter\n\n| | Sales | Costs |\n| --- | --- | --- |\n| Q1 | 4.5 | 1 |\n| Q2 | | 2 |\n| Q3 | 7 | 3 |\n"
    );
    assert_eq!(places(&layer)[0].0, "slide 1");
    // A series without a name, with other categories, and one that was filtered away.
    let days = format!(
        "<c:numRef><c:numCache><c:formatCode>d/m/yy</c:formatCode>{}</c:numCache></c:numRef>",
        points(&[(0, "45352"), (1, "45353")])
    );
    let filtered = format!("<c:extLst><c:ext>{}</c:ext></c:extLst>", series("Gone", &quarters, &quarters));
    let layer = slide_with(&chart("T", &[&both[0], &*series("", &days, &points(&[(1, "9")])), &filtered].concat()));
    assert!(
        layer.text.ends_with("| Q3 | 7 |\n\n| | Series 2 |\n| --- | --- |\n| 2024-03-01 | |\n| 2024-03-02 | 9 |\n"),
        "{}",
        layer.text
    );
    assert_eq!(dropped(&layer, DropReason::Hidden), 4 + 2 * 6 + "Sheet1!$B$1General".len() as u64);
}

#[test]
fn categories_of_a_chart_may_have_groups() {
    let level = |all: &[(u32, &str)]| format!("<c:lvl>{}</c:lvl>", points(all));
    let categories = format!(
        "<c:multiLvlStrRef><c:multiLvlStrCache>{}{}</c:multiLvlStrCache></c:multiLvlStrRef>",
        level(&[(0, "Jan"), (1, "Feb"), (2, "Jan")]),
        level(&[(0, "2023"), (2, "2024")])
    );
    let layer = slide_with(&chart("T", &series("N", &categories, &points(&[(0, "1"), (1, "2"), (2, "3")]))));
    assert!(
        layer
            .text
            .ends_with("| | | N |\n| --- | --- | --- |\n| 2023 | Jan | 1 |\n| 2023 | Feb | 2 |\n| 2024 | Jan | 3 |\n"),
        "{}",
        layer.text
    );
}

#[test]
fn drawings_are_where_they_are_shown() {
    let data = chart("T", &series("N", &points(&[(0, "a")]), &points(&[(0, "1")])));
    let rels = relations(&[("c", "chart", "charts/chart1.xml"), ("d", "diagramData", "diagrams/data1.xml")]);
    let diagram = format!("<dgm:dataModel {W}><a:p><a:r><a:t>box</a:t></a:r></a:p></dgm:dataModel>");
    let shown = |inside: &str| format!("<w:p><w:r><w:t>x</w:t><w:drawing>{inside}</w:drawing></w:r></w:p>");
    let with_chart = shown(&format!(r#"<c:chart {C} r:id="c"/>"#));
    let body = [
        styled("H1", "One"),
        with_chart.clone(),
        styled("H1", "Two"),
        shown(r#"<dgm:relIds r:dm="d"/>"#),
        format!("<w:tbl><w:tr><w:tc>{with_chart}</w:tc></w:tr></w:tbl>"),
        p("end"),
    ];
    let document = format!("<w:document {W}><w:body>{}</w:body></w:document>", body.concat());
    let parts = [
        ("word/document.xml", &*document),
        ("word/_rels/document.xml.rels", &rels),
        ("word/charts/chart1.xml", &data),
        ("word/diagrams/data1.xml", &diagram),
    ];
    let layer = layer_of("a.docx", &zip(&parts));
    let table = "T\n\n| | N |\n| --- | --- |\n| a | 1 |\n";
    assert_eq!(layer.text, format!("One\n\nx\n\n{table}\nTwo\n\nx\n\nbox\n\n| x |\n| --- |\n\n{table}\nend\n"));
    let names: Vec<_> = places(&layer).into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["body/p[1]", "body/p[2]", "body/p[3]", "body/p[4]", "body/tbl[1]", "body/p[5]"]);
}

#[test]
fn charts_of_open_document_are_tables_too() {
    let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    let gap =
        r#"<table:table-cell office:value-type="float" office:value="NaN"><text:p>1.#NAN</text:p></table:table-cell>"#;
    let rows = [
        format!(
            "<table:table-header-rows><table:table-row><table:table-cell><text:p/></table:table-cell>{}</table:table-row></table:table-header-rows>",
            cell("N")
        ),
        format!("<table:table-row>{}{}</table:table-row>", cell("a"), cell("1")),
        format!("<table:table-row>{}{gap}</table:table-row>", cell("b")),
    ];
    let object = format!(
        r#"<office:document-content {O}><office:body><office:chart><chart:chart><chart:title><text:p>T</text:p></chart:title><table:table table:name="local-table">{}</table:table></chart:chart></office:chart></office:body></office:document-content>"#,
        rows.concat()
    );
    let frame = r#"<draw:frame><draw:object xlink:href="./Object 1"/><draw:image xlink:href="./ObjectReplacements/Object 1"/></draw:frame>"#;
    let table = "T\n\n| | N |\n| --- | --- |\n| a | 1 |\n| b | |\n";
    let layer = |path: &str, body: &str| {
        let content =
            format!("<office:document-content {O}><office:body>{body}</office:body></office:document-content>");
        layer_of(path, &zip(&[("content.xml", &*content), ("Object 1/content.xml", &object)])).text
    };
    let text = format!("<office:text><text:p>x{frame}</text:p><text:p>end</text:p></office:text>");
    assert_eq!(layer("a.odt", &text), format!("x\n\n{table}\nend\n"));
    let slide = format!("<office:presentation><draw:page>{frame}</draw:page></office:presentation>");
    assert_eq!(layer("a.odp", &slide), format!("## Slide 1\n\n{table}"));
    // The data are cells of the sheet.
    let sheet = format!(
        r#"<office:spreadsheet><table:table table:name="S"><table:shapes>{frame}</table:shapes><table:table-row>{}</table:table-row></table:table></office:spreadsheet>"#,
        cell("1")
    );
    assert_eq!(layer("a.ods", &sheet), "## S\n\nT\n\n| 1 |\n| --- |\n");
}
