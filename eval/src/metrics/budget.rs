//! Results within a fixed number of tokens, so that large chunks and small ones compare fairly.

use super::spans::Span;

/// What of the results, each with its number of tokens, fits into a budget of tokens. They are taken
/// in order until the budget is full; the one that no longer fits is cut, and those after it are
/// left out. Its tokens are taken to be spread evenly over it, so the cut is exact to a few units.
///
/// Cutting rather than dropping: a whole document that is larger than the budget would else count
/// for nothing, and a smaller chunk further down would be read before one that ranks above it.
/// Text that two results share is paid for twice, as a language model's context would.
///
/// Recall and precision at the budget are [`text`](super::text()) of this. Source: ours.
#[must_use]
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
