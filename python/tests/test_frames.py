"""Tests of tables, chunks and results as data frames, lists and HTML."""

from __future__ import annotations

import datetime
import pydoc
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, cast

import chunkmill
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from chunkmill import evaluate
from chunkmill._progress import Line
from conftest import QUESTION, python

TEXT = "# A\n\nOne.\n\n## B\n\nTwo <b>.\n"


def test_a_table_becomes_what_people_work_with(dataset: Path) -> None:
    table = chunkmill.Dataset(dataset).chunks()
    arrow = table.to_arrow()
    assert isinstance(arrow, pa.Table) and arrow.num_rows == len(table)
    pandas, polars = table.to_pandas(), table.to_polars()
    assert list(pandas.columns) == polars.columns == table.column_names
    assert len(pandas) == len(polars) == len(table)
    rows = table.to_pylist()
    for name in table.column_names:
        wanted = arrow[name].to_pylist()
        mine = [row[name] for row in rows]
        if name == "modified_time":
            assert all(isinstance(time, datetime.datetime) for time in mine)
            wanted = [time.replace(tzinfo=datetime.timezone.utc) for time in wanted]
        assert mine == wanted, name
    frame = pd.DataFrame(table)
    assert list(frame.columns) == table.column_names and list(frame["chunk_id"]) == arrow["chunk_id"].to_pylist()


def test_a_table_is_a_sequence_of_rows(dataset: Path) -> None:
    table = chunkmill.Dataset(dataset).chunks(["chunk_id", "content"])
    rows = list(table)
    assert rows == table.to_pylist() and len(rows) == len(table)
    assert (table[0], table[-1], table[len(table) - 1]) == (rows[0], rows[-1], rows[-1])
    assert table["content"] == [row["content"] for row in rows]
    for wrong in (len(table), -len(table) - 1):
        with pytest.raises(IndexError, match="row -?[0-9]+ of a table with"):
            table[wrong]
    with pytest.raises(KeyError, match="did you mean `content`"):
        table["contents"]
    with pytest.raises(TypeError, match="the number of a row or the name of a column"):
        table[1.5]  # type: ignore[call-overload]  # pyright: ignore


def test_every_type_of_arrow_that_others_copy_into_a_table_has_a_form_or_is_refused() -> None:
    values: dict[str, Any] = {
        "small": pa.array([1], pa.int8()),
        "unsigned": pa.array([2**64 - 1], pa.uint64()),
        "half": pa.array([0.5], pa.float16()),
        "none": pa.array([None], pa.string()),
        "large": pa.array(["ä"], pa.large_string()),
        "view": pa.array(["ä"], pa.string_view()),
        "lists": pa.array([[[1, None], []]]),
        "pair": pa.array([(1.0, 2.0)], pa.list_(pa.float64(), 2)),
        "parts": pa.array([{"a": 1, "b": ["x"]}]),
        "word": pa.array(["x"]).dictionary_encode(),
        "is": pa.array([True]),
    }
    documents = pa.table({"doc_id": ["a.md"], "text": [TEXT], **values})
    chunks = chunkmill.chunk_table(documents)
    for name, value in values.items():
        assert chunks[0][name] == value.to_pylist()[0], name
    refused = chunkmill.chunk_table(documents.append_column("raw", pa.array([b"x"])))
    with pytest.raises(chunkmill.SettingError, match="have no form in Python(?s:.*)to_arrow"):
        refused[0]


def test_chunks_and_hits_become_data_frames(searcher: chunkmill.Searcher) -> None:
    chunks = chunkmill.chunk(TEXT)
    for frame in (pd.DataFrame(chunks), pl.DataFrame(chunks).to_pandas()):
        assert list(frame["content"]) == [chunk.content for chunk in chunks]
        assert list(frame["start_line"]) == [chunk.start_line for chunk in chunks]
    assert asdict(chunks[0]) == {name: getattr(chunks[0], name) for name in chunks[0].as_dict()}  # type: ignore[call-overload]  # pyright: ignore
    hits = searcher.search(QUESTION)
    assert list(pd.DataFrame(hits)["chunk_id"]) == [hit.chunk_id for hit in hits]


def test_notebooks_show_tables_and_never_markup_of_documents(searcher: chunkmill.Searcher, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(TEXT)
    (tmp_path / "docs" / "b.png").write_text("")
    report = chunkmill.index(tmp_path / "docs", tmp_path / "out", embedder="fake", embedding_cache="off", progress=False)
    table = chunkmill.Dataset(tmp_path / "out").chunks(["content"])
    found = chunkmill.Searcher(tmp_path / "out", mode="keyword", search_cache="off")
    hits, documents, context = found.search("two"), found.documents("two"), found.context("two")
    shown = [of._repr_html_() for of in (report, table, hits, documents, context)]
    assert all(html.startswith("<") and "<b>" not in html for html in shown)
    assert "&lt;b&gt;" in shown[1] and "&lt;b&gt;" in shown[2] and "a.md" in shown[3] and "&lt;b&gt;" in shown[4]
    assert "1 file of other types: 1 png" in shown[0] and str(report.other_files) in repr(report)
    assert chunkmill.plan(tmp_path / "docs", tmp_path / "out", embedder="fake").other_files == report.other_files
    assert len(hits) == 1 and "1 passage<" in shown[4]
    for text in map(repr, (report, table, found, chunkmill.Dataset(tmp_path / "out"))):
        assert "object at 0x" not in text and text.count("\n") < 12, text
    assert repr(chunkmill.Dataset(tmp_path / "out").verify()).startswith("Verification(ok=True, ")


def test_the_report_says_what_changed(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (docs / name).write_text(f"# {name}\n\nText.\n")

    def index() -> chunkmill.Report:
        return chunkmill.index(docs, tmp_path / "out", embedder="fake", embedding_cache="off", progress=False)

    first = index()
    assert (list(first.changes.new), len(first.changes.changed)) == (["a.md", "b.md", "c.md"], 0)
    (docs / "a.md").write_text("# Other\n\nOther text.\n")
    (docs / "b.md").unlink()
    (docs / "d.md").write_text("# d.md\n\nText.\n")
    second = index()
    changes = second.changes
    assert [list(of) for of in (changes.new, changes.changed, changes.deleted)] == [["d.md"], ["a.md"], ["b.md"]]
    assert changes.unchanged == 1
    assert second.chunk_changes == chunkmill.ChunkChanges(added=2, removed=2, kept=1)
    third = index()
    assert (third.changes.unchanged, third.chunk_changes) == (3, chunkmill.ChunkChanges(0, 0, 3))


def test_a_text_that_is_the_path_of_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text(TEXT)
    for path, kind in (("docs/guide.md", "file"), ("docs", "folder")):
        with pytest.raises(chunkmill.SettingError, match=f"is also the path of a {kind}(?s:.*)pathlib.Path"):
            chunkmill.chunk(path)
        with pytest.raises(chunkmill.SettingError, match="is also the path"):
            chunkmill.chunk_to_arrow(["a text", path])
        assert chunkmill.chunk(path, name="text.md")[0].content == path
        assert len(chunkmill.chunk(Path(path))) > 0
    for absent in ("docs/absent.md", "docs/absent", "absent.md", "other/absent.py", "./absent", "~/docs", "\\\\server\\docs"):
        with pytest.raises(chunkmill.SettingError, match="looks like a path, and there is no file(?s:.*)pathlib.Path(?s:.*)name="):
            chunkmill.chunk(absent)
        assert chunkmill.chunk(absent, name="text.md")[0].content == absent
    for text in ("and/or", "word", "Read docs/absent.md", "e.g. a.md is", "1/2", "3.5", "Node.js", "a\nb.md"):
        assert chunkmill.chunk(text)[0].content == text


def test_progress_is_shown_to_who_watches_and_to_nobody_else(corpus: Path, tmp_path: Path) -> None:
    code = """if 1:
        import sys
        if sys.argv[3] == "without":
            sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
        import chunkmill
        wanted = {"True": True, "False": False, "None": None}[sys.argv[4]]
        chunkmill.index(sys.argv[1], sys.argv[2], embedder="fake", embedding_cache="off", progress=wanted)
    """
    for at, (tqdm, wanted, shows) in enumerate([
        ("with", "True", "documents"),
        ("without", "True", "100% 50/50 documents"),
        ("with", "False", ""),
        ("with", "None", ""),
    ]):
        command = [sys.executable, "-c", code, str(corpus), str(tmp_path / str(at)), tqdm, wanted]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert (shows in done.stderr) if shows else done.stderr == "", done.stderr


def test_mistakes_are_answered_in_the_words_of_python(searcher: chunkmill.Searcher, dataset: Path) -> None:
    names = [("chunk_size", "max"), ("max_tokens", "max"), ("chunk_overlap", "overlap"), ("maxx", "max")]
    for wrong, ours in names:
        with pytest.raises(chunkmill.SettingError, match=f"did you mean `{ours}`") as raised:
            chunkmill.chunk(TEXT, **{wrong: 3})  # type: ignore[arg-type]  # pyright: ignore
        assert len(str(raised.value)) < 200
    with pytest.raises(chunkmill.SettingError, match="the nearest of [0-9]+ are ([a-z_]+, ){4}[a-z_]+$".replace("$", "")):
        chunkmill.chunk(TEXT, zzz=3)  # type: ignore[call-arg]  # pyright: ignore
    with pytest.raises(chunkmill.SettingError, match="max: '300' is a text(?s:.*)give a number"):
        chunkmill.chunk(TEXT, max="300")  # type: ignore[arg-type]  # pyright: ignore
    for wrong, ours in [("top_k", "k"), ("limit", "k"), ("filter", "path")]:
        with pytest.raises(chunkmill.SettingError, match=f"did you mean `{ours}`, an argument of a question"):
            searcher.search("a", **{wrong: 3})  # type: ignore[arg-type]  # pyright: ignore
    for found in (chunkmill.chunk(TEXT)[0], searcher.search("a")[0]):
        with pytest.raises(AttributeError, match="no attribute 'text'; did you mean `content`"):
            found.text  # type: ignore[union-attr, attr-defined]  # noqa: B018  # pyright: ignore
        assert not hasattr(found, "contents")
    with pytest.raises(chunkmill.SettingError, match="question: is of type list"):
        searcher.search(["a", "b"])  # type: ignore[arg-type]  # pyright: ignore
    for k in (0, -1, True, 2.5):
        with pytest.raises(chunkmill.SettingError, match="k: "):
            searcher.search("a", k)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(chunkmill.SettingError, match="columns: is a single text(?s:.*)give a list of texts"):
        chunkmill.Dataset(dataset).chunks("path")  # type: ignore[arg-type]  # pyright: ignore


def test_an_argument_of_a_wrong_type_is_named_with_what_to_give(searcher: chunkmill.Searcher, dataset: Path, tmp_path: Path) -> None:
    data, any_searcher, any_encoder = chunkmill.Dataset(dataset), cast(Any, searcher), cast(Any, chunkmill.Encoder(embedder="fake"))
    index, plan, out = cast(Any, chunkmill.index), cast(Any, chunkmill.plan), tmp_path / "out"
    for call, said in [
        (lambda: any_searcher.search("a", path=5), "path: is of type int; give a text or a list of texts"),
        (lambda: any_searcher.search("a", path=["a", 5]), "path: has a value of type int; give a text or a list of texts"),
        (lambda: any_searcher.search("a", 2.5), "k: is of type float; give a whole number"),
        (lambda: any_searcher.search("a", min_score="high"), "min_score: is of type str; give a number"),
        (lambda: any_searcher.documents(b"a"), "question: is of type bytes; give a text"),
        (lambda: any_searcher.context("a", budget=None), "budget: is of type NoneType; give a whole number"),
        (lambda: index("docs", out, fresh="yes"), "fresh: is of type str; give True or False"),
        (lambda: index("docs", out, allow_shrink=1), "allow_shrink: is of type int; give True or False"),
        (lambda: index("docs", out, progress="yes"), "progress: is of type str; give True or False or a function"),
        (lambda: index(5, out), "paths: is of type int; give a path or a list of paths"),
        (lambda: index([5], out), "paths: has a value of type int; give a path or a list of paths"),
        (lambda: index([], out), "paths: is empty; name at least one folder or file with documents"),
        (lambda: plan("", out), "paths: is empty; name at least one folder or file with documents"),
        (lambda: plan("docs", None), "out: is of type NoneType; give a path"),
        (lambda: cast(Any, data).documents("path"), "columns: is a single text; give a list of texts"),
        (lambda: data.verify([]), "paths: is empty; name at least one folder or file with documents"),
        (lambda: cast(Any, chunkmill.Dataset)(5), "out: is of type int; give a path"),
        (lambda: cast(Any, chunkmill.chunk)("a", name=5), "name: is of type int; give a text or a list of texts"),
        (lambda: cast(Any, chunkmill.chunk)("a", config=5), "config: is of type int; give the path of a settings file"),
        (lambda: cast(Any, chunkmill.chunk)("a", quarantined="warm"), "quarantined: `warm` is not understood; did you mean `warn`? One of: raise, warn"),
        (lambda: cast(Any, chunkmill.count)([3]), "text: has a value of type int; give a text or a list of texts"),
        (lambda: any_encoder.encode("a"), "texts: is a single text; give a list of texts"),
        (lambda: any_encoder.encode(["a"], role="document "), "role: `document ` is not understood; did you mean `document`? One of: document, query"),
        (lambda: any_encoder.encode(["a"], role=1), "role: is of type int; give `document` or `query`"),
        (lambda: cast(Any, evaluate.sweep)(5, {}, out), "labels: is of type int; give a path"),
        (lambda: cast(Any, evaluate.sweep)("set", 5, out), "grid: is of type int; give a dict or a list of dicts or a path"),
        (lambda: cast(Any, evaluate.sweep)("set", [5], out), "grid: has a value of type int; give a dict or a list of dicts or a path"),
        (lambda: cast(Any, evaluate.recommend)("docs", out, minutes="5"), "minutes: is of type str; give a whole number"),
        (lambda: cast(Any, evaluate.gate)(5, "b.json"), "run: is of type int; give a Run or a path"),
    ]:
        with pytest.raises(chunkmill.SettingError) as raised:
            call()
        assert str(raised.value).replace("\n  help: ", "; ") == said
    for question in ("", " \n"):
        for ask in (searcher.search, searcher.documents, searcher.context):
            with pytest.raises(ValueError, match="question: is empty\n  help: ask something"):
                ask(question)
    # Python says itself what is missing or too much.
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'question'"):
        any_searcher.search()
    assert not out.exists()


def test_what_is_right_passes_the_check_of_arguments(searcher: chunkmill.Searcher, dataset: Path) -> None:
    data = chunkmill.Dataset(str(dataset))
    assert len(searcher.search(QUESTION, np.int64(2), path=[], min_score=0)) == 2  # type: ignore[arg-type]  # pyright: ignore
    assert len(data.chunks([])) == len(data.chunks(None)) and chunkmill.count(("a", "b")) == [1, 1]


def test_each_result_shows_itself_on_a_short_line_and_in_notebooks(searcher: chunkmill.Searcher, dataset: Path, tmp_path: Path) -> None:
    docs = tmp_path / ("long folder " * 9)
    docs.mkdir()
    for at in range(30):
        (docs / f"{'name' * 20}-{at}.md").write_text(f"# {'Heading ' * 12}\n\nText {at} <b>.\n")
    (docs / "a.png").write_text("")
    out = tmp_path / "out"
    plan = chunkmill.plan(docs, out, embedder="fake")
    report = chunkmill.index(docs, out, embedder="fake", embedding_cache="off", progress=False)
    mine = chunkmill.Searcher(out, mode="keyword", search_cache="off")
    hit, document, context = mine.search("text")[0], mine.documents("text")[0], mine.context("text")
    data = chunkmill.Dataset(out)
    chunk = chunkmill.chunk(docs)[0]
    in_notebooks = [plan, hit, document, context, data, data.verify(), chunk]
    for value in [*in_notebooks, plan.changes, plan.changes.new, plan.estimate, report.other_files, context.passages[0]]:
        text = repr(value)
        assert "\n" not in text and len(text) <= 200 and type(value).__name__ in text, text
    for shown in in_notebooks:
        html = shown._repr_html_()
        assert html.startswith("<") and "<b>" not in html
    assert repr(plan.changes) == "Changes(30 new, 0 changed, 0 deleted, 30 unchanged)".replace("30 unch", "0 unch")
    assert repr(chunkmill.plan(docs, out, embedder="fake").estimate).startswith("Estimate(0 documents to embed, 0 chunks, about 0 s")
    assert "1 chunk found" in repr(document) and "Context(" in repr(context) and "1 passage" in repr(mine.context("text", k=1))
    assert repr(plan).startswith("Plan(30 new, 0 changed, 0 deleted, 0 unchanged; 30 documents to embed, 30 chunks, about ")
    assert repr(chunkmill.DocumentList(2, ("a", "b"))) == "DocumentList(2: a, b)" and repr(plan.changes.deleted) == "DocumentList(0)"
    assert "&lt;b&gt;" in chunk._repr_html_() and chunk.n_tokens > 0 and "30" in data._repr_html_()
    first = searcher.search(QUESTION)[0]
    assert repr(first).startswith(f"Hit(1, {first.score:.4g}, ") and first.path[-10:] in repr(first)
    broken = tmp_path / "broken"
    shutil.copytree(out, broken)
    next((broken / "data" / "chunks").iterdir()).unlink()
    found = chunkmill.Dataset(broken).verify()
    assert not found.ok and len(repr(found)) < 200 and found.findings[0].problem[:20] in found._repr_html_()


def test_help_names_the_fields_and_dir_only_what_is_public() -> None:
    for name in chunkmill.__all__:
        of = getattr(chunkmill, name)
        if is_dataclass(of) and of is not chunkmill.Chunk:
            for field in fields(of):
                assert f"\n    {field.name}: " in (of.__doc__ or ""), (name, field.name)
    shown = pydoc.render_doc(chunkmill.Progress)
    assert "eta_seconds: float" in shown and "Estimated time for the rest" in shown
    assert set(dir(chunkmill)) == {*chunkmill.__all__, "evaluate", "integrations", "sync"} and set(dir(evaluate)) == set(evaluate.__all__)
    code = "import chunkmill; print(chunkmill.evaluate.sweep.__name__, hasattr(chunkmill, 'evaluation'))"
    assert python(code).split() == ["sweep", "False"]


def test_truncated_chunks_are_said_with_their_share_and_advice(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\n" + "Some words of a text. " * 300 + "\n\n# B\n\nShort.\n")
    report = chunkmill.index(tmp_path / "docs", tmp_path / "out", max=2000, min=0, target=1500, progress=False)
    assert report.truncation is not None and report.truncation.startswith(f"{report.truncated} of {report.chunks} chunks: the model reads")
    assert "lower `max`" in report.truncation and "--" not in report.truncation and report.truncation in repr(report)


def test_the_flags_of_a_message_become_arguments() -> None:
    for message, said in [
        ("a: b\n  help: lower --max (about 96), or drop --deny-truncation", "a: b\n  help: lower `max` (about 96), or drop `deny_truncation=True`"),
        ("index the corpus again with --fresh or into a new folder", "index the corpus again with `fresh=True` or into a new folder"),
        ("or write to another one; --allow-shrink deletes them", "or write to another one; `allow_shrink=True` deletes them"),
        ("name an empty or new folder with -o", "name an empty or new folder with `out`"),
        ("name it with -o OUT; raise -k", "name it with `out`; raise `k`"),
        ("use --precision auto", 'use `precision="auto"`'),
        ("use --device cpu, or build", 'use `device="cpu"`, or build'),
        ("use at least 1, or --embedding-cache off", 'use at least 1, or `embedding_cache="off"`'),
        ("raise --max or choose another --unit", "raise `max` or choose another `unit`"),
        ("add --model FOLDER|HUB_ID", "add `model`"),
        ("`--include '*.py'` takes other files, without --include these", "`include='*.py'` takes other files, without `include` these"),
        ("Ask real questions (`--questions FILE`)", "Ask real questions (`questions`)"),
        ("convert it with `iconv -f latin1 -t utf-8`", "convert it with `iconv -f latin1 -t utf-8`"),
        ("run `chunkmill index docs -o out --fresh`", "run `chunkmill index docs -o out --fresh`"),
        ("make the dataset first: chunkmill index CORPUS -o out", "make the dataset first: chunkmill index CORPUS -o out"),
        ("give the roots names: chunkmill … one=DIR -k 3", "give the roots names: chunkmill … one=DIR -k 3"),
        ("notes --draft v2.md is a PDF", "notes --draft v2.md is a PDF"),
        ("the model of chunkmill: --model NAME", "the model of chunkmill: `model`"),
        ("--max: `x` is wrong", "max: `x` is wrong"),
        ("a-k-o --, - and 3 - 4 -okay stay", "a-k-o --, - and 3 - 4 -okay stay"),
        (
            "unexpected argument '--maxx' found\n\n  tip: a similar argument exists: '--max'\n\nUsage: a --max <N>\n\nFor more information, try '--help'.",
            "unexpected argument `maxx` found\n  help: a similar argument exists: `max`",
        ),
        ("invalid value 'x' for '--minutes <N>': no", "invalid value 'x' for `minutes`: no"),
    ]:
        assert str(chunkmill.Error(message)) == said
        assert str(chunkmill.Error(said)) == said, "a message that is raised again stays"


def test_errors_and_warnings_have_the_words_of_python(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nText.\n")
    fake: Any = {"embedder": "fake", "embedding_cache": "off", "progress": False}
    for call, said in [
        (lambda: chunkmill.index(tmp_path / "docs", tmp_path / "docs", **fake), "out"),
        (lambda: chunkmill.index(tmp_path / "docs", tmp_path / "new", include="*.rst", **fake), "gitignore"),
        (lambda: chunkmill.index(tmp_path / "docs", tmp_path / "new", unit="model", min=9, max=3, **fake), "lower min"),
    ]:
        with pytest.raises(chunkmill.Error, match=said) as raised:
            call()
        assert not re.search(r"(^|[\s`'])--?[a-z]", str(raised.value)), raised.value
        assert not (tmp_path / "new").exists(), "what fails leaves no folder"
    (tmp_path / "docs" / "b.txt").write_text("B.\n")
    chunkmill.index(tmp_path / "docs", tmp_path / "out", **fake)
    for name in ("c", "d", "e"):
        (tmp_path / "docs" / f"{name}.md").write_text("# A\n")
    chunkmill.index(tmp_path / "docs", tmp_path / "out", **fake)
    for name in ("a.md", "b.txt", "c.md"):
        (tmp_path / "docs" / name).unlink()
    with pytest.raises(chunkmill.SettingError, match="`allow_shrink=True` deletes them"):
        chunkmill.index(tmp_path / "docs", tmp_path / "out", **fake)
    with caplog.at_level("WARNING", "chunkmill"):
        chunkmill.index([tmp_path / "docs"], tmp_path / "other", include=["*.md", "*.rst"], **fake)
    assert "`*.rst`" in caplog.text and "--" not in caplog.text


def test_what_is_not_installed_is_named() -> None:
    code = """if 1:
        import sys
        sys.modules["polars"] = sys.modules["pyarrow"] = None
        import chunkmill
        table = chunkmill.chunk_to_arrow("text", name="a.md")
        print(len(table.to_pylist()), table[0]["content"])
        for convert in (table.to_polars, table.to_pandas, table.to_arrow):
            try:
                convert()
            except ImportError as error:
                print(error)
    """
    printed = python(code).splitlines()
    assert printed[0] == "1 text"
    assert [line.split(" is not installed")[0] for line in printed[1:]] == ["polars", "pyarrow", "pyarrow"]


def test_progress_without_a_terminal_repeats_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def now(documents: int, done: float) -> chunkmill.Progress:
        return chunkmill.Progress(documents, documents, 9, int(9 * done), 0, 0.0, 1.0, 0.0, done)

    line = Line()
    for step in (now(0, 0.0), now(5, 0.5), now(5, 0.6), now(5, 1.0), now(5, 1.0), now(5, 1.0)):
        line(step)
    shown = capsys.readouterr().err.splitlines()
    assert [text.split()[0] for text in shown] == ["50%", "100%"], shown
