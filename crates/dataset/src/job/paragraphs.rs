//! Paragraphs: which texts are one, which are the same, and what a model sees of a chunk if some are left out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use chunkmill_text::chunk::OVERLAP_SEPARATOR;
use serde::{Deserialize, Serialize};

use crate::dataset::BoilerplateRow;

/// Fewest words of a paragraph that is counted.
const LEAST_WORDS: usize = 5;

/// Hash of the words of a paragraph. Bytes, because a number of this size would be aligned.
pub(super) type ParagraphHash = [u8; 16];

/// A paragraph of a document that has enough words.
pub(super) struct Paragraph<'t> {
    /// Its lines.
    pub(super) text: &'t str,
    /// Where they start in the text of the document.
    pub(super) start: usize,
    /// Paragraphs with the same words have the same hash, whatever their white space.
    pub(super) hash: ParagraphHash,
}

/// Where a paragraph is in a document, or the part of it that is in one chunk. As small as it can be: a run has those of all
/// documents in memory.
pub(super) struct ParagraphPlace {
    pub(super) hash: ParagraphHash,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Returns the paragraphs of the text of a document that have enough words.
pub(super) fn paragraphs(text: &str) -> impl Iterator<Item = Paragraph<'_>> {
    let long = move |lines: Range<usize>| {
        let (start, text) = (lines.start, &text[lines]);
        text.split_whitespace().nth(LEAST_WORDS - 1)?;
        let hash = blake3::hash(on_one_line(text).as_bytes());
        Some(Paragraph { text, start, hash: *hash.as_bytes().first_chunk()? })
    };
    between_blank_lines(text).filter_map(long)
}

/// Returns the words of a text with a space between them.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the ranges of lines between blank ones.
fn between_blank_lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start..at, line.trim().is_empty())
    });
    std::iter::from_fn(move || {
        let (first, _) = lines.find(|(_, is_blank)| !is_blank)?;
        let rest = lines.by_ref().map_while(|(line, is_blank)| (!is_blank).then_some(line.end));
        Some(first.start..rest.last().unwrap_or(first.end))
    })
}

/// The paragraphs that are left out of what is embedded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedBoilerplate {
    /// Number of paragraphs.
    pub paragraphs: u64,
    /// Where they are, for each document that has some, by its id.
    pub documents: BTreeMap<String, SkippedRanges>,
}

/// Where the paragraphs are in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedRanges {
    /// BLAKE3 hash of the file.
    pub(super) content_hash: String,
    /// In the order of the document.
    pub(super) ranges: Vec<BoilerplateRow>,
}

impl SkippedBoilerplate {
    /// Returns whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns what is left out of a document: nothing, if its file has changed since.
    pub(super) fn of(&self, doc_id: &str, content_hash: &str) -> &[BoilerplateRow] {
        let found = self.documents.get(doc_id).filter(|found| found.content_hash == content_hash);
        found.map_or(&[], |found| &found.ranges)
    }
}

/// The text of a chunk, and where it is from.
pub(super) struct ChunkText<'t> {
    pub(super) content: &'t str,
    pub(super) normalized: Option<&'t str>,
    /// Bytes of `content` before the chunk's own text.
    pub(super) prefix_len: usize,
    /// Where the chunk's own text is in the document.
    pub(super) range: Range<usize>,
    /// Where the end of the previous chunk is that the prefix repeats last.
    pub(super) overlap: Option<Range<usize>>,
}

impl<'t> ChunkText<'t> {
    /// The columns of `chunks` that it is read from.
    pub(super) const COLUMNS: [&'static str; 7] = [
        "content",
        "normalized_content",
        "prefix_len",
        "start_byte",
        "end_byte",
        "overlap_start_byte",
        "overlap_end_byte",
    ];

    /// Returns the text of a row of `chunks`; `None` if a column is not what it should be.
    pub(super) fn read(batch: &'t RecordBatch, row: usize) -> Option<Self> {
        let text = |name| batch.column_by_name(name)?.as_string_opt::<i32>();
        let byte = |name| {
            let column = batch.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
            column.is_valid(row).then(|| usize::try_from(column.value(row)).ok())?
        };
        let normalized = text("normalized_content")?;
        Some(Self {
            content: text("content")?.value(row),
            normalized: normalized.is_valid(row).then(|| normalized.value(row)),
            prefix_len: byte("prefix_len")?,
            range: byte("start_byte")?..byte("end_byte")?,
            overlap: byte("overlap_start_byte").zip(byte("overlap_end_byte")).map(|(start, end)| start..end),
        })
    }

    /// Returns the text for a model, normalised if the spec does that, without the paragraphs in these ranges of the
    /// document. If nothing of the chunk's own text would be left, all of it stays.
    pub(super) fn without(&self, boilerplate: &[BoilerplateRow]) -> Cow<'t, str> {
        let shown = self.normalized.unwrap_or(self.content);
        let start = self.overlap.as_ref().map_or(self.range.start, |overlap| overlap.start.min(self.range.start));
        if meeting(boilerplate, &(start..self.range.end)).next().is_none() {
            return Cow::Borrowed(shown);
        }
        let sources = self.sources();
        let is_left_out = |lines: &Range<usize>| {
            let mut parts = sources.iter().filter_map(|(place, start)| {
                let part = place.start.max(lines.start)..place.end.min(lines.end);
                let text = self.content.get(part.clone()).filter(|text| !text.trim().is_empty())?;
                Some(is_inside(text, start + part.start - place.start, boilerplate))
            });
            parts.next().is_some_and(|first| first && parts.all(|is_inside| is_inside))
        };
        let left_out: Vec<bool> = between_blank_lines(self.content).map(|lines| is_left_out(&lines)).collect();
        // Normalising keeps paragraphs and their order.
        let lines: Vec<Range<usize>> = between_blank_lines(shown).collect();
        let own = self.content.get(self.prefix_len..).and_then(|rest| rest.get(..self.range.len()));
        let is_whole = own.is_none_or(|own| is_inside(own, self.range.start, boilerplate));
        if is_whole || lines.len() != left_out.len() || !left_out.contains(&true) {
            return Cow::Borrowed(shown);
        }
        let kept = lines.into_iter().zip(left_out).filter(|(_, is_left_out)| !is_left_out);
        Cow::Owned(kept.map(|(lines, _)| &shown[lines]).collect::<Vec<_>>().join("\n"))
    }

    /// Returns the parts of `content` that are bytes of the document, each with where it starts there.
    fn sources(&self) -> Vec<(Range<usize>, usize)> {
        let own = (self.prefix_len..self.prefix_len + self.range.len(), self.range.start);
        let overlap = self.overlap.as_ref().and_then(|overlap| {
            let gap = if overlap.end == self.range.start { 0 } else { OVERLAP_SEPARATOR.len() };
            let end = self.prefix_len.checked_sub(gap)?;
            Some((end.checked_sub(overlap.len())?..end, overlap.start))
        });
        overlap.into_iter().chain([own]).collect()
    }
}

/// Returns whether a text, which starts at this byte of a document, is in some ranges of it, except for white space.
pub(super) fn is_inside(text: &str, start: usize, ranges: &[BoilerplateRow]) -> bool {
    let mut rest = 0;
    let is_blank = |part: Range<usize>| text.get(part).is_some_and(|text| text.trim().is_empty());
    for range in meeting(ranges, &(start..start + text.len())) {
        if !is_blank(rest..range.start - start) {
            return false;
        }
        rest = range.end.saturating_sub(start);
    }
    is_blank(rest..text.len())
}

/// Returns those of some ranges that meet a range, as far as they do.
pub(super) fn meeting(ranges: &[BoilerplateRow], with: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = *with;
    let first = ranges.partition_point(|range| range.range().end <= start);
    let meeting = ranges[first..].iter().map(BoilerplateRow::range).take_while(move |range| range.start < end);
    meeting.map(move |range| range.start.max(start)..range.end.min(end))
}
