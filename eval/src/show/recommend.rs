//! Turns documents into advice: the default settings to try, and the result in three sentences.

use chunkmill::value::count;

use crate::data::left_out::Reason;
use crate::data::report::{Cell, Report, Summary, Verdict};
use crate::findings::analysis::{HOPELESS, SURE, favoured, figure, is_default, percent, untold};

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

# A question that every setting answers in 1000 tokens may tell them apart in 250.
[scoring]
budgets = [250, 500, 1000, 2000, 4000]
primary = "evidence_in_context_1000"

[timing]
repeats = 1
"#;

/// With fewer real questions, the advice says that more would help.
const ENOUGH: usize = 50;

/// Returns the settings to use, or `None` if nothing could be scored.
///
/// They are the best ones if these are probably the best. If the questions cannot tell, they are the default settings,
/// unless these are ruled out: the best of many settings that are alike is a matter of luck.
pub fn advised(report: &Report) -> Option<&Cell> {
    report.cell(&report.verdict.as_ref()?.advised)
}

/// Describes what a run means for a decision: what to use, how certain that is, and what it costs.
///
/// Returns `None` if nothing could be scored.
pub fn sentences(report: &Report) -> Option<[String; 3]> {
    let verdict = report.verdict.as_ref()?;
    let cell = advised(report)?;
    Some([what(report, cell), how_sure(report, verdict, cell), cost(report, cell)])
}

fn what(report: &Report, cell: &Cell) -> String {
    let Summary { mean, lo, hi, .. } = cell.metrics.get(&report.scoring.primary).copied().unwrap_or_default();
    let measure = match report.scoring.primary.strip_prefix("evidence_in_context_") {
        Some(budget) => format!(
            "{} of the text that answers a question is then in the {budget} tokens that the reader receives",
            share(mean, f64::round)
        ),
        None => format!(
            "{} is then {}",
            report.metric(&report.scoring.primary).map_or("the measure", |metric| &metric.title),
            figure(mean)
        ),
    };
    let asked = count(report.labels.scored, "question");
    let certainty = if mean >= 1.0 {
        format!("in all of {asked}, which promises at least {}", share(lo, f64::floor))
    } else {
        format!("between {} and {}, as far as {asked} can tell", share(lo, f64::floor), share(hi, f64::ceil))
    };
    format!(
        "Cut the documents by `{}`{} and search them by {}: {measure} ({certainty}).",
        cell.build,
        if is_default(cell) { ", the default," } else { "" },
        mode(cell),
    )
}

/// Formats a share in per cent. Only all is shown as 100 %, and only nothing as 0 %.
fn share(value: f64, round: fn(f64) -> f64) -> String {
    // A product such as 100 × 0.29 is a little less than 29.
    let percent = round((value * 1e8).round() / 1e6);
    match value {
        value if value < 1.0 && percent >= 100.0 => "over 99 %".to_owned(),
        value if value > 0.0 && percent <= 0.0 => "under 1 %".to_owned(),
        _ => format!("{percent:.0} %"),
    }
}

fn mode(cell: &Cell) -> &str {
    match cell.retrieval.as_str() {
        "hybrid" => "meaning and words together (`hybrid`)",
        "vector" => "meaning (`vector`)",
        "keyword" => "words (`keyword`)",
        other => other,
    }
}

fn how_sure(report: &Report, verdict: &Verdict, cell: &Cell) -> String {
    let tried = report.cells.len();
    let untold = untold(report, &verdict.tied, report.cells.iter().filter(|cell| cell.p_best.is_some()).count());
    let certainty = if tried == 1 {
        "No other setting was tried".to_owned()
    } else if verdict.p_best >= SURE {
        let p = (100.0 * verdict.p_best).min(99.0);
        format!("Of {tried} settings that were tried, it is the best with a probability of {p:.0} %")
    } else if let Some(untold) = &untold {
        format!("Of {tried} settings that were tried, none is shown to be better. {}", untold.trim_end_matches('.'))
    } else if verdict.best == cell.id {
        let others = verdict.not_separable.len();
        format!(
            "Of {tried} settings that were tried, {others} may be as good as `{}`, so you lose nothing by choosing any of \
             these",
            cell.build
        )
    } else {
        let ahead = percent(report.cell(&verdict.best).and_then(|best| best.p_best).unwrap_or_default());
        format!(
            "Of {tried} settings that were tried, none is shown to be better; `{}` is ahead, and the best with a \
             probability of only {ahead}",
            verdict.best
        )
    };
    let more = verdict.runner_up.as_ref().filter(|next| next.more_questions > 0 && next.more_questions < HOPELESS);
    let more = more.filter(|_| verdict.p_best < SURE).map_or_else(String::new, |next| {
        let more = count(next.more_questions, "more question");
        format!("; about {more} would separate `{}` from the next, `{}`", verdict.best, next.id)
    });
    let questions = if report.labels.synthetic {
        "; but these questions were made up from the documents, and fifty real ones would say more (`--questions FILE`)"
    } else {
        ""
    };
    let few = ENOUGH.saturating_sub(report.labels.scored);
    let questions = if few > 0 && !report.labels.synthetic && untold.is_none() {
        format!("; {} would say more", count(few, "more question"))
    } else {
        questions.to_owned()
    };
    let favoured = favoured(report).map(|favoured| format!(" {favoured}")).unwrap_or_default();
    let unfinished = report.left_out.iter().filter(|left| left.reason == Reason::TimeWasUp).count();
    let unfinished = match unfinished {
        0 => String::new(),
        left => format!(" The time was up before {} could be tried (`--minutes`).", count(left, "more setting")),
    };
    format!("{certainty}{more}{questions}.{favoured}{unfinished}")
}

#[expect(clippy::cast_precision_loss, reason = "two digits of a size are shown")]
fn cost(report: &Report, cell: &Cell) -> String {
    let seconds = cell.cost.index.as_ref().map_or_else(String::new, |index| {
        let seconds = index.seconds.median;
        let text = if seconds < 90.0 { format!("{seconds:.1} s") } else { format!("{:.0} minutes", seconds / 60.0) };
        format!("takes {text} on this machine and ")
    });
    format!(
        "Indexing {} {seconds}produces {:.1} MB, and a question takes {:.0} ms.",
        count(report.labels.documents, "document"),
        cell.cost.bytes as f64 / 1e6,
        cell.cost.query_ms.p50.max(1.0)
    )
}
