//! Texts become unit vectors.
//!
//! The rest of chunkmill sees a model only through [`Embedder`], which does not mention any tensor library.
//!
//! # Map
//!
//! Data flows down this list, and a module uses only modules above it.
//!
//! | module | question it answers |
//! | --- | --- |
//! | `http` | How do we call web services? |
//! | [`hub`] | Which files does a repository of the Hugging Face hub have, and where are they here? |
//! | [`kernel`] | How does each instruction set multiply? |
//! | `backend` | Which implementation runs a model, where, and in which precision? |
//! | `representation` | How is a vector stored? |
//! | [`late`] | How is a document read once for all its chunks? |
//! | `sparse` | How much is a text about each token of a vocabulary? → `SparseVector` |
//! | `embedder` | What does the rest of chunkmill know of a model? → `Embedder` |
//! | `fields` | Under which names does a network's configuration have a number? |
//! | `modules` | Which modules does a text pass through? |
//! | `folder` | What is in the folder of a model? |
//! | `growth` | Which tokenizers would make too much of a text? |
//! | `words` | Which token ids does a text have, word by word? |
//! | `tokenizer` | Which token ids does a text have? |
//! | `tensors` | Which weights are in a model's files? |
//! | `head` | How do the vectors of a text's tokens become one? |
//! | [`model`] | What do a model's files say of it? |
//! | `splade` | Which modules does a sparse model have, and which weights do questions have? |
//! | [`package`] | Where is the default model in a Python environment? |
//! | [`known`] | Which models do we recommend? |
//! | [`model_ref`] | Which model does a name mean, and where are its files? |
//! | `rerank` | How well does a passage answer a question? → `Reranker` |
//! | `remote` | An embedder that asks a web service |
//! | `split` | Which sorted texts fit one batch? |
//! | `fake` | An embedder for tests and dry runs |
//! | `static_model` | An embedder that looks vectors up in a table |
//! | `cpu` | An embedder, a reranker and a sparse embedder of our own, for the most common networks |
//! | `candle` | An embedder for other networks and for GPUs. Only with the feature `candle` |
//! | `models` | An embedder that has another one for questions, or a sparse one |
//! | [`cache`] | Which vectors are known already? |
//! | [`batch`] | Which texts are computed together? → `Batcher` |
//! | `load` | Which embedder runs a model? |

pub mod http;

pub mod hub;

#[expect(unsafe_code, reason = "vector instructions; the module's safe methods check what they rely on")]
#[expect(clippy::inline_always, reason = "vector instructions are only inlined into functions compiled for them")]
#[allow(clippy::wildcard_imports, reason = "dozens of intrinsics a file, each named by its instruction set")]
#[expect(
    clippy::needless_range_loop,
    reason = "register tiles are indexed by row and vector, which the compiler unrolls"
)]
pub mod kernel;

mod backend;
mod representation;

pub mod late;

mod sparse;

mod embedder;
mod fields;

mod modules;

mod folder;
mod growth;
mod words;

mod tokenizer;

mod tensors;

mod head;

pub mod model;

mod splade;

pub mod package;

pub mod known;
pub mod model_ref;

mod rerank;

mod remote;

mod split;

mod fake;
mod static_model;

mod cpu;

#[cfg(feature = "candle")]
mod candle;

mod models;

pub mod cache;

pub mod batch;

mod load;

pub use backend::{Backend, Device, Dialect, Dimensions, Engine, PrecisionSetting};
pub use batch::{Batcher, EmbeddingResult, SparseResult};
pub use cache::Cache;
pub use embedder::{
    Arrived, BatchApi, BatchProgress, Batching, Embedder, EncodedText, KeepVectors, MAX_DIM, ModelInfo, ModelInput,
    Parallel, QueryModel, Reads, Role, ServiceModel, SparseEmbedder, ZERO_VECTOR, is_zero, query, sparse_query,
};
pub use kernel::{Isa, Precision};
pub use late::{Passage, Reading, Token, TokenEmbedder, Window};
pub use load::{
    ModelFiles, explain, load, load_counter, load_pair, load_reranker, load_service, load_service_counter, load_sparse,
    load_sparse_queries, pair, pull, pull_reranker, pull_sparse, with_sparse,
};
pub use remote::{Money, ServiceSettings};
pub use representation::{EmbeddingType, EmbeddingTypes, INT8_ONE, Representation, StoredVectors, restore};
pub use rerank::Reranker;
pub use sparse::{MAX_VOCABULARY, SPARSE_TRUNCATED, SparseModel, SparseVector};
