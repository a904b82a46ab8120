//! From the bytes of a file to its text. Decoding is strict: nothing is replaced or guessed. A file is UTF-8, or UTF-16
//! with a byte order mark, or Latin-1 if it declares that. Any other file is refused, and the reason says what it seems
//! to be.
//!
//! A declaration is a comment in one of the first two lines, as Python reads it (PEP 263) and editors do:
//! `# -*- coding: latin-1 -*-`. In Python files, the mark `-*-` may be absent. A file that is valid UTF-8 is read as
//! UTF-8 whatever it declares: text in Latin-1 is practically never valid UTF-8 by chance.

use chunkmill_base::error::Skip;

use super::format::{Format, Language};
use super::source_map::{SourceMap, Width};

/// A text may contain a stray NUL or another control character; a file with more than one in this many bytes is
/// something else.
const BYTES_PER_CONTROL: usize = 1000;

/// The first bytes of files that are neither text nor documents.
const SIGNS: [(&[u8], &str); 10] = [
    (b"\x89PNG\r\n\x1a\n", "is a PNG image"),
    (b"\xFF\xD8\xFF", "is a JPEG image"),
    (b"GIF8", "is a GIF image"),
    (b"RIFF", "is a WebP image, a sound or a film"),
    (b"II*\0", "is a TIFF image"),
    (b"MM\0*", "is a TIFF image"),
    (b"\x1F\x8B", "is a gzip archive"),
    (b"\x28\xB5\x2F\xFD", "is compressed with Zstandard"),
    (b"7z\xBC\xAF\x27\x1C", "is a 7-Zip archive"),
    (b"\x7FELF", "is a program"),
];

/// Number of bytes in which a declaration is searched.
const MAX_DECLARATION: usize = 1024;

/// Decodes the bytes of a document of this format, and maps the text to them.
pub(super) fn decode(bytes: Vec<u8>, format: Format) -> Result<(String, SourceMap), Skip> {
    match bytes.as_slice() {
        [0xFF, 0xFE, 0, 0, ..] if bytes.len().is_multiple_of(4) => Err(unmarked("UTF-32LE")),
        [0, 0, 0xFE, 0xFF, ..] => Err(unmarked("UTF-32BE")),
        [0xFF, 0xFE, rest @ ..] => utf16("UTF-16LE", rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16("UTF-16BE", rest, u16::from_be_bytes),
        [b'%', b'P', b'D', b'F', b'-', ..] => Err(Skip::Format { format: "a PDF" }),
        [b'P', b'K', 3, 4, ..] => Err(Skip::Format { format: "an Office file or another ZIP archive" }),
        [0xD0, 0xCF, 0x11, 0xE0, ..] => Err(Skip::Format { format: "an Office file" }),
        _ => match nuls(&bytes) {
            Some(reason) => Err(signed(&bytes).unwrap_or(reason)),
            None => String::from_utf8(bytes).map(|text| (text, SourceMap::default())).or_else(|error| {
                match not_text(error.as_bytes()) {
                    Some(reason) => Err(reason),
                    None => declared(error.as_bytes(), format, error.utf8_error().valid_up_to()),
                }
            }),
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
    if all * BYTES_PER_CONTROL <= bytes.len() {
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

/// Returns what a file is by its first bytes.
fn signed(bytes: &[u8]) -> Option<Skip> {
    SIGNS.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, sign)| Skip::NotText { sign })
}

/// Returns what a file is that is not UTF-8 and would not be text in any other encoding: those of single bytes, and
/// those of East Asia, use the control characters for nothing else.
fn not_text(bytes: &[u8]) -> Option<Skip> {
    // White space, the end of a file, and the escapes of terminals and of ISO 2022.
    let is_control = |byte: &&u8| byte.is_ascii_control() && !matches!(byte, b'\t'..=b'\r' | 0x1A | 0x1B);
    signed(bytes).or_else(|| match memchr::memchr_iter(0, bytes).count() {
        0 if bytes.iter().filter(is_control).count() * BYTES_PER_CONTROL <= bytes.len() => None,
        0 => Some(Skip::NotText { sign: "contains control characters" }),
        nuls => Some(Skip::Binary { nuls }),
    })
}

fn utf16(encoding: &'static str, bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<(String, SourceMap), Skip> {
    const BOM: usize = 2;
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let mut offset = BOM;
    for decoded in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        let c = decoded.map_err(|_| Skip::Encoding { encoding, offset })?;
        text.push(c);
        offset += 2 * c.len_utf16();
    }
    if !rest.is_empty() {
        return Err(Skip::Encoding { encoding, offset });
    }
    let map = SourceMap::new(&text, BOM, Width::Utf16);
    Ok((text, map))
}

/// Decodes bytes that are not UTF-8 from `offset` on as they declare.
fn declared(bytes: &[u8], format: Format, offset: usize) -> Result<(String, SourceMap), Skip> {
    let Some(name) = declaration(bytes, format) else { return Err(Skip::Encoding { encoding: "UTF-8", offset }) };
    // As Python does: case, `_` and `-`, and what follows `latin-1-` do not matter.
    let plain = name.to_ascii_lowercase().replace('_', "-");
    let is = |known: &str| plain == known || plain.strip_prefix(known).is_some_and(|rest| rest.starts_with('-'));
    if ["latin-1", "latin1", "iso-8859-1", "iso8859-1", "iso-latin-1", "l1"].into_iter().any(is) {
        let text: String = bytes.iter().copied().map(char::from).collect();
        let map = SourceMap::new(&text, 0, Width::Byte);
        return Ok((text, map));
    }
    if is("utf-8") || is("utf8") {
        return Err(Skip::Encoding { encoding: "UTF-8", offset });
    }
    Err(Skip::Declared { encoding: name })
}

/// Returns the name of the encoding that a file declares in one of its first two lines.
fn declaration(bytes: &[u8], format: Format) -> Option<String> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let mut lines = bytes[..bytes.len().min(MAX_DECLARATION)].split(|byte| matches!(byte, b'\n' | b'\r'));
    let in_line = |line: &[u8]| {
        let comment = match format {
            Format::Code(Language::Python) => line.trim_ascii_start().strip_prefix(b"#")?,
            _ => &line[memchr::memmem::find(line, b"-*-")?..],
        };
        let at = memchr::memmem::find(comment, b"coding")? + "coding".len();
        let rest = comment[at..].strip_prefix(b":").or_else(|| comment[at..].strip_prefix(b"="))?.trim_ascii_start();
        let name = &rest[..rest.iter().take_while(|byte| is_name(byte)).count()];
        (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
    };
    lines.by_ref().take(2).find_map(in_line)
}
