//! Names of places in a document, the part after `#` in a link to it, and what HTML says about them.
//!
//! A heading is named as GitHub names it, because authors write their links for GitHub. The rule is that of the
//! `github-slugger` package, whose cases our tests were checked with.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use pulldown_cmark::{Event, Parser};

use super::white_space::{on_one_line, one_line};

/// The byte that replaces each ASCII byte in a name; zero if the byte is dropped.
const NAMED: [u8; 256] = {
    let mut named = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        named[byte as usize] = match byte {
            b' ' => b'-',
            b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => byte.to_ascii_lowercase(),
            _ => 0,
        };
        byte += 1;
    }
    named
};

/// Returns a heading's name before duplicates are numbered. It is in lower case, has a hyphen for each space, and
/// keeps only hyphens and the characters that form words in any script.
pub fn slug(heading: &str) -> String {
    if heading.is_ascii() {
        let heading = heading.trim().as_bytes();
        let (mut name, mut len) = (vec![0; heading.len()], 0);
        // Every byte is written, even one that is dropped: whether the next byte stays cannot be predicted.
        for byte in heading {
            name[len] = NAMED[usize::from(*byte)];
            len += usize::from(name[len] != 0);
        }
        name.truncate(len);
        return String::from_utf8(name).unwrap_or_default();
    }
    let lower = heading.trim().to_lowercase();
    let name = lower.chars().filter(|&c| c == ' ' || c == '-' || makes_words(c));
    name.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns whether a character is a letter, mark, digit or connector. Unicode's word characters also include the
/// two joiners of emoji and Indic scripts, which GitHub drops.
fn makes_words(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    !matches!(c, '\u{200c}' | '\u{200d}')
        && regex_syntax::try_is_word_character(c).unwrap_or_else(|_| c.is_alphanumeric())
}

/// Number of headings to reserve space for; most documents have no more.
const HEADINGS: usize = 28;

/// Names the headings of one document, in order.
#[derive(Default)]
pub(super) struct Slugger {
    /// The names already used, each with the last number that was tried for it.
    given: HashMap<String, usize>,
}

impl Slugger {
    /// Returns the name of the next heading: the second `usage` is `usage-1`. A number is skipped if another
    /// heading already has that name. Each count resumes where it left off, so this stays linear.
    pub(super) fn name(&mut self, heading: &str) -> String {
        let plain = slug(heading);
        if self.given.is_empty() {
            self.given.reserve(HEADINGS);
        }
        let tried = match self.given.entry(plain) {
            Entry::Vacant(entry) => {
                let plain = entry.key().clone();
                entry.insert(0);
                return plain;
            }
            Entry::Occupied(entry) => entry,
        };
        let plain = tried.key().clone();
        let mut number = tried.get() + 1;
        let mut name = format!("{plain}-{number}");
        while self.given.contains_key(&name) {
            number += 1;
            name = format!("{plain}-{number}");
        }
        self.given.insert(plain, number);
        self.given.insert(name.clone(), 0);
        name
    }
}

/// Calls `found` with each name that an HTML element defines (`id` of any element, `name` of `a`) and the offset
/// of its tag. Elements inside comments do not count. Every byte is read once.
pub(super) fn html(text: &str, mut found: impl FnMut(&str, usize)) {
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'<', &text.as_bytes()[at..]).map(|open| at + open) {
        let rest = &text[open + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            at = comment.find("-->").map_or(text.len(), |end| text.len() - comment.len() + end);
            continue;
        }
        let name = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        at = open + 1 + name;
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let link = rest[..name].eq_ignore_ascii_case("a");
        at = attributes(text, at, |attribute, value| {
            if attribute.eq_ignore_ascii_case("id") || (link && attribute.eq_ignore_ascii_case("name")) {
                found(value, open);
            }
        });
    }
}

/// Reads the attributes of a tag from `at` on. Returns the offset after the tag.
fn attributes(text: &str, mut at: usize, mut found: impl FnMut(&str, &str)) -> usize {
    let blank = |c: char| c.is_ascii_whitespace();
    loop {
        at += text[at..].find(|c: char| !blank(c) && c != '/').unwrap_or(text.len() - at);
        match text.as_bytes().get(at) {
            None => return at,
            Some(b'>') => return at + 1,
            Some(_) => {}
        }
        // A stray `=` starts a name in HTML too, so this always advances.
        let name = text[at..].char_indices().skip(1).find(|&(_, c)| blank(c) || "/>=".contains(c));
        let end = name.map_or(text.len(), |(len, _)| at + len);
        let name = &text[at..end];
        at = end;
        let equals = text[end..].trim_start_matches(blank);
        let Some(value) = equals.strip_prefix('=') else { continue };
        let value = value.trim_start_matches(blank);
        at = text.len() - value.len();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = quote.map_or(value, |_| &value[1..]);
        let len = match quote {
            Some(quote) => value.find(quote),
            None => value.find(|c: char| blank(c) || c == '>'),
        };
        let len = len.unwrap_or(value.len());
        if len > 0 {
            found(name, &value[..len]);
        }
        at = (text.len() - value.len() + len + usize::from(quote.is_some())).max(at).min(text.len());
    }
}

/// How far the end of a heading in HTML is searched for.
const MAX_HEADING: usize = 4096;

/// Returns the text of the first `<h1>` with a text in some ranges of HTML, and where it begins. Many pages have
/// their title there, centred. If it contains an image alone, the text is that of the image.
pub(super) fn html_title(text: &str, html: &[Range<usize>]) -> Option<(String, usize)> {
    html.iter().find_map(|range| {
        let mut at = range.start;
        while let Some(open) = memchr::memchr(b'<', &text.as_bytes()[at..range.end]).map(|open| at + open) {
            let rest = &text[open + 1..];
            at = open + 1;
            if let Some(comment) = rest.strip_prefix("!--") {
                at += comment.find("-->").map_or(rest.len(), |end| end + "!---->".len());
                at = at.min(range.end);
            } else if rest.get(..2).is_some_and(|name| name.eq_ignore_ascii_case("h1"))
                && rest[2..].starts_with(|c: char| c.is_ascii_whitespace() || c == '>')
            {
                at = attributes(&text[..range.end], open + 3, |_, _| {});
                let near = &text.as_bytes()[at..text.len().min(at + MAX_HEADING)];
                let close = memchr::memmem::find(near, b"</h1").or_else(|| memchr::memmem::find(near, b"</H1"))?;
                let title = visible(&text[at..at + close]);
                if !title.is_empty() {
                    return Some((title, open));
                }
                at = (at + close).min(range.end);
            }
        }
        None
    })
}

/// Returns the text of some HTML as a page shows it.
fn visible(html: &str) -> String {
    let (mut plain, mut image) = (String::new(), String::new());
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        let end =
            attributes(tag, tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len()), |name, value| {
                if name.eq_ignore_ascii_case("alt") && image.is_empty() {
                    value.clone_into(&mut image);
                }
            });
        plain.push(' ');
        rest = &tag[end..];
    }
    plain.push_str(rest);
    let plain = if plain.trim().is_empty() { image } else { plain };
    // The parser resolves character references and removes the marks of Markdown.
    let line = on_one_line(&plain);
    let shown = Parser::new(&line).filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.into_string()),
        _ => None,
    });
    one_line(shown.collect())
}
