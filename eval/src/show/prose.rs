//! Words of the analysis that page and Markdown share.

use chunkmill::value;

use super::view::View;
use crate::data::report::{HybridVerdict, Report, Verdict};
use crate::findings::analysis::direction;

/// Summarizes all comparisons of fused search: their joint result, and the number of each individual result.
pub(super) fn hybrid_sentence(report: &Report, verdict: &Verdict) -> String {
    let gain = |verdict: &HybridVerdict| verdict.comparison.difference * direction(report, &report.scoring.primary);
    let all = &verdict.hybrid;
    let count = |sign: f64| all.iter().filter(|v| v.comparison.separable && gain(v) * sign > 0.0).count();
    let (better, worse) = (count(1.0), count(-1.0));
    let open = all.len() - better - worse;
    let each = format!(
        "Compared on each dataset alone, hybrid search wins {better} and loses {worse} of {}; {open} cannot be told \
         apart (corrected for the number of comparisons).",
        value::count(all.len(), "comparison")
    );
    verdict.hybrid_overall.as_ref().map_or(each.clone(), |overall| format!("{} {each}", overall.text))
}

/// Renders a text of [`crate::findings::analysis`]: settings, which are between backticks, with `code` and the rest with
/// `plain`.
pub(super) fn prose(text: &str, plain: impl Fn(&str) -> String, code: impl Fn(&str) -> String) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    // With an unpaired backtick, the pieces cannot be told apart.
    if pieces.len().is_multiple_of(2) {
        return plain(text);
    }
    pieces.iter().enumerate().map(|(at, piece)| if at % 2 == 0 { plain(piece) } else { code(piece) }).collect()
}

/// Returns the comparisons of fused search that matter most: those whose better side ranks highest.
pub(super) fn hybrid_leaders<'r>(view: &View<'r>, count: usize) -> Vec<&'r HybridVerdict> {
    let Some(verdict) = &view.report.verdict else { return Vec::new() };
    // The advised cell comes first, whatever its place.
    let place = |id: &str| match view.ranked.iter().position(|cell| cell.id == id) {
        _ if id == verdict.advised => 0,
        found => found.map_or(usize::MAX, |at| at + 1),
    };
    let mut verdicts: Vec<_> = verdict.hybrid.iter().collect();
    verdicts.sort_by_cached_key(|verdict| place(&verdict.hybrid).min(place(&verdict.half)));
    verdicts.truncate(count);
    verdicts
}
