//! HTML inside markdown: tags that run something, attributes, and content that is in the source but not on the
//! page.
//!
//! This reads tags as a browser does, which is more forgiving than the standard for documents.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use super::signal::{SignalKind, Signals};
use super::target;
use crate::document::parsed::Markup;

/// How far the end of an element is searched for. The limit keeps the scan linear if many are open.
const MAX_ELEMENT: usize = 64 << 10;

/// Maximum amount of text searched for ends of elements, as a multiple of the document's length.
const MAX_SEARCH: usize = 8;

/// Minimum number of words in a sentence, and minimum number of letters in a script without spaces.
const MIN_WORDS: usize = 5;
const MIN_LETTERS: usize = 12;

/// First words of licences and of comments addressed to tools.
const DIRECTIVES: [&str; 21] = [
    "#region",
    "#endregion",
    "[if ",
    "<![endif",
    "all-contributors",
    "copyright",
    "cspell:",
    "don't edit this section",
    "dprint-",
    "end doctoc",
    "eslint-",
    "licensed ",
    "markdown-",
    "markdownlint-",
    "prettier-",
    "remark-",
    "spdx-",
    "spell-checker",
    "start doctoc",
    "textlint-",
    "vale ",
];

/// Attributes that contain an address.
const ADDRESSES: [&str; 12] = [
    "href",
    "src",
    "action",
    "formaction",
    "xlink:href",
    "data",
    "poster",
    "background",
    "cite",
    "srcset",
    "ping",
    "to",
];

/// Adds the signals of all HTML in a document.
pub(super) fn scan(text: &str, path: &str, markup: &Markup, found: &mut Signals) {
    for comment in &markup.comments {
        if is_prose(&text[comment.clone()]) {
            found.add(SignalKind::HiddenComment, comment.clone());
        }
    }
    let mut budget = text.len().saturating_mul(MAX_SEARCH);
    let mut gaps = markup.gaps.iter().peekable();
    for range in &markup.html {
        let mut bytes = Cow::Borrowed(&text.as_bytes()[range.clone()]);
        // The bytes between the lines of an HTML block in a quote belong to the quote.
        while let Some(gap) = gaps.next_if(|gap| gap.end <= range.end) {
            bytes.to_mut()[gap.start - range.start..gap.end - range.start].fill(b' ');
        }
        let mut html = Html { text, path, bytes: &bytes, base: range.start, budget };
        html.scan(found);
        budget = html.budget;
    }
}

struct Html<'t> {
    text: &'t str,
    path: &'t str,
    /// The HTML.
    bytes: &'t [u8],
    /// Its start in the text.
    base: usize,
    /// How much more text may be searched for ends of elements.
    budget: usize,
}

/// A start tag, with offsets into the HTML.
struct Tag<'t> {
    name: &'t [u8],
    end: usize,
    attributes: Vec<Attribute<'t>>,
}

struct Attribute<'t> {
    name: &'t [u8],
    value: &'t [u8],
    range: Range<usize>,
    value_start: usize,
}

impl Tag<'_> {
    fn is(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.name.eq_ignore_ascii_case(name.as_bytes()))
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.attributes.iter().find(|a| a.name.eq_ignore_ascii_case(name.as_bytes())).map(|a| a.value)
    }
}

impl<'t> Html<'t> {
    fn scan(&mut self, found: &mut Signals) {
        let mut at = 0;
        while let Some(open) = memchr::memchr(b'<', &self.bytes[at..]).map(|open| at + open) {
            let rest = &self.bytes[open..];
            if let Some(comment) = rest.strip_prefix(b"<!--") {
                let end = memmem::find(comment, b"-->").map_or(self.bytes.len(), |end| open + 7 + end);
                let range = self.base + open..self.base + end;
                if is_prose(&self.text[range.clone()]) {
                    found.add(SignalKind::HiddenComment, range);
                }
                at = end;
            } else if rest.get(1).is_some_and(u8::is_ascii_alphabetic) {
                let tag = self.tag(open);
                at = tag.end.max(self.element(open, &tag, found));
            } else {
                at = open + 1;
            }
        }
    }

    /// Adds the signals of a tag. Returns the offset after the tag, or after its content if that is not HTML.
    fn element(&mut self, open: usize, tag: &Tag<'_>, found: &mut Signals) -> usize {
        let mut end = tag.end;
        if tag.is(&["script"]) {
            end = self.closing(tag).map_or(tag.end, |(_, end)| end);
            if runs(tag.value("type")) {
                found.add(SignalKind::ScriptTag, self.base + open..self.base + end);
            }
        } else if tag.is(&["iframe", "frame", "object", "embed", "applet"]) {
            let loads = ["src", "srcdoc", "data", "code", "classid", "archive"];
            if loads.iter().any(|name| tag.value(name).is_some_and(|value| !value.trim_ascii().is_empty())) {
                found.add(SignalKind::EmbeddedFrame, self.base + open..self.base + tag.end);
            }
        }
        if is_hidden(tag)
            && let Some((close, end)) = self.closing(tag)
            && is_prose(&self.text[self.base + tag.end..self.base + close])
        {
            found.add(SignalKind::HiddenComment, self.base + open..self.base + end);
        }
        for attribute in &tag.attributes {
            self.attribute(attribute, found);
            if tag.is(&["meta"]) && attribute.name.eq_ignore_ascii_case(b"content") {
                self.refresh(attribute, found);
            }
        }
        end.min(self.bytes.len())
    }

    fn attribute(&self, attribute: &Attribute<'_>, found: &mut Signals) {
        let Attribute { name, value, range, value_start } = attribute;
        let Ok(value) = std::str::from_utf8(value) else { return };
        if is_handler(name) && !value.trim().is_empty() {
            found.add(SignalKind::EventHandler, self.base + range.start..self.base + range.end);
        }
        if ADDRESSES.iter().any(|address| name.eq_ignore_ascii_case(address.as_bytes()))
            && let Some(kind) = target::judge(value, self.path, true)
        {
            let start = self.base + value_start;
            found.add(kind, start..start + value.len());
        }
    }

    /// Checks where a page redirects its reader: `content="0; url=…"`.
    fn refresh(&self, content: &Attribute<'_>, found: &mut Signals) {
        let lower = content.value.to_ascii_lowercase();
        let Some(url) = memmem::find(&lower, b"url=") else { return };
        let (_, value) = content.value.split_at(url + 4);
        let Ok(value) = std::str::from_utf8(value) else { return };
        let target = value.trim_start().trim_start_matches(['\'', '"']);
        if let Some(kind) = target::judge(target, self.path, true) {
            found.add(kind, self.base + content.range.start..self.base + content.range.end);
        }
    }

    /// Reads the start tag that begins at `open`. A tag without an end extends to the end of the HTML.
    fn tag(&self, open: usize) -> Tag<'t> {
        let bytes = self.bytes;
        let until = |from: usize, stop: fn(u8) -> bool| {
            bytes[from..].iter().position(|&b| stop(b)).map_or(bytes.len(), |len| from + len)
        };
        let mut at = until(open + 1, |b| b.is_ascii_whitespace() || matches!(b, b'/' | b'>'));
        let mut tag = Tag { name: &bytes[open + 1..at], end: bytes.len(), attributes: Vec::new() };
        loop {
            at = until(at, |b| !b.is_ascii_whitespace() && b != b'/');
            if at == bytes.len() {
                return tag;
            }
            if bytes[at] == b'>' {
                tag.end = at + 1;
                return tag;
            }
            let start = at;
            at = until(at + 1, |b| b.is_ascii_whitespace() || matches!(b, b'/' | b'>' | b'='));
            let name = &bytes[start..at];
            let equals = until(at, |b| !b.is_ascii_whitespace());
            let mut value = at..at;
            if bytes.get(equals) == Some(&b'=') {
                at = until(equals + 1, |b| !b.is_ascii_whitespace());
                (value, at) = self.value(at);
            }
            let range = start..at;
            tag.attributes.push(Attribute { name, value: &bytes[value.clone()], range, value_start: value.start });
        }
    }

    /// Returns the value that begins at `at`, and the offset after it.
    fn value(&self, at: usize) -> (Range<usize>, usize) {
        let bytes = self.bytes;
        match bytes.get(at) {
            Some(&quote @ (b'"' | b'\'')) => {
                let end = memchr::memchr(quote, &bytes[at + 1..]).map_or(bytes.len(), |len| at + 1 + len);
                (at + 1..end, (end + 1).min(bytes.len()))
            }
            // An expression, as in JSX.
            Some(b'{') => {
                let mut depth = 0usize;
                let close = bytes[at..].iter().position(|b| {
                    depth = depth + usize::from(*b == b'{') - usize::from(*b == b'}');
                    depth == 0
                });
                let end = close.map_or(bytes.len(), |len| at + len + 1);
                (at..end, end)
            }
            _ => {
                let len = bytes[at..].iter().position(|b| b.is_ascii_whitespace() || *b == b'>');
                let end = len.map_or(bytes.len(), |len| at + len);
                (at..end, end)
            }
        }
    }

    /// Returns the start and end of the closing tag, as offsets from the start of the HTML. It may be beyond the
    /// HTML, for example if an inline element contains text.
    fn closing(&mut self, tag: &Tag<'_>) -> Option<(usize, usize)> {
        let rest = &self.text.as_bytes()[self.base + tag.end..];
        let rest = &rest[..rest.len().min(MAX_ELEMENT).min(self.budget)];
        let close = memmem::find_iter(rest, b"</").find(|at| {
            let (name, after) = rest[at + 2..].split_at_checked(tag.name.len()).unwrap_or_default();
            let ends = after.first().is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'/' | b'>'));
            ends && name.eq_ignore_ascii_case(tag.name)
        });
        self.budget -= close.unwrap_or(rest.len());
        let close = close?;
        let end = memchr::memchr(b'>', &rest[close..]).map_or(close + 2 + tag.name.len(), |len| close + len + 1);
        Some((tag.end + close, tag.end + end))
    }
}

/// Returns whether a browser runs a script of this type. Data and templates are not run.
fn runs(kind: Option<&[u8]>) -> bool {
    let kind = kind.unwrap_or_default().trim_ascii().to_ascii_lowercase();
    let has = |word: &[u8]| memmem::find(&kind, word).is_some();
    kind.is_empty()
        || kind == b"module"
        || has(b"javascript")
        || has(b"ecmascript")
        || has(b"vbscript")
        || has(b"babel")
}

/// Returns whether an attribute's name is that of an event: `on` and letters. `once`, `only` and `online` are
/// words.
fn is_handler(name: &[u8]) -> bool {
    let Some((on, event)) = name.split_at_checked(2) else { return false };
    let words: [&[u8]; 6] = [b"ce", b"ly", b"line", b"e", b"to", b"set"];
    on.eq_ignore_ascii_case(b"on")
        && event.len() > 2
        && event.iter().all(u8::is_ascii_alphabetic)
        && !words.iter().any(|word| event.eq_ignore_ascii_case(word))
}

/// Returns whether an element is on the page but not shown.
fn is_hidden(tag: &Tag<'_>) -> bool {
    if tag.is(&["input", "img", "br", "hr", "meta", "link", "script", "style", "template"]) {
        return false;
    }
    let style = tag.value("style").map(<[u8]>::to_ascii_lowercase).unwrap_or_default();
    let style: Vec<u8> = style.into_iter().filter(|b| !b.is_ascii_whitespace()).collect();
    let has = |rule: &[u8]| memmem::find(&style, rule).is_some();
    let is_zero = |rule: &[u8]| {
        memmem::find_iter(&style, rule).any(|at| {
            let mut number =
                style[at + rule.len()..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').peekable();
            number.peek().is_some() && number.all(|b| matches!(b, b'0' | b'.'))
        })
    };
    let styled = has(b"display:none") || has(b"visibility:hidden") || is_zero(b"opacity:") || is_zero(b"font-size:");
    // `hidden="until-found"` is for collapsed text that a reader can open.
    let hidden = tag.value("hidden").is_some_and(|value| value.is_empty() || value.eq_ignore_ascii_case(b"hidden"));
    hidden || styled
}

/// Returns whether a comment or an element's content is sentences rather than a directive or code.
fn is_prose(content: &str) -> bool {
    let inner = content.trim_start_matches("<!--").trim_end_matches("-->").trim_matches(['-', '*', '=']).trim();
    // The name of a command, as in `@formatter:off`.
    let inner = inner.strip_prefix('@').map_or(inner, |command| {
        command.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':'))
    });
    let start: String = inner.chars().take(20).flat_map(char::to_lowercase).collect();
    if DIRECTIVES.iter().any(|directive| start.starts_with(directive)) {
        return false;
    }
    let (mut words, mut pieces, mut letters) = (0, 0, 0);
    for piece in inner.split_whitespace() {
        pieces += 1;
        let word = piece.trim_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '<' | '>' | '{' | '}'));
        letters += word.chars().filter(|c| c.is_alphabetic() && !c.is_ascii() && *c >= '\u{0e00}').count();
        words +=
            usize::from(!word.is_empty() && word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-')));
    }
    letters >= MIN_LETTERS || words >= MIN_WORDS && words * 3 >= pieces * 2
}
