//! Whether the files exist and match the manifest: their names, bytes and footers.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use arrow::array::RecordBatch;
use blake3::Hasher;
use chunkmill_base::error::Result;
use chunkmill_base::value::count;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use super::super::{FileEntry, Manifest, Table, manifest, writer};
use super::report::{Check, Findings};
use crate::storage::Location;

/// Target for the bytes of rows in memory at once.
const BATCH_BYTES: usize = 8 << 20;

/// Maximum number of rows in memory at once.
const BATCH_ROWS: usize = 4096;

/// The problem of a file whose hash differs from the one in the manifest.
const OTHER_BYTES: &str = "has changed since it was written (its BLAKE3 is not the one in the manifest)";

/// Checks that the manifest is complete. Returns whether its files are numbered correctly, so the parts can be
/// told apart.
pub(super) fn complete(root: &Location, manifest: &Manifest, findings: &mut Findings) -> bool {
    let mut wrong = |problem: String| findings.add(Check::Manifest, manifest::FILE, problem);
    let read = root.read(manifest::FILE).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    if let (Some(found), Ok(known)) = (read, serde_json::to_value(manifest)) {
        for field in missing(&found, &known) {
            wrong(format!("lacks the field `{field}`"));
        }
    }
    let expected = manifest.output.files;
    let mut numbered = true;
    if manifest.parts.len() != expected {
        let records = count(manifest.parts.len(), "part record");
        wrong(format!("has {records}; there should be {expected}"));
        numbered = false;
    }
    for folder in manifest::FOLDERS {
        let files: Vec<&FileEntry> = in_folder(manifest, folder).collect();
        if files.len() != expected {
            wrong(format!("names {} in {folder}; there should be {expected}", count(files.len(), "file")));
            numbered = false;
        }
        for (number, file) in files.iter().enumerate() {
            let hash = file.blake3.get(..16).unwrap_or_default();
            let name = format!("{folder}/train-{number:05}-of-{expected:05}-{hash}.");
            let table = folder.rsplit('/').next().unwrap_or_default();
            if !file.path.starts_with(&name) {
                wrong(format!("names `{}` where `{name}…` is expected", file.path));
                numbered = false;
            }
            if file.table != table {
                wrong(format!("lists `{}` under the table `{}`; it belongs to `{table}`", file.path, file.table));
                numbered = false;
            }
        }
    }
    let mut seen = BTreeSet::new();
    for file in &manifest.files {
        if !seen.insert(&file.path) {
            wrong(format!("names `{}` twice", file.path));
        }
        if !manifest::FOLDERS.iter().any(|folder| inside(&file.path, folder)) {
            wrong(format!("names `{}`, which is not in the folder of a table", file.path));
        }
    }
    numbered
}

/// Returns the names of known fields that are missing. Only records have known fields; lists are not compared.
fn missing(found: &Value, known: &Value) -> Vec<String> {
    let (Value::Object(found), Value::Object(known)) = (found, known) else { return Vec::new() };
    let mut fields = Vec::new();
    for (name, known) in known {
        match found.get(name) {
            None => fields.push(name.clone()),
            Some(found) => fields.extend(missing(found, known).into_iter().map(|field| format!("{name}.{field}"))),
        }
    }
    fields
}

fn inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the files that the manifest names in a folder, in order.
pub(super) fn in_folder<'m>(manifest: &'m Manifest, folder: &'m str) -> impl Iterator<Item = &'m FileEntry> {
    manifest.files.iter().filter(move |file| inside(&file.path, folder))
}

/// Checks that a file exists, is complete and unchanged, and returns whether it is.
pub(super) fn intact(root: &Location, file: &FileEntry, findings: &mut Findings) -> bool {
    let path = root.join(&file.path);
    let mut hasher = Hasher::new();
    let read = root.storage().open(&path).and_then(|opened| {
        let bytes = opened.size();
        if bytes == file.bytes {
            hasher.update_reader(opened)?;
        }
        Ok(bytes)
    });
    let problem = match read {
        Err(error) if error.kind() == ErrorKind::NotFound => "is missing".to_owned(),
        Err(error) => format!("cannot be read: {error}"),
        Ok(bytes) if bytes != file.bytes => {
            format!("has {}; the manifest says {}", count(bytes, "byte"), file.bytes)
        }
        Ok(_) if hasher.finalize().to_hex().as_str() != file.blake3 => OTHER_BYTES.to_owned(),
        Ok(_) => return true,
    };
    findings.add(Check::File, &file.path, problem);
    false
}

/// Checks that a file for people exists and is unchanged, and returns its bytes. If a run was killed between the
/// commit and the renaming of this file, it is still in the `pending` folder.
pub(super) fn text(
    (root, pending): (&Location, Option<&Path>),
    name: &str,
    blake3: &str,
    check: Check,
    findings: &mut Findings,
) -> Option<Vec<u8>> {
    let pending = pending.and_then(|folder| root.storage().read(&folder.join(name)).ok());
    match pending.map_or_else(|| root.read(name), Ok) {
        Err(error) if error.kind() == ErrorKind::NotFound => findings.add(check, name, "is missing"),
        Err(error) => findings.add(check, name, format!("cannot be read: {error}")),
        Ok(bytes) => {
            if blake3::hash(&bytes).to_hex().as_str() != blake3 {
                findings.add(check, name, OTHER_BYTES);
            }
            return Some(bytes);
        }
    }
    None
}

/// Opens a Parquet file whose bytes are intact, checks its footer, and returns these columns of its rows, or all, in batches
/// of bounded size; `None` if the rows cannot be the expected ones.
pub(super) fn open(
    root: &Location,
    manifest: &Manifest,
    table: Table,
    file: &FileEntry,
    columns: Option<&[&str]>,
    findings: &mut Findings,
) -> Option<impl Iterator<Item = Result<RecordBatch, String>> + use<>> {
    let mut wrong = |problem: String| findings.add(Check::Footer, &file.path, problem);
    let opened = root.storage().open(&root.join(&file.path)).map_err(|error| error.to_string());
    let builder = opened.and_then(|opened| {
        ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|error| format!("is not Parquet: {error}"))
    });
    let builder = builder.map_err(&mut wrong).ok()?;
    let metadata = builder.metadata().file_metadata();
    if u64::try_from(metadata.num_rows()) != Ok(file.rows) {
        wrong(format!("has {}; the manifest says {}", count(metadata.num_rows(), "row"), file.rows));
    }
    let found = metadata.key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    for said in writer::key_values(manifest) {
        let value = found.iter().find(|pair| pair.key == said.key).and_then(|pair| pair.value.as_deref());
        if value != said.value.as_deref() {
            let [found, said_value] = [value, said.value.as_deref()].map(Option::unwrap_or_default);
            wrong(format!("says `{found}` for {}; the manifest says `{said_value}`", said.key));
        }
    }
    let schema = manifest.schema(table);
    if builder.schema().fields() != schema.fields() {
        let differs = |(found, known): &(_, _)| found != known;
        let fields = builder.schema().fields().iter().zip(schema.fields());
        let first = fields.clone().find(differs).map(|(found, known)| format!(": {found} instead of {known}"));
        let first = first.unwrap_or_else(|| format!(": {} instead of {}", fields.len(), schema.fields().len()));
        wrong(format!("does not have the columns of the table {}{first}", table.name()));
        return None;
    }
    let groups = builder.metadata().row_groups().iter();
    let row_bytes = groups.map(|group| {
        let rows = usize::try_from(group.num_rows()).unwrap_or_default().max(1);
        usize::try_from(group.total_byte_size()).unwrap_or_default() / rows
    });
    let rows = BATCH_BYTES / row_bytes.max().unwrap_or_default().max(1);
    let most = writer::rows_at_once(builder.metadata().row_groups(), BATCH_ROWS);
    let wanted = match columns {
        Some(columns) => ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied()),
        None => ProjectionMask::all(),
    };
    let reader = builder.with_batch_size(rows.clamp(1, most)).with_projection(wanted).build();
    let reader = reader.map_err(|error| wrong(format!("cannot be read: {error}"))).ok()?;
    Some(reader.map(|batch| batch.map_err(|error| format!("cannot be read: {error}"))))
}
