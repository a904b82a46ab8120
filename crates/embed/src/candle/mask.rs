//! Masks of attention: which keys a query does not see.

use candle_core::DType;

/// Returns a score that hides a key. It is finite, because otherwise a row with only hidden keys would have no maximum.
pub(super) fn hidden(dtype: DType) -> f32 {
    if dtype == DType::F16 { -6e4 } else { -1e30 }
}
