//! The marks of the items of lists.

/// The mark of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    Bullet,
    /// A number or a letter, with its value.
    Number(u32),
}

/// Returns what mark a word is.
pub(super) fn mark(word: &str) -> Option<Mark> {
    let mut chars = word.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        let bullets = "•◦▪▫●○■□‣⁃∙·►▶➢➤➔✓✔❖◆◇★–—-*\u{f0b7}\u{f0a7}\u{f076}\u{f0d8}\u{2219}";
        return bullets.contains(c).then_some(Mark::Bullet);
    }
    let inner = word.strip_prefix('(').or_else(|| word.strip_prefix('[')).unwrap_or(word);
    let open = inner.len() < word.len();
    let inner = inner.strip_suffix([')', ']']).or_else(|| inner.strip_suffix('.').filter(|_| !open))?;
    if inner.is_empty() || inner.len() > 3 {
        return None;
    }
    if inner.bytes().all(|byte| byte.is_ascii_digit()) {
        return inner.parse().ok().map(Mark::Number);
    }
    let letter = inner.bytes().next().filter(|_| inner.len() == 1 && !word.ends_with('.'))?;
    letter.is_ascii_lowercase().then(|| Mark::Number(u32::from(letter - b'a') + 1))
}
