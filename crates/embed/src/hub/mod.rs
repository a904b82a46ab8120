//! Files of repositories on the Hugging Face hub, from the local cache or from the network.
//!
//! The cache has the layout that every other tool uses: `hf-hub` locates repositories in it, and files that other
//! tools downloaded are found. The environment variables are the usual ones: `HF_HOME`, `HF_HUB_CACHE`,
//! `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_OFFLINE`. Only `download` uses the network, and it exists only with the
//! feature `hub`. Without it, cached files can still be used.
//!
//! The hub announces a hash for each file, and the cache names a file's content by that hash. Every file is
//! verified against it.

#[cfg(feature = "hub")]
mod download;
mod repository;

#[cfg(feature = "hub")]
pub use download::Pace;
pub use repository::{Kind, Problem, Repository, is_name, is_offline, plain, sha256};
pub(crate) use repository::{cached_models, shared_file};
