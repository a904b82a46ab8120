//! The blocks of a Word document, from the events of its main part or of its notes.

use std::collections::{HashMap, HashSet};

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, LayerWriter, Place, on_one_line};

use super::super::flow::{Mark, Piece, Table};
use super::super::math::Formula;
use super::styles::{Lists, Role, Styles};
use super::symbols::symbol;
use crate::package::Relations;
use crate::package::xml::{Event, Tag, Xml};
use crate::runs::{Look, Runs, is_monospaced};

pub(super) const FORMAT: &str = "a Word document";

/// Most columns that a cell may have: as many as Word allows.
const MAX_SPAN: u64 = 63;

/// Elements of a body whose text has a place.
const PLACED: &[&str] =
    &["p", "tbl", "sdt", "AlternateContent", "customXml", "ins", "moveTo", "oMathPara", "oMath", "smartTag"];

/// Notes of two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NoteKind {
    Footnote,
    Endnote,
}

impl NoteKind {
    /// Returns the kind of the relation to their part, which is also the name of its root.
    pub(super) fn part(self) -> &'static str {
        match self {
            Self::Footnote => "footnotes",
            Self::Endnote => "endnotes",
        }
    }

    fn element(self) -> &'static str {
        match self {
            Self::Footnote => "footnote",
            Self::Endnote => "endnote",
        }
    }
}

/// A reference to a note.
#[derive(Debug)]
pub(super) struct NoteUse {
    pub(super) kind: NoteKind,
    pub(super) id: String,
    pub(super) label: String,
}

/// The data that is still needed after the body was read.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// The notes that it refers to, in their order.
    pub(super) notes: Vec<NoteUse>,
    /// The first paragraph in the style of a title.
    pub(super) title: Option<String>,
}

/// The properties of a run.
#[derive(Debug, Default, Clone, Copy)]
struct Run {
    look: Look,
    hidden: bool,
}

#[derive(Debug)]
struct Paragraph {
    line: Runs,
    style: Option<String>,
    role: Role,
    list: Option<(String, Option<usize>)>,
    hidden: bool,
    /// The run that is open.
    run: Option<Run>,
    /// Whether each hyperlink that is open is written.
    hyperlinks: Vec<bool>,
    picture: Picture,
    /// Whether it has a formula on lines of its own, and whether it has other text.
    formula: bool,
    words: bool,
    /// Paragraphs of text boxes in it, and drawings.
    boxed: Vec<Piece>,
}

#[derive(Debug, Default)]
struct Picture {
    alt: String,
    target: Option<String>,
}

#[derive(Debug, Default)]
struct Field {
    instruction: String,
    linked: bool,
}

/// Reads the blocks of a part.
pub(super) struct Body<'s> {
    styles: &'s Styles,
    lists: &'s mut Lists,
    relations: &'s Relations,
    most: usize,
    out: Vec<Piece>,
    /// The paragraph that is open; below it, those whose text boxes it is in.
    paragraphs: Vec<Paragraph>,
    table: Option<Table>,
    /// Columns of the cell that is open.
    span: u64,
    fields: Vec<Field>,
    /// For each choice between contents, whether one was read.
    alternatives: Vec<bool>,
    formula: Option<Formula>,
    labels: HashMap<(NoteKind, String), String>,
    footnotes: usize,
    endnotes: usize,
    rest: Rest,
}

impl<'s> Body<'s> {
    pub(super) fn new(styles: &'s Styles, lists: &'s mut Lists, relations: &'s Relations, most: usize) -> Self {
        Self {
            styles,
            lists,
            relations,
            most,
            out: Vec::new(),
            paragraphs: Vec::new(),
            table: None,
            span: 1,
            fields: Vec::new(),
            alternatives: Vec::new(),
            formula: None,
            labels: HashMap::new(),
            footnotes: 0,
            endnotes: 0,
            rest: Rest::default(),
        }
    }

    /// Reads the main part, and hands out each block when it ends.
    pub(super) fn read(
        mut self,
        text: &str,
        part: &str,
        writer: &mut LayerWriter,
        mut sink: impl FnMut(Piece, &mut LayerWriter) -> Result<(), Skip>,
    ) -> Result<Rest, Skip> {
        let mut xml = Xml::new(text, FORMAT, part);
        let mut counts = HashMap::<String, u32>::new();
        let mut body = None;
        while let Some(event) = xml.next()? {
            if let Event::Start(tag) = &event {
                let (space, name) = tag.name();
                if body == Some(xml.depth() - 1) && PLACED.contains(&name) {
                    let count = counts.entry(name.to_owned()).or_default();
                    *count += 1;
                    self.out.push(Piece::Place(Place::new(format!("body/{name}[{count}]"))));
                } else if body.is_none() && (space, name) == ("w", "body") {
                    body = Some(xml.depth());
                    continue;
                }
            }
            if body.is_some() {
                self.event(&event, &mut xml, writer)?;
                self.out.drain(..).try_for_each(|piece| sink(piece, writer))?;
            }
            if writer.is_full() {
                break;
            }
        }
        if body.is_none() {
            return Err(Skip::Malformed { format: FORMAT, problem: format!("{part} has no body") });
        }
        Ok(self.rest)
    }

    /// Reads a part with notes, and hands out the blocks of those that are used.
    pub(super) fn read_notes(
        mut self,
        text: &str,
        part: &str,
        (kind, used): (NoteKind, &HashSet<&str>),
        writer: &mut LayerWriter,
        mut sink: impl FnMut(&str, Piece),
    ) -> Result<(), Skip> {
        let mut xml = Xml::new(text, FORMAT, part);
        let mut current: Option<String> = None;
        let mut count = 0;
        while let Some(event) = xml.next()? {
            match &event {
                Event::Start(tag) if current.is_none() && tag.name() == ("w", kind.element()) => {
                    count += 1;
                    let id = tag.attr("id").unwrap_or_default();
                    if used.contains(&*id) {
                        self.out.push(Piece::Place(Place::new(format!("{}/{}[{count}]", kind.part(), kind.element()))));
                        current = Some(id.into_owned());
                    } else {
                        xml.skip(|text| writer.drop(DropReason::Hidden, text))?;
                    }
                }
                Event::End(tag) if tag.name() == ("w", kind.element()) => current = None,
                event if current.is_some() => self.event(event, &mut xml, writer)?,
                _ => {}
            }
            if let Some(id) = &current {
                self.out.drain(..).for_each(|piece| sink(id, piece));
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>, xml: &mut Xml<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        match event {
            Event::Start(tag) => match tag.name().0 {
                "m" => self.start_math(tag, xml),
                "w" => self.start(tag, xml, writer),
                "mc" => self.start_choice(tag, xml, writer),
                _ => {
                    self.start_picture(tag);
                    Ok(())
                }
            },
            Event::End(tag) => self.end(tag, writer),
            Event::Text(_) => Ok(()),
        }
    }

    fn start(&mut self, tag: &Tag<'_>, xml: &mut Xml<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        match tag.name().1 {
            "p" => self.open_paragraph(),
            "del" | "moveFrom" => xml.skip(|text| writer.drop(DropReason::Deleted, text))?,
            "rt" => xml.skip(|text| writer.drop(DropReason::Repeated, text))?,
            name if name.ends_with("PrChange") => xml.skip(|_| {})?,
            "t" => {
                let text = xml.text()?;
                self.say(&text, writer);
            }
            "delText" => xml.skip(|text| writer.drop(DropReason::Deleted, text))?,
            "instrText" | "delInstrText" => {
                let text = xml.text()?;
                writer.drop(DropReason::Markup, &text);
                if let Some(field) = self.fields.last_mut() {
                    field.instruction.push_str(&text);
                }
            }
            "fldChar" => self.field(&tag.attr("fldCharType").unwrap_or_default()),
            "bookmarkStart" => {
                let name = tag.attr("name").unwrap_or_default().into_owned();
                match self.paragraphs.last_mut() {
                    _ if name == "_GoBack" => {}
                    Some(paragraph) => paragraph.line.anchor(&name),
                    None => self.out.push(Piece::Anchors(vec![name])),
                }
            }
            "footnoteReference" => self.note(NoteKind::Footnote, tag),
            "endnoteReference" => self.note(NoteKind::Endnote, tag),
            "tbl" | "tr" | "tc" | "gridSpan" | "gridBefore" => self.start_table(tag),
            _ => self.start_in_paragraph(tag, writer),
        }
        Ok(())
    }

    /// Begins an element that has a meaning in paragraphs only.
    fn start_in_paragraph(&mut self, tag: &Tag<'_>, writer: &mut LayerWriter) {
        let styles = self.styles;
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        let value = || tag.attr("val").unwrap_or_default();
        let name = tag.name().1;
        match name {
            "pStyle" => {
                let id = value().into_owned();
                paragraph.set_role(styles.role(&id));
                paragraph.hidden = styles.is_hidden(&id);
                paragraph.style = Some(id);
            }
            "outlineLvl" => {
                if let Some(level) = tag.number("val").and_then(|level| u8::try_from(level).ok()).filter(|l| *l < 9) {
                    paragraph.set_role(Role::Heading(level + 1));
                }
            }
            "ilvl" => {
                paragraph.list.get_or_insert_default().1 = tag.number("val").and_then(|l| usize::try_from(l).ok());
            }
            "numId" => paragraph.list.get_or_insert_default().0 = value().into_owned(),
            "hyperlink" => {
                let part = tag.prefixed("id").and_then(|id| self.relations.target(&id)).unwrap_or_default();
                let anchor = tag.attr("anchor").unwrap_or_default();
                let hash = if anchor.is_empty() { "" } else { "#" };
                let target = format!("{part}{hash}{anchor}");
                let written = !target.is_empty() && paragraph.role != Role::Contents;
                if written {
                    paragraph.line.open_link(&target);
                }
                paragraph.hyperlinks.push(written);
            }
            "r" => paragraph.run = Some(Run::default()),
            "drawing" | "pict" | "object" => paragraph.picture = Picture::default(),
            _ => paragraph.start_in_run(tag, styles),
        }
        let text = match name {
            "tab" | "ptab" if paragraph.run.is_some() => "\t",
            "noBreakHyphen" => "-",
            "sym" => {
                let code = tag.attr("char").and_then(|code| u32::from_str_radix(&code, 16).ok()).unwrap_or(0xfffd);
                let c = symbol(&tag.attr("font").unwrap_or_default(), code);
                return self.say(c.encode_utf8(&mut [0; 4]), writer);
            }
            "br" | "cr" if matches!(tag.attr("type").as_deref(), None | Some("textWrapping")) => {
                if paragraph.role != Role::Contents {
                    paragraph.line.line_break();
                }
                return;
            }
            _ => return,
        };
        self.say(text, writer);
    }

    fn start_choice(&mut self, tag: &Tag<'_>, xml: &mut Xml<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        match tag.name().1 {
            "AlternateContent" => self.alternatives.push(false),
            "Choice" | "Fallback" if self.alternatives.last_mut().is_some_and(|read| std::mem::replace(read, true)) => {
                xml.skip(|text| writer.drop(DropReason::Repeated, text))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn start_math(&mut self, tag: &Tag<'_>, xml: &mut Xml<'_>) -> Result<(), Skip> {
        match (tag.name().1, &mut self.formula) {
            ("oMathPara", _) => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.formula = true;
                }
            }
            ("oMath", formula) => *formula = Some(Formula::default()),
            ("t", Some(formula)) => formula.text(&xml.text()?),
            (name, Some(formula)) => formula.start(name),
            _ => {}
        }
        Ok(())
    }

    fn start_picture(&mut self, tag: &Tag<'_>) {
        let relations = self.relations;
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        let picture = &mut paragraph.picture;
        let target = |name: &str| tag.prefixed(name).and_then(|id| relations.target(&id)).map(str::to_owned);
        let drawing = |name: &str| {
            tag.prefixed(name).and_then(|id| relations.part(&id)).map(|part| Piece::Drawing(part.to_owned()))
        };
        match tag.name() {
            ("wp", "docPr") => {
                let words = |name| tag.attr(name).filter(|words| !words.trim().is_empty());
                picture.alt = words("descr").or_else(|| words("title")).unwrap_or_default().into_owned();
            }
            ("a", "blip") => picture.target = target("embed").or_else(|| target("link")),
            ("v", "imagedata") => picture.target = target("id"),
            ("c", "chart") => {
                picture.target = target("id");
                paragraph.boxed.extend(drawing("id"));
            }
            ("dgm", "relIds") => paragraph.boxed.extend(drawing("dm")),
            ("v", "shape" | "rect") => picture.alt = tag.attr("alt").unwrap_or_default().into_owned(),
            _ => {}
        }
    }

    fn end(&mut self, tag: &Tag<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        match tag.name() {
            ("w", "p") => self.close_paragraph(),
            ("w", "r") => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.run = None;
                }
            }
            ("w", "hyperlink") => {
                if let Some(paragraph) = self.paragraphs.last_mut()
                    && paragraph.hyperlinks.pop() == Some(true)
                {
                    paragraph.line.close_link();
                }
            }
            ("w", "drawing" | "pict" | "object") => {
                if let Some(paragraph) = self.paragraphs.last_mut()
                    && let Picture { alt, target } = std::mem::take(&mut paragraph.picture)
                    && !alt.trim().is_empty()
                    && paragraph.role != Role::Contents
                {
                    paragraph.words = true;
                    paragraph.line.image(target.as_deref().unwrap_or_default(), &alt);
                }
            }
            ("w", "tbl" | "tr" | "tc") => self.end_table(tag)?,
            ("mc", "AlternateContent") => {
                self.alternatives.pop();
            }
            ("m", "oMath") => {
                if let Some(formula) = self.formula.take() {
                    let text = formula.finish();
                    let words = self.paragraphs.last().is_some_and(|paragraph| paragraph.words);
                    self.say(&text, writer);
                    if let Some(paragraph) = self.paragraphs.last_mut() {
                        paragraph.words = words;
                    }
                }
            }
            ("m", name) => {
                if let Some(formula) = &mut self.formula {
                    formula.end(name);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Appends text to the paragraph that is open.
    fn say(&mut self, text: &str, writer: &mut LayerWriter) {
        let Some(paragraph) = self.paragraphs.last_mut() else {
            let text = Inline::from(text);
            return match &mut self.table {
                Some(table) => table.append(&text),
                None => self.out.push(Piece::Paragraph(text)),
            };
        };
        let run = paragraph.run.unwrap_or_default();
        if paragraph.role == Role::Contents {
            return writer.drop(DropReason::Navigation, text);
        }
        if run.hidden || paragraph.hidden {
            return writer.drop(DropReason::Hidden, text);
        }
        paragraph.words |= !text.trim().is_empty();
        paragraph.line.text(text, run.look);
    }

    /// Reads a mark of a field: its instruction, then its result.
    fn field(&mut self, mark: &str) {
        match mark {
            "begin" => self.fields.push(Field::default()),
            "separate" => {
                let Some(field) = self.fields.last_mut() else { return };
                let Some(paragraph) = self.paragraphs.last_mut() else { return };
                if let Some(target) = address(&field.instruction)
                    && paragraph.role != Role::Contents
                {
                    paragraph.line.open_link(&target);
                    field.linked = true;
                }
            }
            "end" => {
                if self.fields.pop().is_some_and(|field| field.linked)
                    && let Some(paragraph) = self.paragraphs.last_mut()
                {
                    paragraph.line.close_link();
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, kind: NoteKind, tag: &Tag<'_>) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        let id = tag.attr("id").unwrap_or_default().into_owned();
        let notes = &mut self.rest.notes;
        let counted = match kind {
            NoteKind::Footnote => &mut self.footnotes,
            NoteKind::Endnote => &mut self.endnotes,
        };
        let label = self.labels.entry((kind, id.clone())).or_insert_with(|| {
            *counted += 1;
            let number = *counted;
            let label = match kind {
                NoteKind::Footnote => number.to_string(),
                NoteKind::Endnote => format!("e{number}"),
            };
            notes.push(NoteUse { kind, id, label: label.clone() });
            label
        });
        paragraph.line.own(&format!("[^{label}]"));
    }

    fn open_paragraph(&mut self) {
        let mut line = Runs::new();
        if self.table.as_ref().is_some_and(|table| table.number == 0) {
            // The head of a table is bold anyway.
            line.set_plain();
        }
        self.paragraphs.push(Paragraph {
            line,
            style: None,
            role: Role::Text,
            list: None,
            hidden: false,
            run: None,
            hyperlinks: Vec::new(),
            picture: Picture::default(),
            formula: false,
            words: false,
            boxed: Vec::new(),
        });
    }

    fn close_paragraph(&mut self) {
        let Some(mut paragraph) = self.paragraphs.pop() else { return };
        let boxed = std::mem::take(&mut paragraph.boxed);
        let mut pieces = self.pieces(paragraph);
        pieces.extend(boxed);
        if let Some(around) = self.paragraphs.last_mut() {
            around.boxed.extend(pieces.into_iter().filter(|piece| !piece.text().is_some_and(Inline::is_blank)));
        } else if let Some(table) = &mut self.table {
            for piece in pieces {
                match piece {
                    Piece::Anchors(names) => names.iter().for_each(|name| table.anchor(name)),
                    piece => table.put(piece),
                }
            }
        } else {
            self.out.extend(pieces);
        }
    }

    /// Returns the block that a paragraph is.
    fn pieces(&mut self, paragraph: Paragraph) -> Vec<Piece> {
        let Paragraph { line, style, role, list, formula, words, .. } = paragraph;
        let (text, anchors) = line.finish();
        let list = self.list_of(style.as_deref(), list);
        let within = list.as_ref().filter(|(list, level)| self.lists.goes_on(list, *level)).map(|(_, level)| *level);
        let mut pieces = Vec::new();
        if !anchors.is_empty() {
            pieces.push(Piece::Anchors(anchors));
        }
        pieces.push(match role {
            Role::Contents => return pieces,
            Role::Title => {
                if self.rest.title.is_none() && !text.is_blank() {
                    self.rest.title = Some(on_one_line(text.as_str()));
                }
                Piece::Heading(1, text)
            }
            Role::Heading(level) => Piece::Heading(level, text),
            Role::Code => Piece::Code(within, text),
            Role::Text if formula && !words => Piece::Math(text),
            Role::Text | Role::Quote => match (within, list.and_then(|list| self.mark(style.as_deref(), list))) {
                (Some(level), _) => Piece::More(level, text),
                (None, Some((level, list, mark))) => Piece::Item { level, list, mark, text },
                (None, None) if role == Role::Quote => Piece::Quote(text),
                (None, None) => Piece::Paragraph(text),
            },
        });
        pieces
    }

    /// Returns the list that a paragraph is in, and its level.
    fn list_of(&self, style: Option<&str>, own: Option<(String, Option<usize>)>) -> Option<(String, usize)> {
        let (own_list, own_level) = own.unwrap_or_default();
        let by_style = || self.styles.list(style?);
        let (list, level) = if own_list.is_empty() {
            let (list, level) = by_style()?;
            (list, own_level.or(level))
        } else {
            (own_list, own_level)
        };
        if list == "0" {
            return None;
        }
        let level = level.or_else(|| self.lists.level_of(&list, style?)).unwrap_or(0).min(8);
        Some((list, level))
    }

    /// Returns the level of an item, its list and its mark.
    fn mark(&mut self, style: Option<&str>, (list, level): (String, usize)) -> Option<(usize, String, Mark)> {
        let mark = self.lists.next(&list, level)?;
        let indent = style.filter(|_| level == 0).map_or(0, |style| self.styles.indent(style));
        Some((level.max(indent), list, mark))
    }

    fn start_table(&mut self, tag: &Tag<'_>) {
        if !self.paragraphs.is_empty() {
            return;
        }
        let name = tag.name().1;
        let Some(table) = &mut self.table else {
            if name == "tbl" {
                self.table = Some(Table::new(self.most));
            }
            return;
        };
        match name {
            "tbl" => table.nested += 1,
            _ if table.nested > 0 => {}
            "tc" => self.span = 1,
            "gridBefore" => table.column = table.column.saturating_add(u32::try_from(span(tag)).unwrap_or(1)),
            "gridSpan" => self.span = span(tag),
            _ => {}
        }
    }

    fn end_table(&mut self, tag: &Tag<'_>) -> Result<(), Skip> {
        if !self.paragraphs.is_empty() {
            return Ok(());
        }
        let Some(table) = &mut self.table else { return Ok(()) };
        match tag.name().1 {
            _ if table.nested > 0 => {
                if tag.name().1 == "tbl" {
                    table.nested -= 1;
                }
            }
            "tc" => table.end_cell(self.span),
            "tr" => self.out.extend(table.end_row()?.map(Piece::Table)),
            _ => {
                if let Some(table) = self.table.take() {
                    self.out.extend(table.finish());
                }
            }
        }
        Ok(())
    }
}

impl Paragraph {
    fn set_role(&mut self, role: Role) {
        if self.role == Role::Contents {
            return;
        }
        self.role = role;
        if !matches!(role, Role::Text | Role::Quote) {
            self.line.set_plain();
        }
    }

    /// Begins an element that says how a run looks.
    fn start_in_run(&mut self, tag: &Tag<'_>, styles: &Styles) {
        let Some(run) = &mut self.run else { return };
        match tag.name().1 {
            "b" => run.look.bold = tag.is_on(),
            "i" => run.look.italic = tag.is_on(),
            "vanish" => run.hidden = tag.is_on(),
            "vertAlign" => run.look.raised = tag.attr("val").is_some_and(|value| value == "superscript"),
            "rFonts" => run.look.code |= tag.attr("ascii").is_some_and(|font| is_monospaced(&font)),
            "rStyle" => {
                let id = tag.attr("val").unwrap_or_default();
                run.look.bold = styles.is_bold(&id);
                run.look.italic = styles.is_italic(&id);
                run.look.code = styles.is_code(&id);
                run.hidden = styles.is_hidden(&id);
            }
            _ => {}
        }
    }
}

fn span(tag: &Tag<'_>) -> u64 {
    tag.number("val").unwrap_or(1).min(MAX_SPAN)
}

/// Returns the target of a field that is a link: `HYPERLINK "a.html" \l "part"`.
fn address(instruction: &str) -> Option<String> {
    let rest = instruction.trim().strip_prefix("HYPERLINK")?;
    let mut target = String::new();
    let mut words = rest.split('"');
    // Outside of quotes, then inside of them, and so on.
    while let (Some(before), Some(word)) = (words.next(), words.next()) {
        let flag = before.split_whitespace().last().unwrap_or_default();
        match flag {
            "\\l" => {
                target.push('#');
                target.push_str(word);
            }
            "" if target.is_empty() => target.push_str(word),
            _ => {}
        }
    }
    if target.is_empty() {
        target.push_str(rest.split_whitespace().next().filter(|word| !word.starts_with('\\'))?);
    }
    Some(target)
}
