//! How lost evidence and broken questions are shown on a terminal.

use crate::findings::analysis::figure;
use crate::findings::change::{BrokenQuestion, Evidence};
use crate::labels::set::beginning;

/// Maximum number of characters of a question.
pub(super) const QUESTION: usize = 80;

/// Number of questions that are shown with a line of their own, unless all are wanted.
const LISTED: usize = 50;

/// Number of broken questions that are shown, unless all are wanted.
const BROKEN: usize = 20;

/// Number of places that are named for a broken question.
const PLACES: usize = 5;

/// Says how evidence was lost and names the questions: a line for each, with the lost texts if everything is wanted. Even
/// in a long list each question is named.
pub(super) fn lost(evidence: &Evidence, verbose: bool) -> Vec<String> {
    if evidence.lost.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("lost evidence: {}", evidence.kinds())];
    let listed = if verbose { evidence.lost.len() } else { LISTED };
    for question in evidence.lost.iter().take(listed) {
        lines.push(format!("  {}  {}  {}", question.query, question.places(), beginning(&question.text, QUESTION)));
        for reference in question.references.iter().filter(|_| verbose) {
            lines.push(format!(
                "    lost: {}",
                if reference.text.is_empty() { "the document" } else { &reference.text }
            ));
        }
    }
    if let Some(rest @ [_, ..]) = evidence.lost.get(listed..) {
        let ids: Vec<&str> = rest.iter().map(|question| question.query.as_str()).collect();
        lines.push(format!("  and {} more: {}", rest.len(), ids.join(", ")));
    }
    lines
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
