//! The result of a sweep as one value: `report.json`.
//!
//! A report contains everything that is shown or compared, so the renderers, the gate and the comparison of two runs
//! are functions of this value alone. [`FORMAT_VERSION`] increases when a reader of the old format could misread the
//! new one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chunkmill::error::{Error, Result};
use chunkmill::safely;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::answers::AnswerPlaces;
use crate::data::left_out::LeftOut;

/// Version of the format of `report.json`.
pub const FORMAT_VERSION: u32 = 1;

/// Name of the file in a run's folder.
pub const FILE: &str = "report.json";

/// Larger figures were not measured.
const MOST: f64 = 1e18;

/// Larger sizes were not measured.
const MOST_BYTES: u64 = 1 << 60;

/// Largest number of samples and permutations that a sweep file may ask for.
const MOST_SAMPLES: usize = 1_000_000;

/// Help for errors about a path that does not name a report.
const REPORT: &str = "name the folder of a run, its report.json, or a file written by `chunkmill-eval baseline RUN -o FILE` of this version";

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of the program that made it.
    pub tool_version: String,
    /// Time of creation, as RFC 3339.
    pub created: String,
    /// The command line of the sweep, without the path of the program.
    pub command: Vec<String>,
    /// The machine that measured it.
    pub environment: Environment,
    /// The questions and documents.
    pub labels: LabelsRecord,
    /// The rules for scoring answers.
    pub scoring: Scoring,
    /// The metrics, in display order.
    pub metrics: Vec<Metric>,
    /// The scored questions, in the order of [`Cell::values`].
    pub queries: Vec<QueryRecord>,
    /// All questions with the state of their evidence, also those that could not be scored. Empty in a report of an
    /// earlier version.
    #[serde(default)]
    pub labelled: Vec<LabelledQuestion>,
    /// The settings that were tried, in the order of the sweep file.
    pub cells: Vec<Cell>,
    /// The settings that were not tried, with reasons.
    pub left_out: Vec<LeftOut>,
    /// The conclusions; `None` if nothing could be scored.
    pub verdict: Option<Verdict>,
    /// The places that the questions want, and those that a few settings hand over for them.
    #[serde(default)]
    pub answers: AnswerPlaces,
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// `linux`, `macos`, …
    pub os: String,
    /// `x86_64`, `aarch64`, …
    pub arch: String,
    /// Name of the processor, if the system reports it.
    pub cpu: Option<String>,
    /// Number of threads it runs at once.
    pub cores: usize,
    /// Main memory in bytes, if the system reports it.
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
    /// Number of documents in its corpus.
    pub documents: usize,
    /// Bytes of the documents.
    pub bytes: u64,
    /// Tokens of the documents, `cl100k_base`.
    pub tokens: u64,
    /// Number of its questions that have evidence.
    pub queries: usize,
    /// Number of its questions that the documents do not answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: usize,
    /// Number of questions with at least one reference that could be scored.
    pub scored: usize,
    /// Number of its references by state: valid, moved, split, ambiguous, gone, `no_document`.
    pub states: BTreeMap<String, usize>,
    /// References that could be scored, in documents that were not indexed: files that the job does not accept or
    /// that are quarantined. They count as not found.
    #[serde(default)]
    pub not_indexed: usize,
    /// Whether `synth` made questions from the corpus.
    pub synthetic: bool,
    /// Number of scored questions whose evidence a person chose from passages that search proposed, which favours what
    /// search finds.
    #[serde(default)]
    pub proposed: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How answers are scored and compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scoring {
    /// Name of the primary metric, which decides.
    pub primary: String,
    /// When a reference counts as found, in words.
    pub coverage: String,
    /// Token budgets at which recall is measured.
    pub budgets: Vec<usize>,
    /// Number of best chunks examined for document metrics, budgets and nDCG.
    pub depth: usize,
    /// Confidence level of the intervals: 0.95.
    pub confidence: f64,
    /// Number of bootstrap samples.
    pub resamples: usize,
    /// Number of permutations of a randomisation test.
    pub permutations: usize,
    /// The correction for multiple comparisons.
    #[serde(default)]
    pub correction: Correction,
    /// Whether settings were also chosen by half of the questions and measured by the other half.
    #[serde(default)]
    pub held_out: bool,
    /// Seed of all random choices.
    pub seed: u64,
}

/// A correction of p-values for multiple comparisons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Single-step `MaxT` (Westfall & Young 1993), which takes the correlation of the comparisons into account.
    #[default]
    MaxT,
    /// Holm 1979, which ignores the correlation of the comparisons and therefore detects less.
    Holm,
}

/// The description of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Its name in [`Cell::metrics`].
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// A sentence on what it measures.
    pub meaning: String,
    /// Whether larger is better. Shares are in 0..=1.
    pub higher_is_better: bool,
}

/// A scored question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueryRecord {
    /// Its id.
    pub id: String,
    /// The question.
    pub text: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Questions with the same number have their evidence near each other; a question without a number is on its
    /// own.
    #[serde(default)]
    pub cluster: Option<usize>,
    /// Whether the documents do not answer it. Then only `no_answer_told_apart` has a value for it. These questions follow
    /// all others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
}

/// A question of the labels with the state of its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabelledQuestion {
    /// Its id.
    pub id: String,
    /// The question.
    pub text: String,
    /// Its references.
    pub references: Vec<LabelledReference>,
}

/// A reference with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LabelledReference {
    /// Hash of the labelled texts, or of the documents' ids where they were judged as a whole. A label that only names
    /// another place of the same text has the same key.
    pub key: String,
    /// `valid`, `moved`, `split`, `ambiguous`, `gone` or `no_document`: the state of its best alternative, which is that
    /// of this alternative's worst place.
    pub state: String,
    /// Its grade.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub grade: f64,
    /// The current state of that place, unless it is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

/// The current state of a labelled place that is not valid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The document that the label names.
    pub doc_id: String,
    /// The beginning of the labelled text; empty if the document was judged as a whole.
    pub text: String,
    /// The finding in words.
    pub finding: String,
}

fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(grade: &f64) -> bool {
    grade.to_bits() == one().to_bits()
}

impl LabelledReference {
    /// Returns whether it can be scored: it is as it was labelled, or only somewhere else.
    pub fn can_be_scored(&self) -> bool {
        matches!(self.state.as_str(), "valid" | "moved")
    }
}

/// One setting: how documents are chunked, how they are searched, and how many chunks are taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Unique in the run, and the same in other runs of the same sweep file: `recursive max=400, vector, k=5`.
    pub id: String,
    /// Name of the build; the same for cells that share a dataset.
    pub build: String,
    /// The chunk settings from the dataset's manifest: strategy, unit, min, target, max, overlap, switches.
    pub spec: Map<String, Value>,
    /// The chunk settings in one line, in the form that `--spec` accepts.
    pub spec_text: String,
    /// The model's id.
    pub model: String,
    /// The engine that ran the model, and its precision.
    pub engine: String,
    /// `vector`, `keyword`, `hybrid` or `graph`.
    pub retrieval: String,
    /// The reranker, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reranker: Option<CellReranker>,
    /// Number of best chunks taken.
    pub k: usize,
    /// For fused retrieval, the ids of the vector cell and the keyword cell that it fuses.
    #[serde(default)]
    pub halves: Vec<String>,
    /// Identity of the dataset's snapshot. The same job over files with the same modification times has the same
    /// identity on any machine.
    pub snapshot: String,
    /// Number of chunks in the dataset.
    pub chunks: u64,
    /// Summaries over all questions, by name of the metric. A metric that no question has is absent.
    pub metrics: BTreeMap<String, Summary>,
    /// Values for each question of [`Report::queries`], by name of the metric; `None` where a metric does not apply.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
    /// A letter for each question of [`Report::queries`]: how its evidence is in what decides, see [`QuestionOutcome`]. Empty in a
    /// report of an earlier version.
    #[serde(default)]
    pub outcomes: String,
    /// Number of references by outcome.
    pub evidence: EvidenceCounts,
    /// Whether the chances of evidence are right, if the search knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<ChanceRecord>,
    /// Its costs.
    pub cost: Cost,
    /// Probability that it is the best by the primary metric; `None` for a cell that is left out of the choice.
    #[serde(default)]
    pub p_best: Option<f64>,
    /// Comparison with the best cell by the primary metric; `None` for the best cell itself.
    pub comparison: Option<Comparison>,
    /// The costs for which no other cell is both cheaper and better. `bytes`, `index_seconds` and `query_ms` are
    /// paired with the primary metric, `retrieved_tokens` with `span_recall`, which is measured on the same k hits.
    pub pareto: Vec<String>,
    /// Its settings for `chunkmill.toml`.
    pub toml: String,
}

/// Whether the chances of evidence of a setting are right. Each question with an answer is asked twice: once as usual, and
/// once without the documents that answer it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChanceRecord {
    /// How often chunks hold evidence, by what is said of them.
    pub reliability: Vec<ChanceBin>,
    /// How many questions are answered, by the lowest chance of the best chunk.
    pub risk: Vec<RiskPoint>,
    /// Area under the curve of risk and coverage, from 0 (best) to 1: the mean share of questions without an answer among those
    /// that are answered, as more and more are, in the order of their chances.
    pub area: f64,
}

/// Chunks of about the same chance of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChanceBin {
    /// Lowest chance.
    pub from: f64,
    /// The chance that ends it.
    pub to: f64,
    /// Number of chunks.
    pub chunks: usize,
    /// Mean chance.
    pub said: f64,
    /// Share of the chunks that hold evidence.
    pub found: f64,
}

/// The questions that are answered if the best chunk must have a chance of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RiskPoint {
    /// The lowest chance.
    pub least: f64,
    /// Share of the questions with an answer that are answered.
    pub answered: f64,
    /// Share of the questions without an answer that are answered.
    pub mistaken: f64,
}

/// A mean over questions with its uncertainty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Population standard deviation.
    pub std: f64,
    /// Lower end of the bootstrap interval of the mean. If all questions have the same value, the samples have it too,
    /// and the interval is what an unseen question could change (Clopper & Pearson 1934).
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// How the evidence of a question is in the context by which cells are judged, or else in the k best chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionOutcome {
    /// All of it, each reference in one passage or chunk.
    Found,
    /// All of it, but several passages or chunks contain a reference only together.
    Split,
    /// A part of it.
    Part,
    /// None of it.
    Missed,
    /// None of it, because no chunks of the dataset contain it.
    Unreachable,
    /// The question names no place: its documents were judged as a whole.
    NoPlace,
    /// The documents do not answer the question.
    NoAnswer,
}

impl QuestionOutcome {
    /// Returns its letter in [`Cell::outcomes`].
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Found => 'f',
            Self::Split => 's',
            Self::Part => 'p',
            Self::Missed => 'm',
            Self::Unreachable => 'u',
            Self::NoPlace => '-',
            Self::NoAnswer => 'n',
        }
    }
}

/// Outcomes of the references that could be scored, at k.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceCounts {
    /// One retrieved chunk contains all of the reference.
    pub whole: usize,
    /// The retrieved chunks contain all of it only together.
    pub split: usize,
    /// Chunks of the dataset contain it, but not all of them were retrieved.
    pub missed: usize,
    /// No chunks of the dataset contain all of it.
    pub unreachable: usize,
}

/// The costs of a cell. All fields except the last two are the same for all cells of a build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Number of indexed documents.
    pub documents: u64,
    /// Number of quarantined documents.
    pub quarantined: u64,
    /// Tokens of all chunks, `cl100k_base`.
    pub tokens: u64,
    /// Bytes of the dataset's files.
    pub bytes: u64,
    /// Bytes of its vectors, uncompressed.
    pub vector_bytes: u64,
    /// Number of chunks whose end the model does not see.
    pub truncated: u64,
    /// Number of distinct texts to embed when the sweep built the dataset.
    pub texts: u64,
    /// Number of these texts whose vectors an earlier cell or run had computed.
    pub texts_reused: u64,
    /// Timings of the whole job without the cache; `None` if the sweep did not time it.
    pub index: Option<IndexCost>,
    /// Peak resident memory in bytes by stage, each stage in its own process: `chunk` (parse and chunk all
    /// documents), `index` (the whole job including the model), `search` (open and ask). Absent if the system does
    /// not report it.
    pub peak_rss: BTreeMap<String, u64>,
    /// Time per question with this retrieval in milliseconds, including embedding the question.
    pub query_ms: Percentiles,
    /// Time of the search alone.
    pub search_ms: Percentiles,
}

/// Timings of the job over one or several runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexCost {
    /// Number of runs.
    pub repeats: usize,
    /// Seconds from start to commit, without loading the model.
    pub seconds: Spread,
    /// Seconds of work by stage: `chunk`, `embed`, `write`. They overlap in time.
    pub stages: BTreeMap<String, Spread>,
    /// Chunking's share of the work of all stages.
    pub chunking_share: Spread,
}

/// Median and range of repeated measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// Percentiles of many measurements.
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
    /// Mean of this cell's values minus the other's, over the questions for which both have a value.
    pub difference: f64,
    /// Lower end of its bootstrap interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Two-sided p-value of the paired randomisation test.
    pub p: f64,
    /// The p-value corrected for the number of comparisons.
    pub p_adjusted: f64,
    /// Whether these questions show a difference between the cells: `p_adjusted` is below 1 - confidence.
    pub separable: bool,
}

/// The conclusions from the cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// [`Verdict::advice`] as one text.
    pub text: String,
    /// The answer, in sentences that each answer one question of a reader.
    #[serde(default)]
    pub advice: Advice,
    /// Id of the cell with the best mean of the primary metric.
    pub best: String,
    /// Id of the cell whose settings to use: the best one if it is probably that, else the default unless it is ruled
    /// out, else the best one.
    #[serde(default)]
    pub advised: String,
    /// Ids of the cells whose mean is as good as that of the best one, including it; empty if no other is.
    #[serde(default)]
    pub tied: Vec<String>,
    /// Probability that it is the best; below 0.9 it is only called ahead.
    #[serde(default)]
    pub p_best: f64,
    /// The second-best cell, and what would separate the two; `None` if it is significantly worse, or equal.
    #[serde(default)]
    pub runner_up: Option<RunnerUp>,
    /// Result of choosing by half of the questions and measuring on the other half.
    #[serde(default)]
    pub held_out: Option<HeldOutRecord>,
    /// Ids of the cells that are not ruled out: they are not significantly worse, or the best with a probability of at
    /// least 0.025.
    pub not_separable: Vec<String>,
    /// Of the best cell and those, the one with the smallest dataset.
    pub cheapest: String,
    /// The settings of the advised cell, for `chunkmill.toml`.
    pub toml: String,
    /// How much better than the best a cell would have to be by the primary metric for these questions to show it,
    /// uncorrected, with probability 0.8.
    pub minimum_detectable_effect: f64,
    /// Each search with a reranker compared with the same search without it. One is only advised if it pays.
    #[serde(default)]
    pub rerankers: Vec<RerankerVerdict>,
    /// Fused retrieval compared with its halves.
    pub hybrid: Vec<HybridVerdict>,
    /// The same comparison over all datasets together; `None` if both halves were tried on none of them.
    #[serde(default)]
    pub hybrid_overall: Option<HybridOverall>,
}

/// Advice in words. Settings are between backticks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Which settings to use, and why.
    pub headline: String,
    /// How good they are.
    pub gain: String,
    /// The costs of these settings.
    pub cost: String,
    /// How certain the advice is.
    pub certainty: String,
    /// The next step: how to become more certain.
    pub next: String,
    /// Reasons for caution that a reader must know.
    pub caveats: Vec<String>,
}

/// The cell with the second best mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunnerUp {
    /// Its id.
    pub id: String,
    /// Number of additional questions like these that would show, in four of five cases, that the two differ, if the
    /// difference stays the same.
    pub more_questions: u64,
}

/// Result of choosing settings by half of the questions and measuring them by the other half, in both directions,
/// over random halves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldOutRecord {
    /// Number of times the questions were halved.
    pub splits: usize,
    /// Mean of the primary metric over the questions used for choosing.
    pub chosen: f64,
    /// Its mean over the other questions.
    pub held_out: f64,
    /// Share of the choices that agree with the best cell by all questions.
    pub same: f64,
}

/// Fused retrieval compared with the better of its halves, each question averaged over all datasets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HybridOverall {
    /// The half that is better overall: `vector` or `keyword`.
    pub half: String,
    /// Number of datasets.
    pub datasets: usize,
    /// Hybrid minus half by the primary metric; a single comparison, so nothing is corrected.
    pub comparison: Comparison,
    /// A sentence on what that means.
    pub text: String,
}

/// The reranker of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellReranker {
    /// Its folder or hub id.
    pub model: String,
    /// Id of the cell that only lacks it, if that was tried.
    pub without: Option<String>,
}

/// A search with a reranker compared with the same search without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerankerVerdict {
    /// Id of the cell with the reranker.
    pub reranked: String,
    /// Id of the cell without it.
    pub without: String,
    /// With it minus without it by the primary metric.
    pub comparison: Comparison,
    /// Whether the questions show that it finds more.
    pub pays: bool,
    /// A sentence on what that means, with its time per question.
    pub text: String,
}

/// Fused retrieval compared with the better of its halves, over the same dataset and k.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HybridVerdict {
    /// Id of the cell with fused retrieval.
    pub hybrid: String,
    /// Id of the cell with its better half.
    pub half: String,
    /// Hybrid minus half by the primary metric.
    pub comparison: Comparison,
    /// A sentence on what that means.
    pub text: String,
}

impl Spread {
    /// Summarizes these values; all fields are 0 if there are none.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else { return Self::default() };
        let (below, above) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Self { median: f64::midpoint(below, above), min, max }
    }
}

impl Percentiles {
    /// Computes the percentiles of these values by the nearest-rank method; 0 if there are none.
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
    /// Reads a report from its file or from the folder of a run.
    ///
    /// # Errors
    /// [`Error::Named`] or [`Error::Io`] if it cannot be read, [`Error::Setting`] if it is not a report or has
    /// another format.
    pub fn read(path: &Path) -> Result<Self> {
        let (path, bytes) = if path.is_dir() {
            (path.join(FILE), safely::read(&path.join(FILE)))
        } else {
            (path.to_owned(), fs::read(path))
        };
        let text = bytes.map_err(Error::named(&path, REPORT))?;
        let wrong = |problem: String, help: &str| Error::setting(path.display().to_string(), problem, help);
        let value: Value = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string(), REPORT))?;
        match value.get("format_version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(FORMAT_VERSION) => {}
            Some(version) => {
                let problem = format!("is a report of format {version}; this program reads {FORMAT_VERSION}");
                return Err(wrong(problem, REPORT));
            }
            None => return Err(wrong("is not a report: it has no `format_version`".to_owned(), REPORT)),
        }
        let report: Self = serde_json::from_value(value).map_err(|e| wrong(e.to_string(), REPORT))?;
        report.check().map_err(|problem| wrong(format!("is damaged: {problem}"), REPORT))?;
        Ok(report)
    }

    /// Checks what comparing and showing rely on: a value for each question, and numbers in range.
    fn check(&self) -> Result<(), &'static str> {
        let is_column = |values: &Vec<Option<f64>>| {
            values.len() == self.queries.len() && values.iter().flatten().all(|value| value.abs() < MOST)
        };
        let is_summary = |s: &Summary| [s.mean, s.std, s.lo, s.hi].iter().all(|value| value.abs() < MOST);
        let is_whole = |cell: &Cell| cell.values.values().all(is_column) && cell.metrics.values().all(is_summary);
        if !self.cells.iter().all(is_whole) {
            return Err("a setting does not have a value for each question, or it is out of range");
        }
        let asked = self.queries.len();
        if !self.cells.iter().all(|cell| cell.outcomes.is_empty() || cell.outcomes.chars().count() == asked) {
            return Err("a setting does not have an outcome for each question");
        }
        self.answers.check(asked)?;
        let is_cost = |cell: &Cell| {
            let Cost { query_ms, search_ms, index, .. } = &cell.cost;
            let percentiles = [query_ms, search_ms].into_iter().flat_map(|of| [of.p50, of.p95, of.p99]);
            let spreads =
                index.iter().flat_map(|index| index.stages.values().chain([&index.seconds, &index.chunking_share]));
            let times = percentiles.chain(spreads.flat_map(|of| [of.median, of.min, of.max]));
            let in_range = times.chain(cell.p_best).all(|value| (0.0..MOST).contains(&value));
            in_range && [cell.chunks, cell.cost.bytes, cell.cost.tokens].iter().all(|&count| count < MOST_BYTES)
        };
        if !self.cells.iter().all(is_cost) {
            return Err("a cost is out of range");
        }
        let Scoring { confidence, resamples, permutations, budgets, .. } = &self.scoring;
        let samples = |number: usize| (1..=MOST_SAMPLES).contains(&number);
        if !(*confidence > 0.5
            && *confidence < 1.0
            && samples(*resamples)
            && samples(*permutations)
            && budgets.len() <= 64)
        {
            return Err("its rules for scoring are out of range");
        }
        Ok(())
    }

    /// Returns only the parts with which a later run is compared: these metrics, without the command line. The
    /// result is an ordinary report, small enough to keep with the code.
    #[must_use]
    pub fn baseline(&self, metrics: &[String]) -> Self {
        let mut kept = self.clone();
        kept.answers = AnswerPlaces::default();
        // It may contain paths of the machine.
        kept.command.clear();
        if let Some(verdict) = &mut kept.verdict {
            verdict.toml.clear();
        }
        kept.metrics.retain(|metric| metrics.contains(&metric.name));
        for reference in kept.labelled.iter_mut().flat_map(|question| &mut question.references) {
            reference.drift = None;
        }
        for cell in &mut kept.cells {
            cell.toml.clear();
            cell.values.retain(|name, _| metrics.contains(name));
            cell.metrics.retain(|name, _| metrics.contains(name));
        }
        kept
    }

    /// Finds a cell by its id.
    pub fn cell(&self, id: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.id == id)
    }

    /// Finds the description of a metric.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}
