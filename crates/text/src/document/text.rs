//! Plain text: paragraphs separated by blank lines.

use std::ops::Range;

use super::block::{Block, BlockKind};
use super::line;
use super::parsed::ParsedBody;
use super::room::{self, Room};
use super::white_space::is_blank;

pub(super) fn parse(text: &str, body: Range<usize>, room: &mut Room) -> ParsedBody {
    let mut parsed = ParsedBody::default();
    let mut paragraph: Option<Range<usize>> = None;
    let mut start = body.start;
    for line in line::split(&text[body]) {
        let end = start + line.len();
        if is_blank(line) {
            close(&mut parsed.blocks, paragraph.take(), room);
        } else {
            paragraph = Some(paragraph.map_or(start, |open| open.start)..end);
        }
        start = end;
    }
    close(&mut parsed.blocks, paragraph, room);
    parsed
}

fn close(blocks: &mut Vec<Block>, paragraph: Option<Range<usize>>, room: &mut Room) {
    if let Some(range) = paragraph
        && room.take(room::BLOCK)
    {
        let next = blocks.len() + 1;
        blocks.push(Block { kind: BlockKind::Paragraph, range, next });
    }
}
