//! Formats numbers for people.

/// Formats a number with the digits that matter: three decimals below 10, none from 1,000 on.
pub fn figure(value: f64) -> String {
    let digits = match value.abs() {
        size if size < 10.0 => 3,
        size if size < 1_000.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    // People should not see "-0.000".
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) { text.replace('-', "") } else { text }
}

/// Formats a number like [`figure`], with its sign.
pub(crate) fn signed(value: f64) -> String {
    let text = figure(value);
    if text.starts_with('-') || text.chars().all(|c| matches!(c, '0' | '.')) { text } else { format!("+{text}") }
}
