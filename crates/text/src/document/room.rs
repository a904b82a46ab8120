//! The memory that a document takes, known before it is allocated. A file of a few megabytes of nothing but `[`
//! would take hundreds of times its size and end the job for all other documents.
//!
//! Our own parsers reserve [`Room`] for what they find and stop when there is none left. The markdown parser
//! cannot be stopped, so the most it can need is estimated from the bytes it reads: see [`nodes`](super::nodes). The
//! figures were fitted to the memory that hundreds of kinds of hostile text took. `make costs` measures them
//! again; `tests/document/room.rs` measures a few.

/// The memory that a document may take.
pub(super) struct Room {
    most: u64,
    used: u64,
}

/// Bytes per byte of text: the text itself, the copy that hides regions from the parser, and positions.
pub(super) const TEXT: usize = 4;

/// Bytes per block that our own parsers find, including what chunking stores about it.
pub(super) const BLOCK: usize = 250;

/// Bytes per block without that.
pub(super) const PARSED: usize = 60;

/// Bytes per heading, in addition to its block: title, anchor, section.
pub(super) const HEADING: usize = 250;

/// Bytes per place where source code is cut, or per comment that may belong to what follows.
pub(super) const CUT: usize = 130;

impl Room {
    pub(super) fn new(most: u64) -> Self {
        Self { most, used: 0 }
    }

    /// Reserves room for a text.
    pub(super) fn take_text(&mut self, text: &str) {
        self.take(text.len().saturating_mul(TEXT));
    }

    /// Reserves some bytes. Returns whether there was room for them.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.used = self.used.saturating_add(bytes as u64);
        !self.is_over()
    }

    /// Returns the number of bytes left.
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.used)
    }

    /// Returns whether more was reserved than there is.
    pub(super) fn is_over(&self) -> bool {
        self.used > self.most
    }

    /// Returns the number of bytes reserved, even if that is too many.
    pub(super) fn used(&self) -> u64 {
        self.used
    }
}
