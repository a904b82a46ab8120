//! From a corpus to a dataset: documents are found, read, cut, linked, embedded, and written as Parquet files that are
//! committed together.
//!
//! # Map
//!
//! Data flows down this list, and a module uses only modules above it.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`storage`] | Where are files: in a folder, or in an object store? → `Location` |
//! | [`corpus`] | Which documents are there, and what are their bytes? → `Source` |
//! | [`links`] | Where does a link lead? → `Catalog` |
//! | [`duplicates`] | Which documents have nearly the same words? → `Duplicate` |
//! | [`dataset`] | What is on disk, and when is it committed? → `Manifest`, Parquet files |
//! | [`job`] | How do these modules work together as one job? |

pub mod storage;

pub mod corpus;

pub mod links;

pub mod duplicates;

pub mod dataset;

pub mod job;
