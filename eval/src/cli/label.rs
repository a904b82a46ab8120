//! `chunkmill-eval label`: turns real questions into labels, with evidence that search proposes.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use chunkmill::cli::{EmbeddingFlags, ServiceFlags, ThreadFlags, note, print, tell, watched};
use chunkmill::config::{Config, Options};
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root};
use chunkmill::error::{Error, exit};
use chunkmill::value::count;

use crate::data::files::refuse_inside;
use crate::labels::ask::page::Page;
use crate::labels::ask::{Answers, Proposer, QuestionFile, SessionOutcome, is_name, session};
use crate::labels::import::{Documents, documents, write_documents};
use crate::labels::set::{CORPUS, commit, settle, stage, was_interrupted};

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill-eval label docs --questions questions.txt -o set\n\
\x20 chunkmill-eval label docs --questions questions.txt -o set --web\n\
\x20 chunkmill-eval label --questions questions.txt -o set --by ann";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Folders or files of documents; NAME=PATH puts them below NAME/. Not needed if the set has its documents
    documents: Vec<Root>,
    /// File of questions: one per line, or one JSON object with `query` per line
    #[arg(long, value_name = "FILE")]
    questions: PathBuf,
    /// Folder of the set: new, empty, or a set to extend
    #[arg(short = 'o', long = "output", value_name = "SET")]
    set: PathBuf,
    /// Your name, if several people answer the same questions. You do not see their answers, and the summary says how far
    /// you agree
    #[arg(long, value_name = "NAME", value_parser = name)]
    by: Option<String>,
    /// Ask in a browser instead of at the terminal: a page of this machine alone, whose address is printed
    #[arg(long)]
    web: bool,
    /// Port of the page [default: any that is free]
    #[arg(long, value_name = "N", requires = "web")]
    port: Option<u16>,
    #[command(flatten)]
    embedding: EmbeddingFlags,
    #[command(flatten)]
    service: ServiceFlags,
    #[command(flatten)]
    threads: ThreadFlags,
}

/// Reads a person's name.
fn name(text: &str) -> Result<String, String> {
    let problem = "a name has up to 40 letters, digits, `-`, `_` or `.`, and begins with a letter or digit";
    if is_name(text) { Ok(text.to_owned()) } else { Err(problem.to_owned()) }
}

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    let questions = QuestionFile::read(&args.questions)?;
    let flags =
        Options { embedding: args.embedding.0, service: args.service.0, run: args.threads.0, ..Options::default() };
    let config = flags.or(Options::from_env()?).resolve()?;
    let (outcome, answers) = if args.web {
        let (proposer, answers) = begin(&args.documents, &questions, &args.set, config, args.by)?;
        let page = Page::new(args.port.unwrap_or_default())?;
        ctrlc::set_handler(page.stopper()).context("cannot watch for Ctrl-C")?;
        tell(format_args!("open {} in a browser; Ctrl-C ends\n", page.address()));
        let answers = page.run(proposer, answers)?;
        (answers.outcome(), answers)
    } else {
        label(&args.documents, &questions, &args.set, config, args.by)?
    };
    let SessionOutcome { labelled, unanswered, open, no_answer } = outcome;
    if no_answer && !io::stdin().is_terminal() {
        return Err(Error::setting(
            "standard input",
            "ended before the first answer",
            "run this in a terminal, or write one answer per line to standard input",
        )
        .into());
    }
    let set = args.set.display();
    let advice = format!("; next: chunkmill-eval recommend {set} -o advice");
    let next = match (open, labelled) {
        (1.., _) => "; run the same command to go on",
        (0, 0) => "",
        (0, _) => &advice,
    };
    let labelled = count(labelled, "question");
    print(format_args!("{set}: {labelled} with evidence, {unanswered} without an answer, {open} left{next}"))?;
    for (other, agreement) in answers.agreement()? {
        print(format_args!("{} and {other}: {}", answers.by().unwrap_or_default(), agreement.describe()))?;
    }
    Ok(exit::DONE)
}

/// Labels questions at the terminal. Adds the documents to the set if it has none.
pub(super) fn label(
    roots: &[Root],
    questions: &QuestionFile,
    set: &Path,
    config: Config,
    by: Option<String>,
) -> anyhow::Result<(SessionOutcome, Answers)> {
    let (proposer, mut answers) = begin(roots, questions, set, config, by)?;
    let outcome = session(&proposer, &mut answers, &mut io::stdin().lock())?;
    Ok((outcome, answers))
}

/// Adds the documents to the set if it has none, and reads what was answered before.
fn begin(
    roots: &[Root],
    questions: &QuestionFile,
    set: &Path,
    config: Config,
    by: Option<String>,
) -> anyhow::Result<(Proposer, Answers)> {
    prepare(roots, set)?;
    note("reading the documents\n");
    let proposer = watched(|watch| Proposer::new(set, config, watch))?;
    let answers = Answers::open(set, questions, proposer.corpus(), by)?;
    if answers.drifted() > 0 {
        let asked = count(answers.drifted(), "question");
        note(format_args!("{asked} lost their evidence, because the documents have changed; they are asked again\n"));
    }
    Ok((proposer, answers))
}

/// Adds the documents to a set that has none yet, all of them at once.
pub(super) fn prepare(roots: &[Root], set: &Path) -> anyhow::Result<()> {
    settle(set)?;
    if set.join(CORPUS).is_dir() {
        return Ok(());
    }
    for root in roots.iter().map(|root| root.location.path()) {
        refuse_inside(set, root)?;
    }
    let wrong = |problem: &str, help: &str| Error::setting(set.display().to_string(), problem, help);
    if !was_interrupted(set) && fs::read_dir(set).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(wrong("is not empty and not a set of labels", "name a new folder with -o").into());
    }
    if roots.is_empty() {
        return Err(wrong("has no documents", "name the folder of your documents before -o").into());
    }
    let Documents { bytes, unreadable, .. } = documents(roots, &Filter::new(&[], &[], true, DEFAULT_MAX_BYTES)?)?;
    for document in unreadable {
        tracing::warn!("{} is not in the set: it {}", document.doc_id, document.reason);
    }
    let staging = stage(set)?;
    write_documents(&bytes, &staging.join(CORPUS))?;
    Ok(commit(set)?)
}
