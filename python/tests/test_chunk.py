"""Chunks of texts, files and folders."""

from __future__ import annotations

import copy
import json
import logging
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import chunkmill
import pyarrow as pa
import pytest
from conftest import program, python

Documents = Callable[[dict[str, bytes]], Path]
TEXT = "# Guide\n\nStart here – now.\n\n## Install\n\nRun it.\n"


@pytest.mark.parametrize(
    ("settings", "flags"),
    [
        ({}, []),
        ({"preset": "ragdocs"}, ["--preset", "ragdocs"]),
        ({"preset": "docs", "base_url": "https://example.org"}, ["--preset", "docs", "--base-url", "https://example.org"]),
        ({"strategy": "recursive", "max": 64, "overlap": 8}, ["--strategy", "recursive", "--max", "64", "--overlap", "8"]),
        ({"unit": "model", "max": 100, "cut_oversized": False}, ["--unit", "model", "--max", "100", "--cut-oversized=false"]),
    ],
)
def test_chunks_are_those_of_the_program(corpus: Path, settings: dict[str, object], flags: list[str]) -> None:
    printed = [json.loads(line) for line in program("chunk", corpus, *flags).splitlines()]
    chunks = chunkmill.chunk(corpus, **settings)
    assert len(printed) > 50
    assert [chunk.as_dict() for chunk in chunks] == printed


def test_attributes_are_the_columns(corpus: Path) -> None:
    for chunk in chunkmill.chunk(corpus, preset="docs", overlap=20):
        columns = chunk.as_dict()
        attributes = [name for name in dir(chunkmill.Chunk) if not name.startswith("_") and name != "as_dict"]
        assert len(attributes) > 25
        assert {name: columns[name] for name in attributes} == {name: getattr(chunk, name) for name in attributes}


def test_places_are_exact() -> None:
    text = TEXT * 20
    chunks = chunkmill.chunk(text, name="guide.md", preset="heading-tokens", max=8, overlap=2)
    for chunk in chunks:
        own = chunk.content.encode()[chunk.prefix_len :]
        assert own == text.encode()[chunk.start_byte : chunk.end_byte]
        assert own.decode() == text[chunk.start_char : chunk.end_char]
        assert chunk.n_chars == len(chunk.content)
    first, second = chunks[0], chunks[1]
    assert (first.chunk_id, first.doc_id, first.heading_path) == ("guide.md#0", "guide.md", ["Guide"])
    assert second.has_overlap or second.heading_path == ["Guide", "Install"]


def test_a_text_and_a_file_are_told_apart_by_type(documents: Documents) -> None:
    folder = documents({"guide.md": TEXT.encode(), "notes/b.txt": b"B.\n", "left-out.bin": b"\x00"})
    file = folder / "guide.md"
    assert [chunk.content for chunk in chunkmill.chunk(str(file), name="text.md")] == [str(file)]
    assert [chunk.doc_id for chunk in chunkmill.chunk(file)] == ["guide.md"]
    assert [chunk.doc_id for chunk in chunkmill.chunk(folder)] == ["guide.md", "notes/b.txt"]
    with pytest.raises(chunkmill.SettingError, match="cannot cut what is of type bytes"):
        chunkmill.chunk(TEXT.encode())  # type: ignore[call-overload]
    with pytest.raises(chunkmill.CorpusError, match="No such file"):
        chunkmill.chunk(folder / "none.md")


def test_of_a_list_comes_a_list_for_each(documents: Documents) -> None:
    folder = documents({"a.md": b"# A\n", "b.md": b"# B\n"})
    several = chunkmill.chunk([TEXT, folder, ""], preset="heading-tokens")
    assert [[chunk.chunk_id for chunk in chunks] for chunks in several] == [
        ["text-0.md#0", "text-0.md#1"],
        ["a.md#0", "b.md#0"],
        ["text-2.md#0"],
    ]
    assert chunkmill.chunk([]) == []
    assert chunkmill.chunk((TEXT,))[0] == chunkmill.chunk(TEXT, name="text-0.md")


def test_many_texts_give_what_each_gives(corpus: Path) -> None:
    files = sorted(corpus.rglob("*.md"))
    texts, names = [file.read_text() for file in files], [file.name for file in files]
    chunker = chunkmill.Chunker(preset="sections", threads=2)
    assert sum(map(len, texts)) > 64 << 10
    assert chunker.chunk(texts, name=names) == [chunker.chunk(text, name=name) for text, name in zip(texts, names)]


def test_a_name_says_what_a_text_is() -> None:
    yaml = "first:\n  a: 1\nsecond:\n  b: 2\n"
    by_name = chunkmill.chunk(yaml, name="values.yaml", preset="heading-tokens")
    assert [chunk.heading_path for chunk in by_name] == [["first"], ["second"]]
    assert [chunk.heading_path for chunk in chunkmill.chunk(yaml, preset="heading-tokens")] == [[]]
    with pytest.raises(chunkmill.SettingError, match="the number of names is 1, and that of sources 2"):
        chunkmill.chunk([yaml, yaml], name=["a.yaml"])
    with pytest.raises(chunkmill.SettingError, match="is a single name for a list of sources"):
        chunkmill.chunk([yaml, yaml], name="a.yaml")  # type: ignore[call-overload]
    with pytest.raises(chunkmill.SettingError, match="is a list for one source"):
        chunkmill.chunk(yaml, name=["a.yaml"])  # type: ignore[call-overload]


def test_what_cannot_be_cut_is_said(documents: Documents, caplog: pytest.LogCaptureFixture) -> None:
    folder = documents({"a.md": b"# A\n", "b.md": b"\xff\xfe\xff"})
    with pytest.raises(chunkmill.QuarantineError, match="b.md is not valid UTF-16LE"):
        chunkmill.chunk(folder)
    with caplog.at_level(logging.WARNING, "chunkmill"):
        chunks = chunkmill.chunk(folder, quarantined="warn")
    assert [chunk.doc_id for chunk in chunks] == ["a.md"]
    assert "quarantined b.md: is not valid UTF-16LE" in caplog.text
    with pytest.raises(chunkmill.SettingError, match="`never` is not understood"):
        chunkmill.chunk(folder, quarantined="never")  # type: ignore[call-overload]


def test_chunks_can_be_compared_and_kept_in_sets() -> None:
    one, other = chunkmill.chunk(TEXT, preset="heading-tokens")
    again = chunkmill.chunk(TEXT, preset="heading-tokens")[0]
    assert one == again and one != other
    assert {one, other, again} == {one, other}
    assert repr(other) == "<Chunk text.md#1 lines 5-7, 6 tokens Guide > Install>"


def test_counts() -> None:
    assert chunkmill.count("hello world") == 2
    assert chunkmill.count(["hello world", "", "été"], unit="chars") == [11, 0, 3]
    assert chunkmill.count("안녕하세요") > chunkmill.count("안녕하세요", encoding="o200k_base")
    assert chunkmill.count("hello world", unit="model") == 2
    for chunk in chunkmill.chunk(TEXT):
        assert chunk.n_tokens == chunkmill.count(chunk.content)
    with pytest.raises(chunkmill.SettingError, match="did you mean `tokens`"):
        chunkmill.count("x", unit="token")  # type: ignore[arg-type]


def test_python_runs_on_meanwhile(corpus: Path) -> None:
    texts = [file.read_text() for file in corpus.rglob("*.md")] * 40
    turns, stop = [0], threading.Event()

    def turn() -> None:
        while not stop.is_set():
            turns[0] += 1

    other = threading.Thread(target=turn)
    chunker = chunkmill.Chunker(threads=1)
    chunker.chunk(texts[:1])
    other.start()
    native = chunker._native
    before = turns[0]
    native.cut_to_arrow(texts, [f"{at}.md" for at in range(len(texts))], True)
    during = turns[0] - before
    stop.set()
    other.join()
    # If the call held the GIL, the other thread would get no turns: it requests the GIL every 5 ms, and gets it
    # only when the call ends.
    assert during > 10_000


def cut_in_child(texts: list[str]) -> int:
    return sum(len(chunks) for chunks in chunkmill.chunk(texts))


def test_a_forked_process_has_threads_of_its_own(corpus: Path) -> None:
    texts = [file.read_text() for file in corpus.rglob("*.md")]
    here = cut_in_child(texts)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(cut_in_child, (texts,)).get(timeout=60) == here


def test_ctrl_c_ends_it(corpus: Path) -> None:
    code = """if True:
        import os, pathlib, signal, sys, threading, time, chunkmill
        texts = [file.read_text() for file in pathlib.Path(sys.argv[1]).rglob("*.md")] * 1000
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        try:
            chunkmill.chunk(texts)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - started)
        """
    word, seconds = python(code, corpus).split()
    assert word == "interrupted" and float(seconds) < 2.5


def test_data_and_settings_can_be_pickled_and_copied(documents: Documents) -> None:
    folder = documents({"guide.md": b"---\ntags: [a/b]\nowner: me\n---\n" + TEXT.encode() + b"[x](y.md) ![z](z.png)\n"})
    for chunk in chunkmill.chunk(folder, preset="docs", max=40, min=5, target=20, overlap=3):
        for other in (pickle.loads(pickle.dumps(chunk)), copy.copy(chunk), copy.deepcopy(chunk)):
            assert other == chunk and hash(other) == hash(chunk) and other.as_dict() == chunk.as_dict()
    chunker = chunkmill.Chunker(preset="heading-tokens", max=8, overlap=2)
    for again in (pickle.loads(pickle.dumps(chunker)), copy.copy(chunker), copy.deepcopy(chunker)):
        assert repr(again) == repr(chunker)
        assert again.chunk(TEXT) == chunker.chunk(TEXT)
    with pytest.raises(chunkmill.SettingError, match="is not a chunk"):
        chunkmill.Chunk._of("{}")  # type: ignore[attr-defined]


def test_names_do_not_act_on_a_terminal() -> None:
    hostile = "a\x1b[31m\u202e\nb"
    (chunk,) = chunkmill.chunk("# T\n\nx", name=f"{hostile}.md", security="permissive")
    with pytest.raises(chunkmill.SettingError) as raised:
        chunkmill.chunk("x", strategy=hostile)  # type: ignore[arg-type]
    table = chunkmill.chunk_table(pa.table({"doc_id": ["a"], "text": ["b"], hostile: [1]}))
    for text in [repr(chunk), str(raised.value), repr(table)]:
        assert "\x1b" not in text and "\u202e" not in text, ascii(text)
    assert "\n" not in repr(chunk)
