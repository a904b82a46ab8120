//! Every family of networks: candle computes it as its authors' code does, our encoder computes the families that it
//! claims to compute as candle does, and what neither computes is refused with a reason.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use candle_core::{Device, Tensor};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Backend, Embedder, Engine, Isa, Precision, PrecisionSetting, Role, load};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::write;
use crate::tiny::Tiny;

/// Texts of several lengths. The longest is longer than what any model reads.
const TEXTS: [&str; 6] = [
    "the cat sat on a dog",
    "the dog sat on a cat",
    "",
    "a cat , a dog and the mat ran and sat . the dogs sat on the mat , and a cat ran on and on .",
    "mat",
    "cats ran , dogs sat , the mat and the cats ran , a dog ran on the mat , cats and dogs sat on a mat and ran . \
     the cat and the dog , the mat and a cat . on a mat the dogs ran and sat and ran and sat .",
];

/// Returns what both compute, in the proportions of real networks: heads of 64, 32, 16 and 26.
fn both_compute() -> Vec<Tiny> {
    vec![
        Tiny::new("bert", 128, 2),
        Tiny::new("bert", 48, 3),
        Tiny::new("bert", 312, 12),
        Tiny { inner: 384, layers: 6, ..Tiny::new("bert", 96, 3) },
        Tiny::new("distilbert", 128, 2),
        Tiny::new("distilbert", 48, 3),
        Tiny::new("roberta", 128, 2),
        Tiny::new("xlm-roberta", 312, 12),
        Tiny::new("camembert", 48, 3),
        Tiny::new("modernbert", 128, 2),
        Tiny::new("modernbert", 48, 3),
        Tiny::new("modernbert", 312, 12),
        Tiny::new("nomic_bert", 128, 2),
        Tiny::new("nomic_bert", 312, 12),
        Tiny::new("jina", 128, 2),
        Tiny::new("jina", 48, 3),
    ]
}

/// Returns what our encoder computes.
fn runs_on_cpu() -> Vec<Tiny> {
    let mut all = both_compute();
    all.extend([Tiny::new("mpnet", 128, 2), Tiny::new("mpnet", 48, 3)]);
    all
}

/// Returns what only candle computes.
fn runs_on_candle() -> Vec<Tiny> {
    vec![Tiny::new("qwen3", 128, 4), Tiny::new("gemma3_text", 96, 6)]
}

/// Returns the engines that compute a family.
fn engines(tiny: Tiny) -> &'static [Engine] {
    let both = &[Engine::Cpu, Engine::Candle];
    match tiny.family {
        "mpnet" => &both[..1],
        _ if tiny.is_decoder() => &both[1..],
        _ => both,
    }
}

fn written(tiny: Tiny) -> TempDir {
    let folder = TempDir::new().unwrap();
    tiny.write(folder.path());
    folder
}

fn open(folder: &Path, backend: impl Into<Backend>) -> Box<dyn Embedder> {
    load(backend, &ModelRef::Folder(folder.to_owned())).unwrap()
}

fn ids(embedder: &dyn Embedder) -> Vec<Vec<u32>> {
    TEXTS.iter().map(|text| embedder.encode(text, Role::Document).unwrap().ids).collect()
}

/// Returns each text's vector, computed alone.
fn alone(embedder: &dyn Embedder) -> Vec<Vec<f32>> {
    ids(embedder).iter().map(|ids| embedder.embed_ids(&[ids]).unwrap()).collect()
}

fn vectors(tiny: Tiny, backend: impl Into<Backend>) -> Vec<Vec<f32>> {
    let folder = written(tiny);
    alone(open(folder.path(), backend).as_ref())
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn farthest(a: &[Vec<f32>], b: &[Vec<f32>]) -> f32 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b).flat_map(|(a, b)| {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b)
    });
    pairs.fold(0.0, |most, (x, y)| most.max((x - y).abs()))
}

fn in_floats(isa: Isa) -> Backend {
    Backend {
        engine: Engine::Cpu,
        precision: PrecisionSetting::Fixed(Precision::F32),
        isa: Some(isa),
        ..Backend::default()
    }
}

#[test]
fn every_family_runs_and_padding_changes_nothing() {
    let ours = runs_on_cpu().into_iter().map(|tiny| (tiny, Engine::Cpu));
    let candle = both_compute().into_iter().chain(runs_on_candle()).map(|tiny| (tiny, Engine::Candle));
    for (tiny, engine) in candle.chain(ours) {
        let folder = written(tiny);
        let embedder = open(folder.path(), engine);
        assert_eq!((embedder.info().dim, embedder.info().max_tokens), (tiny.hidden, 40), "{tiny:?}");
        let alone = alone(embedder.as_ref());
        let ids = ids(embedder.as_ref());
        assert_eq!(ids[5].len(), 40, "the longest text is cut");
        let batch: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
        let together = embedder.embed_ids(&batch).unwrap();
        let together: Vec<Vec<f32>> = together.chunks(tiny.hidden).map(<[f32]>::to_vec).collect();
        let far = farthest(&alone, &together);
        assert!(far < 1e-5, "{tiny:?}: {far} between texts alone and padded together");
        let swapped = cosine(&alone[0], &alone[1]);
        assert!(swapped < 0.999_999, "{tiny:?} does not see the order of words: {swapped}");
        assert!(cosine(&alone[0], &alone[3]) < 0.999, "{tiny:?}");
    }
}

#[test]
fn a_first_token_computed_alone_has_the_state_that_it_has_among_all() {
    for tiny in runs_on_cpu() {
        let folders = [json!(["cls"]), json!(["cls", "max"])].map(|modes| {
            let folder = written(tiny);
            let kept: Value = serde_json::from_slice(&fs::read(folder.path().join("modules.json")).unwrap()).unwrap();
            let kept = json!(kept.as_array().unwrap()[..2]);
            write(folder.path(), "modules.json", kept.to_string().as_bytes());
            write(folder.path(), "1_Pooling/config.json", json!({"pooling_mode": modes}).to_string().as_bytes());
            write(folder.path(), "config_sentence_transformers.json", br#"{"similarity_fn_name": "dot"}"#);
            folder
        });
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            for precision in Precision::ON_CPU {
                let backend = Backend { precision: PrecisionSetting::Fixed(precision), ..in_floats(isa) };
                let [first, among] = folders.each_ref().map(|folder| {
                    let embedder = open(folder.path(), backend);
                    let ids = ids(embedder.as_ref());
                    embedder.embed_ids(&ids.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
                });
                let among: Vec<f32> =
                    among.chunks(2 * tiny.hidden).flat_map(|both| &both[..tiny.hidden]).copied().collect();
                assert_eq!(first, among, "{tiny:?} {isa} {precision}");
            }
        }
    }
}

#[test]
fn our_encoder_agrees_with_candle() {
    for tiny in both_compute() {
        let folder = written(tiny);
        let candle = alone(open(folder.path(), Engine::Candle).as_ref());
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let embedder = open(folder.path(), in_floats(isa));
            let ours = alone(embedder.as_ref());
            for ((candle, ours), text) in candle.iter().zip(&ours).zip(TEXTS) {
                let cosine = cosine(candle, ours);
                assert!(cosine >= 0.99999, "{tiny:?} with {isa}: {cosine} for {text:?}");
            }
            let far = farthest(&candle, &ours);
            assert!(far < 1e-5, "{tiny:?} with {isa}: {far}");
            let ids = ids(embedder.as_ref());
            let batch: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
            assert_eq!(embedder.embed_ids(&batch).unwrap(), ours.concat(), "{tiny:?} with {isa}: not a bit differs");
        }
        let embedder = open(folder.path(), Engine::Auto);
        assert_eq!(embedder.info().engine, Engine::Cpu, "{tiny:?}");
    }
}

#[test]
fn distilbert_is_bert_without_token_types() {
    // This also shows that its activation is the exact GELU.
    for backend in [Backend::from(Engine::Candle), in_floats(Isa::best())] {
        let bert = vectors(Tiny { types: false, ..Tiny::new("bert", 128, 2) }, backend);
        let distil = vectors(Tiny { types: false, ..Tiny::new("distilbert", 128, 2) }, backend);
        assert!(farthest(&bert, &distil) < 1e-6, "{}", farthest(&bert, &distil));
        let types = vectors(Tiny::new("bert", 128, 2), backend);
        assert!(farthest(&bert, &types) > 1e-4, "token types count");
    }
}

#[test]
fn vectors_are_those_of_the_families_authors() {
    for (tiny, golden) in golden() {
        for &engine in engines(tiny) {
            let backend = if engine == Engine::Cpu { in_floats(Isa::best()) } else { engine.into() };
            let ours = &vectors(tiny, backend)[3];
            for (index, (x, y)) in ours.iter().zip(golden).enumerate() {
                assert!((x - y).abs() < 2e-6, "{tiny:?}: value {index} is {x}, not {y}, by {}", backend.engine);
            }
        }
    }
}

/// The first values of the vector of `TEXTS[3]`, computed in f64 by transformers 5.23. That library does not have
/// Jina's networks: their values come from a PyTorch program that was written for this test from their description.
fn golden() -> [(Tiny, [f32; 6]); 13] {
    [
        (Tiny::new("qwen3", 128, 4), [0.0169193, 0.1295925, -0.0042824, 0.0277355, -0.1018503, 0.0438657]),
        (Tiny::new("gemma3_text", 96, 6), [0.0952852, 0.0502434, -0.0839334, -0.0559156, -0.1824922, 0.0612552]),
        (Tiny::new("bert", 128, 2), [0.1274136, -0.0724429, 0.0976834, 0.0857933, 0.0726926, -0.1002641]),
        (Tiny::new("distilbert", 128, 2), [0.065743, 0.0063177, 0.1179845, -0.0383234, -0.0767317, -0.0882674]),
        (Tiny::new("roberta", 128, 2), [0.1324015, -0.0720129, 0.0961485, 0.0902469, 0.0690011, -0.0999358]),
        (Tiny::new("xlm-roberta", 312, 12), [-0.0424295, 0.0548092, -0.0273142, 0.0041231, -0.0596859, 0.0035802]),
        (Tiny::new("modernbert", 128, 2), [-0.021511, 0.0555177, 0.0196158, 0.114096, -0.1655005, 0.0702009]),
        (Tiny::new("modernbert", 48, 3), [-0.0788594, -0.0092115, 0.0939493, -0.3623583, 0.2751156, 0.0781823]),
        (Tiny::new("mpnet", 128, 2), [0.0713038, 0.0021784, 0.1184033, -0.0325247, -0.0795462, -0.0870169]),
        (Tiny::new("mpnet", 48, 3), [-0.04963, 0.0441704, -0.2009703, -0.1681446, -0.028405, 0.0963876]),
        (Tiny::new("nomic_bert", 128, 2), [0.1422233, 0.0450218, 0.2015997, -0.0731924, -0.0207615, 0.1499426]),
        (Tiny::new("jina", 128, 2), [0.0654848, -0.0427479, 0.1612298, -0.0049304, -0.0108515, 0.0799549]),
        (Tiny::new("jina", 48, 3), [0.1079177, 0.266979, 0.3012195, 0.0100559, 0.0184172, 0.1499049]),
    ]
}

/// Number of words in a text that is longer than the block of queries that candle's decoders read together.
const LONG: usize = 1200;

/// The same for a text of [`LONG`] words.
#[test]
fn decoders_read_long_texts_as_their_authors_do() {
    let golden: [(Tiny, [f32; 6]); 2] = [
        (Tiny::new("qwen3", 128, 4), [-0.0184862, 0.2072677, 0.0841017, -0.0394775, -0.0210411, -0.0085229]),
        (Tiny::new("gemma3_text", 96, 6), [0.059461, 0.0508966, -0.1077604, -0.021561, -0.1444963, 0.0468206]),
    ];
    for (tiny, golden) in golden {
        let folder = written(Tiny { max_tokens: 1300, ..tiny });
        let embedder = open(folder.path(), Engine::Candle);
        let ids = embedder.encode(&long(LONG), Role::Document).unwrap().ids;
        let vector = embedder.embed_ids(&[&ids]).unwrap();
        for (index, (x, y)) in vector.iter().zip(golden).enumerate() {
            assert!((x - y).abs() < 2e-6, "{tiny:?}: value {index} is {x}, not {y}");
        }
    }
}

/// Writes the models for `tests/golden/families.py`.
#[test]
#[ignore = "writes files for a person"]
fn writes_the_models_of_the_golden_vectors() {
    let Some(root) = std::env::var_os("CHUNKMILL_TINY") else { panic!("set CHUNKMILL_TINY to a folder") };
    let root = Path::new(&root);
    for tiny in golden().map(|(tiny, _)| tiny) {
        let folder = root.join(format!("{}-{}-{}", tiny.family, tiny.hidden, tiny.max_tokens));
        tiny.write(&folder);
        let texts = if tiny.is_decoder() { json!([TEXTS[3], long(LONG)]) } else { json!([TEXTS[3]]) };
        std::fs::write(folder.join("texts.json"), texts.to_string()).unwrap();
    }
}

#[test]
fn padding_named_in_a_text_is_not_counted_where_positions_start_behind_it() {
    let embed =
        |tiny: Tiny, backend: Backend, ids: &[u32]| open(written(tiny).path(), backend).embed_ids(&[ids]).unwrap();
    for family in ["bert", "roberta"] {
        let tiny = Tiny::new(family, 48, 3);
        let ids = [0, 4, 1, 5, 6, 1, 7, 2];
        let candle = embed(tiny, Engine::Candle.into(), &ids);
        assert!(farthest(&[candle], &[embed(tiny, in_floats(Isa::best()), &ids)]) < 1e-5, "{family}");
    }
}

#[test]
fn a_token_without_a_vector_is_an_error() {
    let folder = written(Tiny::new("bert", 48, 3));
    reconfigure(folder.path(), |config| config["vocab_size"] = json!(10));
    retensor(folder.path(), |tensors| {
        let words = tensors.get_mut("embeddings.word_embeddings.weight").unwrap();
        *words = words.narrow(0, 0, 10).unwrap().contiguous().unwrap();
    });
    let precision = |precision| Backend { precision: PrecisionSetting::Fixed(precision), ..Engine::Cpu.into() };
    for backend in [Engine::Candle.into(), precision(Precision::F32), precision(Precision::Int8)] {
        let embedder = open(folder.path(), backend);
        let known = embedder.encode("the cat", Role::Document).unwrap().ids;
        assert!(embedder.embed_ids(&[&known]).is_ok());
        let unknown = embedder.encode("the mat .", Role::Document).unwrap().ids;
        assert!(embedder.embed_ids(&[&unknown]).is_err(), "{backend:?}");
    }
}

#[test]
fn names_of_tensors_may_have_a_prefix() {
    for (family, prefix) in [
        ("bert", "bert."),
        ("distilbert", "distilbert."),
        ("roberta", "roberta."),
        ("xlm-roberta", "roberta."),
        ("camembert", "roberta."),
        ("modernbert", "model."),
        ("nomic_bert", "bert."),
        ("jina", "bert."),
        ("mpnet", "mpnet."),
        ("qwen3", "model."),
        ("gemma3_text", "model."),
    ] {
        let tiny = Tiny::new(family, 48, 3);
        for &engine in engines(tiny) {
            assert!(vectors(tiny, engine) == vectors(Tiny { prefix, ..tiny }, engine), "{family} through {engine}");
        }
    }
}

/// Changes the tensors of a written model.
fn retensor(folder: &Path, change: impl FnOnce(&mut HashMap<String, Tensor>)) {
    let path = folder.join("model.safetensors");
    let mut tensors = candle_core::safetensors::load(&path, &Device::Cpu).unwrap();
    change(&mut tensors);
    candle_core::safetensors::save(&tensors, path).unwrap();
}

/// A change of a configuration.
type Edit = fn(&mut Value);

/// Changes the configuration of a written model.
fn reconfigure(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join("config.json");
    let mut config = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut config);
    std::fs::write(path, config.to_string()).unwrap();
}

fn refusal(folder: &Path, engine: Engine) -> String {
    match load(engine, &ModelRef::Folder(folder.to_owned())) {
        Ok(_) => "it was not refused".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn old_names_of_norms_are_known() {
    let tiny = Tiny::new("bert", 48, 3);
    for engine in [Engine::Candle, Engine::Cpu] {
        let folder = written(tiny);
        let new = alone(open(folder.path(), engine).as_ref());
        retensor(folder.path(), |tensors| {
            let renamed = tensors.drain().map(|(name, tensor)| {
                let name =
                    name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
                (name, tensor)
            });
            *tensors = renamed.collect();
        });
        assert!(alone(open(folder.path(), engine).as_ref()) == new, "{engine}");
    }
}

#[test]
fn roberta_reads_as_many_tokens_as_it_has_positions_behind_the_padding() {
    for family in ["roberta", "bert"] {
        let folder = written(Tiny { max_tokens: 100, ..Tiny::new(family, 48, 3) });
        for engine in [Engine::Candle, Engine::Cpu] {
            let embedder = open(folder.path(), engine);
            let long = "the cat ".repeat(100);
            let ids = embedder.encode(&long, Role::Document).unwrap().ids;
            assert_eq!(ids.len(), if family == "roberta" { 62 } else { 64 });
            assert!(embedder.embed_ids(&[&ids]).is_ok(), "{family} through {engine}");
        }
    }
}

#[test]
fn newer_files_of_modernbert_say_the_same_in_other_words() {
    let tiny = Tiny::new("modernbert", 48, 3);
    let folder = written(tiny);
    let engines = [Engine::Candle, Engine::Cpu];
    let before = engines.map(|engine| alone(open(folder.path(), engine).as_ref()));
    reconfigure(folder.path(), |config| {
        let fields = config.as_object_mut().unwrap();
        for gone in ["global_attn_every_n_layers", "global_rope_theta", "local_rope_theta"] {
            fields.remove(gone).unwrap();
        }
        fields.insert("layer_types".to_owned(), json!(["full_attention", "sliding_attention", "full_attention"]));
        let rotations = json!({
            "full_attention": {"rope_type": "default", "rope_theta": 16000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0},
        });
        fields.insert("rope_parameters".to_owned(), rotations);
    });
    for (engine, before) in engines.into_iter().zip(before) {
        assert!(alone(open(folder.path(), engine).as_ref()) == before, "{engine}");
    }
    let refused = |engine, change: Edit| {
        let folder = written(tiny);
        reconfigure(folder.path(), change);
        refusal(folder.path(), engine)
    };
    let kinds: Edit = |c| c["layer_types"] = json!(["full_attention", "full_attention", "sliding_attention"]);
    let kinds = refused(Engine::Candle, kinds);
    assert!(kinds.contains("`layer_types` does not follow a repeating pattern"), "{kinds}");
    let unknown: Edit = |c| c["layer_types"] = json!(["full_attention", "linear_attention", "full_attention"]);
    let few: Edit = |c| c["layer_types"] = json!(["full_attention"]);
    for (change, reason) in [(unknown, "layers of type \"linear_attention\""), (few, "not one for each layer")] {
        let refused = refused(Engine::Cpu, change);
        assert!(refused.contains(reason), "{refused}");
    }
    for engine in engines {
        let scaled: Edit = |c| c["rope_parameters"] = json!({"full_attention": {"rope_type": "yarn"}});
        let scaled = refused(engine, scaled);
        assert!(scaled.contains("`rope_type` is \"yarn\""), "{scaled}");
    }
}

#[test]
fn decoders_say_the_same_in_other_words() {
    let cases: [(Tiny, Edit); 3] = [
        (Tiny::new("qwen3", 64, 4), |config| {
            config.as_object_mut().unwrap().remove("rope_theta").unwrap();
            config["rope_parameters"] = json!({"rope_type": "default", "rope_theta": 1000.0});
            config["layer_types"] = json!(["full_attention", "full_attention", "full_attention"]);
        }),
        (Tiny::new("gemma3_text", 64, 4), |config| {
            let fields = config.as_object_mut().unwrap();
            for gone in ["rope_theta", "rope_local_base_freq"] {
                fields.remove(gone).unwrap();
            }
            config["rope_parameters"] = json!({
                "full_attention": {"rope_type": "default", "rope_theta": 16000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0},
            });
        }),
        (Tiny::new("gemma3_text", 64, 4), |config| {
            config.as_object_mut().unwrap().remove("layer_types").unwrap();
            config["_sliding_window_pattern"] = json!(2);
        }),
    ];
    for (tiny, newer) in cases {
        let folder = written(tiny);
        let before = alone(open(folder.path(), Engine::Candle).as_ref());
        reconfigure(folder.path(), newer);
        assert!(alone(open(folder.path(), Engine::Candle).as_ref()) == before, "{tiny:?}");
    }
}

#[test]
fn what_our_encoder_does_not_compute_goes_through_candle_and_is_named() {
    let wide = written(Tiny::new("bert", 544, 2));
    assert!(refusal(wide.path(), Engine::Cpu).contains("its heads are 272 wide"));
    assert_eq!(open(wide.path(), Engine::Auto).info().engine, Engine::Candle);
    for tiny in runs_on_candle() {
        let folder = written(tiny);
        assert!(refusal(folder.path(), Engine::Cpu).contains(tiny.family), "{tiny:?}");
        assert_eq!(open(folder.path(), Engine::Auto).info().engine, Engine::Candle, "{tiny:?}");
    }
    let widest = written(Tiny { layers: 1, ..Tiny::new("bert", 512, 2) });
    let (ours, candle) = (
        alone(open(widest.path(), in_floats(Isa::best())).as_ref()),
        alone(open(widest.path(), Engine::Candle).as_ref()),
    );
    assert!(farthest(&ours, &candle) < 1e-5, "heads of 256");
}

#[test]
fn activations_are_those_that_config_json_names() {
    let cases: [(&str, &str, &[&str]); 3] = [
        ("bert", "hidden_act", &["gelu", "gelu_new", "relu"]),
        ("roberta", "hidden_act", &["gelu", "gelu_new", "relu", "silu"]),
        ("distilbert", "activation", &["gelu", "gelu_pytorch_tanh", "relu"]),
    ];
    for (family, field, names) in cases {
        let mut seen: Vec<Vec<Vec<f32>>> = Vec::new();
        for &name in names {
            let folder = written(Tiny::new(family, 128, 2));
            reconfigure(folder.path(), |config| config[field] = json!(name));
            let candle = alone(open(folder.path(), Engine::Candle).as_ref());
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                let ours = alone(open(folder.path(), in_floats(isa)).as_ref());
                let far = farthest(&candle, &ours);
                assert!(far < 1e-5, "{family} with {name} and {isa}: {far}");
            }
            assert!(seen.iter().all(|other| farthest(other, &candle) > 1e-6), "{family}: {name} is another one");
            seen.push(candle);
        }
    }
}

/// Returns a text of this many words.
fn long(words: usize) -> String {
    TEXTS[3].split(' ').cycle().take(words).collect::<Vec<_>>().join(" ")
}

/// These texts are longer than the block of keys that are read together, and than the queries that share a window.
#[test]
fn long_texts_too() {
    for family in ["bert", "modernbert", "nomic_bert", "jina"] {
        let tiny = Tiny { max_tokens: 2500, layers: 2, ..Tiny::new(family, 128, 4) };
        let folder = written(tiny);
        let candle = open(folder.path(), Engine::Candle);
        let ids = [3000, 1500].map(|words| candle.encode(&long(words), Role::Document).unwrap().ids);
        assert_eq!(ids.each_ref().map(Vec::len), [2500, 1558]);
        let theirs = ids.each_ref().map(|ids| candle.embed_ids(&[ids]).unwrap());
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let ours = open(folder.path(), in_floats(isa));
            let ours = ids.each_ref().map(|ids| ours.embed_ids(&[ids]).unwrap());
            let far = farthest(&theirs, &ours);
            assert!(far < 1e-5, "{family} with {isa}: {far}");
        }
    }
}

#[test]
fn fewer_bits_change_little_in_every_family() {
    for tiny in runs_on_cpu() {
        let folder = written(tiny);
        let floats = alone(open(folder.path(), in_floats(Isa::best())).as_ref());
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            let exact = !matches!(isa, Isa::Avx2 | Isa::Avx512);
            for (precision, least) in [(Precision::Bf16, 0.999), (Precision::Int8, if exact { 0.999 } else { 0.998 })] {
                let backend = Backend { precision: PrecisionSetting::Fixed(precision), ..in_floats(isa) };
                let embedder = open(folder.path(), backend);
                let fewer = alone(embedder.as_ref());
                for ((floats, fewer), text) in floats.iter().zip(&fewer).zip(TEXTS) {
                    let cosine = cosine(floats, fewer);
                    assert!(cosine >= least, "{tiny:?} in {precision} with {isa}: {cosine} for {text:?}");
                }
                let ids = ids(embedder.as_ref());
                let batch: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
                assert_eq!(embedder.embed_ids(&batch).unwrap(), fewer.concat(), "{tiny:?} in {precision} with {isa}");
            }
        }
    }
}

#[test]
fn a_configuration_that_nothing_computes_is_refused() {
    let cases: [(&str, Edit, &str); 24] = [
        ("qwen3", |c| c["attention_bias"] = json!(true), "`attention_bias` is true"),
        ("qwen3", |c| c["use_sliding_window"] = json!(true), "`use_sliding_window` is true"),
        ("qwen3", |c| c["num_key_value_heads"] = json!(4), "6 query heads cannot share 4 key heads"),
        ("qwen3", |c| c["head_dim"] = json!(31), "do not support heads of width 31"),
        ("qwen3", |c| c["num_hidden_layers"] = json!(u32::MAX), "layers are not from 1 to"),
        ("gemma3_text", |c| c["attn_logit_softcapping"] = json!(50.0), "`attn_logit_softcapping` is 50"),
        ("gemma3_text", |c| c["layer_types"] = json!(["full_attention"]), "does not list 3 layers"),
        ("gemma3_text", |c| c["rms_norm_eps"] = Value::Null, "`rms_norm_eps` is missing"),
        ("bert", |c| c["model_type"] = json!("electra"), "`electra` are not supported"),
        ("bert", |c| c["is_decoder"] = json!(true), "`is_decoder` is true"),
        ("bert", |c| c["add_cross_attention"] = json!(true), "`add_cross_attention` is true"),
        (
            "bert",
            |c| c["position_embedding_type"] = json!("relative_key"),
            "`position_embedding_type` is \"relative_key\"",
        ),
        (
            "xlm-roberta",
            |c| c["position_embedding_type"] = json!("relative_key"),
            "\"relative_key\", which is not supp",
        ),
        ("bert", |c| c["hidden_act"] = json!("softplus"), "softplus"),
        ("bert", |c| c["num_attention_heads"] = json!(0), "cannot be divided into 0 heads"),
        ("bert", |c| c["num_attention_heads"] = json!(5), "a width of 48 cannot be divided into 5 heads"),
        ("bert", |c| c["hidden_size"] = json!(-1), "config.json"),
        ("distilbert", |c| c["n_heads"] = json!(7), "7 heads"),
        ("modernbert", |c| c["hidden_activation"] = json!("tanh"), "`hidden_activation` is \"tanh\""),
        ("modernbert", |c| c["global_attn_every_n_layers"] = json!(0), "`global_attn_every_n_layers` is 0"),
        ("nomic_bert", |c| c["activation_function"] = json!("gelu"), "`activation_function` is \"gelu\""),
        ("nomic_bert", |c| c["n_embd"] = Value::Null, "`n_embd` is missing"),
        ("nomic_bert", |c| c["rotary_emb_fraction"] = json!(0.5), "`rotary_emb_fraction` is 0.5"),
        ("jina", |c| c["feed_forward_type"] = json!("reglu"), "`feed_forward_type` is \"reglu\""),
    ];
    for (family, change, reason) in cases {
        let folder = written(Tiny::new(family, 48, if family == "qwen3" { 6 } else { 3 }));
        reconfigure(folder.path(), change);
        for engine in [Engine::Candle, Engine::Auto] {
            let refused = refusal(folder.path(), engine);
            assert!(refused.contains(reason), "{family} through {engine}: {refused}");
        }
        refusal(folder.path(), Engine::Cpu);
    }
}

#[test]
fn tensors_that_do_not_fit_the_configuration_are_refused() {
    type Change = fn(&mut HashMap<String, Tensor>, &str, Tensor);
    let zeros = |shape: &[usize]| Tensor::zeros(shape, candle_core::DType::F32, &Device::Cpu).unwrap();
    let mut missing = 0;
    for family in ["bert", "distilbert", "roberta", "modernbert", "nomic_bert", "jina", "mpnet", "qwen3", "gemma3_text"]
    {
        let tiny = Tiny { layers: 2, ..Tiny::new(family, 48, 3) };
        let folder = written(tiny);
        let all = candle_core::safetensors::load(folder.path().join("model.safetensors"), &Device::Cpu).unwrap();
        for name in all.keys().filter(|name| !name.starts_with("pooler")) {
            for (change, reason) in [
                ((|tensors, name, _| drop(tensors.remove(name))) as Change, "there is no tensor `"),
                (|tensors, name, other| drop(tensors.insert(name.to_owned(), other)), "but config.json says"),
            ] {
                let folder = written(tiny);
                retensor(folder.path(), |tensors| change(tensors, name, zeros(&[7])));
                for &engine in engines(tiny) {
                    let refused = refusal(folder.path(), engine);
                    assert!(refused.contains(reason), "{family} without `{name}` through {engine}: {refused}");
                    missing += 1;
                }
            }
        }
    }
    assert!(missing > 300, "{missing}");
    for (family, name) in [
        ("mpnet", "encoder.layer.3.output.dense.weight"),
        ("bert", "encoder.layer.1.attention.self.distance_embedding.weight"),
        ("bert", "encoder.layer.3.output.dense.weight"),
        ("modernbert", "layers.0.attn.Wqkv.bias"),
        ("nomic_bert", "encoder.layers.0.attn.Wqkv.bias"),
        ("jina", "encoder.layer.0.attention.self.layer_norm_q.weight"),
        ("qwen3", "layers.0.self_attn.q_proj.bias"),
        ("gemma3_text", "layers.3.mlp.up_proj.weight"),
    ] {
        let tiny = Tiny::new(family, 48, 3);
        let folder = written(tiny);
        retensor(folder.path(), |tensors| drop(tensors.insert(name.to_owned(), zeros(&[48]))));
        for &engine in engines(tiny) {
            let refused = refusal(folder.path(), engine);
            let says = refused.contains(name) && refused.contains("a network of another kind");
            assert!(says, "{family} through {engine}: {refused}");
        }
    }
}

#[test]
fn a_promise_of_more_layers_or_positions_than_there_are_is_refused() {
    for (key, value) in [
        ("num_hidden_layers", json!(u64::MAX)),
        ("max_position_embeddings", json!(u64::MAX)),
        ("vocab_size", json!(u64::MAX)),
    ] {
        let folder = written(Tiny::new("roberta", 48, 3));
        reconfigure(folder.path(), |config| config[key] = value.clone());
        for engine in [Engine::Candle, Engine::Cpu] {
            let refused = refusal(folder.path(), engine);
            let says = refused.contains("tensor `") || refused.contains("layers are not from 1 to");
            assert!(says, "{key} through {engine}: {refused}");
        }
    }
}
