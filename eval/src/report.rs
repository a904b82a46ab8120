//! What a sweep found out, as one value: `report.json`.
//!
//! Everything that is shown or compared is in here, so each way to show it, the gate and the comparison
//! of two runs are functions of this value alone. [`FORMAT_VERSION`] is raised when a reader of the old
//! form could go wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chunkmill::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of the form of `report.json`.
pub const FORMAT_VERSION: u32 = 1;

/// Name of the file in a run's folder.
pub const FILE: &str = "report.json";

/// What a report is, for who names something else.
const REPORT: &str = "name the folder of a run, its report.json, or a file that `chunkmill-eval baseline RUN -o FILE` of this version wrote";

/// What a sweep found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of the program that made it.
    pub tool_version: String,
    /// When, as RFC 3339.
    pub created: String,
    /// The command line of the sweep, without the path of the program.
    pub command: Vec<String>,
    /// Where it was measured.
    pub environment: Environment,
    /// What was asked.
    pub labels: LabelsRecord,
    /// How answers were scored.
    pub scoring: Scoring,
    /// What each metric is, in the order in which they are shown.
    pub metrics: Vec<Metric>,
    /// The questions that were scored, in the order of [`Cell::values`].
    pub queries: Vec<QueryRecord>,
    /// What was tried, in the order of the sweep file.
    pub cells: Vec<Cell>,
    /// What was not tried, and why.
    pub left_out: Vec<LeftOut>,
    /// What follows; `None` if nothing could be scored.
    pub verdict: Option<Verdict>,
    /// The questions that the best cell answered worst, worst first.
    pub worst: Vec<WorstQuery>,
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// `linux`, `macos`, …
    pub os: String,
    /// `x86_64`, `aarch64`, …
    pub arch: String,
    /// Name of the processor, if the system says it.
    pub cpu: Option<String>,
    /// How many threads it runs at once.
    pub cores: usize,
    /// Main memory in bytes, if the system says it.
    pub memory_bytes: Option<u64>,
}

/// The set of labels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabelsRecord {
    /// Name of its folder.
    pub name: String,
    /// Hash of its questions.
    pub queries_hash: String,
    /// Hash of its documents.
    pub corpus_hash: String,
    /// Documents in its corpus.
    pub documents: usize,
    /// Bytes in them.
    pub bytes: u64,
    /// Tokens in them, `cl100k_base`.
    pub tokens: u64,
    /// Its questions.
    pub queries: usize,
    /// Those of which at least one reference could be scored.
    pub scored: usize,
    /// Its references by state: valid, moved, split, ambiguous, gone, `no_document`.
    pub states: BTreeMap<String, usize>,
    /// References that could be scored, in documents that were not indexed: files that the job does not take, or
    /// that are in quarantine. They count as not found.
    #[serde(default)]
    pub not_indexed: usize,
    /// Whether questions were made up from the corpus by `synth`.
    pub synthetic: bool,
}

/// How answers are scored and compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scoring {
    /// Name of the metric that decides.
    pub primary: String,
    /// When a reference counts as found, in words.
    pub coverage: String,
    /// Budgets of tokens at which recall is measured.
    pub budgets: Vec<usize>,
    /// How many of the best chunks are looked at for document metrics, budgets and nDCG.
    pub depth: usize,
    /// Probability that an interval is to hold: 0.95.
    pub confidence: f64,
    /// Bootstrap samples.
    pub resamples: usize,
    /// Permutations of a randomisation test.
    pub permutations: usize,
    /// What is done about making many comparisons.
    #[serde(default)]
    pub correction: Correction,
    /// Whether settings were also chosen by half of the questions and measured by the other half.
    #[serde(default)]
    pub held_out: bool,
    /// Seed of all that is drawn.
    pub seed: u64,
}

/// How p-values are corrected for being many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Single-step `MaxT` (Westfall & Young 1993): it knows how alike the comparisons are.
    #[default]
    MaxT,
    /// Holm 1979: it takes all comparisons for strangers, and so sees less.
    Holm,
}

/// What a metric is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Its name in [`Cell::metrics`].
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it measures, in a sentence.
    pub meaning: String,
    /// Whether larger is better. Shares are in 0..=1.
    pub higher_is_better: bool,
}

/// A question that was scored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueryRecord {
    /// Its id.
    pub id: String,
    /// The question.
    pub text: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Questions with the same number have their evidence near each other; without a number a question is alone.
    #[serde(default)]
    pub cluster: Option<usize>,
}

/// One setting: how documents are chunked, how they are searched, and how many chunks are taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Unique in the run, and the same in other runs of the same sweep file: `recursive max=400, vector, k=5`.
    pub id: String,
    /// Cells with the same dataset have the same.
    pub build: String,
    /// The chunk settings as the dataset's manifest has them: strategy, unit, min, target, max, overlap, switches.
    pub spec: Map<String, Value>,
    /// The same in one line, as `--spec` takes it.
    pub spec_text: String,
    /// The model's id.
    pub model: String,
    /// What ran it, and in what precision.
    pub engine: String,
    /// `vector`, `keyword`, `hybrid` or `graph`.
    pub retrieval: String,
    /// How many of the best chunks are taken.
    pub k: usize,
    /// Of fused retrieval, the ids of the cells by vector and by keyword search that it is made of.
    #[serde(default)]
    pub halves: Vec<String>,
    /// Identity of the dataset's snapshot: the same job over files with the same times gives the same anywhere.
    pub snapshot: String,
    /// Chunks in the dataset.
    pub chunks: u64,
    /// Over all questions, by name of the metric. A metric that no question has is absent.
    pub metrics: BTreeMap<String, Summary>,
    /// For each question of [`Report::queries`] by name of the metric; `None` where a metric does not apply.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
    /// What became of the references.
    pub evidence: EvidenceCounts,
    /// What it costs.
    pub cost: Cost,
    /// Probability that it is the best by the primary metric; `None` of a cell that is not in the choice.
    #[serde(default)]
    pub p_best: Option<f64>,
    /// Against the best cell by the primary metric; `None` for the best itself.
    pub comparison: Option<Comparison>,
    /// The costs at which no other cell is both cheaper and better: `bytes`, `index_seconds`, `query_ms` by the primary metric,
    /// `retrieved_tokens` by `span_recall`, which is of the same k hits.
    pub pareto: Vec<String>,
    /// Its settings for `chunkmill.toml`.
    pub toml: String,
}

/// A mean over questions with its uncertainty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Population standard deviation.
    pub std: f64,
    /// Lower end of the bootstrap interval of the mean.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// What became of the references that could be scored, at k.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceCounts {
    /// One retrieved chunk holds all of it.
    pub whole: usize,
    /// The retrieved chunks hold all of it together.
    pub split: usize,
    /// Chunks of the dataset hold it, and were not all retrieved.
    pub missed: usize,
    /// No chunks of the dataset hold all of it.
    pub unreachable: usize,
}

/// What a cell costs. Everything but the last two is the same for cells of one build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Documents indexed.
    pub documents: u64,
    /// Documents that are in quarantine.
    pub quarantined: u64,
    /// Tokens of all chunks, `cl100k_base`.
    pub tokens: u64,
    /// Bytes of the dataset's files.
    pub bytes: u64,
    /// Bytes of its vectors, uncompressed.
    pub vector_bytes: u64,
    /// Chunks of which the model does not see the end.
    pub truncated: u64,
    /// Different texts that were to be embedded when the sweep made the dataset.
    pub texts: u64,
    /// Those of them whose vectors an earlier cell or run had made.
    pub texts_reused: u64,
    /// Runs of the whole job without the cache; `None` if the sweep did not time it.
    pub index: Option<IndexCost>,
    /// Peak resident memory in bytes by stage, each in a process of its own: `chunk` (parse and chunk all
    /// documents), `index` (the whole job, model included), `search` (open and ask). Absent where the system does
    /// not say.
    pub peak_rss: BTreeMap<String, u64>,
    /// Time of a question by this retrieval, in milliseconds; embedding the question included.
    pub query_ms: Percentiles,
    /// The part of it that is search alone.
    pub search_ms: Percentiles,
}

/// Timings of the job, of one run or several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexCost {
    /// How often it was run.
    pub repeats: usize,
    /// Seconds from start to commit, model loading left out.
    pub seconds: Spread,
    /// Seconds of work by stage: `chunk`, `embed`, `write`. They overlap in time.
    pub stages: BTreeMap<String, Spread>,
    /// Chunking's share of the work of all stages.
    pub chunking_share: Spread,
}

/// Of repeated measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The middle one.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Of many measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// A paired comparison of one cell with another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Mean of this cell's values less the other's, over the questions that both have.
    pub difference: f64,
    /// Lower end of its bootstrap interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Two-sided p-value of the paired randomisation test.
    pub p: f64,
    /// The same corrected for the number of comparisons.
    pub p_adjusted: f64,
    /// Whether the cells differ at all, as far as these questions tell: `p_adjusted` below 1 - confidence.
    pub separable: bool,
}

/// A setting that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// What it would have been called.
    pub id: String,
    /// Why: what is wrong with it, or which cell it is equal to.
    pub reason: String,
}

/// What follows from the cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The answer in a few sentences: which settings, how good, how sure.
    pub text: String,
    /// Id of the cell with the best mean of the primary metric.
    pub best: String,
    /// Probability that it is the best; below 0.9 it is only ahead.
    #[serde(default)]
    pub p_best: f64,
    /// The cell after it, and what would part the two; `None` if it is surely worse, or equal.
    #[serde(default)]
    pub runner_up: Option<RunnerUp>,
    /// What choosing by half of the questions brings on the other half.
    #[serde(default)]
    pub held_out: Option<HeldOutRecord>,
    /// Ids of the cells that are not ruled out: they are not significantly worse, or the best with a probability of at
    /// least 0.025.
    pub not_separable: Vec<String>,
    /// Of the best and those, the one whose dataset is smallest.
    pub cheapest: String,
    /// The settings to use, for `chunkmill.toml`.
    pub toml: String,
    /// How much better by the primary metric a cell would have to be than the best for these questions to show
    /// it, uncorrected, with probability 0.8.
    pub minimum_detectable_effect: f64,
    /// Fused retrieval beside its halves.
    pub hybrid: Vec<HybridVerdict>,
    /// The same over all datasets together; `None` if there is none of which both halves were tried.
    #[serde(default)]
    pub hybrid_overall: Option<HybridOverall>,
}

/// The cell with the second best mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunnerUp {
    /// Its id.
    pub id: String,
    /// How many more questions like these would show, in four of five cases, that the two differ, if they differ by as
    /// much as they do now.
    pub more_questions: u64,
}

/// Settings chosen by half of the questions and measured by the other half, both ways, over random halves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldOutRecord {
    /// How many times the questions were halved.
    pub splits: usize,
    /// Mean of the primary metric over the questions that chose.
    pub chosen: f64,
    /// Its mean over the others.
    pub held_out: f64,
    /// Share of the choices that fell on the best by all questions.
    pub same: f64,
}

/// Fused retrieval beside the better of its halves, each question averaged over all datasets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HybridOverall {
    /// The half that is better over all: `vector` or `keyword`.
    pub half: String,
    /// Over how many datasets.
    pub datasets: usize,
    /// Hybrid less half by the primary metric; one comparison, so nothing is corrected.
    pub comparison: Comparison,
    /// What that means, in a sentence.
    pub text: String,
}

/// Fused retrieval beside the better of its halves, over the same dataset and k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HybridVerdict {
    /// Cell by fused retrieval.
    pub hybrid: String,
    /// Cell by its better half.
    pub half: String,
    /// Hybrid less half by the primary metric.
    pub comparison: Comparison,
    /// What that means, in a sentence.
    pub text: String,
}

/// A question that was answered badly, with what was retrieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorstQuery {
    /// Position in [`Report::queries`].
    pub query: usize,
    /// Its value by the primary metric.
    pub value: f64,
    /// What would have answered it.
    pub evidence: Vec<EvidenceText>,
    /// What was handed over: the passages of the context by which cells are judged, or the best hits.
    pub retrieved: Vec<RetrievedText>,
}

/// A reference with its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceText {
    /// Document.
    pub doc_id: String,
    /// First line in it, from 1.
    pub line: usize,
    /// The text; `None` if the document was judged as a whole.
    pub text: Option<String>,
    /// `whole`, `split`, `missed` or `unreachable`.
    pub state: String,
    /// In how many other places it would have done as well.
    #[serde(default)]
    pub alternatives: usize,
    /// Rank of the first chunk that holds some of it, as deep as was looked.
    pub rank: Option<usize>,
}

/// A chunk that was retrieved, or a passage that was handed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetrievedText {
    /// Rank, from 1.
    pub rank: usize,
    /// Score by which it was ranked; `None` of a passage of a context.
    pub score: Option<f64>,
    /// `path:start_line-end_line`.
    pub citation: String,
    /// Its text in pieces; what is evidence is marked. Long texts are shortened where they have no evidence.
    pub pieces: Vec<TextPiece>,
}

/// A stretch of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextPiece {
    /// The text.
    pub text: String,
    /// Whether it is evidence.
    pub evidence: bool,
}

impl Spread {
    /// Of these values; 0 without any.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else { return Self::default() };
        let (below, above) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Self { median: f64::midpoint(below, above), min, max }
    }
}

impl Percentiles {
    /// Of these values, by the nearest rank; 0 without any.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100);
            values.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Self { p50: at(50), p95: at(95), p99: at(99) }
    }
}

impl Report {
    /// Reads a report: the file, or that of a run's folder.
    ///
    /// # Errors
    /// [`Error::Named`] or [`Error::Io`] if it cannot be read, [`Error::Setting`] if it is no report or of another form.
    pub fn read(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        let text = fs::read_to_string(&path).map_err(Error::named(&path, REPORT))?;
        let wrong = |problem: String, help: &str| Error::Setting {
            origin: path.display().to_string(),
            problem,
            help: help.to_owned(),
        };
        let value: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string(), REPORT))?;
        match value.get("format_version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(FORMAT_VERSION) => {}
            Some(version) => {
                let problem = format!("is a report of format {version}; this program reads {FORMAT_VERSION}");
                return Err(wrong(problem, REPORT));
            }
            None => return Err(wrong("is no report: it has no `format_version`".to_owned(), REPORT)),
        }
        serde_json::from_value(value).map_err(|e| wrong(e.to_string(), REPORT))
    }

    /// What a later run is compared with, and nothing else: these metrics, without the command line. It is a report like any
    /// other, small enough to be kept with the code.
    #[must_use]
    pub fn baseline(&self, metrics: &[String]) -> Self {
        let mut kept = self.clone();
        kept.worst.clear();
        // They may hold paths of the machine.
        kept.command.clear();
        if let Some(verdict) = &mut kept.verdict {
            verdict.toml.clear();
        }
        kept.metrics.retain(|metric| metrics.contains(&metric.name));
        for cell in &mut kept.cells {
            cell.toml.clear();
            cell.values.retain(|name, _| metrics.contains(name));
            cell.metrics.retain(|name, _| metrics.contains(name));
        }
        kept
    }

    /// A cell by its id.
    #[must_use]
    pub fn cell(&self, id: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.id == id)
    }

    /// What a metric is.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}
