//! What a file says about itself: title and author, the outline, links.

use std::collections::{HashMap, HashSet};

use chunkmill_text::document::{LayerWriter, on_one_line};
use hayro_syntax::Pdf;
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, DateTime, Dict, Name, Rect, String as Bytes};
use hayro_syntax::page::Page;
use serde_json::Value;

use super::stream::cut;

/// Longest value that is kept, in bytes.
const MAX_VALUE: usize = 2000;

/// Entries of an outline that are read.
const MAX_ENTRIES: usize = 20_000;

/// Deepest level of an outline that is read.
const MAX_LEVEL: u8 = 16;

/// Links of a page that are read.
const MAX_LINKS: usize = 10_000;

/// Writes the properties of a file.
pub(super) fn properties(pdf: &Pdf, writer: &mut LayerWriter) {
    let known = pdf.metadata();
    let text = |bytes: &Option<Box<[u8]>>| {
        bytes.as_ref().map(|bytes| one_line(&text_of(bytes))).filter(|text| !text.is_empty())
    };
    let about = writer.about();
    about.title = text(&known.title).filter(|title| is_title(title));
    for (key, value) in [("author", text(&known.author)), ("subject", text(&known.subject))] {
        about.metadata.extend(value.map(|value| (key.to_owned(), Value::String(value))));
    }
    if let Some(words) = text(&known.keywords) {
        let words = words.split([',', ';']).map(str::trim).filter(|word| !word.is_empty());
        let words = words.map(|word| Value::String(word.to_owned())).take(100).collect();
        about.metadata.insert("keywords".to_owned(), Value::Array(words));
    }
    for (key, date) in [("created", known.creation_date), ("modified", known.modification_date)] {
        about.metadata.extend(date.map(|date| (key.to_owned(), Value::String(date_of(&date)))));
    }
    let root = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()).unwrap_or_default();
    if let Some(lang) = root.get::<Bytes<'_>>(b"Lang").map(|lang| one_line(&text_of(lang.as_ref()))) {
        about.metadata.extend((!lang.is_empty()).then(|| ("lang".to_owned(), Value::String(lang))));
    }
}

/// Programs write the name of the file that they printed as its title.
fn is_title(title: &str) -> bool {
    let lower = title.to_lowercase();
    let file =
        [".doc", ".docx", ".dvi", ".tex", ".ps", ".indd", ".qxd", ".fm", ".xls", ".xlsx", ".odt", ".pdf", ".rtf"];
    !file.iter().any(|end| lower.ends_with(end)) && !lower.starts_with("microsoft word - ") && lower != "untitled"
}

fn one_line(text: &str) -> String {
    let line = on_one_line(text);
    cut(&line, MAX_VALUE).to_owned()
}

fn date_of(date: &DateTime) -> String {
    let DateTime { year, month, day, hour, minute, second, utc_offset_hour, utc_offset_minute } = date;
    let zone = match (utc_offset_hour, utc_offset_minute) {
        (0, 0) => "Z".to_owned(),
        (hours, minutes) => format!("{hours:+03}:{minutes:02}"),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}")
}

/// Decodes a text string of a file: UTF-16 or UTF-8 with its mark, otherwise the format's own Latin.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|byte| latin(*byte)).collect(),
    };
    text.chars().filter(|c| !c.is_control() || c.is_whitespace()).collect()
}

fn latin(byte: u8) -> char {
    const HIGH: [char; 33] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ', 'ﬂ', 'Ł',
        'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{fffd}', '€',
    ];
    byte.checked_sub(0x80).and_then(|at| HIGH.get(usize::from(at)).copied()).unwrap_or(char::from(byte))
}

/// The titles of an outline, each with its level from 1.
#[derive(Debug, Default)]
pub(super) struct Outline {
    levels: HashMap<String, u8>,
}

impl Outline {
    /// Reads the outline of a file.
    pub(super) fn read(pdf: &Pdf) -> Self {
        let mut outline = Self::default();
        let root = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()).unwrap_or_default();
        let Some(first) = root.get::<Dict<'_>>(b"Outlines").and_then(|all| all.get::<Dict<'_>>(b"First")) else {
            return outline;
        };
        let (mut open, mut seen, mut count) = (vec![(first, 1)], HashSet::new(), 0);
        while let Some((entry, level)) = open.pop() {
            count += 1;
            if count > MAX_ENTRIES || entry.obj_id().is_none_or(|id| !seen.insert(id)) {
                continue;
            }
            if let Some(title) = entry.get::<Bytes<'_>>(b"Title") {
                let title = text_of(title.as_ref());
                for name in [plain(&title), plain(without_number(&title))] {
                    if !name.is_empty() {
                        outline.levels.entry(name).or_insert(level);
                    }
                }
            }
            open.extend(entry.get::<Dict<'_>>(b"Next").map(|next| (next, level)));
            if level < MAX_LEVEL {
                open.extend(entry.get::<Dict<'_>>(b"First").map(|first| (first, level + 1)));
            }
        }
        outline
    }

    /// Returns the level of a heading of this text.
    pub(super) fn level(&self, text: &str) -> Option<u8> {
        if self.levels.is_empty() {
            return None;
        }
        let full = self.levels.get(&plain(text));
        full.or_else(|| self.levels.get(&plain(without_number(text)))).copied()
    }
}

/// Returns the letters and digits of a title.
fn plain(title: &str) -> String {
    title.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns a title without the number before it: `2.1`, `A.3`, `Chapter 4:`.
pub(super) fn without_number(title: &str) -> &str {
    let title = title.trim();
    let Some((first, rest)) = title.split_once(char::is_whitespace) else { return title };
    let is_number = |word: &str| {
        let word = word.trim_end_matches(['.', ':', ')']);
        word.chars().any(|c| c.is_ascii_digit()) && word.split(['.', '-']).all(|part| part.len() <= 3)
            || word.len() == 1 && word.starts_with(|c: char| c.is_ascii_uppercase())
            || !word.is_empty() && word.len() <= 5 && word.chars().all(|c| matches!(c, 'I' | 'V' | 'X'))
    };
    if matches!(&*first.to_lowercase(), "chapter" | "part" | "section" | "appendix" | "kapitel" | "teil" | "anhang") {
        let rest = rest.trim_start();
        return rest
            .split_once(char::is_whitespace)
            .filter(|(word, _)| is_number(word))
            .map_or(rest, |(_, rest)| rest.trim());
    }
    if is_number(first) { rest.trim() } else { title }
}

/// A link on a page.
#[derive(Debug)]
pub(super) struct PageLink {
    /// Left, top, right, bottom.
    pub(super) bounds: [f32; 4],
    pub(super) target: String,
}

/// Returns the links of a page that lead to other documents.
#[expect(clippy::cast_possible_truncation, reason = "places on a page are small")]
pub(super) fn links(page: &Page<'_>) -> Vec<PageLink> {
    let Some(all) = page.raw().get::<Array<'_>>(keys::ANNOTS) else { return Vec::new() };
    let matrix = page.initial_transform(true).as_coeffs();
    let mut links = Vec::new();
    for note in all.iter::<Dict<'_>>().take(MAX_LINKS) {
        if note.get::<Name<'_>>(keys::SUBTYPE).is_none_or(|kind| kind.as_ref() != b"Link") {
            continue;
        }
        let target = note.get::<Dict<'_>>(b"A").and_then(|action| action.get::<Bytes<'_>>(b"URI"));
        let (Some(target), Some(rect)) = (target, note.get::<Rect>(keys::RECT)) else { continue };
        let target = one_line(&text_of(target.as_ref()));
        let corner = |x: f64, y: f64| {
            let x_of = matrix[0] * x + matrix[2] * y + matrix[4];
            (x_of as f32, (matrix[1] * x + matrix[3] * y + matrix[5]) as f32)
        };
        let ((a, b), (c, d)) = (corner(rect.x0, rect.y0), corner(rect.x1, rect.y1));
        if !target.is_empty() && [a, b, c, d].iter().all(|value| value.is_finite()) {
            links.push(PageLink { bounds: [a.min(c), b.min(d), a.max(c), b.max(d)], target });
        }
    }
    links
}
