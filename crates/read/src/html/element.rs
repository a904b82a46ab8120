//! The purpose of elements, by their names, classes and roles.

use super::tree::{Element, Space};

/// Returns whether an element has no end.
pub(super) fn is_void(name: &[u8]) -> bool {
    const VOID: &[&[u8]] = &[
        b"area",
        b"base",
        b"basefont",
        b"bgsound",
        b"br",
        b"col",
        b"embed",
        b"frame",
        b"hr",
        b"img",
        b"input",
        b"keygen",
        b"link",
        b"meta",
        b"param",
        b"source",
        b"track",
        b"wbr",
    ];
    VOID.contains(&name)
}

/// Returns whether the content of an element is text whatever it looks like.
pub(super) fn is_raw(name: &[u8]) -> bool {
    const RAW: &[&[u8]] = &[
        b"iframe",
        b"noembed",
        b"noframes",
        b"noscript",
        b"plaintext",
        b"script",
        b"style",
        b"textarea",
        b"title",
        b"xmp",
    ];
    RAW.contains(&name)
}

/// Returns whether an element stands on lines of its own.
pub(super) fn is_block(name: &str) -> bool {
    const BLOCKS: &[&str] = &[
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "frameset",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hgroup",
        "html",
        "legend",
        "li",
        "listing",
        "main",
        "menu",
        "nav",
        "ol",
        "optgroup",
        "option",
        "p",
        "plaintext",
        "pre",
        "search",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
        "xmp",
    ];
    BLOCKS.binary_search(&name).is_ok()
}

/// Returns the level of a heading.
pub(super) fn heading(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

/// Returns whether a reader of the page does not see an element.
pub(super) fn is_hidden(element: &Element) -> bool {
    const NAMES: &[&str] = &[
        "audio", "canvas", "datalist", "iframe", "noembed", "noframes", "noscript", "select", "template", "textarea",
        "video",
    ];
    const DRAWN: &[&str] = &["title", "desc", "metadata", "defs"];
    const CLASSES: &[&str] =
        &["sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "MathJax_Preview", "katex-html"];
    match (element.space, element.name()) {
        (Space::Html, "dialog") if element.attribute("open").is_none() => return true,
        (Space::Html, name) if NAMES.contains(&name) => return true,
        (Space::Svg, name) if DRAWN.contains(&name) => return true,
        _ => {}
    }
    let style: String = element.attribute("style").unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect();
    let style = style.to_ascii_lowercase();
    // A tab that is not shown is content that a reader reaches.
    element.attribute("hidden").is_some_and(|value| value != "until-found") && !element.has_role("tabpanel")
        || element.attribute("aria-hidden") == Some("true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
        || element.classes().any(|class| CLASSES.contains(&class))
}

/// Returns whether an element is there for moving about the site, wherever it is.
pub(super) fn is_navigation(element: &Element) -> bool {
    const ROLES: &[&str] = &["navigation", "search", "menu", "menubar", "toolbar"];
    const CLASSES: &[&str] = &[
        "breadcrumb",
        "breadcrumbs",
        "wy-breadcrumbs",
        "sphinxsidebar",
        "related",
        "rst-footer-buttons",
        "prev-next-area",
        "pagination-nav",
        "theme-doc-breadcrumbs",
        "theme-doc-toc-mobile",
        "theme-edit-this-page",
        "md-source-file",
        "edit-this-page",
        "bd-sidebar-primary",
        "bd-sidebar-secondary",
        "rustdoc-breadcrumbs",
        "sub-heading",
        "src",
        "nav-chapters",
        "skip-link",
        "skipToContent",
        "skip-nav",
        "navpath",
        "navrow1",
        "topNav",
        "bottomNav",
        "subNav",
    ];
    const IDS: &[&str] =
        &["menu-bar", "sidebar", "nav-path", "side-nav", "MSearchBox", "rustdoc-toc", "copy-path", "toggle-all-docs"];
    matches!(element.html(), Some("nav" | "search"))
        || ROLES.iter().any(|role| element.has_role(role))
        || element.classes().any(|class| CLASSES.contains(&class))
        || element.attribute("id").is_some_and(|id| IDS.contains(&id))
}

/// Returns whether a link only names its own place.
pub(super) fn is_permalink(element: &Element) -> bool {
    const CLASSES: &[&str] = &[
        "headerlink",
        "anchor",
        "anchorlink",
        "anchor-link",
        "hash-link",
        "doc-anchor",
        "permalink",
        "header-anchor",
        "heading-link",
        "headinglink",
        "direct-link",
        "anchorjs-link",
    ];
    element.html() == Some("a")
        && element.attribute("href").is_some_and(|href| href.contains('#'))
        && element.classes().any(|class| CLASSES.contains(&class))
}

/// Returns whether an element has the numbers of the lines of code.
pub(super) fn is_line_numbers(element: &Element) -> bool {
    const CLASSES: &[&str] = &[
        "linenos",
        "lineno",
        "linenodiv",
        "line-numbers",
        "linenumber",
        "line-number",
        "linenumbers",
        "gutter",
        "rouge-gutter",
        "hljs-ln-numbers",
        "src-line-numbers",
        "blob-num",
        "ln",
        "lnt",
        "line-numbers-rows",
    ];
    // The class of the code itself says with some programs that it has line numbers.
    !matches!(element.html(), Some("pre" | "code" | "table" | "body" | "main"))
        && element.classes().any(|class| CLASSES.contains(&class))
        && !element.has_class("highlight")
}

/// Returns whether a table only lays out code with its line numbers.
pub(super) fn is_code_table(element: &Element) -> bool {
    const CLASSES: &[&str] =
        &["highlighttable", "rouge-table", "lntable", "syntaxhighlighter", "crayon-table", "hljs-ln"];
    element.classes().any(|class| CLASSES.contains(&class))
}

/// Returns whether an element is a note, a warning or the like, for a reader to see before the text around it. `first` is the
/// first element in it.
pub(super) fn is_admonition(element: &Element, first: Option<&Element>) -> bool {
    let is_made = element
        .classes()
        .any(|class| matches!(class, "admonition" | "admonitionblock" | "markdown-alert" | "theme-admonition"));
    is_made && element.html() != Some("table")
        || admonition(element).is_some()
            && first.is_some_and(|first| match element.html() {
                Some("details") => first.html() == Some("summary"),
                Some("div") => first.html() == Some("div") && first.has_class("title"),
                _ => false,
            })
}

/// Returns whether an element has the title of the note that it is in.
pub(super) fn is_admonition_title(element: &Element) -> bool {
    element.html() == Some("summary")
        || element.classes().any(|class| {
            matches!(class, "admonition-title" | "title" | "markdown-alert-title" | "admonition-heading")
                || class.starts_with("admonitionHeading")
        })
}

/// Returns what a note is called if it has no title.
pub(super) fn admonition(element: &Element) -> Option<&'static str> {
    const KINDS: &[(&str, &str)] = &[
        ("note", "Note"),
        ("tip", "Tip"),
        ("important", "Important"),
        ("warning", "Warning"),
        ("caution", "Caution"),
        ("danger", "Danger"),
        ("error", "Error"),
        ("hint", "Hint"),
        ("attention", "Attention"),
        ("info", "Info"),
        ("seealso", "See also"),
        ("abstract", "Abstract"),
        ("success", "Success"),
        ("question", "Question"),
        ("failure", "Failure"),
        ("bug", "Bug"),
        ("example", "Example"),
    ];
    element.classes().find_map(|class| KINDS.iter().find(|(kind, _)| *kind == class)).map(|(_, title)| *title)
}

/// Returns the language of code that an element names.
pub(super) fn language(element: &Element) -> Option<&str> {
    const PREFIXES: &[&str] = &["language-", "lang-", "highlight-source-", "highlight-", "brush:", "source-"];
    const NONE: &[&str] = &["default", "none", "text", "plaintext", "plain", "nohighlight"];
    let named = element.attribute("data-lang").or_else(|| element.attribute("data-language"));
    let found = named.or_else(|| {
        let mut classes = element.classes().peekable();
        while let Some(class) = classes.next() {
            if let Some(rest) = PREFIXES.iter().find_map(|prefix| class.strip_prefix(prefix)) {
                let rest = if rest.is_empty() { classes.peek().copied().unwrap_or_default() } else { rest };
                return Some(rest.trim_end_matches(';'));
            }
            if class == "sourceCode" {
                return classes.peek().copied().filter(|next| !next.eq_ignore_ascii_case("numberSource"));
            }
            if class == "rust" {
                return Some(class);
            }
        }
        None
    });
    found.filter(|name| !name.is_empty()).map(|name| if NONE.contains(&name) { "" } else { name })
}

#[cfg(test)]
mod tests {
    #[test]
    fn blocks_are_found() {
        assert!(
            super::is_block("address") && super::is_block("xmp") && super::is_block("legend") && super::is_block("h3")
        );
        assert!(!super::is_block("a") && !super::is_block("span"));
    }
}
