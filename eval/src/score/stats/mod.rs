//! How certain is a number? Intervals, tests and orders over values per question; no files, no reports.
//!
//! - [`bootstrap`]: how far the mean over these questions may be from the mean over all questions of this kind.
//! - [`randomisation`], [`max_t`], [`holm`]: whether two settings differ at all, and whether they still do after
//!   correction for many pairs.
//! - [`probability_best`], [`held_out`]: what is known about the best of many.
//! - [`minimum_detectable_effect`]: which difference this many questions could show.
//! - [`pareto`], [`kendall_tau_b`]: which settings are not beaten at their cost, and how well two orders agree.
//!
//! Everything random depends on a seed and the number of the sample alone, so a result depends neither on the
//! number of threads nor on what else is computed. Questions that resemble each other are drawn together:
//! [`ClusteredValues`].
//!
//! | file | question it answers |
//! | --- | --- |
//! | `mean` | Where do values lie, and how far apart? |
//! | `normal` | What does a normal distribution say? |
//! | `rng` | Which numbers follow from a seed? |
//! | `clustered` | Which values are drawn together? |
//! | `bootstrap` | How far may a mean be from the true one? |
//! | `randomisation` | Do two settings differ at all? |
//! | `selection` | What is known about the best of many? |
//! | `order` | Which settings are not beaten, and do two orders agree? |

mod bootstrap;
mod clustered;
mod mean;
mod normal;
mod order;
mod randomisation;
mod rng;
mod selection;

pub use bootstrap::{Bootstrap, Interval, bootstrap, constant, unseen};
pub use clustered::ClusteredValues;
pub use mean::{deviation, mean};
pub use normal::{POWER, minimum_detectable_effect, normal_cdf, normal_quantile, student_quantile};
pub use order::{kendall_tau_b, pareto};
pub use randomisation::{PermutationTest, holm, max_t, randomisation};
pub use selection::{HeldOut, held_out, probability_best};
