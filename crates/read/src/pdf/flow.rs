//! From the blocks of pages to those of a document: paragraphs and tables go on over columns and pages.

use super::block::{Block, Kind};

/// Blocks before one that are searched for the paragraph that it continues: footnotes and figures stand between.
const BEFORE: usize = 8;

/// Joins paragraphs that go on in the next column or on the next page, and tables. Appends to `repeated` the text of headers
/// that a table has again on its next page.
pub(super) fn join(blocks: Vec<Block>, body: f32, repeated: &mut String) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        if let Some(before) = joined.last_mut().filter(|before| before.pages.1 + 1 == block.pages.0)
            && let (Kind::Table(table), Kind::Table(next)) = (&mut before.kind, &block.kind)
            && block.first
            && table.is_continued_by(next)
            && let Kind::Table(next) = block.kind
        {
            repeated.push_str(&table.append(next));
            before.pages.1 = block.pages.1;
            continue;
        }
        if block.first && block.kind == Kind::Text && !block.aside {
            let from = joined.len().saturating_sub(BEFORE);
            let before = joined[from..].iter().rposition(|before| {
                matches!(before.kind, Kind::Text | Kind::Item(_))
                    && !before.aside
                    && (before.size() - block.size()).abs() < 0.06 * body
                    && block.pages.0 <= before.pages.1 + 1
            });
            // Headings do not go on behind their text.
            let before = before.filter(|before| from + before + 1 == joined.len() || block.size() < 1.12 * body);
            if let Some(before) = before.map(|at| &mut joined[from + at])
                && goes_on(before, &block)
            {
                before.pages.1 = block.pages.1;
                before.right = block.right;
                before.lines.extend(block.lines);
                continue;
            }
        }
        joined.push(block);
    }
    joined
}

fn goes_on(before: &Block, block: &Block) -> bool {
    let (Some(last), Some(first)) = (before.lines.last(), block.lines.first()) else { return false };
    if last.look.bold != first.look.bold || last.look.mono != first.look.mono {
        return false;
    }
    let end = last.text();
    let Some(start) = first.words().next().and_then(|word| word.text.chars().next()) else { return false };
    if end.ends_with(['.', '!', '?', ':', ';', '。', '”', '"']) {
        return false;
    }
    let full = before.right - last.end < 2.0 * last.size;
    start.is_lowercase() || end.ends_with(['-', ',']) || full && block.lines.len() > 1 && before.lines.len() > 1
}
