//! `chunkmill-eval import`: another project's labels as a set.

use std::path::PathBuf;

use chunkmill::cli::print;
use chunkmill::error::exit;
use clap::{Args, Subcommand};

use crate::import::{beir, chroma, squad, trec};

#[derive(Subcommand)]
pub(super) enum Format {
    /// BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv
    Beir {
        /// Folder of the data set
        folder: PathBuf,
        /// Which judgements: qrels/SPLIT.tsv; where there is no folder qrels, qrels.tsv is taken
        #[arg(long, default_value = "test")]
        split: String,
        #[command(flatten)]
        output: Output,
    },
    /// TREC: judgements of the documents in a folder
    Trec {
        /// Judgements: question, iteration, document, grade
        #[arg(long, value_name = "FILE")]
        qrels: PathBuf,
        /// Questions: id, tab, text
        #[arg(long, value_name = "FILE")]
        queries: PathBuf,
        /// Folder of documents, named by their path, with or without extension
        #[arg(long, value_name = "DIR")]
        corpus: PathBuf,
        #[command(flatten)]
        output: Output,
    },
    #[command(about = "SQuAD 1.1 or 2.0: one JSON file")]
    Squad {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        output: Output,
    },
    /// Chroma's chunking evaluation: a CSV of questions, a folder of corpora
    Chroma {
        /// Folder with a text per corpus
        #[arg(long, value_name = "DIR")]
        corpora: PathBuf,
        /// Table with a question, its references and its corpus per row
        #[arg(long, value_name = "CSV")]
        questions: PathBuf,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Args)]
pub(super) struct Output {
    /// Folder to write: new, empty, or a set, which is then replaced
    #[arg(short, long, value_name = "SET")]
    output: PathBuf,
}

pub(super) fn run(format: &Format) -> anyhow::Result<u8> {
    let (imported, Output { output }) = match format {
        Format::Beir { folder, split, output } => (beir(folder, split)?, output),
        Format::Trec { qrels, queries, corpus, output } => (trec(qrels, queries, corpus)?, output),
        Format::Squad { file, output } => (squad(file)?, output),
        Format::Chroma { corpora, questions, output } => (chroma(corpora, questions)?, output),
    };
    imported.write(output)?;
    let references: usize = imported.queries.iter().map(|query| query.references.len()).sum();
    let mut lines = vec![format!(
        "{}: {} questions, {references} references, {} documents",
        output.display(),
        imported.queries.len(),
        imported.documents.len()
    )];
    if imported.without_evidence > 0 {
        lines.push(format!("{} questions without evidence were left out", imported.without_evidence));
    }
    if imported.without_document > 0 {
        lines.push(format!("{} references are to documents that are not there", imported.without_document));
    }
    print(lines.join("\n"))?;
    Ok(exit::DONE)
}
