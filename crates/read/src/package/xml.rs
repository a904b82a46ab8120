//! Events of an XML part. Names are compared by their namespace, not by their prefix, because programs choose prefixes; each
//! namespace that a reader knows has one short name here. Entities are not expanded, and a part that declares some is refused.

use std::borrow::Cow;
use std::collections::HashMap;

use chunkmill_base::error::Skip;
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event as Raw};

/// Deepest nesting of elements.
const MAX_DEPTH: usize = 256;

/// Namespaces: the end of the address, and the short name. Strict files have other addresses with the same end.
const SPACES: &[(&str, &str)] = &[
    ("wordprocessingml/2006/main", "w"),
    ("ooxml/wordprocessingml/main", "w"),
    ("drawingml/2006/main", "a"),
    ("ooxml/drawingml/main", "a"),
    ("officeDocument/2006/math", "m"),
    ("ooxml/officeDocument/math", "m"),
    ("drawingml/2006/wordprocessingDrawing", "wp"),
    ("ooxml/drawingml/wordprocessingDrawing", "wp"),
    ("drawingml/2006/spreadsheetDrawing", "xdr"),
    ("ooxml/drawingml/spreadsheetDrawing", "xdr"),
    ("drawingml/2006/chart", "c"),
    ("ooxml/drawingml/chart", "c"),
    ("drawingml/2006/diagram", "dgm"),
    ("ooxml/drawingml/diagram", "dgm"),
    ("markup-compatibility/2006", "mc"),
    ("presentationml/2006/main", "p"),
    ("ooxml/presentationml/main", "p"),
    ("spreadsheetml/2006/main", "s"),
    ("ooxml/spreadsheetml/main", "s"),
    ("urn:schemas-microsoft-com:vml", "v"),
    ("package/2006/metadata/core-properties", "cp"),
    ("http://purl.org/dc/elements/1.1/", "dc"),
    ("http://purl.org/dc/terms/", "dcterms"),
    ("opendocument:xmlns:office:1.0", "office"),
    ("opendocument:xmlns:text:1.0", "text"),
    ("opendocument:xmlns:table:1.0", "table"),
    ("opendocument:xmlns:drawing:1.0", "draw"),
    ("opendocument:xmlns:presentation:1.0", "presentation"),
    ("opendocument:xmlns:style:1.0", "style"),
    ("opendocument:xmlns:svg-compatible:1.0", "svg"),
    ("opendocument:xmlns:meta:1.0", "meta"),
    ("opendocument:xmlns:manifest:1.0", "manifest"),
];

/// The next piece of a part.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// An element begins.
    Start(Tag<'a>),
    /// It ends.
    End(Tag<'a>),
    /// Text.
    Text(Cow<'a, str>),
}

/// An element.
#[derive(Debug, Clone)]
pub(crate) struct Tag<'a> {
    space: &'static str,
    start: BytesStart<'a>,
}

impl Tag<'_> {
    /// Returns the short name of its namespace, and its name in there. An unknown namespace is `""`.
    pub(crate) fn name(&self) -> (&'static str, &str) {
        (self.space, self.start.local_name().into_inner())
    }

    /// Returns the value of the attribute with this name, whatever its namespace.
    pub(crate) fn attr(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|key| key.rsplit(':').next() == Some(name))
    }

    /// Returns the value of the attribute with this name and a prefix. `<p:sldId id="256" r:id="rId2"/>` has two of one name.
    pub(crate) fn prefixed(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|key| key.split_once(':').is_some_and(|(_, local)| local == name))
    }

    /// Returns the value of an attribute that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.attr(name)?.trim().parse().ok()
    }

    /// Returns whether a property that is on or off is on: `<w:b/>`, `<w:b w:val="0"/>`.
    pub(crate) fn is_on(&self) -> bool {
        !self.attr("val").is_some_and(|value| matches!(&*value, "0" | "false" | "off" | "none"))
    }

    fn find(&self, is_it: impl Fn(&str) -> bool) -> Option<Cow<'_, str>> {
        let mut attributes = self.start.attributes();
        attributes.with_checks(false);
        let found = attributes.flatten().find(|attribute| is_it(attribute.key.0))?;
        Some(match found.value {
            Cow::Borrowed(value) => unescape(value).unwrap_or(Cow::Borrowed(value)),
            Cow::Owned(value) => Cow::Owned(unescape(&value).map_or_else(|_| value.clone(), Cow::into_owned)),
        })
    }
}

/// Reads the events of a part.
pub(crate) struct Xml<'a> {
    reader: Reader<&'a [u8]>,
    format: &'static str,
    part: String,
    open: Vec<Tag<'a>>,
    /// The namespaces of each prefix, the innermost last, with the depth of the element that declares each.
    spaces: HashMap<String, Vec<(usize, &'static str)>>,
    /// Prefixes that were declared, with the depth.
    declared: Vec<(usize, String)>,
}

impl<'a> Xml<'a> {
    pub(crate) fn new(text: &'a str, format: &'static str, part: &str) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.allow_dangling_amp = true;
        let (spaces, declared) = (HashMap::new(), Vec::new());
        Self { reader, format, part: part.to_owned(), open: Vec::new(), spaces, declared }
    }

    /// Returns the number of elements that are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the next event; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Event<'a>>, Skip> {
        loop {
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(error) => return Err(self.malformed(&error.to_string())),
            };
            return Ok(Some(match event {
                Raw::Start(start) | Raw::Empty(start) => self.start(start)?,
                Raw::End(_) => match self.open.pop() {
                    Some(tag) => {
                        self.undeclare();
                        Event::End(tag)
                    }
                    None => return Err(self.malformed("an element ends that did not begin")),
                },
                Raw::Text(text) => Event::Text(text.xml10_content()),
                Raw::CData(text) => Event::Text(text.into_inner()),
                Raw::GeneralRef(entity) => Event::Text(match entity.resolve_char_ref() {
                    Ok(Some(c)) => c.to_string().into(),
                    _ => match &*entity {
                        "lt" => "<".into(),
                        "gt" => ">".into(),
                        "amp" => "&".into(),
                        "quot" => "\"".into(),
                        "apos" => "'".into(),
                        other => format!("&{other};").into(),
                    },
                }),
                // Old OpenDocument files name a DTD, which declares nothing here.
                Raw::DocType(text) if text.contains("<!ENTITY") => {
                    return Err(self.malformed("it declares entities, which are not read"));
                }
                Raw::DocType(_) | Raw::Comment(_) | Raw::Decl(_) | Raw::PI(_) => continue,
                Raw::Eof if self.open.is_empty() => return Ok(None),
                Raw::Eof => return Err(self.malformed("it ends inside an element")),
            }));
        }
    }

    /// Goes to the end of the element that began last, and shows its text.
    pub(crate) fn skip(&mut self, mut text: impl FnMut(&str)) -> Result<(), Skip> {
        let depth = self.depth();
        while self.depth() >= depth {
            match self.next()? {
                Some(Event::Text(part)) => text(&part),
                Some(_) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Goes to the end of the element that began last, and returns its text.
    pub(crate) fn text(&mut self) -> Result<String, Skip> {
        let mut all = String::new();
        self.skip(|text| all.push_str(text))?;
        Ok(all)
    }

    fn start(&mut self, start: BytesStart<'a>) -> Result<Event<'a>, Skip> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.malformed(&format!("elements are nested more than {MAX_DEPTH} deep")));
        }
        if start.attributes_raw().contains("xmlns") {
            self.declare(&start);
        }
        let space = {
            let name = start.name();
            let prefix = name.0.split_once(':').map_or("", |(prefix, _)| prefix);
            match self.spaces.get(prefix).and_then(|spaces| spaces.last()) {
                Some((_, space)) => space,
                None => SPACES.iter().map(|(_, space)| *space).find(|space| *space == prefix).unwrap_or_default(),
            }
        };
        let tag = Tag { space, start };
        self.open.push(tag.clone());
        Ok(Event::Start(tag))
    }

    fn declare(&mut self, start: &BytesStart<'a>) {
        let depth = self.open.len() + 1;
        let mut attributes = start.attributes();
        attributes.with_checks(false);
        for attribute in attributes.flatten() {
            let prefix = match attribute.key.0.split_once(':') {
                Some(("xmlns", prefix)) => prefix,
                None if attribute.key.0 == "xmlns" => "",
                _ => continue,
            };
            let known = SPACES
                .iter()
                .find(|(address, _)| attribute.value.trim_end_matches('/').ends_with(address.trim_end_matches('/')));
            let space = known.map(|(_, space)| *space).unwrap_or_default();
            self.spaces.entry(prefix.to_owned()).or_default().push((depth, space));
            self.declared.push((depth, prefix.to_owned()));
        }
    }

    fn undeclare(&mut self) {
        let depth = self.open.len();
        while self.declared.last().is_some_and(|(declared, _)| *declared > depth) {
            let Some((_, prefix)) = self.declared.pop() else { break };
            if let Some(spaces) = self.spaces.get_mut(&prefix) {
                spaces.pop();
            }
        }
    }

    fn malformed(&self, problem: &str) -> Skip {
        Skip::Malformed { format: self.format, problem: format!("{}: {problem}", self.part) }
    }
}
