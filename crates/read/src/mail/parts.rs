//! The parts of a message: where each starts and ends, and what it is.
//!
//! `mail-parser` also finds parts, but looks for a boundary that is not there up to the end of the file, for each part
//! that names one, and nests messages without limit. One pass over the lines does not: a line is compared with the
//! boundaries that are open, of which there are a few.

use std::ops::Range;

use mail_parser::{ContentType, HeaderName, HeaderValue, Message, MessageParser};

/// Deepest nesting of parts. A part of parts that is deeper is text.
const MAX_DEPTH: usize = 32;

/// Most bytes of the headers of a part that are read.
const MAX_HEADERS: usize = 1 << 18;

/// Most parts of a message. The rest is text of the last one.
const MAX_PARTS: usize = 20_000;

/// A part of a message. Parts are in the order of the file, each before those inside it.
#[derive(Debug)]
pub(super) struct Part {
    /// The index of the part that it is inside of.
    pub(super) parent: Option<usize>,
    /// Its number in that: `1.2`.
    pub(super) path: String,
    pub(super) kind: Kind,
    /// Its content, still encoded.
    pub(super) body: Range<usize>,
    boundary: Option<Vec<u8>>,
    children: usize,
    depth: usize,
}

/// The properties of a part, from its headers.
#[derive(Debug, Clone, Default)]
pub(super) struct Kind {
    /// Its media type, in lower case.
    pub(super) main: String,
    pub(super) sub: String,
    pub(super) charset: Option<String>,
    /// `quoted-printable` or `base64`, in lower case.
    pub(super) encoding: String,
    pub(super) name: Option<String>,
    pub(super) attached: bool,
    /// Whether its lines may be joined, and whether the space is left out then.
    pub(super) flowed: bool,
    pub(super) joined: bool,
}

impl Part {
    /// Returns whether no parts are inside it.
    pub(super) fn is_leaf(&self) -> bool {
        self.children == 0
    }
}

impl Kind {
    fn of(headers: Option<&Message<'_>>, digest: bool) -> (Self, Option<Vec<u8>>) {
        let mut kind = Self { main: "text".into(), sub: "plain".into(), ..Self::default() };
        if digest {
            (kind.main, kind.sub) = ("message".into(), "rfc822".into());
        }
        let Some(headers) = headers else { return (kind, None) };
        let header = |name| headers.header(name).and_then(HeaderValue::as_content_type);
        let mut boundary = None;
        if let Some(content) = header(HeaderName::ContentType) {
            kind.main = content.ctype().to_ascii_lowercase();
            kind.sub = content.subtype().unwrap_or_default().to_ascii_lowercase();
            kind.charset = content.attribute("charset").map(str::to_owned);
            kind.name = content.attribute("name").map(str::to_owned);
            let is = |name: &str, value: &str| content.attribute(name).is_some_and(|is| is.eq_ignore_ascii_case(value));
            (kind.flowed, kind.joined) = (is("format", "flowed"), is("delsp", "yes"));
            boundary = content.attribute("boundary").map(|boundary| boundary.trim_end().as_bytes().to_vec());
        }
        if let Some(disposition) = header(HeaderName::ContentDisposition) {
            kind.attached = ContentType::is_attachment(disposition);
            kind.name = disposition.attribute("filename").map(str::to_owned).or(kind.name);
        }
        let encoding = headers.header(HeaderName::ContentTransferEncoding).and_then(HeaderValue::as_text);
        kind.encoding = encoding.unwrap_or_default().trim().to_ascii_lowercase();
        let boundary = boundary.filter(|boundary| kind.main == "multipart" && !boundary.is_empty());
        (kind, boundary)
    }
}

/// Returns the headers at the start of a message or part, and where the content starts. A text without headers has none.
pub(super) fn headers(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut at = 0;
    let mut read = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let blank = line.iter().all(u8::is_ascii_whitespace);
        let folded = line.starts_with(b" ") || line.starts_with(b"\t");
        if !blank && !folded && !is_header(line) {
            // The content begins at a line that is not a header, even without a blank line before it.
            return (read, at);
        }
        at += line.len();
        if blank {
            break;
        }
        if read.len() + line.len() <= MAX_HEADERS {
            read.extend_from_slice(line);
        }
    }
    (read, at)
}

fn is_header(line: &[u8]) -> bool {
    let name = line.iter().position(|byte| *byte == b':').map(|colon| line[..colon].trim_ascii_end());
    name.is_some_and(|name| !name.is_empty() && name.len() <= 100 && name.iter().all(u8::is_ascii_graphic))
}

/// Reads headers, if there are any.
pub(super) fn parse<'h>(parser: &MessageParser, headers: &'h mut Vec<u8>) -> Option<Message<'h>> {
    headers.extend_from_slice(b"\n\n");
    parser.parse_headers(headers.as_slice())
}

/// Returns the parts of a message, whose own headers end at `start`.
pub(super) fn parts(parser: &MessageParser, bytes: &[u8], message: Option<&Message<'_>>, start: usize) -> Vec<Part> {
    let (kind, boundary) = Kind::of(message, false);
    let mut parts = vec![Part {
        parent: None,
        path: String::new(),
        kind,
        body: start..bytes.len(),
        boundary,
        children: 0,
        depth: 0,
    }];
    // The part whose content is read.
    let mut open = Some(0);
    let mut at = start;
    while at < bytes.len() {
        let line = at..at + bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len() - at, |end| end + 1);
        let next = line.end;
        let boundary = if parts.len() < MAX_PARTS { boundary_of(&parts, open, &bytes[line]) } else { None };
        if let Some((owner, last)) = boundary {
            close(&mut parts, open, owner, at);
            if last {
                // Behind the last boundary, the part around it goes on.
                parts[owner].body.end = at;
                parts[owner].boundary = None;
                open = Some(owner);
            } else {
                let (part, body) = part(parser, &parts, owner, &bytes[next..]);
                parts[owner].children += 1;
                open = Some(parts.len());
                at = next + body;
                parts.push(Part { body: at..bytes.len(), ..part });
                continue;
            }
        }
        at = next;
    }
    parts
}

/// Reads the headers of a part, and returns where its content starts.
fn part(parser: &MessageParser, parts: &[Part], owner: usize, bytes: &[u8]) -> (Part, usize) {
    let around = &parts[owner];
    let (mut read, body) = headers(until_boundary(bytes));
    let message = parse(parser, &mut read);
    let (kind, boundary) = Kind::of(message.as_ref(), around.kind.sub == "digest");
    let number = around.children + 1;
    let path = if around.path.is_empty() { number.to_string() } else { format!("{}.{number}", around.path) };
    let depth = around.depth + 1;
    let boundary = boundary.filter(|_| depth < MAX_DEPTH);
    (Part { parent: Some(owner), path, kind, body: 0..0, boundary, children: 0, depth }, body)
}

/// Headers do not go on behind a line that may be a boundary.
fn until_boundary(bytes: &[u8]) -> &[u8] {
    if bytes.starts_with(b"--") { &[] } else { bytes }
}

/// Returns the open part whose boundary a line is, and whether it is the last one.
fn boundary_of(parts: &[Part], open: Option<usize>, line: &[u8]) -> Option<(usize, bool)> {
    let line = line.strip_prefix(b"--")?.trim_ascii_end();
    let mut at = open;
    while let Some(index) = at {
        let part = parts.get(index)?;
        if let Some(rest) = part.boundary.as_deref().and_then(|boundary| line.strip_prefix(boundary))
            && (rest.is_empty() || rest == b"--")
        {
            return Some((index, !rest.is_empty()));
        }
        at = part.parent;
    }
    None
}

/// Ends the content of the parts inside `owner`.
fn close(parts: &mut [Part], open: Option<usize>, owner: usize, end: usize) {
    let mut at = open;
    while let Some(index) = at.filter(|index| *index != owner) {
        let part = &mut parts[index];
        part.body.end = part.body.end.min(end).max(part.body.start);
        at = part.parent;
    }
}
