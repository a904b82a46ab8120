"""Tests of Arrow tables as input and output."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from random import Random
from typing import Any

import chunkmill
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import program, python

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


def test_a_doc_id_names_one_row() -> None:
    rows = {"doc_id": ["a.md", "a.md"], "text": ["one", "two"]}
    made = pa.table(chunkmill.chunk_table(pa.table(rows))).to_pylist()
    assert [row["error"] for row in made] == [None, "has the doc_id of an earlier row"]


TO_FILL: list[tuple[bytearray | None, bytes | None]] = []


def unchecked(kind: pa.DataType, length: int, *buffers: bytes | None, children: Any = None) -> pa.Array:
    """Returns an array of zeros that `fill` makes what it should be, when pyarrow has checked it for the last time."""
    memory = [None if buffer is None else bytearray(len(buffer)) for buffer in buffers]
    given = [None if buffer is None else pa.py_buffer(buffer) for buffer in memory]
    array = pa.Array.from_buffers(kind, length, given, children=children)
    TO_FILL.extend(zip(memory, buffers, strict=True))
    return array


def fill() -> None:
    for to, buffer in TO_FILL:
        if to is not None and buffer is not None:
            to[:] = buffer
    TO_FILL.clear()


def numbers(kind: str, *values: int) -> bytes:
    return struct.pack(f"<{len(values)}{kind}", *values)


INVALID = {
    "string that is not UTF-8": lambda: unchecked(pa.string(), 2, None, numbers("i", 0, 2, 3), b"a\xffb"),
    "large_string that is not UTF-8": lambda: unchecked(pa.large_string(), 2, None, numbers("q", 0, 2, 3), b"a\xffb"),
    "string cut inside a character": lambda: unchecked(pa.string(), 2, None, numbers("i", 0, 1, 2), "ü".encode()),
    "string_view that is not UTF-8": lambda: unchecked(
        pa.string_view(), 2, None, numbers("i", 2) + b"a\xff".ljust(12, b"\0") + numbers("i", 1) + b"b".ljust(12, b"\0")
    ),
    "offsets that go back": lambda: unchecked(pa.string(), 2, None, numbers("i", 0, 3, 1), b"abc"),
    "offsets below zero": lambda: unchecked(pa.string(), 2, None, numbers("i", -5, 1, 3), b"abc"),
    "a last offset below zero": lambda: unchecked(pa.string(), 2, None, numbers("i", 0, 1, -3), b"abc"),
    "offsets behind the end": lambda: unchecked(pa.string(), 2, None, numbers("i", 0, 1, 1 << 30), b"abc"),
    "a view behind the end": lambda: unchecked(
        pa.string_view(), 2, None, numbers("i", 40, 0, 0, 1 << 20) + numbers("i", 0, 0, 0, 0), b"x" * 50
    ),
    "a view of no buffer": lambda: unchecked(
        pa.string_view(), 2, None, numbers("i", 40, 0, 7, 0) + numbers("i", 0, 0, 0, 0), b"x" * 50
    ),
    "keys of no value": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 99], pa.int8()), ["a", "b"], safe=False),
    "keys below zero": lambda: pa.DictionaryArray.from_arrays(pa.array([0, -9], pa.int8()), ["a", "b"], safe=False),
    "a dictionary that is not UTF-8": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), unchecked(pa.string(), 2, None, numbers("i", 0, 2, 3), b"a\xffb"), safe=False
    ),
    "a list behind its values": lambda: unchecked(
        pa.list_(pa.int8()), 2, None, numbers("i", 0, 1, 99), children=[pa.array([1, 2], pa.int8())]
    ),
    "a list of strings that are not UTF-8": lambda: unchecked(
        pa.list_(pa.string()),
        2,
        None,
        numbers("i", 0, 1, 2),
        children=[unchecked(pa.string(), 2, None, numbers("i", 0, 2, 3), b"a\xffb")],
    ),
}


class Raw:
    """A table whose producer checks nothing, unlike `pyarrow.Table`."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self.table.__arrow_c_stream__(schema)


# Only pyarrow knows how long its buffers are.
UNSEEN = {"offsets behind the end"}

TRY = """
import sys; sys.path[:0] = [sys.argv[1]]
import test_table
test_table.take_invalid(sys.argv[2])
"""


def take_invalid(name: str) -> None:
    for column in ["other"] if name.startswith("a list") else ["doc_id", "text", "other"]:
        columns = {"doc_id": pa.array(["a", "b"]), "text": pa.array(["c", "d"]), "other": pa.array([1, 2])}
        table = pa.table(columns | {column: INVALID[name]()})
        fill()
        for given in [table] if name in UNSEEN else [table, Raw(table)]:
            print(name, column, type(given))
            with pytest.raises(chunkmill.SettingError, match="table: "):
                chunkmill.chunk_table(given)


@pytest.mark.parametrize("name", INVALID)
def test_what_is_not_valid_is_an_error_and_never_a_crash(name: str) -> None:
    # A crash would end this process.
    python(TRY, Path(__file__).parent, name)


def test_text_of_parquet_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    wrong = unchecked(pa.string(), 3, None, numbers("i", 0, 2, 3, 4), b"a\xff\xf0b")
    table = pa.table({"doc_id": wrong, "text": ["a", "b", "c"]})
    fill()
    pq.write_table(table, tmp_path / "bad.parquet")
    read = pq.read_table(tmp_path / "bad.parquet")
    for given in [read, Raw(read), pa.RecordBatchReader.from_batches(read.schema, read.to_batches())]:
        with pytest.raises(chunkmill.SettingError, match=r"(?i)utf.?8"):
            chunkmill.chunk_table(given)


FUZZ = """
import sys; sys.path[:0] = [sys.argv[1]]
import test_table
test_table.take_random(int(sys.argv[2]))
"""


def take_random(number: int) -> None:
    """Takes arrays of random bytes, of which every buffer is as long as its last offset says."""
    random = Random(number)
    for _ in range(200):
        length = random.randrange(1, 6)
        values = random.randbytes(random.randrange(0, 40))

        def strings() -> pa.Array:
            wide = random.random() < 0.5
            inner = [random.randrange(-3, len(values) + 1) for _ in range(length)]
            ends = [*sorted(inner)] if random.random() < 0.7 else inner
            offsets = [0, *ends[:-1], random.randrange(0, len(values) + 1)]
            kind = pa.large_string() if wide else pa.string()
            nulls = random.randbytes(1) if random.random() < 0.3 else None
            return unchecked(kind, length, nulls, numbers("q" if wide else "i", *offsets), values)

        def views() -> pa.Array:
            return unchecked(pa.string_view(), length, None, random.randbytes(16 * length), values)

        def keys() -> pa.Array:
            keys = pa.array([random.randrange(-128, 128) for _ in range(length)], pa.int8())
            return pa.DictionaryArray.from_arrays(keys, strings(), safe=False)

        make = [strings, views, keys]
        table = pa.table({name: random.choice(make)() for name in ["doc_id", "text", "other"]})
        fill()
        for given in [table, Raw(table)]:
            try:
                pa.table(chunkmill.chunk_table(given)).validate(full=True)
            except chunkmill.SettingError as error:
                assert str(error).startswith("table: "), error


@pytest.mark.parametrize("number", range(4))
def test_arrays_of_random_bytes_never_crash(number: int) -> None:
    python(FUZZ, Path(__file__).parent, str(number))
