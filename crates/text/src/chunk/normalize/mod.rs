//! The cleaned text of a chunk, which the model sees instead of the raw text.
//!
//! The raw text stays what it is: bytes of the file. But the model gains nothing from white space that is only
//! layout, it sees two texts where a user sees one if accents are encoded in two ways, and it puts secrets in URLs
//! into vectors and datasets. This module therefore makes a second text, as a pure function of the document, the
//! chunk's place in it, and four switches.
//!
//! Nothing but white space is lost, except for what redaction removes, and Markdown structure stays: see
//! [`Normalizer`] for the rules.

mod blocks;
mod destination;
mod urls;
mod whitespace;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::LazyLock;

use icu_normalizer::ComposingNormalizerBorrowed;
use regex::Regex;
use url::{ParseError, Url};

use self::blocks::blocks_in;
use self::destination::Destination;
use self::whitespace::Cleaner;
use super::repeats::Repeats;
use crate::document::{Block, BlockKind, Document, Format};

/// How far before a chunk an element that extends into it may start. This bounds the work for each chunk.
const LOOK_BACK: usize = 64 << 10;

/// HTML elements in which white space is significant, as in code. An element without an end extends to the end of
/// its block. The value is `None` only if the pattern is wrong, which a test would show.
static PREFORMATTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let element = |name| format!(r"<{name}[\s/>].*?(?:</{name}[\s/>]|\z)");
    Regex::new(&format!("(?is){}", ["pre", "script", "style", "textarea"].map(element).join("|"))).ok()
});

/// The kinds of cleaning to do. With every switch off, a text stays as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Normalizer<'a> {
    /// Line ends become one line feed. Outside code, white space inside a line becomes one space, white space at
    /// the end of a line is removed, and several blank lines become one. Blank lines at the start and the end of
    /// the text are removed.
    ///
    /// In Markdown, spaces and tabs at the start of a line, quote marks and list markers stay as they are, because
    /// they express nesting. In plain text, spaces and tabs there stay, because every file of an unknown format is
    /// plain text. Code is a code block, a `<pre>`-like element of an HTML block, and every line of a format that
    /// is neither Markdown nor plain text. Zero-width characters are not white space.
    pub whitespace: bool,
    /// Unicode is converted to its composed form, NFC, in code as well.
    pub unicode: bool,
    /// URLs lose their query, user name and password; a fragment stays. This applies to every `scheme://`, in code
    /// as well, because secrets leak from there too, and to the destinations of relative links.
    pub redact_urls: bool,
    /// The URL of the corpus root. Relative destinations of links, images and reference definitions become
    /// absolute, resolved from the document's own path below it. Wikilinks and links inside the document (`#part`)
    /// stay.
    pub base_url: Option<&'a Url>,
}

/// The replacement for a range of the document. Its text is empty unless the whole range is in the chunk.
struct Edit {
    range: Range<usize>,
    text: String,
}

impl Normalizer<'_> {
    /// Cleans a chunk: the bytes `range` of the document, with what it repeats around them. Time is linear in its
    /// content.
    pub fn normalize(&self, document: &Document, repeats: &Repeats, range: Range<usize>) -> String {
        let parts = parts(document, repeats, range);
        let mut text = if self.whitespace {
            let mut cleaner = Cleaner::new(document.format.is_like_markdown());
            for part in &parts {
                match part {
                    ContentPart::Text(text) => cleaner.prose(&self.redacted(text)),
                    ContentPart::Range(range) => clean(&mut cleaner, document, range, &self.edits(document, range)),
                }
            }
            cleaner.finish()
        } else {
            let text = |part: &ContentPart| match part {
                ContentPart::Text(text) => self.redacted(text).into_owned(),
                ContentPart::Range(range) => edited(&document.text, range, &self.edits(document, range)).into_owned(),
            };
            parts.iter().map(text).collect()
        };
        text.push_str(repeats.after(document));
        if !self.unicode {
            return text;
        }
        match ComposingNormalizerBorrowed::new_nfc().normalize(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(composed) => composed,
        }
    }

    /// Returns the absolute URL of a link or image, for a reader who does not have the document. The target must
    /// come from [`Document::links`], but not from a wikilink. `None` if it is relative and there is no base, or
    /// if it is not a URL.
    pub fn absolute(&self, document: &Document, target: &str) -> Option<String> {
        // The characters of a password can turn this into the URL of another host, or into no URL at all.
        let target = self.redacted(target);
        let url = match Url::parse(&target) {
            Ok(url) if self.redact_urls && url.has_authority() => url,
            Ok(_) => return Some(target.into_owned()),
            Err(ParseError::RelativeUrlWithoutBase) => self.document_url(document)?.join(&target).ok()?,
            Err(_) => return None,
        };
        Some(self.finish(url))
    }

    /// Returns the document's own URL: its path below the base, which is a folder even if it does not end in a
    /// slash.
    fn document_url(&self, document: &Document) -> Option<Url> {
        let mut url = self.base_url?.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.path_segments_mut().ok()?.pop_if_empty().extend(document.origin.path.split('/'));
        Some(url)
    }

    fn redacted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.redact_urls { redacted(text) } else { Cow::Borrowed(text) }
    }

    fn finish(&self, mut url: Url) -> String {
        if self.redact_urls {
            url.set_query(None);
            // These fail only for a URL that cannot have a user.
            let _ = url.set_username("");
            let _ = url.set_password(None);
        }
        url.into()
    }

    /// Returns the changes that redaction and the base make in a range, in order and without overlap.
    fn edits(&self, document: &Document, range: &Range<usize>) -> Vec<Edit> {
        let mut edits = Vec::new();
        if self.redact_urls || self.base_url.is_some() {
            let own = self.document_url(document);
            let found = |destination: Destination| self.edit(&document.text, own.as_ref(), destination);
            edits.extend(destination::find(document, range).filter_map(found));
        }
        if self.redact_urls {
            let table = |at: usize| block_at(document, at).is_some_and(|block| block.kind == BlockKind::Table);
            urls::private_parts(&document.text, range, &table, |range| edits.push(Edit { range, text: String::new() }));
        }
        edits.sort_by_key(|edit| (edit.range.start, Reverse(edit.range.end)));
        let mut end = 0;
        edits.retain_mut(|edit| {
            edit.range.start = edit.range.start.max(end);
            end = end.max(edit.range.end);
            !edit.range.is_empty()
        });
        edits
    }

    fn edit(&self, text: &str, own: Option<&Url>, Destination { range, target }: Destination) -> Option<Edit> {
        let raw = &text[range.clone()];
        let absolute = match Url::parse(&target) {
            Ok(url) if url.has_authority() => None,
            Err(ParseError::RelativeUrlWithoutBase) if target.starts_with('#') => return None,
            Err(ParseError::RelativeUrlWithoutBase) => own.and_then(|own| own.join(&target).ok()),
            _ => return None,
        };
        if let Some(url) = absolute {
            let url = self.finish(url);
            // Parentheses that were escaped must be escaped again.
            let text = if raw.contains('\\') { url.replace('(', "%28").replace(')', "%29") } else { url };
            return Some(Edit { range, text });
        }
        let query = urls::query(raw).filter(|_| self.redact_urls)?;
        Some(Edit { range: range.start + query.start..range.start + query.end, text: String::new() })
    }
}

/// Part of the content of a chunk.
enum ContentPart {
    /// Text that the document has nowhere: headings with the marks of their level, and blank lines.
    Text(String),
    /// Bytes of the document, whose structure is known.
    Range(Range<usize>),
}

/// Returns the parts of a chunk's content, except what it repeats after its own text.
fn parts(document: &Document, repeats: &Repeats, range: Range<usize>) -> Vec<ContentPart> {
    let mut parts =
        vec![ContentPart::Text(repeats.heading_lines(document)), ContentPart::Range(repeats.opening.clone())];
    let mut start = range.start;
    match &repeats.overlap {
        Some(overlap) if overlap.end == range.start => start = overlap.start,
        Some(overlap) => {
            parts.extend([ContentPart::Range(overlap.clone()), ContentPart::Text(repeats.gap(range.start).to_owned())]);
        }
        None => {}
    }
    parts.push(ContentPart::Range(start..range.end));
    parts
}

fn redacted(text: &str) -> Cow<'_, str> {
    let mut edits = Vec::new();
    let all = 0..text.len();
    urls::private_parts(text, &all, &|_| false, |range| edits.push(Edit { range, text: String::new() }));
    edited(text, &all, &edits)
}

/// Returns a range of a text with its edits made. If an edit began before the range, its rest is left out.
fn edited<'t>(text: &'t str, range: &Range<usize>, edits: &[Edit]) -> Cow<'t, str> {
    let first = edits.partition_point(|edit| edit.range.end <= range.start);
    let mut edits = edits[first..].iter().take_while(|edit| edit.range.start < range.end).peekable();
    if edits.peek().is_none() {
        return Cow::Borrowed(&text[range.clone()]);
    }
    let mut out = String::with_capacity(range.len());
    let mut at = range.start;
    for edit in edits {
        if edit.range.start >= range.start {
            out.push_str(&text[at..edit.range.start]);
            out.push_str(&edit.text);
        }
        at = edit.range.end.min(range.end);
    }
    out.push_str(&text[at..range.end]);
    Cow::Owned(out)
}

fn clean(cleaner: &mut Cleaner, document: &Document, range: &Range<usize>, edits: &[Edit]) {
    if document.format != Format::Text && !document.format.is_like_markdown() {
        cleaner.code(&edited(&document.text, range, edits));
        return;
    }
    let mut at = range.start;
    for code in code_in(document, range) {
        cleaner.prose(&edited(&document.text, &(at..code.start), edits));
        cleaner.code(&edited(&document.text, &code, edits));
        at = code.end;
    }
    cleaner.prose(&edited(&document.text, &(at..range.end), edits));
}

/// Returns the parts of a range in which white space is significant, in order.
fn code_in<'d>(document: &'d Document, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<'d> {
    let Range { start, end } = *range;
    let mut at = start;
    let clip = move |code: Range<usize>| {
        let code = code.start.max(at)..code.end.min(end);
        at = at.max(code.end);
        code
    };
    let code = blocks_in(document, range).iter().flat_map(move |block| match block.kind {
        BlockKind::Code => vec![block.range.clone()],
        BlockKind::Html => preformatted(&document.text, block, start, end),
        _ => Vec::new(),
    });
    code.map(clip).filter(|code| !code.is_empty())
}

/// Returns the elements of an HTML block in which white space is significant, as far as a chunk needs them.
fn preformatted(text: &str, block: &Block, start: usize, end: usize) -> Vec<Range<usize>> {
    let from = block.range.start.max(text.ceil_char_boundary(start.saturating_sub(LOOK_BACK)));
    let html = text.get(from..block.range.end.min(end)).unwrap_or_default();
    let elements = PREFORMATTED.iter().flat_map(|pattern: &Regex| pattern.find_iter(html));
    elements.map(|element| from + element.start()..from + element.end()).collect()
}

/// Returns the block that contains a byte, if no block inside it starts before the byte.
fn block_at(document: &Document, at: usize) -> Option<&Block> {
    let before = document.blocks.partition_point(|block| block.range.start <= at);
    document.blocks[..before].last().filter(|block| block.range.contains(&at))
}
