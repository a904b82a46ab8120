//! Front matter: which is recognised, and what it says, whether we read it or a parser of YAML or TOML.

use chunkmill::document::BlockKind;
use proptest::prelude::*;

use super::{kinds, parse, titles};

#[test]
fn yaml_front_matter_gives_title_tags_aliases_and_the_rest() {
    let document = parse(
        "---\ntitle: My Page\ntags: [one, '#two']\naliases: Other, Name\ndate: 2024-05-01\nnested: {a: [1, 2.5, true, null]}\n---\n# H\n",
    );
    assert_eq!(document.title.as_deref(), Some("My Page"));
    assert_eq!(document.tags, ["one", "two"]);
    assert_eq!(document.aliases, ["Other", "Name"]);
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"date":"2024-05-01","nested":{"a":[1,2.5,true,null]}}"#);
    assert!(document.flags.is_empty());
}

#[test]
fn toml_front_matter_gives_the_same() {
    let document =
        parse("+++\ntitle = \"My Page\"\ntags = [\"one\"]\ndate = 2024-05-01\n[extra]\nweight = 3\n+++\ntext\n");
    assert_eq!(document.title.as_deref(), Some("My Page"));
    assert_eq!(document.tags, ["one"]);
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"date":"2024-05-01","extra":{"weight":3}}"#);
    assert_eq!(&document.text[document.body.clone()], "text\n");
}

#[test]
fn front_matter_is_recognised_with_crlf_and_a_byte_order_mark() {
    let document = parse("\u{feff}---\r\ntitle: T\r\n---\r\n# H\r\n");
    assert_eq!(document.title.as_deref(), Some("T"));
    assert_eq!(titles(&document), ["H"]);
    assert_eq!(document.sections[0].range.start, "\u{feff}---\r\ntitle: T\r\n---\r\n".len());
}

#[test]
fn front_matter_is_nowhere_but_at_the_start() {
    for text in ["text\n\n---\nfoo: bar\n---\n", "---\n\nfoo: bar\n---\n", "---\nfoo: bar\n", "----\nfoo: bar\n----\n"]
    {
        let document = parse(text);
        assert_eq!(document.body, 0..text.len(), "{text:?}");
        assert!(document.metadata.is_empty() && document.flags.is_empty(), "{text:?}");
    }
}

#[test]
fn what_does_not_look_like_keys_is_a_flag_and_stays_as_text() {
    for text in [
        "---\njust words\n---\nx\n",
        "---\n- a\n- b\n---\nx\n",
        "---\nNote: it is old.\n\nMore of it.\n---\nx\n",
        "---\nIn this chapter we say one thing: nothing.\nSo: a\n b: : c\n---\nx\n",
        "---\na: : b\nc\nd\ne\n---\nx\n",
        "+++\nwords\n+++\nx\n",
    ] {
        let document = parse(text);
        assert_eq!(document.flags, ["malformed_front_matter"], "{text:?}");
        assert_eq!(document.blocks[0].kind, BlockKind::FrontMatter);
        assert_eq!(document.body, 0..text.len());
        assert!(document.sections.iter().all(|section| section.level == 0), "no heading is read from it");
    }
}

#[test]
fn scalars_of_front_matter_are_read_as_they_are_written() {
    let list =
        ["en", "no", "y", "on", "1.10", "007", "0x1f", "Yes", "2024-05-01", "12:30", "1_000", "+1", ".5", "Null"];
    for word in list.into_iter().chain(["true", "1e5", ".inf", "1.0", "\u{20ac}5"]) {
        let document = parse(&format!(
            "---\ntitle: {word}\ntags: [{word}, pear]\naliases:\n  - {word}\nlang: {word}\ndate: {word}\n---\nx\n"
        ));
        assert_eq!(document.title.as_deref(), Some(word));
        assert_eq!(
            (document.tags.as_slice(), document.aliases.as_slice()),
            (&[word.into(), "pear".into()][..], &[word.into()][..])
        );
        assert_eq!([&document.metadata["lang"], &document.metadata["date"]], [word; 2]);
        assert!(document.flags.is_empty(), "{word}");
    }
    let document = parse("---\ntitle: '1.10'\ntags: \"no\"\n---\nx\n");
    assert_eq!((document.title.as_deref(), document.tags), (Some("1.10"), vec!["no".to_owned()]));
    let document =
        parse("+++\ntitle = 1.10\ntags = [2.0, true, 'no', 0x1f]\ndate = 2024-05-01\nversion = 1.10\nn = 3\n+++\nx\n");
    assert_eq!((document.title.as_deref(), document.tags.join(" ")), (Some("1.10"), "2.0 true no 0x1f".to_owned()));
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"date":"2024-05-01","n":3,"version":"1.10"}"#);
    // Other keys have the types of YAML 1.2, and no number changes.
    let document = parse("---\na: 1.10\nb: 1.5\nc: 12\nd: true\ne: no\nf: ~\ng: 007\nh: '3'\n---\nx\n");
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"a":"1.10","b":1.5,"c":12,"d":true,"e":"no","f":null,"g":"007","h":"3"}"#);
}

#[test]
fn keys_of_front_matter_are_known_in_upper_and_lower_case() {
    let document = parse("---\nTitle: Pear press\nTAGS: [fruit]\ntags: no\nAliases: One, Two\nOwner: me\n---\nx\n");
    assert_eq!(document.title.as_deref(), Some("Pear press"));
    assert_eq!(document.tags, ["no", "fruit"]);
    assert_eq!(document.aliases, ["One", "Two"]);
    assert_eq!(serde_json::Value::Object(document.metadata).to_string(), r#"{"Owner":"me"}"#);
}

#[test]
fn anchors_and_merge_keys_of_yaml_are_followed() {
    let document = parse("---\nbase: &b {x: 1, y: 2}\nown: {<<: *b, y: 3}\ntitle: &t Name\nalias: *t\n---\nx\n");
    assert_eq!((document.title.as_deref(), document.aliases.as_slice()), (Some("Name"), &["Name".to_owned()][..]));
    assert_eq!(document.metadata["own"].to_string(), r#"{"x":1,"y":3}"#);
}

#[test]
fn front_matter_that_breaks_the_rules_is_read_line_by_line() {
    for (front, title, tags, aliases) in [
        ("title: Get-It: the guide\ntags: [a]\n", "Get-It: the guide", "a", ""),
        ("title: Where-Object\naliases:\n  - ?\n  - where\n", "Where-Object", "", "? where"),
        ("title: T\ntags:\n- %\n- no\n", "T", "% no", ""),
        ("title: @handle\ntags: [@a, b]\n", "@handle", "@a b", ""),
        ("title: *star*\ntags: a\n", "*star*", "a", ""),
        ("title: `code`\ntags:\n\t- a\n\t- b\n", "`code`", "a b", ""),
        ("title: \"Unclosed\ntags: [a, b\naliases: [c]\n", "Unclosed", "a b", "c"),
        ("title: 'Unclosed\ntags: a\n", "Unclosed", "a", ""),
        ("title: \"Foo\" and bar\ntags: ['x, y', \"z\n", "\"Foo\" and bar", "x, y z", ""),
        ("title: One\ntitle: Two\ntags: [a]\ntags: [b]\n", "Two", "a b", ""),
        ("title: The: long\n  way: home\ntags: [one,\n  two]\n", "The: long way: home", "one two", ""),
        ("title:Pears\ntags: [no]\n", "Pears", "no", ""),
        ("# about\ntitle: %x # c\n\ntags:\n  - a # c\n  - 'b'\n", "%x", "a b", ""),
        ("Title: a: b\r\nTags: [c]\r\n", "a: b", "c", ""),
        ("Title: a: b\rTags: [c]\r", "a: b", "c", ""),
        ("\ttitle: A\n\ttags: b\n", "A", "b", ""),
    ] {
        let text = format!("---\n{front}---\n# H\n\nx\n");
        let document = parse(&text);
        assert_eq!(document.title.as_deref(), Some(title), "{front:?}");
        let names = |names: &[String]| names.join(" ");
        assert_eq!([names(&document.tags), names(&document.aliases)], [tags, aliases], "{front:?}");
        assert_eq!(document.flags, ["malformed_front_matter"], "{front:?}");
        assert_eq!(&document.text[document.body], "# H\n\nx\n", "{front:?}");
    }
    // What follows the rules keeps its types and structure.
    let document = parse("---\ntitle: a: b\nn: 3\nauthor:\n  name: X\n  tags: [1]\nms.date: 01/02/2026\n---\nx\n");
    let rest = serde_json::Value::Object(document.metadata).to_string();
    assert_eq!(rest, r#"{"author":{"name":"X","tags":[1]},"ms.date":"01/02/2026","n":3}"#);
    let document = parse("+++\ntitle = Get It\ntags = ['a', b]\nn = 3\n[extra]\nx = 1\n+++\nx\n");
    assert_eq!((document.title.as_deref(), document.tags.join(" ")), (Some("Get It"), "a b".to_owned()));
    assert_eq!(serde_json::Value::Object(document.metadata).to_string(), r#"{"extra":{"x":1},"n":3}"#);
}

#[test]
fn long_front_matter_that_breaks_the_rules_takes_linear_time() {
    for line in ["a: [b: c\n", "  - [x\n", "k: : [\n", "\"\n", "'a: b\n"] {
        let text = format!("---\ntitle: a: b\nlist:\n{}---\nx\n", line.repeat(65_000 / line.len()));
        assert_eq!(parse(&text).flags, ["malformed_front_matter"]);
    }
}

#[test]
fn a_page_of_front_matter_alone_has_it_as_text() {
    for (text, is) in [
        ("---\ntitle: Plan\ndescription: The zebra.\n---\n", "title: Plan\ndescription: The zebra."),
        ("\u{feff}---\r\nDescription: x\r\n---\r\n\r\n", "Description: x"),
        ("+++\ntitle = \"A\"\n+++\n  \n", "title = \"A\""),
        ("---\ntitle: a: b\n---\n", "title: a: b"),
    ] {
        let document = parse(text);
        assert_eq!(document.text[document.body.clone()].trim_end(), is);
        assert_eq!(kinds(&document), ["front_matter"]);
        assert_eq!(&document.text[document.blocks[0].range.clone()], is);
    }
    assert!(parse("---\nlayout: x\n---\n").blocks.is_empty(), "it says nothing about the page");
    assert_eq!(parse("---\ntitle: x\n---\ny\n").blocks.len(), 1);
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
    }
    let document = parse(&(bomb + "---\ntext\n"));
    assert_eq!(document.flags, ["malformed_front_matter"]);
}

#[test]
fn empty_front_matter_is_front_matter() {
    let document = parse("---\n---\ntext\n");
    assert_eq!(&document.text[document.body.clone()], "text\n");
    assert!(document.flags.is_empty());
}

#[test]
fn odd_values_in_front_matter_cost_no_metadata() {
    let document = parse("---\ntags: [a, null]\nx: .nan\ntitle: T\n---\ntext\n");
    assert_eq!((document.title.as_deref(), document.tags.as_slice()), (Some("T"), &["a".to_owned()][..]));
    assert!(document.flags.is_empty());
    assert!(parse("---\n# only a comment\n---\ntext\n").flags.is_empty());
}

/// Possible keys and values of front matter, and lines that are neither.
const SCALARS: &[&str] = &[
    "a",
    "Title",
    "ms.date",
    "two words",
    "01/18/2026",
    "2026-01-18",
    "2.0.0",
    "1.5",
    "12",
    "0x1f",
    "0o7",
    "1e5",
    "1_000",
    "007",
    "12:30:45",
    "https://a.b/c?d=e&f",
    "a: b",
    "a:b",
    "a #b",
    "a#b",
    "it's",
    "'q'",
    "\"q\"",
    "say \"q\"",
    "`c`",
    "[a, b]",
    "{a: b}",
    "a]",
    "&x",
    "*x",
    "!y",
    "yes",
    "No",
    "ON",
    "off",
    "null",
    "Null",
    "~",
    "true",
    "FALSE",
    "y",
    "n",
    ".inf",
    "inf",
    "Infinity",
    "nan",
    "1 2",
    "-",
    "- a",
    "|",
    ">",
    "@a",
    "%a",
    "é",
    "a  b",
    "a, b",
    "c ",
    "?",
    "? a",
    "<<",
    "",
    " ",
    "1-2",
    "1-2-3",
    "1/2",
    "90 deg",
    "5 m",
    "title",
    "tags",
    "aliases",
    "t",
    "f",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1500), failure_persistence: None, ..ProptestConfig::default() })]

    /// We read plain front matter ourselves, and a YAML parser reads any other. A comment makes it other.
    #[test]
    fn plain_front_matter_says_what_it_says_to_yaml(lines in prop::collection::vec(
        (prop::sample::select(SCALARS), prop::sample::select(SCALARS), 0..9), 1..7)) {
        let line = |(key, value, kind): &(&str, &str, i32)| match kind {
            0 => format!("{key}:\n"),
            1 => format!("{key}:\n  - {value}\n"),
            2 => format!("- {value}\n"),
            3 => format!("  - {value}\n  - {key}\n"),
            4 => format!("{key}:   {value}\r\n"),
            5 => format!("  {value}\n"),
            _ => format!("{key}: {value}\n"),
        };
        let yaml: String = lines.iter().map(line).collect();
        let read = |text: String| {
            let document = parse(&text);
            let front = &document.text[document.body.clone()] == "x\n";
            (document.title, document.tags, document.aliases, document.metadata, document.flags, front)
        };
        let (plain, other) = (read(format!("---\nk: v\n{yaml}---\nx\n")), read(format!("---\nk: v\n{yaml}# c\n---\nx\n")));
        prop_assert_eq!(plain, other, "{:?}", yaml);
    }
}
