//! The advice of a report as lines for a terminal.

use crate::data::report::Advice;

/// Writes the headline, and below it one line for each question that a reader has.
pub(super) fn advice(advice: &Advice) -> String {
    let Advice { headline, gain, cost, certainty, next, caveats } = advice;
    let named = [("gain", gain), ("cost", cost), ("sure", certainty), ("next", next)].into_iter();
    let named = named.chain(caveats.iter().map(|caveat| ("note", caveat))).filter(|(_, words)| !words.is_empty());
    let lines: Vec<String> = named.map(|(name, words)| format!("{name}  {words}")).collect();
    format!("{headline}\n\n{}", lines.join("\n"))
}
