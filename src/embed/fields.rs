//! The fields of a network's `config.json`, under the names that each family gave them.

use serde_json::{Map, Value, json};

/// The fields. What is null counts as absent.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    /// A field.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// Refuses a field's value, if it has one, unless it is among these.
    pub(super) fn only(&self, key: &str, values: &[Value]) -> Result<(), String> {
        match self.get(key) {
            Some(value) if !values.contains(value) => Err(format!("`{key}` is {value}, which is not supported")),
            _ => Ok(()),
        }
    }

    /// How layers are turned, those of a kind if there are several, if newer files say it; refused if not in the way of
    /// old ones.
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
