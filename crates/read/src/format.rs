//! The formats that are read, and the reader of each.

#[cfg(feature = "child")]
use std::io;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{Layer, LayerWriter, MAX_BYTES, ReadSettings, Refusal};

/// A format that has a reader in this build.
#[derive(Debug, Clone, Copy)]
pub struct ReadFormat {
    /// Its name in datasets.
    pub name: &'static str,
    /// Extensions of its files, in lower case.
    pub extensions: &'static [&'static str],
    /// Its name in words, and what reads it.
    pub description: &'static str,
    reader: Reader,
}

/// A function that writes the layer of a file.
#[derive(Debug, Clone, Copy)]
enum Reader {
    /// From its text: places are bytes of the file.
    #[allow(dead_code, reason = "not all builds have readers of this kind")]
    Text(fn(&Layer, &mut LayerWriter, &ReadSettings) -> Result<(), Skip>),
    /// From its bytes, which are decoded or unpacked.
    #[allow(dead_code, reason = "not all builds have readers of this kind")]
    Bytes(fn(&[u8], &mut LayerWriter, &ReadSettings) -> Result<(), Skip>),
    /// From its bytes to a text that the reader decodes, see [`Layer`].
    #[allow(dead_code, reason = "not all builds have readers of this kind")]
    Decoded(fn(Vec<u8>) -> Result<Layer, Refusal>, fn(&Layer, &mut LayerWriter, &ReadSettings) -> Result<(), Skip>),
    /// From its bytes, with a library of others that opens the whole file; where possible, in a process of its own. With
    /// the name of the format in messages.
    #[allow(dead_code, reason = "not all builds have readers of this kind")]
    Foreign(&'static str, fn(&[u8], &mut LayerWriter, &ReadSettings) -> Result<(), Skip>),
}

impl ReadFormat {
    /// All formats of this build.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "html")]
        Self {
            name: "html",
            extensions: &["html", "htm", "xhtml"],
            description: "HTML and XHTML, with html5gum and html5ever",
            reader: Reader::Decoded(crate::html::decode, crate::html::read),
        },
        #[cfg(feature = "notebook")]
        Self {
            name: "notebook",
            extensions: &["ipynb"],
            description: "Jupyter notebooks",
            reader: Reader::Text(crate::notebook::read),
        },
        #[cfg(feature = "rst")]
        Self {
            name: "rst",
            extensions: &["rst"],
            description: "reStructuredText",
            reader: Reader::Text(crate::rst::read),
        },
        #[cfg(feature = "asciidoc")]
        Self {
            name: "asciidoc",
            extensions: &["adoc", "asciidoc", "asc"],
            description: "AsciiDoc",
            reader: Reader::Text(crate::asciidoc::read),
        },
        #[cfg(feature = "latex")]
        Self {
            name: "latex",
            extensions: &["tex"],
            description: "LaTeX, without its macros",
            reader: Reader::Text(crate::latex::read),
        },
        #[cfg(feature = "subtitles")]
        Self {
            name: "subtitles",
            extensions: &["srt", "vtt"],
            description: "subtitles in SRT and WebVTT",
            reader: Reader::Text(crate::subtitles::read),
        },
        #[cfg(feature = "table")]
        Self {
            name: "csv",
            extensions: &["csv", "tsv"],
            description: "tables of comma-separated or tab-separated values",
            reader: Reader::Text(crate::table::read),
        },
        #[cfg(feature = "mail")]
        Self {
            name: "mail",
            extensions: &["eml", "mbox"],
            description: "mail, with mail-parser",
            reader: Reader::Bytes(crate::mail::read),
        },
        #[cfg(feature = "office")]
        Self {
            name: "word",
            extensions: &["docx", "docm"],
            description: "Word, with zip and quick-xml",
            reader: Reader::Bytes(crate::office::word),
        },
        #[cfg(feature = "office")]
        Self {
            name: "slides",
            extensions: &["pptx"],
            description: "PowerPoint, with zip and quick-xml",
            reader: Reader::Bytes(crate::office::slides),
        },
        #[cfg(feature = "office")]
        Self {
            name: "sheet",
            extensions: &["xlsx"],
            description: "Excel, with zip and quick-xml",
            reader: Reader::Bytes(crate::office::sheet),
        },
        #[cfg(feature = "office")]
        Self {
            name: "opendocument",
            extensions: &["odt", "odp", "ods"],
            description: "OpenDocument text, slides and sheets, with zip and quick-xml",
            reader: Reader::Bytes(crate::office::opendocument),
        },
        #[cfg(feature = "pdf")]
        Self {
            name: "pdf",
            extensions: &["pdf"],
            description: "PDF, with hayro-syntax and hayro-font",
            reader: Reader::Foreign(crate::pdf::FORMAT, crate::pdf::read),
        },
        #[cfg(feature = "epub")]
        Self {
            name: "epub",
            extensions: &["epub"],
            description: "books in EPUB 2 and 3, with zip, quick-xml and the reader of HTML",
            reader: Reader::Bytes(crate::epub::read),
        },
        #[cfg(feature = "rtf")]
        Self { name: "rtf", extensions: &["rtf"], description: "RTF", reader: Reader::Bytes(crate::rtf::read) },
    ];

    /// Returns the format of a file by its name; `None` if it has no reader here.
    pub fn of_path(path: &str) -> Option<&'static Self> {
        let extension = path.rsplit_once('.')?.1.to_ascii_lowercase();
        Self::ALL.iter().find(|format| format.extensions.contains(&extension.as_str()))
    }

    fn write(&self, source: &Layer, bytes: &[u8], settings: &ReadSettings) -> Result<Layer, Skip> {
        #[cfg(feature = "child")]
        if let Reader::Foreign(name, _) = self.reader
            && let Some(read) = crate::child::read(self.name, name, bytes, settings)
        {
            let mut layer = read?;
            if let Some(structure) = &mut layer.structure {
                structure.format = self.name;
            }
            return Ok(Layer { hash: source.hash.clone(), ..layer });
        }
        self.here(source, bytes, settings)
    }

    /// Writes the layer in this process.
    fn here(&self, source: &Layer, bytes: &[u8], settings: &ReadSettings) -> Result<Layer, Skip> {
        let mut writer = LayerWriter::new(self.name, settings.most(source.bytes));
        match self.reader {
            Reader::Text(read) | Reader::Decoded(_, read) => read(source, &mut writer, settings)?,
            Reader::Bytes(read) | Reader::Foreign(_, read) => read(bytes, &mut writer, settings)?,
        }
        writer.finish(source)
    }
}

/// Reads the bytes of the file at a path, whose extension determines the format. A file without a reader here is read as the
/// text that it is.
///
/// # Errors
/// A [`Refusal`] if there is no text in it, or none that can be read.
pub fn read(path: &str, bytes: Vec<u8>, settings: &ReadSettings) -> Result<Layer, Refusal> {
    let Some(format) = ReadFormat::of_path(path) else { return Layer::read(path, bytes) };
    let (source, bytes) = match format.reader {
        Reader::Text(_) => (Layer::read(path, bytes)?, Vec::new()),
        Reader::Decoded(decode, _) => (decode(bytes)?, Vec::new()),
        Reader::Bytes(_) | Reader::Foreign(..) => {
            let hash = blake3::hash(&bytes).to_hex().to_string();
            let size = bytes.len() as u64;
            if size > MAX_BYTES {
                return Err(Refusal { reason: Skip::TooLarge { bytes: size, limit: MAX_BYTES }, hash });
            }
            let source = Layer { hash, bytes: size, ..Layer::from(String::new()) };
            (source, bytes)
        }
    };
    format.write(&source, &bytes, settings).map_err(|reason| Refusal { reason, hash: source.hash })
}

/// Does the work of a process that [`isolate`](crate::isolate) starts: reads the file on its standard input and writes the
/// layer to its standard output. The process should end after that.
///
/// # Errors
/// If the input is not what a parent of this version writes, or the output cannot be written.
#[cfg(feature = "child")]
pub fn serve(input: impl io::Read, output: impl io::Write) -> io::Result<()> {
    crate::child::serve(input, output, |name, bytes, settings| {
        let format = ReadFormat::ALL.iter().find(|format| format.name == name).ok_or_else(|| Skip::Malformed {
            format: "a file",
            problem: format!("this program has no reader of {name}"),
        })?;
        format.here(&Layer { bytes: bytes.len() as u64, ..Layer::from(String::new()) }, bytes, settings)
    })
}
