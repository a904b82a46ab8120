//! The texts of a page, as pieces that stand for bytes of the file.

use std::ops::Range;

/// White space as HTML has it.
pub(super) const WHITE: [char; 5] = [' ', '\t', '\n', '\r', '\u{c}'];

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// These bytes of the source.
    Same(Range<usize>),
    /// Characters that stand for these bytes of the source, such as a character reference.
    Other(Box<str>, Range<usize>),
}

/// The texts of a page by their numbers.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pieces: Vec<Piece>,
    /// The pieces of each text.
    texts: Vec<Range<usize>>,
}

impl Texts {
    /// Adds a text, and returns its number.
    pub(super) fn add(&mut self, pieces: impl IntoIterator<Item = Piece>) -> usize {
        let start = self.pieces.len();
        self.pieces.extend(pieces);
        self.texts.push(start..self.pieces.len());
        self.texts.len() - 1
    }

    /// Returns the pieces of a text.
    pub(super) fn get(&self, text: usize) -> &[Piece] {
        self.texts.get(text).and_then(|pieces| self.pieces.get(pieces.clone())).unwrap_or_default()
    }
}

/// Text that is being read: each part of it is found in the source again.
///
/// The tokenizer tells where it stands, which is exact where a character reference ends, and a byte off in some states. So
/// the source decides: what is there as it was read stands for itself.
#[derive(Debug)]
pub(super) struct Run<'t> {
    source: &'t str,
    /// Where the next part is in the source.
    at: usize,
    pieces: Vec<Piece>,
}

impl<'t> Run<'t> {
    pub(super) fn new(source: &'t str) -> Self {
        Self { source, at: 0, pieces: Vec::new() }
    }

    /// Says where the next part begins.
    pub(super) fn seek(&mut self, at: usize) {
        self.at = at.min(self.source.len());
    }

    /// Returns whether there is no text.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes the pieces so far. Those that are not characters, after a mistake in counting, are left out.
    pub(super) fn take(&mut self) -> Vec<Piece> {
        let mut pieces = std::mem::take(&mut self.pieces);
        let source = self.source;
        pieces.retain(|piece| {
            let (Piece::Same(range) | Piece::Other(_, range)) = piece;
            source.get(range.clone()).is_some()
        });
        pieces
    }

    /// Adds a part, after which the tokenizer stands at a byte of the source.
    pub(super) fn push(&mut self, part: &[u8], position: usize) {
        let bytes = self.source.as_bytes();
        if part.is_empty() {
            return;
        }
        // The end of a line is one character, if it is one or two bytes.
        if self.at > 0 && bytes.get(self.at) == Some(&b'\n') && bytes[self.at - 1] == b'\r' {
            self.at += 1;
        }
        let rest = &bytes[self.at..];
        let is_reference = rest.first() == Some(&b'&') && position > self.at + part.len();
        if rest.starts_with(part) && !is_reference {
            let range = self.at..self.at + part.len();
            self.at = range.end;
            match self.pieces.last_mut() {
                Some(Piece::Same(last)) if last.end == range.start => last.end = range.end,
                _ => self.pieces.push(Piece::Same(range)),
            }
            return;
        }
        let end = match rest.first() {
            Some(b'\r' | 0) => self.at + 1,
            _ => position.clamp(self.at, bytes.len()),
        };
        self.pieces.push(Piece::Other(String::from_utf8_lossy(part).into(), self.at..end));
        self.at = end;
    }

    /// Passes over a byte of the source.
    pub(super) fn pass(&mut self) {
        self.at = (self.at + 1).min(self.source.len());
    }
}

/// Splits pieces into the white space at their start and the rest.
pub(super) fn split_white(source: &str, pieces: Vec<Piece>) -> (Vec<Piece>, Vec<Piece>) {
    let (mut white, mut rest) = (Vec::new(), Vec::new());
    for piece in pieces {
        if !rest.is_empty() {
            rest.push(piece);
            continue;
        }
        match piece {
            Piece::Same(range) => {
                let text = &source[range.clone()];
                let word = range.start + text.len() - text.trim_start_matches(WHITE).len();
                if word > range.start {
                    white.push(Piece::Same(range.start..word));
                }
                if word < range.end {
                    rest.push(Piece::Same(word..range.end));
                }
            }
            Piece::Other(text, range) if text.trim_start_matches(WHITE).is_empty() => {
                white.push(Piece::Other(text, range));
            }
            other @ Piece::Other(..) => rest.push(other),
        }
    }
    (white, rest)
}

/// Writes the number of a text as white space. The tree builder takes a line end at the start away if it is not to be shown.
pub(super) fn white_code(number: usize, starts_line: bool) -> String {
    let mut code = String::from(if starts_line { "\n\t" } else { " " });
    let digits = usize::BITS - number.leading_zeros();
    code.extend((0..digits).rev().map(|bit| if number >> bit & 1 == 1 { '\t' } else { ' ' }));
    code
}

/// Reads what [`white_code`] wrote: the number of a text, and whether its first line end is not shown.
pub(super) fn number_of(code: &str) -> Option<(usize, bool)> {
    if let Some(number) = code.strip_prefix('x') {
        return Some((number.parse().ok()?, false));
    }
    let kept = code.strip_prefix('\n');
    let mut chars = kept.unwrap_or(code).chars();
    let starts_line = match chars.next()? {
        '\t' => true,
        ' ' => false,
        _ => return None,
    };
    let number = chars.fold(0, |number, bit| number << 1 | usize::from(bit == '\t'));
    Some((number, starts_line && kept.is_none()))
}
