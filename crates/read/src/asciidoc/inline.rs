//! Marks inside of text. A mark is recognized before anything is written, so an escape knows whether it escapes one.

use std::ops::Range;

use chunkmill_text::document::Inline;

use super::Reader;
use super::attributes::reference;
use super::lines::{Line, Text};
use super::links::{angle, named};
use super::piece::{Found, Missing, Piece, Style};

/// Deepest nesting of marks that is read.
const MAX_MARKS: usize = 16;

/// Longest text between marks of which the first is escaped, in bytes.
const MAX_ESCAPED: usize = 300;

/// Characters that may begin something else than text.
const STARTS: &[u8] = b"\\*_`#^~+[<{(\"' -=.";

/// Signs that are typed with several characters.
const SIGNS: &[(&str, &str)] = &[
    ("(C)", "©"),
    ("(R)", "®"),
    ("(TM)", "™"),
    ("...", "…"),
    ("->", "→"),
    ("=>", "⇒"),
    ("<-", "←"),
    ("<=", "⇐"),
    ("--", "—"),
];

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Reader<'_> {
    /// Returns the text of lines.
    pub(super) fn inline(&mut self, lines: &[Line]) -> Inline {
        let text = Text::of(self.text, lines);
        let mut out = Inline::new();
        self.write_inline(&text, 0..text.joined.len(), &mut out, 0);
        out
    }

    /// Writes a part of a text.
    pub(super) fn write_inline(&mut self, text: &Text<'_>, range: Range<usize>, out: &mut Inline, depth: usize) {
        if depth >= MAX_MARKS {
            return text.push(out, range);
        }
        let all = &text.joined;
        let mut missing = Missing::default();
        // The start of the text that is not written yet, and the current byte.
        let (mut start, mut at) = (range.start, range.start);
        while at < range.end {
            let byte = all.as_bytes()[at];
            let is_name = byte.is_ascii_alphabetic() && !all[range.start..at].ends_with(is_word);
            if !is_name && !STARTS.contains(&byte) {
                at += all[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            if byte == b'\\' {
                let escaped = at + 1;
                // Escaped text is not read, so its end may be searched again: not far.
                let near = range.start..all.floor_char_boundary(escaped + MAX_ESCAPED).min(range.end);
                if let Some((_, piece)) = self.piece(text, escaped, &near, &mut Missing::default()) {
                    text.push(out, start..at);
                    self.markup("\\");
                    let run = mark_len(&all[escaped..range.end], &piece);
                    (start, at) = (escaped, escaped + run);
                } else if reference(&all[escaped..range.end]).is_some() {
                    text.push(out, start..at);
                    self.markup("\\");
                    (start, at) = (escaped, escaped + 1);
                } else {
                    at += 1;
                }
                continue;
            }
            let Some((end, piece)) = self.piece(text, at, &range, &mut missing) else {
                at += 1;
                continue;
            };
            text.push(out, start..at);
            self.write_piece(text, at..end, piece, out, depth);
            (start, at) = (end, end);
        }
        text.push(out, start..range.end);
    }

    /// Returns what begins at a byte.
    fn piece(&self, text: &Text<'_>, at: usize, range: &Range<usize>, missing: &mut Missing) -> Found {
        let all = text.joined.get(at..range.end)?;
        let before = text.joined[range.start..at].chars().next_back();
        match *all.as_bytes().first()? {
            mark @ (b'*' | b'_' | b'`' | b'#' | b'+') => marked(text, at, range, mark, missing),
            b'^' => tight(&text.joined, at, range, "^", Style::Super),
            b'~' => tight(&text.joined, at, range, "~", Style::Plain),
            b'"' => curly(text, at, range, ("\"`", "`\""), Style::Quotes("\u{201c}", "\u{201d}"), missing),
            b'\'' => curly(text, at, range, ("'`", "`'"), Style::Quotes("\u{2018}", "\u{2019}"), missing),
            b'{' => reference(all).filter(|name| self.value(name).is_some()).map(|name| {
                let end = at + name.len() + 2;
                self.url_of_value(text, at, range).unwrap_or((end, Piece::Value(name.to_owned())))
            }),
            b' ' => {
                let ends = all.starts_with(" +") && (all.len() == 2 || all[2..].starts_with('\n'));
                ends.then_some((at + 2, Piece::Nothing))
            }
            b'(' => index_term(text, at, range, missing).or_else(|| self.sign(all, at, before)),
            b'[' => bracket(text, at, range, missing),
            b'<' => angle(text, at, range, missing).or_else(|| self.sign(all, at, before)),
            b'-' | b'=' | b'.' => self.sign(all, at, before),
            _ if before.is_some_and(is_word) => None,
            _ => named(text, at, range),
        }
    }

    /// Returns the sign that is typed here. Code has none.
    fn sign(&self, rest: &str, at: usize, before: Option<char>) -> Found {
        let (typed, shown) = SIGNS.iter().find(|(typed, _)| rest.starts_with(*typed)).filter(|_| self.in_code == 0)?;
        let behind = rest[typed.len()..].chars().next();
        let is = |c: Option<char>, test: fn(char) -> bool| c.is_some_and(test);
        let is_end = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '\n'));
        let is_sign = match *typed {
            // Between words or alone: more are a line, and one word may begin with them.
            "--" => is(before, is_word) && is(behind, is_word) || is_end(before) && is_end(behind),
            "..." => before != Some('.') && behind != Some('.'),
            "->" | "=>" => !is(before, |c| matches!(c, '-' | '=' | '<')),
            "<-" | "<=" => !is(behind, |c| matches!(c, '-' | '=' | '>')),
            _ => true,
        };
        is_sign.then_some((at + typed.len(), Piece::Sign(shown)))
    }

    fn write_piece(&mut self, text: &Text<'_>, all: Range<usize>, piece: Piece, out: &mut Inline, depth: usize) {
        let whole = &text.joined;
        match piece {
            Piece::Nothing => self.markup(&whole[all]),
            Piece::Sign(shown) => out.replaced(shown, text.place(all)),
            Piece::Styled(style, inside) => {
                self.markup(&whole[all.start..inside.start]);
                self.styled(text, style, inside.clone(), out, depth);
                self.markup(&whole[inside.end..all.end]);
            }
            Piece::Value(name) => self.attribute_value(text, all, &name, out),
            Piece::Anchor(name, shown) => {
                out.anchor(&name);
                self.markup(&whole[all.start..shown.start]);
                text.push(out, shown.clone());
                self.markup(&whole[shown.end..all.end]);
            }
            Piece::Macro(found) => self.write_macro(text, all, &found, out, depth),
        }
    }

    fn styled(&mut self, text: &Text<'_>, style: Style, inside: Range<usize>, out: &mut Inline, depth: usize) {
        let mark = match style {
            Style::Strong if self.in_code == 0 => "**",
            Style::Emphasis if self.in_code == 0 => "*",
            Style::Literal => return text.push(out, inside),
            Style::Code if self.in_code == 0 => {
                let mut code = Inline::new();
                self.in_code += 1;
                self.write_inline(text, inside, &mut code, depth + 1);
                self.in_code -= 1;
                return out.code(&code);
            }
            Style::Quotes(open, close) => {
                out.write(open);
                self.write_inline(text, inside, out, depth + 1);
                return out.write(close);
            }
            Style::Super => {
                let start = out.as_str().len();
                self.write_inline(text, inside, out, depth + 1);
                out.raise(start);
                return;
            }
            _ => return self.write_inline(text, inside, out, depth + 1),
        };
        let start = out.start_mark(mark);
        self.write_inline(text, inside, out, depth + 1);
        out.end_mark(mark, start);
    }

    /// Writes the value of an attribute in place of its reference.
    fn attribute_value(&mut self, text: &Text<'_>, all: Range<usize>, name: &str, out: &mut Inline) {
        let value = self.value(name).unwrap_or_default();
        if value.len() > self.room {
            return text.push(out, all);
        }
        self.room -= value.len();
        let shown = value.trim();
        if shown.is_empty() {
            self.markup(&text.joined[all]);
            if !value.is_empty() && !out.as_str().ends_with([' ', '\n']) {
                out.write(" ");
            }
            return;
        }
        out.replaced(shown, text.place(all));
    }
}

/// Returns text between two marks without white space in it.
fn tight(all: &str, at: usize, range: &Range<usize>, mark: &'static str, style: Style) -> Found {
    let inside = &all[at + 1..range.end];
    let len = inside.find(|c: char| c.is_whitespace() || mark.starts_with(c))?;
    (len > 0 && inside[len..].starts_with(mark)).then(|| (at + len + 2, Piece::Styled(style, at + 1..at + 1 + len)))
}

/// Returns what a square bracket begins: an anchor, or the style of the mark behind it.
fn bracket(text: &Text<'_>, at: usize, range: &Range<usize>, missing: &mut Missing) -> Found {
    let all = &text.joined;
    let close = text.closing(at, range.end)?;
    let inside = &all[at + 1..close];
    if let Some(name) = inside.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        if let Some(entry) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name = entry.split(',').next().unwrap_or_default();
            return Some((close + 1, Piece::Anchor(name.to_owned(), at + 2..close - 1)));
        }
        let name = name.split(',').next().unwrap_or_default();
        let is_name =
            name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == ':') && !name.contains([' ', '[']);
        return is_name.then(|| (close + 1, Piece::Anchor(name.to_owned(), at..at)));
    }
    let is_role = |c: char| c.is_alphanumeric() || matches!(c, '.' | '#' | '-' | '_' | '%' | ' ');
    if inside.is_empty() || !inside.chars().all(is_role) {
        return None;
    }
    let mark = *all.as_bytes()[..range.end].get(close + 1).filter(|byte| b"#*_`".contains(byte))?;
    // The bracket is no part of the word before.
    let inner = close + 1..range.end;
    marked(text, close + 1, &inner, mark, missing)
}

/// Returns how many bytes of an escaped piece are text.
fn mark_len(text: &str, piece: &Piece) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    match piece {
        Piece::Styled(..) => {
            let mark = text.as_bytes().first().copied().unwrap_or_default();
            text.bytes().take_while(|byte| *byte == mark).count()
        }
        Piece::Macro(found) => found.name_len.max(first),
        Piece::Sign(_) => 2,
        _ => first,
    }
}

/// Returns text between two marks of one or two characters.
fn marked(text: &Text<'_>, at: usize, range: &Range<usize>, mark: u8, missing: &mut Missing) -> Found {
    let all = &*text.joined;
    let (style, one, two) = match mark {
        b'*' => (Style::Strong, "*", "**"),
        b'_' => (Style::Emphasis, "_", "__"),
        b'`' => (Style::Code, "`", "``"),
        b'+' => (Style::Literal, "+", "++"),
        _ => (Style::Plain, "#", "##"),
    };
    let rest = &all[at..range.end];
    if mark == b'+'
        && let Some(end) = text.pass(at).filter(|end| *end <= range.end)
    {
        let len = if rest.starts_with("+++") { 3 } else { 2 };
        return Some((end, Piece::Styled(style, at + len..end - len)));
    }
    if mark != b'+' && rest.starts_with(two) {
        let found = missing.find(two, || find_mark(text, at + 3..range.end, two));
        if let Some(close) = found.filter(|close| !all[at + 2..*close].starts_with('\n')) {
            // A longer run closes at its end.
            let more = all[close + 2..range.end].starts_with(one) && !all[close + 3..range.end].starts_with(one);
            let close = close + usize::from(more);
            return Some((close + 2, Piece::Styled(style, at + 2..close)));
        }
    }
    let before = all[range.start..at].chars().next_back();
    if before.is_some_and(|c| is_word(c) || matches!(c, ';' | '}')) || rest[1..].starts_with(char::is_whitespace) {
        return None;
    }
    let close = missing.find(one, || {
        let closes = |close: &usize| {
            let behind = all[close + 1..range.end].chars().next();
            text.counts(*close) && !all[..*close].ends_with([' ', '\n', '\t', '\\']) && !behind.is_some_and(is_word)
        };
        let from = all.ceil_char_boundary(at + 2);
        all.get(from..range.end).and_then(|rest| rest.match_indices(one).map(|(close, _)| from + close).find(closes))
    });
    let close = close.filter(|close| *close > at + 1)?;
    Some((close + 1, Piece::Styled(style, at + 1..close)))
}

/// Returns where a mark is in a part of a text.
fn find_mark(text: &Text<'_>, range: Range<usize>, mark: &str) -> Option<usize> {
    if range.start > range.end {
        return None;
    }
    let from = text.joined.ceil_char_boundary(range.start);
    let rest = text.joined.get(from..range.end)?;
    rest.match_indices(mark).map(|(at, _)| from + at).find(|at| text.counts(*at))
}

/// Returns text between the quotes of a book.
fn curly(
    text: &Text<'_>,
    at: usize,
    range: &Range<usize>,
    (open, close): (&'static str, &'static str),
    style: Style,
    missing: &mut Missing,
) -> Found {
    let inside = text.joined[at..range.end].strip_prefix(open)?;
    if inside.starts_with(char::is_whitespace) {
        return None;
    }
    let end = missing.find(close, || find_mark(text, at + open.len() + 1..range.end, close))?;
    Some((end + close.len(), Piece::Styled(style, at + open.len()..end)))
}

/// Returns a term of the index: `((shown))` or `(((not, shown)))`.
fn index_term(text: &Text<'_>, at: usize, range: &Range<usize>, missing: &mut Missing) -> Found {
    let rest = &text.joined[at..range.end];
    if rest.starts_with("(((") {
        let close = missing.find(")))", || find_mark(text, at + 3..range.end, ")))"))?;
        return (close > at + 3).then_some((close + 3, Piece::Nothing));
    }
    if !rest.starts_with("((") {
        return None;
    }
    let close = missing.find("))", || find_mark(text, at + 2..range.end, "))"))?;
    (close > at + 2).then(|| (close + 2, Piece::Styled(Style::Plain, at + 2..close)))
}
