//! A formula on one line. Its text alone would be wrong: `x2` for a square, `ab` for a fraction.

/// A formula that is being read.
#[derive(Debug, Default)]
pub(super) struct Formula {
    text: String,
    /// Where the text of each group that is open starts.
    groups: Vec<usize>,
}

impl Formula {
    /// Begins an element of a formula.
    pub(super) fn start(&mut self, name: &str) {
        match name {
            "den" => self.text.push('/'),
            "sup" => self.text.push('^'),
            "sub" => self.text.push('_'),
            "rad" => self.text.push('√'),
            _ => {}
        }
        if is_group(name) {
            self.groups.push(self.text.len());
        }
    }

    /// Ends it: a group of more than one letter or number is written in parentheses.
    pub(super) fn end(&mut self, name: &str) {
        if !is_group(name) {
            return;
        }
        let Some(start) = self.groups.pop() else { return };
        let group = &self.text[start..];
        if name == "d" {
            self.text.insert(start, '(');
            self.text.push(')');
        } else if group.is_empty() {
            // An index or an exponent that is not there.
            if matches!(name, "den" | "sup" | "sub") {
                self.text.pop();
            }
        } else if !group.chars().all(char::is_numeric) && group.chars().count() > 1 {
            self.text.insert(start, '(');
            self.text.push(')');
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Returns whether an element of a formula is read as one thing.
fn is_group(name: &str) -> bool {
    matches!(name, "num" | "den" | "sup" | "sub" | "deg" | "rad" | "d")
}
