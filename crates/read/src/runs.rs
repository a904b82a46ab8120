//! The text of a paragraph, made from runs. Programs split a sentence into many runs of the same look, so marks are written
//! where the look changes, not at each run.

use chunkmill_text::document::{Inline, on_one_line};

/// How a run looks, as far as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is on or off, whatever the others are")]
pub(crate) struct Look {
    pub(crate) bold: bool,
    pub(crate) italic: bool,
    pub(crate) code: bool,
    pub(crate) raised: bool,
}

impl Look {
    fn mark(self) -> &'static str {
        match (self.bold, self.italic) {
            (true, true) => "***",
            (true, false) => "**",
            (false, true) => "*",
            (false, false) => "",
        }
    }
}

/// A paragraph that is being read.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    inline: Inline,
    look: Look,
    /// Where the text after the last mark starts.
    mark: Option<usize>,
    /// Where the raised text starts that is open.
    raised: Option<usize>,
    code: Inline,
    links: usize,
    /// Whether looks are not written: in headings, and in code.
    plain: bool,
    anchors: Vec<String>,
}

impl Runs {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Leaves out marks from here on.
    pub(crate) fn set_plain(&mut self) {
        self.settle();
        self.plain = true;
    }

    /// Appends the text of a run.
    pub(crate) fn text(&mut self, text: &str, look: Look) {
        if text.is_empty() {
            return;
        }
        let look = if self.plain { Look { raised: look.raised, ..Look::default() } } else { look };
        let blank = text.trim().is_empty();
        if look.code {
            if !self.look.code {
                self.settle();
                self.look = look;
            }
            self.code.write(text);
            return;
        }
        // White space looks the same in any run.
        if blank && !self.look.code {
            self.inline.write(text);
            return;
        }
        if look.mark() != self.look.mark() || self.look.code {
            self.settle();
        }
        if look.raised != self.raised.is_some() {
            self.end_raised();
            self.raised = look.raised.then(|| self.inline.as_str().len());
        }
        self.look = look;
        if self.mark.is_none() && !look.mark().is_empty() {
            let word = text.trim_start();
            self.inline.write(&text[..text.len() - word.len()]);
            self.mark = Some(self.inline.start_mark(look.mark()));
            self.inline.write(word);
            return;
        }
        self.inline.write(text);
    }

    /// Appends text in which white space counts as one space, and as none at the start.
    pub(crate) fn flow(&mut self, text: &str, look: Look) {
        let before = if self.code.as_str().is_empty() { self.inline.as_str() } else { self.code.as_str() };
        let mut space = before.is_empty() || before.ends_with([' ', '\n']);
        let mut flowed = String::with_capacity(text.len());
        for c in text.chars() {
            let white = matches!(c, ' ' | '\t' | '\n' | '\r');
            if !white {
                flowed.push(c);
            } else if !space {
                flowed.push(' ');
            }
            space = white;
        }
        self.text(&flowed, look);
    }

    /// Ends the line.
    pub(crate) fn line_break(&mut self) {
        if self.look.code && !self.plain {
            self.code.write("\n");
            return;
        }
        self.settle();
        self.inline.write("\n");
    }

    pub(crate) fn open_link(&mut self, target: &str) {
        self.settle();
        self.inline.start_link(target);
        self.links += 1;
    }

    pub(crate) fn close_link(&mut self) {
        if self.links > 0 {
            self.settle();
            self.inline.end_link();
            self.links -= 1;
        }
    }

    /// Appends characters of our own.
    pub(crate) fn own(&mut self, text: &str) {
        self.settle();
        self.inline.write(text);
    }

    pub(crate) fn image(&mut self, target: &str, alt: &str) {
        self.settle();
        self.inline.image(target, &Inline::from(&*on_one_line(alt)));
    }

    pub(crate) fn anchor(&mut self, name: &str) {
        self.inline.anchor(name);
        self.anchors.push(name.to_owned());
    }

    /// Returns the text, and the names of places in it if it is blank: then nothing is written that could have them.
    pub(crate) fn finish(mut self) -> (Inline, Vec<String>) {
        while self.links > 0 {
            self.close_link();
        }
        self.settle();
        let anchors = if self.inline.is_blank() { self.anchors } else { Vec::new() };
        (self.inline, anchors)
    }

    /// Ends raised text, and marks that began in it.
    fn end_raised(&mut self) {
        let Some(start) = self.raised.take() else { return };
        if let Some(mark) = self.mark.take_if(|mark| *mark > start) {
            self.inline.end_mark(self.look.mark(), mark);
        }
        self.inline.raise(start);
    }

    /// Ends what has another look.
    fn settle(&mut self) {
        self.end_raised();
        if let Some(start) = self.mark.take() {
            self.inline.end_mark(self.look.mark(), start);
        }
        let code = std::mem::take(&mut self.code);
        if code.is_blank() {
            self.inline.append(&code);
        } else {
            self.inline.code(&code);
        }
        self.look = Look::default();
    }
}

/// Returns whether text in a font is code, most likely.
pub(crate) fn is_monospaced(font: &str) -> bool {
    let font = font.to_ascii_lowercase();
    ["courier", "consolas", "mono", "menlo", "monaco"].iter().any(|part| font.contains(part))
}
