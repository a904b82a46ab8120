//! The documents of a set, read from their original place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chunkmill::corpus::{self, Filter, QuarantinedDocument, Root};
use chunkmill::document::{DEFAULT_COLLECTION, Layer, Origin, ReadSettings};
use chunkmill::error::{Error, Result};
use rayon::prelude::*;

use crate::data::files::{sync_folder, write_new};

/// Documents of a set.
#[derive(Debug, Default)]
pub struct Documents {
    /// Their bytes by their ids in the set.
    pub bytes: BTreeMap<String, Vec<u8>>,
    /// The decoded documents, with those ids.
    pub read: Vec<(Origin, Layer)>,
    /// Documents that cannot be read, and are therefore not in the set.
    pub unreadable: Vec<QuarantinedDocument>,
}

/// Reads the documents below `roots`, all at once. Documents of a named root `NAME=PATH` are below `NAME/` in the
/// set.
///
/// # Errors
/// [`Error::Setting`] if two documents would have the same path in the set; [`Error::Corpus`] for a root that
/// cannot be used; [`Error::Io`] if a document vanishes while it is read.
pub fn documents(roots: &[Root], filter: &Filter) -> Result<Documents> {
    let found = corpus::discover(roots, filter, &[])?;
    let mut documents = Documents { unreadable: found.quarantined, ..Documents::default() };
    for source in found.sources {
        let id = path_in_set(&source.origin);
        let file = source.file();
        match corpus::read(source, &ReadSettings::default()) {
            Ok((origin, layer)) => {
                let bytes = fs::read(&file).map_err(Error::io("read", &file))?;
                if documents.bytes.insert(id.clone(), bytes).is_some() {
                    return Err(Error::setting(
                        "documents",
                        format!("two documents would have the path `{id}` in the set"),
                        "give the roots different names: manual=PATH",
                    ));
                }
                documents.read.push((Origin { doc_id: id.into(), ..origin }, layer));
            }
            Err(unreadable) => documents.unreadable.push(unreadable),
        }
    }
    Ok(documents)
}

fn path_in_set(origin: &Origin) -> String {
    if *origin.collection == *DEFAULT_COLLECTION {
        origin.path.to_string()
    } else {
        format!("{}/{}", origin.collection, origin.path)
    }
}

/// Writes documents into a new folder, and waits until they are on disk.
///
/// # Errors
/// [`Error::Io`] if one cannot be written.
pub fn write_documents(documents: &BTreeMap<String, Vec<u8>>, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    // Most of the time is spent waiting for the disk, which serves several at once.
    documents.par_iter().try_for_each(|(doc_id, bytes)| write_new(&folder.join(doc_id), bytes))?;
    let folders: BTreeSet<&Path> = documents.keys().flat_map(|id| Path::new(id).ancestors().skip(1)).collect();
    for inside in folders {
        sync_folder(&folder.join(inside));
    }
    Ok(())
}
