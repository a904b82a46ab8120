//! Writes the blocks of a document: paragraphs, headings, lists by their levels, tables by their cells, and notes at the end.

use std::collections::BTreeMap;

use chunkmill_text::document::{DropReason, Inline, LayerWriter, Place, on_one_line};

use super::header::{Lists, Marks, Role, Styles, outline};
use super::paragraph::Paragraph;

/// Most columns of a table: as many as Word allows. The text of further cells is in the last.
const MAX_COLUMNS: usize = 63;

/// Cells that are in memory at most before they are written: in a table without end, the rest is a table with the same head.
const MAX_CELLS: usize = 1 << 16;

/// The properties of a paragraph, from its control words.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Format {
    pub(super) style: i32,
    pub(super) outline: Option<i32>,
    pub(super) list: Option<i32>,
    pub(super) level: usize,
    pub(super) table: bool,
    /// The indentation of all lines, and how much more the first one has.
    pub(super) indent: i32,
    pub(super) first: i32,
}

impl Format {
    fn role(&self, styles: &Styles) -> Role {
        let role = styles.role(self.style);
        match self.outline {
            // A style may say that it is a title or a table of contents; then its level says nothing more.
            Some(level) if matches!(role, Role::Text | Role::Heading(_)) => outline(level),
            _ => role,
        }
    }
}

/// Text apart from the text around it: a note or a text box.
#[derive(Debug)]
struct Aside {
    /// The label of a note.
    note: Option<String>,
    /// The paragraph around it.
    around: Paragraph,
    paragraphs: Vec<Inline>,
}

#[derive(Debug)]
struct Note {
    label: String,
    paragraphs: Vec<Inline>,
}

/// A list that is open.
#[derive(Debug)]
struct OpenList {
    level: usize,
    list: Option<i32>,
    ordered: bool,
    number: u64,
}

#[derive(Debug, Default)]
struct Table {
    rows: Vec<BTreeMap<usize, Inline>>,
    columns: usize,
    row: BTreeMap<usize, Inline>,
    column: usize,
    cell: Inline,
    /// The separator between the text of the cell and further text.
    gap: &'static str,
    /// The first paragraph in it.
    first: Option<u64>,
}

impl Table {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.row.is_empty() && self.cell.is_blank()
    }

    fn text(&mut self, text: &Inline) {
        if !text.is_blank() {
            if !self.cell.as_str().is_empty() {
                self.cell.write(if self.gap.is_empty() { " " } else { self.gap });
            }
            self.cell.append(text);
            self.gap = "";
        }
    }

    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        let column = self.column.min(MAX_COLUMNS - 1);
        self.column += 1;
        self.columns = self.columns.max(column + 1);
        if cell.is_blank() {
            return;
        }
        let kept = self.row.entry(column).or_default();
        if !kept.as_str().is_empty() {
            kept.write(" ");
        }
        kept.append(&cell);
    }

    fn end_row(&mut self, writer: &mut LayerWriter) {
        if !self.cell.is_blank() {
            self.end_cell();
        }
        let row = std::mem::take(&mut self.row);
        self.column = 0;
        if !row.is_empty() {
            self.rows.push(row);
        }
        if (self.rows.len() + 1) * self.columns > MAX_CELLS {
            // Text of ours, without names that links could mean.
            let head = self
                .rows
                .first()
                .map(|row| row.iter().map(|(column, text)| (*column, Inline::from(text.as_str()))).collect());
            self.write(writer);
            self.rows.extend(head);
        }
    }

    fn write(&mut self, writer: &mut LayerWriter) {
        let columns = self.columns;
        let rows: Vec<Vec<Inline>> = std::mem::take(&mut self.rows)
            .into_iter()
            .map(|mut row| (0..columns).map(|column| row.remove(&column).unwrap_or_default()).collect())
            .collect();
        writer.table(&rows);
    }
}

/// Writes blocks one after the other.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) paragraph: Paragraph,
    /// Number of paragraphs that have ended.
    ended: u64,
    asides: Vec<Aside>,
    notes: Vec<Note>,
    labels: u64,
    lists: Vec<OpenList>,
    /// Lines of code that follow each other, and the first paragraph of them.
    code: Option<(u64, Inline)>,
    table: Table,
    /// Names of the place of the next block.
    anchors: Vec<String>,
    /// The first paragraph in the style of a title.
    pub(super) title: Option<String>,
}

/// The tables of the header that the end of a paragraph needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables<'t> {
    pub(super) styles: &'t Styles,
    pub(super) lists: &'t Lists,
}

impl Flow {
    /// Begins a note or a text box, and puts the reference to a note into the paragraph around it.
    pub(super) fn open_aside(&mut self, is_note: bool) {
        let note = is_note.then(|| {
            self.labels += 1;
            let label = self.labels.to_string();
            self.paragraph.note(&label);
            label
        });
        let around = std::mem::take(&mut self.paragraph);
        self.asides.push(Aside { note, around, paragraphs: Vec::new() });
    }

    /// Ends a note or a text box.
    pub(super) fn close_aside(&mut self) {
        self.end_in_aside();
        let Some(Aside { note, around, paragraphs }) = self.asides.pop() else { return };
        self.paragraph = around;
        match note {
            Some(label) => self.notes.push(Note { label, paragraphs }),
            None => self.paragraph.boxed.extend(paragraphs),
        }
    }

    /// Ends a line. Two ends in a row are the end of a paragraph.
    pub(super) fn line_break(&mut self, format: Format, tables: Tables<'_>, writer: &mut LayerWriter) {
        let whole = self.is_in_table(format) || self.paragraph.marker.is_some() || !self.asides.is_empty();
        if !whole && self.paragraph.is_at_empty_line() {
            self.block(format, tables, writer);
        } else {
            let look = crate::runs::Look::default();
            self.paragraph.say("\n", look);
        }
    }

    /// Ends a paragraph.
    pub(super) fn end_paragraph(&mut self, format: Format, tables: Tables<'_>, writer: &mut LayerWriter) {
        if self.end_in_aside() {
            return;
        }
        if self.is_in_table(format) {
            self.end_in_cell();
            self.table.gap = "\n";
        } else {
            self.end_table(writer);
            self.block(format, tables, writer);
        }
        self.ended += 1;
    }

    /// Ends a cell; of a table in a cell, `is_nested`.
    pub(super) fn end_cell(&mut self, is_nested: bool) {
        if self.end_in_aside() {
            return;
        }
        self.end_in_cell();
        self.ended += 1;
        if is_nested {
            self.table.gap = " ";
        } else {
            self.table.end_cell();
        }
    }

    /// Ends a row; of a table in a cell, `is_nested`.
    pub(super) fn end_row(&mut self, is_nested: bool, writer: &mut LayerWriter) {
        if !self.asides.is_empty() {
            return;
        }
        if !self.paragraph.is_blank() {
            self.end_in_cell();
        }
        if is_nested {
            self.table.gap = "\n";
            return;
        }
        if !self.table.is_empty() {
            self.begin_table(writer);
        }
        self.table.end_row(writer);
    }

    /// Writes what is left, and the notes.
    pub(super) fn finish(&mut self, format: Format, tables: Tables<'_>, writer: &mut LayerWriter) {
        while !self.asides.is_empty() {
            self.close_aside();
        }
        self.end_paragraph(format, tables, writer);
        self.end_table(writer);
        self.close_lists(writer);
        for note in std::mem::take(&mut self.notes) {
            if writer.is_full() {
                return;
            }
            writer.place(Place::new(format!("footnote {}", note.label)));
            writer.open_footnote(&note.label);
            note.paragraphs.iter().for_each(|text| writer.paragraph(text));
            writer.close();
        }
    }

    /// Ends a paragraph of a note or a text box; returns whether one was open.
    fn end_in_aside(&mut self) -> bool {
        let Some(aside) = self.asides.last_mut() else { return false };
        let mut paragraph = std::mem::take(&mut self.paragraph);
        let boxed = std::mem::take(&mut paragraph.boxed);
        if !paragraph.is_blank() {
            aside.paragraphs.push(paragraph.inline(false));
        }
        aside.paragraphs.extend(boxed);
        true
    }

    fn is_in_table(&self, format: Format) -> bool {
        format.table || !self.table.row.is_empty()
    }

    fn end_in_cell(&mut self) {
        let mut paragraph = std::mem::take(&mut self.paragraph);
        self.table.first.get_or_insert(self.ended + 1);
        let boxed = std::mem::take(&mut paragraph.boxed);
        if paragraph.is_blank() {
            self.anchors.extend(paragraph.anchors());
        } else {
            self.table.text(&paragraph.inline(false));
        }
        for text in boxed {
            self.table.gap = "\n";
            self.table.text(&text);
        }
    }

    /// Says where a table is from, unless its start was written.
    fn begin_table(&mut self, writer: &mut LayerWriter) {
        self.close_lists(writer);
        if let Some(first) = self.table.first.take()
            && self.table.rows.is_empty()
        {
            self.begin(first, writer);
        }
    }

    fn end_table(&mut self, writer: &mut LayerWriter) {
        if !self.table.is_empty() {
            self.begin_table(writer);
            self.table.end_row(writer);
            self.table.write(writer);
        }
        self.table = Table::default();
    }

    fn begin(&mut self, paragraph: u64, writer: &mut LayerWriter) {
        writer.place(Place::new(format!("par {paragraph}")));
        for name in self.anchors.drain(..) {
            writer.anchor(&name);
        }
    }

    /// Writes the paragraph as a block.
    fn block(&mut self, format: Format, tables: Tables<'_>, writer: &mut LayerWriter) {
        let mut paragraph = std::mem::take(&mut self.paragraph);
        let boxed = std::mem::take(&mut paragraph.boxed);
        if paragraph.is_blank() {
            if let Some((_, code)) = &mut self.code {
                code.write("\n");
            }
            self.anchors.extend(paragraph.anchors());
        } else {
            // Programs that know no lists type the bullet, and indent the lines below it.
            if format.first < 0 && paragraph.marker.is_none() && paragraph.take_marker() {
                writer.drop(DropReason::Markup, paragraph.marker.as_deref().unwrap_or_default());
            }
            self.text(&paragraph, format, tables, writer);
        }
        for text in boxed {
            self.close_lists(writer);
            self.begin(self.ended + 1, writer);
            writer.paragraph(&text);
        }
    }

    fn text(&mut self, paragraph: &Paragraph, format: Format, tables: Tables<'_>, writer: &mut LayerWriter) {
        let at = self.ended + 1;
        let level = match format.role(tables.styles) {
            Role::Contents => return writer.drop(DropReason::Navigation, paragraph.as_str()),
            Role::Title => {
                let words = || on_one_line(paragraph.as_str());
                self.title.get_or_insert_with(words);
                1
            }
            Role::Heading(level) => level,
            Role::Text if paragraph.is_code() && Item::of(paragraph, format, tables.lists).is_none() => {
                if self.code.is_none() {
                    self.close_lists(writer);
                }
                let (_, code) = self.code.get_or_insert_with(|| (at, Inline::new()));
                if !code.as_str().is_empty() {
                    code.write("\n");
                }
                code.write(paragraph.as_str());
                self.anchors.extend(paragraph.anchors());
                return;
            }
            Role::Text => {
                let inline = paragraph.inline(false);
                if let Some(item) = Item::of(paragraph, format, tables.lists) {
                    self.open_item(&item, at, writer);
                } else {
                    self.close_lists(writer);
                    self.begin(at, writer);
                }
                return writer.paragraph(&inline);
            }
        };
        self.close_lists(writer);
        self.begin(at, writer);
        writer.heading(level, &paragraph.inline(true), None);
    }

    fn open_item(&mut self, item: &Item, at: u64, writer: &mut LayerWriter) {
        let level = item.level;
        self.end_code(writer);
        while self.lists.last().is_some_and(|list| list.level > level) {
            self.close_list(writer);
        }
        let same = |list: &&OpenList| list.level == level && list.list == item.list && list.ordered == item.ordered;
        if self.lists.last().is_some_and(|list| list.level == level && !same(&list)) {
            self.close_list(writer);
        } else if self.lists.last().is_some_and(|list| list.level == level) {
            writer.close();
        }
        if self.lists.last().is_none_or(|list| list.level < level) {
            writer.open_list(true);
            self.lists.push(OpenList { level, list: item.list, ordered: item.ordered, number: 0 });
        }
        let mut mark = "-".to_owned();
        if let Some(list) = self.lists.last_mut().filter(|list| list.ordered) {
            list.number = item.number.or_else(|| letters(&item.letters, list.number)).unwrap_or(list.number + 1);
            mark = format!("{}.", list.number);
        }
        writer.open_item(&mark);
        self.begin(at, writer);
    }

    fn close_list(&mut self, writer: &mut LayerWriter) {
        if self.lists.pop().is_some() {
            writer.close();
            writer.close();
        }
    }

    fn end_code(&mut self, writer: &mut LayerWriter) {
        if let Some((at, code)) = self.code.take() {
            self.begin(at, writer);
            writer.code("", &code);
        }
    }

    /// Ends lists and lines of code.
    fn close_lists(&mut self, writer: &mut LayerWriter) {
        self.end_code(writer);
        while !self.lists.is_empty() {
            self.close_list(writer);
        }
    }
}

/// A paragraph as an item of a list.
#[derive(Debug)]
struct Item {
    level: usize,
    list: Option<i32>,
    ordered: bool,
    number: Option<u64>,
    /// The letters of a mark that has no digits.
    letters: String,
}

impl Item {
    fn of(paragraph: &Paragraph, format: Format, lists: &Lists) -> Option<Self> {
        let Format { list, level, .. } = format;
        // Bullets that are typed have no level but their indentation.
        let indent = usize::try_from(format.indent).unwrap_or_default();
        let level = if list.is_none() && format.first < 0 { indent } else { level };
        let item = |ordered| Self { level, list, ordered, number: None, letters: String::new() };
        let marker = paragraph.marker.as_deref().unwrap_or_default().trim();
        if marker.is_empty() {
            return match lists.marks(list?, level)? {
                Marks::Bullets => Some(item(false)),
                Marks::Numbers => Some(item(true)),
                Marks::Nothing => None,
            };
        }
        if let Some(last) = marker.rsplit(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty()) {
            let number = Some(last).filter(|digits| digits.len() < 10).and_then(|digits| digits.parse().ok());
            return Some(Self { number, ..item(true) });
        }
        // Letters of fonts of signs are bullets: `o`.
        let ordered = marker.ends_with(['.', ')', ':']) && marker.contains(char::is_alphanumeric);
        let letters = marker.chars().filter(char::is_ascii_alphabetic).take(10).collect();
        Some(Self { letters, ..item(ordered) })
    }
}

/// Returns the number that letters stand for: `iv` or `d`. The number before them says which of both is meant.
fn letters(letters: &str, before: u64) -> Option<u64> {
    let letters = letters.to_ascii_lowercase();
    let order = match letters.as_bytes() {
        [letter] => Some(u64::from(letter - b'a') + 1),
        _ => None,
    };
    let roman = roman(&letters);
    let next = before + 1;
    [order, roman].into_iter().flatten().find(|number| *number == next).or(match &*letters {
        "i" | "v" | "x" => roman,
        _ => order.or(roman),
    })
}

fn roman(letters: &str) -> Option<u64> {
    let value = |letter| {
        let digits = [(b'i', 1), (b'v', 5), (b'x', 10), (b'l', 50), (b'c', 100), (b'd', 500), (b'm', 1000)];
        digits.iter().find(|(digit, _)| *digit == letter).map(|(_, value)| *value)
    };
    let (mut sum, mut last) = (0i32, 0i32);
    for letter in letters.bytes().rev() {
        let value = value(letter)?;
        if value < last {
            sum -= value;
        } else {
            sum += value;
            last = value;
        }
    }
    u64::try_from(sum).ok().filter(|sum| *sum > 0)
}
