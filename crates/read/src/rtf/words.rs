//! What control words mean: which text a group has, and which characters are written as words.

use chunkmill_text::document::DropReason;

/// Where the text of a group goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    Body,
    Fonts,
    Styles,
    Lists,
    UsedLists,
    Info,
    /// A value of the document about itself, by its key.
    Value(&'static str),
    /// A date, whose numbers are control words.
    Date(&'static str),
    /// The instruction of a field.
    Instruction,
    /// The bullet or number of a paragraph.
    Marker,
    /// The name of a place.
    Anchor,
    /// Nowhere.
    Dropped(DropReason),
}

/// The purpose of a group, by the control word in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Its text goes there.
    To(Destination),
    /// Its text goes where that around it goes.
    Same,
    /// It has a choice between contents, of which one is read. Text outside of that is dropped.
    Choice(DropReason),
    /// It is what is read of a choice.
    Chosen,
    /// It is what is read of a choice, with paragraphs of its own.
    Box,
    Note,
    Field,
    /// The result of a field.
    FieldResult,
}

/// Returns what a control word says of its group; `None` if it says nothing.
pub(super) fn group(name: &str) -> Option<Group> {
    use Destination::{Anchor, Dropped, Fonts, Info, Instruction, Lists, Marker, Styles, UsedLists};
    use DropReason::{Attachment, Comment, Hidden, Markup, Repeated, RunningHead};
    Some(match name {
        "fonttbl" => Group::To(Fonts),
        "stylesheet" => Group::To(Styles),
        "listtable" => Group::To(Lists),
        "listoverridetable" => Group::To(UsedLists),
        "info" => Group::To(Info),
        "fldinst" => Group::To(Instruction),
        "listtext" | "pntext" => Group::To(Marker),
        "bkmkstart" => Group::To(Anchor),
        "header" | "headerl" | "headerr" | "headerf" | "footer" | "footerl" | "footerr" | "footerf" => {
            Group::To(Dropped(RunningHead))
        }
        "annotation" | "atnid" | "atnauthor" | "atntime" | "atndate" | "atnref" | "atrfstart" | "atrfend" => {
            Group::To(Dropped(Comment))
        }
        "pict" | "nonshppict" | "objdata" | "objclass" | "objname" | "objalias" | "objsect" => {
            Group::To(Dropped(Attachment))
        }
        "xe" | "tc" | "tcn" => Group::To(Dropped(Hidden)),
        "shprslt" | "mmathPict" => Group::To(Dropped(Repeated)),
        "colortbl" | "filetbl" | "revtbl" | "bkmkend" | "ftnsep" | "ftnsepc" | "ftncn" | "aftnsep" | "aftnsepc"
        | "aftncn" | "pntxta" | "pntxtb" | "nonesttables" | "leveltext" | "levelnumbers" | "listname" | "template" => {
            Group::To(Dropped(Markup))
        }
        "upr" => Group::Choice(Repeated),
        "object" => Group::Choice(Attachment),
        "shp" | "shpgrp" | "do" => Group::Choice(Markup),
        "ud" | "result" => Group::Chosen,
        "shptxt" | "dptxbxtext" => Group::Box,
        "footnote" => Group::Note,
        "field" => Group::Field,
        "fldrslt" => Group::FieldResult,
        "shpinst" | "shppict" | "nesttableprops" | "moMath" | "moMathPara" => Group::Same,
        // Properties of formulas: `mfPr`.
        _ if name.starts_with('m') && name.ends_with("Pr") => Group::To(Dropped(Markup)),
        _ => return None,
    })
}

/// Returns where the text of a group in the information about the document goes.
pub(super) fn info(name: &str) -> Option<Destination> {
    Some(match name {
        "title" => Destination::Value("title"),
        "subject" => Destination::Value("subject"),
        "author" => Destination::Value("author"),
        "keywords" => Destination::Value("keywords"),
        "doccomm" => Destination::Value("description"),
        "creatim" => Destination::Date("created"),
        "revtim" => Destination::Date("modified"),
        _ => return None,
    })
}

/// Returns the characters that a control word stands for.
pub(super) fn characters(name: &str) -> Option<&'static str> {
    Some(match name {
        "tab" => "\t",
        "emdash" => "—",
        "endash" => "–",
        "lquote" => "‘",
        "rquote" => "’",
        "ldblquote" => "“",
        "rdblquote" => "”",
        "bullet" => "•",
        "emspace" | "enspace" | "qmspace" => " ",
        "zwj" => "\u{200d}",
        "zwnj" => "\u{200c}",
        "ltrmark" => "\u{200e}",
        "rtlmark" => "\u{200f}",
        // In formulas, as they are written on one line.
        "mden" => "/",
        "msup" => "^",
        "msub" => "_",
        _ => return None,
    })
}

/// Returns the address in the instruction of a hyperlink: `HYPERLINK "a.html" \l "part"`.
pub(super) fn address(instruction: &str) -> Option<String> {
    let instruction = instruction.trim_start();
    let (name, mut rest) = instruction.split_at_checked("HYPERLINK".len())?;
    if !name.eq_ignore_ascii_case("HYPERLINK") {
        return None;
    }
    let (mut address, mut part, mut switch) = (String::new(), String::new(), None);
    while let Some((word, quoted, after)) = argument(rest) {
        rest = after;
        if let Some(name) = word.strip_prefix('\\').filter(|_| !quoted) {
            // Only these have a value.
            switch = name.chars().next().map(|c| c.to_ascii_lowercase()).filter(|c| matches!(c, 'l' | 'o' | 't'));
        } else {
            match switch.take() {
                Some('l') => part = word,
                None if address.is_empty() => address = word,
                _ => {}
            }
        }
    }
    if !part.is_empty() {
        address.push('#');
        address.push_str(&part);
    }
    (!address.is_empty()).then_some(address)
}

/// Returns the code and the font in the instruction of a sign: `SYMBOL 74 \f "Wingdings"`.
pub(super) fn sign(instruction: &str) -> Option<(u32, String)> {
    let (name, mut rest) = instruction.trim_start().split_at_checked("SYMBOL".len())?;
    if !name.eq_ignore_ascii_case("SYMBOL") {
        return None;
    }
    let (code, _, after) = argument(rest)?;
    let code = match code.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => code.parse().ok()?,
    };
    rest = after;
    let mut font = String::new();
    while let Some((word, _, after)) = argument(rest) {
        rest = after;
        if word.eq_ignore_ascii_case("\\f") {
            font = argument(rest)?.0;
        }
    }
    Some((code, font))
}

/// Returns the next argument of an instruction, whether it has quotation marks, and what is after it.
fn argument(text: &str) -> Option<(String, bool, &str)> {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix(['"', '“', '”']) else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), false, &text[end..]));
    };
    let mut word = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' | '“' | '”' => return Some((word, true, &quoted[at + c.len_utf8()..])),
            '\\' => word.extend(chars.next().map(|(_, c)| c)),
            c => word.push(c),
        }
    }
    Some((word, true, ""))
}
