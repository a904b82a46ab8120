//! PDF.
//!
//! A page says where each glyph is; it does not say what a word, a line or a paragraph is. The glyphs are those of
//! `hayro-syntax` and `hayro-font`, which read broken files, all kinds of fonts, and the text of their codes.
//! `hayro-interpret`, which is built on both, interprets whole pages, with pictures, colours and shadings. These cost nine
//! crates more, and time and memory that a hostile file chooses. So the content of pages is interpreted here: only what
//! moves text, with limits. `pdf-inspector` gives text with its places, too, but it is much larger, and it is known to
//! lose the body of complex pages (its issue 210); it was not measured again.
//!
//! Everything else is ours: words by gaps ([`word`]), the reading order by gutters ([`columns`], [`gutter`]), lines
//! ([`line`]), paragraphs, items and code ([`block`], [`mark`]), tables by the lines that are drawn and by aligned cells
//! ([`rule`], [`frame`], [`table`]), running heads ([`running`]), headings ([`heading`]), paragraphs and tables
//! over several pages ([`flow`]), hyphens, links, code and emphasis ([`text`]).
//!
//! A hostile file may nest objects deeply, so this runs on a stack of its own. Unpacking has limits, see [`stream`].

mod about;
mod block;
mod columns;
mod content;
mod flow;
mod font;
mod frame;
mod gutter;
mod heading;
mod line;
mod mark;
mod page;
mod rule;
mod running;
mod stream;
mod table;
mod text;
mod usual;
mod word;
mod write;

#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;

use std::thread;

use chunkmill_base::error::{Skip, caught};
use chunkmill_text::document::{DropReason, LayerWriter, ReadFlag, ReadSettings};
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use serde_json::Value;

use about::Outline;
use content::Interpreter;
use page::PageText;
use text::Text;
use usual::Usual;

pub(crate) const FORMAT: &str = "a PDF file";

/// The stack of the reader. The library nests objects up to 512 deep.
const STACK: usize = 64 << 20;

/// Pages that are read.
const MAX_PAGES: usize = 50_000;

/// Pages without text that are named.
const MAX_NAMED: usize = 1000;

/// Reads a PDF file.
pub(crate) fn read(bytes: &[u8], writer: &mut LayerWriter, _: &ReadSettings) -> Result<(), Skip> {
    if stream::is_bomb(bytes) {
        return Err(Skip::Growth { limit: stream::ALL });
    }
    let malformed = |problem: String| Skip::Malformed { format: FORMAT, problem };
    let bytes = bytes.to_vec();
    thread::scope(|scope| {
        let work = move || caught(move || document(bytes, writer));
        let reader = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let reader = reader.map_err(|error| malformed(format!("no thread can be started: {error}")))?;
        match reader.join() {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => Err(malformed(panic)),
            Err(_) => Err(malformed("it cannot be read".to_owned())),
        }
    })
}

fn document(bytes: Vec<u8>, writer: &mut LayerWriter) -> Result<(), Skip> {
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected | DecryptionError::UnsupportedAlgorithm) => {
            Skip::Encrypted
        }
        LoadPdfError::Decryption(_) => {
            Skip::Malformed { format: FORMAT, problem: "its encryption is broken".to_owned() }
        }
        LoadPdfError::Invalid => Skip::Malformed { format: FORMAT, problem: "it has no pages".to_owned() },
    })?;
    let mut links = Vec::new();
    let mut pages = pages(&pdf, &mut links, writer)?;
    about::properties(&pdf, writer);
    let usual = Usual::of(pages.iter().flat_map(|page| &page.groups).flatten());
    let running = running::remove(&mut pages, usual.body);
    writer.drop(DropReason::RunningHead, &running);
    let outline = Outline::read(&pdf);
    let blocks = pages.into_iter().flat_map(|page| page.blocks(&usual, &outline)).collect();
    let mut repeated = String::new();
    let mut blocks = flow::join(blocks, usual.body, &mut repeated);
    writer.drop(DropReason::Repeated, &repeated);
    let title = heading::find(&mut blocks, &outline, &usual);
    if writer.about().title.is_none() {
        writer.about().title = title;
    }
    write::write(&blocks, &Text { usual: &usual, links: &links }, writer);
    Ok(())
}

/// Reads the words of all pages, and says what is not read.
fn pages(pdf: &Pdf, links: &mut Vec<String>, writer: &mut LayerWriter) -> Result<Vec<PageText>, Skip> {
    let mut interpreter = Interpreter::new(pdf.xref());
    let (mut pages, mut empty, mut incomplete) = (Vec::new(), Vec::new(), Vec::new());
    let mut pictures = false;
    for (number, page) in (1..).zip(pdf.pages().iter().take(MAX_PAGES)) {
        let content = interpreter.read(page);
        pictures |= content.pictures;
        writer.drop(DropReason::RunningHead, &content.running);
        writer.drop(DropReason::Hidden, &content.hidden);
        // Without a text, there is nothing to count but the glyph.
        let unknown = usize::try_from(content.unknown).unwrap_or(usize::MAX);
        writer.drop(DropReason::Limit, &"?".repeat(unknown));
        let read = content.glyphs.len();
        if read == 0 && content.running.is_empty() && (content.drawn || unknown > 0) {
            empty.push(number);
        } else if unknown > (read + unknown) / 10 {
            incomplete.push(number);
        }
        let mut repeated = String::new();
        let text = PageText::of(number, &content, page.render_dimensions(), &mut repeated);
        writer.drop(DropReason::Repeated, &repeated);
        pages.push(text.linked(about::links(page), links));
        if interpreter.cut {
            writer.flag(ReadFlag::Cut);
        }
    }
    if pdf.pages().len() > MAX_PAGES {
        writer.flag(ReadFlag::Cut);
    }
    if pages.iter().all(|page| page.groups.is_empty()) {
        return Err(Skip::NoText { pictures });
    }
    for (flag, key, named) in
        [(ReadFlag::NoText, "pages_without_text", empty), (ReadFlag::IncompletePages, "incomplete_pages", incomplete)]
    {
        if !named.is_empty() {
            writer.flag(flag);
            let named = named.into_iter().take(MAX_NAMED).map(Value::from).collect();
            writer.about().metadata.insert(key.to_owned(), Value::Array(named));
        }
    }
    Ok(pages)
}
