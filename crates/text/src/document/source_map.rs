//! From ranges of a text to the bytes of the file that it was read from.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Number of bytes of text between two places whose offset in the file is stored.
const STEP: usize = 4096;

/// How many bytes of a file stand for a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Width {
    /// As many as in UTF-8.
    Utf8,
    /// Two, or four for a surrogate pair.
    Utf16,
    /// One.
    Byte,
    /// One for ASCII, two for others.
    Double,
}

impl Width {
    fn of(self, c: char) -> u64 {
        let bytes = match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => 2 * c.len_utf16(),
            Self::Byte => 1,
            Self::Double => 1 + usize::from(!c.is_ascii()),
        };
        bytes as u64
    }

    fn sum(self, text: &str) -> u64 {
        match self {
            Self::Utf8 => text.len() as u64,
            _ => text.chars().map(|c| self.of(c)).sum(),
        }
    }
}

/// The places of a text in its file. By default, the text is the file's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMap {
    width: Width,
    kind: MapKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum MapKind {
    /// The text is the file's bytes.
    Same,
    /// The text is the whole file, in another encoding. The offsets in the file of each [`STEP`]th byte of the text, or of
    /// the next character if the byte is inside one.
    Decoded(Vec<u64>),
    /// Stretches of the text come from the file, in the order of the text. The rest was written by a reader.
    Stretches(Vec<Stretch>),
}

/// A stretch of a text that stands for bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its first byte in the text.
    pub start: u32,
    /// Its length in the text, in bytes.
    pub len: u32,
    /// The first byte of the file that it stands for.
    pub source: u64,
    /// How many bytes of the file it stands for.
    pub source_len: u32,
    /// Whether each character stands for the bytes that encode it. Otherwise, the stretch stands for its bytes as a whole:
    /// `&` for `&amp;`.
    pub exact: bool,
}

impl Stretch {
    fn end(&self) -> usize {
        self.start as usize + self.len as usize
    }

    fn source_end(&self) -> u64 {
        self.source + u64::from(self.source_len)
    }
}

impl Default for SourceMap {
    fn default() -> Self {
        Self { width: Width::Utf8, kind: MapKind::Same }
    }
}

impl SourceMap {
    /// Creates the map of a text that begins at an offset of the file, in an encoding with characters of this width.
    pub fn new(text: &str, start: usize, width: Width) -> Self {
        let mut offsets = Vec::with_capacity(text.len() / STEP + 1);
        let mut at = start as u64;
        for (byte, c) in text.char_indices() {
            if byte >= offsets.len() * STEP {
                offsets.push(at);
            }
            at += width.of(c);
        }
        if text.len() >= offsets.len() * STEP {
            offsets.push(at);
        }
        Self { width, kind: MapKind::Decoded(offsets) }
    }

    /// Creates the map of a text whose bytes in the file are not known: it is packed, or in an encoding without characters of
    /// one width.
    pub fn unknown() -> Self {
        Self { width: Width::Utf8, kind: MapKind::Stretches(Vec::new()) }
    }

    /// Returns whether nothing is known of the bytes in the file.
    pub fn is_unknown(&self) -> bool {
        matches!(&self.kind, MapKind::Stretches(stretches) if stretches.is_empty())
    }

    /// Creates the map of a text that a reader wrote, from its stretches in the order of the text, without overlap.
    /// Characters of exact stretches have this width in the file.
    pub(super) fn of_stretches(stretches: Vec<Stretch>, width: Width) -> Self {
        Self { width, kind: MapKind::Stretches(stretches) }
    }

    /// Returns whether the text is the file's bytes.
    pub fn is_identity(&self) -> bool {
        self.kind == MapKind::Same
    }

    /// Returns the stretches that a reader took from the file; `None` if the text is the file, decoded.
    pub fn stretches(&self) -> Option<&[Stretch]> {
        match &self.kind {
            MapKind::Stretches(stretches) => Some(stretches),
            MapKind::Same | MapKind::Decoded(_) => None,
        }
    }

    /// Returns the width of characters in the file.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Returns the bytes of the file that a range of the text was read from: of a text that a reader wrote, from the first
    /// of these bytes to the last, or an empty range if there is none. `text` is the text of the map.
    ///
    /// # Panics
    /// If the range is not one of characters of the text.
    pub fn place(&self, text: &str, range: &Range<usize>) -> Range<u64> {
        if let MapKind::Stretches(all) = &self.kind {
            return self.cover(text, range, all);
        }
        let start = self.offset(text, range.start);
        start..if range.is_empty() { start } else { self.offset(text, range.end) }
    }

    fn offset(&self, text: &str, byte: usize) -> u64 {
        let MapKind::Decoded(offsets) = &self.kind else { return byte as u64 };
        let Some(stored) = offsets.get(byte / STEP) else { return byte as u64 };
        let from = text.ceil_char_boundary(byte / STEP * STEP);
        // The next character, if the stored offset is beyond.
        stored + self.width.sum(&text[from.min(byte)..byte])
    }

    fn cover(&self, text: &str, range: &Range<usize>, all: &[Stretch]) -> Range<u64> {
        let first = all.partition_point(|stretch| stretch.end() <= range.start);
        let touched = all[first..].iter().take_while(|stretch| (stretch.start as usize) < range.end);
        let mut place: Option<Range<u64>> = None;
        for stretch in touched {
            let part = self.part(text, range, stretch);
            place = Some(place.map_or(part.clone(), |all| all.start.min(part.start)..all.end.max(part.end)));
        }
        place.unwrap_or_else(|| {
            let before = first.checked_sub(1).map_or(0, |last| all[last].source_end());
            before..before
        })
    }

    /// Returns the bytes of the file that a range has of a stretch that it touches.
    fn part(&self, text: &str, range: &Range<usize>, stretch: &Stretch) -> Range<u64> {
        if !stretch.exact {
            return stretch.source..stretch.source_end();
        }
        let (start, end) = (range.start.max(stretch.start as usize), range.end.min(stretch.end()));
        let first = stretch.source + self.width.sum(&text[stretch.start as usize..start]);
        first..first + self.width.sum(&text[start..end])
    }
}
