//! Splits a link's target, as its author wrote it, into its parts.

use std::borrow::Cow;

use chunkmill_text::document::after_scheme;
use percent_encoding::percent_decode_str;

/// Returns whether a target leads out of the corpus: whether it has a scheme or a host. A name may contain a colon,
/// so for names only `scheme://` counts.
pub(super) fn is_external(target: &str, named: bool) -> bool {
    if target.starts_with("//") {
        return true;
    }
    after_scheme(target).is_some_and(|rest| !named || rest.starts_with("//"))
}

/// Returns the path and fragment of a link, without its query. Both are still percent-encoded.
pub(super) fn path(target: &str) -> (&str, Option<&str>) {
    let (before, fragment) = split_fragment(target);
    (before.split_once('?').map_or(before, |(path, _)| path), fragment)
}

/// Returns the name and heading of a wikilink. If headings are nested (`a#b`), the last one counts. The backslash
/// that keeps `|` from ending a table cell is not part of the name.
pub(super) fn name(target: &str) -> (&str, Option<&str>) {
    let (name, heading) = split_fragment(target.strip_suffix('\\').unwrap_or(target));
    (name.trim(), heading.map(|heading| heading.rsplit('#').next().unwrap_or(heading).trim()))
}

fn split_fragment(target: &str) -> (&str, Option<&str>) {
    target.split_once('#').map_or((target, None), |(before, fragment)| (before, Some(fragment)))
}

/// Undoes percent-encoding. If the result would not be valid text, the input is returned unchanged.
pub(super) fn decode(encoded: &str) -> Cow<'_, str> {
    percent_decode_str(encoded).decode_utf8().unwrap_or(Cow::Borrowed(encoded))
}

/// A path in a collection: a file, unless only a folder can be meant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LinkPlace {
    pub(super) path: String,
    pub(super) is_folder: bool,
}

/// Follows `path` from `folder`, or from the collection's root if it starts with `/`. Returns `None` if it climbs
/// above the root.
pub(super) fn follow(folder: &str, path: &str) -> Option<LinkPlace> {
    let start = if path.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let is_folder = matches!(path.rsplit('/').next(), Some("" | "." | ".."));
    Some(LinkPlace { path: parts.join("/"), is_folder })
}
