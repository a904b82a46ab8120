//! `#tag`s in running text, as note-taking tools write them.

/// Words that are made of the letters of hexadecimal digits.
const WORDS: [&str; 21] = [
    "ace", "add", "bad", "bed", "bee", "cab", "dad", "fed", "fee", "babe", "bead", "beef", "cafe", "dead", "deaf",
    "deed", "face", "fade", "feed", "decade", "facade",
];

/// Calls `found` with each tag of `text`, a run of text without markup. `before` is the character before it in the
/// document.
///
/// A tag is `#` at the start of a word, followed by letters, digits, `_`, `-` and `/`, but neither a number nor a
/// colour: `#design/ui` is a tag; `C#`, `#1`, `a#b` and `#00C6BD` are not.
pub(super) fn scan(text: &str, before: Option<char>, mut found: impl FnMut(&str)) {
    let mut previous = before;
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'#', rest.as_bytes()) {
        previous = rest[..at].chars().next_back().or(previous);
        let after = &rest[at + 1..];
        let len = after.find(|c: char| !(c.is_alphanumeric() || "_-/".contains(c))).unwrap_or(after.len());
        let tag = after[..len].trim_end_matches(['/', '-']);
        let word_starts = previous.is_none_or(char::is_whitespace);
        let ends_well = !after[len..].starts_with('#');
        if word_starts && ends_well && tag.chars().any(|c| c.is_alphabetic() || c == '_') && !is_colour(tag) {
            found(tag);
        }
        previous = after[..len].chars().next_back().or(Some('#'));
        rest = &after[len..];
    }
}

/// Returns whether a name is a colour as in CSS: 3, 4, 6 or 8 hexadecimal digits that are not a word.
fn is_colour(name: &str) -> bool {
    matches!(name.len(), 3 | 4 | 6 | 8)
        && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !WORDS.iter().any(|word| name.eq_ignore_ascii_case(word))
}
