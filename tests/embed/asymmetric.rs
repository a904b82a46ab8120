//! Models that read queries differently from documents: a `Router`, and two models as a pair.

use std::fs;
use std::path::Path;

use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Backend, Embedder, Engine, Role, load, load_pair, query};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{run, write};
use crate::tiny::Tiny;

const TEXT: &str = "the cat sat on a mat .";

/// Moves the modules of a model to folders of their own below `into`, and returns the folders' names and types.
fn moved(tiny: Tiny, into: &Path, name: &str) -> Vec<(String, String)> {
    let own = TempDir::new().unwrap();
    tiny.write(own.path());
    let modules = ["Transformer", "Pooling", "Normalize"];
    let folders = modules.iter().enumerate().map(|(at, kind)| format!("{name}_{at}_{kind}")).collect::<Vec<_>>();
    for file in ["config.json", "tokenizer.json", "sentence_bert_config.json", "model.safetensors"] {
        write(into, &format!("{}/{file}", folders[0]), &fs::read(own.path().join(file)).unwrap());
    }
    write(into, &format!("{}/config.json", folders[1]), &fs::read(own.path().join("1_Pooling/config.json")).unwrap());
    let types = modules.map(|kind| format!("sentence_transformers.models.{kind}"));
    folders.into_iter().zip(types).collect()
}

/// Creates a router over two networks, as sentence-transformers saves it, with a module that both share after it.
fn router(queries: Tiny, documents: Tiny, file: &str, parameters: &Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    let [query, document] =
        [(queries, "query"), (documents, "document")].map(|(tiny, name)| moved(tiny, folder.path(), name));
    let types: serde_json::Map<String, Value> =
        query.iter().chain(&document).map(|(name, kind)| (name.clone(), json!(kind))).collect();
    let names = |route: &[(String, String)]| route.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let mut structure = json!({"document": names(&document)});
    if parameters.get("default_route").is_none() {
        structure["query"] = json!(names(&query));
    }
    let router = json!({"types": types, "structure": structure, "parameters": parameters});
    write(folder.path(), file, router.to_string().as_bytes());
    let list = json!([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Router"},
        {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]);
    write(folder.path(), "modules.json", list.to_string().as_bytes());
    folder
}

fn open(folder: &Path) -> Box<dyn Embedder> {
    load(Engine::Auto, &ModelRef::Folder(folder.to_owned())).unwrap()
}

fn document(embedder: &dyn Embedder) -> Vec<f32> {
    let ids = embedder.encode(TEXT, Role::Document).unwrap().ids;
    embedder.embed_ids(&[&ids]).unwrap()
}

fn alone(tiny: Tiny) -> Vec<f32> {
    let folder = TempDir::new().unwrap();
    tiny.write(folder.path());
    document(open(folder.path()).as_ref())
}

#[test]
fn a_router_reads_queries_by_one_route_and_documents_by_another() {
    let (queries, documents) = (Tiny { layers: 1, ..Tiny::new("bert", 48, 3) }, Tiny::new("modernbert", 48, 3));
    for file in ["router_config.json", "config.json"] {
        let folder = router(queries, documents, file, &json!({"allow_empty_key": true}));
        let embedder = open(folder.path());
        assert_eq!(document(embedder.as_ref()), alone(documents));
        assert_eq!(query(embedder.as_ref(), TEXT).unwrap(), alone(queries));
        let other = embedder.info().query.clone().unwrap();
        assert_eq!(other.id, None, "it is a part of the model");
        assert_ne!(other.fingerprint, embedder.info().fingerprint);
    }
    let folder = router(queries, documents, "router_config.json", &json!({"default_route": "document"}));
    let embedder = open(folder.path());
    assert_eq!(query(embedder.as_ref(), TEXT).unwrap(), alone(documents));
    assert_eq!(embedder.info().query, None, "both are one");
}

#[test]
fn a_router_that_leads_nowhere_or_outside_is_refused() {
    let tiny = Tiny::new("bert", 48, 3);
    let refused = |change: &dyn Fn(&mut Value)| {
        let folder = router(tiny, tiny, "router_config.json", &json!({}));
        let path = folder.path().join("router_config.json");
        let mut router: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut router);
        write(folder.path(), "router_config.json", router.to_string().as_bytes());
        load(Engine::Auto, &ModelRef::Folder(folder.path().to_owned())).err().unwrap().to_string()
    };
    let error = refused(&|router| drop(router["structure"].as_object_mut().unwrap().remove("query")));
    assert!(error.contains("no route `query` and no default"), "{error}");
    let error = refused(&|router| router["structure"]["query"] = json!(["nobody"]));
    assert!(error.contains("specifies no type for `nobody`"), "{error}");
    let error = refused(&|router| {
        router["types"]["../elsewhere"] = json!("sentence_transformers.models.Transformer");
        router["structure"]["query"] = json!(["../elsewhere"]);
    });
    assert!(error.contains("is not a file inside the folder"), "{error}");
}

#[test]
fn two_models_are_a_pair_if_their_vectors_are_of_one_length() {
    let (small, large) = (Tiny { layers: 1, ..Tiny::new("bert", 48, 3) }, Tiny::new("modernbert", 48, 3));
    let home = TempDir::new().unwrap();
    small.write(&home.path().join("small"));
    large.write(&home.path().join("large"));
    Tiny::new("bert", 128, 2).write(&home.path().join("wide"));
    let pair = |name: &str| {
        let of = |name: &str| ModelRef::Folder(home.path().join(name));
        load_pair(Backend::default(), &of("large"), Backend::default(), &of(name))
    };
    let embedder = pair("small").unwrap();
    assert_eq!(document(embedder.as_ref()), alone(large));
    assert_eq!(query(embedder.as_ref(), TEXT).unwrap(), alone(small));
    assert_eq!(embedder.info().query.as_ref().unwrap().id.as_deref(), Some("small"));
    let error = pair("wide").err().unwrap().to_string();
    assert!(error.contains("wide produces vectors of 128 values, but large of 48"), "{error}");
}

#[test]
fn a_dataset_says_which_model_reads_queries_and_no_other_does() {
    let home =
        crate::common::folder(&[("docs/a.md", "# The cat\n\nThe cat sat.\n"), ("docs/b.md", "# Dog\n\nA dog ran.\n")]);
    Tiny { layers: 1, ..Tiny::new("bert", 48, 3) }.write(&home.path().join("small"));
    Tiny { layers: 2, ..Tiny::new("bert", 48, 3) }.write(&home.path().join("other"));
    Tiny::new("modernbert", 48, 3).write(&home.path().join("large"));
    let index = |more: &[&str]| {
        let (code, _, errors) = run(home.path(), &[&["index", "docs", "-o", "out", "--model", "large"], more].concat());
        assert_eq!(code, 0, "{errors}");
        errors
    };
    let search = |more: &[&str]| {
        run(
            home.path(),
            &[&["search", "out", "the cat", "--mode", "vector", "--model", "large", "--json"], more].concat(),
        )
    };
    index(&[]);
    let (code, alone, errors) = search(&[]);
    assert_eq!(code, 0, "{errors}");
    let (code, _, errors) = search(&["--query-model", "small"]);
    assert_eq!(code, 5, "{errors}");
    assert!(errors.contains("but the dataset expects itself"), "{errors}");

    // A different model for queries is recorded, and no vector is computed again.
    let errors = index(&["--query-model", "small"]);
    assert!(!errors.contains("embedded 2"), "{errors}");
    let manifest = |()| {
        let files = crate::common::tree(&home.path().join("out"));
        let newest = files.iter().filter(|(name, _)| name.contains("manifest")).map(|(_, bytes)| bytes.clone());
        newest.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect::<Vec<_>>()
    };
    assert!(manifest(()).iter().any(|text| text.contains("\"query\"")), "{:?}", manifest(()));
    let (code, paired, errors) = search(&["--query-model", "small"]);
    assert_eq!(code, 0, "{errors}");
    assert_ne!(paired, alone);
    let (code, _, errors) = search(&[]);
    assert_eq!(code, 5, "{errors}");
    assert!(errors.contains("--query-model FOLDER"), "{errors}");
    let (code, _, errors) = search(&["--query-model", "other"]);
    assert_eq!(code, 5, "{errors}");
    assert!(errors.contains("but the dataset expects small"), "{errors}");
}
