//! Output: the only module that writes to standard output and standard error. All texts are escaped, whether or not they
//! are written to a terminal. Colours and progress bars come from libraries; their input has passed through [`visible`] or
//! consists of numbers.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use serde::Serialize;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::escape::{visible, visible_json};
use super::line::{Line, Look, Screen, wrapped};
use crate::error::Error;

/// Writes a line of the result, for people.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: impl Display) -> anyhow::Result<()> {
    write_out(visible(&format!("{text}\n")).as_bytes())
}

/// Returns what standard output can show. `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` decide first.
pub(super) fn screen() -> Screen {
    static SCREEN: LazyLock<Screen> = LazyLock::new(|| {
        let out = io::stdout();
        let colors = AutoStream::choice(&out) != ColorChoice::Never;
        let width = out.is_terminal().then(terminal_size::terminal_size).flatten();
        let links = colors && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout);
        Screen { colors, links, width: width.map(|(width, _)| width.0.into()) }
    });
    *SCREEN
}

/// Returns what standard error can show. Messages are not cut.
fn screen_of_messages() -> Screen {
    let colors = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    Screen { colors, links: false, width: None }
}

/// Writes a line of the result, for people, as the terminal can show it.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print_line(line: &Line) -> anyhow::Result<()> {
    write_out((line.on(screen()) + "\n").as_bytes())
}

/// Returns the number of columns of the terminal that messages are written to; `None` if they are not.
pub fn width_of_messages() -> Option<usize> {
    let size = io::stderr().is_terminal().then(terminal_size::terminal_size).flatten();
    size.map(|(width, _)| width.0.into())
}

/// Writes a line to standard error. Its parts stand out on a terminal, and it is not cut.
pub fn tell_line(line: &Line) {
    let _ = io::stderr().write_all((line.on(screen_of_messages()) + "\n").as_bytes());
}

/// Writes an error to standard error. Its beginning, and that of its advice, stand out.
pub(super) fn tell_error(error: &str) {
    let screen = screen_of_messages();
    let label = |look: Look, text: &str| Line::default().with(look, text).on(screen);
    let parts: Vec<_> = error.split("\n  help:").map(visible).collect();
    let between = format!("\n  {}", label(Look::Help, "help:"));
    let text = format!("{} {}\n", label(Look::Error, "error:"), parts.join(&between));
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes sentences of the result, for people. On a terminal, their lines break between words.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_prose(text: impl Display) -> anyhow::Result<()> {
    print(wrapped(&text.to_string(), screen().width))
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

/// Writes progress or a remark to standard error like [`tell`], unless only errors are wanted.
pub fn note(text: impl Display) {
    if LevelFilter::current() > LevelFilter::ERROR {
        tell(text);
    }
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
