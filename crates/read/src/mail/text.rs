//! The text of a mail: paragraphs, and the quotations of those that it answers.

use chunkmill_text::document::{Inline, LayerWriter};

/// Deepest quotation that is told from the next.
const MAX_QUOTES: usize = 24;

/// Writes the lines of a text as paragraphs; lines that begin with `>` as quotations. `flowed` says that a line which ends
/// with a space goes on in the next, and `joined` that this space is left out.
pub(super) fn write(text: &str, flowed: bool, joined: bool, writer: &mut LayerWriter) {
    let mut body = Body { writer, depth: 0, paragraph: String::new(), flows: None };
    for line in text.lines() {
        if body.writer.is_full() {
            break;
        }
        body.line(line.strip_suffix('\r').unwrap_or(line), flowed, joined);
    }
    body.at(0);
}

struct Body<'w> {
    writer: &'w mut LayerWriter,
    /// How many quotations are open.
    depth: usize,
    paragraph: String,
    /// The separator between the last line and the next, if the next line continues it.
    flows: Option<&'static str>,
}

impl Body<'_> {
    fn line(&mut self, line: &str, flowed: bool, joined: bool) {
        let (depth, line) = quotes(line, flowed);
        if depth != self.depth {
            self.at(depth);
        }
        if line.trim().is_empty() {
            self.flush();
            return;
        }
        let signature = line == "-- ";
        if signature {
            self.flush();
        }
        match self.flows.take() {
            Some(between) => self.paragraph.push_str(between),
            None if !self.paragraph.is_empty() => self.paragraph.push('\n'),
            None => {}
        }
        let flows = flowed && !signature && line.ends_with(' ');
        self.paragraph.push_str(line.trim_end());
        self.flows = flows.then_some(if joined { "" } else { " " });
    }

    /// Ends the paragraph, and opens or closes quotations up to this depth.
    fn at(&mut self, depth: usize) {
        self.flush();
        (depth..self.depth).for_each(|_| self.writer.close());
        (self.depth..depth).for_each(|_| self.writer.open_quote());
        self.depth = depth;
    }

    fn flush(&mut self) {
        self.flows = None;
        let mut paragraph = Inline::new();
        paragraph.write(&std::mem::take(&mut self.paragraph));
        self.writer.paragraph(&paragraph);
    }
}

/// Returns how many marks of quotations a line begins with, and the rest of it.
fn quotes(line: &str, flowed: bool) -> (usize, &str) {
    let mut rest = line;
    let mut depth = 0;
    while depth < MAX_QUOTES {
        let after = if depth > 0 && !flowed { rest.strip_prefix(' ').unwrap_or(rest) } else { rest };
        let Some(inner) = after.strip_prefix('>') else { break };
        rest = inner;
        depth += 1;
    }
    // The space behind the marks, and that which flowed text puts before a line that would look like another.
    let space = depth > 0 || flowed;
    (depth, if space { rest.strip_prefix(' ').unwrap_or(rest) } else { rest })
}
