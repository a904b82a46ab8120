//! Checks that a reader survives arbitrary bytes, and that every promise holds for the layer that it writes. The variable
//! `CHUNKMILL_FUZZ_READER` names the reader, so the inputs are files as they are found.

#![no_main]

use std::sync::LazyLock;

use chunkmill::chunk::{Settings, Spec, chunk};
use chunkmill::document::{Document, ReadSettings};
use chunkmill_read::{ReadFormat, read};

#[allow(dead_code, reason = "the suite uses the rest")]
#[path = "../../promises.rs"]
mod promises;

/// The name of a file that the reader has.
static NAME: LazyLock<String> = LazyLock::new(|| {
    let reader = std::env::var("CHUNKMILL_FUZZ_READER").expect("CHUNKMILL_FUZZ_READER names a reader");
    let format = ReadFormat::ALL.iter().find(|format| format.name == reader).expect("the reader is known");
    format!("file.{}", format.extensions[0])
});

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    let Ok(layer) = read(&NAME, file.to_vec(), &ReadSettings::default()) else { return };
    assert!(layer.text.len() <= ReadSettings::default().most(layer.bytes) + (1 << 20), "the layer has a limit");
    let document = Document::parse(NAME.as_str().into(), layer);
    let spec = Spec::resolve(&Settings::default()).expect("the default is valid");
    let chunks = chunk(&document, &spec, promises::sizer(&spec)).expect("its sizer cannot fail");
    promises::check(&document, &spec, &chunks, false);
});
