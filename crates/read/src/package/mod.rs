//! A file as a package: parts by their names, and the relations between them. Word files and books are packages: XML parts
//! in a ZIP file, compressed. Nothing that the package says about sizes is trusted: a part is unpacked up to a limit. [`xml`]
//! reads the events of a part.

pub(crate) mod xml;

use std::collections::HashMap;
use std::io::{Cursor, Read};

use chunkmill_base::error::Skip;
use chunkmill_text::document::ReadSettings;
use zip::ZipArchive;
use zip::result::ZipError;

use xml::{Event, Xml};

/// Most bytes of one part.
const MAX_PART: u64 = 128 << 20;

/// Most bytes of all parts that are read.
const MAX_PARTS: u64 = 512 << 20;

/// How many bytes of markup may stand for a byte of text. Real documents have up to 20.
const MARKUP: u64 = 16;

/// How files of the old binary formats begin. An encrypted package begins in the same way: it is inside a file of
/// this kind.
const COMPOUND: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// An open package.
pub(crate) struct Package<'b> {
    archive: ZipArchive<Cursor<&'b [u8]>>,
    /// Entries by their names in lower case: names are compared without regard to case.
    names: HashMap<String, usize>,
    /// The name of the format, with its article: `a Word document`.
    pub(crate) format: &'static str,
    /// Most bytes that its layer may have.
    pub(crate) most: usize,
    /// Bytes that may still be unpacked.
    left: u64,
    /// Bytes that may be unpacked in all.
    limit: u64,
}

impl<'b> Package<'b> {
    pub(crate) fn open(bytes: &'b [u8], format: &'static str, settings: &ReadSettings) -> Result<Self, Skip> {
        if bytes.starts_with(&COMPOUND) {
            return Err(compound(bytes, format));
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| refused(format, "the package", &error))?;
        let names = (0..archive.len()).filter_map(|index| {
            let name = archive.name_for_index(index)?.ok()?;
            Some((name.replace('\\', "/").trim_start_matches('/').to_ascii_lowercase(), index))
        });
        let names = names.collect();
        let most = settings.most(bytes.len() as u64);
        let limit = (most as u64).saturating_mul(MARKUP).min(MAX_PARTS);
        Ok(Self { archive, names, format, most, left: limit, limit })
    }

    /// Returns whether there is a part of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains_key(&name.to_ascii_lowercase())
    }

    /// Returns the text of a part; `None` if there is none of this name.
    pub(crate) fn part(&mut self, name: &str) -> Result<Option<String>, Skip> {
        Ok(self.bytes(name)?.map(decoded))
    }

    /// Returns the bytes of a part; `None` if there is none of this name.
    pub(crate) fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, Skip> {
        let Some(index) = self.names.get(&name.to_ascii_lowercase()) else { return Ok(None) };
        let entry = self.archive.by_index(*index).map_err(|error| refused(self.format, name, &error))?;
        let most = self.left.min(MAX_PART);
        let mut bytes = Vec::new();
        entry
            .take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Skip::Malformed { format: self.format, problem: format!("{name}: {error}") })?;
        let size = bytes.len() as u64;
        if size > MAX_PART {
            let problem = format!("{name} has more than {} MiB", MAX_PART >> 20);
            return Err(Skip::Malformed { format: self.format, problem });
        }
        if size > self.left {
            return Err(Skip::Growth { limit: self.limit });
        }
        self.left -= size;
        Ok(Some(bytes))
    }

    /// Returns the text of a part that must be there.
    pub(crate) fn needed(&mut self, name: &str) -> Result<String, Skip> {
        let problem = || format!("it has no part {name:?}");
        self.part(name)?.ok_or_else(|| Skip::Malformed { format: self.format, problem: problem() })
    }

    /// Returns the relations of a part; those of the package for the name `""`.
    pub(crate) fn relations(&mut self, part: &str) -> Result<Relations, Skip> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let slash = if folder.is_empty() { "" } else { "/" };
        let name = format!("{folder}{slash}_rels/{file}.rels");
        let mut relations = Relations::default();
        let Some(text) = self.part(&name)? else { return Ok(relations) };
        let mut xml = Xml::new(&text, self.format, &name);
        while let Some(event) = xml.next()? {
            let Event::Start(tag) = event else { continue };
            let (Some(id), Some(target)) = (tag.attr("Id"), tag.attr("Target")) else { continue };
            let kind = tag.attr("Type").unwrap_or_default();
            let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
            let external = tag.attr("TargetMode").is_some_and(|mode| mode == "External");
            let target = if external { target.into_owned() } else { resolved(folder, &target) };
            relations.all.push(Relation { id: id.into_owned(), kind, target, external });
        }
        relations.by_id = relations.all.iter().enumerate().map(|(at, one)| (one.id.clone(), at)).collect();
        Ok(relations)
    }

    /// Returns the name of the main part and its relations.
    pub(crate) fn main(&mut self, usual: &str) -> Result<(String, Relations), Skip> {
        let package = self.relations("")?;
        let named = package.of_kind("officeDocument").map(|relation| relation.target.clone()).next();
        let main = named.filter(|name| self.has(name)).unwrap_or_else(|| usual.to_owned());
        let relations = self.relations(&main)?;
        Ok((main, relations))
    }
}

/// A relation of a part to another part or to an address.
#[derive(Debug)]
pub(crate) struct Relation {
    id: String,
    /// The last word of its type: `hyperlink`.
    pub(crate) kind: String,
    /// The name of a part, or an address.
    pub(crate) target: String,
    external: bool,
}

/// The relations of a part.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    all: Vec<Relation>,
    by_id: HashMap<String, usize>,
}

impl Relations {
    /// Returns the target with this identifier.
    pub(crate) fn target(&self, id: &str) -> Option<&str> {
        self.relation(id).map(|relation| &*relation.target)
    }

    fn relation(&self, id: &str) -> Option<&Relation> {
        self.by_id.get(id).and_then(|at| self.all.get(*at))
    }

    /// Returns the name of the part with this identifier, not an address.
    pub(crate) fn part(&self, id: &str) -> Option<&str> {
        self.relation(id).filter(|relation| !relation.external).map(|relation| &*relation.target)
    }

    /// Returns the parts of a kind, in the order of the file.
    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Relation> {
        self.all.iter().filter(move |relation| relation.kind == kind && !relation.external)
    }
}

/// Returns the name of a part from its target in a folder.
pub(crate) fn resolved(folder: &str, target: &str) -> String {
    let target = target.replace('\\', "/");
    let absolute = target.starts_with('/');
    let mut path: Vec<&str> =
        if absolute { Vec::new() } else { folder.split('/').filter(|step| !step.is_empty()).collect() };
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            step => path.push(step),
        }
    }
    path.join("/")
}

/// Returns the text of a part. Other encodings than UTF-8 and UTF-16 are not allowed in packages.
pub(crate) fn decoded(bytes: Vec<u8>) -> String {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes.get(2..).unwrap_or_default().chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => wide(u16::from_le_bytes),
        Some([0xfe, 0xff]) => wide(u16::from_be_bytes),
        _ => {
            let text =
                String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
        }
    }
}

/// Returns why a file is not read that is no package but in the older container.
fn compound(bytes: &[u8], format: &'static str) -> Skip {
    let stream: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    if bytes.windows(stream.len()).any(|window| window == stream) {
        return Skip::Encrypted;
    }
    let problem = "it is in the binary format of Office 97; save it in the format of its name".to_owned();
    Skip::Malformed { format, problem }
}

fn refused(format: &'static str, part: &str, error: &ZipError) -> Skip {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => Skip::Encrypted,
        error => Skip::Malformed { format, problem: format!("{part}: {error}") },
    }
}
