//! Do the scores tell questions with an answer from those without one?

use std::cmp::Ordering;

/// Returns the share of scores that are above one score; those equal to it count half. Returns `None` if there are none.
///
/// The mean over all questions without an answer is the area under the ROC curve (Hanley & `McNeil` 1982, "The meaning and
/// use of the area under a receiver operating characteristic (ROC) curve"): the probability that a question with an
/// answer has a higher best score than one without. At 1 a threshold on the score separates the two; at 0.5 the scores say
/// nothing.
pub fn share_above(scores: &[f64], one: f64) -> Option<f64> {
    let count = |order| scores.iter().filter(|score| score.partial_cmp(&&one) == Some(order)).count();
    #[expect(clippy::cast_precision_loss, reason = "questions are far fewer than 2^52")]
    let (above, equal, all) = (count(Ordering::Greater) as f64, count(Ordering::Equal) as f64, scores.len() as f64);
    (all > 0.0).then(|| (above + equal / 2.0) / all)
}
