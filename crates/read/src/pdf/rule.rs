//! The straight lines that a page draws, by which ruled tables are found.

/// Thickest line, in points. Thicker ones are areas.
const THICK: f32 = 3.0;

/// Shortest line, in points. Shorter ones are dashes, bars of fractions and parts of pictures.
const SHORT: f32 = 8.0;

/// Lines of a page, and parts of a path. Drawings have more.
const MAX_RULES: usize = 8000;
const MAX_PARTS: usize = 2000;

/// A horizontal or vertical line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) from: f32,
    pub(super) to: f32,
    /// Its height, or how far to the right it is if it is vertical.
    pub(super) at: f32,
    pub(super) vertical: bool,
}

impl Rule {
    /// Returns a line between two points of a page, if it is straight and long enough.
    fn between(a: [f32; 2], b: [f32; 2]) -> Option<Self> {
        let (across, down) = ((a[0] - b[0]).abs(), (a[1] - b[1]).abs());
        let vertical = down > across;
        let (along, slant) = if vertical { (down, across) } else { (across, down) };
        let is_near = a.iter().chain(&b).all(|value| value.abs() < 1e6);
        if !(along >= SHORT && slant <= 0.5 && is_near) {
            return None;
        }
        let axis = usize::from(vertical);
        let at = f32::midpoint(a[1 - axis], b[1 - axis]);
        Some(Self { from: a[axis].min(b[axis]), to: a[axis].max(b[axis]), at, vertical })
    }

    /// Returns the line in a system that is turned clockwise by a multiple of 90 degrees, as words at this angle are.
    pub(super) fn turned(self, angle: i16) -> Option<Self> {
        let turn = |[x, y]: [f32; 2]| match angle {
            0 => Some([x, y]),
            90 => Some([y, -x]),
            180 => Some([-x, -y]),
            270 => Some([-y, x]),
            _ => None,
        };
        let [a, b] = [self.from, self.to].map(|end| if self.vertical { [self.at, end] } else { [end, self.at] });
        Self::between(turn(a)?, turn(b)?)
    }
}

/// The path that is being drawn, in points of the page.
#[derive(Debug, Default)]
pub(super) struct Pen {
    /// The points of each part.
    parts: Vec<Vec<[f32; 2]>>,
    len: usize,
}

impl Pen {
    pub(super) fn start(&mut self, point: [f32; 2]) {
        if self.len < MAX_PARTS {
            self.parts.push(vec![point]);
            self.len += 1;
        }
    }

    pub(super) fn line(&mut self, point: [f32; 2]) {
        if let Some(part) = self.parts.last_mut().filter(|_| self.len < MAX_PARTS) {
            part.push(point);
            self.len += 1;
        }
    }

    /// Goes on from the end of a curve, which is no line of a table.
    pub(super) fn curve(&mut self, end: [f32; 2]) {
        self.start(end);
    }

    pub(super) fn close(&mut self) {
        if let Some(first) = self.parts.last().and_then(|part| part.first().copied()) {
            self.line(first);
            self.start(first);
        }
    }

    pub(super) fn rectangle(&mut self, corners: [[f32; 2]; 4]) {
        self.start(corners[0]);
        corners[1..].iter().for_each(|corner| self.line(*corner));
        self.close();
    }

    /// Ends the path: appends the lines that it draws, if it is drawn, or that it fills.
    pub(super) fn paint(&mut self, stroke: bool, fill: bool, rules: &mut Vec<Rule>) {
        for part in self.parts.drain(..) {
            if rules.len() >= MAX_RULES {
                break;
            }
            if stroke {
                rules.extend(part.windows(2).filter_map(|ends| Rule::between(ends[0], ends[1])));
            }
            if fill && part.len() >= 4 {
                rules.extend(thin(&part));
            }
        }
        self.len = 0;
    }
}

/// Returns the line that a filled area is, if it is thin.
fn thin(part: &[[f32; 2]]) -> Option<Rule> {
    let ends = |axis: usize| {
        let all = part.iter().map(|point| point[axis]);
        (all.clone().fold(f32::INFINITY, f32::min), all.fold(f32::NEG_INFINITY, f32::max))
    };
    let ((left, right), (top, bottom)) = (ends(0), ends(1));
    let (x, y) = (f32::midpoint(left, right), f32::midpoint(top, bottom));
    if bottom - top <= THICK && right - left > bottom - top {
        Rule::between([left, y], [right, y])
    } else if right - left <= THICK {
        Rule::between([x, top], [x, bottom])
    } else {
        None
    }
}
