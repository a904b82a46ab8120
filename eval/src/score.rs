//! How good are the answers of a cell? One value per question and metric, from places alone.
//!
//! Text is measured in characters, as Chroma's evaluation does, so its figures and ours compare. What a
//! chunk repeats of the one before it belongs to its text, because the reader gets it and pays for it.
//! Evidence counts as found by the text that is not white space.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use chunkmill::error::{Error, Result};
use chunkmill::tokens::{TokenCounter, cl100k};
use serde::{Deserialize, Serialize};

use crate::labels::{Checked, Corpus, LabelSet};
use crate::metrics::{
    Cover, Coverage, Evidence, Gain, Ranking, Span, Target, Touch, evidence, precision_omega, solid, text,
    within_budget,
};
use crate::record::{Answer, ChunkPlace};
use crate::report::{EvidenceCounts, Metric};

/// The `[scoring]` table of a sweep file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScoringOptions {
    /// Name of the metric that decides; by default recall at the second budget, or the only one.
    pub primary: Option<String>,
    /// When a reference counts as found.
    pub coverage: CoverageRule,
    /// Which share of its text must be there for that, above 0 and at most 1.
    pub share: f64,
    /// Budgets of tokens at which recall is measured.
    pub budgets: Vec<usize>,
    /// How many chunks are retrieved for each question, at least k and 10.
    pub depth: usize,
    /// Whether a chunk that only touches a reference counts for precision-omega.
    pub touch: TouchRule,
    /// Probability that an interval is to hold.
    pub confidence: f64,
    /// Bootstrap samples.
    pub resamples: usize,
    /// Permutations of a randomisation test.
    pub permutations: usize,
    /// Seed of both.
    pub seed: u64,
}

/// When a reference counts as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageRule {
    /// The chunks up to a rank hold it together.
    #[default]
    Together,
    /// One chunk holds it.
    One,
}

/// Whether a chunk that ends where a reference starts touches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TouchRule {
    /// It does not.
    #[default]
    Shared,
    /// It does, as in Chroma's code.
    Adjacent,
}

impl Default for ScoringOptions {
    fn default() -> Self {
        Self {
            primary: None,
            coverage: CoverageRule::Together,
            share: 1.0,
            budgets: vec![500, 1000, 2000, 4000],
            depth: 100,
            touch: TouchRule::Shared,
            confidence: 0.95,
            resamples: 2000,
            permutations: 10_000,
            seed: 1,
        }
    }
}

impl ScoringOptions {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// [`Error::Setting`] naming the key.
    pub fn check(&self, origin: &str) -> Result<()> {
        let wrong = |key: &str, problem: &str, help: &str| {
            let origin = format!("{origin}: scoring.{key}");
            Err(Error::Setting { origin, problem: problem.to_owned(), help: help.to_owned() })
        };
        if !(self.share > 0.0 && self.share <= 1.0) {
            return wrong("share", &format!("{} is no share", self.share), "write a number above 0 and at most 1");
        }
        if self.budgets.contains(&0) || self.budgets.len() > 16 {
            return wrong("budgets", "a budget is 0, or there are more than 16", "write budgets = [500, 1000, 2000]");
        }
        if !(1..=10_000).contains(&self.depth) {
            return wrong("depth", &format!("{} is out of range", self.depth), "write a number from 1 to 10000");
        }
        if !(self.confidence > 0.5 && self.confidence < 1.0) {
            return wrong("confidence", &format!("{} is out of range", self.confidence), "write 0.95");
        }
        for (key, value) in [("resamples", self.resamples), ("permutations", self.permutations)] {
            if !(100..=1_000_000).contains(&value) {
                return wrong(key, &format!("{value} is out of range"), "write a number from 100 to 1000000");
            }
        }
        let primary = self.primary();
        if !self.metrics().iter().any(|metric| metric.name == primary && metric.higher_is_better) {
            let names: Vec<String> =
                self.metrics().into_iter().filter(|metric| metric.higher_is_better).map(|metric| metric.name).collect();
            return wrong(
                "primary",
                &format!("there is no metric `{primary}`"),
                &format!("one of: {}", names.join(", ")),
            );
        }
        Ok(())
    }

    /// The metric that decides.
    #[must_use]
    pub fn primary(&self) -> String {
        let by_budget = self.budgets.get(1).or(self.budgets.first()).map(|budget| in_tokens(*budget));
        self.primary.clone().or(by_budget).unwrap_or_else(|| "ndcg_at_10".to_owned())
    }

    /// The metric that decides for these labels: where they name no places, only documents can be found.
    #[must_use]
    pub fn primary_for(&self, judge: &Judge) -> String {
        let has_places = judge.questions.iter().any(|question| !question.targets.is_empty());
        if self.primary.is_none() && !has_places { "doc_ndcg_at_10".to_owned() } else { self.primary() }
    }

    /// How many chunks are to be retrieved for cells with these k.
    #[must_use]
    pub fn depth(&self, ks: impl Iterator<Item = usize>) -> usize {
        ks.fold(self.depth.max(10), usize::max)
    }

    /// The coverage rule in words.
    #[must_use]
    pub fn describe_coverage(&self) -> String {
        let share = if self.share < 1.0 {
            format!("{:.0} % of its text", 100.0 * self.share)
        } else {
            "all of its text".to_owned()
        };
        match self.coverage {
            CoverageRule::Together => format!(
                "a reference is found at the rank where the chunks so far together hold {share}, white space aside"
            ),
            CoverageRule::One => {
                format!("a reference is found by the first chunk that alone holds {share}, white space aside")
            }
        }
    }

    fn coverage(&self) -> Coverage {
        match self.coverage {
            CoverageRule::Together => Coverage::Together(self.share),
            CoverageRule::One => Coverage::One(self.share),
        }
    }

    fn touch(&self) -> Touch {
        match self.touch {
            TouchRule::Shared => Touch::Shared,
            TouchRule::Adjacent => Touch::Adjacent,
        }
    }

    /// What is measured, in the order in which it is shown.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let metric = |name: &str, title: &str, meaning: &str, higher_is_better: bool| Metric {
            name: name.to_owned(),
            title: title.to_owned(),
            meaning: meaning.to_owned(),
            higher_is_better,
        };
        let budgets = self.budgets.iter().map(|&budget| {
            metric(
                &in_tokens(budget),
                &format!("recall in {budget} tokens"),
                &format!("share of the evidence's text in the first {budget} tokens of what is retrieved, whatever the chunks' size"),
                true,
            )
        });
        let others = [
            ("span_recall", "recall of text", "share of the evidence's text in the k best chunks", true),
            (
                "span_precision",
                "precision of text",
                "share of the k best chunks' text that is evidence; overlap counts each time",
                true,
            ),
            ("span_iou", "IoU of text", "text that is evidence and retrieved over text that is either", true),
            (
                "precision_omega",
                "precision Ω",
                "precision of text if exactly the chunks that hold evidence were retrieved",
                true,
            ),
            ("recall_at_k", "recall@k", "share of the references that are found in the k best chunks", true),
            (
                "precision_at_k",
                "precision@k",
                "share of the k best chunks that bring a reference none before them brought",
                true,
            ),
            ("hit_at_k", "hit@k", "whether any reference is found in the k best chunks", true),
            ("ndcg_at_10", "nDCG@10", "how early references are found, by grade, in the best 10 chunks", true),
            (
                "mrr_at_10",
                "MRR@10",
                "one over the rank at which the first reference is found, in the best 10 chunks",
                true,
            ),
            ("map_at_10", "MAP@10", "mean of the precision at the rank of each reference, in the best 10 chunks", true),
            (
                "doc_ndcg_at_10",
                "documents: nDCG@10",
                "how early relevant documents come, ranked by their best chunk",
                true,
            ),
            ("doc_mrr_at_10", "documents: MRR@10", "one over the rank of the first relevant document", true),
            ("doc_recall_at_10", "documents: recall@10", "share of the relevant documents among the best 10", true),
            ("doc_recall_at_100", "documents: recall@100", "share of the relevant documents among the best 100", true),
            ("retrieved_tokens", "tokens read", "tokens of the k best chunks, which the reader gets", false),
            (
                "whole_document_tokens",
                "tokens of whole documents",
                "tokens of the documents that the k best chunks are of, had they been handed over whole",
                false,
            ),
        ];
        budgets.chain(others.map(|(name, title, meaning, higher)| metric(name, title, meaning, higher))).collect()
    }
}

/// Name of recall at a budget.
fn in_tokens(budget: usize) -> String {
    format!("recall_in_{budget}_tokens")
}

/// The labels of a set, as places.
#[derive(Debug)]
pub struct Judge {
    /// Ids of the documents, ascending; a document's number is its position.
    documents: Vec<String>,
    characters: Vec<Characters>,
    /// Tokens of each document.
    tokens: Vec<usize>,
    /// The questions that can be scored: position in the set, and what answers them.
    pub(crate) questions: Vec<Question>,
}

/// What answers a question.
#[derive(Debug)]
pub(crate) struct Question {
    /// Position in the set.
    pub(crate) query: usize,
    /// Its references that are places, white space left out.
    pub(crate) targets: Vec<Target>,
    /// The same in full, in characters.
    wanted: Vec<Span>,
    /// Bytes of each of them.
    pub(crate) bytes: Vec<(usize, Range<usize>)>,
    /// Relevant documents with their grades.
    pub(crate) judged: HashMap<usize, f64>,
}

/// For every byte of a text, the number of characters before it.
#[derive(Debug)]
enum Characters {
    /// All characters are bytes.
    Ascii,
    Table(Vec<u32>),
}

impl Characters {
    fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Self::Ascii;
        }
        let mut table = vec![0; text.len() + 1];
        let mut count = 0;
        for (at, c) in text.char_indices() {
            table[at..at + c.len_utf8()].fill(count);
            count += 1;
        }
        table[text.len()] = count;
        Self::Table(table)
    }

    fn before(&self, byte: usize) -> usize {
        match self {
            Self::Ascii => byte,
            Self::Table(table) => table[byte.min(table.len() - 1)] as usize,
        }
    }
}

impl Judge {
    /// Brings labels, as far as they fit the corpus, into the form that is scored.
    ///
    /// # Errors
    /// Those of the tokenizer.
    pub fn new(labels: &LabelSet, corpus: &Corpus, checked: &[Checked]) -> Result<Self> {
        let documents: Vec<String> = corpus.texts.keys().cloned().collect();
        let characters: Vec<Characters> = corpus.texts.values().map(|text| Characters::new(text)).collect();
        let tokens = corpus.texts.values().map(|text| cl100k().count(text)).collect::<Result<_>>()?;
        let mut questions = Vec::new();
        for (query, references) in labels.scored(checked).iter().enumerate().filter(|(_, found)| !found.is_empty()) {
            let mut question =
                Question { query, targets: Vec::new(), wanted: Vec::new(), bytes: Vec::new(), judged: HashMap::new() };
            for reference in references {
                let Ok(doc) = documents.binary_search_by(|id| id.as_str().cmp(reference.doc_id)) else { continue };
                let grade = question.judged.entry(doc).or_insert(reference.grade);
                *grade = grade.max(reference.grade);
                let Some(range) = &reference.range else { continue };
                let chars = |range: &Range<usize>| {
                    Span::new(doc, characters[doc].before(range.start)..characters[doc].before(range.end))
                };
                let text: Cover = solid(&corpus.texts[&documents[doc]], range.clone()).iter().map(chars).collect();
                // White space alone is nothing that could be found.
                if text.size() == 0 {
                    continue;
                }
                question.targets.push(Target { text, grade: reference.grade });
                question.wanted.push(chars(range));
                question.bytes.push((doc, range.clone()));
            }
            questions.push(question);
        }
        Ok(Self { documents, characters, tokens, questions })
    }

    /// Tokens of all documents, `cl100k_base`.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens.iter().sum()
    }

    /// How many references that can be scored are in none of these documents.
    #[must_use]
    pub fn references_outside(&self, documents: &[String]) -> usize {
        let known: BTreeSet<&str> = documents.iter().map(String::as_str).collect();
        let is_outside = |doc: &usize| !known.contains(self.documents[*doc].as_str());
        let outside = |question: &Question| {
            let places = question.bytes.iter().filter(|(doc, _)| is_outside(doc)).count();
            let whole = question.judged.keys().filter(|doc| !question.bytes.iter().any(|(of, _)| of == *doc));
            places + whole.filter(|doc| is_outside(doc)).count()
        };
        self.questions.iter().map(outside).sum()
    }

    /// The documents that answer the `at`-th question that can be scored, with their grades, by id.
    #[must_use]
    pub fn relevant_documents(&self, at: usize) -> Vec<(&str, f64)> {
        let judged = self.questions[at].judged.iter();
        let mut relevant: Vec<(&str, f64)> =
            judged.map(|(&doc, &grade)| (self.documents[doc].as_str(), grade)).collect();
        relevant.sort_by_key(|&(id, _)| id);
        relevant
    }

    /// Positions in the set of the questions that can be scored.
    pub fn queries(&self) -> impl Iterator<Item = usize> {
        self.questions.iter().map(|question| question.query)
    }
}

/// The chunks of a dataset, in the terms of a judge.
#[derive(Debug)]
pub struct Chunks {
    spans: Vec<Span>,
    tokens: Vec<usize>,
    /// The chunks of each document.
    of: Vec<Vec<Span>>,
    /// For each document of the record its number.
    numbers: Vec<Option<usize>>,
}

impl Chunks {
    /// The chunks of a record. A document that is not in the corpus gets no number: its chunks hold nothing that
    /// could be wanted.
    #[must_use]
    pub fn new(judge: &Judge, documents: &[String], places: &[ChunkPlace]) -> Self {
        let numbers: Vec<Option<usize>> = documents.iter().map(|id| judge.documents.binary_search(id).ok()).collect();
        let mut of = vec![Vec::new(); judge.documents.len()];
        let span = |place: &ChunkPlace| {
            let Some(doc) = numbers[place.doc] else { return Span::new(usize::MAX, place.start..place.end) };
            let characters = &judge.characters[doc];
            let span = Span::new(doc, characters.before(place.start)..characters.before(place.end));
            of[doc].push(span);
            span
        };
        let spans = places.iter().map(span).collect();
        Self { spans, tokens: places.iter().map(|place| place.tokens).collect(), of, numbers }
    }

    /// The chunks of the documents that a question's evidence is in.
    fn around(&self, question: &Question) -> Vec<Span> {
        let documents: BTreeSet<usize> = question.wanted.iter().map(|span| span.doc).collect();
        documents.iter().flat_map(|&doc| self.of[doc].iter().copied()).collect()
    }

    /// The chunks that by themselves answer the `at`-th question that can be scored, with their grades: those that
    /// hold at least half of a reference's text, or of whose text at least half is a reference's.
    #[must_use]
    pub fn relevant(&self, judge: &Judge, at: usize) -> Vec<(usize, f64)> {
        let question = &judge.questions[at];
        let documents: BTreeSet<usize> = question.wanted.iter().map(|span| span.doc).collect();
        let rows = self.spans.iter().enumerate().filter(|(_, span)| documents.contains(&span.doc));
        let grade = |(row, span): (usize, &Span)| {
            let answers = question.targets.iter().filter(|target| {
                let shared = target.text.within(span);
                shared > 0 && (2 * shared >= target.text.size() || 2 * shared >= span.size())
            });
            answers.map(|target| target.grade).reduce(f64::max).map(|grade| (row, grade))
        };
        rows.filter_map(grade).collect()
    }

    /// Share of the references that some chunks hold in full, and of those that one chunk holds.
    #[must_use]
    pub fn reachable(&self, judge: &Judge) -> (f64, f64) {
        let (mut all, mut reachable, mut whole) = (0.0, 0.0, 0.0);
        for question in &judge.questions {
            let around = self.around(question);
            for target in &question.targets {
                all += 1.0;
                match evidence(&target.text, &around, &around) {
                    Evidence::Whole => (reachable, whole) = (reachable + 1.0, whole + 1.0),
                    Evidence::Split => reachable += 1.0,
                    Evidence::Missed | Evidence::Unreachable => {}
                }
            }
        }
        if all > 0.0 { (reachable / all, whole / all) } else { (0.0, 0.0) }
    }

    /// Precision-omega of each question; it depends on the chunks alone.
    #[must_use]
    pub fn precision_omega(&self, judge: &Judge, options: &ScoringOptions) -> Vec<Option<f64>> {
        let of = |question: &Question| {
            let has_text = !question.wanted.is_empty();
            has_text.then(|| precision_omega(&question.wanted, &self.around(question), options.touch()))
        };
        judge.questions.iter().map(of).collect()
    }
}

/// The values of a cell for every question that can be scored, and what became of the references.
#[must_use]
pub fn score(
    judge: &Judge,
    chunks: &Chunks,
    answers: &[Answer],
    k: usize,
    options: &ScoringOptions,
) -> (BTreeMap<String, Vec<Option<f64>>>, EvidenceCounts) {
    let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut counts = EvidenceCounts::default();
    for (at, question) in judge.questions.iter().enumerate() {
        let answer = Scored { judge, chunks, question, answer: &answers[question.query] };
        for (name, value) in answer.values(k, options) {
            let column = values.entry(name).or_insert_with(|| vec![None; judge.questions.len()]);
            column[at] = Some(value);
        }
        for state in answer.evidence(k) {
            let count = match state {
                Evidence::Whole => &mut counts.whole,
                Evidence::Split => &mut counts.split,
                Evidence::Missed => &mut counts.missed,
                Evidence::Unreachable => &mut counts.unreachable,
            };
            *count += 1;
        }
    }
    (values, counts)
}

/// A question with what was found for it.
pub(crate) struct Scored<'a> {
    pub(crate) judge: &'a Judge,
    pub(crate) chunks: &'a Chunks,
    pub(crate) question: &'a Question,
    pub(crate) answer: &'a Answer,
}

impl Scored<'_> {
    /// What was retrieved at k.
    fn retrieved(&self, k: usize) -> Vec<Span> {
        self.answer.rows.iter().take(k).map(|&row| self.chunks.spans[row]).collect()
    }

    /// In what shape each reference that is a place was retrieved at k.
    pub(crate) fn evidence(&self, k: usize) -> Vec<Evidence> {
        let (retrieved, around) = (self.retrieved(k), self.chunks.around(self.question));
        self.question.targets.iter().map(|target| evidence(&target.text, &retrieved, &around)).collect()
    }

    /// Rank of the first chunk that holds some of each reference that is a place.
    pub(crate) fn ranks(&self) -> Vec<Option<usize>> {
        let all = self.retrieved(usize::MAX);
        let rank = |target: &Target| all.iter().position(|span| target.text.within(span) > 0).map(|at| at + 1);
        self.question.targets.iter().map(rank).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "tokens of some documents are far below 2^52")]
    fn values(&self, k: usize, options: &ScoringOptions) -> Vec<(String, f64)> {
        let rows = &self.answer.rows;
        let mut values: Vec<(String, f64)> = Vec::new();
        let mut put = |name: &str, value: f64| values.push((name.to_owned(), value));
        if !self.question.targets.is_empty() {
            let wanted = &self.question.wanted;
            let scores = text(wanted, &self.retrieved(k));
            put("span_recall", scores.recall);
            put("span_precision", scores.precision);
            put("span_iou", scores.iou);
            let sized: Vec<(Span, usize)> =
                rows.iter().map(|&row| (self.chunks.spans[row], self.chunks.tokens[row])).collect();
            for &budget in &options.budgets {
                put(&in_tokens(budget), text(wanted, &within_budget(&sized, budget)).recall);
            }
            let ranking = Ranking::of_chunks(&self.retrieved(usize::MAX), &self.question.targets, options.coverage());
            put("recall_at_k", ranking.recall(k));
            put("precision_at_k", ranking.precision(k));
            put("hit_at_k", ranking.hit(k));
            put("ndcg_at_10", ranking.ndcg(10, Gain::Linear));
            put("mrr_at_10", ranking.reciprocal_rank(10));
            put("map_at_10", ranking.average_precision(10));
        }
        let ranked = self.answer.documents.iter().map(|&doc| self.chunks.numbers[doc].unwrap_or(usize::MAX - doc));
        let documents = Ranking::of_ids(ranked, &self.question.judged);
        put("doc_ndcg_at_10", documents.ndcg(10, Gain::Linear));
        put("doc_mrr_at_10", documents.reciprocal_rank(10));
        put("doc_recall_at_10", documents.recall(10));
        put("doc_recall_at_100", documents.recall(100));
        let read: usize = rows.iter().take(k).map(|&row| self.chunks.tokens[row]).sum();
        put("retrieved_tokens", read as f64);
        let of: BTreeSet<usize> = self.retrieved(k).iter().map(|span| span.doc).collect();
        let whole: usize = of.iter().filter_map(|&doc| self.judge.tokens.get(doc)).sum();
        put("whole_document_tokens", whole as f64);
        values
    }
}
