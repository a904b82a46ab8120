//! Datasets, caches, models and settings that somebody else made: nothing outside is overwritten, nothing blocks or
//! takes the machine, and nobody but the user chooses what is read from a cache.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use candle_core::{Device, Tensor};
use chunkmill::dataset::{Check, Dataset, Table, verify};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Engine, ZERO_VECTOR, load};
use chunkmill::search::{Mode, Query, Searcher};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{finish, folder, peak, program, run, sealed, write};
use crate::tiny::tiny_model;

const FAKE: [&str; 2] = ["--embedder", "fake"];

/// Creates a corpus and a dataset of it.
fn home() -> TempDir {
    let home = folder(&[("docs/a.md", "# A\n\nalpha keys\n"), ("docs/b.md", "# B\n\nbeta jars\n")]);
    let (code, _, err) = run(home.path(), &[&["index", "docs", "-o", "out"], &FAKE[..]].concat());
    assert_eq!(code, 0, "{err}");
    home
}

/// Runs a command that must not block. Returns its exit code and standard error.
fn soon(mut command: Command) -> (i32, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_mins(1) {
            child.kill().unwrap();
            panic!("it blocks");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let (code, _, err) = finish(child.wait_with_output().unwrap());
    (code, err)
}

fn soon_run(home: &Path, args: &[&str]) -> (i32, String) {
    let mut command = program(home);
    command.args(args);
    soon(command)
}

/// The commands that write to a dataset.
const WRITERS: [&[&str]; 5] = [
    &["index", "docs", "-o", "out", "--embedder", "fake", "--fresh"],
    &["promote", "out", "a.md", "high"],
    &["delete", "out", "b.md"],
    &["gc", "out", "--older-than", "0"],
    &["index", "docs", "-o", "new", "--embedder", "fake"],
];

/// Puts something else in the place of a file.
#[cfg(unix)]
type Make<'m> = &'m dyn Fn(&Path);

#[cfg(unix)]
fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_lock_that_is_no_file_is_refused_and_what_it_leads_to_is_untouched() {
    let home = home();
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("new")).unwrap();
    write(home.path(), "precious", b"precious");
    let links: [(&str, Make<'_>); 4] = [
        ("a symbolic link", &|lock| std::os::unix::fs::symlink("../precious", lock).unwrap()),
        ("a symbolic link", &|lock| std::os::unix::fs::symlink("../nowhere", lock).unwrap()),
        ("a FIFO", &fifo),
        ("", &|lock| fs::create_dir(lock).unwrap()),
    ];
    for (what, make) in links {
        for out in ["out", "new"] {
            make(&at(out).join(".lock"));
        }
        for args in WRITERS {
            let (code, err) = soon_run(home.path(), args);
            assert_eq!(code, 5, "{args:?}: {err}");
            assert!(err.contains(".lock: ") && err.contains(what), "{args:?}: {err}");
        }
        assert_eq!(soon_run(home.path(), &["verify", "out"]).0, 0);
        for out in ["out", "new"] {
            let lock = at(out).join(".lock");
            fs::remove_file(&lock).or_else(|_| fs::remove_dir(&lock)).unwrap();
        }
    }
    assert_eq!(fs::read(at("precious")).unwrap(), b"precious");
    assert!(!at("nowhere").exists());
    for args in WRITERS {
        let (code, err) = soon_run(home.path(), args);
        assert_eq!(code, 0, "{args:?}: {err}");
    }
}

#[cfg(unix)]
#[test]
fn folders_for_unfinished_work_that_are_links_are_refused() {
    let home = home();
    fs::create_dir(home.path().join("elsewhere")).unwrap();
    let staging = home.path().join("out/.staging");
    std::os::unix::fs::symlink("../elsewhere", &staging).unwrap();
    let (code, err) = soon_run(home.path(), WRITERS[0]);
    assert!(code == 5 && err.contains(".staging: there is a symbolic link"), "{err}");
    fs::remove_file(staging).unwrap();
    let (code, plan, err) = run(home.path(), &["plan", "docs", "-o", "shards", "--shards", "1", "--embedder", "fake"]);
    assert_eq!(code, 0, "{err}");
    write(home.path(), "plan.json", plan.as_bytes());
    let id = serde_json::from_str::<Value>(&plan).unwrap()["id"].as_str().unwrap().to_owned();
    fs::create_dir(home.path().join("shards")).unwrap();
    // The name as a run makes it.
    let make = ["run", "--plan", "plan.json", "--shard", "1", "-o", "shards"];
    assert_eq!(soon_run(home.path(), &make).0, 0);
    let folder = fs::read_dir(home.path().join("shards")).unwrap().map(|entry| entry.unwrap().path());
    let folder = folder.into_iter().find(|path| path.to_string_lossy().contains(&id)).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("../elsewhere", &folder).unwrap();
    for args in [&make[..], &["commit", "--plan", "plan.json", "-o", "shards"]] {
        let (code, err) = soon_run(home.path(), args);
        assert!(code == 5 && err.contains("there is a symbolic link"), "{code}: {err}");
    }
    assert_eq!(fs::read_dir(home.path().join("elsewhere")).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn files_of_a_dataset_that_are_pipes_do_not_block() {
    let home = home();
    let manifest: Value = serde_json::from_slice(&fs::read(home.path().join("out/manifest.json")).unwrap()).unwrap();
    let chunks = manifest["files"][0]["path"].as_str().unwrap();
    for name in [chunks, "quarantine.jsonl", "manifest.json"] {
        let path = home.path().join("out").join(name);
        let kept = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fifo(&path);
        assert_ne!(soon_run(home.path(), &["verify", "out"]).0, 0, "{name}");
        let (code, err) = soon_run(home.path(), &["search", "out", "alpha", "--mode", "keyword"]);
        assert!(code == 0 || err.contains("FIFO"), "{name}: {err}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, kept).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn names_in_a_cache_that_are_no_files_cost_the_cache_and_nothing_else() {
    let home = home();
    let cached = |args: &[&str]| {
        let mut command = program(home.path());
        command.args(args).args(["--embedder", "fake"]);
        command.env("CHUNKMILL_EMBEDDING_CACHE", "cache").env("CHUNKMILL_SEARCH_CACHE", "cache");
        soon(command)
    };
    let index = ["index", "docs", "-o", "out", "--fresh"];
    for name in ["embeddings-v1.sqlite", "embeddings-v1.sqlite-wal", "opening.lock", "in-use.lock"] {
        for link in [true, false] {
            let path = home.path().join("cache").join(name);
            let _ = fs::remove_dir_all(home.path().join("cache"));
            fs::create_dir(home.path().join("cache")).unwrap();
            if link {
                std::os::unix::fs::symlink("../nowhere", &path).unwrap()
            } else {
                fifo(&path)
            }
            let (code, err) = cached(&index);
            assert_eq!(code, 0, "{name}: {err}");
            assert!(err.contains("continues without the embedding cache"), "{name}: {err}");
            assert!(!home.path().join("nowhere").exists(), "{name}");
        }
    }
    // A link to the folder is the user's own affair.
    fs::remove_dir_all(home.path().join("cache")).unwrap();
    fs::create_dir(home.path().join("disk")).unwrap();
    std::os::unix::fs::symlink("disk", home.path().join("cache")).unwrap();
    let (code, err) = cached(&index);
    assert!(code == 0 && !err.contains("without the embedding cache"), "{err}");
    let search = ["search", "out", "alpha", "--mode", "keyword"];
    assert_eq!(cached(&search).0, 0);
    let entries = fs::read_dir(home.path().join("disk")).unwrap().map(|entry| entry.unwrap().path());
    let keywords = entries.into_iter().find(|path| path.to_string_lossy().contains("keywords-")).unwrap();
    fs::remove_file(&keywords).unwrap();
    fifo(&keywords);
    assert_eq!(cached(&search).0, 0);
}

#[cfg(unix)]
#[test]
fn a_cache_folder_is_private_whoever_makes_it() {
    use std::os::unix::fs::PermissionsExt;
    let home = home();
    for (name, args) in
        [("by-search", vec!["search", "out", "alpha"]), ("by-index", vec!["index", "docs", "-o", "out2"])]
    {
        let mut command = program(home.path());
        let cache = format!("{name}/below");
        command.args(args).args(FAKE).env("CHUNKMILL_EMBEDDING_CACHE", &cache).env("CHUNKMILL_SEARCH_CACHE", &cache);
        let (code, err) = soon(command);
        assert_eq!(code, 0, "{err}");
        for folder in [name, &cache] {
            let mode = fs::metadata(home.path().join(folder)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{folder}");
        }
    }
}

#[test]
fn a_projects_file_cannot_name_a_cache() {
    let home = home();
    let index = [&["index", "docs", "-o", "out"], &FAKE[..]].concat();
    for (text, line, key) in [
        ("[embedding]\ncache = \"mine\"\n", 2, "`cache`"),
        ("threads = 1\n[search]\nmode = 'keyword'\nsearch_cache = './mine'\n", 4, "`search_cache`"),
        ("[embedding]\ncache_size = 5000000\n", 2, "`cache_size`"),
    ] {
        write(home.path(), "chunkmill.toml", text.as_bytes());
        for args in [&index[..], &["search", "out", "alpha", "--mode", "keyword"]] {
            let (code, _, err) = run(home.path(), args);
            assert_eq!(code, 2, "{text}: {err}");
            assert!(err.contains(&format!("chunkmill.toml:{line}: {key} is not allowed in a project's file")), "{err}");
        }
        let named = [&index[..], &["--config", "chunkmill.toml"]].concat();
        let (code, _, err) = run(home.path(), &named);
        assert_eq!(code, 0, "a file that the user names may: {err}");
        fs::create_dir_all(home.path().join(".config/chunkmill")).unwrap();
        fs::rename(home.path().join("chunkmill.toml"), home.path().join(".config/chunkmill/config.toml")).unwrap();
        let (code, _, err) = run(home.path(), &index);
        assert_eq!(code, 0, "and so may the user's own: {err}");
        fs::remove_file(home.path().join(".config/chunkmill/config.toml")).unwrap();
    }
    write(home.path(), "chunkmill.toml", b"[embedding]\ncache = 'off'\n[search]\nsearch_cache = 'off'\n");
    assert_eq!(run(home.path(), &index).0, 0);
}

/// Writes a static model that knows `cat` and a few other words, and whose vector of `dog` is zero.
fn static_model(home: &Path) {
    let network = TempDir::new().unwrap();
    tiny_model(network.path());
    let tokenizer = fs::read(network.path().join("tokenizer.json")).unwrap();
    write(home, "static/tokenizer.json", &tokenizer);
    write(home, "static/config.json", br#"{"model_type": "model2vec", "normalize": true}"#);
    // Token 7 is `dog`.
    let values: Vec<f32> = (0..64).map(|at| if at / 4 == 7 { 0.0 } else { (at % 7) as f32 - 2.5 }).collect();
    let vectors = Tensor::from_vec(values, (16, 4), &Device::Cpu).unwrap();
    candle_core::safetensors::save(&[("embeddings", vectors)].into(), home.join("static/model.safetensors")).unwrap();
}

#[test]
fn a_text_without_a_known_word_has_a_vector_of_zeros_that_says_so_and_is_not_ranked() {
    let home = folder(&[
        ("docs/cat.md", "the cat sat\n"),
        ("docs/cjk.md", "日本語\n"),
        ("docs/dog.md", "dog\n"),
        ("docs/marks.md", "!!! ???\n"),
        ("docs/space.md", "\u{200b}\n"),
    ]);
    static_model(home.path());
    for extra in [
        &[][..],
        &["--embedding-type", "f16"],
        &["--embedding-type", "list"],
        &["--embedding-type", "f32,bits"],
        &["--embedding-type", "int8"],
        &["--embedding-type", "bits"],
        &["--pooling", "late"],
    ] {
        let args =
            [&["index", "docs", "-o", "out", "--model", "static", "--fresh", "--context", "none"], extra].concat();
        let (code, _, err) = run(home.path(), &args);
        assert_eq!(code, 0, "{err}");
        let (code, out, err) = run(home.path(), &["verify", "out"]);
        assert_eq!(code, 0, "{extra:?}: {out}{err}");
        let dataset = Dataset::open(home.path().join("out")).unwrap();
        let searcher = Searcher::open(dataset, None).unwrap();
        let embedder = load(Engine::Auto, &ModelRef::Folder(home.path().join("static"))).unwrap();
        for (question, mode, wanted) in [
            ("cat", Mode::Vector, vec!["cat.md"]),
            ("dog", Mode::Vector, vec![]),
            ("日本", Mode::Vector, vec![]),
            ("dog", Mode::Hybrid, vec!["dog.md"]),
        ] {
            let vector = chunkmill::embed::query(embedder.as_ref(), question).unwrap();
            let query = Query { mode, text: question, vector: Some(&vector), k: 9, ..Query::default() };
            let found = searcher.search(&query).unwrap();
            assert!(found.iter().all(|found| found.score.is_finite()), "{found:?}");
            let hits = searcher.hits(&found, false).unwrap();
            let found: Vec<&str> = hits.iter().map(|hit| hit.doc_id.as_str()).collect();
            match mode {
                Mode::Vector => assert_eq!(found, wanted, "{question}"),
                _ => assert_eq!(found[..1], wanted, "{question}"),
            }
        }
    }
}

#[test]
fn zeros_are_accepted_only_where_they_are_flagged() {
    use arrow::array::AsArray;
    let home = folder(&[("docs/cat.md", "the cat sat\n"), ("docs/cjk.md", "日本語\n")]);
    static_model(home.path());
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "out", "--model", "static", "--context", "none"]);
    assert_eq!(code, 0, "{err}");
    let dataset = Dataset::open(home.path().join("out")).unwrap();
    let mut seen = Vec::new();
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read(file, &["doc_id", "flags"], None).unwrap().map(Result::unwrap) {
            for row in 0..batch.num_rows() {
                let flags = batch.column(1).as_list::<i32>().value(row);
                let flagged = flags.as_string::<i32>().iter().any(|flag| flag == Some(ZERO_VECTOR));
                seen.push((batch.column(0).as_string::<i32>().value(row).to_owned(), flagged));
            }
        }
    }
    seen.sort();
    assert_eq!(seen, [("cat.md".to_owned(), false), ("cjk.md".to_owned(), true)]);
}

/// Changes the manifest of a dataset and seals it again.
fn forge(home: &Path, change: impl FnOnce(&mut Value)) {
    let path = home.join("out/manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(path, sealed(&manifest)).unwrap();
}

#[test]
fn forged_numbers_of_a_manifest_are_refused_before_memory_is_taken_for_them() {
    let home = home();
    let path = home.path().join("out/manifest.json");
    let kept = fs::read(&path).unwrap();
    let forgeries: Vec<(&str, Value)> = [0, 1, 63, 65, 60_000, 1 << 20, 1_000_000_000, 1 << 62]
        .into_iter()
        .map(|dim: u64| ("/model/dim", json!(dim)))
        .chain(
            ["/files/0/rows", "/files/0/bytes", "/counts/chunks", "/counts/tokens", "/parts/0/counts/bytes"]
                .into_iter()
                .flat_map(|place| [u64::MAX, 1 << 62, 1 << 40].map(|number| (place, json!(number)))),
        )
        .collect();
    for (place, number) in forgeries {
        for list in [false, true] {
            forge(home.path(), |manifest| {
                *manifest.pointer_mut(place).unwrap() = number.clone();
                if list {
                    manifest["output"]["embedding_type"] = json!("list");
                }
            });
            for args in [
                ["search", "out", "alpha"],
                ["context", "out", "alpha"],
                ["verify", "out", "--json"],
                ["stats", "out", "--json"],
            ] {
                let mut command = program(home.path());
                command.args(args);
                if args[0] != "verify" && args[0] != "stats" {
                    command.args(FAKE);
                }
                let (memory, code) = peak(command);
                assert!([0, 1, 5].contains(&code), "{place} {number} {args:?}: {code}");
                assert!(memory < 1 << 30, "{place} {number} {args:?}: {memory} bytes");
                assert!(args[0] != "verify" || code != 0, "{place} {number}: verify sees it");
            }
            fs::write(&path, &kept).unwrap();
        }
    }
}

#[test]
fn settings_that_are_not_those_of_the_fingerprint_are_found() {
    for (key, value) in
        [("max", json!(1000)), ("overlap", json!(3)), ("preset", json!("ragdocs")), ("strategy", json!("none"))]
    {
        let home = home();
        let out = home.path().join("out");
        forge(home.path(), |manifest| manifest["spec"]["settings"][key] = value.clone());
        let found = verify(&(&*out).into(), None).unwrap();
        let about = |check, words: &str| found.findings.iter().any(|f| f.check == check && f.problem.contains(words));
        assert!(about(Check::Manifest, "spec: the settings"), "{key}: {:?}", found.findings);
    }
}

#[cfg(unix)]
#[test]
fn a_model_whose_files_are_pipes_does_not_block() {
    let home = home();
    for name in ["config.json", "modules.json", "tokenizer.json", "model.safetensors"] {
        let _ = fs::remove_dir_all(home.path().join("tiny"));
        tiny_model(&home.path().join("tiny"));
        fs::remove_file(home.path().join("tiny").join(name)).unwrap();
        fifo(&home.path().join("tiny").join(name));
        let (code, err) = soon_run(home.path(), &["index", "docs", "-o", "other", "--model", "tiny"]);
        assert!(code == 5 && err.contains("FIFO"), "{name}: {code}: {err}");
    }
}

#[test]
fn a_tokenizer_that_fails_or_makes_too_much_of_a_text_is_an_error() {
    let home = home();
    tiny_model(&home.path().join("tiny"));
    let path = home.path().join("tiny/tokenizer.json");
    let whole: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
    let piece = |id: &str| json!({"SpecialToken": {"id": id, "type_id": 0}});
    let text = || json!({"Sequence": {"id": "A", "type_id": 0}});
    let doubling: Vec<Value> = (0..40).map(|_| replace("a", "aa")).collect();
    let in_turn: Vec<Value> =
        (0..40).map(|at| if at % 2 == 0 { replace("a", "bb") } else { replace("b", "aa") }).collect();
    let everywhere = json!([{"type": "Replace", "pattern": {"Regex": ""}, "content": "x".repeat(100)}]);
    let template = |pieces: Value| json!({"type": "TemplateProcessing", "single": pieces, "pair": [], "special_tokens": whole["post_processor"]["special_tokens"]});
    let stages = |stages: Value| json!({"type": "Sequence", "normalizers": stages});
    let twice = template(json!([text(), text()]));
    let all: [(&str, Value, &str); 6] = [
        ("normalizer", stages(json!(doubling)), "would make up to"),
        ("normalizer", stages(json!(in_turn)), "would make up to"),
        ("normalizer", stages(everywhere), "would make up to"),
        ("post_processor", twice.clone(), "contains a text more than once"),
        (
            "post_processor",
            json!({"type": "Sequence", "processors": vec![twice; 40]}),
            "contains a text more than once",
        ),
        ("post_processor", template(json!([piece("[NOWHERE]"), text()])), "tokenizer.json"),
    ];
    for (key, value, words) in all {
        let mut changed = whole.clone();
        changed[key] = value;
        fs::write(&path, changed.to_string()).unwrap();
        for args in [
            &["index", "docs", "-o", "other", "--model", "tiny"][..],
            &["chunk", "docs", "--unit", "model", "--model", "tiny"],
        ] {
            let (code, err) = soon_run(home.path(), args);
            assert_eq!(code, 5, "{err}");
            assert!(err.contains(words) && !err.contains("panicked"), "{err}");
        }
    }
    // As published tokenizers have them.
    let mut changed = whole.clone();
    let marks =
        [("\n", "<n>"), ("\t", "<tab>"), (" ", "▁"), ("``", "\""), ("''", "\"")].map(|(from, to)| replace(from, to));
    changed["normalizer"] = stages(json!(
        [&marks[..], &[json!({"type": "NFKD"}), json!({"type": "StripAccents"}), json!({"type": "Lowercase"})]]
            .concat()
    ));
    fs::write(&path, changed.to_string()).unwrap();
    let (code, err) = soon_run(home.path(), &["index", "docs", "-o", "other", "--model", "tiny"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn more_shards_than_files_cost_nothing_and_are_pointed_out() {
    let home = home();
    let args = ["plan", "docs", "-o", "new", "--shards", "100000000", "--embedder", "fake"];
    let mut command = program(home.path());
    command.args(args);
    let (memory, code) = peak(command);
    assert!(code == 0 && memory < 1 << 30, "{code}: {memory} bytes");
    let (_, plan, err) = run(home.path(), &args);
    assert!(err.contains("the others have nothing to do"), "{err}");
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert!(plan["parts"].as_array().unwrap().iter().all(|part| part["shard"].as_u64().unwrap() <= 8));
}

#[test]
fn more_threads_than_any_machine_has_are_refused() {
    let home = home();
    for args in [&["index", "docs", "-o", "out", "--threads", "20000"][..], &["chunk", "docs", "--threads", "20000"]] {
        let (code, _, err) = run(home.path(), args);
        assert!(code == 2 && err.contains("threads: 20000 threads are more than any machine can use"), "{err}");
    }
    assert_eq!(run(home.path(), &["chunk", "docs", "--threads", "64"]).0, 0);
}
