//! What became of the evidence that an earlier run could score?
//!
//! A question whose answer was deleted cannot be scored any more. If it were only left out, a run over fewer and easier
//! questions would look better than before. So the references of both runs are compared, not only the scores.

use std::collections::{BTreeSet, HashMap};

use chunkmill::error::{Error, Result};
use chunkmill::value::count;
use serde::Serialize;

use crate::data::report::{LabelledQuestion, LabelledReference, LabelsRecord, Report};

/// The evidence of an earlier run in a later one.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Number of questions that the earlier run could score and the later one still asks.
    pub questions: usize,
    /// The questions with evidence that could be scored in the earlier run and cannot be now.
    pub lost: Vec<LostQuestion>,
    /// The texts that moved since the earlier run. They are scored at their new places.
    pub moved: Vec<MovedText>,
    /// The questions that are not among the labels any more.
    pub removed: Vec<NamedQuestion>,
    /// The questions that now have fewer or other references, because their labels were changed.
    pub relabelled: Vec<NamedQuestion>,
    /// Whether the earlier run does not say which references it could score. A question that lost only a part of its
    /// evidence is not noticed then.
    pub unknown: bool,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedQuestion {
    /// Its id.
    pub query: String,
    /// The question.
    pub text: String,
}

/// A question that lost evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LostQuestion {
    /// Its id.
    pub query: String,
    /// The question.
    pub text: String,
    /// Share of its evidence that can still be scored, by grade; 0 if all is lost.
    pub kept: f64,
    /// The lost references.
    pub references: Vec<LostReference>,
}

/// A lost reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostReference {
    /// The kind of the loss.
    pub loss: Loss,
    /// The document that its label names.
    pub doc_id: String,
    /// The beginning of the labelled text; empty if the document was judged as a whole.
    pub text: String,
    /// The current state of its text in words.
    pub finding: String,
}

/// How a reference was lost. A text that is only somewhere else has moved and is not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Its document is missing, and its text is not in another one.
    NoDocument,
    /// Its text is missing.
    Gone,
    /// Most of its text is there, but it was edited.
    Reworded,
    /// Its text is in several places of its document.
    Ambiguous,
}

/// A text that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MovedText {
    /// Id of its question.
    pub query: String,
    /// The document that its label names.
    pub doc_id: String,
    /// Where it is now, in words.
    pub finding: String,
}

impl Loss {
    fn of(state: &str) -> Self {
        match state {
            "split" => Self::Reworded,
            "ambiguous" => Self::Ambiguous,
            "no_document" => Self::NoDocument,
            _ => Self::Gone,
        }
    }

    /// Says what happened, as part of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoDocument => "the document is missing",
            Self::Gone => "the text is missing",
            Self::Reworded => "the text was reworded",
            Self::Ambiguous => "the text is in several places now",
        }
    }
}

impl LostReference {
    fn place(&self) -> String {
        let words = self.loss.words();
        if self.doc_id.is_empty() { words.to_owned() } else { format!("{}: {words}", self.doc_id) }
    }
}

impl LostQuestion {
    /// Names each document with what happened, as in `guide/a.md: the text is missing`.
    pub fn places(&self) -> String {
        let mut places: Vec<String> = Vec::new();
        for place in self.references.iter().map(LostReference::place) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if self.kept > 0.0 {
            places.push("the rest of its evidence is there".to_owned());
        }
        places.join("; ")
    }

    /// Names the first place where evidence was lost, and how.
    pub fn place(&self) -> String {
        self.references.first().map(LostReference::place).unwrap_or_default()
    }

    /// Returns the loss that leaves the least.
    fn loss(&self) -> Option<Loss> {
        self.references.iter().map(|reference| reference.loss).min()
    }
}

impl Evidence {
    /// Compares the evidence of two runs.
    ///
    /// # Errors
    /// [`Error::Setting`] if the later run does not say which references it could score, and some could not be.
    pub(super) fn of(before: &Report, after: &Report) -> Result<Self> {
        let mut found = Self::default();
        let same = |of: fn(&LabelsRecord) -> &String| of(&before.labels) == of(&after.labels);
        let unchanged = same(|labels| &labels.queries_hash) && same(|labels| &labels.corpus_hash);
        if after.labelled.is_empty() && drifted(after) > 0 && !unchanged {
            return Err(Error::setting(
                "the later run",
                "does not say which questions lost their evidence: an earlier version wrote its report",
                "`chunkmill-eval report RUN` scores the run again and writes a new report",
            ));
        }
        let then = asked(before);
        let now: HashMap<(&str, &str), Option<&LabelledQuestion>> =
            asked(after).into_iter().map(|asked| ((asked.id, asked.text), asked.labelled)).collect();
        found.unknown = before.labelled.is_empty() && drifted(before) > 0 && !unchanged;
        for RunQuestion { id, text, labelled } in then.iter().filter(|asked| asked.could_be_scored()) {
            let named = || NamedQuestion { query: (*id).to_owned(), text: (*text).to_owned() };
            let Some(after) = now.get(&(*id, *text)) else {
                found.removed.push(named());
                continue;
            };
            found.questions += 1;
            // Without the references of the later run, nothing is lost, as checked above.
            let Some(after) = after else { continue };
            let matched = match labelled {
                Some(before) => ChangedReferences::of(&before.references, &after.references),
                None if unchanged => ChangedReferences::default(),
                None => ChangedReferences::unknown(&after.references, found.unknown),
            };
            if matched.is_relabelled {
                found.relabelled.push(named());
            }
            found.moved.extend(matched.moved.iter().map(|reference| {
                let drift = reference.drift.clone().unwrap_or_default();
                MovedText { query: (*id).to_owned(), doc_id: drift.doc_id, finding: drift.finding }
            }));
            if !matched.lost.is_empty() {
                let lost: f64 = matched.lost.iter().map(|reference| reference.grade).sum();
                let scored = after.references.iter().filter(|reference| reference.can_be_scored());
                // The sum of nothing is a negative zero.
                let kept: f64 = scored.map(|reference| reference.grade).fold(0.0, |sum, grade| sum + grade);
                found.lost.push(LostQuestion {
                    query: (*id).to_owned(),
                    text: (*text).to_owned(),
                    kept: kept / (kept + lost),
                    references: matched.lost.into_iter().map(lost_reference).collect(),
                });
            }
        }
        // Questions without any evidence come first, otherwise they are in the order of the labels.
        found.lost.sort_by(|a, b| a.kept.total_cmp(&b.kept));
        Ok(found)
    }

    /// Says how many questions lost evidence, as in `3 of 203 questions lost their evidence`; `None` if none did.
    pub fn loss(&self) -> Option<String> {
        let part = self.lost.iter().filter(|lost| lost.kept > 0.0).count();
        let all = self.lost.len() - part;
        let of = count(self.questions, "question");
        match (all, part) {
            (0, 0) => None,
            (0, part) => Some(format!("{part} of {of} lost a part of {} evidence", its(part))),
            (all, 0) => Some(format!("{all} of {of} lost {} evidence", its(all))),
            (all, part) => Some(format!("{all} of {of} lost all {} evidence, {part} a part of it", its(all))),
        }
    }

    /// Says how the evidence was lost, with numbers of questions: `30 gone from the documents, 3 reworded`.
    pub fn kinds(&self) -> String {
        let kinds = [
            (&[Loss::NoDocument, Loss::Gone][..], "gone from the documents"),
            (&[Loss::Reworded], "reworded"),
            (&[Loss::Ambiguous], "now in several places"),
        ];
        let number = |losses: &[Loss]| {
            self.lost.iter().filter(|lost| lost.loss().is_some_and(|loss| losses.contains(&loss))).count()
        };
        let kinds = kinds.map(|(losses, words)| (number(losses), words));
        let said: Vec<String> =
            kinds.iter().filter(|(number, _)| *number > 0).map(|(number, words)| format!("{number} {words}")).collect();
        said.join(", ")
    }

    /// Says what else became of the evidence, one sentence each. None of it is a loss.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let ids = |named: &[NamedQuestion]| {
            let ids: Vec<&str> = named.iter().map(|named| named.query.as_str()).take(IDS).collect();
            format!("{}{}", ids.join(", "), if named.len() > IDS { ", …" } else { "" })
        };
        if !self.removed.is_empty() {
            let (number, ids) = (self.removed.len(), ids(&self.removed));
            let is = if number == 1 { "is" } else { "are" };
            let questions = count(number, "question");
            notes.push(format!(
                "{questions} of the earlier run {is} not in queries.jsonl any more, which is no lost evidence: {ids}"
            ));
        }
        if !self.relabelled.is_empty() {
            let number = count(self.relabelled.len(), "question");
            notes.push(format!("{number} with changed labels, compared by the new ones: {}", ids(&self.relabelled)));
        }
        if !self.moved.is_empty() {
            let documents: BTreeSet<&str> = self.moved.iter().map(|moved| moved.doc_id.as_str()).collect();
            let names: Vec<&str> = documents.iter().copied().take(IDS).collect();
            let more = if documents.len() > IDS { ", …" } else { "" };
            notes.push(format!(
                "{} of evidence moved and {} scored in the new place: from {}{more}",
                count(self.moved.len(), "text"),
                if self.moved.len() == 1 { "is" } else { "are" },
                names.join(", ")
            ));
        }
        if self.unknown {
            notes.push(
                "the earlier run does not say which references fitted, so a question that lost only a part of its \
                 evidence is not noticed; write the baseline again with this version"
                    .to_owned(),
            );
        }
        notes
    }
}

fn its(number: usize) -> &'static str {
    if number == 1 { "its" } else { "their" }
}

/// Number of ids in a note.
const IDS: usize = 10;

/// A question of a run.
struct RunQuestion<'r> {
    id: &'r str,
    text: &'r str,
    /// `None` in a report of an earlier version, which lists only the questions that were scored.
    labelled: Option<&'r LabelledQuestion>,
}

impl RunQuestion<'_> {
    fn could_be_scored(&self) -> bool {
        self.labelled.is_none_or(|labelled| labelled.references.iter().any(LabelledReference::can_be_scored))
    }
}

fn asked(report: &Report) -> Vec<RunQuestion<'_>> {
    if report.labelled.is_empty() {
        let asked = report.queries.iter().map(|query| RunQuestion { id: &query.id, text: &query.text, labelled: None });
        return asked.collect();
    }
    report.labelled.iter().map(|of| RunQuestion { id: &of.id, text: &of.text, labelled: Some(of) }).collect()
}

/// Returns the number of places that could not be scored.
fn drifted(report: &Report) -> usize {
    let states = report.labels.states.iter();
    states.filter(|(state, _)| !matches!(state.as_str(), "valid" | "moved")).map(|(_, count)| count).sum()
}

/// The references of a question that changed.
#[derive(Default)]
struct ChangedReferences<'r> {
    lost: Vec<&'r LabelledReference>,
    moved: Vec<&'r LabelledReference>,
    is_relabelled: bool,
}

impl<'r> ChangedReferences<'r> {
    /// Matches references by their keys. A question may have several with the same key.
    fn of(before: &[LabelledReference], after: &'r [LabelledReference]) -> Self {
        let mut matched = Self::default();
        let mut done: Vec<&str> = Vec::new();
        for LabelledReference { key, .. } in before {
            if done.contains(&key.as_str()) {
                continue;
            }
            done.push(key);
            let then: Vec<&LabelledReference> = before.iter().filter(|reference| reference.key == *key).collect();
            let now: Vec<&LabelledReference> = after.iter().filter(|reference| reference.key == *key).collect();
            let could = then.iter().filter(|reference| reference.can_be_scored()).count();
            let can = now.iter().filter(|reference| reference.can_be_scored()).count();
            let drifted = now.iter().filter(|reference| !reference.can_be_scored());
            matched.lost.extend(drifted.take(could.saturating_sub(can)));
            let had_moved = then.iter().filter(|reference| reference.state == "moved").count();
            matched.moved.extend(now.iter().filter(|reference| reference.state == "moved").skip(had_moved));
            matched.is_relabelled |= now.len() != then.len();
        }
        matched.is_relabelled |= after.iter().any(|reference| !done.contains(&reference.key.as_str()));
        matched
    }

    /// Judges by the later run alone. If the earlier one may have had references that did not fit, only the loss of all
    /// is certain.
    fn unknown(after: &'r [LabelledReference], may_have_drifted: bool) -> Self {
        let all_drifted = !after.iter().any(LabelledReference::can_be_scored);
        let lost = after.iter().filter(|reference| !reference.can_be_scored());
        let moved = after.iter().filter(|reference| reference.state == "moved").collect();
        let lost = if may_have_drifted && !all_drifted { Vec::new() } else { lost.collect() };
        Self { lost, moved, is_relabelled: false }
    }
}

fn lost_reference(reference: &LabelledReference) -> LostReference {
    let drift = reference.drift.clone().unwrap_or_default();
    let (doc_id, text, finding) = (drift.doc_id, drift.text, drift.finding);
    LostReference { loss: Loss::of(&reference.state), doc_id, text, finding }
}
