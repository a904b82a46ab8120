//! Which object store a URL names.
//!
//! Credentials and endpoints come from the environment variables that each service's own tools use:
//! `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL` and so on;
//! `GOOGLE_APPLICATION_CREDENTIALS`, `GOOGLE_SERVICE_ACCOUNT`; `AZURE_STORAGE_ACCOUNT_NAME`,
//! `AZURE_STORAGE_ACCOUNT_KEY` and so on. Without them, credentials come from the machine, if it is one of the
//! service's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chunkmill_base::error::{Error, Result};
use chunkmill_embed::http;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};

use super::ObjectStorage;
use crate::storage::files::Storage;

/// Returns the storage that `scheme://bucket` names. A process has one for each, with its connections and
/// credentials.
///
/// # Errors
/// [`Error::Setting`] if the scheme is unknown or the environment lacks information.
pub(in crate::storage) fn storage(scheme: &str, bucket: &str) -> Result<Arc<dyn Storage>> {
    static KNOWN: OnceLock<Mutex<HashMap<String, Arc<ObjectStorage>>>> = OnceLock::new();
    let base = format!("{scheme}://{bucket}");
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(storage) = known.get(&base) {
        return Ok(Arc::<ObjectStorage>::clone(storage));
    }
    let wrong = |problem: String, help: &str| Error::setting(base.clone(), problem, help);
    let kind = match scheme {
        "s3" => s3,
        "gs" => google,
        "az" => azure,
        _ => {
            let help = "write a path, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///PATH";
            return Err(wrong(format!("`{scheme}` is not a supported kind of storage"), help));
        }
    };
    if bucket.is_empty() {
        return Err(wrong("names no bucket".to_owned(), "write s3://BUCKET/PREFIX"));
    }
    http::prepare();
    let store = kind(bucket).map_err(|error| {
        let help = "credentials, region and endpoint come from the environment, as for the service's own tools: AWS_…, GOOGLE_…, AZURE_…";
        wrong(error.to_string(), help)
    })?;
    let storage = Arc::new(ObjectStorage::new(base.clone(), store));
    known.insert(base, Arc::clone(&storage));
    Ok(storage)
}

/// How long a failed request is retried. After that, the operation it belongs to is retried as a whole.
fn retry() -> RetryConfig {
    RetryConfig { retry_timeout: Duration::from_mins(1), ..RetryConfig::default() }
}

/// Returns how long a request may take with all its bytes, unless the environment sets it (`AWS_TIMEOUT` and so
/// on). Several parts are sent at once, and connections are slow.
fn timeout(service: &str) -> String {
    std::env::var(format!("{service}_TIMEOUT")).unwrap_or_else(|_| "2 minutes".to_owned())
}

type Service = object_store::Result<Arc<dyn ObjectStore>>;

fn s3(bucket: &str) -> Service {
    let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry());
    // An explicit `http://` in the endpoint is intended.
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint).unwrap_or_default();
    let builder = if endpoint.starts_with("http://") { builder.with_allow_http(true) } else { builder };
    let builder = builder.with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), timeout("AWS"));
    Ok(Arc::new(builder.build()?))
}

fn google(bucket: &str) -> Service {
    let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retry());
    let builder = builder.with_config(GoogleConfigKey::Client(ClientConfigKey::Timeout), timeout("GOOGLE"));
    Ok(Arc::new(builder.build()?))
}

fn azure(container: &str) -> Service {
    let builder = MicrosoftAzureBuilder::from_env().with_container_name(container).with_retry(retry());
    let builder = builder.with_config(AzureConfigKey::Client(ClientConfigKey::Timeout), timeout("AZURE"));
    Ok(Arc::new(builder.build()?))
}
