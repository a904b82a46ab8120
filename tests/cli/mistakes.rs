//! Messages about things that do not exist: printed once, with what to do and with what was probably meant.

use chunkmill::chunk::{Preset, Spec, Strategy};
use chunkmill::value::{count, nearest, noun};

use crate::common::{finish, folder, json_lines, program, run, tree, write};

#[test]
fn a_name_that_is_none_is_answered_with_all_and_the_nearest() {
    for (written, meant) in
        [("ragdoc", "ragdocs"), ("heading", "heading-tokens"), ("Docs", "docs"), ("strcuture", "structure")]
    {
        let said = written.parse::<Preset>().unwrap_err();
        let suggested = format!("`{written}` is not a preset; did you mean `{meant}`? One of: ragdocs, ");
        assert!(said.starts_with(&suggested), "{said}");
    }
    let said = "sideways".parse::<Strategy>().unwrap_err();
    assert!(said.contains("a strategy; one of: ") && !said.contains("did you mean"), "{said}");
    let names = ["max", "min", "max-file-size", "mode"];
    for (written, meant) in
        [("mx", Some("max")), ("max-f", Some("max-file-size")), ("mxa", Some("max")), ("m", None), ("zzz", None)]
    {
        assert_eq!(nearest(written, names), meant, "{written}");
    }
}

#[test]
fn a_noun_follows_its_number() {
    assert_eq!([0_u64, 1, 2].map(|number| count(number, "document")), ["0 documents", "1 document", "2 documents"]);
    assert_eq!([1_usize, 30].map(|number| count(number, "query")), ["1 query", "30 queries"]);
    assert_eq!(
        [-1_i64, 1].map(|number| count(number, "synthetic query")),
        ["-1 synthetic queries", "1 synthetic query"]
    );
    assert_eq!(count(2_u32, "way"), "2 ways", "after a vowel, y stays");
    assert_eq!([1_u64, 1000].map(|number| noun(number, "token")), ["token", "tokens"]);
}

/// For every enumeration that a flag takes, a typo is answered with the intended name.
#[test]
fn every_enumeration_suggests() {
    let home = folder(&[("doc.md", "x\n")]);
    for (args, meant) in [
        (&["chunk", "doc.md", "--preset", "ragdosc"][..], "ragdocs"),
        (&["chunk", "doc.md", "--strategy", "windws"], "windows"),
        (&["chunk", "doc.md", "--unit", "token"], "tokens"),
        (&["chunk", "doc.md", "--token-estimator", "byte"], "bytes"),
        (&["chunk", "doc.md", "--security", "strikt"], "strict"),
        (&["chunk", "doc.md", "--device", "cpus"], "cpu"),
        (&["chunk", "doc.md", "--embedder", "candel"], "candle"),
        (&["chunk", "doc.md", "--precision", "f23"], "f32"),
        (&["chunk", "doc.md", "--precision", "auot"], "auto"),
        (&["chunk", "doc.md", "--cpu-isa", "avx"], "avx2"),
        (&["search", "out", "q", "--mode", "keywords"], "keyword"),
        (&["search", "out", "q", "--show", "document"], "documents"),
        (&["schema", "--embedding-type", "f61"], "f16"),
        (&["index", "doc.md", "-o", "out", "--float-encoding", "plan"], "plain"),
        (&["index", "doc.md", "-o", "out", "--progress", "jsn"], "json"),
        (&["explain", "doc.md", "--compare=ragdoc"], "ragdocs"),
        (&["explain", "doc.md", "--compare=header maxx=3"], "max"),
    ] {
        let (code, _, err) = run(home.path(), args);
        assert!(code == 2 && err.contains(&format!("did you mean `{meant}`?")), "{args:?}: {err}");
    }
}

#[test]
fn a_mistyped_flag_suggests_the_nearest_and_not_the_longest() {
    let home = folder(&[("doc.md", "x\n")]);
    for (written, meant) in [
        ("--mx", "--max"),
        ("--maxx", "--max"),
        ("--presett", "--preset"),
        ("--max-file", "--max-file-size"),
        ("--quite", "--quiet"),
        ("--max-tokens", "--max"),
    ] {
        let (code, _, err) = run(home.path(), &["chunk", "doc.md", written, "3"]);
        assert_eq!(code, 2);
        assert!(err.contains(&format!("'{meant}'")), "{written}: {err}");
        let flags = ["--max-file-size", "--max'", "--preset", "--quiet"].into_iter().filter(|flag| err.contains(flag));
        assert_eq!(flags.count(), 1, "{written}: {err}");
        assert!(err.contains("Usage: chunkmill chunk [OPTIONS] <PATH>..."), "{err}");
        assert!(!err.contains("as a value"), "{err}");
    }
}

/// A command line, its exit code, and words of the answer: what is wrong, and what to do.
type Mistake = (&'static str, u8, &'static [&'static str]);

/// Makes each mistake in a folder that has a dataset, and compares the answers.
fn assert_answered(mistakes: &[Mistake]) {
    let home = folder(&[
        ("docs/a.md", "# A\n\nhello\n"),
        ("docs/b.md", "# B\n\nworld\n"),
        ("plan.json", "no json"),
        ("file", "x\n"),
        ("typo.toml", "[chunking]\nmaxx = 3\n"),
        ("type.toml", "[chunking]\nmax = \"ten\"\n"),
        ("syntax.toml", "[chunk\n"),
        ("outside.toml", "max = 3\n"),
        ("theirs.toml", "chunk_size = 3\n"),
        ("near.toml", "[chunking]\nchunk_overlap = 3\n"),
        ("elsewhere.toml", "[search]\nthreads = 3\n"),
        ("page.docx", "PK\u{3}\u{4}\n"),
        ("other/a.md", "# Other\n"),
    ]);
    std::fs::create_dir(home.path().join("empty")).unwrap();
    for name in ["page.doc", "pages/page.doc"] {
        write(home.path(), name, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    }
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake", "-q"]).0, 0);
    let mut wrong = String::new();
    for &(line, code, words) in mistakes {
        let (found, out, err) = run(home.path(), &line.split(' ').collect::<Vec<_>>());
        let told = format!("{out}{err}");
        if found != i32::from(code) || !words.iter().all(|word| told.contains(word)) {
            wrong += &format!("{line}\n  wanted {code}, {words:?}\n  got {found}: {told}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn mistakes_in_what_to_index_are_answered() {
    assert_answered(&[
        ("index", 2, &["--output <OUT>", "<PATH>"]),
        ("index docs", 2, &["--output <OUT>"]),
        ("index dosc -o new", 2, &["dosc: ", "did you mean `docs`?"]),
        ("index docs out", 2, &["did you mean `-o out`?"]),
        ("index docs fresh", 2, &["did you mean `-o fresh`?"]),
        ("delete out --doc a.md", 2, &["write it without `--doc`"]),
        ("help serch", 2, &["did you mean `search`?"]),
        ("serch out x", 2, &["'search'"]),
        ("index docs/aa.md -o new", 2, &["did you mean `docs/a.md`?"]),
        ("index docs -o file", 2, &["file is a file", "new folder with -o"]),
        ("index docs/a.md other/a.md -o new --embedder fake", 2, &["same document id `a.md`", "one=DIR two=DIR"]),
        ("index empty -o new --embedder fake", 2, &["no document was found", "--include"]),
        ("index pages -o new --embedder fake", 2, &["no document was found", "convert documents of other kinds first"]),
        ("chunk page.doc", 3, &["is an Office file; convert it to Markdown or text first"]),
        ("explain page.docx", 2, &["cannot be read as a Word document", "invalid Zip archive"]),
        ("explain page.doc", 2, &["is an Office file", "convert it to Markdown or text first"]),
        ("docs -o new", 2, &["'docs'", "did you mean `chunkmill index docs …`?"]),
        ("index docs -o docs --embedder fake", 2, &["docs: is both corpus and output", "-o OUT"]),
        ("index docs -o new --precision int4", 2, &["`int4` is not a precision", "did you mean `int8`?"]),
        ("index docs -o new --device gpu", 2, &["cpu, cuda:N, metal"]),
        ("index docs -o new --dimensions 0", 2, &["`0` is not a whole number of 1 or more"]),
        ("index docs -o new --files none", 2, &["`none` is not a whole number of 1 or more"]),
        ("index docs -o new --embedding-type f8", 2, &["f32, f16"]),
    ]);
}

#[test]
fn a_run_that_fails_leaves_no_folder_behind() {
    let long = "word ".repeat(2000);
    let home = folder(&[("docs/a.md", "# A\n\nText.\n"), ("long/a.md", &long), ("full/mine.txt", "Mine.\n")]);
    std::fs::create_dir(home.path().join("empty")).unwrap();
    std::fs::create_dir(home.path().join("there")).unwrap();
    let fake = ["--embedder", "fake", "--embedding-cache", "off"];
    let index = |args: &str| run(home.path(), &[&args.split(' ').collect::<Vec<_>>()[..], &fake].concat());
    let before = tree(home.path());
    let names = |tree: &[(String, Vec<u8>)]| tree.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    for (args, code) in [
        ("index empty -o new", 2),
        ("index empty -o deep/in/new", 2),
        ("index docs -o new --exclude **/*", 2),
        ("index docs -o new --max 3 --min 9", 2),
        ("index absent -o new", 2),
        ("index long -o new --max 1000 --unit words --deny-truncation", 5),
        ("index long -o deep/in/new --max 1000 --unit words --deny-truncation", 5),
        ("index empty -o there", 2),
        ("index docs -o full", 5),
    ] {
        let (found, _, err) = index(args);
        assert_eq!(found, code, "{args}: {err}");
        assert!(tree(home.path()) == before, "{args}: {:?}", names(&tree(home.path())));
        for new in ["new", "deep"] {
            assert!(!home.path().join(new).exists(), "{args} left {new}");
        }
    }
    assert!(home.path().join("there").is_dir(), "a folder of the user stays");
    // What was there stays.
    assert_eq!(index("index docs -o deep/new").0, 0);
    let dataset = tree(&home.path().join("deep/new"));
    assert_eq!(index("index empty -o deep/new").0, 2);
    assert!(tree(&home.path().join("deep/new")) == dataset);
}

#[test]
fn mistakes_in_sizes_and_presets_are_answered() {
    assert_answered(&[
        ("chunk docs --min 100 --max 50", 2, &["min 100 is over max 50", "lower min or raise max"]),
        ("chunk docs --overlap 200 --max 100", 2, &["overlap 200", "lower overlap or raise max"]),
        ("chunk docs --max 0", 2, &["max is 0"]),
        ("chunk docs --max=-5", 2, &["`-5` is not a whole number of 0 or more"]),
        ("chunk docs --max -5", 2, &["'--max <N>'", "`-5` is not a whole number of 0 or more"]),
        ("chunk docs --chunk-size 200", 2, &["'--chunk-size'", "'--max'"]),
        ("chunk docs --chunk-overlap 20", 2, &["'--chunk-overlap'", "'--overlap'"]),
        ("chunk docs --max 1k", 2, &["'--max <N>'", "`1k` is not a whole number of 0 or more"]),
        ("chunk docs --max-size 100", 2, &["'--max-size'", "'--max'"]),
        ("chunk docs --preset markdown", 2, &["`markdown` is not a preset; one of: "]),
        ("chunk docs --preset section", 2, &["did you mean `sections`?"]),
        ("chunk docs --unit word", 2, &["did you mean `words`?"]),
        ("chunk docs --include [", 2, &["`[` is not a glob", "`guide/**/*.md`"]),
    ]);
}

#[test]
fn mistakes_in_settings_files_and_values_are_answered() {
    assert_answered(&[
        ("chunk docs --config nope.toml", 2, &["nope.toml", "name a settings file that exists"]),
        (
            "chunk docs --config theirs.toml",
            2,
            &["no setting `chunk_size`; did you mean `max` in the table [chunking]?"],
        ),
        ("chunk docs --config near.toml", 2, &["no setting `chunk_overlap` here; did you mean `overlap`?"]),
        ("chunk docs --config typo.toml", 2, &["typo.toml:2", "no setting `maxx` here; did you mean `max`?"]),
        ("chunk docs --config type.toml", 2, &["type.toml:2", "string \"ten\", expected a whole number"]),
        ("chunk docs --config syntax.toml", 2, &["syntax.toml:1", "expected `]`"]),
        ("chunk docs --config outside.toml", 2, &["outside.toml:1", "`max` belongs in the table [chunking]"]),
        ("chunk docs --config elsewhere.toml", 2, &["elsewhere.toml:2", "`threads` belongs before the first table"]),
        ("chunk docs --threads 0", 2, &["`0` is not a whole number of 1 or more"]),
        ("chunk docs --base-url example.com", 2, &["`example.com` is not a URL"]),
        ("chunk docs --parent-headers=maybe", 2, &["write true or false"]),
    ]);
}

#[test]
fn mistakes_in_searches_are_answered() {
    assert_answered(&[
        ("search out q --mode bm25", 2, &["did you mean `keyword`?"]),
        ("search out q --mode semantic", 2, &["did you mean `vector`?"]),
        ("context out q --tokens 500", 2, &["'--tokens'", "'--budget'"]),
        ("search out q --vector-share -1", 2, &["'--vector-share <A>'", "-1 is not between 0 and 1"]),
        ("serch out q", 2, &["'serch'", "'search'"]),
        ("search out", 2, &["<QUERY>"]),
        ("search ut q", 5, &["does not exist", "did you mean `out`?"]),
        ("search docs q", 5, &["docs/manifest.json: does not exist", "chunkmill index docs -o OUT"]),
        ("search out q --mode semantic", 2, &["vector, keyword, sparse, hybrid, graph"]),
        ("search out q -k ten", 2, &["`ten` is not a whole number of 1 or more"]),
        ("search out q -k 0", 2, &["`0` is not a whole number of 1 or more"]),
        ("search out q -k -1", 2, &["`-1` is not a whole number of 1 or more"]),
        ("context out q -k 0", 2, &["`0` is not a whole number of 1 or more"]),
        ("search out q --k 3", 2, &["'--k'", "'-k'"]),
        ("search out q --top 3", 2, &["'--top'", "'-k'"]),
        ("search out q --top-k 3", 2, &["'--top-k'", "'-k'"]),
        ("context out q --max-tokens 3", 2, &["'--max-tokens'", "'--budget'"]),
        ("search out how do I join?", 2, &["'do'", "put the question in quotes"]),
        ("search out ", 2, &["the question is empty"]),
        ("search q out", 2, &["q: is not a dataset, but `out` is", "the dataset comes first, then the question"]),
        ("search out q --path [", 2, &["guide/**/*.md"]),
        ("search out q --rerank-depth 0", 2, &["`0` is not a whole number of 1 or more"]),
        ("context out q --budget 0", 2, &["`0` is not a whole number of 1 or more"]),
        ("search out q --min-score high", 2, &["`high` is not a number"]),
    ]);
}

#[test]
fn mistakes_in_other_commands_are_answered() {
    assert_answered(&[
        ("gc out --older-than soon", 2, &["`soon` is not a whole number of 0 or more"]),
        ("verify out --corpus docs/b.md", 1, &["is no longer in the corpus", "chunkmill index CORPUS -o out"]),
        ("delete out", 2, &["<DOC"]),
        ("search question", 2, &["the dataset comes first: `chunkmill search DATASET \"QUESTION\"`"]),
        ("context question", 2, &["the dataset comes first: `chunkmill context DATASET \"QUESTION\"`"]),
        ("delete out nope", 2, &["no document nope", "`doc_id`"]),
        ("promote out a.md", 2, &["<LEVEL>"]),
        ("run --plan plan.json --shard 1/1 -o new", 2, &["plan.json: is not a plan", "chunkmill plan CORPUS"]),
        ("run --plan plan.json --shard 3/2 -o new", 2, &["plan.json: is not a plan"]),
        ("model check ./nope", 2, &["neither a folder nor a hub id", "owner/name[@revision]"]),
        ("explain docs", 2, &["is a folder", "name one readable document"]),
        ("explain docs/c.md", 2, &["docs/c.md", "did you mean `docs/a.md`?"]),
        ("completions tcsh", 2, &["bash, elvish, fish, powershell, zsh"]),
        ("man serch", 2, &["no command `serch`", "did you mean `search`?"]),
    ]);
}

#[test]
fn a_cause_is_said_once_with_what_to_do() {
    let home = folder(&[("doc.md", "x\n")]);
    for args in [
        &["chunk", "nope"][..],
        &["chunk", "doc.md", "--config", "nope.toml"],
        &["run", "--plan", "nope", "--shard", "1/1", "-o", "out"],
        &["commit", "--plan", "nope", "-o", "out"],
    ] {
        let (code, _, err) = run(home.path(), args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert_eq!(err.matches("No such file").count(), 1, "{args:?}: {err}");
        assert!(err.contains("nope") && err.contains("\n  help: "), "{args:?}: {err}");
    }
}

#[test]
fn without_the_hub_the_default_model_can_be_had_elsewhere() {
    let home = folder(&[]);
    for (args, told) in [(&["model", "pull"][..], true), (&["model", "pull", "owner/other"], false)] {
        let mut command = program(home.path());
        command.args(args).env("HF_HOME", home.path()).env("HF_HUB_OFFLINE", "1");
        let (code, _, err) = finish(command.output().unwrap());
        assert_eq!((code, err.contains("takes the default model from PyPI")), (5, told), "{err}");
    }
}

#[test]
fn a_maximum_with_room_for_a_word_is_legal_and_told() {
    let home = folder(&[("doc.md", "Some words of one document.\n")]);
    let said = |args: &[&str]| {
        let (code, out, err) = run(home.path(), &[&["chunk", "doc.md", "--overlap", "0", "--min", "1"], args].concat());
        assert_eq!(code, 0, "{err}");
        assert!(!json_lines(&out).is_empty());
        err
    };
    for small in [
        &["--max", "1"][..],
        &["--max", "1", "--unit", "tokens"],
        &["--max", "2", "--unit", "words"],
        &["--max", "9", "--unit", "chars"],
    ] {
        let err = said(small);
        assert!(err.contains("room for a word or two") && err.contains("--max"), "{small:?}: {err}");
        assert_eq!(run(home.path(), &[&["-q", "chunk", "doc.md", "--min", "1"], small].concat()).2, "");
    }
    for fine in [&["--max", "40"][..], &["--max", "1", "--unit", "lines"], &["--max", "8", "--unit", "tokens"]] {
        assert_eq!(said(fine), "", "{fine:?}");
    }
    // A strategy without a maximum has no small one.
    assert!(!"none".parse::<Spec>().unwrap().is_tiny());
}

#[test]
fn a_settings_file_that_is_named_stands_for_the_projects() {
    let home = folder(&[
        ("work/doc.md", "# a\n\nx\n"),
        ("work/chunkmill.toml", "[chunking]\nmax = 100\n[corpus]\nexclude = [\"*.rst\"]\n"),
        ("one.toml", "[chunking]\nmax = 200\n"),
        ("two.toml", "[chunking]\nmax = 300\n"),
        ("wrong.toml", "[chunking]\n\nmx = 1\n"),
        (".config/chunkmill/config.toml", "[chunking]\nmin = 7\n"),
    ]);
    let explain = |variable: &str, args: &[&str]| {
        let mut command = program(home.path());
        command.current_dir(home.path().join("work")).args(["explain", "doc.md"]).args(args);
        finish(command.env("CHUNKMILL_CONFIG", variable).output().unwrap())
    };
    for (variable, args, max) in [
        ("", &[][..], "max=100"),
        ("../one.toml", &[], "max=200"),
        ("../one.toml", &["--config", "../two.toml"], "max=300"),
        ("missing.toml", &["--config", "../two.toml"], "max=300"),
        ("../one.toml", &["--max", "50"], "max=50"),
    ] {
        let (code, out, err) = explain(variable, args);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains(max) && out.contains("min=7"), "the user's own still counts: {out}");
    }
    for (variable, args, problem) in [
        ("missing.toml", &[][..], "cannot read missing.toml: "),
        ("", &["--config", "missing.toml"], "cannot read missing.toml: "),
        ("", &["--config", ".."], "cannot read ..: "),
        ("", &["--config", "../wrong.toml"], "../wrong.toml:3: there is no setting `mx` here"),
    ] {
        let (code, out, err) = explain(variable, args);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(problem) && err.contains("help: "), "{err}");
    }
    // A file that the user names may choose the service that answers.
    write(home.path(), "answer.toml", b"[answer]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n");
    assert_eq!(run(home.path(), &["index", "work", "-o", "out", "--embedder", "fake"]).0, 0);
    let ask = ["answer", "out", "a", "--mode", "keyword", "--config"];
    let (code, _, err) = run(home.path(), &[&ask[..], &["answer.toml"]].concat());
    assert!(code == 5 && err.contains("127.0.0.1:9"), "{code} {err}");
}
