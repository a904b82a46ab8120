//! Environments: lists, quotations, tables, code, formulas.

use chunkmill_text::document::{DropReason, Inline};

use super::frame::{Environment, Frame, Group, Kind, List, ListMark, Table};
use super::{MAX_DEPTH, Reader, accents, scan};

/// Most columns that a cell takes.
const MAX_COLUMNS: usize = 50;

/// How far a list is searched for blank lines, in bytes.
const LOOK_AHEAD: usize = 8000;

/// The form in which an environment is read.
enum Form {
    Document,
    Code(&'static str),
    Math,
    Comment,
    Quote,
    List(ListMark),
    /// The number of its arguments in braces.
    Table(usize),
    Abstract,
    Blocks(usize),
}

fn form(name: &str) -> Form {
    match name.strip_suffix('*').unwrap_or(name) {
        "document" => Form::Document,
        "verbatim" | "Verbatim" | "BVerbatim" | "LVerbatim" | "alltt" | "lstlisting" | "minted" | "verbatimtab"
        | "spverbatim" | "filecontents" => Form::Code(""),
        "tikzpicture" | "pgfpicture" | "picture" | "forest" | "tikzcd" | "pspicture" | "asy" => Form::Code("tex"),
        "equation" | "align" | "gather" | "multline" | "eqnarray" | "displaymath" | "math" | "alignat" | "flalign"
        | "dmath" | "xalignat" | "IEEEeqnarray" => Form::Math,
        "comment" => Form::Comment,
        "quote" | "quotation" | "verse" | "displayquote" => Form::Quote,
        "itemize" | "compactitem" | "asparaitem" => Form::List(ListMark::Bullet),
        "enumerate" | "compactenum" | "asparaenum" => Form::List(ListMark::Number),
        "description" | "compactdesc" | "labeling" => Form::List(ListMark::Term),
        "tabular" | "longtable" | "supertabular" | "xtabular" | "tblr" | "longtblr" | "array" | "ltablex" => {
            Form::Table(1 + usize::from(name == "tabular*"))
        }
        "tabularx" | "tabulary" => Form::Table(2),
        "abstract" => Form::Abstract,
        "minipage" | "multicols" | "thebibliography" | "wrapfigure" | "list" | "adjustbox" | "subfigure"
        | "subtable" | "columns" | "column" | "changemargin" | "otherlanguage" | "tabbing" => Form::Blocks(
            usize::from(!matches!(name, "tabbing" | "columns")) + usize::from(matches!(name, "wrapfigure" | "list")),
        ),
        _ => Form::Blocks(0),
    }
}

impl Reader<'_> {
    /// Reads `\begin{name}`.
    pub(super) fn begin(&mut self) {
        let Some((name, len)) = self.name_of_environment("\\begin") else { return self.skip("\\begin".len()) };
        let form = if self.macros.is_code(&name) { Form::Code("") } else { form(&name) };
        match form {
            Form::Code(language) => return self.code_environment(&name, len, language),
            Form::Math => return self.math_environment(&name, len),
            Form::Comment => {
                let end = self.end_of(&name, self.at + len);
                let behind = end.map_or(self.at + len, |end| end + "\\end{}".len() + name.len());
                return self.leave_out(DropReason::Comment, behind);
            }
            _ => {}
        }
        self.skip(len);
        if self.frames.len() >= MAX_DEPTH {
            return;
        }
        let kind = self.open_environment(&name, &form);
        if let Some(kind) = kind {
            self.frames.push(Frame::Environment(Environment { name, kind }));
        }
    }

    fn open_environment(&mut self, name: &str, form: &Form) -> Option<Kind> {
        let is_inside = self.is_inside();
        Some(match form {
            Form::Quote if !is_inside => {
                self.block(|reader| reader.writer.open_quote());
                Kind::Quote
            }
            Form::List(mark) => {
                self.skip_option();
                let mark = if is_inside { ListMark::Inside } else { *mark };
                let tight = self.is_tight(name);
                match mark {
                    ListMark::Inside | ListMark::Term => self.end_paragraph(),
                    _ => self.block(|reader| reader.writer.open_list(tight)),
                }
                Kind::List(List { mark, tight, number: 0, item_is_open: false })
            }
            Form::Table(arguments) => {
                self.end_paragraph();
                self.skip_arguments(*arguments);
                self.outs.push(Inline::new());
                Kind::Table(Table::default())
            }
            Form::Abstract => {
                self.end_paragraph();
                if !is_inside {
                    self.writer.paragraph(&Inline::from("**Abstract**"));
                }
                Kind::Blocks
            }
            Form::Document => return None,
            Form::Blocks(arguments) => {
                self.end_paragraph();
                // The title of a theorem is text; all other options are settings.
                if !self.macros.is_theorem(name) {
                    self.skip_option();
                }
                if *arguments > 0 {
                    self.skip_arguments(*arguments);
                }
                Kind::Blocks
            }
            _ => Kind::Blocks,
        })
    }

    /// Returns whether no paragraph ends inside of the list that begins here.
    fn is_tight(&self, name: &str) -> bool {
        let rest = self.rest();
        let near = &rest[..rest.floor_char_boundary(LOOK_AHEAD)];
        let Some(end) = near.find(&format!("\\end{{{name}}}")) else { return false };
        let mut at = 0;
        loop {
            let part = &near[at..end];
            let paragraph = scan::paragraph_end(part);
            let behind = part[paragraph..].trim_start();
            if behind.is_empty() {
                return true;
            }
            if !behind.starts_with("\\item") && !part[..paragraph].trim().is_empty() {
                return false;
            }
            at = end - behind.len();
        }
    }

    /// Returns the name of an environment and the length of the command that begins or ends it.
    fn name_of_environment(&self, command: &str) -> Option<(String, usize)> {
        let rest = self.rest();
        let behind = rest.get(command.len()..)?;
        let blank = behind.len() - behind.trim_start_matches([' ', '\t']).len();
        let name = behind[blank..].strip_prefix('{')?;
        let len = name.find(['}', '{', '\n']).filter(|len| name[*len..].starts_with('}'))?;
        Some((name[..len].trim().to_owned(), command.len() + blank + len + 2))
    }

    /// Reads `\end{name}`.
    pub(super) fn end(&mut self) {
        let Some((name, len)) = self.name_of_environment("\\end") else { return self.skip("\\end".len()) };
        let start = self.at;
        self.skip(len);
        if name == "document" && self.document_end == Some(start) {
            while !self.frames.is_empty() {
                self.close_frame();
            }
            self.flush();
            return self.leave_out(DropReason::Markup, self.text.len());
        }
        let is_it = |frame: &Frame| matches!(frame, Frame::Environment(environment) if environment.name == name);
        let Some(index) = self.frames.iter().rposition(is_it) else { return self.end_paragraph() };
        while self.frames.len() > index {
            self.close_frame();
        }
    }

    /// Ends an environment.
    pub(super) fn end_environment(&mut self, environment: Environment) {
        match environment.kind {
            Kind::Blocks => self.end_paragraph(),
            Kind::Quote => {
                self.flush();
                self.writer.close();
            }
            Kind::List(mut list) => {
                self.end_item(&mut list);
                if !matches!(list.mark, ListMark::Term | ListMark::Inside) {
                    self.writer.close();
                }
            }
            Kind::Table(table) => self.end_table(table),
        }
    }

    fn end_item(&mut self, list: &mut List) {
        self.end_paragraph();
        if std::mem::take(&mut list.item_is_open) && list.mark != ListMark::Inside {
            self.writer.close();
            if list.mark == ListMark::Term {
                self.writer.close();
            }
        }
    }

    /// Reads `\item`.
    pub(super) fn item(&mut self, len: usize) {
        self.skip(len);
        if self.in_label {
            return self.space();
        }
        let is_list = |frame: &Frame| matches!(frame, Frame::Environment(Environment { kind: Kind::List(_), .. }));
        let Some(index) = self.frames.iter().rposition(is_list) else { return self.end_paragraph() };
        let is_open = |frame: &Frame| {
            matches!(
                frame,
                Frame::Group(Group::Plain | Group::Mark(..) | Group::Raised(_) | Group::Link(_) | Group::Argument)
            )
        };
        if !self.frames[index + 1..].iter().all(is_open) {
            return self.end_paragraph();
        }
        // A group that is open here was never closed.
        while self.frames.len() > index + 1 {
            self.close_frame();
        }
        let Some(Frame::Environment(Environment { name, kind: Kind::List(mut list) })) = self.frames.pop() else {
            return;
        };
        self.end_item(&mut list);
        let term = self.label();
        list.number = list.number.saturating_add(1);
        list.item_is_open = true;
        self.open_item(&list, term);
        self.frames.push(Frame::Environment(Environment { name, kind: Kind::List(list) }));
    }

    fn open_item(&mut self, list: &List, term: Option<Inline>) {
        match list.mark {
            ListMark::Inside => {
                self.space();
                self.out().write("- ");
            }
            ListMark::Bullet => self.block(|reader| reader.writer.open_item("-")),
            ListMark::Number => {
                let mark = format!("{}.", list.number);
                self.block(|reader| reader.writer.open_item(&mark));
            }
            ListMark::Term => self.block(|reader| {
                if let Some(term) = &term {
                    reader.writer.paragraph(term);
                }
                reader.writer.open_list(list.tight);
                reader.writer.open_item(":");
            }),
        }
        if let Some(term) = term.filter(|_| list.mark != ListMark::Term) {
            let out = self.out();
            out.append(&term);
            if !term.is_blank() {
                out.write(" ");
            }
        }
    }

    /// Reads the text in brackets behind `\item`.
    fn label(&mut self) -> Option<Inline> {
        let blank = scan::white_space(self.rest());
        let len = scan::option(&self.rest()[blank..]).filter(|_| !self.in_label)?;
        self.at += blank;
        let end = self.at + len - 1;
        self.skip(1);
        self.in_label = true;
        let (frames, outs) = (self.frames.len(), self.outs.len());
        self.outs.push(Inline::new());
        let limit = std::mem::replace(&mut self.limit, end);
        while self.at < end {
            self.step();
        }
        self.limit = limit;
        while self.frames.len() > frames {
            self.close_frame();
        }
        self.in_label = false;
        if self.at == end {
            self.skip(1);
        }
        let text = if self.outs.len() > outs { self.outs.pop() } else { None };
        // All that began in the label was closed above, so no text of it is lost.
        text
    }

    /// Returns whether `&` and `\\` end a cell here.
    pub(super) fn table_is_open(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Environment(Environment { kind: Kind::Table(_), .. })))
    }

    fn table(&mut self) -> Option<&mut Table> {
        match self.frames.last_mut() {
            Some(Frame::Environment(Environment { kind: Kind::Table(table), .. })) => Some(table),
            _ => None,
        }
    }

    /// Ends a cell at `&`.
    pub(super) fn next_cell(&mut self) {
        self.skip(1);
        self.end_cell();
    }

    fn end_cell(&mut self) {
        let cell = std::mem::take(self.out());
        if let Some(table) = self.table() {
            let more = std::mem::take(&mut table.more);
            table.row.push(cell);
            table.row.extend(std::iter::repeat_n(Inline::new(), more));
        }
    }

    /// Says that a cell takes several columns.
    pub(super) fn widen(&mut self, columns: usize) {
        if let Some(table) = self.table() {
            table.more = columns.saturating_sub(1).min(MAX_COLUMNS);
        }
    }

    /// Ends a row at `\\`.
    pub(super) fn end_row(&mut self) {
        self.end_cell();
        if let Some(table) = self.table() {
            let row = std::mem::take(&mut table.row);
            if row.iter().all(Inline::is_blank) {
                self.count_blank(&row);
            } else {
                table.rows.push(row);
            }
        }
    }

    fn end_table(&mut self, mut table: Table) {
        let cell = if self.is_inside() { self.outs.pop().unwrap_or_default() } else { Inline::new() };
        table.row.push(cell);
        if table.row.iter().all(Inline::is_blank) {
            self.count_blank(&table.row);
        } else {
            table.rows.push(table.row);
        }
        if self.is_inside() {
            for cell in table.rows.iter().flatten() {
                if !cell.is_blank() {
                    self.space();
                }
                self.out().append(cell);
            }
        } else {
            self.block(|reader| reader.writer.table(&table.rows));
        }
    }

    /// Counts what is not seen of texts that are not written.
    pub(super) fn count_blank(&mut self, texts: &[Inline]) {
        for text in texts {
            self.writer.paragraph(text);
        }
    }

    /// Returns where an environment ends.
    fn end_of(&mut self, name: &str, from: usize) -> Option<usize> {
        if self.endless.iter().any(|known| known == name) {
            return None;
        }
        let end = self.text.get(from..).and_then(|rest| rest.find(&format!("\\end{{{name}}}")));
        if end.is_none() {
            self.endless.push(name.to_owned());
        }
        end.map(|end| from + end)
    }

    fn code_environment(&mut self, name: &str, len: usize, language: &str) {
        let Some(end) = self.end_of(name, self.at + len) else { return self.skip(len) };
        self.skip(len);
        let mut language = language.to_owned();
        if name != "verbatim" && name != "alltt" {
            if let Some(len) = scan::option(self.rest()).filter(|len| self.at + len <= end) {
                let option = &self.rest()[..len];
                let found = option.split(['[', ',', ']']).find_map(|part| part.trim().strip_prefix("language="));
                if let Some(found) = found.filter(|_| language.is_empty()) {
                    found.trim_matches(['{', '}', '[', ']']).clone_into(&mut language);
                }
                self.skip(len);
            }
            if (name == "minted" || name.starts_with("filecontents"))
                && let Some(close) = self.braces.end(self.at).filter(|close| *close < end)
            {
                if name == "minted" {
                    self.text[self.at + 1..close].clone_into(&mut language);
                }
                self.skip_to(close + 1);
            }
        }
        let code = if name == "Highlighting" { self.shown_code(end) } else { self.verbatim(end - self.at) };
        self.skip("\\end{}".len() + name.len());
        self.write_code(&language.to_lowercase(), &code);
    }

    /// Takes code up to a byte in which commands and braces are read: pandoc gives each word its color.
    pub(super) fn shown_code(&mut self, end: usize) -> Inline {
        let mut code = Inline::new();
        while self.at < end {
            let rest = &self.text[self.at..end];
            let mut len = rest.find(['\\', '{', '}']).unwrap_or(rest.len());
            if len > 0 {
                code.append(&self.verbatim(len));
                continue;
            }
            len = 1;
            if rest.starts_with('\\') {
                len = scan::command(rest).min(rest.len());
                let name = &rest[1..len];
                let sign = accents::symbol(name).or_else(|| match name {
                    "textquotesingle" => Some("'"),
                    "textquotedbl" => Some("\""),
                    "textasciigrave" => Some("`"),
                    name if accents::is_accent(name) && rest[len..].starts_with("{}") => Some(name),
                    name if !name.starts_with(|c: char| c.is_ascii_alphabetic()) => Some(name),
                    _ => None,
                });
                if let Some(sign) = sign {
                    let behind = if rest[len..].starts_with("{}") { 2 } else { 0 };
                    code.replaced(sign, self.at..self.at + len + behind);
                    self.at += len + behind;
                    continue;
                }
            }
            self.skip(len);
        }
        code
    }

    fn math_environment(&mut self, name: &str, len: usize) {
        let Some(end) = self.end_of(name, self.at + len) else { return self.skip(len) };
        self.skip(len);
        if name.starts_with("alignat") || name.starts_with("xalignat") || name.starts_with("IEEEeqnarray") {
            self.skip_arguments(1);
        }
        let mut formula = Inline::new();
        let mut names = Vec::new();
        while self.at < end {
            let part = &self.text[self.at..end];
            let label = part.find("\\label{").and_then(|at| Some((at, part[at..].find('}')?)));
            let Some((at, len)) = label else {
                let text = self.verbatim(part.len());
                formula.append(&text);
                break;
            };
            let text = self.verbatim(at);
            formula.append(&text);
            names.push(part[at + "\\label{".len()..at + len].to_owned());
            self.skip(len + 1);
        }
        self.skip("\\end{}".len() + name.len());
        if self.is_inside() {
            for name in &names {
                self.out().anchor(name);
            }
        } else {
            self.flush();
            self.anchors.extend(names);
        }
        self.write_formula(&formula);
    }
}
