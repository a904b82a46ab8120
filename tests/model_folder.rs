//! The folder of an invented model, as sentence-transformers has it, without the weights. `benches/gpu.rs` uses it too.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

/// Writes everything but the weights. A word's id is its position.
pub(crate) fn write(folder: &Path, hidden: usize, max_tokens: usize, config: &Value, words: &[&str]) {
    let vocabulary: HashMap<&str, usize> = words.iter().enumerate().map(|(id, word)| (*word, id)).collect();
    let special = |word: &str| json!({"id": word, "ids": [vocabulary[word]], "tokens": [word]});
    let files = [
        (
            "modules.json",
            json!([
                {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
            ]),
        ),
        ("1_Pooling/config.json", json!({"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": true})),
        ("sentence_bert_config.json", json!({"max_seq_length": max_tokens, "do_lower_case": false})),
        ("config.json", config.clone()),
        (
            "tokenizer.json",
            json!({
                "version": "1.0",
                // Wrong on purpose, as in published files: the model's own limit must win.
                "truncation": {"max_length": 5, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
                "padding": {"strategy": {"Fixed": 7}, "direction": "Right", "pad_to_multiple_of": null,
                            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
                "added_tokens": [],
                "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                               "strip_accents": null, "lowercase": true},
                "pre_tokenizer": {"type": "BertPreTokenizer"},
                "post_processor": {
                    "type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                               {"Sequence": {"id": "A", "type_id": 0}},
                               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                    "pair": [],
                    "special_tokens": {"[CLS]": special("[CLS]"), "[SEP]": special("[SEP]")},
                },
                "decoder": null,
                "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                          "max_input_chars_per_word": 100, "vocab": vocabulary},
            }),
        ),
    ];
    std::fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    for (name, value) in files {
        std::fs::write(folder.join(name), value.to_string()).unwrap();
    }
}
