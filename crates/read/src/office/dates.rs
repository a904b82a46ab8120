//! Dates in sheets and charts. They are stored as numbers of days, and only the format of their cell says that they are dates.

/// The meaning of a number, by its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Date,
    Time,
    DateTime,
    /// A time that may be longer than a day.
    Duration,
}

const DAY: u64 = 86_400;

/// Last day that sheets know: 31 December 9999.
const MAX_DAY: f64 = 2_958_466.0;

/// Returns what a number means in a format that sheets have without saying so.
pub(super) fn built_in(id: u64) -> Kind {
    match id {
        14..=17 | 27..=31 | 34..=36 | 50..=54 | 57..=58 => Kind::Date,
        18..=21 | 32..=33 | 45 | 47 | 55..=56 => Kind::Time,
        22 => Kind::DateTime,
        46 => Kind::Duration,
        _ => Kind::Number,
    }
}

/// Returns what a number means in a format: `yyyy\-mm\-dd`, `[h]:mm`.
pub(super) fn kind(format: &str) -> Kind {
    let (mut day, mut hour, mut month, mut elapsed) = (false, false, false, false);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            // Only the first part is for numbers that are not negative.
            ';' => break,
            '"' => while chars.next().is_some_and(|c| c != '"') {},
            '\\' | '_' | '*' => {
                chars.next();
            }
            '[' => {
                let inside: String = chars.by_ref().take_while(|c| *c != ']').take(32).collect();
                let unit = inside.to_ascii_lowercase();
                elapsed |= !unit.is_empty() && unit.chars().all(|c| matches!(c, 'h' | 'm' | 's'));
            }
            c => match c.to_ascii_lowercase() {
                'y' | 'd' => day = true,
                'h' | 's' => hour = true,
                'm' => month = true,
                'g' if format[..].to_ascii_lowercase().starts_with("general") => return Kind::Number,
                _ => {}
            },
        }
    }
    match (day, hour) {
        _ if elapsed => Kind::Duration,
        (true, true) => Kind::DateTime,
        (true, false) => Kind::Date,
        (false, true) => Kind::Time,
        (false, false) if month => Kind::Date,
        (false, false) => Kind::Number,
    }
}

/// Returns a number as a date in ISO form; `None` if it is no date that sheets know. `since_1904` says which day is 0.
pub(super) fn written(number: &str, kind: Kind, since_1904: bool) -> Option<String> {
    let value: f64 = number.trim().parse().ok()?;
    if !(0.0..MAX_DAY).contains(&value) || kind == Kind::Number {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    let seconds = (value * 86_400.0).round() as u64;
    let (days, rest) = (seconds / DAY, seconds % DAY);
    let clock = |hours: u64| format!("{hours:02}:{:02}:{:02}", rest / 60 % 60, rest % 60);
    Some(match kind {
        Kind::Number => return None,
        Kind::Duration => clock(seconds / 3600),
        Kind::Time if days == 0 => clock(rest / 3600),
        Kind::Date if rest == 0 => date(days, since_1904)?,
        Kind::Date | Kind::Time | Kind::DateTime => {
            // Without a day it is a time, whatever the format shows.
            if days == 0 { clock(rest / 3600) } else { format!("{}T{}", date(days, since_1904)?, clock(rest / 3600)) }
        }
    })
}

/// Returns the date of a day.
fn date(days: u64, since_1904: bool) -> Option<String> {
    // Days from 1 January 1970. Sheets have a 29 February 1900, which was not, as day 60.
    let from_1970 = match days {
        days if since_1904 => i64::try_from(days).ok()? - 24_107,
        0 | 60 => return None,
        days if days < 60 => i64::try_from(days).ok()? - 25_568,
        days => i64::try_from(days).ok()? - 25_569,
    };
    // Howard Hinnant's algorithm, with years that start in March.
    let shifted = from_1970 + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_say_what_numbers_mean() {
        for (format, expected) in [
            ("General", Kind::Number),
            ("0.00", Kind::Number),
            ("#,##0 \"days\"", Kind::Number),
            ("[Red]0.00;[Blue]-0.00", Kind::Number),
            ("_-* #,##0\\ \\d", Kind::Number),
            ("yyyy\\-mm\\-dd", Kind::Date),
            ("mmm", Kind::Date),
            ("[$-409]d/m/yy h:mm AM/PM;@", Kind::DateTime),
            ("hh:mm", Kind::Time),
            ("[h]:mm:ss", Kind::Duration),
        ] {
            assert_eq!(kind(format), expected, "{format}");
        }
    }

    #[test]
    fn days_are_dates() {
        for (number, kind, since_1904, expected) in [
            ("1", Kind::Date, false, Some("1900-01-01")),
            ("59", Kind::Date, false, Some("1900-02-28")),
            ("60", Kind::Date, false, None),
            ("61", Kind::Date, false, Some("1900-03-01")),
            ("45352", Kind::Date, false, Some("2024-03-01")),
            ("43890", Kind::Date, true, Some("2024-03-01")),
            ("45352.5", Kind::DateTime, false, Some("2024-03-01T12:00:00")),
            ("45352.5", Kind::Date, false, Some("2024-03-01T12:00:00")),
            ("0.5208333333", Kind::Time, false, Some("12:30:00")),
            ("1.25", Kind::Duration, false, Some("30:00:00")),
            ("-1", Kind::Date, false, None),
            ("1e300", Kind::Date, false, None),
            ("NaN", Kind::Date, false, None),
            ("2958465", Kind::Date, false, Some("9999-12-31")),
        ] {
            assert_eq!(written(number, kind, since_1904).as_deref(), expected, "{number}");
        }
    }
}
