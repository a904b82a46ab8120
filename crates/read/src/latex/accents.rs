//! Characters that are written as commands.

/// Letters with their accents: the accent, letters, letters with it.
const ACCENTS: &[(&str, &str, &str)] = &[
    ("'", "aeiouyAEIOUYcnszrlCNSZRLg", "áéíóúýÁÉÍÓÚÝćńśźŕĺĆŃŚŹŔĹǵ"),
    ("`", "aeiouAEIOUn", "àèìòùÀÈÌÒÙǹ"),
    ("^", "aeiouAEIOUcghjswyCGHJSWY", "âêîôûÂÊÎÔÛĉĝĥĵŝŵŷĈĜĤĴŜŴŶ"),
    ("\"", "aeiouyAEIOUY", "äëïöüÿÄËÏÖÜŸ"),
    ("~", "anoiuANOIU", "ãñõĩũÃÑÕĨŨ"),
    ("=", "aeiouAEIOU", "āēīōūĀĒĪŌŪ"),
    (".", "cegzCEGZI", "ċėġżĊĖĠŻİ"),
    ("c", "cstkglnrCSTKGLNRe", "çşţķģļņŗÇŞŢĶĢĻŅŖȩ"),
    ("v", "csznrdteCSZNRDTEg", "čšžňřďťěČŠŽŇŘĎŤĚǧ"),
    ("u", "aeiougAEIOUG", "ăĕĭŏŭğĂĔĬŎŬĞ"),
    ("H", "ouOU", "őűŐŰ"),
    ("r", "auAU", "åůÅŮ"),
    ("k", "aeiuAEIU", "ąęįųĄĘĮŲ"),
    ("d", "aeioustAEIOUST", "ạẹịọụṣṭẠẸỊỌỤṢṬ"),
];

/// The combining character for each accent, for letters that have no character of their own with it.
const COMBINING: &[(&str, char)] = &[
    ("'", '\u{301}'),
    ("`", '\u{300}'),
    ("^", '\u{302}'),
    ("\"", '\u{308}'),
    ("~", '\u{303}'),
    ("=", '\u{304}'),
    (".", '\u{307}'),
    ("c", '\u{327}'),
    ("v", '\u{30c}'),
    ("u", '\u{306}'),
    ("H", '\u{30b}'),
    ("r", '\u{30a}'),
    ("k", '\u{328}'),
    ("d", '\u{323}'),
    ("b", '\u{331}'),
];

/// Returns whether a command puts an accent on a letter.
pub(super) fn is_accent(name: &str) -> bool {
    COMBINING.iter().any(|(accent, _)| *accent == name)
}

/// Returns a letter with an accent.
pub(super) fn accented(accent: &str, letter: char) -> Option<String> {
    let known = ACCENTS.iter().find(|(known, ..)| *known == accent).and_then(|(_, letters, shown)| {
        letters.chars().position(|known| known == letter).and_then(|at| shown.chars().nth(at))
    });
    match known {
        Some(c) => Some(c.to_string()),
        None => COMBINING.iter().find(|(known, _)| *known == accent).map(|(_, mark)| format!("{letter}{mark}")),
    }
}

/// Returns the character or the word that a command stands for.
pub(super) fn symbol(name: &str) -> Option<&'static str> {
    Some(match name {
        "ss" => "ß",
        "SS" => "ẞ",
        "ae" => "æ",
        "AE" => "Æ",
        "oe" => "œ",
        "OE" => "Œ",
        "o" => "ø",
        "O" => "Ø",
        "aa" => "å",
        "AA" => "Å",
        "l" => "ł",
        "L" => "Ł",
        "i" => "ı",
        "j" => "ȷ",
        "th" => "þ",
        "TH" => "Þ",
        "dh" => "ð",
        "DH" => "Ð",
        "dj" => "đ",
        "DJ" => "Đ",
        "ng" => "ŋ",
        "NG" => "Ŋ",
        "dots" | "ldots" | "textellipsis" => "…",
        "S" | "textsection" => "§",
        "P" | "textparagraph" => "¶",
        "copyright" | "textcopyright" => "©",
        "textregistered" => "®",
        "texttrademark" => "™",
        "pounds" | "textsterling" => "£",
        "euro" | "texteuro" => "€",
        "textdegree" => "°",
        "textmu" => "µ",
        "textbackslash" => "\\",
        "textasciitilde" => "~",
        "textasciicircum" => "^",
        "textendash" => "–",
        "textemdash" => "—",
        "textbar" => "|",
        "textless" => "<",
        "textgreater" => ">",
        "textbraceleft" | "lbrace" => "{",
        "textbraceright" | "rbrace" => "}",
        "textunderscore" => "_",
        "textdollar" => "$",
        "textbullet" => "•",
        "textperiodcentered" => "·",
        "textquotedblleft" => "\u{201c}",
        "textquotedblright" => "\u{201d}",
        "textquoteleft" => "\u{2018}",
        "textquoteright" => "\u{2019}",
        "textquotesingle" => "'",
        "quotedblbase" => "\u{201e}",
        "quotesinglbase" => "\u{201a}",
        "guillemotleft" | "guillemetleft" => "«",
        "guillemotright" | "guillemetright" => "»",
        "slash" => "/",
        "dag" | "textdagger" => "†",
        "ddag" | "textdaggerdbl" => "‡",
        "textexclamdown" => "¡",
        "textquestiondown" => "¿",
        "texttimes" => "×",
        "textpm" => "±",
        "textrightarrow" => "→",
        "textleftarrow" => "←",
        "LaTeX" => "LaTeX",
        "LaTeXe" => "LaTeX2e",
        "TeX" => "TeX",
        "XeTeX" => "XeTeX",
        "XeLaTeX" => "XeLaTeX",
        "LuaTeX" => "LuaTeX",
        "LuaLaTeX" => "LuaLaTeX",
        "BibTeX" => "BibTeX",
        "pdfTeX" => "pdfTeX",
        "pdfLaTeX" => "pdfLaTeX",
        _ => return None,
    })
}
