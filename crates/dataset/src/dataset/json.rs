//! Texts and numbers as JSON, byte for byte what `serde_json` writes. Text is copied in runs between the few bytes that
//! must be escaped.

pub(super) fn number(value: i64, out: &mut Vec<u8>) {
    // Enough for the longest value.
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    let mut rest = value.unsigned_abs();
    while rest > 0 || start == digits.len() {
        start -= 1;
        digits[start] += u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[start..]);
}

pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    while let Some(at) = first_escaped(rest) {
        out.extend_from_slice(&rest[..at]);
        escape(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Returns the position of the first byte that must be escaped: a control character, `"` or `\`.
fn first_escaped(text: &[u8]) -> Option<usize> {
    const WORD: usize = size_of::<u64>();
    let (words, rest) = text.as_chunks::<WORD>();
    for (at, word) in words.iter().enumerate() {
        let found = escaped(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at * WORD + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|&byte| byte < b' ' || byte == b'"' || byte == b'\\');
    at.map(|at| words.len() * WORD + at)
}

/// Marks the lowest byte that must be escaped by its high bit. Higher bytes may be marked by mistake, because a
/// subtraction borrows from them, but only above a byte that is marked correctly.
fn escaped(word: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let below = |limit: u8, word: u64| word.wrapping_sub(EACH * u64::from(limit)) & !word;
    let equal = |byte: u8| below(1, word ^ (EACH * u64::from(byte)));
    (below(b' ', word) | equal(b'"') | equal(b'\\')) & (EACH * 0x80)
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'\n' => b'n',
        b'"' | b'\\' => byte,
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            out.extend_from_slice(b"\\u00");
            return out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xF)]]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
