//! A plausible report of any size, for tests of code that displays reports.
//!
//! Its numbers come from a small model of the world: chunks of about 400 tokens are best, more overlap helps a
//! little but costs space, and keyword search is weaker than vector search but better on some questions.

use std::collections::BTreeMap;

use chunkmill_eval::data::answers::{AnswerPlaces, DocumentPlace, Excerpt, HandedOver};
use chunkmill_eval::data::left_out::{LeftOut, Reason};
use chunkmill_eval::data::report::*;
use chunkmill_eval::findings::analysis::analyse;
use serde_json::{Map, Value, json};

/// Seeded numbers in 0..1 (SplitMix64, Steele et al. 2014).
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a roughly normal number with mean 0 and standard deviation 1.
    fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

const BUDGETS: [usize; 4] = [256, 512, 1024, 2048];

/// Metrics at each budget B: name, title, and how far above the recall of text they are.
const AT_BUDGETS: [(&str, &str, f64); 3] = [
    ("evidence_in_context_B", "evidence in B tokens", 0.1),
    ("all_evidence_in_context_B", "all evidence in B tokens", -0.1),
    ("recall_in_B_tokens", "recall in B tokens", 0.08),
];

const QUESTIONS: usize = 120;
const ASKED: [&str; 8] = [
    "If I delete the agent's local cache folder, will the whole machine be uploaded again?",
    "HR and Finance each have their own repository but hold lots of the same PDFs. Are those stored once or twice?",
    "can i switch an existing repository to the smaller chunk size for my VM images later on?",
    "how long are backups kept by default?",
    "What does exit code 12 mean when a restore stops half way?",
    "my nightly job says the vault is full but df shows plenty of space",
    "Full shell script for a nightly Postgres dump of two databases, written safely",
    "Which ports does the server need open towards the agents, and which towards a mirror?",
];

/// The primary metric.
pub const PRIMARY: &str = "evidence_in_context_1024";

/// Name, title, meaning, whether higher is better, and how far above the recall of text it is.
const METRICS: [(&str, &str, &str, bool, f64); 14] = [
    ("span_recall", "recall of text", "Share of the evidence that the retrieved chunks hold.", true, 0.0),
    ("span_precision", "Span precision", "Share of the retrieved text that is evidence.", true, -0.55),
    ("span_iou", "Span IoU", "Overlap of evidence and retrieved text over their union.", true, -0.57),
    ("precision_omega", "Precision Ω", "Precision if every chunk that holds evidence were retrieved.", true, -0.4),
    ("recall_at_k", "Recall@k", "Share of the references that one retrieved chunk holds.", true, -0.08),
    ("precision_at_k", "Precision@k", "Share of the retrieved chunks that hold a reference.", true, -0.5),
    ("hit_at_k", "Hit@k", "Whether any reference is held by a retrieved chunk.", true, 0.04),
    ("mrr_at_10", "MRR@10", "One over the rank of the first chunk that holds a reference.", true, -0.15),
    ("ndcg_at_10", "nDCG@10", "Gain of the ranking, discounted by rank, over that of the best ranking.", true, -0.12),
    ("map_at_10", "MAP@10", "Mean of the precision at each reference.", true, -0.2),
    ("doc_ndcg_at_10", "Document nDCG@10", "The same for documents, each by its best chunk.", true, 0.03),
    ("doc_recall_at_100", "Document recall@100", "Share of the right documents among the first hundred.", true, 0.15),
    ("retrieved_tokens", "tokens read", "Tokens of the chunks handed to the reader.", false, 0.0),
    ("whole_document_tokens", "Whole-document tokens", "Tokens, had whole documents been handed over.", false, 0.0),
];

/// The settings of one dataset.
struct Build {
    strategy: &'static str,
    min: Option<u64>,
    max: u64,
    overlap: u64,
}

fn builds() -> Vec<Build> {
    let mut builds = Vec::new();
    for overlap in [0, 40, 80] {
        for max in [200, 400, 600, 800] {
            for min in [40, 80, 160] {
                builds.push(Build { strategy: "semantic", min: Some(min), max, overlap });
                builds.push(Build { strategy: "header", min: Some(min), max, overlap });
            }
            builds.push(Build { strategy: "recursive", min: None, max, overlap });
        }
        for min in [40, 80] {
            builds.push(Build { strategy: "lines", min: Some(min), max: 800, overlap });
        }
    }
    for overlap in [0, 40, 80] {
        for max in [300, 1000] {
            for min in [40, 80, 160] {
                builds.push(Build { strategy: "semantic", min: Some(min), max, overlap });
                builds.push(Build { strategy: "header", min: Some(min), max, overlap });
            }
        }
    }
    builds
}

impl Build {
    fn spec(&self) -> Map<String, Value> {
        let mut spec = Map::new();
        spec.insert("strategy".to_owned(), json!(self.strategy));
        spec.insert("unit".to_owned(), json!("tokens"));
        if let Some(min) = self.min {
            spec.insert("min".to_owned(), json!(min));
        }
        spec.insert("max".to_owned(), json!(self.max));
        spec.insert("overlap".to_owned(), json!(self.overlap));
        spec.insert("context".to_owned(), json!("headings"));
        spec
    }

    fn text(&self) -> String {
        let min = self.min.map_or_else(String::new, |min| format!(" min={min}"));
        format!("{}{min} max={} overlap={}", self.strategy, self.max, self.overlap)
    }

    fn quality(&self, mode: &str, k: usize) -> f64 {
        let strategy = match self.strategy {
            "semantic" => 0.74,
            "header" => 0.72,
            "recursive" => 0.68,
            _ => 0.62,
        };
        let size = -0.08 * (self.max as f64 / 450.0).ln().powi(2);
        let mode = match mode {
            "hybrid" if self.max > 500 => -0.02,
            "hybrid" => 0.03,
            "keyword" => -0.11,
            _ => 0.0,
        };
        let min = self.min.map_or(0.0, |min| -0.02 * (min as f64 / 90.0).ln().powi(2));
        strategy + size + mode + min + self.overlap as f64 * 0.000_25 + if k > 5 { 0.06 } else { 0.0 }
    }
}

/// Returns a report with this many cells, 756 at most.
pub fn report(seed: u64, cells: usize) -> Report {
    let mut dice = Dice(seed);
    let hardness: Vec<f64> = (0..QUESTIONS).map(|_| dice.bell() * 0.16).collect();
    let mut report = frame();
    'all: for build in builds() {
        for k in [5, 10] {
            for mode in ["vector", "keyword", "hybrid"] {
                if report.cells.len() == cells {
                    break 'all;
                }
                report.cells.push(cell(&build, mode, k, &hardness, &mut dice));
            }
        }
    }
    analyse(&mut report);
    if report.verdict.is_some() {
        report.answers = answers(&report);
    }
    report
}

fn frame() -> Report {
    let mut metrics: Vec<Metric> =
        METRICS.iter().map(|(name, title, meaning, higher, _)| metric(name, title, meaning, *higher)).collect();
    for (name, title, _) in AT_BUDGETS {
        for budget in BUDGETS.map(|budget| budget.to_string()) {
            metrics.push(metric(&name.replace('B', &budget), &title.replace('B', &budget), "Of so many tokens.", true));
        }
    }
    let command = ["sweep", "--labels", "datasets/larder", "--sweep", "sizes.toml", "-o", "runs/larder sizes"];
    Report {
        format_version: FORMAT_VERSION,
        tool_version: "0.1.0".to_owned(),
        created: "2026-03-14T09:26:53Z".to_owned(),
        command: command.map(str::to_owned).to_vec(),
        environment: Environment {
            os: "linux".to_owned(),
            arch: "x86_64".to_owned(),
            cpu: Some("A processor of 2.6 GHz".to_owned()),
            cores: 2,
            memory_bytes: Some(25_769_803_776),
        },
        labelled: Vec::new(),
        labels: LabelsRecord {
            not_indexed: 0,
            name: "larder".to_owned(),
            queries_hash: "b3:5f0c9d2a71e44b8e".to_owned(),
            corpus_hash: "b3:a9117c33d0256f18".to_owned(),
            documents: 45,
            bytes: 214_530,
            tokens: 51_877,
            queries: QUESTIONS + 3,
            scored: QUESTIONS,
            states: BTreeMap::from([("valid".to_owned(), 168), ("moved".to_owned(), 4)]),
            synthetic: false,
            proposed: 0,
            unanswered: 0,
        },
        scoring: Scoring {
            primary: PRIMARY.to_owned(),
            coverage: "one chunk holds at least half of it".to_owned(),
            budgets: BUDGETS.to_vec(),
            depth: 100,
            confidence: 0.95,
            resamples: 400,
            permutations: 1_000,
            correction: Correction::MaxT,
            held_out: true,
            seed: 42,
        },
        metrics,
        queries: (0..QUESTIONS).map(question).collect(),
        cells: Vec::new(),
        left_out: vec![LeftOut {
            id: "header min=160 max=100".to_owned(),
            reason: Reason::InWords("min is above max; a chunk cannot be both".to_owned()),
        }],
        verdict: None,
        answers: AnswerPlaces::default(),
    }
}

fn metric(name: &str, title: &str, meaning: &str, higher_is_better: bool) -> Metric {
    Metric { name: name.to_owned(), title: title.to_owned(), meaning: meaning.to_owned(), higher_is_better }
}

fn question(at: usize) -> QueryRecord {
    let tags = vec![if at.is_multiple_of(2) { "paraphrase" } else { "exact" }.to_owned()];
    QueryRecord {
        id: format!("q{:03}", at + 1),
        text: ASKED[at % ASKED.len()].to_owned(),
        tags,
        cluster: Some(at / 2),
        unanswered: false,
    }
}

fn cell(build: &Build, mode: &str, k: usize, hardness: &[f64], dice: &mut Dice) -> Cell {
    let quality = build.quality(mode, k);
    let primary: Vec<f64> = hardness.iter().map(|hard| quality + hard + dice.bell() * 0.09).collect();
    let read = k as f64 * build.max as f64 * 0.62;
    let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut put = |name: &str, of: &mut dyn FnMut(f64) -> f64| {
        values.insert(name.to_owned(), primary.iter().map(|&p| Some((of(p) * 1000.0).round() / 1000.0)).collect());
    };
    for (name, _, _, _, above) in METRICS {
        match name {
            "retrieved_tokens" => put(name, &mut |_| (read * (0.8 + 0.4 * dice.next())).round()),
            "whole_document_tokens" => put(name, &mut |_| (4200.0 + 3000.0 * dice.next()).round()),
            "span_recall" => put(name, &mut |p| p.clamp(0.0, 1.0)),
            _ => put(name, &mut |p| (p + above + 0.02 * dice.bell()).clamp(0.0, 1.0)),
        }
    }
    for budget in BUDGETS {
        let loss = 0.35 * (-(budget as f64) / 700.0).exp() + build.max as f64 / budget as f64 * 0.06;
        for (name, _, above) in AT_BUDGETS {
            let name = name.replace('B', &budget.to_string());
            // Either all evidence of a question is there, or not all of it.
            let whole = name.starts_with("all");
            let value = |p: f64| (p + above - loss).clamp(0.0, 1.0);
            put(&name, &mut |p| if whole { value(p).round() } else { value(p) });
        }
    }
    let letter = |value: &Option<f64>| match value {
        Some(value) if *value >= 1.0 => 'f',
        Some(value) if *value > 0.0 => 'p',
        Some(_) => 'm',
        None => '-',
    };
    let outcomes = values[PRIMARY].iter().map(letter).collect();
    let chunks = (52_000.0 / (build.max as f64 * 0.62 - build.overlap as f64 * 0.5)).round() as u64;
    let text = build.text();
    Cell {
        chance: None,
        halves: Vec::new(),
        reranker: None,
        id: format!("{text} · {mode} · k={k}"),
        build: text.clone(),
        spec: build.spec(),
        spec_text: text.clone(),
        model: "all-MiniLM-L6-v2".to_owned(),
        engine: "cpu f32".to_owned(),
        retrieval: mode.to_owned(),
        k,
        snapshot: format!("{:016x}", text.bytes().fold(7u64, |h, b| h.wrapping_mul(1_099_511_628_211) ^ u64::from(b))),
        chunks,
        metrics: BTreeMap::new(),
        evidence: evidence(quality),
        outcomes,
        values,
        cost: cost(build, mode, chunks, dice),
        p_best: None,
        comparison: None,
        pareto: Vec::new(),
        toml: format!(
            "[chunk]\nstrategy = \"{}\"\nunit = \"tokens\"\n{}max = {}\noverlap = {}\n\n[search]\nmode = \"{mode}\"\nk = {k}\n",
            build.strategy,
            build.min.map_or_else(String::new, |min| format!("min = {min}\n")),
            build.max,
            build.overlap
        ),
    }
}

fn evidence(quality: f64) -> EvidenceCounts {
    let whole = (quality * 150.0) as usize;
    let split = 14;
    let unreachable = 6;
    EvidenceCounts { whole, split, missed: 168 - whole - split - unreachable, unreachable }
}

fn cost(build: &Build, mode: &str, chunks: u64, dice: &mut Dice) -> Cost {
    let spread = |median: f64| Spread { median, min: median * 0.96, max: median * 1.07 };
    let vectors = chunks * 384 * 4;
    let (search, embed) = match mode {
        "keyword" => (0.35 + chunks as f64 * 0.0008, 0.0),
        "vector" => (0.05 + chunks as f64 * 0.0004, 4.1),
        _ => (0.45 + chunks as f64 * 0.0013, 4.1),
    };
    let times = |ms: f64| Percentiles { p50: ms, p95: ms * 1.5, p99: ms * 2.1 };
    let seconds = chunks as f64 * 0.011 + build.overlap as f64 * 0.004 + 0.1 * dice.next();
    Cost {
        documents: 45,
        quarantined: 0,
        tokens: 52_000 + chunks * build.overlap,
        bytes: vectors + 240_000 + chunks * (300 + build.overlap * 4),
        vector_bytes: vectors,
        truncated: if build.max > 500 { chunks / 7 } else { 0 },
        texts: chunks,
        texts_reused: chunks / 3,
        index: Some(IndexCost {
            repeats: 5,
            seconds: spread(seconds),
            stages: BTreeMap::from([
                ("chunk".to_owned(), spread(0.02)),
                ("embed".to_owned(), spread(seconds * 1.8)),
                ("write".to_owned(), spread(0.04)),
            ]),
            chunking_share: spread(0.011),
        }),
        peak_rss: BTreeMap::from([("index".to_owned(), 214_000_000), ("search".to_owned(), 131_000_000)]),
        query_ms: times(search + embed),
        search_ms: times(search),
    }
}

/// The pages of the example, in which each question has its own sentence.
const PAGE: &str = "concepts/storage-layout.md";
const OTHER: &str = "operate/troubleshooting.md";

/// Where the answers are: each question wants one or two sentences of a page, and a setting that finds them hands over
/// the paragraph around them.
fn answers(report: &Report) -> AnswerPlaces {
    let paragraph = |at: usize| {
        format!(
            "The cache of machine {at} is only a shortcut. If it is deleted, the next run\nreads every file again. It uploads next to nothing.\n\n"
        )
    };
    let text: String = (0..QUESTIONS).map(paragraph).collect();
    let start = |at: usize| (0..at).map(|at| paragraph(at).len()).sum::<usize>();
    let wanted = |at: usize| {
        let start = start(at);
        let end = start + paragraph(at).find("again.").unwrap() + "again.".len();
        let place = DocumentPlace { doc: 0, start, end, line: 3 * at + 1, last_line: 3 * at + 2 };
        vec![vec![vec![place], vec![DocumentPlace { doc: 1, ..DocumentPlace::default() }]]]
    };
    let advised = report.verdict.as_ref().unwrap().advised.as_str();
    let others = report.cells.iter().map(|cell| cell.id.as_str()).filter(|id| *id != advised).take(3);
    let ids: Vec<&str> = std::iter::once(advised).chain(others).collect();
    let passages = |id: &&str| {
        let values = &report.cell(id).unwrap().values[PRIMARY];
        let of = |(at, value): (usize, &Option<f64>)| {
            let passage = |at: usize| {
                let (start, end) = (start(at), start(at) + paragraph(at).len());
                DocumentPlace { doc: 0, start, end, line: 3 * at + 1, last_line: 3 * at + 3 }
            };
            let found = value.is_some_and(|value| value > 0.0);
            vec![passage((at + 40) % QUESTIONS), passage(if found { at } else { (at + 7) % QUESTIONS })]
        };
        HandedOver { cell: (*id).to_owned(), passages: values.iter().enumerate().map(of).collect() }
    };
    AnswerPlaces {
        documents: vec![PAGE.to_owned(), OTHER.to_owned()],
        wanted: (0..QUESTIONS).map(wanted).collect(),
        handed_over: ids.iter().map(passages).collect(),
        excerpts: vec![Excerpt { doc: 0, start: 0, line: 1, text }],
    }
}

fn repeated<T: Clone>(items: &[T], times: usize) -> Vec<T> {
    std::iter::repeat_n(items, times).flatten().cloned().collect()
}

/// Asks the questions of a report several times, under other ids.
pub fn asked_again(mut report: Report, times: usize) -> Report {
    let queries = report.queries.clone();
    for time in 1..times {
        let again = |query: &QueryRecord| QueryRecord { id: format!("{}-{time}", query.id), ..query.clone() };
        report.queries.extend(queries.iter().map(again));
    }
    for cell in &mut report.cells {
        cell.outcomes = cell.outcomes.repeat(times);
        cell.values.values_mut().for_each(|values| *values = values.repeat(times));
    }
    report.answers.wanted = repeated(&report.answers.wanted, times);
    report.answers.handed_over.iter_mut().for_each(|cell| cell.passages = repeated(&cell.passages, times));
    report
}
