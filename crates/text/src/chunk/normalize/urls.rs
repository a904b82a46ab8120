//! The private parts of URLs: queries, user names and passwords.
//!
//! A URL in a text has no certain end. Where this module has to guess, it removes too much rather than too little.

use std::ops::Range;

use memchr::memmem;

const SEPARATOR: &str = "://";

/// How far before a chunk a URL that extends into it may start. This bounds the work for each chunk.
const LOOK_BACK: usize = 4096;

/// Finds the private parts of the URLs in a range of a text, in order. A part may start before the range if its
/// URL does. `table` tells whether a byte is in a table, where `|` ends a URL.
pub(super) fn private_parts(
    text: &str,
    range: &Range<usize>,
    table: &dyn Fn(usize) -> bool,
    mut found: impl FnMut(Range<usize>),
) {
    let mut from = word_start(text, range.start);
    while let Some(at) = memmem::find(&text.as_bytes()[from..range.end], SEPARATOR.as_bytes()) {
        let (separator, start) = (from + at, from + at + SEPARATOR.len());
        let Some(scheme) = scheme_start(&text[from..separator]).map(|scheme| from + scheme) else {
            from = start;
            continue;
        };
        let quoted = text[..scheme].ends_with('\'');
        let url = &text[start..start + length(&text[start..range.end], quoted, table(separator))];
        let authority = &url[..url.find(['/', '?', '#', '\\']).unwrap_or(url.len())];
        let user = if ends_in_password(authority) { url } else { authority }.rfind('@').map_or(0, |at| at + 1);
        if user > 0 {
            found(start..start + user);
        }
        let rest = user.max(authority.len());
        if let Some(query) = query(&url[rest..]) {
            found(start + rest + query.start..start + rest + query.end);
        }
        from = start + url.len();
    }
}

/// Returns whether the text after the `:` is not a port, as when a password contains `/`, `?` or `#`.
fn ends_in_password(authority: &str) -> bool {
    let is_port = |tail: &str| (1..=5).contains(&tail.len()) && tail.bytes().all(|b| b.is_ascii_digit());
    !authority.starts_with('[') && authority.split_once(':').is_some_and(|(_, tail)| !is_port(tail))
}

/// Returns the query of a URL or a relative reference, with its `?`.
pub(super) fn query(url: &str) -> Option<Range<usize>> {
    // In a character reference (`&#38;`), `#` does not start a fragment.
    let is_fragment = |at: &usize| !url[..*at].ends_with('&');
    let end = memchr::memchr_iter(b'#', url.as_bytes()).find(is_fragment).unwrap_or(url.len());
    let start = url[..end].find('?')?;
    Some(start..end)
}

/// Returns where the word that extends to `at` starts, unless that is too far away.
fn word_start(text: &str, at: usize) -> usize {
    let first = text.ceil_char_boundary(at.saturating_sub(LOOK_BACK));
    text[first..at].rfind(char::is_whitespace).map_or(first, |space| text.ceil_char_boundary(first + space + 1))
}

/// Returns where the scheme at the end of a text starts.
fn scheme_start(text: &str) -> Option<usize> {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let word = text.trim_end_matches(is_scheme).len();
    text[word..].find(|c: char| c.is_ascii_alphabetic()).map(|letter| word + letter)
}

/// Returns the length of the URL that a text starts with, after its `://`. The URL ends at a closing bracket that
/// was opened before it, and trailing punctuation belongs to the sentence.
fn length(text: &str, quoted: bool, table: bool) -> usize {
    const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
    let mut open = [0_usize; 3];
    let mut end = text.len();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let escapes = |next: char| next.is_ascii_punctuation() && !matches!(next, '"' | '\'' | '`' | '<' | '>' | '\\');
        let ends = if c == '\\' {
            // A Markdown escape continues the URL; an escape of a string in code ends it.
            chars.next_if(|(_, next)| escapes(*next)).is_none()
        } else if let Some(kind) = BRACKETS.iter().position(|pair| pair.0 == c) {
            open[kind] += 1;
            false
        } else if let Some(kind) = BRACKETS.iter().position(|pair| pair.1 == c) {
            let unopened = open[kind] == 0;
            open[kind] = open[kind].saturating_sub(1);
            unopened
        } else {
            (c == '\'' && quoted) || (c == '|' && table) || is_delimiter(c)
        };
        if ends {
            end = at;
            break;
        }
    }
    text[..end].trim_end_matches(['.', ',', ':', ';', '!', '?', '*', '_', '~', '\'']).len()
}

/// Returns whether no URL contains this character, not even one with letters of another script.
fn is_delimiter(c: char) -> bool {
    let typographic = matches!(c,
        '\u{ab}' | '\u{bb}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3000}'..='\u{303f}'
        | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}');
    typographic || matches!(c, '"' | '<' | '>' | '`') || c.is_whitespace() || c.is_control()
}
