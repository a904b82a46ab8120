//! Metrics: examples that can be computed by hand, and edge cases.

use std::collections::HashMap;
use std::ops::Range;

use chunkmill_eval::score::metrics::{
    Cover, Coverage, EvidenceShape, Gain, Ranking, Span, Target, Ties, Touch, evidence, ordered, precision_omega,
    solid, text, within_budget,
};

fn span(range: Range<usize>) -> Span {
    Span::new(0, range)
}

fn cover(ranges: &[Range<usize>]) -> Cover {
    ranges.iter().cloned().map(span).collect()
}

fn target(range: Range<usize>, grade: f64) -> Target {
    Target { any: vec![cover(&[range])], grade }
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
}

#[test]
fn covers_are_sets() {
    let spans = [span(5..9), Span::new(1, 0..3), span(0..2), span(2..4), span(8..12), span(7..7)];
    let set: Cover = spans.into_iter().collect();
    assert_eq!(set.spans(), [span(0..4), span(5..12), Span::new(1, 0..3)]);
    assert_eq!((set.size(), set.within(&span(3..6)), set.within(&span(4..5)), set.within(&span(6..6))), (14, 2, 0, 0));
    assert_eq!(set.common(&cover(&[3..7, 11..20])), 4);
    let mut rest = set.clone();
    rest.remove(&span(6..8));
    rest.remove(&span(4..5));
    rest.remove(&span(3..3));
    rest.remove(&Span::new(1, 2..9));
    assert_eq!(rest.spans(), [span(0..4), span(5..6), span(8..12), Span::new(1, 0..2)]);
    rest.remove(&span(0..100));
    assert_eq!(rest.spans(), [Span::new(1, 0..2)]);
}

#[test]
fn solid_parts_are_what_is_not_white_space() {
    assert_eq!(solid("ab  é\n\nc ", 1..9), [1..2, 4..6, 8..9]);
    assert_eq!(solid("ab", 0..2), [0..2]);
    assert!(solid(" \n", 0..2).is_empty() && solid("é", 1..2).is_empty() && solid("a", 0..9).is_empty());
}

/// Wanted: 10..30. Retrieved: 0..20, 15..25, and 10..20 of another document. `I` is 15 and `S` is 40.
#[test]
fn text_is_scored_by_hand() {
    let scores = text(&[span(10..30)], &[span(0..20), span(15..25), Span::new(1, 10..20)]);
    near(scores.recall, 15.0 / 20.0);
    near(scores.precision, 15.0 / 40.0);
    near(scores.iou, 15.0 / 45.0);
    // Overlapping references count once.
    near(text(&[span(0..10), span(5..10)], &[span(0..10)]).recall, 1.0);
    let nothing = text(&[span(1..2)], &[]);
    assert_eq!((nothing.recall, nothing.precision, nothing.iou), (0.0, 0.0, 0.0));
    let unasked = text(&[], &[span(0..3)]);
    assert_eq!((unasked.recall, unasked.precision, unasked.iou), (0.0, 0.0, 0.0));
}

#[test]
fn precision_omega_is_what_a_perfect_search_would_have() {
    let chunks = [span(0..10), span(10..20), span(22..30), Span::new(1, 0..50)];
    // Chunk 10..20 contains 12..20 of it, and 22..30 contains 22..24. No chunk contains 20..22.
    near(precision_omega(&[span(12..24)], &chunks, Touch::Shared), 10.0 / 20.0);
    // 0..10 ends where 10..20 starts.
    near(precision_omega(&[span(10..20)], &chunks, Touch::Shared), 1.0);
    near(precision_omega(&[span(10..20)], &chunks, Touch::Adjacent), 10.0 / 20.0);
    assert_eq!(precision_omega(&[span(20..22)], &chunks, Touch::Shared), 0.0);
    assert_eq!(precision_omega(&[], &chunks, Touch::Adjacent), 0.0);
}

#[test]
fn evidence_is_whole_split_missed_or_unreachable() {
    let chunks = [span(0..10), span(10..20), span(25..30)];
    let state = |wanted: &[Range<usize>], retrieved: &[Span]| evidence(&cover(wanted), retrieved, &chunks);
    assert_eq!(state(&[2..8], &chunks[..1]), EvidenceShape::Whole);
    assert_eq!(state(&[8..12], &chunks[..2]), EvidenceShape::Split);
    assert_eq!(state(&[8..12], &chunks[..1]), EvidenceShape::Missed);
    assert_eq!(state(&[8..12], &[]), EvidenceShape::Missed);
    assert_eq!(state(&[18..27], &chunks), EvidenceShape::Unreachable);
    // Text between the chunks does not count if it is white space.
    assert_eq!(state(&[18..20, 25..27], &chunks), EvidenceShape::Split);
    assert_eq!(state(&[], &chunks), EvidenceShape::Unreachable);
}

#[test]
fn a_ranked_list_is_scored_by_hand() {
    let judged = HashMap::from([("a", 3.0), ("b", 1.0), ("c", 0.0), ("d", 2.0)]);
    // x is unjudged, and the second a takes no place.
    let ranking = Ranking::of_ids(["x", "a", "a", "c", "b"], &judged);
    assert_eq!([1, 2, 4].map(|k| ranking.hit(k)), [0.0, 1.0, 1.0]);
    near(ranking.recall(2), 1.0 / 3.0);
    near(ranking.recall(4), 2.0 / 3.0);
    near(ranking.precision(4), 2.0 / 4.0);
    near(ranking.precision(10), 2.0 / 10.0);
    near(ranking.reciprocal_rank(10), 1.0 / 2.0);
    assert_eq!(ranking.reciprocal_rank(1), 0.0);
    near(ranking.average_precision(10), (1.0 / 2.0 + 2.0 / 4.0) / 3.0);
    near(ranking.average_precision(2), (1.0 / 2.0) / 3.0);
    let log = |rank: f64| (rank + 1.0).log2();
    let best = 3.0 / log(1.0) + 2.0 / log(2.0) + 1.0 / log(3.0);
    near(ranking.ndcg(10, Gain::Linear), (3.0 / log(2.0) + 1.0 / log(4.0)) / best);
    let best = 7.0 / log(1.0) + 3.0 / log(2.0);
    near(ranking.ndcg(2, Gain::Exponential), (7.0 / log(2.0)) / best);
}

#[test]
fn nothing_retrieved_nothing_wanted_and_no_cutoff_score_nothing() {
    let judged = HashMap::from([("a", 1.0)]);
    let none = HashMap::from([("a", 0.0), ("b", -2.0)]);
    for (ranking, k) in [
        (Ranking::of_ids([], &judged), 5),
        (Ranking::of_ids(["a", "b"], &none), 5),
        (Ranking::of_ids(["a"], &judged), 0),
        (Ranking::of_chunks(&[span(0..5)], &[], Coverage::One(0.5)), 5),
        (Ranking::of_chunks(&[], &[target(0..5, 1.0)], Coverage::One(0.5)), 5),
        (Ranking::of_chunks(&[span(0..5)], &[target(3..3, 1.0), target(0..5, 0.0)], Coverage::One(0.0)), 5),
    ] {
        let values = [
            ranking.hit(k),
            ranking.recall(k),
            ranking.precision(k),
            ranking.reciprocal_rank(k),
            ranking.average_precision(k),
            ranking.ndcg(k, Gain::Linear),
        ];
        assert_eq!(values, [0.0; 6], "{ranking:?}");
    }
}

#[test]
fn ties_are_broken_by_id() {
    let scored =
        vec![("b", 1.0), ("a", 1.0), ("c", 2.0), ("n", f64::NAN), ("z", -0.0), ("y", 0.0), ("i", f64::NEG_INFINITY)];
    assert_eq!(ordered(scored.clone(), Ties::SmallerFirst), ["c", "a", "b", "y", "z", "i", "n"]);
    assert_eq!(ordered(scored, Ties::LargerFirst), ["c", "b", "a", "z", "y", "i", "n"]);
}

/// Other tools report an nDCG of 4.54 and an AP of 10 here.
#[test]
fn chunks_of_one_reference_count_once() {
    let chunks = [span(0..100), span(50..150), span(50..150), span(60..90)];
    let ranking = Ranking::of_chunks(&chunks, &[target(60..90, 1.0)], Coverage::One(0.5));
    assert_eq!(ranking.average_precision(10), 1.0);
    assert_eq!(ranking.ndcg(10, Gain::Linear), 1.0);
    assert_eq!(ranking.recall(10), 1.0);
    near(ranking.precision(4), 1.0 / 4.0);
}

#[test]
fn one_chunk_may_bring_several_references() {
    let targets = [target(0..10, 1.0), target(20..30, 3.0), target(200..210, 2.0)];
    let chunks = [span(0..100), span(100..200), span(200..300)];
    let ranking = Ranking::of_chunks(&chunks, &targets, Coverage::One(1.0));
    near(ranking.recall(1), 2.0 / 3.0);
    near(ranking.precision(3), 2.0 / 3.0);
    // Both references of the first chunk are found at precision 1, the third at 2/3.
    near(ranking.average_precision(3), (1.0 + 1.0 + 2.0 / 3.0) / 3.0);
    // They take places 1 and 2, the useless chunk takes place 3, and the last reference takes place 4.
    let log = |place: f64| (place + 1.0).log2();
    let best = 3.0 / log(1.0) + 2.0 / log(2.0) + 1.0 / log(3.0);
    near(ranking.ndcg(10, Gain::Linear), (3.0 / log(1.0) + 1.0 / log(2.0) + 2.0 / log(4.0)) / best);
    // A chunk with everything is the best possible ranking, whatever the chunks are.
    assert_eq!(Ranking::of_chunks(&[span(0..300)], &targets, Coverage::One(1.0)).ndcg(10, Gain::Exponential), 1.0);
}

/// mtcb counts this reference as missed, which makes large chunks win by construction.
#[test]
fn a_reference_in_two_chunks_is_found_with_the_second() {
    let (chunks, wanted) = ([span(0..10), span(50..60), span(10..20)], [target(4..16, 1.0)]);
    let rank = |rule| Ranking::of_chunks(&chunks, &wanted, rule).reciprocal_rank(10);
    assert_eq!(rank(Coverage::One(0.6)), 0.0);
    near(rank(Coverage::Together(0.6)), 1.0 / 3.0);
    assert_eq!(rank(Coverage::One(0.5)), 1.0);
    near(rank(Coverage::Together(1.0)), 1.0 / 3.0);
}

#[test]
fn a_budget_is_filled_in_order_and_the_last_result_cut() {
    let results = [(span(0..100), 10), (span(200..300), 20), (span(400..410), 1)];
    assert_eq!(within_budget(&results, 31), [span(0..100), span(200..300), span(400..410)]);
    assert_eq!(within_budget(&results, 30), [span(0..100), span(200..300)]);
    // A quarter of the second fits. The third would fit too, but it comes later.
    assert_eq!(within_budget(&results, 15), [span(0..100), span(200..225)]);
    assert_eq!(within_budget(&results, 10), [span(0..100)]);
    assert_eq!(within_budget(&results, 0), []);
    assert_eq!(within_budget(&[(span(3..3), 0), (span(0..1), 1000)], 5), [span(3..3)]);
    assert_eq!(within_budget(&[], 5), []);
}
