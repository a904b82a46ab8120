//! Turns source text into tokens. It reads just enough of each language to tell strings, comments and brackets
//! apart from the rest, so a brace in a string does not count. It is linear, does not recurse, and accepts any
//! bytes. A string that is never closed ends with its line or, if the language allows strings of several lines,
//! with the text. In JavaScript it is not a string, because the quote may be an apostrophe in JSX.

use std::ops::Range;

use crate::document::format::Language;

/// Maximum length of a regular expression. Without a limit, each `/` in a long line could search all of it.
const MAX_REGEX: usize = 500;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, a keyword or a number.
    Word,
    /// A string, character, template or regular expression.
    Text,
    /// A comment.
    Comment,
    /// A line of the C preprocessor.
    Directive,
    /// An opening bracket.
    Open(u8),
    /// A closing bracket.
    Close(u8),
    /// Any other character.
    Mark(u8),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is the first token on its line.
    pub(super) first: bool,
}

impl Token {
    pub(super) fn is(&self, mark: u8) -> bool {
        self.kind == TokenKind::Mark(mark)
    }
}

pub(super) struct Lexer<'t> {
    bytes: &'t [u8],
    language: Language,
    at: usize,
    end: usize,
    first: bool,
    /// Whether a `/` here would start a regular expression.
    operand: bool,
    /// For `'` and `"`, the end of the line up to which no quote of that kind closes a string.
    unclosed: [usize; 2],
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, body: Range<usize>, language: Language) -> Self {
        Self {
            bytes: &text.as_bytes()[..body.end],
            language,
            at: body.start,
            end: body.end,
            first: true,
            operand: true,
            unclosed: [0; 2],
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn starts(&self, text: &str) -> bool {
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    /// Returns where the line that contains `from` ends, without its end.
    fn line_end(&self, from: usize) -> usize {
        let rest = &self.bytes[from.min(self.end)..];
        memchr::memchr2(b'\n', b'\r', rest).map_or(self.end, |at| from + at)
    }

    /// Returns the start of the line after the one whose text ends at `end`.
    fn next_line(&self, end: usize) -> usize {
        end + if self.bytes[end..].starts_with(b"\r\n") { 2 } else { 1 }
    }

    /// Returns the offset after the next `needle`, or the end of the text.
    fn behind(&self, from: usize, needle: &str) -> usize {
        let rest = &self.bytes[from.min(self.end)..];
        memchr::memmem::find(rest, needle.as_bytes()).map_or(self.end, |at| from + at + needle.len())
    }

    fn is_script(&self) -> bool {
        matches!(self.language, Language::JavaScript | Language::TypeScript)
    }

    fn read(&mut self) -> (TokenKind, usize) {
        let byte = self.peek(0);
        let c_like = self.language != Language::Python;
        if c_like && self.starts("//") {
            return (TokenKind::Comment, self.comment_line());
        }
        if c_like && self.starts("/*") {
            return (TokenKind::Comment, self.comment_block());
        }
        match byte {
            b'#' if self.language == Language::Python => (TokenKind::Comment, self.line_end(self.at)),
            b'#' if self.first && matches!(self.language, Language::C | Language::Cpp) => {
                (TokenKind::Directive, self.directive())
            }
            b'"' | b'\'' if self.is_script() => self.script_string(byte),
            b'"' | b'\'' | b'`' => self.quote(byte),
            b'/' if self.operand && self.is_script() => {
                self.regex().map_or((TokenKind::Mark(b'/'), self.at + 1), |end| (TokenKind::Text, end))
            }
            b'(' | b'[' | b'{' => (TokenKind::Open(byte), self.at + 1),
            b')' | b']' | b'}' => (TokenKind::Close(byte), self.at + 1),
            _ if is_word(byte) => self.word(),
            _ => (TokenKind::Mark(byte), self.at + 1),
        }
    }

    /// Returns the end of a line comment. In C, a backslash at the end of the line continues it on the next.
    fn comment_line(&self) -> usize {
        let mut end = self.line_end(self.at);
        while matches!(self.language, Language::C | Language::Cpp) && end < self.end && self.continued(end) {
            end = self.line_end(self.next_line(end));
        }
        end
    }

    fn continued(&self, end: usize) -> bool {
        self.bytes[self.at..end].ends_with(b"\\")
    }

    fn directive(&self) -> usize {
        let mut end = self.line_end(self.at);
        while end < self.end && self.continued(end) {
            end = self.line_end(self.next_line(end));
        }
        // A block comment may continue past the line.
        let line = &self.bytes[self.at..end];
        let Some(open) = memchr::memmem::rfind(line, b"/*") else { return end };
        let closed = memchr::memmem::find(&line[open + 2..], b"*/").is_some();
        let in_comment = memchr::memmem::find(&line[..open], b"//").is_some();
        let in_string = memchr::memchr_iter(b'"', &line[..open]).count() % 2 == 1;
        if closed || in_comment || in_string { end } else { self.behind(self.at + open + 2, "*/") }
    }

    fn comment_block(&self) -> usize {
        if self.language != Language::Rust {
            return self.behind(self.at + 2, "*/");
        }
        // Block comments nest in Rust.
        let (mut at, mut depth) = (self.at + 2, 1_usize);
        while let Some(found) = memchr::memchr2(b'/', b'*', &self.bytes[at.min(self.end)..]) {
            at += found;
            match &self.bytes[at..self.end.min(at + 2)] {
                b"/*" => depth += 1,
                b"*/" => depth -= 1,
                _ => {
                    at += 1;
                    continue;
                }
            }
            at += 2;
            if depth == 0 {
                return at;
            }
        }
        self.end
    }

    fn quote(&self, byte: u8) -> (TokenKind, usize) {
        let triple = match byte {
            b'"' => "\"\"\"",
            _ => "'''",
        };
        match (self.language, byte) {
            (Language::Python, b'"' | b'\'') | (Language::Java, b'"') if self.starts(triple) => {
                (TokenKind::Text, self.long(triple))
            }
            (Language::Rust, b'"') => (TokenKind::Text, self.string(b'"', true)),
            (Language::Rust, b'\'') => self.lifetime(),
            (Language::Go, b'`') => (TokenKind::Text, self.behind(self.at + 1, "`")),
            (Language::JavaScript | Language::TypeScript, b'`') => (TokenKind::Text, self.template()),
            (_, b'`') => (TokenKind::Mark(byte), self.at + 1),
            _ => (TokenKind::Text, self.string(byte, false)),
        }
    }

    /// Returns the end of a string between two `quote`s. Unless `lines` is set, it ends with its line at the
    /// latest.
    fn string(&self, quote: u8, lines: bool) -> usize {
        let mut at = self.at + 1;
        while at < self.end {
            match self.bytes[at] {
                b'\\' => at += if self.bytes[at + 1..].starts_with(b"\r\n") { 3 } else { 2 },
                b'\n' | b'\r' if !lines => return at,
                byte if byte == quote => return at + 1,
                _ => at += 1,
            }
        }
        self.end
    }

    /// Reads a JavaScript string, unless the quote is an apostrophe or an inch sign in JSX text. Quotes that are
    /// never closed are examined once: `unclosed` records how far they were searched.
    fn script_string(&mut self, quote: u8) -> (TokenKind, usize) {
        let mark = (TokenKind::Mark(quote), self.at + 1);
        let unclosed = usize::from(quote == b'"');
        if self.at < self.unclosed[unclosed] || (quote == b'\'' && self.apostrophe()) {
            return mark;
        }
        let end = self.string(quote, false);
        let inside = &self.bytes[self.at + 1..end];
        let escapes = |text: &[u8]| text.iter().rev().take_while(|byte| **byte == b'\\').count();
        if let Some(text) = inside.strip_suffix(&[quote])
            && escapes(text) % 2 == 0
        {
            return (TokenKind::Text, end);
        }
        self.unclosed[unclosed] = end;
        mark
    }

    /// Returns whether the quote here is inside a word, as in `don't`.
    fn apostrophe(&self) -> bool {
        let before = &self.bytes[..self.at];
        // Code without spaces contains `from'a'` and `return'a'`.
        let keyword = self.operand || before.ends_with(b"from") || before.ends_with(b"import");
        !keyword && before.last().is_some_and(|byte| is_word(*byte)) && is_word(self.peek(1))
    }

    /// Returns the end of a string between two `quotes` of three characters.
    fn long(&self, quotes: &str) -> usize {
        let mut at = self.at + 3;
        while let Some(found) =
            memchr::memchr2(b'\\', quotes.as_bytes()[0], self.bytes.get(at..self.end).unwrap_or(&[]))
        {
            at += found;
            if self.bytes[at..self.end].starts_with(quotes.as_bytes()) {
                return at + 3;
            }
            at += if self.bytes[at] == b'\\' { 2 } else { 1 };
        }
        self.end
    }

    /// Reads a character or a lifetime.
    fn lifetime(&self) -> (TokenKind, usize) {
        if self.peek(1) == b'\\' {
            return (TokenKind::Text, self.string(b'\'', false));
        }
        let width = match self.peek(1) {
            0..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0.. => 4,
        };
        if self.peek(1 + width) == b'\'' && !matches!(self.peek(1), b'\n' | b'\r') {
            return (TokenKind::Text, self.at + width + 2);
        }
        let name = self.bytes[self.at + 1..self.end].iter().take_while(|byte| is_word(**byte)).count();
        (TokenKind::Word, self.at + 1 + name)
    }

    /// Returns the end of a template, whose expressions can contain strings and templates.
    fn template(&self) -> usize {
        // For each open expression, the number of braces open in it.
        let mut open: Vec<usize> = Vec::new();
        let mut inside = true;
        let mut at = self.at + 1;
        while at < self.end {
            match (inside, self.bytes[at]) {
                (_, b'\\') => at += 1,
                (true, b'`') => {
                    if open.is_empty() {
                        return at + 1;
                    }
                    inside = false;
                }
                (true, b'$') if self.bytes[at + 1..].first() == Some(&b'{') => {
                    open.push(0);
                    inside = false;
                    at += 1;
                }
                (false, b'`') => {
                    // A template in an expression: after its end, this expression continues.
                    inside = true;
                }
                (false, quote @ (b'"' | b'\'')) => {
                    let nested = Lexer { at, ..*self };
                    at = nested.string(quote, false);
                    continue;
                }
                (false, b'{') => {
                    if let Some(depth) = open.last_mut() {
                        *depth += 1;
                    }
                }
                (false, b'}') => match open.last_mut() {
                    Some(0) | None => {
                        open.pop();
                        inside = true;
                    }
                    Some(depth) => *depth -= 1,
                },
                _ => {}
            }
            at += 1;
        }
        self.end
    }

    /// Returns the end of a regular expression, if it ends on this line and within [`MAX_REGEX`] bytes.
    fn regex(&self) -> Option<usize> {
        let mut class = false;
        let mut at = self.at + 1;
        while at < self.end.min(self.at + MAX_REGEX) {
            match self.bytes[at] {
                b'\\' => at += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => return Some(at + 1),
                b'\n' | b'\r' => return None,
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Reads a word, or the string that it introduces: `r"…"`, `b'x'`, `R"(…)"`.
    fn word(&self) -> (TokenKind, usize) {
        let mut end = self.at + self.bytes[self.at..self.end].iter().take_while(|byte| is_word(**byte)).count();
        let word = &self.bytes[self.at..end];
        let quote = self.bytes.get(end).copied().unwrap_or(0);
        let behind = Lexer { at: end, ..*self };
        match self.language {
            Language::Rust if matches!(word, b"r" | b"br" | b"cr") && matches!(quote, b'"' | b'#') => {
                let hashes = self.bytes[end..self.end].iter().take_while(|byte| **byte == b'#').count();
                if self.bytes.get(end + hashes) == Some(&b'"') {
                    let close = format!("\"{}", "#".repeat(hashes));
                    return (TokenKind::Text, self.behind(end + hashes + 1, &close));
                }
                // A raw identifier: `r#type`.
                if word == b"r" && hashes == 1 {
                    let name = self.bytes[end + 1..self.end].iter().take_while(|byte| is_word(**byte)).count();
                    end += if name > 0 { 1 + name } else { 0 };
                }
            }
            Language::Rust if matches!(word, b"b" | b"c") && quote == b'"' => {
                return (TokenKind::Text, behind.string(b'"', true));
            }
            Language::Rust if word == b"b" && quote == b'\'' => return (TokenKind::Text, behind.string(b'\'', false)),
            Language::Python
                if word.len() <= 2
                    && matches!(quote, b'"' | b'\'')
                    && word.iter().all(|byte| b"rbfutRBFUT".contains(byte)) =>
            {
                return behind.quote(quote);
            }
            Language::Cpp | Language::C if quote == b'"' && word.ends_with(b"R") && word.len() <= 3 => {
                let name = self.bytes[end + 1..self.end].iter().take(17).take_while(|byte| **byte != b'(').count();
                if let Ok(name) = std::str::from_utf8(&self.bytes[end + 1..end + 1 + name])
                    && self.bytes.get(end + 1 + name.len()) == Some(&b'(')
                {
                    return (TokenKind::Text, self.behind(end + 1 + name.len(), &format!("){name}\"")));
                }
            }
            Language::Cpp | Language::C if word[0].is_ascii_digit() => {
                // Quotes may separate digits: `1'000`.
                while self.bytes.get(end) == Some(&b'\'') && self.bytes.get(end + 1).is_some_and(|byte| is_word(*byte))
                {
                    end += 1 + self.bytes[end + 1..self.end].iter().take_while(|byte| is_word(**byte)).count();
                }
            }
            _ => {}
        }
        (TokenKind::Word, end)
    }
}

/// Returns whether an operand follows this token.
fn operand_after(kind: TokenKind, word: &[u8]) -> bool {
    const BEFORE: [&[u8]; 14] = [
        b"return",
        b"typeof",
        b"case",
        b"in",
        b"of",
        b"delete",
        b"void",
        b"throw",
        b"new",
        b"else",
        b"do",
        b"instanceof",
        b"yield",
        b"await",
    ];
    match kind {
        TokenKind::Word => BEFORE.contains(&word),
        TokenKind::Close(bracket) => bracket == b'}',
        TokenKind::Text => false,
        _ => true,
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        while self.at < self.end {
            match self.bytes[self.at] {
                b'\n' | b'\r' => self.first = true,
                b' ' | b'\t' | b'\x0b' | b'\x0c' => {}
                _ => {
                    let (kind, end) = self.read();
                    let token =
                        Token { kind, start: self.at, end: end.clamp(self.at + 1, self.end), first: self.first };
                    if kind != TokenKind::Comment {
                        self.operand = operand_after(kind, &self.bytes[token.start..token.end]);
                    }
                    self.at = token.end;
                    self.first = false;
                    return Some(token);
                }
            }
            self.at += 1;
        }
        None
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}
