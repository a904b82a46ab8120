//! Properties of every chunk, whatever the document, strategy, unit and limits; also for what the fuzzer found.

use std::fs;
use std::path::{Path, PathBuf};

use chunkmill::chunk::{Preset, Spec, Strategy, Switch, chunk};
use chunkmill::document::Document;
use chunkmill::tokens::Unit;
use proptest::prelude::*;

use crate::promises::{check, sizer};

/// Generates Markdown of all kinds, mixed with what usually breaks chunkers.
pub fn markdown() -> impl Strategy_<Value = String> {
    let inline = prop_oneof![
        4 => "[a-z]{1,9}( [a-z]{1,9}){0,30}\\.",
        1 => "[a-zA-Z0-9 ,.!?#*_`\\[\\]()<>$~|\\\\-]{0,60}",
        1 => "[日本語中文한국어]{1,40}",
        1 => "(🚲|👩‍👩‍👧‍👦|e\u{301}|\u{200b}|\u{a0}|\t|x){1,12}",
        1 => "[0-9]{1,40}",
    ];
    let block = (inline.clone(), inline.clone(), inline.clone(), 0..18usize).prop_map(|(a, b, c, kind)| match kind {
        0 => format!("# {a}"),
        1 => format!("## {a}\n{b}"),
        2 => format!("### {a}\n\n{b}"),
        3 => format!("{a}\n==="),
        4 => format!("```\n{a}\n\n# {b}\n\n{c}\n```"),
        5 => format!("~~~~\n{a}\n```\n{b}"),
        6 => format!("- {a}\n- {b}\n\n  {c}\n  - {a}"),
        7 => format!("1. {a}\n\n   ```\n   {b}\n\n   {c}\n   ```\n2. {a}"),
        8 => format!("| {} | b |\n|---|---|\n| c | {} |", a.replace('|', ""), b.replace('|', "")),
        9 => format!("> {a}\n>\n> # {b}\n{c}"),
        10 => format!("<div>\n{a}\n\n{b}</div>"),
        11 => format!("[{a}]: http://example.org/{b}\n[x]: <y>"),
        12 => format!("text[^1]\n\n[^1]: {a}\n    {b}"),
        13 => format!("    {a}\n\n    {b}"),
        14 => format!("$$\n{a}\n$$"),
        15 => format!("---\n{a}: {b}\n---"),
        _ => format!("{a}\n{b}"),
    });
    let gap = prop_oneof![3 => Just("\n\n"), 2 => Just("\n"), 1 => Just("\r\n\r\n"), 1 => Just("\n \n\n"), 1 => Just("\r"), 1 => Just("\n\u{a0}\n"), 1 => Just("\n\n\u{3000}\n\u{2028}\n")];
    let start = prop_oneof![4 => Just(""), 1 => Just("\u{feff}"), 1 => Just("---\ntitle: t\ntags: [a, b]\n---\n"), 1 => Just("\n\n"), 1 => Just("\u{a0}\n")];
    (start, prop::collection::vec((block, gap), 0..14)).prop_map(|(start, blocks)| {
        let body: String = blocks.into_iter().map(|(block, gap)| block + gap).collect();
        format!("{start}{body}")
    })
}

fn specs() -> impl Strategy_<Value = Spec> {
    let strategy = prop::sample::select(Strategy::ALL.to_vec());
    let unit = prop::sample::select(Unit::ALL.to_vec());
    let percent = || 0..100usize;
    let switches = prop::collection::vec(any::<bool>(), Switch::ALL.len());
    (strategy, unit, 1..200usize, percent(), percent(), percent(), switches).prop_map(
        |(strategy, unit, max, target, min, overlap, switches)| {
            let target = max - target * max / 100;
            let (min, overlap) = (min * target / 100, (overlap * max / 100).min(max - 1));
            let switches = Switch::ALL.into_iter().zip(switches);
            let switches: String = switches.map(|(switch, on)| format!(" {}={on}", switch.name())).collect();
            format!("{strategy} unit={unit} min={min} target={target} max={max} overlap={overlap}{switches}")
                .parse()
                .unwrap()
        },
    )
}

use proptest::strategy::Strategy as Strategy_;

/// Repeats the findings of the fuzzer without it.
#[test]
fn every_committed_input_of_the_fuzzer_keeps_every_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/chunking");
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(inputs.len() > 50, "the corpus is there");
    for input in inputs {
        let bytes = fs::read(&input).unwrap();
        let checked = std::panic::catch_unwind(|| crate::promises::check_input(&bytes));
        assert!(checked.is_ok(), "{} breaks a promise; see above", input.display());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_promise_holds_for_generated_markdown(text in markdown(), spec in specs()) {
        for path in ["doc.md", "doc.txt", "doc.yaml", "doc.rs", "doc.py"] {
            let document = Document::from_text(path, text.clone());
            let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
            check(&document, &spec, &chunks, true);
            prop_assert_eq!(&chunks, &chunk(&document, &spec, sizer(&spec)).unwrap());
        }
    }

    #[test]
    fn every_promise_holds_for_arbitrary_text(text in ".{0,400}", spec in specs()) {
        let document = Document::from_text("doc.md", text);
        check(&document, &spec, &chunk(&document, &spec, sizer(&spec)).unwrap(), true);
    }

    #[test]
    fn a_spec_survives_its_text_form(spec in specs()) {
        prop_assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec.clone());
        prop_assert_eq!(Spec::resolve(&spec.settings()).unwrap(), spec);
    }
}

/// Returns a preset with another unit, and with sizes that cut a page into several chunks.
pub fn preset_in(preset: Preset, unit: Unit) -> Spec {
    let (min, target, max, overlap) = match unit {
        Unit::Chars => (200, 1200, 1500, 50),
        Unit::Tokens | Unit::Model | Unit::Words | Unit::Estimate => (50, 300, 400, 20),
        Unit::Lines => (5, 30, 40, 3),
    };
    format!("{preset} unit={unit} min={min} target={target} max={max} overlap={overlap}").parse().unwrap()
}
