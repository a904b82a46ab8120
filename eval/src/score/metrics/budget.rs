//! Results within a token budget, for a fair comparison of large and small chunks.

use crate::data::spans::Span;

/// Returns the part of the results, each with its number of tokens, that fits into a token budget. Results are
/// taken in order until the budget is full; the first one that does not fit is cut, and later ones are left out.
/// Tokens are assumed to be spread evenly over a result, so the cut is exact to a few units.
///
/// The result is cut rather than dropped. Otherwise a whole document larger than the budget would count for
/// nothing, and a smaller chunk further down would be read before one that ranks above it. Text that two results
/// share is paid for twice, as in a language model's context.
///
/// Recall and precision at the budget are [`text`](super::text()) of the returned spans. Source: ours.
pub fn within_budget(results: &[(Span, usize)], budget: usize) -> Vec<Span> {
    let mut rest = budget;
    let mut taken = Vec::new();
    for &(span, tokens) in results {
        if tokens <= rest {
            rest -= tokens;
            taken.push(span);
        } else {
            let kept = span.size() as u128 * rest as u128 / tokens as u128;
            let kept = usize::try_from(kept).unwrap_or(usize::MAX);
            taken.extend((kept > 0).then(|| Span { end: span.start.saturating_add(kept), ..span }));
            break;
        }
    }
    taken
}
