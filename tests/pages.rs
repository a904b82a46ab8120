//! Every command and every flag of a program has help, a manual page and completions, all made from its one table of
//! flags. The harness's tests use this file too.

use clap::{Arg, Command, CommandFactory};

/// What a program says to a line of arguments: exit code, standard output, standard error.
pub type Said = (i32, String, String);

/// Checks a program by its table of flags `P`.
pub fn check<P: CommandFactory>(run: impl Fn(&[&str]) -> Said) {
    let mut program = P::command();
    program.build();
    let scripts: Vec<String> = ["bash", "zsh", "fish", "powershell", "elvish"]
        .map(|shell| {
            let (code, script, err) = run(&["completions", shell]);
            assert_eq!((code, err.as_str()), (0, ""), "{shell}");
            script
        })
        .into();
    let mut commands = Vec::new();
    list(&program, &mut Vec::new(), &mut commands);
    assert!(commands.len() > 15, "only {} commands were found", commands.len());
    for (path, command) in commands {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(about.len() > 10, "`{}` has no help: {about:?}", path.join(" "));
        let words: Vec<&str> = std::iter::once("man").chain(path.iter().copied()).collect();
        let (code, page, err) = run(&words);
        assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
        let name = [&[program.get_name()], &path[..]].concat().join("-");
        assert!(page.contains(&format!(".TH {name} 1")), "{words:?}: {page}");
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.len() > 5, "{} of `{}` has no help: {help:?}", arg.get_id(), path.join(" "));
            assert!(
                page.contains(&in_roff(arg)),
                "{} is not on the page of `{}`: {page}",
                in_roff(arg),
                path.join(" ")
            );
            for script in &scripts {
                let is_there = arg.get_long().is_none_or(|long| script.contains(long));
                assert!(is_there, "{} of `{}` is not completed", arg.get_id(), path.join(" "));
            }
        }
    }
    let (code, out, err) = run(&["man", "no-such-command"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("there is no command `no-such-command`") && err.contains("help: one of: "), "{err}");
}

/// Every command that people may call, with the words that call it.
fn list<'c>(command: &'c Command, path: &mut Vec<&'c str>, found: &mut Vec<(Vec<&'c str>, &'c Command)>) {
    found.push((path.clone(), command));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        path.push(below.get_name());
        list(below, path, found);
        path.pop();
    }
}

/// How a page names an argument.
fn in_roff(arg: &Arg) -> String {
    let value = || arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("\\-\\-{}", long.replace('-', "\\-")),
        (None, Some(short)) => format!("\\-{short}"),
        (None, None) => value().replace('-', "\\-"),
    }
}
