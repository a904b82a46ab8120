//! Groups, environments, and the text that they write.

use chunkmill_text::document::{DropReason, Inline, on_one_line};
use serde_json::Value;

use super::frame::{Frame, Group};
use super::{MAX_DEPTH, Reader, scan};

/// Most marks of a paragraph that are open at a time: each is closed and opened again where a paragraph ends.
const MAX_MARKS: usize = 24;

impl Reader<'_> {
    /// Returns the text that is being written.
    pub(super) fn out(&mut self) -> &mut Inline {
        if self.outs.is_empty() {
            self.outs.push(Inline::new());
        }
        let last = self.outs.len() - 1;
        &mut self.outs[last]
    }

    /// Returns whether the text goes into another text instead of a block.
    pub(super) fn is_inside(&self) -> bool {
        self.outs.len() > 1
    }

    /// Opens a group whose brace is next.
    pub(super) fn open_group(&mut self, group: Group) {
        self.skip(1);
        self.push_group(group);
    }

    /// Opens a group with a text of its own whose brace is next. One that is never closed is a plain one.
    pub(super) fn open_captured(&mut self, group: Group) {
        let is_closed = self.braces.end(self.at).is_some();
        self.open_group(if is_closed { group } else { Group::Plain });
    }

    pub(super) fn push_group(&mut self, group: Group) {
        if self.frames.len() >= MAX_DEPTH {
            self.too_deep += 1;
            return;
        }
        if group.is_captured() {
            self.in_code += usize::from(matches!(group, Group::Code));
            self.outs.push(Inline::new());
        }
        let group = if let Group::Link(target) = &group { self.start_link(target.clone()) } else { group };
        self.frames.push(Frame::Group(group));
    }

    fn start_link(&mut self, target: String) -> Group {
        if self.in_code > 0 || self.mark_count() >= MAX_MARKS {
            return Group::Plain;
        }
        self.out().start_link(&target);
        Group::Link(target)
    }

    fn mark_count(&self) -> usize {
        let is_mark = |frame: &&Frame| matches!(frame, Frame::Group(Group::Mark(..) | Group::Link(_)));
        self.frames.iter().filter(is_mark).count()
    }

    /// Begins text between two marks, in the group that is open or in one whose brace is next.
    pub(super) fn mark(&mut self, mark: &'static str) -> Group {
        if self.in_code > 0 || self.mark_count() >= MAX_MARKS {
            return Group::Plain;
        }
        let start = self.out().start_mark(mark);
        Group::Mark(mark, start)
    }

    /// Ends the group that is open.
    pub(super) fn close_group(&mut self) {
        self.skip(1);
        if self.too_deep > 0 {
            self.too_deep -= 1;
        } else if let Some(Frame::Group(group)) = self.frames.last() {
            // Only behind the brace of a group is the next argument: what ends it otherwise has braces of its own.
            let (is_argument, is_first) = (matches!(group, Group::Argument), matches!(group, Group::First));
            self.close_frame();
            if is_argument && self.rest().starts_with('{') {
                self.space();
                self.open_group(Group::Argument);
            } else if is_first {
                self.raw_argument();
            }
        }
    }

    /// Ends what was opened last.
    pub(super) fn close_frame(&mut self) {
        let group = match self.frames.pop() {
            Some(Frame::Group(group)) => group,
            Some(Frame::Environment(environment)) => return self.end_environment(environment),
            None => return,
        };
        match group {
            Group::Plain | Group::Argument | Group::First => return,
            Group::Mark(mark, start) => return self.out().end_mark(mark, start),
            Group::Raised(start) => return self.out().raise(start),
            Group::Link(_) => return self.out().end_link(),
            _ => {}
        }
        let text = if self.is_inside() { self.outs.pop().unwrap_or_default() } else { Inline::new() };
        match group {
            Group::Code => {
                self.in_code = self.in_code.saturating_sub(1);
                let in_code = self.in_code > 0;
                let out = self.out();
                if in_code { out.append(&text) } else { out.code(&text) }
            }
            Group::Footnote(label) => {
                if text.is_blank() {
                    self.count_blank(&[text]);
                } else {
                    self.out().write(&format!("[^{label}]"));
                    self.notes.push((label, text));
                }
            }
            _ if self.is_inside() => {
                self.space();
                self.out().append(&text);
            }
            Group::Heading(level) => self.heading(level, &text),
            Group::Title => {
                let plain = plain(&text);
                self.writer.about().title.get_or_insert(plain);
                self.top = 2;
                self.heading(1, &text);
            }
            Group::About(name) => {
                let value = plain(&text);
                if !value.is_empty() {
                    self.writer.about().metadata.insert(name.to_owned(), Value::String(value));
                }
                self.block(|reader| reader.writer.paragraph(&text));
            }
            _ => self.block(|reader| reader.writer.paragraph(&text)),
        }
    }

    /// Closes all that is open before a section: what is open there was begun in an example of code, and would take all other
    /// sections in.
    pub(super) fn close_examples(&mut self) {
        let is_text = |frame: &Frame| matches!(frame, Frame::Group(group) if group.is_captured());
        if !self.in_label && !self.frames.iter().any(is_text) {
            while !self.frames.is_empty() {
                self.close_frame();
            }
        }
    }

    fn heading(&mut self, level: u8, text: &Inline) {
        self.flush();
        // Those of the heading itself belong to what follows.
        let is_own = |(label, _): &(String, Inline)| text.as_str().contains(&format!("[^{label}]"));
        let (own, before) = std::mem::take(&mut self.notes).into_iter().partition(is_own);
        self.notes = before;
        self.write_notes_of_top();
        self.notes.extend::<Vec<_>>(own);
        // The labels of a heading follow it.
        let mut names = self.names_behind();
        let anchor = if names.is_empty() { None } else { Some(names.remove(0)) };
        for name in names {
            self.writer.anchor(&name);
        }
        self.block(|reader| reader.writer.heading(level, text, anchor.as_deref()));
    }

    /// Reads the names of a heading that stand behind it.
    fn names_behind(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            let rest = self.rest();
            let blank = scan::white_space(rest);
            let Some(name) = rest[blank..].strip_prefix("\\label{").and_then(|rest| rest.split_once('}')) else {
                break;
            };
            if name.0.contains(['\n', '{', '\\']) {
                break;
            }
            names.push(name.0.to_owned());
            self.skip(blank + "\\label{}".len() + name.0.len());
        }
        names
    }

    /// Writes the paragraph that is open, and then another block.
    pub(super) fn block(&mut self, write: impl FnOnce(&mut Self)) {
        self.flush();
        for anchor in std::mem::take(&mut self.anchors) {
            self.writer.anchor(&anchor);
        }
        write(self);
    }

    /// Ends the paragraph, or the line in a text of another one.
    pub(super) fn end_paragraph(&mut self) {
        if self.is_inside() {
            self.space();
        } else {
            self.flush();
        }
    }

    /// Writes the paragraph that is open. Its marks go on in the next one.
    pub(super) fn flush(&mut self) {
        if self.is_inside() {
            return;
        }
        let mut out = std::mem::take(self.out());
        for frame in self.frames.iter().rev() {
            match frame {
                Frame::Group(Group::Mark(mark, start)) => out.end_mark(mark, *start),
                Frame::Group(Group::Raised(start)) => out.raise(*start),
                Frame::Group(Group::Link(_)) => out.end_link(),
                _ => {}
            }
        }
        if !out.is_blank() {
            for anchor in std::mem::take(&mut self.anchors) {
                self.writer.anchor(&anchor);
            }
        }
        // Of a blank one, it counts what is not seen.
        self.writer.paragraph(&out);
        let mut next = Inline::new();
        for frame in &mut self.frames {
            match frame {
                Frame::Group(Group::Mark(mark, start)) => *start = next.start_mark(mark),
                Frame::Group(Group::Raised(start)) => *start = next.as_str().len(),
                Frame::Group(Group::Link(target)) => next.start_link(target),
                _ => {}
            }
        }
        self.outs = vec![next];
    }

    /// Writes a formula.
    pub(super) fn write_formula(&mut self, formula: &Inline) {
        if self.is_inside() {
            let out = self.out();
            out.write("$");
            out.append(formula);
            out.write("$");
        } else {
            self.block(|reader| reader.writer.math(formula));
        }
    }

    /// Writes code on lines of its own.
    pub(super) fn write_code(&mut self, language: &str, code: &Inline) {
        if self.is_inside() {
            self.space();
            let in_code = self.in_code > 0;
            let out = self.out();
            if in_code { out.append(code) } else { out.code(code) }
        } else {
            self.block(|reader| reader.writer.code(language, code));
        }
    }

    /// Names the place here.
    pub(super) fn name_place(&mut self, name: &str) {
        if self.is_inside() || !self.out().is_blank() {
            self.out().anchor(name);
        } else {
            self.anchors.push(name.to_owned());
        }
    }

    /// Opens a footnote whose brace is next.
    pub(super) fn footnote(&mut self) {
        if self.braces.end(self.at).is_none() {
            return;
        }
        self.note_count += 1;
        let label = self.note_count.to_string();
        let out = self.out();
        out.trim_end();
        self.open_captured(Group::Footnote(label));
    }

    fn write_notes_of_top(&mut self) {
        if !self
            .frames
            .iter()
            .any(|frame| matches!(frame, Frame::Environment(environment) if environment.is_container()))
        {
            self.write_notes();
        }
    }

    /// Writes the footnotes of the section that ends here.
    pub(super) fn write_notes(&mut self) {
        for (label, note) in std::mem::take(&mut self.notes) {
            self.writer.open_footnote(&label);
            self.writer.paragraph(&note);
            self.writer.close();
        }
    }

    /// Counts an environment or a command that is left out.
    pub(super) fn leave_out(&mut self, reason: DropReason, end: usize) {
        let text = self.text;
        self.writer.drop(reason, text.get(self.at..end).unwrap_or_default());
        self.at = end.max(self.at);
    }
}

/// Returns a text on one line without marks and footnotes.
fn plain(text: &Inline) -> String {
    let mut plain = text.as_str().replace(['*', '`'], "");
    while let Some((start, len)) = plain.find("[^").and_then(|start| Some((start, plain[start..].find(']')? + 1))) {
        plain.replace_range(start..start + len, "");
    }
    on_one_line(&plain)
}
