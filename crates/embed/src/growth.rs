//! Whether a tokenizer makes far more of a text than the text is.
//!
//! A `tokenizer.json` describes stages that may replace characters by others. A chain of stages that each double a
//! letter makes terabytes of a sentence, and so does a template that names its text twice. The file is refused
//! before the tokenizer reads anything. Tokenizers of published models stay far below the limits.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

/// How many times the bytes of a text replacements may make, one on the other.
const MOST_REPLACED: u64 = 64;

/// The same for tables and forms of Unicode, which make the most of characters that hardly occur.
const MOST_MAPPED: u64 = 1000;

/// Largest number of special tokens in a template.
const MOST_SPECIAL: usize = 10_000;

/// Bytes that the compatibility forms of Unicode make of one: U+FDFA becomes 18 characters.
const COMPATIBLE: u64 = 11;

/// Bytes that the other forms make of one.
const CANONICAL: u64 = 3;

#[derive(Deserialize)]
struct Stages {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    post_processor: Value,
}

/// Returns what is wrong with a `tokenizer.json` that would make too much of a text.
pub(super) fn check(json: &[u8]) -> Result<(), String> {
    // A file that cannot be read is reported by the tokenizer.
    let Ok(Stages { normalizer, post_processor }) = serde_json::from_slice(json) else { return Ok(()) };
    let mut growth = Growth { replaced: 1, mapped: 1, letters: BTreeSet::new(), any_letter: false };
    growth.normalizer(&normalizer);
    let Growth { replaced, mapped, .. } = growth;
    if replaced > MOST_REPLACED || mapped > MOST_MAPPED {
        let times = replaced.saturating_mul(mapped);
        return Err(format!("its normalizers would make up to {times} bytes of each byte of a text"));
    }
    template(&post_processor)
}

/// How much the stages so far make of a byte.
struct Growth {
    replaced: u64,
    mapped: u64,
    /// The characters that growing replacements insert.
    letters: BTreeSet<char>,
    /// Whether a stage so far may insert any character.
    any_letter: bool,
}

impl Growth {
    fn normalizer(&mut self, stage: &Value) {
        match stage["type"].as_str().unwrap_or_default() {
            "Sequence" => {
                for stage in stage["normalizers"].as_array().into_iter().flatten() {
                    self.normalizer(stage);
                }
            }
            "Replace" => self.replace(&stage["pattern"], stage["content"].as_str().unwrap_or_default()),
            "Precompiled" => self.map(longest(stage["precompiled_charsmap"].as_str().unwrap_or_default())),
            "NFKC" | "NFKD" => self.map(COMPATIBLE),
            "NFC" | "NFD" | "BertNormalizer" => self.map(CANONICAL),
            "ByteLevel" => {
                self.replaced = self.replaced.saturating_mul(2);
                self.any_letter = true;
            }
            _ => {}
        }
    }

    fn map(&mut self, times: u64) {
        self.mapped = self.mapped.saturating_mul(times.max(1));
        self.any_letter = true;
    }

    fn replace(&mut self, pattern: &Value, content: &str) {
        let text = pattern["String"].as_str().filter(|text| !text.is_empty());
        let times = match text {
            Some(text) => (content.len() as u64).div_ceil(text.len() as u64),
            // It may match the nothing between any two characters.
            None => 1 + content.len() as u64,
        };
        if times <= 1 {
            return;
        }
        // A later stage may replace what an earlier one inserted.
        let again =
            text.is_none_or(|text| self.any_letter || text.chars().any(|letter| self.letters.contains(&letter)));
        self.replaced = if again { self.replaced.saturating_mul(times) } else { self.replaced.max(times) };
        self.letters.extend(content.chars());
    }
}

/// Checks that templates contain each text once, and few special tokens.
fn template(stage: &Value) -> Result<(), String> {
    if let Some(stages) = stage["processors"].as_array() {
        return stages.iter().try_for_each(template);
    }
    for kind in ["single", "pair"] {
        let pieces = stage[kind].as_array().map(Vec::as_slice).unwrap_or_default();
        let of = |id: &str| pieces.iter().filter(|piece| piece["Sequence"]["id"] == id).count();
        if of("A") > 1 || of("B") > 1 {
            return Err(format!("its template `{kind}` contains a text more than once"));
        }
        let ids = |piece: &Value| {
            stage["special_tokens"][piece["SpecialToken"]["id"].as_str()?]["ids"].as_array().map(Vec::len)
        };
        let special = pieces.iter().filter_map(ids).fold(0, usize::saturating_add);
        if special > MOST_SPECIAL {
            return Err(format!("its template `{kind}` adds {special} special tokens to each text"));
        }
    }
    Ok(())
}

/// Returns the length of the longest replacement in a table of `SentencePiece`: base64 of the size of a trie, the trie,
/// and the replacements, each ended by a zero.
fn longest(table: &str) -> u64 {
    let mut bytes = Vec::with_capacity(table.len());
    let (mut bits, mut held) = (0_u32, 0);
    for byte in table.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            // The lowest byte; what is above it was taken before.
            bytes.push((bits >> held).to_le_bytes()[0]);
        }
    }
    let Some((size, rest)) = bytes.split_first_chunk() else { return 1 };
    let replacements = usize::try_from(u32::from_le_bytes(*size)).ok().and_then(|size| rest.get(size..));
    replacements.unwrap_or(rest).split(|&byte| byte == 0).map(<[u8]>::len).max().unwrap_or_default() as u64
}
