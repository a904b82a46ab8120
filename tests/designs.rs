//! The README's tables of presets and designs say what is true.

use std::path::Path;

use chunkmill::chunk::{Preset, Strategy, Switch};
use chunkmill::tokens::Unit;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The rows of the tables under a heading, without those of their heads.
fn rows<'r>(readme: &'r str, heading: &str) -> Vec<Vec<&'r str>> {
    let section = readme.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let lines: Vec<&str> = section.lines().collect();
    let is_head = |at: usize| lines.get(at + 1).is_some_and(|line| line.starts_with("| ---"));
    let row = |(at, line): (usize, &&'r str)| {
        let is_row = line.starts_with("| ") && !line.starts_with("| ---") && !is_head(at);
        is_row.then(|| line.trim_matches('|').split(" | ").map(str::trim).collect())
    };
    lines.iter().enumerate().filter_map(row).collect()
}

/// What stands in backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_preset_unit_and_switch_is_in_the_readme_with_its_values() {
    let readme = readme();
    let rows = rows(&readme, "Chunk settings");
    let row = |name: &str| {
        let found = rows.iter().find(|row| code(row[0]).contains(&name));
        found.unwrap_or_else(|| panic!("{name} is not in a table of the README"))
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
        assert!(readme.contains(&format!("`{strategy} ")) || readme.contains(&format!("`{strategy}`")), "{strategy}");
    }
}

#[test]
fn every_rule_of_the_five_designs_names_a_file_and_a_test_that_exist() {
    let readme = readme();
    let rows = rows(&readme, "The five designs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for row in &rows {
        let [design, rule, file, test] = row[..] else { panic!("{row:?} has not four cells") };
        assert!((1..=5).contains(&design.parse::<u8>().unwrap()), "{rule}");
        if file != "–" {
            assert!(root.join(code(file)[0]).is_file(), "{rule}: {file} does not exist");
        }
        if let Some(test) = test.strip_prefix('–') {
            assert!(test.len() > 3, "{rule}: says where it will be done");
            continue;
        }
        let (module, name) = code(test)[0].split_once("::").unwrap();
        let source = std::fs::read_to_string(root.join(format!("tests/{module}.rs"))).unwrap();
        let test = format!("#[test]\nfn {name}(");
        assert!(source.replace("\n    ", "\n").contains(&test), "{rule}: no test {module}::{name}");
    }
    for design in ["1", "2", "3", "4", "5"] {
        assert!(rows.iter().filter(|row| row[0] == design).count() >= 6, "design {design}");
    }
}

#[test]
fn the_page_of_models_has_the_list_that_the_program_prints() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/models.md")).unwrap();
    let home = tempfile::TempDir::new().unwrap();
    let (code, out, errors) = crate::common::run(home.path(), &["model", "list", "--markdown"]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        page.contains(out.trim()),
        "run `chunkmill model list --markdown` and put this into docs/models.md:\n{out}"
    );
}
