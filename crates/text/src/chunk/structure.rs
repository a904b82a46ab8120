//! Our own strategy: of all ways to cut a document that keep every chunk within the maximum, the cheapest.
//!
//! Each place where a chunk may start has a price, which is higher the more closely its two sides belong together:
//! low between paragraphs, higher inside a list, highest between a heading and its text. A chunk with parts of
//! several sections pays for each heading that it crosses, and more if it leaves the parent that it starts in. A
//! chunk under the minimum pays even more. Sections are therefore kept apart unless one of them would be too
//! small; that one is merged inside its parent first. Unused room costs its square, which makes the pieces of a
//! long section similar in size.
//!
//! Dynamic programming over the document's [segments](super::segment) finds the cheapest way, as when Knuth and
//! Plass break paragraphs into lines ("Breaking Paragraphs into Lines", 1981). Each segment is considered together
//! with those before it that fit a chunk, so time is linear in the document's length for a given maximum.

use std::collections::VecDeque;
use std::ops::Range;

use chunkmill_base::error::Result;

use super::context::Context;
use super::packer::Packer;
use super::piece::{Group, Piece};
use super::repeats::Repeats;
use super::segment::{Bond, Segments};
use super::spec::Spec;
use crate::tokens::{Ruler, Unit};

/// Cost of a chunk by itself.
const CHUNK: f64 = 2.0;
/// Additional cost of an empty chunk. It falls to zero for a full one, with the square of the unused room.
const ROOM: f64 = 6.0;
/// Cost of each heading that a chunk contains in addition to its first.
const CROSSING: f64 = 25.0;
/// Additional cost if one of these headings is above the section that the chunk starts in.
const LEAVING: f64 = 15.0;
/// Cost of a chunk just under the minimum. An empty chunk would cost twice as much.
const SMALL: f64 = 60.0;
/// Cost of a chunk of nothing but headings.
const BARE: f64 = 500.0;
/// Cost of a chunk over the maximum, which exists only where text cannot be cut.
const OVERSIZED: f64 = 1000.0;

/// Returns the price of a cut.
fn price(bond: Bond) -> f64 {
    match bond {
        Bond::Section => 0.0,
        Bond::Loose => 1.0,
        Bond::Tight => 2.0,
        Bond::Nested => 5.0,
        Bond::Announced => 6.0,
        Bond::Stanza => 7.0,
        Bond::Line => 8.0,
        Bond::Sentence => 9.0,
        Bond::Word => 14.0,
        Bond::Comment => 30.0,
        Bond::Heading => 60.0,
    }
}

/// Returns how much of the maximum the largest context of a document takes, at most half. With sizes in the
/// model's tokens, the maximum applies to everything that the model sees.
pub(super) fn room(ruler: &Ruler<'_>, spec: &Spec) -> Result<usize> {
    if spec.unit() != Unit::Model || spec.context() == Context::None {
        return Ok(0);
    }
    let document = ruler.document();
    let before = |headings: &str| {
        spec.context().before(headings, String::new(), document.title.as_deref(), &document.origin.path)
    };
    let all = (0..document.sections.len()).map(|section| before(&document.heading_path(section).join(" > ")));
    let before = all.max_by_key(String::len).unwrap_or_else(|| before(""));
    Ok(ruler.sizer().size(&before)?.min(spec.max() / 2))
}

pub(super) fn propose(packer: &Packer<'_>) -> Result<Vec<Group>> {
    let segments = Segments::of(packer)?;
    let chunks = chunks(packer, &segments, 0..segments.row.len(), packer.spec.max())?;
    let mut groups: Vec<Group> = Vec::new();
    for chunk in chunks {
        let starts_section = segments.row[chunk.start].bond == Bond::Section;
        let before = groups.last().and_then(|group| group.pieces.last()).map(|piece| piece.range.clone());
        let piece = piece(packer, &segments, chunk, before.filter(|_| !starts_section))?;
        let Some(piece) = packer.counted(piece) else { break };
        match groups.last_mut() {
            Some(group) if !starts_section => {
                group.split = true;
                group.pieces.push(piece);
            }
            _ => groups.push(Group::whole(piece)),
        }
    }
    Ok(groups)
}

/// Returns the chunks of a run of segments, each a run itself. Where sizes did not quite add up, a chunk that is
/// over the maximum after all is cut once more.
fn chunks(packer: &Packer<'_>, segments: &Segments<'_>, run: Range<usize>, limit: usize) -> Result<Vec<Range<usize>>> {
    let mut chunks = Vec::new();
    for chunk in cheapest(packer, segments, run, limit)? {
        let (first, last) = (&segments.row[chunk.start], &segments.row[chunk.end - 1]);
        if chunk.len() == 1 || segments.fits(first, last)? {
            chunks.push(chunk);
        } else {
            let size = segments.size(chunk.start, chunk.end - 1)? + first.opening + last.closing;
            chunks.extend(self::chunks(packer, segments, chunk, size - 1)?);
        }
    }
    Ok(chunks)
}

/// Returns the cheapest way to cut a run of segments into chunks. Only a single segment may be over the limit.
fn cheapest(packer: &Packer<'_>, all: &Segments<'_>, run: Range<usize>, limit: usize) -> Result<Vec<Range<usize>>> {
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53, and a price need not be exact")]
    let share = |of: usize| move |size: usize| size as f64 * (1.0 / of as f64);
    let segments = &all.row[run.clone()];
    let (min, max) = (packer.spec.min(), packer.spec.max());
    let (of_min, of_max) = (share(min), share(max));
    // For each segment, the cost of starting a chunk there, wherever it ends, plus everything before it.
    let mut starts: Vec<f64> = Vec::with_capacity(segments.len());
    // The cost of everything up to the previous segment.
    let mut before = 0.0;
    // For each segment, the start of the last chunk in the cheapest way to cut everything up to that segment.
    let mut best: Vec<usize> = Vec::with_capacity(segments.len());
    // The first segment that is not too far from the last one, and those from there on that are cheaper starts
    // than all later ones.
    let (mut window, mut lows) = (0, VecDeque::<usize>::new());
    for (last, end) in segments.iter().enumerate() {
        starts.push(before + price(end.bond) + CHUNK);
        while window < last && all.size(run.start + window, run.start + last)? > limit {
            window += 1;
        }
        while lows.back().is_some_and(|&low| starts[low] >= starts[last]) {
            lows.pop_back();
        }
        lows.push_back(last);
        while lows.front().is_some_and(|&low| low < window) {
            lows.pop_front();
        }
        let low = lows.front().map_or(0.0, |&low| starts[low]);
        let mut cheapest = (f64::INFINITY, last);
        // The cost of the headings inside the chunk so far, and the highest of their levels.
        let (mut crossings, mut highest) = (0.0, u8::MAX);
        let mut bare = true;
        for (first, (start, paid)) in segments[..=last].iter().zip(&starts).enumerate().skip(window).rev() {
            // No start before this one can be cheaper.
            if low + crossings >= cheapest.0 {
                break;
            }
            bare &= start.is_heading;
            let text = all.size(run.start + first, run.start + last)?;
            let size = text + start.opening + end.closing;
            if size <= limit || first == last {
                let room = 1.0 - of_max(size.min(max));
                let mut cost = paid + crossings + ROOM * room * room;
                cost += if highest < start.level { LEAVING } else { 0.0 };
                cost += if size < min { SMALL * (2.0 - of_min(size)) } else { 0.0 };
                cost += if size > limit { OVERSIZED } else { 0.0 };
                cost += if bare { BARE } else { 0.0 };
                if cost < cheapest.0 {
                    cheapest = (cost, first);
                }
            }
            if start.bond == Bond::Section {
                (crossings, highest) = (crossings + CROSSING, highest.min(start.level));
            }
        }
        before = cheapest.0;
        best.push(cheapest.1);
    }
    let mut chunks = Vec::new();
    let mut end = segments.len();
    while let Some(&start) = end.checked_sub(1).and_then(|last| best.get(last)) {
        chunks.push(run.start + start..run.start + end);
        end = start;
    }
    chunks.reverse();
    Ok(chunks)
}

/// Turns a run of segments into a piece; `before` is the text that it continues.
fn piece(
    packer: &Packer<'_>,
    segments: &Segments<'_>,
    chunk: Range<usize>,
    before: Option<Range<usize>>,
) -> Result<Piece> {
    let (first, last) = (&segments.row[chunk.start], &segments.row[chunk.end - 1]);
    let range = first.range.start..last.range.end;
    let mut piece = Piece::plain(range.clone(), first.boundary);
    let oversized = segments.oversized(chunk.start);
    if oversized.is_none() {
        piece.repeats = Repeats { opening: first.opening(), closing: last.closing(), ..Repeats::default() };
        let overlaps = piece.repeats.opening.is_empty() && packer.spec.overlap() > 0;
        if let Some(before) = before.filter(|_| overlaps) {
            let start = packer.sentences_before(before.clone())?;
            let repeats = Repeats { overlap: Some(start..range.start), ..piece.repeats.clone() };
            if start < before.end && packer.within(packer.spec.max(), &repeats, range)? {
                piece.repeats = repeats;
            }
        }
    } else {
        piece.flags.extend(oversized);
    }
    Ok(piece)
}
