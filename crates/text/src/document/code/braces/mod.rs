//! Languages with braces: declarations are recognized by how they begin, scopes by their brackets.

use std::ops::Range;

use super::lex::{Lexer, Token, TokenKind};
use super::outline::{BlockStart, Outline, Scope};
use crate::document::format::Language;
use crate::document::room::Room;

mod declaration;
mod nest;

use declaration::{Declaration, Header, prefix};
use nest::{Nest, at_margin};

/// Number of tokens of a declaration that are examined; later ones cannot change what it is.
const MAX_HEADER: usize = 128;

pub(super) fn cuts(text: &str, body: Range<usize>, language: Language, room: &mut Room) -> Vec<BlockStart> {
    let mut reader = Reader {
        text,
        language,
        outline: Outline::new(text, language),
        scopes: vec![Level { scope: Outline::root(), fields: false, tail: None, group: false }],
        header: Vec::new(),
        nest: Nest::default(),
        margin: true,
        conditions: Vec::new(),
        state: ScanState::Between,
        last: None,
        typedef: None,
        opened: false,
        behind: None,
    };
    for token in Lexer::new(text, body, language) {
        if reader.outline.is_over(room) {
            break;
        }
        reader.token(token);
    }
    reader.end_statement();
    let scope = reader.scope();
    reader.outline.finish(&scope, room)
}

struct Level {
    scope: Scope,
    /// Whether commas separate the members, as with fields and variants.
    fields: bool,
    /// In C, a name and a semicolon may follow the closing brace. If so, this is the cut with the type's heading,
    /// and whether the name that follows is the type's name.
    tail: Option<(usize, bool)>,
    /// Whether it is a group of Go's types: `type ( … )`.
    group: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum ScanState {
    /// No statement has begun.
    Between,
    /// In the header of a statement whose kind is not yet known.
    Header,
    /// In a statement whose kind is known. `braced` says whether it ends with its brace.
    Known { braced: bool },
}

/// The open scopes and brackets at an `#if`. Each of its branches starts from there.
struct Condition {
    scopes: usize,
    nest: usize,
    between: bool,
    /// Whether no compiler ever reads the branch that is open: that of `#if 0`, or what follows that of `#if 1`.
    dead: bool,
    /// Whether a branch is always read. No later one is then.
    decided: bool,
}

struct Reader<'t> {
    text: &'t str,
    language: Language,
    outline: Outline<'t>,
    scopes: Vec<Level>,
    /// Tokens of the statement outside brackets; an opening bracket represents each group.
    header: Vec<Token>,
    /// Open brackets of the statement.
    nest: Nest,
    /// Whether this line is not indented.
    margin: bool,
    /// The open conditions of the preprocessor.
    conditions: Vec<Condition>,
    state: ScanState,
    /// The last token of the statement outside brackets, including closing brackets.
    last: Option<Token>,
    /// The cut whose heading is the next name.
    typedef: Option<usize>,
    /// Whether only comments have come since a scope was opened.
    opened: bool,
    /// A documentation comment after other text on its line. It documents what follows if that is on the same
    /// line.
    behind: Option<Token>,
}

impl Reader<'_> {
    fn scope(&self) -> Scope {
        self.scopes.last().map_or_else(Outline::root, |level| level.scope.clone())
    }

    fn is_group(&self) -> bool {
        self.scopes.last().is_some_and(|level| level.group)
    }

    fn token(&mut self, token: Token) {
        if let Some(comment) = self.behind.take()
            && !token.first
        {
            self.outline.comment(comment.start, comment.end);
        }
        match token.kind {
            TokenKind::Directive => return self.directive(token),
            _ if self.conditions.last().is_some_and(|condition| condition.dead) => return,
            TokenKind::Comment => return self.comment(token),
            _ => self.opened = false,
        }
        if token.first {
            self.margin = at_margin(self.text, token);
        }
        if !self.nest.is_empty() {
            self.nested(token);
            return;
        }
        if self.ends_before(token) {
            self.end_statement();
        }
        match token.kind {
            TokenKind::Close(bracket) => self.close(bracket),
            TokenKind::Mark(b';') => {
                self.end_statement();
                // The constants of a Java enum end here.
                if let (Language::Java, Some(level)) = (self.language, self.scopes.last_mut()) {
                    level.fields = false;
                }
            }
            TokenKind::Mark(b',') if self.scopes.last().is_some_and(|level| level.fields) => self.end_statement(),
            _ => {
                if self.state == ScanState::Between {
                    self.state = ScanState::Header;
                }
                if self.header.len() < MAX_HEADER {
                    self.header.push(token);
                }
                self.last = Some(token);
                if let TokenKind::Open(bracket) = token.kind {
                    self.open(bracket, token);
                }
            }
        }
    }

    /// Reads a preprocessor line.
    fn directive(&mut self, token: Token) {
        let word = self.text[token.start + 1..token.end].trim_start();
        let was_dead = self.conditions.last().is_some_and(|condition| condition.dead);
        self.condition(word);
        if was_dead && self.conditions.last().is_some_and(|condition| condition.dead) {
            return;
        }
        if self.state != ScanState::Between || !self.nest.is_empty() {
            return;
        }
        if word.starts_with("define") || word.starts_with("include") {
            let scope = self.scope();
            self.outline.other(token.start, &scope, word.starts_with("define"));
        } else {
            // A condition belongs to what follows it.
            self.outline.attribute(token.start, token.end);
        }
    }

    /// Reads a comment. It belongs to what follows, unless there is something before it on its line.
    fn comment(&mut self, token: Token) {
        if !self.nest.is_empty() {
            return;
        }
        if self.ends_before(token) {
            self.end_statement();
        }
        if self.state != ScanState::Between {
            return;
        }
        let documents = !token.first && self.outline.documents(token.start, token.end);
        if token.first || (self.opened && documents) {
            self.outline.comment(token.start, token.end);
        } else if documents {
            self.behind = Some(token);
        }
    }

    /// Opens a bracket in a statement, outside other brackets.
    fn open(&mut self, bracket: u8, token: Token) {
        if let (Language::Go, b'(', [first, _]) = (self.language, bracket, &self.header[..])
            && &self.text[first.start..first.end] == "type"
        {
            let scope = self.scope();
            self.outline.other(first.start, &scope, false);
            self.enter(Level { scope, fields: false, tail: None, group: true });
            return;
        }
        if bracket == b'{' && self.state == ScanState::Header {
            let before = &self.header[..self.header.len().saturating_sub(1)];
            let header = Header::new(self.text, self.language, &self.header);
            let inside = self.scopes.len() > 1;
            let start = self.header.first().map_or(token.start, |first| first.start);
            let before = Header::new(self.text, self.language, before);
            if before.brace_is_no_body() {
                self.nest.push(bracket, self.margin);
                return;
            }
            let scope = self.scope();
            let grouped = self.is_group();
            match if grouped { header.grouped(true) } else { header.before_brace(inside) } {
                Declaration::Container { title, fields } => {
                    let c = matches!(self.language, Language::C | Language::Cpp);
                    let word = self.header.first().map_or("", |first| &self.text[first.start..first.end]);
                    let tail = c && !matches!(word, "namespace" | "inline");
                    let scope = self.outline.item(start, &scope, &title);
                    let tail = tail.then_some((self.outline.headed, word == "typedef"));
                    self.enter(Level { scope, fields, tail, group: false });
                    return;
                }
                Declaration::Transparent => {
                    self.outline.other(start, &scope, false);
                    self.enter(Level { scope, fields: false, tail: None, group: false });
                    return;
                }
                Declaration::Item(title) => {
                    self.outline.item(start, &scope, &title);
                    self.state = ScanState::Known { braced: header.ends_with_brace() };
                }
                Declaration::Other => {
                    if header.ends_with_brace() {
                        self.outline.other(start, &scope, inside);
                        self.state = ScanState::Known { braced: true };
                    }
                }
            }
        }
        self.nest.push(bracket, self.margin);
    }

    /// Tracks the conditions of the preprocessor. At the start of a branch, this forgets what an earlier branch of
    /// the same condition opened.
    fn condition(&mut self, directive: &str) {
        if let Some(condition) = directive.strip_prefix("if") {
            let between = self.state == ScanState::Between;
            let always = constant(condition);
            let dead = self.conditions.last().is_some_and(|outer| outer.dead) || always == Some(false);
            let (scopes, nest, decided) = (self.scopes.len(), self.nest.len(), always == Some(true));
            self.conditions.push(Condition { scopes, nest, between, dead, decided });
        } else if directive.starts_with("endif") {
            self.conditions.pop();
        } else if directive.starts_with("el") {
            let outside = self.conditions.iter().nth_back(1).is_some_and(|outer| outer.dead);
            let Some(condition) = self.conditions.last_mut() else { return };
            let always = directive.strip_prefix("elif").map_or(Some(true), constant);
            condition.dead = outside || condition.decided || always == Some(false);
            condition.decided |= always == Some(true);
            if condition.dead {
                return;
            }
            self.nest.truncate(condition.nest);
            let (scopes, between) = (condition.scopes, condition.between);
            if between {
                self.end_statement();
            }
            while self.scopes.len() > scopes {
                let scope = self.scope();
                self.outline.flush(&scope);
                self.scopes.pop();
            }
        }
    }

    fn enter(&mut self, level: Level) {
        self.scopes.push(level);
        self.header.clear();
        self.state = ScanState::Between;
        self.last = None;
        self.opened = true;
    }

    /// Reads a token inside the brackets of a statement.
    fn nested(&mut self, token: Token) {
        match token.kind {
            TokenKind::Open(bracket) => self.nest.push(bracket, self.margin),
            TokenKind::Close(bracket) => {
                let fits = self.nest.close(bracket);
                // Brackets were lost if an indented brace closes here; the item ends anyway.
                let c = matches!(self.language, Language::C | Language::Cpp);
                if c && !fits && bracket == b'}' && at_margin(self.text, token) {
                    self.nest.truncate(0);
                }
                if self.nest.is_empty() {
                    self.last = Some(token);
                    self.group_closed(bracket, token);
                }
            }
            _ => {}
        }
    }

    fn group_closed(&mut self, bracket: u8, token: Token) {
        if bracket == b'}' && self.state == (ScanState::Known { braced: true }) {
            self.reset();
        } else if self.language == Language::Rust && self.header.first().is_some_and(|first| first.is(b'#')) {
            let attribute = matches!(self.header.len(), 2 | 3) && bracket == b']';
            if let (true, Some(first)) = (attribute, self.header.first()) {
                self.outline.attribute(first.start, token.end);
                self.reset();
            }
        }
    }

    /// Reads a closing bracket outside the brackets of a statement.
    fn close(&mut self, bracket: u8) {
        self.end_statement();
        if bracket == (if self.is_group() { b')' } else { b'}' }) && self.scopes.len() > 1 {
            let scope = self.scope();
            self.outline.flush(&scope);
            if let Some((cut, typedef)) = self.scopes.pop().and_then(|level| level.tail) {
                self.state = ScanState::Known { braced: false };
                self.typedef = typedef.then_some(cut);
            }
        }
    }

    /// Ends the statement. If its kind is not yet known, only its header can determine it.
    fn end_statement(&mut self) {
        if self.state == ScanState::Header
            && let Some(first) = self.header.first()
        {
            let start = first.start;
            let inside = self.scopes.len() > 1;
            let scope = self.scope();
            let header = Header::new(self.text, self.language, &self.header);
            let fields = self.scopes.last().is_some_and(|level| level.fields);
            match if self.is_group() { header.grouped(false) } else { header.without_brace(inside, fields) } {
                Declaration::Item(title) => {
                    self.outline.item(start, &scope, &title);
                }
                _ => self.outline.other(start, &scope, inside || header.declares()),
            }
        }
        if let Some(cut) = self.typedef.take()
            && let Some(name) = self.header.iter().find(|token| token.kind == TokenKind::Word)
        {
            self.outline.rename(cut, &self.text[name.start..name.end]);
        }
        self.reset();
    }

    fn reset(&mut self) {
        self.header.clear();
        self.nest.truncate(0);
        self.state = ScanState::Between;
        self.last = None;
    }

    /// Returns whether the statement so far is a C macro without a semicolon: `NAMESPACE_BEGIN`.
    fn is_macro_line(&self) -> bool {
        let upper = |token: &Token| {
            let word = &self.text[token.start..token.end];
            token.kind == TokenKind::Word && word.bytes().all(|byte| !byte.is_ascii_lowercase()) && word.len() > 3
        };
        self.state == ScanState::Header
            && match &self.header[..] {
                [name] => upper(name),
                [name, group] => upper(name) && group.kind == TokenKind::Open(b'('),
                _ => false,
            }
    }

    /// Returns whether a macro without a semicolon has ended the statement: `X = { … } END(X)`.
    fn is_ended_by_macro(&self, next: Token) -> bool {
        self.last.is_some_and(|last| matches!(last.kind, TokenKind::Close(_)))
            && matches!(next.kind, TokenKind::Word | TokenKind::Comment)
            && Header::new(self.text, self.language, &self.header).assignment().is_some()
    }

    /// Returns whether a statement ends before this token because the token starts a new line.
    fn ends_before(&self, token: Token) -> bool {
        if matches!(self.language, Language::C | Language::Cpp) {
            return token.first
                && (self.is_macro_line() || (at_margin(self.text, token) && self.is_ended_by_macro(token)));
        }
        let by_line = matches!(self.language, Language::JavaScript | Language::TypeScript | Language::Go);
        let Some(last) = self.last.filter(|_| by_line && token.first && self.state != ScanState::Between) else {
            return false;
        };
        if self.language == Language::Go {
            return matches!(last.kind, TokenKind::Word | TokenKind::Text | TokenKind::Close(_));
        }
        // A decorator alone is not a statement.
        if self.state == ScanState::Header && prefix(self.text, self.language, &self.header) == self.header.len() {
            return false;
        }
        let word = |token: &Token| if token.kind == TokenKind::Word { &self.text[token.start..token.end] } else { "" };
        let goes_on = match last.kind {
            TokenKind::Word => matches!(
                word(&last),
                "export"
                    | "default"
                    | "async"
                    | "abstract"
                    | "declare"
                    | "extends"
                    | "implements"
                    | "function"
                    | "class"
            ),
            TokenKind::Mark(mark) => mark != b'>',
            _ => false,
        };
        let joins = match token.kind {
            TokenKind::Word => matches!(
                word(&token),
                "extends" | "implements" | "instanceof" | "in" | "of" | "as" | "satisfies" | "from"
            ),
            TokenKind::Mark(mark) => !matches!(mark, b'@' | b'#' | b'*' | b';'),
            TokenKind::Open(bracket) => bracket != b'[' || self.scopes.len() == 1,
            _ => false,
        };
        !goes_on && !joins
    }
}

/// Returns the value of a condition that is a number: `0` or `1`.
fn constant(condition: &str) -> Option<bool> {
    let condition = condition.split("//").next()?.split("/*").next()?;
    let number = condition.trim_matches(|c: char| c.is_ascii_whitespace() || matches!(c, '(' | ')'));
    match number {
        "0" | "false" => Some(false),
        "1" | "true" => Some(true),
        _ => None,
    }
}
