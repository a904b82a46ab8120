//! Each setting is defined once, and everything that is said of it anywhere comes from there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use chunkmill::config::{self, Options, settings};
use chunkmill::settings::{DefaultValue, Setting};
use chunkmill::value::Form;
use clap::CommandFactory;
use serde_json::Value;

use crate::common::{folder, run};
use crate::pages;

/// A value that every setting of this form and schema takes.
fn value(setting: &Setting) -> String {
    let schema = (setting.schema)();
    match (&setting.default, schema.get("enum")) {
        (DefaultValue::Is(value), _) => (*value).to_owned(),
        (_, Some(values)) => values[0].as_str().unwrap().to_owned(),
        _ if schema["type"] == "boolean" => "true".to_owned(),
        _ if schema["type"] == "integer" => "7".to_owned(),
        _ if schema["format"] == "uri" => "https://example.org/v1/".to_owned(),
        _ if setting.form == Form::List => "**/*.rst,**/*.md".to_owned(),
        _ => "words".to_owned(),
    }
}

/// The same as it stands in a settings file.
fn in_toml(setting: &Setting) -> String {
    let schema = (setting.schema)();
    let value = value(setting);
    match schema["type"].as_str() {
        Some("boolean" | "integer" | "number") => value,
        Some("array") => format!("{:?}", value.split(',').collect::<Vec<_>>()),
        _ => format!("{value:?}"),
    }
}

/// A settings file with one setting in it.
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
            assert_eq!(resolved, usual, "{} is not {:?} by itself", setting.name, setting.default);
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

/// The README's table of settings.
fn table() -> String {
    let mut text =
        String::from("| flag | variable | file | default | a change makes again |\n| --- | --- | --- | --- | --- |\n");
    for (table, setting) in settings() {
        let place = if table.is_empty() { setting.key.to_owned() } else { format!("[{table}] {}", setting.key) };
        let default = match setting.default {
            DefaultValue::Is(value) => format!("`{value}`"),
            DefaultValue::Words(words) => words.to_owned(),
            DefaultValue::Unsaid => "–".to_owned(),
        };
        let again = if setting.unless.is_empty() { String::new() } else { format!("; {}", setting.unless) };
        let again = format!("**{}**{again}", setting.again.name());
        writeln!(text, "| `--{}` | `{}` | `{place}` | {default} | {again} |", setting.flag(), setting.variable())
            .unwrap();
    }
    text
}

#[test]
fn the_readme_has_the_table_of_the_settings() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(readme.contains(&table()), "this table is not in the README as it is:\n{}", table());
}
