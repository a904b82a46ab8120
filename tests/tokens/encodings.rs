//! The encodings other than `cl100k_base`: equal to tiktoken for every text, and named wherever a dataset describes
//! itself.

use std::ops::Range;
use std::sync::OnceLock;

use chunkmill::chunk::{Preset, Spec};
use chunkmill::dataset::Manifest;
use chunkmill::document::Document;
use chunkmill::tokens::{Encoding, Ends, Sizer, Unit};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use tiktoken_rs::CoreBPE;

use crate::common::{folder, json_lines, run};
use crate::tokens::counting::{range_of, text};

/// Returns the encoding of tiktoken-rs.
pub fn tiktoken(encoding: Encoding) -> &'static CoreBPE {
    static LOADED: [OnceLock<CoreBPE>; Encoding::ALL.len()] = [const { OnceLock::new() }; Encoding::ALL.len()];
    let load = match encoding {
        Encoding::Cl100kBase => tiktoken_rs::cl100k_base,
        Encoding::O200kBase => tiktoken_rs::o200k_base,
        Encoding::O200kHarmony => tiktoken_rs::o200k_harmony,
        Encoding::P50kBase => tiktoken_rs::p50k_base,
        Encoding::R50kBase => tiktoken_rs::r50k_base,
    };
    LOADED[encoding as usize].get_or_init(|| load().unwrap())
}

/// Returns where tokens end, computed from their bytes in tiktoken's own vocabulary.
pub fn token_ends(encoding: Encoding, ids: &[u32]) -> Vec<u32> {
    let end = |end: &mut u32, &id: &u32| {
        *end += u32::try_from(tiktoken(encoding).decode_bytes(&[id]).unwrap().len()).unwrap();
        Some(*end)
    };
    ids.iter().scan(0, end).collect()
}

/// Asserts that our counter finds the same tokens, which the ends of tokens show, and as many of them.
pub fn expect_equal(encoding: Encoding, text: &str) {
    let ids = tiktoken(encoding).encode_ordinary(text);
    let expected = Ends::new(text.len(), token_ends(encoding, &ids));
    let beginning = || text.chars().take(80).collect::<String>();
    assert!(encoding.counter().ends(text).unwrap() == expected, "{encoding}: {:?}…", beginning());
    assert_eq!(encoding.counter().count(text).unwrap(), ids.len(), "{encoding}: {:?}…", beginning());
}

#[test]
fn adversarial_strings_count_as_tiktoken_counts_them_in_every_encoding() {
    let texts = [
        "a".repeat(1 << 18),
        " ".repeat(1 << 18),
        "\n".repeat(1 << 16),
        "\t \r\n".repeat(1 << 14),
        "0123456789,".repeat(1 << 13),
        "!\n/\n\n//x\n /".repeat(1 << 10),
        "🚲👩‍👩‍👧‍👦日本語テキスト漢字".repeat(1 << 11),
        "Привет, κόσμε! שלום 你好 नमस्ते ".repeat(1 << 10),
        "don't we'll I'M they'RE 'tis ''' ".repeat(1 << 11),
        "e\u{301}\u{200b}\u{a0}\u{feff}\u{202e}".repeat(1 << 11),
        "<|endoftext|><|im_start|><|return|>".repeat(1 << 9),
    ];
    for encoding in Encoding::ALL {
        texts.iter().for_each(|text| expect_equal(encoding, text));
    }
}

/// White space that is cut off before tiktoken-rs is called, and slightly less of it.
#[test]
fn long_white_space_before_something_visible_counts_as_tiktoken_counts_it() {
    for encoding in [Encoding::P50kBase, Encoding::R50kBase] {
        for space in [" ", "\n", "\t ", " \u{3000}", "\u{a0}"] {
            for times in [2047, 2048, 4097, 30_000] {
                let run = space.repeat(times);
                for text in [format!("{run}x"), format!("y.{run}'s z{run}\u{301}"), format!("{run}é{run}")] {
                    expect_equal(encoding, &text);
                }
            }
        }
    }
}

/// tiktoken-rs itself fails on this.
#[test]
fn a_megabyte_of_white_space_before_a_word_is_counted() {
    for encoding in [Encoding::P50kBase, Encoding::R50kBase] {
        let count = |text: &str| encoding.counter().count(text).unwrap();
        for space in [" ", "\n"] {
            let run = space.repeat(1 << 20);
            assert!(tiktoken(encoding).encode(&format!("{run}x"), &Default::default()).is_err());
            assert_eq!(count(&format!("a{run}{space}x")), 1 + count(&run) + count(&format!("{space}x")), "{encoding}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_range_counts_alone_and_between_two_texts_as_tiktoken_says_in_every_encoding(
        text in text(), a in any::<Index>(), b in any::<Index>(), prefix in text(), suffix in text(), without in 0..4u8,
    ) {
        let range: Range<usize> = range_of(&text, a, b);
        let prefix = if without & 1 == 0 { prefix } else { String::new() };
        let suffix = if without & 2 == 0 { suffix } else { String::new() };
        let joined = format!("{prefix}{}{suffix}", &text[range.clone()]);
        let document = Document::from_text("doc.md", text.clone());
        for encoding in Encoding::ALL {
            expect_equal(encoding, &text);
            let count = |text: &str| tiktoken(encoding).encode_ordinary(text).len();
            for unit in [Unit::Tokens, Unit::Chars] {
                let ruler = Sizer::new(unit, encoding, None).unwrap().measure(&document).unwrap();
                let tokens = ruler.tokens_between(&prefix, range.clone(), &suffix).unwrap();
                prop_assert_eq!(tokens, count(&joined), "{} by {}", encoding, unit);
            }
            let ruler = Sizer::new(Unit::Tokens, encoding, None).unwrap().measure(&document).unwrap();
            prop_assert_eq!(ruler.size(range.clone()).unwrap(), count(&text[range.clone()]), "{}", encoding);
        }
    }
}

#[test]
fn an_encoding_is_part_of_a_spec_that_is_not_the_default() {
    let usual: Spec = "structure".parse().unwrap();
    for encoding in Encoding::ALL {
        let spec: Spec = format!("structure encoding={encoding}").parse().unwrap();
        assert_eq!(spec.encoding(), encoding);
        assert_eq!(spec.to_string().parse::<Spec>().unwrap(), spec);
        assert_eq!(spec == usual, encoding == Encoding::default(), "{spec}");
        assert_eq!(spec.fingerprint() == usual.fingerprint(), spec == usual);
    }
    assert_eq!(Preset::Structure.spec(), "structure encoding=cl100k_base".parse().unwrap());
    let wrong = "structure encoding=o20k_base".parse::<Spec>().unwrap_err().to_string();
    assert!(wrong.contains("did you mean `o200k_base`?"), "{wrong}");
}

#[test]
fn a_dataset_is_counted_in_its_encoding_and_says_so() {
    let text =
        "# Größe\n\nВсё, что здесь стоит, считается иначе.\n\n## Next\n\n".to_owned() + &"日本語 words ".repeat(90);
    let home = folder(&[("docs/a.md", &text)]);
    for encoding in Encoding::ALL {
        let name = encoding.name();
        let settings = ["--preset", "recursive", "--max", "60", "--encoding", name, "--embedder", "fake"];
        let index = [&["index", "docs", "-o", name][..], &settings[..]].concat();
        assert_eq!(run(home.path(), &index).0, 0);

        let (_, printed, _) = run(home.path(), &[&["chunk", "docs"][..], &settings[..6]].concat());
        let rows = json_lines(&printed);
        assert!(rows.len() > 3, "{name}");
        let count = |row: &Value| tiktoken(encoding).encode_ordinary(row["content"].as_str().unwrap()).len();
        let stored = |row: &Value| row["n_tokens"].as_u64().unwrap() as usize;
        assert!(rows.iter().all(|row| stored(row) == count(row) && count(row) <= 60), "{name}");

        let manifest = Manifest::read(&home.path().join(name).as_path().into()).unwrap();
        assert_eq!(manifest.spec.encoding(), encoding);
        assert_eq!(manifest.counts.tokens, rows.iter().map(count).sum::<usize>() as u64);
        let card = std::fs::read_to_string(home.path().join(name).join("README.md")).unwrap();
        assert!(card.contains(&format!("{} {name} tokens", manifest.counts.tokens)), "{card}");
        assert!(run(home.path(), &["stats", name]).1.contains(&format!("{} ({name})", manifest.counts.tokens)));
        assert_eq!(run(home.path(), &["verify", name]).0, 0);

        let (code, printed, _) = run(home.path(), &["context", name, "日本語 words", "--budget", "150", "--json"]);
        let context: Value = serde_json::from_str(&printed).unwrap();
        let tokens = tiktoken(encoding).encode_ordinary(context["text"].as_str().unwrap()).len();
        assert!(code == 0 && context["tokens"] == tokens && (61..=150).contains(&tokens), "{name}: {tokens}");
    }
}
