//! Splits any text into the pieces of the `cl100k_base` pattern, one character at a time.
//!
//! This is for everything that the masks of [`pieces`](super::pieces) do not support: other scripts, and pieces
//! longer than a window.

use regex_syntax::hir::{Class as Set, Hir, HirKind};

/// The classes of characters, by which pieces are found. They are those of the regex crate, like tiktoken's.
pub(super) struct Pattern {
    /// Classes of all characters up to the last letter.
    classes: Vec<Class>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Number,
    White,
    /// Marks and unassigned characters.
    Other,
}

impl Pattern {
    pub(super) fn new() -> Self {
        let mut classes = Vec::new();
        for (class, pattern) in [(Class::Letter, r"\p{L}"), (Class::Number, r"\p{N}"), (Class::White, r"\s")] {
            #[expect(clippy::expect_used, reason = "the tables are part of the program, and the patterns too")]
            let set = regex_syntax::parse(pattern).map(Hir::into_kind).expect("a class");
            let HirKind::Class(Set::Unicode(set)) = set else { continue };
            for range in set.ranges() {
                let range = range.start() as usize..range.end() as usize + 1;
                classes.resize(classes.len().max(range.end), Class::Other);
                classes[range].fill(class);
            }
        }
        Self { classes }
    }

    fn class(&self, c: char) -> Class {
        self.classes.get(c as usize).copied().unwrap_or(Class::Other)
    }

    /// Returns how many bytes at the start of a text are of a class.
    fn run(&self, text: &str, class: Class) -> usize {
        text.char_indices().find(|&(_, c)| self.class(c) != class).map_or(text.len(), |(at, _)| at)
    }

    /// Returns the number of bytes of the first piece of a text. [`breaks`](super::super::breaks) explains the
    /// order of the alternatives.
    pub(super) fn first(&self, text: &str) -> usize {
        let Some(first) = text.chars().next() else { return 0 };
        if let Some(len) = contraction(text) {
            return len;
        }
        let class = self.class(first);
        let joined = if class == Class::Letter || is_line_end(first) { 0 } else { first.len_utf8() };
        let letters = if class == Class::Number { 0 } else { self.run(&text[joined..], Class::Letter) };
        if letters > 0 {
            return joined + letters;
        }
        if class == Class::Number {
            let numbers = text.chars().take(3).take_while(|&c| self.class(c) == Class::Number);
            return numbers.map(char::len_utf8).sum();
        }
        let blank = usize::from(first == ' ');
        let marks = self.run(&text[blank..], Class::Other);
        if marks > 0 {
            let ends = text[blank + marks..].chars().take_while(|&c| is_line_end(c));
            return blank + marks + ends.count();
        }
        let white = self.run(text, Class::White);
        if white == text.len() {
            return white;
        }
        // Without a line end, the last white space character starts the next piece.
        let last = || text[..white].char_indices().next_back().map_or(0, |(at, _)| at);
        match text[..white].rfind(is_line_end).map_or_else(last, |line| line + 1) {
            0 => white,
            len => len,
        }
    }
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// Returns the length of a contraction (`'s`, `'ll` and the like, in either case) at the start of a text. The long
/// s counts as an `s`.
fn contraction(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    let mut next = rest.chars();
    let len = match (next.next()?.to_ascii_lowercase(), next.next().map(|c| c.to_ascii_lowercase())) {
        (c @ ('s' | 'ſ' | 'd' | 'm' | 't'), _) => c.len_utf8(),
        ('l', Some('l')) | ('v' | 'r', Some('e')) => 2,
        _ => return None,
    };
    Some(1 + len)
}
