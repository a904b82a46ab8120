//! Properties of every metric for every input.

use std::collections::HashMap;

use chunkmill_eval::score::metrics::{
    Cover, Coverage, EvidenceShape, Gain, Ranking, Span, Target, Touch, evidence, precision_omega, text, within_budget,
};
use proptest::prelude::*;

fn span() -> impl Strategy<Value = Span> {
    (0..3usize, 0..60usize, 0..25usize).prop_map(|(doc, start, size)| Span { doc, start, end: start + size })
}

fn spans(most: usize) -> impl Strategy<Value = Vec<Span>> {
    prop::collection::vec(span(), 0..most)
}

fn targets() -> impl Strategy<Value = Vec<Target>> {
    let target = (spans(4), -1..4i32)
        .prop_map(|(spans, grade)| Target { any: vec![spans.into_iter().collect()], grade: f64::from(grade) });
    prop::collection::vec(target, 0..6)
}

fn rule() -> impl Strategy<Value = Coverage> {
    prop_oneof![(0.0..=1.0).prop_map(Coverage::One), (0.0..=1.0).prop_map(Coverage::Together)]
}

fn all(ranking: &Ranking, k: usize) -> [f64; 7] {
    [
        ranking.hit(k),
        ranking.recall(k),
        ranking.precision(k),
        ranking.reciprocal_rank(k),
        ranking.average_precision(k),
        ranking.ndcg(k, Gain::Linear),
        ranking.ndcg(k, Gain::Exponential),
    ]
}

/// Returns the units of spans, one by one.
fn units(spans: &[Span]) -> std::collections::BTreeSet<(usize, usize)> {
    spans.iter().flat_map(|span| (span.start..span.end).map(|unit| (span.doc, unit))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn covers_agree_with_sets_of_units(one in spans(8), other in spans(8), gone in span()) {
        let (a, b) = (units(&one), units(&other));
        let (mut cover, with): (Cover, Cover) = (one.into_iter().collect(), other.into_iter().collect());
        prop_assert_eq!(cover.size(), a.len());
        prop_assert_eq!(cover.common(&with), a.intersection(&b).count());
        prop_assert_eq!(cover.within(&gone), a.intersection(&units(&[gone])).count());
        cover.remove(&gone);
        let rest: std::collections::BTreeSet<_> = a.difference(&units(&[gone])).copied().collect();
        prop_assert_eq!(units(cover.spans()), rest);
        prop_assert!(cover.spans().windows(2).all(|pair| pair[0].doc < pair[1].doc || pair[0].end < pair[1].start));
    }

    #[test]
    fn text_scores_are_shares(wanted in spans(5), retrieved in spans(8), more in span()) {
        let scores = text(&wanted, &retrieved);
        for value in [scores.recall, scores.precision, scores.iou] {
            prop_assert!((0.0..=1.0).contains(&value));
        }
        prop_assert!(scores.iou <= scores.recall.min(scores.precision));
        let added = [&retrieved[..], &[more]].concat();
        prop_assert!(text(&wanted, &added).recall >= scores.recall);
        if wanted.iter().all(|wanted| wanted.shared(&more).is_none()) {
            prop_assert!(text(&wanted, &added).precision <= scores.precision);
        }
    }

    #[test]
    fn a_perfect_search_is_not_beaten_by_any_choice_of_chunks_that_touch(wanted in spans(4), chunks in spans(10)) {
        let omega = precision_omega(&wanted, &chunks, Touch::Shared);
        prop_assert!((0.0..=1.0).contains(&omega));
        let adjacent = precision_omega(&wanted, &chunks, Touch::Adjacent);
        prop_assert!((0.0..=omega).contains(&adjacent));
        let touching: Vec<Span> =
            chunks.iter().filter(|chunk| wanted.iter().any(|want| want.shared(chunk).is_some())).copied().collect();
        // Retrieving exactly these chunks scores at most omega, and less where they overlap.
        prop_assert!(text(&wanted, &touching).iou <= omega);
    }

    #[test]
    fn evidence_is_at_least_as_whole_with_more_results(
        wanted in spans(3), chunks in spans(10), taken in prop::collection::vec(any::<bool>(), 10)
    ) {
        let wanted: Cover = wanted.into_iter().collect();
        let some: Vec<Span> = chunks.iter().zip(taken).filter(|(_, taken)| *taken).map(|(chunk, _)| *chunk).collect();
        let state = evidence(&wanted, &some, &chunks);
        match (state, evidence(&wanted, &chunks, &chunks)) {
            (EvidenceShape::Unreachable, all) => prop_assert_eq!(all, EvidenceShape::Unreachable),
            (EvidenceShape::Whole, all) => prop_assert_eq!(all, EvidenceShape::Whole),
            (_, all) => prop_assert!(matches!(all, EvidenceShape::Whole | EvidenceShape::Split)),
        }
    }

    #[test]
    fn rankings_of_chunks_are_shares(chunks in spans(12), targets in targets(), rule in rule(), k in 0..14usize) {
        let ranking = Ranking::of_chunks(&chunks, &targets, rule);
        for value in all(&ranking, k) {
            prop_assert!((0.0..=1.0).contains(&value), "{:?} at {k}: {value}", ranking);
        }
        prop_assert!(ranking.recall(k) <= ranking.recall(k + 1));
        prop_assert!(ranking.hit(k) <= ranking.hit(k + 1));
        prop_assert!(ranking.average_precision(k) <= ranking.average_precision(k + 1));
        prop_assert!(ranking.reciprocal_rank(k) <= ranking.reciprocal_rank(k + 1));
        // A result that contributes nothing raises no metric, wherever it comes.
        let elsewhere = Span { doc: 9, start: 0, end: 10 };
        let at = k.min(chunks.len());
        let added = [&chunks[..at], &[elsewhere], &chunks[at..]].concat();
        for (with, without) in all(&Ranking::of_chunks(&added, &targets, rule), k).into_iter().zip(all(&ranking, k)) {
            prop_assert!(with <= without + 1e-12);
        }
        // Chunks that count together never find less than chunks that count alone.
        if let Coverage::One(share) = rule {
            prop_assert!(Ranking::of_chunks(&chunks, &targets, Coverage::Together(share)).recall(k) >= ranking.recall(k));
        }
    }

    #[test]
    fn rankings_of_ids_are_shares_and_ignore_repetition(
        ids in prop::collection::vec(0..15u32, 0..20), grades in prop::collection::hash_map(0..20u32, -1..4i32, 0..10), k in 0..25usize
    ) {
        let judged: HashMap<u32, f64> = grades.into_iter().map(|(id, grade)| (id, f64::from(grade))).collect();
        let ranking = Ranking::of_ids(ids.clone(), &judged);
        for value in all(&ranking, k) {
            prop_assert!((0.0..=1.0).contains(&value));
        }
        prop_assert!(ranking.recall(k) <= ranking.recall(k + 1));
        let twice = ids.iter().flat_map(|&id| [id, id]);
        prop_assert_eq!(Ranking::of_ids(twice, &judged), ranking);
        // The best possible order.
        let mut best: Vec<u32> = judged.keys().copied().collect();
        best.sort_by(|a, b| judged[b].total_cmp(&judged[a]));
        let best = Ranking::of_ids(best, &judged);
        prop_assert!(best.ndcg(k, Gain::Linear) == f64::from(u8::from(k > 0 && judged.values().any(|&grade| grade > 0.0))));
    }

    #[test]
    fn a_larger_budget_takes_more(results in prop::collection::vec((span(), 0..9usize), 0..10), budget in 0..40usize) {
        let size = |budget| within_budget(&results, budget).iter().map(Span::size).sum::<usize>();
        prop_assert!(size(budget) <= size(budget + 1));
        let taken = within_budget(&results, budget);
        prop_assert!(taken.iter().zip(&results).all(|(part, (whole, _))| part.start == whole.start && part.end <= whole.end));
    }
}
