//! The attribute lines before a block, and the attributes of the document.

use chunkmill_text::document::DropReason;

use super::lines::Line;
use super::{Reader, marks};

/// Longest value of an attribute of the document that is put in, in bytes.
const MAX_VALUE: usize = 4096;

/// The attributes of a block, from the lines before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes {
    pub anchors: Vec<String>,
    /// Its title.
    pub title: Option<Line>,
    /// The first word: `source`, `NOTE`.
    pub style: String,
    /// Attributes without a name, after the first; blank ones too.
    pub more: Vec<Line>,
    /// Attributes with a name.
    pub named: Vec<(String, Line)>,
    /// Text that is not counted yet: who is quoted.
    pub credit: Vec<Line>,
    pub is_set: bool,
}

impl Attributes {
    pub(super) fn is_empty(&self) -> bool {
        !self.is_set
    }

    /// Returns the value of a name.
    pub(super) fn value<'t>(&self, source: &'t str, name: &str) -> Option<&'t str> {
        self.named.iter().rev().find(|(known, _)| known == name).map(|(_, line)| line.of(source))
    }

    pub(super) fn set_title(&mut self, title: Line) -> Option<Line> {
        self.is_set = true;
        self.title.replace(title)
    }
}

/// Returns the parts of a list that are separated by commas outside of quotes.
pub(super) fn split(source: &str, list: Line) -> Vec<Line> {
    let mut parts = Vec::new();
    let (mut start, mut quote) = (list.start, None);
    for (at, c) in list.of(source).char_indices() {
        match quote {
            Some(mark) if mark == c => quote = None,
            None if matches!(c, '"' | '\'') && source[start..list.start + at].trim_end().ends_with(['=', ',']) => {
                quote = Some(c);
            }
            None if c == '"' && source[start..list.start + at].trim().is_empty() => quote = Some(c),
            None if c == ',' => {
                parts.push(Line { start, end: list.start + at }.bare(source));
                start = list.start + at + 1;
            }
            _ => {}
        }
    }
    parts.push(Line { start, end: list.end }.bare(source));
    parts
}

/// Returns a text without the quotes around it.
pub(super) fn unquoted(source: &str, line: Line) -> Line {
    let text = line.of(source);
    let is_quoted = text.len() >= 2 && ['"', '\''].iter().any(|mark| text.starts_with(*mark) && text.ends_with(*mark));
    if is_quoted { Line { start: line.start + 1, end: line.end - 1 } } else { line }
}

impl Reader<'_> {
    /// Reads a line of attributes.
    pub(super) fn attribute_line(&mut self, line: Line) {
        let text = self.text;
        let inside = Line { start: line.start + 1, end: line.end - 1 };
        self.pending.is_set = true;
        if inside.of(text).starts_with('[') {
            self.markup(line.of(text));
            let name = inside.of(text).trim_matches(['[', ']']);
            let name = name.split(',').next().unwrap_or_default().trim();
            self.pending.anchors.push(name.to_owned());
            return;
        }
        let mut credit = Vec::new();
        for (index, part) in split(text, inside).into_iter().enumerate() {
            let named = part.of(text).split_once('=').map(|(name, _)| name.trim_end());
            if let Some(name) = named.filter(|name| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_')))
            {
                let value = part.of(text).find('=').map_or(part, |at| part.behind(text, at + 1));
                self.attribute(name, unquoted(text, value));
            } else if index == 0 {
                self.shorthand(part.of(text));
            } else {
                let part = unquoted(text, part).bare(text);
                if matches!(self.pending.style.as_str(), "quote" | "verse") && !part.is_blank() {
                    credit.push(part);
                }
                self.pending.more.push(part);
            }
        }
        let mut at = line.start;
        for part in &credit {
            self.markup(&text[at..part.start]);
            at = part.end;
        }
        self.markup(&text[at..line.end]);
        self.pending.credit.extend(credit);
    }

    fn attribute(&mut self, name: &str, value: Line) {
        if matches!(name, "id" | "anchor") {
            self.pending.anchors.push(value.of(self.text).to_owned());
        }
        self.pending.named.push((name.to_owned(), value));
    }

    /// Reads the first attribute: `style#id.role%option`.
    fn shorthand(&mut self, text: &str) {
        let mut parts = text.split_inclusive(['#', '.', '%']);
        let mut mark = ' ';
        for part in parts.by_ref() {
            let (word, next) = match part.chars().next_back().filter(|c| matches!(c, '#' | '.' | '%')) {
                Some(next) => (&part[..part.len() - 1], next),
                None => (part, ' '),
            };
            let word = word.trim();
            match mark {
                _ if word.is_empty() => {}
                '#' => self.pending.anchors.push(word.to_owned()),
                '%' | '.' => {}
                _ => word.clone_into(&mut self.pending.style),
            }
            mark = next;
        }
    }

    /// Reads an attribute of the document, and returns the line behind it.
    pub(super) fn entry(&mut self, lines: &[Line], at: usize) -> Option<usize> {
        let text = self.text;
        let line = lines[at];
        let (name, len) = marks::entry(line.of(text))?;
        let mut value = String::new();
        let mut end = at;
        let mut part = line.behind(text, len);
        loop {
            let piece = part.of(text);
            let more = piece.strip_suffix(" + \\").or_else(|| piece.strip_suffix(" \\"));
            let goes_on = more.is_some() && lines.get(end + 1).is_some_and(|next| !next.is_blank());
            let kept = more.unwrap_or(piece).trim_end();
            if value.len() < MAX_VALUE {
                value.push_str(kept);
            }
            end += 1;
            if !goes_on {
                break;
            }
            value.push(' ');
            part = lines[end].bare(text);
        }
        self.markup_lines(DropReason::Markup, &lines[at..end]);
        let name = name.to_lowercase();
        if let Some(unset) = name.strip_prefix('!').or_else(|| name.strip_suffix('!')) {
            self.settings.remove(unset);
        } else {
            value.truncate(value.floor_char_boundary(MAX_VALUE));
            let passed = value.strip_prefix("pass:").and_then(|rest| rest.split_once('['));
            let passed = passed.and_then(|(_, rest)| rest.strip_suffix(']')).map(str::to_owned);
            let value = self.expanded(&passed.unwrap_or(value));
            self.settings.insert(name, value);
        }
        Some(end)
    }

    /// Returns a text with the values of the attributes in it.
    pub(super) fn expanded(&mut self, text: &str) -> String {
        let mut whole = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            whole.push_str(&rest[..open]);
            rest = &rest[open..];
            let found = reference(rest).and_then(|name| Some((name.len() + 2, self.value(name)?)));
            match found {
                Some((len, value)) if value.len() <= self.room && whole.len() < MAX_VALUE => {
                    self.room -= value.len();
                    whole.push_str(&value);
                    rest = &rest[len..];
                }
                _ => {
                    whole.push('{');
                    rest = &rest[1..];
                }
            }
        }
        whole.push_str(rest);
        whole
    }

    /// Returns the value of an attribute of the document.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        let name = name.to_lowercase();
        self.settings.get(&name).cloned().or_else(|| built_in(&name).map(str::to_owned))
    }
}

/// Returns the name in a reference that a text starts with: `{name}`.
pub(super) fn reference(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('{')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let len = rest.find(|c| !is_name(c))?;
    (len > 0 && rest[len..].starts_with('}')).then(|| &rest[..len])
}

/// Returns the value of an attribute that each document has.
fn built_in(name: &str) -> Option<&'static str> {
    Some(match name {
        "empty" | "blank" | "zwsp" | "wj" => "",
        "sp" | "nbsp" => " ",
        "apos" => "'",
        "quot" => "\"",
        "lsquo" => "\u{2018}",
        "rsquo" => "\u{2019}",
        "ldquo" => "\u{201c}",
        "rdquo" => "\u{201d}",
        "deg" => "°",
        "plus" => "+",
        "brvbar" => "¦",
        "vbar" => "|",
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "startsb" => "[",
        "endsb" => "]",
        "caret" => "^",
        "asterisk" => "*",
        "tilde" => "~",
        "backslash" => "\\",
        "backtick" => "`",
        "two-colons" => "::",
        "two-semicolons" => ";;",
        "cpp" => "C++",
        "pp" => "++",
        _ => return None,
    })
}
