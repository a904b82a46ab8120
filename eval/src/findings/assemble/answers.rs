//! The places that questions want and that settings hand over, and as much of their text as a page has room for.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use chunkmill::document::Positions;

use crate::data::answers::{AnswerPlaces, DocumentPlace, Excerpt, HandedOver};
use crate::data::record::{Answer, ContextPlaces, Record};
use crate::data::report::{QuestionOutcome, Report};
use crate::run::sweep::Labelled;
use crate::score::judge::{AnsweredQuestion, Chunks, Judge, Question};

/// Largest number of chunks shown for a question.
const SHOWN: usize = 5;

/// Bytes of text that a report contains.
const ROOM: usize = 240_000;

/// The answers of a cell, with everything needed to show them.
pub(super) struct CellAnswers<'a> {
    /// The cell's id.
    pub(super) cell: &'a str,
    /// Position of the budget whose contexts decide; `None` if another metric decides.
    pub(super) context: Option<usize>,
    pub(super) labelled: &'a Labelled,
    pub(super) judge: &'a Judge,
    pub(super) chunks: &'a Chunks,
    pub(super) record: &'a Record,
    pub(super) answers: &'a [Answer],
    pub(super) k: usize,
}

/// A stretch of a document: its id, and the bytes.
type Stretch<'a> = (&'a str, Range<usize>);

impl<'a> CellAnswers<'a> {
    /// Returns a letter for the outcome of each question of the report: first the scorable ones, then those that the
    /// documents do not answer.
    pub(super) fn outcomes(&self) -> String {
        let Self { judge, chunks, .. } = self;
        let of = |question: &'a Question| {
            let answer = &self.answers[question.query];
            AnsweredQuestion { judge, chunks, question, answer }.outcome(self.decides(answer), self.k)
        };
        let unanswered = judge.unanswered().iter().map(|_| QuestionOutcome::NoAnswer);
        judge.questions.iter().map(of).chain(unanswered).map(QuestionOutcome::letter).collect()
    }

    /// Names the passages that are handed over, as `path:line-line`.
    pub(super) fn citations(&self, answer: &'a Answer) -> Vec<String> {
        let cited = |passage: Vec<Stretch>| {
            let (doc_id, first) = passage.first()?;
            let range = first.start..passage.last()?.1.end;
            let (first, last) = Positions::new(self.text(doc_id)).lines_of(&range);
            Some(format!("{doc_id}:{first}-{last}"))
        };
        self.handed_over(answer).into_iter().filter_map(cited).collect()
    }

    fn decides(&self, answer: &'a Answer) -> Option<&'a ContextPlaces> {
        answer.contexts.get(self.context?)
    }

    /// Returns the passages of the context that decides, each with its stretches, or the best hits.
    fn handed_over(&self, answer: &'a Answer) -> Vec<Vec<Stretch<'a>>> {
        let documents = &self.record.documents;
        let Some(context) = self.decides(answer) else {
            let places = answer.rows.iter().take(self.k.min(SHOWN)).map(|&row| self.record.chunks[row]);
            return places.map(|place| vec![(documents[place.doc].as_str(), place.start..place.end)]).collect();
        };
        let stretches = |(doc, ranges): &(usize, Vec<[usize; 2]>)| {
            ranges.iter().map(|&[start, end]| (documents[*doc].as_str(), start..end)).collect()
        };
        context.passages.iter().map(stretches).collect()
    }

    fn text(&self, doc_id: &str) -> &'a str {
        self.labelled.corpus.texts.get(doc_id).map_or("", String::as_str)
    }
}

/// Collects the answers of these cells. The text is that of the questions whose values are lowest or differ most.
pub(super) fn answers(report: &Report, cells: &[CellAnswers]) -> AnswerPlaces {
    let Some(first) = cells.first() else { return AnswerPlaces::default() };
    let texts = &first.labelled.corpus.texts;
    let ids: Vec<&str> = texts.keys().map(String::as_str).collect();
    let mut places = Places { texts, documents: Vec::new(), numbers: HashMap::new() };
    let questions = &first.judge.questions;
    let mut wanted = Vec::new();
    for question in questions {
        let mut all = |all: Vec<(usize, Range<usize>)>| -> Vec<DocumentPlace> {
            all.into_iter().map(|(doc, range)| places.place((ids[doc], range))).collect()
        };
        let references: Vec<Vec<Vec<DocumentPlace>>> = if question.places.is_empty() {
            let whole = |documents: &Vec<usize>| documents.iter().map(|&doc| (doc, 0..0)).collect();
            question.relevant.iter().map(|(any, _)| any.iter().map(|it| all(whole(it))).collect()).collect()
        } else {
            question.places.iter().map(|any| any.iter().map(|it| all(it.bytes.clone())).collect()).collect()
        };
        wanted.push(references);
    }
    let judge = first.judge;
    wanted.extend(judge.unanswered().iter().map(|_| Vec::new()));
    let asked = || judge.queries().chain(judge.unanswered().iter().copied());
    let handed_over: Vec<HandedOver> = cells
        .iter()
        .map(|cell| HandedOver {
            cell: cell.cell.to_owned(),
            passages: asked()
                .map(|query| {
                    let passages = cell.handed_over(&cell.answers[query]);
                    passages.into_iter().flatten().map(|stretch| places.place(stretch)).collect()
                })
                .collect(),
        })
        .collect();
    let order = by_interest(report, &handed_over);
    let documents: Vec<&str> = places.documents;
    let excerpts = excerpts(&order, &wanted, &handed_over, &|doc| first.text(documents[doc]));
    AnswerPlaces { documents: documents.into_iter().map(str::to_owned).collect(), wanted, handed_over, excerpts }
}

/// Numbers documents and converts stretches of them.
struct Places<'a> {
    texts: &'a BTreeMap<String, String>,
    documents: Vec<&'a str>,
    numbers: HashMap<&'a str, (usize, Positions)>,
}

impl<'a> Places<'a> {
    fn place(&mut self, (doc_id, range): Stretch<'a>) -> DocumentPlace {
        let (doc, lines) = self.numbers.entry(doc_id).or_insert_with(|| {
            self.documents.push(doc_id);
            (self.documents.len() - 1, Positions::new(self.texts.get(doc_id).map_or("", String::as_str)))
        });
        let (line, last_line) = lines.lines_of(&range);
        DocumentPlace { doc: *doc, start: range.start, end: range.end, line, last_line }
    }
}

/// Orders the questions: first those that these cells answer worst or differently.
fn by_interest(report: &Report, cells: &[HandedOver]) -> Vec<usize> {
    let values: Vec<_> =
        cells.iter().filter_map(|cell| report.cell(&cell.cell)?.values.get(&report.scoring.primary)).collect();
    let sum = |at: usize| values.iter().map(|values| values.get(at).copied().flatten().unwrap_or(1.0)).sum::<f64>();
    let mut order: Vec<(f64, usize)> = (0..report.queries.len()).map(|at| (sum(at), at)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, at)| at).collect()
}

/// Returns the lines around the places of the questions, in this order until the room is used up.
fn excerpts<'a>(
    order: &[usize],
    wanted: &[Vec<Vec<Vec<DocumentPlace>>>],
    handed_over: &[HandedOver],
    text: &dyn Fn(usize) -> &'a str,
) -> Vec<Excerpt> {
    let mut chosen: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    let mut used = 0;
    for &at in order {
        let wanted = wanted.get(at).into_iter().flatten().filter_map(|any| any.first()).flatten();
        let handed = handed_over.iter().filter_map(|cell| cell.passages.get(at)).flatten();
        let mut with = chosen.clone();
        for place in wanted.chain(handed) {
            // Records may be of other documents than the labels.
            let text = text(place.doc);
            let (Some(before), Some(after)) = (text.get(..place.start), text.get(place.end..)) else { continue };
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let end = after.find('\n').map_or(text.len(), |at| place.end + at + 1);
            let lines = with.entry(place.doc).or_default();
            add(lines, (start, end));
        }
        let size = with.values().flatten().map(|(start, end)| end - start).sum::<usize>();
        if size <= ROOM {
            (chosen, used) = (with, size);
        } else if used > ROOM - ROOM / 8 {
            break;
        }
    }
    let excerpt = |(doc, (start, end)): (usize, (usize, usize))| {
        let all = text(doc);
        let line = Positions::new(all).line_at(start);
        Excerpt { doc, start, line, text: all[start..end].to_owned() }
    };
    chosen.into_iter().flat_map(|(doc, lines)| lines.into_iter().map(move |range| (doc, range))).map(excerpt).collect()
}

/// Adds a range to sorted ranges of which none meet.
fn add(ranges: &mut Vec<(usize, usize)>, mut new: (usize, usize)) {
    ranges.retain(|&(start, end)| {
        let meets = start <= new.1 && new.0 <= end;
        if meets {
            new = (new.0.min(start), new.1.max(end));
        }
        !meets
    });
    let at = ranges.partition_point(|&(start, _)| start < new.0);
    ranges.insert(at, new);
}
