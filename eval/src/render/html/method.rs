//! How it was measured: all that somebody needs to do it again, or to doubt it.

use super::{Section, Text, details, each};
use crate::render::view::{View, bytes, percent, whole};
use crate::report::Report;

pub(super) fn section(view: &View) -> Section {
    let report = view.report;
    Section {
        id: "method",
        title: "How it was measured",
        lead: "All that is needed to measure it again. The full numbers are in report.json and report.csv beside this page."
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

/// The program, which the recorded command may leave out.
const PROGRAM: &str = "chunkmill-eval";

/// As a shell takes it.
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
        ("in them", format!("{}, {} tokens", bytes(labels.bytes), whole(labels.tokens))),
        ("made by", if labels.synthetic { "synth, from the documents" } else { "people" }.to_owned()),
        ("hash of the questions", labels.queries_hash.clone()),
        ("hash of the documents", labels.corpus_hash.clone()),
    ]
}

fn scoring(view: &View) -> Facts {
    let scoring = &view.report.scoring;
    let budgets: Vec<String> = scoring.budgets.iter().map(|budget| whole(*budget as u64)).collect();
    vec![
        ("decides", format!("{} ({})", view.primary_title(), scoring.primary)),
        ("a reference is found when", scoring.coverage.clone()),
        ("budgets", if budgets.is_empty() { "none".to_owned() } else { format!("{} tokens", budgets.join(", ")) }),
        ("depth", format!("{} chunks", whole(scoring.depth as u64))),
        (
            "intervals",
            format!("{}, {} bootstrap samples", percent(scoring.confidence), whole(scoring.resamples as u64)),
        ),
        ("p-values", format!("{} permutations, Holm’s correction", whole(scoring.permutations as u64))),
        ("seed", scoring.seed.to_string()),
    ]
}

fn machine(report: &Report) -> Facts {
    let machine = &report.environment;
    let mut facts = vec![
        ("system", format!("{} on {}", machine.os, machine.arch)),
        ("processor", machine.cpu.clone().unwrap_or_else(|| "not known".to_owned())),
        ("threads", machine.cores.to_string()),
        ("memory", machine.memory_bytes.map_or_else(|| "not known".to_owned(), bytes)),
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
    if builds.is_empty() {
        return String::new();
    }
    let list =
        each(&builds, |cell| format!("<li><code>{}</code> {}</li>", Text(&cell.snapshot), Text(&cell.spec_text)));
    let plural = if builds.len() == 1 { "" } else { "s" };
    details(
        &format!("{} dataset{plural} by the hash of its content", builds.len()),
        &format!("<ul class=\"plain-list\">{list}</ul>"),
    )
}

fn left_out(report: &Report) -> String {
    if report.left_out.is_empty() {
        return String::new();
    }
    let list = each(&report.left_out, |left| format!("<li>{}: {}</li>", Text(&left.id), Text(&left.reason)));
    let plural = if report.left_out.len() == 1 { "" } else { "s" };
    details(
        &format!("{} setting{plural} left out", report.left_out.len()),
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
