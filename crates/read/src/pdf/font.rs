//! Fonts: the text and the width of each code, and how a font looks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hayro_cmap::BfString;
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, GlyphId};
use hayro_syntax::object::{Array, Dict, Name, ObjectIdentifier, Stream};

use super::stream::Room;

/// Fonts that a document may have.
const MOST: usize = 4000;

/// Widths that a font may have, all ranges together. There are 65,536 codes.
const WIDTHS: u64 = 200_000;

/// Bytes that the library takes for a width.
const WIDTH: u64 = 32;

/// Codes whose text is remembered, for each font.
const CODES: usize = 70_000;

/// How the letters of a font look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Look {
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) mono: bool,
}

/// The advance of a code in thousandths, and its text if that is known.
type Known = (f32, Option<Rc<str>>);

/// A font of a document.
pub(super) struct Face<'a> {
    font: Option<Font<'a>>,
    pub(super) look: Look,
    /// Whether its codes are single bytes.
    simple: bool,
    codes: RefCell<HashMap<u32, Known>>,
}

impl Face<'_> {
    /// Returns the code at a byte, and its length. A font that cannot be loaded has single bytes.
    pub(super) fn code(&self, bytes: &[u8], at: usize) -> (u32, usize) {
        match &self.font {
            Some(font) => font.read_code(bytes, at),
            None => (bytes.get(at).copied().unwrap_or_default().into(), 1),
        }
    }

    pub(super) fn is_horizontal(&self) -> bool {
        self.font.as_ref().is_none_or(Font::is_horizontal)
    }

    pub(super) fn glyph(&self, code: u32) -> Known {
        if let Some(known) = self.codes.borrow().get(&code) {
            return known.clone();
        }
        let found = self.find(code);
        let mut codes = self.codes.borrow_mut();
        if codes.len() < CODES {
            codes.insert(code, found.clone());
        }
        found
    }

    #[expect(clippy::cast_possible_truncation, reason = "widths are small")]
    fn find(&self, code: u32) -> Known {
        let Some(font) = &self.font else { return (500.0, None) };
        let advance = font.code_advance(code);
        let advance = if font.is_horizontal() { advance.x } else { advance.y } as f32;
        let unicode = match font.glyph(GlyphId::new(0), code) {
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let text = match unicode {
            Some(BfString::Char(c)) => Some(c.to_string()),
            Some(BfString::String(text)) => Some(text),
            // Many viewers take the code for the character.
            None => {
                self.simple.then(|| char::from_u32(code).filter(|c| matches!(c, ' '..='~'))).flatten().map(Into::into)
            }
        };
        (if advance.is_finite() { advance } else { 0.0 }, text.map(|text| Rc::from(clean(&text))))
    }
}

/// Returns a text without ligatures and control characters.
fn clean(text: &str) -> String {
    let mut clean = String::new();
    for c in text.chars() {
        match c {
            'ﬀ' => clean.push_str("ff"),
            'ﬁ' => clean.push_str("fi"),
            'ﬂ' => clean.push_str("fl"),
            'ﬃ' => clean.push_str("ffi"),
            'ﬄ' => clean.push_str("ffl"),
            'ﬅ' | 'ﬆ' => clean.push_str("st"),
            'Ĳ' => clean.push_str("IJ"),
            'ĳ' => clean.push_str("ij"),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\t' | '\n' | '\r' => clean.push(' '),
            '\u{ad}' => clean.push('-'),
            '\u{200b}'..='\u{200f}' | '\u{feff}' => {}
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
}

/// The fonts of a document.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    programs: FontResolverFn,
    maps: CMapResolverFn,
    faces: HashMap<ObjectIdentifier, Rc<Face<'a>>>,
    loaded: usize,
}

impl<'a> Fonts<'a> {
    pub(super) fn new() -> Self {
        Self {
            cache: FontCache::new(),
            programs: Arc::new(|query| match query {
                FontQuery::Standard(font) => Some(font.get_font_data()),
                FontQuery::Fallback(font) => Some(font.pick_standard_font().get_font_data()),
            }),
            maps: Arc::new(hayro_cmap::load_embedded),
            faces: HashMap::new(),
            loaded: 0,
        }
    }

    /// Returns the font of a dictionary.
    pub(super) fn face(&mut self, dict: &Dict<'a>, room: &mut Room) -> Rc<Face<'a>> {
        if let Some(face) = dict.obj_id().and_then(|id| self.faces.get(&id)) {
            return Rc::clone(face);
        }
        self.loaded += 1;
        let widths = widths(dict);
        let few = widths < WIDTHS && room.take(widths * WIDTH);
        let admitted = self.loaded <= MOST && few && streams(dict).iter().all(|stream| room.admits(stream));
        let font = admitted.then(|| self.cache.font(dict, &self.programs, &self.maps)).flatten();
        let simple = dict.get::<Name<'_>>(b"Subtype").is_none_or(|kind| kind.as_ref() != b"Type0");
        let face = Rc::new(Face { font, look: look(dict), simple, codes: RefCell::default() });
        if let Some(id) = dict.obj_id() {
            self.faces.insert(id, Rc::clone(&face));
        }
        face
    }
}

/// Returns the part of a font that describes its letters: itself or its descendant.
fn inner<'a>(dict: &Dict<'a>) -> Dict<'a> {
    let descendants = dict.get::<Array<'_>>(b"DescendantFonts");
    descendants.and_then(|all| all.iter::<Dict<'_>>().next()).unwrap_or_else(|| dict.clone())
}

/// Returns the streams that are unpacked when a font is loaded.
fn streams<'a>(dict: &Dict<'a>) -> Vec<Stream<'a>> {
    let inner = inner(dict);
    let descriptor = inner.get::<Dict<'_>>(b"FontDescriptor").unwrap_or_default();
    let mut all = Vec::new();
    all.extend(dict.get::<Stream<'_>>(b"ToUnicode"));
    all.extend(dict.get::<Stream<'_>>(b"Encoding"));
    all.extend(inner.get::<Stream<'_>>(b"CIDToGIDMap"));
    for key in [b"FontFile".as_slice(), b"FontFile2", b"FontFile3"] {
        all.extend(descriptor.get::<Stream<'_>>(key));
    }
    all
}

/// Returns how many widths the library writes down for a font, each of a range on its own: two numbers may be a range of
/// four thousand million.
fn widths(dict: &Dict<'_>) -> u64 {
    let inner = inner(dict);
    let range = |first: u32, last: u32| u64::from(last.saturating_sub(first)) + 1;
    let mut count = 0_u64;
    if let Some(all) = inner.get::<Array<'_>>(b"W") {
        let mut parts = all.flex_iter();
        while count < WIDTHS {
            count += if parts.next::<(u32, Array<'_>)>().is_some() {
                1
            } else if let Some((first, last, _)) = parts.next::<(u32, u32, f32)>() {
                range(first, last)
            } else {
                break;
            }
        }
    }
    if let Some(all) = inner.get::<Array<'_>>(b"W2") {
        let mut parts = all.flex_iter();
        while count < WIDTHS {
            count += if parts.next::<(u32, Array<'_>)>().is_some() {
                1
            } else if let Some((first, last, ..)) = parts.next::<(u32, u32, f32, f32, f32)>() {
                range(first, last)
            } else {
                break;
            }
        }
    }
    count
}

/// Returns how the letters of a font look, by its name and its flags.
fn look(dict: &Dict<'_>) -> Look {
    let inner = inner(dict);
    let descriptor = inner.get::<Dict<'_>>(b"FontDescriptor").unwrap_or_default();
    let names = [dict.get::<Name<'_>>(b"BaseFont"), descriptor.get::<Name<'_>>(b"FontName")];
    let name = names.iter().flatten().map(|name| name.as_str().to_ascii_lowercase()).collect::<Vec<_>>().join(" ");
    let flags = descriptor.get::<i32>(b"Flags").unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let weight = descriptor.get::<f32>(b"FontWeight").unwrap_or_default();
    // The names of TeX's fonts are short.
    let tex = |starts: &[&str]| {
        name.split(' ').any(|name| {
            let name = name.split_once('+').map_or(name, |(_, name)| name);
            starts.iter().any(|start| {
                name.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            })
        })
    };
    Look {
        bold: weight >= 600.0
            || flags & 1 << 18 != 0
            || (has(&["bold", "black", "heavy", "-bd"]) && !has(&["semibold", "demibold"]))
            || has(&["semibold", "demibold", "-demi", "medi"])
            || tex(&["cmbx", "cmssbx", "cmb", "sfbx", "ecbx", "cmbxti", "lmbx"]),
        italic: flags & 1 << 6 != 0 || has(&["italic", "oblique", "slanted"]) || tex(&["cmti", "cmsl", "cmmi", "sfti"]),
        mono: flags & 1 != 0 && !tex(&["cmmi", "cmsy", "msam", "msbm"])
            || has(&["mono", "courier", "consolas", "menlo", "typewriter", "lucidacons", "inconsolata"])
            || tex(&["cmtt", "sltt", "ectt", "sftt", "lmtt", "cmsltt", "cmitt"]),
    }
}
