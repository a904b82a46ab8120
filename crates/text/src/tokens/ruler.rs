//! A ruler for one document: it computes the size of any range from counts stored when the document was measured.
//!
//! Inline `data:` URLs count as nothing: the size of a range with some is the sum of the sizes of the parts around
//! them. In lines, they count as the lines they are on.

use std::ops::Range;

use chunkmill_base::error::Result;

use super::breaks::Breaks;
use super::code::Code;
use super::counter::TokenCounter;
use super::ends::Ends;
use super::sizer::{CHARS_PER_TOKEN, Measure, Sizer, nearest_boundary, words_in, words_to_size};
use super::{breaks, words};
use crate::document::{Document, around_data_urls};

/// A ruler for the ranges of one document in one unit.
pub struct Ruler<'d> {
    document: &'d Document,
    sizer: Sizer<'d>,
    index: Index<'d>,
}

enum Index<'d> {
    Chars,
    Lines,
    /// The ends of words outside of `code`, and the code blocks, whose characters are counted instead.
    Words {
        ends: Ends,
        code: Code,
    },
    /// The ends of tokens; `None` if the counter has no known breaks.
    Tokens {
        counter: &'d dyn TokenCounter,
        ends: Option<Ends>,
    },
}

/// A range in three parts: one depends on the text before it, one does not depend on the surrounding text, and one
/// depends on the text after it. Any of them may be empty.
struct Split {
    head: Range<usize>,
    core: Range<usize>,
    tail: Range<usize>,
}

impl<'a> Sizer<'a> {
    /// Counts a document once and returns a ruler for its ranges.
    pub fn measure<'d>(&self, document: &'d Document) -> Result<Ruler<'d>>
    where
        'a: 'd,
    {
        Ruler::new(document, *self)
    }
}

impl<'d> Ruler<'d> {
    pub(super) fn new(document: &'d Document, sizer: Sizer<'d>) -> Result<Self> {
        let text = &document.text;
        let tokens = |counter: &'d dyn TokenCounter| -> Result<Index<'d>> {
            let known = counter.breaks() > Breaks::Unknown;
            let ends = known.then(|| counter.ends(text)).transpose()?;
            Ok(Index::Tokens { counter, ends })
        };
        let index = match sizer.measure {
            Measure::Chars => Index::Chars,
            Measure::Lines => Index::Lines,
            Measure::Words | Measure::Estimate => {
                let estimate = matches!(sizer.measure, Measure::Estimate);
                let code = if estimate { Code::of(document) } else { Code::default() };
                let outside = words::ends(text).filter(|end| !code.holds(end - 1));
                let ends = outside.map(|end| u32::try_from(end).unwrap_or(u32::MAX));
                Index::Words { ends: Ends::new(text.len(), ends), code }
            }
            Measure::Tokens => tokens(sizer.encoding.counter())?,
            Measure::Model(counter) => tokens(counter)?,
        };
        Ok(Self { document, sizer, index })
    }

    /// Returns the document that it measures.
    pub fn document(&self) -> &'d Document {
        self.document
    }

    /// Returns the sizer that it measures with.
    pub fn sizer(&self) -> Sizer<'d> {
        self.sizer
    }

    /// Returns the size of a range whose ends are character boundaries: exactly that of its text alone.
    pub fn size(&self, range: Range<usize>) -> Result<usize> {
        self.sum(self.leaves_out(), "", &range, "", |_, part, _| self.size_of(part))
    }

    /// Returns the size of a range without inline URLs.
    fn size_of(&self, range: Range<usize>) -> Result<usize> {
        let positions = &self.document.positions;
        Ok(match &self.index {
            Index::Chars => positions.char_at(range.end) - positions.char_at(range.start),
            Index::Lines => positions.lines_in(range),
            Index::Words { ends, code } => {
                words_to_size(self.words(ends, code, &range)) + code.chars(positions, &range) / CHARS_PER_TOKEN
            }
            Index::Tokens { counter, ends } => self.tokens(*counter, ends.as_ref(), "", range, "")?,
        })
    }

    /// Returns the size of a range between two texts: exactly that of all three as one text. For an estimate, it is
    /// the sum of the three sizes, because code blocks are only known for the range.
    pub fn size_between(&self, prefix: &str, range: Range<usize>, suffix: &str) -> Result<usize> {
        if prefix.is_empty() && suffix.is_empty() {
            return self.size(range);
        }
        let leaves_out = self.leaves_out();
        self.sum(leaves_out, prefix, &range, suffix, |prefix, part, suffix| match (&self.index, self.sizer.measure) {
            (Index::Chars, _) | (_, Measure::Estimate) => {
                Ok(self.sizer.size(prefix)? + self.size_of(part)? + self.sizer.size(suffix)?)
            }
            (Index::Tokens { counter, ends }, _) => self.tokens(*counter, ends.as_ref(), prefix, part, suffix),
            _ => self.sizer.size(&format!("{prefix}{}{suffix}", &self.document.text[part])),
        })
    }

    /// Returns whether sizes leave out inline URLs.
    fn leaves_out(&self) -> bool {
        !matches!(self.index, Index::Lines)
    }

    /// Returns the size of a range between two texts. If inline URLs are left out, it is the sum of the sizes of the
    /// parts around them.
    fn sum(
        &self,
        leaves_out: bool,
        prefix: &str,
        range: &Range<usize>,
        suffix: &str,
        size: impl Fn(&str, Range<usize>, &str) -> Result<usize>,
    ) -> Result<usize> {
        if !leaves_out || self.document.data_urls.is_empty() {
            return size(prefix, range.clone(), suffix);
        }
        let mut total = 0;
        let mut before = around_data_urls(prefix);
        let mut prefix = before.pop().unwrap_or_default();
        for part in before {
            total += size(part, range.start..range.start, "")?;
        }
        let mut start = range.start;
        for url in self.document.data_urls_in(range) {
            total += size(prefix, start..url.start.max(start), "")?;
            (prefix, start) = ("", url.end.min(range.end));
        }
        Ok(total + size(prefix, start..range.end, suffix)?)
    }

    /// Returns [`size_between`](Self::size_between) in tokens of the sizer's encoding, regardless of the ruler's
    /// unit. If the unit is not tokens, the three texts are counted.
    pub fn tokens_between(&self, prefix: &str, range: Range<usize>, suffix: &str) -> Result<usize> {
        match self.sizer.measure {
            Measure::Tokens => self.size_between(prefix, range, suffix),
            _ => self.sum(true, prefix, &range, suffix, |prefix, part, suffix| {
                count(self.sizer.encoding.counter(), [prefix, &self.document.text[part], suffix])
            }),
        }
    }

    /// Returns the byte offset just after each atom (character, token, word, line) of a range's text. The atoms of
    /// an estimate are words outside of code and, inside code, groups of as many characters as count as a token.
    /// Every offset is a character boundary: the end of a token inside a character is moved to the nearer side. The
    /// last offset is the end of the range. An inline URL is part of the atom before it, or of the first one.
    pub fn atoms(&self, range: &Range<usize>) -> Result<Vec<usize>> {
        let urls = if self.leaves_out() { self.document.data_urls_in(range) } else { &[] };
        let mut atoms = Vec::new();
        let mut start = range.start;
        for url in urls {
            if url.start > start {
                atoms.append(&mut self.atoms_of(&(start..url.start))?);
            }
            start = url.end.min(range.end);
            if let Some(last) = atoms.last_mut() {
                *last = start;
            }
        }
        if start < range.end || atoms.is_empty() {
            let mut rest = self.atoms_of(&(start..range.end))?;
            if atoms.is_empty() { atoms = rest } else { atoms.append(&mut rest) }
        }
        Ok(atoms)
    }

    /// Returns the [`atoms`](Self::atoms) of a range without inline URLs.
    fn atoms_of(&self, range: &Range<usize>) -> Result<Vec<usize>> {
        let text = &self.document.text;
        let mut atoms: Vec<usize> = match &self.index {
            Index::Chars => {
                let inner = text[range.clone()].char_indices().skip(1);
                inner.map(|(at, _)| range.start + at).chain([range.end]).collect()
            }
            Index::Lines => self.document.positions.line_ends(range.clone()).collect(),
            Index::Words { ends, code } => {
                let mut words = ends.after(range.start).peekable();
                let mut atoms = Vec::new();
                for block in code.within(range) {
                    atoms.extend(std::iter::from_fn(|| words.next_if(|&end| end <= block.start)));
                    let chars = text[block.clone()].char_indices().map(|(at, _)| block.start + at);
                    atoms.extend(chars.step_by(CHARS_PER_TOKEN).skip(1).chain([block.end]));
                }
                atoms.extend(words.take_while(|&end| end <= range.end));
                atoms
            }
            Index::Tokens { counter, ends } => self.token_ends(*counter, ends.as_ref(), range)?,
        };
        match atoms.last_mut() {
            Some(last) => *last = range.end,
            None => atoms.push(range.end),
        }
        Ok(atoms)
    }

    /// Returns where the document's `count`th token after `byte` ends, if tokens are measured and stored.
    pub(crate) fn after_tokens(&self, byte: usize, count: usize) -> Option<usize> {
        match &self.index {
            Index::Tokens { ends, .. } => Some(ends.as_ref()?.nth_after(byte, count)),
            _ => None,
        }
    }

    /// Returns how many atoms fit in `size`, whichever atoms they are.
    pub(crate) fn atoms_in(&self, size: usize) -> usize {
        match self.index {
            Index::Words { .. } => words_in(size),
            _ => size,
        }
    }

    /// Returns an upper bound for the number of atoms in a text of at most `size`.
    pub(crate) fn most_atoms_in(&self, size: usize) -> usize {
        match &self.index {
            Index::Words { code, .. } if code.blocks.is_empty() => words_in(size),
            _ => size,
        }
    }

    /// Returns the number of words of a range outside of code: those of its text alone. Only the rest of a long word
    /// that the range cuts at its start counts differently from the document; at its end, part of a word is a word.
    fn words(&self, ends: &Ends, code: &Code, range: &Range<usize>) -> usize {
        let (before, inside) = (&self.document.text[..range.start], &self.document.text[range.clone()]);
        let rest = words::rest_of_run(before, inside);
        let anew = words::ends(&inside[..rest]).filter(|end| !code.holds(range.start + end - 1)).count();
        if rest == inside.len() {
            return anew;
        }
        let cut = !inside.ends_with(char::is_whitespace) && !ends.is_end(range.end) && !code.holds(range.end - 1);
        anew + ends.within(&(range.start + rest..range.end)) + usize::from(cut)
    }

    /// Returns the number of tokens of a range between two texts. The count of the range's middle comes from the
    /// stored ends; the parts that depend on the texts are counted together with them.
    fn tokens(
        &self,
        counter: &dyn TokenCounter,
        ends: Option<&Ends>,
        prefix: &str,
        range: Range<usize>,
        suffix: &str,
    ) -> Result<usize> {
        let text = &self.document.text;
        match ends.zip(self.split(counter.breaks(), prefix, &range, suffix)) {
            None => count(counter, [prefix, &text[range], suffix]),
            Some((ends, Split { head, core, tail })) => {
                let head = count(counter, [prefix, &text[head], ""])?;
                Ok(head + ends.within(&core) + count(counter, ["", &text[tail], suffix])?)
            }
        }
    }

    /// Returns where the tokens of a range's text end.
    fn token_ends(&self, counter: &dyn TokenCounter, ends: Option<&Ends>, range: &Range<usize>) -> Result<Vec<usize>> {
        let text = &self.document.text;
        let alone = |range: Range<usize>| -> Result<Vec<usize>> {
            if range.is_empty() {
                return Ok(Vec::new());
            }
            let ends = counter.ends(&text[range.clone()])?;
            Ok(ends.iter().map(|end| range.start + end).collect())
        };
        let mut atoms = match ends.zip(self.split(counter.breaks(), "", range, "")) {
            None => alone(range.clone())?,
            Some((ends, Split { head, core, tail })) => {
                let mut atoms = alone(head)?;
                atoms.extend(ends.after(core.start).take_while(|&end| end <= core.end));
                atoms.extend(alone(tail)?);
                atoms
            }
        };
        for at in &mut atoms {
            *at = nearest_boundary(text, *at);
        }
        Ok(atoms)
    }

    /// Splits a range that is between two texts; returns `None` if it has no break.
    fn split(&self, known: Breaks, prefix: &str, range: &Range<usize>, suffix: &str) -> Option<Split> {
        let text = &self.document.text;
        let inside = &text[range.clone()];
        let Range { start, end } = *range;
        if inside.is_empty() {
            return None;
        }
        // At each end of the range, there must be a break both in the document and in the requested text.
        let at =
            |before: &str, after: &str| before.is_empty() || after.is_empty() || breaks::between(known, before, after);
        let breaks_at_start = at(&text[..start], &text[start..]) && at(prefix, inside);
        let breaks_at_end = at(&text[..end], &text[end..]) && at(inside, suffix);
        let first = if breaks_at_start { start } else { start + breaks::first(known, inside)? };
        let last = if breaks_at_end { end } else { breaks::last(known, inside).map_or(first, |last| start + last) };
        Some(Split { head: start..first, core: first..last, tail: last..end })
    }
}

/// Returns the number of tokens of three texts as one. They are only joined if more than one is not empty.
fn count(counter: &dyn TokenCounter, parts: [&str; 3]) -> Result<usize> {
    match parts {
        ["", "", ""] => Ok(0),
        [text, "", ""] | ["", text, ""] | ["", "", text] => counter.count(text),
        _ => counter.count(&parts.concat()),
    }
}
