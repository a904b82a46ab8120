//! Numbers as people read them.

/// A number with as many digits as matter: three after the point below 10, none from 1,000 on.
#[must_use]
pub fn figure(value: f64) -> String {
    let digits = match value.abs() {
        size if size < 10.0 => 3,
        size if size < 1_000.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    // "-0.000" is no number for people.
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) { text.replace('-', "") } else { text }
}

/// The same with its sign.
pub(super) fn signed(value: f64) -> String {
    let text = figure(value);
    if text.starts_with('-') || text.chars().all(|c| matches!(c, '0' | '.')) { text } else { format!("+{text}") }
}
