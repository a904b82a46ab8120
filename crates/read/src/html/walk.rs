//! The blocks of a page: a walk through its tree, without recursion.

use chunkmill_text::document::{DropReason, Inline, LayerWriter, Place, short_target};

use super::element::{admonition, heading, is_admonition, is_admonition_title, is_block, is_code_table, language};
use super::inline::Line;
use super::lines::Lines;
use super::notes::{Notes, is_back, is_notes};
use super::part::{Part, needs_titles};
use super::plan::Plan;
use super::table::Table;
use super::tokens::Page;
use super::tree::{Element, Kind, Space};

/// Elements around code that may name its language.
const AROUND_CODE: usize = 3;

/// How many nodes into a note its title is.
const TITLE_DEPTH: usize = 24;

/// More than the writer writes of a target.
const LONG_TARGET: usize = 4096;

/// The action when an element ends.
#[derive(Debug, Clone, Copy)]
enum Leave {
    Nothing,
    /// The content of the page ends.
    Root,
    /// A block ends.
    Block,
    /// A mark or a link ends.
    Mark,
    /// A quotation inside a line ends.
    Quoted,
    /// The title of a note or a warning ends.
    Label,
    Code,
    /// Raised text in code ends, which starts at this byte.
    RaisedCode(usize),
    /// Lines of code on a line with others end.
    FlatCode,
    /// Quotes, lists and items end, so many of them.
    Containers(usize),
    List,
    Heading(u8),
    /// Text whose marks are not written.
    Plain,
    /// A footnote ends.
    Note,
    /// Text whose marks are not written and whose blocks are on one line.
    Flat,
    Lines,
    Table,
    Caption,
    Cell,
    /// A cell whose marks are not written.
    HeadCell,
}

/// An element that is open.
struct Frame {
    /// The next node in it.
    next: Option<usize>,
    leave: Leave,
}

/// A list that is open.
struct List {
    /// The number of the next item.
    next: Option<i64>,
}

pub(super) struct Walk<'p, 'w> {
    page: &'p Page<'p>,
    plan: &'p Plan,
    notes: Notes,
    /// How many footnotes are open.
    in_note: usize,
    /// The larger file's part that the page is.
    part: Option<&'p Part<'p>>,
    /// Whether headings are written that the larger file gives places.
    titled: bool,
    /// The level of the heading that the page is under.
    below: u8,
    writer: &'w mut LayerWriter,
    stack: Vec<Frame>,
    /// How many elements with the content of the page are open.
    inside: usize,
    line: Line,
    /// How many elements are open that stand on one line.
    flat: usize,
    /// How many elements are open whose marks are not written.
    plain: usize,
    lists: Vec<List>,
    lines: Option<Lines>,
    table: Option<Table>,
    /// How many quotations inside a line are open.
    quotes: usize,
    /// The title of the note or warning that is open.
    title: Option<usize>,
    /// How long the line is with only the title of a note in it, which the first paragraph goes on; otherwise 0.
    label: usize,
    /// The name of the heading that is open.
    heading: Option<String>,
    /// Names of the next block.
    names: Vec<String>,
}

impl<'p, 'w> Walk<'p, 'w> {
    pub(super) fn new(
        page: &'p Page<'p>,
        plan: &'p Plan,
        part: Option<&'p Part<'p>>,
        writer: &'w mut LayerWriter,
    ) -> Self {
        Self {
            page,
            plan,
            notes: Notes::find(page, part.map(|part| part.name)),
            in_note: 0,
            part,
            titled: part.is_some_and(|part| !part.titles.is_empty()) && needs_titles(page, plan),
            below: 0,
            writer,
            stack: Vec::new(),
            inside: 0,
            line: Line::default(),
            flat: 0,
            plain: 0,
            lists: Vec::new(),
            lines: None,
            table: None,
            quotes: 0,
            title: None,
            label: 0,
            heading: None,
            names: part.into_iter().map(|part| part.name.to_owned()).collect(),
        }
    }

    /// Puts the headings of the page under one of this level.
    pub(super) fn below(self, below: u8) -> Self {
        Self { below, ..self }
    }

    /// Writes the page.
    pub(super) fn page(mut self) {
        let leave = if self.plan.roots.contains(&0) { Leave::Root } else { Leave::Nothing };
        self.inside = usize::from(matches!(leave, Leave::Root));
        self.stack.push(Frame { next: self.page.nodes.first(0), leave });
        while let Some(frame) = self.stack.last_mut() {
            if self.writer.is_full() {
                return;
            }
            let Some(node) = frame.next else {
                let leave = self.stack.pop().map_or(Leave::Nothing, |frame| frame.leave);
                self.leave(leave);
                continue;
            };
            frame.next = self.page.nodes.next(node);
            let page = self.page;
            match page.nodes.kind(node) {
                Kind::Text { number, is_cut } => self.text(*number, *is_cut),
                Kind::Element(element) => {
                    if let Some(leave) = self.enter(node, element) {
                        self.stack.push(Frame { next: page.nodes.first(node), leave });
                    }
                }
                Kind::Document | Kind::Nothing => {}
            }
        }
        self.flush();
        self.names.drain(..).for_each(|name| self.writer.anchor(&name));
    }

    fn text(&mut self, number: usize, is_cut: bool) {
        let page = self.page;
        if self.inside == 0 {
            page.pieces(number, |text| self.writer.drop(DropReason::Navigation, text));
            return;
        }
        for (index, piece) in page.texts.get(number).iter().enumerate() {
            match &mut self.lines {
                Some(lines) => lines.push(page.source, piece, is_cut && index == 0),
                None => self.line.push(page.source, piece),
            }
        }
    }

    /// Counts the text of a node and those in it.
    fn drop(&mut self, root: usize, reason: DropReason) {
        let page = self.page;
        let writer = &mut *self.writer;
        page.nodes.visit(root, |node| {
            match page.nodes.kind(node) {
                Kind::Text { number, .. } => {
                    let parent = page.nodes.parent(node).and_then(|parent| page.nodes.element(parent));
                    let is_script = parent.is_some_and(|parent| matches!(parent.name(), "script" | "style"));
                    let reason = if is_script { DropReason::Script } else { reason };
                    page.pieces(*number, |text| writer.drop(reason, text));
                }
                Kind::Element(element) => {
                    for number in ["alt", "alttext"].into_iter().filter_map(|name| element.text(name)) {
                        page.pieces(number, |text| writer.drop(reason, text));
                    }
                }
                Kind::Document | Kind::Nothing => {}
            }
            true
        });
    }

    /// Counts the alternative text of an element that is not written.
    fn drop_alt(&mut self, element: &Element, reason: DropReason) {
        let page = self.page;
        for number in ["alt", "alttext"].into_iter().filter_map(|name| element.text(name)) {
            page.pieces(number, |text| self.writer.drop(reason, text));
        }
    }

    fn enter(&mut self, node: usize, element: &'p Element) -> Option<Leave> {
        if self.inside == 0 {
            if self.plan.roots.contains(&node) {
                self.inside = 1;
                self.drop_alt(element, DropReason::Navigation);
                self.name(element);
                return Some(Leave::Root);
            }
            if self.plan.above.contains(&node) {
                self.drop_alt(element, DropReason::Navigation);
                return Some(Leave::Nothing);
            }
            let reason = self.plan.reason(self.page, node, element).unwrap_or(DropReason::Navigation);
            self.drop(node, reason);
            return None;
        }
        if element.name() == "script" && self.script(node, element) {
            return None;
        }
        if let Some(reason) = self.plan.reason(self.page, node, element) {
            self.drop(node, reason);
            return None;
        }
        let is_label = || ["label", "fn-bracket"].iter().any(|class| element.has_class(class));
        if self.notes.backs.contains(&node) || is_back(element) {
            self.drop(node, DropReason::Navigation);
            return None;
        }
        if self.notes.labels.contains(&node) || self.in_note > 0 && is_label() {
            self.name(element);
            self.drop(node, DropReason::Markup);
            return None;
        }
        if self.lines.is_none()
            && let Some(label) = self.notes.references.get(&node)
        {
            self.line.write(&format!("[^{label}]"));
            self.name(element);
            self.drop(node, DropReason::Markup);
            return None;
        }
        match element.space {
            Space::Math if element.name() == "math" => self.math(node, element),
            Space::Html => self.html(node, element),
            _ => {
                self.drop_alt(element, DropReason::Hidden);
                if element.space == Space::Svg {
                    self.line.gap();
                }
                Some(Leave::Nothing)
            }
        }
    }

    fn html(&mut self, node: usize, element: &'p Element) -> Option<Leave> {
        let name = element.name();
        if !matches!(name, "img" | "input") {
            self.drop_alt(element, DropReason::Hidden);
        }
        if self.lines.is_some() {
            return self.in_lines(element);
        }
        if is_block(name) {
            let goes_on = matches!(name, "p" | "div" | "tbody" | "tr" | "td") || self.is_in_admonitionblock(node);
            if self.is_label() && !goes_on {
                self.flush();
            } else {
                self.break_block();
            }
            self.name(element);
            return self.block(node, element);
        }
        self.name(element);
        match name {
            "br" => self.br(),
            "hr" => {
                self.break_block();
                let around = self.page.nodes.parent(node).and_then(|around| self.page.nodes.element(around));
                // Above the notes it parts nothing, because they are not on a page.
                if self.flat == 0 && !around.is_some_and(is_notes) {
                    self.write_names();
                    self.writer.rule();
                }
            }
            "img" => self.image(element),
            "input" => self.input(node, element),
            "a" => return Some(self.link(element)),
            "b" | "strong" => return Some(self.marks("**")),
            "cite" | "dfn" | "em" | "i" | "var" => return Some(self.marks("*")),
            "sup" => return Some(self.line.open_raised().map_or(Leave::Mark, Leave::RaisedCode)),
            "del" | "s" | "strike" => return Some(self.marks("~~")),
            "q" => {
                self.line.write(if self.quotes.is_multiple_of(2) { "\u{201c}" } else { "\u{2018}" });
                self.quotes += 1;
                return Some(Leave::Quoted);
            }
            "code" | "kbd" | "samp" | "tt" => {
                self.line.open_code();
                return Some(Leave::Code);
            }
            _ => return Some(Leave::Nothing),
        }
        None
    }

    fn br(&mut self) {
        if self.flat > 0 {
            self.line.gap();
        } else if self.line.is_at_start() && !self.line.is_blank() {
            // Two of them part paragraphs.
            self.flush();
        } else {
            self.line.line_break();
        }
    }

    fn marks(&mut self, marks: &'static str) -> Leave {
        if self.plain > 0 || self.line.is_marked(marks) {
            return Leave::Nothing;
        }
        self.line.open_marks(marks);
        Leave::Mark
    }

    fn link(&mut self, element: &Element) -> Leave {
        let target = element.attribute("href").unwrap_or_default();
        let is_code = target.trim_start().get(..11).is_some_and(|start| start.eq_ignore_ascii_case("javascript:"));
        // The title of a section is often a link to itself.
        if target.is_empty() || is_code || self.heading.is_some() && target.starts_with('#') {
            return Leave::Nothing;
        }
        // The writer cuts longer ones. This one may be written for each block in the link.
        let target = &target[..target.floor_char_boundary(LONG_TARGET)];
        match self.part {
            Some(part) => self.line.open_link(&short_target(&(part.target)(target))),
            None => self.line.open_link(&short_target(target)),
        }
        Leave::Mark
    }

    fn image(&mut self, element: &Element) {
        let Some(number) = element.text("alt") else { return };
        let mut alt = Line::default();
        self.page.texts.get(number).iter().for_each(|piece| alt.push(self.page.source, piece));
        let mut alt = alt.take();
        alt.trim_end();
        if !alt.is_blank() {
            self.line.image(&short_target(element.attribute("src").unwrap_or_default()), &alt);
        }
    }

    fn input(&mut self, node: usize, element: &Element) {
        self.drop_alt(element, DropReason::Hidden);
        let is_item = self
            .page
            .nodes
            .around(node)
            .take(3)
            .any(|around| self.page.nodes.element(around).and_then(Element::html) == Some("li"));
        if is_item && element.attribute("type") == Some("checkbox") && self.line.is_at_start() {
            self.line.write(if element.attribute("checked").is_some() { "[x] " } else { "[ ] " });
        }
    }

    fn block(&mut self, node: usize, element: &'p Element) -> Option<Leave> {
        let name = element.name();
        if self.title == Some(node) {
            self.title = None;
            self.flat += 1;
            self.line.open_marks("**");
            return Some(Leave::Label);
        }
        // With a picture in place of the title.
        if name == "td" && element.has_class("icon") && self.is_label() {
            self.drop(node, DropReason::Markup);
            return None;
        }
        if self.flat == 0 && self.lines.is_none() && self.is_admonition(node, element) {
            return Some(self.open_admonition(node, element));
        }
        Some(self.other_block(node, element))
    }

    fn is_admonition(&self, node: usize, element: &Element) -> bool {
        is_admonition(element, self.page.nodes.elements(node).next().map(|(_, first)| first))
    }

    /// Returns whether an element is what Asciidoctor lays a note out with.
    fn is_in_admonitionblock(&self, node: usize) -> bool {
        let around = self.page.nodes.parent(node).and_then(|around| self.page.nodes.element(around));
        around.is_some_and(|around| around.has_class("admonitionblock"))
    }

    /// Opens a note or a warning: a quotation that begins with its title.
    fn open_admonition(&mut self, node: usize, element: &'p Element) -> Leave {
        let page = self.page;
        let (mut left, mut title) = (TITLE_DEPTH, None);
        page.nodes.visit(node, |inner| {
            left = left.saturating_sub(1);
            if inner != node && title.is_none() && left > 0 {
                title = page.nodes.element(inner).filter(|inner| is_admonition_title(inner)).map(|_| inner);
            }
            left > 0 && title.is_none()
        });
        self.writer.open_quote();
        // A title that is no block goes on the line by itself.
        self.title = title.filter(|title| page.nodes.element(*title).is_some_and(|title| is_block(title.name())));
        if self.title.is_none_or(|title| page.string(title).trim().is_empty()) {
            self.title = None;
            if let Some(title) = admonition(element) {
                self.line.write(&format!("**{title}:** "));
                self.label = self.line.len();
            }
        }
        Leave::Containers(1)
    }

    fn other_block(&mut self, node: usize, element: &'p Element) -> Leave {
        let name = element.name();
        if element.has_class("fragment") && name == "div" {
            return self.open_lines(node, element);
        }
        if let Some(level) = heading(name) {
            return self.open_heading(level, element);
        }
        if self.flat > 0 {
            return self.flat_block(element);
        }
        if let Some(label) = self.notes.definitions.get(&node) {
            self.writer.open_footnote(label);
            self.in_note += 1;
            return Leave::Note;
        }
        match name {
            "ul" | "ol" if self.notes.lists.contains(&node) => Leave::Block,
            "ul" | "ol" | "menu" | "dir" => self.open_list(node, element),
            "li" => self.open_item(node, element),
            "dd" => {
                self.writer.open_list(self.is_tight(node));
                self.writer.open_item(":");
                Leave::Containers(2)
            }
            "dt" if element.has_class("sig") => {
                self.plain += 1;
                Leave::Plain
            }
            "blockquote" => {
                self.writer.open_quote();
                Leave::Containers(1)
            }
            "pre" | "listing" | "xmp" | "plaintext" => self.open_lines(node, element),
            // Doxygen has a cell for each part of a function's head.
            "table" if element.has_class("memname") => {
                (self.flat, self.plain) = (self.flat + 1, self.plain + 1);
                Leave::Flat
            }
            "table" if !self.is_layout(node, element) => self.open_table(),
            // Of javadoc.
            "div" if element.has_class("summary-table") => self.open_table(),
            _ => Leave::Block,
        }
    }

    fn open_table(&mut self) -> Leave {
        self.table = Some(Table::default());
        self.flat += 1;
        Leave::Table
    }

    /// Opens a block on a line that has others.
    fn flat_block(&mut self, element: &Element) -> Leave {
        let name = element.name();
        if matches!(name, "pre" | "listing" | "xmp") {
            self.line.open_code();
            return Leave::FlatCode;
        }
        // Tables in cells have a line that is flat twice.
        if self.flat == 1
            && let Some(table) = &mut self.table
        {
            match name {
                "tr" => table.row(),
                "td" | "th" => {
                    let number =
                        |name| element.attribute(name).and_then(|value| value.trim().parse().ok()).unwrap_or(1);
                    table.open(number("colspan"), number("rowspan"));
                    self.flat += 1;
                    self.plain += usize::from(name == "th");
                    return if name == "th" { Leave::HeadCell } else { Leave::Cell };
                }
                "div" if element.classes().any(|class| class.starts_with("col-")) => {
                    if element.has_class("col-first") {
                        table.row();
                    }
                    self.flat += 1;
                    return Leave::Cell;
                }
                "caption" => {
                    self.flat += 1;
                    return Leave::Caption;
                }
                _ => {}
            }
        }
        Leave::Block
    }

    fn open_heading(&mut self, level: u8, element: &Element) -> Leave {
        if self.flat > 0 {
            return Leave::Block;
        }
        let id = element.attribute("id").unwrap_or_default();
        self.heading = Some(self.named(id));
        (self.flat, self.plain) = (self.flat + 1, self.plain + 1);
        Leave::Heading(level)
    }

    fn open_list(&mut self, node: usize, element: &Element) -> Leave {
        let items = self.page.nodes.elements(node);
        let is_tight = items.filter(|(_, item)| item.html() == Some("li")).all(|(item, _)| self.is_tight(item));
        self.writer.open_list(is_tight);
        let start = element.attribute("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
        self.lists.push(List { next: (element.name() == "ol").then_some(start) });
        Leave::List
    }

    fn open_item(&mut self, node: usize, element: &Element) -> Leave {
        let parent = self.page.nodes.parent(node).and_then(|parent| self.page.nodes.element(parent));
        if !parent.and_then(Element::html).is_some_and(|name| matches!(name, "ul" | "ol" | "menu" | "dir")) {
            return Leave::Block;
        }
        let Some(list) = self.lists.last_mut() else { return Leave::Block };
        match &mut list.next {
            Some(next) => {
                let number = element.attribute("value").and_then(|value| value.trim().parse().ok()).unwrap_or(*next);
                *next = number.saturating_add(1);
                self.writer.open_item(&format!("{number}."));
            }
            None => self.writer.open_item("-"),
        }
        Leave::Containers(1)
    }

    /// Returns whether an item has one paragraph at most.
    fn is_tight(&self, item: usize) -> bool {
        let mut paragraphs = 0;
        self.page.nodes.elements(item).filter_map(|(_, element)| element.html()).all(|name| {
            paragraphs += usize::from(name == "p");
            let is_part = matches!(name, "ul" | "ol" | "menu" | "dir" | "dl" | "p");
            paragraphs < 2 && (is_part || !is_block(name))
        })
    }

    /// Returns whether a table is there to place what is in it.
    fn is_layout(&self, table: usize, element: &Element) -> bool {
        const BLOCKS: &[&str] = &["blockquote", "div", "dl", "form", "ol", "p", "pre", "section", "table", "ul"];
        let is_role = element.has_role("presentation") || element.has_role("none");
        if is_role || is_code_table(element) || self.is_in_admonitionblock(table) {
            return true;
        }
        let (mut cells, mut rows, mut titles, mut blocks) = (0, 0, false, false);
        self.page.nodes.visit(table, |node| {
            let Some(inner) = self.page.nodes.element(node).filter(|_| node != table) else { return true };
            if self.plan.reason(self.page, node, inner).is_some() {
                return false;
            }
            let name = inner.html().unwrap_or_default();
            match name {
                "tr" => rows += 1,
                "td" | "th" => cells += 1,
                _ => {
                    titles |= heading(name).is_some();
                    blocks |= BLOCKS.contains(&name);
                }
            }
            name != "table"
        });
        cells < 2 || titles || rows < 2 && blocks
    }

    fn open_lines(&mut self, node: usize, element: &'p Element) -> Leave {
        if self.flat > 0 {
            self.line.open_code();
            return Leave::FlatCode;
        }
        let page = self.page;
        let nodes = &page.nodes;
        let first = |&(node, _): &(usize, &'p Element)| nodes.elements(node).next();
        let inside = std::iter::successors(nodes.elements(node).next(), first).take(AROUND_CODE);
        let inside = inside.map(|(_, inner)| inner).filter(|inner| matches!(inner.html(), Some("code" | "pre")));
        let around = nodes.around(node).take(AROUND_CODE).filter_map(|around| nodes.element(around));
        let found = std::iter::once(element).chain(inside).chain(around).find_map(language).unwrap_or_default();
        self.lines = Some(Lines { code: Inline::new(), language: found.to_owned() });
        Leave::Lines
    }

    /// Enters an element in lines that are read as they are.
    fn in_lines(&mut self, element: &Element) -> Option<Leave> {
        if matches!(element.name(), "img" | "input") {
            self.drop_alt(element, DropReason::Hidden);
        }
        let Some(lines) = &mut self.lines else { return Some(Leave::Nothing) };
        match element.name() {
            "br" => {
                lines.code.write("\n");
                return None;
            }
            "td" | "th" => lines.gap(),
            "sup" => return Some(Leave::RaisedCode(lines.code.as_str().len())),
            name if is_block(name) => {
                lines.end_line();
                return Some(Leave::Block);
            }
            _ => {}
        }
        Some(Leave::Nothing)
    }

    /// Reads a formula: as it was written if the page has that, otherwise as it is shown.
    fn math(&mut self, node: usize, element: &Element) -> Option<Leave> {
        let page = self.page;
        let (mut source, mut is_last) = (None, false);
        page.nodes.visit(node, |inner| {
            let Some(element) = page.nodes.element(inner).filter(|_| source.is_none()) else { return false };
            let encoding = element.attribute("encoding").unwrap_or_default();
            if element.name() == "annotation" && encoding.contains("tex") {
                source = Some(inner);
            }
            true
        });
        let mut formula = Line::default();
        if let Some(source) = source {
            for text in page.nodes.children(source) {
                if let Kind::Text { number, .. } = page.nodes.kind(text) {
                    page.texts.get(*number).iter().for_each(|piece| formula.push(page.source, piece));
                    is_last = true;
                }
            }
        } else if let Some(number) = element.text("alttext") {
            page.texts.get(number).iter().for_each(|piece| formula.push(page.source, piece));
        }
        if formula.is_blank() {
            self.drop_alt(element, DropReason::Repeated);
            self.line.gap();
            return Some(Leave::Nothing);
        }
        // The rest of the element is the same formula in another form.
        if is_last {
            self.drop_alt(element, DropReason::Repeated);
        }
        let inner: Vec<usize> = page.nodes.children(node).collect();
        for child in inner {
            self.drop_but(child, source);
        }
        let is_display = element.attribute("display") == Some("block");
        self.formula(formula.take(), is_display);
        None
    }

    /// Counts the text of a node, except the text directly in another node.
    fn drop_but(&mut self, root: usize, kept: Option<usize>) {
        let page = self.page;
        let writer = &mut *self.writer;
        page.nodes.visit(root, |node| {
            match page.nodes.kind(node) {
                Kind::Text { number, .. } if page.nodes.parent(node) != kept => {
                    page.pieces(*number, |text| writer.drop(DropReason::Repeated, text));
                }
                Kind::Element(element) => {
                    for number in ["alt", "alttext"].into_iter().filter_map(|name| element.text(name)) {
                        page.pieces(number, |text| writer.drop(DropReason::Repeated, text));
                    }
                }
                _ => {}
            }
            true
        });
    }

    fn formula(&mut self, mut formula: Inline, is_display: bool) {
        formula.trim_end();
        match &mut self.lines {
            Some(lines) => lines.code.append(&formula),
            None if is_display && self.flat == 0 => {
                self.flush();
                self.write_names();
                self.writer.math(&formula);
            }
            None => self.line.math(&formula),
        }
    }

    /// Reads a script that is a formula, and returns whether it is one.
    fn script(&mut self, node: usize, element: &Element) -> bool {
        let Some(kind) = element.attribute("type").filter(|kind| kind.starts_with("math/tex")) else { return false };
        self.drop_alt(element, DropReason::Hidden);
        let mut formula = Line::default();
        for text in self.page.nodes.children(node) {
            if let Kind::Text { number, .. } = self.page.nodes.kind(text) {
                self.page.texts.get(*number).iter().for_each(|piece| formula.push(self.page.source, piece));
            }
        }
        if !formula.is_blank() {
            self.formula(formula.take(), kind.contains("display"));
        }
        true
    }

    fn leave(&mut self, leave: Leave) {
        match leave {
            Leave::Nothing => {}
            Leave::Root => {
                self.flush();
                self.inside = 0;
            }
            Leave::Block => match &mut self.lines {
                Some(lines) => lines.end_line(),
                None => self.break_block(),
            },
            Leave::Mark => self.line.close_mark(),
            Leave::Quoted => {
                self.quotes -= 1;
                self.line.write(if self.quotes.is_multiple_of(2) { "\u{201d}" } else { "\u{2019}" });
            }
            Leave::Label => {
                self.flat -= 1;
                self.line.close_label();
                self.label = self.line.len();
            }
            Leave::Code => self.line.close_code(),
            Leave::RaisedCode(start) => match &mut self.lines {
                Some(lines) => lines.code.raise(start),
                None => self.line.raise_code(start),
            },
            Leave::FlatCode => {
                self.line.close_code();
                self.line.gap();
            }
            Leave::Containers(count) => {
                self.flush();
                (0..count).for_each(|_| self.writer.close());
            }
            Leave::List => {
                self.flush();
                self.lists.pop();
                self.writer.close();
            }
            Leave::Note => {
                self.flush();
                self.in_note -= 1;
                self.writer.close();
            }
            Leave::Plain => {
                self.plain -= 1;
                self.flush();
            }
            Leave::Flat => {
                (self.flat, self.plain) = (self.flat - 1, self.plain - 1);
                self.flush();
            }
            Leave::HeadCell => {
                self.plain -= 1;
                self.leave(Leave::Cell);
            }
            Leave::Heading(level) => self.close_heading(level),
            Leave::Lines => self.close_lines(),
            Leave::Caption => {
                self.flat -= 1;
                let caption = self.line.take();
                if let Some(table) = &mut self.table {
                    table.caption = caption;
                }
            }
            Leave::Cell => {
                self.flat -= 1;
                let cell = self.line.take();
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            Leave::Table => self.close_table(),
        }
    }

    fn close_heading(&mut self, level: u8) {
        (self.flat, self.plain) = (self.flat - 1, self.plain - 1);
        let title = self.line.take();
        let own = self.heading.take().filter(|name| !name.is_empty()).or_else(|| self.names.pop());
        if title.is_blank() {
            self.writer.paragraph(&title);
            self.names.extend(own);
            return;
        }
        self.write_names();
        if let Some(own) = &own {
            self.place(own);
        }
        self.writer.heading(level.saturating_add(self.below), &title, own.as_deref());
    }

    fn close_lines(&mut self) {
        let Some(lines) = self.lines.take() else { return };
        if !lines.code.is_blank() {
            self.write_names();
        }
        self.writer.code(&lines.language, &lines.code);
    }

    fn close_table(&mut self) {
        let rest = self.line.take();
        self.flat -= 1;
        let Some(mut table) = self.table.take() else { return };
        if rest.is_blank() {
            self.writer.paragraph(&rest);
        } else {
            table.cell(rest);
        }
        self.write_names();
        self.writer.paragraph(&table.caption);
        self.writer.table(&table.rows);
    }

    /// Takes the names of an element for links.
    fn name(&mut self, element: &Element) {
        if self.lines.is_some() {
            return;
        }
        let name = element.attribute("name").filter(|_| element.html() == Some("a"));
        for name in element.attribute("id").into_iter().chain(name).filter(|name| !name.is_empty()) {
            let name = self.named(name);
            match &mut self.heading {
                Some(heading) if heading.is_empty() => *heading = name,
                Some(heading) if *heading == name => {}
                _ if self.flat > 0 || !self.line.is_blank() => self.line.anchor(&name),
                _ if self.names.last() == Some(&name) => {}
                _ => self.names.push(name),
            }
        }
    }

    /// Returns the name of an element in the file.
    fn named(&self, id: &str) -> String {
        self.part.filter(|_| !id.is_empty()).map_or_else(|| id.to_owned(), |part| part.element(id))
    }

    /// Writes the names of the block that comes next.
    fn write_names(&mut self) {
        for name in std::mem::take(&mut self.names) {
            self.place(&name);
            match self.part.and_then(|part| part.titles.get(&name)).filter(|_| self.titled) {
                Some(title) => self.writer.heading(title.level, &Inline::from(&*title.text), Some(&name)),
                None => self.writer.anchor(&name),
            }
        }
    }

    /// Says that what follows is from a place of a larger file.
    fn place(&mut self, name: &str) {
        if self.part.is_some() {
            self.writer.place(Place::new(name));
        }
    }

    /// Returns whether the line is only the title of a note.
    fn is_label(&self) -> bool {
        self.label > 0 && self.label == self.line.len() && self.flat == 0
    }

    /// Ends what is before a block.
    fn break_block(&mut self) {
        if self.flat > 0 {
            self.line.gap();
        } else if !self.is_label() {
            self.flush();
        }
    }

    /// Writes the paragraph so far.
    fn flush(&mut self) {
        if self.flat > 0 {
            self.line.gap();
            return;
        }
        self.label = 0;
        let text = self.line.take();
        if !text.is_blank() {
            self.write_names();
        }
        // Of a blank one, it counts what is not seen.
        self.writer.paragraph(&text);
    }
}
