//! Datasets: how a corpus becomes one, what is on disk, and what survives.
//!
//! The code is `crates/dataset/src`: storage, corpus, links, dataset, job.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `attachments` | Are files that are attached to mails documents on request? |
//! | `boilerplate` | Are paragraphs that stand in many documents left out of what is embedded, and nothing else? |
//! | `changes` | What does a copy of a dataset have to write and to delete? |
//! | `corpus` | Which documents are found, and how are their bytes read? |
//! | `crash` | Does a run that is killed resume? |
//! | `damaged_files` | Is every damaged file detected? |
//! | `duplicates` | Are documents with nearly the same words found, and left out on request? |
//! | `every_format` | Does each promise hold whatever a document was read from? |
//! | `failing_disk` | Does a dataset survive a disk that is full or breaks? |
//! | `gc` | Does `gc` remove what no manifest names, and nothing else? |
//! | `invalidation` | What does a change of settings rebuild? |
//! | `jobs` | (helpers: jobs that run in this process, and their corpora) |
//! | `json_lines` | Are rows as JSON those of `serde_json`? |
//! | `layout` | What is written, and how is it laid out? |
//! | `lifecycle` | What do promotion and deletion change? |
//! | `links` | Where does a link lead, and which edges are written? |
//! | `memory` | Does the memory of a job stay the same for ten times the corpus? |
//! | `object_store` | Is a dataset in an object store that of a folder? |
//! | `format_versions` | What happens to datasets of older and newer versions? |
//! | `other_formats` | Are documents that are not text read, placed, cited and kept up to date? |
//! | `readers` | Do other people's Parquet readers read a dataset? |
//! | `shards` | Do shards and their commit make the dataset of a single run? |
//! | `snapshots` | Does the next run rebuild only what changed? |
//! | `table_rows` | Are rows of tables documents like others? |
//! | `untrusted` | What can files that somebody else made do? Nothing. |
//! | `verify` | Does `verify` find and name all that is wrong? |

mod attachments;
mod boilerplate;
mod changes;
mod corpus;
mod crash;
mod damaged_files;
mod duplicates;
mod every_format;
mod failing_disk;
mod format_versions;
mod gc;
mod invalidation;
pub mod jobs;
mod json_lines;
mod layout;
mod lifecycle;
mod links;
mod memory;
mod object_store;
mod other_formats;
mod readers;
mod shards;
mod snapshots;
mod table_rows;
mod untrusted;
mod verify;
