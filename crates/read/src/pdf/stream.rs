//! Unpacks streams within limits.
//!
//! The library unpacks a stream to its end, and ten kilobytes may be ten megabytes of zeros, or of fonts and tables of
//! objects that are unpacked while the file is opened. So the streams of a file are measured before it is opened, the
//! content of pages is unpacked here, and fonts are measured before they are loaded. Encrypted streams cannot be
//! measured before.

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use hayro_syntax::Filter;
use hayro_syntax::object::{Dict, Stream};

/// Bytes that all streams of a file may have, unpacked, without those of pictures, which are not unpacked.
pub(super) const ALL: u64 = 1 << 30;

/// Bytes that one stream may have, unpacked.
const ONE: u64 = 64 << 20;

/// Bytes, packed, of a stream that is not measured: one that is packed in another way, or several times. It may grow by
/// a factor of 1,000.
const UNMEASURED: usize = 512 << 10;

/// Counts the bytes of all streams that the library may unpack while it opens a file. Returns whether that is too much.
pub(super) fn is_bomb(file: &[u8]) -> bool {
    let (mut left, mut end) = (ALL, 0);
    for start in occurrences(file, b"stream") {
        let before = file.get(end..start).unwrap_or_default();
        if before.ends_with(b"end") {
            end = start;
            continue;
        }
        let at = start + b"stream".len();
        let data = file.get(at..).unwrap_or_default();
        let data = data.strip_prefix(b"\r").unwrap_or(data);
        let data = data.strip_prefix(b"\n").unwrap_or(data);
        if !is_zlib(data) || is_picture(before) {
            continue;
        }
        let bytes = measured(data, ONE + 1);
        if bytes > ONE || bytes > left {
            return true;
        }
        left -= bytes;
    }
    false
}

/// Returns where a word occurs.
fn occurrences<'b>(bytes: &'b [u8], word: &'static [u8]) -> impl Iterator<Item = usize> + 'b {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(at..)?;
            let found = at + rest.iter().position(|byte| *byte == word[0])?;
            at = found + 1;
            if bytes[found..].starts_with(word) {
                return Some(found);
            }
        }
    })
}

/// Returns whether bytes start like zlib's.
fn is_zlib(data: &[u8]) -> bool {
    matches!(data, [method, flags, ..] if method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0)
}

/// Returns whether a dictionary is that of a picture, and that of nothing that is unpacked while a file is opened:
/// a table of objects has `/W`, and a pack of objects has `/First`. `#` writes a name in another way.
fn is_picture(dictionary: &[u8]) -> bool {
    let has = |word: &'static [u8]| occurrences(dictionary, word).next().is_some();
    let table = occurrences(dictionary, b"/W").any(|at| !dictionary[at + 2..].starts_with(b"idth"));
    has(b"/Image") && !has(b"/First") && !table && !dictionary.contains(&b'#')
}

/// Returns how many bytes packed data has, unpacked; not more than `most`.
fn measured(data: &[u8], most: u64) -> u64 {
    std::io::copy(&mut ZlibDecoder::new(data).take(most), &mut Counter(0)).unwrap_or_else(|_| {
        // What was unpacked before the fault counts: the library keeps it.
        let mut counter = Counter(0);
        let mut reader = ZlibDecoder::new(data).take(most);
        let mut buffer = [0; 16 << 10];
        while let Ok(len @ 1..) = reader.read(&mut buffer) {
            counter.0 += len as u64;
        }
        counter.0
    })
}

struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Bytes that may still be unpacked.
#[derive(Debug)]
pub(super) struct Room(u64);

impl Room {
    pub(super) fn new() -> Self {
        Self(ALL)
    }

    /// Takes room for bytes. Returns whether there was enough.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        let fits = bytes <= self.0;
        self.0 = self.0.saturating_sub(bytes);
        fits
    }

    /// Unpacks the content of a page. Of content with a fault, returns what is before it.
    pub(super) fn unpack(&mut self, stream: &Stream<'_>) -> Option<Vec<u8>> {
        if !is_plain_deflate(stream) {
            return self.admits(stream).then(|| stream.decoded_data().ok().map(std::borrow::Cow::into_owned)).flatten();
        }
        let data = stream.raw_data();
        let most = ONE.min(self.0);
        let read = |mut reader: &mut dyn Read| {
            let (mut content, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
            while let Ok(len @ 1..) = Read::read(&mut reader, &mut buffer) {
                content.extend_from_slice(&buffer[..len]);
            }
            content
        };
        let mut content = read(&mut ZlibDecoder::new(&*data).take(most));
        if content.is_empty() {
            content = read(&mut DeflateDecoder::new(&*data).take(most));
        }
        if content.is_empty() && !data.is_empty() {
            content = read(&mut DeflateDecoder::new(data.get(2..).unwrap_or_default()).take(most));
        }
        self.take(content.len() as u64);
        Some(content)
    }

    /// Returns whether the library may unpack a stream.
    pub(super) fn admits(&mut self, stream: &Stream<'_>) -> bool {
        let data = stream.raw_data();
        let filters = stream.filters();
        if filters.is_empty() {
            return self.take(data.len() as u64);
        }
        if filters.as_slice() == [Filter::FlateDecode] && is_zlib(&data) {
            let bytes = measured(&data, ONE + 1);
            return bytes <= ONE && self.take(bytes);
        }
        let packed = |filter: &&Filter| !matches!(filter, Filter::Ascii85Decode | Filter::AsciiHexDecode);
        data.len() <= UNMEASURED && filters.iter().filter(packed).count() < 2 && self.take(data.len() as u64 * 16)
    }
}

fn is_plain_deflate(stream: &Stream<'_>) -> bool {
    let plain = |key: &[u8]| stream.dict().get::<Dict<'_>>(key).is_none_or(|params| !params.contains_key(b"Predictor"));
    stream.filters().as_slice() == [Filter::FlateDecode] && plain(b"DecodeParms") && plain(b"DP")
}

/// Cuts a text in pieces that are not longer than a limit.
pub(super) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
