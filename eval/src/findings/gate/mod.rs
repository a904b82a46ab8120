//! Is a run worse than a baseline by more than is allowed, and by more than chance explains?
//!
//! Lost evidence comes first: a question that the baseline could score, and whose answer was deleted or reworded since,
//! fails the gate whatever the figures say. They leave this question out, and may even rise. A text that is only
//! elsewhere now is not lost, and neither is a question that was taken out of the labels.
//!
//! A cell fails by a metric only if both conditions are met:
//!
//! 1. The whole paired bootstrap interval of its change, over the questions that both runs have, is beyond the
//!    allowed drop. Noise therefore seldom fails a run, even if no drop at all is allowed.
//! 2. The drop is still significant after Holm's correction for all cells and metrics that changed. With hundreds
//!    of them, one in forty intervals would be beyond its true value by chance alone, and people soon switch off a
//!    gate that cries wolf. The price is sensitivity: with 1,600 comparisons, a single cell must have fallen about
//!    twice as far as with one. Gate the few settings in use, not the sweep that found them. Comparisons that
//!    cannot differ (no question changed) are not counted, so cells that a change does not affect cost nothing.
//!
//! A drop that is larger than allowed but could be chance is reported and does not fail. Sizes do not vary by
//! chance and are compared directly. For repeated timings, the whole spread must be beyond the limit.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `thresholds` | How much worse may a run be? |
//! | `check` | What is the result of one comparison? |
//! | `costs` | Did sizes or times grow? |
//! | `outcome` | What does the gate say? |
//! | `compare` | How are a run and its baseline compared? |

mod check;
mod compare;
mod costs;
mod outcome;
mod thresholds;

pub use check::{Check, State};
pub use compare::gate;
pub use outcome::Outcome;
pub use thresholds::Thresholds;
