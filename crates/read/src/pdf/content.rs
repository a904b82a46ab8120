//! Reads the content of pages: each glyph with its text and its place, and the straight lines of tables. Only what determines
//! text is interpreted; colours and pictures are passed over, so they cost nothing.

use std::collections::HashSet;
use std::rc::Rc;

use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, ObjectIdentifier, Stream, String as Bytes};
use hayro_syntax::page::{Page, Resources};
use hayro_syntax::xref::XRef;

use super::about::text_of;
use super::font::{Face, Fonts, Look};
use super::rule::{Pen, Rule};
use super::stream::Room;

/// Glyphs that a document may have.
const GLYPHS: usize = 2_000_000;

/// Operators that a document may have.
const OPERATORS: u64 = 40_000_000;

/// Cost of starting a form, in operators. Forms may show each other again and again.
const FORM: u64 = 2000;

/// Deepest nesting of forms.
const DEPTH: u32 = 12;

/// Pictures in the content of a page that may begin before the one before them ends: their bytes may look like that.
const OPEN_IMAGES: usize = 20;

/// Deepest nesting of saved states and of marked content.
const STATES: usize = 512;

/// A transform: the point (x, y) goes to (a x + c y + e, b x + d y + f).
pub(super) type Matrix = [f64; 6];

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// Returns the transform that does `second` after `first`.
pub(super) fn then(first: &Matrix, second: &Matrix) -> Matrix {
    [
        second[0] * first[0] + second[2] * first[1],
        second[1] * first[0] + second[3] * first[1],
        second[0] * first[2] + second[2] * first[3],
        second[1] * first[2] + second[3] * first[3],
        second[0] * first[4] + second[2] * first[5] + second[4],
        second[1] * first[4] + second[3] * first[5] + second[5],
    ]
}

/// Returns where a point is on the page.
#[expect(clippy::cast_possible_truncation, reason = "places on a page are small")]
fn place(matrix: &Matrix, x: f64, y: f64) -> [f32; 2] {
    [(matrix[0] * x + matrix[2] * y + matrix[4]) as f32, (matrix[1] * x + matrix[3] * y + matrix[5]) as f32]
}

fn point(matrix: &Matrix, x: &Number, y: &Number) -> [f32; 2] {
    place(matrix, x.as_f64(), y.as_f64())
}

/// A glyph on a page, in a system in which its line runs to the right and y grows downwards.
#[derive(Debug, Clone)]
pub(super) struct Glyph {
    pub(super) text: Rc<str>,
    pub(super) x: f32,
    pub(super) end: f32,
    /// Its baseline.
    pub(super) y: f32,
    pub(super) size: f32,
    pub(super) look: Look,
    /// The direction of its line in degrees, clockwise, from 0 to 359.
    pub(super) angle: i16,
}

/// The content of a page, as it was read.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) glyphs: Vec<Glyph>,
    /// Straight lines. Each is in the system of the page: x to the right, y down.
    pub(super) rules: Vec<Rule>,
    /// Text that the file itself marks as headers and footers.
    pub(super) running: String,
    /// Text in layers that are switched off, or outside of the page.
    pub(super) hidden: String,
    /// Glyphs without a known text.
    pub(super) unknown: u64,
    /// Whether there are pictures.
    pub(super) pictures: bool,
    /// Whether anything is painted.
    pub(super) drawn: bool,
}

/// Reads pages one after the other.
pub(super) struct Interpreter<'a> {
    xref: &'a XRef,
    fonts: Fonts<'a>,
    room: Room,
    operators: u64,
    glyphs: usize,
    /// Layers that are switched off.
    off: HashSet<ObjectIdentifier>,
    /// Whether a limit was reached.
    pub(super) cut: bool,
    page: Content,
    width: f32,
    height: f32,
}

#[derive(Clone)]
struct State<'a> {
    matrix: Matrix,
    face: Option<Rc<Face<'a>>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

impl State<'_> {
    fn new(matrix: Matrix) -> Self {
        Self { matrix, face: None, size: 1.0, char_space: 0.0, word_space: 0.0, scale: 1.0, leading: 0.0, rise: 0.0 }
    }
}

/// Content between two marks.
#[derive(Debug, Default)]
struct Marked {
    /// Whether it is hidden, with all inside.
    hidden: bool,
    /// Whether it is a header or footer, with all inside.
    running: bool,
    /// The text it stands for, and the first of its glyphs.
    actual: Option<(String, usize)>,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(xref: &'a XRef) -> Self {
        Self {
            xref,
            fonts: Fonts::new(),
            room: Room::new(),
            operators: 0,
            glyphs: 0,
            off: layers_off(xref),
            cut: false,
            page: Content::default(),
            width: 0.0,
            height: 0.0,
        }
    }

    /// Reads a page.
    pub(super) fn read(&mut self, page: &Page<'a>) -> Content {
        self.page = Content::default();
        (self.width, self.height) = page.render_dimensions();
        let mut content = Vec::new();
        if let Some(stream) = page.raw().get::<Stream<'_>>(keys::CONTENTS) {
            content = self.room.unpack(&stream).unwrap_or_default();
        } else if let Some(parts) = page.raw().get::<Array<'_>>(keys::CONTENTS) {
            for stream in parts.iter::<Stream<'_>>() {
                content.extend(self.room.unpack(&stream).unwrap_or_default());
                content.push(b' ');
            }
        }
        let matrix = page.initial_transform(true).as_coeffs();
        self.run(&content, page.resources(), State::new(matrix), 0, false);
        self.annotations(page, &matrix);
        std::mem::take(&mut self.page)
    }

    /// Reads the text of forms that are filled in and of notes on the page.
    fn annotations(&mut self, page: &Page<'a>, matrix: &Matrix) {
        let Some(all) = page.raw().get::<Array<'_>>(keys::ANNOTS) else { return };
        for note in all.iter::<Dict<'_>>().take(10_000) {
            // Hidden, or not to be seen.
            if note.get::<i32>(keys::F).unwrap_or_default() & 0b10_0010 != 0 {
                continue;
            }
            let kind = note.get::<Name<'_>>(keys::SUBTYPE);
            let shown = kind.is_some_and(|kind| matches!(kind.as_ref(), b"Widget" | b"FreeText" | b"Stamp"));
            let Some(looks) = note.get::<Dict<'_>>(b"AP").filter(|_| shown) else { continue };
            let state = note.get::<Name<'_>>(b"AS");
            let form = looks
                .get::<Stream<'_>>(b"N")
                .or_else(|| looks.get::<Dict<'_>>(b"N").and_then(|states| states.get::<Stream<'_>>(state?.as_ref())));
            let rect = note.get::<hayro_syntax::object::Rect>(keys::RECT);
            let (Some(form), Some(rect)) = (form, rect) else { continue };
            let own = form.dict().get::<[f64; 6]>(keys::MATRIX).unwrap_or(IDENTITY);
            let bounds = form.dict().get::<hayro_syntax::object::Rect>(b"BBox");
            let corner = bounds.map_or((0.0, 0.0), |bounds| {
                let x = own[0] * bounds.x0 + own[2] * bounds.y0 + own[4];
                (x, own[1] * bounds.x0 + own[3] * bounds.y0 + own[5])
            });
            let moved = [1.0, 0.0, 0.0, 1.0, rect.x0 - corner.0, rect.y0 - corner.1];
            self.form(&form, page.resources(), State::new(then(&moved, matrix)), 1, false);
        }
    }

    fn form(&mut self, form: &Stream<'a>, outer: &Resources<'a>, mut state: State<'a>, depth: u32, hidden: bool) {
        self.operators += FORM;
        if depth > DEPTH || self.operators > OPERATORS {
            self.cut = true;
            return;
        }
        let Some(content) = self.room.unpack(form) else {
            self.cut = true;
            return;
        };
        if let Some(own) = form.dict().get::<[f64; 6]>(keys::MATRIX) {
            state.matrix = then(&own, &state.matrix);
        }
        let own = form.dict().get::<Dict<'_>>(keys::RESOURCES).map(Resources::new);
        self.run(&content, own.as_ref().unwrap_or(outer), state, depth, hidden);
    }

    #[expect(clippy::too_many_lines, reason = "one row for each operator")]
    fn run(&mut self, content: &[u8], resources: &Resources<'a>, state: State<'a>, depth: u32, hidden: bool) {
        let mut state = state;
        let (mut saved, mut marked): (Vec<State<'a>>, Vec<Marked>) = (Vec::new(), Vec::new());
        let (mut text, mut line) = (IDENTITY, IDENTITY);
        let mut pen = Pen::default();
        let closed = closed(content);
        self.cut |= closed.len() < content.len();
        let mut operators = TypedIter::new(closed);
        let is_hidden = |marked: &[Marked]| hidden || marked.last().is_some_and(|marked| marked.hidden);
        while let Some(operator) = operators.next() {
            self.operators += 1;
            if self.operators > OPERATORS || self.glyphs > GLYPHS {
                self.cut = true;
                return;
            }
            match operator {
                Op::SaveState(_) if saved.len() < STATES => saved.push(state.clone()),
                Op::RestoreState(_) => state = saved.pop().unwrap_or(state),
                Op::Transform(by) => {
                    let by = [&by.0, &by.1, &by.2, &by.3, &by.4, &by.5].map(Number::as_f64);
                    state.matrix = then(&by, &state.matrix);
                }
                Op::SetGraphicsState(name) => {
                    let font = resources.get_ext_g_state(name.0).and_then(|all| all.get::<Array<'_>>(keys::FONT));
                    if let Some(font) = font {
                        let mut parts = font.flex_iter();
                        let dict = parts.next::<Dict<'_>>();
                        let size = parts.next::<f32>();
                        if let (Some(dict), Some(size)) = (dict, size) {
                            state.face = Some(self.fonts.face(&dict, &mut self.room));
                            state.size = size.into();
                        }
                    }
                }
                Op::XObject(name) => {
                    let Some(object) = resources.get_x_object(name.0) else { continue };
                    let hidden = is_hidden(&marked) || self.is_off(object.dict().get_ref(keys::OC).map(Into::into));
                    match object.dict().get::<Name<'_>>(keys::SUBTYPE).as_deref() {
                        Some(b"Form") => self.form(&object, resources, state.clone(), depth + 1, hidden),
                        Some(b"Image") => (self.page.pictures, self.page.drawn) = (true, true),
                        _ => {}
                    }
                }
                Op::InlineImage(_) => (self.page.pictures, self.page.drawn) = (true, true),
                Op::MoveTo(to) => pen.start(point(&state.matrix, &to.0, &to.1)),
                Op::LineTo(to) => pen.line(point(&state.matrix, &to.0, &to.1)),
                Op::CubicTo(by) => pen.curve(point(&state.matrix, &by.4, &by.5)),
                Op::CubicStartTo(by) => pen.curve(point(&state.matrix, &by.2, &by.3)),
                Op::CubicEndTo(by) => pen.curve(point(&state.matrix, &by.2, &by.3)),
                Op::ClosePath(_) => pen.close(),
                Op::RectPath(by) => {
                    let [x, y, width, height] = [&by.0, &by.1, &by.2, &by.3].map(Number::as_f64);
                    let corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)];
                    pen.rectangle(corners.map(|(x, y)| place(&state.matrix, x, y)));
                }
                Op::EndPath(_) => pen.paint(false, false, &mut self.page.rules),
                Op::StrokePath(_) => self.paint(&mut pen, true, false, is_hidden(&marked)),
                Op::CloseAndStrokePath(_) => {
                    pen.close();
                    self.paint(&mut pen, true, false, is_hidden(&marked));
                }
                Op::FillPathNonZero(_) | Op::FillPathNonZeroCompatibility(_) | Op::FillPathEvenOdd(_) => {
                    self.paint(&mut pen, false, true, is_hidden(&marked));
                }
                Op::FillAndStrokeNonZero(_)
                | Op::FillAndStrokeEvenOdd(_)
                | Op::CloseFillAndStrokeNonZero(_)
                | Op::CloseFillAndStrokeEvenOdd(_) => {
                    pen.close();
                    self.paint(&mut pen, true, true, is_hidden(&marked));
                }
                Op::Shading(_) => self.page.drawn = true,
                Op::BeginMarkedContent(mark) if marked.len() < STATES => {
                    marked.push(Marked { hidden: is_hidden(&marked), ..self.mark(mark.0, None, resources, &marked) });
                }
                Op::BeginMarkedContentWithProperties(mark) if marked.len() < STATES => {
                    let mark = self.mark(mark.0, Some(mark.1), resources, &marked);
                    marked.push(Marked { hidden: mark.hidden || is_hidden(&marked), ..mark });
                }
                Op::EndMarkedContent(_) => {
                    if let Some((actual, first)) = marked.pop().and_then(|mark| mark.actual) {
                        self.replace(&actual, first);
                    }
                }
                Op::BeginText(_) => (text, line) = (IDENTITY, IDENTITY),
                Op::SetTextMatrix(to) => {
                    line = [&to.0, &to.1, &to.2, &to.3, &to.4, &to.5].map(Number::as_f64);
                    text = line;
                }
                Op::TextFont(font) => {
                    state.size = font.1.as_f64();
                    state.face = resources.get_font(font.0).map(|dict| self.fonts.face(&dict, &mut self.room));
                }
                Op::HorizontalScaling(scale) => state.scale = scale.0.as_f64() / 100.0,
                Op::TextLeading(leading) => state.leading = leading.0.as_f64(),
                Op::CharacterSpacing(space) => state.char_space = space.0.as_f64(),
                Op::WordSpacing(space) => state.word_space = space.0.as_f64(),
                Op::TextRise(rise) => state.rise = rise.0.as_f64(),
                Op::NextLine(by) => {
                    line = then(&[1.0, 0.0, 0.0, 1.0, by.0.as_f64(), by.1.as_f64()], &line);
                    text = line;
                }
                Op::NextLineAndSetLeading(by) => {
                    state.leading = -by.1.as_f64();
                    line = then(&[1.0, 0.0, 0.0, 1.0, by.0.as_f64(), by.1.as_f64()], &line);
                    text = line;
                }
                Op::NextLineUsingLeading(_) => {
                    line = then(&[1.0, 0.0, 0.0, 1.0, 0.0, -state.leading], &line);
                    text = line;
                }
                Op::NextLineAndShowText(shown) => {
                    line = then(&[1.0, 0.0, 0.0, 1.0, 0.0, -state.leading], &line);
                    text = line;
                    self.show(shown.0.as_ref(), &state, &mut text, marked.last(), is_hidden(&marked));
                }
                Op::ShowTextWithParameters(shown) => {
                    (state.word_space, state.char_space) = (shown.0.as_f64(), shown.1.as_f64());
                    line = then(&[1.0, 0.0, 0.0, 1.0, 0.0, -state.leading], &line);
                    text = line;
                    self.show(shown.2.as_ref(), &state, &mut text, marked.last(), is_hidden(&marked));
                }
                Op::ShowText(shown) => {
                    self.show(shown.0.as_ref(), &state, &mut text, marked.last(), is_hidden(&marked));
                }
                Op::ShowTexts(shown) => {
                    for part in shown.0.iter::<Object<'_>>() {
                        match part {
                            Object::Number(by) => {
                                let by = -by.as_f64() / 1000.0 * state.size;
                                let horizontal = state.face.as_ref().is_none_or(|face| face.is_horizontal());
                                let by = if horizontal { (by * state.scale, 0.0) } else { (0.0, by) };
                                text = then(&[1.0, 0.0, 0.0, 1.0, by.0, by.1], &text);
                            }
                            Object::String(part) => {
                                self.show(part.as_ref(), &state, &mut text, marked.last(), is_hidden(&marked));
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Paints a path.
    fn paint(&mut self, pen: &mut Pen, stroke: bool, fill: bool, hidden: bool) {
        self.page.drawn = true;
        pen.paint(stroke && !hidden, fill && !hidden, &mut self.page.rules);
    }

    /// Reads what is said about marked content.
    fn mark(
        &self,
        tag: &Name<'_>,
        properties: Option<&Object<'_>>,
        resources: &Resources<'a>,
        around: &[Marked],
    ) -> Marked {
        let mut mark = Marked { running: around.last().is_some_and(|around| around.running), ..Marked::default() };
        match properties {
            Some(Object::Name(name)) => {
                if tag.as_ref() == b"OC" {
                    mark.hidden = self.is_off(resources.properties.get_ref(name.as_ref()).map(Into::into));
                }
                if let Some(dict) = resources.properties.get::<Dict<'_>>(name.as_ref()) {
                    self.describe(&mut mark, tag, &dict);
                }
            }
            Some(Object::Dict(dict)) => self.describe(&mut mark, tag, dict),
            _ => {}
        }
        mark
    }

    fn describe(&self, mark: &mut Marked, tag: &Name<'_>, dict: &Dict<'_>) {
        if tag.as_ref() == b"Artifact" && dict.get::<Name<'_>>(keys::TYPE).as_deref() == Some(b"Pagination") {
            mark.running = true;
        }
        if let Some(actual) = dict.get::<Bytes<'_>>(b"ActualText") {
            mark.actual = Some((text_of(actual.as_ref()), self.page.glyphs.len()));
        }
    }

    /// Gives the glyphs from `first` on the text that the file says they stand for. A text for more than a word has no
    /// place on the page; then the glyphs' own is better.
    fn replace(&mut self, actual: &str, first: usize) {
        let Some(glyphs) = self.page.glyphs.get_mut(first..) else { return };
        let Some((head, rest)) = glyphs.split_first_mut() else { return };
        let one = rest.iter().all(|glyph| {
            glyph.angle == head.angle && (glyph.y - head.y).abs() < head.size && glyph.x >= head.x - head.size
        });
        if !one || rest.len() > 32 || actual.chars().count() > 32 {
            return;
        }
        head.end = rest.iter().map(|glyph| glyph.end).fold(head.end, f32::max);
        let actual = actual.trim_matches(['\u{ad}', '\u{200b}', '\u{feff}']);
        if !actual.is_empty() {
            head.text = Rc::from(actual);
        }
        self.page.glyphs.truncate(first + 1);
    }

    fn is_off(&self, layer: Option<ObjectIdentifier>) -> bool {
        let Some(layer) = layer else { return false };
        if self.off.is_empty() {
            return false;
        }
        let members = self.xref.get::<Dict<'_>>(layer).and_then(|dict| dict.get_ref(b"OCGs"));
        self.off.contains(&layer) || members.is_some_and(|member| self.off.contains(&member.into()))
    }

    #[expect(clippy::cast_possible_truncation, reason = "places on a page are small")]
    fn show(&mut self, bytes: &[u8], state: &State<'a>, text: &mut Matrix, mark: Option<&Marked>, hidden: bool) {
        let Some(face) = &state.face else { return };
        let horizontal = face.is_horizontal();
        let mut at = 0;
        while at < bytes.len() && self.glyphs <= GLYPHS {
            let (code, len) = face.code(bytes, at);
            at += len.max(1);
            let (advance, glyph) = face.glyph(code);
            let space = if len == 1 && code == 32 { state.word_space } else { 0.0 };
            let width = f64::from(advance) / 1000.0 * state.size;
            let by = width + state.char_space + space;
            let place = then(text, &state.matrix);
            *text = if horizontal {
                then(&[1.0, 0.0, 0.0, 1.0, by * state.scale, 0.0], text)
            } else {
                then(&[1.0, 0.0, 0.0, 1.0, 0.0, by], text)
            };
            self.glyphs += 1;
            let Some(glyph) = glyph else {
                self.page.unknown += 1;
                continue;
            };
            if glyph.is_empty() {
                continue;
            }
            if hidden {
                self.page.hidden.push_str(&glyph);
                continue;
            }
            if mark.is_some_and(|mark| mark.running) {
                self.page.running.push_str(&glyph);
                continue;
            }
            // Letters of a vertical line are upright: one line each.
            let (x, y) = (state.rise * place[2] + place[4], state.rise * place[3] + place[5]);
            let along = (place[0].hypot(place[1])).max(1e-9);
            let (cos, sin) = (place[0] / along, place[1] / along);
            // An upright glyph is as high as its matrix; the size of one on its side, or mirrored, as well.
            let size = (place[2].hypot(place[3]) * state.size.abs()) as f32;
            let mirrored = if state.size * state.scale < 0.0 { -1.0 } else { 1.0 };
            let width = (if horizontal { width * state.scale } else { state.size }).abs() * along;
            let (cos, sin) = (cos * mirrored, sin * mirrored);
            if ![x, y, width, f64::from(size)].iter().all(|value| value.is_finite() && value.abs() < 1e6) {
                self.page.hidden.push_str(&glyph);
                continue;
            }
            if x < -f64::from(self.width) * 0.02
                || y < -f64::from(self.height) * 0.02
                || x > f64::from(self.width) * 1.02
                || y > f64::from(self.height) * 1.02
            {
                self.page.hidden.push_str(&glyph);
                continue;
            }
            let angle = sin.atan2(cos).to_degrees().round().rem_euclid(360.0);
            // Small errors of rounding are no rotation.
            let angle = if (angle % 90.0).min(90.0 - angle % 90.0) <= 2.0 {
                (angle / 90.0).round() * 90.0 % 360.0
            } else {
                angle
            };
            let (sin, cos) = angle.to_radians().sin_cos();
            let start = (x * cos + y * sin) as f32;
            self.page.glyphs.push(Glyph {
                text: glyph,
                x: start,
                end: start + width as f32,
                y: (y * cos - x * sin) as f32,
                size: size.max(0.1),
                look: face.look,
                angle: angle as i16,
            });
        }
        if at < bytes.len() {
            self.cut = true;
        }
    }
}

/// Returns content up to where pictures begin that do not end. The library looks for the end of each one in all that
/// follows it.
fn closed(content: &[u8]) -> &[u8] {
    let (mut open, mut count, mut at) = (false, 0, 0);
    while let Some(found) = content[at..].windows(2).position(|pair| matches!(pair, b"BI" | b"EI")) {
        let start = at + found;
        at = start + 2;
        let is_word = |byte: Option<&u8>| byte.is_none_or(|byte| byte.is_ascii_whitespace() || b"/<".contains(byte));
        if !is_word(start.checked_sub(1).and_then(|before| content.get(before))) || !is_word(content.get(at)) {
            continue;
        }
        let begins = content[start] == b'B';
        count += usize::from(begins && open);
        if count > OPEN_IMAGES {
            return &content[..start];
        }
        open = begins;
    }
    content
}

/// Returns the layers that are switched off.
fn layers_off(xref: &XRef) -> HashSet<ObjectIdentifier> {
    let root = xref.get::<Dict<'_>>(xref.root_id()).unwrap_or_default();
    let settings = root.get::<Dict<'_>>(b"OCProperties").and_then(|all| all.get::<Dict<'_>>(b"D"));
    let off = settings.and_then(|settings| settings.get::<Array<'_>>(b"OFF"));
    let layers = off.into_iter().flat_map(|off| off.raw_iter().take(100_000).collect::<Vec<_>>());
    layers.filter_map(|layer| layer.as_obj_ref()).map(Into::into).collect()
}
