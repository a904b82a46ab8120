//! Where things begin and end in the text of a file.

/// Longest argument, in bytes.
const MAX_ARGUMENT: usize = 6000;

/// The braces of a file: each opening one with its partner.
pub(super) struct Braces(Vec<(usize, usize)>);

impl Braces {
    /// Finds the braces of a text, except those in comments and those that are escaped.
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut pairs, mut open) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'%' => at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at),
                b'{' => {
                    open.push(pairs.len());
                    pairs.push((at, usize::MAX));
                }
                b'}' => {
                    if let Some(index) = open.pop() {
                        let pair: &mut (usize, usize) = &mut pairs[index];
                        pair.1 = at;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        pairs.retain(|pair| pair.1 < usize::MAX);
        Self(pairs)
    }

    /// Returns where the brace is closed that is open at a byte. One that is closed far behind is most likely open in an example
    /// of code, and would take all text in between with it.
    pub(super) fn end(&self, open: usize) -> Option<usize> {
        let index = self.0.binary_search_by_key(&open, |(open, _)| *open).ok()?;
        Some(self.0[index].1).filter(|end| end - open <= MAX_ARGUMENT)
    }
}

/// Returns the length of the command that a text starts with, with its backslash.
pub(super) fn command(text: &str) -> usize {
    let name = text[1..].bytes().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'@').count();
    if name > 0 { name + 1 } else { 1 + text[1..].chars().next().map_or(0, char::len_utf8) }
}

/// Returns the length of the white space that a text starts with.
pub(super) fn white_space(text: &str) -> usize {
    text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// Returns where the paragraph ends that a text starts with.
pub(super) fn paragraph_end(text: &str) -> usize {
    let mut at = 0;
    while let Some(feed) = text[at..].find('\n') {
        let behind = at + feed + 1;
        let blank = text[behind..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        if text[behind + blank..].starts_with('\n') {
            return at + feed;
        }
        at = behind;
    }
    text.len()
}

/// Returns whether a text has more blank lines than a formula may have.
pub(super) fn has_blank_lines(text: &str, most: usize) -> bool {
    text.lines().skip(1).filter(|line| line.trim().is_empty()).nth(most).is_some()
}

/// Returns where a byte is that no backslash escapes.
pub(super) fn unescaped(text: &str, wanted: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            byte if byte == wanted => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the length of the option in brackets that a text starts with, with its brackets.
pub(super) fn option(text: &str) -> Option<usize> {
    const MOST: usize = 1000;
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'[') {
        return None;
    }
    let (mut at, mut braces, mut brackets) = (1, 0_usize, 0_usize);
    while at < bytes.len().min(MOST) {
        match bytes[at] {
            b'\\' => at += 1,
            b'{' => braces += 1,
            b'}' if braces == 0 => return None,
            b'}' => braces -= 1,
            b'[' if braces == 0 => brackets += 1,
            b']' if braces == 0 && brackets == 0 => return Some(at + 1),
            b']' if braces == 0 => brackets -= 1,
            b'\n' if bytes.get(at + 1) == Some(&b'\n') => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the rank of the highest sections of a file: 0 for parts, 1 for chapters, 2 for sections.
pub(super) fn first_rank(text: &str) -> u8 {
    match () {
        () if has_command(text, "\\part") => 0,
        () if has_command(text, "\\chapter") => 1,
        () => 2,
    }
}

/// Returns whether a text has a command that is no part of a longer one.
fn has_command(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| text[at + name.len()..].starts_with(['{', '*', '[']))
}

/// Returns where the body begins, if the file is a document and no part of one. A part may show how a document begins.
pub(super) fn body(text: &str) -> Option<usize> {
    let class = ["\\documentclass", "\\documentstyle"].iter().filter_map(|class| text.find(class)).min()?;
    let before = &text[..class];
    let has_text =
        ["\\section", "\\chapter", "\\subsection", "\\begin{verbatim}", "\\begin{lstlisting}", "\\begin{document}"];
    if has_text.iter().any(|command| before.contains(command)) {
        return None;
    }
    let begin = text[class..].match_indices("\\begin{document}").map(|(at, _)| class + at);
    let is_comment = |at: &usize| {
        let line = text[..*at].rfind('\n').map_or(0, |feed| feed + 1);
        text[line..*at].contains('%')
    };
    begin.take(MAX_BEGINS).find(|at| !is_comment(at))
}

/// Most places where a body may begin that are tried.
const MAX_BEGINS: usize = 100;
