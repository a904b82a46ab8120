//! Jupyter notebooks, of the formats 3 and 4: what their cells say, in order.
//!
//! `serde_json` says whether the file is JSON, but not where a string is. A small scanner of our own does, so each line of a
//! cell is known by its bytes. Cells of Markdown are parsed as Markdown, because that is what their author wrote; this is
//! the only format whose text is. Outputs are left out by default: they repeat what the code says, and often they are
//! pictures, progress bars or thousands of numbers.

mod json;
#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;

use std::ops::Range;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, Layer, LayerWriter, Place, ReadSettings};
use serde::de::IgnoredAny;

use json::Value;

/// Reads a notebook.
pub(crate) fn read(source: &Layer, writer: &mut LayerWriter, settings: &ReadSettings) -> Result<(), Skip> {
    let text = source.text.as_str();
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    // The message of the error says line and column.
    serde_json::from_str::<IgnoredAny>(&text[start..]).map_err(|error| malformed(error.to_string()))?;
    let root = Value::of(text, start);
    let cells = cells(&root).ok_or_else(|| malformed("it has no cells".to_owned()))?;
    let language = about(&root, &cells, writer);
    for (index, cell) in cells.iter().enumerate() {
        if writer.is_full() {
            break;
        }
        writer.place(Place::new(format!("cell {}", index + 1)));
        read_cell(cell, &language, writer, settings);
    }
    Ok(())
}

fn malformed(problem: String) -> Skip {
    Skip::Malformed { format: "a notebook", problem }
}

/// Returns the cells: of format 4 in the notebook, of format 3 in its worksheets.
fn cells<'t>(root: &Value<'t>) -> Option<Vec<Value<'t>>> {
    if let Some(cells) = root.get("cells").filter(Value::is_array) {
        return Some(cells.elements().collect());
    }
    let sheets = root.get("worksheets").filter(Value::is_array)?;
    Some(sheets.elements().filter_map(|sheet| sheet.get("cells")).flat_map(|cells| cells.elements()).collect())
}

/// Takes over what the notebook says about itself, and returns the language of its code.
fn about(root: &Value<'_>, cells: &[Value<'_>], writer: &mut LayerWriter) -> String {
    let metadata = root.get("metadata");
    let at = |path: &[&str]| {
        let value = path.iter().try_fold(metadata.clone()?, |value, key| value.get(key))?;
        value.string().filter(|text| !text.trim().is_empty())
    };
    let about = writer.about();
    about.title = at(&["title"]).or_else(|| at(&["name"]).filter(|name| !name.is_empty()));
    let authors = metadata.as_ref().and_then(|metadata| metadata.get("authors"));
    let name = |author: Value<'_>| author.string().or_else(|| author.get("name")?.string());
    let authors: Vec<_> = authors.iter().flat_map(Value::elements).filter_map(name).collect();
    if !authors.is_empty() {
        about.metadata.insert("author".to_owned(), authors.join(", ").into());
    }
    let language = at(&["language_info", "name"]).or_else(|| at(&["kernelspec", "language"]));
    let language = language.or_else(|| cells.iter().find_map(|cell| cell.get("language")?.string()));
    if let Some(language) = &language {
        about.metadata.insert("language".to_owned(), language.as_str().into());
    }
    language.unwrap_or_default()
}

fn read_cell(cell: &Value<'_>, language: &str, writer: &mut LayerWriter, settings: &ReadSettings) {
    // One pass over the cell: its outputs may be long.
    let members: Vec<_> = cell.members().collect();
    let get = |key: &str| members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
    let kind = get("cell_type").and_then(Value::string).unwrap_or_default();
    let source = get("source").or_else(|| get("input"));
    let text = || source.map(inline).unwrap_or_default();
    match kind.as_str() {
        "markdown" => writer.markdown(&text()),
        "code" => {
            let own = get("language").and_then(Value::string);
            writer.code(own.as_deref().unwrap_or(language), &text());
        }
        "heading" => {
            let level = get("level").and_then(|level| level.json().parse().ok());
            writer.heading(level.unwrap_or(1), &text(), None);
        }
        _ => source.iter().for_each(|source| paragraphs(source, writer)),
    }
    for output in get("outputs").iter().flat_map(|outputs| outputs.elements()) {
        if settings.notebook_outputs { keep_output(&output, writer) } else { drop_output(&output, writer) }
    }
    for (_, file) in get("attachments").iter().flat_map(|files| files.members()) {
        file.members().for_each(|(_, content)| drop_text(&content, DropReason::Attachment, writer));
    }
}

/// Calls a function with the pieces of a text: a string, or an array of strings that follow each other.
fn pieces(text: &Value<'_>, mut piece: impl FnMut(&str, Range<usize>)) {
    if text.is_string() {
        text.pieces(piece);
        return;
    }
    text.elements().filter(Value::is_string).for_each(|line| line.pieces(&mut piece));
}

/// Returns a text with its places.
fn inline(text: &Value<'_>) -> Inline {
    let mut inline = Inline::new();
    pieces(text, |piece, range| inline.push(piece, range));
    inline
}

/// Writes the paragraphs of a text that is not Markdown: the lines between blank ones.
fn paragraphs(text: &Value<'_>, writer: &mut LayerWriter) {
    let mut paragraph = Inline::new();
    let mut blank = true;
    pieces(text, |piece, range| {
        if piece == "\n" {
            if blank && !paragraph.is_blank() {
                writer.paragraph(&std::mem::take(&mut paragraph));
            }
            blank = true;
        } else {
            blank &= piece.trim_start().is_empty();
        }
        paragraph.push(piece, range);
    });
    writer.paragraph(&paragraph);
}

/// A form of an output, by its media type; format 3 has names instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Markdown,
    Plain,
    Other,
    /// A picture or another file.
    File,
}

impl Form {
    fn of(name: &str) -> Self {
        match name {
            "text/markdown" => Self::Markdown,
            "text/plain" | "text" => Self::Plain,
            "png" | "jpeg" | "pdf" | "svg" | "application/pdf" => Self::File,
            _ if name.starts_with("image/") || name.starts_with("video/") || name.starts_with("audio/") => Self::File,
            _ => Self::Other,
        }
    }
}

/// Returns the forms of an output that shows a value.
fn forms<'t>(output: &Value<'t>) -> Vec<(Form, Value<'t>)> {
    if let Some(data) = output.get("data").filter(Value::is_object) {
        return data.members().map(|(name, value)| (Form::of(&name), value)).collect();
    }
    let names = ["text", "html", "latex", "svg", "png", "jpeg", "pdf", "json", "javascript"];
    let form = |name: &&str| output.get(name).map(|value| (Form::of(name), value));
    names.iter().filter_map(form).collect()
}

/// Returns the report of an error: its traceback, or its name and message.
fn report<'t>(output: &Value<'t>) -> Vec<Value<'t>> {
    let traceback: Vec<_> = output.get("traceback").iter().flat_map(Value::elements).collect();
    if !traceback.is_empty() {
        return traceback;
    }
    ["ename", "evalue"].iter().filter_map(|name| output.get(name)).collect()
}

fn is_error(output: &Value<'_>) -> bool {
    let kind = output.get("output_type").and_then(|kind| kind.string());
    matches!(kind.as_deref(), Some("error" | "pyerr"))
}

fn drop_output(output: &Value<'_>, writer: &mut LayerWriter) {
    if is_error(output) {
        for line in report(output) {
            drop_text(&line, DropReason::Output, writer);
        }
    }
    for (form, value) in forms(output) {
        let reason = if form == Form::File { DropReason::Attachment } else { DropReason::Output };
        drop_text(&value, reason, writer);
    }
}

/// Writes an output in the first of its forms that is text. The others say the same once more.
fn keep_output(output: &Value<'_>, writer: &mut LayerWriter) {
    if is_error(output) {
        let mut text = Inline::new();
        for line in report(output) {
            if !text.as_str().is_empty() {
                text.line_break();
            }
            without_escapes(&line, &mut text, writer);
        }
        writer.code("output", &text);
    }
    let forms = forms(output);
    let shown = forms.iter().map(|(form, _)| *form).min().filter(|form| *form <= Form::Plain);
    let mut open = shown.is_some();
    for (form, value) in forms {
        if Some(form) == shown && std::mem::take(&mut open) {
            if form == Form::Markdown {
                writer.markdown(&inline(&value));
            } else {
                let mut text = Inline::new();
                without_escapes(&value, &mut text, writer);
                writer.code("output", &text);
            }
            continue;
        }
        let reason = match form {
            Form::File => DropReason::Attachment,
            _ if shown.is_some() => DropReason::Repeated,
            _ => DropReason::Output,
        };
        drop_text(&value, reason, writer);
    }
}

/// Counts the characters of a text, or of any other value as its JSON.
fn drop_text(value: &Value<'_>, reason: DropReason, writer: &mut LayerWriter) {
    if value.is_string() || value.is_array() && value.elements().all(|line| line.is_string()) {
        pieces(value, |piece, _| writer.drop(reason, piece));
    } else {
        writer.drop(reason, value.json());
    }
}

/// Where a character is in the text of a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Terminal {
    Text,
    /// Behind an escape.
    Escape,
    /// In an escape that sets colors and the like, `ESC [ … m`.
    Control,
    /// In an escape that sets a title or a link, up to a bell.
    Command,
}

impl Terminal {
    /// Returns where the next character is, and whether this one is text.
    fn next(self, c: char) -> (Self, bool) {
        match (self, c) {
            (Self::Text | Self::Command, '\u{1b}') => (Self::Escape, false),
            (Self::Escape, '[') => (Self::Control, false),
            (Self::Escape, ']') => (Self::Command, false),
            (Self::Escape, _) | (Self::Command, '\u{7}') | (Self::Control, '\u{40}'..='\u{7e}') => (Self::Text, false),
            // An escape ends with its line, whatever it is.
            (Self::Text, _) | (_, '\n') => (Self::Text, true),
            (inside, _) => (inside, false),
        }
    }
}

/// Appends a text of a terminal without its escapes.
fn without_escapes(value: &Value<'_>, text: &mut Inline, writer: &mut LayerWriter) {
    let mut state = Terminal::Text;
    pieces(value, |piece, range| {
        let exact = piece.len() == range.len();
        if exact && state == Terminal::Text && !piece.contains('\u{1b}') {
            text.push(piece, range);
            return;
        }
        for (at, c) in piece.char_indices() {
            let (next, shown) = state.next(c);
            let c = &piece[at..at + c.len_utf8()];
            if shown {
                let place = range.start + at..range.start + at + c.len();
                text.push(c, if exact { place } else { range.clone() });
            } else {
                writer.drop(DropReason::Markup, c);
            }
            state = next;
        }
    });
}
