//! From the bytes of a file to its text. Decoding is strict: nothing is replaced or guessed. A file is UTF-8, or
//! UTF-16 with a byte order mark. Any other file is refused, and the reason says what it seems to be.

use chunkmill_base::error::Skip;

/// A text may contain a stray NUL; a file with more than one in this many bytes is something else.
const BYTES_PER_NUL: usize = 1000;

/// Decodes the bytes of a document.
pub(super) fn decode(bytes: Vec<u8>) -> Result<String, Skip> {
    match bytes.as_slice() {
        [0xFF, 0xFE, 0, 0, ..] if bytes.len().is_multiple_of(4) => Err(unmarked("UTF-32LE")),
        [0, 0, 0xFE, 0xFF, ..] => Err(unmarked("UTF-32BE")),
        [0xFF, 0xFE, rest @ ..] => utf16("UTF-16LE", rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16("UTF-16BE", rest, u16::from_be_bytes),
        [b'%', b'P', b'D', b'F', b'-', ..] => Err(Skip::Format { format: "a PDF" }),
        [b'P', b'K', 3, 4, ..] => Err(Skip::Format { format: "an Office file or another ZIP archive" }),
        [0xD0, 0xCF, 0x11, 0xE0, ..] => Err(Skip::Format { format: "an Office file" }),
        _ => match nuls(&bytes) {
            Some(reason) => Err(reason),
            None => String::from_utf8(bytes)
                .map_err(|error| Skip::Encoding { encoding: "UTF-8", offset: error.utf8_error().valid_up_to() }),
        },
    }
}

fn unmarked(encoding: &'static str) -> Skip {
    Skip::Unmarked { encoding }
}

/// Returns what a file is if it contains many NULs. In UTF-16 and UTF-32, the characters of most scripts, or at
/// least their spaces and line ends, have NULs at certain places of each unit.
fn nuls(bytes: &[u8]) -> Option<Skip> {
    let mut at = [0_usize; 4];
    memchr::memchr_iter(0, bytes).for_each(|nul| at[nul % 4] += 1);
    let all: usize = at.iter().sum();
    if all * BYTES_PER_NUL <= bytes.len() {
        return None;
    }
    // Almost all, because a few characters have them elsewhere.
    let most = |count: usize, of: usize| count * 10 >= of * 9;
    let units = bytes.len() / 4;
    let wide = |high: [usize; 2]| bytes.len().is_multiple_of(4) && high.iter().all(|&place| most(at[place], units));
    let pairs = |high: [usize; 2]| bytes.len().is_multiple_of(2) && most(at[high[0]] + at[high[1]], all);
    Some(if wide([2, 3]) {
        unmarked("UTF-32LE")
    } else if wide([0, 1]) {
        unmarked("UTF-32BE")
    } else if pairs([1, 3]) {
        unmarked("UTF-16LE")
    } else if pairs([0, 2]) {
        unmarked("UTF-16BE")
    } else {
        Skip::Binary { nuls: all }
    })
}

fn utf16(encoding: &'static str, bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Skip> {
    const BOM: usize = 2;
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let mut offset = BOM;
    for decoded in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        let c = decoded.map_err(|_| Skip::Encoding { encoding, offset })?;
        text.push(c);
        offset += 2 * c.len_utf16();
    }
    if rest.is_empty() { Ok(text) } else { Err(Skip::Encoding { encoding, offset }) }
}
