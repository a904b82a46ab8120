//! Turns a run's records into its report: scores, costs, the texts of the questions that went worst, and files for
//! programs that score runs themselves.

mod evidence;
mod trec;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use chunkmill::config::{EmbeddingOptions, Options, SearchOptions};
use chunkmill::document::Positions;
use chunkmill::error::{Error, Result};
use chunkmill::search::{Mode, StoredAs};
use chunkmill::value::count;
use rayon::prelude::*;

use crate::data::record::{Answer, Dropped, HandedOver, Record};
use crate::data::report::{
    Cell, Cost, EvidenceCounts, EvidenceText, FORMAT_VERSION, LabelsRecord, LeftOut, Percentiles, QueryRecord, Report,
    RetrievedText, Scoring, TextPiece, WorstQuery,
};
use crate::findings::analysis::{analyse, figure};
use crate::labels::set::Query;
use crate::run::sweep::{Labelled, Run, RunBuild, RunCell};
use crate::run::worker::Way;
use crate::score::judge::{Chunks, Judge, Question, Scored, ScoringOptions, all_in_context, in_context, score};
use crate::score::metrics::Evidence;

/// Number of questions that are shown with the retrieved text.
const WORST: usize = 12;

/// Largest number of chunks shown for each of them.
const SHOWN: usize = 5;

/// Bytes of text without evidence that are shown at each end of a stretch.
const CONTEXT: usize = 240;

/// A run with all its measurements.
#[derive(Debug)]
pub struct Measured {
    run: Run,
    labelled: Labelled,
    judge: Judge,
    /// The record of each build of the run.
    records: Vec<Record>,
    /// The chunks of each record, in the judge's terms.
    chunks: Vec<Chunks>,
}

impl Measured {
    /// Reads the records of a run.
    ///
    /// # Errors
    /// [`Error::Setting`] if the labels or the corpus changed since the run, or if a record is missing.
    pub fn read(folder: &Path, run: Run, labelled: Labelled) -> Result<Self> {
        let wrong = |problem: &str| Error::Setting {
            origin: folder.display().to_string(),
            problem: problem.to_owned(),
            help: "run the sweep again".to_owned(),
        };
        if run.hashes != labelled.hashes {
            return Err(wrong("its questions or documents have changed since the sweep"));
        }
        let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, run.scoring.duplicates)?;
        let queries = labelled.labels.queries.len();
        let read = |build: &RunBuild| Record::read(folder, &build.name, &build.key, build.variants.len(), queries);
        let records: Vec<Option<Record>> = run.builds.par_iter().map(read).collect::<Result<_>>()?;
        let missing = records.iter().filter(|record| record.is_none()).count();
        if missing > 0 {
            let all = count(records.len(), "dataset");
            return Err(wrong(&format!("the records of {missing} of its {all} do not exist yet")));
        }
        let records: Vec<Record> = records.into_iter().flatten().collect();
        let chunks = records.par_iter().map(|record| Chunks::new(&judge, &record.documents, &record.chunks)).collect();
        Ok(Self { run, labelled, judge, records, chunks })
    }

    /// Returns the report of a run that measured nothing, because all evidence was lost. It says what was lost.
    ///
    /// # Errors
    /// Those of the tokenizer.
    pub fn nothing(run: Run, labelled: Labelled) -> Result<Report> {
        let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, run.scoring.duplicates)?;
        let scoring = scoring(&run.scoring, &run, &judge);
        let run = Run { builds: Vec::new(), cells: Vec::new(), ..run };
        let measured = Self { run, labelled, judge, records: Vec::new(), chunks: Vec::new() };
        Ok(Report { scoring, ..measured.report() })
    }

    /// Scores the run.
    #[must_use]
    pub fn report(&self) -> Report {
        let Self { run, labelled, judge, records, chunks } = self;
        let omegas: Vec<Vec<Option<f64>>> =
            chunks.par_iter().map(|chunks| chunks.precision_omega(judge, &run.scoring)).collect();
        let cell = |cell: &RunCell| {
            let record = &records[cell.build];
            let answers = &record.variants[cell.variant].answers;
            let (mut values, evidence) = score(judge, &chunks[cell.build], answers, cell.k, &run.scoring);
            values.insert("precision_omega".to_owned(), omegas[cell.build].clone());
            for value in values.values_mut().flatten().flatten() {
                *value = rounded(*value);
            }
            values.retain(|_, values| values.iter().any(Option::is_some));
            Cell { values, evidence, ..describe(run, cell, record) }
        };
        let dropped = |cell: &&RunCell| records[cell.build].variants[cell.variant].dropped.is_some();
        let cells = run.cells.par_iter().filter(|cell| !dropped(cell)).map(cell).collect();
        let mut left_out = run.left_out.clone();
        left_out.extend(run.cells.iter().filter_map(|cell| {
            let Dropped { questions, better, mean, difference } =
                records[cell.build].variants[cell.variant].dropped.as_ref()?;
            let (own, other) = (figure(*mean), figure(mean - difference));
            let reason = format!("surely worse than `{better}` after {questions} questions: {own} against {other}");
            Some(LeftOut { id: cell.id.clone(), reason })
        }));
        let query = |(at, cluster): (usize, usize)| {
            let Query { id, text, tags, .. } = &labelled.labels.queries[at];
            QueryRecord { id: id.clone(), text: text.clone(), tags: tags.clone(), cluster: Some(cluster) }
        };
        let mut report = Report {
            format_version: FORMAT_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            created: run.started.clone(),
            command: run.command.clone(),
            environment: run.environment.clone(),
            labels: labels(labelled, judge, self.not_indexed()),
            scoring: scoring(&run.scoring, run, judge),
            metrics: run.scoring.metrics(),
            queries: judge.queries().zip(judge.clusters()).map(query).collect(),
            labelled: evidence::labelled(labelled),
            cells,
            left_out,
            verdict: None,
            worst: Vec::new(),
        };
        report.metrics.retain(|metric| report.cells.iter().any(|cell| cell.values.contains_key(&metric.name)));
        analyse(&mut report);
        let advised = report.verdict.as_ref().map(|verdict| verdict.advised.clone());
        if let Some(advised) = advised.and_then(|advised| run.cells.iter().find(|cell| cell.id == advised)) {
            report.worst = self.found(advised, &report.scoring.primary).worst(&report, advised);
        }
        report
    }

    /// Returns the number of scorable references in documents that a dataset lacks, because the job does not
    /// accept these files or quarantined them. The largest number of any dataset counts.
    fn not_indexed(&self) -> usize {
        let lacking = |record: &Record| self.judge.references_outside(&record.documents);
        self.records.iter().map(lacking).max().unwrap_or_default()
    }

    /// Names what a cell hands over for a question, as `path:line-line`. Returns nothing if the run does not have both.
    #[must_use]
    pub fn handed_over(&self, cell: &str, query: &str) -> Vec<String> {
        let cell = self.run.cells.iter().find(|known| known.id == cell);
        let query = self.labelled.labels.queries.iter().position(|known| known.id == query);
        let (Some(cell), Some(query)) = (cell, query) else { return Vec::new() };
        let found = self.found(cell, &self.run.scoring.primary_for(&self.judge));
        found.answers.get(query).map_or_else(Vec::new, |answer| found.citations(answer))
    }

    /// Returns the answers of a cell with everything needed to show them.
    fn found(&self, cell: &RunCell, primary: &str) -> Found<'_> {
        let decides = |&&budget: &&usize| primary == in_context(budget) || primary == all_in_context(budget);
        let context = self.run.scoring.budgets.iter().position(|budget| decides(&budget));
        Found {
            context,
            labelled: &self.labelled,
            judge: &self.judge,
            chunks: &self.chunks[cell.build],
            record: &self.records[cell.build],
            answers: &self.records[cell.build].variants[cell.variant].answers,
            k: cell.k,
        }
    }
}

/// Rounds to six decimals: enough for any comparison, and a third of the bytes.
fn rounded(value: f64) -> f64 {
    // An empty sum is -0.
    (value * 1e6).round() / 1e6 + 0.0
}

fn labels(labelled: &Labelled, judge: &Judge, not_indexed: usize) -> LabelsRecord {
    let Labelled { labels, corpus, checked, hashes } = labelled;
    let mut states = BTreeMap::new();
    for checked in checked {
        *states.entry(checked.state.name().to_owned()).or_insert(0) += 1;
    }
    let path = std::fs::canonicalize(&labels.path).unwrap_or_else(|_| labels.path.clone());
    LabelsRecord {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        queries_hash: hashes[0].clone(),
        corpus_hash: hashes[1].clone(),
        documents: corpus.documents,
        bytes: corpus.texts.values().map(|text| text.len() as u64).sum(),
        tokens: judge.tokens() as u64,
        queries: labels.queries.len(),
        scored: judge.queries().count(),
        states,
        not_indexed,
        synthetic: labels.queries.iter().any(Query::is_synthetic),
        proposed: judge.queries().filter(|&at| labels.queries[at].is_proposed()).count(),
    }
}

fn scoring(options: &ScoringOptions, run: &Run, judge: &Judge) -> Scoring {
    Scoring {
        primary: options.primary_for(judge),
        coverage: options.describe_coverage(),
        budgets: options.budgets.clone(),
        depth: options.depth(run.cells.iter().map(|cell| cell.k)),
        confidence: options.confidence,
        resamples: options.resamples,
        permutations: options.permutations,
        correction: options.correction,
        held_out: options.holds_out(judge.queries().count()),
        seed: options.seed,
    }
}

/// Describes a cell and its costs, without its values.
fn describe(run: &Run, cell: &RunCell, record: &Record) -> Cell {
    let dataset = &record.dataset;
    let found = &record.variants[cell.variant];
    // Keyword search alone does not embed questions.
    let with_embedding = |(at, ms): (usize, &f64)| {
        let embedding = if found.mode == "keyword" { None } else { record.embed_ms.get(at) };
        ms + embedding.unwrap_or(&0.0)
    };
    Cell {
        id: cell.id.clone(),
        build: record.build.clone(),
        spec: dataset.spec.clone(),
        spec_text: dataset.spec_text.clone(),
        model: dataset.model.clone(),
        engine: dataset.engine.clone(),
        retrieval: found.mode.clone(),
        k: cell.k,
        halves: halves(run, cell),
        snapshot: dataset.snapshot.clone(),
        chunks: dataset.chunks,
        metrics: BTreeMap::new(),
        values: BTreeMap::new(),
        evidence: EvidenceCounts::default(),
        cost: Cost {
            documents: dataset.documents,
            quarantined: dataset.quarantined,
            tokens: dataset.tokens,
            bytes: dataset.bytes,
            vector_bytes: vector_bytes(run, cell, record),
            truncated: dataset.truncated,
            texts: dataset.texts,
            texts_reused: dataset.texts_reused,
            index: record.index.clone(),
            peak_rss: record.peak_rss.clone(),
            query_ms: Percentiles::of(found.search_ms.iter().enumerate().map(with_embedding).collect()),
            search_ms: Percentiles::of(found.search_ms.clone()),
        },
        p_best: None,
        comparison: None,
        pareto: Vec::new(),
        toml: toml_of(run, cell, record),
    }
}

/// Returns the bytes of the vectors as stored for a cell.
fn vector_bytes(run: &Run, cell: &RunCell, record: &Record) -> u64 {
    let stored_as = run.builds[cell.build].variants[cell.variant].stored_as.parse::<StoredAs>().unwrap_or_default();
    let dataset = &record.dataset;
    if stored_as == StoredAs::default() {
        dataset.vector_bytes
    } else {
        dataset.chunks.saturating_mul(stored_as.bytes(dataset.dim) as u64)
    }
}

/// Returns the ids of the vector and keyword cells that a fused cell is made of.
fn halves(run: &Run, cell: &RunCell) -> Vec<String> {
    let way = |cell: &RunCell| run.builds[cell.build].variants[cell.variant].clone();
    let search = |cell: &RunCell| way(cell).options;
    let fields = |o: &SearchOptions| (o.content_weight, o.headings_weight, o.tags_weight, o.aliases_weight);
    let own = search(cell);
    if !matches!(own.mode, Some(Mode::Hybrid | Mode::Graph)) {
        return Vec::new();
    }
    let is_half = |other: &&RunCell| {
        let search = search(other);
        (other.build, other.k) == (cell.build, cell.k)
            && match search.mode {
                Some(Mode::Vector) => way(other).stored_as == way(cell).stored_as,
                Some(Mode::Keyword) => fields(&search) == fields(&own),
                _ => false,
            }
    };
    run.cells.iter().filter(is_half).map(|half| half.id.clone()).collect()
}

/// Returns the settings of a cell as a `chunkmill.toml`.
fn toml_of(run: &Run, cell: &RunCell, record: &Record) -> String {
    let build = &run.builds[cell.build];
    let chunking = serde_json::from_value(serde_json::Value::Object(record.dataset.spec.clone())).unwrap_or_default();
    let Options { corpus, embedding, output, .. } = build.options.clone();
    // Settings that do not affect results depend on the machine, so they are left out.
    let embedding = EmbeddingOptions {
        device: None,
        cpu_isa: None,
        batch_tokens: None,
        embedding_cache: None,
        embedding_cache_size: None,
        ..embedding
    };
    let Way { options: search, stored_as, .. } = build.variants[cell.variant].clone();
    let options = Options { corpus, chunking, embedding, output, search, ..Options::default() };
    let text = toml::to_string(&options).unwrap_or_default();
    // Empty tables are left out.
    let mut tables: Vec<&str> = text.split("\n\n").collect();
    tables.retain(|table| table.trim().lines().count() > 1);
    let text = format!("{}\n", tables.join("\n\n").trim());
    // A dataset keeps its vectors in full precision; a store that keeps them in another form has its own settings
    // for that.
    let default = StoredAs::default().to_string();
    if stored_as == default { text } else { format!("# for a store that keeps vectors as {stored_as}\n{text}") }
}

/// The answers of a cell, with everything needed to show them.
struct Found<'a> {
    /// Position of the budget whose contexts decide; `None` if another metric decides.
    context: Option<usize>,
    labelled: &'a Labelled,
    judge: &'a Judge,
    chunks: &'a Chunks,
    record: &'a Record,
    answers: &'a [Answer],
    k: usize,
}

impl Found<'_> {
    /// Returns the questions with the lowest values, lowest first.
    fn worst(&self, report: &Report, advised: &RunCell) -> Vec<WorstQuery> {
        let values = report.cell(&advised.id).and_then(|cell| cell.values.get(&report.scoring.primary));
        let mut ranked: Vec<(usize, f64)> = values
            .into_iter()
            .flatten()
            .enumerate()
            .filter_map(|(at, value)| value.filter(|&value| value < 1.0).map(|value| (at, value)))
            .collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        ranked.truncate(WORST);
        ranked.into_iter().map(|(query, value)| self.explain(query, value)).collect()
    }

    fn explain(&self, query: usize, value: f64) -> WorstQuery {
        let question = &self.judge.questions[query];
        let answer = &self.answers[question.query];
        let scored = Scored { judge: self.judge, chunks: self.chunks, question, answer };
        let context = self.context.and_then(|at| answer.contexts.get(at));
        let shapes = context.map_or_else(|| scored.evidence(self.k), |context| scored.evidence_in(context));
        let nearest = scored.nearest(context, self.k);
        let references = question.places.iter().zip(nearest).zip(shapes.into_iter().zip(scored.ranks()));
        let evidence = references.flat_map(|((any, nearest), (state, rank))| {
            any[nearest].bytes.iter().map(move |(doc, range)| {
                let (doc_id, text) = self.document(*doc);
                EvidenceText {
                    doc_id: doc_id.to_owned(),
                    line: Positions::new(text).line_at(range.start),
                    text: text.get(range.clone()).map(str::to_owned),
                    state: name(state).to_owned(),
                    alternatives: any.len() - 1,
                    rank,
                }
            })
        });
        let evidence = evidence.collect();
        let retrieved = match context {
            Some(context) => self.passages(question, context),
            None => self.hits(question, answer),
        };
        WorstQuery { query, value, evidence, retrieved }
    }

    /// Names the passages of the context that decides, or the best hits.
    fn citations(&self, answer: &Answer) -> Vec<String> {
        let Some(context) = self.context.and_then(|at| answer.contexts.get(at)) else {
            let places = answer.rows.iter().take(self.k.min(SHOWN)).map(|&row| self.record.chunks[row]);
            return places.map(|place| self.cited(place.doc, &(place.start..place.end))).collect();
        };
        let passages = context.passages.iter();
        passages.filter_map(|(doc, ranges)| Some(self.cited(*doc, &(ranges.first()?[0]..ranges.last()?[1])))).collect()
    }

    /// Returns how a stretch of one of the record's documents is cited.
    fn cited(&self, doc: usize, range: &Range<usize>) -> String {
        let doc_id = &self.record.documents[doc];
        let text = self.labelled.corpus.texts.get(doc_id).map_or("", String::as_str);
        let (first, last) = Positions::new(text).lines_of(range);
        format!("{doc_id}:{first}-{last}")
    }

    /// Returns the best hits.
    fn hits(&self, question: &Question, answer: &Answer) -> Vec<RetrievedText> {
        let hits = answer.rows.iter().zip(&answer.scores).take(self.k.min(SHOWN));
        let hits = (1..).zip(hits).map(|(rank, (&row, &score))| {
            let place = self.record.chunks[row];
            let (citation, pieces) = self.marked(question, place.doc, place.start..place.end);
            RetrievedText { rank, score: Some(score.into()), citation, pieces }
        });
        hits.collect()
    }

    /// Returns the passages of a context, in its order.
    fn passages(&self, question: &Question, context: &HandedOver) -> Vec<RetrievedText> {
        let passages = (1..).zip(&context.passages).filter_map(|(rank, (doc, ranges))| {
            let (start, end) = (ranges.first()?[0], ranges.last()?[1]);
            let (citation, pieces) = self.marked(question, *doc, start..end);
            Some(RetrievedText { rank, score: None, citation, pieces })
        });
        passages.collect()
    }

    /// Returns how a stretch of one of the record's documents is cited, and its text with the evidence marked.
    fn marked(&self, question: &Question, doc: usize, range: Range<usize>) -> (String, Vec<TextPiece>) {
        let doc_id = &self.record.documents[doc];
        let text = self.labelled.corpus.texts.get(doc_id).map_or("", String::as_str);
        let own = |(doc, place): &(usize, Range<usize>)| {
            let of_this = self.document(*doc).0 == doc_id;
            let (start, end) = (place.start.max(range.start), place.end.min(range.end));
            (of_this && start < end).then_some(start..end)
        };
        let evidence = question.places.iter().flatten().flat_map(|any| &any.bytes).filter_map(own).collect();
        (self.cited(doc, &range), pieces(text, range, evidence))
    }

    fn document(&self, doc: usize) -> (&str, &str) {
        self.labelled.corpus.texts.iter().nth(doc).map_or(("", ""), |(id, text)| (id, text))
    }
}

fn name(state: Evidence) -> &'static str {
    match state {
        Evidence::Whole => "whole",
        Evidence::Split => "split",
        Evidence::Missed => "missed",
        Evidence::Unreachable => "unreachable",
    }
}

/// Cuts a chunk's text at the borders of its evidence and shortens the rest.
fn pieces(text: &str, chunk: Range<usize>, mut marked: Vec<Range<usize>>) -> Vec<TextPiece> {
    marked.sort_by_key(|range| (range.start, range.end));
    let mut pieces = Vec::new();
    let mut at = chunk.start;
    let mut put = |range: Range<usize>, evidence: bool| {
        let text = text.get(range).unwrap_or_default();
        if !text.is_empty() {
            pieces.push(TextPiece { text: if evidence { text.to_owned() } else { shortened(text) }, evidence });
        }
    };
    for range in marked {
        put(at..range.start.max(at), false);
        put(range.start.max(at)..range.end.max(at), true);
        at = at.max(range.end);
    }
    put(at..chunk.end.max(at), false);
    pieces
}

/// Returns the start and the end of a long text.
fn shortened(text: &str) -> String {
    if text.len() <= 2 * CONTEXT + 40 {
        return text.to_owned();
    }
    let start = (0..=CONTEXT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let end = (text.len() - CONTEXT..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    format!("{} … {}", &text[..start], &text[end..])
}
