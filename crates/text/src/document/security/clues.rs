//! Words without which a text contains none of the phrases. Most documents contain none of these words, and
//! checking for them takes a fraction of the time of a search for the phrases.
//!
//! A text that is ruled out here must not contain a phrase, so this only errs the other way: it accepts part of a
//! word as the whole word, any character that is not ASCII as a gap, and anything that may be markup as a clue.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memchr2, memchr3, memmem, memrchr, memrchr2, memrchr3};

use super::words::Finder;

/// Every phrase contains one of these. Spaces separate words, and `|` separates alternatives. The alternatives
/// after `*` have at least three letters and are searched for. Then their neighbours are checked: those on the
/// left by their ends, those on the right by their beginnings.
const CLUES: &[&str] = &[
    "previous|prior|above|preceding|earlier|foregoing|former|past|aforementioned *instruct|prompt|guideline|guardrail|direction",
    "previous|prior|above|preceding|earlier|foregoing|former|past|aforementioned system|user|given|safety|and|or|chat|set|of *instruct|prompt|guideline|guardrail|direction",
    "previous|prior|above|preceding|earlier|foregoing|former|past|aforementioned system|user|given|safety|and|or|chat|set|of system|user|given|safety|and|or|chat|set|of *instruct|prompt|guideline|guardrail|direction",
    "t|stop|follow|following|any|all|the|of|your follow|following|any|all|the|of|your original *instruct|prompt|guideline",
    "reveal|disclose|leak|expose|repeat|print|output|show|display|recite|dump|share|me|us|all your *instruct|prompt|guideline",
    "reveal|disclose|leak|expose|repeat|print|output|show|display|recite|dump|share|me|us|all of your *instruct|prompt|guideline",
    "reveal|disclose|leak|expose|repeat|print|output|show|display|recite|dump|share|me|us|all|of|is|are|was|were your full|entire|complete|initial|original|exact|hidden|secret|internal|own|system *instruct|prompt|guideline",
    "full|entire|complete|initial|original|exact|hidden|secret|internal|own|system full|entire|complete|initial|original|exact|hidden|secret|internal|own|system *instruct|prompt|guideline",
    "the|full|entire|complete|initial|original|exact|hidden|secret|internal|own hidden|secret *instruct",
    "*ignor|disregard|forget|bypass|disable|override all|any|every|anything|your of|the|your|my|these|previous|prior|above|preceding|earlier|initial|original|system|safety|content|ethical|moral|instruction|prompt|guideline|guardrail|programming|before|you|i",
    "*ignor|disregard|forget all|any|every other instruct|prompt",
    "*ignor|disregard|forget of your",
    "*ignor|oublie|olvida|olvide consignes|directives|instru|indicaciones",
    "*ignor|oublie|olvida|olvide tou|les|tes|vos|todas|las|tus|sus|as|suas les|tes|vos|las|tus|sus|as|suas|consignes|directives|instru|indicaciones",
    "this|these|your|above *instruct|prompt|directive to the|your|any|this",
    "your new *instruct|directive|objective",
    "system *instruct|prompt|message",
    "you are *now a|in|the|my|called|named|dan|jailbroken|un|evil|god|developer|debug|free|no",
    "system|assistant|developer you are *now",
    "anything|from *now",
    "*pretend that|you",
    "you *have|had no restriction|rule|guideline|limit|filter",
    "*above this|verbatim|starting|word",
    "*conversation history|log|transcript|so|far|a|base64|to|in",
    "*chat|message history|log",
    "t|ever|also tell|inform|let the|your|this *user|human know|about|of|that",
    "*ignorier",
    "*esqueç",
    "*忽略|无视|無視|忘记|忘れ",
    "*inst]|sys>>|of_turn>",
];

/// The start of most chat model markers. It is too short to search for like the words.
const MARKER: &[u8] = b"<|";

/// Upper bounds: longer than any markup that counts as unseen, and than any character reference.
const MAX_UNSEEN: usize = 1024;
const MAX_REFERENCE: usize = 32;
const MAX_NAME: usize = 64;

/// Number of times that markup around a word is read both as unseen and as text.
const MAX_MARKUPS: usize = 12;

/// Alternatives: one of these words must be at a place.
type Words = Vec<&'static [u8]>;

/// The words that must be next to a word.
struct Neighbours {
    /// The nearest one first.
    before: Vec<Words>,
    after: Vec<Words>,
}

/// The words to search for and, by a word's index, the neighbours that make it a clue.
struct Clues {
    words: Finder,
    neighbours: Vec<Vec<Neighbours>>,
}

/// Compiled clues. `None` only if a clue above is wrong, which a test would show.
static COMPILED: LazyLock<Option<Clues>> = LazyLock::new(|| {
    let mut words: BTreeMap<&[u8], Vec<Neighbours>> = BTreeMap::new();
    for clue in CLUES {
        let (before, rest) = clue.split_once('*')?;
        let split = |set: &'static str| -> Words { set.split('|').map(str::as_bytes).collect() };
        let mut sets = rest.split(' ').map(split);
        for word in sets.next()? {
            let before = before.split_whitespace().rev().map(split).collect();
            words.entry(word).or_default().push(Neighbours { before, after: sets.clone().collect() });
        }
    }
    let (words, neighbours) = words.into_iter().unzip();
    Some(Clues { words: Finder::new(words)?, neighbours })
});

/// Returns whether a text without ignored characters may contain a phrase; `false` is certain.
pub(super) fn any(text: &str) -> bool {
    let text = text.as_bytes();
    COMPILED.as_ref().is_none_or(|clues| {
        let is_clue = |word: usize, place: Range<usize>| {
            let (before, after) = (&text[..place.start], &text[place.end..]);
            clues.neighbours[word].iter().any(|near| near.stand(before, after))
        };
        memmem::find(text, MARKER).is_some() || clues.words.any(text, is_clue)
    })
}

impl Neighbours {
    /// Returns whether they are around a word, or may be.
    fn stand(&self, before: &[u8], after: &[u8]) -> bool {
        let mut markups = MAX_MARKUPS;
        stands_before(before, &self.before, &mut markups) && stands_after(after, &self.after, &mut markups)
    }
}

/// Returns a text without the word at its end, in upper or lower case.
fn strip_end<'t>(text: &'t [u8], word: &[u8]) -> Option<&'t [u8]> {
    let (rest, end) = text.split_at_checked(text.len().checked_sub(word.len())?)?;
    end.eq_ignore_ascii_case(word).then_some(rest)
}

/// Returns a text without the word at its start, in upper or lower case.
fn strip_start<'t>(text: &'t [u8], word: &[u8]) -> Option<&'t [u8]> {
    let (start, rest) = text.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then_some(rest)
}

/// Returns whether a text ends with a word of each set, that of the first set last, each followed by a gap. Markup
/// in a gap may be unseen or not; once `markups` is used up, the answer is yes.
fn stands_before(text: &[u8], sets: &[Words], markups: &mut usize) -> bool {
    let Some((words, sets_before)) = sets.split_first() else { return true };
    let mut rest = text;
    while let Some((byte, before)) = rest.split_last() {
        if let Some(start) = markup_before(before, *byte)
            && (spent(markups) || stands_before(&text[..=start], sets, markups))
        {
            return true;
        }
        if !is_gap(*byte) {
            break;
        }
        rest = before;
    }
    let mut ends = |word: &&[u8]| strip_end(rest, word).is_some_and(|text| stands_before(text, sets_before, markups));
    rest.len() < text.len() && words.iter().any(&mut ends)
}

/// Returns whether a word of each set follows the word whose beginning precedes the text.
fn stands_after(text: &[u8], sets: &[Words], markups: &mut usize) -> bool {
    let text = &text[text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()..];
    sets.is_empty() || text.first().is_some_and(|byte| is_gap(*byte)) && stands_in_gap(text, sets, markups)
}

/// Returns whether a word of each set follows, the first after the rest of a gap.
fn stands_in_gap(text: &[u8], sets: &[Words], markups: &mut usize) -> bool {
    let Some((words, sets_after)) = sets.split_first() else { return true };
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first().filter(|(byte, _)| is_gap(**byte)) {
        if let Some(len) = markup_after(after, *byte)
            && (spent(markups) || stands_in_gap(&after[len..], sets, markups))
        {
            return true;
        }
        rest = after;
    }
    let mut starts = |word: &&[u8]| strip_start(rest, word).is_some_and(|text| stands_after(text, sets_after, markups));
    words.iter().any(&mut starts)
}

/// Returns whether no more markup may be read, and counts down.
fn spent(markups: &mut usize) -> bool {
    let left = markups.checked_sub(1);
    *markups = left.unwrap_or_default();
    left.is_none()
}

/// Returns whether a byte may be between words. This includes the colon after a speaker and anything that is not
/// ASCII.
fn is_gap(byte: u8) -> bool {
    !byte.is_ascii()
        || matches!(byte, b':' | b' ' | b'\t' | b'\r' | b'\n' | b'*' | b'_' | b'`' | b'"' | b'\'' | b'>' | b'|')
        || matches!(byte, b'#' | b'~' | b'&' | b'<' | b'[' | b']' | b'-')
}

/// Returns the length of markup that may be unseen, without its first byte.
fn markup_after(text: &[u8], first: u8) -> Option<usize> {
    let text = &text[..text.len().min(MAX_UNSEEN)];
    let len = match (first, text.first()?) {
        (b'&', _) => memchr(b';', &text[..text.len().min(MAX_REFERENCE)]),
        (b'<', _) => memchr2(b'<', b'>', text).filter(|at| text[*at] == b'>' && begins_tag(text)),
        (b']', b'(') => memchr3(b')', b' ', b'\n', text).filter(|at| text[*at] == b')'),
        (b']', b'[') => memchr2(b']', b'\n', text).filter(|at| text[*at] == b']'),
        _ => None,
    };
    len.map(|at| at + 1)
}

/// Returns the start of markup that may be unseen and that ends with `last`, the byte after the text.
fn markup_before(text: &[u8], last: u8) -> Option<usize> {
    let from = text.len().saturating_sub(if last == b';' { MAX_REFERENCE } else { MAX_UNSEEN });
    let near = &text[from..];
    let behind_bracket = |open: Option<usize>| open?.checked_sub(1).filter(|at| near[*at] == b']');
    let start = match last {
        b';' => memrchr(b'&', near),
        b'>' => memrchr2(b'<', b'>', near).filter(|at| near[*at] == b'<' && begins_tag(&near[at + 1..])),
        b')' => behind_bracket(memrchr3(b'(', b' ', b'\n', near).filter(|at| near[*at] == b'(')),
        b']' => behind_bracket(memrchr2(b'[', b'\n', near).filter(|at| near[*at] == b'[')),
        _ => None,
    };
    start.map(|at| from + at)
}

/// Returns whether the text after a `<` may begin a tag or comment.
fn begins_tag(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"/").unwrap_or(text);
    let name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'!');
    let len = text.iter().take(MAX_NAME).take_while(name).count();
    text.get(len).is_none_or(|next| *next <= b' ' || matches!(next, b'/' | b'>') || !next.is_ascii())
}
