//! A spec is valid by construction: what presets stand for, and what is refused, adjusted or ignored.

use chunkmill::chunk::{Context, Preset, Settings, Spec, Strategy, Switch};
use chunkmill::tokens::Unit;

fn spec(text: &str) -> Result<Spec, String> {
    text.parse::<Spec>().map_err(|error| error.to_string())
}

#[test]
fn every_preset_stands_for_its_seed() {
    for (preset, spec) in [
        (Preset::Ragdocs, "header unit=chars min=200 max=1500 overlap=50"),
        (Preset::Sections, "section unit=chars min=200 target=1500 max=3000 overlap=200"),
        (Preset::Docs, "semantic unit=estimate min=100 target=600 max=1000 overlap=60"),
        (Preset::Code, "code_aware unit=estimate min=100 target=400 max=800 overlap=60"),
        (Preset::Fixed, "fixed unit=estimate min=100 target=500 max=600 overlap=100"),
        (Preset::Pdf, "semantic unit=estimate min=100 target=500 max=1000 overlap=75"),
        (Preset::HeadingTokens, "heading unit=tokens max=512 overlap=50"),
        (Preset::LineThreshold, "lines unit=lines min=500 max=1000 overlap=0"),
        (Preset::None, "none"),
    ] {
        assert_eq!(preset.spec().to_string(), spec);
    }
    for preset in Preset::ALL {
        assert_eq!(spec(&preset.spec().to_string()).unwrap(), preset.spec());
        assert_eq!(Spec::resolve(&preset.spec().settings()).unwrap(), preset.spec());
        assert_eq!(spec(preset.name()).unwrap(), preset.spec());
    }
    assert_eq!(Preset::Structure.spec().to_string(), "structure unit=tokens min=32 max=128 overlap=0");
    assert_eq!(Preset::Structure.spec().context(), Context::Full);
    assert_eq!(Spec::default(), Preset::Structure.spec());
}

#[test]
fn contradictions_are_refused_with_their_numbers() {
    assert!(spec("header min=300 max=200").unwrap_err().contains("min 300 is over max 200"));
    assert!(spec("heading max=50 overlap=50").unwrap_err().contains("overlap 50 is not below max 50"));
    assert!(spec("header max=0").unwrap_err().contains("max is 0"));
    assert!(spec("header unit=furlongs").unwrap_err().contains("one of: chars, tokens, words, estimate, model, lines"));
    assert!(spec("sideways").unwrap_err().contains("one of: header, section, semantic"));
    assert!(spec("header max").unwrap_err().contains("cannot read `max`"));
}

#[test]
fn values_that_were_not_written_give_way() {
    assert_eq!(spec("ragdocs max=100").unwrap().to_string(), "header unit=chars min=100 max=100 overlap=50");
    assert_eq!(spec("heading-tokens max=40").unwrap().overlap(), 20);
    assert_eq!(spec("ragdocs min=5000").unwrap().max(), 5000);
}

#[test]
fn settings_that_a_strategy_does_not_read_make_no_difference() {
    assert_eq!(spec("heading min=9").unwrap(), spec("heading").unwrap());
    assert_eq!(spec("none max=10 unit=lines").unwrap(), spec("none").unwrap());
    assert_eq!(spec("none max=0 overlap=9").unwrap(), spec("none").unwrap());
    assert_eq!(spec("header target=3000").unwrap(), spec("header").unwrap());
    assert_eq!(spec("heading min=5000").unwrap(), spec("heading").unwrap());
    assert_ne!(spec("header min=9").unwrap().fingerprint(), spec("header").unwrap().fingerprint());
    let settings = Settings { strategy: Some(Strategy::Heading), min: Some(9), ..Settings::default() };
    assert_eq!(Spec::resolve(&settings).unwrap().unused(&settings), ["min"]);
    let settings = Settings { include_code: Some(false), respect_boundaries: Some(true), ..Settings::default() };
    assert_eq!(Spec::resolve(&settings).unwrap().unused(&settings), ["respect_boundaries", "include_code"]);
}

#[test]
fn every_switch_of_seed_3_is_a_setting() {
    let docs = Preset::Docs.spec();
    for (switch, on) in [
        (Switch::RespectBoundaries, true),
        (Switch::IncludeCode, true),
        (Switch::IncludeTables, true),
        (Switch::NormalizeWhitespace, true),
        (Switch::NormalizeUnicode, true),
        (Switch::RedactUrls, false),
    ] {
        assert_eq!(docs.is_on(switch), on, "{}", switch.name());
        let other = spec(&format!("docs {}={}", switch.name(), !on)).unwrap();
        assert_eq!(other.is_on(switch), !on);
        assert_ne!(other.fingerprint(), docs.fingerprint());
        assert_eq!(spec(&other.to_string()).unwrap(), other);
    }
    for (estimator, unit) in [("bytes", Unit::Estimate), ("chars", Unit::Chars), ("tiktoken", Unit::Tokens)] {
        assert_eq!(spec(&format!("docs token_estimator={estimator}")).unwrap().unit(), unit);
    }
    let with_base = spec("docs base_url=https://example.org/docs").unwrap();
    assert_eq!(with_base.base_url().unwrap().as_str(), "https://example.org/docs/");
    assert_eq!(spec(&with_base.to_string()).unwrap(), with_base);
    assert!(spec("docs base_url=docs").unwrap_err().contains("is not a URL"));
    assert!(spec("docs base_url=mailto:a@example.org").unwrap_err().contains("is not the URL of a folder"));
    assert!(spec("docs include_code=perhaps").unwrap_err().contains("write true or false"));
}

#[test]
fn any_strategy_runs_with_any_unit() {
    for strategy in Strategy::ALL {
        for unit in Unit::ALL {
            let spec = spec(&format!("{strategy} unit={unit} max=77")).unwrap();
            assert!(strategy == Strategy::None || spec.unit() == unit);
        }
    }
}

#[test]
fn fingerprints_are_stable() {
    // Datasets are compared by these: a change requires a new version of the chunker.
    assert_eq!(Preset::Ragdocs.spec().fingerprint(), "76c79827630ddbe3");
    assert_eq!(
        Preset::HeadingTokens.spec().fingerprint(),
        spec("heading unit=tokens max=512 overlap=50").unwrap().fingerprint()
    );
}
