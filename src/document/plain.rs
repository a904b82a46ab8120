//! Markdown that can be read without a parser, which is most of it: fenced code, headings and paragraphs
//! in which no character can begin a link, a tag or a formula.
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

use super::{BlockKind, Positions};

/// Stands for a run of plain blocks. It interrupts whatever can be interrupted, and nothing continues it.
const MARK: &str = "#\n";

/// Runs of fewer bytes are left to the parser, which is about as fast with them as with a mark.
const MIN_RUN: usize = 64;

/// A text without its plain blocks.
pub(super) struct Abridged<'t> {
    /// What the parser reads.
    pub(super) text: Cow<'t, str>,
    /// In order.
    pub(super) runs: Vec<Run>,
    /// The blocks of all runs, in order. Each begins at the start of a line and contains no other.
    pub(super) blocks: Vec<(BlockKind, Range<usize>)>,
}

impl<'t> Abridged<'t> {
    /// A text of which nothing is taken out.
    pub(super) fn whole(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), runs: Vec::new(), blocks: Vec::new() }
    }
}

/// Plain blocks that follow each other.
pub(super) struct Run {
    /// Where its mark is in the abridged text.
    pub(super) mark: Range<usize>,
    /// Its blocks.
    pub(super) blocks: Range<usize>,
    /// Where the original goes on behind it.
    pub(super) end: usize,
}

/// Takes the plain blocks out of `text[body]`; nothing if there are none.
pub(super) fn abridge(text: &str, body: &Range<usize>, positions: &Positions) -> Option<Abridged<'static>> {
    let bytes = text.as_bytes();
    // A carriage return alone ends a line for the parser, and none for us.
    if memchr_iter(b'\r', &bytes[body.clone()]).any(|at| bytes.get(body.start + at + 1) != Some(&b'\n')) {
        return None;
    }
    let mut lines = Lines { text: &bytes[..body.end], feeds: positions.feeds_from(body.start), at: body.start };
    let (mut runs, mut blocks) = (Vec::new(), Vec::new());
    let mut abridged = String::new();
    let mut kept = body.start;
    while lines.at < body.end {
        let (start, first) = (lines.at, blocks.len());
        while let Some(block) = lines.plain_block() {
            blocks.push(block);
            lines.skip_blank();
        }
        if lines.at - start < MIN_RUN {
            blocks.truncate(first);
        } else {
            abridged.push_str(&text[kept..start]);
            let mark = abridged.len()..abridged.len() + MARK.len();
            abridged.push_str(MARK);
            kept = lines.at;
            runs.push(Run { mark, blocks: first..blocks.len(), end: kept });
        }
        lines.skip_others();
    }
    if runs.is_empty() {
        return None;
    }
    abridged.push_str(&text[kept..body.end]);
    Some(Abridged { text: Cow::Owned(abridged), runs, blocks })
}

/// The lines of a text that are not read yet.
struct Lines<'t> {
    text: &'t [u8],
    /// The line feeds from `at` on.
    feeds: &'t [u32],
    /// The start of a line.
    at: usize,
}

impl<'t> Lines<'t> {
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
    fn plain_block(&mut self) -> Option<(BlockKind, Range<usize>)> {
        let (at, feeds) = (self.at, self.feeds);
        let block = match self.text.get(at)? {
            b'#' => self.heading(),
            b'`' | b'~' if fence(self.line()).is_some() => self.fenced(),
            _ => self.paragraph(),
        };
        if block.is_none() {
            (self.at, self.feeds) = (at, feeds);
        }
        block
    }

    fn heading(&mut self) -> Option<(BlockKind, Range<usize>)> {
        let line = self.line();
        let level = heading(line)?;
        let title = line[usize::from(level)..].strip_prefix(b" ")?.trim_ascii_end();
        let inside_word = |at: usize| {
            let word = |at: Option<usize>| at.and_then(|at| title.get(at)).is_some_and(u8::is_ascii_alphanumeric);
            title[at] == b'_' && word(at.checked_sub(1)) && word(Some(at + 1))
        };
        let plain = |at: usize| IN_HEADING[usize::from(title[at])] || inside_word(at);
        if matches!(title.first(), None | Some(b' ')) || !(0..title.len()).all(plain) {
            return None;
        }
        let start = self.at;
        self.next();
        Some((BlockKind::Heading(level), start..self.at))
    }

    fn fenced(&mut self) -> Option<(BlockKind, Range<usize>)> {
        let start = self.at;
        let end = self.close_fence()?;
        Some((BlockKind::Code, start..end))
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

    fn paragraph(&mut self) -> Option<(BlockKind, Range<usize>)> {
        let start = self.at;
        while self.at < self.text.len() {
            let line = self.line();
            if !is_in_paragraph(line) {
                let ends = is_blank(line) || heading(line).is_some() || fence(line).is_some();
                if !ends || self.at == start {
                    return None;
                }
                break;
            }
            self.next();
        }
        let paragraph = &self.text[start..self.at];
        let marked = memchr3(b'[', b'<', b'$', paragraph).or_else(|| memchr(b'#', paragraph));
        marked.is_none().then_some((BlockKind::Paragraph, start..self.at))
    }

    /// Goes behind what is not plain: to where a blank line ends it, as far as this can be told.
    fn skip_others(&mut self) {
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

/// What is text in a heading, whatever stands around it.
const IN_HEADING: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = byte >= 0x80 || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b" -.,:;()/'\"+=%@?^!";
    let mut at = 0;
    while at < others.len() {
        plain[others[at] as usize] = true;
        at += 1;
    }
    plain
};
