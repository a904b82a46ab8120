//! Usage errors, failures and exit codes. Shared by both programs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::io;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Parser};

use super::escape::visible;
use super::output::{print, tell_error};
use super::version;
use crate::error::{Error, exit};
use crate::value::{elsewhere, nearest};

/// Parses the command line. Exits the process after printing help, the version or a usage error.
pub fn parse<P: Parser>() -> P {
    let given = joined(&P::command(), std::env::args_os());
    P::try_parse_from(&given).unwrap_or_else(|error| {
        // clap repeats arguments in its coloured messages, so it gets arguments with control characters escaped.
        let arguments: Vec<OsString> =
            given.iter().map(|argument| visible(&argument.to_string_lossy()).into_owned().into()).collect();
        if error.kind() == ErrorKind::DisplayVersion && asks_for_details(P::command(), &arguments) {
            let text = P::command().render_version();
            let printed = print(format_args!("{}{}", text.trim_end(), version::details()));
            std::process::exit(finish(printed.map(|()| exit::DONE)).into());
        }
        let mut error = match P::try_parse_from(&arguments) {
            Err(error) => error,
            Ok(_) => clap::Error::raw(error.kind(), visible(error.to_string().trim_start_matches("error: "))),
        };
        suggest(&mut error, P::command(), &arguments);
        error.exit()
    })
}

/// Joins a switch with a `true` or `false` after it: `--cut-oversized false` becomes `--cut-oversized=false`. Any other
/// word after a switch is not its value, but a path or a question.
fn joined(command: &clap::Command, arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    fn switches(command: &clap::Command, found: &mut BTreeSet<String>) {
        let is_switch =
            |arg: &&Arg| arg.is_require_equals_set() && arg.get_num_args().is_some_and(|n| n.min_values() == 0);
        found.extend(
            command.get_arguments().filter(is_switch).filter_map(Arg::get_long).map(|flag| format!("--{flag}")),
        );
        command.get_subcommands().for_each(|command| switches(command, found));
    }
    let mut flags = BTreeSet::new();
    switches(command, &mut flags);
    let mut joined: Vec<OsString> = Vec::new();
    let mut is_over = false;
    for argument in arguments {
        is_over |= argument == "--";
        match (joined.last_mut(), argument.to_str()) {
            (Some(flag), Some("true" | "false"))
                if !is_over && flag.to_str().is_some_and(|flag| flags.contains(flag)) =>
            {
                flag.push("=");
                flag.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

/// Whether a command line with `--version` also has `--verbose`. clap stops at its own version flag, so the line is
/// parsed again with that flag as an ordinary switch.
fn asks_for_details(command: clap::Command, arguments: &[OsString]) -> bool {
    let version = Arg::new("version").short('V').long("version").action(ArgAction::SetTrue);
    let command = command.disable_version_flag(true).arg(version).subcommand_required(false);
    let matches = command.arg_required_else_help(false).ignore_errors(true).try_get_matches_from(arguments);
    matches.is_ok_and(|matches| matches.value_source("verbose") == Some(ValueSource::CommandLine))
}

/// Makes an error say what was most likely meant: which flag, which command, or a question in quotes.
fn suggest(error: &mut clap::Error, mut command: clap::Command, arguments: &[OsString]) {
    command.build();
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    match (error.kind(), text(ContextKind::InvalidArg), text(ContextKind::InvalidSubcommand)) {
        (ErrorKind::UnknownArgument, Some(argument), _) => {
            suggest_argument(error, &argument, asked(&command, arguments));
        }
        (ErrorKind::MissingRequiredArgument, ..) => {
            let asked = asked(&command, arguments);
            // A dataset and a question: the only argument is most likely the question.
            let is_missing = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::Strings(missing)) if *missing == ["<QUERY>"]);
            if is_missing {
                tip(error, format!("the dataset comes first: `chunkmill {} DATASET \"QUESTION\"`", asked.get_name()));
            }
            if let Some(last) = arguments.last().and_then(|last| last.to_str())
                && asked.get_name() == "index"
                && !last.starts_with('-')
                && (!Path::new(last).exists() || Path::new(last).join("manifest.json").exists())
            {
                tip(error, format!("did you mean `-o {last}`?"));
            }
        }
        (ErrorKind::InvalidSubcommand, _, Some(word)) => {
            let near = nearest(&word, command.get_subcommands().map(clap::Command::get_name));
            if let Some(meant) = near.filter(|_| error.get(ContextKind::SuggestedSubcommand).is_none()) {
                tip(error, format!("did you mean `{meant}`?"));
            } else if command.find_subcommand("index").is_some() && Path::new(&word).exists() {
                tip(error, format!("did you mean `{} index {word} …`?", command.get_name()));
            }
        }
        _ => {}
    }
}

/// Returns the command that the arguments name.
fn asked<'c>(command: &'c clap::Command, arguments: &[OsString]) -> &'c clap::Command {
    arguments.iter().skip(1).fold(command, |at, word| at.find_subcommand(word).unwrap_or(at))
}

fn suggest_argument(error: &mut clap::Error, argument: &str, asked: &clap::Command) {
    let has = |flag: &str| {
        let name = flag.trim_start_matches('-');
        let is_it = |arg: &Arg| arg.get_long() == Some(name) || arg.get_short().is_some_and(|c| name == c.to_string());
        asked.get_arguments().any(is_it)
    };
    let translated = elsewhere(argument.trim_start_matches('-')).map(flag).find(|ours| has(ours));
    let long = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-').filter(|_| translated.is_some()));
    let Some(unknown) = long else {
        if !argument.starts_with('-') && asked.get_positionals().any(|value| value.get_id() == "query") {
            tip(error, "put the question in quotes".to_owned());
        }
        return;
    };
    // "to pass '--k' as a value" helps only with a text that happens to begin with dashes.
    if !argument.contains(' ')
        && let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested)
    {
        tips.retain(|tip| !tip.to_string().starts_with("to pass "));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    let near = || nearest(unknown, asked.get_arguments().filter_map(Arg::get_long)).map(|flag| format!("--{flag}"));
    let is_name = |name: &str| name.eq_ignore_ascii_case(unknown);
    let is_value = asked.get_positionals().filter_map(Arg::get_value_names).flatten().any(|name| is_name(name));
    if is_value && translated.is_none() {
        return tip(error, format!("write it without `--{unknown}`"));
    }
    let flag = translated.or_else(near);
    // clap's suggestion can be far longer than the typed flag, so it is kept only if there is no other.
    if let Some(flag) = flag {
        // The usage was that of the flag that clap had suggested.
        let usage = ContextValue::StyledStr(asked.clone().render_usage());
        error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
        error.insert(ContextKind::Usage, usage);
    }
}

/// Returns the flag of a setting.
fn flag(name: &str) -> String {
    format!("{}{}", if name.len() == 1 { "-" } else { "--" }, name.replace('_', "-"))
}

/// Replaces clap's tips.
fn tip(error: &mut clap::Error, words: String) {
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![words.into()]));
}

/// Prints the error, if there is one, and returns the exit code.
pub fn finish(result: anyhow::Result<u8>) -> u8 {
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    // It is not a failure if the reader stops early, like `head`.
    let is_closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_closed) {
        return exit::DONE;
    }
    tell_error(&with_causes(&error));
    error.downcast_ref::<Error>().map_or(exit::FAILED, Error::exit_code)
}

/// Formats an error with its causes. Many errors both quote their cause and return it as their source; a quoted
/// cause is not repeated.
fn with_causes(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !said.contains(&cause) {
            let _ = write!(said, ": {cause}");
        }
    }
    said
}
