//! Texts that a service computes later, at a lower price. They are handed over, and their vectors go to the cache when they are
//! there, where a run finds them.

use std::sync::atomic::AtomicBool;

use blake3::Hash;
use chunkmill_base::error::{Error, Result};
use chunkmill_embed::cache::Space;
use chunkmill_embed::{BatchProgress, Embedder};

use super::estimate::each_unknown;
use super::job::Job;
use super::shards::{Work, work};
use crate::storage::Location;

/// Fetches vectors that were handed over for later and are there now. Does nothing if the model is here.
///
/// # Errors
/// Those of the service, and [`Error::Io`] if the cache cannot keep the vectors.
pub fn collect(job: &Job, embedder: &dyn Embedder) -> Result<BatchProgress> {
    let (Some(service), Some(cache)) = (embedder.batch_api(), job.cache.as_deref()) else {
        return Ok(BatchProgress::default());
    };
    let space = Space::of(embedder);
    service.collect(&mut |vectors| cache.keep(&space, vectors.iter().map(|(hash, vector)| (*hash, vector.as_slice()))))
}

/// Hands over the texts that a run would send to the service. Returns their number.
///
/// # Errors
/// Any [`Error`] of finding and reading documents, those of the service, and [`Error::Setting`] if there is no service or no
/// cache.
pub fn submit(job: &Job, out: &Location, embedder: &dyn Embedder, stop: &AtomicBool) -> Result<usize> {
    let Some(service) = embedder.batch_api() else {
        let help = "name one: --embedder remote --endpoint URL --model NAME, or leave it out";
        return Err(Error::setting("batch", "only a service computes vectors later", help));
    };
    if job.cache.is_none() {
        let problem = "vectors of a batch go to the embedding cache, and there is none";
        return Err(Error::setting("batch", problem, "leave out --embedding-cache off"));
    }
    let Work { to_embed, skipped, .. } = work(job, out, embedder, stop)?;
    let mut texts: Vec<(Hash, String)> = Vec::new();
    each_unknown(job, embedder, &to_embed, &skipped, stop, &mut |new| {
        texts.extend(new.into_iter().map(|(hash, text)| (hash, text.to_owned())));
        Ok(())
    })?;
    service.submit(&texts, stop)
}
