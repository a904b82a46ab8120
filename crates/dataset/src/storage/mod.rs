//! Where files are: in a folder, or in an object store.
//!
//! The state after a crash depends on the order of creating, writing, syncing and renaming. All of these go
//! through [`Storage`]. So tests can fail or stop at any single operation and inspect the result, and a dataset
//! can be in a storage that has no folders, no renaming and no locks. A [`Location`] is a place in a storage.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `files` | Which operations are there? |
//! | `location` | What does a path or a URL name? |
//! | `file_system` | How does a file system do it? |
//! | `input` | How is a file read that is not on this machine? |
//! | `objects` | How does an object store do it? Only with the feature `object-store` |

mod entry;
mod file_system;
mod files;
#[cfg_attr(not(feature = "object-store"), allow(dead_code, reason = "only an object store has files elsewhere"))]
mod input;
mod local;
mod location;
#[cfg(feature = "object-store")]
mod objects;

pub use entry::{Entry, Version};
pub use file_system::FileSystem;
pub(crate) use file_system::unnamed_file;
pub use files::{OutputFile, Storage};
pub use input::Input;
pub use location::Location;
#[cfg(feature = "object-store")]
pub use objects::ObjectStorage;
