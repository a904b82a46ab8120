//! The part that the readers of all languages share: which comments belong to an item, where the text is cut, and
//! which heading each piece gets.

use crate::document::format::Language;
use crate::document::line;
use crate::document::room::{self, Room};
use crate::document::white_space::one_line;

/// The kind of text between two cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Code,
    Comment,
}

/// A place where a block begins, and also a section if it has a heading.
#[derive(Debug)]
pub(super) struct BlockStart {
    pub(super) at: usize,
    pub(super) part: TextKind,
    pub(super) heading: Option<Title>,
}

/// The heading of a section.
#[derive(Debug)]
pub(super) struct Title {
    pub(super) level: u8,
    pub(super) text: String,
    /// Whether the section continues an item that one of its members interrupted.
    pub(super) continues: bool,
}

/// A comment or attribute before a declaration, which may belong to it.
#[derive(Debug, Clone, Copy)]
struct Lead {
    start: usize,
    end: usize,
    kind: LeadKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeadKind {
    /// A documentation comment about what follows.
    Doc,
    /// A documentation comment about what contains it: `//!`.
    Inner,
    /// Any other comment.
    Plain,
    /// An attribute or a decorator.
    Attribute,
}

/// A class, a module or the whole file: something that contains members.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    id: usize,
    pub(super) level: u8,
    title: String,
}

pub(super) struct Outline<'t> {
    text: &'t str,
    language: Language,
    cuts: Vec<BlockStart>,
    leads: Vec<Lead>,
    /// The scope or item whose section is open.
    current: usize,
    ids: usize,
    /// The cut with the last item's heading.
    pub(super) headed: usize,
}

impl<'t> Outline<'t> {
    pub(super) fn new(text: &'t str, language: Language) -> Self {
        Self { text, language, cuts: Vec::new(), leads: Vec::new(), current: 0, ids: 0, headed: 0 }
    }

    /// Returns whether what was found exceeds the memory limit. If so, the rest makes no difference.
    pub(super) fn is_over(&self, room: &Room) -> bool {
        self.bytes() as u64 > room.left()
    }

    fn bytes(&self) -> usize {
        (self.cuts.len() + self.leads.len()) * room::CUT
    }

    /// Returns all cuts, at the end of the file.
    pub(super) fn finish(mut self, scope: &Scope, room: &mut Room) -> Vec<BlockStart> {
        room.take(self.bytes());
        self.flush(scope);
        self.cuts
    }

    /// Returns the scope of the whole file.
    pub(super) fn root() -> Scope {
        Scope { id: 0, level: 0, title: String::new() }
    }

    /// Notes a comment that is outside any declaration and not after one on its line.
    pub(super) fn comment(&mut self, start: usize, end: usize) {
        let kind = comment_kind(&self.text[start..end], self.language);
        self.leads.push(Lead { start, end, kind });
    }

    /// Returns whether a comment is written as documentation.
    pub(super) fn documents(&self, start: usize, end: usize) -> bool {
        matches!(comment_kind(&self.text[start..end], self.language), LeadKind::Doc | LeadKind::Inner)
    }

    /// Notes an attribute.
    pub(super) fn attribute(&mut self, start: usize, end: usize) {
        self.leads.push(Lead { start, end, kind: LeadKind::Attribute });
    }

    /// Forgets the comments and attributes before something that is not a declaration.
    pub(super) fn drop_leads(&mut self) {
        self.leads.clear();
    }

    /// Notes that an item called `title` begins at `start`. Returns the scope of its members.
    pub(super) fn item(&mut self, start: usize, scope: &Scope, title: &str) -> Scope {
        let title = one_line(title.to_owned());
        let own = self.leads_of(start, scope, true);
        self.ids += 1;
        let inner = Scope { id: self.ids, level: (scope.level + 1).min(6), title };
        self.current = inner.id;
        self.headed = self.cuts.len();
        self.declare(start, &own, Some(Title { level: inner.level, text: inner.title.clone(), continues: false }));
        inner
    }

    /// Renames the item at a cut.
    pub(super) fn rename(&mut self, cut: usize, title: &str) {
        if let Some(name) = self.cuts.get_mut(cut).and_then(|cut| cut.heading.as_mut()) {
            name.text = one_line(title.to_owned());
        }
    }

    /// Notes that something other than an item begins at `start`. `field` says whether it declares something, for
    /// example a field of a class.
    pub(super) fn other(&mut self, start: usize, scope: &Scope, field: bool) {
        let own = self.leads_of(start, scope, field);
        let heading = self.reopen(scope);
        if heading.is_some() || own.iter().any(|lead| lead.kind == LeadKind::Doc) {
            self.declare(start, &own, heading);
        }
    }

    /// Notes a documentation string.
    pub(super) fn string(&mut self, start: usize, end: usize) {
        self.leads.clear();
        self.cut(start, TextKind::Comment, None);
        self.cut(end, TextKind::Code, None);
    }

    /// Handles comments that nothing follows.
    pub(super) fn flush(&mut self, scope: &Scope) {
        let leads = std::mem::take(&mut self.leads);
        self.alone(&leads, scope);
    }

    fn cut(&mut self, at: usize, part: TextKind, heading: Option<Title>) {
        self.cuts.push(BlockStart { at, part, heading });
    }

    /// Returns the heading of `scope` again, if the section of one of its members is open.
    fn reopen(&mut self, scope: &Scope) -> Option<Title> {
        (self.current != scope.id).then(|| {
            self.current = scope.id;
            Title { level: scope.level, text: scope.title.clone(), continues: true }
        })
    }

    /// Splits off the leads that belong to what begins at `start`, and cuts around the rest.
    fn leads_of(&mut self, start: usize, scope: &Scope, declaration: bool) -> Vec<Lead> {
        let mut leads = std::mem::take(&mut self.leads);
        let mut first = leads.len();
        let mut next = start;
        while let Some(lead) = first.checked_sub(1).map(|at| leads[at]) {
            let apart = line_ends(&self.text[lead.end..next]) > 1;
            let near = !apart || (lead.kind == LeadKind::Doc && first == leads.len());
            if lead.kind == LeadKind::Inner || !near {
                break;
            }
            first -= 1;
            next = lead.start;
        }
        let mut own = leads.split_off(first);
        // In these languages, any comment directly above a declaration documents it.
        if declaration && matches!(self.language, Language::Go | Language::C | Language::Cpp) {
            for lead in own.iter_mut().filter(|lead| lead.kind == LeadKind::Plain) {
                lead.kind = LeadKind::Doc;
            }
        }
        self.alone(&leads, scope);
        own
    }

    fn alone(&mut self, leads: &[Lead], scope: &Scope) {
        let Some(first) = leads.first() else { return };
        if leads.iter().all(|lead| lead.kind == LeadKind::Attribute) {
            return;
        }
        if let Some(heading) = self.reopen(scope) {
            self.cut(first.start, TextKind::Code, Some(heading));
        }
        self.around(leads);
    }

    /// Cuts around documentation. Consecutive lines of it are one comment.
    fn around(&mut self, leads: &[Lead]) {
        let documents = |lead: &Lead| matches!(lead.kind, LeadKind::Doc | LeadKind::Inner);
        for (at, lead) in leads.iter().enumerate().filter(|(_, lead)| documents(lead)) {
            self.cut(lead.start, TextKind::Comment, None);
            let next = leads.get(at + 1).filter(|next| documents(next));
            if next.is_none_or(|next| line_ends(&self.text[lead.end..next.start]) > 1) {
                self.cut(lead.end, TextKind::Code, None);
            }
        }
    }

    /// Cuts before a declaration and around its documentation.
    fn declare(&mut self, start: usize, own: &[Lead], mut heading: Option<Title>) {
        if let Some(first) = own.first() {
            self.cut(first.start, TextKind::Code, heading.take());
        }
        self.around(own);
        self.cut(start, TextKind::Code, heading);
    }
}

/// Returns the number of lines that end in a text.
fn line_ends(text: &str) -> usize {
    line::ends(text).count()
}

fn comment_kind(comment: &str, language: Language) -> LeadKind {
    let block = comment.starts_with("/**") && !comment.starts_with("/***") && comment.len() > 4;
    let after = comment.as_bytes().get(3) == Some(&b'<');
    match language {
        Language::Rust | Language::C | Language::Cpp if after => LeadKind::Plain,
        Language::Rust | Language::C | Language::Cpp => {
            if comment.starts_with("//!") || comment.starts_with("/*!") {
                // C's documentation tools treat these like `///`.
                if language == Language::Rust { LeadKind::Inner } else { LeadKind::Doc }
            } else if block || (comment.starts_with("///") && !comment.starts_with("////")) {
                LeadKind::Doc
            } else {
                LeadKind::Plain
            }
        }
        Language::JavaScript | Language::TypeScript | Language::Java if block => LeadKind::Doc,
        _ => LeadKind::Plain,
    }
}
