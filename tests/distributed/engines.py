"""`chunkmill filter` in Ray Data, in PySpark and behind a pipe: 100,000 rows, with the same results as `index`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import ray
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from common import PROGRAM, PROJECT, run, say

MODULE = PROJECT / "deploy" / "filter" / "chunkmill_filter.py"
sys.path.insert(0, str(MODULE.parent))
from chunkmill_filter import chunk_table, chunks, schema  # noqa: E402

ROWS = 100_000
SPEC = ["--preset", "structure", "--min", "10", "--max", "64"]
EMBED = ["--embed", "--embedder", "fake"]

MODEL = ["embedding", "n_model_tokens", "truncated"]
"""Columns that need a model."""


def documents(corpus: Path, folder: Path) -> pa.Table:
    """Writes 100,000 files and returns them as a table: pieces of the corpus, some of them not valid text."""
    pieces = []
    for path in sorted(corpus.rglob("*.md")):
        pieces += [b"#" + piece for piece in path.read_bytes().split(b"\n#")]
        if len(pieces) > ROWS // 2:
            break
    folder.mkdir()
    ids, texts = [], []
    for number in range(ROWS):
        text = pieces[number % len(pieces)] + f"\n\nNumber {number}.\n".encode()
        if number % 9973 == 7:
            text += b"\xff"
        ids.append(f"{number:06}.md")
        texts.append(text)
        (folder / ids[-1]).write_bytes(text)
        os.utime(folder / ids[-1], ns=(0, number * 1_000_000_000))
    seconds = pa.array(range(ROWS), pa.int64())
    modified = pa.compute.multiply(seconds, 1_000_000).cast(pa.timestamp("us", "UTC"))
    return pa.table({"doc_id": ids, "text": pa.array(texts, pa.binary()), "modified_time": modified, "number": seconds})


def values(column: pa.ChunkedArray) -> list[object]:
    """Returns Python values, with times as numbers, because Spark writes times in nanoseconds without a zone."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return list(column.to_pylist())


def expect(table: pa.Table, reference: pa.Table, quarantine: dict[str, str], name: str, started: float) -> None:
    """Checks the chunks against those of `index`, the copied column, and the error in every other row."""
    errors = table.filter(pa.compute.is_valid(table["error"]))
    found = dict(zip(errors["doc_id"].to_pylist(), errors["error"].to_pylist(), strict=True))
    assert found == quarantine, f"{name}: the rows with errors differ: {found}"
    good = table.filter(pa.compute.is_null(table["error"])).sort_by("chunk_id")
    numbers = [int(doc_id.split(".")[0]) for doc_id in good["doc_id"].to_pylist()]
    assert good["number"].to_pylist() == numbers, f"{name}: the column `number` does not match its documents"
    columns = [column for column in reference.column_names if column in good.column_names]
    assert set(reference.column_names) - set(columns) <= set(MODEL), f"{name}: columns are missing"
    for column in columns:
        ours, theirs = values(good[column]), values(reference[column])
        assert ours == theirs, f"{name}: column {column} differs"
    say(f"  {name}: {ROWS} rows to {good.num_rows} chunks and {errors.num_rows} errors in {time.monotonic() - started:.0f} s, as index")


def main() -> None:
    corpus, work = Path(sys.argv[1]), Path(sys.argv[4])
    say("chunkmill filter:")
    table = documents(corpus, work / "files")
    run([str(PROGRAM), "index", str(work / "files"), "-o", str(work / "files-indexed"), "--embedder", "fake", *SPEC])
    reference = pq.read_table(work / "files-indexed" / "data" / "chunks").sort_by("chunk_id")
    lines = (work / "files-indexed" / "quarantine.jsonl").read_text().splitlines()
    quarantine = {row["doc_id"]: row["reason"] for row in map(json.loads, lines)}
    assert len(quarantine) == len(range(7, ROWS, 9973)), len(quarantine)
    program = str(PROGRAM)

    started = time.monotonic()
    with open(work / "table.arrow", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=5_000)
    with open(work / "table.arrow", "rb") as source, open(work / "chunks.arrow", "wb") as sink:
        done = subprocess.run([program, "filter", *EMBED, *SPEC], stdin=source, stdout=sink)
    assert done.returncode == 3, done.returncode
    expect(pa.ipc.open_stream(work.joinpath("chunks.arrow").read_bytes()).read_all(), reference, quarantine, "a pipe, with vectors", started)

    reference = reference.drop_columns(MODEL)
    started = time.monotonic()
    shipped = {"py_modules": [str(MODULE)]}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR", runtime_env=shipped)
    settings = {"arguments": (*SPEC, "--threads", "1"), "program": program}
    dataset = ray.data.from_arrow(table).repartition(8)
    mapped = dataset.map_batches(chunk_table, batch_format="pyarrow", batch_size=10_000, fn_kwargs=settings)
    together = pa.concat_tables(ray.get(mapped.to_arrow_refs()))
    expect(together, reference, quarantine, f"Ray Data {ray.__version__}, map_batches", started)
    ray.shutdown()

    started = time.monotonic()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "4g")
    session = spark.config("spark.sql.session.timeZone", "UTC").config("spark.sql.execution.arrow.pyspark.enabled", "true")
    session = session.config("spark.driver.maxResultSize", "0").getOrCreate()
    session.sparkContext.addPyFile(str(MODULE))
    pq.write_table(table, work / "table.parquet", row_group_size=10_000)
    wanted = from_arrow_schema(schema(table.schema, *SPEC, program=program))
    frame = session.read.parquet(str(work / "table.parquet")).repartition(8)
    frame = frame.mapInArrow(chunks(*SPEC, "--threads", "1", program=program), schema=wanted)
    frame.write.parquet(str(work / "spark"))
    expect(pq.read_table(work / "spark"), reference, quarantine, f"PySpark {session.version}, mapInArrow", started)
    session.stop()


if __name__ == "__main__":
    main()
