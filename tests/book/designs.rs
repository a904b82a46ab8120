//! The book's tables of presets, designs, promises and models are correct.

use std::path::Path;

use chunkmill::chunk::{Preset, Strategy, Switch};
use chunkmill::tokens::Unit;

fn page(name: &str) -> String {
    std::fs::read_to_string(crate::book::pages::book().join(name)).unwrap()
}

/// Returns the rows of all tables of a page, without the header rows.
fn rows<'r>(page: &'r str) -> Vec<Vec<&'r str>> {
    let lines: Vec<&str> = page.lines().collect();
    let is_head = |at: usize| lines.get(at + 1).is_some_and(|line| line.starts_with("| ---"));
    let row = |(at, line): (usize, &&'r str)| {
        let is_row = line.starts_with("| ") && !line.starts_with("| ---") && !is_head(at);
        is_row.then(|| line.trim_matches('|').split(" | ").map(str::trim).collect())
    };
    lines.iter().enumerate().filter_map(row).collect()
}

/// Returns the texts in backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns whether a test with this name exists, in the file that its path of modules names: `folder::file::function`.
fn is_test(named: &str) -> bool {
    let (module, name) = named.rsplit_once("::").unwrap();
    let file = format!("tests/{}.rs", module.replace("::", "/"));
    let Ok(source) = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)) else { return false };
    source.replace("\n    ", "\n").contains(&format!("#[test]\nfn {name}("))
}

#[test]
fn every_preset_unit_and_switch_is_in_the_book_with_its_values() {
    let page = page("concepts/chunking.md");
    let rows = rows(&page);
    let row = |name: &str| {
        let found = rows.iter().find(|row| code(row[0]).contains(&name));
        found.unwrap_or_else(|| panic!("{name} is not in a table of the page"))
    };
    for preset in Preset::ALL {
        assert_eq!(code(row(preset.name())[3]), [preset.spec().to_string()], "{preset}");
    }
    for unit in Unit::ALL {
        row(unit.name());
    }
    for switch in Switch::ALL {
        row(switch.name());
    }
    for strategy in Strategy::ALL {
        assert!(page.contains(&format!("`{strategy} ")) || page.contains(&format!("`{strategy}`")), "{strategy}");
    }
}

#[test]
fn every_rule_of_the_five_designs_names_a_file_and_a_test_that_exist() {
    let page = page("project/designs.md");
    let rows = rows(&page);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (designs, rules): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.len() == 2);
    assert_eq!(designs.len(), 5, "each design is named");
    for row in &rules {
        let [design, rule, file, test] = row[..] else { panic!("{row:?} has not four cells") };
        assert!(code(design)[0].parse::<Preset>().is_ok(), "{rule}");
        if file != "–" {
            assert!(root.join(code(file)[0]).is_file(), "{rule}: {file} does not exist");
        }
        if let Some(test) = test.strip_prefix('–') {
            assert!(test.len() > 3, "{rule}: says where it will be done");
            continue;
        }
        assert!(is_test(code(test)[0]), "{rule}: there is no test {test}");
    }
    for design in designs {
        let preset = format!("`{}`", code(design[0])[0]);
        assert!(rules.iter().filter(|row| row[0] == preset).count() >= 6, "{preset}");
    }
}

/// A filter that matches nothing runs nothing and passes.
#[test]
fn every_target_of_make_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let makefile = std::fs::read_to_string(root.join("Makefile")).unwrap();
    let mut filters = makefile.split_whitespace().filter_map(|word| word.strip_suffix("::")).peekable();
    assert!(filters.peek().is_some());
    for filter in filters {
        let file = root.join("tests").join(filter.replace("::", "/")).with_extension("rs");
        assert!(file.is_file(), "`{filter}::` in the Makefile matches no test");
    }
}

#[test]
fn every_promise_names_tests_that_exist() {
    let page = page("reliability/promises.md");
    let rows = rows(&page);
    assert!(rows.len() > 20, "only {} promises were found", rows.len());
    for row in &rows {
        let [promise, tests] = row[..] else { panic!("{row:?} has not two cells") };
        assert!(!code(tests).is_empty(), "{promise}: no test is named");
        for test in code(tests) {
            assert!(is_test(test), "{promise}: there is no test {test}");
        }
    }
}

#[test]
fn the_page_of_models_has_the_list_that_the_program_prints() {
    let page = page("guide/models.md");
    let home = tempfile::TempDir::new().unwrap();
    let (code, out, errors) = crate::common::run(home.path(), &["model", "list", "--markdown"]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        page.contains(out.trim()),
        "run `chunkmill model list --markdown` and put this into docs/src/guide/models.md:\n{out}"
    );
}
