//! Memory for the kernels, aligned to cache lines because a vector that straddles two of them costs twice as much.

/// A cache line, which is also the size of the widest vector.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u32; 16]);

/// Number of words in a line.
pub(super) const LINE: usize = 16;

/// 32-bit words, initially zero.
#[derive(Clone, Debug, Default)]
pub(super) struct WordBuffer(Vec<Line>);

impl WordBuffer {
    pub(super) fn new(len: usize) -> Self {
        let mut words = Self::default();
        words.grow(len);
        words
    }

    /// Makes room for at least `len` words.
    pub(super) fn grow(&mut self, len: usize) {
        let lines = len.div_ceil(LINE);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0; LINE]));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len() * LINE
    }

    pub(super) fn as_ptr(&self) -> *const u32 {
        self.0.as_ptr().cast()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u32 {
        self.0.as_mut_ptr().cast()
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u32] {
        let len = self.len();
        // SAFETY: a line is sixteen words without padding, and the slice borrows from `self`.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), len) }
    }
}

/// Floats, initially zero.
#[derive(Clone, Debug, Default)]
pub struct Floats(WordBuffer);

impl Floats {
    /// Creates `len` zeros (or a few more).
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self(WordBuffer::new(len))
    }

    /// Makes room for at least `len` floats; new ones are zero.
    pub fn grow(&mut self, len: usize) {
        self.0.grow(len);
    }
}

impl std::ops::Deref for Floats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: every word is a valid float, and the slice borrows from `self`.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len()) }
    }
}

impl std::ops::DerefMut for Floats {
    fn deref_mut(&mut self) -> &mut [f32] {
        let len = self.0.len();
        // SAFETY: every word is a valid float, and the slice borrows from `self`.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }
}

/// Temporary memory for the attention of one head, kept for reuse.
#[derive(Debug, Default)]
pub struct Scratch(WordBuffer);

impl Scratch {
    /// Divides the memory into parts of at least the given numbers of words, each aligned to a cache line. The
    /// pointers are valid until the next call.
    pub(super) fn divide<const N: usize>(&mut self, words: [usize; N]) -> [*mut u32; N] {
        self.0.grow(words.iter().map(|words| words.next_multiple_of(LINE)).sum());
        let mut rest = self.0.as_mut_slice();
        words.map(|words| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(words.next_multiple_of(LINE));
            rest = after;
            part.as_mut_ptr()
        })
    }
}
