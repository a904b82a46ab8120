//! A paragraph that is being read. Programs split a sentence into many groups of the same look, so marks are written where
//! the look changes, when the paragraph is complete.

use chunkmill_text::document::Inline;

use crate::runs::Look;

/// Longest bullet or number that is typed, in bytes.
const MAX_MARKER: usize = 12;

/// Returns the marks around text that looks like that.
fn marks(look: Look) -> impl Iterator<Item = &'static str> {
    [("**", look.bold), ("*", look.italic)].into_iter().filter(|(_, on)| *on).map(|(mark, _)| mark)
}

/// A change between two pieces of text.
#[derive(Debug)]
enum Event {
    Look(Look),
    OpenLink(String),
    CloseLink,
    Anchor(String),
    /// A reference to a footnote.
    Note(String),
}

/// A paragraph that is being read.
#[derive(Debug, Default)]
pub(super) struct Paragraph {
    text: String,
    events: Vec<(usize, Event)>,
    look: Look,
    links: usize,
    notes: usize,
    /// Whether it has text in the font of code, and in others.
    has_code: bool,
    has_words: bool,
    /// The bullet or number before it.
    pub(super) marker: Option<String>,
    /// Paragraphs of text boxes in it.
    pub(super) boxed: Vec<Inline>,
}

impl Paragraph {
    /// Appends text.
    pub(super) fn say(&mut self, text: &str, look: Look) {
        // White space looks the same in any run.
        if !text.trim().is_empty() {
            if look != self.look {
                self.event(Event::Look(look));
                self.look = look;
            }
            self.has_code |= look.code;
            self.has_words |= !look.code;
        }
        self.text.push_str(text);
    }

    /// Returns whether all of it is code.
    pub(super) fn is_code(&self) -> bool {
        let is_plain = |(_, event): &(usize, Event)| matches!(event, Event::Look(_) | Event::Anchor(_));
        self.has_code && !self.has_words && self.events.iter().all(is_plain)
    }

    /// Makes what is before the first tab its bullet or number, if it is one, and returns whether it is.
    pub(super) fn take_marker(&mut self) -> bool {
        let Some((mark, _)) = self.text.split_once('\t').filter(|(mark, _)| mark.len() <= MAX_MARKER) else {
            return false;
        };
        let bare = mark.trim();
        let is_bullet = matches!(bare, "•" | "·" | "▪" | "◦" | "‣" | "○" | "●" | "–" | "-" | "*" | "o" | "§");
        let number = bare.strip_suffix(['.', ')']).map(|number| number.trim_start_matches('('));
        if !is_bullet && !number.is_some_and(|number| !number.is_empty() && number.chars().all(char::is_alphanumeric)) {
            return false;
        }
        let len = mark.len() + 1;
        self.marker = Some(bare.to_owned());
        self.text.drain(..len);
        self.events.iter_mut().for_each(|(at, _)| *at = at.saturating_sub(len));
        true
    }

    /// Returns its text without links and marks.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn is_blank(&self) -> bool {
        self.notes == 0 && self.text.trim().is_empty()
    }

    /// Returns whether its last line is empty.
    pub(super) fn is_at_empty_line(&self) -> bool {
        self.text.trim_end_matches([' ', '\t']).ends_with('\n')
    }

    pub(super) fn open_link(&mut self, target: String) {
        self.event(Event::OpenLink(target));
        self.links += 1;
    }

    pub(super) fn close_link(&mut self) {
        if self.links > 0 {
            self.event(Event::CloseLink);
            self.links -= 1;
        }
    }

    pub(super) fn anchor(&mut self, name: String) {
        self.event(Event::Anchor(name));
    }

    pub(super) fn note(&mut self, label: &str) {
        self.event(Event::Note(label.to_owned()));
        self.notes += 1;
    }

    /// Returns the names of places in it.
    pub(super) fn anchors(&self) -> impl Iterator<Item = String> {
        self.events.iter().filter_map(|(_, event)| match event {
            Event::Anchor(name) => Some(name.clone()),
            _ => None,
        })
    }

    /// Returns the text as it is written. In a plain one, looks are not marked.
    pub(super) fn inline(&self, plain: bool) -> Inline {
        let mut line = Line { plain, ..Line::default() };
        let mut at = 0;
        for (to, event) in &self.events {
            line.say(&self.text[at..*to]);
            at = *to;
            match event {
                Event::Look(look) => line.look = *look,
                Event::OpenLink(target) => {
                    line.settle();
                    line.inline.start_link(target);
                }
                Event::CloseLink => {
                    line.end_marks();
                    line.inline.end_link();
                    line.settle();
                }
                Event::Anchor(name) => {
                    line.settle();
                    line.inline.anchor(name);
                }
                Event::Note(label) => {
                    line.settle();
                    line.inline.write(&format!("[^{label}]"));
                }
            }
        }
        line.say(&self.text[at..]);
        line.end_marks();
        (0..self.links).for_each(|_| line.inline.end_link());
        line.inline
    }

    fn event(&mut self, event: Event) {
        self.events.push((self.text.len(), event));
    }
}

/// The text of a paragraph as it is written.
#[derive(Debug, Default)]
struct Line {
    inline: Inline,
    plain: bool,
    /// How the next text looks.
    look: Look,
    /// The marks that are open, and where the text after each starts.
    open: Vec<(&'static str, usize)>,
    /// Where the raised text starts that is open.
    raised: Option<usize>,
    /// White space that is not written yet: it may be before or after a mark.
    gap: String,
}

impl Line {
    fn say(&mut self, text: &str) {
        let word = text.trim();
        if word.is_empty() {
            self.gap.push_str(text);
            return;
        }
        let start = text.len() - text.trim_start().len();
        self.gap.push_str(&text[..start]);
        if self.look.code && !self.plain {
            self.settle();
            self.inline.code(&Inline::from(word));
            self.gap.push_str(&text[start + word.len()..]);
            return;
        }
        let look = if self.plain { Look::default() } else { self.look };
        if !self.look.raised {
            self.end_raised();
        }
        while self.open.iter().any(|(mark, _)| marks(look).all(|other| other != *mark)) {
            self.end_mark();
        }
        self.end_gap();
        if self.look.raised && self.raised.is_none() {
            self.raised = Some(self.inline.as_str().len());
        }
        for mark in marks(look) {
            if self.open.iter().all(|(open, _)| *open != mark) {
                self.open.push((mark, self.inline.start_mark(mark)));
            }
        }
        self.inline.write(word);
        self.gap.push_str(&text[start + word.len()..]);
    }

    /// Ends raised text, and marks that began in it.
    fn end_raised(&mut self) {
        let Some(start) = self.raised.take() else { return };
        while self.open.last().is_some_and(|(_, mark)| *mark > start) {
            self.end_mark();
        }
        self.inline.raise(start);
    }

    fn end_mark(&mut self) {
        if let Some((mark, start)) = self.open.pop() {
            self.inline.end_mark(mark, start);
        }
    }

    fn end_gap(&mut self) {
        // Blank lines would end the block.
        let gap = if self.gap.contains('\n') { "\n" } else { &self.gap };
        self.inline.write(gap);
        self.gap.clear();
    }

    fn end_marks(&mut self) {
        self.end_raised();
        while !self.open.is_empty() {
            self.end_mark();
        }
    }

    fn settle(&mut self) {
        self.end_marks();
        self.end_gap();
    }
}
