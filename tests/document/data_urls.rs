//! Inline `data:` URLs stay in the text, and nothing counts, cuts, embeds or finds them.

use chunkmill::chunk::{Preset, Spec};
use chunkmill::tokens::Unit;
use proptest::prelude::*;

use crate::common::{cut, cut_as, folder, json_lines, run};
use crate::promises::{check, sizer};

/// Returns letters of base64 that do not repeat.
fn base64(len: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 1u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        LETTERS[(state >> 26) as usize] as char
    };
    (0..len).map(|_| letter()).collect()
}

/// Ways to write an image into a text: what precedes and what follows its data.
const WAYS: [(&str, [&str; 2]); 8] = [
    ("a.md", ["![a chart](data:image/png;base64,", ")"]),
    ("a.md", ["![a chart][c]\n\n[c]: <data:image/png;base64,", ">"]),
    ("a.md", ["<img alt=\"a chart\" src=\"data:image/svg+xml;charset=utf-8;base64,", "\">"]),
    ("a.md", ["```css\nsrc: url(data:font/woff2;base64,", ");\n```"]),
    ("a.txt", ["a chart: data:application/octet-stream;base64,", ""]),
    ("a.json", ["{\"chart\": \"data:image\\/png;base64,", "\"}"]),
    ("a.js", ["const chart = 'data:image/jpeg;base64,", "';"]),
    ("a.yaml", ["chart: data:image/png;base64,", ""]),
];

#[test]
fn an_image_in_the_text_costs_nothing_however_large() {
    for (path, [before, after]) in WAYS {
        let text = |len: usize| format!("{before}{}{after}\n", base64(len));
        for preset in Preset::ALL {
            let (small, large) = (cut_as(path, preset.name(), &text(64)), cut_as(path, preset.name(), &text(150_000)));
            assert_eq!(large.chunks.len(), small.chunks.len(), "{path} {before} {preset}");
            assert!(large.contents().concat().contains(&base64(150_000)), "{path} {before} {preset}");
            assert!(large.chunks.iter().any(|chunk| chunk.flags.contains(&"inline_data")), "{path} {before} {preset}");
        }
    }
}

#[test]
fn what_is_short_or_no_data_is_text() {
    let long = base64(200);
    for text in [
        "![a](data:image/png;base64,aGVsbG8=)".to_owned(),
        format!("![a](data:{long})"),
        format!("data: {long}"),
        format!("data:text/plain,{long}"),
        format!("base64,{long}"),
        format!("data:{},{long}", "a/".repeat(200)),
    ] {
        let cut = cut("structure", &text);
        assert!(cut.document.data_urls.is_empty(), "{text}");
        assert!(!cut.chunks[0].flags.contains(&"inline_data"), "{text}");
    }
    let svg = format!("![a](data:image/svg+xml,%3Csvg%20{}%3E) and more", "x".repeat(100));
    let cut = cut("structure", &svg);
    assert_eq!(cut.document.data_urls.len(), 1);
    assert!(svg[cut.document.data_urls[0].clone()].ends_with("x%3E"));
}

#[test]
fn an_inline_image_is_neither_embedded_nor_found_and_its_alternative_text_is() {
    let home = tempfile::tempdir().unwrap();
    let data = format!("zebrastripes/{}", base64(9000));
    let page = format!("# Report\n\nBefore.\n\n![quarterly revenue](data:image/png;base64,{data})\n\nAfter.\n");
    let corpus = folder(&[("a.md", &page), ("b.md", "# Other\n\nSomething else.\n")]);
    let corpus = corpus.path().to_str().unwrap();
    let (code, out, err) = run(home.path(), &["chunk", corpus]);
    assert_eq!(code, 0, "{err}");
    let rows = json_lines(&out);
    let row = rows.iter().find(|row| row["path"] == "a.md").unwrap();
    assert!(row["content"].as_str().unwrap().contains(&data));
    assert!(row["n_tokens"].as_u64().unwrap() < 40, "{}", row["n_tokens"]);
    assert_eq!(row["n_chars"].as_u64().unwrap() as usize, row["content"].as_str().unwrap().chars().count());
    assert_eq!(row["images"][0]["target"], "data:image/png;base64,…");
    assert_eq!(row["images"][0]["alt"], "quarterly revenue");

    let dataset = home.path().join("dataset");
    let dataset = dataset.to_str().unwrap();
    let (code, _, err) = run(home.path(), &["index", corpus, "-o", dataset, "--embedder", "fake"]);
    assert_eq!(code, 0, "{err}");
    let (code, out, err) = run(home.path(), &["verify", dataset, "--corpus", corpus]);
    assert_eq!(code, 0, "{out}{err}");
    let found = |words: &str| {
        let (_, out, _) = run(home.path(), &["search", dataset, words, "--mode", "keyword", "--json"]);
        json_lines(&out).len()
    };
    assert_eq!((found("quarterly"), found("zebrastripes")), (1, 0));
    let (_, context, _) = run(home.path(), &["context", dataset, "quarterly", "--mode", "keyword", "--budget", "500"]);
    assert!(context.contains("revenue](…)") && !context.contains("zebrastripes"), "{context}");

    // A hit has the text as it is.
    let (_, out, _) = run(home.path(), &["search", dataset, "quarterly", "--mode", "keyword", "--json"]);
    let hit = json_lines(&out).remove(0);
    assert!(hit["content"].as_str().unwrap().contains("zebrastripes"));
}

/// Texts with inline images between, before and after words, lines, code and headings.
fn texts() -> impl Strategy<Value = String> {
    let image = (64usize..400).prop_map(|len| format!("![p](data:image/png;base64,{})", base64(len)));
    let words = "([a-z]{1,9} ){1,30}";
    let part = prop_oneof![
        3 => words.prop_map(|words| words),
        2 => image,
        1 => Just("\n\n".to_owned()),
        1 => Just("\n\n## Heading\n\n".to_owned()),
        1 => Just("\n\n```\ncode();\nmore();\n```\n\n".to_owned()),
        1 => Just("日本語。 é ".to_owned()),
    ];
    prop::collection::vec(part, 1..25).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_chunk_starts_or_ends_inside_an_inline_url(text in texts(), at in 0..Preset::ALL.len(), max in 5usize..60) {
        let preset = Preset::ALL[at].name();
        let limits = if preset == "none" { String::new() } else { format!(" max={max} min=1 unit=tokens") };
        let spec: Result<Spec, _> = format!("{preset}{limits}").parse();
        let spec = spec.unwrap_or_else(|_| Preset::ALL[at].spec());
        let cut = cut(&spec.to_string(), &text);
        check(&cut.document, &spec, &cut.chunks, true);
        for url in &cut.document.data_urls {
            for chunk in &cut.chunks {
                for end in [chunk.range.start, chunk.range.end] {
                    prop_assert!(!(url.start < end && end < url.end), "{spec}: {:?} in {url:?}", chunk.range);
                }
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_text_around_data_urls(text in texts(), cuts in any::<[prop::sample::Index; 2]>()) {
        let document = chunkmill::document::Document::from_text("a.md", text.clone());
        let mut ends = cuts.map(|cut| text.floor_char_boundary(cut.index(text.len() + 1)));
        ends.sort_unstable();
        // Only whole URLs are recognised in a text alone.
        let inside = |at: usize| document.data_urls.iter().any(|url| url.start < at && at < url.end);
        prop_assume!(!ends.iter().any(|&at| inside(at)));
        let (range, slice) = (ends[0]..ends[1], &text[ends[0]..ends[1]]);
        for unit in Unit::ALL.into_iter().filter(|unit| *unit != Unit::Estimate) {
            let spec: Spec = format!("windows max=40 unit={unit}").parse().unwrap();
            let sizer = sizer(&spec);
            let ruler = sizer.measure(&document).unwrap();
            prop_assert_eq!(ruler.size(range.clone()).unwrap(), sizer.size(slice).unwrap(), "{}", unit);
            let between = ruler.size_between("before ", range.clone(), " after").unwrap();
            prop_assert_eq!(between, sizer.size(&format!("before {slice} after")).unwrap(), "{}", unit);
            let atoms = ruler.atoms(&range).unwrap();
            prop_assert_eq!(*atoms.last().unwrap(), range.end);
            prop_assert!(unit == Unit::Lines || atoms.iter().all(|&at| !inside(at)), "{}: {:?}", unit, atoms);
        }
    }
}
