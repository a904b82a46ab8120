//! Keyword search finds a word however it is written: in parts, with signs, with accents, with characters that nobody
//! sees; and the spelling of the question comes first.

use std::path::Path;

use crate::common::{default_model, folder, json_lines, run};

/// Indexes one document for each text, named by its number, and returns the folder.
fn texts(texts: &[&str]) -> tempfile::TempDir {
    let names: Vec<String> = (0..texts.len()).map(|number| format!("docs/{number}.md")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().copied()).collect();
    let home = folder(&files);
    let (code, _, err) = run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake", "--allow-blocked"]);
    assert_eq!(code, 0, "{err}");
    home
}

/// Returns the numbers of the documents that a question finds, best first.
fn found(home: &Path, question: &str) -> Vec<usize> {
    let (code, out, err) = run(home, &["search", "out", "--mode", "keyword", "--json", "-k", "50", "--", question]);
    assert_eq!(code, 0, "{question}: {err}");
    json_lines(&out).iter().map(|hit| hit["path"].as_str().unwrap().trim_end_matches(".md").parse().unwrap()).collect()
}

#[test]
fn characters_that_nobody_sees_hide_no_word() {
    let hidden = [
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{180e}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{200e}',
        '\u{200f}',
        '\u{202a}',
        '\u{202e}',
        '\u{2060}',
        '\u{2063}',
        '\u{2066}',
        '\u{2069}',
        '\u{feff}',
        '\u{fe0f}',
        '\u{e0061}',
        '\u{e0100}',
        '\u{115f}',
        '\u{3164}',
    ];
    let pages: Vec<String> =
        hidden.iter().map(|c| format!("# Note\n\nThe dino{c}saur walks past the gate.\n")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).chain(["# Note\n\nNothing else is here.\n"]).collect();
    let home = texts(&pages);
    for question in ["dinosaur", "dino\u{ad}saur", "d\u{200d}inosau\u{feff}r"] {
        let mut all = found(home.path(), question);
        all.sort_unstable();
        assert_eq!(all, (0..hidden.len()).collect::<Vec<_>>(), "{question:?}");
    }
}

#[test]
fn a_compound_is_found_by_its_parts_and_as_a_whole() {
    let home = texts(&[
        "# Accounts\n\nCall `getUserById2` to read a record.\n",
        "# Server\n\nThe HTTPServer listens.\n",
        "# Post\n\nSend an e-mail today.\n",
        "# Script\n\nIt runs on Node.js only.\n",
        "# Snake\n\nThe field max_retry_count is a number.\n",
        "# Links\n\nAll URLs and IDs were checked on 2024-01-15.\n",
        "# Data\n\nThe hash is aGVsbG8gd29ybGQhIGFnYWluIGFuZCBhZ2Fpbg.\n",
    ]);
    let home = home.path();
    for (question, document) in [
        ("user", 0),
        ("getuserbyid2", 0),
        ("getUserById2", 0),
        ("get_user_by_id_2", 0),
        ("http", 1),
        ("server", 1),
        ("httpserver", 1),
        ("email", 2),
        ("E-Mail", 2),
        ("mail", 2),
        ("nodejs", 3),
        ("NodeJS", 3),
        ("node.js", 3),
        ("js", 3),
        ("retry", 4),
        ("maxRetryCount", 4),
        ("max-retry-count", 4),
        ("url", 5),
        ("2024", 5),
    ] {
        assert_eq!(found(home, question).first(), Some(&document), "{question}");
    }
    for question in ["20240115", "gvsb", "ur"] {
        assert_eq!(found(home, question), [0; 0], "{question}: numbers and encoded data have no parts");
    }
}

#[test]
fn signs_belong_to_the_names_of_languages() {
    let home = texts(&[
        "# One\n\nC++ templates are expanded, with C++17.\n",
        "# Two\n\nC# generics are reified.\n",
        "# Three\n\nThe F# compiler is written in F#.\n",
        "# Four\n\nIt runs on .NET since version 5.\n",
        "# Five\n\nCompile it with (g++) please. C is a language, and a net is a net.\n",
        "# Six\n\nPut secrets into `.env` files, not into the env.\n",
    ]);
    for (question, document) in [
        ("C++", 0),
        ("c++ templates", 0),
        ("C#", 1),
        ("c#", 1),
        ("what is C♯?", 1),
        ("F#", 2),
        (".NET", 3),
        (".net core", 3),
        ("g++", 4),
        (".env", 5),
    ] {
        assert_eq!(found(home.path(), question).first(), Some(&document), "{question}");
    }
    assert_eq!(found(home.path(), "net").len(), 2, "the word alone finds both");
}

#[test]
fn accents_need_not_be_typed_and_the_exact_spelling_is_first() {
    let pairs = [
        ("résumé", "resume"),
        ("Straße", "Strasse"),
        ("naïve", "naive"),
        ("Ångström", "Angstrom"),
        ("Łódź", "Lodz"),
        ("Æsir", "Aesir"),
        ("Ðuro", "Duro"),
        ("ёлка", "елка"),
        ("Ελλάδα", "Ελλαδα"),
        ("cafe\u{301}", "cafe"),
        ("ŒUVRE", "oeuvre"),
        ("Tiếng", "Tieng"),
    ];
    let pages: Vec<String> = pairs
        .iter()
        .flat_map(|(accented, plain)| [accented, plain])
        .map(|word| format!("# Page\n\nThis page has the word {word} in it.\n"))
        .collect();
    let home = texts(&pages.iter().map(String::as_str).collect::<Vec<_>>());
    for (at, (accented, plain)) in pairs.iter().enumerate() {
        let (accented_page, plain_page) = (2 * at, 2 * at + 1);
        for (question, first, second) in [
            ((*accented).to_owned(), accented_page, plain_page),
            ((*plain).to_owned(), plain_page, accented_page),
            (accented.to_uppercase(), accented_page, plain_page),
            (plain.to_lowercase(), plain_page, accented_page),
        ] {
            // The capitals of ß are those of ss.
            let (first, second) = if question == "STRASSE" { (plain_page, accented_page) } else { (first, second) };
            assert_eq!(found(home.path(), &question), [first, second], "{question}");
        }
    }
}

#[test]
fn marks_that_are_parts_of_letters_stay() {
    let home = texts(&["# A\n\nहिन्दी की किताब\n", "# B\n\nйод\n", "# C\n\n図書館で本を読む\n", "# D\n\nภาษาไทย\n"]);
    for (question, documents) in [
        ("किताब", vec![0]),
        ("कताब", vec![]),
        ("йод", vec![1]),
        ("иод", vec![]),
        ("図書", vec![2]),
        ("本を", vec![2]),
        ("ไทย", vec![3]),
    ] {
        assert_eq!(found(home.path(), question), documents, "{question}");
    }
}

#[test]
fn turkish_letters_with_and_without_a_dot_are_found() {
    for front in ["---\nlang: tr\n---\n", ""] {
        let page = |text: &str| format!("{front}# Kent\n\n{text} büyük bir yerdir.\n");
        let pages = ["İstanbul", "ISPARTA", "İZMİR", "ısırgan", "i\u{307}nek"].map(page);
        let home = texts(&pages.each_ref().map(String::as_str));
        for (question, document) in [
            ("istanbul", 0),
            ("İSTANBUL", 0),
            ("İstanbul", 0),
            ("ISTANBUL", 0),
            ("ısparta", 1),
            ("isparta", 1),
            ("ISPARTA", 1),
            ("Isparta", 1),
            ("izmir", 2),
            ("İzmir", 2),
            ("IZMIR", 2),
            ("ısırgan", 3),
            ("ISIRGAN", 3),
            ("isirgan", 3),
            ("inek", 4),
            ("İNEK", 4),
        ] {
            assert_eq!(found(home.path(), question), [document], "{question} with {front:?}");
        }
    }
}

#[test]
fn emoji_and_flags_are_words() {
    let home = texts(&[
        "# A\n\nWe celebrate 🎉 now.\n",
        "# B\n\nGood 👍🏽 work.\n",
        "# C\n\nA family: 👨‍👩‍👧.\n",
        "# D\n\nHere is 🇩🇪 and 🇫🇷.\n",
        "# E\n\nWith ❤\u{fe0f} from us.\n",
    ]);
    for (question, document) in [
        ("🎉", 0),
        ("party🎉", 0),
        ("👍", 1),
        ("👍🏿", 1),
        ("👧", 2),
        ("👨‍👩‍👧", 2),
        ("🇩🇪", 3),
        ("🇫🇷", 3),
        ("❤", 4),
        ("❤️", 4),
    ] {
        assert_eq!(found(home.path(), question), [document], "{question}");
    }
    assert_eq!(found(home.path(), "🇮🇹"), [0; 0]);
}

/// An English model says little about other languages. The user hears of it where that is not allowed for yet.
#[test]
fn the_program_says_when_the_model_does_not_know_the_language() {
    if default_model().is_none() {
        return;
    }
    let home = folder(&[]);
    for (language, warns) in [("en", false), ("de", true), ("ru", true), ("ja", true)] {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/languages").join(language).join("corpus");
        let (out, corpus) = (format!("out-{language}"), corpus.to_str().unwrap().to_owned());
        assert_eq!(run(home.path(), &["index", &corpus, "-o", &out]).0, 0);
        let warned = |more: &[&str]| {
            let (code, _, err) = run(home.path(), &[&["search", &out, "Larder 4.2"], more].concat());
            assert_eq!(code, 0, "{err}");
            err.contains("most documents are not in English, and sentence-transformers/all-MiniLM-L6-v2")
        };
        assert_eq!(warned(&[]), warns, "{language}");
        for allowed_for in [&["--vector-share", "0.2"][..], &["--mode", "keyword"], &["--mode", "vector"]] {
            assert!(!warned(allowed_for), "{language} {allowed_for:?}");
        }
        // A user who turns stemming off has not said which language it is.
        assert!(!warned(&["--language", "none"]) && warned(&["--language", "fr"]), "{language}");
    }
}
