//! The job: corpus in, dataset out.
//!
//! Documents are assigned to parts by their ids; a part is one file of each table. If the inputs of a part have
//! not changed since the previous snapshot or an interrupted run, the part is reused as it is. Only the other
//! parts are built. When all parts exist, links are resolved over all of them, and one commit makes them the
//! dataset. An incremental run therefore ends with the same bytes as a run that starts from nothing.
//!
//! # What each step costs, and how far it scales
//!
//! A part is four files. The figures were measured with `make growth` on two cores, except those that follow from
//! the code. They do not include embedding, whose cost depends on the model.
//!
//! | step | time | memory | limit |
//! | --- | --- | --- | --- |
//! | [`plan`] | finds all documents and reads them once, on one machine | 600 bytes per document | the time that one machine takes to read the corpus |
//! | [`run_shard`] | finds all documents; reads those of its parts twice, chunks and embeds them. More machines mean less work for each | 600 bytes per document of the whole corpus, and a few blocks of a megabyte of documents with their vectors | shards beyond the number of parts have nothing to do, and the largest part sets the shortest time |
//! | [`commit`], parts | reads the receipts and writes one file of edges per part: 18 to 25 s for 25,000 parts with 100,000 files and 1,000,000,000 chunks (223 MB) | 2 kB per file | |
//! | [`commit`], links | reads the outlines of all documents twice, on one thread: 5.6 s for 100,000 documents with ten anchors and five links each | 160 bytes per document of that kind | the catalog of links must fit in the memory of one machine: 16 GB for 100 million documents of that kind |
//! | manifest | 410 bytes per file: 41 MB for 100,000 files, loaded by a reader in 0.2 s (88 MB) | three times its size | one manifest is enough for all files that can be named: for the maximum of 400,000 files it has 164 MB and loads in 0.6 s (286 MB); their commit took 96 s (773 MB) |
//! | `verify` | reads every file once, on all cores | 16 bytes per document, 24 per chunk | 24 GB for a billion chunks |
//! | search | reads the positions and headings of all chunks, and all vectors | 50 bytes per chunk, and 4 per value of its vector | for more, use a vector database |

mod boilerplate;
mod build;
mod changes;
mod dropped;
mod duplicates;
mod edges;
mod estimate;
mod event;
mod inputs;
#[expect(clippy::module_inception, reason = "it has the type that the folder is about")]
mod job;
mod later;
mod leaving;
mod lifecycle;
mod memory;
mod ordered;
mod paragraphs;
mod parts;
mod prepare;
mod publish;
mod report;
mod reuse;
mod run;
mod sample;
mod shards;
mod skipped;
mod table;
mod tally;

pub use boilerplate::{RepeatedParagraph, boilerplate};
pub use changes::DocumentChanges;
pub use estimate::{Estimate, ServiceWork};
pub use event::{Event, Watcher};
pub use job::Job;
pub use later::{collect, submit};
pub use lifecycle::{ChangeCounts, delete, promote};
pub use memory::peak_memory;
pub use ordered::{Results, in_order};
pub use paragraphs::{SkippedBoilerplate, SkippedRanges};
pub use prepare::{Cut, PreparedDocument, Recipe};
pub use report::{Report, SparseWork};
pub use run::run;
pub use sample::{Sample, sample};
pub use shards::{Plan, PlannedPart, Receipt, commit, plan, run_shard};
pub use table::TableFilter;
pub use tally::{Standing, Tally};
