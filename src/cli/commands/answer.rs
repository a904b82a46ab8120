//! `chunkmill answer`: an answer from the configured language model, based on retrieved passages.

use crate::answer::{Answer, Citation, Client, Settings, answer};
use crate::cli::flags::AnswerFlags;
use crate::cli::output::{print, print_json};
use crate::cli::retrieval::{ContextArgs, PackedQuestion};
use crate::config::{Options, api_key};
use crate::error::{Error, exit};
use crate::value::count;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    answer: AnswerFlags,
    /// Print one JSON object: the answer, the passages it cites, token counts
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    // Check the settings of the language model before searching.
    let config = args.context.config().resolve(Options { answer: args.answer.0, ..Options::default() })?;
    let client = client(&config.answer)?;
    let PackedQuestion { question, context, lacks } = args.context.pack()?;
    let answer = answer(&client, &question, &context, lacks)?;
    warn(&answer);
    if args.json {
        print_json(&answer)?;
    } else if let Some(text) = &answer.answer {
        print(in_words(text, &answer.citations))?;
    }
    Ok(exit::DONE)
}

/// Creates a client with the key of the environment. Nothing is sent yet.
///
/// # Errors
/// Those of [`Client::new`], and of a variable that cannot be read.
pub fn client(settings: &Settings) -> Result<Client, Error> {
    Client::new(settings, api_key("ANSWER_API_KEY")?)
}

fn warn(answer: &Answer) {
    if answer.answer.is_none() {
        let help = if answer.lacks.is_empty() { "" } else { "; with --least 0 it is asked anyway" };
        tracing::warn!("the language model was not asked{help}");
    } else if answer.citations.is_empty() {
        tracing::warn!("the answer cites no passage");
    }
    for number in &answer.unknown_citations {
        let passages = count(answer.passages, "passage");
        tracing::warn!("the answer cites [{number}], but the language model got only {passages}");
    }
    if answer.cut {
        tracing::warn!("the answer was cut off; raise --answer-max-tokens");
    }
}

fn in_words(text: &str, citations: &[Citation]) -> String {
    let place = |Citation { number, citation, header_path, .. }: &Citation| {
        format!("\n[{number}] {citation}  {header_path}").trim_end().to_owned()
    };
    let places: String = citations.iter().map(place).collect();
    format!("{}{}{places}", text.trim(), if places.is_empty() { "" } else { "\n" })
}
