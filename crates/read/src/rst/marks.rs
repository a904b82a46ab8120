//! The marks that lines begin with, as docutils' regular expressions have them.

use super::lines::{is_space, width};

/// Returns the character of a line that is one character repeated: the line below a title.
pub(super) fn underline(text: &str) -> Option<char> {
    let first = text.chars().next().filter(char::is_ascii_punctuation)?;
    text.chars().all(|c| c == first).then_some(first)
}

/// Returns the columns that a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Returns the white space that a text begins with, in bytes; `None` if there is text but no white space.
fn gap(text: &str) -> Option<usize> {
    let len = text.len() - text.trim_start_matches(is_space).len();
    (len > 0 || text.is_empty()).then_some(len)
}

/// Returns the mark of an item of a list, and its length with the white space behind it.
pub(super) fn bullet(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|c| matches!(c, '-' | '+' | '*' | '•' | '‣' | '⁃'))?;
    Some((mark, mark.len_utf8() + gap(&text[mark.len_utf8()..])?))
}

/// A number before an item: `1.`, `(a)`, `#)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Enumerator<'t> {
    /// The number.
    pub number: &'t str,
    /// The marks around it: whether it begins with `(`, and the character after the number.
    pub around: (bool, char),
    /// Its length without the white space behind it.
    pub mark: usize,
    /// Its length with that.
    pub len: usize,
}

/// How items are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sequence {
    Arabic,
    Alpha(bool),
    Roman(bool),
}

/// Reads the number before an item.
pub(super) fn enumerator(text: &str) -> Option<Enumerator<'_>> {
    let open = text.starts_with('(');
    let rest = &text[usize::from(open)..];
    let digits = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '#')).filter(|len| (1..=15).contains(len))?;
    let number = &rest[..digits];
    let close = rest[digits..].chars().next().filter(|c| *c == ')' || *c == '.' && !open)?;
    sequence(number)?;
    let mark = usize::from(open) + digits + 1;
    Some(Enumerator { number, around: (open, close), mark, len: mark + gap(&text[mark..])? })
}

/// Returns how a first item with this number is numbered.
pub(super) fn sequence(number: &str) -> Option<Sequence> {
    let upper = number.starts_with(|c: char| c.is_ascii_uppercase());
    match number {
        "#" => Some(Sequence::Arabic),
        "i" | "I" => Some(Sequence::Roman(upper)),
        _ => [Sequence::Arabic, Sequence::Alpha(upper), Sequence::Roman(upper)]
            .into_iter()
            .find(|sequence| ordinal(number, *sequence).is_some()),
    }
}

/// Returns the value of a number in a sequence.
pub(super) fn ordinal(number: &str, sequence: Sequence) -> Option<u32> {
    let cased = |upper: bool| number.chars().all(|c| c.is_ascii_alphabetic() && c.is_ascii_uppercase() == upper);
    match sequence {
        Sequence::Arabic => number.parse().ok().filter(|_| number.bytes().all(|b| b.is_ascii_digit())),
        Sequence::Alpha(upper) => match number.as_bytes() {
            [letter] if cased(upper) => Some(u32::from(letter.to_ascii_lowercase() - b'a') + 1),
            _ => None,
        },
        Sequence::Roman(upper) => cased(upper).then(|| roman(&number.to_ascii_lowercase())).flatten(),
    }
}

const ROMAN: [(u32, &str); 13] = [
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
];

fn roman(number: &str) -> Option<u32> {
    let (mut value, mut rest) = (0, number);
    for (worth, digits) in ROMAN {
        let most = if matches!(worth, 1 | 10 | 100 | 1000) { 3 } else { 1 };
        for _ in 0..most {
            let Some(behind) = rest.strip_prefix(digits) else { break };
            (value, rest) = (value + worth, behind);
        }
    }
    (rest.is_empty() && value > 0).then_some(value)
}

/// Returns the name of a field and the length of its mark with the white space behind it: `:name: `.
pub(super) fn field(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix(':')?;
    if rest.starts_with([':', ' ', '\t']) {
        return None;
    }
    let (mut escaped, mut before) = (false, ':');
    for (at, c) in rest.char_indices() {
        if c == ':' && !escaped {
            let behind = &rest[at + 1..];
            if behind.starts_with('`') {
                return None;
            }
            if let Some(gap) = gap(behind) {
                return (before != ' ').then_some((&rest[..at], at + 2 + gap));
            }
        }
        escaped = c == '\\' && !escaped;
        before = c;
    }
    None
}

/// Returns the length of the options that a line begins with, and where the text behind them is: `-a, --all  text`.
pub(super) fn option(text: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    loop {
        at += option_name(&text[at..])?;
        let behind = &text[at..];
        if behind.is_empty() {
            return Some((at, at));
        }
        if behind.starts_with("  ") || behind.starts_with('\t') {
            return Some((at, text.len() - behind.trim_start_matches(is_space).len()));
        }
        at += behind.strip_prefix(", ").map(|_| 2)?;
    }
}

fn option_name(text: &str) -> Option<usize> {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let long = if text.starts_with("--") { 2 } else { usize::from(text.starts_with('/')) };
    let len = if long > 0 {
        let len = text[long..].find(|c| !name(c)).unwrap_or(text.len() - long);
        text[long..].starts_with(|c: char| c.is_ascii_alphanumeric()).then_some(long + len)?
    } else {
        let rest = text.strip_prefix(['-', '+'])?;
        rest.starts_with(|c: char| c.is_ascii_alphanumeric()).then_some(2)?
    };
    let behind = &text[len..];
    let value = behind.strip_prefix([' ', '=']).filter(|value| !value.starts_with(' ')).unwrap_or(if long > 0 {
        ""
    } else {
        behind
    });
    let gap = behind.len() - value.len();
    if value.starts_with('<') {
        return value.find('>').map(|end| len + gap + end + 1);
    }
    if value.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some(len + gap + value.find(|c| !name(c)).unwrap_or(value.len()));
    }
    Some(len)
}

/// Returns what is behind `..` and white space.
pub(super) fn explicit(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("..")?;
    gap(rest).map(|gap| &rest[gap..])
}

/// Returns the name of a directive, and its length up to its argument: `.. name:: `.
pub(super) fn directive(text: &str) -> Option<(&str, usize)> {
    let rest = explicit(text)?;
    let colons = rest.find("::")?;
    let name = rest[..colons].strip_suffix(' ').unwrap_or(&rest[..colons]);
    let behind = &rest[colons + 2..];
    let gap = gap(behind)?;
    is_name(name).then_some((name, text.len() - behind.len() + gap))
}

/// Returns whether a text is a simple name of docutils.
pub(super) fn is_name(name: &str) -> bool {
    let mut joined = true;
    for c in name.chars() {
        let joint = matches!(c, '-' | '_' | '.' | ':' | '+');
        if joint && joined || !joint && !c.is_alphanumeric() {
            return false;
        }
        joined = joint;
    }
    !joined
}

/// Returns the name and the directive of a substitution, and the length up to its text: `.. |name| image:: `.
pub(super) fn substitution(text: &str) -> Option<(&str, &str, usize)> {
    let rest = explicit(text)?.strip_prefix('|')?;
    let end = rest.find('|').filter(|end| *end > 0)?;
    let behind = rest[end + 1..].trim_start_matches(is_space);
    let colons = behind.find("::")?;
    let value = behind[colons + 2..].trim_start_matches(is_space);
    is_name(&behind[..colons]).then_some((&rest[..end], &behind[..colons], text.len() - value.len()))
}

/// Returns the label of a footnote or a citation, and the length up to its text: `.. [1] `.
pub(super) fn footnote(text: &str) -> Option<(&str, usize)> {
    let rest = explicit(text)?.strip_prefix('[')?;
    let end = rest.find(']')?;
    let behind = &rest[end + 1..];
    let gap = gap(behind)?;
    is_label(&rest[..end]).then_some((&rest[..end], text.len() - behind.len() + gap))
}

/// Returns whether a text in brackets refers to a footnote or a citation.
pub(super) fn is_label(label: &str) -> bool {
    matches!(label, "#" | "*") || is_name(label.strip_prefix('#').unwrap_or(label))
}
