//! The text that the model sees before a chunk's content, which makes its vector reflect where the passage is.
//! Questions name their document and its topics; a passage from the middle of the document does not.

use chunkmill_base::value::named;

use crate::document::name;

named! {
    /// The text before the content in the embedded text. The chunk's row keeps the content as it is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Context: "a context" {
        /// Nothing.
        #[default]
        None = "none",
        /// The heading path.
        Headings = "headings",
        /// The document's name: see [`name`].
        Document = "document",
        /// The document's name, then the heading path.
        Full = "full",
    }
}

impl Context {
    /// Returns the name of a document with this title and path, if it is shown.
    pub fn name_of(self, title: Option<&str>, path: &str) -> Option<String> {
        if matches!(self, Self::Document | Self::Full) { name(title, path) } else { None }
    }

    /// Returns the text that the model sees of a chunk with this heading path and content, in a document with this
    /// title and path.
    pub fn before(self, header_path: &str, content: String, title: Option<&str>, path: &str) -> String {
        let name = self.name_of(title, path);
        let headings = if matches!(self, Self::Headings | Self::Full) { header_path } else { "" };
        match name {
            // The title is usually the first heading, too.
            Some(name) if !is_first(&name, headings) => {
                let arrow = if headings.is_empty() { "" } else { " > " };
                format!("{name}{arrow}{headings}\n\n{content}")
            }
            _ if headings.is_empty() => content,
            _ => format!("{headings}\n\n{content}"),
        }
    }
}

fn is_first(name: &str, headings: &str) -> bool {
    headings.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" > "))
}
