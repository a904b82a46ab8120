//! Escaping of outside text for HTML and SVG.

use std::fmt::{self, Display, Formatter, Write};

use chunkmill::cli::visible;

/// Text from outside, escaped for elements and quoted attributes.
pub(super) struct Text<'a>(pub(super) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Control characters are not valid HTML, and a bidirectional override would also affect the surrounding
        // text.
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
