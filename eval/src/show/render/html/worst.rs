//! The questions that the recommended setting answers worst, each with the text that would have answered it and the text
//! that was handed over.

use std::fmt::Write;

use super::parts::{Section, each};
use crate::data::report::{EvidenceText, RetrievedText, WorstQuery};
use crate::show::render::text::Text;
use crate::show::render::view::{View, counted, significant};

pub(super) fn section(view: &View) -> Option<Section> {
    let worst = &view.report.worst;
    if worst.is_empty() {
        return None;
    }
    let advised = view.advised().map_or_else(String::new, |cell| format!(" (<code>{}</code>)", Text(&cell.id)));
    Some(Section {
        id: "worst",
        title: "Worst questions",
        lead: format!(
            "The questions that the recommended setting{advised} answers worst: the wanted text next to the text that was handed \
             over, in which evidence is <mark>marked</mark>."
        ),
        body: each(worst.iter().enumerate(), |(at, query)| question(view, query, at == 0)),
    })
}

fn question(view: &View, worst: &WorstQuery, open: bool) -> String {
    let query = view.report.queries.get(worst.query);
    let (id, text) = query.map_or(("?", ""), |query| (query.id.as_str(), query.text.as_str()));
    let evidence = each(&worst.evidence, evidence);
    let retrieved = each(&worst.retrieved, retrieved);
    let retrieved = if retrieved.is_empty() { "<p>Nothing was handed over.</p>".to_owned() } else { retrieved };
    let open = if open { " open" } else { "" };
    format!(
        "<details class=\"question\"{open}><summary><span class=\"asked\">{}</span> <small>{} · {} {}</small></summary>\
         <div class=\"sides\"><div><h3>Wanted</h3>{evidence}</div><div><h3>Handed over</h3>{retrieved}</div></div></details>\n",
        Text(text),
        Text(id),
        Text(view.primary_title()),
        view.value(worst.value)
    )
}

fn evidence(evidence: &EvidenceText) -> String {
    let state = match evidence.state.as_str() {
        "missed" => "not retrieved",
        other => other,
    };
    let rank =
        evidence.rank.map_or_else(|| "in none of the examined results".to_owned(), |r| format!("first at rank {r}"));
    let text = evidence.text.as_deref().map_or_else(|| "<p>The whole document.</p>".to_owned(), passage);
    let others = match evidence.alternatives {
        0 => String::new(),
        others => format!("; {} would do", counted(others, "other place")),
    };
    format!(
        "<article><p class=\"where\"><code>{}:{}</code> <span>{}, {rank}{others}</span></p>{text}</article>",
        Text(&evidence.doc_id),
        evidence.line,
        Text(state)
    )
}

fn passage(text: &str) -> String {
    format!("<blockquote>{}</blockquote>", Text(text))
}

fn retrieved(chunk: &RetrievedText) -> String {
    let mut text = String::new();
    for piece in &chunk.pieces {
        let _ = if piece.evidence {
            write!(text, "<mark>{}</mark>", Text(&piece.text))
        } else {
            write!(text, "{}", Text(&piece.text))
        };
    }
    format!(
        "<article><p class=\"where\"><b>{}</b> <code>{}</code>{}</p><blockquote>{text}</blockquote></article>",
        chunk.rank,
        Text(&chunk.citation),
        chunk.score.map_or_else(String::new, |score| format!(
            " <span title=\"hits are ranked by this score\">score {}</span>",
            significant(score)
        )),
    )
}
