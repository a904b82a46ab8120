//! The book's table of what a change of settings rebuilds: each row is what happens, and none is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use arrow::array::{Array, AsArray};
use chunkmill::chunk::Context;
use chunkmill::config::settings;
use chunkmill::dataset::{Dataset, Table};
use chunkmill::embed::Dialect;
use chunkmill::setting::Rebuild;
use rayon::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{finish, folder, program, tree, write};
use crate::tiny::{SparseQueries, TINY_DIM, Tiny};
use crate::vendor::{KEY, Vendor};

/// Returns what the definition of each setting says.
fn promised() -> BTreeMap<String, Rebuild> {
    let name = |table: &str, key: &str| if table.is_empty() { key.to_owned() } else { format!("[{table}] {key}") };
    settings().into_iter().map(|(table, setting)| (name(table, setting.key), setting.rebuild)).collect()
}

/// For each setting, a settings file, and the new value of that setting alone.
const CHANGES: [(&str, &str, &str); 99] = [
    ("[corpus] include", "", "['**/*.md', '**/*.html', '**/*.ipynb']"),
    ("[corpus] exclude", "", "['code.md']"),
    ("[corpus] text_column", "", "'body'"),
    // The table has no column of this name.
    ("[corpus] id_column", "[corpus]\ntext_column = 'body'", "'number'"),
    ("[corpus] attachments", "", "true"),
    ("[corpus] hidden", "", "false"),
    ("[corpus] max_file_size", "", "1000"),
    ("[corpus] security", "", "'strict'"),
    ("[corpus] allow_blocked", "[corpus]\nsecurity = 'strict'", "true"),
    ("[corpus] drop_duplicates", "", "'near=0.9'"),
    ("[corpus] skip_boilerplate", "", "2"),
    ("[corpus] html", "", "'whole'"),
    ("[corpus] notebook_outputs", "", "true"),
    ("[corpus] text_growth", "", "100"),
    ("[corpus] document_memory", "", "12000"),
    ("[chunking] preset", "", "'docs'"),
    ("[chunking] strategy", "", "'recursive'"),
    ("[chunking] unit", "", "'words'"),
    ("[chunking] token_estimator", "", "'tiktoken'"),
    ("[chunking] min", "", "5"),
    ("[chunking] target", "[chunking]\nstrategy = 'section'\nmax = 200", "100"),
    ("[chunking] max", "", "300"),
    ("[chunking] overlap", "[chunking]\nmax = 300", "5"),
    ("[chunking] parent_headers", "", "false"),
    ("[chunking] context", "", "'headings'"),
    ("[chunking] pooling", "", "'late'"),
    ("[chunking] respect_boundaries", "[chunking]\nstrategy = 'semantic'", "false"),
    ("[chunking] include_code", "[chunking]\nstrategy = 'semantic'", "false"),
    ("[chunking] include_tables", "[chunking]\nstrategy = 'semantic'", "false"),
    ("[chunking] cut_oversized", "", "true"),
    ("[chunking] sentence_overlap", "", "true"),
    ("[chunking] normalize_whitespace", "", "true"),
    ("[chunking] normalize_unicode", "", "true"),
    ("[chunking] redact_urls", "", "true"),
    ("[chunking] encoding", "", "'o200k_base'"),
    ("[chunking] base_url", "", "'https://example.org/docs'"),
    ("[embedding] model", "[embedding]\nmodel = '../tiny'", "'../other'"),
    ("[embedding] embedder", "[embedding]\nmodel = '../tiny'", "'candle'"),
    ("[embedding] precision", "[embedding]\nmodel = '../tiny'\nembedder = 'cpu'", "'int8'"),
    ("[embedding] dimensions", "[embedding]\nmodel = '../tiny'\nforce_dimensions = true", "8"),
    ("[embedding] force_dimensions", "", "true"),
    ("[embedding] query_model", "[embedding]\nmodel = '../tiny'", "'../pair'"),
    ("[embedding] sparse_model", "[embedding]\nmodel = '../tiny'", "'../sparse'"),
    ("[embedding] cpu_isa", "[embedding]\nmodel = '../tiny'\nprecision = 'f32'", "'portable'"),
    ("[embedding] batch_tokens", "[embedding]\nmodel = '../tiny'", "16"),
    ("[embedding] deny_truncation", "", "true"),
    ("[embedding] cache", "", "'elsewhere'"),
    ("[embedding] cache_size", "", "50000000"),
    // Each is tried at a service.
    ("[service] endpoint", "", "'OTHER'"),
    ("[service] dialect", "", "'openai'"),
    ("[service] tokenizer", "[service]\ntext_tokens = 9000", "'../tiny'"),
    ("[service] text_tokens", "", "100"),
    ("[service] document_prefix", "", "'passage: '"),
    ("[service] query_prefix", "", "'query: '"),
    ("[service] requests", "", "7"),
    ("[service] batch_texts", "", "7"),
    ("[service] requests_per_minute", "", "1000000"),
    ("[service] tokens_per_minute", "", "1000000000"),
    ("[service] request_timeout", "", "77"),
    ("[service] price", "", "0.02"),
    ("[service] max_tokens", "", "1000000"),
    ("[service] max_cost", "[service]\nprice = 1", "7"),
    ("[output] files", "", "3"),
    ("[output] embedding_type", "", "'f16'"),
    ("[output] float_encoding", "", "'plain'"),
    ("[search] mode", "", "'hybrid'"),
    ("[search] rrf_k", "", "7"),
    ("[search] vector_weight", "", "7"),
    ("[search] keyword_weight", "", "7"),
    ("[search] recency_weight", "", "7"),
    ("[search] graph_weight", "", "7"),
    ("[search] depth", "", "7"),
    ("[search] graph_seeds", "", "7"),
    ("[search] content_weight", "", "7"),
    ("[search] headings_weight", "", "7"),
    ("[search] tags_weight", "", "7"),
    ("[search] aliases_weight", "", "7"),
    ("[search] fusion", "", "'rrf'"),
    ("[search] vector_share", "", "0.7"),
    ("[search] sparse_share", "", "0.7"),
    ("[search] sparse_weight", "", "7"),
    ("[search] document_weight", "", "7"),
    ("[search] neighbour_weight", "", "7"),
    ("[search] language", "", "'en'"),
    ("[search] title_weight", "", "7"),
    ("[search] path_weight", "", "7"),
    ("[search] rerank", "", "'none'"),
    ("[search] rerank_depth", "", "7"),
    ("[search] rerank_weight", "", "7"),
    ("[search] rerank_ms", "", "7"),
    ("[search] packing", "", "'rank'"),
    ("[search] least", "", "0.5"),
    ("[search] search_cache", "", "'elsewhere'"),
    ("[answer] endpoint", "", "'http://localhost:1/v1'"),
    ("[answer] model", "", "'other'"),
    ("[answer] max_tokens", "", "7"),
    ("[answer] timeout", "", "7"),
    ("threads", "", "1"),
    ("memory", "", "1000000000"),
];

fn corpus() -> TempDir {
    let filler = |word: &str| format!("The {word} sat on a mat, and ran. ").repeat(9);
    let code = format!(
        "# Code\n\n{}\n\n```sh\nls -l\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n## Next\n\nSome  more,   wide.\n",
        filler("cat")
    );
    let links = "# Links\n\nSee <https://example.org/?key=secret> and [code](code.md).\n\n## Cafe\u{301}\n\nAu lait.\n";
    let long: String = (0..12).map(|i| format!("## Part {i}\n\n{}\n\n{i}\n\n", filler(&format!("dog{i}")))).collect();
    let risky = "# Risky\n\n<!-- a comment that says something in secret to those who look -->\n\nText of it.\n";
    let page = "<title>Page</title><nav>Menu of all</nav><main><h1>Page</h1><p>The body of the page.</main>";
    let cell =
        r#"{"cell_type": "code", "source": "1 + 1", "outputs": [{"output_type": "stream", "text": "the sum is two"}]}"#;
    let notebook = format!(r#"{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}"#);
    // Each of its lines is indented below the lists, so its text is too long for its file.
    let deep = format!("<main>{}{}</main>", "<ul><li>".repeat(30), "<p>a".repeat(160_000));
    let mail = "Subject: Mail\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nOf a mail.\n--b\nContent-Disposition: attachment; filename=a.txt\n\nOf its file.\n--b--\n";
    let home = folder(&[
        ("docs/mail.eml", mail),
        ("docs/rows.jsonl", r#"{"body": "Of a row."}"#),
        ("docs/page.html", page),
        ("docs/book.ipynb", &notebook),
        ("docs/deep.html", &deep),
        ("docs/code.md", &code),
        ("docs/links.md", links),
        ("docs/long.md", &long),
        ("docs/risky.md", risky),
        ("docs/risky-again.md", risky),
        ("docs/.hidden.md", "# Hidden\n\nUnder a stone.\n"),
        ("docs/more.rst", "Another\n\nkind of text.\n"),
    ]);
    for (name, _) in tree(home.path()) {
        let file = File::options().write(true).open(home.path().join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    }
    crate::common::tiny_model(&home.path().join("tiny"));
    Tiny { inner: 40, layers: 1, max_tokens: 12, ..Tiny::new("bert", 32, 2) }.write(&home.path().join("other"));
    Tiny { layers: 1, ..Tiny::new("bert", TINY_DIM, 4) }.write(&home.path().join("pair"));
    Tiny { layers: 1, ..Tiny::new("bert", 32, 2) }.write_sparse(
        &home.path().join("sparse"),
        ["max", "relu"],
        SparseQueries::Table,
    );
    home
}

/// Returns a settings file with one more value in its table.
fn with(settings: &str, setting: &str, value: &str) -> String {
    let mut tables: toml::Table = settings.parse().unwrap();
    let (table, key) = setting.split_once("] ").unwrap_or(("[", setting));
    let value: toml::Table = format!("{key} = {value}").parse().unwrap();
    let into = match &table[1..] {
        "" => &mut tables,
        table => tables.entry(table).or_insert_with(|| toml::Table::new().into()).as_table_mut().unwrap(),
    };
    into.extend(value);
    tables.to_string()
}

/// One setting's own folder next to the corpus.
struct Place<'a> {
    home: &'a Path,
    settings: String,
}

impl Place<'_> {
    fn index(&self, settings: &str, out: &str, cache: bool) -> Value {
        let folder = self.home.join(&self.settings);
        // Few files, so none is empty.
        let files =
            if settings.contains("files =") { settings.to_owned() } else { with(settings, "[output] files", "2") };
        write(&folder, "chunkmill.toml", files.as_bytes());
        let mut command = program(&folder);
        // Named by the user, it may name a cache.
        command.env("CHUNKMILL_CONFIG", "chunkmill.toml").env("CHUNKMILL_API_KEY", KEY);
        command.args(["index", "../docs", "-o", out, "--json"]);
        if cache {
            // The settings file names the cache, if that is the setting under test.
            command.env_remove("CHUNKMILL_EMBEDDING_CACHE").env("XDG_CACHE_HOME", folder.join("cache"));
        }
        let tables: toml::Table = settings.parse().unwrap();
        if tables.get("embedding").is_none_or(|embedding| embedding.get("model").is_none()) {
            command.env("CHUNKMILL_EMBEDDER", "fake");
        }
        let (code, report, err) = finish(command.output().unwrap());
        assert!(code == 0 || code == 3, "{}: {settings}: {err}", self.settings);
        serde_json::from_str(&report).unwrap()
    }

    fn snapshot(&self, out: &str) -> Snapshot {
        let root = self.home.join(&self.settings).join(out);
        let dataset = Dataset::open(&root).unwrap();
        let context = dataset.manifest().spec.settings.context == Some(Context::Headings);
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for file in dataset.files(Table::Documents) {
            for batch in dataset.read(file, &["doc_id"], None).unwrap().map(Result::unwrap) {
                texts.extend(
                    batch.column(0).as_string::<i32>().iter().map(|id| (id.unwrap().to_owned(), BTreeSet::new())),
                );
            }
        }
        for file in dataset.files(Table::Chunks) {
            let columns = ["doc_id", "header_path", "content", "normalized_content"];
            for batch in dataset.read(file, &columns, None).unwrap().map(Result::unwrap) {
                let [ids, paths, contents, normalized] =
                    [0, 1, 2, 3].map(|column| batch.column(column).as_string::<i32>());
                for row in 0..batch.num_rows() {
                    let shown = if normalized.is_valid(row) { normalized.value(row) } else { contents.value(row) };
                    let above = if context && !paths.value(row).is_empty() {
                        format!("{}\n\n", paths.value(row))
                    } else {
                        String::new()
                    };
                    let text = format!("{above}{shown}").to_lowercase();
                    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
                    let read = words.take(255).collect::<Vec<_>>().join(" ");
                    texts.get_mut(ids.value(row)).unwrap().insert(read);
                }
            }
        }
        Snapshot { texts, files: tree(&root).into_iter().collect() }
    }
}

struct Snapshot {
    /// The texts as the fake model sees them, by document: words in lower case, up to its limit.
    texts: BTreeMap<String, BTreeSet<String>>,
    files: BTreeMap<String, Vec<u8>>,
}

impl Snapshot {
    fn all_texts(&self) -> BTreeSet<&String> {
        self.texts.values().flatten().collect()
    }

    /// Returns the tables' files with their bytes.
    fn tables(&self) -> Vec<(&String, &Vec<u8>)> {
        self.files.iter().filter(|(name, _)| name.starts_with("data/")).collect()
    }

    fn chunk_files(&self) -> BTreeSet<&String> {
        self.files.keys().filter(|name| name.starts_with("data/chunks/")).collect()
    }
}

/// Changes one setting of a dataset. Fails with a description of what differs from the table.
fn try_change(home: &Path, setting: &str, before: &str, after: &str, promise: Rebuild) -> Result<(), String> {
    let place = Place { home, settings: setting.replace(['[', ']', ' '], "_") };
    let first = place.index(before, "out", true);
    let old = place.snapshot("out");
    let report = place.index(after, "out", true);
    let new = place.snapshot("out");
    place.index(after, "fresh", false);
    if place.snapshot("fresh").files != new.files {
        return Err("the bytes are not those of a run from scratch".to_owned());
    }
    let number = |key: &str| usize::try_from(report[key].as_u64().unwrap()).unwrap();
    let [embedded, cached, kept, chunks] = ["texts_embedded", "texts_cached", "chunks_reused", "chunks"].map(number);
    let (old_texts, new_texts) = (old.all_texts(), new.all_texts());
    let shared = new_texts.intersection(&old_texts).count();
    let came: BTreeSet<&String> =
        new.texts.iter().filter(|(id, _)| !old.texts.contains_key(*id)).flat_map(|(_, texts)| texts).collect();
    let all_kept = kept == chunks && embedded + cached == 0;
    let kept_files = old.chunk_files().intersection(&new.chunk_files()).count();
    let right = match promise {
        // The dataset must record which model reads queries.
        Rebuild::Nothing if ["[embedding] query_model", "[service] query_prefix"].contains(&setting) => {
            all_kept && old.tables() == new.tables() && old.files != new.files
        }
        Rebuild::Nothing => all_kept && old.files == new.files,
        Rebuild::Documents => {
            embedded == came.len()
                && cached == 0
                && old.texts.keys().ne(new.texts.keys())
                && kept_files > 0
                && kept_files < new.chunk_files().len()
        }
        Rebuild::Files => all_kept && kept_files == 0 && old.texts == new.texts,
        Rebuild::Chunks => (embedded, cached, kept) == (new_texts.len() - shared, shared, 0) && kept_files == 0,
        // Only texts that are cut elsewhere are sent.
        Rebuild::Vectors if setting == "[service] text_tokens" => {
            let all = report["texts_embedded"].as_u64().unwrap() + report["texts_cached"].as_u64().unwrap();
            embedded > 0 && cached > 0 && kept == 0 && first["texts_embedded"] == all
        }
        // Only two documents have the same paragraph.
        Rebuild::Vectors if setting == "[corpus] skip_boilerplate" => {
            embedded == 1 && cached == 0 && kept == chunks - 2 && old.texts == new.texts
        }
        // The vectors of the model itself are in the cache.
        Rebuild::Vectors if ["[embedding] sparse_model", "[service] tokenizer"].contains(&setting) => {
            let same = report["texts_cached"] == first["texts_embedded"] && old.texts == new.texts;
            same && cached > 0 && (embedded, kept, kept_files) == (0, 0, 0)
        }
        Rebuild::Vectors => {
            let again = report["texts_embedded"] == first["texts_embedded"];
            again && embedded > 0 && (cached, kept, kept_files) == (0, 0, 0) && old.texts == new.texts
        }
    };
    let said = format!(
        "is not `{}`: of {chunks} chunks {kept} kept, {embedded} texts embedded, {cached} cached, {} came, {shared} of {} \
         were there, {kept_files} files stayed",
        promise.name(),
        came.len(),
        new_texts.len()
    );
    if right { Ok(()) } else { Err(said) }
}

#[test]
fn every_setting_of_the_program_is_tried() {
    let promised: BTreeSet<String> = promised().into_keys().collect();
    let mut tried: BTreeSet<String> = CHANGES.iter().map(|(setting, _, _)| (*setting).to_owned()).collect();
    assert_eq!(tried.len(), CHANGES.len());
    // The device of a model can be changed only where there is a GPU.
    tried.insert("[embedding] device".to_owned());
    assert_eq!(tried, promised);
}

#[test]
fn a_change_of_any_setting_makes_again_what_the_table_says_and_nothing_else() {
    let home = corpus();
    let promised = promised();
    let [vendor, other] = [Dialect::OpenAi; 2].map(Vendor::start);
    let try_one = |(setting, before, value): &(&str, &str, &str)| {
        let mut before = match before.find("strategy") {
            Some(_) => (*before).to_owned(),
            None => with(before, "[chunking] preset", "'ragdocs'"),
        };
        if setting.starts_with("[service]") {
            let endpoint = format!("'{}'", vendor.endpoint);
            let service = [
                ("[embedding] embedder", "'remote'"),
                ("[embedding] model", "'tiny'"),
                ("[service] endpoint", &endpoint),
            ];
            before = service.into_iter().fold(before, |settings, (name, value)| with(&settings, name, value));
        }
        let after = with(&before, setting, &value.replace("OTHER", &other.endpoint));
        let result = try_change(home.path(), setting, &before, &after, promised[*setting]);
        result.err().map(|problem| format!("{setting} = {value}: {problem}"))
    };
    let wrong: Vec<String> = CHANGES.par_iter().filter_map(try_one).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_table_says_beside_its_rows_is_true_too() {
    let home = corpus();
    let model = home.path().join("tiny");
    for (name, bytes) in tree(&model) {
        write(&home.path().join("renamed"), &name, &bytes);
    }
    let tiny = "[embedding]\nmodel = '../tiny'\n";
    for (name, before, after, promise) in [
        ("same-preset", "", "[chunking]\npreset = 'structure'", Rebuild::Nothing),
        ("same-unit", "[chunking]\nunit = 'chars'", "[chunking]\ntoken_estimator = 'chars'", Rebuild::Nothing),
        (
            "unread",
            "[chunking]\nstrategy = 'heading'",
            "[chunking]\nstrategy = 'heading'\nmin = 7\ntarget = 9",
            Rebuild::Nothing,
        ),
        ("renamed-model", tiny, "[embedding]\nmodel = '../renamed'\n", Rebuild::Files),
        ("to-list", "", "[output]\nembedding_type = 'list'", Rebuild::Files),
        ("to-small", "", "[output]\nembedding_type = 'f32,int8,bits'", Rebuild::Files),
        ("to-bits", "[output]\nembedding_type = 'f16,bits'", "[output]\nembedding_type = 'bits'", Rebuild::Files),
        ("from-list", "[output]\nembedding_type = 'list'", "[output]\nembedding_type = 'f16'", Rebuild::Files),
    ] {
        assert_eq!(try_change(home.path(), name, before, after, promise), Ok(()), "{name}");
    }
    // Lost digits are not restored.
    let place = Place { home: home.path(), settings: "from-f16".to_owned() };
    place.index("[output]\nembedding_type = 'f16'", "out", true);
    let report = place.index("", "out", true);
    assert_eq!((&report["chunks_reused"], &report["texts_embedded"]), (&0.into(), &0.into()));
    assert_eq!(report["texts_cached"], place.snapshot("out").all_texts().len());
    place.index("", "fresh", false);
    assert!(place.snapshot("out").files == place.snapshot("fresh").files);
}
