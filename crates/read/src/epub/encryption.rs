//! The parts of a book that are encrypted. Fonts are often obfuscated to make taking them out hard; that does not matter here.

use std::collections::HashSet;

use chunkmill_base::error::Skip;

use super::names::{FORMAT, decoded_name};
use crate::package::Package;
use crate::package::xml::{Event, Xml};

const LIST: &str = "META-INF/encryption.xml";

/// Methods that obfuscate fonts.
const FONTS: &[&str] = &["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"];

/// Returns the names of encrypted parts in lower case.
pub(super) fn parts(package: &mut Package<'_>) -> Result<HashSet<String>, Skip> {
    let mut parts = HashSet::new();
    let Some(text) = package.part(LIST)? else { return Ok(parts) };
    let mut xml = Xml::new(&text, FORMAT, LIST);
    let mut method: Option<String> = None;
    while let Some(event) = xml.next()? {
        let Event::Start(tag) = event else { continue };
        match tag.name().1 {
            "EncryptedData" => method = None,
            // The first is that of the data, others are those of keys.
            "EncryptionMethod" if method.is_none() => {
                method = tag.attr("Algorithm").map(std::borrow::Cow::into_owned);
            }
            "CipherReference" if !method.as_ref().is_some_and(|method| FONTS.contains(&&**method)) => {
                let name = decoded_name(&tag.attr("URI").unwrap_or_default());
                parts.insert(name.trim_start_matches('/').to_ascii_lowercase());
            }
            _ => {}
        }
    }
    Ok(parts)
}
