//! Sweeps through the program: what they measure, that they resume after an interruption, and that the evaluated
//! dataset is the one that would be shipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chunkmill::config::Options;
use chunkmill::corpus::Root;
use chunkmill::dataset::Dataset;
use chunkmill::embed::Role;
use chunkmill::job;
use chunkmill::search::{CANDIDATES, FillRule, Packing, Query, Searcher};
use chunkmill_eval::data::answers::{AnswerPlaces, DocumentPlace};
use chunkmill_eval::data::record::Record;
use chunkmill_eval::data::report::Report;
use chunkmill_eval::labels::set::LabelSet;
use tempfile::TempDir;

use crate::common::{arg, eval, write};
use crate::paged::pdf;
use crate::tiny::Tiny;

const SWEEP: &str = r#"
[defaults.embedding]
embedder = "fake"
cache = "off"

[[grid]]
strategy = ["recursive", "windows"]
unit = "tokens"
max = [60, 120]
overlap = [0, 15]
k = [3]

[[grid]]
preset = ["ragdocs"]
mode = ["hybrid"]
k = [3, 5]
"#;

fn larder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/larder")
}

fn file(folder: &TempDir, text: &str) -> PathBuf {
    let file = folder.path().join("sweep.toml");
    fs::write(&file, text).unwrap();
    file
}

fn sweep(labels: &Path, file: &Path, out: &Path, more: &[&str]) -> (i32, String, String) {
    let args = ["sweep", "--labels", arg(labels), "--sweep", arg(file), "-o", arg(out)];
    eval(&[&args, more].concat())
}

/// Questions with the text or the place of their answer, over a page, a notebook, a file with pages and Markdown.
#[test]
fn a_sweep_over_files_of_several_formats_finds_the_answers_in_each() {
    let folder = TempDir::new().unwrap();
    let notebook = r#"{"cells": [{"cell_type": "markdown", "source": "Rye is ground coarsely."}], "nbformat": 4}"#;
    let page = "<nav>All crops</nav><main><h1>Oats</h1><p>Oats are rolled &amp; dried.</main>";
    for (name, bytes) in [
        ("wheat.md", b"# Wheat\n\nWheat is ground twice.\n".to_vec()),
        ("rye.ipynb", notebook.into()),
        ("oats.html", page.into()),
        ("barley.pdf", pdf(&["Barley is malted first.", "Then barley is dried."])),
    ] {
        write(&folder.path().join("corpus"), name, &bytes);
    }
    let labels = [
        serde_json::json!({"doc_id": "wheat.md", "text": "ground twice"}),
        serde_json::json!({"doc_id": "rye.ipynb", "text": "ground coarsely"}),
        serde_json::json!({"doc_id": "oats.html", "text": "rolled & dried"}),
        serde_json::json!({"doc_id": "barley.pdf", "page": 2, "text": "barley is dried"}),
    ];
    let asked = ["How often is wheat ground?", "How is rye ground?", "Are oats rolled?", "Is barley dried?"];
    let lines: Vec<String> = asked
        .iter()
        .zip(labels)
        .map(|(query, label)| serde_json::json!({"query_id": query, "query": query, "references": [label]}).to_string())
        .collect();
    write(folder.path(), "queries.jsonl", lines.join("\n").as_bytes());
    let (out, text) = (
        folder.path().join("run"),
        "[defaults.embedding]\nembedder = \"fake\"\ncache = \"off\"\n\n[[grid]]\npreset = [\"structure\", \"pdf\"]\nmode = [\"keyword\"]\nk = [4]\n",
    );
    let (code, _, said) = sweep(folder.path(), &file(&folder, text), &out, &[]);
    assert_eq!(code, 0, "{said}");
    let report = Report::read(&out).unwrap();
    assert_eq!((report.labels.documents, report.labels.scored, report.cells.len()), (4, 4, 2));
    for cell in &report.cells {
        assert_eq!(cell.values["recall_at_k"], [Some(1.0); 4], "{}", cell.id);
    }
}

#[test]
fn a_sweep_measures_every_cell() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let text = format!("{SWEEP}\n[timing]\nrepeats = 2\n");
    let (code, _, said) = sweep(&larder(), &file(&folder, &text), &out, &[]);
    assert_eq!(code, 0, "{said}");
    let report = Report::read(&out).unwrap();
    assert_eq!(report.cells.len(), 8 * 3 + 3 * 2);
    assert_eq!((report.labels.queries, report.labels.scored, report.labels.documents), (203, 203, 50));
    assert!(!report.labels.synthetic);
    for cell in &report.cells {
        for metric in &report.metrics {
            // Only a weighted sum knows a chance.
            let Some(values) = cell.values.get(&metric.name) else {
                assert!(
                    metric.name == "left_out_told_apart" && cell.retrieval != "hybrid",
                    "{} {}",
                    cell.id,
                    metric.name
                );
                continue;
            };
            assert_eq!(values.len(), 203);
            let summary = cell.metrics[&metric.name];
            assert!(summary.lo <= summary.mean && summary.mean <= summary.hi, "{} {}", cell.id, metric.name);
            if metric.higher_is_better {
                assert!(
                    values.iter().flatten().all(|value| (0.0..=1.0).contains(value)),
                    "{} {}",
                    cell.id,
                    metric.name
                );
            }
        }
        assert_eq!(cell.chance.is_some(), cell.retrieval == "hybrid", "{}", cell.id);
        let evidence = cell.evidence;
        assert_eq!(evidence.whole + evidence.split + evidence.missed + evidence.unreachable, 290);
        let index = cell.cost.index.as_ref().unwrap();
        assert_eq!(index.repeats, 2);
        assert!(0.0 < index.seconds.min && index.seconds.min <= index.seconds.max);
        assert!(0.0 < index.chunking_share.median && index.chunking_share.median < 1.0);
        assert!(cell.cost.query_ms.p50 >= cell.cost.search_ms.p50 && cell.cost.search_ms.p50 > 0.0);
        assert!(cell.cost.texts_reused == 0 && cell.cost.texts > 0 && cell.cost.bytes > 0);
        if cfg!(target_os = "linux") {
            assert!(["chunk", "index", "search"].iter().all(|stage| cell.cost.peak_rss[*stage] > 1 << 20));
        }
        // The recommended settings build the same dataset.
        let config = Options::parse(&cell.toml, "chunkmill.toml").unwrap().resolve().unwrap();
        assert_eq!(config.spec.to_string(), cell.spec_text);
        assert_eq!(config.mode.name(), cell.retrieval);
    }
    answers_are_what_was_measured(&report);
    assert!(fs::read_dir(out.join(".chunkmill-work")).is_err(), "no intermediate files are left");
}

/// What the report shows of a question agrees with its value, and every text is what the document has there.
fn answers_are_what_was_measured(report: &Report) {
    let verdict = report.verdict.as_ref().unwrap();
    let AnswerPlaces { documents, wanted, handed_over, excerpts } = &report.answers;
    assert_eq!(handed_over[0].cell, verdict.advised);
    assert!(wanted.len() == report.queries.len() && !excerpts.is_empty());
    let text = |doc: usize| fs::read_to_string(larder().join("corpus").join(&documents[doc])).unwrap();
    for excerpt in excerpts {
        let all = text(excerpt.doc);
        assert_eq!(all[excerpt.start..excerpt.start + excerpt.text.len()], excerpt.text);
        assert_eq!(all[..excerpt.start].matches('\n').count() + 1, excerpt.line);
    }
    for cell in &report.cells {
        for (at, letter) in cell.outcomes.chars().enumerate() {
            let value = cell.values[&report.scoring.primary][at].unwrap();
            let expected = if value >= 1.0 {
                "fs"
            } else if value > 0.0 {
                "p"
            } else {
                "mu"
            };
            assert!(expected.contains(letter), "{} {}: {letter} for {value}", cell.id, report.queries[at].id);
            let Some(handed) = handed_over.iter().find(|handed| handed.cell == cell.id) else { continue };
            // A question with all of its evidence has it in the passages.
            let within = |place: &DocumentPlace| {
                let holds = |passage: &&DocumentPlace| {
                    passage.doc == place.doc && passage.start <= place.start && place.end <= passage.end
                };
                handed.passages[at].iter().any(|passage| holds(&passage))
            };
            let whole = wanted[at].iter().all(|any| any.iter().any(|all| all.iter().all(within)));
            assert!(!whole || letter == 'f' || letter == 's', "{} {}", cell.id, report.queries[at].id);
            assert!(letter != 'f' || whole, "{} {}", cell.id, report.queries[at].id);
        }
    }
}

#[test]
fn the_sweep_that_the_demo_proposes_runs() {
    let folder = TempDir::new().unwrap();
    let proposed = fs::read_to_string(larder().join("sweep.toml")).unwrap();
    let text = format!("[defaults.embedding]\nembedder = 'fake'\ncache = 'off'\n{proposed}");
    let out = folder.path().join("run");
    let (code, _, said) = sweep(&larder(), &file(&folder, &text), &out, &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(Report::read(&out).unwrap().cells.len(), 9);
    assert!(out.join("report.html").exists());
}

#[test]
fn a_reranker_is_an_axis_and_costs_its_time() {
    let folder = TempDir::new().unwrap();
    let model = folder.path().join("model");
    Tiny { layers: 1, ..Tiny::new("bert", 48, 3) }.write_cross_encoder(&model);
    let text = format!(
        "[defaults.embedding]\nembedder = 'fake'\ncache = 'off'\n[[grid]]\npreset = 'windows'\nmode = 'keyword'\n\
         rerank = ['none', '{}']\nrerank_depth = [3, 10]\nk = [10]\n",
        model.display()
    );
    let out = folder.path().join("run");
    let (code, _, said) = sweep(&larder(), &file(&folder, &text), &out, &[]);
    assert_eq!(code, 0, "{said}");
    let cells = Report::read(&out).unwrap().cells;
    assert_eq!(
        cells.len(),
        3,
        "without a reranker there is no depth: {:?}",
        cells.iter().map(|cell| &cell.id).collect::<Vec<_>>()
    );
    let of = |cell: &chunkmill_eval::data::report::Cell, metric: &str| cell.values[metric].clone();
    let reranks = |cell: &&chunkmill_eval::data::report::Cell| cell.toml.contains(arg(&model));
    let by_depth = |depth| {
        let cell = cells.iter().filter(reranks).find(|cell| cell.toml.contains(&format!("rerank_depth = {depth}")));
        cell.unwrap_or_else(|| panic!("no cell of depth {depth}"))
    };
    let without = cells.iter().find(|cell| !reranks(cell)).unwrap();
    let (three, ten) = (by_depth(3), by_depth(10));
    // A reranker only reorders the chunks that it reads, so with a depth of three it cannot raise the fourth.
    assert_eq!(of(ten, "doc_recall_at_100").len(), 203);
    assert_ne!(of(three, "mrr_at_10"), of(without, "mrr_at_10"));
    assert_ne!(of(three, "mrr_at_10"), of(ten, "mrr_at_10"));
    assert!(ten.cost.search_ms.p50 > without.cost.search_ms.p50, "its time counts as search time");
}

#[test]
fn a_dataset_is_made_as_often_as_it_is_timed_and_not_once_more() {
    let folder = TempDir::new().unwrap();
    let cache = folder.path().join("cache");
    let sweep_with = |timing: &str, out: &str| {
        let text = format!(
            "[defaults.embedding]\nembedder = 'fake'\ncache = '{}'\n[[grid]]\npreset = 'windows'\nmode = 'keyword'\n{timing}",
            cache.display()
        );
        let out = folder.path().join(out);
        let (code, _, said) = sweep(&larder(), &file(&folder, &text), &out, &[]);
        assert_eq!(code, 0, "{said}");
        Report::read(&out).unwrap().cells.remove(0).cost
    };
    // Timed runs bypass the cache, so a cache would prove that there was an untimed run as well.
    let timed = sweep_with("[timing]\nrepeats = 3\nseconds = 0\n", "timed");
    assert_eq!(timed.index.unwrap().repeats, 1, "one run already takes longer than the limit");
    assert!(!cache.exists(), "an untimed run has embedded too");
    let timed = sweep_with("[timing]\nrepeats = 2\nseconds = 3600\n", "often");
    assert_eq!(timed.index.unwrap().repeats, 2);
    let cached = sweep_with("", "cached");
    assert!(cached.index.is_none() && cache.exists());
}

#[test]
fn the_evaluated_dataset_is_the_shipped_one() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let text = "[defaults.embedding]\nembedder = 'fake'\n[[grid]]\npreset = 'sections'\nmode = 'vector'\n";
    let (code, _, said) = sweep(&larder(), &file(&folder, text), &out, &["--keep-datasets"]);
    assert_eq!(code, 0, "{said}");
    let report = Report::read(&out).unwrap();
    let options = "[chunking]\npreset = 'sections'\n[embedding]\nembedder = 'fake'\ncache = 'off'\n";
    let config = Options::parse(options, "test").unwrap().resolve().unwrap();
    let embedder = config.embedder().unwrap();
    let job = config.job(vec![Root::new(larder().join("corpus"))], true).unwrap();
    let shipped = folder.path().join("shipped");
    job::run(&job, &shipped.as_path().into(), embedder.as_ref(), &false.into(), &|_| {}).unwrap();
    assert_eq!(report.cells[0].snapshot, Dataset::open(&shipped).unwrap().id());
    let kept = fs::read_dir(out.join("datasets")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(report.cells[0].snapshot, Dataset::open(&kept).unwrap().id());
}

#[test]
fn what_is_scored_is_what_context_hands_over() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let text = "[defaults.embedding]\nembedder = 'fake'\n[[grid]]\npreset = 'structure'\nmode = ['keyword', 'hybrid']\n\
                packing = ['evidence', 'rank']\n[scoring]\nbudgets = [300, 900]\ndepth = 10\n";
    let (code, _, said) = sweep(&larder(), &file(&folder, text), &out, &["--keep-datasets"]);
    assert_eq!(code, 0, "{said}");
    let record = fs::read_dir(out.join("records")).unwrap().next().unwrap().unwrap().path();
    let record: Record = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    // Keyword search has no scores that predict where evidence is, so both orders are the same.
    let names: Vec<&str> = record.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["keyword", "vector", "hybrid packing=evidence", "hybrid packing=rank"]);
    let config = Options::parse("[embedding]\nembedder = 'fake'\n", "test").unwrap().resolve().unwrap();
    let embedder = config.embedder().unwrap();
    let dataset = out.join("datasets").join(chunkmill_eval::data::record::file_name(&record.build));
    let searcher = Searcher::open(Dataset::open(&dataset).unwrap(), None).unwrap();
    let labels = LabelSet::read(&larder()).unwrap();
    let mut differ = 0;
    for (at, asked) in labels.queries.iter().enumerate().step_by(9) {
        let encoded = embedder.encode(&asked.text, Role::Query).unwrap();
        let vector = embedder.embed_ids(&[&encoded.ids]).unwrap();
        let mut handed_over = Vec::new();
        for (variant, packing) in [(2, Packing::Evidence), (3, Packing::Rank)] {
            let answer = &record.variants[variant].answers[at];
            assert_eq!(answer.rows.len(), 10);
            let fill = FillRule { order: packing, ..FillRule::default() };
            let query = Query { text: &asked.text, vector: Some(&vector), k: CANDIDATES, fill, ..Query::default() };
            let found = searcher.search(&query).unwrap();
            for (budget, kept) in [300, 900].into_iter().zip(&answer.contexts) {
                let context = searcher.context(&found, budget, query.fill_rule()).unwrap();
                assert!(context.tokens <= budget && kept.tokens == context.tokens);
                let places = context.passages.iter().map(|passage| {
                    let ranges = passage.ranges.iter().map(|range| range.map(|at| usize::try_from(at).unwrap()));
                    (passage.doc_id.as_str(), ranges.collect::<Vec<_>>())
                });
                let known = kept.passages.iter().map(|(doc, ranges)| (record.documents[*doc].as_str(), ranges.clone()));
                assert!(places.eq(known), "{} {budget}", asked.id);
            }
            handed_over.push(&answer.contexts);
        }
        differ += usize::from(handed_over[0] != handed_over[1]);
    }
    assert!(differ > 0, "the order in which a context is filled matters");
    let report = Report::read(&out).unwrap();
    assert_eq!(report.scoring.primary, "evidence_in_context_900");
    answers_are_what_was_measured(&report);
}

#[test]
fn a_sweep_goes_on_where_it_was_stopped() {
    let folder = TempDir::new().unwrap();
    let (file, out) = (file(&folder, SWEEP), folder.path().join("run"));
    let whole = folder.path().join("whole");
    assert_eq!(sweep(&larder(), &file, &whole, &[]).0, 0);
    let mut child = Command::new(env!("CARGO_BIN_EXE_chunkmill-eval"))
        .args(["sweep", "--labels", arg(&larder()), "--sweep", arg(&file), "-o", arg(&out)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let records = || fs::read_dir(out.join("records")).map_or(0, Iterator::count);
    let started = Instant::now();
    while records() < 2 && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = records();
    assert!((2..9).contains(&done), "{done} records when it was killed");
    let (code, _, said) = sweep(&larder(), &file, &out, &[]);
    assert_eq!(code, 0, "{said}");
    // One record may have been only partly written.
    let kept = said.matches("already done").count();
    assert!(kept == done || kept + 1 == done, "{kept} of {done} kept\n{said}");
    let (stopped, whole) = (Report::read(&out).unwrap(), Report::read(&whole).unwrap());
    for (a, b) in stopped.cells.iter().zip(&whole.cells) {
        assert_eq!((&a.id, &a.values, &a.snapshot, &a.metrics), (&b.id, &b.values, &b.snapshot, &b.metrics));
    }
    assert_eq!(stopped.verdict, whole.verdict);
    // Another run has nothing to do.
    let (code, _, said) = sweep(&larder(), &file, &out, &[]);
    assert_eq!((code, said.matches("already done").count()), (0, 9), "{said}");
}

#[test]
fn settings_with_late_pooling_share_one_pass_and_get_the_vectors_of_their_own() {
    let folder = TempDir::new().unwrap();
    let text = "[defaults.embedding]\nembedder = 'fake'\n[defaults.chunking]\npooling = 'late'\n[[grid]]\npreset = ['recursive']\n\
                max = [64, 128]\noverlap = [0, 16]\ncontext = ['none', 'full']\nmode = 'vector'\n[timing]\nrepeats = REPEATS\n";
    let run = |repeats: &str, cache: &str| {
        let file = file(&folder, &text.replace("REPEATS", repeats));
        let out = folder.path().join(format!("run-{repeats}-{cache}"));
        let cache = folder.path().join(cache);
        let (code, _, said) = sweep(&larder(), &file, &out, &["--embedding-cache", arg(&cache)]);
        assert_eq!(code, 0, "{said}");
        (Report::read(&out).unwrap(), said)
    };
    let (shared, said) = run("0", "cache");
    assert_eq!(said.matches("read the documents once for 8 settings").count(), 1, "{said}");
    let counts =
        said.lines().filter_map(|line| line.split_once(" chunks, ")?.1.split_once(" vectors")?.0.split_once(" of "));
    assert!(counts.clone().count() == 8 && counts.clone().all(|(reused, of)| reused == of), "{said}");
    let (alone, said) = run("1", "other");
    assert!(!said.contains("read the documents once"), "a timed run reads no cache: {said}");
    for (a, b) in shared.cells.iter().zip(&alone.cells) {
        assert_eq!((&a.id, &a.snapshot, &a.metrics), (&b.id, &b.snapshot, &b.metrics));
    }
    let snapshots: std::collections::BTreeSet<_> = shared.cells.iter().map(|cell| &cell.snapshot).collect();
    assert_eq!(snapshots.len(), 8, "overlap and context count");
}

#[test]
fn what_changed_is_measured_again_and_never_mixed() {
    let folder = TempDir::new().unwrap();
    let set = folder.path().join("set");
    let text = "Larder keeps backups for thirty days.\n\n# Else\n\nIt has a door.\n";
    let queries = r#"{"query_id":"q","query":"how long are backups kept","references":[{"doc_id":"a.md","start":26,"end":37,"text":"thirty days"}]}"#;
    fs::create_dir_all(set.join("corpus")).unwrap();
    fs::write(set.join("corpus/a.md"), text).unwrap();
    fs::write(set.join("queries.jsonl"), queries).unwrap();
    let sweep_text =
        "[defaults.embedding]\nembedder = 'fake'\n[[grid]]\npreset = ['recursive', 'ragdocs']\nmode = 'vector'\n";
    let (file, out) = (file(&folder, sweep_text), folder.path().join("run"));
    let (code, _, said) = sweep(&set, &file, &out, &[]);
    assert_eq!(code, 0, "{said}");
    let first = Report::read(&out).unwrap();
    assert_eq!(eval(&["report", arg(&out)]).0, 0);
    // The evidence moves. A report of the old run would score the new text by old places.
    fs::write(set.join("corpus/a.md"), format!("New.\n\n{text}")).unwrap();
    let (code, _, said) = eval(&["report", arg(&out)]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("have changed since the sweep"), "{said}");
    let (code, _, said) = sweep(&set, &file, &out, &[]);
    assert_eq!((code, said.matches("already done").count()), (0, 0), "{said}");
    let second = Report::read(&out).unwrap();
    assert_eq!(second.labels.states, [("moved".to_owned(), 1)].into());
    assert_ne!(first.cells[0].snapshot, second.cells[0].snapshot);
    // Another k on the same datasets builds nothing again, and a new setting builds only its own dataset.
    fs::write(
        &file,
        sweep_text.replace("mode =", "k = [1, 2]\nmode =").replace("['recursive', ", "['windows', 'recursive', "),
    )
    .unwrap();
    let (code, _, said) = sweep(&set, &file, &out, &[]);
    assert_eq!((code, said.matches("already done").count()), (0, 2), "{said}");
    assert_eq!(Report::read(&out).unwrap().cells.len(), 6);
}

#[test]
fn a_report_that_cannot_be_made_again_is_not_replaced_without_a_word() {
    let folder = TempDir::new().unwrap();
    let set = folder.path().join("set");
    let query =
        r#"{"query_id":"q","query":"how long are backups kept","references":[{"doc_id":"a.md","text":"thirty days"}]}"#;
    let text = "Larder keeps backups for thirty days.\n";
    fs::create_dir_all(set.join("corpus")).unwrap();
    fs::write(set.join("corpus/a.md"), text).unwrap();
    fs::write(set.join("queries.jsonl"), query).unwrap();
    let out = folder.path().join("run");
    let grid = |presets: &str, rest: &str| {
        format!("[defaults.embedding]\nembedder = 'fake'\n[[grid]]\npreset = [{presets}]\nmode = 'keyword'\n{rest}")
    };
    let said = |grid: &str| {
        let (code, _, said) = sweep(&set, &file(&folder, grid), &out, &[]);
        assert_eq!(code, 0, "{said}");
        said.lines().find(|line| line.contains("is replaced: ")).map(str::to_owned)
    };
    let two = grid("'recursive', 'ragdocs'", "");
    assert_eq!(said(&two), None, "there is no report yet");
    assert_eq!(said(&two), None, "it is the same one");
    assert_eq!(said(&grid("'recursive', 'windows', 'ragdocs'", "")), None, "it has all of it, and more");
    let lost = said(&two).unwrap();
    assert!(lost.contains("1 of its 3 settings is not tried now; another folder keeps both"), "{lost}");
    let scored = grid("'recursive', 'ragdocs'", "[scoring]\nseed = 2\n");
    assert!(said(&scored).unwrap().contains("it was scored by other rules"));
    let timed = scored.clone() + "[timing]\nrepeats = 1\n";
    assert!(said(&timed).unwrap().contains("it was measured in another way"));
    fs::write(set.join("corpus/a.md"), format!("New. {text}")).unwrap();
    assert!(said(&timed).unwrap().contains("it is of other documents;"));
    fs::write(set.join("queries.jsonl"), query.replace("how", "for how")).unwrap();
    assert!(said(&timed).unwrap().contains("it is of other questions;"));
    // A run that ended before its report loses none.
    fs::remove_file(out.join("report.json")).unwrap();
    assert_eq!(said(&two), None);
}

#[test]
fn two_sweeps_do_not_write_to_one_folder() {
    let folder = TempDir::new().unwrap();
    let (file, out) = (file(&folder, SWEEP), folder.path().join("run"));
    fs::create_dir(&out).unwrap();
    let lock = fs::File::create(out.join(".lock")).unwrap();
    lock.try_lock().unwrap();
    let (code, _, said) = sweep(&larder(), &file, &out, &[]);
    assert_eq!(code, 4, "{said}");
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let model = file(&folder, "[[grid]]\npreset = 'recursive'\nmodel = ['no/such-model']\n");
    let (code, _, said) = sweep(&larder(), &model, &out, &[]);
    assert_ne!(code, 0);
    assert!(said.contains("no/such-model") && !out.exists(), "{said}");
    let set = folder.path().join("set");
    fs::create_dir_all(set.join("corpus")).unwrap();
    fs::write(set.join("corpus/a.md"), "text").unwrap();
    fs::write(set.join("queries.jsonl"), r#"{"query_id":"q","query":"?","references":[{"doc_id":"b.md"}]}"#).unwrap();
    let good = file(&folder, SWEEP);
    let (code, _, said) = sweep(&set, &good, &out, &[]);
    assert_eq!(code, 2, "{said}");
    let wanted = "no question whose evidence is in its corpus: `q` names `b.md`, which is not among the documents";
    assert!(said.contains(wanted) && !out.exists(), "{said}");
}

#[test]
fn list_and_verify_run_no_model() {
    let folder = TempDir::new().unwrap();
    let file = file(&folder, &format!("{SWEEP}\n[[grid]]\nstrategy = 'windows'\nmax = 5\noverlap = 9\n"));
    let (code, said, _) = eval(&["sweep", "--labels", "nowhere", "--sweep", arg(&file), "--list"]);
    assert_eq!(code, 0);
    assert!(said.contains("windows: overlap 9 is not below max 5"), "{said}");
    assert!(said.ends_with("30 cells over 9 datasets; 1 setting left out\n"), "{said}");
    let (code, said, err) = eval(&["sweep", "--labels", arg(&larder()), "--sweep", arg(&file), "--verify", "--json"]);
    assert_eq!(code, 0, "{err}");
    let rows: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 9);
    for row in &rows {
        assert_eq!(row["evidence_reachable"], 1.0, "{row}");
        assert!(row["chunks"].as_u64() >= row["texts"].as_u64() && row["evidence_whole"].as_f64() > Some(0.3), "{row}");
    }
}

/// A chunk's place includes the text that the chunk repeats, so it contains every byte of the chunk's text.
#[test]
fn places_hold_the_text_of_chunks_with_what_they_repeat() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let text = "[defaults.embedding]\nembedder = 'fake'\n[[grid]]\nstrategy = ['windows', 'recursive', 'header', 'heading', 'semantic', 'fixed']\n\
                unit = 'tokens'\nmin = 0\nmax = 60\noverlap = [0, 20]\nmode = 'vector'\n";
    let (code, _, said) = sweep(&larder(), &file(&folder, text), &out, &["--keep-datasets"]);
    assert_eq!(code, 0, "{said}");
    let (mut repeated, mut all) = (0, 0);
    for entry in fs::read_dir(out.join("records")).unwrap() {
        let record: Record = serde_json::from_slice(&fs::read(entry.unwrap().path()).unwrap()).unwrap();
        let dataset = out.join("datasets").join(chunkmill_eval::data::record::file_name(&record.build));
        let dataset = Dataset::open(&dataset).unwrap();
        let rows = dataset.files(chunkmill::dataset::Table::Chunks).flat_map(|file| {
            let rows = dataset.read_texts(file, ["doc_id", "content"]).unwrap().map(Result::unwrap);
            Vec::from_iter(rows.flat_map(|[ids, texts]| {
                let owned = |text: Option<&str>| text.unwrap().to_owned();
                Vec::from_iter(ids.iter().map(owned).zip(texts.iter().map(owned)))
            }))
        });
        for ((id, content), place) in rows.zip(&record.chunks) {
            assert_eq!(record.documents[place.doc], id);
            all += 1;
            let solid = |text: &str| text.split_whitespace().collect::<String>();
            let whole = fs::read_to_string(larder().join("corpus").join(&id)).unwrap();
            let held = solid(&whole[place.start..place.end]);
            assert!(solid(&content).ends_with(&held), "{} {id}: {content:?} is not {held:?}", record.build);
            // If no headings come before the text, the place contains all of it.
            if record.build.starts_with("windows") || record.build.starts_with("recursive") {
                assert_eq!(solid(&content), held, "{} {id}", record.build);
                repeated += usize::from(record.build.contains("overlap=20"));
            }
        }
    }
    assert!(repeated > 100 && all > 1000, "{repeated} of {all}");
}

/// `trec_eval` computes the figures of the report from these files.
#[test]
fn trec_files_give_the_figures_of_documents() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let text = "[defaults.embedding]\nembedder = 'fake'\n[[grid]]\npreset = 'heading-tokens'\n";
    let (code, _, said) = sweep(&larder(), &file(&folder, text), &out, &[]);
    assert_eq!(code, 0, "{said}");
    let report = Report::read(&out).unwrap();
    let lines = |name: &str| -> Vec<Vec<String>> {
        let text = fs::read_to_string(out.join("trec").join(name)).unwrap();
        text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    };
    let build = chunkmill_eval::data::record::file_name("heading-tokens");
    let qrels = lines("documents.qrels");
    for cell in &report.cells {
        let run = lines(&format!("{build}.{}.documents.run", cell.retrieval));
        for (at, query) in report.queries.iter().enumerate() {
            let relevant: Vec<&String> = qrels.iter().filter(|row| row[0] == query.id).map(|row| &row[2]).collect();
            let mut ranked: Vec<(&String, f64)> =
                run.iter().filter(|row| row[0] == query.id).map(|row| (&row[2], row[4].parse().unwrap())).collect();
            ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(a.0)));
            assert!(ranked.len() <= 100);
            let found = ranked.iter().filter(|(id, _)| relevant.contains(id)).count();
            let recall = found as f64 / relevant.len() as f64;
            assert!((recall - cell.values["doc_recall_at_100"][at].unwrap()).abs() < 1e-5, "{} {}", cell.id, query.id);
            let first = ranked.iter().take(10).position(|(id, _)| relevant.contains(id));
            let reciprocal = first.map_or(0.0, |at| 1.0 / (at + 1) as f64);
            assert!((reciprocal - cell.values["doc_mrr_at_10"][at].unwrap()).abs() < 1e-5, "{} {}", cell.id, query.id);
        }
        let chunks = lines(&format!("{build}.{}.chunks.run", cell.retrieval));
        // Keyword search finds nothing for a question without any known word.
        assert!(chunks.len() > 100 * 100 && chunks.iter().all(|row| row[2].contains(".md:")));
    }
    let chunks = lines(&format!("{build}.chunks.qrels"));
    assert!(chunks.len() >= 203, "{}", chunks.len());
    // Writing these files is optional.
    fs::remove_dir_all(out.join("trec")).unwrap();
    assert_eq!(eval(&["report", arg(&out), "--trec=false"]).0, 0);
    assert!(!out.join("trec").exists());
    let other = folder.path().join("other");
    let (code, said, _) = eval(&["report", arg(&out), "--trec", "-o", arg(&other), "--json"]);
    assert_eq!(code, 0);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    for file in said["files"].as_array().unwrap() {
        assert!(Path::new(file.as_str().unwrap()).exists(), "{file}");
    }
}

/// A user's own folder stays as it is.
#[test]
fn a_folder_that_is_no_run_is_refused() {
    let folder = TempDir::new().unwrap();
    let (file, out) = (file(&folder, SWEEP), folder.path().join("project"));
    fs::create_dir_all(out.join("work")).unwrap();
    fs::write(out.join("work/precious"), "mine").unwrap();
    let (code, _, said) = sweep(&larder(), &file, &out, &[]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("other than a run of a sweep"), "{said}");
    assert_eq!(fs::read_to_string(out.join("work/precious")).unwrap(), "mine");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
}

/// Labels that judge whole documents, like BEIR's, are scored by document.
#[test]
fn labels_of_whole_documents_have_a_verdict() {
    let folder = TempDir::new().unwrap();
    let (set, out) = (folder.path().join("set"), folder.path().join("run"));
    fs::create_dir_all(set.join("corpus")).unwrap();
    fs::write(set.join("corpus/a.md"), "Backups are kept for thirty days.\n").unwrap();
    fs::write(set.join("corpus/b.md"), "The door is green.\n").unwrap();
    fs::write(set.join("corpus/c.csv"), "not,taken\n").unwrap();
    let line = |id: &str, doc: &str| {
        format!(r#"{{"query_id":"{id}","query":"backups kept","references":[{{"doc_id":"{doc}"}}]}}"#)
    };
    fs::write(set.join("queries.jsonl"), [line("a", "a.md"), line("c", "c.csv")].join("\n")).unwrap();
    let text = "[defaults.embedding]\nembedder = 'fake'\n[[grid]]\npreset = 'recursive'\n";
    let (code, _, said) = sweep(&set, &file(&folder, text), &out, &[]);
    assert_eq!(code, 0, "{said}");
    let report = Report::read(&out).unwrap();
    assert_eq!((report.scoring.primary.as_str(), report.labels.not_indexed), ("doc_ndcg_at_10", 1));
    let verdict = report.verdict.as_ref().unwrap();
    assert!(verdict.text.contains("quarantined them, count as not found: 1."), "{}", verdict.text);
    let baseline = folder.path().join("baseline.json");
    let (code, _, said) = eval(&["baseline", arg(&out), "-o", arg(&baseline), "--metric", "luck"]);
    assert_eq!((code, baseline.exists()), (2, false), "{said}");
    assert_eq!(eval(&["baseline", arg(&out), "-o", arg(&baseline)]).0, 0);
    assert_eq!(eval(&["gate", arg(&out), "--baseline", arg(&baseline)]).0, 0);
}

/// Questions that the documents do not answer have one figure, and change no other.
#[test]
fn questions_without_an_answer_change_no_other_figure() {
    let folder = TempDir::new().unwrap();
    let text = "[defaults.embedding]\nembedder = 'fake'\n[[grid]]\npreset = ['recursive', 'ragdocs']\n";
    let file = file(&folder, text);
    let mut reports = Vec::new();
    for unanswered in [0, 3] {
        let (set, out) =
            (folder.path().join(format!("set-{unanswered}")), folder.path().join(format!("run-{unanswered}")));
        fs::create_dir_all(set.join("corpus")).unwrap();
        let mut lines = Vec::new();
        for at in 0..25 {
            fs::write(set.join(format!("corpus/{at}.md")), format!("# Page {at}\n\nThe number {at} is kept here.\n"))
                .unwrap();
            let reference = format!(r#"{{"doc_id":"{at}.md","text":"The number {at} is kept here."}}"#);
            lines.push(format!(r#"{{"query_id":"q{at}","query":"where is number {at}","references":[{reference}]}}"#));
        }
        for at in 0..unanswered {
            lines.insert(at, format!(r#"{{"query_id":"u{at}","query":"who painted the door","unanswered":true}}"#));
        }
        fs::write(set.join("queries.jsonl"), lines.join("\n")).unwrap();
        let (code, _, said) = sweep(&set, &file, &out, &[]);
        assert_eq!(code, 0, "{said}");
        let baseline = folder.path().join(format!("baseline-{unanswered}.json"));
        assert_eq!(eval(&["baseline", arg(&out), "-o", arg(&baseline)]).0, 0);
        let (code, out, said) = eval(&["gate", arg(&out), "--baseline", arg(&baseline)]);
        assert!(code == 0 && out.contains("25 questions"), "{out}{said}");
        reports.push(Report::read(&folder.path().join(format!("run-{unanswered}"))).unwrap());
    }
    let [without, with] = [&reports[0], &reports[1]];
    assert_eq!((with.labels.queries, with.labels.scored, with.labels.unanswered), (25, 25, 3));
    assert_eq!((with.queries.len(), with.queries.iter().filter(|query| query.unanswered).count()), (28, 3));
    assert!(with.queries[25..].iter().all(|query| query.unanswered));
    assert_eq!(with.verdict, without.verdict);
    for (cell, before) in with.cells.iter().zip(&without.cells) {
        for (name, values) in &before.values {
            assert_eq!(&cell.values[name][..25], values, "{} {name}", cell.id);
            assert!(cell.values[name][25..].iter().all(Option::is_none), "{} {name}", cell.id);
            assert_eq!(cell.metrics[name], before.metrics[name], "{} {name}", cell.id);
        }
        let told = cell.metrics["no_answer_told_apart"];
        assert!((0.0..=1.0).contains(&told.mean) && told.lo <= told.mean, "{told:?}");
    }
    assert!(with.metric("no_answer_told_apart").is_some() && without.metric("no_answer_told_apart").is_none());
}

/// An unreadable baseline is reported at once, not after hours.
#[test]
fn a_wrong_baseline_is_said_first() {
    let folder = TempDir::new().unwrap();
    let (file, out) = (file(&folder, SWEEP), folder.path().join("run"));
    let (code, _, said) = sweep(&larder(), &file, &out, &["--baseline", "nowhere.json"]);
    assert_ne!(code, 0);
    assert!(said.contains("nowhere.json") && !out.exists(), "{said}");
}

/// The depth to which lists are read is the same in a measurement as in a search.
#[test]
fn the_depth_of_fused_lists_is_what_is_searched() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let text = "[defaults.embedding]\nembedder = 'fake'\n[[grid]]\npreset = 'ragdocs'\nmode = 'hybrid'\nfusion = 'rrf'\ndepth = [3, 100]\n";
    let (code, _, said) = sweep(&larder(), &file(&folder, text), &out, &[]);
    assert_eq!(code, 0, "{said}");
    let record = fs::read_dir(out.join("records")).unwrap().next().unwrap().unwrap().path();
    let record: Record = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    let longest = |name: &str| {
        let found = record.variants.iter().find(|variant| variant.name == name).unwrap();
        found.answers.iter().map(|answer| answer.rows.len()).max().unwrap()
    };
    assert!((4..=6).contains(&longest("hybrid depth=3")), "{}", longest("hybrid depth=3"));
    assert_eq!(longest("hybrid depth=100"), 100);
    // Each cell names its own halves. Here they are the same for both.
    let report = Report::read(&out).unwrap();
    for cell in report.cells.iter().filter(|cell| cell.retrieval == "hybrid") {
        assert_eq!(cell.halves, ["ragdocs, vector, k=5", "ragdocs, keyword, k=5"]);
    }
}

#[test]
fn a_race_leaves_out_what_is_surely_worse_and_changes_no_figure_of_what_stays() {
    let folder = TempDir::new().unwrap();
    let text = "[defaults.embedding]\nembedder = 'fake'\ncache = 'off'\n[[grid]]\npreset = ['structure', 'line-threshold']\n\
                mode = ['keyword', 'hybrid']\nk = [3, 5]\n";
    let run = |name: &str, more: &str| {
        let out = folder.path().join(name);
        let (code, _, said) = sweep(&larder(), &file(&folder, &format!("{text}{more}")), &out, &[]);
        assert_eq!(code, 0, "{said}");
        (Report::read(&out).unwrap(), out)
    };
    let (all, _) = run("all", "");
    let (race, out) = run("race", "[sweep]\nrace = true\n");
    assert_eq!(race.cells.len() + race.left_out.len(), all.cells.len());
    // Vectors of the fake embedder find nothing, so vector search drops out early, for both k.
    let out_of_it = |id: &str| race.left_out.iter().find(|left| left.id == id);
    for k in [3, 5] {
        let left = out_of_it(&format!("structure, vector, k={k}")).unwrap();
        assert!(left.reason.to_string().starts_with("surely worse than `structure, keyword, k="), "{}", left.reason);
    }
    for cell in &race.cells {
        let same = all.cell(&cell.id).unwrap();
        assert_eq!((&cell.values, &cell.snapshot, cell.cost.texts), (&same.values, &same.snapshot, same.cost.texts));
    }
    let best = |report: &Report| report.verdict.as_ref().unwrap().best.clone();
    assert_eq!(best(&race), best(&all));
    // Writing the report again or resuming the run keeps the result of the race.
    let (code, _, said) = eval(&["report", arg(&out)]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(Report::read(&out).unwrap().left_out, race.left_out);
    let (again, _) = run("race", "[sweep]\nrace = true\n");
    assert_eq!((again.left_out, again.verdict), (race.left_out, race.verdict));
}

#[test]
fn vectors_are_searched_as_a_store_would_keep_them() {
    let folder = TempDir::new().unwrap();
    let text = "[defaults.embedding]\nembedder = 'fake'\ncache = 'off'\n[[grid]]\npreset = 'structure'\nmode = ['keyword', 'hybrid']\n\
                stored_as = ['f32', 'int8', 'bits@16', 'f32@7']\n";
    let out = folder.path().join("run");
    let (code, _, said) = sweep(&larder(), &file(&folder, text), &out, &[]);
    assert_eq!(code, 0, "{said}");
    let report = Report::read(&out).unwrap();
    let ids: Vec<&str> = report.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids.len(), 1 + 2 * 4, "keyword search has no vectors: {ids:?}");
    let cell = |way: &str| report.cell(&format!("structure, {way}, k=5")).unwrap();
    let full = cell("hybrid");
    assert_eq!(full.halves, ["structure, keyword, k=5", "structure, vector, k=5"]);
    assert_eq!(
        cell("hybrid stored_as=int8").halves,
        ["structure, keyword, k=5", "structure, vector stored_as=int8, k=5"]
    );
    let dim = full.cost.vector_bytes / full.chunks / 4;
    for (way, bytes) in
        [("vector stored_as=int8", dim), ("hybrid stored_as=bits@16", 2), ("vector stored_as=f32@7", 28)]
    {
        assert_eq!(cell(way).cost.vector_bytes, bytes * full.chunks, "{way}");
        assert_eq!(cell(way).snapshot, full.snapshot);
        assert!(cell(way).toml.starts_with("# for a store that keeps vectors as "), "{}", cell(way).toml);
    }
    // Int8 loses next to nothing, sixteen signs lose nearly everything.
    let record = fs::read_dir(out.join("records")).unwrap().next().unwrap().unwrap().path();
    let record: Record = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    let rows = |way: &str| record.variants.iter().find(|variant| variant.name == way).unwrap().answers.iter();
    let shared = |way: &str| {
        let pairs = rows("vector").zip(rows(way));
        let same = pairs.map(|(a, b)| a.rows[..10].iter().filter(|row| b.rows[..10].contains(row)).count());
        same.sum::<usize>() as f64 / 2030.0
    };
    let (int8, binary) = (shared("vector stored_as=int8"), shared("vector stored_as=bits@16"));
    assert!(int8 > 0.95 && binary < 0.7 && binary > 0.02, "{int8} {binary}");
    fs::write(folder.path().join("sweep.toml"), text.replace("int8", "int4")).unwrap();
    let (code, _, said) = sweep(&larder(), &folder.path().join("sweep.toml"), &out, &[]);
    assert!(code == 2 && said.contains("`int4` is not a type of embedding"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_is_untouched() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    fs::create_dir(&out).unwrap();
    fs::write(folder.path().join("precious"), "precious").unwrap();
    std::os::unix::fs::symlink("../precious", out.join(".lock")).unwrap();
    let (code, _, err) = sweep(&larder(), &file(&folder, SWEEP), &out, &[]);
    assert!(code == 5 && err.contains("a symbolic link, which is not followed"), "{code}: {err}");
    assert_eq!(fs::read(folder.path().join("precious")).unwrap(), b"precious");
}
