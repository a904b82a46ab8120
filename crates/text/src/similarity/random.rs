//! The random numbers of `RandomState` of `numpy`, from which the signatures of `datatrove` are made.

/// Number of words in the state of the generator.
const STATE: usize = 624;

/// A Mersenne Twister, MT19937 (Matsumoto and Nishimura 1998).
pub(super) struct MersenneTwister {
    state: [u32; STATE],
    next: usize,
}

impl MersenneTwister {
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [seed; STATE];
        for i in 1..STATE {
            let before = state[i - 1];
            state[i] =
                1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(u32::try_from(i).unwrap_or(0));
        }
        Self { state, next: STATE }
    }

    fn word(&mut self) -> u32 {
        if self.next == STATE {
            for i in 0..STATE {
                let joined = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % STATE] & 0x7fff_ffff);
                let twisted = (joined >> 1) ^ if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + 397) % STATE] ^ twisted;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Returns a number below `end`, of which every bit pattern under its highest bit is tried until one is below.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        let mask = u64::MAX >> (end - 1).leading_zeros();
        loop {
            let high = u64::from(self.word()) << 32;
            let number = (high | u64::from(self.word())) & mask;
            if number < end {
                return number;
            }
        }
    }
}
