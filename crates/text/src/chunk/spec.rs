//! How to chunk a document: strategy, unit, limits and switches, valid by construction.
//!
//! [`Settings`] are what a user wrote, each part optional. A [`Spec`] is what they mean: it is built only from a
//! preset and settings, it always satisfies its invariants, and a fingerprint identifies it. Settings that a
//! strategy does not read are normalised away, so two specs that chunk alike are equal.

use std::fmt;
use std::str::FromStr;

use chunkmill_base::error::{Error, Result};
use chunkmill_base::setting::Table;
use chunkmill_base::value::unknown;
use url::Url;

use super::context::Context;
use super::normalize::Normalizer;
use super::pooling::Pooling;
use super::settings::{BaseUrl, Settings, TokenEstimator};
use super::strategy::{Preset, Strategy, Switch};
use crate::tokens::{Encoding, Sizer, TokenCounter, Unit};

/// Version of the strategies' behaviour. It is part of every fingerprint. Increase it when a change in this module
/// tree can move a boundary or alter a chunk.
const VERSION: u32 = 5;

impl Strategy {
    /// Returns the preset whose values apply when a strategy is chosen without one.
    pub fn preset(self) -> Preset {
        match self {
            Self::Header => Preset::Ragdocs,
            Self::Section => Preset::Sections,
            Self::Semantic => Preset::Docs,
            Self::CodeAware => Preset::Code,
            Self::Fixed => Preset::Fixed,
            Self::Heading => Preset::HeadingTokens,
            Self::Lines => Preset::LineThreshold,
            Self::Structure => Preset::Structure,
            Self::Recursive => Preset::Recursive,
            Self::ChromaRecursive => Preset::ChromaRecursive,
            Self::Windows => Preset::Windows,
            Self::None => Preset::None,
        }
    }

    /// Returns which limits the strategy reads: min, target, and unit, max and overlap together.
    fn limits(self) -> Limits {
        let limits = |min, target| Limits { min, target, max: true };
        match self {
            Self::Header | Self::Lines | Self::Structure => limits(true, false),
            Self::Section | Self::Semantic | Self::CodeAware | Self::Fixed => limits(true, true),
            Self::Heading | Self::Recursive | Self::ChromaRecursive | Self::Windows => limits(false, false),
            Self::None => Limits { min: false, target: false, max: false },
        }
    }

    /// Returns whether the strategy reads a switch.
    fn reads(self, switch: Switch) -> bool {
        match switch {
            Switch::ParentHeaders => self == Self::Header,
            Switch::RespectBoundaries | Switch::IncludeCode | Switch::IncludeTables => {
                matches!(self, Self::Semantic | Self::CodeAware | Self::Fixed)
            }
            Switch::CutOversized | Switch::SentenceOverlap => matches!(
                self,
                Self::Header | Self::Section | Self::Semantic | Self::CodeAware | Self::Lines | Self::Structure
            ),
            Switch::NormalizeWhitespace | Switch::NormalizeUnicode | Switch::RedactUrls => true,
        }
    }
}

/// The limits that a strategy reads.
struct Limits {
    min: bool,
    target: bool,
    /// Unit, max and overlap.
    max: bool,
}

impl Switch {
    fn of(self, settings: &Settings) -> Option<bool> {
        match self {
            Self::ParentHeaders => settings.parent_headers,
            Self::RespectBoundaries => settings.respect_boundaries,
            Self::IncludeCode => settings.include_code,
            Self::IncludeTables => settings.include_tables,
            Self::CutOversized => settings.cut_oversized,
            Self::SentenceOverlap => settings.sentence_overlap,
            Self::NormalizeWhitespace => settings.normalize_whitespace,
            Self::NormalizeUnicode => settings.normalize_unicode,
            Self::RedactUrls => settings.redact_urls,
        }
    }
}

impl Preset {
    /// Returns the spec that it stands for.
    pub fn spec(self) -> Spec {
        let spec = |strategy, unit, [min, target, max, overlap]: [usize; 4]| Spec {
            strategy,
            unit,
            min,
            target,
            max,
            overlap,
            switches: Switches::default(),
            context: Context::None,
            pooling: Pooling::default(),
            encoding: Encoding::default(),
            base_url: None,
        };
        let with = |on: &[Switch], mut spec: Spec| {
            for &switch in on {
                spec.switches.set(switch, true);
            }
            spec
        };
        // All policies of the design of `docs` start from the same defaults.
        let policy = |strategy, limits| {
            let on = [
                Switch::RespectBoundaries,
                Switch::IncludeCode,
                Switch::IncludeTables,
                Switch::NormalizeWhitespace,
                Switch::NormalizeUnicode,
            ];
            with(&on, spec(strategy, Unit::Estimate, limits))
        };
        match self {
            Self::Ragdocs => with(&[Switch::ParentHeaders], spec(Strategy::Header, Unit::Chars, [200, 1500, 1500, 50])),
            Self::Sections => spec(Strategy::Section, Unit::Chars, [200, 1500, 3000, 200]),
            Self::Docs => policy(Strategy::Semantic, [100, 600, 1000, 60]),
            Self::Code => policy(Strategy::CodeAware, [100, 400, 800, 60]),
            Self::Fixed => policy(Strategy::Fixed, [100, 500, 600, 100]),
            Self::Pdf => policy(Strategy::Semantic, [100, 500, 1000, 75]),
            Self::HeadingTokens => spec(Strategy::Heading, Unit::Tokens, [0, 512, 512, 50]),
            Self::LineThreshold => spec(Strategy::Lines, Unit::Lines, [500, 1000, 1000, 0]),
            Self::Structure => Spec {
                context: Context::Full,
                ..with(
                    &[Switch::CutOversized, Switch::SentenceOverlap],
                    spec(Strategy::Structure, Unit::Tokens, [32, 128, 128, 0]),
                )
            },
            Self::Recursive => spec(Strategy::Recursive, Unit::Tokens, [0, 400, 400, 0]),
            Self::ChromaRecursive => spec(Strategy::ChromaRecursive, Unit::Tokens, [0, 400, 400, 0]),
            Self::Windows => spec(Strategy::Windows, Unit::Tokens, [0, 400, 400, 0]),
            Self::None => spec(Strategy::None, Unit::Chars, [0, UNLIMITED, UNLIMITED, 0]),
        }
    }
}

/// The maximum of a strategy without one.
const UNLIMITED: usize = usize::MAX;

/// The state of every switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Switches([bool; Switch::ALL.len()]);

impl Switches {
    fn on(self, switch: Switch) -> bool {
        self.0[switch as usize]
    }

    fn set(&mut self, switch: Switch, on: bool) {
        self.0[switch as usize] = on;
    }
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
    switches: Switches,
    context: Context,
    pooling: Pooling,
    encoding: Encoding,
    base_url: Option<BaseUrl>,
}

impl Default for Spec {
    fn default() -> Self {
        Preset::DEFAULT.spec()
    }
}

impl Spec {
    /// Resolves settings. Those that the strategy does not read make no difference. Values that were not written
    /// are adjusted to those that were: with `max = 100` alone, a preset's minimum of 200 becomes 100.
    ///
    /// # Errors
    /// [`Error::Setting`] for a maximum of 0 or written values that contradict each other.
    pub fn resolve(settings: &Settings) -> Result<Self, Error> {
        let strategy = settings.strategy;
        let preset = settings.preset.unwrap_or_else(|| strategy.map_or(Preset::DEFAULT, Strategy::preset));
        let mut spec = preset.spec();
        if let Some(strategy) = strategy
            && strategy != spec.strategy
        {
            // The named preset provides the numbers; the strategy's own preset provides the switches and the
            // context.
            let own = strategy.preset().spec();
            let limits = if spec.max == UNLIMITED { own.clone() } else { spec };
            spec = Self { strategy, switches: own.switches, context: own.context, ..limits };
        }
        let reads = spec.strategy.limits();
        let read = |value: Option<usize>, read: bool| value.filter(|_| read);
        let (min, target) = (read(settings.min, reads.min), read(settings.target, reads.target));
        let (max, overlap) = (read(settings.max, reads.max), read(settings.overlap, reads.max));
        let estimator = settings.token_estimator.map(TokenEstimator::unit);
        spec.unit = settings.unit.or(estimator).unwrap_or(spec.unit);
        for switch in Switch::ALL {
            if let Some(on) = switch.of(settings) {
                spec.switches.set(switch, on);
            }
        }
        spec.context = settings.context.unwrap_or(spec.context);
        spec.pooling = settings.pooling.unwrap_or(spec.pooling);
        spec.encoding = settings.encoding.unwrap_or(spec.encoding);
        spec.base_url = settings.base_url.clone().or(spec.base_url);

        let floor = [min, target, overlap.map(|overlap| overlap.saturating_add(1))];
        spec.max = match max {
            Some(max) => max,
            None => floor.into_iter().flatten().fold(spec.max, usize::max),
        };
        let implied = spec.target.max(min.unwrap_or(0)).min(spec.max);
        spec.target = target.unwrap_or(implied);
        spec.min = min.unwrap_or(spec.min.min(spec.target));
        spec.overlap = overlap.unwrap_or(spec.overlap.min(spec.max / 2));

        let wrong = |problem: String, help: &str| Err(Error::setting("chunk settings", problem, help));
        if spec.max == 0 {
            return wrong("max is 0".to_owned(), "use a maximum of 1 or more");
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

    /// Resets everything that the strategy does not read.
    fn normalised(mut self) -> Self {
        let reads = self.strategy.limits();
        let blank = Preset::None.spec();
        if !reads.max {
            (self.unit, self.max, self.overlap) = (blank.unit, blank.max, blank.overlap);
        }
        if !reads.min {
            self.min = 0;
        }
        if !reads.target {
            self.target = self.max;
        }
        for switch in Switch::ALL {
            let on = self.switches.on(switch) && self.strategy.reads(switch);
            self.switches.set(switch, on);
        }
        self
    }

    /// Returns the names of written settings that this spec's strategy does not read.
    pub fn unused(&self, settings: &Settings) -> Vec<&'static str> {
        let reads = self.strategy.limits();
        let limits = [
            ("unit", settings.unit.is_some() && !reads.max),
            ("token_estimator", settings.token_estimator.is_some() && (!reads.max || settings.unit.is_some())),
            ("min", settings.min.is_some() && !reads.min),
            ("target", settings.target.is_some() && !reads.target),
            ("max", settings.max.is_some() && !reads.max),
            ("overlap", settings.overlap.is_some() && !reads.max),
        ];
        let switches = Switch::ALL.into_iter();
        // Most switches ask for something when they are on; these two do when they are off.
        let asks = |switch| !matches!(switch, Switch::IncludeCode | Switch::IncludeTables);
        let switches = switches.map(|s| (s.name(), s.of(settings) == Some(asks(s)) && !self.strategy.reads(s)));
        limits.into_iter().chain(switches).filter_map(|(name, unused)| unused.then_some(name)).collect()
    }

    /// Returns the same spec with the maximum reduced by `by`, and the other sizes within it.
    pub(super) fn narrowed(&self, by: usize) -> Self {
        let max = self.max.saturating_sub(by).max(1);
        let within = |size: usize| size.min(max);
        let overlap = self.overlap.min(max - 1);
        Self { max, target: within(self.target), min: within(self.min), overlap, ..self.clone() }
    }

    /// Returns the rule that proposes cuts.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Returns the unit of sizes.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the encoding of the tokens that are counted, as a unit and in `n_tokens`.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the sizer for its unit. Only [`Unit::Model`] needs `model`.
    pub fn sizer<'a>(&self, model: Option<&'a dyn TokenCounter>) -> Result<Sizer<'a>> {
        Sizer::new(self.unit, self.encoding, model)
    }

    /// Returns the smallest size to aim for, in units; for `lines`, the largest document that is not cut.
    pub fn min(&self) -> usize {
        self.min
    }

    /// Returns the size to aim for, in units.
    pub fn target(&self) -> usize {
        self.target
    }

    /// Returns the largest size, in units, of a chunk that is not one atomic block.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Returns whether the maximum has room for a word or two at most. This is a valid spec, but hardly ever
    /// intended.
    pub fn is_tiny(&self) -> bool {
        let room = match self.unit {
            Unit::Lines => 1,
            Unit::Chars => 16,
            Unit::Tokens | Unit::Words | Unit::Estimate | Unit::Model => 4,
        };
        self.max < room
    }

    /// Returns how much of a chunk is repeated at the start of the next, in units.
    pub fn overlap(&self) -> usize {
        self.overlap
    }

    /// Returns whether a switch is on.
    pub fn is_on(&self, switch: Switch) -> bool {
        self.switches.on(switch)
    }

    /// Returns what the model sees before the content.
    pub fn context(&self) -> Context {
        self.context
    }

    /// Returns what the model reads to compute a chunk's vector.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Returns the URL of the corpus root, if links should become absolute.
    pub fn base_url(&self) -> Option<&Url> {
        self.base_url.as_ref().map(BaseUrl::url)
    }

    /// Returns the normalizer for the text that the model sees; `None` if it sees `content` itself.
    pub fn normalizer(&self) -> Option<Normalizer<'_>> {
        let normalizer = Normalizer {
            whitespace: self.is_on(Switch::NormalizeWhitespace),
            unicode: self.is_on(Switch::NormalizeUnicode),
            redact_urls: self.is_on(Switch::RedactUrls),
            base_url: self.base_url(),
        };
        let Normalizer { whitespace, unicode, redact_urls, base_url } = normalizer;
        (whitespace || unicode || redact_urls || base_url.is_some()).then_some(normalizer)
    }

    /// Returns 16 hexadecimal digits that identify what this spec does, across versions of chunkmill.
    pub fn fingerprint(&self) -> String {
        blake3::hash(format!("chunk-v{VERSION} {self}").as_bytes()).to_hex()[..16].to_owned()
    }

    /// Returns the limits, and the settings that differ from the strategy's own preset, as keys and values.
    fn written(&self) -> Vec<(&'static str, String)> {
        let reads = self.strategy.limits();
        let usual = self.strategy.preset().spec().normalised();
        let mut written = Vec::new();
        let mut write = |if_so: bool, key, value: &dyn fmt::Display| {
            if if_so {
                written.push((key, value.to_string()));
            }
        };
        write(reads.max, "unit", &self.unit);
        write(reads.min, "min", &self.min);
        write(reads.target, "target", &self.target);
        write(reads.max, "max", &self.max);
        write(reads.max, "overlap", &self.overlap);
        for switch in Switch::ALL {
            let on = self.switches.on(switch);
            write(on != usual.switches.on(switch), switch.name(), &on);
        }
        write(self.context != usual.context, "context", &self.context);
        write(self.pooling != usual.pooling, "pooling", &self.pooling);
        write(self.encoding != Encoding::default(), "encoding", &self.encoding);
        if let Some(base) = &self.base_url {
            write(true, "base_url", base);
        }
        written
    }

    /// Returns the settings that resolve to exactly this spec.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings { strategy: Some(self.strategy), ..Settings::default() };
        for (key, value) in self.written() {
            // Values written from a valid spec can be parsed.
            let read = settings.set(key, &value);
            debug_assert!(read.is_ok(), "{key}={value}: {read:?}");
        }
        settings
    }
}

/// The canonical form, such as `header unit=chars min=200 max=1500 overlap=50`, which can be parsed again.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.strategy)?;
        self.written().iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

/// Returns the message for a name that is neither a strategy nor a preset.
fn no_spec(name: &str) -> String {
    let mut names: Vec<&str> = Strategy::ALL.map(Strategy::name).into();
    names.extend(Preset::ALL.map(Preset::name).into_iter().filter(|name| name.parse::<Strategy>().is_err()));
    unknown(name, "a strategy or preset", &names)
}

/// Parses a preset or strategy name, followed by any number of `key=value` pairs.
impl FromStr for Spec {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self, Error> {
        let mut settings = Settings::default();
        let mut words = s.split_whitespace();
        let name = words.next().unwrap_or_default();
        let error = |problem: String| {
            Error::setting(format!("spec `{s}`"), problem, "write `header unit=tokens min=64 max=512 overlap=32`")
        };
        match name.parse() {
            Ok(preset) => settings.preset = Some(preset),
            Err(_) => settings.strategy = Some(name.parse().map_err(|_: String| error(no_spec(name)))?),
        }
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| error(format!("cannot read `{word}`")))?;
            settings.set(key, value).map_err(|problem| error(format!("cannot read `{word}`: {problem}")))?;
        }
        Self::resolve(&settings)
    }
}
