//! `junit.xml`: cells and checks as test cases, which every continuous integration service can show.

use std::fmt::Write;

use chunkmill::cli::visible;

use super::view::View;
use crate::report::{Cell, Report};

/// Renders the XML. The suite `sweep` has a test case per cell, best first, whose time is that of one indexing run
/// if the sweep timed it. The suite `gate` has a test case per check, by name; it fails if the check has a failure
/// text.
#[must_use]
pub fn junit(report: &Report, checks: &[(String, Option<String>)]) -> String {
    let view = View::new(report);
    let failures = checks.iter().filter(|(_, failure)| failure.is_some()).count();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"chunkmill-eval\" tests=\"{}\" failures=\"{failures}\">\n",
        report.cells.len() + checks.len()
    );
    let seconds: f64 = report.cells.iter().filter_map(seconds).sum();
    let _ = writeln!(
        xml,
        "  <testsuite name=\"sweep\" tests=\"{}\" failures=\"0\" time=\"{seconds:.3}\" timestamp=\"{}\">",
        report.cells.len(),
        escape(&report.created)
    );
    for cell in &view.ranked {
        let said = view.summary(cell).map_or_else(
            || "not scored".to_owned(),
            |s| format!("{} {:.4} [{:.4}, {:.4}]", view.primary(), s.mean, s.lo, s.hi),
        );
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"><system-out>{}</system-out></testcase>",
            escape(&format!("sweep.{}", cell.retrieval)),
            escape(&cell.id),
            seconds_of(cell),
            escape(&said)
        );
    }
    xml.push_str("  </testsuite>\n");
    if !checks.is_empty() {
        let _ = writeln!(xml, "  <testsuite name=\"gate\" tests=\"{}\" failures=\"{failures}\">", checks.len());
        for (name, failure) in checks {
            let _ = write!(xml, "    <testcase classname=\"gate\" name=\"{}\"", escape(name));
            let _ = match failure {
                None => writeln!(xml, "/>"),
                Some(why) => writeln!(xml, "><failure message=\"{0}\">{0}</failure></testcase>", escape(why)),
            };
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn seconds(cell: &Cell) -> Option<f64> {
    cell.cost.index.as_ref().map(|index| index.seconds.median).filter(|seconds| seconds.is_finite())
}

fn seconds_of(cell: &Cell) -> f64 {
    seconds(cell).unwrap_or_default()
}

/// Escapes text for XML 1.0, which cannot represent most control characters. The text may be shown on a terminal.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
