//! Links: the names of headings, the meaning of targets, and the table of edges.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{Array, BooleanArray, StringArray};
use chunkmill::chunk::{Spec, chunk};
use chunkmill::dataset::{Dataset, Table, file_of};
use chunkmill::document::{Document, LinkKind, slug};
use chunkmill::links::{Catalog, Lead, Listing, Outgoing, Outline};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, json_lines, run, sizer, tree, write};

/// Each pair was checked with github-slugger 2.0.0.
#[test]
fn headings_are_named_as_github_names_them() {
    for (heading, name) in [
        ("Getting Started", "getting-started"),
        ("C# & F#: a guide", "c--f-a-guide"),
        ("What’s new — 2.0?", "whats-new--20"),
        ("3.1 Set-Item -Path", "31-set-item--path"),
        ("a  b", "a--b"),
        ("-dash-", "-dash-"),
        ("snake_case", "snake_case"),
        ("日本語 見出し", "日本語-見出し"),
        ("Привет, мир!", "привет-мир"),
        ("Ünïcode ÉCOLE", "ünïcode-école"),
        ("ΟΔΟΣ", "οδος"),
        ("İstanbul", "i\u{307}stanbul"),
        ("हिन्दी शीर्षक", "हिन्दी-शीर्षक"),
        ("e\u{301}te", "e\u{301}te"),
        ("🚀 Launch", "-launch"),
        ("⚠\u{fe0f} Care", "\u{fe0f}-care"),
        ("👩\u{200d}👩\u{200d}👧 family", "-family"),
        ("I ♥ unicode", "i--unicode"),
        ("½ cup, x²", "-cup-x"),
        ("ⅷ and foo‿bar", "ⅷ-and-foo‿bar"),
        ("tab\tand\u{a0}no-break", "tabandno-break"),
        ("💯", ""),
    ] {
        assert_eq!(slug(heading), name, "{heading:?}");
    }
}

fn section_anchors(text: &str) -> Vec<String> {
    Document::from_text("doc.md", text).sections.into_iter().map(|section| section.anchor).collect()
}

#[test]
fn sections_have_anchors_without_markup_and_in_full() {
    let text = "before\n\n# With `code`, *style* & [link](x)\r\n\r\nTwo\r\nlines\r\n===\r\n\r\n# Own {#My-Id .c}\r\n\r\n# a <b>bold</b> &amp; c ![pic](i.png)\r\n";
    assert_eq!(section_anchors(text), ["", "with-code-style--link", "twolines", "My-Id", "a-bold--c-pic"]);
    let long = "word ".repeat(200);
    assert_eq!(section_anchors(&format!("# {long}"))[0].len(), 999, "longer than a title may be");
}

#[test]
fn equal_headings_are_numbered_past_names_that_are_taken() {
    let text = "# a\n\n# a 1\n\n# a\n\n## a\n\n# A!\n\n# a-1\n";
    assert_eq!(section_anchors(text), ["a", "a-1", "a-2", "a-3", "a-4", "a-1-1"]);
    let nested = "# a\n\n- # a\n\n> ## a\n\n# a\n";
    assert_eq!(section_anchors(nested), ["a", "a-3"], "headings in lists and quotes count");
    let places = Document::from_text("doc.md", nested).anchors;
    assert_eq!(places, [("a-1".to_owned(), 5), ("a-2".to_owned(), 12)]);
}

#[test]
fn many_equal_headings_take_linear_time() {
    let text: String = (0..60_000).map(|i| format!("# a\n# a-{i}\n")).collect();
    let mut anchors = section_anchors(&text);
    let all = anchors.len();
    anchors.sort();
    anchors.dedup();
    assert_eq!(anchors.len(), all, "each is unique");
}

fn places(text: &str) -> Vec<(String, usize)> {
    Document::from_text("doc.md", text).anchors
}

#[test]
fn html_elements_name_places_outside_code_and_comments() {
    let text = "# h <a id=\"one\"></a>\r\n\r\ntext <a name=two>x</a> <span class='c' ID = 'thrée'>y</span> <span name=\"no\">\r\n\r\n<div\r\n  id=\"four\"\r\n>\r\n<!-- <p id=\"no\"> -->\r\n<a href=\"#no\" id=\"five\"/>\r\n</div>\r\n\r\n`<a id=\"no\">`\r\n\r\n```\r\n<a id=\"no\">\r\n```\r\n\r\n> <a id=six>\r\n";
    let found = places(text);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["one", "two", "thrée", "four", "five", "six"]);
    for (name, at) in &found {
        assert!(text[*at..].starts_with('<') && text[*at..].contains(name.as_str()), "{name} at {at}");
    }
}

#[test]
fn broken_html_costs_neither_time_nor_a_panic() {
    for hostile in [
        "<a ".repeat(100_000),
        "<a id=".repeat(100_000),
        "<div>\n".to_owned() + &"<a id=\"".repeat(100_001),
        "<div>\n".to_owned() + &"<!--".repeat(100_000),
        "<div>\n".to_owned() + &"<a = = é='".repeat(100_000),
        "<div>\n<a\u{a0}id=x\u{3000}><\u{0}a id=\n".to_owned(),
        "<div>\n<a id".to_owned(),
        "<div>\n<a id=>x<a id= \"\">".to_owned(),
    ] {
        let document = Document::from_text("doc.md", hostile);
        assert!(document.anchors.iter().all(|(name, at)| !name.is_empty() && document.text.is_char_boundary(*at)));
    }
}

#[test]
fn an_address_in_angle_brackets_leads_out() {
    let document = Document::from_text("doc.md", "<me@example.org>\n");
    assert_eq!(document.links[0].target, "mailto:me@example.org");
    assert_eq!(document.links[0].text, "me@example.org");
}

#[test]
fn wikilinks_in_tables_lose_the_backslash_before_their_bar() {
    let home = folder(&[
        ("docs/a.md", "| one |\n| --- |\n| [[B\\|shown]] and [[b#Part\\|too]] |\n"),
        ("docs/b.md", "# Part\n"),
    ]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    let edges = rows(&home.path().join("out"), Table::Edges, &["to_doc", "to_chunk", "resolved"]);
    assert_eq!(edges, [["b.md", "-", "true"], ["b.md", "b.md#0", "true"]]);
}

/// Cuts a document and returns its entry for the catalog. Anchors get the index of their chunk.
fn listing(doc_id: &str, path: &str, text: &str) -> Listing {
    let spec: Spec = "heading-tokens max=64 overlap=0".parse().unwrap();
    let document = Document::from_text(path, text);
    let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
    let outline = Outline::new(&document, &chunks);
    let number = |chunk: Option<usize>| chunk.map_or(u64::MAX, |chunk| chunk as u64);
    let anchors = outline.anchors.iter().map(|anchor| (anchor.name, number(anchor.chunk))).collect();
    Listing::new(doc_id, path, &document.aliases, anchors)
}

const PAGE: &str = "---\naliases: [Other Name, Ключ]\n---\nintro\n\n# First\n\ntext <a id=\"Place\"></a>\n\n# Größe & Form\n\n```\n# no\n```\n\n# First\n\n## 日本 {#own}\n\nend\n";

fn catalog() -> Catalog {
    let plain = [
        "README.md",
        "index.md",
        "guide.md",
        "guide/index.md",
        "guide/readme.md",
        "guide/setup.md",
        "guide/a b.md",
        "guide/100%.md",
        "guide/50%25.md",
        "guide/Wörter.md",
        "api/ReadMe.markdown",
        "api/v1.2.md",
        "api/deep/down/setup.md",
        "api/notes.txt",
        "api/notes.md",
        "api/logo.svg",
        "other/guide.md",
        "other/x.mdx",
        "other/y.html",
        "zoo/deep/setup.md",
    ];
    let mut listings: Vec<Listing> = plain.iter().map(|path| listing(path, path, PAGE)).collect();
    listings.push(listing("lib:guide.md", "guide.md", "# Lib\n"));
    listings.push(listing("lib:only here.md", "only here.md", "---\naliases: Elsewhere\n---\n# Lib\n"));
    Catalog::new(listings)
}

fn follow(catalog: &Catalog, from: &str, kind: LinkKind, target: &str) -> String {
    let named = kind == LinkKind::Wikilink;
    let link = Outgoing { chunk: 0, kind, named, target: target.to_owned() };
    match catalog.lead(from, &link) {
        Lead::Nothing => "-".to_owned(),
        Lead::Document(doc) => doc.to_owned(),
        Lead::NoSuchPlace(doc) => format!("{doc} ?"),
        Lead::Place(doc, chunk) => format!("{doc} @{chunk}"),
    }
}

#[test]
fn links_follow_paths_inside_their_collection() {
    let catalog = catalog();
    for (from, target, leads_to) in [
        ("guide/setup.md", "#first", "guide/setup.md @1"),
        ("guide/setup.md", "#First", "guide/setup.md @1"),
        ("guide/setup.md", "#first-1", "guide/setup.md @3"),
        ("guide/setup.md", "#gr%C3%B6%C3%9Fe--form", "guide/setup.md @2"),
        ("guide/setup.md", "#größe--form", "guide/setup.md @2"),
        ("guide/setup.md", "#own", "guide/setup.md @4"),
        ("guide/setup.md", "#日本", "guide/setup.md ?"),
        ("guide/setup.md", "#Place", "guide/setup.md @1"),
        ("guide/setup.md", "#place", "guide/setup.md ?"),
        ("guide/setup.md", "#no", "guide/setup.md ?"),
        ("guide/setup.md", "#", "guide/setup.md"),
        ("guide/setup.md", "#TOP", "guide/setup.md"),
        ("guide/setup.md", "?view=1#first", "guide/setup.md @1"),
        ("guide/setup.md", "", "-"),
        ("guide/setup.md", "index.md", "guide/index.md"),
        ("guide/setup.md", "./index.md?v=2#own", "guide/index.md @4"),
        ("guide/setup.md", "index", "guide/index.md"),
        ("guide/setup.md", "index.html#first", "guide/index.md @1"),
        ("guide/setup.md", "../other/y.html", "other/y.html"),
        ("guide/setup.md", "../other/x", "other/x.mdx"),
        ("guide/setup.md", "../other/x.htm", "other/x.mdx"),
        ("guide/setup.md", "..", "index.md"),
        ("guide/setup.md", ".", "guide/index.md"),
        ("guide/setup.md", "../api", "api/ReadMe.markdown"),
        ("guide/setup.md", "../api/", "api/ReadMe.markdown"),
        ("guide/setup.md", "../api/deep", "-"),
        ("guide/setup.md", "../guide", "guide.md"),
        ("guide/setup.md", "../guide/", "guide/index.md"),
        ("guide/setup.md", "/guide.md", "guide.md"),
        ("guide/setup.md", "/", "index.md"),
        ("guide/setup.md", "/../guide.md", "-"),
        ("guide/setup.md", "../../guide.md", "-"),
        ("guide/setup.md", "../../../../guide/setup.md", "-"),
        ("guide/setup.md", "../guide/../guide/./setup.md", "guide/setup.md"),
        ("guide/setup.md", "a%20b.md", "guide/a b.md"),
        ("guide/setup.md", "a b.md", "guide/a b.md"),
        ("guide/setup.md", "100%.md", "guide/100%.md"),
        ("guide/setup.md", "100%25.md", "guide/100%.md"),
        ("guide/setup.md", "50%25.md", "guide/50%25.md"),
        ("guide/setup.md", "50%2525.md", "guide/50%25.md"),
        ("guide/setup.md", "%FF.md", "-"),
        ("guide/setup.md", "W%C3%B6rter.md", "guide/Wörter.md"),
        ("guide/setup.md", "%2e%2e/api/v1.2", "api/v1.2.md"),
        ("guide/setup.md", "SETUP.md#first", "guide/setup.md @1"),
        ("guide/setup.md", "../API/Notes.TXT", "api/notes.txt"),
        ("guide/setup.md", "SETUP.md/", "-"),
        ("guide/setup.md", "../api/notes.txt#L3-L7", "api/notes.txt"),
        ("guide/setup.md", "../api/notes.txt#L", "api/notes.txt ?"),
        ("guide/setup.md", "#user-content-first", "guide/setup.md @1"),
        ("guide/setup.md", "../other/guide/#first", "other/guide.md @1"),
        ("guide/setup.md", "setup.md/", "-"),
        ("guide/setup.md", "gone.md#first", "-"),
        ("guide/setup.md", "only here.md", "-"),
        ("README.md", "other/../api//notes.txt", "api/notes.txt"),
        ("README.md", "api/logo.svg", "api/logo.svg"),
        ("lib:guide.md", "only%20here.md#lib", "lib:only here.md @0"),
        ("lib:guide.md", "setup.md", "-"),
        ("lib:guide.md", "#lib", "lib:guide.md @0"),
        ("no such document", "guide.md", "-"),
    ] {
        assert_eq!(follow(&catalog, from, LinkKind::Link, target), leads_to, "{target} in {from}");
    }
}

#[test]
fn wikilinks_follow_names() {
    let catalog = catalog();
    for (from, target, leads_to) in [
        ("README.md", "v1.2", "api/v1.2.md"),
        ("README.md", "V1.2.MD", "api/v1.2.md"),
        ("README.md", "WÖRTER", "guide/Wörter.md"),
        ("README.md", "a b#First", "guide/a b.md @1"),
        ("README.md", "a b#Größe & Form", "guide/a b.md @2"),
        ("README.md", "a b#First#日本", "guide/a b.md ?"),
        ("README.md", "a b#First#own", "guide/a b.md @4"),
        ("README.md", "a b#Place", "guide/a b.md @1"),
        ("README.md", "a b#^block-1", "guide/a b.md"),
        ("README.md", "a b\\", "guide/a b.md"),
        ("README.md", "a%20b", "-"),
        ("README.md", "#First", "README.md @1"),
        ("README.md", "#", "README.md"),
        ("README.md", "", "-"),
        // If several documents have the name: the folder of the link wins, then the fewest parts, then the first
        // path.
        ("guide/index.md", "setup", "guide/setup.md"),
        ("zoo/deep/setup.md", "setup", "zoo/deep/setup.md"),
        ("README.md", "setup", "guide/setup.md"),
        ("README.md", "deep/setup", "zoo/deep/setup.md"),
        ("README.md", "down/setup.md", "api/deep/down/setup.md"),
        ("api/deep/down/setup.md", "down/setup", "api/deep/down/setup.md"),
        ("README.md", "own/setup", "-"),
        ("README.md", "guide", "guide.md"),
        ("other/x.mdx", "guide", "other/guide.md"),
        ("README.md", "other/guide", "other/guide.md"),
        ("README.md", "notes", "api/notes.md"),
        ("README.md", "notes.txt", "api/notes.txt"),
        ("README.md", "logo", "api/logo.svg"),
        ("guide/setup.md", "../api/notes", "api/notes.md"),
        ("guide/setup.md", "/guide", "guide.md"),
        ("guide/setup.md", "../../guide", "-"),
        // Aliases come after names. Every page has these aliases, so the ranks decide.
        ("README.md", "other name", "README.md"),
        ("README.md", "ключ", "README.md"),
        ("README.md", "other na", "-"),
        // The link's own collection comes first, then the others.
        ("lib:only here.md", "guide", "lib:guide.md"),
        ("README.md", "only here#lib", "lib:only here.md @0"),
        ("README.md", "elsewhere", "lib:only here.md"),
        ("README.md", "gone", "-"),
    ] {
        assert_eq!(follow(&catalog, from, LinkKind::Wikilink, target), leads_to, "{target} in {from}");
    }
}

#[test]
fn a_name_that_is_spelled_exactly_comes_first() {
    let paths = ["A.md", "a.md", "link.md", "x/Setup.md", "y/setup.md", "z/deep/SETUP.md", "z/Only.md", "É.md", "é.md"];
    let catalog = Catalog::new(paths.iter().map(|path| listing(path, path, PAGE)).collect());
    let follow = |from: &str, name: &str| follow(&catalog, from, LinkKind::Wikilink, name);
    for (from, name, to) in [
        ("link.md", "a", "a.md"),
        ("link.md", "A", "A.md"),
        ("link.md", "a.md", "a.md"),
        ("x/Setup.md", "a", "a.md"),
        ("link.md", "setup", "y/setup.md"),
        ("link.md", "Setup", "x/Setup.md"),
        ("link.md", "deep/SETUP", "z/deep/SETUP.md"),
        ("link.md", "deep/setup", "z/deep/SETUP.md"),
        ("x/Setup.md", "SETUP", "x/Setup.md"),
        ("link.md", "only", "z/Only.md"),
        ("link.md", "é", "é.md"),
    ] {
        assert_eq!(follow(from, name), to, "[[{name}]] in {from}");
    }
}

#[test]
fn names_that_thousands_of_documents_have_are_found_at_once() {
    let paths: Vec<String> = (0..50_000).map(|i| format!("{}/{i}/README.md", i % 7)).collect();
    let catalog = Catalog::new(paths.iter().map(|path| Listing::new(path, path, &[], Vec::new())).collect());
    for path in &paths {
        assert_eq!(follow(&catalog, path, LinkKind::Wikilink, "readme"), *path);
        assert_eq!(follow(&catalog, path, LinkKind::Link, "."), *path);
    }
    assert_eq!(follow(&catalog, "0/0/README.md", LinkKind::Wikilink, "13/readme"), "6/13/README.md");
}

#[test]
fn an_anchor_leads_to_the_chunk_that_holds_it_or_the_next() {
    let text = "\r\n\r\n# One\r\n\r\ntext\r\n\r\n# Two\r\n\r\nmore <b id=x>\r\n";
    let document = Document::from_text("doc.md", text);
    let spec: Spec = "heading-tokens max=64 overlap=0".parse().unwrap();
    let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
    let by_name = |chunks| {
        let outline = Outline::new(&document, chunks);
        let catalog = Catalog::new(vec![Listing::new(
            "doc.md",
            "doc.md",
            &[],
            outline.anchors.iter().map(|a| (a.name, a.chunk.map_or(99, |chunk| chunk as u64))).collect(),
        )]);
        ["#one", "#two", "#x"].map(|target| follow(&catalog, "doc.md", LinkKind::Link, target))
    };
    assert!(chunks[0].range.start > document.sections[0].range.start, "blank lines are in no chunk");
    assert_eq!(by_name(&chunks), ["doc.md @0", "doc.md @1", "doc.md @1"]);
    assert_eq!(by_name(&chunks[1..]), ["doc.md @0", "doc.md @0", "doc.md @0"]);
    assert_eq!(by_name(&chunks[..1]), ["doc.md @0", "doc.md @99", "doc.md @99"]);
    let mut turned = chunks.clone();
    turned.reverse();
    assert_eq!(by_name(&turned), ["doc.md @1", "doc.md @0", "doc.md @0"], "any order of chunks");
}

#[test]
fn links_out_of_the_corpus_are_no_edges() {
    let text = "[a](https://x.org) [b](//x.org/a) [c](mailto:a@b.c) <me@x.org> ![d](data:image/png;base64,x) [e](C:x.md) [[https://x.org]] [[//x]] [[Note: one]] ![[pic.png]] [f](a:b/c d.md) [g](9:00.md) [h](./a:b.md)\n";
    let document = Document::from_text("doc.md", text);
    let spec = Spec::default();
    let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
    let links = Outline::new(&document, &chunks).links;
    let seen: Vec<_> = links.iter().map(|link| (link.kind, link.named, link.target.as_str())).collect();
    use LinkKind::{Image, Link, Wikilink};
    assert_eq!(
        seen,
        [(Wikilink, true, "Note: one"), (Image, true, "pic.png"), (Link, false, "9:00.md"), (Link, false, "./a:b.md")]
    );
}

fn corpus() -> TempDir {
    let home = folder(&[
        (
            "docs/index.md",
            "# Home\n\n[guide](guide.md) and [the end](guide.md#the-end), [here](#more), [[Note#Part]],\n![pic](pic.png) [web](https://example.org)\n\n## More\n\n[gone](gone.md), [no such section](guide.md#nowhere), [[Nobody]] and ![[note]]\n",
        ),
        ("docs/guide.md", "# Guide\n\nNo links.\n\n## The End\n\n[up](./)\n"),
        ("docs/sub/note.md", "# Note\n\n## Part\n\n[[index|home]] [escape](../../x.md)\n"),
        ("docs/plain.txt", "[not](a.md) link\n"),
        ("ext/far.md", "---\npromotion_level: validated\n---\n# Far\n\n[[Note]] [no](guide.md)\n"),
        ("docs/level.md", "---\npromotion_level: 3\n---\n# Level\n\ntext\n\n## Two\n\ntext\n"),
    ]);
    for (name, _) in tree(home.path()) {
        let file = std::fs::File::options().write(true).open(home.path().join(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
    }
    home
}

fn index(home: &Path, out: &str, extra: &[&str]) -> Value {
    let mut args = vec!["index", "docs", "external=ext", "-o", out, "--embedder", "fake", "--json"];
    args.extend(["--preset", "heading-tokens"]);
    args.extend(extra);
    let (code, stdout, err) = run(home, &args);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&stdout).unwrap()
}

/// Returns some text columns of a table in the order of its rows, with `-` for null.
fn rows(out: &Path, table: Table, columns: &[&str]) -> Vec<Vec<String>> {
    let dataset = Dataset::open(out).unwrap();
    let mut rows = Vec::new();
    for file in dataset.files(table) {
        for batch in dataset.read(file, columns, None).unwrap() {
            let batch = batch.unwrap();
            let cell = |name: &&str, row: usize| {
                let column = batch.column_by_name(name).unwrap();
                if column.is_null(row) {
                    return "-".to_owned();
                }
                let text = column.as_any().downcast_ref::<StringArray>().map(|column| column.value(row).to_owned());
                text.unwrap_or_else(|| column.as_any().downcast_ref::<BooleanArray>().unwrap().value(row).to_string())
            };
            rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|name| cell(name, row)).collect()));
        }
    }
    rows
}

const EDGES: [&str; 7] = ["from_chunk", "from_doc", "to_doc", "to_chunk", "kind", "target", "resolved"];

#[test]
fn the_job_writes_an_edge_for_every_link_inside_the_corpus() {
    let home = corpus();
    let summary = index(home.path(), "out", &["--files", "1"]);
    let found = rows(&home.path().join("out"), Table::Edges, &EDGES);
    let expected = [
        "external:far.md#0|external:far.md|sub/note.md|-|wikilink|Note|true",
        "external:far.md#0|external:far.md|-|-|link|guide.md|false",
        "guide.md#1|guide.md|index.md|-|link|./|true",
        "index.md#0|index.md|guide.md|-|link|guide.md|true",
        "index.md#0|index.md|guide.md|guide.md#1|link|guide.md#the-end|true",
        "index.md#0|index.md|index.md|index.md#1|link|#more|true",
        "index.md#0|index.md|sub/note.md|sub/note.md#1|wikilink|Note#Part|true",
        "index.md#0|index.md|-|-|image|pic.png|false",
        "index.md#1|index.md|-|-|link|gone.md|false",
        "index.md#1|index.md|guide.md|-|link|guide.md#nowhere|false",
        "index.md#1|index.md|-|-|wikilink|Nobody|false",
        "index.md#1|index.md|sub/note.md|-|image|note|true",
        "sub/note.md#1|sub/note.md|index.md|-|wikilink|index|true",
        "sub/note.md#1|sub/note.md|-|-|link|../../x.md|false",
    ];
    assert_eq!(found.iter().map(|row| row.join("|")).collect::<Vec<_>>(), expected);
    assert_eq!((&summary["edges"], &summary["unresolved_edges"]), (&14.into(), &6.into()));
    let (code, stats, _) = run(home.path(), &["stats", "out", "--json"]);
    assert_eq!(code, 0);
    let stats: Value = serde_json::from_str(&stats).unwrap();
    assert_eq!((&stats["edges"], &stats["unresolved_edges"]), (&14.into(), &6.into()));
    assert_eq!(stats["edges_by_kind"]["image"], serde_json::json!({"edges": 2, "unresolved": 1}));
    let (_, stats, _) = run(home.path(), &["stats", "out"]);
    assert!(
        stats.contains("links       14, 6 lead nowhere: 8 links (4 lost), 4 wikilinks (1 lost), 2 images (1 lost)"),
        "{stats}"
    );
    assert!(!stats.contains("gone.md"), "{stats}");
    let (code, listed, _) = run(home.path(), &["stats", "out", "--links"]);
    assert!(code == 0 && listed.starts_with(&stats), "{listed}");
    assert_eq!(listed.matches("  leads nowhere  ").count(), 6, "{listed}");
    assert!(listed.contains("  leads nowhere  index.md  link  guide.md#nowhere\n"), "{listed}");
    let (_, listed, _) = run(home.path(), &["stats", "out", "--links", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let lost = serde_json::json!({"from_doc": "index.md", "kind": "image", "target": "pic.png"});
    assert!(listed["lost_links"].as_array().unwrap().contains(&lost), "{listed}");
}

#[test]
fn edges_point_to_chunks_that_exist_with_every_strategy() {
    let home = corpus();
    for extra in [["--strategy", "header"], ["--strategy", "none"], ["--strategy", "heading"]] {
        let (code, _, err) = run(
            home.path(),
            &[&["index", "docs", "-o", "out", "--embedder", "fake", "--min", "1"][..], &extra].concat(),
        );
        assert_eq!(code, 0, "{err}");
        let out = home.path().join("out");
        let chunks: BTreeMap<String, String> = rows(&out, Table::Chunks, &["chunk_id", "doc_id"])
            .into_iter()
            .map(|row| (row[0].clone(), row[1].clone()))
            .collect();
        let edges = rows(&out, Table::Edges, &EDGES);
        assert_eq!(edges.iter().filter(|row| row[3] != "-").count(), 3, "{extra:?}");
        for row in edges {
            assert_eq!(chunks[&row[0]], row[1]);
            assert!(row[3] == "-" || chunks[&row[3]] == row[2], "{row:?}");
        }
    }
}

#[test]
fn edges_are_the_same_bytes_on_any_number_of_threads_and_stand_in_the_file_of_their_document() {
    let home = corpus();
    index(home.path(), "one", &["--threads", "1", "--files", "3"]);
    index(home.path(), "two", &["--threads", "2", "--files", "3"]);
    assert_eq!(tree(&home.path().join("one")), tree(&home.path().join("two")));
    let dataset = Dataset::open(home.path().join("one")).unwrap();
    let mut seen = 0;
    for (number, file) in dataset.files(Table::Edges).enumerate() {
        assert!(file.path.starts_with(&format!("data/edges/train-{number:05}-of-00003-")));
        for batch in dataset.read(file, &["from_doc"], None).unwrap() {
            let batch = batch.unwrap();
            let docs = batch.column(0).as_any().downcast_ref::<StringArray>().unwrap();
            assert!(docs.iter().flatten().all(|doc| file_of(doc, 3) == number));
            seen += docs.len();
        }
    }
    assert_eq!(seen, 14);
}

#[test]
fn a_corpus_without_links_has_empty_edges_in_every_file() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n"), ("docs/b.md", "text [web](https://example.org)\n")]);
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake", "--files", "4"]);
    assert_eq!(code, 0, "{err}");
    let out = home.path().join("out");
    let dataset = Dataset::open(&out).unwrap();
    assert_eq!(dataset.files(Table::Edges).map(|file| file.rows).collect::<Vec<_>>(), [0; 4]);
    assert!(rows(&out, Table::Edges, &EDGES).is_empty());
    let names: Vec<String> = tree(&out).into_iter().map(|(name, _)| name).collect();
    assert!(!names.iter().any(|name| name.contains("staging")), "{names:?}");
}

#[test]
fn a_quarantined_document_is_no_target() {
    let home = folder(&[("docs/a.md", "[b](b.md) [[b]]\n")]);
    write(home.path(), "docs/b.md", b"\xFF\xFF");
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 3);
    let edges = rows(&home.path().join("out"), Table::Edges, &["to_doc", "resolved"]);
    assert_eq!(edges, [["-", "false"], ["-", "false"]]);
}

#[test]
fn the_promotion_level_is_inherited_and_absent_in_external() {
    let home = corpus();
    index(home.path(), "out", &["--files", "1"]);
    let out = home.path().join("out");
    let levels = rows(&out, Table::Documents, &["doc_id", "promotion_level", "metadata"]);
    assert_eq!(levels[0], ["external:far.md", "-", r#"{"promotion_level":"validated"}"#]);
    assert_eq!(levels[3], ["level.md", "3", "{}"]);
    let chunks = rows(&out, Table::Chunks, &["chunk_id", "promotion_level", "normalized_content"]);
    let of = |prefix: &str| chunks.iter().filter(|row| row[0].starts_with(prefix)).cloned().collect::<Vec<_>>();
    assert_eq!(of("level.md"), [["level.md#0", "3", "-"], ["level.md#1", "3", "-"]]);
    assert_eq!(of("external:far.md"), [["external:far.md#0", "-", "-"]]);
    let (_, lines, _) = run(home.path(), &["chunk", "docs", "--preset", "heading-tokens"]);
    let line = json_lines(&lines).into_iter().find(|line| line["doc_id"] == "level.md").unwrap();
    assert_eq!((&line["promotion_level"], &line["normalized_content"]), (&"3".into(), &Value::Null));
}
