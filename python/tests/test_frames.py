"""Tests of tables, chunks and results as data frames, lists and HTML."""

from __future__ import annotations

import datetime
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import chunkmill
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
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
    (tmp_path / "docs" / "b.pdf").write_text("")
    report = chunkmill.index(tmp_path / "docs", tmp_path / "out", embedder="fake", embedding_cache="off", progress=False)
    table = chunkmill.Dataset(tmp_path / "out").chunks(["content"])
    found = chunkmill.Searcher(tmp_path / "out", mode="keyword", keyword_cache="off")
    hits, documents, context = found.search("two"), found.documents("two"), found.context("two")
    shown = [of._repr_html_() for of in (report, table, hits, documents, context)]
    assert all(html.startswith("<") and "<b>" not in html for html in shown)
    assert "&lt;b&gt;" in shown[1] and "&lt;b&gt;" in shown[2] and "a.md" in shown[3] and "&lt;b&gt;" in shown[4]
    assert "1 file of other types: 1 pdf" in shown[0] and str(report.other_files) in repr(report)
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
    assert chunkmill.chunk("docs/absent.md")[0].content == "docs/absent.md"


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
    with pytest.raises(chunkmill.SettingError, match="columns: `path` is a single name"):
        chunkmill.Dataset(dataset).chunks("path")  # type: ignore[arg-type]  # pyright: ignore


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
