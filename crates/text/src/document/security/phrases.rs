//! Phrases known from attempts to give a language model new instructions.
//!
//! Each phrase consists of several words, in upper or lower case. There may be white space, line breaks, quote
//! marks or other markup between the words, and hidden characters inside them. Words that documentation also uses
//! ("system prompt", "ignore") are not signals by themselves.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::clues;
use super::quoted::Quotations;
use super::signal::{SignalKind, Signals};

/// Number of bytes checked together for any that are not ASCII.
const CHUNK: usize = 64;

/// The phrases. `~` stands for anything that may separate two words.
const PHRASES: &[&str] = &[
    // Discard what the model was told before.
    r"(?:ignore|disregard|forget|neglect)~(?:(?:all|any|every|of|the|these|those|your|my|our|its|to)~){0,4}(?:previous|prior|above|preceding|earlier|foregoing|former|past|aforementioned)~(?:(?:system|user|given|safety|and|or|chat|set|of)~){0,2}(?:instructions?|prompts?|guidelines|guardrails|directions)",
    r"(?:override|bypass)~(?:(?:all|any|every|of|your)~){1,3}(?:previous|prior|earlier|foregoing|former)~(?:(?:system|user|given|safety)~)?(?:instructions?|prompts?|guidelines|guardrails)",
    r"(?:ignore|disregard|forget)~(?:all|everything|anything)~(?:of~)?(?:(?:the|your|my|these)~)?(?:previous|prior|above|preceding|earlier)~(?:rules|orders|directives|commands|context|training|messages|conversations?)",
    r"(?:ignore|disregard|forget)~(?:all~)?(?:of~)?your~(?:(?:previous|prior|initial|original|earlier|system|safety)~)?(?:instructions|programming|guidelines|system~prompt|guardrails)",
    r"(?:ignore|disregard|forget)~(?:all|any|every)~(?:the~|other~)?(?:instructions?|prompts?)~(?:above|before|given|you)",
    r"(?:do~not|don'?t|stop)~follow(?:ing)?~(?:(?:any|all|the|of|your)~){0,3}(?:previous|prior|above|earlier|original)~(?:instructions|prompts?|guidelines)",
    r"forget~everything~(?:above|before~this|you~(?:were|have~been|'ve~been)~told|i~told~you)",
    r"(?:new|updated|real|actual)~system~(?:prompt|instructions?|message)\s*:",
    r"(?:begin|start|end)~(?:of~)?(?:the~)?system~(?:prompt|instructions)\s*[\])>*=-]",
    // Give it another role.
    r"you~are~now~(?:(?:a|an|in|the|my|called|named|acting~as)~){0,2}(?:dan|jailbroken|unrestricted|uncensored|unfiltered|evil|god~mode|developer~mode|debug~mode|admin~mode|free~(?:of|from)~(?:all|any|your)|no~longer~(?:bound|restricted|limited))",
    r"(?:^|\n)[ \t>*#]*\[?(?:system|assistant|developer)\]?~?:~?you~are~now",
    r"(?:act|behave|respond|answer)~as~(?:if|though)~you~(?:have|had)~no~(?:restrictions?|rules|guidelines|limits|limitations|filters?)",
    r"pretend~(?:that~)?you~(?:are~(?:dan|jailbroken|unrestricted|not~bound)|have~no~(?:restrictions?|rules|guidelines|limitations|filters?))",
    r"you~(?:can|will|must|should)~do~anything~now",
    r"from~now~on,?~you~(?:will|must|shall|are~to)~(?:act|respond|reply|answer|behave|obey|pretend)",
    r"(?:bypass|ignore|disable|override)~(?:all|any|your)~(?:(?:of|your|the)~){0,2}(?:safety|content|ethical|moral)~(?:filters?|guidelines|policies|policy|guardrails|restrictions|protocols|rules)",
    r"your~new~(?:instructions|directives|objective)~(?:is|are)~",
    // Make it reveal its instructions, or send the conversation somewhere.
    r"(?:reveal|disclose|leak|expose|repeat|print|output|show|display|recite|dump|share)~(?:me~|us~)?(?:all~)?(?:of~)?your~(?:(?:full|entire|complete|initial|original|exact|hidden|secret|internal|own|system|own)~){0,3}(?:instructions|system~prompt|system~message|prompt|guidelines)",
    r"(?:reveal|disclose|leak|exfiltrate)~(?:me~)?the~(?:(?:full|entire|complete|initial|original|exact|hidden|secret|internal)~){0,2}(?:system~prompt|system~message|hidden~instructions|secret~instructions)",
    r"(?:repeat|print|output)~(?:everything|all~the~text|the~text|the~words|all)~above(?:~this)?~(?:verbatim|starting~with|word~for~word)",
    r"what~(?:is|are|was|were)~your~(?:(?:exact|full|initial|original|hidden|secret)~){0,2}(?:system~prompt|system~instructions|initial~instructions|original~instructions)",
    r"(?:send|post|forward|upload|exfiltrate|leak|transmit|append|encode)~(?:(?:the|all|this|entire|full|whole|our|any|of|user'?s)~){0,4}(?:conversation|chat~history|chat~log|message~history|system~prompt)~(?:(?:history|log|transcript|so|far|as|a|base64)~){0,3}(?:to|at|in~the~url)~(?:this~|the~|following~|url~|address~|endpoint~)*(?:https?://|[\w.+-]+@)",
    // Hide something from the user. A program that does not show its users an error does not count.
    r"(?:do~not|don'?t|never)~(?:(?:ever|also)~)?(?:show|tell|reveal|mention|disclose)~(?:(?:any|all)~)?(?:of~)?(?:this|these|your|the~above)~(?:instructions?|prompts?|directives?)~to~(?:the|your|any|this)~(?:user|human)s?",
    r"(?:do~not|don'?t|never)~(?:(?:ever|also)~)?(?:tell|inform|let)~(?:the|your|this)~(?:user|human)s?~(?:know~)?(?:(?:about|of)~(?:(?:any|all)~)?(?:of~)?(?:this|these|your|the~above)~(?:instructions?|prompts?|directives?)|that~you~(?:are|were|have|had|did|received|read|saw|got|follow))",
    // The same in some other languages.
    r"ignorier(?:e|en~sie|t)?~(?:bitte~)?(?:alle~)?(?:deine~|ihre~|die~)?(?:vorherigen|bisherigen|vorangegangenen|vorigen|obigen|früheren)~(?:anweisungen|instruktionen|befehle|vorgaben)",
    r"(?:ignore[zr]?|oublie[zr]?)~(?:toutes~)?(?:les~|tes~|vos~)?(?:instructions|consignes|directives)~(?:précédentes|antérieures|ci-dessus)",
    r"(?:ignora|ignore|olvida|olvide)~(?:todas~)?(?:las~|tus~|sus~)?(?:instrucciones|indicaciones)~(?:anteriores|previas)",
    r"(?:ignore|esqueça)~(?:todas~)?(?:as~|suas~)?(?:instruções)~(?:anteriores|prévias|acima)",
    r"(?:忽略|无视|無視|忘记)(?:所有|全部|你)?(?:之前|以上|上述|先前|前面|以前)(?:的)?(?:所有|全部|一切)?(?:的)?(?:指令|指示|提示|命令)",
    r"(?:以前|前|これまで|上記)の(?:すべての|全ての)?(?:指示|命令)を(?:無視|忘れ)",
];

/// Markers that chat models use to tell who is speaking.
const MARKERS: &[&str] = &[
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|endofprompt|begin_of_text|end_of_text|start_header_id|end_header_id|eot_id|eom_id|python_tag|end|start|channel|message|end_of_turn)\|>",
    r"\[/?INST\]",
    r"<</?SYS>>",
    r"<(?:start|end)_of_turn>",
];

/// White space, characters that markup puts between words, and the first byte of each kind of [`UNSEEN`] markup.
const GAP: &str = r#"(?u:[ \t\r\n*_`"'>|#~&<\[\]\u{a0}\u{2000}-\u{200a}\u{202f}\u{205f}\u{3000}\u{2018}-\u{201d}-]+)"#;

/// Characters that Unicode says to ignore if they cannot be shown, in order.
const IGNORED: [(char, char); 14] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Text that a reader does not see inside and between words: ignored characters (`~` here), spaces as character
/// references, short tags and comments, and the targets of links in brackets.
const UNSEEN: &str = concat!(
    r"[~]+",
    r"|&(?:nbsp|ensp|emsp|thinsp|tab|newline|#0{0,9}(?:9|10|13|32|160)|#x0{0,9}(?:9|a|d|20|a0));",
    r"|<(?:/?[a-z][a-z0-9-]{0,20}|!--)(?:[\s/][^<>~]{0,100})?>",
    r"|\]\([^()\s~]{0,200}\)|\]\[[^\[\]\n~]{0,80}\]",
);

/// Compiled patterns. `None` only if a pattern above is wrong, which a test would show.
static PATTERN: LazyLock<Option<(Regex, Regex)>> = LazyLock::new(|| {
    let phrases = PHRASES.join("|").replace('~', GAP);
    let phrases = Regex::new(&format!("(?i-u)(?-i:{})|{phrases}", MARKERS.join("|"))).ok()?;
    let ignored: String = IGNORED.iter().flat_map(|&(first, last)| [first, '-', last]).collect();
    let unseen = Regex::new(&format!("(?i){}", UNSEEN.replace('~', &ignored))).ok()?;
    Some((phrases, unseen))
});

/// Adds the signals of a text.
pub(super) fn scan(text: &str, ascii: bool, quotations: &Quotations<'_>, found: &mut Signals) {
    if !(!ascii && has_ignored(text) || clues::any(text)) {
        return;
    }
    let Some((phrases, unseen)) = PATTERN.as_ref() else { return };
    let visible = Visible::new(text, unseen, phrases);
    for range in phrases.find_iter(&visible.text) {
        let marker = ["<", "[INST", "[/INST"].iter().any(|start| range.as_str().starts_with(start));
        let kind = if marker { SignalKind::ChatMarkup } else { SignalKind::PromptInjection };
        let range = visible.original(range.range());
        let quoted = quotations.contain(&range);
        found.add_quoted(kind, range, quoted);
    }
}

/// Returns whether a text contains a character that may be hidden inside a word.
fn has_ignored(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_ignored = |c: char| {
        let before = IGNORED.partition_point(|(first, _)| *first <= c);
        before > 0 && c <= IGNORED[before - 1].1
    };
    let mut chunks = text.as_bytes().chunks(CHUNK).enumerate().filter(|(_, chunk)| !chunk.is_ascii());
    chunks.any(|(chunk, bytes)| {
        let starts = (chunk * CHUNK..).take(bytes.len()).filter(|at| text.as_bytes()[*at] >= 0xc0);
        starts.filter_map(|at| text[at..].chars().next()).any(is_ignored)
    })
}

/// A text without its unseen parts.
struct Visible<'t> {
    text: Cow<'t, str>,
    /// For each removed run: its place, and the number of bytes removed up to there.
    removed: Vec<(usize, usize)>,
}

impl<'t> Visible<'t> {
    fn new(text: &'t str, unseen: &Regex, phrases: &Regex) -> Self {
        let mut kept = String::new();
        let mut removed: Vec<(usize, usize)> = Vec::new();
        let (mut done, mut bytes) = (0, 0);
        for unseen in unseen.find_iter(text) {
            // A hidden character is removed completely. The first byte of markup stays, to separate words, and all
            // of it stays if it contains a phrase. `<<SYS>>` is not a tag.
            let markup = unseen.as_str().is_char_boundary(1);
            if markup && (text[..unseen.start()].ends_with('<') || phrases.is_match(unseen.as_str())) {
                continue;
            }
            let start = unseen.start() + usize::from(markup);
            kept.push_str(&text[done..start]);
            done = unseen.end();
            bytes += done - start;
            removed.push((kept.len(), bytes));
        }
        if removed.is_empty() {
            return Self { text: Cow::Borrowed(text), removed };
        }
        kept.push_str(&text[done..]);
        Self { text: Cow::Owned(kept), removed }
    }

    /// Returns the bytes of the original that a range comes from.
    fn original(&self, range: Range<usize>) -> Range<usize> {
        let before = |count: usize| if count == 0 { 0 } else { self.removed[count - 1].1 };
        let start = self.removed.partition_point(|(at, _)| *at <= range.start);
        let end = self.removed.partition_point(|(at, _)| *at < range.end);
        range.start + before(start)..range.end + before(end)
    }
}
