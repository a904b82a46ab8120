//! White space that is only layout, removed from a text while it is written piece by piece.

use crate::document::is_blank;

/// A writer of a text whose pieces are prose or code.
pub(super) struct Cleaner {
    out: String,
    markdown: bool,
    /// Whether white space was read that becomes one space before the next word of the line.
    gap: bool,
    /// Whether the last piece ended in a carriage return; a line feed after it belongs to the same line end.
    returned: bool,
    /// How much of `out` must not be trimmed.
    fixed: usize,
}

impl Cleaner {
    /// Starts a text. Structure at the start of a line stays: white space, and in Markdown also quote marks and
    /// list markers.
    pub(super) fn new(markdown: bool) -> Self {
        Self { out: String::new(), markdown, gap: false, returned: false, fixed: 0 }
    }

    /// Adds a piece whose white space is only layout.
    pub(super) fn prose(&mut self, text: &str) {
        for (line, ended) in self.lines(text) {
            self.line(line, ended);
            // Blank lines at the start are removed, and later ones become one.
            if ended && !self.out.is_empty() && !self.out.ends_with("\n\n") {
                self.out.push('\n');
            }
        }
    }

    fn line(&mut self, line: &str, ended: bool) {
        let mut rest = line;
        if self.out.is_empty() || self.out.ends_with('\n') {
            let indent = || line.len() - line.trim_start_matches([' ', '\t']).len();
            let (structure, content) = line.split_at(if self.markdown { structure(line) } else { indent() });
            // Other white space after the structure would be content, but it is layout.
            rest = content.trim_start();
            self.out.push_str(if ended && rest.is_empty() { structure.trim_end() } else { structure });
        }
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
            if !word.is_empty() {
                self.close_gap();
                self.out.push_str(word);
            }
            rest = after.trim_start();
            self.gap |= rest.len() < after.len();
        }
        self.gap &= !ended;
    }

    /// Adds a piece in which only the line ends change.
    pub(super) fn code(&mut self, text: &str) {
        for (line, ended) in self.lines(text) {
            self.close_gap();
            self.out.push_str(line);
            if ended {
                self.out.push('\n');
            }
        }
        self.fixed = self.out.len();
    }

    fn close_gap(&mut self) {
        if std::mem::take(&mut self.gap) {
            self.out.push(' ');
        }
    }

    /// Returns the text without blank lines at its start and its end.
    pub(super) fn finish(mut self) -> String {
        if is_blank(&self.out) {
            return String::new();
        }
        let end = self.out.trim_end().len();
        let end = match self.out[end..].find('\n') {
            Some(feed) => end + feed,
            None => end.max(self.fixed),
        };
        self.out.truncate(end);
        let indent = self.out.len() - self.out.trim_start().len();
        let start = self.out[..indent].rfind('\n').map_or(0, |feed| feed + 1);
        self.out.split_off(start)
    }

    /// Returns the lines of a piece, each without its line end and with whether it has one.
    fn lines<'t>(&mut self, text: &'t str) -> impl Iterator<Item = (&'t str, bool)> + use<'t> {
        let mut rest = text;
        if !text.is_empty() {
            rest = text.strip_prefix('\n').filter(|_| self.returned).unwrap_or(text);
            self.returned = text.ends_with('\r');
        }
        std::iter::from_fn(move || {
            let end = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            let next = after.strip_prefix("\r\n").or_else(|| after.get(1..));
            rest = next.unwrap_or_default();
            (!line.is_empty() || next.is_some()).then_some((line, next.is_some()))
        })
    }
}

/// Returns the length of the nesting at the start of a Markdown line: spaces, tabs, quote marks, and list markers
/// with the white space after them.
fn structure(line: &str) -> usize {
    let bytes = line.as_bytes();
    let mut at = 0;
    loop {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let marker = match bytes.get(at + digits) {
            Some(b' ' | b'\t' | b'>') if digits == 0 => {
                at += 1;
                continue;
            }
            Some(b'-' | b'+' | b'*') if digits == 0 => 1,
            Some(b'.' | b')') if (1..10).contains(&digits) => digits + 1,
            _ => return at,
        };
        if !matches!(bytes.get(at + marker), Some(b' ' | b'\t')) {
            return at;
        }
        at += marker;
    }
}
