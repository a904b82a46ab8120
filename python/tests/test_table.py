"""Tests of Arrow tables as input and output."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import chunkmill
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import program

ROWS = {
    "doc_id": ["a.md", "b.md", "c.md", None],
    "text": ["# A\n\nAlpha.", "# B\n\nBeta.", None, "lost"],
    "language": ["en", "de", "fr", "it"],
}


def by_program(table: pa.Table, *flags: str) -> pa.Table:
    """Returns the output of `chunkmill filter` for a table without errors."""
    sent = io.BytesIO()
    with pa.ipc.new_stream(sent, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(program("filter", *flags, stdin=sent.getvalue())).read_all()


@pytest.mark.parametrize("producer", ["pyarrow", "polars", "duckdb", "pandas", "stream"])
def test_any_producer_gives_the_table_of_the_program(corpus: Path, producer: str) -> None:
    files = sorted(corpus.rglob("*.md"))
    table = pa.table(
        {
            "doc_id": [file.relative_to(corpus).as_posix() for file in files],
            "text": [file.read_text() for file in files],
            "size": [file.stat().st_size for file in files],
        }
    )
    given: Any = {
        "pyarrow": lambda: table,
        "polars": lambda: pl.DataFrame(table),
        "duckdb": lambda: duckdb.from_arrow(table),
        "pandas": lambda: pd.DataFrame.from_arrow(table),
        "stream": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7)),
    }[producer]()
    made = pa.table(chunkmill.chunk_table(given, preset="heading-tokens", max=100))
    wanted = by_program(table, "--preset", "heading-tokens", "--max", "100")
    assert made.num_rows > 500
    assert made.equals(wanted)


def test_every_consumer_takes_it(corpus: Path) -> None:
    chunks = chunkmill.chunk_to_arrow(corpus)
    assert (chunks.num_rows, len(chunks)) == (592, 592)
    assert "content" in chunks.column_names and "embedding" not in chunks.column_names
    contents = [chunk.content for chunk in chunkmill.chunk(corpus)]
    assert pa.table(chunks)["content"].to_pylist() == contents
    assert pl.DataFrame(chunks)["content"].to_list() == contents
    assert pd.DataFrame.from_arrow(chunks)["content"].to_list() == contents
    assert [row[0] for row in duckdb.sql("SELECT content FROM chunks").fetchall()] == contents
    assert pa.schema(chunks).names == chunks.column_names


def test_no_value_is_copied_on_the_way_out(corpus: Path) -> None:
    table = chunkmill.chunk_to_arrow(corpus)

    def addresses() -> list[int]:
        buffers = pa.table(table)["content"].chunk(0).buffers()
        return [buffer.address for buffer in buffers if buffer]

    assert len(addresses()) == 2 and addresses() == addresses()


def test_rows_that_cannot_be_cut_say_why() -> None:
    made = pa.table(chunkmill.chunk_table(pa.table(ROWS), preset="none")).to_pylist()
    assert [row["doc_id"] for row in made] == ["a.md", "b.md", "c.md", None]
    assert [row["error"] for row in made] == [None, None, "has no text", "has no doc_id"]
    assert [row["language"] for row in made] == ["en", "de", "fr", "it"]


def test_vectors_on_request() -> None:
    made = pa.table(chunkmill.chunk_table(pa.table(ROWS).slice(0, 2), embed=True, embedding_cache="off", context="none"))
    vectors = made["embedding"].combine_chunks().flatten().to_numpy().reshape(-1, 384)
    texts = made["content"].to_pylist()
    assert (vectors == chunkmill.Encoder(embedding_cache="off").encode(texts)).all()
    half = pa.table(chunkmill.chunk_table(pa.table(ROWS), embed=True, embedding_type="f16", embedder="fake"))
    assert half.schema.field("embedding").type.value_type == pa.float16()


def test_tables_that_cannot_be_read() -> None:
    with pytest.raises(chunkmill.SettingError, match="dict has no method __arrow_c_stream__"):
        chunkmill.chunk_table(ROWS)  # type: ignore[arg-type]
    with pytest.raises(chunkmill.SettingError, match="has no column `text`"):
        chunkmill.chunk_table(pa.table({"doc_id": ["a"]}))

    def broken() -> Any:
        yield pa.record_batch({"doc_id": ["a.md"], "text": ["A"]})
        raise RuntimeError("the source is gone")

    schema = pa.schema({"doc_id": pa.string(), "text": pa.string()})
    with pytest.raises(chunkmill.SettingError, match="the source is gone"):
        chunkmill.chunk_table(pa.RecordBatchReader.from_batches(schema, broken()))
