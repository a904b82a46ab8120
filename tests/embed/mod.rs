//! Vectors: which one a text has, and which model computes it.
//!
//! The code is `crates/embed/src`.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `asymmetric` | Are queries and documents read by the right one of two models? |
//! | `cache` | Does the cache of vectors save work without changing a byte? |
//! | `contract` | Does each embedder keep the contract of an embedder? |
//! | `hub` | Are models downloaded, found offline, and refused if bytes are wrong? |
//! | `ids_by_word` | Are token ids by word those of the whole text? |
//! | `instructions` | Do kernels, parsing and counting take as many instructions as before? |
//! | `kernels` | Do the kernels compute what plain sums compute? |
//! | `late_pooling` | Does every token count once in late pooling? |
//! | `modules` | What do poolings and other modules after a network do? |
//! | `networks` | Does every family of networks compute what its authors compute? |
//! | `representations` | What is stored of a vector in fewer bits, and what can be restored? |
//! | `rerank` | Are the scores of rerankers those of their authors? |
//! | `services` | Are vectors of web services right, and paid for once? |
//! | `sparse` | Are sparse vectors those of their authors? |
//! | `static_models` | Are vectors of static models those of their authors? |

mod asymmetric;
mod cache;
mod contract;
mod hub;
mod ids_by_word;
mod instructions;
mod kernels;
mod late_pooling;
mod modules;
mod networks;
mod representations;
mod rerank;
mod services;
mod sparse;
mod static_models;
