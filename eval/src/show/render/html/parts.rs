//! The parts that the sections of the page are made of.

use crate::data::report::Cell;
use crate::show::render::prose::prose;
use crate::show::render::svg::Plot;
use crate::show::render::text::Text;
use crate::show::render::view::View;

/// A part of the page with its own heading.
pub(super) struct Section {
    /// Anchor for links to it.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// An introduction that says what the section shows and how to read it, as HTML.
    pub(super) lead: String,
    pub(super) body: String,
}

impl Section {
    pub(super) fn html(&self) -> String {
        let Self { id, title, lead, body } = self;
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{title}</h2>\n<p class=\"lead\">{lead}</p>\n{body}</section>\n"
        )
    }
}

/// Renders a text in which settings are code.
pub(super) fn sentence(text: &str) -> String {
    let plain = |plain: &str| Text(&plain.replace(" %", "\u{a0}%")).to_string();
    prose(text, plain, |code| format!("<code>{}</code>", Text(code)))
}

/// Capitalizes the first letter.
pub(super) fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Concatenates the HTML of some things.
pub(super) fn each<T>(things: impl IntoIterator<Item = T>, html: impl Fn(T) -> String) -> String {
    let mut all = String::new();
    for thing in things {
        all.push_str(&html(thing));
    }
    all
}

/// Renders a plot with its caption above, the names of its axes, and `below` under it. `attributes` are those of the
/// figure.
pub(super) fn figure(caption: &str, plot: &Plot, attributes: &str, below: &str) -> String {
    format!(
        "<figure class=\"plot\"{attributes}><figcaption>{caption}</figcaption><p class=\"axis-name\">{}</p>\
         <div class=\"canvas\">{}</div><p class=\"axis-name x\">{}</p>{below}</figure>\n",
        Text(&plot.y.title),
        plot.inline(),
        Text(&plot.x.title)
    )
}

/// Renders a table that scrolls in its own box if it is wider than the page. `name` says what it lists; the titles
/// of the columns include their units.
pub(super) fn table(name: &str, head: &[&str], rows: &[String]) -> String {
    let columns = each(head.iter().enumerate(), |(at, title)| {
        let class = if at == 0 { "" } else { " class=\"n\"" };
        format!("<th scope=\"col\"{class}>{title}</th>")
    });
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{name}\" tabindex=\"0\"><table><thead><tr>{columns}</tr>\
         </thead><tbody>{}</tbody></table></div>\n",
        rows.concat()
    )
}

/// Renders a row of [`table`]: its heading as HTML, then its numbers. Closing tags that HTML does not require are
/// left out, as in all rows.
pub(super) fn row(heading: &str, numbers: &[String]) -> String {
    format!("<tr><th scope=\"row\">{heading}</th>{}", each(numbers, |number| format!("<td>{number}")))
}

/// Renders a cell's name in a table: the name of its dataset, and below it the search and the full settings.
pub(super) fn name(view: &View, cell: &Cell) -> String {
    format!(
        "<span class=\"spec\">{}</span> <small>{}</small>{}",
        Text(&cell.build),
        Text(&view.detail(cell)),
        full(cell)
    )
}

/// Renders a cell's name where only its dataset matters.
pub(super) fn build_name(view: &View, cell: &Cell) -> String {
    let model = if view.one_model { String::new() } else { format!(" <small>{}</small>", Text(&cell.model)) };
    format!("<span class=\"spec\">{}</span>{model}{}", Text(&cell.build), full(cell))
}

/// Renders the full settings of a dataset, if they differ from its name.
fn full(cell: &Cell) -> String {
    let says_all = cell.spec_text == cell.build;
    if says_all { String::new() } else { format!("<small class=\"full\">{}</small>", Text(&cell.spec_text)) }
}

/// Renders a body that opens below its summary.
pub(super) fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>{body}</details>\n")
}
