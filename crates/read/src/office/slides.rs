//! `PowerPoint`.
//!
//! Each slide is a section with its title, and a place with its number. Its shapes follow in the order of the file,
//! which is the reading order of screen readers. Its notes are a quotation. Text of a master or a layout is not on the
//! slide: these are prompts.

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, LayerWriter, Place, ReadSettings};
use serde_json::Value;

use super::drawing;
use super::flow::{Flow, Grid, Mark, Piece, Table};
use crate::package::xml::{Event, Tag, Xml};
use crate::package::{Package, Relations};
use crate::runs::{Look, Runs};

const FORMAT: &str = "slides";

/// Deepest level of a list.
const MAX_LEVEL: usize = 8;

/// Reads slides.
pub(crate) fn read(bytes: &[u8], writer: &mut LayerWriter, settings: &ReadSettings) -> Result<(), Skip> {
    let mut package = Package::open(bytes, FORMAT, settings)?;
    super::about::core(&mut package, writer)?;
    let (main, relations) = package.main("ppt/presentation.xml")?;
    let text = package.needed(&main)?;
    let mut parts = Vec::new();
    let mut found = false;
    let mut xml = Xml::new(&text, FORMAT, &main);
    while let Some(event) = xml.next()? {
        let Event::Start(tag) = event else { continue };
        match tag.name() {
            ("p", "presentation") => found = true,
            ("p", "sldId") => parts.push(tag.prefixed("id").and_then(|id| relations.part(&id).map(str::to_owned))),
            _ => {}
        }
    }
    if !found {
        return Err(Skip::Malformed { format: FORMAT, problem: format!("{main} is no presentation") });
    }
    let most = package.most;
    let mut hidden = Vec::new();
    for (number, part) in (1..).zip(parts) {
        let Some(part) = part else { continue };
        let Some(text) = package.part(&part)? else { continue };
        let relations = package.relations(&part)?;
        let slide = Shapes::read(&text, &part, &relations, most, writer)?;
        if slide.hidden {
            hidden.push(Value::from(number));
        }
        writer.place(Place { name: format!("slide {number}"), page: Some(number) });
        slide.write(number, &mut package, writer)?;
        others(&mut package, &relations, most, writer)?;
        if writer.is_full() {
            break;
        }
    }
    if !hidden.is_empty() {
        writer.about().metadata.insert("hidden_slides".to_owned(), Value::Array(hidden));
    }
    Ok(())
}

/// Reads the notes of a slide, and counts its comments.
fn others(package: &mut Package<'_>, relations: &Relations, most: usize, writer: &mut LayerWriter) -> Result<(), Skip> {
    for relation in relations.of_kind("notesSlide") {
        let Some(text) = package.part(&relation.target)? else { continue };
        let own = package.relations(&relation.target)?;
        let notes = Shapes::read(&text, &relation.target, &own, most, writer)?;
        let body = notes.all.into_iter().filter(|shape| shape.role == Role::Body).flat_map(|shape| shape.paragraphs);
        notes_of(body.map(|paragraph| paragraph.text), writer);
    }
    for relation in relations.of_kind("comments") {
        let Some(text) = package.part(&relation.target)? else { continue };
        let mut xml = Xml::new(&text, FORMAT, &relation.target);
        while let Some(event) = xml.next()? {
            if matches!(&event, Event::Start(tag) if matches!(tag.name(), ("p", "text") | ("a", "t"))) {
                xml.skip(|text| writer.drop(DropReason::Comment, text))?;
            }
        }
    }
    Ok(())
}

/// Writes the notes of a slide.
pub(super) fn notes_of(paragraphs: impl Iterator<Item = Inline>, writer: &mut LayerWriter) {
    writer.open_quote();
    let mut first = true;
    for text in paragraphs.filter(|text| !text.is_blank()) {
        if std::mem::take(&mut first) {
            let mut line = Inline::from("Notes: ");
            line.append(&text);
            writer.paragraph(&line);
        } else {
            writer.paragraph(&text);
        }
    }
    writer.close();
}

/// The purpose of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Role {
    #[default]
    Other,
    Title,
    Subtitle,
    /// A text with items.
    Body,
    /// A date, a number, a footer.
    Running,
}

#[derive(Debug, Default)]
struct Shape {
    role: Role,
    paragraphs: Vec<Paragraph>,
    tables: Vec<Grid>,
    /// Text that is said instead of a picture.
    alt: String,
    target: Option<String>,
    /// A part with more text of it: a chart, a diagram.
    more: Option<String>,
}

#[derive(Debug)]
struct Paragraph {
    text: Inline,
    level: usize,
    bullet: Bullet,
}

/// Whether a paragraph is an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Bullet {
    /// As the layout of its shape says.
    #[default]
    Inherited,
    None,
    Mark,
    Number(u64),
}

/// The shapes of a slide.
#[derive(Default)]
struct Shapes {
    hidden: bool,
    all: Vec<Shape>,
}

/// A slide that is being read.
struct Reader<'r> {
    relations: &'r Relations,
    most: usize,
    shapes: Shapes,
    shape: Shape,
    line: Option<Runs>,
    level: usize,
    bullet: Bullet,
    look: Look,
    linked: bool,
    table: Option<Table>,
    alternatives: Vec<bool>,
}

impl Shapes {
    fn read(
        text: &str,
        part: &str,
        relations: &Relations,
        most: usize,
        writer: &mut LayerWriter,
    ) -> Result<Self, Skip> {
        let mut reader = Reader {
            relations,
            most,
            shapes: Self::default(),
            shape: Shape::default(),
            line: None,
            level: 0,
            bullet: Bullet::default(),
            look: Look::default(),
            linked: false,
            table: None,
            alternatives: Vec::new(),
        };
        let mut xml = Xml::new(text, FORMAT, part);
        while let Some(event) = xml.next()? {
            match event {
                Event::Start(tag) => reader.start(&tag, &mut xml, writer)?,
                Event::End(tag) => reader.end(&tag)?,
                Event::Text(_) => {}
            }
        }
        Ok(reader.shapes)
    }

    fn write(self, number: u32, package: &mut Package<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        let (titles, others): (Vec<_>, Vec<_>) = self.all.into_iter().partition(|shape| shape.role == Role::Title);
        let mut flow = Flow::default();
        let mut title = Inline::new();
        for text in titles.into_iter().flat_map(|shape| shape.paragraphs).map(|paragraph| paragraph.text) {
            if !title.is_blank() {
                title.write(" ");
            }
            title.append(&text);
        }
        if title.is_blank() {
            // Without a heading, it would be part of the slide before.
            title = Inline::from(&*format!("Slide {number}"));
        }
        flow.write(Piece::Heading(2, title), writer);
        for (index, shape) in others.into_iter().enumerate() {
            shape.write(index, &mut flow, package, writer)?;
        }
        flow.finish(writer);
        Ok(())
    }
}

impl Shape {
    fn write(
        self,
        index: usize,
        flow: &mut Flow,
        package: &mut Package<'_>,
        writer: &mut LayerWriter,
    ) -> Result<(), Skip> {
        if self.role == Role::Running {
            self.paragraphs.iter().for_each(|line| writer.drop(DropReason::RunningHead, line.text.as_str()));
            return Ok(());
        }
        let many = self.paragraphs.iter().filter(|line| !line.text.is_blank()).nth(1).is_some();
        let items = self.role == Role::Body && many;
        for Paragraph { text, level, bullet } in self.paragraphs {
            let mark = match bullet {
                Bullet::Mark => Some(Mark::Bullet),
                Bullet::Inherited if items => Some(Mark::Bullet),
                Bullet::Number(number) => Some(Mark::Number(number)),
                Bullet::Inherited | Bullet::None => None,
            };
            let list = index.to_string();
            flow.write(
                mark.map_or(Piece::Paragraph(text.clone()), |mark| Piece::Item { level, list, mark, text }),
                writer,
            );
        }
        if let Some(target) = self.target.filter(|_| !self.alt.trim().is_empty()) {
            let mut line = Runs::new();
            line.image(&target, &self.alt);
            flow.write(Piece::Paragraph(line.finish().0), writer);
        }
        for grid in self.tables {
            flow.write(Piece::Table(grid), writer);
        }
        if let Some(part) = self.more {
            drawing::write(Piece::Drawing(part), flow, package, writer)?;
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn start(&mut self, tag: &Tag<'_>, xml: &mut Xml<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
        match tag.name() {
            ("p", "sld") => self.shapes.hidden = tag.attr("show").is_some_and(|show| matches!(&*show, "0" | "false")),
            ("p", "sp" | "pic" | "graphicFrame" | "cxnSp") => self.shape = Shape::default(),
            ("p", "ph") => {
                self.shape.role = match tag.attr("type").as_deref() {
                    Some("title" | "ctrTitle") => Role::Title,
                    Some("subTitle") => Role::Subtitle,
                    Some("dt" | "ftr" | "hdr" | "sldNum") => Role::Running,
                    None | Some("body" | "obj") => Role::Body,
                    Some(_) => Role::Other,
                };
            }
            ("p", "cNvPr") => {
                let words = |name| tag.attr(name).filter(|words| !words.trim().is_empty());
                self.shape.alt = words("descr").or_else(|| words("title")).unwrap_or_default().into_owned();
            }
            ("mc", "AlternateContent") => self.alternatives.push(false),
            ("mc", "Choice" | "Fallback")
                if self.alternatives.last_mut().is_some_and(|read| std::mem::replace(read, true)) =>
            {
                xml.skip(|text| writer.drop(DropReason::Repeated, text))?;
            }
            ("a", "p") => {
                (self.line, self.level, self.bullet) = (Some(Runs::new()), 0, Bullet::default());
                if self.shape.role == Role::Title || self.table.as_ref().is_some_and(|table| table.number == 0) {
                    self.line.iter_mut().for_each(Runs::set_plain);
                }
            }
            ("a", "t") => {
                let text = xml.text()?;
                self.line.get_or_insert_with(Runs::new).text(&text, self.look);
            }
            ("a" | "m", _) => self.start_in_paragraph(tag, xml)?,
            ("c", "chart") => self.shape.more = self.part(tag, "id"),
            ("dgm", "relIds") => self.shape.more = self.part(tag, "dm"),
            _ => {}
        }
        Ok(())
    }

    fn start_in_paragraph(&mut self, tag: &Tag<'_>, xml: &mut Xml<'_>) -> Result<(), Skip> {
        let (space, name) = tag.name();
        let number = |name: &str| tag.number(name);
        match name {
            "t" if space == "m" => {
                let text = xml.text()?;
                self.line.get_or_insert_with(Runs::new).text(&text, Look::default());
            }
            "pPr" => {
                self.level = number("lvl").and_then(|level| usize::try_from(level).ok()).unwrap_or(0).min(MAX_LEVEL);
            }
            "buNone" => self.bullet = Bullet::None,
            "buChar" | "buBlip" => self.bullet = Bullet::Mark,
            "buAutoNum" => {
                let before = self.shape.paragraphs.iter().rev().find(|line| line.level <= self.level);
                let next = match before {
                    Some(Paragraph { level, bullet: Bullet::Number(last), .. }) if *level == self.level => {
                        last.saturating_add(1)
                    }
                    _ => number("startAt").unwrap_or(1),
                };
                self.bullet = Bullet::Number(next);
            }
            "r" | "fld" => self.look = Look::default(),
            "rPr" => {
                let on = |name: &str| tag.attr(name).is_some_and(|value| matches!(&*value, "1" | "true"));
                let up = tag.attr("baseline").is_some_and(|up| !up.starts_with(['-', '0']));
                self.look = Look { bold: on("b"), italic: on("i"), raised: up, ..Look::default() };
            }
            "hlinkClick" => {
                let target = tag.prefixed("id").and_then(|id| self.relations.target(&id)).unwrap_or_default();
                if let Some(line) = self.line.as_mut().filter(|_| !target.is_empty() && !self.linked) {
                    line.open_link(target);
                    self.linked = true;
                }
            }
            "br" => self.line.iter_mut().for_each(Runs::line_break),
            "blip" => {
                self.shape.target = tag.prefixed("embed").and_then(|id| self.relations.target(&id)).map(str::to_owned);
            }
            "tbl" => self.table = Some(Table::new(self.most)),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, tag: &Tag<'_>) -> Result<(), Skip> {
        match tag.name() {
            ("a", "p") => self.end_paragraph(),
            ("a", "r" | "fld") if std::mem::take(&mut self.linked) => {
                self.line.iter_mut().for_each(Runs::close_link);
            }
            ("a", "tc") => self.table.iter_mut().for_each(|table| table.end_cell(1)),
            ("a", "tr") => {
                if let Some(table) = &mut self.table {
                    self.shape.tables.extend(table.end_row()?);
                }
            }
            ("a", "tbl") => self.shape.tables.extend(self.table.take().map(|table| table.grid)),
            ("p", "sp" | "pic" | "graphicFrame" | "cxnSp") => self.shapes.all.push(std::mem::take(&mut self.shape)),
            ("mc", "AlternateContent") => {
                self.alternatives.pop();
            }
            _ => {}
        }
        Ok(())
    }

    fn end_paragraph(&mut self) {
        self.linked = false;
        let Some(line) = self.line.take() else { return };
        let (text, _) = line.finish();
        match &mut self.table {
            Some(table) => table.append(&text),
            None if text.is_blank() => {}
            None => self.shape.paragraphs.push(Paragraph { text, level: self.level, bullet: self.bullet }),
        }
    }

    fn part(&self, tag: &Tag<'_>, name: &str) -> Option<String> {
        tag.prefixed(name).and_then(|id| self.relations.part(&id)).map(str::to_owned)
    }
}
