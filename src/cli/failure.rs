//! How a program says that it was asked for something it cannot do, or has failed: the same in both programs.

use std::ffi::OsString;
use std::fmt::Write;
use std::io;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Parser};

use super::output::{print, tell, visible};
use super::version;
use crate::error::{Error, exit};
use crate::value::nearest;

/// Parses the command line. Help, and what is wrong with the line, end the process.
#[must_use]
pub fn parse<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|error| {
        // It repeats arguments between colours of its own, so it is given arguments that can be seen.
        let arguments: Vec<OsString> =
            std::env::args_os().map(|argument| visible(&argument.to_string_lossy()).into_owned().into()).collect();
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

/// Whether a line that asks for the version asks for more of it. The parser stops at the first flag of the two, so that
/// the line is read again without it.
fn asks_for_details(command: clap::Command, arguments: &[OsString]) -> bool {
    let version = Arg::new("version").short('V').long("version").action(ArgAction::SetTrue);
    let command = command.disable_version_flag(true).arg(version).subcommand_required(false);
    let matches = command.arg_required_else_help(false).ignore_errors(true).try_get_matches_from(arguments);
    matches.is_ok_and(|matches| matches.value_source("verbose") == Some(ValueSource::CommandLine))
}

/// Has an error suggest the flag that was most likely meant. What clap finds alike can be far longer than what was
/// written, so its suggestion only stands where no flag is a letter or two away.
fn suggest(error: &mut clap::Error, mut command: clap::Command, arguments: &[OsString]) {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return };
    let Some(unknown) = unknown.strip_prefix("--").filter(|_| error.kind() == ErrorKind::UnknownArgument) else {
        return;
    };
    command.build();
    let asked = arguments.iter().skip(1).fold(&command, |at, word| at.find_subcommand(word).unwrap_or(at));
    let flags = asked.get_arguments().filter_map(clap::Arg::get_long);
    if let Some(flag) = nearest(unknown, flags) {
        let flag = ContextValue::String(format!("--{flag}"));
        // The usage was that of the flag which clap has found.
        let usage = ContextValue::StyledStr(asked.clone().render_usage());
        error.insert(ContextKind::SuggestedArg, flag);
        error.insert(ContextKind::Usage, usage);
    }
}

/// What the process ends with: the exit code, after an error has been told.
#[must_use]
pub fn finish(result: anyhow::Result<u8>) -> u8 {
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    // A reader that has had enough, like `head`, is not a failure.
    let is_closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_closed) {
        return exit::DONE;
    }
    tell(format_args!("error: {}\n", with_causes(&error)));
    error.downcast_ref::<Error>().map_or(exit::FAILED, Error::exit_code)
}

/// An error and what caused it. Many errors quote their cause, and give it as such all the same: it is said once.
fn with_causes(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !said.contains(&cause) {
            let _ = write!(said, ": {cause}");
        }
    }
    said
}
