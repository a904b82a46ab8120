//! Enumerations that people write by name: in flags, settings files, specs and manifests.

/// Gives a fieldless enum with `ALL` and `fn name(self) -> &'static str` its one text form:
/// `Display` and `FromStr` by name, and the same in serde. `$what` is what an error calls it.
macro_rules! named {
    ($type:ty, $what:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(s: &str) -> Result<Self, String> {
                let found = Self::ALL.into_iter().find(|value| value.name() == s);
                found.ok_or_else(|| crate::named::unknown(s, $what, &Self::ALL.map(Self::name)))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(deserializer)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use named;

/// Says that something has none of the names there are, and which one is nearest.
#[must_use]
pub fn unknown(written: &str, what: &str, names: &[&str]) -> String {
    format!("`{written}` is not {what}; one of: {}", choices(written, names))
}

/// The names there are, and which one is nearest.
#[must_use]
pub fn choices(written: &str, names: &[&str]) -> String {
    let meant = nearest(written, names.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    names.join(", ") + &meant.unwrap_or_default()
}

/// The name that somebody will have meant: the one with the fewest wrong, missing, additional and exchanged letters, one
/// in three at most, or that begins with what was written. The first of equals.
pub fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let written = written.to_lowercase();
    let most = (written.chars().count() / 3).max(1);
    let distance = |name: &str| {
        let is_start = written.len() > 1 && name.starts_with(&written);
        if is_start { 1 } else { strsim::osa_distance(&written, name) }
    };
    let near = names.into_iter().map(|name| (distance(name), name)).filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}
