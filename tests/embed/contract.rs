//! The contract of an embedder, checked for each of them; batches; and the vectors of sentence-transformers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use chunkmill::embed::batch::Batcher;
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{
    Backend, Batching, Embedder, Engine, Isa, ModelInput, Parallel, Precision, PrecisionSetting, Role, load,
};
use chunkmill::error::Error;
use tempfile::TempDir;

use crate::common::{default_model, note, tiny_model};

/// How much two vectors of the same text may differ.
struct Tolerance {
    /// The largest difference of any value between a text alone and in a batch.
    in_batch: f32,
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let encoded: Vec<_> = texts.iter().map(|text| embedder.encode(text, Role::Document).unwrap()).collect();
    let ids: Vec<&[u32]> = encoded.iter().map(|text| text.ids.as_slice()).collect();
    embedder.embed_ids(&ids).unwrap().chunks(embedder.info().dim).map(<[f32]>::to_vec).collect()
}

/// Checks the promises of every embedder.
fn contract(embedder: &dyn Embedder, tolerance: &Tolerance) {
    let long = "the cat sat on the mat . ".repeat(200);
    let texts =
        ["", "the cat sat", "a dog ran and a cat sat on the mat", "日本語 🚲 \u{301}", &long, "the cat sat", "\0"];
    let info = embedder.info();
    let together = embed(embedder, &texts);
    assert_eq!(together.len(), texts.len());
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(vector.len(), info.dim);
        assert!(vector.iter().all(|value| value.is_finite()), "{text:?}");
        if info.normalize {
            assert!((cosine(vector, vector) - 1.0).abs() < 1e-9);
            let norm = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
            assert!((norm - 1.0).abs() < 1e-5, "{text:?}: {norm}");
        }
        let alone = &embed(embedder, &[text])[0];
        for (x, y) in alone.iter().zip(vector) {
            assert!((x - y).abs() <= tolerance.in_batch, "{text:?}: {x} alone, {y} in a batch");
        }
    }
    assert_eq!(together[1], together[5], "equal texts");
    assert!(cosine(&together[1], &together[2]) < 0.9999, "different texts differ");

    let encoded = embedder.encode(&long, Role::Document).unwrap();
    assert_eq!(encoded.ids.len(), info.max_tokens, "cut to what the model reads");
    assert!(encoded.n_tokens > info.max_tokens, "and the cut is reported");
    assert!(!embedder.encode("", Role::Document).unwrap().ids.is_empty());
    assert!(embedder.embed_ids(&[]).unwrap().is_empty());
}

fn tiny() -> (TempDir, Box<dyn Embedder>) {
    let folder = TempDir::new().unwrap();
    tiny_model(folder.path());
    let embedder = load(Engine::Candle, &ModelRef::Folder(folder.path().to_owned())).unwrap();
    (folder, embedder)
}

/// An embedder without a tokenizer, as a service is. It notes the texts of each batch.
struct Service(Box<dyn Embedder>, std::sync::Mutex<Vec<Vec<(String, Role)>>>);

impl Embedder for Service {
    fn info(&self) -> &chunkmill::embed::ModelInfo {
        self.0.info()
    }
    fn encode(&self, text: &str, _: Role) -> chunkmill::error::Result<chunkmill::embed::EncodedText> {
        Ok(chunkmill::embed::EncodedText { ids: Vec::new(), n_tokens: text.len(), cut: None })
    }
    fn embed(&self, batch: &[ModelInput<'_>]) -> chunkmill::error::Result<Vec<f32>> {
        self.1.lock().unwrap().push(batch.iter().map(|input| (input.text.to_owned(), input.role)).collect());
        let ids: Vec<Vec<u32>> = batch.iter().map(|input| vec![input.text.len() as u32, input.role as u32]).collect();
        self.0.embed_ids(&ids.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
    fn counter(&self) -> &dyn chunkmill::tokens::TokenCounter {
        self.0.counter()
    }
    fn batching(&self) -> Batching {
        Batching {
            reads: chunkmill::embed::Reads::Text,
            tokens: 10,
            texts: usize::MAX,
            mixed: true,
            padded: false,
            parallel: Parallel::One,
            remember: true,
        }
    }
}

#[test]
fn an_embedder_without_a_tokenizer_gets_each_text_once_in_batches_of_its_size() {
    let service = Service(load(Engine::Fake, &Default::default()).unwrap(), Default::default());
    let texts = ["four", "seven77", "four", "6666 6", ""].map(str::to_owned);
    let (stop, mut batcher) = (AtomicBool::new(false), chunkmill::embed::Batcher::new(&service, None));
    let made = batcher.embed(&texts, Role::Document, &stop, &|_, _| ()).unwrap();
    assert_eq!((made.computed, made.tokens_read, made.n_tokens), (4, 17, vec![4, 7, 4, 6, 0]));
    let dim = service.info().dim;
    assert_eq!(made.vectors[..dim], made.vectors[2 * dim..3 * dim], "equal texts have equal vectors");
    let text = |text: &str| (text.to_owned(), Role::Document);
    let batches = service.1.lock().unwrap().clone();
    assert_eq!(batches, [vec![text("seven77")], vec![text("6666 6"), text("four"), text("")]]);
    // Known texts are not sent again; the same text as a question is another one.
    batcher.embed(&texts, Role::Document, &stop, &|_, _| ()).unwrap();
    assert_eq!(service.1.lock().unwrap().len(), 2);
    let asked = batcher.embed(&["four".to_owned()], Role::Query, &stop, &|_, _| ()).unwrap();
    assert!(asked.computed == 1 && asked.vectors[..] != made.vectors[..dim]);
}

#[test]
fn the_fake_keeps_the_contract() {
    contract(load(Engine::Fake, &ModelRef::default()).unwrap().as_ref(), &Tolerance { in_batch: 0.0 });
}

/// Returns everything that can run a model here: candle, and our encoder with each instruction set and precision.
fn backends() -> impl Iterator<Item = Backend> {
    let isas = Isa::ALL.into_iter().filter(|isa| isa.is_available());
    let ours = isas.flat_map(|isa| {
        Precision::ON_CPU.map(|precision| Backend {
            engine: Engine::Cpu,
            precision: PrecisionSetting::Fixed(precision),
            isa: Some(isa),
            ..Backend::default()
        })
    });
    [Engine::Candle.into()].into_iter().chain(ours)
}

/// Returns a backend's tolerance. Our own encoder adds the same numbers in the same order in any batch, but candle's
/// products do not.
fn tolerance(backend: Backend) -> Tolerance {
    Tolerance { in_batch: if backend.engine == Engine::Candle { 1e-5 } else { 0.0 } }
}

#[test]
fn every_backend_keeps_the_contract_with_a_made_up_model() {
    let folder = TempDir::new().unwrap();
    tiny_model(folder.path());
    for backend in backends() {
        let embedder = load(backend, &ModelRef::Folder(folder.path().to_owned())).unwrap();
        contract(embedder.as_ref(), &tolerance(backend));
    }
}

#[test]
fn every_backend_keeps_the_contract_with_the_default_model() {
    let Some(model) = default_model() else { return };
    for backend in backends() {
        contract(load(backend, &model).unwrap().as_ref(), &tolerance(backend));
    }
}

#[test]
fn vectors_equal_those_of_sentence_transformers() {
    let Some(model) = default_model() else { return };
    let texts: Vec<String> =
        include_str!("../golden/texts.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let golden: Vec<f32> = include_bytes!("../golden/vectors.f32")
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    assert_eq!((texts.len(), golden.len()), (200, 200 * 384));
    let stop = AtomicBool::new(false);
    for backend in backends() {
        let embedder = load(backend, &model).unwrap();
        let precision = embedder.info().precision;
        // The processor's best instruction set gets all texts, and slower ones get a part of them.
        let step = match backend.isa {
            Some(isa) if isa == Isa::best() => 1,
            Some(Isa::Portable) => 10,
            _ => 4,
        };
        let texts: Vec<String> = texts.iter().step_by(step).cloned().collect();
        let golden = golden.chunks(384).step_by(step);
        let ours = Batcher::new(embedder.as_ref(), None).embed(&texts, Role::Document, &stop, &|_, _| ()).unwrap();
        let at_least = if precision == Precision::F32 { 0.9999 } else { 0.999 };
        let mut least = 1.0f64;
        for ((text, ours), golden) in texts.iter().zip(ours.vectors.chunks(384)).zip(golden) {
            let cosine = cosine(ours, golden);
            least = least.min(cosine);
            assert!(cosine >= at_least, "{backend:?}: {cosine} for {text:?}");
        }
        let isa = backend.isa.map(Isa::name).unwrap_or_default();
        let engine = embedder.info().engine;
        note(&format!(
            "{engine} {isa} {precision}: least cosine to sentence-transformers {least:.8} of {}",
            texts.len()
        ));
    }
}

#[test]
fn the_precision_is_part_of_what_identifies_a_model() {
    let folder = TempDir::new().unwrap();
    tiny_model(folder.path());
    let mut fingerprints = std::collections::HashSet::new();
    for precision in Precision::ON_CPU {
        let precision = PrecisionSetting::Fixed(precision);
        let backend = Backend { engine: Engine::Cpu, precision, ..Backend::default() };
        fingerprints
            .insert(load(backend, &ModelRef::Folder(folder.path().to_owned())).unwrap().info().fingerprint.clone());
    }
    assert_eq!(fingerprints.len(), Precision::ON_CPU.len());
    let reduced = Backend { precision: PrecisionSetting::Fixed(Precision::Bf16), ..Engine::Candle.into() };
    let refused = load(reduced, &ModelRef::Folder(folder.path().to_owned())).err().unwrap().to_string();
    assert!(refused.contains("candle computes this model in f32"), "{refused}");
}

#[test]
fn a_vector_does_not_depend_on_its_batch() {
    let (folder, candle) = tiny();
    independent_of_batch(candle.as_ref());
    for backend in backends() {
        independent_of_batch(load(backend, &ModelRef::Folder(folder.path().to_owned())).unwrap().as_ref());
    }
    if let Some(model) = default_model() {
        independent_of_batch(load(Engine::Candle, &model).unwrap().as_ref());
        independent_of_batch(load(Engine::Cpu, &model).unwrap().as_ref());
    }
}

fn independent_of_batch(embedder: &dyn Embedder) {
    let dim = embedder.info().dim;
    let texts: Vec<String> = (0..60)
        .map(|i| ["the cat", "a dog ran .", "the mat and the cat sat on a dog", "cats"][i % 4].repeat(1 + i % 3))
        .collect();
    let stop = AtomicBool::new(false);
    let run = |tokens: usize, texts: &[String]| {
        Batcher::new(embedder, Some(tokens)).embed(texts, Role::Document, &stop, &|_, _| ()).unwrap()
    };
    let all = run(4096, &texts);
    assert!(all.vectors == run(1, &texts).vectors, "one text in each batch");
    assert!(all.vectors == run(30, &texts).vectors, "small batches");
    for (index, text) in texts.iter().enumerate() {
        let alone = run(4096, std::slice::from_ref(text));
        assert_eq!(alone.vectors, all.vectors[index * dim..][..dim], "{text:?}: not a bit differs");
    }
}

#[test]
fn each_text_is_embedded_once_and_batches_keep_their_budget() {
    struct Counting<'a>(&'a dyn Embedder, Mutex<Vec<usize>>, bool);
    impl Embedder for Counting<'_> {
        fn info(&self) -> &chunkmill::embed::ModelInfo {
            self.0.info()
        }
        fn encode(&self, text: &str, role: Role) -> chunkmill::error::Result<chunkmill::embed::EncodedText> {
            self.0.encode(text, role)
        }
        fn embed(&self, batch: &[ModelInput<'_>]) -> chunkmill::error::Result<Vec<f32>> {
            assert!(self.2 || batch.iter().all(|input| input.ids.len() == batch[0].ids.len()), "one length in a batch");
            let tokens = batch.iter().map(|input| input.ids.len()).sum::<usize>();
            assert!(tokens <= 40 || batch.len() == 1, "{tokens} tokens in a batch of 40");
            self.1.lock().unwrap().push(batch.len());
            self.0.embed(batch)
        }
        fn counter(&self) -> &dyn chunkmill::tokens::TokenCounter {
            self.0.counter()
        }
        fn batching(&self) -> Batching {
            Batching { mixed: self.2, ..self.0.batching() }
        }
    }
    let fake = load(Engine::Fake, &ModelRef::default()).unwrap();
    for mixed in [false, true] {
        let counting = Counting(fake.as_ref(), Mutex::new(Vec::new()), mixed);
        let texts: Vec<String> = (0..100).map(|i| format!("text number {} ", i % 25).repeat(1 + i % 5)).collect();
        let unique = texts.iter().collect::<std::collections::HashSet<_>>().len();
        let mut batcher = Batcher::new(&counting, Some(40));
        let stop = AtomicBool::new(false);
        let first = batcher.embed(&texts, Role::Document, &stop, &|_, _| ()).unwrap();
        assert_eq!(first.computed, unique);
        assert_eq!(counting.1.lock().unwrap().iter().sum::<usize>(), unique);
        let again = batcher.embed(&texts, Role::Document, &stop, &|_, _| ()).unwrap();
        assert_eq!((again.computed, again.vectors), (0, first.vectors), "and not again in a later call");
    }
}

#[test]
fn a_batcher_tells_queries_from_documents() {
    let folder = TempDir::new().unwrap();
    tiny_model(folder.path());
    let prompts = r#"{"prompts": {"query": "a dog ", "document": "the mat "}}"#;
    std::fs::write(folder.path().join("config_sentence_transformers.json"), prompts).unwrap();
    let embedder = load(Engine::Cpu, &ModelRef::Folder(folder.path().to_owned())).unwrap();
    let mut batcher = Batcher::new(embedder.as_ref(), None);
    let texts = ["ran".to_owned()];
    let mut embed = |role| batcher.embed(&texts, role, &AtomicBool::new(false), &|_, _| ()).unwrap().vectors;
    assert_ne!(embed(Role::Document), embed(Role::Query));
}

#[test]
fn embedding_stops_when_asked() {
    let fake = load(Engine::Fake, &ModelRef::default()).unwrap();
    let stop = AtomicBool::new(false);
    let texts: Vec<String> = (0..50).map(|i| format!("text {i}")).collect();
    let result = Batcher::new(fake.as_ref(), Some(1))
        .embed(&texts, Role::Document, &stop, &|_, _| stop.store(true, Ordering::Relaxed));
    assert!(matches!(result, Err(Error::Interrupted)));
}

#[test]
fn the_models_own_limit_wins_over_the_tokenizer_files() {
    let (_folder, embedder) = tiny();
    assert_eq!(embedder.info().max_tokens, 12);
    let encoded = embedder.encode("the cat sat on the mat and a dog ran on the mat", Role::Document).unwrap();
    assert_eq!(encoded.n_tokens, 13 + 2);
    assert_eq!((encoded.ids.len(), encoded.ids[0], encoded.ids[11]), (12, 2, 3), "[CLS] … [SEP]");
    assert_eq!(embedder.encode("the cat", Role::Document).unwrap().ids.len(), 4, "no padding");
    assert_eq!(embedder.counter().count("the cats sat").unwrap(), 4, "without special tokens");
}

fn load_changed(change: impl FnOnce(&std::path::Path)) -> String {
    let folder = TempDir::new().unwrap();
    tiny_model(folder.path());
    change(folder.path());
    load(Engine::Candle, &ModelRef::Folder(folder.path().to_owned())).err().unwrap().to_string()
}

#[test]
fn a_folder_that_cannot_be_used_says_why() {
    let replace = |file: &'static str, from: &'static str, to: &'static str| {
        load_changed(move |folder| {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            assert!(text.contains(from));
            std::fs::write(folder.join(file), text.replace(from, to)).unwrap();
        })
    };
    let remove = |file: &'static str| load_changed(move |folder| std::fs::remove_file(folder.join(file)).unwrap());
    assert!(remove("modules.json").contains("modules.json is missing"));
    assert!(remove("tokenizer.json").contains("tokenizer.json is missing"));
    assert!(remove("model.safetensors").contains("model.safetensors is missing"));
    let pickle = load_changed(|folder| {
        std::fs::rename(folder.join("model.safetensors"), folder.join("pytorch_model.bin")).unwrap()
    });
    assert!(pickle.contains("pickle") && pickle.contains("refused"), "{pickle}");
    assert!(replace("config.json", "\"bert\"", "\"gpt2\"").contains("`gpt2` are not supported"));
    assert!(replace("modules.json", "models.Normalize", "models.Dense").contains("2_Normalize/config.json is missing"));
    assert!(replace("modules.json", "models.Normalize", "models.LSTM").contains("`sentence_transformers.models.LSTM`"));
    assert!(replace("1_Pooling/config.json", "mean_tokens", "median_tokens").contains("pooling"));
    let unknown = replace("1_Pooling/config.json", "{", "{\"pooling_mode\": [\"mean\", \"median\"], ");
    assert!(unknown.contains("a pooling that is not one of cls, max, mean"), "{unknown}");
    assert!(replace("modules.json", "\"1_Pooling\"", "\"\"").contains("is not a file inside the folder"));
    assert!(replace("1_Pooling/config.json", "{", "{\"include_prompt\": false, ").contains("prompt"));
    assert!(replace("modules.json", "1_Pooling", "../1_Pooling").contains("is not a file inside the folder"));
    let cut = load_changed(|folder| {
        let bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
        std::fs::write(folder.join("model.safetensors"), &bytes[..bytes.len() / 2]).unwrap();
    });
    assert!(cut.contains("weights: "), "{cut}");
}

#[test]
fn other_poolings_prompts_and_the_case_rule_are_honoured() {
    let folder = TempDir::new().unwrap();
    tiny_model(folder.path());
    let model = ModelRef::Folder(folder.path().to_owned());
    let vector = |role: Role, text: &str| {
        let embedder = load(Engine::Candle, &model).unwrap();
        let ids = embedder.encode(text, role).unwrap().ids;
        (embedder.embed_ids(&[&ids]).unwrap(), embedder.info().fingerprint.clone())
    };
    let (mean, mean_fingerprint) = vector(Role::Query, "the cat");
    for mode in ["pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_lasttoken"] {
        std::fs::write(folder.path().join("1_Pooling/config.json"), format!("{{\"{mode}\": true}}")).unwrap();
        let (other, fingerprint) = vector(Role::Query, "the cat");
        assert!(cosine(&mean, &other) < 0.9999, "{mode}");
        assert_ne!(fingerprint, mean_fingerprint, "{mode}");
    }
    let prompts = r#"{"prompts": {"query": "a dog ", "document": "the mat "}}"#;
    std::fs::write(folder.path().join("config_sentence_transformers.json"), prompts).unwrap();
    let embedder = load(Engine::Candle, &model).unwrap();
    let plain = |text: &str| embedder.encode(text, Role::Query).unwrap().ids;
    assert_eq!(plain("ran").len(), 2 + 3, "the query prompt comes before the text");
    assert_ne!(plain("ran"), embedder.encode("ran", Role::Document).unwrap().ids);
}
