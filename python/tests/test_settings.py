"""Keyword arguments: the library's own settings, its errors, and their types for type checkers."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import chunkmill
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import typed_columns  # noqa: E402
import typed_settings  # noqa: E402


def test_the_typed_settings_are_those_of_the_library() -> None:
    kept = Path(chunkmill.__file__).with_name("_settings.py").read_text()
    assert kept == typed_settings.text(), "run tools/typed_settings.py again"


def test_a_chunk_has_an_attribute_of_its_type_for_each_column() -> None:
    assert typed_columns.STUB.read_text() == typed_columns.text(), "run tools/typed_columns.py again"
    chunk = chunkmill.chunk("---\ntags: [a]\n---\n\n# Top\n\n[there](x.md) ![seen](y.png)\n")[0]
    assert {name: getattr(chunk, name) for name in chunk.as_dict()} == chunk.as_dict()


def test_each_setting_is_taken_by_the_calls_that_read_its_table() -> None:
    settings = chunkmill.settings()
    assert {"max", "preset", "model", "threads", "mode"} <= {setting["name"] for setting in settings}
    for setting in settings:
        name, table = setting["name"], setting["table"]
        for call, tables in typed_settings.CALLS.items():
            wrong = {"Cutting": chunkmill.Chunker, "Encoding": chunkmill.Encoder}.get(call)
            if wrong is None:
                continue
            if table in tables:
                # The name is accepted. The call may succeed, or complain about the value.
                try:
                    wrong(**{name: "\x00", "embedder": "fake"} if name != "embedder" else {name: "\x00"})
                except chunkmill.SettingError as error:
                    assert f"`{name}` is not a setting" not in str(error)
                except chunkmill.Error:
                    pass
            else:
                with pytest.raises(chunkmill.SettingError, match=f"`{name}` is not a setting"):
                    wrong(**{name: "1"})


def test_a_wrong_name_gets_a_suggestion() -> None:
    with pytest.raises(chunkmill.SettingError, match="`overlapp` is not a setting.*did you mean `overlap`"):
        chunkmill.chunk("x", overlapp=3)  # type: ignore[call-overload]
    with pytest.raises(chunkmill.SettingError, match="`mode` is not a setting"):
        chunkmill.chunk("x", mode="hybrid")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max": "many"}, "max: 'many' is a text"),
        ({"max": -1}, "max: `-1` is not a whole number"),
        ({"max": 0}, "max is 0"),
        ({"min": 9, "max": 3}, "min 9 is over max 3"),
        ({"preset": "structures"}, "did you mean `structure`"),
        ({"max": {}}, "max: is of type dict"),
    ],
)
def test_wrong_values_are_errors_of_the_library(settings: dict[str, object], message: str) -> None:
    with pytest.raises(chunkmill.SettingError, match=message) as caught:
        chunkmill.chunk("x", **settings)  # type: ignore[call-overload]
    assert isinstance(caught.value, (chunkmill.Error, ValueError))
    assert "help: " in str(caught.value)


def test_values_may_be_written_in_pythons_way(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    (tmp_path / "b.rst").write_text("B\n")
    assert len(chunkmill.chunk(tmp_path, include=["**/*.{md,markdown}", "**/*.rst"])) == 2
    assert len(chunkmill.chunk(tmp_path, include="**/*.rst", exclude=None)) == 1
    assert chunkmill.chunk("x", cut_oversized=True) == chunkmill.chunk("x", cut_oversized="on")  # type: ignore[call-overload]


def test_rows_of_tables_and_attachments_are_documents_on_request(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "a", "body": "Of wheat.", "year": 1850}\n{"id": "b", "body": "Of rye."}\n')
    rows = chunkmill.chunk(tmp_path, text_column="body", id_column="id")
    assert [(chunk.doc_id, chunk.content) for chunk in rows] == [("t.jsonl#a", "Of wheat."), ("t.jsonl#b", "Of rye.")]
    part = "--b\nContent-Type: text/plain\n{}\n\nOf {}.\n"
    parts = part.format("", "wheat") + part.format('Content-Disposition: attachment; filename="r.txt"', "rye")
    (tmp_path / "m.eml").write_text(f"Subject: M\nContent-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n")
    assert {chunk.doc_id for chunk in chunkmill.chunk(tmp_path, attachments=True)} == {"m.eml", "m.eml#r.txt"}
    assert {chunk.doc_id for chunk in chunkmill.chunk(tmp_path)} == {"m.eml"}


def test_no_call_reads_what_it_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "One sentence. " * 100
    plain = chunkmill.chunk(text)
    monkeypatch.setenv("CHUNKMILL_MAX", "9")
    (tmp_path / "chunkmill.toml").write_text("[chunking]\nmax = 7\n")
    monkeypatch.chdir(tmp_path)
    assert chunkmill.chunk(text) == plain
    by_file = chunkmill.chunk(text, config="chunkmill.toml")
    assert len(by_file) > 2 * len(plain)
    assert chunkmill.chunk(text, config=tmp_path / "chunkmill.toml", max=128) == plain
    (tmp_path / "chunkmill.toml").write_text("[chunking]\nmaxx = 7\n")
    with pytest.raises(chunkmill.SettingError, match="chunkmill.toml:2"):
        chunkmill.chunk(text, config="chunkmill.toml")


def test_what_has_no_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "chunkmill"):
        chunkmill.chunk("x", strategy="heading", min=3)
    assert "`min` has no effect with strategy `heading`" in caplog.text


def test_errors_are_a_hierarchy(tmp_path: Path) -> None:
    with pytest.raises(chunkmill.DatasetError, match="does not exist"):
        chunkmill.Dataset(tmp_path)
    with pytest.raises(chunkmill.DatasetError):
        chunkmill.Searcher(tmp_path)
    with pytest.raises(chunkmill.ModelError, match="help: "):
        chunkmill.Encoder("nobody/has-this-model")
    for name in chunkmill.__all__:
        if name.endswith("Error"):
            assert issubclass(getattr(chunkmill, name), chunkmill.Error)
