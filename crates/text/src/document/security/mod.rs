//! Finds what makes a document risky to show on a web page or to pass to a language model.
//!
//! A signal is a fact about some bytes. It is found once, when the document is parsed, and every chunk that
//! contains some of these bytes can carry it. A [`SecurityProfile`] decides which facts keep a document out.
//! Markup is judged as the parser reads it: a tag in code is text, because no page runs it. Hidden characters and
//! instructions to a model count everywhere, because a model reads code as well. But instructions in code or in a
//! string are [quoted](Signal::quoted): the default profile records them and does not block the document.

mod clues;
mod html;
mod invisible;
mod phrases;
mod quoted;
mod signal;
mod target;
mod words;

pub use signal::{MANY_SIGNALS, MAX_SIGNALS, SecurityProfile, Signal, SignalKind};
pub use target::after_scheme;

use super::format::Format;
use super::parsed::ParsedBody;
use quoted::Quotations;
use signal::Signals;

/// Returns the signals of a text in order of their starts, and whether there were more than are recorded.
pub(super) fn scan(text: &str, path: &str, format: Format, ascii: bool, parsed: &ParsedBody) -> (Vec<Signal>, bool) {
    let mut found = Signals::default();
    if !ascii {
        invisible::scan(text, &mut found);
    }
    let quotations = Quotations::new(text, path, format, parsed);
    phrases::scan(text, ascii, &quotations, &mut found);
    for link in &parsed.links {
        target::link(text, path, link, &mut found);
    }
    html::scan(text, path, &parsed.markup, &mut found);
    found.all.sort_by_key(|signal| (signal.range.start, signal.range.end, signal.kind));
    (found.all, found.many)
}
