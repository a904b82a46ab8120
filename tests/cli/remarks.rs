//! What is not as the user meant it is said: names that nothing has, sizes that were adjusted, variables that are no
//! settings, documents that leave. And flags, paths and globs mean what they look like.

use std::fs;
use std::path::Path;

use arrow::ipc::CompressionType;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use chunkmill::config::settings;
use chunkmill::value::Form;
use tempfile::TempDir;

use crate::common::{finish, folder, json_lines, program, run, tree, write};
use crate::tiny::Tiny;

const FAKE: [&str; 2] = ["--embedder", "fake"];

fn ok(home: &Path, args: &[&str]) -> (String, String) {
    let (code, out, err) = run(home, args);
    assert_eq!(code, 0, "{args:?}: {err}");
    (out, err)
}

fn indexed(files: &[(&str, &str)]) -> TempDir {
    let home = folder(files);
    ok(home.path(), &[&["index", "docs", "-o", "out"], &FAKE[..]].concat());
    home
}

/// Returns the paths that a search finds, sorted, and what it says.
fn found(home: &Path, args: &[&str]) -> (Vec<String>, String) {
    let (out, err) = ok(home, &[&["search", "out", "zebra", "--mode", "keyword", "--json", "-k", "50"], args].concat());
    let mut paths: Vec<String> = json_lines(&out).iter().map(|hit| hit["path"].as_str().unwrap().to_owned()).collect();
    paths.sort();
    (paths, err)
}

#[test]
fn a_path_that_names_a_document_or_folder_is_that_one_and_a_glob_otherwise() {
    let names = [
        "blog/[slug].md",
        "blog/s.md",
        "part{x}.md",
        "partx.md",
        "what?.md",
        "whats.md",
        "[id]/a.md",
        "i/a.md",
        "a[.md",
    ];
    let names: Vec<String> = names.iter().map(|name| format!("docs/{name}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "# T\n\nzebra\n")).collect();
    let home = indexed(&files);
    for (path, expected) in [
        ("blog/[slug].md", &["blog/[slug].md"][..]),
        ("./blog/[slug].md", &["blog/[slug].md"]),
        ("part{x}.md", &["part{x}.md"]),
        ("what?.md", &["what?.md"]),
        ("[id]", &["[id]/a.md"]),
        ("[id]/", &["[id]/a.md"]),
        ("a[.md", &["a[.md"]),
        ("part{x,{x}}.md", &["partx.md"]),
        ("blog/?.md", &["blog/s.md"]),
        ("[hij]/*.md", &["i/a.md"]),
    ] {
        let (paths, err) = found(home.path(), &["--path", path]);
        assert_eq!(paths, expected, "{path}");
        assert_eq!(err, "", "{path}");
    }
    let (code, _, err) = run(home.path(), &["search", "out", "zebra", "--mode", "keyword", "--path", "b[.md"]);
    assert!(code == 2 && err.contains("no document or folder has this name"), "{err}");
}

#[test]
fn a_condition_that_nothing_meets_is_said_with_the_nearest_name() {
    let home = indexed(&[
        (
            "docs/guide/alerts.md",
            "---\ntags: [Fruit/Pear, red]\npromotion_level: draft\n---\n# Guide\n\n## Install\n\nzebra\n",
        ),
        ("docs/other.md", "---\ntags: [fruits]\n---\n# Other\n\nzebra\n"),
    ]);
    let home = home.path();
    // Every heading starts a chunk, so each heading path is one of a chunk.
    ok(home, &[&["index", "docs", "-o", "out", "--preset", "heading-tokens"], &FAKE[..]].concat());
    for (args, remark) in [
        (
            ["--path", "guide/alert.md"],
            "nothing in the dataset has the path `guide/alert.md`; did you mean `guide/alerts.md`?",
        ),
        (["--path", "alerts.md"], "has the path `alerts.md`; did you mean `guide/alerts.md`?"),
        (["--path", "*.rst"], "has the path `*.rst`"),
        (["--path", "gide"], "did you mean `guide`?"),
        (["--heading", "Guide > Instal"], "is below the heading `Guide > Instal`; did you mean `Guide > Install`?"),
        (["--heading", "guide > install"], "did you mean `Guide > Install`?"),
        (["--tag", "frut"], "has the tag `frut`; did you mean `Fruit`?"),
        (["--collection", "defualt"], "is in the collection `defualt`; did you mean `default`?"),
        (["--promotion-level", "Draft"], "has the promotion level `Draft`; did you mean `draft`?"),
    ] {
        let (paths, err) = found(home, &args);
        assert!(paths.is_empty(), "{args:?}: {paths:?}");
        assert!(err.starts_with(" WARN ") && err.contains(remark) && err.lines().count() == 1, "{args:?}: {err}");
        for command in ["context", "search"] {
            let words = [&[command, "out", "zebra", "--mode", "keyword"], &args[..]].concat();
            let (_, err) = ok(home, &words);
            assert!(err.contains(remark), "{words:?}: {err}");
        }
        let (_, err) = found(home, &[&args[..], &["-q"]].concat());
        assert_eq!(err, "");
    }
    for (least, remarks) in [("99", 1), ("-99", 0)] {
        let (paths, err) = found(home, &["--min-score", least]);
        assert_eq!((paths.is_empty(), err.lines().count()), (remarks == 1, remarks), "{err}");
        assert_eq!(err.contains("no result has the score 99 of --min-score"), remarks == 1, "{err}");
    }
    for (tag, expected) in [
        ("fruit", &["guide/alerts.md"][..]),
        ("FRUIT/pear", &["guide/alerts.md"]),
        ("#Fruit", &["guide/alerts.md"]),
        ("Red", &["guide/alerts.md"]),
        ("Fruits", &["other.md"]),
    ] {
        let (mut paths, err) = found(home, &["--tag", tag]);
        paths.dedup();
        assert_eq!((paths, &*err), (expected.iter().map(|&path| path.to_owned()).collect(), ""), "{tag}");
    }
    for command in [&["delete", "out", "alerts.md"][..], &["promote", "out", "alerts.md", "high"]] {
        let (code, _, err) = run(home, command);
        assert!(
            code == 2 && err.contains("out: the dataset has no document alerts.md; did you mean `guide/alerts.md`?"),
            "{err}"
        );
    }
    let (code, _, err) = run(home, &["delete", "out", "--collection", "defaults"]);
    assert!(code == 2 && err.contains("did you mean `default`?"), "{err}");
}

#[test]
fn every_switch_can_stand_alone_and_takes_a_value_in_both_forms() {
    let home = folder(&[
        ("docs/a.md", "# A\n\nSome words.\n\n```\ncode\n```\n\n| a |\n|---|\n| b |\n"),
        ("false/b.md", "# B\n\nWords.\n"),
    ]);
    let home = home.path();
    let switches: Vec<_> = settings().into_iter().filter(|(_, setting)| setting.form == Form::Switch).collect();
    assert!(switches.len() > 12, "{}", switches.len());
    for (table, setting) in switches {
        let flag = format!("--{}", setting.flag());
        let chunks = |words: &[&str]| {
            let index = [&["index", "-o", "out", "--fresh", "--json"], &FAKE[..]].concat();
            let command = if table == "embedding" { &index[..] } else { &["chunk"] };
            let (out, _) = ok(home, &[command, words].concat());
            if table == "embedding" { String::new() } else { out }
        };
        let (on, off) = (chunks(&[&format!("{flag}=true"), "docs"]), chunks(&[&format!("{flag}=false"), "docs"]));
        for (words, right) in [
            (vec![&*flag, "docs"], &on),
            (vec![&flag, "true", "docs"], &on),
            (vec!["docs", &flag], &on),
            (vec!["docs", &flag, "true"], &on),
            (vec![&flag, "false", "docs"], &off),
            (vec!["docs", &flag, "false"], &off),
        ] {
            assert_eq!(&chunks(&words), right, "{words:?}");
        }
    }
    // After `--` it is a path.
    let (out, _) = ok(home, &["chunk", "--cut-oversized", "--", "false"]);
    assert!(out.contains("b.md") && !out.contains("a.md"), "{out}");
    let (code, _, err) = run(home, &["chunk", "--cut-oversized=perhaps", "docs"]);
    assert!(code == 2 && err.contains("write true or false"), "{err}");
}

#[test]
fn globs_are_those_of_gitignore_and_those_that_match_nothing_are_named() {
    let names = ["a.py", "a.md", "src/b.py", "src/deep/c.PY", "src/deep/d.md", "api/e.txt", "x/api/f.rs", "#odd.md"];
    let names: Vec<String> = names.iter().map(|name| format!("docs/{name}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "words\n")).collect();
    let home = folder(&files);
    let chunks = |args: &[&str]| {
        let (out, err) = ok(home.path(), &[&["chunk", "docs"], args].concat());
        let mut paths: Vec<String> =
            json_lines(&out).iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect();
        paths.sort();
        (paths.join(" "), err)
    };
    for (args, right) in [
        (&["--include", "*.py"][..], "a.py src/b.py src/deep/c.PY"),
        (&["--include", "/*.py"], "a.py"),
        (&["--include", "./*.py"], "a.py"),
        (&["--include", "src/*.py"], "src/b.py"),
        (&["--include", "src/**/*.py"], "src/b.py src/deep/c.PY"),
        (&["--include", "api/"], "api/e.txt x/api/f.rs"),
        (&["--include", "/api/"], "api/e.txt"),
        (&["--include", "api"], "api/e.txt x/api/f.rs"),
        (&["--include", "*.py", "--include", "*.txt"], "a.py api/e.txt src/b.py src/deep/c.PY"),
        (&["--include", "*.py,!c.py"], "a.py src/b.py"),
        (&["--include", "#odd.md"], "#odd.md"),
        (&["--exclude", "deep"], "#odd.md a.md api/e.txt"),
        (&["--exclude", "/deep"], "#odd.md a.md api/e.txt src/deep/d.md"),
        (&["--exclude", "*.md"], "api/e.txt"),
        (&["--include", "**/*.{py,txt}"], "a.py api/e.txt src/b.py src/deep/c.PY"),
    ] {
        assert_eq!(chunks(args), (right.to_owned(), String::new()), "{args:?}");
    }
    let (_, err) = chunks(&["--include", "*.py,*.html,docs/*.md"]);
    assert!(err.starts_with(" WARN no file matches `*.html` or `docs/*.md`") && err.lines().count() == 1, "{err}");
    let (code, _, err) = run(home.path(), &["chunk", "docs", "--include", "*.html"]);
    assert!(
        code == 2 && err.contains("no document was found: no file matches `*.html`") && err.contains(".gitignore"),
        "{err}"
    );
}

#[test]
fn a_glob_that_takes_the_file_that_was_named_is_no_mistake() {
    let home = folder(&[("a.md", "# A\n\nwords\n")]);
    let (_, err) = ok(home.path(), &["chunk", "a.md", "--include", "*.md"]);
    assert_eq!(err, "");
    let (_, err) = ok(home.path(), &["index", "a.md", "-o", "out", "--embedder", "fake", "--quiet"]);
    assert_eq!(err, "");
    let (_, err) = ok(home.path(), &["verify", "out", "--corpus", "a.md", "--quiet"]);
    assert_eq!(err, "");
}

#[test]
fn sizes_that_were_not_set_and_were_adjusted_are_said() {
    let home = folder(&[("a.md", "# A\n\nwords\n")]);
    let said = |args: &[&str]| ok(home.path(), &[&["chunk", "a.md"], args].concat()).1;
    for (args, remarks) in [
        (&["--overlap", "200"][..], &["`max` is 201 instead of 128, because `overlap` is 200"][..]),
        (&["--max", "5"], &["`min` is 5 instead of 32, because `max` is 5"]),
        (&["--min", "300"], &["`max` is 300 instead of 128, because `min` is 300"]),
        (&["--preset", "sections", "--max", "100"], &["`min` is 100", "`overlap` is 50 instead of 200"]),
        (&["--max", "256"], &[]),
        (&["--min", "10", "--max", "60", "--overlap", "5"], &[]),
        (&["--preset", "ragdocs"], &[]),
    ] {
        let said = said(args);
        assert!(remarks.iter().all(|remark| said.contains(remark)), "{args:?}: {said}");
        assert_eq!(said.lines().filter(|line| line.contains("instead of")).count(), remarks.len(), "{args:?}: {said}");
    }
}

#[test]
fn variables_that_are_no_settings_are_said() {
    let home = folder(&[("a.md", "# A\n\nwords\n")]);
    let with = |name: &str, value: &str| {
        let (code, _, err) = finish(program(home.path()).args(["chunk", "a.md"]).env(name, value).output().unwrap());
        assert_eq!(code, 0, "{err}");
        err
    };
    let err = with("CHUNKMILL_MAXX", "3");
    assert!(err.contains("CHUNKMILL_MAXX is no setting and is ignored; did you mean `CHUNKMILL_MAX`?"), "{err}");
    assert!(with("CHUNKMILL_EMBEDING_CACHE", "off").contains("did you mean `CHUNKMILL_EMBEDDING_CACHE`?"));
    for (name, value) in [("CHUNKMILL_MAX", "90"), ("CHUNKMILL_REQUIRE_ALL", "1"), ("CHUNKMILL_ANSWER_API_KEY", "x")] {
        assert_eq!(with(name, value), "", "{name}");
    }
}

#[test]
fn documents_that_leave_are_named_and_most_of_them_only_on_request() {
    let home = folder(&[("one/a.md", "# A\n"), ("one/b.md", "# B\n"), ("one/c.md", "# C\n"), ("two/x.md", "# X\n")]);
    let home = home.path();
    let index = |args: &[&str]| run(home, &[&["index", "-o", "out"], &FAKE[..], args].concat());
    assert_eq!(index(&["one", "two"]).0, 0);
    let (code, out, err) = index(&["one/a.md", "one/b.md", "two"]);
    assert!(code == 0 && out.contains("deleted    c.md, which the corpus no longer has"), "{out}{err}");
    let before = tree(&home.join("out"));
    for args in [&["one/a.md"][..], &["two"], &["two", "--fresh"], &["docs=one", "two"]] {
        let (code, out, err) = index(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(
            err.contains("the dataset has 3 documents, and 2 of them would be deleted")
                && err.contains("--allow-shrink"),
            "{err}"
        );
        assert!(tree(&home.join("out")) == before, "{args:?}: nothing is written");
    }
    let plan = [&["plan", "-o", "out", "two"], &FAKE[..]].concat();
    let (code, _, err) = run(home, &plan);
    assert!(code == 2 && err.contains("a.md, b.md"), "{err}");
    let (out, _) = ok(home, &[&plan[..], &["--allow-shrink"]].concat());
    assert!(out.contains("2 deleted since") && out.contains("  delete     a.md, b.md"), "{out}");
    // Half of the documents is not more than half.
    assert_eq!(index(&["one/a.md", "two"]).0, 0);
    let (code, out, err) = index(&["two", "--json"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(json_lines(&out)[0]["changes"]["deleted"], serde_json::json!({"count": 1, "first": ["a.md"]}));
    let (code, _, err) = index(&["one", "--allow-shrink"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(ok(home, &["verify", "out", "--corpus", "one"]).0.lines().count(), 1);
    // In a job of pieces, the plan is what is asked.
    let (out, _) = ok(home, &[&["plan", "-o", "out", "two", "--shards", "1", "--allow-shrink"], &FAKE[..]].concat());
    fs::write(home.join("plan.json"), out).unwrap();
    ok(home, &["run", "--plan", "plan.json", "--shard", "1/1", "-o", "out"]);
    let (out, _) = ok(home, &["commit", "--plan", "plan.json", "-o", "out"]);
    assert!(out.contains("deleted    a.md, b.md, c.md, which the corpus no longer has"), "{out}");
}

#[test]
fn files_of_other_types_are_counted_and_listed_but_not_those_that_were_excluded() {
    let files =
        [("docs/a.md", "# A"), ("docs/b.xml", "x"), ("docs/c/d.XML", "x"), ("docs/e.py", "x"), ("docs/README", "x")];
    let home = folder(&files);
    let home = home.path();
    write(home, "docs/.gitignore", b"*.py\n");
    let said = "  left out   3 files of other types: 2 xml, 1 without extension";
    let (out, _) = ok(home, &["plan", "docs", "-o", "out", "--embedder", "fake"]);
    assert!(out.contains(said) && !out.contains("b.xml"), "{out}");
    let (out, _) = ok(home, &["plan", "docs", "-o", "out", "--embedder", "fake", "-v"]);
    assert!(out.contains("  leave out  README\n  leave out  b.xml\n  leave out  c/d.XML\n"), "{out}");
    assert!(out.contains("  new        a.md\n"), "{out}");
    let (out, _) = ok(home, &["index", "docs", "-o", "out", "--embedder", "fake"]);
    assert!(out.contains(said) && out.contains("`--include` names what to index"), "{out}");
    let (out, _) =
        ok(home, &["index", "docs", "-o", "out", "--embedder", "fake", "--json", "--exclude", "README,*.xml"]);
    assert_eq!(json_lines(&out)[0]["other_files"]["count"], 0);
    // Files that are below two roots are counted once.
    let (out, _) = ok(home, &["index", "docs", "docs/c", "-o", "twice", "--embedder", "fake", "--json"]);
    assert_eq!(
        json_lines(&out)[0]["other_files"],
        serde_json::json!({
            "count": 3, "types": {"": 1, "xml": 2}, "first": ["README", "b.xml", "c/d.XML"],
        })
    );
}

#[test]
fn an_update_says_what_it_changes_and_nobody_hears_it_with_q() {
    let text = |name: &str| format!("# {name}\n\nWords of {name}.\n");
    let home = folder(&[("docs/a.md", &text("a")), ("docs/b.md", &text("b")), ("docs/c.md", &text("c"))]);
    let home = home.path();
    let index = ["index", "docs", "-o", "out", "--embedder", "fake"];
    let (out, _) = ok(home, &index);
    assert!(!out.contains(" new, "), "nothing to compare with: {out}");
    write(home, "docs/b.md", (text("b") + "\n# B2\n\nMore.\n").as_bytes());
    write(home, "docs/d.md", text("d").as_bytes());
    fs::remove_file(home.join("docs/c.md")).unwrap();
    for files in ["--files=1", "--files=7"] {
        let (out, _) = ok(home, &[&["plan"], &index[1..], &[files, "-v"]].concat());
        assert!(out.contains("1 new, 1 changed, 1 unchanged; 1 deleted since"), "{out}");
        assert!(out.contains("  new        d.md\n  change     b.md\n  delete     c.md\n"), "{out}");
    }
    let (out, err) = ok(home, &[&index[..], &["-v"]].concat());
    let wanted = "  documents  1 new, 1 changed, 1 deleted; chunks: 2 added, 2 removed, 1 kept\n";
    assert!(out.contains(wanted), "{out}");
    assert!(err.contains("changed: b.md"), "{err}");
    let (out, _) = ok(home, &index);
    assert!(out.contains("  documents  0 new, 0 changed, 0 deleted; chunks: 0 added, 0 removed, 3 kept\n"), "{out}");
    // Other settings change chunks, not documents.
    let (out, _) = ok(home, &[&index[..], &["--preset", "fixed", "--max", "9", "--files", "3"]].concat());
    assert!(out.contains("  documents  0 new, 0 changed, 0 deleted; chunks: ") && !out.contains(" 0 removed"), "{out}");
    assert_eq!(ok(home, &[&index[..], &["-q"]].concat()), (String::new(), String::new()));
    assert!(!ok(home, &[&index[..], &["-q", "--json"]].concat()).0.is_empty(), "it was asked for");
}

#[test]
fn a_file_that_was_refused_before_counts_by_its_content() {
    let home = folder(&[("docs/a.md", "# A\n\nWords of a.\n")]);
    let home = home.path();
    write(home, "docs/b.md", b"caf\xE9");
    let index = ["index", "docs", "-o", "out", "--embedder", "fake", "--json", "--files", "1"];
    let changes = |args: &[&str]| {
        let (_, out, err) = run(home, &[&index[..], args].concat());
        let summary = json_lines(&out).into_iter().next().unwrap_or_else(|| panic!("{err}"));
        ["new", "changed", "unchanged"].map(|key| match &summary["changes"][key] {
            serde_json::Value::Number(count) => count.as_u64(),
            list => list["count"].as_u64(),
        })
    };
    changes(&[]);
    // Each time, the only part is built again.
    write(home, "docs/a.md", b"# A\n\nOther words.\n");
    assert_eq!(changes(&[]), [Some(0), Some(1), Some(1)]);
    let (plan, _) = ok(home, &["plan", "docs", "-o", "out", "--embedder", "fake", "--max", "99", "--files", "1"]);
    assert!(plan.contains("0 new, 0 changed, 2 unchanged"), "{plan}");
    write(home, "docs/b.md", b"again caf\xE9");
    assert_eq!(changes(&[]), [Some(0), Some(1), Some(1)]);
    write(home, "docs/b.md", b"again");
    assert_eq!(changes(&[]), [Some(0), Some(1), Some(1)]);
    // A file that other settings refuse is new with those that take it.
    write(home, "docs/s.md", "word ".repeat(999).as_bytes());
    changes(&["--max-file-size", "2000"]);
    assert_eq!(changes(&["--max-file-size", "2000"]), [Some(0), Some(0), Some(2)]);
    assert_eq!(changes(&[])[0], Some(1));
}

#[test]
fn the_summary_says_what_the_model_sees_and_what_helps_against_truncation() {
    let home = folder(&[("docs/a.md", &"word ".repeat(900))]);
    let index = |args: &[&str]| ok(home.path(), &[&["index", "docs", "--embedder", "fake"], args].concat()).0;
    let windows = ["--preset", "windows", "--max", "400", "--target", "400"];
    assert!(index(&[&["-o", "windows"], &windows[..]].concat()).contains("; lower --max (about 2"));
    for (at, args) in [&[][..], &["--max", "100"], &["--context", "full", "--preset", "ragdocs"]].iter().enumerate() {
        let out = format!("out{at}");
        let first = index(&[&["-o", &out], *args].concat());
        let again = index(&[&["-o", &out], *args].concat());
        assert!(first.contains("with names and headings shown to the model"), "{first}");
        assert!(again.contains("with names and headings shown to the model"), "{again}");
        // The advice is for who has just begun.
        assert_eq!(first.contains("chunkmill-eval recommend"), args.is_empty(), "{first}");
        assert!(!again.contains("chunkmill-eval recommend"), "{again}");
    }
}

#[test]
fn an_output_that_is_the_corpus_or_nothing_is_a_usage_error() {
    let home = folder(&[("docs/a.md", "# A\n"), ("set/corpus/a.md", "# A\n")]);
    let home = home.path();
    let before = tree(home);
    for out in ["docs", "docs/", "./docs/../docs"] {
        let (code, _, err) = run(home, &[&["index", "docs", "-o", out], &FAKE[..]].concat());
        assert!(code == 2 && err.contains("is both corpus and output") && err.contains("-o OUT"), "{code}: {err}");
    }
    for command in [
        &["index", "docs", "-o", ""][..],
        &["index", "", "-o", "out"],
        &["plan", "docs", "-o", ""],
        &["run", "--plan", "p", "--shard", "1/1", "-o", ""],
        &["run", "--plan", "", "--shard", "1/1", "-o", "out"],
        &["commit", "--plan", "p", "-o", ""],
        &["search", "", "question"],
        &["stats", ""],
        &["verify", ""],
        &["gc", ""],
        &["promote", "", "a.md", "x"],
        &["delete", "", "a.md"],
    ] {
        let (code, _, err) = run(home, command);
        assert_eq!(code, 2, "{command:?}: {err}");
    }
    assert!(tree(home) == before, "nothing is left in the working folder");
}

#[test]
fn compressed_tables_are_read() {
    let home = TempDir::new().unwrap();
    let text = format!("# A\n\n{}\n", "word ".repeat(500));
    let table = crate::cli::filter::table(&[
        ("doc_id", crate::cli::filter::strings(&["a.md"])),
        ("text", crate::cli::filter::strings(&[&text])),
    ]);
    let filter = |codec: Option<CompressionType>| {
        let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &table.schema(), options).unwrap();
        writer.write(&table).unwrap();
        write(home.path(), "in.arrow", &writer.into_inner().unwrap());
        let input = fs::File::open(home.path().join("in.arrow")).unwrap();
        let output = program(home.path()).arg("filter").stdin(input).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{codec:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let plain = filter(None);
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        assert!(filter(Some(codec)) == plain, "{codec:?}");
    }
}

#[test]
fn the_short_name_of_a_cached_model_is_enough() {
    let home = folder(&[("docs/a.md", "# A\n\nwords\n")]);
    let snapshot = "cache/models--team--Tiny-Model/snapshots/0123456789abcdef0123456789abcdef01234567";
    Tiny::new("bert", 32, 2).write(&home.path().join(snapshot));
    write(home.path(), "cache/models--team--Tiny-Model/refs/main", b"0123456789abcdef0123456789abcdef01234567");
    let index = |model: &str| {
        let mut command = program(home.path());
        command.args(["index", "docs", "-o", "out", "--fresh", "--model", model]);
        finish(command.env("HF_HUB_CACHE", home.path().join("cache")).env("HF_HUB_OFFLINE", "1").output().unwrap())
    };
    for model in ["team/Tiny-Model", "Tiny-Model", "tiny-model", "Tiny-Model@main"] {
        let (code, out, err) = index(model);
        assert!(code == 0 && out.contains("team/Tiny-Model"), "{model}: {out}{err}");
    }
    // A known model has its full name even where it is not.
    let (code, _, err) = index("all-MiniLM-L6-v2");
    assert!(code != 0 && err.contains("sentence-transformers/all-MiniLM-L6-v2"), "{err}");
    let (code, _, err) = index("tiny");
    assert!(code != 0 && !err.contains("team/"), "{err}");
}
