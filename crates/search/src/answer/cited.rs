//! Citations in an answer: numbers in square brackets.

/// Largest number of citations that a range like `[1-3]` expands to; a longer range cites only its ends.
const MOST: usize = 100;

/// Returns the numbers that a text cites as `[1]`, `[1, 2]` or `[1-3]`, each once, in order.
pub(super) fn numbers(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('[') {
        let inside = &text[at + 1..];
        let Some(numbers) = inside.find(']').and_then(|end| list(&inside[..end])) else { continue };
        for number in numbers {
            if !found.contains(&number) {
                found.push(number);
            }
        }
    }
    found
}

/// Parses `1, 2-4`; `None` if the text contains anything else.
fn list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split([',', ';']).map(str::trim) {
        match part.split_once(['-', '–']) {
            None => numbers.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last.checked_sub(first)? < MOST {
                    numbers.extend(first..=last);
                } else {
                    numbers.extend([first, last]);
                }
            }
        }
    }
    Some(numbers)
}

fn number(text: &str) -> Option<usize> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
