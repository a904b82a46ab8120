//! The state of a labelling session: the questions, their answers, and what can be undone. Every answer is written to
//! the set at once, so an interrupted session can be resumed. The terminal and the page show this one state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chunkmill::error::{Error, Result};

use super::people::{self, PeopleAgreement, compare_people};
use super::questions::{OpenQuestion, QuestionFile};
use crate::data::files::{remove_file, replace};
use crate::labels::set::{Corpus, LabelSet, QUERIES, Query, REFERENCE, Reference, to_jsonl};

/// Older sets have their questions without an answer in this file, one per line.
const UNANSWERED: &str = "unanswered.txt";

/// The result of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionOutcome {
    /// Number of questions that now have evidence.
    pub labelled: usize,
    /// Number of questions that the documents do not answer.
    pub unanswered: usize,
    /// Number of questions left for later.
    pub open: usize,
    /// Whether the input ended before the first answer.
    pub no_answer: bool,
}

/// Whether a question has an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionState {
    /// It has none yet.
    Open,
    /// It was put off.
    Later,
    /// It has evidence.
    Labelled,
    /// The documents do not answer it.
    Unanswered,
}

/// An answer that can be undone.
struct GivenAnswer {
    question: usize,
    /// The answer before.
    before: Option<Query>,
    was_later: bool,
}

/// The answers of a person to the questions of a file.
pub struct Answers {
    set: PathBuf,
    by: Option<String>,
    questions: Vec<OpenQuestion>,
    /// The answers by id: those of this person, or all of the set if no name was given.
    known: BTreeMap<String, Query>,
    /// The answers whose evidence is not in the documents any more: they are asked again, and kept until then.
    drifted: BTreeMap<String, Query>,
    /// The questions that the set has without a name, if a name was given.
    nameless: Vec<Query>,
    later: BTreeSet<usize>,
    steps: Vec<GivenAnswer>,
}

impl Answers {
    /// Reads what was answered before, by this person if a name is given. Labels of the file become part of the set.
    ///
    /// # Errors
    /// [`Error::Setting`] if a label of the file does not fit the documents or the set is damaged, [`Error::Io`] if it
    /// cannot be read or written.
    pub fn open(set: &Path, questions: &QuestionFile, corpus: &Corpus, by: Option<String>) -> Result<Self> {
        let mut in_set = if set.join(QUERIES).is_file() { LabelSet::read(set)?.queries } else { Vec::new() };
        let mut is_new = false;
        let ids: BTreeMap<&str, &str> = questions.plain.iter().map(|asked| (&*asked.text, &*asked.id)).collect();
        for (number, text) in (1..).zip(without_answer(set)?) {
            if !in_set.iter().any(|query| query.text == text) {
                let wanted =
                    ids.get(text.as_str()).map_or_else(|| format!("unanswered-{number:03}"), |id| (*id).to_owned());
                let id = unused(wanted, |id| in_set.iter().any(|query| query.id == id));
                in_set.push(Query::new(id, text, Vec::new()));
                is_new = true;
            }
        }
        for query in &questions.labelled {
            let mut query = query.clone();
            query
                .locate(corpus)
                .map_err(|problem| Error::setting(format!("question `{}`", query.id), problem, REFERENCE))?;
            if !in_set.contains(&query) {
                in_set.retain(|known| known.id != query.id);
                in_set.push(query);
                is_new = true;
            }
        }
        let (known, nameless) = match &by {
            None => (in_set, Vec::new()),
            Some(name) => {
                in_set.retain(|query| query.by.is_empty());
                (people::answers(&people::file_of(set, name))?, in_set)
            }
        };
        let (drifted, known) = by_drift(known, corpus);
        // Questions that the set had without a name are not asked again.
        let is_asked = |asked: &&OpenQuestion| !nameless.iter().any(|query| query.text == asked.text);
        let mut questions: Vec<OpenQuestion> = questions.plain.iter().filter(is_asked).cloned().collect();
        let again = |query: &Query| OpenQuestion { id: query.id.clone(), text: query.text.clone() };
        let is_new_here = |query: &&Query| !questions.iter().any(|asked| asked.text == query.text);
        let more: Vec<OpenQuestion> = drifted.values().filter(is_new_here).map(again).collect();
        questions.extend(more);
        let (later, steps) = (BTreeSet::new(), Vec::new());
        let answers = Self { set: set.to_owned(), by, questions, known, drifted, nameless, later, steps };
        if is_new {
            answers.save()?;
        }
        Ok(answers)
    }

    /// Returns the questions that are asked.
    pub fn questions(&self) -> &[OpenQuestion] {
        &self.questions
    }

    /// Returns the number of questions that are asked again, because their evidence is not in the documents any more.
    pub fn drifted(&self) -> usize {
        self.drifted.len()
    }

    /// Returns the person's name.
    pub fn by(&self) -> Option<&str> {
        self.by.as_deref()
    }

    /// Returns the answer to the question at a position.
    pub fn answer(&self, at: usize) -> Option<&Query> {
        let text = &self.questions.get(at)?.text;
        self.known.values().find(|query| query.text == *text)
    }

    /// Returns the state of the question at a position.
    pub fn state(&self, at: usize) -> QuestionState {
        match self.answer(at) {
            Some(query) if query.is_unanswered() => QuestionState::Unanswered,
            Some(_) => QuestionState::Labelled,
            None if self.later.contains(&at) => QuestionState::Later,
            None => QuestionState::Open,
        }
    }

    /// Returns whether an answer can be undone.
    pub fn can_undo(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Answers the question at a position with these references, none if the documents do not answer it, and saves.
    ///
    /// # Errors
    /// [`Error::Io`] if the set cannot be written; then the answer is not kept either.
    pub fn give(&mut self, at: usize, references: Vec<Reference>) -> Result<()> {
        let Some(OpenQuestion { id, text }) = self.questions.get(at).cloned() else { return Ok(()) };
        let before = self.answer(at).cloned();
        let id = match &before {
            Some(query) => query.id.clone(),
            None if self.drifted.get(&id).is_some_and(|query| query.text == text) => id,
            None => unused(id, |id| {
                let named = self.nameless.iter().any(|query| query.id == id);
                named || self.known.contains_key(id) || self.drifted.contains_key(id)
            }),
        };
        let by = self.by.iter().cloned().collect();
        self.known.insert(id.clone(), Query { by, ..Query::new(id.clone(), text, references) });
        if let Err(error) = self.save() {
            self.known.remove(&id);
            self.known.extend(before.map(|query| (id, query)));
            return Err(error);
        }
        self.steps.push(GivenAnswer { question: at, before, was_later: self.later.remove(&at) });
        Ok(())
    }

    /// Puts the question at a position off.
    pub fn put_off(&mut self, at: usize) {
        if at < self.questions.len() && self.answer(at).is_none() {
            self.steps.push(GivenAnswer { question: at, before: None, was_later: !self.later.insert(at) });
        }
    }

    /// Undoes the last answer, saves, and returns the position of its question. Returns `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Io`] if the set cannot be written.
    pub fn undo(&mut self) -> Result<Option<usize>> {
        let Some(GivenAnswer { question, before, was_later }) = self.steps.pop() else { return Ok(None) };
        let text = &self.questions[question].text;
        self.known.retain(|_, query| query.text != *text);
        self.known.extend(before.map(|query| (query.id.clone(), query)));
        if was_later {
            self.later.insert(question)
        } else {
            self.later.remove(&question)
        };
        self.save()?;
        Ok(Some(question))
    }

    /// Returns how far this person agrees with each of the others.
    ///
    /// # Errors
    /// Those of reading their answers.
    pub fn agreement(&self) -> Result<Vec<(String, PeopleAgreement)>> {
        let Some(name) = &self.by else { return Ok(Vec::new()) };
        let own: Vec<Query> = self.known.values().cloned().collect();
        let others = people::everybody(&self.set)?.into_iter().filter(|(other, _)| other != name);
        let compare = others.map(|(other, answers)| (other, compare_people(&own, &answers)));
        Ok(compare.filter(|(_, agreement)| agreement.both > 0).collect())
    }

    /// Counts the answers.
    pub fn outcome(&self) -> SessionOutcome {
        let all = || self.known.values().chain(&self.nameless);
        let unanswered = all().filter(|query| query.is_unanswered()).count();
        let open = (0..self.questions.len()).filter(|&at| self.answer(at).is_none()).count();
        SessionOutcome { labelled: all().count() - unanswered, unanswered, open, no_answer: false }
    }

    /// Writes the answers to the set. A file that would be empty is removed.
    fn save(&self) -> Result<()> {
        let mut own = self.drifted.clone();
        own.retain(|_, query| !self.known.values().any(|known| known.text == query.text));
        own.extend(self.known.clone());
        let own: Vec<Query> = own.into_values().collect();
        let all = match &self.by {
            None => own,
            Some(name) => {
                write(&people::file_of(&self.set, name), &own)?;
                people::merged(self.nameless.clone(), &people::everybody(&self.set)?)
            }
        };
        write(&self.set.join(QUERIES), &all)?;
        remove_file(&self.set.join(UNANSWERED))
    }
}

/// Parts answers by whether some of their evidence is not in the documents any more.
fn by_drift(queries: Vec<Query>, corpus: &Corpus) -> (BTreeMap<String, Query>, BTreeMap<String, Query>) {
    let labels = LabelSet { path: PathBuf::new(), queries };
    let checked = labels.check(corpus);
    let lost: BTreeSet<&str> = labels
        .queries
        .iter()
        .zip(labels.scored(&checked))
        .filter(|(query, scored)| scored.len() < query.references.len())
        .map(|(query, _)| query.id.as_str())
        .collect();
    let of = |query: &Query| (query.id.clone(), query.clone());
    let (drifted, known): (Vec<&Query>, Vec<&Query>) =
        labels.queries.iter().partition(|query| lost.contains(query.id.as_str()));
    (drifted.into_iter().map(of).collect(), known.into_iter().map(of).collect())
}

fn write(file: &Path, queries: &[Query]) -> Result<()> {
    if queries.is_empty() { remove_file(file) } else { replace(file, to_jsonl(queries)?.as_bytes()) }
}

/// Returns an id that is not used yet.
fn unused(mut id: String, is_used: impl Fn(&str) -> bool) -> String {
    while is_used(&id) {
        id.push('\'');
    }
    id
}

/// Returns the questions of an older set that its documents do not answer.
fn without_answer(set: &Path) -> Result<Vec<String>> {
    match fs::read_to_string(set.join(UNANSWERED)) {
        Ok(text) => Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io("read", set.join(UNANSWERED))(error)),
    }
}
