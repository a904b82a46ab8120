//! Rotary position embeddings.

/// Rotary position embeddings of a head (Su et al. 2021): each number of its first half is rotated with one of its
/// second half, by an angle that grows with the position.
#[derive(Debug)]
pub struct Rotation {
    /// For each position, the cosine of each angle.
    pub(super) cosines: Vec<f32>,
    pub(super) sines: Vec<f32>,
    /// Number of pairs in a head.
    pub(super) half: usize,
}

impl Rotation {
    /// Computes the rotations of heads of `width` numbers, which must be even, for `positions` positions. Pair `i`
    /// is rotated by the angle `position / base^(2i / width)`, computed in f32 as in the training of models.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "positions and widths are far below 2^24")]
    #[expect(clippy::cast_possible_truncation, reason = "to the precision that models are trained in")]
    pub fn new(width: usize, positions: usize, base: f64) -> Self {
        let half = width / 2;
        let slow = |i: usize| 1.0 / base.powf((2 * i) as f64 / width as f64) as f32;
        let slow: Vec<f32> = (0..half).map(slow).collect();
        let angles = (0..positions).flat_map(|at| slow.iter().map(move |slow| f64::from(at as f32 * slow)));
        let (cosines, sines) = angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip();
        Self { cosines, sines, half }
    }
}
