//! Reports: on whole datasets, on a corpus that changed, and with many findings or none.

use std::fs;

use chunkmill::chunk::Preset;
use chunkmill::corpus::Root;
use chunkmill::dataset::{FORMAT_VERSION, verify, with_row_hashes};
use serde_json::{Value, json};

use super::{PAGE, SETTINGS, Victim, check, corpus, index, text, with};
use crate::common::{folder, run, write};

#[test]
fn every_preset_and_way_to_store_vectors_passes_with_its_corpus() {
    let home = corpus();
    let roots = [Root::new(home.path().join("docs"))];
    for preset in Preset::ALL {
        for (kind, sizes) in [
            ("f32", &[][..]),
            ("f16", &["--max", "60"]),
            ("list", &["--files", "1"]),
            ("f16,int8,bits", &[]),
            ("int8", &[]),
            ("bits", &["--files", "1"]),
        ] {
            let sizes = if preset == Preset::None { &[] } else { sizes };
            index(home.path(), "out", &[&["--preset", preset.name(), "--embedding-type", kind], sizes].concat());
            let verification = verify(&home.path().join("out").into(), Some(&roots)).unwrap();
            assert_eq!(verification.findings, [], "{preset} {kind}");
            assert_eq!(verification.notes, [], "{preset} {kind}");
            assert_eq!(verification.counts.documents, 10);
            assert!(verification.rows > 16 && verification.bytes > 0 && verification.files >= 4);
        }
    }
}

#[test]
fn named_collections_and_a_real_model_pass() {
    let home = corpus();
    fs::remove_file(home.path().join("docs/bad.md")).unwrap();
    write(home.path(), "more/guide.md", PAGE.as_bytes());
    write(home.path(), "theirs/guide.md", PAGE.as_bytes());
    crate::common::tiny_model(&home.path().join("tiny"));
    for precision in ["f32", "int8"] {
        let index = ["index", "one=docs", "two=more", "external=theirs", "-o", "out", "--model", "tiny"];
        let (code, _, err) = run(home.path(), &[&index[..], &["--precision", precision]].concat());
        assert_eq!(code, 0, "{err}");
        let corpus = ["verify", "out", "--corpus", "one=docs", "two=more", "external=theirs"];
        let (code, out, err) = run(home.path(), &corpus);
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.starts_with("verified: 40 files, ") && out.contains("compared with the corpus"), "{out}");
        assert_eq!(out.lines().count(), 1, "{out}");
    }
}

#[test]
fn a_corpus_that_changed_is_told_document_by_document() {
    let home = corpus();
    index(home.path(), "out", &SETTINGS);
    let verify = || {
        let (code, out, err) = run(home.path(), &["verify", "out", "--corpus", "docs", "--json"]);
        assert!(err.is_empty(), "{err}");
        (code, serde_json::from_str::<Value>(&out).unwrap())
    };
    assert_eq!(verify().0, 0);
    write(home.path(), "docs/new.md", b"# New\n");
    assert_eq!(verify().0, 0, "what is not indexed is for `index` to find");
    write(home.path(), "docs/setup.md", b"# Other\n");
    fs::remove_file(home.path().join("docs/empty.md")).unwrap();
    write(home.path(), "docs/bom.md", b"\xC3(");
    let (code, result) = verify();
    assert_eq!((code, &result["ok"]), (1, &false.into()));
    let findings: Vec<&str> =
        result["findings"].as_array().unwrap().iter().map(|f| f["problem"].as_str().unwrap()).collect();
    for problem in ["`setup.md`: its file", "`empty.md`: is no longer in the corpus", "`bom.md`: its file"] {
        assert_eq!(findings.iter().filter(|finding| finding.contains(problem)).count(), 1, "{problem}: {findings:#?}");
    }
    assert_eq!(findings.len(), 3, "chunks of what has changed are not compared: {findings:#?}");
    assert_eq!(result["findings"][0]["help"], "chunkmill index CORPUS -o out");
}

#[test]
fn a_text_and_hash_that_both_changed_are_found_in_the_corpus() {
    let home = corpus();
    index(home.path(), "out", &["--files", "1", "--strategy", "none"]);
    let victim = Victim { out: home.path().join("out") };
    // Another text of the same shape, with its own hash: only the file shows the difference.
    victim.rewrite("chunks", |batch| {
        let row = text(&batch, "doc_id").iter().position(|id| *id == "notes.txt").unwrap();
        let other = text(&batch, "content")[row].replace("More", "Less");
        let hash = blake3::hash(other.as_bytes()).to_hex().to_string();
        let changed = with(&with(&batch, "content", row, &other.into()), "content_hash", row, &hash.into());
        with_row_hashes(&changed).unwrap()
    });
    assert_eq!(check(&victim.out).findings, []);
    let (code, out, _) = run(home.path(), &["verify", "out", "--corpus", "docs"]);
    assert_eq!(code, 1);
    assert!(out.contains("`notes.txt_chunk_0`: its text is not the file's bytes 0.."), "{out}");
    assert!(out.contains("\n1 problem: 5 files, "), "{out}");
}

#[test]
fn many_findings_of_a_kind_are_counted_not_listed() {
    let pages: Vec<(String, String)> = (0..40).map(|i| (format!("docs/{i}.md"), format!("# Page {i}\n"))).collect();
    let home = folder(&pages.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    let index = ["index", "docs", "-o", "out", "--embedder", "fake", "--files", "1"];
    assert_eq!(run(home.path(), &index).0, 0);
    Victim { out: home.path().join("out") }
        .rewrite("chunks", |batch| (0..40).fold(batch, |batch, row| with(&batch, "content_hash", row, &"".into())));
    let (code, out, _) = run(home.path(), &["verify", "out"]);
    assert_eq!(code, 1);
    assert_eq!(out.matches("content_hash is not the BLAKE3").count(), 10, "{out}");
    assert!(out.contains("  … and 30 more\n  help: chunkmill index CORPUS -o out --fresh\n40 problems: "), "{out}");
    let (_, out, _) = run(home.path(), &["verify", "out", "--json"]);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["found"], json!({"content": 40}));
    assert_eq!(result["findings"].as_array().unwrap().len(), 40);
    assert_eq!(result["findings"][0]["check"], "content");
}

#[test]
fn leftovers_are_notes() {
    let home = corpus();
    index(home.path(), "out", &[]);
    write(home.path(), "out/data/chunks/train-00000-of-00008-0123456789abcdef.parquet", b"orphan");
    let (code, out, _) = run(home.path(), &["verify", "out"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("note: data/chunks/train-00000-of-00008-0123456789abcdef.parquet: 6 bytes, "), "{out}");
    assert!(out.contains("\n  help: chunkmill gc out\nverified: "), "{out}");
}

#[test]
fn what_is_no_dataset_of_this_version_is_refused() {
    let home = corpus();
    let (code, _, err) = run(home.path(), &["verify", "out"]);
    assert!(code == 5 && err.contains("manifest.json: does not exist"), "{err}");
    index(home.path(), "out", &[]);
    let victim = Victim { out: home.path().join("out") };
    for (version, problem) in [
        (FORMAT_VERSION - 1, "help: index the corpus again, with --fresh"),
        (FORMAT_VERSION + 1, "use a newer chunkmill"),
    ] {
        victim.edit_manifest(|manifest| manifest["format_version"] = version.into());
        let (code, _, err) = run(home.path(), &["verify", "out"]);
        assert!(code == 5 && err.contains(problem), "{err}");
    }
    write(home.path(), "out/manifest.json", b"{\"format");
    let (code, _, err) = run(home.path(), &["verify", "out"]);
    assert!(code == 5 && err.contains("is damaged"), "{err}");
    assert_eq!(run(home.path(), &["verify", "out", "--corpus", "missing"]).0, 5);
}
