//! Markup of another format inside of a document.

/// Returns whether lines of markup in another format have words to read.
pub(crate) fn shows_words<'t>(format: &str, mut lines: impl Iterator<Item = &'t str>) -> bool {
    if !format.to_ascii_lowercase().contains("html") {
        return lines.any(|line| !line.trim_start().starts_with('\\') && line.contains(char::is_alphabetic));
    }
    // Whether a tag is open, and a style or a script.
    let (mut tag, mut hidden) = (false, false);
    for line in lines {
        for (at, c) in line.char_indices() {
            match c {
                '<' => {
                    tag = true;
                    let name = line[at + 1..].trim_start_matches('/');
                    if ["style", "script"].iter().any(|hides| name.starts_with(hides)) {
                        hidden = !line[at + 1..].starts_with('/');
                    }
                }
                '>' => tag = false,
                _ if !tag && !hidden && c.is_alphabetic() => return true,
                _ => {}
            }
        }
    }
    false
}
