//! A race drops only settings that are worse.

use std::path::Path;

use chunkmill_eval::run::race::Race;
use chunkmill_eval::run::sweep::Labelled;
use chunkmill_eval::score::judge::{Judge, ScoringOptions};

use crate::common::{dice, note};

fn larder() -> Labelled {
    Labelled::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/larder")).unwrap()
}

#[test]
fn every_question_is_asked_once_clusters_together() {
    let labelled = larder();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, true).unwrap();
    let options = ScoringOptions::default();
    let race = Race::new(&judge, &options, 10);
    let stages = race.stages(labelled.labels.queries.len());
    let sizes: Vec<usize> = stages.iter().map(Vec::len).collect();
    assert!(sizes.len() == 3 && sizes[0] >= 51 && sizes[0] + sizes[1] >= 102 && sizes[0] < 70, "{sizes:?}");
    let mut all = stages.concat();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..203));
    let clusters: Vec<(usize, usize)> = judge.queries().zip(judge.clusters()).collect();
    let stage_of = |query: usize| stages.iter().position(|stage| stage.contains(&query));
    for (query, cluster) in &clusters {
        let same = clusters.iter().filter(|(_, other)| other == cluster);
        assert!(same.into_iter().all(|(other, _)| stage_of(*other) == stage_of(*query)));
    }
    let other = ScoringOptions { seed: 2, ..ScoringOptions::default() };
    assert_ne!(Race::new(&judge, &other, 10).stages(203), stages);
}

/// Races forty settings, one of which is better by `lead`. Returns how often that one is dropped, and the share of
/// the others that are dropped.
fn raced(lead: f64, tries: u64) -> (f64, f64) {
    let labelled = larder();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, true).unwrap();
    let options = ScoringOptions::default();
    let mut next = dice(11);
    let (mut best_dropped, mut dropped) = (0.0, 0.0);
    for _ in 0..tries {
        let race = Race::new(&judge, &options, 40);
        let half: usize = race.stages(203)[..2].iter().map(Vec::len).sum();
        let hard: Vec<f64> = (0..203).map(|_| next()).collect();
        let mut value = |lead: f64, question: usize| {
            let found = next() * 0.6 + lead > hard[question] * 0.8;
            Some(f64::from(u8::from(found))).filter(|_| question < half)
        };
        let names: Vec<String> = (0..40).map(|at| at.to_string()).collect();
        let running: Vec<(&str, Vec<Option<f64>>)> = (0..40)
            .map(|at| {
                (
                    names[at].as_str(),
                    (0..203).map(|question| value(if at == 0 { lead } else { 0.0 }, question)).collect(),
                )
            })
            .collect();
        let lagging = race.lagging(&running);
        best_dropped += f64::from(u8::from(lagging[0].is_some()));
        dropped += lagging[1..].iter().flatten().count() as f64 / 39.0;
    }
    (best_dropped / tries as f64, dropped / tries as f64)
}

#[test]
fn the_best_is_seldom_dropped_and_the_others_are_the_sooner_the_worse_they_are() {
    // If all are alike, each of them is as much the best as any other.
    let (alike, _) = raced(0.0, 150);
    let (best, few) = raced(0.2, 50);
    let (_, many) = raced(0.6, 50);
    assert!(alike <= 0.05 && best == 0.0 && many > few && many > 0.9, "{alike} {best} {few} {many}");
    note(&format!(
        "after half of the questions: one of 40 equal settings dropped in {alike}; others dropped {few}, {many}"
    ));
}
