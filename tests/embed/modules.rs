//! The modules after the network in a sentence-transformers folder: poolings, and modules that change a text's
//! vector.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{Device, Tensor};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Backend, Dimensions, Embedder, Engine, Role, load};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::write;
use crate::tiny::{TINY_DIM, tiny_model};

const TEXT: &str = "the cat sat on a mat .";

/// Creates an invented model with these modules after the network.
fn model(modules: &[(&str, Value)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    tiny_model(folder.path());
    let mut list = vec![json!({"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"})];
    for (index, (kind, config)) in modules.iter().enumerate() {
        let index = index + 1;
        let path = format!("{index}_{kind}");
        list.push(json!({"idx": index, "name": index.to_string(), "path": path, "type": format!("sentence_transformers.models.{kind}")}));
        write(folder.path(), &format!("{path}/config.json"), config.to_string().as_bytes());
    }
    write(folder.path(), "modules.json", json!(list).to_string().as_bytes());
    compared_by(folder.path(), "dot");
    folder
}

/// Sets how a model says that its vectors are compared.
fn compared_by(folder: &Path, similarity: &str) {
    let config = json!({"similarity_fn_name": similarity});
    write(folder, "config_sentence_transformers.json", config.to_string().as_bytes());
}

fn weights(folder: &Path, name: &str, tensors: &[(&str, &[usize], Vec<f32>)]) {
    let tensors: HashMap<&str, Tensor> = tensors
        .iter()
        .map(|(name, shape, values)| (*name, Tensor::from_vec(values.clone(), *shape, &Device::Cpu).unwrap()))
        .collect();
    candle_core::safetensors::save(&tensors, folder.join(name)).unwrap();
}

fn open(folder: &Path, engine: Engine) -> Result<Box<dyn Embedder>, String> {
    load(engine, &ModelRef::Folder(folder.to_owned())).map_err(|error| error.to_string())
}

fn vector(folder: &Path) -> Vec<f32> {
    let of = |engine| {
        let embedder = open(folder, engine).unwrap();
        let ids = embedder.encode(TEXT, Role::Document).unwrap().ids;
        let vector = embedder.embed_ids(&[&ids]).unwrap();
        assert_eq!(vector.len(), embedder.info().dim);
        vector
    };
    let [ours, candle] = [Engine::Cpu, Engine::Candle].map(of);
    near(&ours, &candle, 1e-2);
    candle
}

fn near(a: &[f32], b: &[f32], tolerance: f32) {
    assert_eq!(a.len(), b.len());
    for (index, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= tolerance * (1.0 + y.abs()), "value {index} is {x}, not {y}");
    }
}

fn pooling(modes: &[&str]) -> (&'static str, Value) {
    ("Pooling", json!({"embedding_dimension": TINY_DIM, "pooling_mode": modes}))
}

/// Returns numbers that look like weights.
fn made_up(count: usize, step: f32) -> Vec<f32> {
    (0..count).map(|i| ((i as f32) * step).sin() / 8.0).collect()
}

#[test]
fn several_poolings_stand_one_behind_another() {
    let alone = |mode| vector(model(&[pooling(&[mode])]).path());
    let both = vector(model(&[pooling(&["mean", "cls"])]).path());
    assert_eq!(both, [alone("mean"), alone("cls")].concat(), "in the order of the list");
    let old = json!({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true, "pooling_mode_lasttoken": true});
    let old = model(&[("Pooling", old)]);
    assert_eq!(vector(old.path()), [alone("cls"), alone("mean"), alone("lasttoken")].concat(), "in the fixed order");
    assert_eq!(open(old.path(), Engine::Cpu).unwrap().info().pooling, "cls+mean+last");
    assert!(open(old.path(), Engine::Cpu).unwrap().by_token().is_none(), "no mean");
}

#[test]
fn a_weighted_mean_counts_later_tokens_more() {
    let of = |mode: &str, text: &str| {
        let folder = model(&[pooling(&[mode])]);
        let embedder = open(folder.path(), Engine::Candle).unwrap();
        let ids = embedder.encode(text, Role::Document).unwrap().ids;
        (ids.len(), embedder.embed_ids(&[&ids]).unwrap())
    };
    // An empty text has two special tokens, and the second one counts twice.
    let (count, weighted) = of("weightedmean", "");
    assert_eq!(count, 2);
    let (first, last) = (of("cls", "").1, of("lasttoken", "").1);
    let expected: Vec<f32> = first.iter().zip(&last).map(|(a, b)| (a + 2.0 * b) / 3.0).collect();
    near(&weighted, &expected, 1e-6);
}

#[test]
fn dense_layers_and_norms_change_the_vector_in_their_order() {
    let (inputs, outputs) = (TINY_DIM, 24);
    let dense = |activation: &str, more: Value| {
        let class = format!("torch.nn.modules.{activation}");
        let mut config =
            json!({"in_features": inputs, "out_features": outputs, "bias": true, "activation_function": class});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("Dense", config)
    };
    let (weight, bias, residual) =
        (made_up(inputs * outputs, 0.7), made_up(outputs, 1.3), made_up(inputs * outputs, 0.3));
    let mean = vector(model(&[pooling(&["mean"])]).path());
    let product = |weight: &[f32]| -> Vec<f32> {
        let row = |row: &[f32]| row.iter().zip(&mean).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum::<f64>() as f32;
        weight.chunks(inputs).map(row).collect()
    };
    let linear: Vec<f32> = product(&weight).iter().zip(&bias).map(|(x, b)| x + b).collect();
    type Apply = fn(f32) -> f32;
    let activations: [(&str, Apply); 5] = [
        ("linear.Identity", |x| x),
        ("activation.Tanh", f32::tanh),
        ("activation.ReLU", |x| x.max(0.0)),
        ("activation.Sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
        ("activation.SiLU", |x| x / (1.0 + (-x).exp())),
    ];
    for (name, apply) in activations {
        let folder =
            model(&[pooling(&["mean"]), dense(name, json!({})), ("Dropout", json!({})), ("Normalize", json!({}))]);
        let file = "2_Dense/model.safetensors";
        let tensors: [(&str, &[usize], _); 2] =
            [("linear.weight", &[outputs, inputs], weight.clone()), ("linear.bias", &[outputs], bias.clone())];
        weights(folder.path(), file, &tensors);
        let activated: Vec<f32> = linear.iter().map(|&x| apply(x)).collect();
        let norm = activated.iter().map(|x| x * x).sum::<f32>().sqrt();
        near(&vector(folder.path()), &activated.iter().map(|x| x / norm).collect::<Vec<_>>(), 1e-5);
        assert!(open(folder.path(), Engine::Cpu).unwrap().info().normalize);
    }
    let with_residual =
        model(&[pooling(&["mean"]), dense("linear.Identity", json!({"use_residual": true, "bias": false}))]);
    let tensors: [(&str, &[usize], _); 2] = [
        ("linear.weight", &[outputs, inputs], weight.clone()),
        ("residual.weight", &[outputs, inputs], residual.clone()),
    ];
    weights(with_residual.path(), "2_Dense/model.safetensors", &tensors);
    let expected: Vec<f32> = product(&weight).iter().zip(product(&residual)).map(|(x, more)| x + more).collect();
    near(&vector(with_residual.path()), &expected, 1e-5);

    let normed = model(&[pooling(&["mean"]), ("LayerNorm", json!({"dimension": inputs}))]);
    let tensors: [(&str, &[usize], _); 2] =
        [("norm.weight", &[inputs], made_up(inputs, 0.9)), ("norm.bias", &[inputs], made_up(inputs, 0.2))];
    weights(normed.path(), "2_LayerNorm/model.safetensors", &tensors);
    let center = mean.iter().sum::<f32>() / inputs as f32;
    let variance = mean.iter().map(|x| (x - center).powi(2)).sum::<f32>() / inputs as f32;
    let expected = mean.iter().zip(made_up(inputs, 0.9)).zip(made_up(inputs, 0.2));
    let expected = expected.map(|((x, w), b)| (x - center) / (variance + 1e-5).sqrt() * w + b);
    near(&vector(normed.path()), &expected.collect::<Vec<_>>(), 1e-4);
    assert!(!open(normed.path(), Engine::Cpu).unwrap().info().normalize);
}

#[test]
fn vectors_that_are_compared_by_cosine_have_length_1() {
    let folder = model(&[pooling(&["mean"])]);
    let path = folder.path();
    let raw = vector(path);
    let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    assert!((norm - 1.0).abs() > 0.1, "{norm}");
    let scaled: Vec<f32> = raw.iter().map(|x| x / norm).collect();
    let of = |engine| open(path, engine).unwrap().info().clone();
    let dot = of(Engine::Candle);
    assert!(!dot.normalize);
    compared_by(path, "cosine");
    near(&vector(path), &scaled, 1e-6);
    assert!(of(Engine::Candle).normalize);
    assert_ne!(of(Engine::Candle).fingerprint, dot.fingerprint);
    std::fs::remove_file(path.join("config_sentence_transformers.json")).unwrap();
    near(&vector(path), &scaled, 1e-6);
    compared_by(path, "manhattan");
    let refused = open(path, Engine::Auto).err().unwrap();
    assert!(
        refused.contains("asks for the similarity `manhattan`") && refused.contains("`cosine` or `dot`"),
        "{refused}"
    );
    let normalized = model(&[pooling(&["mean"]), ("Normalize", json!({}))]);
    compared_by(normalized.path(), "euclidean");
    near(&vector(normalized.path()), &scaled, 1e-6);
}

#[test]
fn the_first_dimensions_are_kept_if_the_model_says_that_they_suffice() {
    let folder = model(&[pooling(&["mean"]), ("Normalize", json!({}))]);
    let whole = vector(folder.path());
    let cut = |count, forced| {
        let dimensions = Some(Dimensions { count, forced });
        let backend = Backend { engine: Engine::Candle, dimensions, ..Backend::default() };
        load(backend, &ModelRef::Folder(folder.path().to_owned())).map_err(|error| error.to_string())
    };
    let vector = |embedder: &dyn Embedder| {
        let ids = embedder.encode(TEXT, Role::Document).unwrap().ids;
        embedder.embed_ids(&[&ids]).unwrap()
    };
    let refused = cut(32, false).err().unwrap();
    assert!(refused.contains("does not list 32 among its Matryoshka dimensions: none"), "{refused}");
    assert!(cut(161, true).err().unwrap().contains("161 is more than the 160"));
    let norm = whole[..32].iter().map(|x| x * x).sum::<f32>().sqrt();
    let expected: Vec<f32> = whole[..32].iter().map(|x| x / norm).collect();
    let forced = cut(32, true).unwrap();
    near(&vector(forced.as_ref()), &expected, 1e-6);
    assert_eq!(forced.info().dim, 32);
    let all = cut(160, false).unwrap();
    assert_ne!(forced.info().fingerprint, all.info().fingerprint);
    assert_eq!(all.info().fingerprint, open(folder.path(), Engine::Candle).unwrap().info().fingerprint);
    let config = std::fs::read_to_string(folder.path().join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["matryoshka_dimensions"] = json!([16, 32]);
    write(folder.path(), "config.json", config.to_string().as_bytes());
    near(&vector(cut(32, false).unwrap().as_ref()), &expected, 1e-6);
    let refused = cut(24, false).err().unwrap();
    assert!(refused.contains("does not list 24 among its Matryoshka dimensions: 16, 32"), "{refused}");
}

#[test]
fn modules_that_do_not_fit_are_refused() {
    let dense = |more: Value| {
        let mut config = json!({"in_features": TINY_DIM, "out_features": 4, "activation_function": "torch.nn.modules.linear.Identity"});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let folder = model(&[pooling(&["mean"]), ("Dense", config)]);
        let tensors: [(&str, &[usize], _); 2] =
            [("linear.weight", &[4, TINY_DIM], made_up(4 * TINY_DIM, 1.0)), ("linear.bias", &[4], made_up(4, 1.0))];
        weights(folder.path(), "2_Dense/model.safetensors", &tensors);
        folder
    };
    assert!(open(dense(json!({})).path(), Engine::Cpu).is_ok());
    for (change, reason) in [
        (json!({"activation_function": "my.Activation"}), "the activation `my.Activation`"),
        (json!({"module_input_name": "token_embeddings"}), "something other than the text's vector"),
        (json!({"out_features": 5}), "the tensor `linear.weight` is [4, 160], but its config.json says [5, 160]"),
        (json!({"use_residual": true}), "there is no tensor `residual.weight`"),
        (json!({"in_features": "many"}), "2_Dense/config.json"),
    ] {
        for engine in [Engine::Cpu, Engine::Candle] {
            let refused = open(dense(change.clone()).path(), engine).err().unwrap_or_default();
            assert!(refused.contains(reason), "{change} through {engine}: {refused}");
        }
    }
    let wide = model(&[pooling(&["mean", "cls"]), ("LayerNorm", json!({"dimension": TINY_DIM}))]);
    let ones: [(&str, &[usize], _); 2] =
        [("norm.weight", &[TINY_DIM], made_up(TINY_DIM, 1.0)), ("norm.bias", &[TINY_DIM], made_up(TINY_DIM, 1.0))];
    weights(wide.path(), "2_LayerNorm/model.safetensors", &ones);
    let refused = open(wide.path(), Engine::Cpu).err().unwrap();
    assert!(refused.contains("the module LayerNorm reads vectors of 160 values, but gets 320"), "{refused}");
}
