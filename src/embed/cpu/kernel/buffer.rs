//! Memory of the kernels: aligned to cache lines, because a vector that straddles two costs twice.

/// A cache line, and the widest vector.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u32; 16]);

/// Words in a line.
pub(super) const LINE: usize = 16;

/// 32-bit words, zero at first.
#[derive(Clone, Debug, Default)]
pub(super) struct Words(Vec<Line>);

impl Words {
    pub(super) fn new(len: usize) -> Self {
        let mut words = Self::default();
        words.grow(len);
        words
    }

    /// Makes room for `len` words at least.
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
        // SAFETY: a line is sixteen words without padding, and the words are borrowed as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), len) }
    }
}

/// Floats, zero at first.
#[derive(Clone, Debug, Default)]
pub struct Floats(Words);

impl Floats {
    /// `len` zeros (or a few more).
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self(Words::new(len))
    }

    /// Makes room for `len` floats at least; new ones are zero.
    pub fn grow(&mut self, len: usize) {
        self.0.grow(len);
    }
}

impl std::ops::Deref for Floats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: every word is a float, and they are borrowed as `self` is.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len()) }
    }
}

impl std::ops::DerefMut for Floats {
    fn deref_mut(&mut self) -> &mut [f32] {
        let len = self.0.len();
        // SAFETY: every word is a float, and they are borrowed as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }
}

/// What one head's attention needs besides its input and output; kept to be used again.
#[derive(Debug, Default)]
pub struct Scratch(Words);

impl Scratch {
    /// Parts of at least the given numbers of words, each starting a cache line. They are valid
    /// until the next call.
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
