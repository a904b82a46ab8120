//! The questions that went worst, with what was handed over for them.

use std::ops::Range;

use chunkmill::document::Positions;

use crate::data::record::{Answer, ContextPlaces, Record};
use crate::data::report::{EvidenceText, Report, RetrievedText, TextPiece, WorstQuery};
use crate::run::sweep::{Labelled, RunCell};
use crate::score::judge::{AnsweredQuestion, Chunks, Judge, Question};
use crate::score::metrics::EvidenceShape;

/// Number of questions that are shown with the retrieved text.
const WORST: usize = 12;

/// Largest number of chunks shown for each of them.
const SHOWN: usize = 5;

/// Bytes of text without evidence that are shown at each end of a stretch.
const CONTEXT: usize = 240;

/// The answers of a cell, with everything needed to show them.
pub(super) struct CellAnswers<'a> {
    /// Position of the budget whose contexts decide; `None` if another metric decides.
    pub(super) context: Option<usize>,
    pub(super) labelled: &'a Labelled,
    pub(super) judge: &'a Judge,
    pub(super) chunks: &'a Chunks,
    pub(super) record: &'a Record,
    pub(super) answers: &'a [Answer],
    pub(super) k: usize,
}

impl CellAnswers<'_> {
    /// Returns the questions with the lowest values, lowest first.
    pub(super) fn worst(&self, report: &Report, advised: &RunCell) -> Vec<WorstQuery> {
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
        let scored = AnsweredQuestion { judge: self.judge, chunks: self.chunks, question, answer };
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
    pub(super) fn citations(&self, answer: &Answer) -> Vec<String> {
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
    fn passages(&self, question: &Question, context: &ContextPlaces) -> Vec<RetrievedText> {
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

fn name(state: EvidenceShape) -> &'static str {
    match state {
        EvidenceShape::Whole => "whole",
        EvidenceShape::Split => "split",
        EvidenceShape::Missed => "missed",
        EvidenceShape::Unreachable => "unreachable",
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
