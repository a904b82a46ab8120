//! Sizes: equal to those of tiktoken for every text, and the same from prefix sums as from direct counting.

use std::path::Path;
use std::time::{Duration, Instant};

use chunkmill::chunk::{Preset, Spec};
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root, discover};
use chunkmill::dataset::ChunkRow;
use chunkmill::document::{Admission, BlockKind, Document};
use chunkmill::job::Recipe;
use chunkmill::tokens::{Breaks, Encoding, Ends, Sizer, TokenCounter, Unit, cl100k};
use proptest::prelude::*;
use rayon::prelude::*;
use tiktoken_rs::CoreBPE;

use crate::chunk::properties::preset_in;
use crate::common::{Words, powershell, sizer};
use crate::promises::line_ends;
use crate::tokens::encodings;

fn tiktoken() -> &'static CoreBPE {
    encodings::tiktoken(Encoding::Cl100kBase)
}

pub fn expect_equal(text: &str) {
    encodings::expect_equal(Encoding::Cl100kBase, text);
}

#[test]
fn adversarial_strings_count_as_tiktoken_counts_them() {
    let texts = [
        "a".repeat(1 << 20),
        " ".repeat(1 << 20),
        "\n".repeat(1 << 18),
        " \n".repeat(1 << 18),
        "\t \r\n".repeat(1 << 16),
        "0".repeat(1 << 18),
        "0123456789,".repeat(1 << 15),
        "🚲👩‍👩‍👧‍👦".repeat(1 << 14),
        "日本語テキスト漢字".repeat(1 << 13),
        "Привет, κόσμε! שלום 你好 नमस्ते ".repeat(1 << 12),
        "don't we'll I'M they'RE 'tis ''' ".repeat(1 << 12),
        "e\u{301}\u{200b}\u{a0}\u{feff}\u{202e}".repeat(1 << 13),
        "<|endoftext|><|im_start|>".repeat(1 << 10),
        "xY9_-+=*&^%$#@!~`".repeat(1 << 12),
        "\0\u{1}\u{7f}".repeat(1 << 12),
    ];
    for text in &texts {
        expect_equal(text);
    }
}

/// A thread remembers pieces, by length, in tables of a few ten thousand slots.
#[test]
fn pieces_of_any_length_count_the_same_when_they_are_met_again_and_when_there_were_too_many_between() {
    let of_length = |len: usize| [" ", "-", "ab", "é", "\n", "Xy", "\0"].map(|part| format!("{}.", part.repeat(len)));
    let pieces: Vec<String> = (1..=130).flat_map(of_length).collect();
    let word = |n: u32| (0..6).map(|at| char::from(b'a' + (n >> (4 * at) & 15) as u8)).chain([' ']).collect::<String>();
    let others: String = (0..100_000_u32).map(|n| word(n.wrapping_mul(0x9E37_79B9))).collect();
    for _ in 0..2 {
        pieces.iter().for_each(|piece| expect_equal(piece));
        expect_equal(&pieces.concat());
        expect_equal(&others);
    }
}

#[test]
fn every_character_is_of_the_class_that_it_is_of_for_tiktoken() {
    let after_the_last_letter = '\u{33000}';
    let characters: Vec<char> = ('\0'..after_the_last_letter).chain(['\u{e0001}', '\u{10ffff}']).collect();
    characters.par_chunks(64).for_each(|characters| {
        // As the first and the last character of words, numbers, marks and white space, and doubled.
        let around = |c: &char| format!("a{c}b {c}{c}.{c}! 1{c}2\n{c} \n '{c}e{c}{c}{c}x\r");
        expect_equal(&characters.iter().map(around).collect::<String>());
    });
}

#[test]
fn a_window_may_count_more_alone_than_in_its_place() {
    // This is why windows are counted again: on its own, `'some` starts with the contraction `'s`.
    let (whole, tail) = ("!!'some", "'some");
    assert_eq!(cl100k().count(whole).unwrap() - cl100k().count("!!").unwrap(), 2);
    assert_eq!(cl100k().count(tail).unwrap(), 2);
    expect_equal(whole);
    expect_equal(tail);
}

/// Returns the rows that `Recipe` makes of every `step`th document of a corpus, starting with `first`.
fn rows(root: &Path, spec: &Spec, first: usize, step: usize) -> Vec<ChunkRow> {
    let filter = Filter::new(&[], &[], true, DEFAULT_MAX_BYTES).unwrap();
    let found = discover(&[Root::new(root)], &filter, &[]).unwrap();
    let recipe = Recipe { spec, sizer: sizer(spec), admission: Admission::default(), levels: None };
    let sources: Vec<_> = found.sources.into_iter().skip(first).step_by(step).collect();
    let rows = sources.into_par_iter().map(|source| recipe.prepare(source).unwrap().map_or(Vec::new(), |it| it.chunks));
    rows.flatten().collect()
}

#[test]
fn every_stored_number_of_tokens_is_tiktokens() {
    let larder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder/corpus");
    // Every document of the large corpus is checked with one preset, but not with all of them.
    let corpora = [Some((larder.as_path(), 1)), powershell().map(|root| (root, Preset::ALL.len()))];
    for (root, step) in corpora.into_iter().flatten() {
        for (first, preset) in Preset::ALL.into_iter().enumerate() {
            for spec in [preset.spec(), preset_in(preset, Unit::Tokens)] {
                let rows = rows(root, &spec, first % step, step);
                assert!(!rows.is_empty());
                rows.par_iter().for_each(|row| {
                    let expected = tiktoken().encode_ordinary(&row.content).len();
                    assert_eq!(row.n_tokens, i64::try_from(expected).unwrap(), "{} with `{spec}`", row.chunk_id);
                });
            }
        }
    }
}

#[test]
fn ranges_of_text_without_breaks_cost_what_they_hold() {
    // Windows of a text without forced token boundaries: each window is counted, and none reads beyond itself.
    const WINDOWS: usize = 2048;
    for unit in ["a", " ", "7", "[", "\n", "漢"] {
        let window = 512 * unit.len();
        let document = Document::from_text("doc.md", unit.repeat(512 * WINDOWS));
        let ruler = Sizer::new(Unit::Tokens, Encoding::default(), None).unwrap().measure(&document).unwrap();
        let alone = cl100k().count(&document.text[..window]).unwrap();
        let started = Instant::now();
        for start in (0..WINDOWS).map(|n| n * window) {
            assert_eq!(ruler.size(start..start + window).unwrap(), alone, "{unit:?} from {start}");
        }
        // Counting the whole text takes about 10 ms. If all 2,048 windows read the whole text, they would take 20 s.
        assert!(started.elapsed() < Duration::from_secs(5), "{unit:?}: {:?}", started.elapsed());
    }
}

pub fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z]{1,12}",
        2 => Just(" ".to_owned()),
        1 => "[ \t]{1,5}",
        1 => "[\r\n ]{1,5}",
        1 => "[0-9]{1,9}",
        1 => "[!-/:-@]{1,6}",
        1 => "'[sStTrRvVmMlLdD]{1,3}",
        1 => "[日本語한국á-ü]{1,6}",
        1 => "(🚲|👩‍👩‍👧|\u{301}|\u{a0}|\u{3000}|\u{85}|\u{2028}|\u{feff}){1,4}",
        1 => "[\0\u{b}\u{c}\u{1c}\u{1f}\u{7f}]{1,3}",
        1 => "(\n|\r\n)[ \t]{0,4}(\\||-|#|>|[a-z])?",
        1 => "[.,;:)]{1,2}(\n|\r\n){0,3}",
        1 => "[А-я]{1,8} ?",
        1 => "['a-zÀ-ȿЀ-ҁ×÷ſ]{1,9}",
        1 => "\\PC{1,4}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Returns a range of a text whose ends are character boundaries.
pub fn range_of(text: &str, a: prop::sample::Index, b: prop::sample::Index) -> std::ops::Range<usize> {
    let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (a, b) = (*a.get(&boundaries), *b.get(&boundaries));
    a.min(b)..a.max(b)
}

fn token_ends(ids: &[u32]) -> Vec<u32> {
    encodings::token_ends(Encoding::Cl100kBase, ids)
}

/// Returns the nearest character boundary, or the earlier one in a tie.
fn nearest_boundary(text: &str, at: usize) -> usize {
    let distance = |&boundary: &usize| (boundary.abs_diff(at), boundary);
    let near = at.saturating_sub(3)..=text.len().min(at + 3);
    near.filter(|&boundary| text.is_char_boundary(boundary)).min_by_key(distance).unwrap()
}

/// Counts words and declares that they break at white space.
struct BreakingWords;

impl TokenCounter for BreakingWords {
    fn count(&self, text: &str) -> chunkmill::error::Result<usize> {
        Words.count(text)
    }

    fn ends(&self, text: &str) -> chunkmill::error::Result<Ends> {
        Words.ends(text)
    }

    fn breaks(&self) -> Breaks {
        Breaks::WhiteSpace
    }
}

/// Returns the words of a text in the simplest way: what white space separates, each dense character alone, and long
/// runs in pieces.
fn words_of(text: &str) -> Vec<&str> {
    let dense = |c: char| c >= '\u{800}' && !('\u{1e00}'..'\u{2c00}').contains(&c);
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        for part in word.split_inclusive(dense) {
            let run = part.trim_end_matches(dense);
            let mut rest = run;
            let mut length = 32;
            while !rest.is_empty() {
                let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
                words.push(&rest[..end]);
                (rest, length) = (&rest[end..], 3);
            }
            words.extend((run.len() < part.len()).then(|| &part[run.len()..]));
        }
    }
    words
}

/// Computes seed 3's estimate in the simplest way: words that end outside code, and characters inside code.
fn estimate(document: &Document, range: std::ops::Range<usize>) -> usize {
    let code = |at: usize| document.blocks.iter().any(|b| b.kind == BlockKind::Code && b.range.contains(&at));
    let slice = &document.text[range.clone()];
    let end = |word: &str| word.as_ptr() as usize - document.text.as_ptr() as usize + word.len();
    let words = words_of(slice).into_iter().filter(|word| !code(end(word) - 1)).count();
    let chars = slice.char_indices().filter(|(at, _)| code(range.start + at)).count();
    words * 13 / 10 + chars / 4
}

/// Texts without blanks, and with few: their names, and as many characters of each as asked for.
fn texts_without_blanks(characters: usize) -> Vec<(&'static str, String)> {
    let mut state = 1_u64;
    let mut base64 = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(state >> 58) as usize])
    };
    let base64: String = (0..characters).map(|_| base64()).collect();
    let of = |part: &str| part.chars().cycle().take(characters).collect::<String>();
    vec![
        ("Chinese", of("这个系统每天晚上备份所有的数据库。如果磁盘空间不足，备份会停止！")),
        ("Japanese", of("今日は天気がいいので、散歩に行きました。公園で犬を見ました。")),
        ("kana", of("きょうはてんきがいいので、コンピューターでさんぽをしました。")),
        ("Korean", of("모든인간은태어날때부터자유로우며그존엄과권리에있어동등하다.")),
        ("Thai", of("มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ")),
        ("Lao", of("ມະນຸດທຸກຄົນເກີດມາມີກຽດສັກສີສິດທິເສລີພາບ")),
        ("Khmer", of("មនុស្សទាំងអស់កើតមកមានសេរីភាពនិងភាពស្មើៗគ្នា")),
        ("Burmese", of("လူတိုင်းသည်တူညီလွတ်လပ်သောဂုဏ်သိက္ခါဖြင့်")),
        ("Tibetan", of("འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས།")),
        ("Chinese with English", of("用 Docker 部署 PostgreSQL 数据库时请先检查端口 5432 是否可用。")),
        ("emoji", of("😀🚲🎉👍👩‍👩‍👧🇩🇪")),
        ("URL", of("https://example.org/2026/11/reports/part/section?view=full&page=12&")),
        ("minified code", of("function(e,t){return e.parentNode&&e.parentNode.removeChild(t),this};")),
        ("base64", base64),
    ]
}

/// The published estimate counts such a text as a single word.
#[test]
fn text_without_blanks_counts_as_about_as_many_tokens_as_it_has() {
    for (name, text) in texts_without_blanks(3_000) {
        let tokens = cl100k().count(&text).unwrap();
        for unit in [Unit::Words, Unit::Estimate] {
            let document = Document::from_text("doc.md", text.clone());
            let sizer = Sizer::new(unit, Encoding::default(), None).unwrap();
            let size = sizer.measure(&document).unwrap().size(0..text.len()).unwrap();
            assert!(size * 5 / 2 > tokens && size < tokens * 5 / 2, "{name} in {unit}: {size}, {tokens} tokens");
        }
    }
}

#[test]
fn prose_with_blanks_counts_as_published() {
    let text = "The “quick” brown fox’s résumé — naïve, übermäßig; see https://example.org/a and `Get-ChildItem`… ";
    let words = text.split_whitespace().count();
    let sizer = Sizer::new(Unit::Words, Encoding::default(), None).unwrap();
    assert_eq!(sizer.size(&text.repeat(100)).unwrap(), words * 100 * 13 / 10);
}

#[test]
fn no_chunk_of_text_without_blanks_is_far_over_the_maximum_without_a_flag() {
    for characters in [1_500, 30_000, 100_000] {
        for (name, text) in texts_without_blanks(characters) {
            let paragraphs: Vec<String> =
                text.chars().collect::<Vec<_>>().chunks(180).map(|part| part.iter().collect()).collect();
            for text in [text.clone(), paragraphs.join("\n\n")] {
                for spec in [
                    "docs",
                    "code",
                    "fixed",
                    "pdf",
                    "structure unit=words min=100 max=600",
                    "header unit=words min=100 max=600",
                    "heading unit=words max=600 overlap=50",
                    "recursive unit=estimate max=600",
                    "windows unit=words max=600",
                    "section unit=words min=100 target=400 max=600 overlap=50 cut_oversized=true",
                ] {
                    let spec: Spec = spec.parse().unwrap();
                    let document = Document::from_text("doc.md", format!("# Title\n\n{text}\n"));
                    let chunks = chunkmill::chunk::chunk(&document, &spec, sizer(&spec)).unwrap();
                    for chunk in chunks.iter().filter(|chunk| chunk.flags.is_empty()) {
                        let content = chunk.content(&document);
                        let tokens = cl100k().count(&content).unwrap();
                        let at = format!("{name}, {characters} characters, `{spec}`");
                        assert!(tokens <= spec.max() * 5 / 2, "{at}: {tokens} tokens");
                        // English prose has about five characters for each word counted.
                        let found = content.chars().count();
                        assert!(found <= spec.max() * 6, "{at}: {found} characters");
                    }
                }
            }
        }
    }
}

#[test]
fn an_estimate_counts_words_of_prose_and_characters_of_code() {
    let document = Document::from_text("doc.md", "one two three\n\n```\nlet x = 1;\n```\n\nfour\n");
    let ruler = Sizer::new(Unit::Estimate, Encoding::default(), None).unwrap().measure(&document).unwrap();
    // 4 words → 5; 19 characters of code with its fences → 4.
    assert_eq!(ruler.size(0..document.text.len()).unwrap(), 9);
    assert_eq!(ruler.size(0..13).unwrap(), 3);
    assert_eq!(ruler.size_between("zero ", 0..13, "").unwrap(), 4);
    assert_eq!(ruler.size_between(&"x".repeat(32), 0..13, "").unwrap(), 11, "a prefix may be code");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_size_of_any_range_is_that_of_its_text_alone(
        text in text(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(),
    ) {
        let range = range_of(&text, a, b);
        let slice = text[range.clone()].to_owned();
        let document = Document::from_text("doc.md", text);
        for unit in Unit::ALL {
            let sizer = Sizer::new(unit, Encoding::default(), Some(&Words)).unwrap();
            let expected = match unit {
                Unit::Chars => slice.chars().count(),
                Unit::Tokens => tiktoken().encode_ordinary(&slice).len(),
                Unit::Words => words_of(&slice).len() * 13 / 10,
                Unit::Model => slice.split_whitespace().count(),
                Unit::Lines => line_ends(&slice) + usize::from(!slice.is_empty() && !slice.ends_with(['\n', '\r'])),
                Unit::Estimate => estimate(&document, range.clone()),
            };
            if unit != Unit::Estimate {
                prop_assert_eq!(sizer.size(&slice).unwrap(), expected, "{} alone", unit);
            }
            prop_assert_eq!(sizer.measure(&document).unwrap().size(range.clone()).unwrap(), expected, "{} in place", unit);
        }
    }

    #[test]
    fn any_text_counts_and_ends_as_tiktoken_says(text in text()) {
        expect_equal(&text);
    }

    #[test]
    fn a_range_between_two_texts_counts_as_one_text(
        text in text(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(),
        prefix in text(), suffix in text(), without in 0..4u8,
    ) {
        let range = range_of(&text, a, b);
        let prefix = if without & 1 == 0 { prefix } else { String::new() };
        let suffix = if without & 2 == 0 { suffix } else { String::new() };
        let joined = format!("{prefix}{}{suffix}", &text[range.clone()]);
        let document = Document::from_text("doc.md", text);
        for unit in Unit::ALL.into_iter().filter(|&unit| unit != Unit::Estimate) {
            let sizer = Sizer::new(unit, Encoding::default(), Some(&BreakingWords)).unwrap();
            let expected = match unit {
                Unit::Tokens => tiktoken().encode_ordinary(&joined).len(),
                _ => sizer.size(&joined).unwrap(),
            };
            let ruler = sizer.measure(&document).unwrap();
            prop_assert_eq!(ruler.size_between(&prefix, range.clone(), &suffix).unwrap(), expected, "{}", unit);
        }
    }

    #[test]
    fn token_atoms_end_where_tiktokens_tokens_of_the_range_alone_end(
        text in text(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(),
    ) {
        let range = range_of(&text, a, b);
        let ends = token_ends(&tiktoken().encode_ordinary(&text[range.clone()]));
        let document = Document::from_text("doc.md", text.clone());
        let atoms = Sizer::new(Unit::Tokens, Encoding::default(), None).unwrap().measure(&document).unwrap().atoms(&range).unwrap();
        let in_place = ends.iter().map(|&end| range.start + end as usize);
        let expected: Vec<usize> = in_place.map(|end| nearest_boundary(&text, end)).collect();
        prop_assert_eq!(&atoms[..], if range.is_empty() { &[range.end][..] } else { &expected[..] });
    }

    #[test]
    fn atoms_tile_a_range(text in text(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let range = range_of(&text, a, b);
        let document = Document::from_text("doc.md", text.clone());
        for unit in Unit::ALL {
            let sizer = Sizer::new(unit, Encoding::default(), Some(&Words)).unwrap();
            let atoms = sizer.measure(&document).unwrap().atoms(&range).unwrap();
            prop_assert_eq!(atoms.last(), Some(&range.end));
            prop_assert!(atoms.iter().all(|&end| text.is_char_boundary(end) && end >= range.start));
            prop_assert!(atoms.is_sorted());
        }
    }

    #[test]
    fn a_suffix_has_the_asked_size(text in text(), size in 0..30usize) {
        for unit in [Unit::Chars, Unit::Words, Unit::Model, Unit::Lines] {
            let sizer = Sizer::new(unit, Encoding::default(), Some(&Words)).unwrap();
            let suffix = sizer.suffix(&text, size).unwrap();
            prop_assert!(text.ends_with(suffix));
            prop_assert!(sizer.size(suffix).unwrap() <= size, "{unit}: {suffix:?}");
            if suffix != text && unit != Unit::Words {
                prop_assert_eq!(sizer.size(suffix).unwrap(), size, "{}", unit);
            }
        }
    }
}

proptest! {
    // Each case is as long as about seventy others, and tiktoken-rs is slow.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_long_text_counts_and_ends_as_tiktoken_says(texts in prop::collection::vec(text(), 20..120)) {
        expect_equal(&texts.concat());
    }
}
