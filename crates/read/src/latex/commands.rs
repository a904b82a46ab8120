//! Commands, by what they are read as.

use chunkmill_text::document::{DropReason, Inline};

use super::frame::{Frame, Group};
use super::macros::Value;
use super::{Reader, accents, scan};

/// Longest formula that is searched for its end, in bytes.
const MAX_FORMULA: usize = 20_000;

/// Rank of the deepest sections whose titles stand on lines of their own.
const LAST_TITLE: u8 = 4;

/// Longest formula inside of text, in bytes.
const MAX_INLINE: usize = 2000;

/// Longest code inside of text, in bytes.
const MAX_CODE: usize = 1000;

/// The effect of a command on the text.
enum Effect {
    /// A heading, by its rank from parts down.
    Section(u8),
    /// Its argument is text between marks.
    Mark(&'static str),
    /// Its argument is raised.
    Raised,
    /// The rest of the group is.
    Switch(&'static str),
    Code,
    CodeSwitch,
    /// The first arguments are settings; what follows is text.
    Text(usize),
    /// It is left out with its arguments.
    Nothing(usize),
    Space,
    /// A link to a place in the document.
    Place,
    /// A key of the list of literature.
    Citation,
    Address,
    Footnote,
    Caption,
    File,
    Verbatim,
}

fn effect(name: &str) -> Option<Effect> {
    use Effect as E;
    Some(match name {
        "part" => E::Section(0),
        "chapter" => E::Section(1),
        "section" => E::Section(2),
        "subsection" => E::Section(3),
        "subsubsection" => E::Section(4),
        "paragraph" => E::Section(5),
        "subparagraph" => E::Section(6),
        "emph" | "textit" | "textsl" => E::Mark("*"),
        "textbf" | "strong" => E::Mark("**"),
        "textsuperscript" => E::Raised,
        "em" | "it" | "itshape" | "sl" | "slshape" => E::Switch("*"),
        "bf" | "bfseries" => E::Switch("**"),
        "texttt" | "code" => E::Code,
        "tt" | "ttfamily" => E::CodeSwitch,
        "textcolor" | "colorbox" | "foreignlanguage" | "raisebox" | "parbox" | "scalebox" | "makebox" | "rotatebox"
        | "captionof" => E::Text(1),
        "multirow" | "resizebox" | "fcolorbox" => E::Text(2),
        "vspace" | "hspace" | "pagestyle" | "thispagestyle" | "usepackage" | "documentclass" | "RequirePackage"
        | "hypersetup" | "geometry" | "graphicspath" | "color" | "index" | "glossary" | "pagenumbering"
        | "selectlanguage" | "cline" | "cmidrule" | "bibliographystyle" | "bibliography" | "newcounter"
        | "newlength" | "newif" | "includeonly" | "stepcounter" | "refstepcounter" | "theoremstyle" | "setlist"
        | "lstset" | "tcbset" | "pgfplotsset" | "vskip" | "hskip" | "usetikzlibrary" | "addbibresource"
        | "makeatletter" | "linespread" | "enlargethispage" | "nocite" | "phantom" | "hyphenation" | "rowcolor"
        | "cellcolor" | "columncolor" | "arrayrulecolor" | "AtBeginDocument" | "newsavebox" | "usetheme"
        | "setstretch" => E::Nothing(usize::from(!matches!(name, "makeatletter" | "vskip" | "hskip"))),
        "setlength"
        | "addtolength"
        | "setcounter"
        | "addtocounter"
        | "newcommand"
        | "renewcommand"
        | "providecommand"
        | "DeclareMathOperator"
        | "DeclareRobustCommand"
        | "newtheorem"
        | "rule"
        | "markboth"
        | "pdfbookmark"
        | "newcolumntype"
        | "settowidth"
        | "fontsize"
        | "numberwithin"
        | "renewrobustcmd"
        | "newrobustcmd"
        | "newtcolorbox"
        | "lstdefinestyle"
        | "DeclareUnicodeCharacter" => E::Nothing(2),
        "addcontentsline"
        | "newenvironment"
        | "renewenvironment"
        | "definecolor"
        | "NewDocumentCommand"
        | "RenewDocumentCommand"
        | "titlespacing" => E::Nothing(3),
        "quad" | "qquad" | "enspace" | "thinspace" | "space" | "hfill" | "newline" | "linebreak" | "hfil"
        | "nobreakspace" | "tab" | "enskip" | "medspace" | "thickspace" | "hfilll" | "hss" | "dotfill"
        | "hrulefill" => E::Space,
        "ref" | "eqref" | "autoref" | "cref" | "Cref" | "pageref" | "nameref" | "vref" | "cpageref" | "labelcref" => {
            E::Place
        }
        "cite" | "citep" | "citet" | "citealp" | "citealt" | "citeauthor" | "citeyear" | "parencite" | "textcite"
        | "autocite" | "footcite" | "Citet" | "Citep" | "fullcite" | "citeyearpar" | "supercite" => E::Citation,
        "url" | "nolinkurl" | "path" => E::Address,
        "footnote" | "footnotetext" | "thanks" => E::Footnote,
        "caption" | "subcaption" => E::Caption,
        "input" | "include" | "subfile" | "lstinputlisting" | "verbatiminput" | "inputminted" | "import" => E::File,
        "verb" | "Verb" | "VERB" | "lstinline" | "mintinline" => E::Verbatim,
        _ => return None,
    })
}

impl Reader<'_> {
    /// Reads a command.
    pub(super) fn command(&mut self) {
        let rest = self.rest();
        let len = scan::command(rest);
        let name = &rest[1..len];
        match name {
            "&" | "%" | "$" | "#" | "_" | "{" | "}" => {
                self.skip(1);
                self.keep(1);
            }
            "\\" | "tabularnewline" => self.new_line(len),
            "(" => self.inline_formula(),
            "[" => self.display_formula(),
            "begin" => self.begin(),
            "end" => self.end(),
            "item" => self.item(len),
            "label" => self.label_of_place(len),
            "href" => self.href(len),
            "hyperref" | "hyperlink" => self.link_to_place(name, len),
            "hypertarget" => {
                self.skip(len);
                if let Some(target) = self.raw_argument() {
                    self.name_place(&target);
                }
            }
            "includegraphics" | "includesvg" => self.image(len),
            "texorpdfstring" => {
                self.skip(len);
                self.skip_space();
                if self.braces.end(self.at).is_some() {
                    self.open_group(Group::First);
                }
            }
            "DefineVerbatimEnvironment"
            | "CustomVerbatimEnvironment"
            | "lstnewenvironment"
            | "newverbatim"
            | "newminted"
            | "declaretheorem" => {
                self.macros.learn(name, self.text, self.at + len, &self.braces);
                self.skip(len);
                self.skip_arguments(if name == "lstnewenvironment" || name.starts_with(['D', 'C']) { 3 } else { 2 });
            }
            "bibitem" => self.source_of_literature(len),
            "multicolumn" => self.wide_cell(len),
            "title" | "author" | "date" => {
                self.skip(len);
                self.skip_option();
                if self.braces.end(self.at).is_some() {
                    self.titling_group(name);
                }
            }
            "and" => {
                self.skip(len);
                self.out().trim_end();
                self.out().write(", ");
            }
            "par" => {
                self.skip(len);
                self.skip_space();
                self.end_paragraph();
            }
            "iffalse" => self.hidden(len),
            "def" | "gdef" | "edef" | "xdef" => {
                self.macros.learn(name, self.text, self.at + len, &self.braces);
                self.definition(len);
            }
            "let" => self.alias(len),
            _ if accents::is_accent(name) => self.accent(name, len),
            _ => self.by_effect(name, len),
        }
    }

    fn by_effect(&mut self, name: &str, len: usize) {
        if let Some(shown) = accents::symbol(name) {
            self.replace(shown, len);
            self.skip_space();
            if self.rest().starts_with("{}") {
                self.skip(2);
            }
            return;
        }
        let Some(effect) = effect(name) else {
            return match self.macros.value(name) {
                Some(value) => self.named_words(&value, len),
                None => self.unknown(name, len),
            };
        };
        match effect {
            Effect::Section(rank) => self.section(rank, len),
            Effect::Mark(mark) => {
                self.skip(len);
                self.skip_space();
                if self.braces.end(self.at).is_some() {
                    self.skip(1);
                    let group = self.mark(mark);
                    self.push_group(group);
                }
            }
            Effect::Raised => {
                self.skip(len);
                self.skip_space();
                if self.braces.end(self.at).is_some() {
                    let start = self.out().as_str().len();
                    self.open_group(Group::Raised(start));
                }
            }
            Effect::Switch(mark) => {
                self.skip(len);
                self.skip_space();
                if matches!(self.frames.last(), Some(Frame::Group(Group::Plain))) {
                    self.frames.pop();
                    let group = self.mark(mark);
                    self.push_group(group);
                }
            }
            Effect::Code => {
                self.skip(len);
                self.skip_space();
                if self.rest().starts_with('{') {
                    self.open_captured(Group::Code);
                }
            }
            Effect::CodeSwitch => {
                self.skip(len);
                self.skip_space();
                if self.too_deep == 0 && matches!(self.frames.last(), Some(Frame::Group(Group::Plain))) {
                    self.frames.pop();
                    self.push_group(Group::Code);
                }
            }
            Effect::Text(arguments) => {
                self.skip(len);
                self.skip_arguments(arguments);
                if name == "captionof" && self.rest().starts_with('{') {
                    self.open_captured(Group::Caption);
                }
            }
            Effect::Nothing(arguments) => {
                self.macros.learn(name, self.text, self.at + len, &self.braces);
                self.skip(len);
                self.skip_arguments(arguments);
                if matches!(name, "hspace" | "hskip") {
                    self.space();
                }
            }
            Effect::Space => {
                self.skip(len);
                self.skip_space();
                self.space();
            }
            Effect::Place => self.place(len),
            Effect::Citation => self.citation(len),
            Effect::Address => self.address(len),
            Effect::Footnote => {
                self.skip(len);
                self.skip_option();
                self.skip_space();
                self.footnote();
            }
            Effect::Caption => {
                self.skip_starred(len);
                self.skip_option();
                self.skip_space();
                if self.rest().starts_with('{') {
                    self.open_captured(Group::Caption);
                }
            }
            Effect::File => self.file(len),
            Effect::Verbatim => self.verbatim_command(name, len),
        }
    }

    /// Writes the words that a command of the file stands for.
    fn named_words(&mut self, value: &Value, len: usize) {
        self.replace(&value.text, len);
        let space = scan::white_space(self.rest());
        self.skip_space();
        if self.rest().starts_with("{}") {
            self.skip(2);
        } else if value.is_spaced && space > 0 && self.rest().starts_with(|c: char| c.is_alphanumeric() || c == '\\') {
            self.space();
        }
    }

    /// Reads a command that is not known: its arguments are text.
    fn unknown(&mut self, name: &str, len: usize) {
        self.skip(len);
        if matches!(name, " " | "\n" | "\t" | "\r" | "," | ";" | ":" | ">") {
            return self.space();
        }
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return;
        }
        if self.rest().starts_with('*') {
            self.skip(1);
        }
        self.skip_option();
        if self.rest().starts_with('{') {
            return self.open_group(Group::Argument);
        }
        self.skip_space();
    }

    fn new_line(&mut self, len: usize) {
        self.skip_starred(len);
        self.skip_option();
        if self.table_is_open() {
            self.end_row();
        } else if self.is_inside() {
            self.space();
        } else {
            self.out().line_break();
            self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
            if self.rest().starts_with('\n') && !self.rest()[1..].trim_start_matches([' ', '\t']).starts_with('\n') {
                self.at += 1;
            }
        }
    }

    fn inline_formula(&mut self) {
        let from = self.at + 2;
        if self.next_inline_end.is_none_or(|end| end < from) {
            let found = self.text.get(from..).and_then(|rest| rest.find("\\)"));
            self.next_inline_end = Some(found.map_or(usize::MAX, |found| from + found));
        }
        let end = self.next_inline_end.filter(|end| *end < from.saturating_add(MAX_INLINE));
        let formula =
            end.map(|end| &self.text[from..end]).filter(|formula| scan::paragraph_end(formula) == formula.len());
        let Some(len) = formula.map(str::len) else { return self.skip(2) };
        self.skip(2);
        let formula = self.verbatim(len);
        self.skip(2);
        let out = self.out();
        out.write("$");
        out.append(&formula);
        out.write("$");
    }

    fn display_formula(&mut self) {
        let from = self.at + 2;
        if self.next_display_end.is_none_or(|end| end < from) {
            let found = self.text.get(from..).and_then(|rest| rest.find("\\]"));
            self.next_display_end = Some(found.map_or(usize::MAX, |found| from + found));
        }
        match self.next_display_end.filter(|end| *end < from.saturating_add(MAX_FORMULA)) {
            Some(end) => self.formula(2, end - from, 2),
            None => self.skip(2),
        }
    }

    fn section(&mut self, rank: u8, len: usize) {
        self.skip_starred(len);
        self.skip_option();
        self.skip_space();
        if !self.rest().starts_with('{') {
            return;
        }
        if rank <= LAST_TITLE {
            self.close_examples();
        }
        let level = (self.top + rank.saturating_sub(self.first_rank)).min(6);
        self.open_captured(Group::Heading(level));
    }

    fn label_of_place(&mut self, len: usize) {
        self.skip(len);
        if let Some(name) = self.raw_argument() {
            self.name_place(&name);
        }
    }

    fn href(&mut self, len: usize) {
        self.skip(len);
        self.skip_option();
        let Some(target) = self.raw_argument() else { return };
        self.skip_space();
        if self.braces.end(self.at).is_some() {
            self.skip(1);
            self.push_group(Group::Link(target.replace('\\', "")));
        }
    }

    /// Reads a link with a text to a place in the document.
    fn link_to_place(&mut self, name: &str, len: usize) {
        self.skip(len);
        let target = if name == "hyperref" {
            let option = scan::option(self.rest());
            let target = option.map(|len| self.rest()[1..len - 1].to_owned());
            self.skip(option.unwrap_or_default());
            target
        } else {
            self.raw_argument()
        };
        let Some(target) = target else { return };
        self.skip_space();
        if self.braces.end(self.at).is_some() {
            self.skip(1);
            self.push_group(Group::Link(format!("#{target}")));
        }
    }

    /// Reads a reference to a place, whose name is shown.
    fn place(&mut self, len: usize) {
        self.skip_starred(len);
        let Some(name) = self.verbatim_argument() else { return };
        let target = format!("#{}", name.as_str().split(',').next().unwrap_or_default().trim());
        self.linked(&target, &name);
    }

    /// Returns the text in the braces that come next, as it is.
    fn verbatim_argument(&mut self) -> Option<Inline> {
        self.skip_space();
        let end = self.braces.end(self.at)?;
        self.skip(1);
        let text = self.verbatim(end - self.at);
        self.skip(1);
        Some(text)
    }

    fn address(&mut self, len: usize) {
        self.skip_starred(len);
        let Some(name) = self.verbatim_argument() else { return };
        self.out().append(&name);
    }

    fn linked(&mut self, target: &str, text: &Inline) {
        let is_link = self.in_code == 0;
        let out = self.out();
        if is_link {
            out.start_link(target);
        }
        out.append(text);
        if is_link {
            out.end_link();
        }
    }

    /// Reads a reference to literature: its keys are shown.
    fn citation(&mut self, len: usize) {
        self.skip_starred(len);
        let first = self.citation_note();
        let second = self.citation_note();
        let Some(keys) = self.verbatim_argument() else {
            [first, second].into_iter().flatten().for_each(|note| self.out().append(&note));
            return;
        };
        // One note stands behind the keys; of two, the first stands before them.
        let (before, behind) = if second.is_some() { (first, second) } else { (None, first) };
        let (before, behind) = (before.unwrap_or_default(), behind.unwrap_or_default());
        let out = self.out();
        out.write("[");
        out.append(&before);
        out.write(if before.is_blank() { "" } else { " " });
        out.append(&keys);
        out.write(if behind.is_blank() { "" } else { ", " });
        out.append(&behind);
        out.write("]");
    }

    /// Reads the note of a citation: `[p.~3]`. One with commands is left out.
    fn citation_note(&mut self) -> Option<Inline> {
        let len = scan::option(self.rest())?;
        let mut note = Inline::new();
        if self.rest()[..len].contains(['\\', '{', '$', '%']) {
            self.skip(len);
            return Some(note);
        }
        let end = self.at + len - 1;
        self.skip(1);
        while self.at < end {
            let rest = &self.text[self.at..end];
            let text = self.verbatim(rest.find('~').unwrap_or(rest.len()));
            note.append(&text);
            if self.at < end {
                note.replaced(" ", self.at..self.at + 1);
                self.at += 1;
            }
        }
        self.skip(1);
        Some(note)
    }

    fn source_of_literature(&mut self, len: usize) {
        self.skip(len);
        self.skip_option();
        self.end_paragraph();
        let Some(key) = self.verbatim_argument() else { return };
        self.name_place(key.as_str().trim());
        let out = self.out();
        out.write("[");
        out.append(&key);
        out.write("] ");
        self.skip_space();
    }

    fn image(&mut self, len: usize) {
        self.skip_starred(len);
        let alt = self.alternative();
        self.skip_option();
        self.skip_option();
        match self.raw_argument() {
            Some(target) => self.out().image(target.trim(), &alt),
            None => self.out().append(&alt),
        }
    }

    /// Reads the options of an image, and returns its alternative text: `[width=3cm, alt={A cat}]`.
    fn alternative(&mut self) -> Inline {
        let Some(len) = scan::option(self.rest()) else { return Inline::new() };
        let (text, end) = (self.text, self.at + len - 1);
        let mut at = self.at + 1;
        while at < end {
            let name = text[at..end].find('=').map_or("", |equals| text[at..at + equals].trim());
            let start = at + text[at..end].find('=').map_or(0, |equals| equals + 1);
            let start = start + scan::white_space(&text[start..end]);
            let braced = self.braces.end(start).filter(|close| *close < end);
            let value = match braced {
                Some(close) => start + 1..close,
                None => start..start + text[start..end].find(',').unwrap_or(end - start),
            };
            if name == "alt" {
                self.skip_to(value.start);
                let alt = self.verbatim(value.len());
                self.skip_to(end + 1);
                return alt;
            }
            at = text[value.end..end].find(',').map_or(end, |comma| value.end + comma + 1);
        }
        Inline::new()
    }

    /// Reads a command that puts a file in: it is shown as it is.
    fn file(&mut self, len: usize) {
        let rest = self.rest();
        let mut end = len;
        while let Some(option) = scan::option(&rest[end..]) {
            end += option;
        }
        let mut last = None;
        while let Some(close) = self.braces.end(self.at + end) {
            end = close + 1 - self.at;
            last = Some(end);
        }
        let Some(end) = last else { return self.skip(len) };
        let code = self.verbatim(end);
        let in_code = self.in_code > 0;
        let out = self.out();
        if in_code { out.append(&code) } else { out.code(&code) }
    }

    fn wide_cell(&mut self, len: usize) {
        self.skip(len);
        self.skip_space();
        if let Some(columns) = self.raw_argument() {
            self.widen(columns.trim().parse().unwrap_or(1));
        }
        self.skip_arguments(1);
        self.skip_space();
    }

    /// Reads code inside of text.
    fn verbatim_command(&mut self, name: &str, len: usize) {
        self.skip_starred(len);
        self.skip_option();
        if name == "mintinline" {
            self.skip_arguments(1);
        }
        let rest = self.rest();
        let Some(mark) = rest.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()) else { return };
        let close = if mark == '{' { '}' } else { mark };
        let inside = &rest[mark.len_utf8()..];
        let inside = &inside[..inside.floor_char_boundary(MAX_CODE)];
        let line = inside.find('\n').unwrap_or(inside.len());
        let braced = self.braces.end(self.at).filter(|_| mark == '{').map(|end| end - self.at - 1);
        let Some(len) = braced.or_else(|| inside[..line].find(close)) else { return };
        self.skip(mark.len_utf8());
        let code = if name == "VERB" { self.shown_code(self.at + len) } else { self.verbatim(len) };
        self.skip(close.len_utf8());
        let in_code = self.in_code > 0;
        let out = self.out();
        if in_code { out.append(&code) } else { out.code(&code) }
    }

    /// Reads what `\iffalse` hides.
    fn hidden(&mut self, len: usize) {
        let rest = self.rest();
        let mut depth = 1_usize;
        let mut at = len;
        while !self.is_endless {
            let Some(found) = rest[at..].find('\\') else { break };
            at += found;
            if !rest[at..].starts_with("\\fi") && !rest[at..].starts_with("\\if") {
                at += 1;
                continue;
            }
            at += 3;
            if rest[..at].ends_with("\\fi") {
                if rest[at..].starts_with(|c: char| c.is_ascii_alphabetic()) {
                    continue;
                }
                depth -= 1;
                if depth == 0 {
                    let end = self.at + at;
                    return self.leave_out(DropReason::Comment, end);
                }
            } else {
                depth += 1;
            }
        }
        self.is_endless = true;
        self.skip(len);
    }

    fn definition(&mut self, len: usize) {
        const MOST: usize = 200;
        let rest = self.rest();
        let near = &rest[..rest.floor_char_boundary(MOST)];
        let body = near.find('{').and_then(|open| self.braces.end(self.at + open));
        match body {
            Some(end) => self.skip_to(end + 1),
            None => self.skip(len),
        }
    }

    fn alias(&mut self, len: usize) {
        self.skip(len);
        for _ in 0..2 {
            self.skip_space();
            if self.rest().starts_with('=') {
                self.skip(1);
                self.skip_space();
            }
            if self.rest().starts_with('\\') {
                self.skip(scan::command(self.rest()));
            }
        }
    }

    fn accent(&mut self, name: &str, len: usize) {
        let rest = self.rest();
        let blank = rest[len..].bytes().take_while(|byte| *byte == b' ').count();
        let is_letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let at = len + if is_letter { blank } else { 0 };
        let (inner, end) = match self.braces.end(self.at + at) {
            Some(close) => (&rest[at + 1..close - self.at], close + 1 - self.at),
            None if rest[at..].starts_with('\\') => {
                let end = at + scan::command(&rest[at..]);
                (&rest[at..end], end)
            }
            None => {
                let end = at + rest[at..].chars().next().map_or(0, char::len_utf8);
                (&rest[at..end], end)
            }
        };
        let mut letters = match inner.trim() {
            "\\i" => "i",
            "\\j" => "j",
            inner => inner,
        }
        .chars();
        match (letters.next(), letters.next()) {
            (None, _) if end > at && !is_letter => self.replace(name, end),
            (Some(letter), None) if letter.is_alphabetic() => match accents::accented(name, letter) {
                Some(shown) => self.replace(&shown, end),
                None => self.skip(len),
            },
            _ => self.skip(len),
        }
    }

    /// Returns the text of an argument in braces, which is counted as markup.
    pub(super) fn raw_argument(&mut self) -> Option<String> {
        self.skip_space();
        let end = self.braces.end(self.at)?;
        let text = self.text[self.at + 1..end].to_owned();
        self.skip_to(end + 1);
        Some(text)
    }

    /// Counts an option in brackets as markup.
    pub(super) fn skip_option(&mut self) {
        if let Some(len) = scan::option(self.rest()) {
            self.skip(len);
        }
    }

    /// Counts a command as markup with the star behind it.
    fn skip_starred(&mut self, len: usize) {
        self.skip(len);
        if self.rest().starts_with('*') {
            self.skip(1);
        }
    }

    /// Counts arguments as markup: in braces, or commands. Options between them are no arguments.
    pub(super) fn skip_arguments(&mut self, count: usize) {
        let mut left = count;
        if self.rest().starts_with('*') {
            self.skip(1);
        }
        loop {
            let blank = scan::white_space(self.rest());
            let rest = &self.rest()[blank..];
            let is_near = !self.rest()[..blank].contains("\n\n");
            if let Some(len) = scan::option(rest).filter(|_| blank == 0 || left > 0 && left < count) {
                self.skip(blank + len);
            } else if left > 0 && is_near && self.braces.end(self.at + blank).is_some() {
                let end = self.braces.end(self.at + blank).unwrap_or(self.at);
                self.skip_to(end + 1);
                left -= 1;
            } else if left > 0 && is_near && count > 1 && rest.starts_with('\\') && !rest.starts_with("\\begin") {
                self.skip(blank + scan::command(rest));
                left -= 1;
            } else {
                return;
            }
        }
    }

    /// Leaves out white space behind a command, but not the end of a paragraph.
    pub(super) fn skip_space(&mut self) {
        let rest = self.rest();
        let blank = scan::white_space(rest);
        if rest[..blank].bytes().filter(|byte| *byte == b'\n').count() < 2 {
            self.at += blank;
        }
    }
}
