//! `chunkmill demo`: a first try of the program, without a corpus of your own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cli::output::{print, print_prose};
use crate::error::{Error, exit};
use crate::safely;

/// A small corpus with labelled questions, built into the program: paths and bytes.
const LARDER: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/larder.rs"));

/// Questions that a reader of this corpus might ask.
const QUESTIONS: [&str; 2] =
    ["how do I restore a single file?", "my nightly job says the vault is full but df shows plenty of space"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for the corpus and the dataset
    #[arg(value_name = "FOLDER", default_value = "chunkmill-demo")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let (labels, dataset) = (args.folder.join("larder"), args.folder.join("dataset"));
    for (name, bytes) in LARDER {
        let path = labels.join(name);
        let parent = path.parent().unwrap_or(&labels);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        let written = safely::create(&path).and_then(|mut file| file.write_all(bytes));
        written.map_err(Error::io("write", &path))?;
    }
    let corpus = labels.join("corpus");
    let [corpus, dataset, labels, folder] = [&corpus, &dataset, &labels, &args.folder].map(|path| text(path));
    let documents = LARDER.iter().filter(|(name, _)| name.starts_with("corpus/")).count();
    print_prose(format!("{corpus} is the handbook of a made-up backup program: {documents} documents."))?;
    let questions = QUESTIONS.map(|question| vec!["search", &dataset, question, "-k", "2"]);
    for command in [vec!["index", &corpus, "-o", &dataset]].into_iter().chain(questions) {
        print(format!("\n$ chunkmill {}", quoted(&command)))?;
        let code = this_program(&command)?;
        if code != exit::DONE {
            return Ok(code);
        }
    }
    print_prose(format!(
        "Next:\n  your own documents       chunkmill index DOCS -o out\n  settings that suit them  \
         chunkmill-eval recommend DOCS -o advice\n  try it on the demo       \
         chunkmill-eval sweep --labels {labels} --sweep {labels}/sweep.toml -o {folder}/run\n                           \
         then open {folder}/run/report.html"
    ))?;
    Ok(exit::DONE)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Formats a command as a user would type it.
fn quoted(command: &[&str]) -> String {
    let word = |word: &&str| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Runs this program with other arguments, as a user would, and returns its exit code.
fn this_program(command: &[&str]) -> anyhow::Result<u8> {
    let program = std::env::current_exe().context("cannot find the program's executable")?;
    let status =
        Command::new(&program).args(command).status().with_context(|| format!("cannot run {}", program.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::FAILED))
}
