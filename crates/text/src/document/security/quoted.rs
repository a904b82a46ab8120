//! Whether a phrase is quoted rather than said. A page about attacks shows them in code, a test has them in strings;
//! neither addresses the model that reads it.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use crate::document::block::BlockKind;
use crate::document::format::Format;
use crate::document::parsed::ParsedBody;
use crate::document::regions::{fence, inside_containers};
use crate::document::{code, line};

/// HTML elements whose content is code.
const ELEMENTS: [&[u8]; 4] = [b"code", b"pre", b"samp", b"kbd"];

/// How far the tags of these elements are searched for, and how much is searched in all, as a multiple of the
/// document's length.
const MAX_ELEMENT: usize = 64 << 10;
const MAX_SEARCH: usize = 8;

/// The quotations of a document.
pub(super) struct Quotations<'d> {
    text: &'d str,
    path: &'d str,
    format: Format,
    parsed: &'d ParsedBody,
    strings: OnceCell<Vec<Range<usize>>>,
    /// The block that was looked at last, and where its lines start that are shown. Its first line may be long, and many
    /// phrases may be in it.
    shown: Cell<Option<(usize, usize)>>,
    /// How much text may still be searched for tags.
    budget: Cell<usize>,
}

impl<'d> Quotations<'d> {
    pub(super) fn new(text: &'d str, path: &'d str, format: Format, parsed: &'d ParsedBody) -> Self {
        let budget = Cell::new(text.len().saturating_mul(MAX_SEARCH));
        Self { text, path, format, parsed, strings: OnceCell::new(), shown: Cell::new(None), budget }
    }

    /// Returns whether all of a range is quoted.
    pub(super) fn contain(&self, range: &Range<usize>) -> bool {
        match self.format {
            Format::Markdown => {
                self.is_in_block(range) || holds(&self.parsed.markup.code, range) || self.is_in_element(range)
            }
            Format::Code(language) => {
                let strings = || code::strings(self.text, language);
                is_test(self.path) || holds(self.strings.get_or_init(strings), range)
            }
            Format::Written(_) => self.is_in_block(range) || holds(&self.parsed.markup.code, range),
            Format::Text | Format::Yaml | Format::Json => false,
        }
    }

    /// Returns whether a range is in the lines of a code block. The line that opens a fence is not shown.
    fn is_in_block(&self, range: &Range<usize>) -> bool {
        let before = self.parsed.blocks.partition_point(|block| block.range.start <= range.start);
        let Some(at) = before.checked_sub(1) else { return false };
        let block = &self.parsed.blocks[at];
        let comment = || holds(&self.parsed.markup.comments, range);
        let code = block.kind == BlockKind::Code || block.kind == BlockKind::Template && !comment();
        code && self.shown_from(at) <= range.start && range.end <= block.range.end
    }

    /// Returns where the lines of a block start that are shown.
    fn shown_from(&self, at: usize) -> usize {
        if let Some((last, start)) = self.shown.get()
            && last == at
        {
            return start;
        }
        let range = &self.parsed.blocks[at].range;
        let first = line::len(&self.text[range.clone()]);
        let opening = &self.text[range.start..range.start + first];
        let start = range.start + if fence(inside_containers(opening)).is_some() { first } else { 0 };
        self.shown.set(Some((at, start)));
        start
    }

    /// Returns whether a range is between the tags of an HTML element for code.
    fn is_in_element(&self, range: &Range<usize>) -> bool {
        let bytes = self.text.as_bytes();
        let from = range.start.saturating_sub(MAX_ELEMENT.min(self.budget.get()));
        self.budget.set(self.budget.get() - (range.start - from));
        let before = &bytes[from..range.start];
        let comment = memmem::rfind(before, b"<!--").filter(|at| memmem::find(&before[*at..], b"-->").is_none());
        if comment.is_some_and(|at| self.is_html(from + at)) {
            return false;
        }
        let mut end = before.len();
        while let Some(open) = memrchr(b'<', &before[..end]) {
            end = open;
            let tag = &bytes[from + open + 1..];
            let (closing, name) = tag.strip_prefix(b"/").map_or((false, tag), |name| (true, name));
            if ELEMENTS.iter().any(|element| begins(name, element)) && self.is_html(from + open) {
                return !closing && self.closes(range.end, name);
            }
        }
        false
    }

    /// Returns whether the parser read what begins here as HTML.
    fn is_html(&self, at: usize) -> bool {
        let before = self.parsed.markup.html.partition_point(|html| html.start <= at);
        before > 0 && at < self.parsed.markup.html[before - 1].end
    }

    /// Returns whether the element whose tag is given closes after `from`.
    fn closes(&self, from: usize, tag: &[u8]) -> bool {
        let bytes = self.text.as_bytes();
        let limit = MAX_ELEMENT.min(self.budget.get()).min(bytes.len() - from);
        let name = &tag[..tag.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()];
        let mut at = from;
        while let Some(open) = memchr(b'<', &bytes[at..from + limit]).map(|found| at + found) {
            at = open + 1;
            if bytes.get(at) == Some(&b'/') && begins(&bytes[at + 1..], name) {
                self.budget.set(self.budget.get() - (at - from));
                return true;
            }
        }
        self.budget.set(self.budget.get() - limit);
        false
    }
}

/// Returns whether the name of a tag is this one.
fn begins(tag: &[u8], name: &[u8]) -> bool {
    let (start, after) = tag.split_at_checked(name.len()).unwrap_or_default();
    start.eq_ignore_ascii_case(name) && !after.first().is_some_and(u8::is_ascii_alphanumeric)
}

/// Returns whether one of some ranges, in order, contains a range.
fn holds(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let before = ranges.partition_point(|other| other.start <= range.start);
    before > 0 && range.end <= ranges[before - 1].end
}

/// Returns whether a source file is a test, by the names that test runners look for.
fn is_test(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let folder =
        |part: &str| matches!(part, "test" | "tests" | "spec" | "specs" | "__tests__" | "testdata" | "fixtures");
    let words = stem.split(['_', '-']);
    parts.any(folder)
        || words.into_iter().any(|word| matches!(word, "test" | "tests" | "spec" | "conftest"))
        || ["Test", "Tests", "Spec"].iter().any(|end| stem.ends_with(end))
        || name.contains(".test.")
        || name.contains(".spec.")
}
