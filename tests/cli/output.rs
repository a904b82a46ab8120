//! The program: output, exit codes, and what a user sees.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use chunkmill::dataset::chunks_schema;
use chunkmill::embed::{EmbeddingTypes, Representation};
use serde_json::Value;

use crate::common::{finish, folder, json_lines, program, run, tree, write};

const PAGE: &str = "# Guide\n\nintro\n\n## Install\n\nrun it\n\n## Remove\n\ndelete it\n";

#[test]
fn chunk_prints_the_columns_of_the_table_without_the_vector() {
    let home = folder(&[("doc.md", PAGE)]);
    let (code, out, err) = run(home.path(), &["chunk", "doc.md", "--preset", "heading-tokens"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines = json_lines(&out);
    assert_eq!(lines.len(), 3);
    let schema = chunks_schema(&Representation::all(1, EmbeddingTypes::default()), false);
    let columns: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .filter(|name| !["row_hash", "embedding"].contains(name))
        .collect();
    // serde_json's map is sorted, so the order of the columns is taken from the line itself.
    let line = out.lines().next().unwrap();
    let places: Vec<usize> = columns.iter().map(|name| line.find(&format!("\"{name}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{line}");
    assert_eq!(lines[0].as_object().unwrap().len(), columns.len());
    assert_eq!(lines[1]["chunk_id"], "doc.md#1");
    assert_eq!(lines[1]["heading_path"], serde_json::json!(["Guide", "Install"]));
    assert_eq!(lines[1]["content"], "## Install\n\nrun it");
    assert_eq!((&lines[1]["start_line"], &lines[1]["end_line"]), (&5.into(), &7.into()));
    assert_eq!(lines[1]["n_model_tokens"], Value::Null);
}

#[test]
fn chunk_is_the_same_on_any_number_of_threads() {
    // Small files, and a few that take longer than all the small ones.
    let size = |i: usize| if i % 97 == 5 { 3_000 } else { 1 + i % 9 };
    let files: Vec<(String, String)> = (0..300).map(|i| (format!("d/{i:03}.md"), PAGE.repeat(size(i)))).collect();
    let home = folder(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    write(home.path(), "d/100.md", b"\xFF\xFF");
    let chunk = |threads| run(home.path(), &["chunk", "d", "--preset", "heading-tokens", "--threads", threads]);
    let one = chunk("1");
    assert_eq!(one.0, 3);
    for threads in ["2", "8"] {
        assert!(chunk(threads) == one, "on {threads} threads");
    }
    let lines = json_lines(&one.1);
    let ids: Vec<&str> = lines.iter().map(|line| line["doc_id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted());
    let headings = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
    let in_files: usize = files.iter().map(|(_, text)| headings(text)).sum();
    let in_lines: usize = lines.iter().map(|line| headings(line["content"].as_str().unwrap())).sum();
    assert_eq!(in_lines, in_files - headings(&files[100].1));
}

#[test]
fn chunk_goes_on_after_a_bad_document_and_says_so() {
    let home = folder(&[("d/a.md", PAGE)]);
    write(home.path(), "d/b.md", b"\xFF\xFF");
    let (code, out, err) = run(home.path(), &["chunk", "d"]);
    assert_eq!(code, 3);
    assert_eq!(json_lines(&out).len(), 1);
    assert!(err.contains("quarantined b.md: is not valid UTF-8"), "{err}");
}

#[test]
fn chunk_counts_with_the_models_tokenizer() {
    let home = folder(&[("doc.md", &"the cat sat on a mat . ".repeat(20))]);
    crate::common::tiny_model(&home.path().join("tiny"));
    let args = [
        "chunk",
        "doc.md",
        "--strategy",
        "heading",
        "--unit",
        "model",
        "--max",
        "10",
        "--overlap",
        "0",
        "--model",
        "tiny",
    ];
    let (code, out, err) = run(home.path(), &args);
    assert_eq!(code, 0, "{err}");
    let lines = json_lines(&out);
    assert_eq!(lines.len(), 14, "140 tokens");
    assert!(lines.iter().all(|line| line["content"].as_str().unwrap().split_whitespace().count() == 10));
}

#[test]
fn explain_shows_every_boundary_with_size_reason_and_path() {
    let home = folder(&[("doc.md", PAGE)]);
    let (code, out, _) = run(home.path(), &["explain", "doc.md", "--preset", "ragdocs", "--min", "20", "--max", "60"]);
    assert_eq!(code, 0);
    assert!(
        out.starts_with("doc.md: 11 lines, 3 sections, 2 chunks with header unit=chars min=20 max=60 overlap=30"),
        "{out}"
    );
    assert!(out.contains("lines 1-7  34 chars  Guide") && out.contains("2 sections together"), "{out}");
    assert!(out.contains("lines 9-11") && out.contains("heading 2") && out.contains("Guide > Remove"), "{out}");
    let (code, out, _) = run(home.path(), &["explain", "doc.md", "--preset", "ragdocs", "--json"]);
    assert_eq!(code, 0);
    let line = &json_lines(&out)[0];
    assert_eq!(line["unit"], "chars");
    assert_eq!(line["starts_at"], "heading 1");
    let (code, _, err) = run(home.path(), &["explain", "missing.md"]);
    assert_eq!(code, 2);
    assert!(err.contains("missing.md"), "{err}");
}

#[test]
fn a_demo_needs_no_corpus_and_shows_what_it_types() {
    let home = folder(&[]);
    let output = program(home.path()).arg("demo").env("CHUNKMILL_EMBEDDER", "fake").output().unwrap();
    let (code, out, err) = finish(output);
    assert_eq!(code, 0, "{err}");
    let typed: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("$ chunkmill ")).collect();
    assert_eq!(typed.len(), 3, "{out}");
    assert_eq!(typed[0], "index chunkmill-demo/larder/corpus -o chunkmill-demo/dataset");
    assert!(typed[1..].iter().all(|line| line.starts_with("search chunkmill-demo/dataset \"")), "{out}");
    assert!(out.contains("50 of 50 documents indexed") && out.contains(" 2. "), "{out}");
    assert_eq!(
        run(home.path(), &["verify", "chunkmill-demo/dataset", "--corpus", "chunkmill-demo/larder/corpus"]).0,
        0
    );
    let carried = tree(&home.path().join("chunkmill-demo/larder"));
    assert_eq!(carried, tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder")), "to the byte");
}

#[test]
fn search_finds_cites_and_prints_json_lines() {
    let home = folder(&[
        ("docs/fruit.md", "# Fruit\n\napples and pears\n"),
        ("docs/cars.md", "# Cars\n\nengines and wheels\n"),
    ]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    let (code, out, _) = run(home.path(), &["search", "out", "pears and apples", "-k", "2", "--json"]);
    assert_eq!(code, 0);
    let hits = json_lines(&out);
    assert_eq!(hits.len(), 2);
    let keys = [
        "rank",
        "score",
        "doc_id",
        "chunk_id",
        "path",
        "start_byte",
        "end_byte",
        "start_line",
        "end_line",
        "header_path",
        "content",
    ];
    assert!(keys.iter().all(|key| hits[0].get(key).is_some()), "{out}");
    assert_eq!((&hits[0]["rank"], &hits[0]["doc_id"]), (&1.into(), &"fruit.md".into()));
    assert!(hits[0]["score"].as_f64() > hits[1]["score"].as_f64());
    let (_, out, _) = run(home.path(), &["search", "out", "pears and apples", "-k", "1"]);
    assert!(out.contains("fruit.md:1-3  Fruit"), "{out}");
}

#[test]
fn a_preview_ends_with_a_word_and_says_that_the_text_goes_on() {
    let home = folder(&[("docs/a.md", &"vaults ".repeat(60)), ("docs/b.md", "short vaults\n")]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    let (_, out, _) = run(home.path(), &["search", "out", "vaults", "--mode", "keyword"]);
    let shown: Vec<&str> = out.lines().filter(|line| line.starts_with("    ")).map(str::trim).collect();
    assert!(shown.contains(&"short vaults") && shown.contains(&format!("{}…", "vaults ".repeat(34)).as_str()), "{out}");
}

#[test]
fn a_best_passage_over_the_budget_is_told() {
    let long = format!("Backups\n{}", "backups are kept for thirty days. ".repeat(12));
    let home = folder(&[("docs/a.md", &long), ("docs/b.md", "other text, with one word on backups\n")]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    let ask = ["context", "out", "backups kept thirty days", "--mode", "keyword", "--budget"];
    let (code, out, err) = run(home.path(), &[&ask[..], &["40"]].concat());
    assert!(code == 0 && !out.is_empty(), "{out}{err}");
    assert!(err.contains("the best passage has ") && err.contains(" and does not fit into the budget"), "{err}");
    assert_eq!(run(home.path(), &[&ask[..], &["400"]].concat()).2, "");
}

#[test]
fn search_refuses_another_model_than_the_datasets() {
    let home = folder(&[("docs/a.md", "the cat")]);
    crate::common::tiny_model(&home.path().join("tiny"));
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--model", "tiny"]).0, 0);
    assert_eq!(run(home.path(), &["search", "out", "cat", "--model", "tiny"]).0, 0);
    let (code, _, err) = run(home.path(), &["search", "out", "cat"]);
    assert_eq!(code, 5);
    assert!(err.contains("was a local folder") && err.contains("--model FOLDER"), "{err}");
    write(home.path(), "chunkmill.toml", b"[embedding]\nmodel = \"tiny\"\n");
    let below =
        program(home.path()).args(["search", "../out", "cat"]).current_dir(home.path().join("docs")).output().unwrap();
    assert_eq!(finish(below).0, 0, "the settings file names the folder, from where the file is");
    let settings = home.path().join("tiny/sentence_bert_config.json");
    fs::write(settings, r#"{"max_seq_length": 9}"#).unwrap();
    let (code, _, err) = run(home.path(), &["search", "out", "cat", "--model", "tiny"]);
    assert_eq!(code, 5);
    assert!(err.contains("is not the model of the dataset"), "{err}");
}

#[test]
fn truncation_is_counted_shown_and_can_be_denied() {
    let home = folder(&[("docs/a.md", &"word ".repeat(250)), ("docs/b.md", &"word ".repeat(270))]);
    let index = |extra: &[&str]| {
        let mut args = vec!["index", "docs", "-o", "out", "--embedder", "fake", "--preset", "ragdocs"];
        args.extend(extra);
        run(home.path(), &args)
    };
    let (code, out, _) = index(&[]);
    assert_eq!(code, 0);
    assert!(out.contains("truncated  1 of 2 chunks: the model reads 256 tokens; lower --max, or take"), "{out}");
    let (code, _, err) = index(&["--deny-truncation"]);
    assert_eq!(code, 5);
    assert!(
        err.contains("1 chunk would be truncated to the 256 tokens the model reads, the first in b.md_chunk_0"),
        "{err}"
    );
    assert!(err.contains("help: lower --max"), "{err}");
    assert_eq!(run(home.path(), &["stats", "out"]).0, 0, "the previous dataset is still there");
}

#[test]
fn schema_lists_every_column() {
    let home = folder(&[]);
    let (code, out, _) = run(home.path(), &["schema", "--json", "--dim", "8"]);
    assert_eq!(code, 0);
    let schema: Value = serde_json::from_str(&out).unwrap();
    let columns = schema["tables"]["chunks"].as_array().unwrap();
    assert_eq!(columns.len(), chunks_schema(&Representation::all(8, EmbeddingTypes::default()), true).fields().len());
    assert!(columns.iter().all(|column| !column["holds"].as_str().unwrap().is_empty()));
    let (_, out, _) = run(home.path(), &["schema"]);
    assert!(out.contains("embedding") && out.contains("documents (data/documents/*.parquet)"), "{out}");
    assert!(out.contains("edges (data/edges/*.parquet)") && out.contains("promotion_level"), "{out}");
}

#[test]
fn completions_are_printed_for_each_shell() {
    let home = folder(&[]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, out, _) = run(home.path(), &["completions", shell]);
        assert_eq!(code, 0);
        assert!(out.contains("chunkmill") && out.contains("explain"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let home = folder(&[]);
    for (command, holds) in
        [("", "chunkmill\\-explain(1)"), ("index", "\\-\\-max\\-file\\-size"), ("model pull", "\\-\\-from")]
    {
        let words = std::iter::once("man").chain(command.split_whitespace()).collect::<Vec<_>>();
        let (code, out, _) = run(home.path(), &words);
        assert!(code == 0 && out.contains(".SH OPTIONS") && out.contains(holds), "{command}: {code}: {out}");
    }
    let (code, _, err) = run(home.path(), &["man", "serch"]);
    assert!(
        code == 2 && err.contains("there is no command `serch`") && err.contains("did you mean `search`?"),
        "{err}"
    );
}

#[test]
fn progress_is_plain_or_json_or_nothing_off_a_terminal() {
    let home = folder(&[("docs/a.md", PAGE)]);
    for mode in ["auto", "plain", "json", "never"] {
        let (code, _, err) =
            run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake", "--progress", mode]);
        assert_eq!(code, 0);
        assert!(!err.contains('\u{1b}'), "no terminal codes: {err:?}");
    }
}

#[test]
fn progress_that_shows_every_step_ends_with_what_was_embedded() {
    let home = folder(&[("docs/a.md", PAGE), ("docs/b.md", PAGE)]);
    let json = ["index", "docs", "-o", "out", "--embedder", "fake", "--json", "--progress", "json"];
    let (code, out, err) = run(home.path(), &[&json[..], &["--progress-interval", "0", "--threads", "1"]].concat());
    assert_eq!(code, 0, "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let lines = crate::common::json_lines(&err);
    assert!(lines.len() > 3, "{err}");
    assert_eq!(lines.last().unwrap()["texts_embedded"], report["texts_embedded"]);
    let (code, _, err) = run(home.path(), &[&json[..], &["--progress-interval", "soon"]].concat());
    assert!(code == 2 && err.contains("write seconds"), "{code}: {err}");
}

#[test]
fn settings_without_effect_are_told() {
    let home = folder(&[("doc.md", PAGE)]);
    let (code, _, err) = run(home.path(), &["chunk", "doc.md", "--strategy", "heading", "--min", "5"]);
    assert_eq!(code, 0);
    assert!(err.contains("`min` has no effect with strategy `heading`"), "{err}");
    let (_, _, err) = run(home.path(), &["-q", "chunk", "doc.md", "--strategy", "heading", "--min", "5"]);
    assert_eq!(err, "");
}

#[test]
fn a_reader_that_stops_is_no_failure() {
    let small: Vec<(String, String)> = (0..200).map(|i| (format!("many/{i}.md"), PAGE.repeat(200))).collect();
    let home = folder(&small.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    write(home.path(), "doc.md", PAGE.repeat(10_000).as_bytes());
    for (corpus, threads) in [("doc.md", "1"), ("doc.md", "2"), ("many", "1"), ("many", "4")] {
        let mut child = program(home.path())
            .args(["chunk", corpus, "--min", "1", "--max", "40", "--overlap", "0", "--threads", threads])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let (code, _, err) = finish(child.wait_with_output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{corpus} on {threads} threads");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_job_cleanly_with_130() {
    let text: String =
        (0..3000).map(|i| format!("# s{i}\n\n{} word{i}\n\n", "the cat sat on a mat . ".repeat(12))).collect();
    let files: Vec<(String, &str)> = (0..24).map(|i| (format!("docs/{i}.md"), text.as_str())).collect();
    let home = folder(&files.iter().map(|(name, text)| (name.as_str(), *text)).collect::<Vec<_>>());
    crate::common::tiny_model(&home.path().join("tiny"));
    write(home.path(), "small/a.md", PAGE.as_bytes());
    assert_eq!(run(home.path(), &["index", "small", "-o", "out", "--embedder", "fake"]).0, 0);
    let before = crate::common::tree(&home.path().join("out"));
    let mut child = program(home.path())
        .args(["index", "docs", "-o", "out", "--model", "tiny", "--progress", "never", "--allow-shrink"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Wait until the job is working: its staging folder exists.
    let staging = home.path().join("out/.staging");
    while !staging.exists() {
        assert_eq!(child.try_wait().unwrap(), None, "the job ended before it began");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let (code, out, err) = finish(child.wait_with_output().unwrap());
    assert_eq!((code, out.as_str()), (130, ""), "{err}");
    assert!(err.contains("the dataset is unchanged"), "{err}");
    let mut after = crate::common::tree(&home.path().join("out"));
    after.retain(|(name, _)| !name.starts_with(".staging/"));
    assert!(after == before, "not a file is added or changed");
}

#[test]
fn explain_compares_specs_side_by_side() {
    let home = folder(&[("doc.md", PAGE)]);
    let (code, out, err) = run(home.path(), &["explain", "--compare=ragdocs,heading-tokens,none", "doc.md"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("A  ragdocs         header unit=chars min=200 max=1500 overlap=50"), "{out}");
    assert!(out.contains("C  none            none ") && out.contains("l at a line"), "{out}");
    let row = |start: &str| out.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned();
    assert!(row("1 ").contains("h1 h1 ^   # Guide"), "{out}");
    assert!(row("5 ").contains(".  h2 .   ## Install"), "{out}");
    let (_, out, _) = run(home.path(), &["explain", "--compare", "doc.md", "--json"]);
    let specs = json_lines(&out);
    assert_eq!(specs.len(), chunkmill::chunk::Preset::ALL.len());
    assert_eq!((&specs[0]["name"], &specs[0]["starts"][0]["why"]), (&"ragdocs".into(), &"heading 1".into()));
    let (code, _, err) = run(home.path(), &["explain", "doc.md", "--compare=sideways"]);
    assert_eq!(code, 2);
    assert!(err.contains("`sideways` is not a strategy"), "{err}");
    assert_eq!(run(home.path(), &["explain", "doc.md", "--compare", "--max", "9"]).0, 2, "specs contain all settings");
    let long = "x".repeat(2_000_000);
    write(home.path(), "long.md", long.as_bytes());
    assert_eq!(run(home.path(), &["explain", "long.md", "--compare=windows unit=chars max=200"]).0, 0);
}

#[test]
fn a_blocked_document_is_quarantined_unless_it_is_allowed() {
    let page = "# Fine\n\nText.\n\n## Trap\n\n[click](javascript:alert(1)) for more.\n";
    let home = folder(&[("docs/bad.md", page), ("docs/good.md", PAGE)]);
    let chunk = |args: &[&str]| {
        let (code, out, err) = run(home.path(), &[&["chunk", "docs", "--preset", "heading-tokens"], args].concat());
        (code, json_lines(&out), err)
    };
    let (code, lines, err) = chunk(&[]);
    assert_eq!(code, 3);
    assert!(lines.iter().all(|line| line["doc_id"] == "good.md") && lines.len() == 3);
    assert!(err.contains("quarantined bad.md") && err.contains("javascript_url") && err.contains("line 7"), "{err}");
    assert!(err.contains("--allow-blocked"), "{err}");
    let (code, lines, _) = chunk(&["--allow-blocked"]);
    assert_eq!((code, lines.len()), (0, 5));
    assert_eq!(lines[0]["flags"], serde_json::json!(["document_blocked"]));
    assert_eq!(lines[1]["flags"], serde_json::json!(["javascript_url", "document_blocked"]));
    let (code, lines, _) = chunk(&["--security", "permissive"]);
    assert_eq!((code, &lines[1]["flags"]), (0, &serde_json::json!(["javascript_url"])));

    let (code, out, _) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake", "--json"]);
    assert_eq!(code, 3);
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&summary["quarantined"], &summary["documents"]), (&1.into(), &1.into()));
    let list = fs::read_to_string(home.path().join("out/quarantine.jsonl")).unwrap();
    assert_eq!(json_lines(&list)[0]["code"], "blocked");
    let (_, out, _) = run(home.path(), &["explain", "docs/bad.md"]);
    assert!(out.contains("javascript_url at line 7"), "{out}");
}

#[test]
fn the_model_sees_the_normalised_text() {
    let page = "# Cafe\u{301}\n\nSee  [b](b.md?key=1)   and <https://me:pw@x.org/a?token=1#f>.\n";
    let home = folder(&[("docs/a.md", page)]);
    let first = |args: &[&str]| {
        let (code, out, err) = run(home.path(), &[&["chunk", "docs"], args].concat());
        assert_eq!(code, 0, "{err}");
        json_lines(&out).remove(0)
    };
    let plain = first(&[]);
    assert_eq!((&plain["normalized_content"], &plain["links"][0]["url"]), (&Value::Null, &Value::Null));
    let docs = first(&["--preset", "docs"]);
    assert_eq!(docs["content"].as_str().unwrap(), page.trim_end());
    assert_eq!(docs["normalized_content"], "# Caf\u{e9}\n\nSee [b](b.md?key=1) and <https://me:pw@x.org/a?token=1#f>.");
    let all = first(&["--preset", "docs", "--redact-urls", "--base-url", "https://example.org/docs"]);
    assert_eq!(
        all["normalized_content"],
        "# Caf\u{e9}\n\nSee [b](https://example.org/docs/b.md) and <https://x.org/a#f>."
    );
    assert_eq!(all["links"][0]["url"], "https://example.org/docs/b.md");
    assert_eq!(all["links"][0]["target"], "b.md?key=1");

    // Texts that are the same after normalization are embedded once.
    write(home.path(), "docs/copy.md", page.replace("e\u{301}", "\u{e9}").as_bytes());
    let index = |preset: &str| {
        let args = ["index", "docs", "-o", "out", "--embedder", "fake", "--json", "--preset", preset, "--files", "1"];
        let (code, out, err) = run(home.path(), &args);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<Value>(&out).unwrap()["texts_embedded"].clone()
    };
    assert_eq!((index("docs"), index("ragdocs")), (1.into(), 2.into()));
}

#[test]
fn sources_are_never_written_to() {
    let page = "---\npromotion_level: draft\n---\n# A\n\ntext\n";
    let home = folder(&[("docs/a.md", page), ("far/b.md", PAGE)]);
    let before = (tree(&home.path().join("docs")), tree(&home.path().join("far")));
    let args = ["index", "docs", "external=far", "-o", "out", "--embedder", "fake", "--preset", "line-threshold"];
    assert_eq!(run(home.path(), &args).0, 0);
    assert_eq!(before, (tree(&home.path().join("docs")), tree(&home.path().join("far"))));
}
