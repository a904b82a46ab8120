//! Finds the pieces of text that `cl100k_base` turns into tokens, 63 bytes at a time.
//!
//! Its pattern, whose alternatives are listed in [`breaks`](super::super::breaks), becomes arithmetic on masks with
//! one bit for each byte: which bytes are letters, which start a run of marks, which belong to white space that
//! ends there. A piece only counts as complete if the next one starts among the same bytes; the next window begins
//! at the last start.

use wide::i8x16;

/// Number of bytes that are classified at once.
pub(super) const WINDOW: usize = 64;

/// Number of these bytes in which pieces are found: one less, to have a bit after the last one.
const MOST: usize = WINDOW - 1;

/// The pieces found in a window.
pub(super) struct WindowPieces {
    /// Bits of the bytes, other than the first, at which a piece starts.
    pub(super) starts: u64,
    /// Number of bytes that were examined.
    pub(super) len: usize,
}

/// Bits of the bytes of a window, by class.
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
    /// Anything other than these and ASCII marks.
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

/// Returns the bits of the Latin and Cyrillic letters of two bytes: U+00C0 to U+023F and U+0400 to U+047F, except
/// for the multiplication and division signs, which are marks, and the long s, which may end a contraction.
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

/// Returns whether it is worth returning to masks for the text that follows.
pub(super) fn are_known(text: &[u8]) -> bool {
    const ENOUGH: usize = 16;
    // ASCII, a continuation byte, or the lead byte of letters that the masks mostly support.
    let known = |&byte: &u8| matches!(byte, 0..0xc0 | 0xc3..=0xc8 | 0xd0 | 0xd1);
    text.len() >= ENOUGH && text[..ENOUGH].iter().all(known)
}

impl WindowPieces {
    /// Finds the pieces of a window that starts with one, up to the first character of an unknown class and at most
    /// in its first `len` bytes. If the text ends there, the rest from the last start on is a piece too.
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
        // A run of marks includes a blank before it.
        let mark_start = mark & !((mark | classes.blank) << 1);
        // The first mark is joined with letters after it, if it is the only one; so is a space.
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

/// Returns the starts of pieces of digits, which have at most three of them.
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

/// Returns the starts of pieces of white space. It is one piece up to its last line end. The rest without its last
/// character is another, and that character starts the next piece. Line ends right after a mark belong to the mark.
#[inline]
fn white_starts(white: u64, line: u64, mark: u64, edge: u64) -> u64 {
    let space = white & !line;
    let of_marks = line & !line.wrapping_add(mark << 1 & line);
    let free = white & !of_marks;
    let last = space & !((white | edge) >> 1);
    let mut indents = space & (line << 1);
    if indents != 0 {
        // Spaces that lead to another line end are not an indent, nor are spaces at the edge, which may lead to
        // one.
        let mut leads = (space + indents) & !space & (line | edge);
        while leads != 0 {
            let before = indents & ((leads & leads.wrapping_neg()) - 1);
            indents &= !(1 << before.ilog2());
            leads &= leads - 1;
        }
    }
    free & !(free << 1) | last | indents
}

/// Returns the starts of letters after contractions (`'s`, `'ll` and the like), which are pieces. `marks` are the
/// apostrophes that may start one.
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
