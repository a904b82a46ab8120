//! What several test modules need.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use candle_core::{Device, Tensor};
use chunkmill::chunk::{Chunk, Spec, chunk};
use chunkmill::document::Document;
use serde_json::{Value, json};
use tempfile::TempDir;

pub use crate::promises::{Words, sizer};

/// A document and its chunks.
pub struct Cut {
    pub document: Document,
    pub chunks: Vec<Chunk>,
}

impl Cut {
    pub fn contents(&self) -> Vec<String> {
        self.chunks.iter().map(|chunk| chunk.content(&self.document)).collect()
    }

    pub fn ids(&self) -> Vec<&str> {
        self.chunks.iter().map(|chunk| chunk.id.as_str()).collect()
    }

    pub fn paths(&self) -> Vec<&str> {
        self.chunks.iter().map(|chunk| chunk.header_path.as_str()).collect()
    }
}

/// Chunks a markdown text named `doc.md` with a spec in its text form.
pub fn cut(spec: &str, text: &str) -> Cut {
    cut_as("doc.md", spec, text)
}

/// The same with another name, which decides the format.
pub fn cut_as(path: &str, spec: &str, text: &str) -> Cut {
    let spec: Spec = spec.parse().unwrap();
    let document = Document::from_text(path, text);
    let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
    Cut { document, chunks }
}

/// A folder with these files.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text.as_bytes());
    }
    folder
}

pub fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The program, in an environment without anyone's settings.
pub fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chunkmill"));
    for (name, _) in std::env::vars() {
        if name.starts_with("CHUNKMILL_") || name.starts_with("HF_") {
            command.env_remove(name);
        }
    }
    command.env("XDG_CONFIG_HOME", home.join(".config")).current_dir(home);
    command
}

/// Runs the program and gives exit code, standard output, standard error.
pub fn run(home: &Path, args: &[&str]) -> (i32, String, String) {
    finish(program(home).args(args).output().unwrap())
}

pub fn finish(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// JSON lines as values.
pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every file below a folder with its bytes, by path.
pub fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                let name = entry.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read(&entry).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Says something that is seen also when the test passes: the test harness hides what `eprintln!`
/// prints then.
pub fn note(text: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
}

/// A file or folder of the data that lies beside the project, or `None` with a printed reason.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    note(&format!("SKIPPED: ../shared/data/{name} is not there"));
    None
}

/// The powershell corpus, unpacked once, or `None` with a printed reason.
pub fn powershell() -> Option<&'static Path> {
    static UNPACKED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let unpack = || {
        let archive = shared("powershell-docs.tar.zst")?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("powershell");
        fs::create_dir_all(&folder).unwrap();
        let tar = Command::new("tar").arg("--zstd").arg("-xf").arg(archive).arg("-C").arg(&folder).status();
        if tar.is_ok_and(|status| status.success()) {
            return Some(folder.join("powershell-docs"));
        }
        note("SKIPPED: tar with zstd is needed to unpack the powershell corpus");
        None
    };
    UNPACKED.get_or_init(unpack).as_deref()
}

/// Every document of a corpus, parsed.
pub fn documents(root: &Path) -> Vec<Document> {
    use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root, discover, read};
    let filter = Filter::new(&[], &[], true, DEFAULT_MAX_BYTES).unwrap();
    let found = discover(&[Root::new(root)], &filter, &[]).unwrap();
    found.sources.into_iter().map(|source| read(source).unwrap()).map(|(s, c)| Document::parse(s, c)).collect()
}

/// The default model's reference if its files are here, else `None` with a printed reason. With
/// `CHUNKMILL_REQUIRE_ALL` set, as `make test` sets it, its absence is a failure.
pub fn default_model() -> Option<chunkmill::embed::hub::ModelRef> {
    use chunkmill::embed::hub::{ModelRef, locate};
    let model = ModelRef::default();
    match locate(&model) {
        Ok(_) => Some(model),
        Err(error) if std::env::var_os("CHUNKMILL_REQUIRE_ALL").is_some() => panic!("{error}"),
        Err(error) => {
            note(&format!("SKIPPED: the default model is not here: {error}"));
            None
        }
    }
}

const VOCABULARY: [&str; 16] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "a", "cat", "dog", "sat", "ran", "##s", "on", "mat", ".", ",", "and"];

/// Dimensions of the made-up model: wide enough that products take the code that real ones take.
pub const TINY_DIM: usize = 160;

/// Writes a BERT model with made-up weights, in sentence-transformers' layout.
pub fn tiny_model(folder: &Path) {
    let (dim, inner, layers, positions) = (TINY_DIM, 2 * TINY_DIM, 2, 32);
    let vocabulary: HashMap<&str, usize> = VOCABULARY.iter().enumerate().map(|(id, word)| (*word, id)).collect();
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
        ("1_Pooling/config.json", json!({"word_embedding_dimension": dim, "pooling_mode_mean_tokens": true})),
        ("sentence_bert_config.json", json!({"max_seq_length": 12, "do_lower_case": false})),
        (
            "config.json",
            json!({
                "model_type": "bert", "vocab_size": VOCABULARY.len(), "hidden_size": dim, "num_hidden_layers": layers,
                "num_attention_heads": 2, "intermediate_size": inner, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
                "max_position_embeddings": positions, "type_vocab_size": 2, "initializer_range": 0.02,
                "layer_norm_eps": 1e-12, "pad_token_id": 0,
            }),
        ),
        (
            "tokenizer.json",
            json!({
                "version": "1.0",
                // Wrong on purpose, as in shipped files: the model's own limit must win.
                "truncation": {"max_length": 5, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
                "padding": {"strategy": {"Fixed": 7}, "direction": "Right", "pad_to_multiple_of": null,
                            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
                "added_tokens": [],
                "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                               "strip_accents": null, "lowercase": true},
                "pre_tokenizer": {"type": "BertPreTokenizer"},
                "post_processor": {
                    "type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
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
    for (name, value) in files {
        write(folder, name, value.to_string().as_bytes());
    }
    let mut tensors: HashMap<String, Tensor> = HashMap::new();
    let mut seed = 1u32;
    let mut add = |name: String, shape: &[usize], base: f32| {
        let values: Vec<f32> = (0..shape.iter().product())
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                base + ((seed >> 16) as f32 / 65536.0 - 0.5) / 4.0
            })
            .collect();
        tensors.insert(name, Tensor::from_vec(values, shape, &Device::Cpu).unwrap());
    };
    add("embeddings.word_embeddings.weight".to_owned(), &[VOCABULARY.len(), dim], 0.0);
    add("embeddings.position_embeddings.weight".to_owned(), &[positions, dim], 0.0);
    add("embeddings.token_type_embeddings.weight".to_owned(), &[2, dim], 0.0);
    add("embeddings.LayerNorm.weight".to_owned(), &[dim], 1.0);
    add("embeddings.LayerNorm.bias".to_owned(), &[dim], 0.0);
    for layer in 0..layers {
        let linear = [
            ("attention.self.query", dim, dim),
            ("attention.self.key", dim, dim),
            ("attention.self.value", dim, dim),
            ("attention.output.dense", dim, dim),
            ("intermediate.dense", inner, dim),
            ("output.dense", dim, inner),
        ];
        for (name, rows, columns) in linear {
            add(format!("encoder.layer.{layer}.{name}.weight"), &[rows, columns], 0.0);
            add(format!("encoder.layer.{layer}.{name}.bias"), &[rows], 0.0);
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            add(format!("encoder.layer.{layer}.{name}.weight"), &[dim], 1.0);
            add(format!("encoder.layer.{layer}.{name}.bias"), &[dim], 0.0);
        }
    }
    candle_core::safetensors::save(&tensors, folder.join("model.safetensors")).unwrap();
}
