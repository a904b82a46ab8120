//! Mail: a message (`.eml`) or a mailbox (`.mbox`).
//!
//! `mail-parser` reads headers, addresses, dates and character sets, which are a world of their own. The parts of a
//! message are found here, see [`parts`]. The text that its author wrote is read, without what a program made of it: of
//! plain text and HTML that say the same, the first; HTML alone goes through the reader of pages. Attachments are other
//! documents, and only named.

mod parts;
#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;
mod text;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, LayerWriter, Place, ReadSettings, on_one_line};
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::decoders::{base64::base64_decode, charsets::map::charset_decoder};
use mail_parser::{Address, HeaderName, HeaderValue, Message, MessageParser};
use serde_json::Value;

use crate::html::write_part;
use parts::{Kind, Part};

/// Deepest message in a message that is read.
const MAX_NESTED: usize = 3;

/// Most names of attachments that are recorded.
const MAX_NAMES: usize = 200;

/// Longest name of an attachment that is a document, in bytes.
const MAX_NAME: usize = 200;

/// Called with the name and the bytes of each attachment.
type Attached<'a> = dyn FnMut(&str, &[u8]) + 'a;

/// Reads a message or a mailbox.
pub(crate) fn read(bytes: &[u8], writer: &mut LayerWriter, _: &ReadSettings) -> Result<(), Skip> {
    all(bytes, writer, &mut |_, _| ())
}

/// Calls a function with the name and the bytes of each file that is attached to a message, or to the messages of a
/// mailbox. A name has no `/` or control characters, and there is no other like it: `report.pdf`, `report (2).pdf`; in a
/// mailbox, it follows the number of the message: `12/report.pdf`.
pub fn attachments(bytes: &[u8], each: &mut dyn FnMut(&str, &[u8])) {
    let (mut used, mut counts) = (HashSet::new(), HashMap::new());
    let mut attached = |name: &str, bytes: &[u8]| {
        let (stem, extension) = name.rfind('.').map_or((name, ""), |dot| name.split_at(dot));
        let count = counts.entry(name.to_owned()).or_insert(0_usize);
        let free = loop {
            *count += 1;
            let name = if *count == 1 { name.to_owned() } else { format!("{stem} ({count}){extension}") };
            if used.insert(name.clone()) {
                break name;
            }
        };
        each(&free, bytes);
    };
    // The text itself is not wanted.
    let mut writer = LayerWriter::new("mail", usize::MAX);
    // A file that is no mail has no attachments.
    let _ = all(bytes, &mut writer, &mut attached);
}

fn all(bytes: &[u8], writer: &mut LayerWriter, attached: &mut Attached<'_>) -> Result<(), Skip> {
    writer.forget_bytes();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = Reader { parser: MessageParser::default(), writer, names: Vec::new(), attached, number: None };
    if bytes.starts_with(b"From ") {
        for (index, message) in messages(bytes).enumerate() {
            if reader.writer.is_full() {
                break;
            }
            reader.number = Some(index + 1);
            reader.message(&message, &format!("message {}", index + 1), Role::InMailbox);
        }
    } else {
        if bytes.contains(&0) && parts::headers(bytes).0.is_empty() {
            return Err(Skip::Malformed { format: "a mail", problem: "it has no headers".to_owned() });
        }
        reader.message(bytes, "message 1", Role::File);
    }
    let names: Vec<_> = reader.names.into_iter().map(Value::from).collect();
    if !names.is_empty() {
        writer.about().metadata.insert("attachments".to_owned(), names.into());
    }
    Ok(())
}

/// Returns the messages of a mailbox. Each begins with a line `From `, behind a blank line; in other lines, a `>` stands
/// before that word.
fn messages(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.next();
    let mut over = false;
    std::iter::from_fn(move || {
        if std::mem::replace(&mut over, true) {
            return None;
        }
        let mut message = Vec::new();
        let mut blank = false;
        for line in lines.by_ref() {
            if blank && line.starts_with(b"From ") {
                over = false;
                break;
            }
            blank = line.iter().all(u8::is_ascii_whitespace);
            let marks = line.iter().take_while(|byte| **byte == b'>').count();
            let quoted = marks > 0 && line[marks..].starts_with(b"From ");
            message.extend_from_slice(if quoted { &line[1..] } else { line });
        }
        Some(message)
    })
}

/// The role of a message in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// All of it.
    File,
    InMailbox,
    /// In a message, this deep.
    Nested(usize),
}

impl Role {
    /// Returns the level of its heading.
    fn level(self) -> u8 {
        match self {
            Self::File | Self::InMailbox => 1,
            Self::Nested(depth) => u8::try_from(depth + 1).unwrap_or(6),
        }
    }
}

struct Reader<'w, 'a> {
    parser: MessageParser,
    writer: &'w mut LayerWriter,
    /// The names of attachments.
    names: Vec<String>,
    attached: &'w mut Attached<'a>,
    /// The number of the message in its mailbox.
    number: Option<usize>,
}

impl Reader<'_, '_> {
    fn message(&mut self, bytes: &[u8], place: &str, role: Role) {
        let (mut head, start) = parts::headers(bytes);
        let empty = head.is_empty();
        let message = parts::parse(&self.parser, &mut head).filter(|_| !empty);
        self.writer.place(Place::new(place));
        self.head(message.as_ref(), role);
        let parts = parts::parts(&self.parser, bytes, message.as_ref(), start);
        let hidden = other_forms(&parts, bytes);
        for (part, hidden) in parts.iter().zip(hidden) {
            if self.writer.is_full() {
                break;
            }
            let body = &bytes[part.body.clone()];
            if !part.is_leaf() {
                continue;
            }
            if hidden {
                if part.kind.main == "text" {
                    self.writer.drop(DropReason::Repeated, &decoded_text(&part.kind, body));
                }
                continue;
            }
            let place = if part.path.is_empty() { place.to_owned() } else { format!("{place} part {}", part.path) };
            self.part(part, body, &place, role);
        }
    }

    /// Writes the subject as a heading, and who wrote it when: of the only message, as metadata of the file.
    fn head(&mut self, message: Option<&Message<'_>>, role: Role) {
        let Some(message) = message else { return };
        let subject = message.subject().map(on_one_line);
        let subject = subject.filter(|subject| !subject.is_empty());
        let entries = entries(message);
        if role == Role::File {
            let about = self.writer.about();
            about.title.clone_from(&subject);
            about.metadata.extend(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        }
        let known = role != Role::File && !entries.is_empty();
        let title = subject.or_else(|| known.then(|| "(no subject)".to_owned()));
        self.writer.heading(role.level(), &Inline::from(title.unwrap_or_default().as_str()), None);
        if known {
            let shown = ["from", "to", "date"].iter().filter_map(|shown| {
                let (_, value) = entries.iter().find(|(name, _)| name == shown)?;
                let value = value.as_array().map_or_else(
                    || value.as_str().unwrap_or_default().to_owned(),
                    |all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
                );
                Some(format!("{}{}: {value}", shown[..1].to_ascii_uppercase(), &shown[1..]))
            });
            self.writer.paragraph(&Inline::from(shown.collect::<Vec<_>>().join("\n").as_str()));
        }
    }

    fn part(&mut self, part: &Part, body: &[u8], place: &str, role: Role) {
        let kind = &part.kind;
        let is_message = kind.main == "message" && matches!(&*kind.sub, "rfc822" | "global" | "news");
        if is_message {
            let depth = if let Role::Nested(depth) = role { depth } else { 0 };
            let body = decoded(kind, body);
            if depth < MAX_NESTED {
                self.message(&body, place, Role::Nested(depth + 1));
            } else {
                self.writer.drop(DropReason::Limit, &String::from_utf8_lossy(&body));
            }
            return;
        }
        let is_text = matches!(&*kind.main, "text" | "message" | "multipart" | "");
        if kind.attached || !is_text || kind.name.is_some() && kind.sub != "plain" || kind.sub == "calendar" {
            self.attachment(kind, body, is_text);
            return;
        }
        let text = decoded_text(kind, body);
        self.writer.place(Place::new(place));
        match (&*kind.main, &*kind.sub) {
            // A page that no tree can be made of is kept as it is.
            ("text", "html") if write_part(&text, None, role.level(), self.writer).is_ok() => {}
            ("text", "x-patch" | "x-diff") => self.writer.code("diff", &Inline::from(&*text)),
            _ => text::write(&text, kind.flowed, kind.joined, self.writer),
        }
    }

    fn attachment(&mut self, kind: &Kind, body: &[u8], is_text: bool) {
        if let Some(name) = kind.name.as_ref().filter(|_| self.names.len() < MAX_NAMES) {
            self.names.push(name.clone());
            let plain = name.replace(|c: char| c.is_control() || matches!(c, '/' | '\\' | '#'), "_");
            let plain = &plain[plain.ceil_char_boundary(plain.len().saturating_sub(MAX_NAME))..];
            let plain = self.number.map_or_else(|| plain.to_owned(), |number| format!("{number}/{plain}"));
            (self.attached)(&plain, &decoded(kind, body));
        }
        if is_text {
            self.writer.drop(DropReason::Attachment, &decoded_text(kind, body));
        }
    }
}

/// Returns which parts are forms of a text that is there in a better one.
fn other_forms(parts: &[Part], bytes: &[u8]) -> Vec<bool> {
    // How good the text of each part is: plain text, HTML, other, none.
    let mut best = vec![3_u8; parts.len()];
    for (index, part) in parts.iter().enumerate().rev() {
        if part.is_leaf() {
            let blank = bytes[part.body.clone()].iter().all(u8::is_ascii_whitespace);
            best[index] = match (&*part.kind.main, &*part.kind.sub) {
                _ if blank || part.kind.attached => 3,
                ("text", "plain") => 0,
                ("text", "html") => 1,
                _ => 2,
            };
        }
        if let Some(parent) = part.parent {
            best[parent] = best[parent].min(best[index]);
        }
    }
    let mut hidden = vec![false; parts.len()];
    let mut chosen = vec![false; parts.len()];
    for (index, part) in parts.iter().enumerate() {
        let Some(parent) = part.parent else { continue };
        let around = &parts[parent].kind;
        let is_best = best[index] == best[parent] && !chosen[parent];
        chosen[parent] |= is_best;
        hidden[index] = hidden[parent] || !is_best && around.main == "multipart" && around.sub == "alternative";
    }
    hidden
}

/// Returns the metadata that a message declares.
fn entries(message: &Message<'_>) -> Vec<(&'static str, Value)> {
    let mut entries = Vec::new();
    let text = |names: Vec<String>| if names.len() == 1 { Value::from(names.concat()) } else { Value::from(names) };
    let people = [("from", HeaderName::From), ("to", HeaderName::To), ("cc", HeaderName::Cc)];
    for (name, header) in people {
        let people = message.header(header).and_then(HeaderValue::as_address).map(addresses).unwrap_or_default();
        if !people.is_empty() {
            entries.push((name, text(people)));
        }
    }
    if let Some(date) = message.date().filter(|date| date.is_valid()) {
        entries.push(("date", Value::from(date.to_rfc3339())));
    }
    for (name, header) in [("message_id", HeaderName::MessageId), ("in_reply_to", HeaderName::InReplyTo)] {
        let ids = match message.header(header) {
            Some(HeaderValue::Text(id)) => vec![id.to_string()],
            Some(HeaderValue::TextList(ids)) => ids.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        if !ids.is_empty() {
            entries.push((name, text(ids)));
        }
    }
    entries
}

/// Returns addresses as they are written: `Name <name@example.org>`.
fn addresses(all: &Address<'_>) -> Vec<String> {
    let one = |name: Option<&str>, address: Option<&str>| match (name, address) {
        (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
        (name, address) => name.or(address).map(str::to_owned),
    };
    all.iter().take(MAX_NAMES).filter_map(|person| one(person.name(), person.address())).collect()
}

/// Returns the content of a part without its encoding. If it cannot be decoded, it stays as it is.
fn decoded<'b>(kind: &Kind, body: &'b [u8]) -> Cow<'b, [u8]> {
    let decoded = match &*kind.encoding {
        "base64" => base64_decode(body),
        "quoted-printable" => quoted_printable_decode(body),
        _ => None,
    };
    decoded.map_or(Cow::Borrowed(body), Cow::Owned)
}

/// Returns the text of a part in its character set. If it declares none, or one that is not known, that is UTF-8, or
/// else Windows-1252.
fn decoded_text(kind: &Kind, body: &[u8]) -> String {
    let body = decoded(kind, body);
    let unicode = || std::str::from_utf8(&body).ok().map(str::to_owned);
    let charset = kind.charset.as_deref().unwrap_or_default().to_ascii_lowercase();
    let declared = !matches!(&*charset, "" | "utf-8" | "utf8" | "us-ascii" | "ascii");
    let decoder = charset_decoder(charset.as_bytes()).filter(|_| declared);
    if let Some(decode) = decoder {
        return decode(&body);
    }
    let western = || charset_decoder(b"windows-1252").map(|decode| decode(&body));
    unicode().or_else(western).unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned())
}
