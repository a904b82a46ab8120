//! Turns documents into advice: the default settings to try, and the result in three sentences.

use chunkmill::value::count;

use crate::analysis::{HOPELESS, SURE, figure};
use crate::report::{Cell, Report, Verdict};

/// The settings that are tried, until the time is up. Those that were best on the most sets of labels come first.
pub const SWEEP: &str = r#"# The settings that `chunkmill-eval recommend` tries, in this order, until its time is up.
# To continue: chunkmill-eval sweep --labels labels --sweep sweep.toml -o run

[[grid]]
preset = ["structure"]
mode = "hybrid"

[[grid]]
preset = ["structure"]
max = [256, 64, 192]
mode = "hybrid"

# The usual baselines: text cut at separators, and windows of equal length.
[[grid]]
strategy = ["recursive"]
unit = "model"
max = [256, 128]
overlap = [0]
mode = "hybrid"

[[grid]]
strategy = ["windows"]
unit = "model"
max = [256]
overlap = [32]
mode = "hybrid"

# Published designs.
[[grid]]
preset = ["sections", "heading-tokens", "ragdocs"]
mode = "hybrid"

[[grid]]
preset = ["structure"]
max = [384]
mode = "hybrid"

[timing]
repeats = 1
"#;

/// Describes what a run means for a decision: what to use, how certain that is, and what it costs.
///
/// Returns `None` if nothing could be scored.
#[must_use]
pub fn sentences(report: &Report) -> Option<[String; 3]> {
    let verdict = report.verdict.as_ref()?;
    let best = report.cell(&verdict.best)?;
    Some([what(report, best), how_sure(report, verdict, best), cost(report, best)])
}

fn what(report: &Report, best: &Cell) -> String {
    let summary = best.metrics.get(&report.scoring.primary).copied().unwrap_or_default();
    let percent = |value: f64| format!("{:.0} %", 100.0 * value);
    let measure = match report.scoring.primary.strip_prefix("evidence_in_context_") {
        Some(budget) => format!(
            "{} of the text that answers a question is then in the {budget} tokens that the reader receives",
            percent(summary.mean)
        ),
        None => format!(
            "{} is then {}",
            report.metric(&report.scoring.primary).map_or("the measure", |metric| &metric.title),
            figure(summary.mean)
        ),
    };
    format!(
        "Cut the documents by `{}` and search them by {}: {measure} (between {} and {}, as far as {} can tell).",
        best.build,
        mode(best),
        percent(summary.lo),
        percent(summary.hi),
        count(report.labels.scored, "question")
    )
}

fn mode(cell: &Cell) -> &str {
    match cell.retrieval.as_str() {
        "hybrid" => "meaning and words together (`hybrid`)",
        "vector" => "meaning (`vector`)",
        "keyword" => "words (`keyword`)",
        other => other,
    }
}

fn how_sure(report: &Report, verdict: &Verdict, best: &Cell) -> String {
    let tried = report.cells.len();
    let made_up = if report.labels.synthetic {
        "; but these questions were made up from the documents, and fifty real ones would say more (`chunkmill-eval label`)"
    } else {
        ""
    };
    if tried == 1 {
        return format!("No other setting was tried{made_up}.");
    }
    if verdict.p_best >= SURE {
        return format!(
            "Of {tried} settings that were tried, it is the best with a probability of {:.0} %{made_up}.",
            (100.0 * verdict.p_best).min(99.0)
        );
    }
    let more = verdict.runner_up.as_ref().filter(|next| next.more_questions > 0 && next.more_questions < HOPELESS);
    let more = more.map_or_else(String::new, |next| {
        let more = count(next.more_questions, "more question");
        format!("; about {more} would separate it from the next, `{}`", next.id)
    });
    let (build, others) = (best.build.as_str(), verdict.not_separable.len());
    format!(
        "Of {tried} settings that were tried, {others} may be as good as `{build}`, so you lose nothing by choosing \
         any of these{more}{made_up}."
    )
}

#[expect(clippy::cast_precision_loss, reason = "two digits of a size are shown")]
fn cost(report: &Report, best: &Cell) -> String {
    let seconds = best.cost.index.as_ref().map_or_else(String::new, |index| {
        let seconds = index.seconds.median;
        let text = if seconds < 90.0 { format!("{seconds:.1} s") } else { format!("{:.0} minutes", seconds / 60.0) };
        format!("takes {text} on this machine and ")
    });
    format!(
        "Indexing {} {seconds}produces {:.1} MB, and a question takes {:.0} ms.",
        count(report.labels.documents, "document"),
        best.cost.bytes as f64 / 1e6,
        best.cost.query_ms.p50.max(1.0)
    )
}
