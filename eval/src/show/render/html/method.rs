//! The method: everything needed to repeat the measurement, or to question it.

use chunkmill::value::noun;

use super::leaderboard::correction;
use super::parts::{Section, details, each};
use crate::data::report::Report;
use crate::findings::analysis::Clusters;
use crate::show::render::text::Text;
use crate::show::render::view::{View, bytes, counted, percent, whole};

pub(super) fn section(view: &View) -> Section {
    let report = view.report;
    Section {
        id: "method",
        title: "How it was measured",
        lead:
            "Everything needed to repeat the measurement. The full numbers are in report.json and report.csv next to \
               this page."
                .to_owned(),
        body: format!(
            "<h3>Command</h3><pre class=\"command\" tabindex=\"0\">{}</pre><div class=\"facts-grid\">{}{}{}</div>{}{}{}",
            Text(&command(report)),
            list("Labels", &labels(report)),
            list("Scoring", &scoring(view)),
            list("Machine", &machine(report)),
            snapshots(view),
            left_out(report),
            glossary(report)
        ),
    }
}

/// Largest number of datasets listed.
const LISTED: usize = 40;

/// Name of the program, which the recorded command may leave out.
const PROGRAM: &str = "chunkmill-eval";

/// Formats the recorded command for a shell.
fn command(report: &Report) -> String {
    let safe = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,@+%".contains(c));
    let quoted = |word: &String| if safe(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    let words: Vec<String> = report.command.iter().map(quoted).collect();
    let named = report.command.first().is_some_and(|first| first == PROGRAM);
    if named { words.join(" ") } else { format!("{PROGRAM} {}", words.join(" ")) }
}

type Facts = Vec<(&'static str, String)>;

fn list(title: &str, facts: &Facts) -> String {
    let items = each(facts, |(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>", Text(value)));
    format!("<div><h3>{title}</h3><dl class=\"facts-list\">{items}</dl></div>")
}

fn labels(report: &Report) -> Facts {
    let labels = &report.labels;
    let states: Vec<String> = labels.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    vec![
        ("name", labels.name.clone()),
        ("questions", format!("{} of {} could be scored", whole(labels.scored as u64), whole(labels.queries as u64))),
        ("references", states.join(", ")),
        ("documents", whole(labels.documents as u64)),
        ("size", format!("{}, {} {}", bytes(labels.bytes), whole(labels.tokens), noun(labels.tokens, "token"))),
        ("made by", if labels.synthetic { "synth, from the documents" } else { "people" }.to_owned()),
        ("hash of the questions", labels.queries_hash.clone()),
        ("hash of the documents", labels.corpus_hash.clone()),
    ]
}

fn scoring(view: &View) -> Facts {
    let scoring = &view.report.scoring;
    let budgets: Vec<String> = scoring.budgets.iter().map(|budget| whole(*budget as u64)).collect();
    vec![
        ("primary metric", format!("{} ({})", view.primary_title(), scoring.primary)),
        ("a reference is found when", scoring.coverage.clone()),
        ("budgets", if budgets.is_empty() { "none".to_owned() } else { format!("{} tokens", budgets.join(", ")) }),
        ("depth", counted(scoring.depth, "chunk")),
        (
            "intervals",
            format!("{}, {} bootstrap samples", percent(scoring.confidence), whole(scoring.resamples as u64)),
        ),
        (
            "p-values",
            format!("{} permutations, {}", whole(scoring.permutations as u64), correction(scoring.correction)),
        ),
        ("drawn together", drawn(&Clusters::of(view.report))),
        ("held-out choice", held_out(view.report)),
        ("seed", scoring.seed.to_string()),
    ]
}

/// Describes the units that a bootstrap sample draws.
fn drawn(clusters: &Clusters) -> String {
    match clusters.too_few() {
        Some(places) => format!("each question alone: the evidence is in only {}", counted(places, "place")),
        None => format!("questions with evidence in the same place: {}", counted(clusters.len(), "group")),
    }
}

fn held_out(report: &Report) -> String {
    match report.verdict.as_ref().and_then(|verdict| verdict.held_out) {
        Some(record) => format!("{} times, with random halves of the questions", record.splits),
        None => "not requested, or too few questions".to_owned(),
    }
}

fn machine(report: &Report) -> Facts {
    let machine = &report.environment;
    let mut facts = vec![
        ("system", format!("{} on {}", machine.os, machine.arch)),
        ("processor", machine.cpu.clone().unwrap_or_else(|| "unknown".to_owned())),
        ("threads", machine.cores.to_string()),
        ("memory", machine.memory_bytes.map_or_else(|| "unknown".to_owned(), bytes)),
    ];
    let mut distinct: Vec<String> = Vec::new();
    for cell in &report.cells {
        let model = format!("{}, {}", cell.model, cell.engine);
        if !distinct.contains(&model) {
            distinct.push(model);
        }
    }
    facts.push(("model", distinct.join("; ")));
    facts.push(("program", format!("chunkmill-eval {}", report.tool_version)));
    facts.push(("measured", report.created.clone()));
    facts
}

fn snapshots(view: &View) -> String {
    let builds = View::builds(&view.ranked);
    match builds.len() {
        0 => return String::new(),
        many if many > LISTED => {
            return format!("<p>The hash of each of the {} datasets is in report.csv.</p>", whole(many as u64));
        }
        _ => {}
    }
    let list = each(&builds, |cell| {
        format!("<li>{} <small>{}</small>\n", Text(&cell.spec_text), Text(&short(&cell.snapshot)))
    });
    details(
        &format!("{}: settings and hash of the content", counted(builds.len(), "dataset")),
        &format!("<ul class=\"plain-list\">{list}</ul>"),
    )
}

/// Shortens a hash to enough digits to recognize it; report.csv has all of it.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn left_out(report: &Report) -> String {
    if report.left_out.is_empty() {
        return String::new();
    }
    let list =
        each(&report.left_out, |left| format!("<li>{}: {}</li>", Text(&left.id), Text(&left.reason.to_string())));
    details(
        &format!("{} left out", counted(report.left_out.len(), "setting")),
        &format!("<ul class=\"plain-list\">{list}</ul>"),
    )
}

fn glossary(report: &Report) -> String {
    let items = each(&report.metrics, |metric| {
        let better = if metric.higher_is_better { "" } else { " Lower is better." };
        format!("<div><dt>{}</dt><dd>{}{better}</dd></div>", Text(&metric.title), Text(&metric.meaning))
    });
    if items.is_empty() {
        items
    } else {
        details("What the metrics mean", &format!("<dl class=\"glossary\">{items}</dl>"))
    }
}
