//! Writes the blocks of a document.

use chunkmill_text::document::{DropReason, Inline, LayerWriter, Place};

use super::block::{Block, Kind};
use super::text::{Text, code};

/// Writes blocks.
pub(super) fn write(blocks: &[Block], text: &Text<'_>, writer: &mut LayerWriter) {
    let mut lists = Lists::default();
    for block in blocks {
        if writer.is_full() {
            return;
        }
        for line in &block.lines {
            writer.drop(DropReason::Markup, &line.dots);
        }
        match &block.kind {
            Kind::Item(mark) => {
                if mark.is_none()
                    && let Some(word) = block.lines.first().and_then(|line| line.words().next())
                {
                    writer.drop(DropReason::Markup, &word.text);
                }
                let content = text.item(&block.lines, writer);
                lists.item(block, mark.as_deref(), &content, writer);
                continue;
            }
            _ => lists.close(writer),
        }
        place(block, writer);
        match &block.kind {
            Kind::Heading(level) => {
                let title = text.heading(&block.lines, writer);
                writer.heading(*level, &title, None);
            }
            Kind::Code => writer.code("", &code(&block.lines)),
            Kind::Lines => {
                let lines = text.lines(&block.lines, writer);
                writer.paragraph(&lines);
            }
            Kind::Table(table) => {
                let rows = table.rows.iter().map(|row| row.iter().map(|cell| text.cell(&cell.0, writer)).collect());
                let rows: Vec<Vec<Inline>> = rows.collect();
                writer.table(&rows);
            }
            Kind::Text | Kind::Item(_) => {
                let paragraph = text.paragraph(&block.lines, writer);
                writer.paragraph(&paragraph);
            }
        }
    }
    lists.close(writer);
}

/// Says which page a block is on.
fn place(block: &Block, writer: &mut LayerWriter) {
    let (first, last) = block.pages;
    let name = if first == last { format!("p. {first}") } else { format!("pp. {first}–{last}") };
    writer.place(Place { name, page: Some(first) });
}

/// The lists that are open, each with the left end of its marks.
#[derive(Debug, Default)]
struct Lists(Vec<f32>);

impl Lists {
    fn item(&mut self, block: &Block, mark: Option<&str>, content: &Inline, writer: &mut LayerWriter) {
        let (x, em) = (block.lines.first().map_or(0.0, |line| line.x), block.size());
        // An item on another page may be anywhere.
        while self.0.last().is_some_and(|open| *open > x + 0.6 * em) {
            writer.close();
            writer.close();
            self.0.pop();
        }
        let deeper = self.0.last().is_none_or(|open| x > open + 0.6 * em);
        if !deeper {
            writer.close();
        }
        // A place starts before a block, not inside of the item whose first list this opens.
        if self.0.is_empty() || !deeper {
            place(block, writer);
        }
        if deeper {
            writer.open_list(true);
            self.0.push(x);
        }
        writer.open_item(mark.unwrap_or("-"));
        writer.paragraph(content);
    }

    fn close(&mut self, writer: &mut LayerWriter) {
        for _ in self.0.drain(..) {
            writer.close();
            writer.close();
        }
    }
}
