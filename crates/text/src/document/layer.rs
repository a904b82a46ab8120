//! The layer of text in a file: what is chunked, and where each part of it is in the file. Every text comes in through
//! this door, whatever its format and encoding: as the file has it, or as a reader of another format wrote it.

use chunkmill_base::error::Skip;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::encoding::decode;
use super::format::Format;
use super::source_map::SourceMap;
use super::structure::Structure;

/// The largest document that can be read, 1 GiB: offsets are stored in 32 bits, also in Arrow string columns.
pub const MAX_BYTES: u64 = 1 << 30;

/// The text of a document that is chunked, with the hash and the size of the file it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The text. A UTF-8 file is kept byte for byte, including its byte order mark, so offsets into the text are
    /// offsets into the file; a file in another encoding is transcoded without its byte order mark.
    pub text: String,
    /// Where each part of the text is in the file.
    pub map: SourceMap,
    /// BLAKE3 hash of the file's bytes, in hexadecimal.
    pub hash: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Anything else that is known of the document from where it was found: the other columns of a table's row. Its front
    /// matter comes first.
    pub metadata: Map<String, Value>,
    /// The structure of the text, if a reader wrote it. Otherwise the text is the file's own and is parsed.
    pub structure: Option<Box<Structure>>,
}

/// Why there is no text in the bytes of a file.
#[derive(Debug)]
pub struct Refusal {
    /// The reason.
    pub reason: Skip,
    /// BLAKE3 hash of the bytes, in hexadecimal.
    pub hash: String,
}

impl Layer {
    /// Reads the bytes of the file at a path, which determines the format. Reading is strict: nothing is replaced silently.
    ///
    /// # Errors
    /// A [`Refusal`] if they are over [`MAX_BYTES`], or not text in UTF-8, in UTF-16 with a byte order mark,
    /// or in Latin-1 that is declared.
    pub fn read(path: &str, bytes: Vec<u8>) -> Result<Self, Refusal> {
        let hash = hash(&bytes);
        let size = bytes.len() as u64;
        if size > MAX_BYTES {
            return Err(Refusal { reason: Skip::TooLarge { bytes: size, limit: MAX_BYTES }, hash });
        }
        match decode(bytes, Format::of_path(path)) {
            Ok((text, map)) => Ok(Self { text, map, hash, bytes: size, metadata: Map::new(), structure: None }),
            Err(reason) => Err(Refusal { reason, hash }),
        }
    }
}

impl From<String> for Layer {
    /// Returns the layer of a text that is not a file: that of a UTF-8 file with this text.
    fn from(text: String) -> Self {
        let (hash, bytes) = (hash(text.as_bytes()), text.len() as u64);
        Self { text, map: SourceMap::default(), hash, bytes, metadata: Map::new(), structure: None }
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
