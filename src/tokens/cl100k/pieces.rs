//! The pieces of text that `cl100k_base` makes tokens of, 63 bytes at a time.
//!
//! Its pattern, whose alternatives are listed in [`breaks`](super::super::breaks), becomes arithmetic on
//! masks that hold a bit for each byte: which are letters, which start a run of marks, which belong to
//! white space that ends there. A piece is only taken for complete if the next one starts among the same
//! bytes; what comes after the last start is looked at again from there.

use wide::i8x16;

/// How many bytes are classified at once.
pub(super) const WINDOW: usize = 64;

/// How many of them pieces are found in: one less, so that there is a bit after the last.
const MOST: usize = WINDOW - 1;

/// What is found in a window.
pub(super) struct Found {
    /// A bit for each byte but the first at which a piece starts.
    pub(super) starts: u64,
    /// How many bytes were looked at.
    pub(super) len: usize,
}

/// Bits of the bytes of a window that are of one class.
#[derive(Default)]
struct Classes {
    letter: u64,
    digit: u64,
    /// U+0020.
    blank: u64,
    /// All white space.
    white: u64,
    /// Line feeds and carriage returns.
    line: u64,
    /// U+0027.
    apostrophe: u64,
    /// What is none of these and no mark of ASCII either.
    other: u64,
}

impl Classes {
    #[inline]
    fn of(window: &[u8; WINDOW]) -> Self {
        let all = |byte: u8| i8x16::splat(byte.cast_signed());
        let mut classes = Self::default();
        for (at, part) in window.as_chunks::<16>().0.iter().enumerate() {
            let bytes = i8x16::from(part.map(u8::cast_signed));
            // Bytes beyond ASCII are negative.
            let within =
                |bytes: i8x16, first: u8, last: u8| bytes.simd_gt(all(first - 1)) & bytes.simd_lt(all(last + 1));
            let bits = |bytes: i8x16| u64::from(bytes.to_bitmask() & 0xffff) << (16 * at);
            let blank = bytes.simd_eq(all(b' '));
            classes.letter |= bits(within(bytes | all(0x20), b'a', b'z'));
            classes.digit |= bits(within(bytes, b'0', b'9'));
            classes.blank |= bits(blank);
            classes.white |= bits(blank | within(bytes, b'\t', b'\r'));
            classes.line |= bits(bytes.simd_eq(all(b'\n')) | bytes.simd_eq(all(b'\r')));
            classes.apostrophe |= bits(bytes.simd_eq(all(b'\'')));
            classes.other |= bits(bytes);
        }
        if classes.other != 0 {
            let letter = classes.other & two_byte_letters(window);
            classes.letter |= letter;
            classes.other &= !letter;
        }
        classes
    }
}

/// The bytes of letters of Latin and Cyrillic that have two: U+00C0 to U+023F and U+0400 to U+047F, but for
/// the signs of multiplication and division, which are marks, and the long s, which may end a contraction.
fn two_byte_letters(window: &[u8; WINDOW]) -> u64 {
    let mut letters = 0;
    for (at, pair) in window.windows(2).enumerate() {
        let letter = match pair {
            [0xc3, 0x97 | 0xb7] | [0xc5, 0xbf] => false,
            [0xc3..=0xc8 | 0xd0 | 0xd1, _] => true,
            _ => false,
        };
        letters |= (u64::from(letter) * 0b11) << at;
    }
    letters
}

/// Whether what follows is worth to go on with masks.
pub(super) fn are_known(text: &[u8]) -> bool {
    const ENOUGH: usize = 16;
    // A lead byte of letters of which the masks know most, or a byte that continues.
    let known = |&byte: &u8| matches!(byte, 0..0xc0 | 0xc3..=0xc8 | 0xd0 | 0xd1);
    text.len() >= ENOUGH && text[..ENOUGH].iter().all(known)
}

impl Found {
    /// The pieces of a window that starts with one, as far as its characters are of a known class and no
    /// further than its first `len` bytes. If that is the end of the text, what starts last is a piece too.
    #[inline]
    pub(super) fn of(window: &[u8; WINDOW], len: usize) -> Self {
        let classes = Classes::of(window);
        let len = len.min(MOST).min(classes.other.trailing_zeros() as usize);
        let edge = 1 << len;
        let known = edge - 1;
        let [letter, digit, white] = [classes.letter, classes.digit, classes.white].map(|class| class & known);
        let line = classes.line & known;
        let space = white & !line;
        let mark = known & !(letter | digit | white);
        // A run of marks takes a blank before it.
        let mark_start = mark & !((mark | classes.blank) << 1);
        // The first of them joins letters, if it is the only one; so does a space.
        let joined = mark_start & (letter >> 1);
        let letter_start = letter & !((letter | space | joined) << 1);
        let starts = mark_start
            | letter_start
            | digit_starts(digit)
            | white_starts(white, line, mark, edge)
            | after_contractions(window, joined & classes.apostrophe, letter);
        Self { starts: starts & known & !1, len }
    }
}

/// Digits are taken by three.
#[inline]
fn digit_starts(digit: u64) -> u64 {
    let mut starts = 0;
    let mut next = digit & !(digit << 1);
    while next != 0 {
        starts |= next;
        next = (((next << 1 & digit) << 1) & digit) << 1 & digit;
    }
    starts
}

/// White space is one piece up to its last line end, one without its last character after that, and that
/// character starts what follows. Line ends right after a mark belong to it.
#[inline]
fn white_starts(white: u64, line: u64, mark: u64, edge: u64) -> u64 {
    let space = white & !line;
    let of_marks = line & !line.wrapping_add(mark << 1 & line);
    let free = white & !of_marks;
    let last = space & !((white | edge) >> 1);
    let mut indents = space & (line << 1);
    if indents != 0 {
        // Spaces that lead to another line end are no indent, nor are those that may.
        let mut leads = (space + indents) & !space & (line | edge);
        while leads != 0 {
            let before = indents & ((leads & leads.wrapping_neg()) - 1);
            indents &= !(1 << before.ilog2());
            leads &= leads - 1;
        }
    }
    free & !(free << 1) | last | indents
}

/// `'s`, `'ll` and the like are pieces; `marks` are the apostrophes that may start one.
#[inline]
fn after_contractions(window: &[u8; WINDOW], mut marks: u64, letter: u64) -> u64 {
    let mut starts = 0;
    while marks != 0 {
        let at = marks.trailing_zeros() as usize;
        marks &= marks - 1;
        let next = |n: usize| window.get(at + n).map_or(0, u8::to_ascii_lowercase);
        let len = match (next(1), next(2)) {
            (b's' | b'd' | b'm' | b't', _) => 2,
            (b'l', b'l') | (b'v' | b'r', b'e') => 3,
            _ => continue,
        };
        starts |= (1 << at << len) & letter;
    }
    starts
}
