//! Static models: tables of vectors in the layouts of model2vec and of sentence-transformers.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{Device, Tensor};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Backend, Dimensions, Embedder, Engine, Precision, PrecisionSetting, Role, load, query};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{run, write};
use crate::tiny::tiny_model;

/// Ids of the words of an invented vocabulary, as in `tiny`.
const CAT: u32 = 6;
const SAT: u32 = 8;
const UNKNOWN: u32 = 1;
const TOKENS: usize = 16;
const WIDTH: usize = 40;

fn value(row: usize, column: usize) -> f32 {
    ((row * 31 + column * 17) % 23) as f32 / 7.0 - 1.4
}

fn table(rows: usize) -> Tensor {
    let values: Vec<f32> = (0..rows * WIDTH).map(|at| value(at / WIDTH, at % WIDTH)).collect();
    Tensor::from_vec(values, (rows, WIDTH), &Device::Cpu).unwrap()
}

/// Creates a folder with a tokenizer and these tensors, in its part `part`.
fn model(part: &str, modules: Option<Value>, config: Option<Value>, tensors: &[(&str, Tensor)]) -> TempDir {
    let (folder, network) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    tiny_model(network.path());
    let tokenizer = std::fs::read(network.path().join("tokenizer.json")).unwrap();
    write(folder.path(), &format!("{part}tokenizer.json"), &tokenizer);
    if let Some(modules) = modules {
        write(folder.path(), "modules.json", modules.to_string().as_bytes());
    }
    if let Some(config) = config {
        write(folder.path(), "config.json", config.to_string().as_bytes());
    }
    let tensors: HashMap<&str, Tensor> = tensors.iter().map(|(name, tensor)| (*name, tensor.clone())).collect();
    candle_core::safetensors::save(&tensors, folder.path().join(format!("{part}model.safetensors"))).unwrap();
    folder
}

fn modules(path: &str) -> Value {
    json!([
        {"idx": 0, "name": "0", "path": path, "type": "sentence_transformers.models.StaticEmbedding"},
        {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
    ])
}

fn open(folder: &Path) -> Box<dyn Embedder> {
    load(Engine::Auto, &ModelRef::Folder(folder.to_owned())).unwrap()
}

fn vector(embedder: &dyn Embedder, text: &str) -> Vec<f32> {
    let ids = embedder.encode(text, Role::Document).unwrap().ids;
    embedder.embed_ids(&[&ids]).unwrap()
}

/// Returns the mean of rows, each multiplied by a weight, scaled to length 1.
fn mean(rows: &[(usize, f64)]) -> Vec<f64> {
    let sum = |column| rows.iter().map(|&(row, weight)| weight * f64::from(value(row, column))).sum::<f64>();
    let sums: Vec<f64> = (0..WIDTH).map(sum).collect();
    let norm = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
    sums.iter().map(|x| x / norm).collect()
}

fn near(found: &[f32], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((f64::from(*found) - wanted).abs() < 1e-6, "{found} is not {wanted}");
    }
}

#[test]
fn sentence_transformers_tables_mean_over_all_tokens() {
    for path in ["", "0_StaticEmbedding"] {
        let part = if path.is_empty() { String::new() } else { format!("{path}/") };
        let folder = model(&part, Some(modules(path)), None, &[("embedding.weight", table(TOKENS))]);
        let embedder = open(folder.path());
        assert_eq!((embedder.info().engine, embedder.info().arithmetic.as_str()), (Engine::Cpu, "any"));
        let ids = embedder.encode("Cat sat, xyz", Role::Document).unwrap();
        assert_eq!((ids.ids.as_slice(), ids.n_tokens), ([CAT, SAT, 14, UNKNOWN].as_slice(), 4), "no special tokens");
        near(&vector(embedder.as_ref(), "Cat sat, xyz"), &mean(&[(6, 1.0), (8, 1.0), (14, 1.0), (1, 1.0)]));
        let long = "cat ".repeat(5000);
        assert_eq!(embedder.encode(&long, Role::Document).unwrap().ids.len(), 5000, "it reads all of a text");
        assert_eq!(query(embedder.as_ref(), "cat").unwrap(), vector(embedder.as_ref(), "cat"));
    }
}

#[test]
fn model2vec_leaves_out_what_its_vocabulary_lacks_and_reads_512_tokens() {
    let with_list = Some(modules("."));
    let config = |more: Value| {
        let mut config = json!({"model_type": "model2vec", "normalize": true});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Some(config)
    };
    for list in [with_list, None] {
        let folder = model("", list, config(json!({})), &[("embeddings", table(TOKENS))]);
        let embedder = open(folder.path());
        assert_eq!(embedder.info().max_tokens, 512);
        assert!(embedder.info().normalize);
        near(&vector(embedder.as_ref(), "cat xyz sat"), &mean(&[(6, 1.0), (8, 1.0)]));
        assert_eq!(vector(embedder.as_ref(), "xyz  "), [0.0; WIDTH], "none of it is known");
        let cut = embedder.encode(&format!("{} sat", "cat ".repeat(512)), Role::Document).unwrap();
        assert_eq!((cut.ids, cut.n_tokens), (vec![CAT; 512], 513));
    }
    for (limit, tokens) in [(json!(3), 3), (json!(null), 600)] {
        let folder = model("", None, config(json!({"max_length": limit})), &[("embeddings", table(TOKENS))]);
        let encoded = open(folder.path()).encode(&"cat ".repeat(600), Role::Document).unwrap();
        assert_eq!(encoded.ids.len(), tokens);
    }
    let folder = model("", None, config(json!({"max_length": "all"})), &[("embeddings", table(TOKENS))]);
    let error = load(Engine::Auto, &ModelRef::Folder(folder.path().to_owned())).err().unwrap().to_string();
    assert!(error.contains("`max_length` is \"all\""), "{error}");
}

#[test]
fn rows_are_shared_weighted_and_of_bytes_where_the_files_say_so() {
    let mapping: Vec<i64> = (0..TOKENS as i64).map(|id| id % 5).collect();
    let mapping = Tensor::from_vec(mapping, TOKENS, &Device::Cpu).unwrap();
    let weights: Vec<f32> = (0..TOKENS).map(|id| 1.0 + id as f32 / 2.0).collect();
    let weights = Tensor::from_vec(weights, TOKENS, &Device::Cpu).unwrap();
    let config = Some(json!({"model_type": "model2vec", "normalize": true, "vocabulary_quantization": 5}));
    let tensors = [("embeddings", table(5)), ("mapping", mapping), ("weights", weights)];
    let folder = model("", None, config.clone(), &tensors);
    near(&vector(open(folder.path()).as_ref(), "cat sat"), &mean(&[(1, 4.0), (3, 5.0)]));

    let folder = model("", None, config, &[("embeddings", table(TOKENS))]);
    let bytes: Vec<u8> = (0..TOKENS * WIDTH).map(|at| (value(at / WIDTH, at % WIDTH) * 50.0) as i8 as u8).collect();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::I8, vec![TOKENS, WIDTH], &bytes).unwrap();
    safetensors::serialize_to_file([("embeddings", view)], None, &folder.path().join("model.safetensors")).unwrap();
    let sums: Vec<f64> =
        (0..WIDTH).map(|column| [6, 8].map(|row| f64::from((value(row, column) * 50.0) as i8)).iter().sum()).collect();
    let norm = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
    let wanted: Vec<f64> = sums.iter().map(|x| x / norm).collect();
    near(&vector(open(folder.path()).as_ref(), "cat sat"), &wanted);
}

#[test]
fn damaged_tables_and_settings_that_a_table_cannot_have_are_refused() {
    let refused = |tensors: &[(&str, Tensor)], backend: Backend| {
        let folder = model("", Some(modules("")), None, tensors);
        load(backend, &ModelRef::Folder(folder.path().to_owned())).err().unwrap().to_string()
    };
    let of = |values: Vec<i64>| Tensor::from_vec(values.clone(), values.len(), &Device::Cpu).unwrap();
    let cases: [(&[(&str, Tensor)], &str); 4] = [
        (&[("other", table(3))], "no tensor `embedding.weight` or `embeddings`"),
        (&[("embeddings", of(vec![1, 2]))], "not of a floating-point type"),
        (
            &[("embeddings", table(3)), ("mapping", of(vec![0, 3]))],
            "`mapping` contains row 3, but the table has 3 rows",
        ),
        (&[("embeddings", table(3)), ("mapping", of(vec![0, -1]))], "a number that is not a valid position"),
    ];
    for (tensors, wanted) in cases {
        let error = refused(tensors, Backend::default());
        assert!(error.contains(wanted), "{error}");
    }
    let precision = PrecisionSetting::Fixed(Precision::Int8);
    let error = refused(&[("embeddings", table(TOKENS))], Backend { precision, ..Backend::default() });
    assert!(error.contains("is a table of vectors, which is summed in f32, not in int8"), "{error}");

    // A token without a row is an error only when it occurs.
    let folder = model("", Some(modules("")), None, &[("embeddings", table(7))]);
    let embedder = open(folder.path());
    let ids = embedder.encode("cat sat", Role::Document).unwrap().ids;
    let error = embedder.embed_ids(&[&ids]).unwrap_err().to_string();
    assert!(error.contains("token 8 is not among its 7 tokens"), "{error}");
}

#[test]
fn a_folder_is_indexed_and_searched_with_a_table_in_both_ways_of_pooling() {
    let folder = model("", Some(modules("")), None, &[("embedding.weight", table(TOKENS))]);
    let home =
        crate::common::folder(&[("docs/a.md", "# The cat\n\nThe cat sat.\n"), ("docs/b.md", "# Dog\n\nA dog ran.\n")]);
    let model = folder.path().to_str().unwrap();
    for pooling in ["chunk", "late"] {
        let (code, _, errors) =
            run(home.path(), &["index", "docs", "-o", pooling, "--model", model, "--pooling", pooling]);
        assert_eq!(code, 0, "{errors}");
        let (code, out, errors) =
            run(home.path(), &["search", pooling, "the cat sat", "--model", model, "--mode", "vector"]);
        assert_eq!(code, 0, "{errors}");
        assert!(out.find("a.md").unwrap() < out.find("b.md").unwrap_or(usize::MAX), "{out}");
    }
}

#[test]
fn the_first_values_of_a_table_are_kept() {
    let folder = model("", Some(modules("")), None, &[("embedding.weight", table(TOKENS))]);
    let dimensions = Some(Dimensions { count: 8, forced: true });
    let embedder =
        load(Backend { dimensions, ..Backend::default() }, &ModelRef::Folder(folder.path().to_owned())).unwrap();
    let found = vector(embedder.as_ref(), "cat sat");
    let whole = mean(&[(6, 1.0), (8, 1.0)]);
    let norm = whole[..8].iter().map(|x| x * x).sum::<f64>().sqrt();
    near(&found, &whole[..8].iter().map(|x| x / norm).collect::<Vec<_>>());
}
