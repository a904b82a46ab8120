//! The messages between the page and the program, as JSON. Places are in bytes, and a text with marked words is a list of
//! pieces, so neither side counts characters of the other.

use std::collections::BTreeSet;
use std::ops::Range;

use chunkmill::search::Marker;
use serde::{Deserialize, Serialize};

use crate::labels::ask::answers::{Answers, QuestionState};
use crate::labels::ask::propose::{Proposal, Proposer};
use crate::labels::set::{FoundBy, Place, Reference};

/// Everything that the page shows apart from a question.
#[derive(Serialize)]
pub(super) struct Overview<'a> {
    by: Option<&'a str>,
    questions: Vec<Listed<'a>>,
    can_undo: bool,
}

#[derive(Serialize)]
struct Listed<'a> {
    text: &'a str,
    state: &'static str,
}

impl<'a> Overview<'a> {
    pub(super) fn of(answers: &'a Answers) -> Self {
        let listed = |(at, asked): (usize, &'a crate::labels::ask::questions::OpenQuestion)| {
            let state = match answers.state(at) {
                QuestionState::Open => "open",
                QuestionState::Later => "later",
                QuestionState::Labelled => "labelled",
                QuestionState::Unanswered => "unanswered",
            };
            Listed { text: &asked.text, state }
        };
        let questions = answers.questions().iter().enumerate().map(listed).collect();
        Self { by: answers.by(), questions, can_undo: answers.can_undo() }
    }
}

/// A question with its answer, and passages that may answer it.
#[derive(Serialize)]
pub(super) struct AskedQuestion<'a> {
    text: &'a str,
    /// For each piece of evidence its alternatives, each with its places.
    answer: Vec<Vec<Vec<Shown<'a>>>>,
    proposals: Vec<Shown<'a>>,
}

/// A place in a document.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    doc_id: &'a str,
    start: usize,
    end: usize,
    line: usize,
    last_line: usize,
    headings: &'a [String],
    found_by: BTreeSet<&'static str>,
    head: Option<&'a str>,
    keeps_lines: bool,
    pieces: Vec<(&'a str, bool)>,
}

impl<'a> AskedQuestion<'a> {
    /// Returns a question with the passages that are found for these words, or for the question itself.
    pub(super) fn of(
        proposer: &'a Proposer,
        answers: &'a Answers,
        at: usize,
        words: &str,
    ) -> anyhow::Result<Option<Self>> {
        let Some(asked) = answers.questions().get(at) else { return Ok(None) };
        let marker = Marker::new(&format!("{} {words}", asked.text));
        let proposals = proposer.propose(if words.trim().is_empty() { &asked.text } else { words })?;
        let proposals = proposals.iter().filter_map(|one| Shown::of(proposer, one, &marker)).collect();
        let place = |place: &Place, found_by: &BTreeSet<FoundBy>| {
            let range = place.quote.as_ref()?.range.clone();
            Shown::of(proposer, &Proposal::plain(&place.doc_id, range, found_by.clone()), &marker)
        };
        let answer = answers.answer(at).map_or(&[][..], |query| query.references.as_slice());
        let answer = answer.iter().map(|reference| {
            let shown = |one| place(one, &reference.found_by);
            let any = reference.any.iter().map(|places| places.iter().filter_map(shown).collect());
            any.collect::<Vec<Vec<Shown<'_>>>>()
        });
        Ok(Some(Self { text: &asked.text, answer: answer.collect(), proposals }))
    }
}

impl<'a> Shown<'a> {
    pub(super) fn of(proposer: &'a Proposer, proposal: &Proposal, marker: &Marker) -> Option<Self> {
        let (doc_id, _) = proposer.corpus().texts.get_key_value(&proposal.doc_id)?;
        let Range { start, end } = proposal.range;
        let text = proposer.text(doc_id, &proposal.range);
        let (line, last_line) = proposer.lines_of(doc_id, &proposal.range);
        Some(Self {
            doc_id,
            start,
            end,
            line,
            last_line,
            headings: proposer.headings(proposal),
            found_by: proposal.found_by.iter().map(|way| way.name()).collect(),
            head: proposal.head.as_ref().map(|head| proposer.text(doc_id, head).trim()),
            keeps_lines: proposal.keeps_lines,
            pieces: pieces(text, &marker.marks(text)),
        })
    }
}

/// Cuts a text at the borders of its marks.
fn pieces<'t>(text: &'t str, marks: &[Range<usize>]) -> Vec<(&'t str, bool)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for mark in marks {
        pieces.push((&text[at..mark.start], false));
        pieces.push((&text[mark.clone()], true));
        at = mark.end;
    }
    pieces.push((&text[at..], false));
    pieces.retain(|(text, _)| !text.is_empty());
    pieces
}

/// An action of the person.
#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Act {
    /// These references answer the question.
    Answer { question: usize, references: Vec<Vec<Chosen>> },
    /// The documents do not answer it.
    Unanswered { question: usize },
    /// It is put off.
    Later { question: usize },
    /// The last answer was wrong.
    Undo,
    /// The session ends.
    Done,
}

/// A place that a person chose; the places of one list are alternatives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chosen {
    doc_id: String,
    start: usize,
    end: usize,
    found_by: Vec<String>,
}

/// Returns the references that a person chose.
///
/// # Errors
/// A description of the first place that is none.
pub(super) fn references(proposer: &Proposer, chosen: &[Vec<Chosen>]) -> Result<Vec<Reference>, String> {
    let reference = |any: &Vec<Chosen>| {
        let mut found_by = BTreeSet::new();
        let mut places = Vec::new();
        for Chosen { doc_id, start, end, found_by: ways } in any {
            let place = (start < end).then(|| proposer.place(doc_id, *start..*end)).flatten();
            places.push(vec![place.ok_or_else(|| format!("`{doc_id}` has no text at {start}..{end}"))?]);
            for way in ways {
                found_by.insert(way.parse::<FoundBy>()?);
            }
        }
        if places.is_empty() {
            Err("there is no evidence".to_owned())
        } else {
            Ok(Reference { found_by, ..Reference::any(places) })
        }
    };
    let references: Vec<Reference> = chosen.iter().map(reference).collect::<Result<_, String>>()?;
    if references.is_empty() { Err("there is no evidence".to_owned()) } else { Ok(references) }
}
