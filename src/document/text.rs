//! Plain text: paragraphs separated by blank lines.

use std::ops::Range;

use super::{Block, BlockKind, Parsed, is_blank};

pub(super) fn parse(text: &str, body: Range<usize>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut paragraph: Option<Range<usize>> = None;
    let mut start = body.start;
    for line in text[body].split_inclusive('\n') {
        let end = start + line.len();
        if is_blank(line) {
            close(&mut parsed.blocks, paragraph.take());
        } else {
            paragraph = Some(paragraph.map_or(start, |open| open.start)..end);
        }
        start = end;
    }
    close(&mut parsed.blocks, paragraph);
    parsed
}

fn close(blocks: &mut Vec<Block>, paragraph: Option<Range<usize>>) {
    if let Some(range) = paragraph {
        let next = blocks.len() + 1;
        blocks.push(Block { kind: BlockKind::Paragraph, range, next });
    }
}
