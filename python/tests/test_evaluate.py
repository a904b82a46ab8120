"""Tests of `chunkmill.evaluate`."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from pathlib import Path

import chunkmill
import numpy as np
import pandas as pd
import pytest
from chunkmill import evaluate
from conftest import ROOT

LARDER = ROOT / "datasets" / "larder"
FAST = {"embedder": "fake"}


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    shutil.copytree(LARDER / "corpus", folder / "corpus")
    lines = (LARDER / "queries.jsonl").read_text().splitlines()[:40]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def run(labels: Path, tmp_path_factory: pytest.TempPathFactory) -> evaluate.Run:
    grid = {"preset": ["structure", "recursive"], "mode": ["keyword"]}
    return evaluate.sweep(labels, grid, tmp_path_factory.mktemp("run") / "run", **FAST)


def test_a_sweep_is_rows_for_a_data_frame(run: evaluate.Run) -> None:
    frame = pd.DataFrame(run.settings()).set_index("name")
    assert list(frame.index) == ["structure, keyword, k=5", "recursive, keyword, k=5"]
    row = frame.loc["structure, keyword, k=5"]
    assert row["low"] <= row[run.metric] <= row["high"] and row["max"] == 128 and row["chunks"] > 100
    assert frame["advised"].sum() == 1 and run.advised in frame.index
    questions = pd.DataFrame(run.questions())
    means = questions.groupby("name")["value"].mean()
    for name, value in means.items():
        assert value == pytest.approx(frame.loc[name, run.metric])
    assert run.html.is_file() and "object at" not in repr(run) and "<table>" in run._repr_html_()
    with pytest.raises(chunkmill.SettingError, match="there is no metric `recall`"):
        run.questions("recall")


def test_a_gate_sees_that_evidence_was_lost(run: evaluate.Run, labels: Path, tmp_path: Path) -> None:
    before = evaluate.baseline(run, tmp_path / "baseline.json")
    same = evaluate.gate(run, before)
    assert same and same.passed and not same.lost and "passed=True" in repr(same)
    assert {row["state"] for row in same.checks()} == {"passed"}
    copy = tmp_path / "labels"
    shutil.copytree(labels, copy)
    first = json.loads((copy / "queries.jsonl").read_text().splitlines()[0])
    (copy / "corpus" / first["references"][0]["doc_id"]).unlink()
    after = evaluate.sweep(copy, {"preset": ["structure", "recursive"], "mode": "keyword"}, tmp_path / "run", **FAST)
    lost = evaluate.gate(after, before)
    assert not lost and first["query_id"] in [question["query"] for question in lost.lost]
    assert "questions lost evidence (allow_lost=0)" in repr(lost) and first["query_id"] in lost._repr_html_()
    assert evaluate.gate(after.folder, before, allow_lost=40, max_drop="evidence_in_context_1000=1", max_larger=9)


def test_a_recommendation_names_its_settings(labels: Path, tmp_path: Path) -> None:
    advice = evaluate.recommend(labels, tmp_path / "advice", minutes=0, **FAST)
    assert advice.config.read_text().startswith("# chunkmill index ") and len(advice.sentences) >= 3
    assert advice.advised in {row["name"] for row in advice.settings()} and advice.verdict
    chunkmill.index(labels / "corpus", tmp_path / "out", config=advice.config, embedder="fake", embedding_cache="off", progress=False)


def test_errors_are_those_of_the_program(labels: Path, tmp_path: Path) -> None:
    with pytest.raises(chunkmill.SettingError, match="did you mean `max`"):
        evaluate.sweep(labels, {"maxx": [3]}, tmp_path / "run")
    with pytest.raises(chunkmill.SettingError, match="report.json does not exist"):
        evaluate.Run(tmp_path)


def test_errors_have_the_words_of_python(labels: Path, run: evaluate.Run, tmp_path: Path) -> None:
    grid, out = {"mode": "keyword"}, tmp_path / "run"
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("Mine.")

    class Other:
        pass

    for call, said in [
        (lambda: evaluate.sweep(labels, {"maxx": 3}, out, **FAST), "grid 1: there is no setting `maxx`\n  help: did you mean `max`?"),
        (lambda: evaluate.sweep(labels, {"chunk_size": 3}, out, **FAST), "grid 1: there is no setting `chunk_size`\n  help: did you mean `max`?"),
        (lambda: evaluate.sweep(labels, {"max size": 3}, out, **FAST), "grid 1: there is no setting `max size`"),
        (lambda: evaluate.sweep(labels, {"max": None}, out, **FAST), "grid: `max` has a value of type NoneType\n  help: give a text, a number"),
        (lambda: evaluate.sweep(labels, {"max": [Other()]}, out, **FAST), "grid: `max` has a value of type Other"),
        (lambda: evaluate.sweep(labels, {5: 3}, out, **FAST), "grid: 5 is not the name of a setting"),  # type: ignore[dict-item]  # pyright: ignore
        (lambda: evaluate.sweep(labels, [], out, **FAST), "grid: is empty\n  help: give lists of values by setting"),
        (lambda: evaluate.sweep(labels, grid, full, **FAST), f"{full}: contains something other than a run of a sweep\n  help: name a new or empty folder with `out`"),
        (lambda: evaluate.sweep(labels, grid, out, embeder="fake"), "`embeder`.*`embedder`"),
        (lambda: evaluate.recommend(labels, full, **FAST), "name an empty or new folder with `out`"),
        (lambda: evaluate.gate(run, tmp_path / "absent.json"), "absent.json"),
        (lambda: run.questions("ndcg_at_9"), "metric: there is no metric `ndcg_at_9`\n  help: did you mean `ndcg_at_10`"),
    ]:
        with pytest.raises(chunkmill.Error) as raised:
            call()
        text = str(raised.value)
        assert said in text or re.search(said, text, re.DOTALL), text
        # Commands for a terminal stay.
        words = re.sub(r"`chunkmill[^`]*`", "", text)
        assert not re.search(r"(^|[\s`'])--?[a-z]", words) and "sweep.toml" not in text and "Usage" not in text, text


def test_a_grid_may_have_the_numbers_and_paths_of_python(labels: Path, tmp_path: Path) -> None:
    grid = {"max": np.arange(100, 201, 100), "min": range(0, 1), "vector_share": (np.float32(0.5),), "mode": "keyword", "model": Path("none")}
    run = evaluate.sweep(labels, grid, tmp_path / "run", **FAST)
    assert [row["max"] for row in run.settings()] == [100, 200]


def test_a_report_that_is_replaced_is_named_in_the_log(run: evaluate.Run, labels: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    out = tmp_path / "run"
    shutil.copytree(run.folder, out)
    with caplog.at_level("WARNING", "chunkmill"):
        evaluate.sweep(labels, {"preset": ["structure", "recursive"], "mode": ["keyword"]}, out, **FAST)
        assert not caplog.records, "the same sweep resumes"
        evaluate.sweep(labels, {"preset": ["structure"], "mode": ["keyword"]}, out, **FAST)
    assert f"the report in {out} is replaced: 1 of its 2 settings is not tried now; another folder keeps both" in caplog.text


def test_a_recommendation_resumes_silently_and_names_a_report_that_it_replaces(
    labels: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine, out = tmp_path / "labels", tmp_path / "advice"
    shutil.copytree(labels, mine)
    with caplog.at_level("WARNING", "chunkmill"):
        for minutes in (0, 0):
            evaluate.recommend(mine, out, minutes=minutes, **FAST)
        assert not caplog.records
        lines = (mine / "queries.jsonl").read_text().splitlines()
        (mine / "queries.jsonl").write_text("\n".join(lines[1:]) + "\n")
        evaluate.recommend(mine, out, minutes=0, **FAST)
    assert f"the report in {out} is replaced: it is of other questions; another folder keeps both" in caplog.text


def test_a_plan_says_what_index_does(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nText.\n")
    (docs / "b.png").write_text("")
    plan = chunkmill.plan(docs, tmp_path / "out", embedder="fake")
    assert (list(plan.changes.new), plan.other_files.types, plan.estimate.chunks) == (["a.md"], {"png": 1}, 1)
    assert not (tmp_path / "out").exists()
    chunkmill.index(docs, tmp_path / "out", embedder="fake", embedding_cache="off", progress=False)
    again = chunkmill.plan(docs, tmp_path / "out", embedder="fake")
    assert (again.changes.unchanged, again.estimate.documents) == (1, 0)


def test_help_has_no_name_that_readers_take_for_another_type() -> None:
    for function in (chunkmill.index, chunkmill.plan, chunkmill.Dataset.verify, evaluate.sweep, evaluate.gate):
        types = set(re.findall(r"\w+", str(inspect.signature(function))))
        assert "StrPath" in types and "Path" not in types, function


def test_a_sweep_shows_its_progress_and_an_error_only_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set" / "corpus").mkdir(parents=True)
    (tmp_path / "set" / "corpus" / "a.md").write_text("# Cats\n\nCats sleep on mats.\n")
    reference = {"doc_id": "a.md", "text": "Cats sleep on mats"}
    question = {"query_id": "q", "query": "where do cats sleep?", "references": [reference]}
    (tmp_path / "set" / "queries.jsonl").write_text(json.dumps(question) + "\n")
    evaluate.sweep(tmp_path / "set", {"mode": "keyword"}, tmp_path / "run", embedder="fake")
    assert "[1/1] default" in capsys.readouterr().err
    with pytest.raises(chunkmill.SettingError, match="queries.jsonl"):
        evaluate.sweep(tmp_path / "gone", {"mode": "keyword"}, tmp_path / "run", embedder="fake")
    assert "error" not in capsys.readouterr().err
