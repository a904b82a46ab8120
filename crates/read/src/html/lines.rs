//! Lines that are read with all their white space: code.

use std::ops::Range;

use chunkmill_text::document::Inline;

use super::text::Piece;

/// Lines that are read as they are.
pub(super) struct Lines {
    pub(super) code: Inline,
    pub(super) language: String,
}

impl Lines {
    /// Appends a piece of text, without its first line end if that is not shown.
    pub(super) fn push(&mut self, source: &str, piece: &Piece, is_cut: bool) {
        match piece {
            Piece::Same(range) => {
                let start = range.start + usize::from(is_cut && source[range.clone()].starts_with('\n'));
                self.code.push(&source[start..range.end], start..range.end);
            }
            Piece::Other(text, _) if is_cut && &**text == "\n" => {}
            Piece::Other(text, range) if text.chars().all(char::is_whitespace) && !text.contains('\n') => {
                // Not what `replaced` does: each space counts.
                self.space(range.clone());
            }
            Piece::Other(text, range) => self.code.replaced(text, range.clone()),
        }
    }

    fn space(&mut self, range: Range<usize>) {
        if range.len() == 1 { self.code.write(" ") } else { self.code.push(" ", range) }
    }

    /// Writes a space between what is before and what follows.
    pub(super) fn gap(&mut self) {
        let code = self.code.as_str();
        if !code.is_empty() && !code.ends_with(['\n', ' ', '\t']) {
            self.code.write(" ");
        }
    }

    /// Ends the line if something is in it.
    pub(super) fn end_line(&mut self) {
        let code = self.code.as_str();
        if !code.is_empty() && !code.ends_with('\n') {
            self.code.write("\n");
        }
    }
}
