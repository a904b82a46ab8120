//! The fields of a network's `config.json`, under the names that each family uses.

use serde_json::{Map, Value, json};

/// The fields of a configuration. A null field counts as absent.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    /// Returns a field.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// Refuses a field if it is present with any value other than these.
    pub(super) fn only(&self, key: &str, values: &[Value]) -> Result<(), String> {
        match self.get(key) {
            Some(value) if !values.contains(value) => Err(format!("`{key}` is {value}, which is not supported")),
            _ => Ok(()),
        }
    }

    /// Returns the rotation settings of newer files, if present: those for layers of `kind` if it is given. Any type of
    /// rotation other than the default is refused.
    pub(super) fn rotations(&self, kind: Option<&str>) -> Result<Option<Self>, String> {
        let all = self.get("rope_parameters");
        let rotations = all.and_then(|all| kind.map_or(Some(all), |kind| all.get(kind))?.as_object());
        let rotations = rotations.cloned().map(Self);
        if let Some(rotations) = &rotations {
            rotations.only("rope_type", &[json!("default")])?;
        }
        Ok(rotations)
    }
}
