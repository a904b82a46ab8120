//! The line that is being written: text, code, and the marks that are open around it.
//!
//! A mark is written when the first word in it is. So an element without text leaves nothing, a space stands before the
//! mark, and a mark around several blocks is written in each.

use std::ops::Range;

use chunkmill_text::document::Inline;

use super::text::{Piece, WHITE};

/// An element that is open around text.
#[derive(Debug)]
enum MarkKind {
    /// With these marks.
    Marks(&'static str),
    /// A link with its target.
    Link(String),
    Raised,
}

/// Longest target that is written in each block of a link. A longer one is written in the first.
const MAX_REPEATED: usize = 200;

#[derive(Debug)]
struct Mark {
    kind: MarkKind,
    /// Whether it was written in a block before.
    is_repeated: bool,
    /// The result of `Inline::start_mark`, once the mark is written.
    started: Option<usize>,
}

/// A line of text.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: Inline,
    /// Code that is not yet in the line.
    code: Inline,
    /// How many elements of code are open.
    in_code: usize,
    marks: Vec<Mark>,
}

impl Line {
    /// Returns whether no text is in it.
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_blank() && self.code.is_blank()
    }

    /// Returns its length.
    pub(super) fn len(&self) -> usize {
        self.text.as_str().len() + self.code.as_str().len()
    }

    /// Returns whether its last line is empty.
    pub(super) fn is_at_start(&self) -> bool {
        self.code.as_str().is_empty() && (self.text.as_str().is_empty() || self.text.as_str().ends_with('\n'))
    }

    /// Appends a piece of text.
    pub(super) fn push(&mut self, source: &str, piece: &Piece) {
        match piece {
            Piece::Same(range) => self.same(source, range.clone()),
            // A space that does not break is a space in text.
            Piece::Other(text, range) if text.trim().is_empty() => self.space_target().replaced(" ", range.clone()),
            Piece::Other(text, range) => self.word_target().replaced(text, range.clone()),
        }
    }

    fn same(&mut self, source: &str, range: Range<usize>) {
        let text = &source[range.clone()];
        let white = text.len() - text.trim_start_matches(WHITE).len();
        if white > 0 {
            self.space_target().flow(&text[..white], range.start);
        }
        if white < text.len() {
            self.word_target().flow(&text[white..], range.start + white);
        }
    }

    /// Returns where a space is written.
    fn space_target(&mut self) -> &mut Inline {
        if self.code.as_str().is_empty() { &mut self.text } else { &mut self.code }
    }

    /// Returns where a word is written, after the marks around it.
    fn word_target(&mut self) -> &mut Inline {
        if self.code.as_str().is_empty() {
            self.start_marks();
        }
        if self.in_code > 0 { &mut self.code } else { &mut self.text }
    }

    fn start_marks(&mut self) {
        for mark in self.marks.iter_mut().filter(|mark| mark.started.is_none()) {
            if mark.is_repeated && matches!(&mark.kind, MarkKind::Link(target) if target.len() > MAX_REPEATED) {
                continue;
            }
            mark.is_repeated = true;
            mark.started = Some(match &mark.kind {
                MarkKind::Marks(marks) => self.text.start_mark(marks),
                MarkKind::Link(target) => {
                    self.text.start_link(target);
                    0
                }
                MarkKind::Raised => self.text.as_str().len(),
            });
        }
    }

    /// Writes a space between what is before and what follows.
    pub(super) fn gap(&mut self) {
        self.end_code();
        let text = self.text.as_str();
        if !text.is_empty() && !text.ends_with([' ', '\n']) {
            self.text.write(" ");
        }
    }

    /// Ends the line inside the block.
    pub(super) fn line_break(&mut self) {
        if self.in_code > 0 {
            self.gap();
        } else if !self.text.is_blank() {
            self.text.line_break();
        }
    }

    /// Writes characters that are not from the page.
    pub(super) fn write(&mut self, text: &str) {
        self.word_target().write(text);
    }

    /// Appends an image.
    pub(super) fn image(&mut self, target: &str, alt: &Inline) {
        self.end_code();
        self.start_marks();
        self.text.image(target, alt);
    }

    /// Appends a formula.
    pub(super) fn math(&mut self, formula: &Inline) {
        self.end_code();
        self.start_marks();
        self.text.write("$");
        self.text.append(formula);
        self.text.write("$");
    }

    /// Names this place.
    pub(super) fn anchor(&mut self, name: &str) {
        self.text.anchor(name);
    }

    /// Returns whether marks like these are open, or code is.
    pub(super) fn is_marked(&self, marks: &str) -> bool {
        self.in_code > 0 || self.marks.iter().any(|mark| matches!(mark.kind, MarkKind::Marks(open) if open == marks))
    }

    /// Opens marks.
    pub(super) fn open_marks(&mut self, marks: &'static str) {
        self.marks.push(Mark { kind: MarkKind::Marks(marks), is_repeated: false, started: None });
    }

    /// Opens a link. Inside code, it is around code of its own.
    pub(super) fn open_link(&mut self, target: &str) {
        self.end_code();
        self.marks.push(Mark { kind: MarkKind::Link(target.to_owned()), is_repeated: false, started: None });
    }

    /// Closes marks around a title that stands before a text on the same line.
    pub(super) fn close_label(&mut self) {
        self.end_code();
        self.text.trim_end();
        if self.text.as_str().ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '`' | '*')) {
            self.text.write(":");
        }
        self.close_mark();
        self.gap();
    }

    /// Opens raised text. Inside code there are no marks: returns where it starts there, for [`raise_code`](Self::raise_code).
    pub(super) fn open_raised(&mut self) -> Option<usize> {
        if self.in_code > 0 {
            return Some(self.code.as_str().len());
        }
        self.marks.push(Mark { kind: MarkKind::Raised, is_repeated: false, started: None });
        None
    }

    /// Closes raised text in code.
    pub(super) fn raise_code(&mut self, start: usize) {
        self.code.raise(start);
    }

    /// Closes what was opened last.
    pub(super) fn close_mark(&mut self) {
        self.end_code();
        if let Some(mut mark) = self.marks.pop() {
            Self::end(&mut self.text, &mut mark);
        }
    }

    /// Opens code.
    pub(super) fn open_code(&mut self) {
        self.in_code += 1;
    }

    /// Closes code.
    pub(super) fn close_code(&mut self) {
        self.in_code = self.in_code.saturating_sub(1);
        if self.in_code == 0 {
            self.end_code();
        }
    }

    fn end_code(&mut self) {
        let mut code = std::mem::take(&mut self.code);
        let is_spaced = code.as_str().ends_with(' ');
        code.trim_end();
        self.text.code(&code);
        if is_spaced {
            self.text.write(" ");
        }
    }

    fn end(text: &mut Inline, mark: &mut Mark) {
        let Some(start) = mark.started.take() else { return };
        match &mark.kind {
            MarkKind::Marks(marks) => text.end_mark(marks, start),
            MarkKind::Link(_) => text.end_link(),
            MarkKind::Raised => text.raise(start),
        }
    }

    /// Takes the text, with its marks ended. They go on in what follows.
    pub(super) fn take(&mut self) -> Inline {
        self.end_code();
        for mark in self.marks.iter_mut().rev() {
            Self::end(&mut self.text, mark);
        }
        std::mem::take(&mut self.text)
    }
}
