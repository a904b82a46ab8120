//! Directives: `.. name:: argument`, options, content.

use std::ops::Range;

use chunkmill_text::document::{DropReason, Inline};
use serde_json::Value;

use super::inline::document;
use super::lines::{Line, dedent, indented, is_space, trim};
use super::names::id;
use super::{Reader, marks};

/// A directive that is being read.
pub(super) struct Directive {
    /// Its name in lower case.
    pub name: String,
    /// Its argument on the first line; blank if there is none.
    pub head: Line,
    /// Other lines before options and content.
    pub args: Vec<Line>,
    pub options: Vec<Setting>,
    pub content: Vec<Line>,
}

/// An option of a directive.
pub(super) struct Setting {
    name: String,
    mark: Range<usize>,
    pub lines: Vec<Line>,
}

impl Directive {
    /// Returns an option.
    pub(super) fn option(&self, name: &str) -> Option<&Setting> {
        self.options.iter().find(|option| option.name == name)
    }

    /// Returns its argument.
    pub(super) fn arguments(&self) -> Vec<Line> {
        let head = (!self.head.is_blank()).then_some(self.head);
        head.into_iter().chain(self.args.iter().copied()).collect()
    }

    /// Returns what is behind its argument on the first line. Without a blank line, that is content too.
    fn body(&self) -> Vec<Line> {
        self.args.iter().chain(&self.content).copied().collect()
    }

    /// Returns all its text.
    fn all(&self, source: &str) -> Vec<Line> {
        let mut all = self.arguments();
        if let (Some(last), Some(first)) = (all.last(), self.content.first()) {
            // The blank line between them.
            let between = last.behind(source, last.end.saturating_sub(last.start));
            if between.end < first.start {
                all.push(between);
            }
        }
        all.extend_from_slice(&self.content);
        all
    }
}

/// The form in which a directive is read.
enum Form {
    Code,
    /// Code whose first argument is no language.
    Plain(&'static str),
    /// A note, with what is written before it.
    Note(&'static str),
    /// A note with a title of its own.
    Titled,
    Version(&'static str),
    /// A title that opens no section.
    Rubric,
    /// Its content; the argument is a setting.
    Content,
    Quote,
    /// Nothing is shown.
    Setting,
    /// A property of the document, by its key in the metadata.
    About(&'static str),
    /// A place in another file.
    Include,
    /// Names of objects with what they are.
    Signature,
    Other,
}

fn form(name: &str) -> Form {
    match name {
        "code" | "code-block" | "sourcecode" | "code-cell" | "prompt" | "code-include" | "ipython" | "terminal" => {
            Form::Code
        }
        "parsed-literal" | "productionlist" | "command-output" | "program-output" => Form::Plain(""),
        "doctest" | "testcode" | "testsetup" | "testcleanup" => Form::Plain("pycon"),
        "testoutput" => Form::Plain("text"),
        "graphviz" | "digraph" | "graph" => Form::Plain("dot"),
        "mermaid" => Form::Plain("mermaid"),
        "uml" | "plantuml" => Form::Plain("plantuml"),
        "note" => Form::Note("Note:"),
        "warning" => Form::Note("Warning:"),
        "tip" => Form::Note("Tip:"),
        "attention" => Form::Note("Attention:"),
        "caution" => Form::Note("Caution:"),
        "danger" => Form::Note("Danger:"),
        "error" => Form::Note("Error:"),
        "hint" => Form::Note("Hint:"),
        "important" => Form::Note("Important:"),
        "seealso" => Form::Note("See also:"),
        "todo" => Form::Note("Todo:"),
        "admonition" | "topic" | "sidebar" | "dropdown" | "card" | "collapse" => Form::Titled,
        "versionadded" => Form::Version("Added in version"),
        "versionchanged" => Form::Version("Changed in version"),
        "deprecated" | "versiondeprecated" => Form::Version("Deprecated since version"),
        "versionremoved" | "deprecated-removed" => Form::Version("Removed in version"),
        "rubric" | "centered" | "table" => Form::Rubric,
        "container" | "compound" | "class" | "cssclass" | "rst-class" | "hlist" | "header" | "footer" | "tab-set"
        | "grid" | "acks" => Form::Content,
        "epigraph" | "highlights" | "pull-quote" => Form::Quote,
        "contents"
        | "sectnum"
        | "section-numbering"
        | "target-notes"
        | "default-role"
        | "role"
        | "program"
        | "currentmodule"
        | "tabularcolumns"
        | "default-domain"
        | "restructuredtext-test-directive" => Form::Setting,
        "title" => Form::About("title"),
        "sectionauthor" | "codeauthor" | "moduleauthor" => Form::About("author"),
        "include" | "literalinclude" => Form::Include,
        "function" | "class-object" | "method" | "classmethod" | "staticmethod" | "attribute" | "data"
        | "exception" | "decorator" | "decoratormethod" | "property" | "option" | "cmdoption" | "confval"
        | "envvar" | "describe" | "object" | "event" | "module" | "opcode" | "type" | "macro" | "struct" | "member"
        | "var" | "setting" => Form::Signature,
        _ if name.contains(':') || name.starts_with("auto") => Form::Signature,
        _ => Form::Other,
    }
}

impl Reader<'_> {
    /// Reads the directive at a line, and returns the line behind it.
    pub(super) fn directive(&mut self, lines: &[Line], at: usize, name: &str, len: usize) -> usize {
        let line = lines[at];
        let end = indented(self.text, lines, at + 1);
        let body = if lines.get(at + 1).is_some_and(Line::is_blank) {
            let mut body = vec![lines[at + 1]];
            body.extend(dedent(self.text, &lines[at + 1..end]));
            body
        } else {
            dedent(self.text, &lines[at + 1..end])
        };
        let directive = self.parts(name.to_ascii_lowercase(), line.behind(self.text, len), &body);
        if matches!(form(&directive.name), Form::Include) {
            self.code("rst", &lines[at..end]);
            return end;
        }
        self.markup(&line.raw(self.text)[..len]);
        if let Some(name) = directive.option("name").or(directive.option("label")) {
            let name = name.lines.first().map(|line| line.text(self.text)).unwrap_or_default();
            self.anchors.push(id(name));
        }
        self.read_directive(&directive);
        end
    }

    /// Divides a directive in its parts.
    fn parts(&self, name: String, head: Line, body: &[Line]) -> Directive {
        let is_option = |line: &Line| marks::field(line.raw(self.text)).is_some();
        let is_part = |line: &&Line| !line.is_blank() && !is_option(line);
        let args = body.iter().take_while(is_part).count();
        let mut at = args;
        let mut options: Vec<Setting> = Vec::new();
        while let Some(line) = body.get(at).filter(|line| !line.is_blank()) {
            match (marks::field(line.raw(self.text)), options.last_mut()) {
                (Some((name, len)), _) => options.push(Setting {
                    name: name.to_ascii_lowercase(),
                    mark: line.start..line.start + name.len() + 2,
                    lines: vec![line.behind(self.text, len)],
                }),
                (None, Some(option)) => option.lines.push(*line),
                (None, None) => break,
            }
            at += 1;
        }
        let content = trim(&body[at..]).to_vec();
        Directive { name, head, args: body[..args].to_vec(), options, content }
    }

    fn read_directive(&mut self, directive: &Directive) {
        match directive.name.as_str() {
            "image" | "figure" => return self.image(directive),
            "math" => return self.math(directive),
            "toctree" => return self.toctree(directive),
            "list-table" | "flat-table" => return self.list_table(directive),
            "csv-table" => return self.csv_table(directive),
            "raw" => return self.raw_markup(directive),
            "meta" => return self.meta(directive),
            "highlight" => {
                self.language = directive.head.raw(self.text).to_owned();
                return self.leave_out(directive, DropReason::Markup);
            }
            "only" | "ifconfig" => return self.only(directive),
            "glossary" => {
                self.leave_options(directive, &[]);
                let lines = dedent(self.text, &directive.all(self.text));
                return self.glossary(&lines);
            }
            // In Python's documentation, it is an object; in docutils, a name of a style.
            "class" if is_signature(directive.head.raw(self.text)) || !directive.options.is_empty() => {
                return self.signature(directive);
            }
            _ => {}
        }
        match form(&directive.name) {
            Form::Code => {
                self.markup(directive.head.raw(self.text));
                self.code_with_caption(directive, directive.head.raw(self.text), &directive.body());
            }
            Form::Plain(language) => {
                let is_text = matches!(directive.name.as_str(), "parsed-literal" | "productionlist");
                if is_text && !directive.head.is_blank() {
                    self.code_with_caption(directive, language, &directive.all(self.text));
                } else {
                    self.markup(directive.head.raw(self.text));
                    self.code_with_caption(directive, language, &directive.body());
                }
            }
            Form::Note(title) => self.note(directive, title),
            Form::Titled => self.titled(directive),
            Form::Version(what) => self.version(directive, what),
            Form::Rubric => {
                self.leave_options(directive, &[]);
                self.bold_paragraph(&directive.arguments());
                self.blocks(&directive.content);
            }
            Form::Content => {
                self.leave_options(directive, &[]);
                let is_setting =
                    !matches!(directive.name.as_str(), "header" | "footer" | "compound" | "hlist" | "acks");
                if is_setting {
                    self.markup(directive.head.raw(self.text));
                    self.blocks(&directive.body());
                } else {
                    self.blocks(&directive.all(self.text));
                }
            }
            Form::Quote => {
                self.leave_options(directive, &[]);
                self.quoted(None, &directive.all(self.text));
            }
            Form::Setting => {
                self.set_role(directive);
                self.leave_out(directive, DropReason::Markup);
            }
            Form::About(name) => self.about_file(directive, name),
            Form::Signature => self.signature(directive),
            Form::Other | Form::Include => self.other(directive),
        }
    }

    /// Takes the role of text in backticks that has none, or a role that is made of another.
    fn set_role(&mut self, directive: &Directive) {
        let argument = directive.head.raw(self.text).to_ascii_lowercase();
        match directive.name.as_str() {
            "default-role" => self.default_role = argument,
            "role" => {
                let (name, base) = argument.split_once('(').unwrap_or((&argument, "custom"));
                self.roles.insert(name.trim().to_owned(), base.trim_end_matches(')').trim().to_owned());
            }
            _ => {}
        }
    }

    /// Counts options, except those that are shown.
    pub(super) fn leave_options(&mut self, directive: &Directive, shown: &[&str]) {
        for option in &directive.options {
            self.markup(&self.text[option.mark.clone()]);
            // Of those that are there twice, the first counts.
            let is_first = directive.option(&option.name).is_some_and(|first| std::ptr::eq(first, option));
            if !is_first || !shown.contains(&option.name.as_str()) {
                self.drop_lines(DropReason::Markup, &option.lines);
            }
        }
    }

    /// Counts a directive of which nothing is shown.
    fn leave_out(&mut self, directive: &Directive, reason: DropReason) {
        self.leave_options(directive, &[]);
        self.drop_lines(reason, &directive.arguments());
        self.drop_lines(reason, &directive.content);
    }

    pub(super) fn bold_paragraph(&mut self, lines: &[Line]) {
        if lines.iter().all(Line::is_blank) {
            return;
        }
        let text = self.bold(lines, "");
        self.before_block();
        self.writer.paragraph(&text);
    }

    fn code_with_caption(&mut self, directive: &Directive, language: &str, lines: &[Line]) {
        self.leave_options(directive, &["caption"]);
        if let Some(caption) = directive.option("caption") {
            self.bold_paragraph(&caption.lines);
        }
        self.code(language, lines);
    }

    /// Writes blocks as a quotation.
    fn quoted(&mut self, lead: Option<Inline>, lines: &[Line]) {
        self.before_block();
        self.writer.open_quote();
        self.blocks_with_lead(lead, lines);
        self.writer.close();
    }

    fn note(&mut self, directive: &Directive, title: &str) {
        self.leave_options(directive, &[]);
        self.quoted(Some(Inline::from(format!("**{title}**").as_str())), &directive.all(self.text));
    }

    fn titled(&mut self, directive: &Directive) {
        self.leave_options(directive, &["subtitle"]);
        self.before_block();
        self.writer.open_quote();
        self.bold_paragraph(&directive.arguments());
        if let Some(subtitle) = directive.option("subtitle") {
            self.bold_paragraph(&subtitle.lines);
        }
        self.blocks(&directive.content);
        self.before_block();
        self.writer.close();
    }

    fn version(&mut self, directive: &Directive, what: &str) {
        self.leave_options(directive, &[]);
        let head = directive.head;
        let text = head.raw(self.text);
        let versions = if directive.name == "deprecated-removed" { 2 } else { 1 };
        let len = text.match_indices(is_space).nth(versions - 1).map_or(text.len(), |(at, _)| at);
        let version = self.inline(&[head.front(len)]);
        let mut lead = Inline::new();
        let start = lead.start_mark("**");
        lead.write(what);
        lead.write(" ");
        lead.append(&version);
        lead.write(":");
        lead.end_mark("**", start);
        let mut rest = directive.all(self.text);
        if let Some(first) = rest.first_mut().filter(|_| !head.is_blank()) {
            *first = head.behind(self.text, len).bare(self.text);
        }
        self.blocks_with_lead(Some(lead), &rest);
    }

    /// Reads a directive that is not known.
    fn other(&mut self, directive: &Directive) {
        self.leave_options(directive, &["caption", "title", "alt"]);
        for name in ["title", "caption", "alt"] {
            if let Some(option) = directive.option(name) {
                self.bold_paragraph(&option.lines);
            }
        }
        if directive.content.is_empty() {
            return self.blocks(&directive.all(self.text));
        }
        let text = self.inline(&directive.arguments());
        if !text.is_blank() {
            self.paragraph(&text);
        }
        self.blocks(&directive.content);
    }

    fn only(&mut self, directive: &Directive) {
        self.leave_options(directive, &[]);
        let text = self.inline(&[directive.head]);
        if !text.is_blank() {
            let mut condition = Inline::new();
            let start = condition.start_mark("*");
            condition.write("Only ");
            condition.append(&text);
            condition.write(":");
            condition.end_mark("*", start);
            self.paragraph(&condition);
        }
        self.blocks(&directive.body());
    }

    fn image(&mut self, directive: &Directive) {
        self.leave_options(directive, &["alt"]);
        let arguments = directive.arguments();
        let target: String = arguments.iter().map(|line| line.text(self.text)).collect();
        self.drop_lines(DropReason::Markup, &arguments);
        let mut alt = Inline::new();
        if let Some(option) = directive.option("alt") {
            for line in option.lines.iter().filter(|line| !line.is_blank()) {
                if !alt.is_blank() {
                    alt.write(" ");
                }
                let line = line.bare(self.text);
                alt.flow(line.raw(self.text), line.start);
            }
        }
        let link = directive.option("target").and_then(|option| option.lines.first());
        let link = link.map(|line| line.text(self.text)).filter(|link| !link.is_empty()).map(|link| {
            let name = link.strip_suffix('_').map(|name| name.trim_matches('`'));
            name.and_then(|name| self.names.resolve(name)).unwrap_or_else(|| link.to_owned())
        });
        let mut image = Inline::new();
        if let Some(link) = &link {
            image.start_link(link);
        }
        image.image(&target, &alt);
        if link.is_some() {
            image.end_link();
        }
        self.paragraph(&image);
        self.blocks(&directive.content);
    }

    fn math(&mut self, directive: &Directive) {
        self.leave_options(directive, &[]);
        self.before_block();
        let formula = self.verbatim(&directive.all(self.text));
        self.writer.math(&formula);
    }

    /// Writes the list of documents that belong to a page.
    fn toctree(&mut self, directive: &Directive) {
        self.leave_options(directive, &["caption"]);
        if let Some(caption) = directive.option("caption") {
            self.bold_paragraph(&caption.lines);
        }
        self.before_block();
        self.writer.open_list(true);
        for line in directive.all(self.text).iter().filter(|line| !line.is_blank()) {
            let line = line.bare(self.text);
            let text = line.raw(self.text);
            if text.starts_with(".. ") {
                self.writer.drop(DropReason::Comment, text);
                continue;
            }
            let named = text.strip_suffix('>').and_then(|rest| rest.rfind('<')).filter(|open| *open > 0);
            let (shown, target) = match named {
                Some(open) => (text[..open].trim_end(), &text[open + 1..text.len() - 1]),
                None => (text, text),
            };
            let mut entry = Inline::new();
            let is_document = !target.contains('*') && target != "self";
            if is_document {
                entry.start_link(&if target.contains("://") { target.to_owned() } else { document(target) });
            }
            entry.push(shown, line.start..line.start + shown.len());
            if is_document {
                entry.end_link();
            }
            self.markup(&text[shown.len()..]);
            self.writer.open_item("-");
            self.writer.paragraph(&entry);
            self.writer.close();
        }
        self.writer.close();
    }

    /// Reads markup of another format: dropped if it shows no words.
    fn raw_markup(&mut self, directive: &Directive) {
        let format = directive.head.raw(self.text);
        let body = directive.body();
        let texts = body.iter().map(|line| line.raw(self.text));
        let is_shown = crate::raw::shows_words(format, texts);
        if !is_shown {
            return self.leave_out(directive, DropReason::Markup);
        }
        self.markup(format);
        self.leave_options(directive, &[]);
        self.code(format, &body);
    }

    /// Takes what a page says about itself.
    fn meta(&mut self, directive: &Directive) {
        for line in directive.all(self.text) {
            let Some((name, len)) = marks::field(line.raw(self.text)) else { continue };
            self.about_value(&name.to_lowercase(), line.raw(self.text)[len..].trim());
        }
        for option in &directive.options {
            let words = option.lines.iter().map(|line| line.text(self.text));
            self.about_value(&option.name, words.collect::<Vec<_>>().join(" ").trim());
        }
        self.leave_out(directive, DropReason::Markup);
    }

    fn about_file(&mut self, directive: &Directive, name: &str) {
        self.about_value(name, directive.head.raw(self.text));
        self.leave_out(directive, DropReason::Markup);
    }

    fn about_value(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let about = self.writer.about();
        match name {
            "title" => about.title = Some(value.to_owned()),
            "keywords" => {
                about.tags.extend(value.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()));
            }
            // `description lang=en`
            _ => {
                let name = name.split_whitespace().next().unwrap_or(name).to_owned();
                about.metadata.entry(name).or_insert_with(|| Value::String(value.to_owned()));
            }
        }
    }

    /// Reads the names of objects, and what they are.
    fn signature(&mut self, directive: &Directive) {
        self.leave_options(directive, &[]);
        let mut term = Inline::new();
        self.before_block();
        for (at, line) in directive.arguments().iter().enumerate() {
            let line = line.bare(self.text);
            let text = line.raw(self.text);
            let name = text.split(['(', ' ', '=']).next().unwrap_or(text);
            self.writer.anchor(name);
            if at > 0 {
                term.write("\n");
            }
            let start = term.start_mark("**");
            term.code(&self.verbatim(&[line]));
            term.end_mark("**", start);
        }
        if directive.content.is_empty() {
            return self.writer.paragraph(&term);
        }
        if term.is_blank() {
            return self.blocks(&directive.content);
        }
        self.defined(&term, &directive.content);
    }
}

/// Returns whether the argument of `class` is an object.
fn is_signature(argument: &str) -> bool {
    argument.contains(['(', '.']) || argument.starts_with(|c: char| c.is_uppercase())
}
