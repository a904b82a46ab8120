//! Which files have documents inside them: tables whose rows are documents, and mails with attachments.

use chunkmill_base::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Which files have documents inside them. By default, none has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InnerDocuments {
    /// The columns of tables whose rows are documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowColumns>,
    /// Whether the files that are attached to mails are documents.
    pub attachments: bool,
}

/// The columns of a table whose rows are documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowColumns {
    /// The column with the text of a document.
    pub text: String,
    /// The column with its id, which must be unique in the table. Without one, a row is named by its number, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl InnerDocuments {
    /// Returns whether no file has documents inside it.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that the columns are two.
    pub(super) fn check(&self) -> Result<()> {
        match &self.rows {
            Some(RowColumns { text, id: Some(id) }) if id == text => Err(Error::setting(
                "id-column",
                format!("`{id}` is the column with the text"),
                "name the column with the ids of the documents, or leave it out: rows have numbers",
            )),
            _ => Ok(()),
        }
    }
}
