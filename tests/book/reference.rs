//! Each setting is defined once, and everything that is said about it anywhere comes from that definition.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use chunkmill::config::{self, Options, settings};
use chunkmill::document::Format;
use chunkmill::setting::{DefaultValue, Setting};
use chunkmill::value::Form;
use clap::CommandFactory;
use serde_json::Value;

use crate::book::pages;
use crate::common::{folder, run};

/// Returns a value that a setting of this form and schema accepts.
fn value(setting: &Setting) -> String {
    let schema = (setting.schema)();
    match (&setting.default, schema.get("enum")) {
        (DefaultValue::Is(value), _) => (*value).to_owned(),
        (_, Some(values)) => values[0].as_str().unwrap().to_owned(),
        _ if schema["type"] == "boolean" => "true".to_owned(),
        _ if ["integer", "number"].contains(&schema["type"].as_str().unwrap_or_default()) => "7".to_owned(),
        _ if schema["format"] == "uri" => "https://example.org/v1/".to_owned(),
        _ if setting.form == Form::List => "**/*.rst,**/*.md".to_owned(),
        _ => "words".to_owned(),
    }
}

/// Returns the same value as it is written in a settings file.
fn in_toml(setting: &Setting) -> String {
    let schema = (setting.schema)();
    let value = value(setting);
    match schema["type"].as_str() {
        Some("boolean" | "integer" | "number") => value,
        Some("array") => format!("{:?}", value.split(',').collect::<Vec<_>>()),
        _ => format!("{value:?}"),
    }
}

/// Returns a settings file with one setting in it.
fn file(table: &str, setting: &Setting) -> String {
    let table = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
    format!("{table}{} = {}\n", setting.key, in_toml(setting))
}

#[test]
fn a_setting_means_the_same_in_a_file_and_what_is_said_to_hold_without_it_does() {
    let usual = format!("{:?}", Options::default().resolve().unwrap());
    for (table, setting) in settings() {
        let options =
            Options::parse(&file(table, setting), "x").unwrap_or_else(|error| panic!("{}: {error}", setting.name));
        assert_ne!(options, Options::default(), "{}", setting.name);
        if let DefaultValue::Is(_) = setting.default {
            let resolved = format!("{:?}", options.resolve().unwrap());
            assert_eq!(resolved, usual, "{} is not {:?} by default", setting.name, setting.default);
        }
    }
}

#[test]
fn every_setting_is_a_flag_whose_help_says_what_it_does() {
    let mut flags = BTreeMap::new();
    let mut open = vec![chunkmill::cli::Cli::command()];
    while let Some(command) = open.pop() {
        for arg in
            command.get_arguments().filter_map(|arg| Some((arg.get_long()?.to_owned(), arg.get_help()?.to_string())))
        {
            flags.entry(arg.0).or_insert_with(Vec::new).push(arg.1);
        }
        open.extend(command.get_subcommands().cloned());
    }
    for (_, setting) in settings() {
        let help = setting.help();
        let found = flags.get(&setting.flag()).unwrap_or_else(|| panic!("no command takes --{}", setting.flag()));
        assert!(found.contains(&help), "{}: {found:?}", setting.name);
        let long = setting.long_help();
        assert!(setting.names().iter().all(|name| long.contains(name)), "{long}");
        assert!(long.starts_with(&help), "{long}");
        assert!(help.len() > 10 && !help.ends_with('.') && !setting.value.is_empty(), "{help}");
    }
}

#[test]
fn every_command_and_flag_has_help_a_page_and_completions() {
    let home = folder(&[]);
    pages::check::<chunkmill::cli::Cli>(|args| run(home.path(), args));
}

#[test]
fn a_variable_is_read_as_the_flag_is() {
    let home = folder(&[("a.md", "# A\n")]);
    for (table, setting) in settings() {
        if table == "answer" || table == "search" {
            continue;
        }
        let wrong = match setting.form {
            Form::List => continue,
            _ if (setting.schema)()["type"] == "string"
                && (setting.schema)().get("pattern").is_none()
                && (setting.schema)().get("format").is_none() =>
            {
                continue;
            }
            _ => "no such thing",
        };
        let output = crate::common::program(home.path())
            .args(["chunk", "a.md"])
            .env(setting.variable(), wrong)
            .output()
            .unwrap();
        let (code, _, err) = crate::common::finish(output);
        assert!(code == 2 && err.contains(&setting.variable()), "{}: {code}: {err}", setting.name);
    }
}

#[test]
fn the_schema_of_a_settings_file_has_every_setting_and_nothing_else() {
    let schema = config::schema();
    let mut known = Vec::new();
    for (name, property) in schema["properties"].as_object().unwrap() {
        match property.get("properties").and_then(Value::as_object) {
            Some(table) => known.extend(table.keys().map(|key| (name.clone(), key.clone()))),
            None => known.push((String::new(), name.clone())),
        }
    }
    let mut defined: Vec<_> =
        settings().into_iter().map(|(table, setting)| (table.to_owned(), setting.key.to_owned())).collect();
    known.sort();
    defined.sort();
    assert_eq!(known, defined);
    let printed = run(folder(&[]).path(), &["schema", "--settings"]).1;
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), schema);
}

/// Returns the settings as the book has them: a table for each table of a settings file.
fn tables() -> String {
    let mut text = String::new();
    let mut last = None;
    for (table, setting) in settings() {
        if last.replace(table) != Some(table) {
            let place = if table.is_empty() { "before all tables".to_owned() } else { format!("in `[{table}]`") };
            write!(text, "\n## {}\n\nKeys are {place} of a settings file.\n\n", pages::title(table)).unwrap();
            text += "| flag | key | default | meaning | a change rebuilds |\n| --- | --- | --- | --- | --- |\n";
        }
        let default = match setting.default {
            DefaultValue::Is(value) => format!("`{value}`"),
            DefaultValue::Words(words) => words.to_owned(),
            DefaultValue::Hidden => "–".to_owned(),
        };
        let help = setting.help();
        let meaning = pages::cell(help.split(" [default: ").next().unwrap());
        let long = setting.long_help();
        let names = long.split(" [one of: ").nth(1).map(|names| format!("; one of {}", names.trim_end_matches(']')));
        let meaning = meaning + &names.unwrap_or_default();
        let unless = if setting.unless.is_empty() { String::new() } else { format!("; {}", setting.unless) };
        let again = format!("**{}**{unless}", setting.rebuild.name());
        let flag = pages::code(&format!("--{} <{}>", setting.flag(), setting.value));
        writeln!(text, "| {flag} | `{}` | {default} | {meaning} | {again} |", setting.key).unwrap();
    }
    text
}

#[test]
fn the_book_has_every_setting() {
    let variable = |setting: &Setting| format!("CHUNKMILL_{}", setting.flag().to_uppercase().replace('-', "_"));
    assert!(settings().into_iter().all(|(_, setting)| setting.variable() == variable(setting)), "the page says so");
    pages::keep("reference/settings.md", "settings", &tables());
}

#[test]
fn the_book_has_every_command_and_flag() {
    pages::keep("reference/chunkmill.md", "commands", &pages::commands::<chunkmill::cli::Cli>());
}

#[test]
fn the_book_has_every_column() {
    let printed = run(folder(&[]).path(), &["schema", "--json", "--embedding-type", "f32,int8,bits"]).1;
    let schema: Value = serde_json::from_str(&printed).unwrap();
    let mut text = format!("Format version {}.\n", schema["format_version"]);
    for (table, columns) in schema["tables"].as_object().unwrap() {
        write!(text, "\n## {table}\n\n| column | type | holds |\n| --- | --- | --- |\n").unwrap();
        for column in columns.as_array().unwrap() {
            let said = |key: &str| column[key].as_str().unwrap();
            let null = if column["nullable"] == true { ", or null" } else { "" };
            let kind = pages::code(said("type"));
            writeln!(text, "| `{}` | {kind}{null} | {} |", said("name"), pages::cell(said("holds"))).unwrap();
        }
    }
    pages::keep("reference/columns.md", "columns", &text);
}

/// Returns the lines of a source file from the one that begins like this to the one that closes it.
fn source(file: &str, first: &str) -> String {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let (_, rest) = text.split_once(first).unwrap_or_else(|| panic!("{file} has no `{first}`"));
    let indent = text.lines().find(|line| line.contains(first)).map_or(0, |line| line.len() - line.trim_start().len());
    let end = format!("\n{}}}", " ".repeat(indent));
    rest.split_once(&end).unwrap().0.to_owned()
}

/// Returns names with the documentation above them, from lines like `/// A description.` and `Name…`.
fn documented(lines: &str) -> Vec<(String, String)> {
    let (mut found, mut words) = (Vec::new(), String::new());
    for line in lines.lines().map(str::trim) {
        if let Some(more) = line.strip_prefix("/// ") {
            words = format!("{words} {more}");
        } else if !words.is_empty() {
            found.push((line.to_owned(), std::mem::take(&mut words).trim().to_owned()));
        }
    }
    found
}

#[test]
fn the_book_has_every_exit_code() {
    let mut text = String::from("| code | meaning |\n| --- | --- |\n");
    for (line, words) in documented(&source("crates/base/src/error.rs", "pub mod exit {")) {
        let code = line.split(" = ").nth(1).unwrap().trim_end_matches(';');
        writeln!(text, "| {code} | {} |", pages::cell(&words)).unwrap();
    }
    assert_eq!(text.lines().count(), 10, "{text}");
    pages::keep("reference/exit-codes.md", "exit codes", &text);
}

#[test]
fn the_book_has_every_format_of_documents() {
    let file = "crates/text/src/document/format.rs";
    let kinds = documented(&source(file, "pub enum Format {"));
    let languages = documented(&source(file, "pub enum Language {"));
    let words = |of: &[(String, String)], name: &str| {
        let found = of.iter().find(|(line, _)| line.trim_end_matches(',').split('(').next() == Some(name));
        found.unwrap_or_else(|| panic!("{name} has no documentation")).1.clone()
    };
    let mut text = String::from("| extensions | read as |\n| --- | --- |\n");
    let mut row = |extensions: &str, words: &str| writeln!(text, "| {extensions} | {} |", pages::cell(words)).unwrap();
    let shown = |extensions: &[&str]| extensions.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    for (format, extensions) in Format::EXTENSIONS.iter().filter(|(format, _)| *format != Format::Text) {
        let words = match format {
            Format::Code(language) => format!("source code, {}", words(&languages, &format!("{language:?}"))),
            format => words(&kinds, &format!("{format:?}")),
        };
        row(&shown(extensions), &words);
    }
    for format in chunkmill::read::ReadFormat::ALL {
        row(&shown(format.extensions), format.description);
    }
    row("any other", &words(&kinds, "Text"));
    assert!(text.lines().count() > 10, "{text}");
    let include: Vec<String> = chunkmill::corpus::default_include().iter().map(|glob| format!("`{glob}`")).collect();
    writeln!(text, "\nWithout `--include`: {}.", include.join(", ")).unwrap();
    pages::keep("reference/formats.md", "documents", &text);
}

/// Returns the keys of an object, each with the type of its value.
fn keys(object: &Value) -> String {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let keys = object.as_object().unwrap().iter().map(|(key, value)| format!("`{key}` {}", kind(value)));
    keys.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_book_has_the_keys_of_what_commands_print() {
    let home =
        folder(&[("docs/a.md", "# A\n\nWords about keys.\n\nSee [b](b.md).\n"), ("docs/b.md", "# B\n\nMore.\n")]);
    crate::common::write(home.path(), "docs/bad.md", b"\xff\xfe\xff");
    let say = |args: &[&str], expected: i32| {
        let (code, out, err) = run(home.path(), args);
        assert_eq!(code, expected, "{args:?}: {err}");
        out
    };
    let plan = say(&["plan", "docs", "-o", "shards", "--embedder", "fake", "--shards", "1"], 0);
    crate::common::write(home.path(), "plan.json", plan.as_bytes());
    let commands: [(&[&str], i32); 15] = [
        (&["plan", "docs", "-o", "out", "--embedder", "fake", "--json"], 0),
        (&["index", "docs", "-o", "out", "--embedder", "fake", "--json"], 3),
        (&["run", "--plan", "plan.json", "--shard", "1/1", "-o", "shards"], 0),
        (&["commit", "--plan", "plan.json", "-o", "shards", "--json"], 3),
        (&["chunk", "docs/a.md"], 0),
        (&["explain", "docs/a.md", "--json"], 0),
        (&["explain", "docs/a.md", "--compare", "--json"], 0),
        (&["search", "out", "keys", "--json"], 0),
        (&["search", "out", "keys", "--json", "--show", "documents"], 0),
        (&["context", "out", "keys", "--json"], 0),
        (&["stats", "out", "--json"], 0),
        (&["verify", "out", "--json"], 0),
        (&["promote", "out", "a.md", "high", "--json"], 0),
        (&["delete", "out", "b.md", "--json"], 0),
        (&["gc", "out", "--json"], 0),
    ];
    let mut text = String::from("| printed by | keys |\n| --- | --- |\n");
    for (args, code) in commands {
        let out = say(args, code);
        let object = out.lines().next().unwrap_or_default();
        let object: Value = serde_json::from_str(object).or_else(|_| serde_json::from_str(&out)).unwrap();
        let shown: Vec<&str> = args.iter().filter(|arg| !matches!(**arg, "--embedder" | "fake")).copied().collect();
        writeln!(text, "| `chunkmill {}` | {} |", shown.join(" "), keys(&object)).unwrap();
    }
    for file in ["manifest.json", "quarantine.jsonl"] {
        let text_of = std::fs::read_to_string(home.path().join("out").join(file)).unwrap();
        let object = text_of.lines().next().and_then(|line| serde_json::from_str(line).ok());
        let object: Value = object.unwrap_or_else(|| serde_json::from_str(&text_of).unwrap());
        writeln!(text, "| `{file}` | {} |", keys(&object)).unwrap();
    }
    pages::keep("reference/formats.md", "json", &text);
}
