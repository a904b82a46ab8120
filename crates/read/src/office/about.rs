//! The properties of a document: title, author, dates.

use chunkmill_base::error::Skip;
use chunkmill_text::document::{LayerWriter, on_one_line};
use serde_json::Value;

use crate::package::Package;
use crate::package::xml::{Event, Xml};

/// Longest value that is kept, in bytes.
const MAX_VALUE: usize = 2000;

/// Reads the properties of a package.
pub(super) fn core(package: &mut Package<'_>, writer: &mut LayerWriter) -> Result<(), Skip> {
    let relations = package.relations("")?;
    let named = relations.of_kind("core-properties").map(|relation| relation.target.clone()).next();
    properties(package, &named.unwrap_or_else(|| "docProps/core.xml".to_owned()), writer)
}

/// Reads the properties in a part: those of packages, or those of `OpenDocument`.
pub(super) fn properties(package: &mut Package<'_>, part: &str, writer: &mut LayerWriter) -> Result<(), Skip> {
    let format = package.format;
    let Some(text) = package.part(part)? else { return Ok(()) };
    let mut xml = Xml::new(&text, format, part);
    while let Some(event) = xml.next()? {
        let Event::Start(tag) = event else { continue };
        let key = match tag.name() {
            ("dc", "title") => "title",
            ("dc", "creator") => "author",
            ("dc", "subject") => "subject",
            ("dc", "description") => "description",
            ("dc", "language") => "lang",
            ("cp", "keywords") | ("meta", "keyword") => "keywords",
            ("dcterms", "created") | ("meta", "creation-date") => "created",
            ("dcterms", "modified") | ("dc", "date") => "modified",
            ("meta", "initial-creator") => "creator",
            _ => continue,
        };
        let value = xml.text()?;
        let value = on_one_line(&value);
        let value = value[..value.floor_char_boundary(MAX_VALUE)].to_owned();
        if !value.is_empty() {
            keep(writer, key, value);
        }
    }
    // OpenDocument names who wrote it first and who saved it last.
    let metadata = &mut writer.about().metadata;
    if let Some(creator) = metadata.remove("creator") {
        metadata.insert("author".to_owned(), creator);
    }
    Ok(())
}

fn keep(writer: &mut LayerWriter, key: &str, value: String) {
    let about = writer.about();
    match key {
        "title" => about.title = Some(value),
        "keywords" => {
            let words = value.split([',', ';']).map(str::trim).filter(|word| !word.is_empty());
            let words = words.map(|word| Value::String(word.to_owned())).take(100);
            match about.metadata.entry("keywords").or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(all) if all.len() < 100 => all.extend(words),
                _ => {}
            }
        }
        key => {
            about.metadata.insert(key.to_owned(), Value::String(value));
        }
    }
}
