//! Maps values to places on an axis, and chooses the round numbers next to it.

/// An axis over finite values.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// Values of the ticks; if empty, round numbers are used.
    ticks: Vec<f64>,
}

/// Ratio of the largest to the smallest cost from which an axis is logarithmic.
const WIDE: f64 = 20.0;

/// The same ratio for steps, which often double from one to the next.
const DOUBLED: f64 = 3.0;

/// Smallest distance between the ticks of steps, in per cent of the axis.
const APART: f64 = 9.0;

impl Scale {
    /// Creates a linear axis that includes all values with a little room. Equal values, or none, get room around
    /// them.
    #[must_use]
    pub fn linear(values: impl Iterator<Item = f64>) -> Self {
        Self::of(values, f64::INFINITY)
    }

    /// Creates a linear axis for a metric. If no value is above 1, the axis ends there, because a share cannot be
    /// higher.
    #[must_use]
    pub fn metric(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let scale = Self::linear(values.iter().copied());
        let is_share = values.iter().all(|value| *value <= 1.0);
        Self { high: if is_share { scale.high.min(1.0) } else { scale.high }, ..scale }
    }

    /// Creates an axis for costs: logarithmic if they differ a lot.
    #[must_use]
    pub fn cost(values: impl Iterator<Item = f64>) -> Self {
        Self::of(values, WIDE)
    }

    /// Creates an axis of steps: few values, with ticks only at these.
    #[must_use]
    pub fn steps(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let mut scale = Self::of(values.iter().copied(), DOUBLED);
        // Starts at the last value, which always gets a tick.
        let mut last = f64::INFINITY;
        values.retain(|value| value.is_finite());
        for value in values.into_iter().rev() {
            if last - scale.place(value) >= APART {
                last = scale.place(value);
                scale.ticks.push(value);
            }
        }
        scale
    }

    fn of(values: impl Iterator<Item = f64>, log_from: f64) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let log = low > 0.0 && high / low > log_from;
        let (low, high) = if log { (low.log10(), high.log10()) } else { (low, high) };
        let room = if high > low { (high - low) * 0.06 } else { high.abs().max(1.0) * 0.05 };
        Self { low: low - room, high: high + room, log, ticks: Vec::new() }
    }

    /// Returns the place of a value: 0 at the lower end, 100 at the upper.
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        ((value - self.low) / (self.high - self.low) * 100.0).clamp(0.0, 100.0)
    }

    /// Returns the steps, or about five round numbers.
    pub fn ticks(&self) -> Vec<f64> {
        match (self.ticks.is_empty(), self.log) {
            (false, _) => self.ticks.clone(),
            (true, true) => self.log_ticks(),
            (true, false) => self.linear_ticks(),
        }
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0].map(|n| n * power).into_iter().find(|s| *s >= rough).unwrap_or(power * 10.0);
        let mut ticks = Vec::new();
        let mut at = (self.low / step).ceil();
        // Costs are never negative, so an axis with room around a small cost should have no negative ticks.
        while at * step <= self.high && ticks.len() < 10 {
            if at >= 0.0 || self.low + (self.high - self.low) * 0.06 < 0.0 {
                ticks.push(at * step + 0.0);
            }
            at += 1.0;
        }
        ticks
    }

    fn log_ticks(&self) -> Vec<f64> {
        let steps: &[f64] = if self.high - self.low > 2.5 { &[1.0] } else { &[1.0, 3.0] };
        let mut ticks = Vec::new();
        let mut power = self.low.floor();
        while power <= self.high && ticks.len() < 12 {
            ticks.extend(steps.iter().map(|step| step * 10f64.powf(power)));
            power += 1.0;
        }
        ticks.retain(|tick| (self.low..=self.high).contains(&tick.log10()));
        ticks
    }
}
