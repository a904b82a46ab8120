//! From ranges of a text to the bytes of the file that it was read from.

use std::ops::Range;

/// Number of bytes of text between two places whose offset in the file is stored.
const STEP: usize = 4096;

/// How many bytes of a file stand for a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// As many as in UTF-8.
    Utf8,
    /// Two, or four for a surrogate pair.
    Utf16,
    /// One.
    Byte,
}

impl Width {
    fn of(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => 2 * c.len_utf16(),
            Self::Byte => 1,
        }
    }
}

/// The places of a text in its file. By default, the text is the file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceMap {
    width: Width,
    /// Offset in the file of each [`STEP`]th byte of the text, or of the next character if the byte is inside one. Empty
    /// if the text is the file's bytes.
    offsets: Vec<u64>,
}

impl Default for SourceMap {
    fn default() -> Self {
        Self { width: Width::Utf8, offsets: Vec::new() }
    }
}

impl SourceMap {
    /// Creates the map of a text that begins at an offset of the file, in an encoding with characters of this width.
    pub(super) fn new(text: &str, start: usize, width: Width) -> Self {
        let mut offsets = Vec::with_capacity(text.len() / STEP + 1);
        let mut at = start as u64;
        for (byte, c) in text.char_indices() {
            if byte >= offsets.len() * STEP {
                offsets.push(at);
            }
            at += width.of(c) as u64;
        }
        if text.len() >= offsets.len() * STEP {
            offsets.push(at);
        }
        Self { width, offsets }
    }

    /// Returns whether the text is the file's bytes.
    pub fn is_identity(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Returns the bytes of the file that a range of the text was read from. `text` is the text of the map.
    ///
    /// # Panics
    /// If the range is not one of characters of the text.
    pub fn place(&self, text: &str, range: &Range<usize>) -> Range<u64> {
        let start = self.offset(text, range.start);
        start..if range.is_empty() { start } else { self.offset(text, range.end) }
    }

    fn offset(&self, text: &str, byte: usize) -> u64 {
        let Some(stored) = self.offsets.get(byte / STEP) else { return byte as u64 };
        let from = text.ceil_char_boundary(byte / STEP * STEP);
        // The next character, if the stored offset is beyond.
        stored + text[from.min(byte)..byte].chars().map(|c| self.width.of(c) as u64).sum::<u64>()
    }
}
