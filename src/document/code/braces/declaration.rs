//! What a declaration declares, told from its first tokens alone.

use crate::document::Language;
use crate::document::code::lex::{Kind, Token};

/// Words that stand before a parenthesis and name no function.
const NO_NAMES: [&str; 30] = [
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "throw",
    "new",
    "__attribute__",
    "alignas",
    "decltype",
    "noexcept",
    "sizeof",
    "function",
    "func",
    "await",
    "typeof",
    "import",
    "super",
    "else",
    "do",
    "try",
    "with",
    "synchronized",
    "assert",
    "delete",
    "yield",
    "case",
    "__declspec",
    "static_assert",
];

/// Words that may stand behind the parameters of a C++ function.
const BEHIND: [&str; 10] =
    ["const", "noexcept", "override", "final", "throw", "volatile", "requires", "try", "__attribute__", "mutable"];

/// Words that may stand before what is declared.
const MODIFIERS: [&str; 22] = [
    "pub",
    "async",
    "unsafe",
    "default",
    "crate",
    "export",
    "declare",
    "abstract",
    "public",
    "private",
    "protected",
    "static",
    "readonly",
    "override",
    "get",
    "set",
    "accessor",
    "inline",
    "final",
    "sealed",
    "strictfp",
    "non",
];

pub(super) enum Declaration {
    /// A type or module whose members stand between its braces.
    Container {
        title: String,
        /// Whether commas separate them.
        fields: bool,
    },
    /// Braces that only group: `extern "C" {`.
    Transparent,
    /// A function, or another item without members.
    Item(String),
    /// Anything else.
    Other,
}

pub(super) struct Header<'t> {
    text: &'t str,
    language: Language,
    tokens: &'t [Token],
    /// The same without modifiers.
    bare: &'t [Token],
}

impl<'t> Header<'t> {
    pub(super) fn new(text: &'t str, language: Language, tokens: &'t [Token]) -> Self {
        let tokens = &tokens[prefix(text, language, tokens)..];
        let mut header = Self { text, language, tokens, bare: tokens };
        while let [first, rest @ ..] = header.bare {
            let word = header.text(first);
            let rust = language == Language::Rust;
            let next = rest.first().map_or("", |next| header.text(next));
            let skip = match first.kind {
                // As the name of a method they are no modifiers.
                Kind::Word
                    if rest.first().is_some_and(|next| !rust && (next.kind == Kind::Open(b'(') || next.is(b'='))) =>
                {
                    false
                }
                Kind::Word if word == "const" => rust && matches!(next, "fn" | "unsafe" | "async" | "extern"),
                Kind::Word if word == "extern" => {
                    rust && matches!(rest.first(), Some(next) if next.kind == Kind::Text || header.text(next) == "fn")
                }
                Kind::Word => MODIFIERS.contains(&word),
                Kind::Open(b'(') | Kind::Text => rust,
                Kind::Mark(b'*') => matches!(language, Language::JavaScript | Language::TypeScript),
                _ => false,
            };
            if !skip {
                break;
            }
            header.bare = rest;
        }
        header
    }

    /// Whether a brace that comes now is a value in the initializers of a C++ constructor.
    pub(super) fn initializes(&self) -> bool {
        let Some((_, name)) = self.callable() else { return false };
        let word = |token: &Token| token.kind == Kind::Word && !BEHIND.contains(&self.text(token));
        let lone = |three: &[Token]| three[1].is(b':') && !three[0].is(b':') && !three[2].is(b':');
        self.tokens.last().is_some_and(word) && self.tokens[name..].windows(3).any(lone)
    }

    /// What is declared if a brace comes now.
    pub(super) fn before_brace(&self, inside: bool) -> Declaration {
        match self.language {
            Language::Rust => self.rust(true),
            Language::Go => self.go(inside, true),
            Language::Java => self.java(inside),
            Language::JavaScript | Language::TypeScript => self.script(inside, true),
            _ => self.c(inside, true),
        }
    }

    /// What is declared if nothing more comes.
    pub(super) fn without_brace(&self, inside: bool, fields: bool) -> Declaration {
        match self.language {
            Language::Rust if fields => Declaration::Other,
            Language::Rust => self.rust(false),
            Language::Go => self.go(inside, false),
            Language::Java if fields => Declaration::Other,
            Language::Java => self.java(inside),
            Language::JavaScript | Language::TypeScript => self.script(inside, false),
            _ => self.c(inside, false),
        }
    }

    /// Whether the statement ends with the brace that comes now.
    pub(super) fn ends_with_brace(&self) -> bool {
        let first = self.bare.first().map_or("", |first| self.text(first));
        let open = matches!(first, "use" | "let" | "const" | "var" | "type" | "typedef" | "import");
        let fixed = self.language == Language::Rust && first == "static";
        let line = self.language == Language::Go && first != "func";
        !open && !fixed && !line && self.assignment().is_none()
    }

    /// Whether a comment above is about what begins here, though it is no item.
    pub(super) fn declares(&self) -> bool {
        let first = self.bare.first().map_or("", |first| self.text(first));
        let names = match self.language {
            Language::Go => matches!(first, "package" | "const" | "var" | "type"),
            _ => true,
        };
        names && first != "using"
    }

    fn text(&self, token: &Token) -> &'t str {
        &self.text[token.start..token.end]
    }

    /// The word at `at` of the bare header.
    fn word(&self, at: usize) -> &'t str {
        self.bare.get(at).filter(|token| token.kind == Kind::Word).map_or("", |token| self.text(token))
    }

    fn item(&self, at: usize) -> Declaration {
        match self.word(at) {
            "" => Declaration::Other,
            name => Declaration::Item(name.to_owned()),
        }
    }

    fn rust(&self, brace: bool) -> Declaration {
        let name = self.word(1);
        match self.word(0) {
            "fn" | "type" => self.item(1),
            "static" | "const" if matches!(name, "mut" | "ref") => self.item(2),
            "static" | "const" => self.item(1),
            "macro_rules" => self.item(2),
            "struct" | "union" | "enum" if brace && !name.is_empty() => {
                Declaration::Container { title: name.to_owned(), fields: true }
            }
            "trait" | "mod" if brace && !name.is_empty() => {
                Declaration::Container { title: name.to_owned(), fields: false }
            }
            "struct" | "trait" => self.item(1),
            "impl" if brace => Declaration::Container { title: self.implementation(), fields: false },
            "" if brace && self.tokens.iter().any(|token| self.text(token) == "extern") => Declaration::Transparent,
            _ => Declaration::Other,
        }
    }

    /// What stands between `impl<…>` and `where`.
    fn implementation(&self) -> String {
        let rest = &self.bare[1..];
        let rest = &rest[angles(rest)..];
        let end = rest.iter().position(|token| self.text(token) == "where" || token.kind == Kind::Open(b'{'));
        let named = &rest[..end.unwrap_or(rest.len())];
        let (Some(first), Some(last)) = (named.first(), named.last()) else { return "impl".to_owned() };
        let title = &self.text[first.start..last.end];
        // The type alone, so that a member is `Type > member`; a trait is said with its type.
        let inherent = !named.iter().any(|token| self.text(token) == "for");
        let bare = title.split('<').next().filter(|bare| inherent && !bare.is_empty());
        bare.unwrap_or(title).to_owned()
    }

    fn go(&self, inside: bool, brace: bool) -> Declaration {
        match (self.word(0), self.bare.get(1).map(|token| token.kind)) {
            ("func", Some(Kind::Open(b'('))) if !self.word(2).is_empty() => {
                // The receiver's type is the last name in the parentheses.
                let receiver = &self.text[self.bare[1].start..self.bare[2].start];
                let receiver = receiver.split('[').next().unwrap_or(receiver).trim_end_matches([')', ' ', '\t']);
                let start = receiver.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
                // What is found there is one ASCII character.
                let class = receiver.get(start..).unwrap_or_default();
                Declaration::Item(format!("{class}.{}", self.word(2)))
            }
            ("func", Some(Kind::Word)) => self.item(1),
            ("type", Some(Kind::Word))
                if brace && self.tokens.iter().any(|token| matches!(self.text(token), "struct" | "interface")) =>
            {
                Declaration::Container { title: self.word(1).to_owned(), fields: false }
            }
            ("type" | "const" | "var", Some(Kind::Word)) => self.item(1),
            (name, Some(Kind::Open(b'('))) if inside && !matches!(name, "" | "func") => self.item(0),
            _ => Declaration::Other,
        }
    }

    fn java(&self, inside: bool) -> Declaration {
        let callable = self.callable();
        let limit = callable.as_ref().map_or(self.tokens.len(), |(_, at)| *at);
        let keyword = |token: &Token| matches!(self.text(token), "class" | "interface" | "enum" | "record");
        if let Some(at) = self.tokens[..limit].iter().position(keyword)
            && let Some(name) = self.tokens.get(at + 1).filter(|token| token.kind == Kind::Word)
        {
            let fields = self.text(&self.tokens[at]) == "enum";
            return Declaration::Container { title: self.text(name).to_owned(), fields };
        }
        match callable {
            Some((title, _)) if inside => Declaration::Item(title),
            _ => Declaration::Other,
        }
    }

    fn script(&self, inside: bool, brace: bool) -> Declaration {
        let named = |at: usize| if self.word(at).is_empty() { "default".to_owned() } else { self.word(at).to_owned() };
        let next = self.word(1);
        match self.word(0) {
            "function" => {
                let star = self.bare.get(1).is_some_and(|token| token.is(b'*'));
                return Declaration::Item(named(if star { 2 } else { 1 }));
            }
            "class" if brace => {
                let title = if next == "extends" { "default".to_owned() } else { named(1) };
                return Declaration::Container { title, fields: false };
            }
            "interface" | "enum" if brace && !next.is_empty() => {
                return Declaration::Container { title: next.to_owned(), fields: true };
            }
            "const" if next == "enum" && brace => {
                return Declaration::Container { title: self.word(2).to_owned(), fields: true };
            }
            "namespace" | "module" if brace && self.bare.len() > 1 && self.assignment().is_none() => {
                let title =
                    self.text[self.bare[1].start..self.bare[self.bare.len() - 2].end.max(self.bare[1].end)].to_owned();
                return Declaration::Container { title: title.trim_matches(['"', '\'']).to_owned(), fields: false };
            }
            "type" if self.assignment().is_some() => return self.item(1),
            "const" | "let" | "var" if !inside => {
                return if self.makes_function() { self.item(1) } else { Declaration::Other };
            }
            _ => {}
        }
        if !inside {
            return Declaration::Other;
        }
        match (self.callable(), self.assignment()) {
            (Some((title, _)), _) => Declaration::Item(title),
            (None, Some(_)) if self.makes_function() => self.item(0),
            _ => Declaration::Other,
        }
    }

    /// Whether what is assigned is a function or a class.
    fn makes_function(&self) -> bool {
        let Some(at) = self.assignment() else { return false };
        let value = &self.tokens[at + 1..];
        let arrow = value.windows(2).position(|pair| pair[0].is(b'=') && pair[1].is(b'>'));
        let first = value.first().map_or("", |token| self.text(token));
        // `a = b(c => d)` has its arrow in brackets; `a = c => d` and `a = async (c) => d` do not.
        matches!(first, "function" | "class" | "async") || arrow.is_some_and(|arrow| arrow <= 8)
    }

    fn c(&self, inside: bool, brace: bool) -> Declaration {
        let first = self.word(0);
        let callable = self.callable().filter(|(_, at)| inside || *at > 0 || (brace && *at == 0));
        if first == "namespace" && brace {
            let words = self.bare[1..].iter().take_while(|token| token.kind != Kind::Open(b'{'));
            let title: String = words.map(|token| self.text(token)).collect();
            return Declaration::Container {
                title: if title.is_empty() { first.to_owned() } else { title },
                fields: false,
            };
        }
        if first == "extern"
            && self.bare.get(1).is_some_and(|token| token.kind == Kind::Text)
            && brace
            && callable.is_none()
        {
            return Declaration::Transparent;
        }
        if first == "typedef" && !brace {
            return self.typedef();
        }
        if first == "using" && self.assignment().is_some() {
            return self.item(1);
        }
        if let Some((title, _)) = callable {
            return Declaration::Item(title);
        }
        let keyword = |token: &Token| matches!(self.text(token), "class" | "struct" | "union" | "enum");
        match self.tokens.iter().position(keyword) {
            Some(at) if brace && self.assignment().is_none() => {
                let fields = self.text(&self.tokens[at]) == "enum";
                let rest = &self.tokens[at + 1..];
                let end =
                    rest.iter().position(|token| token.is(b':') || token.is(b'<') || token.kind == Kind::Open(b'{'));
                let mut names = rest[..end.unwrap_or(rest.len())].iter().rev().filter(|token| token.kind == Kind::Word);
                let name = names.find(|token| self.text(token) != "final").map(|token| self.text(token));
                let title = name.filter(|name| !matches!(*name, "class" | "struct"));
                Declaration::Container { title: title.unwrap_or(self.text(&self.tokens[at])).to_owned(), fields }
            }
            _ => Declaration::Other,
        }
    }

    fn typedef(&self) -> Declaration {
        let pointer = self.tokens.iter().position(|token| token.kind == Kind::Open(b'('));
        let source = pointer.map(|at| self.tokens[at].start);
        if let Some((start, last)) = source.zip(self.tokens.last())
            && let Some(inside) = self.text[start..last.end].strip_prefix('(')
            && let Some(name) = inside.trim_start().strip_prefix('*')
        {
            let name: String = name.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            return if name.is_empty() { Declaration::Other } else { Declaration::Item(name) };
        }
        let end = pointer.unwrap_or(self.tokens.len());
        match self.tokens[..end].iter().rev().find(|token| token.kind == Kind::Word) {
            Some(name) => Declaration::Item(self.text(name).to_owned()),
            None => Declaration::Other,
        }
    }

    /// Index of a `=` that assigns, outside `<…>`.
    fn assignment(&self) -> Option<usize> {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| self.tokens[before]);
            let after = self.tokens.get(at + 1).filter(|next| next.start == token.end);
            match token.kind {
                Kind::Word if self.text(token) == "operator" => return None,
                Kind::Mark(b'<') => depth += 1,
                Kind::Mark(b'>') if !before.is_some_and(|before| before.is(b'-') || before.is(b'=')) => {
                    depth = depth.saturating_sub(1);
                }
                Kind::Mark(b'=') if depth == 0 && !after.is_some_and(|next| next.is(b'>') || next.is(b'=')) => {
                    return Some(at);
                }
                _ => {}
            }
        }
        None
    }

    /// The name before the parameters of a function, and the index of its first token.
    fn callable(&self) -> Option<(String, usize)> {
        let tokens = self.tokens;
        let c = matches!(self.language, Language::C | Language::Cpp);
        let limit = self.assignment().unwrap_or(tokens.len());
        let mut depth = 0_usize;
        for (at, token) in tokens[..limit].iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &tokens[before]);
            match token.kind {
                Kind::Word if c && self.text(token) == "operator" => {
                    let mut groups = tokens[at..].iter().filter(|token| token.kind == Kind::Open(b'('));
                    let first = groups.next()?;
                    let end = if first.start == token.end { groups.next().unwrap_or(first).start } else { first.start };
                    return Some((self.text[token.start..end].to_owned(), at));
                }
                Kind::Mark(b'<') => depth += 1,
                Kind::Mark(b'>') if !before.is_some_and(|before| before.is(b'-') || before.is(b'=')) => {
                    depth = depth.saturating_sub(1);
                }
                Kind::Open(b'(') if depth == 0 => {
                    let next = tokens
                        .get(at + 1)
                        .map_or("", |next| if next.kind == Kind::Word { self.text(next) } else { "" });
                    if c && !next.is_empty() && !BEHIND.contains(&next) {
                        continue;
                    }
                    let Some(first) = self.name_before(at) else { continue };
                    let title = &self.text[tokens[first].start..token.start];
                    let title = title.split('<').next().unwrap_or(title).trim_end();
                    return Some((title.to_owned(), first));
                }
                _ => {}
            }
        }
        None
    }

    /// Index of the first token of the name that ends before the parenthesis at `at`.
    fn name_before(&self, at: usize) -> Option<usize> {
        let tokens = self.tokens;
        let mut first = at.checked_sub(1)?;
        let scripted = matches!(self.language, Language::JavaScript | Language::TypeScript);
        if tokens[first].is(b'>') {
            // Type parameters: the name stands before their `<`.
            let mut depth = 0_usize;
            loop {
                if tokens[first].is(b'>') {
                    depth += 1;
                } else if tokens[first].is(b'<') {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                first = first.checked_sub(1)?;
            }
            first = first.checked_sub(1)?;
        }
        let name = &tokens[first];
        match name.kind {
            Kind::Word if NO_NAMES.contains(&self.text(name)) => return None,
            Kind::Word => {}
            Kind::Text | Kind::Open(b'[') if scripted => return Some(first),
            _ => return None,
        }
        let mark = |at: usize, mark: u8| tokens[at].is(mark);
        loop {
            if first >= 1 && (mark(first - 1, b'~') || (scripted && mark(first - 1, b'#'))) {
                first -= 1;
            } else if first >= 3
                && mark(first - 1, b':')
                && mark(first - 2, b':')
                && tokens[first - 3].kind == Kind::Word
            {
                first -= 3;
            } else {
                return Some(first);
            }
        }
    }
}

/// Number of tokens before a declaration that say nothing of its kind: annotations, `template<…>`,
/// `public:`.
pub(super) fn prefix(text: &str, language: Language, tokens: &[Token]) -> usize {
    let mut at = 0;
    let word = |at: usize| {
        let token = tokens.get(at).filter(|token| token.kind == Kind::Word);
        token.map_or("", |token| &text[token.start..token.end])
    };
    let is = |at: usize, mark: u8| tokens.get(at).is_some_and(|token| token.is(mark));
    loop {
        if is(at, b'@') && word(at + 1) != "interface" && !word(at + 1).is_empty() {
            at += 2;
            while is(at, b'.') && !word(at + 1).is_empty() {
                at += 2;
            }
            if tokens.get(at).is_some_and(|token| token.kind == Kind::Open(b'(')) {
                at += 1;
            }
        } else if matches!(language, Language::C | Language::Cpp) && word(at) == "template" && is(at + 1, b'<') {
            at += 1 + angles(&tokens[at + 1..]).max(1);
        } else if matches!(language, Language::C | Language::Cpp)
            && matches!(word(at), "public" | "private" | "protected" | "signals" | "slots")
            && is(at + 1, b':')
        {
            at += 2;
        } else {
            return at.min(tokens.len());
        }
    }
}

/// Number of tokens in the `<…>` at the start; none if it is not closed.
fn angles(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Mark(b'<') => depth += 1,
            Kind::Mark(b'>') if at > 0 && !tokens[at - 1].is(b'-') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
    }
    0
}
