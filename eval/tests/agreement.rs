//! Do two sets of questions rank settings in the same order?

use chunkmill_eval::data::report::{Report, Summary};
use chunkmill_eval::findings::agreement::agreement;

use crate::common::{METRIC, arg, eval, report_of};

/// Returns a report whose settings have these means.
fn report(means: &[(&str, f64)]) -> Report {
    let cells: Vec<(&str, Vec<Option<f64>>)> = means.iter().map(|&(id, mean)| (id, vec![Some(mean); 4])).collect();
    let mut report = report_of(&cells);
    for (cell, (_, mean)) in report.cells.iter_mut().zip(means) {
        cell.metrics.insert(METRIC.to_owned(), Summary { mean: *mean, ..Summary::default() });
    }
    report
}

#[test]
fn the_choice_of_one_is_judged_by_the_other() {
    let a = report(&[("x", 0.9), ("y", 0.8), ("z", 0.1), ("only a", 1.0)]);
    let b = report(&[("z", 0.2), ("y", 0.6), ("only b", 1.0), ("x", 0.5)]);
    let found = agreement(&a, &b, METRIC, None).unwrap();
    // One of the three pairs changes its order: x and y.
    assert!((found.tau.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!((found.cells, found.pick, found.best), (3, ("x".to_owned(), 0.5), ("y".to_owned(), 0.6)));
    assert!((found.regret - 0.1).abs() < 1e-12);
    assert!((found.random_regret - (0.6 - 1.3 / 3.0)).abs() < 1e-12);
    let itself = agreement(&a, &a, METRIC, None).unwrap();
    assert_eq!((itself.tau, itself.regret), (Some(1.0), 0.0));
}

#[test]
fn one_way_to_search_is_compared_alone() {
    let of = |means: [f64; 4]| {
        let ids = ["x · vector", "y · vector", "x · keyword", "y · keyword"];
        report(&ids.into_iter().zip(means).collect::<Vec<_>>())
    };
    let (a, b) = (of([0.1, 0.2, 0.8, 0.9]), of([0.8, 0.9, 0.1, 0.2]));
    assert_eq!(agreement(&a, &b, METRIC, None).unwrap().tau, Some(-1.0 / 3.0));
    for mode in ["vector", "keyword"] {
        let found = agreement(&a, &b, METRIC, Some(mode)).unwrap();
        assert_eq!((found.cells, found.tau, found.regret, found.retrieval.as_deref()), (2, Some(1.0), 0.0, Some(mode)));
        assert_eq!(found.pick.0, format!("y · {mode}"));
    }
    assert!(agreement(&a, &b, METRIC, Some("hybrid")).is_err());
}

#[test]
fn a_metric_of_which_less_is_better_is_turned_round() {
    let (mut a, mut b) = (report(&[("x", 1.0), ("y", 2.0)]), report(&[("x", 5.0), ("y", 3.0)]));
    for report in [&mut a, &mut b] {
        report.metrics.iter_mut().for_each(|metric| metric.higher_is_better = false);
    }
    let found = agreement(&a, &b, METRIC, None).unwrap();
    assert_eq!((found.tau, found.pick.0.as_str(), found.regret), (Some(-1.0), "x", 2.0));
}

#[test]
fn runs_without_settings_in_common_are_refused() {
    let (a, b) = (report(&[("x", 1.0), ("y", 2.0)]), report(&[("x", 1.0), ("z", 2.0)]));
    let error = agreement(&a, &b, METRIC, None).unwrap_err().to_string();
    assert!(error.contains("fewer than two settings") && error.contains("same sweep file"), "{error}");
}

#[test]
fn the_program_says_it() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = |name: &str, report: &Report| {
        let path = folder.path().join(name);
        std::fs::write(&path, serde_json::to_string(report).unwrap()).unwrap();
        path
    };
    let a = file("a.json", &report(&[("x", 0.9), ("y", 0.8)]));
    let b = file("b.json", &report(&[("x", 0.5), ("y", 0.6)]));
    let (code, said, _) = eval(&["agree", arg(&a), arg(&b)]);
    assert_eq!(code, 0);
    assert!(said.contains("tau-b over 2 settings is -1.000") && said.contains("regret is 0.100"), "{said}");
    let (code, said, _) = eval(&["agree", arg(&a), arg(&b), "--json", "--metric", METRIC]);
    assert_eq!(code, 0);
    // The first line is for all settings, the second for those with vector search. Here they are the same.
    let said: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&said[0]["tau"], &said[1]["tau"], &said[1]["retrieval"]),
        (&(-1.0).into(), &(-1.0).into(), &"vector".into())
    );
}
