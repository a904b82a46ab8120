//! `chunkmill schema`: the columns of a dataset's tables, and the JSON Schema of a settings file.

use serde_json::json;

use crate::cli::output::{print, print_json, print_json_pretty};
use crate::config;
use crate::dataset::{FORMAT_VERSION, Table, describe};
use crate::embed::{EmbeddingTypes, Representation};
use crate::error::exit;
use crate::value::Value;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Types of the vectors: f32, f16 or list, int8, bits
    #[arg(long, value_name = "TYPE,…", default_value_t)]
    embedding_type: EmbeddingTypes,
    /// Length of a vector
    #[arg(long, value_name = "N", default_value_t = 384, value_parser = usize::read)]
    dim: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print the JSON Schema of a settings file instead, for editors
    #[arg(long, conflicts_with_all = ["embedding_type", "dim", "json"])]
    settings: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    if args.settings {
        print_json_pretty(&config::schema())?;
        return Ok(exit::DONE);
    }
    let mut tables = serde_json::Map::new();
    for table in Table::ALL {
        let schema = table.schema(&Representation::all(args.dim, args.embedding_type), true);
        let words = |column: &str| describe(table, column).unwrap_or_default();
        if args.json {
            let columns: Vec<_> = schema
                .fields()
                .iter()
                .map(|field| {
                    json!({
                        "name": field.name(),
                        "type": field.data_type().to_string(),
                        "nullable": field.is_nullable(),
                        "holds": words(field.name()),
                    })
                })
                .collect();
            tables.insert(table.name().to_owned(), columns.into());
            continue;
        }
        print(format!("{} (data/{}/*.parquet)", table.name(), table.name()))?;
        for field in schema.fields() {
            let null = if field.is_nullable() { " or null" } else { "" };
            print(format!(
                "  {:<18} {}\n  {:<18}   {}{null}",
                field.name(),
                words(field.name()),
                "",
                field.data_type()
            ))?;
        }
        print("")?;
    }
    if args.json {
        print_json(&json!({"format_version": FORMAT_VERSION, "tables": tables}))?;
    }
    Ok(exit::DONE)
}
