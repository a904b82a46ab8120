//! How documents are read that are not text. These settings are here, and not with the readers, because a dataset records
//! them with its [`Admission`](super::Admission).

use chunkmill_base::value::named;
use serde::{Deserialize, Serialize};

named! {
    /// Which part of a page is read.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum HtmlPart: "a part of a page" {
        /// The main content, without menus, banners and lists of links.
        #[default]
        Main = "main",
        /// Everything that a page shows.
        Whole = "whole",
    }
}

/// Settings of all readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadSettings {
    /// Which part of an HTML page is read.
    pub html: HtmlPart,
    /// Whether the outputs of a notebook's cells are read.
    pub notebook_outputs: bool,
    /// How many times as long as its file a layer may be. Small files may have [`FREE`](Self::FREE) bytes.
    pub growth: u64,
}

impl ReadSettings {
    /// Bytes that the layer of any file may have.
    pub const FREE: usize = 4 << 20;

    /// Returns whether these settings give every document that both admit the same text.
    pub fn reads_as(&self, other: &Self) -> bool {
        (self.html, self.notebook_outputs) == (other.html, other.notebook_outputs)
    }

    /// Returns the most bytes that the layer of a file of this size may have.
    pub fn most(&self, bytes: u64) -> usize {
        let most = usize::try_from(bytes.saturating_mul(self.growth)).unwrap_or(usize::MAX);
        most.clamp(Self::FREE, 1 << 30)
    }
}

impl Default for ReadSettings {
    fn default() -> Self {
        Self { html: HtmlPart::Main, notebook_outputs: false, growth: 8 }
    }
}
