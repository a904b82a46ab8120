//! What to do with a document: strategy, unit, limits and switches, valid by construction.
//!
//! [`Settings`] are what a user wrote, each part optional. [`Spec`] is what they mean: built only
//! from a preset and settings, always within its rules, and identified by a fingerprint. Settings
//! that a strategy does not read are normalised away, so two specs that chunk alike are equal.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::named::named;
use crate::tokens::Unit;

/// Version of what the strategies make of a spec. It is part of every fingerprint; raise it when a
/// change in this module tree can move a boundary or alter a chunk.
const VERSION: u32 = 1;

/// The rule that proposes where a document may be cut. The set is closed: adding a strategy is a
/// variant here, a file beside this one, and a line in [`chunk`](super::chunk).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Sections merged up to a minimum, and split at blank lines above a maximum.
    Header,
    /// Every heading starts a chunk; longer sections become overlapping token windows.
    Heading,
    /// The whole document.
    None,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 3] = [Self::Header, Self::Heading, Self::None];

    /// The name used in settings and datasets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Heading => "heading",
            Self::None => "none",
        }
    }

    /// The preset whose values hold when a strategy is chosen without one.
    #[must_use]
    pub fn preset(self) -> Preset {
        match self {
            Self::Header => Preset::Ragdocs,
            Self::Heading => Preset::HeadingTokens,
            Self::None => Preset::None,
        }
    }

    fn reads(self) -> Reads {
        match self {
            Self::Header => Reads { min: true, target: false, limits: true, parent_headers: true },
            Self::Heading => Reads { min: false, target: false, limits: true, parent_headers: false },
            Self::None => Reads { min: false, target: false, limits: false, parent_headers: false },
        }
    }
}

/// Which settings a strategy reads.
#[expect(clippy::struct_excessive_bools, reason = "a row of a table")]
struct Reads {
    min: bool,
    target: bool,
    /// Unit, max and overlap.
    limits: bool,
    parent_headers: bool,
}

named!(Strategy, "a strategy");

/// A named spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Seed 1: `header`, 200 to 1,500 characters, overlap 50.
    Ragdocs,
    /// Seed 4: `heading`, 512 tokens, overlap 50.
    HeadingTokens,
    /// The whole document as one chunk.
    None,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 3] = [Self::Ragdocs, Self::HeadingTokens, Self::None];

    /// The preset used when nothing is said.
    pub const DEFAULT: Self = Self::Ragdocs;

    /// The name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ragdocs => "ragdocs",
            Self::HeadingTokens => "heading-tokens",
            Self::None => "none",
        }
    }

    /// The spec it stands for.
    #[must_use]
    pub fn spec(self) -> Spec {
        let spec = |strategy, unit, min, max, overlap| Spec {
            strategy,
            unit,
            min,
            target: max,
            max,
            overlap,
            parent_headers: false,
            heading_context: false,
        };
        match self {
            Self::Ragdocs => spec(Strategy::Header, Unit::Chars, 200, 1500, 50),
            Self::HeadingTokens => spec(Strategy::Heading, Unit::Tokens, 0, 512, 50),
            Self::None => spec(Strategy::None, Unit::Chars, 0, UNLIMITED, 0),
        }
    }
}

named!(Preset, "a preset");

/// The maximum of a strategy that has none.
const UNLIMITED: usize = usize::MAX;

/// Settings as written, in flags or in a `[chunking]` table. What is absent comes from the preset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The named spec to start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// The rule that proposes cuts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// What sizes are measured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Smallest size aimed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<usize>,
    /// Size aimed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<usize>,
    /// Largest size allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<usize>,
    /// How much of a chunk is repeated at the start of the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<usize>,
    /// Whether the headings above a chunk are put before its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_headers: Option<bool>,
    /// Whether the model sees the heading path before the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading_context: Option<bool>,
}

/// How documents are chunked. Invariants: `1 <= max`, `min <= target <= max`, `overlap < max`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spec {
    strategy: Strategy,
    unit: Unit,
    min: usize,
    target: usize,
    max: usize,
    overlap: usize,
    parent_headers: bool,
    heading_context: bool,
}

impl Default for Spec {
    fn default() -> Self {
        Preset::DEFAULT.spec()
    }
}

impl Spec {
    /// Resolves settings. What the strategy does not read makes no difference. A value that was not written gives way to those that were: with
    /// `max = 100` alone, a preset's minimum of 200 becomes 100.
    ///
    /// # Errors
    /// [`Error::Setting`] for a maximum of 0 or written values that contradict
    /// each other.
    pub fn resolve(settings: &Settings) -> Result<Self, Error> {
        let strategy = settings.strategy;
        let preset = settings.preset.unwrap_or_else(|| strategy.map_or(Preset::DEFAULT, Strategy::preset));
        let mut spec = preset.spec();
        if let Some(strategy) = strategy
            && strategy != spec.strategy
        {
            let limits = if spec.max == UNLIMITED { strategy.preset().spec() } else { spec };
            spec = Self { strategy, ..limits };
        }
        let reads = spec.strategy.reads();
        let read = |value: Option<usize>, read: bool| value.filter(|_| read);
        let (min, target) = (read(settings.min, reads.min), read(settings.target, reads.target));
        let (max, overlap) = (read(settings.max, reads.limits), read(settings.overlap, reads.limits));
        spec.unit = settings.unit.unwrap_or(spec.unit);
        spec.parent_headers = settings.parent_headers.unwrap_or(spec.parent_headers);
        spec.heading_context = settings.heading_context.unwrap_or(spec.heading_context);

        let floor = [min, target, overlap.map(|overlap| overlap.saturating_add(1))];
        spec.max = match max {
            Some(max) => max,
            None => floor.into_iter().flatten().fold(spec.max, usize::max),
        };
        let implied = spec.target.max(min.unwrap_or(0)).min(spec.max);
        spec.target = target.unwrap_or(implied);
        spec.min = min.unwrap_or(spec.min.min(spec.target));
        spec.overlap = overlap.unwrap_or(spec.overlap.min(spec.max / 2));

        let wrong = |problem: String, help: &str| {
            Err(Error::Setting { origin: "chunk settings".to_owned(), problem, help: help.to_owned() })
        };
        if spec.max == 0 {
            return wrong("max is 0".to_owned(), "a chunk has at least size 1");
        }
        if spec.min > spec.max {
            return wrong(format!("min {} is over max {}", spec.min, spec.max), "lower min or raise max");
        }
        if spec.target > spec.max {
            return wrong(format!("target {} is over max {}", spec.target, spec.max), "lower target or raise max");
        }
        if spec.min > spec.target {
            return wrong(format!("min {} is over target {}", spec.min, spec.target), "lower min or raise target");
        }
        if spec.overlap >= spec.max {
            let problem = format!("overlap {} is not below max {}", spec.overlap, spec.max);
            return wrong(problem, "windows would never advance; lower overlap or raise max");
        }
        Ok(spec.normalised())
    }

    /// Drops what the strategy does not read.
    fn normalised(mut self) -> Self {
        let reads = self.strategy.reads();
        let blank = Preset::None.spec();
        if !reads.limits {
            (self.unit, self.max, self.overlap) = (blank.unit, blank.max, blank.overlap);
        }
        if !reads.min {
            self.min = 0;
        }
        if !reads.target {
            self.target = self.max;
        }
        self.parent_headers &= reads.parent_headers;
        self
    }

    /// Names of written settings that this spec's strategy does not read.
    #[must_use]
    pub fn unused(&self, settings: &Settings) -> Vec<&'static str> {
        let reads = self.strategy.reads();
        let unused = [
            ("unit", settings.unit.is_some() && !reads.limits),
            ("min", settings.min.is_some() && !reads.min),
            ("target", settings.target.is_some() && !reads.target),
            ("max", settings.max.is_some() && !reads.limits),
            ("overlap", settings.overlap.is_some() && !reads.limits),
            ("parent_headers", settings.parent_headers == Some(true) && !reads.parent_headers),
        ];
        unused.into_iter().filter_map(|(name, unused)| unused.then_some(name)).collect()
    }

    /// The rule that proposes cuts.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// What sizes are measured in.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Smallest size aimed at, in units.
    #[must_use]
    pub fn min(&self) -> usize {
        self.min
    }

    /// Size aimed at, in units.
    #[must_use]
    pub fn target(&self) -> usize {
        self.target
    }

    /// Largest size of a chunk that is not one atomic block, in units.
    #[must_use]
    pub fn max(&self) -> usize {
        self.max
    }

    /// How much of a chunk is repeated at the start of the next, in units.
    #[must_use]
    pub fn overlap(&self) -> usize {
        self.overlap
    }

    /// Whether the headings above a chunk are put before its text.
    #[must_use]
    pub fn parent_headers(&self) -> bool {
        self.parent_headers
    }

    /// Whether the model sees the heading path before the content.
    #[must_use]
    pub fn heading_context(&self) -> bool {
        self.heading_context
    }

    /// Identifies what this spec does, over versions of chunkmill: 16 hexadecimal digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        blake3::hash(format!("chunk-v{VERSION} {self}").as_bytes()).to_hex()[..16].to_owned()
    }

    /// The settings that resolve to exactly this spec.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let limited = self.strategy.reads().limits;
        Settings {
            preset: None,
            strategy: Some(self.strategy),
            unit: limited.then_some(self.unit),
            min: self.strategy.reads().min.then_some(self.min),
            target: self.strategy.reads().target.then_some(self.target),
            max: limited.then_some(self.max),
            overlap: limited.then_some(self.overlap),
            parent_headers: self.parent_headers.then_some(true),
            heading_context: self.heading_context.then_some(true),
        }
    }
}

/// The canonical form: `header unit=chars min=200 max=1500 overlap=50`. It parses back.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads = self.strategy.reads();
        write!(f, "{}", self.strategy)?;
        if reads.limits {
            write!(f, " unit={}", self.unit)?;
        }
        if reads.min {
            write!(f, " min={}", self.min)?;
        }
        if reads.target {
            write!(f, " target={}", self.target)?;
        }
        if reads.limits {
            write!(f, " max={} overlap={}", self.max, self.overlap)?;
        }
        if self.parent_headers {
            write!(f, " parent_headers=true")?;
        }
        if self.heading_context {
            write!(f, " heading_context=true")?;
        }
        Ok(())
    }
}

/// Parses a preset or strategy name, followed by any number of `key=value`.
impl FromStr for Spec {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self, Error> {
        let mut settings = Settings::default();
        let mut words = s.split_whitespace();
        let name = words.next().unwrap_or_default();
        let error = |problem: String| Error::Setting {
            origin: format!("spec `{s}`"),
            problem,
            help: "write `header unit=tokens min=64 max=512 overlap=32`".to_owned(),
        };
        match name.parse() {
            Ok(preset) => settings.preset = Some(preset),
            Err(_) => settings.strategy = Some(name.parse().map_err(error)?),
        }
        for word in words {
            let wrong = || error(format!("cannot read `{word}`"));
            let (key, value) = word.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse().map_err(|_| wrong()).map(Some);
            let switch = || value.parse().map_err(|_| wrong()).map(Some);
            match key {
                "unit" => settings.unit = Some(value.parse().map_err(error)?),
                "min" => settings.min = number()?,
                "target" => settings.target = number()?,
                "max" => settings.max = number()?,
                "overlap" => settings.overlap = number()?,
                "parent_headers" => settings.parent_headers = switch()?,
                "heading_context" => settings.heading_context = switch()?,
                _ => return Err(wrong()),
            }
        }
        Self::resolve(&settings)
    }
}
