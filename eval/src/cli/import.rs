//! `chunkmill-eval import`: another project's labels as a set.

use std::path::PathBuf;

use chunkmill::cli::print;
use chunkmill::error::exit;
use clap::{Args, Subcommand};

use crate::import::{
    beir, chroma, conteb, fetched, hicbench, legalbench_rag, miracl, narrativeqa, qasper, squad, trec,
};

#[derive(Subcommand)]
pub(super) enum Format {
    #[command(
        about = "BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv; also as tables of a hub, and as LongEmbed has them"
    )]
    Beir {
        #[arg(help = "Folder of the data set, or hf://datasets/OWNER/NAME[@REVISION][/FOLDER]")]
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
    #[command(about = "SQuAD 1.1 or 2.0, and what has its form, as CUAD and COVID-QA: JSON, or tables of a hub")]
    Squad {
        #[command(flatten)]
        tables: Tables,
        /// Every answer is evidence of its own, as in CUAD; otherwise they are alternatives of several people
        #[arg(long)]
        all_answers: bool,
        #[command(flatten)]
        output: Output,
    },
    /// QASPER: papers with the paragraphs that several people gave as evidence
    Qasper {
        #[command(flatten)]
        tables: Tables,
        #[command(flatten)]
        output: Output,
    },
    #[command(about = "NarrativeQA: questions about whole stories")]
    Narrativeqa {
        #[command(flatten)]
        tables: Tables,
        #[command(flatten)]
        output: Output,
    },
    #[command(about = "ConTEB: documents in chunks, and questions that name chunks")]
    Conteb {
        #[arg(help = "Folder with documents and queries, or hf://datasets/OWNER/NAME[@REVISION]")]
        folder: PathBuf,
        /// Which files; test unless said otherwise, or validation, or train
        #[arg(long)]
        split: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    #[command(about = "HiCBench: long documents, and questions with many sentences of evidence")]
    Hicbench {
        #[arg(
            help = "Folder with qas/NAME.jsonl and docs/NAME/DOCUMENT.txt, or hf://datasets/OWNER/NAME[@REVISION][/FOLDER]"
        )]
        folder: PathBuf,
        /// Which set
        #[arg(long, default_value = "HiCBench")]
        name: String,
        #[command(flatten)]
        output: Output,
    },
    #[command(about = "LegalBench-RAG: contracts and policies with ranges of characters")]
    LegalbenchRag {
        #[arg(help = "Folder with benchmarks/NAME.json and corpus/, or hf://datasets/OWNER/NAME[@REVISION][/FOLDER]")]
        folder: PathBuf,
        /// Which benchmark, as often as you like; all unless said otherwise
        #[arg(long, value_name = "NAME")]
        benchmark: Vec<String>,
        #[command(flatten)]
        output: Output,
    },
    /// MIRACL: judged passages of Wikipedia in many languages
    Miracl {
        #[arg(help = "Folder with miracl-v1.0-LANG/, or hf://datasets/OWNER/NAME[@REVISION]")]
        folder: PathBuf,
        /// Folder with miracl-corpus-v1.0-LANG/, whose files are unpacked; the same unless said otherwise
        #[arg(long, value_name = "DIR")]
        corpus: Option<PathBuf>,
        /// Which language, as often as you like
        #[arg(long, value_name = "LANG", required = true)]
        language: Vec<String>,
        /// Which topics and judgements
        #[arg(long, default_value = "dev")]
        split: String,
        /// Make documents of whole articles, where what was judged is a place; otherwise a passage is a document
        #[arg(long)]
        articles: bool,
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
pub(super) struct Tables {
    #[arg(help = "File, folder of files, or hf://datasets/OWNER/NAME[@REVISION][/FOLDER]")]
    path: PathBuf,
    /// Which files of a folder; test unless said otherwise, or validation, or train
    #[arg(long)]
    split: Option<String>,
}

#[derive(Args)]
pub(super) struct Output {
    /// Folder to write: new, empty, or a set, which is then replaced
    #[arg(short, long, value_name = "SET")]
    output: PathBuf,
}

pub(super) fn run(format: &Format) -> anyhow::Result<u8> {
    let (imported, Output { output }) = match format {
        Format::Beir { folder, split, output } => (beir(&fetched(folder)?, split)?, output),
        Format::Trec { qrels, queries, corpus, output } => (trec(qrels, queries, corpus)?, output),
        Format::Squad { tables: Tables { path, split }, all_answers, output } => {
            (squad(&fetched(path)?, split.as_deref(), *all_answers)?, output)
        }
        Format::Qasper { tables: Tables { path, split }, output } => {
            (qasper(&fetched(path)?, split.as_deref())?, output)
        }
        Format::Narrativeqa { tables: Tables { path, split }, output } => {
            (narrativeqa(&fetched(path)?, split.as_deref())?, output)
        }
        Format::Conteb { folder, split, output } => (conteb(&fetched(folder)?, split.as_deref())?, output),
        Format::Hicbench { folder, name, output } => (hicbench(&fetched(folder)?, name)?, output),
        Format::LegalbenchRag { folder, benchmark, output } => (legalbench_rag(&fetched(folder)?, benchmark)?, output),
        Format::Miracl { folder, corpus, language, split, articles, output } => {
            let folder = fetched(folder)?;
            (miracl(&folder, corpus.as_deref().unwrap_or(&folder), language, split, *articles)?, output)
        }
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
    if imported.unplaced > 0 {
        lines.push(format!("{} pieces of evidence are not in their documents, and were left out", imported.unplaced));
    }
    if imported.without_document > 0 {
        lines.push(format!("{} references are to documents that are not there", imported.without_document));
    }
    print(lines.join("\n"))?;
    Ok(exit::DONE)
}
