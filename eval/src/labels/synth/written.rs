//! Questions that a language model writes about a passage, and the filters that these questions need.
//!
//! A model is asked for one question that a person would type who does not know the passage (Dai et al. 2022,
//! "Promptagator: Few-shot dense retrieval from 8 examples"; Bonifacio et al. 2022, "`InPars`: Data augmentation for
//! information retrieval using large language models"). It often writes something else: it points to "this document", or
//! it copies the passage. These questions are dropped here. The round trip of the same papers (Alberti et al. 2019,
//! "Synthetic QA corpora generation with roundtrip consistency") is left to the caller, who can search: a question whose
//! passage is not found with it is about something else, or about many passages.

use std::ops::Range;

use chunkmill::document::{Document, on_one_line};

use super::candidate::{Candidate, Kind, SIZE};
use super::texts::Texts;
use super::words::words_of;

/// The instructions for the model.
pub const TASK: &str = "Write one question that the text answers completely. Write it as a person would ask it who needs the \
                        answer and has never seen the text: do not mention the text, its document or its author, and use your own words instead of \
                        those of the text where you can. Name what the question is about, so it can be understood alone. Write \
                        in the language of the text. Write nothing except the question. If the text answers no question that \
                        anybody would ask, write NONE.";

/// Number of consecutive words of a passage that a question may not contain.
const COPIED: usize = 6;

/// Largest number of characters in a question.
const LONGEST: usize = 300;

/// Parts of a question that point to a text which the person who asks does not have.
const POINTS: [&str; 18] = [
    "this document",
    "the document",
    "this passage",
    "the passage",
    "this text",
    "the text",
    "this section",
    "the section",
    "this page",
    "this article",
    "the article",
    "the author",
    "the excerpt",
    "according to",
    "mentioned",
    "described above",
    "the above",
    "the following",
];

/// The reasons for which a question is dropped.
const NONE: &str = "about passages that answer no question";
const UNREADABLE: &str = "not one question";
const POINTING: &str = "pointing to the document";
const COPYING: &str = "copied from the passage";
pub(super) const REPEATS: &str = "asked twice";

/// Returns the passages about which questions can be written: prose of the size of an answer that is nowhere else.
pub(super) fn passages(texts: &Texts) -> Vec<Candidate> {
    let mut all = Vec::new();
    for (at, of_document) in texts.documents.iter().enumerate() {
        let document = &of_document.document;
        for unit in of_document.units.iter().filter(|unit| unit.is_prose()) {
            let text = &document.text[unit.range.clone()];
            let start = unit.range.start + text.len() - text.trim_start().len();
            let range = start..start + text.trim().len();
            if SIZE.contains(&text.trim().chars().count()) && !texts.repeats(document, &range) {
                all.push(Candidate { kind: Kind::Model, document: at, text: String::new(), evidence: vec![range] });
            }
        }
    }
    all
}

/// Returns a passage as the model sees it: below its headings.
pub(super) fn shown(document: &Document, range: &Range<usize>) -> String {
    let headings = document.section_at(range.start).map(|section| document.heading_path(section)).unwrap_or_default();
    format!("{}\n\n{}", headings.join(" > "), &document.text[range.clone()]).trim_start().to_owned()
}

/// Returns the question in a model's reply, or why it is dropped.
pub(super) fn question(reply: &str, passage: &str) -> Result<String, &'static str> {
    let mut lines = reply.lines().map(str::trim).filter(|line| !line.is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else { return Err(UNREADABLE) };
    let line = line.trim_start_matches("Question:").trim();
    let text = on_one_line(line.trim_matches(['"', '“', '”', '`', '*']));
    if text.trim_end_matches('.').eq_ignore_ascii_case("none") {
        return Err(NONE);
    }
    if text.chars().count() > LONGEST || !text.contains(char::is_alphabetic) {
        return Err(UNREADABLE);
    }
    let spoken = format!(" {} ", words_of(&text).join(" "));
    if POINTS.iter().any(|points| spoken.contains(&format!(" {points} "))) {
        return Err(POINTING);
    }
    let (own, theirs) = (words_of(&text), words_of(passage));
    let is_copied = |run: &[String]| theirs.windows(COPIED).any(|other| other == run);
    if own.windows(COPIED).any(is_copied) {
        return Err(COPYING);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_question_that_a_person_could_ask_is_kept() {
        let passage = "Backups are kept for thirty days and then they are removed by the nightly job.";
        let read = |reply: &str| question(reply, passage);
        assert_eq!(read("\"How long can I go back?\"\n").as_deref(), Ok("How long can I go back?"));
        assert_eq!(read("Question: How   long?").as_deref(), Ok("How long?"));
        for (reply, reason) in [
            ("NONE", NONE),
            ("none.", NONE),
            ("", UNREADABLE),
            ("Here is one:\nHow long?", UNREADABLE),
            ("???", UNREADABLE),
            ("What does this document say?", POINTING),
            ("According to whom is it so?", POINTING),
            ("Which backups are kept for thirty days and then gone?", "copied from the passage"),
        ] {
            assert_eq!(read(reply), Err(reason), "{reply}");
        }
        assert!(read(&"long ".repeat(100)).is_err());
        assert!(read("Is it true that backups are kept for a month?").is_ok(), "five words in a row are no copy");
    }
}
