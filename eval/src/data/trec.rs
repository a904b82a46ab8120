//! TREC run and qrels files, which other programs score.
//!
//! `trec_eval` ignores the rank in a run: it sorts by score, stored in 32 bits, and breaks ties by document id,
//! descending. Our order would be lost wherever two scores are equal or nearly equal. Scores therefore decrease
//! strictly within a question: each is the true score rounded to 32 bits, or the next number below the previous
//! score.

use std::fmt::Write;

/// A line of a run: question id, document id, rank from 1, score.
pub type RunRow<'a> = (&'a str, &'a str, usize, f64);

/// A judgement: question id, document id, grade.
pub type QrelsRow<'a> = (&'a str, &'a str, f64);

/// Writes a run file with a line `question Q0 document rank score tag` per row. Rows must be in our order, with
/// those of a question together.
pub fn run<'a>(rows: impl IntoIterator<Item = RunRow<'a>>, tag: &str) -> String {
    let mut lines = String::new();
    let tag = word(tag);
    let mut before: Option<(&str, f32)> = None;
    for (query, doc, rank, score) in rows {
        let last = before.and_then(|(of, score)| (of == query).then_some(score));
        let score = falling(score, last);
        before = Some((query, score));
        let _ = writeln!(lines, "{} Q0 {} {rank} {score} {tag}", word(query), word(doc));
    }
    lines
}

/// Writes a qrels file with a line `question 0 document grade` per row. `trec_eval` reads whole grades only.
pub fn qrels<'a>(rows: impl IntoIterator<Item = QrelsRow<'a>>) -> String {
    let mut lines = String::new();
    for (query, doc, grade) in rows {
        let _ = writeln!(lines, "{} 0 {} {grade}", word(query), word(doc));
    }
    lines
}

/// Returns the score to write after `last`. A score that is not a number ranks below all others.
#[expect(clippy::cast_possible_truncation, reason = "readers of runs hold scores in 32 bits")]
fn falling(score: f64, last: Option<f32>) -> f32 {
    let lowest = f32::MIN / 2.0; // leaves room for more below it
    let score = if score.is_nan() { lowest } else { (score as f32).clamp(lowest, f32::MAX) };
    match last {
        Some(last) if score >= last => last.next_down(),
        _ => score,
    }
}

/// Returns an id as one word. White space would end it, so white space and `%` are percent-encoded, which keeps
/// different ids different.
fn word(id: &str) -> String {
    let mut word = String::with_capacity(id.len());
    let mut buffer = [0; 4];
    for c in id.chars() {
        if c == '%' || c.is_whitespace() || c.is_control() {
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let _ = write!(word, "%{byte:02X}");
            }
        } else {
            word.push(c);
        }
    }
    word
}
