//! A run with its records, and the report that follows from them.

use std::collections::BTreeMap;
use std::path::Path;

use chunkmill::error::{Error, Result};
use chunkmill::value::count;
use rayon::prelude::*;

use super::answers::{CellAnswers, answers};
use super::cells::describe;
use super::evidence;
use crate::data::answers::AnswerPlaces;
use crate::data::left_out::{LeftOut, Reason};
use crate::data::record::{Elimination, Record};
use crate::data::report::{Cell, FORMAT_VERSION, LabelsRecord, QueryRecord, Report, Scoring};
use crate::findings::analysis::{analyse, figure, representatives};
use crate::labels::set::Query;
use crate::run::sweep::{Labelled, Run, RunBuild, RunCell};
use crate::score::chance::judged;
use crate::score::judge::{Chunks, Judge, ScoringOptions, all_in_context, in_context, score};

/// A run with all its measurements.
#[derive(Debug)]
pub struct MeasuredRun {
    pub(super) run: Run,
    pub(super) labelled: Labelled,
    pub(super) judge: Judge,
    /// The record of each build of the run.
    pub(super) records: Vec<Record>,
    /// The chunks of each record, in the judge's terms.
    pub(super) chunks: Vec<Chunks>,
}

impl MeasuredRun {
    /// Reads the records of a run.
    ///
    /// # Errors
    /// [`Error::Setting`] if the labels or the corpus changed since the run, or if a record is missing.
    pub fn read(folder: &Path, run: Run, labelled: Labelled) -> Result<Self> {
        let wrong = |problem: &str| Error::setting(folder.display().to_string(), problem, "run the sweep again");
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
    pub fn report(&self) -> Report {
        let Self { run, labelled, judge, records, chunks } = self;
        let omegas: Vec<Vec<Option<f64>>> =
            chunks.par_iter().map(|chunks| chunks.precision_omega(judge, &run.scoring)).collect();
        let primary = run.scoring.primary_for(judge);
        let cell = |cell: &RunCell| {
            let record = &records[cell.build];
            let answers = &record.variants[cell.variant].answers;
            let (mut values, evidence) = score(judge, &chunks[cell.build], answers, cell.k, &run.scoring);
            let outcomes = self.found(cell, &primary).outcomes();
            let mut omegas = omegas[cell.build].clone();
            omegas.resize(omegas.len() + judge.unanswered().len(), None);
            values.insert("precision_omega".to_owned(), omegas);
            for value in values.values_mut().flatten().flatten() {
                *value = rounded(*value);
            }
            values.retain(|_, values| values.iter().any(Option::is_some));
            let chance = judged(judge, &chunks[cell.build], answers);
            Cell { values, outcomes, evidence, chance, ..describe(run, cell, record) }
        };
        let dropped = |cell: &&RunCell| records[cell.build].variants[cell.variant].dropped.is_some();
        let cells = run.cells.par_iter().filter(|cell| !dropped(cell)).map(cell).collect();
        let mut left_out = run.left_out.clone();
        left_out.extend(run.cells.iter().filter_map(|cell| {
            let Elimination { questions, better, mean, difference } =
                records[cell.build].variants[cell.variant].dropped.as_ref()?;
            let (own, other) = (figure(*mean), figure(mean - difference));
            let reason = format!("surely worse than `{better}` after {questions} questions: {own} against {other}");
            Some(LeftOut { id: cell.id.clone(), reason: Reason::InWords(reason) })
        }));
        let query = |(at, cluster): (usize, Option<usize>)| {
            let query = &labelled.labels.queries[at];
            let Query { id, text, tags, .. } = query.clone();
            QueryRecord { id, text, tags, cluster, unanswered: query.is_unanswered() }
        };
        let with_answer = judge.queries().zip(judge.clusters().into_iter().map(Some));
        let unanswered = judge.unanswered().iter().map(|&at| (at, None));
        let mut report = Report {
            format_version: FORMAT_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            created: run.started.clone(),
            command: run.command.clone(),
            environment: run.environment.clone(),
            labels: labels(labelled, judge, self.not_indexed()),
            scoring: scoring(&run.scoring, run, judge),
            metrics: run.scoring.metrics(),
            queries: with_answer.chain(unanswered).map(query).collect(),
            labelled: evidence::labelled(labelled),
            cells,
            left_out,
            verdict: None,
            answers: AnswerPlaces::default(),
        };
        report.metrics.retain(|metric| report.cells.iter().any(|cell| cell.values.contains_key(&metric.name)));
        analyse(&mut report);
        let shown = representatives(&report);
        let shown = shown.iter().filter_map(|id| run.cells.iter().find(|cell| cell.id == *id));
        report.answers = answers(&report, &shown.map(|cell| self.found(cell, &primary)).collect::<Vec<_>>());
        report
    }

    /// Returns the number of scorable references in documents that a dataset lacks, because the job does not
    /// accept these files or quarantined them. The largest number of any dataset counts.
    fn not_indexed(&self) -> usize {
        let lacking = |record: &Record| self.judge.references_outside(&record.documents);
        self.records.iter().map(lacking).max().unwrap_or_default()
    }

    /// Names what a cell hands over for a question, as `path:line-line`. Returns nothing if the run does not have both.
    pub fn handed_over(&self, cell: &str, query: &str) -> Vec<String> {
        let cell = self.run.cells.iter().find(|known| known.id == cell);
        let query = self.labelled.labels.queries.iter().position(|known| known.id == query);
        let (Some(cell), Some(query)) = (cell, query) else { return Vec::new() };
        let found = self.found(cell, &self.run.scoring.primary_for(&self.judge));
        found.answers.get(query).map_or_else(Vec::new, |answer| found.citations(answer))
    }

    /// Returns the answers of a cell with everything needed to show them.
    fn found<'a>(&'a self, cell: &'a RunCell, primary: &str) -> CellAnswers<'a> {
        let decides = |&&budget: &&usize| primary == in_context(budget) || primary == all_in_context(budget);
        let context = self.run.scoring.budgets.iter().position(|budget| decides(&budget));
        CellAnswers {
            context,
            labelled: &self.labelled,
            judge: &self.judge,
            chunks: &self.chunks[cell.build],
            record: &self.records[cell.build],
            answers: &self.records[cell.build].variants[cell.variant].answers,
            cell: &cell.id,
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
        queries: labels.queries.len() - judge.unanswered().len(),
        unanswered: judge.unanswered().len(),
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
