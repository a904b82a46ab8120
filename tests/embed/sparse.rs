//! Sparse models: networks that give a text a weight for each token of a vocabulary.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{
    Backend, Isa, Precision, PrecisionSetting, SparseEmbedder, SparseModel, SparseVector, load_sparse,
    load_sparse_queries,
};
use serde_json::json;
use tempfile::TempDir;

use crate::common::write;
use crate::tiny::{SparseQueries, Tiny};

const QUESTION: &str = "the cat sat on the mat";
const DOCUMENTS: [&str; 3] = [
    "a dog ran.",
    "cats, dogs and mats and the cat, the dog, the mat, the cat and a dog and a mat and the cats and the dogs sat on the mat.",
    "",
];

const MAX: [&str; 2] = ["max", "relu"];
const SUM: [&str; 2] = ["sum", "log1p_relu"];

/// Poolings, and how questions are read.
const KINDS: [([&str; 2], SparseQueries); 2] = [(MAX, SparseQueries::Network), (SUM, SparseQueries::Table)];

fn open(folder: &Path, backend: Backend) -> Result<Box<dyn SparseEmbedder>, String> {
    load_sparse(backend, &ModelRef::Folder(folder.to_owned())).map_err(|error| error.to_string())
}

fn written(tiny: Tiny, pooling: [&str; 2], queries: SparseQueries) -> TempDir {
    let folder = TempDir::new().unwrap();
    tiny.write_sparse(folder.path(), pooling, queries);
    folder
}

/// Returns the name of a folder.
fn name(tiny: Tiny, pooling: [&str; 2]) -> String {
    format!("{}-{}-{}", tiny.family, tiny.hidden, pooling[0])
}

fn within(isa: Isa, precision: Precision) -> Backend {
    Backend { isa: Some(isa), precision: PrecisionSetting::Fixed(precision), ..Backend::default() }
}

fn embed(model: &dyn SparseEmbedder, texts: &[&str]) -> Vec<SparseVector> {
    let ids: Vec<Vec<u32>> = texts.iter().map(|text| model.encode(text).unwrap().ids).collect();
    model.embed(&ids.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
}

/// The vectors of sentence-transformers 6.2 (`golden/sparse.py`): by folder, those of the documents, and of the question.
fn golden() -> BTreeMap<String, Vec<SparseVector>> {
    let mut all: BTreeMap<String, Vec<SparseVector>> = BTreeMap::new();
    let mut folder = String::new();
    for line in include_str!("../golden/sparse.txt").lines() {
        let Some(vector) = line.strip_prefix("  ") else {
            line.clone_into(&mut folder);
            continue;
        };
        let weights = vector.split(' ').skip(1).map(|pair| {
            let (token, weight) = pair.split_once(':').unwrap();
            (token.parse().unwrap(), weight.parse().unwrap())
        });
        all.entry(folder.clone()).or_default().push(SparseVector::rounded(weights));
    }
    all
}

/// Fails if two vectors do not have the same tokens with the same weights, to half precision.
fn assert_same(ours: &SparseVector, golden: &SparseVector, what: &str) {
    let tokens = |of: &SparseVector| of.weights().iter().map(|(token, _)| *token).collect::<Vec<_>>();
    assert_eq!(tokens(ours), tokens(golden), "{what}");
    for ((token, x), (_, y)) in ours.weights().iter().zip(golden.weights()) {
        assert!((x - y).abs() <= y.abs() * 1e-3 + 1e-5, "{what}: token {token} has {x}, not {y}");
    }
}

#[test]
fn vectors_are_those_of_sentence_transformers_with_every_instruction_set() {
    let golden = golden();
    assert_eq!(golden.len(), 2 * families().len());
    for tiny in families() {
        for (pooling, queries) in KINDS {
            let folder = written(tiny, pooling, queries);
            let golden = &golden[&name(tiny, pooling)];
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                let model = open(folder.path(), within(isa, Precision::F32)).unwrap();
                let what = format!("{tiny:?}, {pooling:?}, {isa}");
                let ours = embed(model.as_ref(), &DOCUMENTS);
                ours.iter().zip(golden).for_each(|(ours, golden)| assert_same(ours, golden, &what));
                assert_same(&model.query(QUESTION).unwrap(), &golden[DOCUMENTS.len()], &what);
            }
        }
    }
}

#[test]
fn a_vector_depends_on_its_text_alone_and_little_on_the_precision() {
    for (pooling, queries) in KINDS {
        let folder = written(Tiny::new("bert", 128, 2), pooling, queries);
        let model = open(folder.path(), within(Isa::best(), Precision::F32)).unwrap();
        let together = embed(model.as_ref(), &DOCUMENTS);
        for (text, vector) in DOCUMENTS.iter().zip(&together) {
            assert_eq!(embed(model.as_ref(), &[text]), std::slice::from_ref(vector));
        }
        for precision in [Precision::Bf16, Precision::Int8] {
            let coarse = open(folder.path(), within(Isa::best(), precision)).unwrap();
            for (coarse, exact) in embed(coarse.as_ref(), &DOCUMENTS).iter().zip(&together) {
                let cosine = dot(coarse, exact) / (dot(coarse, coarse) * dot(exact, exact)).sqrt();
                assert!(cosine > 0.99, "{precision}: {cosine}");
            }
        }
    }
}

fn dot(a: &SparseVector, b: &SparseVector) -> f64 {
    let other: HashMap<u32, f32> = b.weights().iter().copied().collect();
    a.weights().iter().map(|(token, x)| f64::from(*x) * f64::from(*other.get(token).unwrap_or(&0.0))).sum()
}

#[test]
fn questions_have_weights_of_their_own_in_a_tensor_or_in_a_file_by_token() {
    let tiny = Tiny::new("bert", 48, 3);
    let query = |queries, text| {
        let folder = written(tiny, MAX, queries);
        open(folder.path(), Backend::default()).unwrap().query(text).unwrap()
    };
    // A token counts once, however often it is there; special tokens and those without a weight do not count.
    let expected = SparseVector::rounded([(6, 0.75), (12, 1.5)]);
    for queries in [SparseQueries::Table, SparseQueries::Words] {
        assert_eq!(query(queries, "cat mat cat xyz"), expected, "{queries:?}");
        assert!(query(queries, "").weights().is_empty());
    }
    assert!(query(SparseQueries::Network, "cat mat cat xyz").weights().len() > 2);
}

#[test]
fn a_network_without_a_list_of_modules_is_pooled_by_its_maximum() {
    let tiny = Tiny::new("distilbert", 128, 2);
    let folder = written(tiny, MAX, SparseQueries::Network);
    let listed = embed(open(folder.path(), Backend::default()).unwrap().as_ref(), &DOCUMENTS);
    std::fs::remove_file(folder.path().join("modules.json")).unwrap();
    assert_eq!(embed(open(folder.path(), Backend::default()).unwrap().as_ref(), &DOCUMENTS), listed);
}

#[test]
fn only_the_largest_weights_are_kept_if_the_model_says_so() {
    let folder = written(Tiny::new("bert", 48, 3), MAX, SparseQueries::Table);
    let whole = embed(open(folder.path(), Backend::default()).unwrap().as_ref(), &DOCUMENTS);
    let about = json!({"model_type": "SparseEncoder", "max_active_dims": 4});
    write(folder.path(), "config_sentence_transformers.json", about.to_string().as_bytes());
    let model = open(folder.path(), Backend::default()).unwrap();
    for (kept, whole) in embed(model.as_ref(), &DOCUMENTS).iter().zip(&whole) {
        let mut weights: Vec<f32> = whole.weights().iter().map(|(_, weight)| *weight).collect();
        weights.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(kept.weights().len(), 4);
        assert!(kept.weights().iter().all(|pair| pair.1 >= weights[3] && whole.weights().contains(pair)));
    }
    assert_eq!(model.query("the a cat dog sat on mat").unwrap().weights().len(), 4);
}

#[test]
fn a_folder_that_is_no_sparse_model_is_refused_in_words() {
    let tiny = Tiny::new("bert", 48, 3);
    let dense = TempDir::new().unwrap();
    tiny.write(dense.path());
    let refused = |folder: &Path| open(folder, Backend::default()).err().unwrap();
    let problem = refused(dense.path());
    assert!(problem.contains("sentence_transformers.models.Pooling") && problem.contains("SpladePooling"), "{problem}");
    // A network without a head.
    std::fs::remove_file(dense.path().join("modules.json")).unwrap();
    assert!(refused(dense.path()).contains("is the model a masked language model?"));

    let folder = written(tiny, MAX, SparseQueries::Table);
    let with = |name: &str, contents: serde_json::Value| {
        let before = std::fs::read(folder.path().join(name)).unwrap();
        write(folder.path(), name, contents.to_string().as_bytes());
        let problem = refused(folder.path());
        write(folder.path(), name, &before);
        problem
    };
    let pooling = |strategy: &str, activation: &str| {
        let name = "document_1_SpladePooling/config.json";
        with(name, json!({"pooling_strategy": strategy, "activation_function": activation}))
    };
    assert!(pooling("mean", "relu").contains("the pooling `mean`"));
    assert!(pooling("max", "gelu").contains("the activation `gelu`"));
    assert!(
        with("config_sentence_transformers.json", json!({"similarity_fn_name": "cosine"}))
            .contains("similarity `cosine`")
    );
    let table = "query_0_SparseStaticEmbedding";
    let outside = with(&format!("{table}/config.json"), json!({"path": "../../secret.json"}));
    assert!(outside.contains("is not a file inside the folder"), "{outside}");
    write(folder.path(), &format!("{table}/idf.json"), br#"{"cat": 1.0, "zebra": 2.0}"#);
    let unknown = with(&format!("{table}/config.json"), json!({"path": "idf.json"}));
    assert!(unknown.contains("`zebra`, which the tokenizer lacks"), "{unknown}");
}

#[test]
fn questions_alone_are_loaded_without_the_network_and_only_of_the_recorded_model() {
    let folder = written(Tiny::new("bert", 48, 3), MAX, SparseQueries::Table);
    let name = ModelRef::Folder(folder.path().to_owned());
    let whole = load_sparse(Backend::default(), &name).unwrap();
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let questions = load_sparse_queries(Backend::default(), &name, whole.info()).unwrap();
    assert_eq!(questions.query(QUESTION).unwrap(), whole.query(QUESTION).unwrap());
    assert!(questions.embed(&[&[2, 3]]).unwrap_err().to_string().contains("for questions only"));
    let table = folder.path().join("query_0_SparseStaticEmbedding/config.json");
    std::fs::write(table, br#"{"frozen": false}"#).unwrap();
    let problem = load_sparse_queries(Backend::default(), &name, whole.info()).err().unwrap().to_string();
    assert!(problem.contains("is not the sparse model of the dataset"), "{problem}");

    // A model whose network reads questions has to be the same one too.
    let network = written(Tiny::new("bert", 48, 3), MAX, SparseQueries::Network);
    let name = ModelRef::Folder(network.path().to_owned());
    let recorded = load_sparse(Backend::default(), &name).unwrap().info().clone();
    assert!(load_sparse_queries(Backend::default(), &name, &recorded).is_ok());
    let other = SparseModel { fingerprint: "0123456789abcdef".to_owned(), ..recorded };
    let problem = load_sparse_queries(Backend::default(), &name, &other).err().unwrap().to_string();
    assert!(problem.contains("is not the sparse model of the dataset"), "{problem}");
}

#[test]
fn damaged_weights_are_noticed_with_each_pooling() {
    for (pooling, queries) in KINDS {
        let folder = written(Tiny::new("bert", 48, 3), pooling, queries);
        let path = folder.path().join("model.safetensors");
        let mut tensors = candle_core::safetensors::load(&path, &candle_core::Device::Cpu).unwrap();
        let bias = tensors["cls.predictions.bias"].to_vec1::<f32>().unwrap();
        let bias: Vec<f32> = bias.iter().enumerate().map(|(at, x)| if at == 3 { f32::NAN } else { *x }).collect();
        let bias = candle_core::Tensor::new(bias, &candle_core::Device::Cpu).unwrap();
        tensors.insert("cls.predictions.bias".to_owned(), bias);
        candle_core::safetensors::save(&tensors, &path).unwrap();
        let model = open(folder.path(), Backend::default()).unwrap();
        let ids = model.encode("the cat").unwrap().ids;
        let problem = model.embed(&[&ids]).unwrap_err().to_string();
        assert!(problem.contains("not finite"), "{pooling:?}: {problem}");
        // And a head that lacks a part is none.
        tensors.remove("cls.predictions.transform.dense.bias");
        candle_core::safetensors::save(&tensors, &path).unwrap();
        let problem = open(folder.path(), Backend::default()).err().unwrap();
        assert!(problem.contains("no tensor `cls.predictions.transform.dense.bias`"), "{problem}");
    }
}

#[test]
fn a_text_without_tokens_has_no_weights() {
    let folder = written(Tiny::new("bert", 48, 3), MAX, SparseQueries::Network);
    let model = open(folder.path(), Backend::default()).unwrap();
    let ids = model.encode("the cat").unwrap().ids;
    let alone = model.embed(&[&ids]).unwrap().pop().unwrap();
    assert_eq!(model.embed(&[&[], &ids, &[]]).unwrap(), [SparseVector::default(), alone, SparseVector::default()]);
}

/// Writes the models for `tests/golden/sparse.py`.
#[test]
#[ignore = "writes files for a person"]
fn writes_the_sparse_models_of_the_golden_vectors() {
    let Some(root) = std::env::var_os("CHUNKMILL_TINY") else { panic!("set CHUNKMILL_TINY to a folder") };
    let root = Path::new(&root);
    for tiny in families() {
        for (pooling, queries) in KINDS {
            tiny.write_sparse(&root.join(name(tiny, pooling)), pooling, queries);
        }
    }
    std::fs::write(root.join("texts.json"), json!([QUESTION, DOCUMENTS]).to_string()).unwrap();
}

fn families() -> [Tiny; 7] {
    [
        Tiny::new("bert", 128, 2),
        Tiny::new("bert", 48, 3),
        Tiny::new("roberta", 128, 2),
        Tiny::new("xlm-roberta", 312, 12),
        Tiny::new("distilbert", 128, 2),
        Tiny::new("modernbert", 48, 3),
        Tiny::new("mpnet", 128, 2),
    ]
}
