//! The outcome of the evidence, and the text that the model does not see.

use std::fmt::Write;

use super::parts::{Section, build_name, name, row, table};
use crate::data::report::{Cell, EvidenceCounts};
use crate::show::render::view::{View, counted, percent, whole};

impl EvidenceCounts {
    /// Returns each part with its class and title, in drawing order.
    fn parts(self) -> [(&'static str, &'static str, usize); 4] {
        [
            ("whole", "whole", self.whole),
            ("split", "split", self.split),
            ("missed", "not retrieved", self.missed),
            ("unreachable", "unreachable", self.unreachable),
        ]
    }
}

pub(super) fn section(view: &View) -> Option<Section> {
    let cells: Vec<&Cell> = view.choice().into_iter().filter(|cell| all(cell.evidence) > 0).collect();
    if cells.is_empty() {
        return None;
    }
    let mut key = String::new();
    for (class, title, _) in EvidenceCounts::default().parts() {
        let _ = write!(key, "<span><i class=\"box {class}\"></i>{title}</span>");
    }
    let rows: Vec<String> = cells.iter().map(|cell| evidence_row(view, cell)).collect();
    let head = ["Setting", "Share of the references", "Whole", "Split", "Not retrieved", "Unreachable"];
    Some(Section {
        id: "evidence",
        title: "What became of the evidence",
        lead: "Whole: one retrieved chunk contains all of a reference. Split: the retrieved chunks contain it \
               together. Not retrieved: the dataset contains it, ranked lower. Unreachable: no chunks contain all of it, \
               so no search can find it."
            .to_owned(),
        body: format!("<p class=\"key\">{key}</p>{}", table("What became of the evidence", &head, &rows)),
    })
}

fn all(evidence: EvidenceCounts) -> usize {
    evidence.parts().iter().map(|part| part.2).sum()
}

#[expect(clippy::cast_precision_loss, reason = "it is drawn, not counted")]
fn evidence_row(view: &View, cell: &Cell) -> String {
    let parts = cell.evidence.parts();
    let all = all(cell.evidence) as f64;
    let mut bar = "<span class=\"stack\" aria-hidden=\"true\">".to_owned();
    for (class, _, count) in parts {
        let _ = write!(bar, "<i class=\"{class}\" style=\"width:{:.2}%\"></i>", count as f64 / all * 100.0);
    }
    bar.push_str("</span>");
    let counts = parts
        .iter()
        .map(|(_, _, count)| format!("{} <small>{}</small>", whole(*count as u64), percent(*count as f64 / all)));
    row(&name(view, cell), &std::iter::once(bar).chain(counts).collect::<Vec<_>>())
}

/// Renders the datasets with chunks whose end the model does not see.
pub(super) fn truncation(view: &View) -> Option<Section> {
    let builds = View::builds(&view.ranked);
    if builds.is_empty() {
        return None;
    }
    let mut cut: Vec<&Cell> = builds.iter().copied().filter(|cell| cell.cost.truncated > 0).collect();
    let lead = if cut.is_empty() {
        "The model sees every chunk of every dataset to its end.".to_owned()
    } else {
        format!(
            "In {} of {}, some chunks are longer than the model can read. No vector includes the text beyond its \
             limit; keyword search still finds it.",
            cut.len(),
            counted(builds.len(), "dataset")
        )
    };
    cut.sort_by(|a, b| truncated_share(b).total_cmp(&truncated_share(a)));
    let rows: Vec<String> = cut
        .iter()
        .take(10)
        .map(|cell| {
            let numbers = [whole(cell.cost.truncated), whole(cell.chunks), percent(truncated_share(cell))];
            row(&build_name(view, cell), &numbers)
        })
        .collect();
    let body = if rows.is_empty() {
        String::new()
    } else {
        table("Datasets with truncated chunks", &["Chunks, most truncated first", "Truncated", "Of", "Share"], &rows)
    };
    Some(Section { id: "truncation", title: "Truncation", lead, body })
}

#[expect(clippy::cast_precision_loss, reason = "it is shown in per cent")]
fn truncated_share(cell: &Cell) -> f64 {
    cell.cost.truncated as f64 / cell.chunks.max(1) as f64
}
