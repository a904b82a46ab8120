//! Files are built here, object by object.

use std::fmt::Write as _;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Document, DropReason, Layer, ReadFlag, visible_chars};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::check::layer_of;
use crate::{ReadSettings, read};

/// Builds a file of objects, which have the numbers from 1 on. The first one is the catalog.
fn file(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut starts = Vec::new();
    for (number, object) in (1..).zip(objects) {
        starts.push(file.len());
        file.extend(format!("{number} 0 obj\n").into_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let at = file.len();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for start in starts {
        let _ = writeln!(table, "{start:010} 00000 n ");
    }
    file.extend(table.into_bytes());
    file.extend(
        format!("trailer\n<</Size {}/Root 1 0 R{trailer}>>\nstartxref\n{at}\n%%EOF\n", objects.len() + 1).into_bytes(),
    );
    file
}

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let mut object = format!("<<{dictionary}/Length {}>>\nstream\n", content.len()).into_bytes();
    object.extend(content);
    object.extend(b"\nendstream");
    object
}

/// Builds a file of pages with these contents. `/F` is upright, `/B` bold, `/I` in italics, `/C` a typewriter. Objects after the pages are
/// `more`, from 5 + 2 times the number of pages on.
fn pages(contents: &[&str], more: &[&str], catalog: &str, page: &str, trailer: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|at| format!("{} 0 R", 6 + 2 * at)).collect();
    let kids = kids.join(" ");
    let font =
        |name: &str| format!("<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding>>").into_bytes();
    let mut objects = vec![
        format!("<</Type/Catalog/Pages 2 0 R{catalog}>>").into_bytes(),
        format!("<</Type/Pages/Kids[{kids}]/Count {}/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R/B 4 0 R/C 5 0 R/I<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Oblique>>>>>>>>", contents.len()).into_bytes(),
        font("Helvetica"),
        font("Helvetica-Bold"),
        font("Courier"),
    ];
    for (at, content) in contents.iter().enumerate() {
        objects.push(format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R{page}>>", 7 + 2 * at).into_bytes());
        objects.push(stream("", &latin(content)));
    }
    objects.extend(more.iter().map(|object| object.as_bytes().to_vec()));
    file(&objects, trailer)
}

fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("it is Latin")).collect()
}

/// Text at a place, from the left and from the top.
fn at(font: &str, size: u32, x: u32, y: u32, text: &str) -> String {
    format!("BT /{font} {size} Tf {x} {} Td ({text}) Tj ET\n", 800 - y)
}

/// Lines of a paragraph.
fn lines(x: u32, y: u32, lines: &[&str]) -> String {
    (0..).zip(lines).map(|(number, line)| at("F", 10, x, y + 12 * number, line)).collect()
}

fn one(content: &str) -> Layer {
    layer_of("a.pdf", &pages(&[content], &[], "", "", ""))
}

fn many(contents: &[String]) -> Layer {
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    layer_of("a.pdf", &pages(&contents, &[], "", "", ""))
}

fn dropped(layer: &Layer, reason: DropReason) -> u64 {
    let dropped = &layer.structure.as_ref().unwrap().dropped;
    dropped.iter().find(|dropped| dropped.reason == reason).map_or(0, |dropped| dropped.chars)
}

fn places(layer: &Layer) -> Vec<(&str, &str)> {
    let all = &layer.structure.as_ref().unwrap().places;
    let ends = all.iter().skip(1).map(|(at, _)| *at).chain([layer.text.len()]);
    all.iter().zip(ends).map(|((at, place), end)| (&*place.name, layer.text[*at..end].trim())).collect()
}

fn skip(bytes: &[u8]) -> Option<Skip> {
    read("a.pdf", bytes.to_vec(), &ReadSettings::default()).err().map(|refusal| refusal.reason)
}

const LEFT: [&str; 6] = [
    "The left column has a text that",
    "fills its lines from the left end",
    "to the right end and goes on over",
    "several lines of the same length",
    "so that nobody takes it for cells",
    "of a table with short words here",
];

const RIGHT: [&str; 6] = [
    "and the right column starts here",
    "with the words that follow those",
    "at the foot of the left one and it",
    "fills its lines in the same way as",
    "the other does until the paragraph",
    "ends at last with a full stop now.",
];

#[test]
fn lines_of_a_paragraph_are_joined() {
    let layer = one(&lines(50, 100, &["The first line of a paragraph", "goes on in the second one."]));
    assert_eq!(layer.text, "The first line of a paragraph goes on in the second one.\n");
    assert_eq!(places(&layer), [("p. 1", "The first line of a paragraph goes on in the second one.")]);
}

#[test]
fn words_are_told_by_gaps_if_there_are_no_spaces() {
    let layer = one("BT /F 10 Tf 50 700 Td [(Two)-300(wo)20(rds)] TJ 0 -12 Td (fol) Tj (low) Tj ET");
    assert_eq!(layer.text, "Two words follow\n");
    // Spaces may be narrow, and dots far from each other.
    let layer = one("BT /F 10 Tf 50 700 Td [(and)-140(so)-140(on)-250(.)-160(.)-160(.)] TJ ET");
    assert_eq!(layer.text, "and so on ...\n");
}

#[test]
fn columns_are_read_one_after_the_other() {
    let head =
        at("F", 10, 50, 60, "A line over both columns that is wider than each of the columns is alone on the page.");
    for shift in [0, 5] {
        let layer = one(&format!("{head}{}{}", lines(50, 100, &LEFT), lines(320, 100 + shift, &RIGHT)));
        let text = layer.text.split_once("page.").unwrap().1.trim();
        assert_eq!(text, [LEFT, RIGHT].concat().join(" "), "{shift}");
    }
}

#[test]
fn cells_stay_in_rows() {
    let row = |y, cells: [&str; 3]| -> String {
        (0..).zip(cells).map(|(column, cell)| at("F", 10, 50 + 120 * column, y, cell)).collect()
    };
    let table =
        [row(100, ["Name", "Size", "Price"]), row(114, ["Apple", "3", "0.50"]), row(128, ["Pear", "12", "1.20"])];
    let layer = one(&format!("{}{}", lines(50, 60, &["Some text before the table, on a line."]), table.concat()));
    assert!(
        layer
            .text
            .ends_with("| Name | Size | Price |\n| --- | --- | --- |\n| Apple | 3 | 0.50 |\n| Pear | 12 | 1.20 |\n"),
        "{}",
        layer.text
    );
}

/// Cells of a table, each with its lines, in the middle of the height of its row. Columns are 130 wide, from 50 on.
fn row(top: u32, height: u32, cells: &[&[&str]]) -> String {
    let cell = |(column, lines): (u32, &&[&str])| {
        let first = top + height / 2 - 6 * u32::try_from(lines.len()).unwrap() + 10;
        self::lines(55 + 130 * column, first, lines)
    };
    (0..).zip(cells).map(cell).collect()
}

/// A line that is drawn in parts, one for each of three columns.
fn parts(y: u32) -> String {
    (0..3).map(|column| format!("{} {} m {} {1} l S\n", 50 + 130 * column, 800 - y, 180 + 130 * column)).collect()
}

/// The same line in one piece, as a thin area.
fn bar(y: u32) -> String {
    format!("50 {} 390 0.4 re f\n", 800 - y)
}

const ROWS: [(u32, u32, [&[&str]; 3]); 4] = [
    (100, 20, [&["Role"], &["May"], &["Since"]]),
    (120, 44, [&["operator"], &["start and stop plans", "of all machines, and", "read the logs"], &["4.0"]]),
    (164, 32, [&["administrator of", "a vault"], &["change all"], &["3.0"]]),
    (196, 20, [&["viewer"], &["read"], &["3.1"]]),
];

const TABLE: &str = "| Role | May | Since |\n| --- | --- | --- |\n| operator | start and stop plans of all machines, and read the logs | 4.0 |\n| administrator of a vault | change all | 3.0 |\n| viewer | read | 3.1 |\n";

fn cells() -> String {
    ROWS.iter().map(|(top, height, cells)| row(*top, *height, cells)).collect()
}

#[test]
fn rows_of_a_ruled_table_have_cells_with_several_lines() {
    let around = |table: &str| {
        let before = lines(50, 60, &["Some text before the table, on a line of its own that is long enough."]);
        one(&format!(
            "{before}{table}{}",
            lines(50, 240, &["Some text after the table, with many words that are here."])
        ))
    };
    let all = |line: fn(u32) -> String, heights: &[u32]| heights.iter().map(|y| line(*y)).collect::<String>();
    // A grid; lines around the header and below the last row, in parts and whole, as booktabs draws them.
    let grid = format!(
        "{}{}",
        all(parts, &[100, 120, 164, 196, 216]),
        (0..4).map(|column| format!("{} 700 m {0} 584 l S\n", 50 + 130 * column)).collect::<String>()
    );
    for lines in [grid, all(parts, &[100, 120, 216]), all(bar, &[100, 120, 216])] {
        let text = around(&format!("{lines}{}", cells())).text;
        let table = format!(
            "Some text before the table, on a line of its own that is long enough.\n\n{TABLE}\nSome text after"
        );
        assert!(text.starts_with(&table), "{text}");
    }
}

#[test]
fn a_table_goes_on_on_the_next_page_under_its_header() {
    let (header, rest) = (row(50, 20, &ROWS[0].2), row(70, 20, &[&["auditor"], &["read the logs"], &["4.1"]]));
    let first = format!("{}{}{}", parts(100), parts(120), cells());
    let second = format!("{}{}{}{header}{rest}", parts(50), parts(70), parts(90));
    let layer = many(&[first.clone(), second]);
    assert_eq!(layer.text, format!("{TABLE}| auditor | read the logs | 4.1 |\n"));
    assert_eq!(dropped(&layer, DropReason::Repeated), 12, "the header again");
    assert_eq!(places(&layer)[0].0, "pp. 1–2");
    // Without its header, by its columns.
    let layer = many(&[first.clone(), format!("{}{}{}", parts(70), parts(90), rest)]);
    assert!(layer.text.ends_with("| viewer | read | 3.1 |\n| auditor | read the logs | 4.1 |\n"), "{}", layer.text);
    // A row may be on both pages: the cells that are higher go on.
    let half = |cells: [&[&str]; 3], y| row(y, 20, &cells);
    let start = format!("{}{}{}{}", parts(100), parts(120), cells(), half([&["auditor"], &[], &["4.1"]], 216));
    let other = half([&[], &["read the logs"], &[]], 70);
    let layer = many(&[start, format!("{}{}{}{header}{other}", parts(50), parts(70), parts(90))]);
    assert!(layer.text.ends_with("| viewer | read | 3.1 |\n| auditor | read the logs | 4.1 |\n"), "{}", layer.text);
    // Below a heading, it is another table.
    let heading = at("B", 16, 50, 30, "Another Table");
    let layer = many(&[first, format!("{heading}{}{}{}{header}{rest}", parts(50), parts(70), parts(90))]);
    assert!(layer.text.contains("# Another Table\n\n| Role |"), "{}", layer.text);
}

#[test]
fn cells_below_a_header_are_not_columns_of_text() {
    // Two cells of three lines each, which are not at the same height, have a gutter like columns have.
    let header = format!("{}{}{}", parts(600), parts(620), row(600, 20, &ROWS[0].2));
    let [left, right] = [
        ["the first cell of it", "has three lines here", "that are all filled"],
        ["the second cell is", "three lines high and", "it is a bit higher"],
    ];
    let cells = lines(55, 640, &left) + &lines(185, 646, &right) + &at("F", 10, 315, 652, "4.0");
    let plain = row(680, 20, &[&["viewer"], &["read"], &["3.1"]]);
    let text = many(&[format!("{header}{cells}{plain}")]).text;
    assert!(
        text.contains("| the first cell of it has three lines here that are all filled | the second cell"),
        "{text}"
    );
}

#[test]
fn sizes_are_compared_with_text_that_is_not_code() {
    let sentence = at("F", 12, 50, 100, "A sentence about the program, and it is no heading");
    let code: String = (0..8).map(|line| at("C", 10, 50, 130 + 12 * line, "larder vault list --all")).collect();
    let layer = one(&format!("{sentence}{code}"));
    assert!(layer.text.starts_with("A sentence about"), "{}", layer.text);
}

#[test]
fn headings_do_not_go_on_behind_their_text() {
    let section = |y, title: &str| at("B", 16, 50, y, title) + &lines(50, y + 30, &["Some text below that heading."]);
    let layer = many(&[section(100, "The vault"), section(60, "of the shelf")]);
    assert!(layer.text.contains("# The vault\n") && layer.text.contains("# of the shelf\n"), "{}", layer.text);
}

#[test]
fn tables_with_the_same_ends_are_not_one() {
    let text = lines(
        50,
        240,
        &["A text between two tables goes from one end of the tables to the", "other one, over all columns."],
    );
    let second: String =
        [row(270, 20, &[&["Name"], &["Size"], &["Price"]]), row(290, 20, &[&["Apple"], &["3"], &["0.50"]])].concat();
    for line in [parts, bar] {
        let all: String = [100, 120, 216, 270, 290, 310].into_iter().map(line).collect();
        let layer = one(&format!("{all}{}{text}{second}", cells()));
        let tables = format!(
            "{TABLE}\nA text between two tables goes from one end of the tables to the other one, over all columns.\n\n| Name | Size | Price |\n"
        );
        assert!(layer.text.starts_with(&tables), "{}", layer.text);
    }
}

#[test]
fn lines_around_text_make_no_table() {
    let columns = format!("{}{}", lines(50, 100, &LEFT), lines(320, 100, &RIGHT));
    let rules = "50 720 m 560 720 l S 50 620 m 560 620 l S\n";
    assert_eq!(one(&format!("{rules}{columns}")).text.trim(), [LEFT, RIGHT].concat().join(" "));
    let code = format!(
        "{}{}{}50 {} 400 60 re S\n",
        at("C", 10, 60, 100, "let a  = 1;  // one"),
        at("C", 10, 60, 112, "let bc = 2;  // two"),
        at("C", 10, 60, 124, "let d  = 3;  // three"),
        660
    );
    let text = lines(
        50,
        300,
        &[
            "Most of this page is a text of the usual font that goes on over some lines and is",
            "long enough to be what most of it is, as it has more letters than the code above has.",
        ],
    );
    let layer = one(&format!("{code}{text}"));
    assert!(layer.text.starts_with("```\nlet a  = 1;  // one\nlet bc = 2;  // two\n"), "{}", layer.text);
}

#[test]
fn rows_without_lines_between_them_are_told_by_their_distance() {
    let table: [(u32, [&str; 3]); 9] = [
        (100, ["Role", "May", "Since"]),
        (118, ["operator of", "start and stop", "4.0"]),
        (130, ["the night", "plans, and", ""]),
        (142, ["", "read logs", ""]),
        (160, ["viewer", "read", "3.1"]),
        (178, ["administrator", "change all", "3.0"]),
        (190, ["of the vault", "", ""]),
        (208, ["a guest of our", "see plans and", ""]),
        (220, ["organisation", "jars of others", ""]),
    ];
    let cells = table.iter().flat_map(|(y, cells)| {
        let cells = (0..).zip(cells).filter(|(_, cell)| !cell.is_empty());
        cells.map(|(column, cell)| at("F", 10, 50 + 120 * column, *y, cell))
    });
    let before = lines(50, 60, &["Some text before the table, on a line."]);
    let text = one(&format!("{before}{}", cells.collect::<String>())).text;
    let rows = [
        "| Role | May | Since |",
        "| --- | --- | --- |",
        "| operator of the night | start and stop plans, and read logs | 4.0 |",
        "| viewer | read | 3.1 |",
        "| administrator of the vault | change all | 3.0 |",
        "| a guest of our organisation | see plans and jars of others | |\n",
    ];
    assert!(text.ends_with(&rows.join("\n")), "{text}");
    // Rows of one line each in groups stay rows: a line of a cell is as wide as it can be.
    let grouped = [(100, "ls"), (112, "cd"), (124, "mkdir"), (142, "cat"), (154, "less"), (166, "head")];
    let grouped = grouped.iter().flat_map(|(y, name)| {
        [at("F", 10, 50, *y, name), at("F", 10, 170, *y, "does what it says"), at("F", 10, 330, *y, "")]
    });
    assert_eq!(one(&grouped.collect::<String>()).text.lines().count(), 7);
}

#[test]
fn very_many_lines_take_linear_time() {
    let rules: String =
        (0..60_000).map(|at| format!("{} {} m {} {1} l S\n", at % 97, at % 731, at % 97 + 400)).collect();
    let words: String = (0..20_000).map(|word| at("F", 4, 50 + word % 50 * 9, 50 + word / 50 % 400, "ab")).collect();
    let start = std::time::Instant::now();
    one(&format!("{rules}{}{}", cells(), lines(50, 300, &LEFT)));
    one(&format!("{rules}{words}"));
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn headings_are_larger_or_bold() {
    let text = |y| lines(50, y, &["Some text of the usual size that is", "long enough to be most of the page."]);
    let layer = one(&format!(
        "{}{}{}{}{}{}{}",
        at("F", 24, 50, 50, "Title of All"),
        at("F", 16, 50, 90, "First Part"),
        text(110),
        at("B", 10, 50, 150, "A Detail"),
        text(164),
        at("F", 16, 50, 220, "Second Part"),
        text(240),
    ));
    let heads: Vec<_> = layer.text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(heads, ["# Title of All", "## First Part", "### A Detail", "## Second Part"]);
    assert_eq!(layer.structure.unwrap().title.as_deref(), Some("Title of All"));
}

#[test]
fn the_outline_gives_headings_and_their_levels() {
    let text = |y| lines(50, y, &["Some text of the usual size that is", "long enough to be most of the page."]);
    let content =
        format!("{}{}{}{}", at("F", 10, 50, 50, "1 Overview"), text(62), at("F", 10, 50, 120, "Scope"), text(132));
    let outline = [
        "<</First 9 0 R/Last 9 0 R>>",
        "<</Title(Overview)/Parent 8 0 R/First 10 0 R/Last 10 0 R/Next 9 0 R>>",
        "<</Title<FEFF00530063006F00700065>/Parent 9 0 R>>",
    ];
    let layer = layer_of("a.pdf", &pages(&[&content], &outline, "/Outlines 8 0 R", "", ""));
    assert!(layer.text.starts_with("# 1 Overview\n\nSome text"), "{}", layer.text);
    assert!(layer.text.contains("\n\n## Scope\n\n") || layer.text.contains("Scope"), "{}", layer.text);
}

#[test]
fn running_heads_and_numbers_of_pages_are_dropped_and_counted() {
    let page = |number: u32| {
        let head = at("F", 9, 50, 30, "A Report on Things");
        let text = lines(50, 200 + number, &["Some text that only this page has,", "with a number of its own."]);
        let own = at("F", 10, 50, 300, &format!("Page {} has this.", ["one", "two", "three", "four"][number as usize]));
        format!("{head}{text}{own}{}", at("F", 9, 300, 780, &format!("{}", number + 7)))
    };
    let layer = many(&[page(0), page(1), page(2), page(3)]);
    assert!(!layer.text.contains("Report") && !layer.text.contains("10"), "{}", layer.text);
    assert_eq!(dropped(&layer, DropReason::RunningHead), 4 * 15 + 5);
    assert!(layer.text.contains("Page four has this."));
}

#[test]
fn hyphens_at_the_ends_of_lines_are_joined_unless_they_belong_to_the_word() {
    let layer = one(&lines(
        50,
        100,
        &[
            "A long para-",
            "graph about well-known things is a well-",
            "known thing of the years 1990-",
            "2000 and so on.",
        ],
    ));
    assert_eq!(
        layer.text,
        "A long paragraph about well-known things is a well-known thing of the years 1990-2000 and so on.\n"
    );
    assert_eq!(dropped(&layer, DropReason::Markup), 1);
}

#[test]
fn a_document_that_cuts_only_compounds_keeps_their_hyphens() {
    let known = "A three-day plan, a low-cost one and larder-pg for all.";
    let compounds =
        ["A plan of three-", "day size, another low-", "cost one, and an office-", "files scope, known too."];
    let words = ["A plan of con-", "trol size, and an ex-", "ample one, for an office-", "files scope, known too."];
    let text = one(&lines(50, 100, &[&[known][..], &compounds].concat())).text;
    assert!(text.contains("office-files"), "{text}");
    let known = "The control of an example.";
    let text = one(&lines(50, 100, &[&[known][..], &words].concat())).text;
    assert!(text.contains("officefiles") && text.contains("of control size, and an example one"), "{text}");
}

#[test]
fn a_document_that_cuts_nothing_keeps_the_hyphens_of_known_words() {
    let text = |last: &[&str]| {
        let usual = ["The plan of the first half of this year", "goes on with more words and so it does"];
        let all: Vec<&str> = usual.iter().take(1).chain(vec![&usual[1]; 30]).chain(last).copied().collect();
        one(&lines(50, 100, &all)).text
    };
    assert!(text(&["and ends with the half-", "yearly report."]).contains("half-yearly report"));
    assert!(text(&["and ends with the con-", "trol of it."]).contains("the control of"));
    assert!(text(&["and ends with the TLS-", "terminating proxy."]).contains("TLS-terminating"));
}

#[test]
fn names_in_code_keep_their_hyphens() {
    let word = at("F", 10, 100, 100, "starts with config-");
    let code = at("C", 10, 200, 100, "larder-");
    let second = format!("{}{}", at("C", 10, 50, 112, "agent"), at("F", 10, 90, 112, "on it and so on."));
    let layer = one(&format!("{}{word}{code}{second}", at("F", 10, 50, 100, "It")));
    assert!(layer.text.contains("`larder-agent` on it"), "{}", layer.text);
}

#[test]
fn a_paragraph_over_two_pages_names_both() {
    let layer = many(&[lines(50, 700, &LEFT), lines(50, 60, &RIGHT)]);
    assert_eq!(places(&layer), [("pp. 1–2", &*[LEFT, RIGHT].concat().join(" "))]);
    let document = Document::parse("report.pdf".into(), layer);
    assert_eq!(document.blocks.len(), 1);
}

#[test]
fn items_have_their_marks() {
    let item = |y, mark: &str, text: &str| format!("{}{}", at("F", 10, 50, y, mark), at("F", 10, 64, y, text));
    let bullets = format!(
        "{}{}{}",
        item(100, "\u{95}", "One thing"),
        item(112, "\u{95}", "another that is"),
        at("F", 10, 64, 124, "longer")
    );
    let layer = one(&format!("{bullets}{}{}", item(160, "1.", "first"), item(172, "2.", "second")));
    assert_eq!(layer.text, "- One thing\n- another that is longer\n1. first\n2. second\n");
    // The last line of an item may be the only one below its text.
    let long = at("F", 10, 64, 184, "longer.") + &item(196, "3.", "third");
    let layer = one(&format!("{}{}{long}", item(160, "1.", "first"), item(172, "2.", "second and so much")));
    assert_eq!(layer.text, "1. first\n2. second and so much longer.\n3. third\n");
}

#[test]
fn code_keeps_its_lines_and_indentation() {
    let code = |y, x, text: &str| at("C", 10, x, y, text);
    let text = lines(
        50,
        60,
        &[
            "Some text before the code which is long enough,",
            "so that most of the page is not code at all, and more text.",
        ],
    );
    let layer = one(&format!(
        "{text}{}{}{}",
        code(100, 50, "fn main\\(\\) {"),
        code(112, 74, "run\\(\\);  // go"),
        code(124, 50, "}")
    ));
    assert!(layer.text.ends_with("```\nfn main() {\n    run();  // go\n}\n```\n"), "{}", layer.text);
}

#[test]
fn code_in_columns_stays_in_its_lines() {
    let text = lines(50, 60, &["Some text before the code which is long enough,", "and it is not in a typewriter."]);
    let listing = [("larder status", "# is the server well?"), ("larder run list", "# what ran, what did not?")];
    let listing = listing.iter().chain(&[("larder vault list", "# who is full, who is locked?")]).zip(0..);
    let listing: String = listing
        .map(|((left, right), line)| at("C", 10, 50, 100 + 12 * line, left) + &at("C", 10, 200, 100 + 12 * line, right))
        .collect();
    let layer = one(&format!("{text}{listing}"));
    let first = layer.text.lines().nth(3).unwrap();
    assert!(first.starts_with("larder status  ") && first.ends_with("# is the server well?"), "{}", layer.text);
}

#[test]
fn code_and_emphasis_in_a_sentence_are_marked() {
    let layer = one(&format!(
        "BT 50 700 Td /F 10 Tf (Run ) Tj /C 9 Tf (larder --now) Tj /F 10 Tf (, then ) Tj /B 10 Tf (never) Tj \
         /F 10 Tf ( or ) Tj /I 10 Tf (mostly) Tj /F 10 Tf ( for any ) Tj /I 10 Tf (x) Tj /F 10 Tf (.) Tj ET\n{}",
        at("B", 16, 50, 160, "A Heading")
    ));
    assert_eq!(layer.text, "Run `larder --now`, then **never** or *mostly* for any x.\n\n# A Heading\n");
}

#[test]
fn a_line_of_names_in_a_sentence_is_not_code() {
    let names = "BT 50 688 Td /C 10 Tf (larder.conf) Tj /F 10 Tf ( or ) Tj /C 10 Tf (/etc/vault/) Tj ET\n\
         BT 50 676 Td /C 10 Tf (local/vault.conf) Tj /F 10 Tf (.) Tj ET\n";
    let layer = one(&format!("{}{names}", lines(50, 100, &["The names of all machines are in one of the files"])));
    let text = "The names of all machines are in one of the files `larder.conf` or `/etc/vault/local/vault.conf`.\n";
    assert_eq!(layer.text, text);
}

#[test]
fn glyphs_that_are_printed_twice_are_read_once() {
    let layer = one("BT /F 10 Tf 50 700 Td (Bold) Tj ET BT /F 10 Tf 50.3 700 Td (Bold) Tj ET");
    assert_eq!(layer.text, "Bold\n");
    assert_eq!(dropped(&layer, DropReason::Repeated), 4);
}

#[test]
fn invisible_text_is_read() {
    assert_eq!(one("BT 3 Tr /F 10 Tf 50 700 Td (Recognised words) Tj ET").text, "Recognised words\n");
}

#[test]
fn text_on_its_side_is_a_block_of_its_own() {
    let side = "BT /F 10 Tf 0 1 -1 0 30 300 Tm (A note in the margin) Tj ET";
    let layer =
        one(&format!("{side}\n{}", lines(50, 100, &["Some text that is longer than", "the note in the margin is."])));
    assert_eq!(layer.text, "Some text that is longer than the note in the margin is.\n\nA note in the margin\n");
    let rotated = layer_of("a.pdf", &pages(&[side], &[], "", "/Rotate 90", ""));
    assert_eq!(rotated.text, "A note in the margin\n");
}

#[test]
fn links_lead_to_other_documents() {
    let link = "<</Subtype/Link/Rect[76 697 96 710]/A<</S/URI/URI(https://example.org/a)>>>>";
    let bytes = pages(&["BT /F 10 Tf 50 700 Td (Read this, then.) Tj ET"], &[link], "", "/Annots[8 0 R]", "");
    assert_eq!(layer_of("a.pdf", &bytes).text, "Read [this](https://example.org/a), then.\n");
}

#[test]
fn exponents_and_marks_of_notes_are_not_digits_more() {
    let layer = one("BT /F 10 Tf 50 700 Td (area) Tj /F 7 Tf 4 Ts (2) Tj ET");
    assert_eq!(layer.text, "area^2\n");
}

#[test]
fn accents_that_are_printed_over_letters_are_part_of_them() {
    let layer = one("BT /F 10 Tf 50 700 Td (Schr) Tj [(\u{a8})333(o)] TJ (der) Tj ET");
    assert_eq!(layer.text, "Schröder\n");
}

#[test]
fn marked_content_may_say_what_it_stands_for() {
    let content = "/Artifact<</Type/Pagination>> BDC BT /F 10 Tf 50 780 Td (Header) Tj ET EMC
        BT /F 10 Tf 50 700 Td /Span<</ActualText(ffi)>> BDC (x) Tj EMC ( and ) Tj ET";
    let layer = one(content);
    assert_eq!(layer.text, "ffi and\n");
    assert_eq!(dropped(&layer, DropReason::RunningHead), 6);
}

#[test]
fn properties_are_kept() {
    let info = "<</Title(A \\(Good\\) Title)/Author<FEFF00C4>/CreationDate(D:20240102030405+01'00')/Keywords(a, b)>>";
    let bytes = pages(&["BT /F 10 Tf 50 700 Td (x y) Tj ET"], &[info], "/Lang(en)", "", "/Info 8 0 R");
    let read = layer_of("a.pdf", &bytes).structure.unwrap();
    assert_eq!(read.title.as_deref(), Some("A (Good) Title"));
    let known = serde_json::to_string(&read.metadata).unwrap();
    assert_eq!(known, r#"{"author":"Ä","created":"2024-01-02T03:04:05+01:00","keywords":["a","b"],"lang":"en"}"#);
}

#[test]
fn all_characters_are_in_the_layer_or_counted() {
    let contents =
        [lines(50, 100, &LEFT), lines(50, 100, &["Two well-", "hidden (c) lines"]).replace("(c)", "\\(c\\)")];
    let layer = many(&contents);
    let all = visible_chars(&LEFT.concat()) + visible_chars("Two well-hidden (c) lines");
    let dropped: u64 = layer.structure.as_ref().unwrap().dropped.iter().map(|dropped| dropped.chars).sum();
    assert_eq!(visible_chars(&layer.text) + dropped, all, "{}", layer.text);
}

#[test]
fn pages_without_text_are_flagged_and_files_without_text_are_refused() {
    let layer = many(&["0 0 100 100 re f".to_owned(), lines(50, 100, &["Text."]), String::new()]);
    let read = layer.structure.unwrap();
    assert_eq!(read.flags, [ReadFlag::NoText]);
    assert_eq!(serde_json::to_string(&read.metadata).unwrap(), r#"{"pages_without_text":[1]}"#);
    assert!(matches!(skip(&pages(&["0 0 100 100 re f"], &[], "", "", "")), Some(Skip::NoText { pictures: false })));
    let picture = "q 100 0 0 100 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q";
    assert!(matches!(skip(&pages(&[picture], &[], "", "", "")), Some(Skip::NoText { pictures: true })));
}

#[test]
fn broken_and_encrypted_files_are_refused() {
    assert!(matches!(skip(b"%PDF-1.7\nnothing"), Some(Skip::Malformed { .. })));
    assert!(matches!(skip(b""), Some(Skip::Malformed { .. })));
    let locked = "<</Filter/Standard/V 2/R 3/Length 128/P -4/O<0000000000000000000000000000000000000000000000000000000000000000>/U<0000000000000000000000000000000000000000000000000000000000000000>>>";
    let bytes = pages(&["x"], &[locked], "", "", "/Encrypt 8 0 R/ID[<00><00>]");
    assert!(matches!(skip(&bytes), Some(Skip::Encrypted)), "{:?}", skip(&bytes));
}

#[test]
fn streams_that_unpack_to_very_much_are_refused() {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..70 {
        std::io::Write::write_all(&mut packed, &vec![b' '; 1 << 20]).unwrap();
    }
    let packed = packed.finish().unwrap();
    let bytes = file(&[b"<</Pages 2 0 R>>".to_vec(), stream("/Filter/FlateDecode", &packed)], "");
    assert!(matches!(skip(&bytes), Some(Skip::Growth { .. })));
}

#[test]
fn forms_that_repeat_themselves_end() {
    // Each of ten forms shows the next ten times.
    let mut objects: Vec<Vec<u8>> = vec![
        b"<</Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/MediaBox[0 0 600 800]>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>".to_vec(),
        stream("", b"/X Do"),
    ];
    for number in 5..16_usize {
        let next = if number == 15 { 5 } else { number + 1 };
        objects.push(stream(
            &format!("/Subtype/Form/Resources<</XObject<</X {next} 0 R>>>>"),
            "/X Do ".repeat(10).as_bytes(),
        ));
    }
    assert!(matches!(skip(&file(&objects, "")), Some(Skip::NoText { .. })));
}

#[test]
fn fonts_with_very_many_widths_are_not_loaded() {
    let font = "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType2/BaseFont/X/W[0 4294967290 500]>>]>>";
    let bytes = pages(
        &["BT /F 10 Tf 50 700 Td (a) Tj /X 10 Tf (bc) Tj ET"],
        &[font],
        "",
        "/Resources<</Font<</F 3 0 R/X 8 0 R>>>>",
        "",
    );
    assert!(layer_of("a.pdf", &bytes).text.starts_with('a'));
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for (open, close) in [("[", "]"), ("<</A ", ">>")] {
        let deep = format!("{}{}", open.repeat(4000), close.repeat(4000));
        let content = format!("{deep} TJ BT /F 10 Tf 50 700 Td (after) Tj ET");
        let bytes = pages(&[&content], &[&deep], "/Outlines 8 0 R", "/Annots 8 0 R", "");
        let _ = skip(&bytes);
    }
    let saved = format!("{}BT /F 10 Tf 50 700 Td (after) Tj ET", "q ".repeat(100_000));
    assert_eq!(one(&saved).text, "after\n");
}

#[test]
fn reading_twice_is_the_same() {
    let bytes = pages(&[&format!("{}{}", lines(50, 100, &LEFT), lines(320, 103, &RIGHT))], &[], "", "", "");
    assert_eq!(layer_of("a.pdf", &bytes).text, layer_of("a.pdf", &bytes).text);
}

#[test]
fn mutations_never_panic() {
    let rich = format!("{}{}{}", at("B", 16, 50, 50, "Head"), lines(50, 100, &LEFT), lines(320, 103, &RIGHT));
    let link = "<</Subtype/Link/Rect[76 697 96 710]/A<</S/URI/URI(https://example.org/a)>>>>";
    let outline = "<</First 10 0 R>>";
    let entry = "<</Title(Head)/Next 10 0 R>>";
    let map = "<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</Subtype/CIDFontType2/BaseFont/X>>]>>";
    let bytes = pages(&[&rich], &[link, outline, entry, map], "/Outlines 9 0 R", "/Annots[8 0 R]", "");
    let content = "/Span<</ActualText(ab)>> BDC BT /F 10 Tf 1 0 0 1 50 700 Tm 12 TL 90 Tz 1 Tc 2 Tw 3 Ts [(a)-200(b)] TJ T* (c d) ' 1 2 (e) \" ET EMC q 1 0 0 1 5 5 cm Q";
    let second = pages(&[content, content], &[], "", "/Rotate 90", "");
    let samples: Vec<String> =
        [bytes, second].iter().map(|bytes| bytes.iter().map(|byte| char::from(*byte)).collect()).collect();
    let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
    crate::check::mutations(&samples, 2000, |bytes| {
        if let Err(refusal) = read("a.pdf", bytes.to_vec(), &ReadSettings::default())
            && let Skip::Malformed { problem, .. } = &refusal.reason
        {
            assert!(["it has no pages", "its encryption is broken"].contains(&&**problem), "{problem}");
        }
    });
}

#[test]
fn an_item_that_is_code_is_an_item() {
    let text = lines(50, 100, &["Each of these commands has an alias, which is shorter than its name is:"]);
    let item = |y: u32, code: &str| at("F", 10, 60, y, "\u{b7}") + &at("C", 10, 75, y, code);
    let layer = one(&(text + &item(130, "gcls") + &item(150, "gcms") + &lines(50, 180, &["They all end here."])));
    assert!(layer.text.contains("\n- `gcls`\n- `gcms`\n"), "{}", layer.text);
    // A sign of code that its font lacks is no mark.
    let code = at("F", 9, 60, 130, "*") + &at("C", 9, 75, 130, "int main") + &at("C", 9, 60, 142, "x int y");
    let layer = one(&(lines(50, 100, &["A listing starts with a sign of another font."]) + &code));
    assert!(layer.text.contains("```\n* "), "{}", layer.text);
}

#[test]
fn a_line_of_code_goes_on_with_a_text_that_had_no_room_for_it() {
    let full = "The settings of all sessions that you have here are shown when you use the ";
    let long = at("F", 10, 50, 100, full) + &at("C", 10, 50, 112, "Get-ManyMoreSettings");
    let right = at("F", 10, 50, 60, &(full.to_string() + "comm"));
    let layer = one(&(right.clone() + &long + &lines(50, 140, &["The end."])));
    assert!(layer.text.contains("use the `Get-ManyMoreSettings`\n"), "{}", layer.text);
    // There was room for this one, so it is a listing.
    let short = at("F", 10, 50, 100, "To see them all, use") + &at("C", 10, 50, 112, "Get-ManyMoreSettings");
    let layer = one(&(right.clone() + &short + &lines(50, 140, &["The end."])));
    assert!(layer.text.contains("```\nGet-ManyMoreSettings\n```"), "{}", layer.text);
    // An item goes on below its text.
    let item = at("F", 10, 50, 100, "\u{b7}")
        + &at("F", 10, 65, 100, &full[..70])
        + &at("C", 9, 65, 112, "Get-ManyMoreSettings");
    let layer = one(&(right + &item + &lines(50, 140, &["The end."])));
    assert!(layer.text.contains(&format!("- {} `Get-ManyMoreSettings`\n", full[..70].trim())), "{}", layer.text);
}
