//! The commands, one file each, with their arguments.

pub(super) mod answer;
pub(super) mod changes;
pub(super) mod chunk;
mod compare;
pub(super) mod completions;
pub(super) mod context;
pub(super) mod demo;
pub(super) mod explain;
pub(super) mod filter;
pub(super) mod formats;
mod frames;
pub(super) mod gc;
pub(super) mod index;
pub(super) mod lifecycle;
pub(super) mod man;
pub(super) mod model;
pub(super) mod schema;
pub(super) mod search;
pub(super) mod shards;
pub(super) mod stats;
pub(super) mod sync;
pub(super) mod verify;
