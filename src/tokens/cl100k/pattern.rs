//! The pieces of any text, a character at a time, as the pattern of `cl100k_base` has them.
//!
//! For what the masks of [`pieces`](super::pieces) do not know: other scripts, and pieces longer than a window.

use regex_syntax::hir::{Class as Set, Hir, HirKind};

/// Finds pieces by the classes of characters, which are those of the regex crate, as tiktoken's are.
pub(super) struct Pattern {
    /// Of all characters up to the last letter.
    classes: Vec<Class>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Number,
    White,
    /// Marks and what no class is assigned to.
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

    /// How many bytes at the start of a text are of a class.
    fn run(&self, text: &str, class: Class) -> usize {
        text.char_indices().find(|&(_, c)| self.class(c) != class).map_or(text.len(), |(at, _)| at)
    }

    /// How many bytes the first piece of a text has. The order of the alternatives is explained in
    /// [`breaks`](super::super::breaks).
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
        // Without a line end, the last of it starts the next piece.
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

/// `'s`, `'ll` and the like, in either case; the long s is one of `s`.
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
