//! Writes the layer of a file whose format is not read as it is. A reader calls this with blocks, and says for each piece of
//! text which bytes of the file it stands for.
//!
//! The text is laid out like Markdown, because people and models know that, and because the strategies cut tables at rows
//! and code at lines in that layout. But it is never parsed: what is a heading or a link is what the reader said, so text
//! that looks like markup stays text. The layout belongs to the format of a dataset: a change of it changes
//! [`PARSER_VERSION`](super::PARSER_VERSION).

use std::borrow::Cow;
use std::ops::Range;

use chunkmill_base::error::Skip;

use super::block::{Block, BlockKind, Footnote, Link, LinkKind};
use super::layer::Layer;
use super::markdown;
use super::parsed::{Heading, ParsedBody};
use super::position::Positions;
use super::room::Room;
use super::source_map::{SourceMap, Stretch};
use super::structure::{DropReason, Dropped, Place, ReadFlag, Structure};
use super::white_space::{on_one_line, one_line, trim, visible_chars};

/// Longest target of a link, in bytes. A longer one is cut: a page may repeat it in each paragraph.
const MAX_TARGET: usize = 2048;

/// Longest target that is written in the text, in bytes. A longer one says nothing that the text does not: no model knows
/// it, and a chunk would be only a part of it.
const MAX_WRITTEN: usize = 200;

/// Longest target with data or code that is written, in bytes.
const MAX_CODE: usize = 40;

/// Longest raised text that may be a power, in bytes. A longer one is text that someone made small.
const MAX_RAISED: usize = 60;

/// Most marks of emphasis between a power and what is raised to it.
const MAX_MARKS: usize = 8;

/// Raised text that changes no value: endings of numbers and abbreviations, and marks of names.
const RAISED_ENDINGS: &[&str] = &[
    "st", "nd", "rd", "th", "er", "re", "me", "eme", "ème", "ère", "nde", "lle", "o", "a", "e", "r", "º", "ª", "°",
    "tm", "sm", "®", "™", "©",
];

/// Deepest nesting of quotes and lists that is written. Deeper ones are written at this depth.
const MAX_DEPTH: usize = 32;

/// Text of one block, with what is inside it: links, code, names of places.
#[derive(Debug, Clone, Default)]
pub struct Inline {
    text: String,
    runs: Vec<Run>,
    links: Vec<Link>,
    /// Links that are open: index of the link, and where its text starts.
    open: Vec<(usize, usize)>,
    anchors: Vec<(String, usize)>,
    code: Vec<Range<usize>>,
    /// Characters of the source that show nothing and are not in the text.
    left_out: u64,
}

/// A piece of text that stands for bytes of the source.
#[derive(Debug, Clone)]
struct Run {
    range: Range<usize>,
    source: Range<usize>,
    /// Whether both are the same bytes.
    exact: bool,
}

impl Inline {
    /// Creates an empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the text so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether nothing is in it but white space.
    pub fn is_blank(&self) -> bool {
        super::is_blank(&self.text)
    }

    /// Appends a text that stands for bytes of the source. If both are equally long, they must be the same bytes.
    pub fn push(&mut self, text: &str, source: Range<usize>) {
        let exact = text.len() == source.len();
        self.run(text, source, exact);
    }

    /// Appends a piece of text, without characters that only say where a line may break: words are found without them.
    fn run(&mut self, text: &str, source: Range<usize>, exact: bool) {
        if !has_breaks(text) {
            return self.kept(text, source, exact);
        }
        if !exact {
            // In another form, the text stands for all of its source, unless nothing is left of it.
            let kept = text.replace(is_break, "");
            self.left_out += if kept.is_empty() { text.chars().count() as u64 } else { 0 };
            return self.kept(&kept, source, false);
        }
        let mut at = source.start;
        for part in text.split_inclusive(is_break) {
            let kept = part.trim_end_matches(is_break);
            self.left_out += u64::from(kept.len() < part.len());
            self.kept(kept, at..at + kept.len(), true);
            at += part.len();
        }
    }

    fn kept(&mut self, text: &str, source: Range<usize>, exact: bool) {
        if text.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(text);
        let run = Run { range: start..self.text.len(), source, exact };
        match self.runs.last_mut() {
            Some(last)
                if last.exact
                    && run.exact
                    && last.range.end == run.range.start
                    && last.source.end == run.source.start =>
            {
                last.range.end = run.range.end;
                last.source.end = run.source.end;
            }
            _ => self.runs.push(run),
        }
    }

    /// Appends bytes of the source that are the same in the text, and makes one space of each run of white space, as HTML
    /// shows it; at the start of a line, none.
    pub fn flow(&mut self, text: &str, at: usize) {
        let mut rest = 0;
        while rest < text.len() {
            let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}');
            let word = text[rest..].find(is_space).map_or(text.len(), |len| rest + len);
            self.push(&text[rest..word], at + rest..at + word);
            rest = text[word..].find(|c| !is_space(c)).map_or(text.len(), |len| word + len);
            if rest > word && !(self.text.is_empty() || self.text.ends_with([' ', '\n'])) {
                self.run(" ", at + word..at + rest, &text[word..rest] == " ");
            }
        }
    }

    /// Appends a character that stands for bytes of the source in another form, such as a character reference.
    pub fn replaced(&mut self, text: &str, source: Range<usize>) {
        if text == " " && (self.text.is_empty() || self.text.ends_with([' ', '\n'])) {
            return;
        }
        self.run(text, source, false);
    }

    /// Appends characters of our own.
    pub fn write(&mut self, markup: &str) {
        if has_breaks(markup) {
            self.text.extend(markup.chars().filter(|c| !is_break(*c)));
        } else {
            self.text.push_str(markup);
        }
    }

    /// Ends the line.
    pub fn line_break(&mut self) {
        self.trim_end();
        self.text.push('\n');
    }

    /// Begins emphasis or the like, written between two marks. Pass the result to [`end_mark`](Self::end_mark).
    #[must_use]
    pub fn start_mark(&mut self, mark: &str) -> usize {
        self.text.push_str(mark);
        self.text.len()
    }

    /// Ends what [`start_mark`](Self::start_mark) began. Without text in between, there are no marks; a space before the end
    /// is moved behind the mark.
    pub fn end_mark(&mut self, mark: &str, start: usize) {
        if self.text.len() <= start || super::is_blank(&self.text[start..]) {
            if self.text.len() == start {
                self.text.truncate(start - mark.len());
            } else {
                self.text.push_str(mark);
            }
            return;
        }
        let space = self.text.ends_with(' ');
        if space {
            self.trim_end();
        }
        self.text.push_str(mark);
        if space {
            self.text.push(' ');
        }
    }

    /// Ends a raised text that starts at a byte: puts a caret before a power, `10^6`, because it is another number without.
    pub fn raise(&mut self, start: usize) {
        let Some(raised) = self.text.get(start..).filter(|raised| raised.len() <= MAX_RAISED) else { return };
        let start = self.text.len() - raised.trim_start().len();
        let raised = raised.trim();
        // Marks of emphasis may be around what is before, and around the power.
        let is_mark = |c: &char| matches!(c, '*' | '`');
        let before = self.text[..start].chars().rev().take(MAX_MARKS).find(|c| !is_mark(c));
        let is_after = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']' | '}'));
        // Brackets begin a reference to a note.
        if !is_after || raised.is_empty() || raised.starts_with(['[', '^']) || is_ending(before, raised) {
            return;
        }
        let end = start + raised.len();
        let caret = if is_one_word(raised.trim_matches(['*', '`'])) { "^" } else { "^(" };
        if caret.len() > 1 {
            // White space behind it stays behind it, and stands for what it did.
            self.insert(end, ")");
        }
        self.insert(start, caret);
    }

    /// Puts characters of our own before a byte. All lists are in order: only their ends are looked at.
    fn insert(&mut self, at: usize, own: &str) {
        let by = own.len();
        self.text.insert_str(at, own);
        let mut behind = Vec::new();
        while let Some(mut run) = self.runs.pop_if(|run| run.range.end > at) {
            if run.range.start < at && run.exact {
                let cut = run.source.start + at - run.range.start;
                let range = at + by..run.range.end + by;
                behind.push(Run { range, source: cut..run.source.end, exact: true });
                self.runs.push(Run { range: run.range.start..at, source: run.source.start..cut, exact: true });
                break;
            }
            if run.range.start >= at {
                run.range.start += by;
            }
            run.range.end += by;
            behind.push(run);
        }
        self.runs.extend(behind.into_iter().rev());
        let shift = |range: &mut Range<usize>| {
            if range.start >= at {
                range.start += by;
            }
            range.end += by;
        };
        self.links.iter_mut().rev().take_while(|link| link.range.end > at).for_each(|link| shift(&mut link.range));
        self.code.iter_mut().rev().take_while(|range| range.end > at).for_each(shift);
        self.anchors.iter_mut().rev().take_while(|(_, name)| *name > at).for_each(|(_, name)| *name += by);
        self.open.iter_mut().rev().take_while(|(_, text)| *text > at).for_each(|(_, text)| *text += by);
    }

    /// Appends code, between backticks.
    pub fn code(&mut self, code: &Self) {
        if code.text.is_empty() {
            self.left_out += code.left_out;
            return;
        }
        let ticks = "`".repeat(longest_run(&code.text, '`') + 1);
        let start = self.text.len();
        self.text.push_str(&ticks);
        let space = if code.text.starts_with('`') || code.text.ends_with('`') { " " } else { "" };
        self.text.push_str(space);
        self.append(code);
        self.text.push_str(space);
        self.text.push_str(&ticks);
        self.code.push(start..self.text.len());
    }

    /// Appends another text with all that is in it.
    pub fn append(&mut self, other: &Self) {
        let by = self.text.len();
        let moved = |range: &Range<usize>| range.start + by..range.end + by;
        self.text.push_str(&other.text);
        self.runs.extend(other.runs.iter().map(|run| Run { range: moved(&run.range), ..run.clone() }));
        self.links.extend(other.links.iter().map(|link| Link { range: moved(&link.range), ..link.clone() }));
        self.anchors.extend(other.anchors.iter().map(|(name, at)| (name.clone(), at + by)));
        self.code.extend(other.code.iter().map(moved));
        self.left_out += other.left_out;
    }

    /// Begins a link. Links may be nested; each is written.
    pub fn start_link(&mut self, target: &str) {
        self.open.push((self.links.len(), self.text.len() + 1));
        let (target, range) = (short(target).into_owned(), self.text.len()..self.text.len());
        self.links.push(Link { kind: LinkKind::Link, named: false, target, text: String::new(), range });
        self.text.push('[');
    }

    /// Ends the last link that is open. A link without text is not written.
    pub fn end_link(&mut self) {
        let Some((index, start)) = self.open.pop() else { return };
        if super::is_blank(&self.text[start..]) {
            let link = self.links.remove(index);
            let kept = self.text.split_off(start);
            self.text.truncate(link.range.start);
            if !kept.is_empty() {
                // The runs of white space in it.
                self.runs.retain(|run| run.range.end <= link.range.start);
            }
            return;
        }
        let space = self.text.ends_with(' ');
        if space {
            self.trim_end();
        }
        let text = self.text[start..].to_owned();
        let link = &mut self.links[index];
        self.text.push_str("](");
        self.text.push_str(&written(&link.target));
        self.text.push(')');
        link.text = on_one_line(&text);
        link.range.end = self.text.len();
        if space {
            self.text.push(' ');
        }
    }

    /// Appends an image with its alternative text.
    pub fn image(&mut self, target: &str, alt: &Self) {
        let start = self.text.len();
        self.text.push_str("![");
        self.append(alt);
        let target = short(target);
        self.text.push_str("](");
        self.text.push_str(&written(&target));
        self.text.push(')');
        let (target, text) = (target.into_owned(), alt.text.clone());
        self.links.push(Link { kind: LinkKind::Image, named: false, target, text, range: start..self.text.len() });
    }

    /// Names this place for links.
    pub fn anchor(&mut self, name: &str) {
        if !name.is_empty() {
            self.anchors.push((name.to_owned(), self.text.len()));
        }
    }

    /// Returns the text with a backslash before each bar, which would end the cell of a table.
    fn in_cell(&self) -> Cow<'_, Self> {
        let bars: Vec<usize> = memchr::memchr_iter(b'|', self.text.as_bytes()).collect();
        if bars.is_empty() {
            return Cow::Borrowed(self);
        }
        let end = |byte: usize| byte + bars.partition_point(|bar| *bar < byte);
        // A bar that stands for a byte of the source begins behind its backslash.
        let start = |byte: usize| byte + bars.partition_point(|bar| *bar <= byte);
        let mut runs = Vec::with_capacity(self.runs.len() + bars.len());
        let mut bar = bars.iter().copied().peekable();
        for run in &self.runs {
            let mut at = run.range.start;
            while let Some(next) = bar.next_if(|bar| *bar < run.range.end) {
                if run.exact && next > at {
                    let source = run.source.start + at - run.range.start..run.source.start + next - run.range.start;
                    runs.push(Run { range: start(at)..end(next), source, exact: true });
                    at = next;
                }
            }
            let source = if run.exact { run.source.start + at - run.range.start } else { run.source.start };
            runs.push(Run { range: start(at)..end(run.range.end), source: source..run.source.end, exact: run.exact });
        }
        let moved = |range: &Range<usize>| end(range.start)..end(range.end);
        let links = self.links.iter().map(|link| Link { range: moved(&link.range), ..link.clone() });
        Cow::Owned(Self {
            text: self.text.replace('|', "\\|"),
            runs,
            links: links.collect(),
            open: Vec::new(),
            anchors: self.anchors.iter().map(|(name, at)| (name.clone(), end(*at))).collect(),
            code: self.code.iter().map(moved).collect(),
            left_out: 0,
        })
    }

    /// Removes white space at the end.
    pub fn trim_end(&mut self) {
        let len = self.text.trim_end().len();
        self.truncate(len);
    }

    fn truncate(&mut self, len: usize) {
        if len == self.text.len() {
            return;
        }
        self.text.truncate(len);
        while let Some(last) = self.runs.last_mut() {
            if last.range.end <= len {
                break;
            }
            if last.range.start >= len {
                self.runs.pop();
                continue;
            }
            if last.exact {
                last.source.end -= last.range.end - len;
            }
            last.range.end = len;
        }
        // They are in order, and a page may have very many.
        for (_, at) in self.anchors.iter_mut().rev().take_while(|(_, at)| *at > len) {
            *at = len;
        }
    }
}

impl From<&str> for Inline {
    /// A text that stands for nothing in the source.
    fn from(text: &str) -> Self {
        let mut inline = Self::default();
        inline.write(text);
        inline
    }
}

/// How the lines of a block are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// All in one line.
    Line,
    /// As lines.
    Lines,
    /// As lines whose indentation counts.
    Code,
}

/// A container that is open, with the text before its lines.
#[derive(Debug)]
struct Container {
    block: usize,
    /// Whether something was written in it.
    written: bool,
    /// The text before its first line, until that is written.
    first: Option<String>,
    /// The text before all other lines.
    rest: String,
    /// Whether no blank lines stand between its items, nor before lists in them.
    tight: bool,
}

/// Writes the text of a layer, block by block.
#[derive(Debug)]
pub struct LayerWriter {
    text: String,
    stretches: Vec<Stretch>,
    structure: Structure,
    open: Vec<Container>,
    /// Containers that are too deep to be written.
    too_deep: usize,
    most: usize,
    /// Whether no bytes of the file are recorded.
    is_packed: bool,
}

impl LayerWriter {
    /// Creates a writer for the layer of a file in a format, which may have at most this many bytes.
    pub fn new(format: &'static str, most: usize) -> Self {
        Self {
            text: String::new(),
            stretches: Vec::new(),
            structure: Structure { format, ..Structure::default() },
            open: Vec::new(),
            too_deep: 0,
            most,
            is_packed: false,
        }
    }

    /// Says that the file is packed or encoded: the bytes of pieces of text are not those of the file, and are not recorded.
    pub fn forget_bytes(&mut self) {
        self.is_packed = true;
    }

    /// Returns whether there is no room for more: a reader may stop.
    pub fn is_full(&self) -> bool {
        self.text.len() > self.most
    }

    /// Returns what else is known of the document than its blocks: title, tags, metadata, flags.
    pub fn about(&mut self) -> &mut Structure {
        &mut self.structure
    }

    /// Returns the length of the text so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Counts the characters of a text that are not in the layer, without white space.
    pub fn drop(&mut self, reason: DropReason, text: &str) {
        let chars = visible_chars(text);
        if chars > 0 {
            self.count(reason, chars);
        }
    }

    fn count(&mut self, reason: DropReason, chars: u64) {
        match self.structure.dropped.iter_mut().find(|dropped| dropped.reason == reason) {
            Some(dropped) => dropped.chars += chars,
            None => self.structure.dropped.push(Dropped { reason, chars }),
        }
    }

    /// Counts the characters that a text leaves out, and returns whether nothing is to be written of it.
    fn is_blank(&mut self, text: &Inline) -> bool {
        if text.left_out > 0 {
            self.count(DropReason::Markup, text.left_out);
        }
        text.is_blank()
    }

    /// Says that what follows is from a place.
    pub fn place(&mut self, place: Place) {
        let at = self.text.len();
        match self.structure.places.last_mut() {
            Some((last, before)) if *last == at => *before = place,
            Some((_, before)) if *before == place => {}
            _ => self.structure.places.push((at, place)),
        }
    }

    /// Names the place of the next block for links.
    pub fn anchor(&mut self, name: &str) {
        if !name.is_empty() {
            self.structure.anchors.push((name.to_owned(), self.text.len()));
        }
    }

    /// Flags the document.
    pub fn flag(&mut self, flag: ReadFlag) {
        if !self.structure.flags.contains(&flag) {
            self.structure.flags.push(flag);
        }
    }

    /// Writes a heading of level 1 to 6 on one line. `anchor` is its name in links; without one, it is GitHub's.
    pub fn heading(&mut self, level: u8, title: &Inline, anchor: Option<&str>) {
        if self.is_blank(title) {
            return;
        }
        let level = level.clamp(1, 6);
        let block = self.start(BlockKind::Heading(level));
        let (start, nested) = (self.structure.blocks[block].range.start, !self.open.is_empty());
        self.text.push_str(&"#######"[..usize::from(level)]);
        self.text.push(' ');
        self.inline(title, Layout::Line);
        self.end(block);
        let anchor = anchor.unwrap_or_default().to_owned();
        if nested {
            // It opens no section.
            if !anchor.is_empty() {
                self.structure.anchors.push((anchor, start));
            }
            return;
        }
        let title = one_line(plain(title));
        self.structure.headings.push(Heading { level, title, anchor, start, continues: false });
    }

    /// Writes a paragraph.
    pub fn paragraph(&mut self, text: &Inline) {
        self.lines(BlockKind::Paragraph, text);
    }

    /// Writes a block of a kind that has no marks of its own, such as an element of a data format.
    pub fn lines(&mut self, kind: BlockKind, text: &Inline) {
        if self.is_blank(text) {
            return;
        }
        let block = self.start(kind);
        self.inline(text, Layout::Lines);
        self.end(block);
    }

    /// Writes a block of code, with its language.
    pub fn code(&mut self, language: &str, code: &Inline) {
        if self.is_blank(code) {
            return;
        }
        let fence = "`".repeat((longest_run(&code.text, '`') + 1).max(3));
        let block = self.start(BlockKind::Code);
        self.text.push_str(&fence);
        self.text.extend(language.chars().filter(|c| !c.is_whitespace() && *c != '`').take(40));
        self.new_line();
        let mut code = Cow::Borrowed(code);
        if code.text.ends_with(['\n', '\r', ' ']) {
            code.to_mut().trim_end();
        }
        self.inline(&code, Layout::Code);
        self.new_line();
        self.text.push_str(&fence);
        self.end(block);
    }

    /// Writes a formula on lines of its own.
    pub fn math(&mut self, formula: &Inline) {
        if self.is_blank(formula) {
            return;
        }
        let block = self.start(BlockKind::Math);
        self.text.push_str("$$");
        self.new_line();
        self.inline(formula, Layout::Lines);
        self.new_line();
        self.text.push_str("$$");
        self.end(block);
    }

    /// Writes a line between two parts of the text.
    pub fn rule(&mut self) {
        let block = self.start(BlockKind::Rule);
        self.text.push_str("---");
        self.end(block);
    }

    /// Writes a table, whose first row is its head. Cells are written on one line; missing ones are empty.
    pub fn table(&mut self, rows: &[Vec<Inline>]) {
        self.table_of(rows, |_| None);
    }

    /// Writes a table whose rows are from places of their own.
    pub fn table_of(&mut self, rows: &[Vec<Inline>], mut place: impl FnMut(usize) -> Option<Place>) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut is_blank = true;
        for cell in rows.iter().flatten() {
            // Each is asked, because that counts.
            is_blank &= self.is_blank(cell);
        }
        if is_blank {
            return;
        }
        let block = self.start(BlockKind::Table);
        for (at, row) in rows.iter().enumerate() {
            if self.is_full() {
                break;
            }
            if at > 0 {
                self.new_line();
            }
            if let Some(place) = place(at) {
                self.place(place);
            }
            self.text.push('|');
            for column in 0..columns {
                if let Some(cell) = row.get(column).filter(|cell| !cell.is_blank()) {
                    self.text.push(' ');
                    self.inline(&cell.in_cell(), Layout::Line);
                }
                self.text.push_str(" |");
            }
            if at == 0 {
                self.new_line();
                self.text.push('|');
                self.text.push_str(&" --- |".repeat(columns));
            }
        }
        self.end(block);
    }

    /// Writes a text that its author wrote in Markdown, such as a cell of a notebook: as it is, with the blocks, headings,
    /// links, anchors and footnotes that it has as a Markdown file. Inside a quotation or a list, it is a paragraph.
    pub fn markdown(&mut self, text: &Inline) {
        if !self.open.is_empty() {
            return self.paragraph(text);
        }
        if self.is_blank(text) || self.is_full() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let kept = trim(&text.text, 0..text.text.len());
        let start = self.text.len();
        self.stretches(&mut text.runs.iter().peekable(), kept.clone());
        // The line ends here: its end belongs to the last block, as in all blocks.
        let mut body = format!("{}\n", &text.text[kept]);
        let parse = |body: &str| {
            let room = &mut Room::new(u64::MAX);
            markdown::parse(body, 0..body.len(), None, &Positions::new(body), false, room)
        };
        let mut parsed = parse(&body);
        if let Some(fence) = open_fence(&parsed.blocks, &body) {
            // It ends with the text, but in the layer other text follows.
            body.push_str(&fence);
            parsed = parse(&body);
        }
        self.text.push_str(&body);
        self.parsed(parsed, &body, start);
    }

    /// Takes over what was found in a text that was written at `start`.
    fn parsed(&mut self, parsed: ParsedBody, text: &str, start: usize) {
        let moved = |range: Range<usize>| range.start + start..range.end + start;
        let structure = &mut self.structure;
        let first = structure.blocks.len();
        structure.blocks.extend(parsed.blocks.into_iter().map(|block| Block {
            range: moved(block.range),
            next: block.next + first,
            ..block
        }));
        structure.headings.extend(parsed.headings.into_iter().map(|mut heading| {
            // A name that the author did not give is unique in the whole document only if that gives it.
            if !names_itself(&text[heading.start..], &heading.anchor) {
                heading.anchor.clear();
            }
            Heading { start: heading.start + start, ..heading }
        }));
        structure.links.extend(parsed.links.into_iter().map(|link| Link { range: moved(link.range.clone()), ..link }));
        structure.anchors.extend(parsed.anchors.into_iter().map(|(name, at)| (name, at + start)));
        let notes = parsed.footnotes.into_iter().map(|note| Footnote { block: note.block + first, ..note });
        structure.footnotes.extend(notes);
        structure.tags.extend(parsed.tags);
        structure.code.extend(parsed.markup.code.into_iter().map(moved));
        structure.markup.html.extend(parsed.markup.html.into_iter().map(moved));
        structure.markup.gaps.extend(parsed.markup.gaps.into_iter().map(moved));
        structure.markup.comments.extend(parsed.markup.comments.into_iter().map(moved));
    }

    /// Opens a quotation, which [`close`](Self::close) ends.
    pub fn open_quote(&mut self) {
        self.open(BlockKind::Quote, Some("> ".to_owned()), "> ".to_owned(), false);
    }

    /// Opens a list. `tight` says that there are no blank lines between its items.
    pub fn open_list(&mut self, tight: bool) {
        self.open(BlockKind::List, None, String::new(), tight);
    }

    /// Opens an item of a list with its mark: `-`, `1.`, `:`.
    pub fn open_item(&mut self, mark: &str) {
        let tight = self.open.last().is_some_and(|list| list.tight);
        let first = format!("{mark} ");
        let rest = " ".repeat(first.chars().count());
        self.open(BlockKind::ListItem, Some(first), rest, tight);
    }

    /// Opens a footnote.
    pub fn open_footnote(&mut self, label: &str) {
        let top = self.open.is_empty();
        self.open(BlockKind::Footnote, Some(format!("[^{label}]: ")), "    ".to_owned(), false);
        if top && let Some(container) = self.open.last() {
            self.structure.footnotes.push(Footnote { label: label.to_owned(), block: container.block });
        }
    }

    /// Closes the quotation, list, item or footnote that was opened last.
    pub fn close(&mut self) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let Some(container) = self.open.pop() else { return };
        if !container.written {
            self.structure.blocks.pop();
            self.structure.footnotes.retain(|note| note.block != container.block);
            return;
        }
        self.finish_block(container.block);
    }

    /// Returns the layer. `source` is the file: its text if the reader took text from it, its hash and its size.
    ///
    /// # Errors
    /// [`Skip::Growth`] if the text is over the limit.
    pub fn finish(mut self, source: &Layer) -> Result<Layer, Skip> {
        while !self.open.is_empty() {
            self.too_deep = 0;
            self.close();
        }
        if self.is_full() {
            return Err(Skip::Growth { limit: self.most as u64 });
        }
        let stretches = self.stretches.iter().map(|stretch| {
            let start = usize::try_from(stretch.source).unwrap_or_default();
            let place = source.map.place(&source.text, &(start..start + stretch.source_len as usize));
            let source_len = u32::try_from(place.end - place.start).unwrap_or(u32::MAX);
            Stretch { source: place.start, source_len, ..*stretch }
        });
        let feeds = memchr::memchr_iter(b'\n', source.text.as_bytes()).map(|feed| feed + 1);
        let starts = (!source.text.is_empty()).then_some(0).into_iter().chain(feeds);
        if !source.map.is_unknown() {
            self.structure.lines = starts.map(|at| source.map.place(&source.text, &(at..at)).start).collect();
        }
        let map = SourceMap::of_stretches(stretches.collect(), source.map.width());
        let structure = Some(Box::new(self.structure));
        Ok(Layer {
            text: self.text,
            map,
            hash: source.hash.clone(),
            bytes: source.bytes,
            metadata: source.metadata.clone(),
            structure,
        })
    }

    fn open(&mut self, kind: BlockKind, first: Option<String>, rest: String, tight: bool) {
        if self.open.len() >= MAX_DEPTH {
            self.too_deep += 1;
            return;
        }
        let block = self.push(kind);
        self.open.push(Container { block, written: false, first, rest, tight });
    }

    fn push(&mut self, kind: BlockKind) -> usize {
        let (block, at) = (self.structure.blocks.len(), self.text.len());
        self.structure.blocks.push(Block { kind, range: at..at, next: block + 1 });
        block
    }

    /// Begins a block on a new line, together with the containers in which it is the first, and returns its index.
    fn start(&mut self, kind: BlockKind) -> usize {
        let fresh = self.open.iter().position(|container| !container.written).unwrap_or(self.open.len());
        let around = fresh.checked_sub(1).map(|last| &self.open[last]);
        // Without a blank line, a second block of an item would be read as more of the first.
        let is_second = fresh == self.open.len() && kind != BlockKind::List && self.is_item(fresh.checked_sub(1));
        if !self.text.is_empty() && (is_second || !around.is_some_and(|container| container.tight)) {
            let before: String = self.open[..fresh].iter().map(|container| container.rest.as_str()).collect();
            self.text.push_str(before.trim_end());
            self.text.push('\n');
        }
        let line = self.text.len();
        for container in &mut self.open {
            self.text.push_str(container.first.take().as_deref().unwrap_or(&container.rest));
            if !container.written {
                container.written = true;
                self.structure.blocks[container.block].range = line..line;
            }
        }
        let block = self.push(kind);
        self.structure.blocks[block].range = line..line;
        block
    }

    /// Returns whether an open container is an item.
    fn is_item(&self, container: Option<usize>) -> bool {
        container.is_some_and(|at| self.structure.blocks[self.open[at].block].kind == BlockKind::ListItem)
    }

    fn end(&mut self, block: usize) {
        self.text.push('\n');
        self.finish_block(block);
    }

    fn finish_block(&mut self, block: usize) {
        let next = self.structure.blocks.len();
        let block = &mut self.structure.blocks[block];
        (block.range.end, block.next) = (self.text.len(), next);
    }

    /// Ends a line inside a block, and begins the next.
    fn new_line(&mut self) {
        self.text.push('\n');
        for container in &self.open {
            self.text.push_str(&container.rest);
        }
    }

    /// Writes the text of a block, without blank lines around it.
    fn inline(&mut self, text: &Inline, layout: Layout) {
        let end = text.text.trim_end().len();
        let blank = end - text.text[..end].trim_start().len();
        let mut at = match layout {
            Layout::Code => text.text[..blank].rfind('\n').map_or(0, |feed| feed + 1),
            Layout::Lines | Layout::Line => blank,
        };
        // Where each line starts in the text of the block, and in that of the layer.
        let mut lines = Vec::new();
        let mut runs = text.runs.iter().peekable();
        while let Some(line) = text.text[at..end].split('\n').next() {
            lines.push((at, self.text.len()));
            let kept = line.strip_suffix('\r').unwrap_or(line);
            self.stretches(&mut runs, at..at + kept.len());
            self.text.push_str(kept);
            at += line.len() + 1;
            if at > end || self.is_full() {
                break;
            }
            if layout == Layout::Line { self.text.push(' ') } else { self.new_line() }
        }
        let written = self.text.len();
        let moved = |byte: usize| {
            let line = lines.partition_point(|(start, _)| *start <= byte).saturating_sub(1);
            let (start, to) = lines[line];
            let next = lines.get(line + 1).map_or(written, |(_, to)| *to);
            (to + byte.saturating_sub(start)).min(next)
        };
        self.structure.links.extend(text.links.iter().map(|link| {
            let range = moved(link.range.start)..moved(link.range.end);
            Link { range, ..link.clone() }
        }));
        self.structure.anchors.extend(text.anchors.iter().map(|(name, at)| (name.clone(), moved(*at))));
        self.structure.code.extend(text.code.iter().map(|range| moved(range.start)..moved(range.end)));
    }

    /// Records where a line of a block is from, which is written next.
    fn stretches<'r>(&mut self, runs: &mut std::iter::Peekable<impl Iterator<Item = &'r Run>>, line: Range<usize>) {
        while let Some(run) = runs.peek().filter(|run| run.range.start < line.end) {
            let (start, end) = (run.range.start.max(line.start), run.range.end.min(line.end));
            if start < end && !self.is_packed {
                let (source, source_len) = if run.exact {
                    (run.source.start + start - run.range.start, end - start)
                } else {
                    (run.source.start, run.source.len())
                };
                self.stretches.push(Stretch {
                    start: offset(self.text.len() + start - line.start),
                    len: offset(end - start),
                    source: source as u64,
                    source_len: offset(source_len),
                    exact: run.exact,
                });
            }
            if run.range.end > line.end {
                break;
            }
            runs.next();
        }
    }
}

/// Returns whether a character only says where a line may break, or begins a file: a soft hyphen, a space without width, a
/// byte order mark. Those that join letters or part them are letters' own.
fn is_break(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{feff}')
}

fn has_breaks(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_break)
}

/// Returns whether a raised text is an ending behind this character: `st` in `1st`.
fn is_ending(before: Option<char>, raised: &str) -> bool {
    let ending = raised.trim_end_matches('.').to_lowercase();
    if !RAISED_ENDINGS.contains(&&*ending) {
        return false;
    }
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, 'I' | 'V' | 'X' | 'L' | 'C');
    // One letter may be a power as well: `x^e`, but `XIXe` and `No`.
    match &*ending {
        "e" | "a" => before.is_some_and(is_number),
        "o" => before.is_some_and(|c| is_number(c) || matches!(c, 'N' | 'n')),
        "r" => matches!(before, Some('D' | 'M')),
        _ => true,
    }
}

/// Returns whether a power is one word or number, perhaps with a sign.
fn is_one_word(power: &str) -> bool {
    let word = power.trim_start_matches(['-', '+', '\u{2212}', '\u{2013}']);
    let is_bracketed = power.starts_with('(') && power.ends_with(')');
    is_bracketed || power.chars().count() == 1 || word.chars().all(|c| c.is_alphanumeric() || c == '.')
}

/// Returns the text of a title without the marks and targets of links, code and emphasis.
fn plain(title: &Inline) -> String {
    let mut plain = String::new();
    let mut at = 0;
    for link in &title.links {
        // Links in links are written by the outer one.
        if link.range.start >= at {
            plain.push_str(&title.text[at..link.range.start]);
            plain.push_str(&link.text);
            at = link.range.end;
        }
    }
    plain.push_str(&title.text[at..]);
    plain.retain(|c| !matches!(c, '`' | '*'));
    plain
}

/// Returns the line that ends the code at the end of a Markdown text, if it has none.
fn open_fence(blocks: &[Block], text: &str) -> Option<String> {
    let next = |index: &usize| blocks.get(*index).map(|block| block.next).filter(|next| *next < blocks.len());
    let last = std::iter::successors((!blocks.is_empty()).then_some(0), next).last()?;
    let code = blocks.get(last).filter(|block| block.kind == BlockKind::Code)?;
    let line = text[..code.range.start].rfind('\n').map_or(0, |feed| feed + 1);
    let code = text.get(line..code.range.end)?;
    if code.starts_with("    ") || code.starts_with('\t') {
        // It is indented.
        return None;
    }
    let code = code.trim();
    let mark = code.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let fence = |line: &str| line.len() - line.trim_start_matches(mark).len();
    let len = fence(code);
    let end = code.rsplit_once('\n').map_or("", |(_, line)| line.trim());
    let is_closed = fence(end) >= len && fence(end) == end.len();
    (len >= 3 && !is_closed).then(|| format!("{}\n", mark.to_string().repeat(len)))
}

/// Returns whether the heading that a Markdown text starts with has an `{#id}` of this name.
fn names_itself(text: &str, anchor: &str) -> bool {
    let line = text.trim_start().split(['\n', '\r']).next().unwrap_or_default();
    line.rsplit_once('{').is_some_and(|(_, names)| {
        names.split(|c: char| c.is_whitespace() || c == '}').any(|name| name.strip_prefix('#') == Some(anchor))
    })
}

/// Returns the length of the longest run of a character.
fn longest_run(text: &str, c: char) -> usize {
    text.split(|other| other != c).map(str::len).max().unwrap_or_default()
}

/// Returns a target on one line that is not too long.
fn short(target: &str) -> Cow<'_, str> {
    let line = target.contains(char::is_whitespace).then(|| on_one_line(target));
    let target = line.map_or(Cow::Borrowed(target), Cow::Owned);
    if target.len() <= MAX_TARGET {
        return target;
    }
    Cow::Owned(format!("{}…", &target[..target.floor_char_boundary(MAX_TARGET)]))
}

/// Returns a target as it is written: not too long, and between angle brackets if it would end before.
fn written(target: &str) -> Cow<'_, str> {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_code = ["data", "javascript"].iter().any(|code| scheme.eq_ignore_ascii_case(code));
    let most = if is_code { MAX_CODE } else { MAX_WRITTEN };
    let mut written = Cow::Borrowed(target);
    if target.len() > most {
        // The rest of an address is what a program was asked; without it, the page is still named.
        let page = target.find(['?', '#']).filter(|page| !is_code && *page > 0).unwrap_or(target.len());
        written = Cow::Owned(format!("{}…", &target[..target.floor_char_boundary(page.min(most))]));
    }
    let mut depth = 0_i32;
    let mut is_open = false;
    for byte in written.bytes() {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        is_open |= depth < 0;
    }
    if is_open || depth != 0 || written.contains(char::is_whitespace) {
        let inner = written.replace('<', "%3C").replace('>', "%3E");
        written = Cow::Owned(format!("<{inner}>"));
    }
    written
}

/// Converts an offset. A layer has at most [`MAX_BYTES`](super::MAX_BYTES).
#[expect(clippy::cast_possible_truncation, reason = "layers are not longer")]
fn offset(at: usize) -> u32 {
    at as u32
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use crate::document::Document;

    /// A text whose bytes are at the start of a source of this text.
    fn text(text: &str) -> Inline {
        let mut inline = Inline::new();
        inline.push(text, 0..text.len());
        inline
    }

    fn written(write: impl FnOnce(&mut LayerWriter)) -> Document {
        let mut writer = LayerWriter::new("test", 1 << 20);
        write(&mut writer);
        Document::parse("a.test".into(), writer.finish(&Layer::from("x".repeat(1000))).unwrap())
    }

    fn kinds(document: &Document) -> Vec<(&'static str, &str)> {
        document.blocks.iter().map(|block| (block.kind.name(), &document.text[block.range.clone()])).collect()
    }

    #[test]
    fn blocks_are_written_like_markdown() {
        let document = written(|writer| {
            writer.heading(2, &text("One"), Some("one"));
            writer.paragraph(&text("Some\ntext."));
            writer.open_quote();
            writer.paragraph(&text("Quoted."));
            writer.code("rust", &text("fn a() {}\n\n    b\n"));
            writer.close();
            writer.table(&[vec![text("a"), text("b")], vec![text("1")]]);
            writer.rule();
            writer.math(&text("x^2"));
        });
        assert_eq!(
            document.text,
            "## One\n\nSome\ntext.\n\n> Quoted.\n>\n> ```rust\n> fn a() {}\n> \n>     b\n> ```\n\n| a | b |\n| --- | --- |\n| 1 | |\n\n---\n\n$$\nx^2\n$$\n"
        );
        let names: Vec<_> = kinds(&document).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["heading", "paragraph", "quote", "paragraph", "code_block", "table", "rule", "math"]);
        assert_eq!((document.blocks[2].next, &*document.sections[0].anchor), (5, "one"));
    }

    #[test]
    fn items_of_lists_are_indented_below_their_marks() {
        let document = written(|writer| {
            writer.open_list(true);
            writer.open_item("-");
            writer.paragraph(&text("one"));
            writer.open_list(true);
            writer.open_item("10.");
            writer.paragraph(&text("deep\ndown"));
            writer.close();
            writer.close();
            writer.close();
            writer.open_item("-");
            writer.close();
            writer.open_item("-");
            writer.paragraph(&text("two"));
            writer.close();
            writer.close();
            writer.paragraph(&text("after"));
        });
        assert_eq!(document.text, "- one\n  10. deep\n      down\n- two\n\nafter\n");
        let blocks = kinds(&document);
        assert_eq!(blocks[0], ("list", "- one\n  10. deep\n      down\n- two\n"));
        assert_eq!(blocks.iter().filter(|(name, _)| *name == "list_item").count(), 3, "the empty one is not there");
    }

    #[test]
    fn each_stretch_is_from_its_bytes() {
        let document = written(|writer| {
            let mut line = Inline::new();
            line.flow("  a\n  b", 10);
            line.replaced("&", 17..22);
            writer.open_quote();
            writer.paragraph(&line);
        });
        assert_eq!(document.text, "> a b&\n");
        assert_eq!(document.place(&(2..3)), 12..13);
        assert_eq!(document.place(&(4..5)), 16..17);
        assert_eq!(document.place(&(4..6)), 16..22);
        assert_eq!(document.place(&(0..2)), 0..0, "our own characters are from nowhere");
    }

    #[test]
    fn links_and_code_are_where_they_are_written() {
        let document = written(|writer| {
            let mut line = text("See");
            line.write(" ");
            line.start_link("a b.html");
            let strong = line.start_mark("**");
            line.push("the ", 4..8);
            line.end_mark("**", strong);
            line.end_link();
            line.start_link("nothing.html");
            line.end_link();
            line.code(&text("a`b"));
            writer.paragraph(&line);
        });
        assert_eq!(document.text, "See [**the**](<a b.html>) ``a`b``\n");
        let [link] = &document.links[..] else { panic!("{:?}", document.links) };
        assert_eq!(
            (&*link.target, &*link.text, &document.text[link.range.clone()]),
            ("a b.html", "**the**", "[**the**](<a b.html>)")
        );
    }

    #[test]
    fn a_power_has_a_caret_and_places_behind_it_are_kept() {
        let raised = |before: &str, power: &str| {
            let mut line = text(before);
            line.push(power, before.len()..before.len() + power.len());
            line.raise(before.len());
            line.text
        };
        for (before, power, written) in [
            ("10", "6", "10^6"),
            ("10", "\u{2212}6", "10^\u{2212}6"),
            ("(x)", "n", "(x)^n"),
            ("*x*", "*2*", "*x*^*2*"),
            ("2", "n+1 ", "2^(n+1) "),
            ("e", "(a b)", "e^(a b)"),
            ("1", "st", "1st"),
            ("XIX", "e", "XIXe"),
            ("x", "e", "x^e"),
            ("Name", "™", "Name™"),
            ("word", "[^1]", "word[^1]"),
            ("word", "[1](#n)", "word[1](#n)"),
            ("end.", "3", "end.3"),
            ("", "3", "3"),
            ("a", " ", "a "),
        ] {
            assert_eq!(raised(before, power), written);
        }
        let document = written(|writer| {
            let mut line = text("é10");
            line.push("6 ", 4..6);
            line.start_link("a");
            line.anchor("x");
            line.push("n", 6..7);
            line.end_link();
            line.code(&text("c"));
            line.raise(4);
            writer.paragraph(&line);
        });
        assert_eq!(document.text, "é10^(6 [n](a)`c`)\n");
        assert_eq!((document.place(&(2..3)), document.place(&(6..7)), document.place(&(9..10))), (2..3, 4..5, 6..7));
        assert_eq!((document.links[0].range.clone(), &document.anchors[0]), (8..14, &("x".to_owned(), 9)));
    }

    #[test]
    fn a_target_is_written_as_far_as_it_names_a_page() {
        let long = format!("https://a.b/c?q={}", "%20x".repeat(100));
        let path = format!("https://a.b/{}", "é/".repeat(100));
        let cut = format!("{}…", &path[..path.floor_char_boundary(200)]);
        for (target, shown) in [
            ("a(b)c", "a(b)c"),
            ("a)b(", "<a)b(>"),
            ("a(b", "<a(b>"),
            ("a \n <b>", "<a %3Cb%3E>"),
            (&long, "https://a.b/c…"),
            (&path, &cut),
            (&format!("#{}", "x".repeat(300)), &format!("#{}…", "x".repeat(199))),
            ("data:text/plain,1", "data:text/plain,1"),
            (&format!("data:image/png;base64,{}", "A".repeat(50)), "data:image/png;base64,AAAAAAAAAAAAAAAAAA…"),
            (&format!("JavaScript:{}", "f();".repeat(20)), "JavaScript:f();f();f();f();f();f();f();f…"),
        ] {
            let document = written(|writer| {
                let mut line = Inline::new();
                line.start_link(target);
                line.push("x", 0..1);
                line.end_link();
                line.image(target, &text("y"));
                writer.paragraph(&line);
            });
            assert_eq!(document.text, format!("[x]({shown})![y]({shown})\n"));
            assert!(document.links.iter().all(|link| link.target == on_one_line(target)), "{:?}", document.links);
        }
    }

    #[test]
    fn a_bar_in_a_cell_does_not_end_it() {
        let document = written(|writer| {
            let mut cell = text("|a|b");
            cell.code(&text("x|y"));
            cell.replaced("é|", 20..27);
            cell.start_link("p|q");
            cell.push("|", 30..31);
            cell.end_link();
            writer.table(&[vec![cell, text("plain")]]);
        });
        assert_eq!(document.text, "| \\|a\\|b`x\\|y`é\\|[\\|](p\\|q) | plain |\n| --- | --- |\n");
        let place = |range: Range<usize>| document.place(&range);
        assert_eq!((place(3..5), place(6..8), place(2..8)), (0..2, 2..4, 0..4));
        assert_eq!((place(9..10), place(11..13), place(14..18)), (0..1, 1..3, 20..27));
        assert_eq!(&document.text[document.links[0].range.clone()], "[\\|](p\\|q)");
    }

    #[test]
    fn characters_that_only_part_lines_are_left_out_and_counted() {
        let document = written(|writer| {
            let mut line = text("so\u{ad}ft \u{feff}\u{200b}x");
            line.replaced("\u{200b}", 30..37);
            line.replaced("a\u{ad}", 40..44);
            line.write("b\u{ad}c\u{200d}");
            writer.paragraph(&line);
            writer.paragraph(&text("\u{ad}"));
            writer.code("", &text("\u{200b}"));
        });
        assert_eq!(document.text, "soft xabc\u{200d}\n");
        assert_eq!((document.place(&(2..4)), document.place(&(5..6))), (4..6, 13..14));
        assert_eq!(document.dropped[0].chars, 6);
    }

    #[test]
    fn a_text_over_the_limit_is_refused() {
        let mut writer = LayerWriter::new("test", 10);
        (0..100).for_each(|_| writer.paragraph(&text("abc")));
        assert!(writer.is_full());
        assert!(matches!(writer.finish(&Layer::from(String::new())), Err(Skip::Growth { limit: 10 })));
    }

    #[test]
    fn markdown_has_the_blocks_of_a_markdown_file() {
        let cell = "# One {#first}\n\nSome [text](a.md) with `code`[^1] and #tag.\n\n> Quoted.\n\n## Two\n\n- a\n- b\n\n[^1]: Note.\n\n```\nopen";
        let alone = Document::from_text("cell.md", format!("{cell}\n```\n"));
        let document = written(|writer| {
            writer.paragraph(&text("Before."));
            writer.markdown(&text(&format!("\n{cell}\n\n")));
            writer.markdown(&text("## Two"));
        });
        let by = "Before.\n\n".len();
        assert_eq!(document.text, format!("Before.\n\n{cell}\n```\n\n## Two\n"));
        let moved = alone.blocks.iter().map(|block| Block {
            range: block.range.start + by..block.range.end + by,
            next: block.next + 1,
            ..block.clone()
        });
        assert_eq!(document.blocks[1..=alone.blocks.len()], moved.collect::<Vec<_>>());
        let names: Vec<_> = document.sections.iter().map(|section| &*section.anchor).collect();
        assert_eq!(names, ["", "first", "two", "two-1"]);
        assert_eq!(document.blocks[document.footnotes[0].block].kind, BlockKind::Footnote);
        assert_eq!(
            (&*document.links[0].target, &*document.tags[0], document.place(&(by..by + 3))),
            ("a.md", "tag", 1..4)
        );
    }

    #[test]
    fn a_fence_that_is_open_ends_with_its_text() {
        for (cell, written) in [
            ("~~~~\na\n~~~", "~~~~\na\n~~~\n~~~~\n"),
            ("```", "```\n```\n"),
            ("x\n\n```py\na\n```", "x\n\n```py\na\n```\n"),
            ("```\na\n`````  ", "```\na\n`````\n"),
            ("- ```\n  a", "- ```\n  a\n"),
            ("    ```", "    ```\n"),
            ("```\na\n```\n\nb", "```\na\n```\n\nb\n"),
        ] {
            assert_eq!(written_markdown(cell), format!("{written}\nafter\n"), "{cell:?}");
        }
    }

    fn written_markdown(cell: &str) -> String {
        let document = written(|writer| {
            writer.markdown(&text(cell));
            writer.paragraph(&text("after"));
        });
        document.text.clone()
    }

    #[test]
    fn nesting_is_bounded_and_loses_nothing() {
        let document = written(|writer| {
            (0..1000).for_each(|_| writer.open_quote());
            writer.paragraph(&text("deep"));
            (0..1000).for_each(|_| writer.close());
            writer.paragraph(&text("top"));
        });
        assert!(document.text.ends_with("> deep\n\ntop\n"));
        assert_eq!(document.blocks.len(), MAX_DEPTH + 2);
    }
}
