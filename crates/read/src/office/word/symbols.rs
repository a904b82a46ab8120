//! Characters that documents have as a number in a font of symbols.

/// The letters of the font Symbol, from `A`.
const GREEK: &str = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";

/// Returns the character that a font shows for a code. A code that is not known is returned as it is.
pub(super) fn symbol(font: &str, code: u32) -> char {
    let own = code.checked_sub(0xf000).filter(|low| *low < 0x100).unwrap_or(code);
    let font = font.to_ascii_lowercase();
    let known = if font == "symbol" {
        greek(own)
    } else if font.starts_with("wingdings") {
        dingbat(own)
    } else {
        char::from_u32(own)
    };
    known.or_else(|| char::from_u32(code)).filter(|c| !c.is_control()).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn greek(code: u32) -> Option<char> {
    let upper = |at: u32| GREEK.chars().nth(at as usize);
    match code {
        0x41..=0x5a => upper(code - 0x41),
        0x61..=0x7a => {
            let lower = match code {
                0x6a => Some('φ'),
                0x66 => Some('ϕ'),
                0x76 => Some('ϖ'),
                _ => None,
            };
            lower.or_else(|| upper(code - 0x61).and_then(|c| c.to_lowercase().next()))
        }
        0xa3 => Some('≤'),
        0xa5 => Some('∞'),
        0xae => Some('→'),
        0xb0 => Some('°'),
        0xb1 => Some('±'),
        0xb3 => Some('≥'),
        0xb4 => Some('×'),
        0xb7 => Some('•'),
        0xb8 => Some('÷'),
        0xb9 => Some('≠'),
        0xbb => Some('≈'),
        0xd6 => Some('√'),
        0xe5 => Some('∑'),
        0x20..=0x40 => char::from_u32(code),
        _ => None,
    }
}

fn dingbat(code: u32) -> Option<char> {
    Some(match code {
        0x4a => '☺',
        0x6e | 0xa7 => '▪',
        0x6f | 0xa8 => '☐',
        0x9f | 0x6c => '•',
        0xdf => '←',
        0xe0 | 0xe8 | 0xf0 => '→',
        0xfb => '✗',
        0xfc => '✓',
        0xfd => '☒',
        0xfe => '☑',
        _ => return None,
    })
}
