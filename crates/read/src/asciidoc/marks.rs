//! The kind of a line, by its first characters.

/// The mark of an item of a list. Items of one list have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Stars(usize),
    Dash,
    Dots(usize),
    Number,
    Letter,
    Roman,
    Callout,
    /// A term, with the length of what is behind it; `;;` is 0.
    Term(usize),
}

/// An item of a list as its first line shows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub marker: Marker,
    /// Bytes of its mark: behind the indentation for a mark, behind the term for a term.
    pub mark: (usize, usize),
    /// The number that the author gave it.
    pub number: Option<u32>,
}

/// Kinds of blocks between two equal lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fence {
    Comment,
    Listing,
    Literal,
    Example,
    Sidebar,
    Quote,
    Pass,
    Open,
    /// With a language behind it.
    Code,
    Table,
}

/// Returns the kind of block that a line opens.
pub(super) fn fence(line: &str) -> Option<Fence> {
    if line == "--" {
        return Some(Fence::Open);
    }
    if let Some(language) = line.strip_prefix("```") {
        return (!language.contains(['`', ' '])).then_some(Fence::Code);
    }
    if let Some(rest) = line.strip_prefix(['|', ',', ':', '!']) {
        return (rest.len() >= 3 && rest.bytes().all(|byte| byte == b'=')).then_some(Fence::Table);
    }
    let first = *line.as_bytes().first()?;
    if line.len() < 4 || !line.bytes().all(|byte| byte == first) {
        return None;
    }
    match first {
        b'/' => Some(Fence::Comment),
        b'-' => Some(Fence::Listing),
        b'.' => Some(Fence::Literal),
        b'=' => Some(Fence::Example),
        b'*' => Some(Fence::Sidebar),
        b'_' => Some(Fence::Quote),
        b'+' => Some(Fence::Pass),
        _ => None,
    }
}

/// Returns the level of a title, from 1, and the bytes of its mark.
pub(super) fn title(line: &str) -> Option<(u8, usize)> {
    let mark = *line.as_bytes().first().filter(|byte| matches!(byte, b'=' | b'#'))?;
    let len = line.bytes().take_while(|byte| *byte == mark).count();
    let behind = line[len..].starts_with([' ', '\t']);
    (behind && len <= 6).then(|| (u8::try_from(len).unwrap_or(6), len))
}

/// Returns the level of a title by the line under it.
pub(super) fn underlined(line: &str, under: &str) -> Option<u8> {
    let mark = *under.as_bytes().first()?;
    let level = b"=-~^+".iter().position(|known| *known == mark)?;
    let is_title = !line.starts_with(['.', ' ', '\t', '[']) && line.contains(char::is_alphanumeric);
    let wide = line.chars().count();
    let fits = under.len() >= 2 && under.len().abs_diff(wide) < 2 && under.bytes().all(|byte| byte == mark);
    (is_title && fits).then(|| u8::try_from(level + 1).unwrap_or(5))
}

/// Returns whether a line is a comment.
pub(super) fn is_comment(line: &str) -> bool {
    line.starts_with("//") && !line.starts_with("///")
}

/// Returns whether a line separates two parts of the text.
pub(super) fn is_rule(line: &str) -> bool {
    matches!(line, "'''" | "---" | "***" | "- - -" | "* * *")
        || line.len() > 3 && line.bytes().all(|byte| byte == b'\'')
}

/// Returns the name of an attribute and where its value starts: `:name: value`.
pub(super) fn entry(line: &str) -> Option<(&str, usize)> {
    let rest = line.strip_prefix(':')?;
    let end = rest.find(':')?;
    let name = &rest[..end];
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '!');
    let behind = &rest[end + 1..];
    let is_entry =
        !name.is_empty() && name.chars().all(is_name) && (behind.is_empty() || behind.starts_with([' ', '\t']));
    is_entry.then_some((name, end + 2))
}

/// Returns whether a line says something about the block behind it: `[source,rust]`.
pub(super) fn is_attributes(line: &str) -> bool {
    let Some(inside) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    if let Some(anchor) = inside.strip_prefix('[') {
        return anchor.ends_with(']') && !anchor.starts_with('[') && !anchor[..anchor.len() - 1].contains(']');
    }
    let first = inside.chars().next();
    first.is_none_or(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '#' | '%' | '{' | ',' | '"' | '\''))
        && !inside.contains("](")
        && !inside.contains(']')
}

/// Returns whether a line is the title of the block behind it.
pub(super) fn is_block_title(line: &str) -> bool {
    let mut chars = line.chars();
    chars.next() == Some('.') && chars.next().is_some_and(|c| !c.is_whitespace() && c != '.')
}

/// Returns the item of a list that begins at a line.
pub(super) fn item(line: &str) -> Option<Item> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    marked(text).map(|(marker, len, number)| Item { marker, mark: (indent, len), number }).or_else(|| term(line))
}

fn marked(text: &str) -> Option<(Marker, usize, Option<u32>)> {
    let word = text.split([' ', '\t']).next().filter(|word| word.len() < text.len())?;
    let run = |mark: char| word.chars().all(|c| c == mark);
    let len = word.len();
    if run('*') {
        return Some((Marker::Stars(len), len, None));
    }
    if run('.') && len <= 5 {
        return Some((Marker::Dots(len), len, None));
    }
    if matches!(word, "-" | "\u{2022}") {
        return Some((Marker::Dash, len, None));
    }
    if let Some(number) = word.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        let is_callout = number == "." || !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        return is_callout.then(|| (Marker::Callout, len, number.parse().ok()));
    }
    if let Some(number) = word.strip_suffix('.') {
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            return number.parse().ok().map(|number| (Marker::Number, len, Some(number)));
        }
        let is_letter = number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_alphabetic());
        return is_letter.then_some((Marker::Letter, len, None));
    }
    let roman = word.strip_suffix(')')?;
    let is_roman = !roman.is_empty() && roman.bytes().all(|byte| b"ivxIVX".contains(&byte));
    is_roman.then_some((Marker::Roman, len, None))
}

/// Returns the item of a list of terms that begins at a line: `term:: text`.
fn term(line: &str) -> Option<Item> {
    if is_comment(line) {
        return None;
    }
    let bytes = line.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        let mark = bytes[at];
        if !matches!(mark, b':' | b';') {
            at += 1;
            continue;
        }
        let len = bytes[at..].iter().take_while(|byte| **byte == mark).count();
        let ends = bytes.get(at + len).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
        let fits = if mark == b':' { (2..=4).contains(&len) } else { len == 2 };
        if ends && fits && !line[..at].trim().is_empty() {
            let marker = Marker::Term(if mark == b':' { len } else { 0 });
            return Some(Item { marker, mark: (at, len), number: None });
        }
        at += len;
    }
    None
}

/// Returns the name that Asciidoctor gives a section.
pub(super) fn section_name(title: &str) -> String {
    let mut name = String::from("_");
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            name.push(c);
        } else if matches!(c, ' ' | '-' | '.') && !name.ends_with('_') {
            name.push('_');
        }
    }
    while name.len() > 1 && name.ends_with('_') {
        name.pop();
    }
    name
}
