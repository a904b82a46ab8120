//! From the bytes of a page to its text. What a page declares is believed less than its bytes: text that is valid UTF-8 is
//! UTF-8, because others are practically never valid by chance. Then counts what the page declares, then windows-1252, as
//! in browsers. Places are known where characters that are not ASCII have one byte or two, all alike.

use std::collections::HashSet;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Layer, ReadFlag, Refusal, SourceMap, Structure, Width};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, WINDOWS_1252};

/// The standard looks for a declaration in the first 1,024 bytes. Pages with long comments in front have it later.
const MAX_DECLARATION: usize = 4096;

/// Bytes that are looked at for signs that a file is no text.
const PREFIX: usize = 1 << 16;

/// Bytes of text for each character that cannot be decoded. With more of them, the text is in another encoding.
const MAX_WRONG: usize = 100;

/// Decodes the bytes of a page.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<Layer, Refusal> {
    let declared = declared(&bytes);
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) || is_utf8(&bytes, declared.as_deref()) {
        return Layer::read("page.html", bytes);
    }
    let hash = blake3::hash(&bytes).to_hex().to_string();
    // A file that is not text is refused for that reason, not for its encoding.
    match Layer::read("page.html", bytes[..bytes.len().min(PREFIX)].to_vec()) {
        Ok(_) | Err(Refusal { reason: Skip::Encoding { .. } | Skip::Declared { .. }, .. }) => {}
        Err(Refusal { reason, .. }) => return Err(Refusal { reason, hash }),
    }
    let known = declared.as_deref().and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = known.unwrap_or(WINDOWS_1252);
    if encoding == UTF_8 {
        // With the first bad byte.
        return Layer::read("page.html", bytes);
    }
    let is_single = encoding.is_single_byte();
    // Others are no encodings of a page: UTF-16 has no declaration that could be read, and some are not to be read at all.
    let is_known = is_single || encoding.is_ascii_compatible() || encoding == ISO_2022_JP;
    let text = encoding.decode_without_bom_handling(&bytes).0.into_owned();
    let wrong = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    if !is_known || !is_single && wrong * MAX_WRONG > text.len() {
        return Err(Refusal { reason: Skip::Declared { encoding: encoding.name().to_owned() }, hash });
    }
    let map =
        if is_single { Some(SourceMap::new(&text, 0, Width::Byte)) } else { double(encoding, &text, bytes.len()) };
    let mut about = Structure::default();
    about.metadata.insert("encoding".into(), encoding.name().into());
    if known.is_none() {
        about.flags.push(ReadFlag::GuessedEncoding);
    }
    Ok(Layer {
        text,
        map: map.unwrap_or_else(SourceMap::unknown),
        hash,
        bytes: bytes.len() as u64,
        metadata: serde_json::Map::new(),
        structure: Some(Box::new(about)),
    })
}

/// Returns the map of a text whose characters have two bytes unless they are ASCII, as in most pages in these encodings.
fn double(encoding: &'static Encoding, text: &str, bytes: usize) -> Option<SourceMap> {
    let has_two = |c: char| {
        let mut buffer = [0; 4];
        let (encoded, _, is_wrong) = encoding.encode(c.encode_utf8(&mut buffer));
        !is_wrong && encoded.len() == 2
    };
    let mut seen = HashSet::new();
    if !text.chars().all(|c| c.is_ascii() || !seen.insert(c) || has_two(c)) {
        return None;
    }
    let map = SourceMap::new(text, 0, Width::Double);
    // Escapes and other bytes may stand for no character.
    (map.place(text, &(0..text.len())).end == bytes as u64).then_some(map)
}

/// Returns whether bytes are UTF-8. ISO-2022-JP is ASCII with escapes.
fn is_utf8(bytes: &[u8], declared: Option<&str>) -> bool {
    let is_shifted = declared.is_some_and(|label| label.eq_ignore_ascii_case("iso-2022-jp")) && bytes.contains(&0x1B);
    !is_shifted && std::str::from_utf8(bytes).is_ok()
}

/// Returns the name of the encoding that a page declares.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = bytes[..bytes.len().min(MAX_DECLARATION)].to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    if let Some(xml) = head.trim_start_matches('\u{feff}').strip_prefix("<?xml")
        && let Some(name) = xml.split("?>").next().and_then(|xml| value(xml.split_once("encoding")?.1))
    {
        return Some(name);
    }
    let mut rest = &*head;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
        } else if rest.starts_with("<meta") {
            let tag = rest.split('>').next().unwrap_or_default();
            if let Some(name) = tag.split_once("charset").and_then(|(_, rest)| value(rest)) {
                return Some(name);
            }
            rest = &rest[tag.len()..];
        } else {
            rest = &rest[1..];
        }
    }
    None
}

/// Returns the value that follows the name of an attribute.
fn value(rest: &str) -> Option<String> {
    let rest = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '/' | '>' | '?'));
    let name = &rest[..end.unwrap_or(rest.len())];
    (!name.is_empty()).then(|| name.to_owned())
}
