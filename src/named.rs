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
                Self::ALL.into_iter().find(|value| value.name() == s).ok_or_else(|| {
                    let names = Self::ALL.map(Self::name).join(", ");
                    format!("`{s}` is not {}; one of: {names}", $what)
                })
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
