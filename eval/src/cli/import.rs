//! `chunkmill-eval import`: imports another project's labels as a set.

use std::path::PathBuf;

use chunkmill::cli::print;
use chunkmill::error::exit;
use chunkmill::value::count;
use clap::{Args, Subcommand};

use crate::data::files::refuse_overlap;
use crate::labels::import::{
    ImportedSet, beir, chroma, conteb, fetched, hicbench, legalbench_rag, miracl, narrativeqa, qasper, squad, trec,
};

#[derive(Subcommand)]
pub(super) enum Format {
    #[command(
        about = "BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv; also as tables of a hub, and as LongEmbed has them"
    )]
    Beir {
        #[arg(help = "Folder of the data set, or hf://datasets/OWNER/NAME[@REVISION][/FOLDER]")]
        folder: PathBuf,
        /// Split of the judgements: qrels/SPLIT.tsv, or qrels.tsv if there is no folder qrels
        #[arg(long, default_value = "test")]
        split: String,
        #[command(flatten)]
        output: Output,
    },
    /// TREC: relevance judgements for the documents of a folder
    Trec {
        /// Judgements: question, iteration, document, grade
        #[arg(long, value_name = "FILE")]
        qrels: PathBuf,
        /// Questions: id, tab, text
        #[arg(long, value_name = "FILE")]
        queries: PathBuf,
        /// Folder of documents; judgements name them by path, with or without the extension
        #[arg(long, value_name = "DIR")]
        corpus: PathBuf,
        #[command(flatten)]
        output: Output,
    },
    #[command(about = "SQuAD 1.1 or 2.0 and sets in its format, such as CUAD and COVID-QA: JSON, or tables on a hub")]
    Squad {
        #[command(flatten)]
        tables: Tables,
        /// Treat every answer as separate evidence, as CUAD means it; otherwise answers are alternatives
        #[arg(long)]
        all_answers: bool,
        #[command(flatten)]
        output: Output,
    },
    /// QASPER: papers, with the paragraphs that annotators marked as evidence
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
        /// Which split: test, validation or train [default: test]
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
        /// Name of the set
        #[arg(long, default_value = "HiCBench")]
        name: String,
        #[command(flatten)]
        output: Output,
    },
    #[command(about = "LegalBench-RAG: contracts and policies with ranges of characters")]
    LegalbenchRag {
        #[arg(help = "Folder with benchmarks/NAME.json and corpus/, or hf://datasets/OWNER/NAME[@REVISION][/FOLDER]")]
        folder: PathBuf,
        /// Name of a benchmark; repeat for several [default: all]
        #[arg(long, value_name = "NAME")]
        benchmark: Vec<String>,
        #[command(flatten)]
        output: Output,
    },
    /// MIRACL: judged passages of Wikipedia in many languages
    Miracl {
        #[arg(help = "Folder with miracl-v1.0-LANG/, or hf://datasets/OWNER/NAME[@REVISION]")]
        folder: PathBuf,
        /// Folder with miracl-corpus-v1.0-LANG/, unpacked [default: the same folder]
        #[arg(long, value_name = "DIR")]
        corpus: Option<PathBuf>,
        /// Language; repeat for several
        #[arg(long, value_name = "LANG", required = true)]
        language: Vec<String>,
        /// Split of the topics and judgements
        #[arg(long, default_value = "dev")]
        split: String,
        /// Make each article a document and each judged passage a range in it; otherwise each passage is a document
        #[arg(long)]
        articles: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Chroma's chunking evaluation: a CSV of questions, a folder of corpora
    Chroma {
        /// Folder with one text file per corpus
        #[arg(long, value_name = "DIR")]
        corpora: PathBuf,
        /// CSV file with one question per row, its references and its corpus
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
    /// Which split of a folder: test, validation or train [default: test]
    #[arg(long)]
    split: Option<String>,
}

#[derive(Args)]
pub(super) struct Output {
    /// Folder to write. It must be new or empty, or hold a set of labels, which is replaced
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
    // A set is never written into the folder that its documents come from.
    match format {
        Format::Trec { corpus, .. } => refuse_overlap(output, corpus)?,
        Format::Chroma { corpora, .. } => refuse_overlap(output, corpora)?,
        _ => {}
    }
    imported.write(output)?;
    let references: usize = imported.queries.iter().map(|query| query.references.len()).sum();
    let mut lines = vec![format!(
        "{}: {}, {}, {}",
        output.display(),
        count(imported.queries.len(), "question"),
        count(references, "reference"),
        count(imported.documents.len(), "document")
    )];
    if imported.without_evidence > 0 {
        lines.push(format!("left out: {} without evidence", count(imported.without_evidence, "question")));
    }
    let ImportedSet { left_out, not_asked, mended, .. } = &imported;
    if left_out.count > 0 {
        lines.push(format!("left out: {}", count(left_out.count, "unusable row")));
    }
    if mended.count > 0 {
        lines.push(format!("mended: {}", count(mended.count, "row")));
    }
    if imported.without_document > 0 {
        lines.push(format!("references to missing documents: {}", imported.without_document));
    }
    left_out.warn("left out");
    mended.warn("mended");
    print(lines.join("\n"))?;
    // A judgement of a question that nobody asks is named, but the set is whole without it.
    Ok(if left_out.count > *not_asked { exit::QUARANTINED } else { exit::DONE })
}
