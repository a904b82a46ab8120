//! How good are the answers of a cell? Computes one value per question and metric, from places alone.
//!
//! Text is measured in characters, as in Chroma's evaluation, so the figures are comparable. Overlap repeated from
//! the previous chunk belongs to a chunk's text, because the reader receives it and pays for it. White space does
//! not count when deciding whether evidence was found. If a reference has alternatives, the best-covered one
//! counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use aho_corasick::AhoCorasick;
use chunkmill::error::{Error, Result};
use chunkmill::tokens::{TokenCounter, cl100k};
use serde::{Deserialize, Serialize};

use crate::data::record::{Answer, ChunkPlace, ContextPlaces};
use crate::data::report::{Correction, EvidenceCounts, Metric, QuestionOutcome};
use crate::labels::set::{self, Corpus, DUPLICATE, LabelSet, PlaceCheck};
use crate::score::metrics::{
    Cover, Coverage, EvidenceShape, Gain, Ranking, Span, Target, Touch, evidence, precision_omega, ratio, share_above,
    solid, text, within_budget,
};

/// Name of the metric of questions that the documents do not answer.
pub const NO_ANSWER: &str = "no_answer_told_apart";

/// Name of the metric of questions whose documents are left out.
pub const LEFT_OUT: &str = "left_out_told_apart";

/// The `[scoring]` table of a sweep file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScoringOptions {
    /// Name of the primary metric. By default it is evidence in a context of the second budget, or the only one.
    pub primary: Option<String>,
    /// Whether a text of some length that also appears elsewhere counts as found there.
    pub duplicates: bool,
    /// When a reference counts as found.
    pub coverage: CoverageRule,
    /// Share of a reference's text that must be found, above 0 and at most 1.
    pub share: f64,
    /// Token budgets for contexts and for recall.
    pub budgets: Vec<usize>,
    /// Number of chunks that are retrieved for each question, raised to k or to 10 if lower.
    pub depth: usize,
    /// Whether a chunk that only touches a reference counts for precision-omega.
    pub touch: TouchRule,
    /// Confidence level of the intervals.
    pub confidence: f64,
    /// Number of bootstrap samples.
    pub resamples: usize,
    /// Number of permutations in a randomisation test.
    pub permutations: usize,
    /// Correction for multiple comparisons.
    pub correction: Correction,
    /// Whether settings are also chosen by half of the questions and measured by the other half. By default this
    /// happens from 60 questions on.
    pub held_out: Option<bool>,
    /// Seed of everything that is drawn at random.
    pub seed: u64,
}

/// When a reference counts as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageRule {
    /// The chunks up to a rank together contain it.
    #[default]
    Together,
    /// A single chunk contains it.
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
            duplicates: true,
            coverage: CoverageRule::Together,
            share: 1.0,
            budgets: vec![500, 1000, 2000, 4000],
            depth: 100,
            touch: TouchRule::Shared,
            confidence: 0.95,
            resamples: 2000,
            permutations: 10_000,
            correction: Correction::MaxT,
            held_out: None,
            seed: 1,
        }
    }
}

impl ScoringOptions {
    /// Checks what the types do not enforce.
    ///
    /// # Errors
    /// [`Error::Setting`] naming the key.
    pub fn check(&self, origin: &str) -> Result<()> {
        let wrong = |key: &str, problem: &str, help: &str| {
            let origin = format!("{origin}: scoring.{key}");
            Err(Error::setting(origin, problem, help))
        };
        if !(self.share > 0.0 && self.share <= 1.0) {
            return wrong("share", &format!("{} is not a share", self.share), "write a number above 0 and at most 1");
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
        // Questions without an answer have no evidence to choose a setting by.
        let is_apart = |metric: &Metric| [NO_ANSWER, LEFT_OUT].contains(&metric.name.as_str());
        let can_decide = |metric: &Metric| metric.higher_is_better && !is_apart(metric);
        if !self.metrics().iter().any(|metric| metric.name == primary && can_decide(metric)) {
            let names: Vec<String> = self.metrics().into_iter().filter(can_decide).map(|metric| metric.name).collect();
            return wrong(
                "primary",
                &format!("there is no metric `{primary}`"),
                &format!("one of: {}", names.join(", ")),
            );
        }
        Ok(())
    }

    /// Returns the name of the primary metric.
    pub fn primary(&self) -> String {
        let by_budget = self.budgets.get(1).or(self.budgets.first()).map(|budget| in_context(*budget));
        self.primary.clone().or(by_budget).unwrap_or_else(|| "ndcg_at_10".to_owned())
    }

    /// Returns the primary metric for these labels. If they name no places, only documents can be found.
    pub fn primary_for(&self, judge: &Judge) -> String {
        let has_places = judge.questions.iter().any(|question| !question.targets.is_empty());
        if self.primary.is_none() && !has_places { "doc_ndcg_at_10".to_owned() } else { self.primary() }
    }

    /// Returns whether this many questions are halved to measure the luck of selection.
    pub fn holds_out(&self, questions: usize) -> bool {
        self.held_out.unwrap_or(questions >= 60)
    }

    /// Returns the number of chunks to retrieve for cells with these k.
    pub fn depth(&self, ks: impl Iterator<Item = usize>) -> usize {
        ks.fold(self.depth.max(10), usize::max)
    }

    /// Describes the coverage rule in words.
    pub fn describe_coverage(&self) -> String {
        let share = if self.share < 1.0 {
            format!("{:.0} % of its text", 100.0 * self.share)
        } else {
            "all of its text".to_owned()
        };
        match self.coverage {
            // Kept as first written: baselines and reports contain these words, and `gate` compares them.
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

    /// Returns the metrics, in the order in which they are shown.
    pub fn metrics(&self) -> Vec<Metric> {
        let metric = |name: &str, title: &str, meaning: &str, higher_is_better: bool| Metric {
            name: name.to_owned(),
            title: title.to_owned(),
            meaning: meaning.to_owned(),
            higher_is_better,
        };
        let budgets = |name: fn(usize) -> String, title: &'static str, meaning: &'static str| {
            self.budgets.iter().map(move |&budget| {
                let of = |text: &str| text.replace('B', &budget.to_string());
                metric(&name(budget), &of(title), &of(meaning), true)
            })
        };
        let contexts = budgets(
            in_context,
            "evidence in B tokens",
            "share of the evidence's text in what `chunkmill context --budget B` hands over",
        );
        let complete = budgets(
            all_in_context,
            "all evidence in B tokens",
            "whether all evidence of a question is in what `chunkmill context --budget B` hands over",
        );
        let spent = self.budgets.iter().map(|budget| {
            let title = format!("tokens of {budget} used");
            let meaning = format!("tokens that `chunkmill context --budget {budget}` hands over");
            metric(&tokens_of_context(*budget), &title, &meaning, false)
        });
        let cut = budgets(
            in_tokens,
            "recall in B tokens",
            "share of the evidence's text in the first B tokens of the list of hits, with the last hit cut",
        );
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
                "precision of text if exactly the chunks that contain evidence were retrieved",
                true,
            ),
            ("recall_at_k", "recall@k", "share of the references that are found in the k best chunks", true),
            (
                "precision_at_k",
                "precision@k",
                "share of the k best chunks that add a reference not found before them",
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
                "how early relevant documents appear, ranked by their best chunk",
                true,
            ),
            ("doc_mrr_at_10", "documents: MRR@10", "one over the rank of the first relevant document", true),
            ("doc_recall_at_10", "documents: recall@10", "share of the relevant documents among the best 10", true),
            (
                NO_ANSWER,
                "questions without an answer told apart",
                "for a question that the documents do not answer: share of the other questions whose best chunk has a \
                 higher chance of evidence, or a higher score if chances are not known",
                true,
            ),
            (
                LEFT_OUT,
                "questions without their documents told apart",
                "for a question whose documents are left out: share of all questions whose best chunk has a higher \
                 chance of evidence when nothing is left out",
                true,
            ),
            ("doc_recall_at_100", "documents: recall@100", "share of the relevant documents among the best 100", true),
            ("retrieved_tokens", "tokens read", "tokens of the k best chunks, which the reader receives", false),
            (
                "whole_document_tokens",
                "tokens of whole documents",
                "tokens of the documents that contain the k best chunks, if they were handed over whole",
                false,
            ),
        ];
        let others = others.map(|(name, title, meaning, higher)| metric(name, title, meaning, higher));
        contexts.chain(complete).chain(spent).chain(cut).chain(others).collect()
    }
}

/// Returns the name of the metric for the evidence's share in a context.
pub fn in_context(budget: usize) -> String {
    format!("evidence_in_context_{budget}")
}

/// Returns the name of the metric for whether a context contains all evidence.
pub fn all_in_context(budget: usize) -> String {
    format!("all_evidence_in_context_{budget}")
}

/// Returns the name of the metric for the tokens of a context.
pub fn tokens_of_context(budget: usize) -> String {
    format!("tokens_of_context_{budget}")
}

/// Returns the name of the metric for recall at a budget.
pub fn in_tokens(budget: usize) -> String {
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
    /// The scorable questions, each with its position in the set and its evidence.
    pub(crate) questions: Vec<Question>,
    /// Positions in the set of the questions that the documents do not answer.
    unanswered: Vec<usize>,
}

/// A question's evidence.
#[derive(Debug)]
pub(crate) struct Question {
    /// Position in the set.
    pub(crate) query: usize,
    /// Its references that are places, without white space.
    pub(crate) targets: Vec<Target>,
    /// The same references in full, each with its alternatives in the target's order.
    pub(crate) places: Vec<Vec<Alternative>>,
    /// The documents of each reference's alternatives, and its grade.
    pub(crate) relevant: Vec<(Vec<Vec<usize>>, f64)>,
}

/// One of the places, or sets of places, where a reference may be found.
#[derive(Debug)]
pub(crate) struct Alternative {
    /// In characters.
    full: Vec<Span>,
    /// In bytes.
    pub(crate) bytes: Vec<(usize, Range<usize>)>,
}

impl Question {
    /// Returns the evidence in full, using the best-covered alternative of each reference.
    fn wanted(&self, retrieved: &[Span]) -> Vec<Span> {
        // Most references have only one place, which needs no comparison.
        let several = self.targets.iter().any(|target| target.any.len() > 1);
        let cover: Cover = retrieved.iter().copied().filter(|_| several).collect();
        let nearest = self.targets.iter().zip(&self.places).map(|(target, any)| &any[target.nearest(&cover)].full);
        nearest.flatten().copied().collect()
    }

    /// Returns the share of the evidence that some spans contain together, not counting white space.
    fn share(&self, retrieved: &[Span]) -> f64 {
        let cover: Cover = retrieved.iter().copied().collect();
        let nearest = self.targets.iter().flat_map(|target| target.any[target.nearest(&cover)].spans());
        let wanted: Cover = nearest.copied().collect();
        ratio(wanted.common(&cover), wanted.size())
    }

    /// Returns what must be found among documents: for each target, the documents, any one of which will do.
    fn documents(&self) -> Vec<(Vec<usize>, f64)> {
        let mut targets: Vec<(Vec<usize>, f64)> = Vec::new();
        let mut put = |documents: BTreeSet<usize>, grade: f64| {
            let documents: Vec<usize> = documents.into_iter().collect();
            match targets.iter_mut().find(|(known, _)| *known == documents) {
                Some((_, known)) => *known = known.max(grade),
                None => targets.push((documents, grade)),
            }
        };
        for (any, grade) in &self.relevant {
            match any.as_slice() {
                [all] => all.iter().for_each(|&doc| put(BTreeSet::from([doc]), *grade)),
                any => put(any.iter().flatten().copied().collect(), *grade),
            }
        }
        targets
    }

    /// Returns all documents with evidence.
    fn around(&self) -> BTreeSet<usize> {
        self.places.iter().flatten().flat_map(|place| &place.full).map(|span| span.doc).collect()
    }
}

/// The number of characters before each byte of a text.
#[derive(Debug)]
enum Characters {
    /// Every character is one byte.
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

/// Largest number of other places of a text that count. A text that is everywhere, such as a licence, would be
/// found by anything.
const MOST_DUPLICATES: usize = 16;

/// Length in bytes of the stretches of a document that form clusters: questions whose evidence begins in the same
/// one resemble each other.
const NEAR: usize = 20_000;

impl Judge {
    /// Converts labels, where they fit the corpus, into the form that is scored. With `duplicates`, a text of some
    /// length that also appears elsewhere may be found there too.
    ///
    /// # Errors
    /// Those of the tokenizer.
    pub fn new(labels: &LabelSet, corpus: &Corpus, checked: &[PlaceCheck], duplicates: bool) -> Result<Self> {
        let documents: Vec<String> = corpus.texts.keys().cloned().collect();
        let characters: Vec<Characters> = corpus.texts.values().map(|text| Characters::new(text)).collect();
        let tokens = corpus.texts.values().map(|text| cl100k().count(text)).collect::<Result<_>>()?;
        let unanswered = labels.queries.iter().enumerate().filter(|(_, query)| query.is_unanswered());
        let unanswered = unanswered.map(|(at, _)| at).collect();
        let mut judge = Self { documents, characters, tokens, questions: Vec::new(), unanswered };
        let mut scored: Vec<Vec<NumberedReference>> =
            labels.scored(checked).iter().map(|references| judge.references(references)).collect();
        if duplicates {
            add_duplicates(&mut scored, corpus);
        }
        let found = scored.into_iter().enumerate().filter(|(_, references)| !references.is_empty());
        judge.questions = found.map(|(query, references)| judge.question(query, references, corpus)).collect();
        Ok(judge)
    }

    /// Converts references, replacing the ids of documents with their numbers.
    fn references(&self, references: &[set::ScorableReference<'_>]) -> Vec<NumberedReference> {
        let place = |place: &set::ScorablePlace<'_>| {
            let doc = self.documents.binary_search_by(|id| id.as_str().cmp(place.doc_id)).ok()?;
            Some((doc, place.range.clone()))
        };
        let reference = |reference: &set::ScorableReference<'_>| {
            let any = reference.any.iter().filter_map(|places| places.iter().map(place).collect());
            NumberedReference { any: any.collect(), grade: reference.grade }
        };
        references.iter().map(reference).filter(|reference| !reference.any.is_empty()).collect()
    }

    fn question(&self, query: usize, references: Vec<NumberedReference>, corpus: &Corpus) -> Question {
        let mut question = Question { query, targets: Vec::new(), places: Vec::new(), relevant: Vec::new() };
        for NumberedReference { any, grade } in references {
            question
                .relevant
                .push((any.iter().map(|places| places.iter().map(|(doc, _)| *doc).collect()).collect(), grade));
            let mut target = Target { any: Vec::new(), grade };
            let mut alternatives = Vec::new();
            for places in any {
                let bytes: Vec<(usize, Range<usize>)> =
                    places.into_iter().filter_map(|(doc, range)| Some((doc, range?))).collect();
                let span = |doc: usize, range: &Range<usize>| {
                    let characters = &self.characters[doc];
                    Span::new(doc, characters.before(range.start)..characters.before(range.end))
                };
                let words = |(doc, range): &(usize, Range<usize>)| {
                    let (doc, text) = (*doc, &corpus.texts[&self.documents[*doc]]);
                    solid(text, range.clone()).into_iter().map(move |word| span(doc, &word))
                };
                let text: Cover = bytes.iter().flat_map(words).collect();
                // White space alone cannot be found.
                if text.size() > 0 {
                    target.any.push(text);
                    let full = bytes.iter().map(|(doc, range)| span(*doc, range)).collect();
                    alternatives.push(Alternative { full, bytes });
                }
            }
            if !target.any.is_empty() {
                question.targets.push(target);
                question.places.push(alternatives);
            }
        }
        question
    }

    /// Returns the number of tokens of all documents, in `cl100k_base`.
    pub fn tokens(&self) -> usize {
        self.tokens.iter().sum()
    }

    /// Returns the number of scorable references whose every alternative needs a document that is not in the list.
    pub fn references_outside(&self, documents: &[String]) -> usize {
        let known: BTreeSet<&str> = documents.iter().map(String::as_str).collect();
        let is_outside = |doc: &usize| !known.contains(self.documents[*doc].as_str());
        let references = self.questions.iter().flat_map(|question| &question.relevant);
        references.filter(|(any, _)| any.iter().all(|all| all.iter().any(is_outside))).count()
    }

    /// Returns the documents that answer the `at`-th scorable question, with their grades, by id.
    pub fn relevant_documents(&self, at: usize) -> Vec<(&str, f64)> {
        let mut relevant: BTreeMap<&str, f64> = BTreeMap::new();
        for (documents, grade) in self.questions[at].documents() {
            for doc in documents {
                let known = relevant.entry(&self.documents[doc]).or_insert(grade);
                *known = known.max(grade);
            }
        }
        relevant.into_iter().collect()
    }

    /// Returns the cluster number of each scorable question. Questions whose evidence begins in the same stretch
    /// of 20,000 bytes of a document form a cluster. If a question has several places, the first one counts.
    pub fn clusters(&self) -> Vec<usize> {
        let mut numbers: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let place = |question: &Question| {
            let first = question.places.first().and_then(|any| any.first()).and_then(|place| place.bytes.first());
            let whole = || question.relevant.first().and_then(|(any, _)| any.first()?.first().copied());
            first.map_or_else(|| (whole().unwrap_or_default(), 0), |(doc, range)| (*doc, range.start / NEAR))
        };
        let mut number = |question: &Question| {
            let next = numbers.len();
            *numbers.entry(place(question)).or_insert(next)
        };
        self.questions.iter().map(&mut number).collect()
    }

    /// Returns the positions of the scorable questions in the set.
    pub fn queries(&self) -> impl Iterator<Item = usize> {
        self.questions.iter().map(|question| question.query)
    }

    /// Returns the positions in the set of the questions that the documents do not answer.
    pub fn unanswered(&self) -> &[usize] {
        &self.unanswered
    }

    /// Returns the documents that answer each of the first `count` questions of the set, by id; none for a question that
    /// cannot be scored.
    pub fn sources(&self, count: usize) -> Vec<Vec<String>> {
        let mut sources = vec![Vec::new(); count];
        for (at, question) in self.questions.iter().enumerate() {
            let relevant = self.relevant_documents(at).into_iter();
            sources[question.query] = relevant.map(|(id, _)| id.to_owned()).collect();
        }
        sources
    }

    /// Returns, for each question without an answer, how well these answers tell it from those that have one.
    fn told_apart(&self, answers: &[Answer]) -> Vec<Option<f64>> {
        let best = |query: usize| best(&answers[query]);
        let answered: Vec<f64> = self.queries().map(best).collect();
        self.unanswered.iter().map(|&query| share_above(&answered, best(query))).collect()
    }

    /// Returns, for each scorable question, how well these answers tell it from the others if the documents that answer it
    /// are left out; `None` where chances are not known.
    fn told_apart_without(&self, answers: &[Answer]) -> Vec<Option<f64>> {
        let known: Vec<f64> =
            self.queries().filter_map(|query| highest(&answers[query].chances)).map(f64::from).collect();
        let without = self.queries().map(|query| highest(&answers[query].chances_without));
        without.map(|without| share_above(&known, without?.into())).collect()
    }
}

/// Returns the highest chance of an answer's chunks or, where chances are not known, its best score. A question for which
/// nothing was found is easiest to tell apart.
fn best(answer: &Answer) -> f64 {
    highest(&answer.chances).or(answer.scores.first().copied()).map_or(f64::NEG_INFINITY, f64::from)
}

/// Returns the highest of some chances.
pub(crate) fn highest(chances: &[f32]) -> Option<f32> {
    chances.iter().copied().reduce(f32::max)
}

/// A reference with document numbers instead of ids.
struct NumberedReference {
    any: Vec<Vec<(usize, Option<Range<usize>>)>>,
    grade: f64,
}

/// Adds the other places where the text of a reference appears.
fn add_duplicates(questions: &mut [Vec<NumberedReference>], corpus: &Corpus) {
    let texts: Vec<&str> = corpus.texts.values().map(String::as_str).collect();
    let mut patterns: Vec<&str> = Vec::new();
    let mut owners: Vec<(usize, usize)> = Vec::new();
    for (query, references) in questions.iter().enumerate() {
        for (at, NumberedReference { any, .. }) in references.iter().enumerate() {
            for alternative in any {
                if let [(doc, Some(range))] = alternative.as_slice()
                    && let Some(text) = texts[*doc].get(range.clone())
                    && text.chars().filter(|c| !c.is_whitespace()).count() >= DUPLICATE
                {
                    patterns.push(text);
                    owners.push((query, at));
                }
            }
        }
    }
    // This fails only if there are too many patterns for the tables; then no duplicates are known.
    let Ok(searcher) = AhoCorasick::new(&patterns) else { return };
    for (doc, text) in texts.iter().enumerate() {
        for found in searcher.find_overlapping_iter(text) {
            let (query, at) = owners[found.pattern().as_usize()];
            let any = &mut questions[query][at].any;
            let range = found.range();
            let is_known = any.iter().flatten().any(|(of, known)| {
                *of == doc && known.as_ref().is_some_and(|known| known.start < range.end && range.start < known.end)
            });
            if !is_known && any.len() <= MOST_DUPLICATES {
                any.push(vec![(doc, Some(range))]);
            }
        }
    }
}

/// The chunks of a dataset, in the judge's terms.
#[derive(Debug)]
pub struct Chunks {
    spans: Vec<Span>,
    tokens: Vec<usize>,
    /// The chunks of each document.
    of: Vec<Vec<Span>>,
    /// The judge's number of each document of the record.
    numbers: Vec<Option<usize>>,
}

impl Chunks {
    /// Converts the chunks of a record. A document that is not in the corpus gets no number: its chunks cannot
    /// contain anything wanted.
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

    /// Returns the chunks of the documents that contain a question's evidence.
    fn around(&self, question: &Question) -> Vec<Span> {
        question.around().iter().flat_map(|&doc| self.of[doc].iter().copied()).collect()
    }

    /// Returns the chunks that answer the `at`-th scorable question on their own, with their grades: those that
    /// contain at least half of a reference's text, or whose own text is at least half a reference's.
    pub fn relevant(&self, judge: &Judge, at: usize) -> Vec<(usize, f64)> {
        let question = &judge.questions[at];
        let documents = question.around();
        let rows = self.spans.iter().enumerate().filter(|(_, span)| documents.contains(&span.doc));
        let grade = |(row, span): (usize, &Span)| {
            let answers = question.targets.iter().filter(|target| {
                target.any.iter().any(|text| {
                    let shared = text.within(span);
                    shared > 0 && (2 * shared >= text.size() || 2 * shared >= span.size())
                })
            });
            answers.map(|target| target.grade).reduce(f64::max).map(|grade| (row, grade))
        };
        rows.filter_map(grade).collect()
    }

    /// Returns the share of the references that chunks together contain in full, and the share that a single chunk
    /// contains.
    pub fn reachable(&self, judge: &Judge) -> (f64, f64) {
        let (mut all, mut reachable, mut whole) = (0.0, 0.0, 0.0);
        for question in &judge.questions {
            let around = self.around(question);
            for target in &question.targets {
                all += 1.0;
                match shape(target, &around, &around) {
                    EvidenceShape::Whole => (reachable, whole) = (reachable + 1.0, whole + 1.0),
                    EvidenceShape::Split => reachable += 1.0,
                    EvidenceShape::Missed | EvidenceShape::Unreachable => {}
                }
            }
        }
        if all > 0.0 { (reachable / all, whole / all) } else { (0.0, 0.0) }
    }

    /// Returns the precision-omega of each scorable question. It depends on the chunks alone. If a reference has
    /// alternatives, the first one counts.
    pub fn precision_omega(&self, judge: &Judge, options: &ScoringOptions) -> Vec<Option<f64>> {
        let of = |question: &Question| {
            let wanted = question.wanted(&[]);
            (!wanted.is_empty()).then(|| precision_omega(&wanted, &self.around(question), options.touch()))
        };
        judge.questions.iter().map(of).collect()
    }
}

/// Computes the values of a cell for every scorable question, followed by those that the documents do not answer, and
/// counts in what shape the references were retrieved.
pub fn score(
    judge: &Judge,
    chunks: &Chunks,
    answers: &[Answer],
    k: usize,
    options: &ScoringOptions,
) -> (BTreeMap<String, Vec<Option<f64>>>, EvidenceCounts) {
    let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut counts = EvidenceCounts::default();
    let all = judge.questions.len() + judge.unanswered.len();
    for (at, question) in judge.questions.iter().enumerate() {
        let answer = AnsweredQuestion { judge, chunks, question, answer: &answers[question.query] };
        for (name, value) in answer.values(k, options) {
            let column = values.entry(name).or_insert_with(|| vec![None; all]);
            column[at] = Some(value);
        }
        for state in answer.evidence(k) {
            let count = match state {
                EvidenceShape::Whole => &mut counts.whole,
                EvidenceShape::Split => &mut counts.split,
                EvidenceShape::Missed => &mut counts.missed,
                EvidenceShape::Unreachable => &mut counts.unreachable,
            };
            *count += 1;
        }
    }
    if !judge.unanswered.is_empty() {
        let mut column = vec![None; judge.questions.len()];
        column.extend(judge.told_apart(answers));
        values.insert(NO_ANSWER.to_owned(), column);
    }
    let mut without = judge.told_apart_without(answers);
    without.resize(all, None);
    values.insert(LEFT_OUT.to_owned(), without);
    (values, counts)
}

/// Computes the values of one metric for every scorable question; `None` for questions without an answer.
pub fn value(
    judge: &Judge,
    chunks: &Chunks,
    answers: &[Option<Answer>],
    k: usize,
    options: &ScoringOptions,
    metric: &str,
) -> Vec<Option<f64>> {
    let of = |question: &Question| {
        let answer = answers.get(question.query)?.as_ref()?;
        let values = AnsweredQuestion { judge, chunks, question, answer }.values(k, options);
        values.into_iter().find_map(|(name, value)| (name == metric).then_some(value))
    };
    judge.questions.iter().map(of).collect()
}

/// A question with its answer.
pub(crate) struct AnsweredQuestion<'a> {
    pub(crate) judge: &'a Judge,
    pub(crate) chunks: &'a Chunks,
    pub(crate) question: &'a Question,
    pub(crate) answer: &'a Answer,
}

/// Returns in what shape a reference was retrieved, by its best alternative.
fn shape(target: &Target, retrieved: &[Span], chunks: &[Span]) -> EvidenceShape {
    let shapes = target.any.iter().map(|text| evidence(text, retrieved, chunks));
    shapes.min().unwrap_or(EvidenceShape::Unreachable)
}

impl AnsweredQuestion<'_> {
    /// Returns the spans of the k best chunks.
    fn retrieved(&self, k: usize) -> Vec<Span> {
        self.answer.rows.iter().take(k).map(|&row| self.chunks.spans[row]).collect()
    }

    /// Returns the spans of a context, in its order.
    fn handed_over(&self, context: &ContextPlaces) -> Vec<Span> {
        let spans = |(doc, ranges): &(usize, Vec<[usize; 2]>)| {
            let doc = self.chunks.numbers[*doc];
            let spans = ranges.iter().filter_map(move |&[start, end]| {
                let characters = &self.judge.characters[doc?];
                Some(Span::new(doc?, characters.before(start)..characters.before(end)))
            });
            spans.collect::<Vec<_>>()
        };
        context.passages.iter().flat_map(spans).collect()
    }

    /// Returns in what shape each reference that is a place was retrieved at k.
    pub(crate) fn evidence(&self, k: usize) -> Vec<EvidenceShape> {
        self.shapes(&self.retrieved(k))
    }

    /// Returns how the evidence is in a context, or else in the k best chunks.
    pub(crate) fn outcome(&self, context: Option<&ContextPlaces>, k: usize) -> QuestionOutcome {
        let spans = context.map_or_else(|| self.retrieved(k), |context| self.handed_over(context));
        let shapes = self.shapes(&spans);
        let is = |wanted: &[EvidenceShape]| shapes.iter().all(|shape| wanted.contains(shape));
        if shapes.is_empty() {
            QuestionOutcome::NoPlace
        } else if is(&[EvidenceShape::Whole]) {
            QuestionOutcome::Found
        } else if is(&[EvidenceShape::Whole, EvidenceShape::Split]) {
            QuestionOutcome::Split
        } else if self.question.share(&spans) > 0.0 {
            QuestionOutcome::Part
        } else if is(&[EvidenceShape::Unreachable]) {
            QuestionOutcome::Unreachable
        } else {
            QuestionOutcome::Missed
        }
    }

    fn shapes(&self, retrieved: &[Span]) -> Vec<EvidenceShape> {
        let around = self.chunks.around(self.question);
        self.question.targets.iter().map(|target| shape(target, retrieved, &around)).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "tokens of some documents are far below 2^52")]
    fn values(&self, k: usize, options: &ScoringOptions) -> Vec<(String, f64)> {
        let rows = &self.answer.rows;
        let mut values: Vec<(String, f64)> = Vec::new();
        let mut put = |name: &str, value: f64| values.push((name.to_owned(), value));
        if !self.question.targets.is_empty() {
            let scores = |retrieved: &[Span]| text(&self.question.wanted(retrieved), retrieved);
            let at_k = scores(&self.retrieved(k));
            put("span_recall", at_k.recall);
            put("span_precision", at_k.precision);
            put("span_iou", at_k.iou);
            let sized: Vec<(Span, usize)> =
                rows.iter().map(|&row| (self.chunks.spans[row], self.chunks.tokens[row])).collect();
            for (at, &budget) in options.budgets.iter().enumerate() {
                put(&in_tokens(budget), scores(&within_budget(&sized, budget)).recall);
                if let Some(context) = self.answer.contexts.get(at) {
                    let share = self.question.share(&self.handed_over(context));
                    put(&in_context(budget), share);
                    put(&all_in_context(budget), if share < 1.0 { 0.0 } else { 1.0 });
                    put(&tokens_of_context(budget), context.tokens as f64);
                }
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
        let relevant = self.question.documents();
        let targets: Vec<(Vec<&usize>, f64)> =
            relevant.iter().map(|(documents, grade)| (documents.iter().collect(), *grade)).collect();
        let documents = Ranking::of_any(&ranked.collect::<Vec<_>>(), &targets);
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
