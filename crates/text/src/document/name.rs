//! The name by which people refer to a document.

use super::white_space::on_one_line;

/// File names that describe the role of a file rather than its contents.
const SAY_NOTHING: &[&str] = &[
    "index",
    "_index",
    "readme",
    "default",
    "home",
    "main",
    "untitled",
    "document",
    "doc",
    "page",
    "mod",
    "lib",
    "__init__",
    "overview",
    "introduction",
    "content",
    "text",
    "file",
    "new",
    "license",
    "copy",
];

/// Returns the name that people would use for a document with this title and path: its title, the words of its
/// file name, or those of its folder. The first one that says something wins; `index`, `README`, a number, a date
/// and a hash say nothing.
///
/// ```
/// use chunkmill_text::document::name;
///
/// assert_eq!(name(Some("Getting started"), "guide/index.md").as_deref(), Some("Getting started"));
/// assert_eq!(name(None, "policies/Tick_Tick.txt").as_deref(), Some("Tick Tick"));
/// assert_eq!(name(None, "user-guide/README.md").as_deref(), Some("user guide"));
/// assert_eq!(name(None, "2024-05-01.txt"), None);
/// ```
pub fn name(title: Option<&str>, path: &str) -> Option<String> {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let title = title.map(on_one_line);
    let words =
        |name: &str| name.split(['_', '-', '.', ' ', '+']).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
    title.into_iter().chain([stem].into_iter().chain(parts.take(1)).map(words)).find(|name| says_something(name))
}

fn says_something(name: &str) -> bool {
    let letters = name.chars().filter(|c| c.is_alphabetic()).count();
    let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    // A hash, whole or in groups. `deadbeef` and `decade 90` are not hashes.
    let is_code = |word: &str| word.bytes().all(|b| b.is_ascii_hexdigit()) && (word.len() <= 4 || has_digit(word));
    let is_hash = name.len() >= 8 && has_digit(name) && name.split(' ').all(is_code);
    letters > 1 && !is_hash && !SAY_NOTHING.contains(&name.to_lowercase().as_str())
}
