//! Finds headings: by the outline of the file, and by the size and weight of their letters.

use std::collections::BTreeMap;

use super::about::Outline;
use super::block::{Block, Kind};
use super::usual::Usual;

/// Longest heading, in characters and lines.
const MAX_CHARS: usize = 200;
const MAX_LINES: usize = 4;

/// How a heading looks: its size in half points, and whether it is bold.
type Style = (u32, bool);

/// Turns paragraphs into headings, each with its level. Returns the title of the document, if it is on its first page.
pub(super) fn find(blocks: &mut [Block], outline: &Outline, usual: &Usual) -> Option<String> {
    let mut found: Vec<(usize, Style, Option<u8>)> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let is_text = matches!(block.kind, Kind::Text | Kind::Item(Some(_)) | Kind::Code) && !block.aside;
        if !is_text || block.lines.len() > MAX_LINES {
            continue;
        }
        let text = block.text();
        let chars = text.chars().count();
        if chars > MAX_CHARS {
            continue;
        }
        let level = outline.level(&text).filter(|_| chars > 1);
        if level.is_some() && block.size() > 0.8 * usual.body
            || !matches!(block.kind, Kind::Code) && is_heading(block, &text, chars, usual)
        {
            found.push((at, style(block), level));
        }
    }
    let title = title(blocks, &found);
    let levels = levels(blocks, &found, title);
    let level = |style, level: Option<u8>| level.or_else(|| levels.get(style).copied()).unwrap_or(1);
    // All headings are below the title. An outline may have it, too.
    let beside = found.iter().any(|(at, style, own)| title != Some(*at) && level(style, *own) == 1);
    let by = u8::from(title.is_some() && beside);
    for (at, style, own) in &found {
        let level = if title == Some(*at) { 1 } else { level(style, *own) + by };
        blocks[*at].kind = Kind::Heading(level.clamp(1, 6));
    }
    title.map(|at| blocks[at].text())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are small and positive")]
fn style(block: &Block) -> Style {
    ((block.size() * 2.0).round() as u32, block.lines.iter().all(|line| line.look.bold))
}

/// Returns whether a paragraph looks like a heading.
fn is_heading(block: &Block, text: &str, chars: usize, usual: &Usual) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let starts = text
        .chars()
        .find(|c| c.is_alphanumeric())
        .is_some_and(|c| c.is_uppercase() || c.is_numeric() || !c.is_lowercase());
    if letters < 3 || letters * 2 < chars.saturating_sub(text.matches(' ').count()) || text.ends_with([',', ';']) {
        return false;
    }
    let size = block.size() / usual.body;
    if size >= 1.15 {
        return block.lines.len() <= 3 || size >= 1.4;
    }
    let bold = block.lines.iter().all(|line| line.look.bold) && !usual.look.bold;
    bold && size >= 0.89 && starts && chars <= 120 && block.lines.len() <= 2 && !text.ends_with(['.', ':', '!'])
}

/// Returns the heading that is larger than all others, if it is on one of the first pages.
fn title(blocks: &[Block], found: &[(usize, Style, Option<u8>)]) -> Option<usize> {
    let largest = found.iter().map(|(_, style, _)| style.0).max()?;
    let mut all = found.iter().filter(|(_, style, _)| style.0 == largest);
    let (at, ..) = all.next()?;
    (all.next().is_none() && blocks[*at].pages.0 <= 2 && found.len() > 1).then_some(*at)
}

/// Returns the level of each style: that of the outline or of the numbers, otherwise its rank.
fn levels(blocks: &[Block], found: &[(usize, Style, Option<u8>)], title: Option<usize>) -> BTreeMap<Style, u8> {
    let mut votes: BTreeMap<Style, BTreeMap<u8, usize>> = BTreeMap::new();
    let others = || found.iter().filter(|(at, ..)| title != Some(*at));
    for (at, style, level) in others() {
        let votes = votes.entry(*style).or_default();
        if let Some(level) = level.or_else(|| numbered(&blocks[*at].text())) {
            *votes.entry(level).or_default() += 1;
        }
    }
    let mut levels = BTreeMap::new();
    let mut above = 0;
    // From large to small.
    for (style, votes) in votes.iter().rev() {
        let most = votes.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        let level = most.map_or((above + 1).min(6), |(level, _)| *level);
        above = above.max(level);
        levels.insert(*style, level);
    }
    levels
}

/// Returns how many parts the number before a heading has.
fn numbered(text: &str) -> Option<u8> {
    let number = text.split_whitespace().next()?.trim_end_matches('.');
    let parts: Vec<&str> = number.split('.').collect();
    let is_number = |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let first = parts
        .first()
        .is_some_and(|part| is_number(part) || part.len() == 1 && part.bytes().all(|b| b.is_ascii_uppercase()));
    let many = parts.len() > 1 || parts.first().is_some_and(is_number);
    (first && many && parts.iter().skip(1).all(is_number)).then(|| u8::try_from(parts.len()).unwrap_or(6))
}
