"""Typical user code: `test_types.py` checks it with mypy and pyright, and runs it."""

from __future__ import annotations

from pathlib import Path

import chunkmill
import numpy as np
from chunkmill.sync import Synced, sync
from numpy.typing import NDArray


def chunks(folder: Path) -> list[str]:
    one: list[chunkmill.Chunk] = chunkmill.chunk("# A text\n", preset="heading-tokens", max=256, overlap=16)
    file: list[chunkmill.Chunk] = chunkmill.chunk(folder / "a.md", max=None)
    several: list[list[chunkmill.Chunk]] = chunkmill.chunk(["one", folder], quarantined="warn", include="**/*.md")
    texts: list[list[chunkmill.Chunk]] = chunkmill.Chunker(unit="tokens", encoding="o200k_base").chunk(["one", "two"])
    n: int = chunkmill.count("words", unit="words")
    ns: list[int] = chunkmill.count(["words", "more words"])
    assert n and len(ns) == 2
    first = one[0]
    place: tuple[int, int, list[str], str | None] = first.start_byte, first.end_line, first.heading_path, first.normalized_content
    assert place[0] == 0
    return [chunk.content for chunk in [*one, *file, *several[0], *texts[1]]]


def tables(folder: Path) -> chunkmill.Table:
    table = chunkmill.chunk_to_arrow(folder)
    # Our tables have no column `text`, but the types cannot express that.
    names: list[str] = table.column_names
    assert names and table.num_rows == len(table)
    return table


def told(progress: chunkmill.Progress) -> None:
    assert 0 <= progress.done <= 1


def job(folder: Path, out: Path) -> chunkmill.Report:
    return chunkmill.index([f"manual={folder}"], out, progress=told, embedder="fake", embedding_cache="off", files=1)


def questions(out: Path) -> NDArray[np.float32]:
    dataset = chunkmill.Dataset(out)
    assert dataset.verify().ok
    searcher = chunkmill.Searcher(out, mode="keyword", search_cache=None)
    hits: list[chunkmill.Hit] = searcher.search("text", 3, path=["*.md"], vector_share=0.5)
    context: chunkmill.Context = searcher.context("text", budget=100)
    passages: tuple[chunkmill.Passage, ...] = context.passages
    assert hits and passages
    try:
        chunkmill.Encoder("nobody/model", device="cpu")
    except chunkmill.ModelError as error:
        base: chunkmill.Error = error
        assert str(base)
    encoder: chunkmill.Encoder = chunkmill.Encoder.for_dataset(out, embedding_cache="off")
    return encoder.encode_queries(["text"]) @ dataset.vectors().T


def database(out: Path, file: Path) -> int:
    told: list[int] = []
    done: Synced = sync(out, f"sqlite:{file}", create=True, columns=["path"], progress=lambda written, total: told.append(written))
    again = sync(chunkmill.Dataset(out), f"sqlite:{file}", check=True)
    assert again.unchanged == done.added and told == [0, done.added] and done.snapshot
    return done.added
