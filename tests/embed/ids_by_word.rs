//! Token ids computed word by word equal those that the tokenizer computes from the whole text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chunkmill::embed::model::Settings;
use chunkmill::embed::model_ref::{ModelRef, locate};
use chunkmill::embed::{Engine, Role, load};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokenizers::Tokenizer;

use crate::common::{default_model, note, powershell, write};
use crate::tiny::tiny_model;

/// Parts of texts: what tokenizers look at, and characters that may reach over the end of a word.
const PARTS: [&str; 52] = [
    "the",
    "cat",
    "The",
    "CATS",
    "tokenization",
    "a",
    "un",
    "happy",
    "x",
    "mañana",
    "mañana",
    "naïve",
    "Straße",
    "ΟΔΟΣ",
    "日本",
    "語",
    "한국어",
    "עברית",
    "ไทย",
    "é",
    "\u{301}",
    "\u{308}",
    "\u{200d}",
    "\u{200b}",
    "\u{ad}",
    "\u{feff}",
    "\u{600}",
    "👩‍👩‍👧",
    "🇩🇪",
    "ﬁ",
    "½",
    "\u{0}",
    "\u{1}",
    "\u{b}",
    "\u{85}",
    "\u{a0}",
    "\u{2003}",
    "\u{3000}",
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "-",
    ".",
    "##",
    "[MASK]",
    "[UNK]",
    "▁",
    "0123456789012345678901234567890",
];

/// Returns a vocabulary from the words of our corpus.
fn pieces() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder");
    let mut pieces: BTreeSet<String> = (' '..='~').map(String::from).collect();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if let Ok(text) = fs::read_to_string(entry) {
                let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
                for word in words.map(str::to_lowercase) {
                    pieces.extend(
                        (1..=3).filter_map(|count| word.get(word.len().checked_sub(count)?..)).map(str::to_owned),
                    );
                    pieces.insert(word);
                }
            }
        }
    }
    pieces.extend(["日", "本", "ñ", "é", "ß", "ο", "한", "ไ"].map(str::to_owned));
    pieces
}

fn word_piece(normalizer: &Value) -> Value {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(str::to_owned);
    let pieces = pieces();
    let continued = pieces.iter().map(|piece| format!("##{piece}"));
    let all = special.iter().cloned().chain(pieces.iter().cloned()).chain(continued);
    let vocabulary: BTreeMap<String, usize> = all.enumerate().map(|(id, piece)| (piece, id)).collect();
    let added = |(id, content): (usize, &String)| json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true});
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": special.iter().map(|content| added((vocabulary[content], content))).collect::<Vec<_>>(),
        "normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
}

fn unigram(normalizer: &Value, scheme: &str) -> Value {
    let special = [("<s>".to_owned(), 0.0), ("<pad>".to_owned(), 0.0), ("<unk>".to_owned(), 0.0)];
    let score = |piece: &str| -(piece.bytes().map(f64::from).sum::<f64>() % 7.0) - 12.0 / piece.len() as f64;
    let starts = pieces().into_iter().map(|piece| format!("▁{piece}"));
    let all = pieces().into_iter().chain(starts).chain(["▁".to_owned()]).collect::<BTreeSet<_>>();
    let vocabulary: Vec<(String, f64)> =
        special.into_iter().chain(all.into_iter().map(|piece| (piece.clone(), score(&piece)))).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true},
        ]},
        "post_processor": null, "decoder": null,
        "model": {"type": "Unigram", "unk_id": 2, "vocab": vocabulary, "byte_fallback": false},
    })
}

/// A tokenizer in both forms: ours as a model has it, and the library's.
struct Both {
    _folder: TempDir,
    ours: Settings,
    theirs: Tokenizer,
}

impl Both {
    fn new(json: &Value) -> Self {
        let folder = TempDir::new().unwrap();
        tiny_model(folder.path());
        write(folder.path(), "tokenizer.json", json.to_string().as_bytes());
        write(folder.path(), "sentence_bert_config.json", br#"{"max_seq_length": 1000000}"#);
        write(folder.path(), "config.json", br#"{"model_type": "modernbert"}"#);
        let ours = Settings::read(&mut locate(&ModelRef::Folder(folder.path().to_owned())).unwrap()).unwrap();
        Self { ours, theirs: json.to_string().parse().unwrap(), _folder: folder }
    }

    fn check(&self, text: &str) {
        let ours = self.ours.tokenizer.encode(text, Role::Document).unwrap().ids;
        let theirs = self.theirs.encode_fast(text, false).unwrap();
        assert_eq!(ours, theirs.get_ids(), "{text:?}");
    }
}

fn kinds() -> Vec<Both> {
    let bert = |lowercase, clean: bool| json!({"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": true, "strip_accents": null, "lowercase": lowercase});
    let nfkc = json!({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]});
    vec![
        Both::new(&word_piece(&bert(true, true))),
        Both::new(&word_piece(&bert(false, true))),
        Both::new(&word_piece(&bert(true, false))),
        Both::new(&word_piece(&Value::Null)),
        Both::new(&unigram(&nfkc, "always")),
        Both::new(&unigram(&Value::Null, "never")),
        Both::new(&unigram(&json!({"type": "NFC"}), "first")),
    ]
}

#[test]
fn ids_by_word_are_those_of_the_whole_text() {
    let kinds = kinds();
    let golden = include_str!("../golden/texts.jsonl");
    for both in &kinds {
        golden.lines().for_each(|line| both.check(&serde_json::from_str::<String>(line).unwrap()));
    }
    // Each of 100,000 strings is checked with one of the tokenizers.
    let text = proptest::collection::vec(prop::sample::select(&PARTS[..]), 0..12).prop_map(|parts| parts.concat());
    let config = Config { cases: 100_000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = (0..kinds.len(), text);
    runner
        .run(&strategy, |(kind, text)| {
            kinds[kind].check(&text);
            Ok(())
        })
        .unwrap();
}

#[test]
fn ids_by_word_are_those_of_the_whole_text_in_a_corpus() {
    let Some(corpus) = powershell() else { return };
    // The next test covers WordPiece.
    let both = Both::new(&unigram(&json!({"type": "NFKC"}), "always"));
    for document in crate::common::documents(corpus) {
        both.check(document.text.as_str());
    }
}

#[test]
fn the_default_model_reads_a_corpus_as_the_library_does() {
    let (Some(corpus), Some(model)) = (powershell(), default_model()) else { return };
    let folder = locate(&model).unwrap();
    let theirs = {
        let mut tokenizer = Tokenizer::from_file(folder.path.join("tokenizer.json")).unwrap();
        tokenizer.with_padding(None).with_truncation(None).unwrap();
        tokenizer
    };
    let ours = load(Engine::Auto, &model).unwrap();
    for document in crate::common::documents(corpus) {
        let text = document.text.as_str();
        let count = ours.counter().count(text).unwrap();
        assert_eq!(count, theirs.encode_fast(text, false).unwrap().len());
    }
    note("the default model's tokenizer agrees on the corpus");
}
