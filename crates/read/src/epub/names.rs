//! The names of pages and places in a book, and the references to them.

use chunkmill_text::document::after_scheme;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::package::resolved;

/// The format, in messages.
pub(super) const FORMAT: &str = "a book";

/// Characters that a target would not be read with.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'(').add(b')').add(b'<').add(b'>');

/// Returns the part that a reference in another part leads to, and the name of the element there, which may be empty;
/// `None` if the reference leads out of the book.
pub(super) fn follow(from: &str, reference: &str) -> Option<(String, String)> {
    let reference = reference.trim();
    if reference.starts_with("//") || after_scheme(reference).is_some() {
        return None;
    }
    let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let path = path.split('?').next().unwrap_or_default();
    let part = if path.is_empty() {
        from.to_owned()
    } else {
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        resolved(folder, &decoded_name(path))
    };
    Some((part, decoded_name(fragment)))
}

/// Undoes percent-encoding. If the result would not be text, the name stays as it is.
pub(super) fn decoded_name(name: &str) -> String {
    percent_decode_str(name).decode_utf8().map_or_else(|_| name.to_owned(), std::borrow::Cow::into_owned)
}

/// Returns the name of a part as the book has it: without the folder that the whole book is in.
pub(super) fn short_name(folder: &str, part: &str) -> String {
    if folder.is_empty() {
        return part.to_owned();
    }
    let inside = part.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    inside.map_or_else(|| format!("/{part}"), str::to_owned)
}

/// Returns the name of an element, or of a page if there is no element.
pub(super) fn place_name(page: &str, element: &str) -> String {
    if element.is_empty() { page.to_owned() } else { format!("{page}#{element}") }
}

/// Returns the target of a link to a place in the same document.
pub(super) fn target(place: &str) -> String {
    format!("#{}", utf8_percent_encode(place, ENCODED))
}
