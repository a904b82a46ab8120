//! Markdown that can be read without a parser, which is most of it: fenced code, and headings, paragraphs
//! and lists in which links are written in the simplest way and nothing can be a tag or a formula.
//!
//! What the blocks are and where they end is the same with and without a parser; the parser also looks
//! for emphasis, inline code and entities, for which nobody asks. It gets a copy of the text in which an
//! empty heading stands for each run of plain blocks. This is safe because it is checked: where the parser
//! finds these headings at the top level, as they were written, the document is there in the state in which
//! the plain blocks were read. Where it does not, in an HTML comment for example, the whole text is parsed.
//!
//! All rules here err on one side: what is not certainly plain is left to the parser.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3, memmem};

use super::{BlockKind, LinkKind, Positions};

/// Stands for a run of plain blocks. It interrupts whatever can be interrupted, and nothing continues it.
const MARK: &str = "#\n";

/// Runs of fewer bytes are left to the parser, which is about as fast with them as with a mark.
const MIN_RUN: usize = 64;

/// To so many bytes, or as many as it reads, the parser lets references expand to their definitions.
const EXPANSION: usize = 100_000;

/// A text without its plain blocks.
pub(super) struct Abridged<'t> {
    /// What the parser reads.
    pub(super) text: Cow<'t, str>,
    /// In order.
    pub(super) runs: Vec<Run>,
    /// The blocks of all runs, in order, a container before what it contains.
    pub(super) blocks: Vec<Plain>,
    /// The links of all blocks, in order.
    pub(super) links: Vec<PlainLink>,
}

impl<'t> Abridged<'t> {
    /// A text of which nothing is taken out.
    pub(super) fn whole(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), runs: Vec::new(), blocks: Vec::new(), links: Vec::new() }
    }
}

/// Plain blocks that follow each other.
pub(super) struct Run {
    /// Where its mark is in the abridged text.
    pub(super) mark: Range<usize>,
    /// Its blocks.
    pub(super) blocks: Range<usize>,
    /// Their links.
    pub(super) links: Range<usize>,
    /// Where the original goes on behind it.
    pub(super) end: usize,
}

/// A block.
pub(super) struct Plain {
    pub(super) kind: BlockKind,
    /// From the start of its first line.
    pub(super) range: Range<usize>,
    /// How many blocks end with it, itself and containers.
    pub(super) ends: usize,
}

/// `[text](target)`, or an image.
pub(super) struct PlainLink {
    pub(super) kind: LinkKind,
    pub(super) range: Range<usize>,
    pub(super) text: Range<usize>,
    pub(super) target: Range<usize>,
}

/// Takes the plain blocks out of `text[body]`; nothing if there are none. Regions may be hidden in the text of
/// the positions: their line ends are none in what stands for them, which is not plain.
///
/// Where there are more blocks than `most`, it stops soon after: what else there is makes no difference then.
pub(super) fn abridge(
    text: &str,
    body: &Range<usize>,
    positions: &Positions,
    most: usize,
) -> Option<Abridged<'static>> {
    let bytes = &text.as_bytes()[..body.end];
    let own = &bytes[body.start..];
    // A carriage return alone ends a line for the parser, and none for us.
    let odd_ends = memchr_iter(b'\r', own).any(|at| own.get(at + 1) != Some(&b'\n'));
    // In a shorter text fewer references would be links.
    let defines = || memmem::find(own, b"]:").is_some();
    if odd_ends || own.len() > EXPANSION && defines() {
        return None;
    }
    let (blocks, links) = (Vec::new(), Vec::new());
    let feeds = positions.feeds_from(body.start);
    let mut reader = Reader { text: bytes, feeds, at: body.start, separate: true, most, blocks, links };
    let mut runs = Vec::new();
    let mut abridged = String::new();
    let mut kept = body.start;
    while reader.at < body.end {
        let (start, first_block, first_link) = (reader.at, reader.blocks.len(), reader.links.len());
        while !reader.is_full() && reader.plain_block().is_some() {
            reader.skip_blank();
        }
        if reader.is_full() {
            return Some(Abridged { blocks: reader.blocks, ..Abridged::whole("") });
        }
        if reader.at - start < MIN_RUN {
            reader.blocks.truncate(first_block);
            reader.links.truncate(first_link);
        } else {
            abridged.push_str(&text[kept..start]);
            let mark = abridged.len()..abridged.len() + MARK.len();
            abridged.push_str(MARK);
            kept = reader.at;
            let (blocks, links) = (first_block..reader.blocks.len(), first_link..reader.links.len());
            runs.push(Run { mark, blocks, links, end: kept });
        }
        reader.skip_others();
    }
    if runs.is_empty() {
        return None;
    }
    abridged.push_str(&text[kept..body.end]);
    Some(Abridged { text: Cow::Owned(abridged), runs, blocks: reader.blocks, links: reader.links })
}

/// The lines of a text that are not read yet, and what was read of it.
struct Reader<'t> {
    text: &'t [u8],
    /// The line feeds from `at` on.
    feeds: &'t [u32],
    /// The start of a line.
    at: usize,
    /// Whether a list that stands before, if any, cannot go on here.
    separate: bool,
    /// More blocks than this make no difference.
    most: usize,
    blocks: Vec<Plain>,
    links: Vec<PlainLink>,
}

impl<'t> Reader<'t> {
    /// The line at `at` with its end.
    fn line(&self) -> &'t [u8] {
        &self.text[self.at..self.end()]
    }

    fn end(&self) -> usize {
        self.feeds.first().map_or(self.text.len(), |feed| *feed as usize + 1)
    }

    fn next(&mut self) {
        self.at = self.end();
        self.feeds = self.feeds.get(1..).unwrap_or_default();
    }

    fn skip_blank(&mut self) {
        while self.at < self.text.len() && is_blank(self.line()) {
            self.next();
        }
    }

    /// Reads one block if it is plain; else stays where it is.
    fn plain_block(&mut self) -> Option<()> {
        let (at, feeds, blocks, links) = (self.at, self.feeds, self.blocks.len(), self.links.len());
        let read = match self.text.get(at)? {
            b'#' => self.heading(),
            b'`' | b'~' if fence(self.line()).is_some() => self.fenced(),
            b'-' | b'*' | b'+' if self.separate && is_item(self.line()) => self.list(),
            _ => self.paragraph(),
        };
        if read.is_none() {
            (self.at, self.feeds) = (at, feeds);
            self.blocks.truncate(blocks);
            self.links.truncate(links);
        }
        self.separate |= read.is_some();
        read
    }

    fn is_full(&self) -> bool {
        self.blocks.len() > self.most
    }

    fn add(&mut self, kind: BlockKind, range: Range<usize>, ends: usize) {
        self.blocks.push(Plain { kind, range, ends });
    }

    fn heading(&mut self) -> Option<()> {
        let line = self.line();
        let level = heading(line)?;
        let title = line[usize::from(level)..].strip_prefix(b" ")?.trim_ascii_end();
        if matches!(title.first(), None | Some(b' ')) || !is_text(title) {
            return None;
        }
        self.add(BlockKind::Heading(level), self.at..self.end(), 1);
        self.next();
        Some(())
    }

    fn fenced(&mut self) -> Option<()> {
        let start = self.at;
        let end = self.close_fence()?;
        self.add(BlockKind::Code, start..end, 1);
        Some(())
    }

    /// Goes behind the fenced code that begins here, and says where its last line ends.
    fn close_fence(&mut self) -> Option<usize> {
        let (byte, len) = fence(self.line().trim_ascii_start())?;
        self.next();
        while self.at < self.text.len() {
            let line = self.line();
            let indent = line.iter().take(3).take_while(|byte| **byte == b' ').count();
            if line[indent..].first() == Some(&byte) {
                let closing = line[indent..].iter().take_while(|b| **b == byte).count();
                let spaces = line[indent + closing..].iter().take_while(|byte| **byte == b' ').count();
                let written = indent + closing + spaces;
                if closing >= len && matches!(line[written..], [] | [b'\n'] | [b'\r', b'\n']) {
                    let end = self.at + written;
                    self.next();
                    return Some(end);
                }
            }
            self.next();
        }
        None
    }

    fn paragraph(&mut self) -> Option<()> {
        let start = self.at;
        while self.at < self.text.len() && is_in_paragraph(self.line()) {
            self.next();
        }
        if self.at == start || !self.ends_paragraph() {
            return None;
        }
        self.inlines(start..self.at)?;
        self.add(BlockKind::Paragraph, start..self.at, 1);
        Some(())
    }

    /// Whether a paragraph that the lines before are part of certainly ends with them.
    fn ends_paragraph(&self) -> bool {
        let line = self.line();
        line.is_empty() || is_blank(line) || heading(line).is_some() || fence(line).is_some() || is_item(line)
    }

    /// Reads a list whose items are paragraphs.
    fn list(&mut self) -> Option<()> {
        let (start, first, marker) = (self.at, self.blocks.len(), self.text[self.at]);
        self.add(BlockKind::List, start..start, 0);
        // Where paragraphs of the items end.
        let mut ends = Vec::new();
        let mut loose = false;
        while is_item(self.line()) && self.text[self.at] == marker {
            loose |= ends.last().is_some_and(|end| *end < self.at);
            let start = self.at;
            self.next();
            while self.at < self.text.len() {
                let line = self.line();
                if !is_in_paragraph(line.strip_prefix(b"  ").unwrap_or(line)) {
                    break;
                }
                self.next();
            }
            if !self.ends_paragraph() {
                return None;
            }
            self.inlines(start..self.at)?;
            ends.push(self.at);
            self.skip_blank();
            self.add(BlockKind::ListItem, start..self.at, 1);
            if self.is_full() {
                return Some(());
            }
        }
        // What may go on with the list, or be no block at all, is left to the parser.
        let next = self.line();
        if !(is_in_paragraph(next) || matches!(next.first(), None | Some(b'#' | b'`' | b'~' | b'|' | b'>' | b'<'))) {
            return None;
        }
        self.blocks[first].range.end = self.at;
        if loose {
            let items: Vec<Plain> = self.blocks.drain(first + 1..).collect();
            for (item, end) in items.into_iter().zip(ends) {
                let start = item.range.start;
                self.blocks.push(Plain { ends: 0, ..item });
                self.add(BlockKind::Paragraph, start..end, 2);
            }
        }
        self.blocks.last_mut()?.ends += 1;
        Some(())
    }

    /// Reads the links of a paragraph; nothing if it may hold more than text, code and simple links.
    fn inlines(&mut self, range: Range<usize>) -> Option<()> {
        let text = &self.text[range.clone()];
        if memchr3(b'[', b'<', b'$', text).or_else(|| memchr(b'#', text)).is_none() {
            return Some(());
        }
        let mut at = 0;
        while let Some(found) = text[at..].iter().position(|byte| BEGINS[usize::from(*byte)]) {
            at += found;
            if at > 0 && text[at - 1] == b'\\' {
                return None;
            }
            at += match text[at] {
                b'`' => code_span(&text[at..])?,
                b'[' => {
                    let (link_text, len) = link(&text[at..])?;
                    let image = at > 0 && text[at - 1] == b'!';
                    if image && at > 1 && text[at - 2] == b'\\' {
                        return None;
                    }
                    let kind = if image { LinkKind::Image } else { LinkKind::Link };
                    let from = range.start + at;
                    let text = from + link_text.start..from + link_text.end;
                    let target = text.end + "](".len()..from + len - ")".len();
                    self.links.push(PlainLink { kind, range: from - usize::from(image)..from + len, text, target });
                    len
                }
                _ => return None,
            };
        }
        Some(())
    }

    /// Goes behind what is not plain: to where a blank line ends it, as far as this can be told.
    fn skip_others(&mut self) {
        self.separate = false;
        while self.at < self.text.len() {
            let line = self.line();
            if is_blank(line) {
                return self.skip_blank();
            }
            let indent = line.iter().take_while(|byte| **byte == b' ').count();
            let closing: &[u8] = match &line[indent..] {
                [b'`' | b'~', ..] if indent < 4 && fence(&line[indent..]).is_some() => {
                    self.close_fence();
                    continue;
                }
                [b'<', b'!', b'-', b'-', ..] => b"-->",
                [b'<', b'p' | b's' | b't' | b'P' | b'S' | b'T', ..] if holds_blank_lines(&line[indent..]) => b"</",
                _ => b"",
            };
            while self.at < self.text.len() && memmem::find(self.line(), closing).is_none() {
                self.next();
            }
            self.next();
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    match line {
        [b'\n'] => true,
        [b' ' | b'\t' | b'\r' | b'\n', ..] => line.trim_ascii_start().is_empty() && !line.contains(&b'\x0c'),
        _ => false,
    }
}

/// The level of the heading that a line is, if it is one.
fn heading(line: &[u8]) -> Option<u8> {
    let level = (1..=6).zip(line).take_while(|(_, byte)| **byte == b'#').last()?.0;
    matches!(line.get(usize::from(level)), None | Some(b' ' | b'\t' | b'\r' | b'\n')).then_some(level)
}

/// The character of the fence that a line begins with, and how often it stands there.
fn fence(line: &[u8]) -> Option<(u8, usize)> {
    let byte = *line.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let len = line.iter().take_while(|b| **b == byte).count();
    (len >= 3 && !(byte == b'`' && line[len..].contains(&b'`'))).then_some((byte, len))
}

/// Whether an HTML block begins here that a blank line does not end.
fn holds_blank_lines(line: &[u8]) -> bool {
    ["<pre", "<script", "<style", "<textarea"]
        .iter()
        .any(|tag| line.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag.as_bytes())))
}

/// Whether a line is certainly text, at the start of a paragraph and inside one.
fn is_in_paragraph(line: &[u8]) -> bool {
    let emphasised = |rest: &[u8]| rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'`');
    match line {
        [b'a'..=b'z' | b'A'..=b'Z' | b'(' | b'"' | b'\'' | 0x80.., ..] => true,
        [b'`', ..] => fence(line).is_none(),
        [b'*', b'*', rest @ ..] | [b'_', b'_', rest @ ..] | [b'*' | b'_', rest @ ..] => emphasised(rest),
        [b'0'..=b'9', ..] => {
            let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
            !matches!(line.get(digits), Some(b'.' | b')'))
        }
        _ => false,
    }
}

/// Whether a line that is not indented certainly begins an item of a list: `- | -` may be the second row of a table.
fn is_item(line: &[u8]) -> bool {
    matches!(line, [b'-' | b'*' | b'+', b' ', text @ ..] if is_in_paragraph(text))
}

/// Length of the inline code that a text begins with.
fn code_span(text: &[u8]) -> Option<usize> {
    let run = |from: usize| text[from..].iter().take_while(|byte| **byte == b'`').count();
    let ticks = run(0);
    let mut at = ticks;
    loop {
        at += memchr(b'`', &text[at..])?;
        let closing = run(at);
        at += closing;
        if closing == ticks {
            return Some(at);
        }
    }
}

/// The text of the link that a text begins with, and the link's length.
fn link(link: &[u8]) -> Option<(Range<usize>, usize)> {
    let close = memchr(b']', link)?;
    let text = &link[1..close];
    let simple = match text {
        [b'`', code @ .., b'`'] => {
            let ends = [code.first(), code.last()].map(|end| end.is_some_and(u8::is_ascii_graphic));
            ends == [true, true] && !code.iter().any(|byte| matches!(byte, b'`' | b'[' | b'\n' | b'\r'))
        }
        [b'^', ..] | [] => false,
        _ => text.split(|byte| *byte == b'\n').all(|line| {
            let trimmed = !line.is_empty() && line.trim_ascii().len() == line.len();
            trimmed && is_text(line)
        }),
    };
    let target = link[close + 1..].strip_prefix(b"(").filter(|_| simple)?;
    let len = target.iter().position(|byte| !IN_TARGET[usize::from(*byte)]).filter(|len| *len > 0)?;
    (target[len] == b')').then_some((1..close, close + 1 + 1 + len + 1))
}

/// Whether a parser would find nothing but text in this line.
fn is_text(line: &[u8]) -> bool {
    let inside_word = |at: usize| {
        let word = |at: Option<usize>| at.and_then(|at| line.get(at)).is_some_and(u8::is_ascii_alphanumeric);
        line[at] == b'_' && word(at.checked_sub(1)) && word(Some(at + 1))
    };
    (0..line.len()).all(|at| IS_TEXT[usize::from(line[at])] || inside_word(at))
}

/// What begins something that is not text.
const BEGINS: [bool; 256] = set(b"[<$#`", false);

/// What is text, whatever stands around it.
const IS_TEXT: [bool; 256] = set(b" -.,:;()/'\"+=%@?^!", true);

/// What may be in the target of a link that is written as it is.
const IN_TARGET: [bool; 256] = set(b"-._~/:?#=%+@!,;'", true);

/// Some bytes of ASCII, with or without letters, digits and all that are not ASCII.
const fn set(bytes: &[u8], words: bool) -> [bool; 256] {
    let mut set = [words; 256];
    let mut byte: u8 = 0;
    while byte.is_ascii() {
        set[byte as usize] = words && byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < bytes.len() {
        set[bytes[at] as usize] = true;
        at += 1;
    }
    set
}
