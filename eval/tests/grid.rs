//! Sweep files: which cells they produce, which ones they leave out, and how bad files are reported.

use chunkmill::chunk::Context;
use chunkmill::config::Options;
use chunkmill::error::Error;
use chunkmill_eval::data::left_out::Reason;
use chunkmill_eval::run::plan::{Plan, parse};
use proptest::prelude::*;

fn plan(text: &str) -> Plan {
    parse(text, "sweep.toml", Options::default()).unwrap()
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.cells.iter().map(|cell| cell.id.as_str()).collect()
}

fn error(text: &str) -> String {
    parse(text, "sweep.toml", Options::default()).unwrap_err().to_string()
}

#[test]
fn every_combination_is_a_cell() {
    let plan = plan(
        r#"
        [[grid]]
        strategy = ["recursive", "windows"]
        unit = "tokens"
        max = [100, 200]
        mode = ["vector", "keyword"]
        k = [3, 5]
        "#,
    );
    assert_eq!(plan.builds.len(), 4);
    assert_eq!(plan.cells.len(), 16);
    assert_eq!(
        ids(&plan)[..5],
        [
            "recursive max=100, vector, k=3",
            "recursive max=100, vector, k=5",
            "recursive max=100, keyword, k=3",
            "recursive max=100, keyword, k=5",
            "recursive max=200, vector, k=3",
        ]
    );
    assert!(plan.left_out.is_empty());
}

/// One row of a table can be repeated: the same cell, with the dataset that it needs and no other.
#[test]
fn a_setting_can_be_tried_alone() {
    let whole = plan("[[grid]]\npreset = ['ragdocs', 'structure']\nmax = [100, 200]\nmode = 'hybrid'\nk = [3, 5]\n");
    let chosen = ["structure max=100, hybrid, k=5", "structure max=200, keyword, k=3"].map(str::to_owned);
    let alone = whole.clone().only(&chosen).unwrap();
    assert_eq!(ids(&alone), chosen);
    assert_eq!(
        alone.builds.iter().map(|build| build.name.as_str()).collect::<Vec<_>>(),
        ["structure max=100", "structure max=200"]
    );
    for cell in &alone.cells {
        let build = &alone.builds[cell.build];
        assert_eq!(build.variants.len(), 1);
        assert_eq!(cell.id, format!("{}, {}, k={}", build.name, build.variants[cell.variant].name, cell.k));
    }
    for (wrong, help) in [
        ("structure max=100, hybird, k=5", "did you mean `structure max=100, hybrid, k=5`?"),
        ("something else", "`sweep --list` shows them all"),
    ] {
        let Error::Setting { problem, help: said, .. } = whole.clone().only(&[wrong.to_owned()]).unwrap_err() else {
            panic!("{wrong}");
        };
        assert!(problem.contains(wrong) && said == help, "{problem}: {said}");
    }
}

#[test]
fn vector_keyword_and_hybrid_are_tried_unless_modes_are_named() {
    let plan = plan("[[grid]]\npreset = 'ragdocs'\n");
    assert_eq!(ids(&plan), ["ragdocs, vector, k=5", "ragdocs, keyword, k=5", "ragdocs, hybrid, k=5"]);
}

#[test]
fn fused_search_brings_its_halves_once() {
    let plan = plan("[[grid]]\npreset = 'ragdocs'\nmode = 'hybrid'\nfusion = 'rrf'\nrrf_k = [20, 60]\n");
    assert_eq!(
        ids(&plan),
        [
            "ragdocs, vector, k=5",
            "ragdocs, keyword, k=5",
            "ragdocs, hybrid rrf_k=20, k=5",
            "ragdocs, hybrid rrf_k=60, k=5",
        ]
    );
}

#[test]
fn what_a_fusion_does_not_read_makes_no_cell() {
    let plan = plan(
        "[[grid]]\npreset = 'ragdocs'\nmode = 'hybrid'\nfusion = ['linear', 'rrf']\nvector_share = [0.3, 0.6]\nrrf_k = [20, 60]\n",
    );
    let hybrid = |what: &str| format!("ragdocs, hybrid fusion={what}, k=5");
    let mut expected: Vec<String> = ["linear vector_share=0.3", "linear vector_share=0.6"].map(hybrid).into();
    expected.extend(["rrf rrf_k=20", "rrf rrf_k=60"].map(hybrid));
    let all: Vec<String> = ids(&plan).into_iter().map(str::to_owned).collect();
    assert_eq!(all[..2], ["ragdocs, vector, k=5", "ragdocs, keyword, k=5"]);
    assert_eq!(all[2..], expected);
}

#[test]
fn a_reason_is_read_from_its_words() {
    for (reason, words) in [
        (Reason::TimeWasUp, "the time was up before it started"),
        (Reason::EqualTo("a `b`".to_owned()), "is equal to `a `b``"),
        (Reason::InWords("is equal to `".to_owned()), "is equal to `"),
    ] {
        assert_eq!((reason.to_string().as_str(), &Reason::from(words.to_owned())), (words, &reason));
        assert_eq!(serde_json::to_value(&reason).unwrap(), words);
    }
}

#[test]
fn what_contradicts_itself_is_left_out_with_the_reason() {
    let plan = plan("[[grid]]\nstrategy = 'recursive'\nmax = [50, 100]\noverlap = [0, 80]\nmode = 'vector'\n");
    assert_eq!(plan.cells.len(), 3);
    assert_eq!(plan.left_out.len(), 1);
    assert_eq!(plan.left_out[0].id, "recursive max=50 overlap=80");
    assert!(plan.left_out[0].reason.to_string().contains("overlap 80"), "{}", plan.left_out[0].reason);
}

#[test]
fn equal_cells_are_merged_into_the_first() {
    // `recursive` ignores the target, and 400 tokens is its default.
    let plan = plan(
        "[[grid]]\nname = 'a'\nstrategy = 'recursive'\nunit = 'tokens'\nmax = 400\ntarget = [100, 200]\nmode = 'vector'\n\
         [[grid]]\nname = 'b'\npreset = 'recursive'\nmode = ['vector', 'keyword']\n",
    );
    assert_eq!(ids(&plan), ["a target=100, vector, k=5", "a target=100, keyword, k=5"]);
    assert_eq!(plan.builds.len(), 1);
    let left_out: Vec<(&str, String)> =
        plan.left_out.iter().map(|cell| (cell.id.as_str(), cell.reason.to_string())).collect();
    assert_eq!(left_out, [("a target=200", "is equal to `a target=100`".to_owned())]);
}

#[test]
fn flags_go_over_defaults_and_grids_over_both() {
    let flags = Options::parse("[embedding]\nembedder = 'fake'\n[chunking]\ncontext = 'headings'\n", "flags").unwrap();
    let text = "[defaults.embedding]\nembedder = 'cpu'\nmodel = 'm'\n[[grid]]\nstrategy = 'recursive'\ncontext = ['none', 'headings']\n";
    let plan = parse(text, "sweep.toml", flags).unwrap();
    let contexts: Vec<Option<Context>> = plan.builds.iter().map(|build| build.options.chunking.context).collect();
    assert_eq!(contexts, [Some(Context::None), Some(Context::Headings)]);
    for build in &plan.builds {
        assert_eq!(build.options.embedding.embedder, Some(chunkmill::embed::Engine::Fake));
        assert_eq!(build.options.embedding.model.as_deref(), Some("m"));
    }
}

#[test]
fn a_preset_of_a_grid_is_not_mixed_with_sizes_of_the_defaults() {
    let plan =
        plan("[defaults.chunking]\nmax = 77\ncontext = 'headings'\n[[grid]]\npreset = 'recursive'\nmode = 'vector'\n");
    let config = plan.builds[0].options.clone().resolve().unwrap();
    assert_eq!(config.spec.max(), 400);
    assert_eq!(plan.builds[0].options.chunking.context, Some(Context::Headings));
}

#[test]
fn a_strategy_takes_the_sizes_of_the_defaults_and_their_mode() {
    let plan = plan(
        "[defaults.chunking]\nunit = 'tokens'\nmax = 77\n[defaults.search]\nmode = 'keyword'\n\
         [[grid]]\nstrategy = ['recursive', 'windows']\n",
    );
    assert_eq!(ids(&plan), ["recursive, keyword, k=5", "windows, keyword, k=5"]);
    let specs: Vec<String> =
        plan.builds.iter().map(|build| build.options.clone().resolve().unwrap().spec.to_string()).collect();
    assert_eq!(specs, ["recursive unit=tokens max=77 overlap=0", "windows unit=tokens max=77 overlap=0"]);
}

#[test]
fn names_do_not_depend_on_the_order_of_lists() {
    let plans = ["[20, 60]", "[60, 20]"].map(|list| {
        let text = format!(
            "[[grid]]\npreset = 'ragdocs'\nmode = 'hybrid'\nfusion = 'rrf'\nrrf_k = {list}\ncontent_weight = [1, 2]\n"
        );
        plan(&text)
    });
    let named = |plan: &Plan| -> std::collections::BTreeMap<String, String> {
        let variants = plan.builds[0].variants.iter();
        variants.map(|variant| (variant.name.clone(), format!("{:?}", variant.ranking))).collect()
    };
    assert_eq!(named(&plans[0]), named(&plans[1]));
    assert_eq!(plans[0].cells.len(), 1 + 2 + 4);
}

#[test]
fn a_default_that_is_written_out_makes_no_other_cell() {
    let plan = plan(
        "[[grid]]\npreset = 'ragdocs'\nmode = 'vector'\n\
         [[grid]]\nname = 'written'\npreset = 'ragdocs'\nmode = 'vector'\nfiles = 8\ndevice = 'cpu'\n\
         model = 'sentence-transformers/all-MiniLM-L6-v2'\n",
    );
    assert_eq!((plan.builds.len(), plan.left_out.len()), (1, 1), "{:?}", plan.left_out);
}

#[test]
fn bad_files_are_refused_with_the_place() {
    for (text, said) in [
        ("[[grid]]\nmaks = 3\n", "there is no setting `maks`"),
        ("[[grid]]\nmaxx = 3\n", "did you mean `max`?"),
        ("[[grid]]\nchunk_size = 3\n", "did you mean `max`?"),
        ("[[grid]]\ntop_k = 3\n", "did you mean `k`?"),
        ("[[grid]]\nmax = []\n", "`max` has no value"),
        ("[[grid]]\nmax = [[3]]\n", "`max` is not a value or a list of values"),
        ("[[grid]]\nmax = 'many'\n", "`max`"),
        ("[[grid]]\nk = 0\n", "`k` is not a number of chunks"),
        ("[[grid]]\nembedding_cache = 'off'\n", "there is no setting `embedding_cache`"),
        ("[[grid]]\nstrategy = 'recursive'\n[scoring]\nprimary = 'luck'\n", "there is no metric `luck`"),
        ("[[grid]]\nstrategy = 'recursive'\n[scoring]\nprimary = 'retrieved_tokens'\n", "there is no metric"),
        ("[[grid]]\nstrategy = 'recursive'\n[scoring]\nshare = 0\n", "scoring.share"),
        ("[[grid]]\nstrategy = 'recursive'\n[scoring]\nbudgets = [0]\n", "scoring.budgets"),
        ("[[grid]]\nstrategy = 'recursive'\n[timings]\n", "sweep.toml:3"),
        ("[[grid]\n", "sweep.toml:1"),
        ("", "grid"),
        ("[grid]\nmax = 3\n", "write [[grid]], with two brackets"),
        ("max = 3\n[[grid]]\n", "settings go below [[grid]]"),
        ("[[grid]]\nstrategy = 'ragdocs'\n", "`ragdocs` is a preset: preset = \"ragdocs\""),
        ("[[grid]]\npreset = ['header']\n", "`header` is a strategy: strategy = \"header\""),
        ("grid = []\n", "there is no [[grid]]"),
        ("[[grid]]\nstrategy = 'recursive'\nmax = 10\noverlap = 20\n", "has no cell that can be run"),
    ] {
        let error = error(text);
        assert!(error.contains(said) && error.contains("sweep.toml"), "{text:?}: {error}");
    }
    let error = error("[[grid]]\nzzzzz = 3\n");
    let nearest = error.split(" are ").last().unwrap();
    assert!(error.contains("the nearest of ") && nearest.split(", ").count() == 5, "{error}");
}

#[test]
fn two_different_cells_cannot_have_one_name() {
    let error = error("[[grid]]\nstrategy = 'recursive'\nmax = 100\n[[grid]]\nstrategy = 'recursive'\nmax = 200\n");
    assert!(error.contains("two grids make different cells called `recursive`"), "{error}");
}

#[test]
fn a_grid_that_explodes_is_refused_before_it_is_made() {
    let list: Vec<String> = (1..200).map(|n| n.to_string()).collect();
    let list = list.join(",");
    let text = format!(
        "[[grid]]\nstrategy = 'recursive'\nmax = [{list}]\nmin = [{list}]\noverlap = [{list}]\ntarget = [{list}]\n"
    );
    assert!(error(&text).contains("more than 20000 cells"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is lost: every combination is a dataset, a duplicate of one, or left out with a reason.
    #[test]
    fn every_combination_is_accounted_for(
        strategies in prop::sample::subsequence(vec!["header", "section", "recursive", "windows", "lines"], 1..4),
        mins in prop::collection::btree_set(0_usize..300, 1..4),
        maxs in prop::collection::btree_set(1_usize..500, 1..4),
        overlaps in prop::collection::btree_set(0_usize..200, 1..4),
    ) {
        let text = format!(
            "[[grid]]\nunit = 'tokens'\nstrategy = {strategies:?}\nmin = {:?}\nmax = {:?}\noverlap = {:?}\nmode = ['vector', 'keyword']\n",
            Vec::from_iter(&mins), Vec::from_iter(&maxs), Vec::from_iter(&overlaps),
        );
        let combinations = strategies.len() * mins.len() * maxs.len() * overlaps.len();
        match parse(&text, "sweep.toml", Options::default()) {
            Ok(plan) => {
                prop_assert_eq!(plan.builds.len() + plan.left_out.len(), combinations);
                prop_assert_eq!(plan.cells.len(), 2 * plan.builds.len());
                let specs: std::collections::HashSet<String> =
                    plan.builds.iter().map(|build| build.options.clone().resolve().unwrap().spec.fingerprint()).collect();
                prop_assert_eq!(specs.len(), plan.builds.len());
            }
            Err(error) => prop_assert!(error.to_string().contains("has no cell that can be run")),
        }
    }
}

#[test]
fn repeats_without_end_are_refused() {
    let text = |repeats: &str| format!("[timing]\nrepeats = {repeats}\n[[grid]]\npreset = 'recursive'\n");
    let error = parse(&text("9000000000"), "sweep.toml", Options::default()).unwrap_err().to_string();
    assert!(error.contains("sweep.toml: [timing] repeats = 9000000000 would not end"), "{error}");
    assert!(parse(&text("5"), "sweep.toml", Options::default()).is_ok());
}

#[test]
fn sparse_search_needs_a_sparse_model_and_its_share_changes_nothing_without_one() {
    let plan = plan(
        r#"
        [[grid]]
        preset = "ragdocs"
        sparse_model = ["none", "owner/sparse"]
        mode = ["sparse", "hybrid"]
        sparse_share = [0.1, 0.2]
        "#,
    );
    let of = |model: &str| {
        let name = format!("ragdocs sparse_model={model}, ");
        let ids = ids(&plan).into_iter().filter_map(|id| Some(id.strip_prefix(&name)?.to_owned()));
        ids.collect::<Vec<String>>()
    };
    let none = ["vector, k=5", "keyword, k=5", "hybrid, k=5"];
    assert_eq!(of("none"), none, "{:?}", ids(&plan));
    let with =
        ["sparse, k=5", "vector, k=5", "keyword, k=5", "hybrid sparse_share=0.1, k=5", "hybrid sparse_share=0.2, k=5"];
    assert_eq!(of("owner/sparse"), with, "{:?}", ids(&plan));
    let alone = "[[grid]]\npreset = 'ragdocs'\nsparse_model = ['none', 'owner/sparse']\nmode = 'sparse'\n";
    let alone = parse(alone, "sweep.toml", Options::default()).unwrap();
    assert_eq!((alone.builds.len(), alone.cells.len()), (1, 1));
    assert!(matches!(&alone.left_out[..], [left] if left.reason.to_string().contains("needs a sparse_model")));
}
