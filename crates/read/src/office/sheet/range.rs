//! Names of cells and ranges.

/// Columns of a sheet.
pub(crate) const MAX_COLUMNS: u32 = 16_384;

/// Rows of a sheet.
pub(crate) const MAX_ROWS: u32 = 1_048_576;

/// Returns the row and column of a cell, from 0: `B3` is `(2, 1)`.
pub(super) fn cell(name: &str) -> Option<(u32, u32)> {
    let letters = name.find(|c: char| !c.is_ascii_alphabetic())?;
    let mut column: u32 = 0;
    for letter in name[..letters].bytes() {
        column = column.checked_mul(26)?.checked_add(u32::from(letter.to_ascii_uppercase() - b'A') + 1)?;
    }
    let row: u32 = name[letters..].parse().ok()?;
    Some((row.checked_sub(1)?, column.checked_sub(1)?))
}

/// Returns the letters of a column.
fn letters(column: u32) -> String {
    let mut rest = column + 1;
    let mut letters = Vec::new();
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + u8::try_from(rest % 26).unwrap_or_default()));
        rest /= 26;
    }
    letters.into_iter().rev().collect()
}

/// Returns the name of a range in a sheet, as sheets write it: `Prices!A1:C9`, `'Old prices'!B2`.
pub(crate) fn range(sheet: &str, (first, last, left, right): (u32, u32, u32, u32)) -> String {
    let simple = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let quoted = !sheet.chars().all(simple) || sheet.starts_with(|c: char| c.is_ascii_digit());
    let sheet = if quoted { format!("'{}'", sheet.replace('\'', "''")) } else { sheet.to_owned() };
    let start = format!("{}{}", letters(left), first + 1);
    let end = format!("{}{}", letters(right), last + 1);
    if start == end { format!("{sheet}!{start}") } else { format!("{sheet}!{start}:{end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_names() {
        assert_eq!(
            (cell("A1"), cell("b3"), cell("XFD1048576")),
            (Some((0, 0)), Some((2, 1)), Some((1_048_575, 16_383)))
        );
        assert_eq!((cell("A0"), cell("12"), cell("A"), cell(""), cell("ZZZZZZZZZ1")), (None, None, None, None, None));
        assert_eq!(range("Prices", (0, 8, 0, 2)), "Prices!A1:C9");
        assert_eq!(range("Bob's list", (1, 1, 27, 27)), "'Bob''s list'!AB2");
        assert_eq!(letters(16_383), "XFD");
    }
}
