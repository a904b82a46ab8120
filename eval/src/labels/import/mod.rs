//! Converts the labels of other projects to ours. Each format has its own file and produces an [`ImportedSet`], which
//! is written as a set. The same input produces the same bytes.
//!
//! A format describes what a set's rows contain, not the type or location of its files: every format reads JSON,
//! Parquet and CSV, and [`fetched`] turns the name of a set on a hub into a folder. The same command therefore
//! imports a set from a hub and from the files that its authors publish.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `documents` | Which files of a folder are documents, and how are they written? |
//! | `flaws` | Which rows cannot be used, and why? |
//! | `imported` | What was imported, and how is it written as a set? |
//! | `table` | How are rows read from JSON, Parquet and CSV? |
//! | `source` | What do several formats have in common? |
//! | `hub` | How does the name of a set become a folder? |
//! | `asked` | Which questions do people ask already: in logs, on pages, in issues? |
//! | `alike` | Which questions ask the same? |
//! | `beir`, `chroma`, `conteb`, `hicbench`, `legalbench_rag`, `miracl`, `narrativeqa`, `qasper`, `squad`, `trec` | What does a row of this format say? |

mod alike;
mod asked;
mod beir;
mod chroma;
mod conteb;
mod documents;
mod flaws;
mod hicbench;
mod hub;
mod imported;
mod legalbench_rag;
mod miracl;
mod narrativeqa;
mod qasper;
mod source;
mod squad;
mod table;
mod trec;

pub use asked::{CollectSettings, CollectedQuestions, FrequentQuestion, collect_questions};
pub use beir::beir;
pub use chroma::chroma;
pub use conteb::conteb;
pub use documents::{Documents, documents, write_documents};
pub use flaws::{Flaw, Flaws};
pub use hicbench::hicbench;
pub use hub::fetched;
pub use imported::ImportedSet;
pub use legalbench_rag::legalbench_rag;
pub use miracl::miracl;
pub use narrativeqa::narrativeqa;
pub use qasper::qasper;
pub use squad::squad;
pub use trec::trec;
