//! Text from outside, as HTML and SVG have it.

use std::fmt::{self, Display, Formatter, Write};

use chunkmill::cli::visible;

/// Text from outside, for elements and for quoted attributes.
pub(super) struct Text<'a>(pub(super) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A control character is no HTML, and one that turns a line around would turn what is beside the text.
        for c in visible(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
