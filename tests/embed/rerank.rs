//! Rerankers: networks that read a question and a passage together.

use std::collections::HashMap;
use std::path::Path;

use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Backend, Isa, Precision, PrecisionSetting, Reranker, load_reranker};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{json_lines, run, write};
use crate::tiny::Tiny;

const QUESTION: &str = "the cat sat on a mat";
const PASSAGES: [&str; 4] = [
    "a dog ran.",
    "the cat sat on the mat, and the dog ran.",
    "cats, dogs and mats and the cat, the dog, the mat, the cat and a dog and a mat and the cats and the dogs sat on the mat.",
    "",
];

fn open(folder: &Path, backend: Backend) -> Result<Box<dyn Reranker>, String> {
    load_reranker(backend, &ModelRef::Folder(folder.to_owned())).map_err(|error| error.to_string())
}

fn written(tiny: Tiny) -> TempDir {
    let folder = TempDir::new().unwrap();
    tiny.write_cross_encoder(folder.path());
    folder
}

fn within(isa: Isa, precision: Precision) -> Backend {
    Backend { isa: Some(isa), precision: PrecisionSetting::Fixed(precision), ..Backend::default() }
}

/// The scores that sentence-transformers 6.2 computes for the passages (`CrossEncoder.predict`, in 64-bit floats):
/// `golden/pairs.py`.
fn golden() -> [(Tiny, [f32; 4]); 8] {
    [
        (Tiny::new("bert", 128, 2), [0.4854139, 0.4561561, 0.5272438, 0.4458732]),
        (Tiny::new("bert", 48, 3), [0.5672015, 0.5698248, 0.5749352, 0.5648622]),
        (Tiny::new("roberta", 128, 2), [0.4609396, 0.4791609, 0.4396598, 0.4265252]),
        (Tiny::new("xlm-roberta", 312, 12), [0.7825898, 0.7628249, 0.7078611, 0.8092783]),
        (Tiny::new("distilbert", 128, 2), [0.5687239, 0.5529167, 0.5493745, 0.6153949]),
        (Tiny::new("modernbert", 128, 2), [0.6014571, 0.5772393, 0.4947835, 0.5814944]),
        (Tiny::new("modernbert", 48, 3), [0.5212277, 0.5049075, 0.5099814, 0.5078621]),
        (Tiny::new("mpnet", 128, 2), [0.4783285, 0.4908539, 0.4656635, 0.4312182]),
    ]
}

#[test]
fn scores_are_those_of_the_families_authors_with_every_instruction_set() {
    for (tiny, golden) in golden() {
        let folder = written(tiny);
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let scores = open(folder.path(), within(isa, Precision::F32)).unwrap().scores(QUESTION, &PASSAGES).unwrap();
            for (at, (score, golden)) in scores.iter().zip(golden).enumerate() {
                assert!((score - golden).abs() < 2e-6, "{tiny:?}, {isa}: passage {at} has {score}, not {golden}");
            }
        }
    }
}

/// Writes the models for `tests/golden/pairs.py`.
#[test]
#[ignore = "writes files for a person"]
fn writes_the_rerankers_of_the_golden_scores() {
    let Some(root) = std::env::var_os("CHUNKMILL_TINY") else { panic!("set CHUNKMILL_TINY to a folder") };
    let root = Path::new(&root);
    for (tiny, _) in golden() {
        tiny.write_cross_encoder(&root.join(format!("{}-{}", tiny.family, tiny.hidden)));
    }
    std::fs::write(root.join("pairs.json"), json!([QUESTION, PASSAGES]).to_string()).unwrap();
}

#[test]
fn a_score_depends_on_its_pair_alone_and_little_on_the_precision() {
    for (tiny, _) in golden() {
        let folder = written(tiny);
        let reranker = open(folder.path(), within(Isa::best(), Precision::F32)).unwrap();
        let together = reranker.scores(QUESTION, &PASSAGES).unwrap();
        for (passage, score) in PASSAGES.iter().zip(&together) {
            assert_eq!(reranker.scores(QUESTION, &[passage]).unwrap(), [*score], "{tiny:?}");
        }
        let many: Vec<&str> = PASSAGES.iter().copied().cycle().take(200).collect();
        let scores = reranker.scores(QUESTION, &many).unwrap();
        assert!(scores.iter().zip(together.iter().cycle()).all(|(a, b)| a == b), "{tiny:?}");
        assert_eq!(reranker.scores(QUESTION, &[]).unwrap(), [0.0; 0]);
        for precision in [Precision::Bf16, Precision::Int8] {
            let coarse =
                open(folder.path(), within(Isa::best(), precision)).unwrap().scores(QUESTION, &PASSAGES).unwrap();
            let far = coarse.iter().zip(&together).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(far < 0.02, "{tiny:?} in {precision}: {far}");
        }
    }
}

#[test]
fn the_activation_is_the_files() {
    let folder = written(Tiny::new("bert", 48, 3));
    let with = |more: Value| {
        let mut config: Value =
            serde_json::from_slice(&std::fs::read(folder.path().join("config.json")).unwrap()).unwrap();
        for key in ["sentence_transformers", "sbert_ce_default_activation_function"] {
            config.as_object_mut().unwrap().remove(key);
        }
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        write(folder.path(), "config.json", config.to_string().as_bytes());
        open(folder.path(), Backend::default())
    };
    let scores = |more| with(more).unwrap().scores(QUESTION, &PASSAGES).unwrap();
    let squashed = scores(json!({}));
    for more in [
        json!({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "6.2.0"}}),
        json!({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}),
    ] {
        for (plain, squashed) in scores(more).iter().zip(&squashed) {
            assert!((1.0 / (1.0 + (-plain).exp()) - squashed).abs() < 1e-6);
        }
    }
    let error = with(json!({"sentence_transformers": {"activation_fn": "my.own"}})).err().unwrap();
    assert!(error.contains("asks for the activation `my.own`"), "{error}");
}

/// Writes a cross-encoder of ModernBERT with the layers that score as modules of their own, as the Ettin rerankers have
/// them. `more` changes a module's configuration.
fn as_modules(whole: &Path, more: &[(&str, Value)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(whole.join(name), folder.path().join(name)).unwrap();
    }
    let put = |name: &str, value: Value| {
        let mut value = value;
        for (_, more) in more.iter().filter(|(other, _)| *other == name) {
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        }
        write(folder.path(), name, value.to_string().as_bytes());
    };
    let mut config: Value = serde_json::from_slice(&std::fs::read(whole.join("config.json")).unwrap()).unwrap();
    for key in ["id2label", "label2id", "num_labels"] {
        config.as_object_mut().unwrap().remove(key);
    }
    let dim = config["hidden_size"].clone();
    put("config.json", config);
    let kinds = ["Transformer", "Pooling", "Dense", "LayerNorm", "Dense"];
    let module = |(at, kind): (usize, &&str)| {
        let path = if at == 0 { String::new() } else { format!("{at}_{kind}") };
        json!({"idx": at, "name": at.to_string(), "path": path, "type": format!("sentence_transformers.models.{kind}")})
    };
    let modules: Vec<Value> = kinds.iter().enumerate().map(module).collect();
    write(folder.path(), "modules.json", json!(modules).to_string().as_bytes());
    put("1_Pooling/config.json", json!({"embedding_dimension": dim, "pooling_mode": "cls"}));
    let dense = |out: Value, bias: bool, activation: &str, written: &str| {
        let activation = format!("torch.nn.modules.{activation}");
        json!({"in_features": dim, "out_features": out, "bias": bias, "activation_function": activation,
            "module_input_name": "sentence_embedding", "module_output_name": written})
    };
    put("2_Dense/config.json", dense(dim.clone(), false, "activation.GELU", "sentence_embedding"));
    put("3_LayerNorm/config.json", json!({"dimension": dim}));
    put("4_Dense/config.json", dense(json!(1), true, "linear.Identity", "scores"));
    put("config_sentence_transformers.json", json!({"model_type": "CrossEncoder"}));
    let all = candle_core::safetensors::load(whole.join("model.safetensors"), &candle_core::Device::Cpu).unwrap();
    let mut files = [
        ("", HashMap::new()),
        ("2_Dense/", HashMap::new()),
        ("3_LayerNorm/", HashMap::new()),
        ("4_Dense/", HashMap::new()),
    ];
    for (name, tensor) in all {
        let (file, name) = match &*name {
            "head.dense.weight" => (1, "linear.weight".to_owned()),
            "head.norm.weight" => (2, "norm.weight".to_owned()),
            "classifier.weight" => (3, "linear.weight".to_owned()),
            "classifier.bias" => (3, "linear.bias".to_owned()),
            other => (0, other.strip_prefix("model.").unwrap().to_owned()),
        };
        if name == "norm.weight" {
            files[file].1.insert("norm.bias".to_owned(), tensor.zeros_like().unwrap());
        }
        files[file].1.insert(name, tensor);
    }
    for (path, tensors) in files {
        candle_core::safetensors::save(&tensors, folder.path().join(path).join("model.safetensors")).unwrap();
    }
    folder
}

#[test]
fn layers_that_are_modules_score_like_those_of_the_network() {
    // The scores of the network's own layers are those of sentence-transformers: see `golden`.
    for tiny in [Tiny::new("modernbert", 128, 2), Tiny::new("modernbert", 48, 3)] {
        let whole = written(tiny);
        let scores = |folder: &Path| open(folder, Backend::default()).unwrap().scores(QUESTION, &PASSAGES).unwrap();
        assert_eq!(scores(as_modules(whole.path(), &[]).path()), scores(whole.path()));
        // Without an activation function, as the Ettin rerankers are.
        let identity = json!({"activation_fn": "torch.nn.modules.linear.Identity"});
        let plain = scores(as_modules(whole.path(), &[("config_sentence_transformers.json", identity)]).path());
        for (plain, squashed) in plain.iter().zip(scores(whole.path())) {
            assert!((1.0 / (1.0 + (-plain).exp()) - squashed).abs() < 1e-6);
        }
    }
}

#[test]
fn modules_that_score_nothing_are_refused() {
    let whole = written(Tiny::new("modernbert", 48, 3));
    let error = |name: &str, more: Value| {
        let folder = as_modules(whole.path(), &[(name, more)]);
        open(folder.path(), Backend::default()).err().unwrap()
    };
    let wide = error("4_Dense/config.json", json!({"out_features": 2}));
    assert!(wide.contains("`linear.weight` is [1, 48], but its config.json says [2, 48]"), "{wide}");
    let narrow = error("3_LayerNorm/config.json", json!({"dimension": 24}));
    assert!(narrow.contains("`norm.weight` is [48], but its config.json says [24]"), "{narrow}");
    // An embedding model is no reranker.
    let folder = TempDir::new().unwrap();
    Tiny::new("bert", 48, 3).write(folder.path());
    let error = open(folder.path(), Backend::default()).err().unwrap();
    assert!(error.contains("its modules give 48 values for a pair, but a cross-encoder gives one"), "{error}");
}

#[test]
fn what_judges_no_pairs_is_refused() {
    let folder = TempDir::new().unwrap();
    Tiny::new("bert", 48, 3).write(folder.path());
    std::fs::remove_file(folder.path().join("modules.json")).unwrap();
    let error = open(folder.path(), Backend::default()).err().unwrap();
    assert!(error.contains("it has 2 labels, but a cross-encoder has one"), "{error}");
    let folder = written(Tiny::new("roberta", 48, 3));
    let path = folder.path().join("model.safetensors");
    let mut tensors = candle_core::safetensors::load(&path, &candle_core::Device::Cpu).unwrap();
    tensors.remove("classifier.out_proj.weight");
    candle_core::safetensors::save(&tensors, &path).unwrap();
    let error = open(folder.path(), Backend::default()).err().unwrap();
    assert!(error.contains("there is no tensor `classifier.out_proj.weight`"), "{error}");
}

#[test]
fn the_best_chunks_are_put_in_order_anew() {
    let home = crate::common::folder(&[
        ("docs/a.md", "# The cat\n\nThe cat sat on a mat.\n"),
        ("docs/b.md", "# Dog\n\nA dog ran on the mat.\n"),
        ("docs/c.md", "# And\n\nAnd the dog sat, and the cat ran.\n"),
    ]);
    let reranker = home.path().join("reranker");
    Tiny::new("bert", 48, 3).write_cross_encoder(&reranker);
    let (code, _, errors) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]);
    assert_eq!(code, 0, "{errors}");
    let search = |more: &[&str]| {
        let (code, out, errors) = run(home.path(), &[&["search", "out", QUESTION, "--json"], more].concat());
        assert_eq!(code, 0, "{errors}");
        json_lines(&out)
    };
    let loaded = open(&reranker, Backend::default()).unwrap();
    let plain = search(&["--mode", "keyword"]);
    let reranked = |more: &[&str]| search(&[&["--mode", "keyword", "--rerank", "reranker"], more].concat());
    let anew = reranked(&["--rerank-weight", "0"]);
    assert_eq!((plain.len(), anew.len()), (3, 3));
    // The reranker reads what a model sees: the headings of a chunk before its content.
    let read =
        |hit: &Value| format!("{}\n\n{}", hit["header_path"].as_str().unwrap(), hit["content"].as_str().unwrap());
    let mut last = f64::INFINITY;
    for hit in &anew {
        let score = hit["score"].as_f64().unwrap();
        let wanted = loaded.scores(QUESTION, &[&read(hit)]).unwrap()[0];
        assert!((score - f64::from(wanted)).abs() < 1e-6 && score <= last, "{hit}");
        last = score;
    }
    // Its scores are added, each in standard deviations from their mean, on the scale of the ranking.
    let spread = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    };
    let scores: Vec<f64> = plain.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    let texts: Vec<String> = plain.iter().map(read).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let logits: Vec<f64> = loaded.logits(QUESTION, &texts).unwrap().into_iter().map(f64::from).collect();
    let ((_, unit), (mean, deviation)) = (spread(&scores), spread(&logits));
    for weight in [0.5, 2.0, 8.0] {
        let sum = |at: usize| scores[at] + unit / weight * (logits[at] - mean) / deviation;
        let mut order: Vec<usize> = (0..3).collect();
        order.sort_by(|a, b| sum(*b).total_cmp(&sum(*a)));
        let found = reranked(&["--rerank-weight", &weight.to_string()]);
        for (hit, at) in found.iter().zip(order) {
            assert_eq!(hit["chunk_id"], plain[at]["chunk_id"], "{weight}");
            assert!((hit["score"].as_f64().unwrap() - sum(at)).abs() < 1e-6, "{weight}: {hit}");
        }
    }
    // With a depth of two, the third follows. There is time for all.
    let two = reranked(&["--rerank-depth", "2"]);
    assert_eq!((two.len(), &two[2]["chunk_id"]), (3, &plain[2]["chunk_id"]));
    assert!(two[2]["score"].as_f64() <= two[1]["score"].as_f64());
    assert_eq!(reranked(&["--rerank-ms", "600000"]), reranked(&[]));
    assert_eq!(search(&["-k", "1", "--rerank", "reranker"]).len(), 1);
    assert_eq!(search(&["--mode", "keyword", "--rerank", "none"]), plain);
    let (code, out, errors) = run(home.path(), &["context", "out", QUESTION, "--rerank", "reranker"]);
    assert_eq!(code, 0, "{errors}");
    assert!(out.contains("[1]"), "{out}");
    let (code, _, errors) = run(home.path(), &["search", "out", QUESTION, "--rerank", "docs"]);
    assert_eq!(code, 5, "{errors}");
    assert!(errors.contains("config.json is missing"), "{errors}");
}
