//! Output: the only module that writes to standard output and standard error.
//!
//! Documents, paths, settings and services may contain control sequences that clear the screen, rename the window,
//! or reverse the direction of a line. In a message, readers cannot tell them from the program's own text. All
//! output is therefore escaped here, whether or not it is written to a terminal. Colours and progress bars come
//! from libraries; their input has passed through [`visible`] or consists of numbers.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use serde::Serialize;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::Error;

/// Makes a text safe to display: escapes control characters, and characters that change the direction of a line or
/// end it, like `\x1b` and `\u{202e}`. Keeps line feeds and tabs; removes a carriage return before a line feed.
pub fn visible(text: &str) -> Cow<'_, str> {
    let candidate = |byte: u8| byte < b' ' || matches!(byte, 0x7f | 0xc2 | 0xe2);
    let shown = spelled(
        text.as_bytes(),
        |bytes| bytes.iter().position(|&byte| candidate(byte)),
        |c, rest| match c {
            '\r' if rest.first() == Some(&b'\n') => String::new(),
            '\r' => "\\r".to_owned(),
            c if c.is_ascii() => format!("\\x{:02x}", u32::from(c)),
            c => format!("\\u{{{:x}}}", u32::from(c)),
        },
    );
    match shown {
        Cow::Borrowed(_) => text.into(),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
    }
}

/// Escapes the characters in JSON that a terminal would interpret, without changing the value. JSON has already
/// escaped the characters below the space; the others occur only in strings, where an escape means the same.
fn visible_json(json: &[u8]) -> Cow<'_, [u8]> {
    spelled(json, |bytes| memchr::memchr3(0x7f, 0xc2, 0xe2, bytes), |c, _| format!("\\u{:04x}", u32::from(c)))
}

/// Escapes hidden characters. `next` finds a byte that may begin one; `spell` gets the character and the text after
/// it.
fn spelled(text: &[u8], next: impl Fn(&[u8]) -> Option<usize>, spell: impl Fn(char, &[u8]) -> String) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let (mut done, mut at) = (0, 0);
    while let Some(step) = next(&text[at..]) {
        at += step;
        let Some((c, len)) = hidden(&text[at..]) else {
            at += 1;
            continue;
        };
        out.extend_from_slice(&text[done..at]);
        at += len;
        done = at;
        out.extend_from_slice(spell(c, &text[at..]).as_bytes());
    }
    if done == 0 {
        return text.into();
    }
    out.extend_from_slice(&text[done..]);
    out.into()
}

/// Returns the first character and its length if terminals must not get it: C0 except line feed and tab, DEL, C1,
/// the line and paragraph separators, and the characters that embed, override or isolate a direction. Joiners and
/// plain direction marks are allowed: scripts need them, and they are harmless.
fn hidden(text: &[u8]) -> Option<(char, usize)> {
    let from = |first: u32, byte: u8, least: u8| char::from_u32(first + u32::from(byte - least));
    match *text {
        [b'\n' | b'\t', ..] => None,
        [byte @ (0..=0x1f | 0x7f), ..] => Some((byte.into(), 1)),
        [0xc2, byte @ 0x80..=0x9f, ..] => Some((byte.into(), 2)),
        [0xe2, 0x80, byte @ 0xa8..=0xae, ..] => Some((from(0x2028, byte, 0xa8)?, 3)),
        [0xe2, 0x81, byte @ 0xa6..=0xa9, ..] => Some((from(0x2066, byte, 0xa6)?, 3)),
        _ => None,
    }
}

/// Writes a line of the result, for people.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: impl Display) -> anyhow::Result<()> {
    write_out(visible(&format!("{text}\n")).as_bytes())
}

/// Writes a line of the result, for programs.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print_json_lines((serde_json::to_string(value)? + "\n").as_bytes())
}

/// Writes JSON on several lines, for both people and programs.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_json_pretty(value: &impl Serialize) -> anyhow::Result<()> {
    print_json_lines((serde_json::to_string_pretty(value)? + "\n").as_bytes())
}

/// Writes whole lines of JSON.
pub(super) fn print_json_lines(lines: &[u8]) -> anyhow::Result<()> {
    write_out(&visible_json(lines))
}

fn write_out(bytes: &[u8]) -> anyhow::Result<()> {
    io::stdout().lock().write_all(bytes).context("cannot write to standard output")
}

/// Returns standard output for binary data, which must not be written to a terminal.
pub(super) fn binary() -> Result<impl Write, Error> {
    let out = io::stdout().lock();
    if out.is_terminal() {
        return Err(Error::setting(
            "standard output",
            "is a terminal, and the result is binary",
            "write it to a file with `> FILE`, or pipe it into a program",
        ));
    }
    Ok(out)
}

/// Writes a text to standard error in one piece, without adding a line end.
pub fn tell(text: impl Display) {
    let _ = io::stderr().write_all(visible(&text.to_string()).as_bytes());
}

/// Whether standard error is a terminal.
pub(super) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Sets up [`tracing`] to log to standard error.
pub(super) fn log(level: LevelFilter) {
    let color = is_watched() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .fmt_fields(VisibleFields)
        .with_ansi(color)
        .with_target(false)
        .without_time();
    // Log lines of libraries are for developers of chunkmill; users see library failures as errors.
    let theirs = if level == LevelFilter::DEBUG { level } else { LevelFilter::OFF };
    let ours = Targets::new().with_target("chunkmill", level).with_default(theirs);
    tracing_subscriber::registry().with(lines).with(ours).init();
}

/// Formats the fields of an event with [`visible`]. The rest of its line, including colours, comes from the program.
struct VisibleFields;

impl<'writer> FormatFields<'writer> for VisibleFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&visible(&text))
    }
}
