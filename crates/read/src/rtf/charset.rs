//! The characters that bytes of text stand for: by code page of the document, by character set of a font, and in fonts of
//! symbols.

use std::borrow::Cow;

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, IBM866, MACINTOSH, SHIFT_JIS, UTF_8, WINDOWS_874, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258, X_MAC_CYRILLIC,
};

/// The upper halves of the code pages of DOS, which `encoding_rs` does not have.
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

/// The letters of the font Symbol, from `A` and from `a`.
const UPPER: &str = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";
const LOWER: &str = "αβχδεϕγηιφκλμνοπθρστυϖωξψζ";

/// How bytes stand for characters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Coding {
    /// An encoding of the web.
    Encoding(&'static Encoding),
    /// The characters of the bytes from 128.
    Upper(&'static str),
    /// The font Symbol.
    Symbol,
    /// A font of other signs.
    Signs,
    /// Not known.
    Unknown,
}

impl Coding {
    /// Returns the coding of a code page of Windows.
    pub(super) fn of_page(page: i32) -> Self {
        Self::Encoding(match page {
            437 => return Self::Upper(CP437),
            850 | 858 => return Self::Upper(CP850),
            866 => IBM866,
            874 => WINDOWS_874,
            932 => SHIFT_JIS,
            936 | 54936 => GBK,
            949 => EUC_KR,
            950 => BIG5,
            1250 => WINDOWS_1250,
            1251 => WINDOWS_1251,
            // ISO 8859-1 too: its control characters are in no text.
            0 | 819 | 1252 | 28591 => WINDOWS_1252,
            1253 => WINDOWS_1253,
            1254 => WINDOWS_1254,
            1255 => WINDOWS_1255,
            1256 => WINDOWS_1256,
            1257 => WINDOWS_1257,
            1258 => WINDOWS_1258,
            10000 => MACINTOSH,
            10007 => X_MAC_CYRILLIC,
            65001 => UTF_8,
            _ => return Self::Unknown,
        })
    }

    /// Returns the coding of a character set of a font; `None` if it is the one of the document.
    pub(super) fn of_charset(charset: i32) -> Option<Self> {
        Some(Self::of_page(match charset {
            0 => 1252,
            2 => return Some(Self::Signs),
            77 => 10000,
            78 | 128 => 932,
            79 | 129 => 949,
            80 | 134 => 936,
            81 | 136 => 950,
            85 | 161 => 1253,
            86 | 162 => 1254,
            163 => 1258,
            83 | 177 | 181 => 1255,
            84 | 178..=180 => 1256,
            186 => 1257,
            89 => 10007,
            204 => 1251,
            87 | 222 => 874,
            88 | 238 => 1250,
            254 => 437,
            255 => 850,
            130 => 1361,
            _ => return None,
        }))
    }

    /// Returns the coding of a font of signs by its name.
    pub(super) fn of_signs(font: &str) -> Self {
        let is_symbol = font.trim_start().get(..6).is_some_and(|name| name.eq_ignore_ascii_case("symbol"));
        if is_symbol { Self::Symbol } else { Self::Signs }
    }

    /// Returns the characters of bytes.
    pub(super) fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Encoding(encoding) => encoding.decode_without_bom_handling(bytes).0,
            Self::Unknown => WINDOWS_1252.decode_without_bom_handling(bytes).0,
            Self::Upper(upper) => {
                bytes.iter().map(|byte| above(upper, 0x80, *byte).unwrap_or(char::from(*byte))).collect()
            }
            Self::Symbol | Self::Signs => bytes.iter().map(|byte| self.sign(*byte)).collect(),
        }
    }

    /// Returns whether a byte may be one half of a character.
    pub(super) fn has_pairs(self) -> bool {
        matches!(self, Self::Encoding(encoding) if [SHIFT_JIS, GBK, EUC_KR, BIG5].contains(&encoding))
    }

    /// Returns the character of a number in Unicode. Fonts of signs have theirs in a private area.
    pub(super) fn unicode(self, code: u32) -> Option<char> {
        let low = code.checked_sub(0xf000).and_then(|low| u8::try_from(low).ok());
        match (self, low) {
            (Self::Symbol | Self::Signs, Some(low)) => Some(self.sign(low)),
            _ => char::from_u32(code),
        }
    }

    /// Returns the character that a font of signs shows for a byte. An unknown byte is read as Windows-1252.
    fn sign(self, byte: u8) -> char {
        let known = if self == Self::Symbol { symbol(byte) } else { dingbat(byte) };
        known.unwrap_or_else(|| WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next().unwrap_or(' '))
    }
}

fn above(table: &str, first: u8, byte: u8) -> Option<char> {
    table.chars().nth(usize::from(byte.checked_sub(first)?))
}

fn symbol(byte: u8) -> Option<char> {
    Some(match byte {
        b'A'..=b'Z' => return above(UPPER, b'A', byte),
        b'a'..=b'z' => return above(LOWER, b'a', byte),
        0xa3 => '≤',
        0xa5 => '∞',
        0xab => '↔',
        0xac => '←',
        0xad => '↑',
        0xae => '→',
        0xaf => '↓',
        0xb0 => '°',
        0xb1 => '±',
        0xb3 => '≥',
        0xb4 => '×',
        0xb6 => '∂',
        0xb7 => '•',
        0xb8 => '÷',
        0xb9 => '≠',
        0xba => '≡',
        0xbb => '≈',
        0xbc => '…',
        0xc5 => '⊕',
        0xc6 => '∅',
        0xc7 => '∩',
        0xc8 => '∪',
        0xcc => '⊂',
        0xcd => '⊆',
        0xce => '∈',
        0xcf => '∉',
        0xd1 => '∇',
        0xd5 => '∏',
        0xd6 => '√',
        0xd7 => '⋅',
        0xd8 => '¬',
        0xd9 => '∧',
        0xda => '∨',
        0xdb => '⇔',
        0xde => '⇒',
        0xe5 => '∑',
        0xf2 => '∫',
        _ => return None,
    })
}

fn dingbat(byte: u8) -> Option<char> {
    Some(match byte {
        0x4a => '☺',
        0x6e | 0xa7 => '▪',
        0x6f | 0x71 | 0xa8 => '☐',
        0x9f | 0x6c | 0xb7 => '•',
        0x76 => '❖',
        0xdf => '←',
        0xd8 => '➢',
        0xe0 | 0xe8 | 0xf0 => '→',
        0xfb => '✗',
        0xfc => '✓',
        0xfd => '☒',
        0xfe => '☑',
        _ => return None,
    })
}
