//! Evidence that was lost since the baseline: the gate fails, and everything that shows a change says it first. What
//! only moved is told apart, and so is a question that was taken out of the labels.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{arg, data_of, eval, write};

const SWEEP: &str = "[defaults.embedding]\nembedder = 'fake'\ncache = 'off'\n[[grid]]\npreset = 'windows'\nmax = [60, 120]\n\
                     mode = 'keyword'\n";

/// The pages: two in each of three folders, with two answers each.
const PAGES: [&str; 6] = ["guide/a.md", "guide/b.md", "operate/c.md", "operate/d.md", "api/e.md", "api/f.md"];

fn answer(page: usize, number: usize) -> String {
    let what = ["copper", "silver", "golden", "wooden", "marble", "velvet"][page];
    format!("The {what} vault keeps its jars for {}{number} days, and then it thins them every week.", page + 1)
}

fn page(number: usize) -> String {
    let (first, second) = (answer(number, 0), answer(number, 1));
    format!(
        "# Page {number}\n\n## How long\n\n{first} Port: 808{number}.\n\n## How often\n\n{second}\n\nSee the others.\n"
    )
}

/// A set of labels with its baseline, whose documents and questions can be changed.
struct Stage {
    folder: TempDir,
}

impl Stage {
    /// Question `q05` wants the second answer of page 0 and the first of page 5, all others want one answer each.
    fn new() -> Self {
        let stage = Self { folder: TempDir::new().unwrap() };
        let mut lines = Vec::new();
        for (number, name) in PAGES.iter().enumerate() {
            write(stage.folder.path(), &format!("set/corpus/{name}"), page(number).as_bytes());
            for of in 0..2 {
                let mut wanted = vec![(number, of)];
                if (number, of) == (0, 1) {
                    wanted.push((5, 0));
                }
                let references = wanted.iter().map(|&(number, of)| Stage::reference(number, &answer(number, of)));
                let query = json!({"query_id": format!("q{number}{of}"), "query": format!("How long are {} jars kept?", answer(number, of)),
                    "references": references.collect::<Vec<_>>()});
                lines.push(query.to_string());
            }
        }
        write(stage.folder.path(), "set/queries.jsonl", lines.join("\n").as_bytes());
        write(stage.folder.path(), "sweep.toml", SWEEP.as_bytes());
        assert_eq!(stage.sweep("before", &[]).0, 0);
        assert_eq!(eval(&["baseline", arg(&stage.path("before")), "-o", arg(&stage.path("baseline.json"))]).0, 0);
        stage
    }

    fn reference(number: usize, text: &str) -> Value {
        let start = page(number).find(text).unwrap();
        json!({"doc_id": PAGES[number], "start": start, "end": start + text.len(), "text": text})
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn page(&self, number: usize) -> PathBuf {
        self.path("set/corpus").join(PAGES[number])
    }

    fn edit(&self, number: usize, from: &str, to: &str) {
        let text = fs::read_to_string(self.page(number)).unwrap();
        assert!(text.contains(from));
        fs::write(self.page(number), text.replace(from, to)).unwrap();
    }

    fn sweep(&self, run: &str, more: &[&str]) -> (i32, String, String) {
        let (set, sweep, run) = (self.path("set"), self.path("sweep.toml"), self.path(run));
        eval(&[&["sweep", "--labels", arg(&set), "--sweep", arg(&sweep), "-o", arg(&run)][..], more].concat())
    }

    fn gate(&self, more: &[&str]) -> (i32, String) {
        let (run, baseline) = (self.path("after"), self.path("baseline.json"));
        // Most of a tiny dataset is independent of its documents.
        let args = ["gate", arg(&run), "--baseline", arg(&baseline), "--max-larger", "inf"];
        let (code, out, err) = eval(&[&args, more].concat());
        (code, out + &err)
    }

    /// Sweeps the set as it is now, and returns the gate's result, its exit code first.
    fn gated(&self) -> (i32, String) {
        let (code, out, err) = self.sweep("after", &[]);
        assert_eq!(code, 0, "{out}{err}");
        self.gate(&[])
    }

    fn outcome(&self) -> Value {
        serde_json::from_str(&self.gate(&["--json"]).1).unwrap()
    }
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|of| of["query"].as_str().unwrap()).collect()
}

#[test]
fn a_deleted_folder_fails_and_every_question_is_named() {
    let stage = Stage::new();
    assert_eq!(stage.gated().0, 0, "nothing changed");
    fs::remove_dir_all(stage.path("set/corpus/operate")).unwrap();
    let (code, said) = stage.gated();
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("FAILED: 4 of 12 questions lost their evidence (0 allowed)\n"), "{said}");
    for id in ["q20", "q21", "q30", "q31"] {
        let named = said.lines().filter(|line| line.contains(&format!("  {id}  "))).count();
        assert_eq!(named, 1, "{id}: {said}");
    }
    assert!(
        said.contains("operate/c.md: the document is missing") && said.contains("4 gone from the documents"),
        "{said}"
    );
    let outcome = stage.outcome();
    assert_eq!(ids(&outcome["evidence"]["lost"]), ["q20", "q21", "q30", "q31"]);
    assert_eq!((&outcome["questions"], &outcome["evidence"]["questions"]), (&json!(8), &json!(12)));
    // Both figures: over the same questions, and over all with the lost ones as misses.
    let change = &outcome["checks"][0]["change"];
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(number(&change["after"]) >= number(&change["before"]), "{change}");
    assert!(number(&change["all"]["after"]) < number(&change["all"]["before"]) - 0.3, "{change}");
    assert!(said.contains("all before") && said.contains("lost evidence as misses"), "{said}");
    // The loss can be allowed, by number, by flag or by file.
    assert_eq!(stage.gate(&["--allow-lost", "3"]).0, 1);
    let (code, said) = stage.gate(&["--allow-lost", "4"]);
    assert!(
        code == 0 && said.starts_with("passed: ") && said.contains("4 of 12 questions lost their evidence"),
        "{said}"
    );
    write(stage.folder.path(), "thresholds.toml", b"allow_lost = 4\n");
    assert_eq!(stage.gate(&["--thresholds", arg(&stage.path("thresholds.toml"))]).0, 0);
}

#[test]
fn many_lost_questions_are_named_by_place() {
    let stage = Stage::new();
    assert_eq!(stage.gated().0, 0, "nothing changed");
    for number in 1..PAGES.len() {
        fs::remove_file(stage.page(number)).unwrap();
    }
    let (_, said) = stage.gated();
    let outcome = stage.outcome();
    let lost = ids(&outcome["evidence"]["lost"]);
    assert!(lost.len() > 10, "{said}");
    let lines: Vec<&str> = said.lines().skip_while(|line| !line.starts_with("lost evidence:")).skip(1).collect();
    let lines: Vec<&str> =
        lines.into_iter().take_while(|line| line.starts_with("  ") && line.contains(": q")).collect();
    assert!(lines.len() < lost.len(), "{said}");
    for id in lost {
        let is_named = |line: &&&str| line.rsplit(": ").next().unwrap().split(", ").any(|name| name == id);
        assert_eq!(lines.iter().filter(is_named).count(), 1, "{id}: {said}");
    }
    let questions = |line: &&str| line.split(": ").nth(2).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
    assert!(lines.iter().map(questions).is_sorted_by(|a, b| a >= b), "{said}");
}

#[test]
fn everything_that_shows_a_change_says_first_what_was_lost() {
    let stage = Stage::new();
    fs::remove_dir_all(stage.path("set/corpus/api")).unwrap();
    let baseline = stage.path("baseline.json");
    let (code, said, _) = stage.sweep("after", &["--baseline", arg(&baseline)]);
    assert!(
        code == 0
            && said
                .starts_with("against the baseline: FAILED: 4 of 12 questions lost all their evidence, 1 a part of it"),
        "{said}"
    );
    let (code, said, _) = eval(&["diff", arg(&stage.path("before")), arg(&stage.path("after"))]);
    assert!(code == 0 && said.starts_with("4 of 12 questions lost all their evidence"), "{said}");
    let read = |name: &str| fs::read_to_string(stage.path("after").join(name)).unwrap();
    let markdown = read("report.md");
    let at = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at(&markdown, "**FAILED: 4 of 12 questions") < at(&markdown, "### Result of this run"), "{markdown}");
    assert!(at(&markdown, "| q40 |") < at(&markdown, "| # | setting |"));
    let data = data_of(&read("report.html"));
    assert_eq!(data["change"]["outcome"]["passed"], false);
    let said = data["change"]["verdict"].as_str().unwrap();
    assert!(said.starts_with("FAILED: 4 of 12 questions lost all their evidence"), "{said}");
    assert_eq!(data["change"]["lost"].as_array().unwrap().len(), 5);
    // The page of a run that lost nothing is green.
    for (number, name) in PAGES.iter().enumerate() {
        write(&stage.path("set/corpus"), name, page(number).as_bytes());
    }
    assert_eq!(stage.sweep("after", &["--baseline", arg(&baseline)]).0, 0);
    assert_eq!(data_of(&read("report.html"))["change"]["outcome"]["passed"], true);
}

#[test]
fn a_deleted_section_and_a_reworded_answer_are_told_apart() {
    let stage = Stage::new();
    fs::write(stage.page(1), "# Page 1\n\nThis page says nothing more.\n").unwrap();
    stage.edit(3, "and then it thins them every week", "and after that it thins them monthly");
    let (code, said) = stage.gated();
    assert_eq!(code, 1, "{said}");
    let line = |id: &str| said.lines().find(|line| line.contains(&format!("  {id}  "))).unwrap_or_default();
    for id in ["q10", "q11"] {
        assert!(line(id).contains("guide/b.md: the text is missing"), "{said}");
    }
    for id in ["q30", "q31"] {
        assert!(line(id).contains("operate/d.md: the text was reworded"), "{said}");
    }
    assert!(said.contains("2 gone from the documents, 2 reworded"), "{said}");
    assert!(
        stage.gate(&["-v"]).1.contains("lost: The copper vault") || stage.gate(&["-v"]).1.contains("lost: The silver")
    );
}

#[test]
fn what_only_moved_is_scored_at_its_new_place_and_passes() {
    let stage = Stage::new();
    // A renamed file, an answer on another page, and one further down on its own page.
    fs::create_dir_all(stage.path("set/corpus/new")).unwrap();
    fs::rename(stage.page(4), stage.path("set/corpus/new/name.md")).unwrap();
    stage.edit(0, &answer(0, 0), "Nothing is said about this here any more.");
    stage.edit(2, "# Page 2\n", &format!("# Page 2\n\n{}\n", answer(0, 0)));
    let (code, said) = stage.gated();
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("texts of evidence moved") && said.contains("from api/e.md, guide/a.md, operate/c.md"),
        "{said}"
    );
    let outcome = stage.outcome();
    assert_eq!((ids(&outcome["evidence"]["lost"]), &outcome["questions"]), (vec![], &json!(12)));
    let moved = ids(&outcome["evidence"]["moved"]).len();
    assert_eq!(moved, 6, "two of the renamed file, one on another page, two that it pushed down, and one it left");
    let (code, out, _) = eval(&["verify", arg(&stage.path("set"))]);
    assert!(code == 0 && out.contains("the text is in `new/name.md` at") && out.contains("0 drifted"), "{out}");
}

#[test]
fn a_short_text_that_another_page_has_by_chance_does_not_hide_its_loss() {
    let stage = Stage::new();
    let query = json!({"query_id": "port", "query": "Which port?", "references": [Stage::reference(4, "8084")]});
    let file = stage.path("set/queries.jsonl");
    fs::write(&file, format!("{}\n{query}\n", fs::read_to_string(&file).unwrap())).unwrap();
    assert_eq!(stage.sweep("before", &[]).0, 0);
    assert_eq!(eval(&["baseline", arg(&stage.path("before")), "-o", arg(&stage.path("baseline.json"))]).0, 0);
    // It follows the long texts of its page when the file is renamed and edited.
    let renamed = stage.path("set/corpus/renamed.md");
    fs::write(&renamed, format!("A new line.\n{}", page(4))).unwrap();
    fs::remove_file(stage.page(4)).unwrap();
    let (code, said) = stage.gated();
    assert_eq!(code, 0, "{said}");
    // Without them, the same number elsewhere proves nothing.
    fs::write(&renamed, "There are 8084 jars in the house.\n").unwrap();
    let (code, said) = stage.gated();
    assert!(code == 1 && said.contains("  port  api/e.md: the document is missing"), "{said}");
}

#[test]
fn a_lost_part_counts_as_a_miss_and_never_as_a_gain() {
    let stage = Stage::new();
    fs::remove_file(stage.page(5)).unwrap();
    let (code, said) = stage.gated();
    assert!(
        code == 1 && said.starts_with("FAILED: 2 of 12 questions lost all their evidence, 1 a part of it"),
        "{said}"
    );
    assert!(said.contains("  q01  api/f.md: the document is missing; the rest of its evidence is there"), "{said}");
    let outcome = stage.outcome();
    let lost = outcome["evidence"]["lost"].as_array().unwrap();
    let kept: Vec<f64> = lost.iter().map(|lost| lost["kept"].as_f64().unwrap()).collect();
    assert_eq!((ids(&outcome["evidence"]["lost"]), kept), (vec!["q50", "q51", "q01"], vec![0.0, 0.0, 0.5]));
    assert_eq!(outcome["questions"], 9, "only questions with the same evidence are compared");
}

#[test]
fn a_question_that_was_taken_out_or_labelled_again_is_not_lost() {
    let stage = Stage::new();
    let file = stage.path("set/queries.jsonl");
    let lines: Vec<String> = fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    // `q00` is removed, together with its answer; `q11` wants another place now.
    stage.edit(0, &answer(0, 0), "Nothing.");
    stage.edit(1, &answer(1, 1), "Nothing.");
    let mut kept = lines[1..].to_vec();
    let mut again: Value = serde_json::from_str(&lines[3]).unwrap();
    again["references"] = json!([Stage::reference(2, &answer(2, 0))]);
    kept[2] = again.to_string();
    fs::write(&file, kept.join("\n")).unwrap();
    // Place 1 of page 0 was pushed up.
    let (code, said) = stage.gated();
    assert_eq!(code, 0, "{said}");
    let outcome = stage.outcome();
    let evidence = &outcome["evidence"];
    assert_eq!(
        (ids(&evidence["lost"]), ids(&evidence["removed"]), ids(&evidence["relabelled"])),
        (vec![], vec!["q00"], vec!["q11"])
    );
    assert!(
        said.contains("1 question of the earlier run is not in queries.jsonl any more, which is no lost evidence: q00"),
        "{said}"
    );
    assert!(said.contains("1 question with changed labels, compared by the new ones: q11"), "{said}");
}

#[test]
fn if_everything_is_lost_the_sweep_says_so_and_the_gate_fails() {
    for unrelated in [true, false] {
        let stage = Stage::new();
        let corpus = stage.path("set/corpus");
        fs::remove_dir_all(&corpus).unwrap();
        fs::create_dir_all(&corpus).unwrap();
        if unrelated {
            fs::write(corpus.join("other.md"), "Another page.\n").unwrap();
        }
        // Without a baseline there is nothing to say, and nothing to measure.
        let (code, _, err) = stage.sweep("after", &[]);
        assert!(code == 2 && err.contains("has no question whose evidence is in its corpus"), "{err}");
        let baseline = stage.path("baseline.json");
        let (code, said, err) = stage.sweep("after", &["--baseline", arg(&baseline)]);
        assert_eq!(code, 1, "{said}{err}");
        assert!(said.starts_with("against the baseline: FAILED: 12 of 12 questions lost their evidence"), "{said}");
        for more in [&[][..], &["--allow-lost", "12"]] {
            let (code, said) = stage.gate(more);
            assert!(code == 1 && said.starts_with("FAILED: "), "{said}");
            for (page, of) in (0..6).flat_map(|page| [(page, 0), (page, 1)]) {
                let id = format!("q{page}{of}");
                let is_named = |line: &str| line.split([' ', ',']).any(|word| word == id);
                assert!(said.lines().any(is_named), "{said}");
            }
        }
        // The same folder serves the sweep after the texts were restored.
        for (number, name) in PAGES.iter().enumerate() {
            write(&corpus, name, page(number).as_bytes());
        }
        let (code, said) = stage.gated();
        assert_eq!(code, 0, "{said}");
    }
}

/// Writes a report again without what earlier versions did not write.
fn as_before(path: &Path, change: impl Fn(&mut Value)) {
    let mut report: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert!(report.as_object_mut().unwrap().remove("labelled").is_some());
    change(&mut report);
    fs::write(path, report.to_string()).unwrap();
}

#[test]
fn baselines_of_earlier_versions_are_read_and_their_limit_is_said() {
    let stage = Stage::new();
    let baseline = stage.path("baseline.json");
    fs::remove_file(stage.page(5)).unwrap();
    assert_eq!(stage.gated().0, 1);
    // All references fitted then, so every loss is seen.
    as_before(&baseline, |_| ());
    let (code, said) = stage.gate(&[]);
    assert!(
        code == 1 && said.starts_with("FAILED: 2 of 12 questions lost all their evidence, 1 a part of it"),
        "{said}"
    );
    // Some did not fit, and no one knows which.
    let mut report: Value = serde_json::from_slice(&fs::read(&baseline).unwrap()).unwrap();
    report["labels"]["states"]["gone"] = json!(1);
    fs::write(&baseline, report.to_string()).unwrap();
    let (code, said) = stage.gate(&[]);
    assert!(code == 1 && said.starts_with("FAILED: 2 of 12 questions lost their evidence"), "{said}");
    assert!(said.contains("write the baseline again with this version"), "{said}");
    // A run of an earlier version does not say what it lost.
    as_before(&stage.path("after/report.json"), |_| ());
    let (code, said) = stage.gate(&[]);
    assert!(code == 2 && said.contains("`chunkmill-eval report RUN`"), "{said}");
    assert_eq!(eval(&["report", arg(&stage.path("after"))]).0, 0);
    assert_eq!(stage.gate(&[]).0, 1);
}

#[test]
fn junit_fails_the_questions_that_were_lost_unless_that_is_allowed() {
    let stage = Stage::new();
    fs::remove_file(stage.page(5)).unwrap();
    assert_eq!(stage.gated().0, 1);
    let file = stage.path("junit.xml");
    let cases = |more: &[&str], what: &str| {
        stage.gate(&[&["--junit", arg(&file)][..], more].concat());
        let xml = fs::read_to_string(&file).unwrap();
        let of = |line: &&str| line.contains("classname=\"questions\"") && line.contains(what);
        xml.lines().filter(of).map(|line| line.split('"').nth(3).unwrap()[..3].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cases(&[], "").len(), 12);
    assert_eq!(cases(&[], "<failure"), ["q01", "q50", "q51"]);
    assert_eq!(cases(&["--allow-lost", "3"], "<failure"), Vec::<String>::new());
    assert_eq!(cases(&["--allow-lost", "3"], "<skipped"), ["q01", "q50", "q51"]);
}

/// People write labels without offsets. A text that is in its document no more is then no mistake in the file.
#[test]
fn labels_without_offsets_lose_their_evidence_like_all_others() {
    let stage = Stage::new();
    let file = stage.path("set/queries.jsonl");
    let bare = |line: &str| {
        let mut query: Value = serde_json::from_str(line).unwrap();
        for reference in query["references"].as_array_mut().unwrap() {
            reference.as_object_mut().unwrap().retain(|key, _| key == "doc_id" || key == "text");
        }
        query.to_string()
    };
    let lines: Vec<String> = fs::read_to_string(&file).unwrap().lines().map(bare).collect();
    fs::write(&file, lines.join("\n")).unwrap();
    assert_eq!(stage.gated().0, 0);
    fs::remove_file(stage.page(5)).unwrap();
    fs::rename(stage.page(3), stage.path("set/corpus/renamed.md")).unwrap();
    let baseline = stage.path("baseline.json");
    let (code, said, err) = stage.sweep("after", &["--baseline", arg(&baseline)]);
    assert_eq!(code, 0, "{said}{err}");
    let (code, said) = stage.gate(&[]);
    assert!(
        code == 1 && said.starts_with("FAILED: 2 of 12 questions lost all their evidence, 1 a part of it"),
        "{said}"
    );
    assert_eq!(ids(&stage.outcome()["evidence"]["moved"]), ["q30", "q31"]);
    assert_eq!(eval(&["report", arg(&stage.path("after"))]).0, 0);
    // Without a baseline, it may as well be a mistake.
    let (code, _, err) = stage.sweep("other", &[]);
    assert!(code == 2 && err.contains("queries.jsonl:2: names `api/f.md`"), "{err}");
}
