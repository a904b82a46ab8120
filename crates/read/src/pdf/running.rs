//! Finds running heads: lines at the top and at the bottom of pages that say the same at the same height, apart from
//! numbers, or that count the pages.

use std::collections::HashMap;

use super::page::PageText;
use super::word::Word;

/// Share of a page, at its top and at its bottom, in which running heads are.
const MARGIN: f32 = 0.16;

/// Lines at each end of a page that are looked at.
const ROWS: usize = 3;

/// Heights that are the same, in points.
const STEP: f32 = 4.0;

/// Longest line that may be a running head because it has a number that counts the pages.
const MAX_NUMBERED: usize = 120;

/// A line near an end of a page.
struct Edge {
    /// Its words, by index.
    words: Vec<usize>,
    y: f32,
    text: String,
    /// Numbers at its ends, less that of the page.
    offsets: Vec<i64>,
}

/// The text or the place that lines have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    Count(i64),
}

/// Removes the running heads of all pages, and returns their text.
pub(super) fn remove(pages: &mut [PageText], body: f32) -> String {
    let rows: Vec<[Vec<Edge>; 2]> = pages.iter().map(|page| edges(page, body)).collect();
    let mut same: HashMap<(usize, Key, i32), u32> = HashMap::new();
    for page in &rows {
        for (side, rows) in page.iter().enumerate() {
            let mut seen = Vec::new();
            for row in rows {
                for key in keys(row) {
                    let key = (side, key, step(row.y));
                    if !seen.contains(&key) {
                        *same.entry(key.clone()).or_default() += 1;
                        seen.push(key);
                    }
                }
            }
        }
    }
    let with_text = rows.iter().filter(|page| page.iter().any(|rows| !rows.is_empty())).count();
    let needed = if with_text <= 4 { 2 } else { 3 };
    let mut removed = String::new();
    for (page, rows) in pages.iter_mut().zip(&rows) {
        let mut gone = Vec::new();
        for (side, rows) in rows.iter().enumerate() {
            for row in rows {
                let count = |key: Key| -> u32 {
                    let near =
                        [-1, 0, 1].map(|by| same.get(&(side, key.clone(), step(row.y) + by)).copied().unwrap_or(0));
                    near.iter().sum()
                };
                // Only from the end of the page inwards: what is below other text is text.
                if !keys(row).into_iter().any(|key| count(key) >= needed) {
                    break;
                }
                gone.extend(&row.words);
            }
        }
        let Some(group) = page.groups.first_mut() else { continue };
        let mut index = 0;
        gone.sort_unstable();
        group.retain(|word| {
            let keep = gone.binary_search(&index).is_err();
            index += 1;
            if !keep {
                removed.push_str(&word.text);
            }
            keep
        });
    }
    removed
}

#[expect(clippy::cast_possible_truncation, reason = "places on a page are small")]
fn step(y: f32) -> i32 {
    (y / STEP).round() as i32
}

fn keys(row: &Edge) -> Vec<Key> {
    let mut keys = vec![Key::Text(row.text.clone())];
    if row.text.len() <= MAX_NUMBERED {
        keys.extend(row.offsets.iter().copied().map(Key::Count));
    }
    keys
}

/// Returns the lines at the top and at the bottom of a page, each from the end of the page inwards.
fn edges(page: &PageText, body: f32) -> [Vec<Edge>; 2] {
    let Some(words) = page.groups.first() else { return Default::default() };
    let height = page.bottom - page.top;
    let side = |inside: &dyn Fn(&Word) -> bool, reverse: bool| {
        let mut near: Vec<usize> = (0..words.len()).filter(|at| inside(&words[*at])).collect();
        near.sort_by(|a, b| words[*a].y.total_cmp(&words[*b].y).then(words[*a].x.total_cmp(&words[*b].x)));
        if reverse {
            near.reverse();
        }
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for at in near {
            let full = rows.len() == ROWS;
            match rows.last_mut() {
                Some(row)
                    if row
                        .first()
                        .is_some_and(|first| (words[*first].y - words[at].y).abs() < 0.5 * words[at].size) =>
                {
                    row.push(at);
                }
                _ if full => break,
                _ => rows.push(vec![at]),
            }
        }
        rows.into_iter()
            .map(|row| self::row(row, words, page.number))
            .take_while(|row| row_is_small(row, words, body))
            .collect()
    };
    let top = page.top + MARGIN * height;
    let bottom = page.bottom - MARGIN * height;
    [side(&|word| word.y < top, false), side(&|word| word.y > bottom, true)]
}

/// A line of large letters is a heading.
fn row_is_small(row: &Edge, words: &[Word], body: f32) -> bool {
    row.words.iter().all(|at| words[*at].size < 1.3 * body)
}

fn row(mut at: Vec<usize>, words: &[Word], page: u32) -> Edge {
    at.sort_by(|a, b| words[*a].x.total_cmp(&words[*b].x).then(a.cmp(b)));
    let y = at.first().map_or(0.0, |first| words[*first].y);
    let mut text = String::new();
    for word in at.iter().map(|at| &words[*at].text) {
        if roman(word).is_some() {
            text.push('#');
        } else {
            let mut number = false;
            for c in word.chars() {
                if !(c.is_ascii_digit() && number) {
                    text.push(if c.is_ascii_digit() { '#' } else { c });
                }
                number = c.is_ascii_digit();
            }
        }
        text.push(' ');
    }
    let ends = [at.first(), at.last()];
    let mut offsets = Vec::new();
    for word in
        ends.into_iter().flatten().map(|at| words[*at].text.trim_matches(['-', '–', '|', '.', '/', '[', ']', '(', ')']))
    {
        let number = word.parse::<i64>().ok().filter(|number| (0..100_000).contains(number));
        // The first pages of a book are counted with Roman numerals.
        let numbers = number.map(|number| number - i64::from(page));
        let roman = roman(word).map(|number| 1_000_000 + number - i64::from(page));
        offsets.extend(numbers.into_iter().chain(roman));
    }
    offsets.dedup();
    Edge { words: at, y, text, offsets }
}

/// Returns the value of a small Roman numeral.
fn roman(word: &str) -> Option<i64> {
    if word.is_empty() || word.len() > 8 {
        return None;
    }
    let values = word.chars().map(|c| match c {
        'i' => Some(1),
        'v' => Some(5),
        'x' => Some(10),
        'l' => Some(50),
        'c' => Some(100),
        _ => None,
    });
    let values = values.collect::<Option<Vec<i64>>>()?;
    let signed = values
        .iter()
        .enumerate()
        .map(|(at, value)| if values.get(at + 1).is_some_and(|next| next > value) { -value } else { *value });
    Some(signed.sum())
}
