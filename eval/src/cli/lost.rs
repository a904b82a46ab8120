//! How lost evidence and broken questions are shown on a terminal.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chunkmill::value::count;

use crate::findings::analysis::figure;
use crate::findings::change::{BrokenQuestion, Evidence, LostQuestion};
use crate::labels::set::beginning;

/// Maximum number of characters of a question.
pub(super) const QUESTION: usize = 80;

/// Number of questions that are shown with a line of their own, unless all are wanted. More are shown by place: a
/// deleted folder has many, and they say the same.
const LISTED: usize = 10;

/// Number of broken questions that are shown, unless all are wanted.
const BROKEN: usize = 20;

/// Number of places that are named for a broken question.
const PLACES: usize = 5;

/// Says how evidence was lost and names each question once: in a line of its own, with the lost texts if everything is
/// wanted, or if there are many in the line of the place that they lost.
pub(super) fn lost(evidence: &Evidence, verbose: bool) -> Vec<String> {
    if evidence.lost.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("lost evidence: {}", evidence.kinds())];
    if evidence.lost.len() > LISTED && !verbose {
        lines.extend(by_place(&evidence.lost));
        lines.push("  (-v names each question's texts)".to_owned());
        return lines;
    }
    for question in &evidence.lost {
        lines.push(format!("  {}  {}  {}", question.query, question.places(), beginning(&question.text, QUESTION)));
        for reference in question.references.iter().filter(|_| verbose) {
            lines.push(format!(
                "    lost: {}",
                if reference.text.is_empty() { "the document" } else { &reference.text }
            ));
        }
    }
    lines
}

/// Returns a line for each place, those with most questions first.
fn by_place(lost: &[LostQuestion]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for question in lost {
        places.entry(question.place()).or_default().push(&question.query);
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|(_, questions)| Reverse(questions.len()));
    let line =
        |(place, ids): (String, Vec<&str>)| format!("  {place}: {}: {}", count(ids.len(), "question"), ids.join(", "));
    places.into_iter().map(line).collect()
}

/// Names the questions that broke, each with what is handed over for it now.
pub(super) fn broken(broken: &[BrokenQuestion], verbose: bool) -> Vec<String> {
    let listed = if verbose { broken.len() } else { BROKEN.min(broken.len()) };
    let mut lines = Vec::new();
    for BrokenQuestion { query, text, before, after, cells, of, handed_over, .. } in &broken[..listed] {
        let (before, after, text) = (figure(*before), figure(*after), beginning(text, QUESTION));
        lines.push(format!("  {before} → {after} in {cells} of {of} settings  {query}: {text}"));
        if !handed_over.is_empty() {
            let shown: Vec<&str> = handed_over.iter().take(PLACES).map(String::as_str).collect();
            let more = if handed_over.len() > PLACES { ", …" } else { "" };
            lines.push(format!("    now handed over: {}{more}", shown.join(", ")));
        }
    }
    if listed < broken.len() {
        lines.push(format!("  and {} more (-v lists them)", broken.len() - listed));
    }
    lines
}
