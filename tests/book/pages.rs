//! Checks that every command and every flag of a program has help, a manual page and completions. These, and the
//! reference pages of the book, are all made from the program's one table of flags. The harness's tests use this
//! file too.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use chunkmill::config::settings;
use clap::{Arg, Command, CommandFactory};

/// A program's answer to a line of arguments: exit code, standard output, standard error.
pub type Said = (i32, String, String);

/// Checks a program with the table of flags `P`.
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

/// Collects every command that users may call, with the words that call it.
fn list<'c>(command: &'c Command, path: &mut Vec<&'c str>, found: &mut Vec<(Vec<&'c str>, &'c Command)>) {
    found.push((path.clone(), command));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        path.push(below.get_name());
        list(below, path, found);
        path.pop();
    }
}

/// Returns how a manual page names an argument.
fn in_roff(arg: &Arg) -> String {
    let value = || arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("\\-\\-{}", long.replace('-', "\\-")),
        (None, Some(short)) => format!("\\-{short}"),
        (None, None) => value().replace('-', "\\-"),
    }
}

/// Returns the folder of the book's pages, from whichever crate includes this file.
pub fn book() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = here.ancestors().map(|folder| folder.join("docs/src")).find(|folder| folder.is_dir());
    pages.expect("there is a folder docs/src")
}

/// Compares what the code says with the text between the marks of a page of the book. With the variable
/// `CHUNKMILL_WRITE_REFERENCE`, which `make reference` sets, writes it there instead.
pub fn keep(page: &str, block: &str, said: &str) {
    // A page may have several blocks, each with its own test.
    static WRITING: Mutex<()> = Mutex::new(());
    let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = book().join(page);
    let text = fs::read_to_string(&file).unwrap();
    let start = format!("<!-- generated: {block} -->\n");
    let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{page} has no block `{block}`"));
    let (kept, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("`{block}` of {page} has no end"));
    let said = format!("\n{}\n\n", said.trim());
    if kept == said {
        return;
    }
    if std::env::var_os("CHUNKMILL_WRITE_REFERENCE").is_some() {
        return fs::write(&file, format!("{before}{start}{said}<!-- end -->{after}")).unwrap();
    }
    let differ = kept.lines().zip(said.lines()).find(|(kept, said)| kept != said);
    let (old, new) = differ.unwrap_or(("", "there are more lines, or fewer"));
    panic!("docs/src/{page} does not match the code; run `make reference`\n  page: {old}\n  code: {new}");
}

/// Returns the title of a table of settings in the help of a command and on the page of settings.
pub fn title(table: &str) -> String {
    match table {
        "" => "Running".to_owned(),
        "answer" => "Answering".to_owned(),
        name => name[..1].to_uppercase() + &name[1..],
    }
}

/// Formats text for a cell of a table.
pub fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "\\<")
}

/// Formats code for a cell of a table.
pub fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// Returns every command of a program with its flags, as a page of the book.
pub fn commands<P: CommandFactory>() -> String {
    let mut program = P::command();
    program.build();
    let mut commands = Vec::new();
    list(&program, &mut Vec::new(), &mut commands);
    let mut page = String::new();
    for (path, command) in commands {
        let name = [&[program.get_name()], &path[..]].concat().join(" ");
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").trim();
        write!(page, "## {name}\n\n{about}.\n\n```text\n{usage}\n```\n\n").unwrap();
        let is_shown = |arg: &&Arg| {
            let of_all = arg.is_global_set() && !path.is_empty();
            !(arg.is_hide_set() || of_all || matches!(arg.get_id().as_str(), "help" | "version"))
        };
        let (settings, own): (Vec<&Arg>, Vec<&Arg>) =
            command.get_arguments().filter(is_shown).partition(|arg| table_of(arg).is_some());
        if !own.is_empty() {
            page += "| argument or flag | meaning |\n| --- | --- |\n";
            for arg in own {
                writeln!(page, "| {} | {} |", written(arg), meaning(arg)).unwrap();
            }
            page += "\n";
        }
        page += &settings_of(&settings);
    }
    page
}

/// Returns the table of the setting that a flag sets, if it sets one.
fn table_of(arg: &Arg) -> Option<&'static str> {
    let (long, help) = (arg.get_long()?, arg.get_help()?.to_string());
    settings().into_iter().find(|(_, setting)| setting.flag() == long && setting.help() == help).map(|(table, _)| table)
}

/// Lists the settings that a command takes, table by table.
fn settings_of(flags: &[&Arg]) -> String {
    let mut tables: Vec<&str> = Vec::new();
    let mut count = BTreeMap::new();
    for (table, _) in settings() {
        *count.entry(table).or_insert(0_usize) += 1;
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    let mut lines = String::new();
    for table in tables {
        let names: Vec<String> = flags
            .iter()
            .filter(|arg| table_of(arg) == Some(table))
            .filter_map(|arg| Some(format!("`--{}`", arg.get_long()?)))
            .collect();
        if names.is_empty() {
            continue;
        }
        let all = if names.len() == count[table] { "all of them".to_owned() } else { names.join(", ") };
        let title = title(table);
        writeln!(lines, "- [{title}](settings.md#{}): {all}", title.to_lowercase()).unwrap();
    }
    if lines.is_empty() { lines } else { format!("Settings:\n\n{lines}\n") }
}

/// Returns how an argument is written.
fn written(arg: &Arg) -> String {
    let value = if arg.get_action().takes_values() {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ")
    } else {
        String::new()
    };
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg.get_long().map(|long| code(format!("--{long} {value}").trim()));
    match (short, long) {
        (None, None) => code(&value),
        (Some(short), None) if value.is_empty() => short,
        (Some(short), None) => format!("{} {}", short, code(&value)),
        (short, Some(long)) => short.map(|short| format!("{short}, ")).unwrap_or_default() + &long,
    }
}

/// Returns what an argument does, with its default and its possible values.
fn meaning(arg: &Arg) -> String {
    let mut text = cell(&arg.get_help().map(ToString::to_string).unwrap_or_default());
    let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if arg.get_action().takes_values() && !default.is_empty() {
        write!(text, " (default {})", code(&default.join(","))).unwrap();
    }
    let values = arg.get_possible_values();
    if arg.get_action().takes_values() && !values.is_empty() {
        let values: Vec<String> = values.iter().map(|value| code(value.get_name())).collect();
        write!(text, "; one of {}", values.join(", ")).unwrap();
    }
    text
}
