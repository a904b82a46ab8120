//! JSON, read by our own scanner: no available parser returns byte ranges, accepts comments and trailing commas,
//! and has no limit on nesting. The scanner keeps one byte for each open bracket.

use std::ops::Range;

use super::tree::Tree;
use crate::document::block::BlockKind;

/// The token that may come next inside the innermost bracket.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    /// A key or `}`.
    Key,
    /// `:`.
    Colon,
    /// The value of a key.
    Value,
    /// An element or `]`; at the top level, any value or the end.
    Element,
    /// `,` or the closing bracket.
    Comma,
}

/// Returns the entries of `text[body]`, or `None` if the syntax is broken.
pub(super) fn read(text: &str, body: Range<usize>, room: u64) -> Option<Tree<'_>> {
    let mut scanner = Scanner::new(text, &body, false, room);
    while scanner.space()? {
        if scanner.tree.is_over() {
            return Some(scanner.tree);
        }
        if scanner.whole && !scanner.lines {
            // A second value: each value is an entry, as in JSON lines.
            scanner = Scanner::new(text, &body, true, room);
            continue;
        }
        scanner.step()?;
    }
    (scanner.open.is_empty()).then(|| if scanner.prose { Tree::new(text, &body, room) } else { scanner.tree })
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    end: usize,
    tree: Tree<'t>,
    open: Vec<u8>,
    expect: Expect,
    /// Whether every value at the top level is an entry.
    lines: bool,
    /// Whether no object or array has been seen.
    prose: bool,
    /// Whether a value at the top level is complete.
    whole: bool,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, body: &Range<usize>, lines: bool, room: u64) -> Self {
        Self {
            text,
            at: body.start,
            end: body.end,
            tree: Tree::new(text, body, room),
            open: Vec::new(),
            expect: Expect::Element,
            lines,
            prose: true,
            whole: false,
        }
    }

    /// Skips white space and comments. Returns whether anything is left, or `None` if a comment is not closed.
    fn space(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        while self.at < self.end {
            match bytes[self.at] {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'/' if bytes.get(self.at + 1) == Some(&b'/') => {
                    let line = &bytes[self.at..self.end];
                    self.at += memchr::memchr2(b'\n', b'\r', line).unwrap_or(line.len());
                }
                b'/' if bytes.get(self.at + 1) == Some(&b'*') => {
                    let inside = self.at + 2;
                    self.at = inside + memchr::memmem::find(&bytes[inside..self.end], b"*/")? + 2;
                }
                _ => return Some(true),
            }
        }
        Some(false)
    }

    /// Skips a string. Returns its range without the quotes.
    fn string(&mut self) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        loop {
            let rest = bytes.get(at..self.end)?;
            let found = memchr::memchr3(b'"', b'\\', b'\n', rest)?;
            if memchr::memchr(b'\r', &rest[..found]).is_some() {
                return None;
            }
            at += found;
            match bytes[at] {
                b'"' => break,
                b'\\' => at += 2,
                _ => return None,
            }
        }
        self.at = at + 1;
        Some(start..at)
    }

    /// Reads one token.
    fn step(&mut self) -> Option<()> {
        let start = self.at;
        let byte = self.text.as_bytes()[start];
        match byte {
            b'}' | b']' => {
                let fits = match self.expect {
                    Expect::Comma => true,
                    Expect::Key => byte == b'}',
                    Expect::Element => byte == b']',
                    _ => false,
                };
                (fits && self.open.pop()? == byte).then_some(())?;
                self.at += 1;
                self.tree.token(self.at);
                self.value_ends();
            }
            b',' => {
                (self.expect == Expect::Comma).then_some(())?;
                self.at += 1;
                // A comma at the start of a line belongs to what follows.
                if !self.text[self.tree.cursor..start].contains(['\n', '\r']) {
                    self.tree.token(self.at);
                }
                self.expect = if self.open.last()? == &b'}' { Expect::Key } else { Expect::Element };
            }
            b':' => {
                (self.expect == Expect::Colon).then_some(())?;
                self.at += 1;
                self.tree.token(self.at);
                self.expect = Expect::Value;
            }
            _ if self.expect == Expect::Key => {
                (byte == b'"').then_some(())?;
                let inside = self.string()?;
                self.tree.enter(start, BlockKind::Entry);
                self.tree.token(self.at);
                if self.tree.open.len() == 1 {
                    let quoted = &self.text[start..self.at];
                    let key = serde_json::from_str::<String>(quoted);
                    self.tree.name(&key.unwrap_or_else(|_| self.text[inside].to_owned()));
                }
                self.expect = Expect::Colon;
            }
            _ => {
                matches!(self.expect, Expect::Value | Expect::Element).then_some(())?;
                if self.expect == Expect::Element && (self.lines || !self.open.is_empty()) {
                    self.tree.enter(start, BlockKind::Entry);
                }
                self.value(byte)?;
            }
        }
        Some(())
    }

    fn value(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'{' | b'[' => {
                self.prose = false;
                self.open.push(if byte == b'{' { b'}' } else { b']' });
                self.at += 1;
                // The outermost bracket belongs to the first entry.
                if !self.tree.open.is_empty() {
                    self.tree.token(self.at);
                }
                self.expect = if byte == b'{' { Expect::Key } else { Expect::Element };
                return Some(());
            }
            b'"' => {
                self.string()?;
            }
            _ => {
                let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
                let length = self.text.as_bytes()[self.at..self.end].iter().take_while(|byte| word(byte)).count();
                (length > 0).then_some(())?;
                self.at += length;
            }
        }
        self.tree.token(self.at);
        self.value_ends();
        Some(())
    }

    /// Ends a value that is complete, and the entry that is open for it.
    fn value_ends(&mut self) {
        if self.open.is_empty() {
            if self.lines {
                self.tree.leave();
            }
            self.whole = true;
            self.expect = Expect::Element;
        } else {
            self.tree.leave();
            self.expect = Expect::Comma;
        }
    }
}
