//! The dataset card, which Hugging Face's tools read and which people read first.

use std::fmt::Write;

use chunkmill_base::value::{count, noun};
use chunkmill_embed::SparseModel;

use super::schema::{Table, describe};
use super::{Counts, Manifest};

pub(super) fn render(manifest: &Manifest) -> String {
    let Manifest { spec, model, counts, .. } = manifest;
    let Counts { documents, chunks, quarantined, tokens, edges, unresolved_edges, .. } = counts;
    let encoding = spec.encoding();
    let mut card = String::from("---\nconfigs:\n");
    for table in Table::ALL {
        let name = table.name();
        let default = if table == Table::Chunks { "  default: true\n" } else { "" };
        let _ = write!(card, "- config_name: {name}\n{default}  data_files: data/{name}/*.parquet\n");
    }
    let revision = model.revision.as_deref().map(|revision| format!(" at `{revision}`")).unwrap_or_default();
    let sparse = model.sparse.as_ref().map(|SparseModel { id, revision, vocabulary, .. }| {
        let revision = revision.as_deref().map(|revision| format!(" at `{revision}`")).unwrap_or_default();
        format!("- Sparse vectors by `{id}`{revision}: a vocabulary of {}.\n", count(*vocabulary, "token"))
    });
    let sparse = sparse.unwrap_or_default();
    let _ = write!(
        card,
        "---\n\n# Chunks and embeddings\n\n\
         {} ({tokens} {encoding} {}) of {}, {quarantined} more in `quarantine.jsonl`.\n\
         {} inside the corpus, {unresolved_edges} of them unresolved.\n\n\
         - Chunked with `{}`.\n\
         - Embedded with `{}`{revision}: {}, {} pooling, {}.\n{sparse}\
         - Written by chunkmill {}. `manifest.json` names every file with its hash.\n",
        count(*chunks, "chunk"),
        noun(*tokens, "token"),
        count(*documents, "document"),
        count(*edges, "link"),
        spec.text,
        model.id,
        count(model.dim, "dimension"),
        model.pooling,
        if model.normalize { "unit length" } else { "not normalised" },
        manifest.tool_version,
    );
    for table in Table::ALL {
        let schema = manifest.schema(table);
        let _ = write!(card, "\n## `{}`\n\n| column | type | holds |\n| --- | --- | --- |\n", table.name());
        for field in schema.fields() {
            let words = describe(table, field.name()).unwrap_or_default();
            let null = if field.is_nullable() { ", nullable" } else { "" };
            let _ = writeln!(card, "| `{}` | {}{null} | {words} |", field.name(), field.data_type());
        }
    }
    card
}
