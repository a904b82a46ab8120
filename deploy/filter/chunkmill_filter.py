"""Chunks the documents in a table, for engines that exchange Arrow batches.

This is a single file to copy or ship with a job. It needs pyarrow, and chunkmill on the PATH of every worker.

    Spark       table.mapInArrow(chunks("--preset", "structure"), schema=spark_schema(schema(table_schema)))
    Ray Data    dataset.map_batches(chunk_table, batch_format="pyarrow", batch_size=10_000)
    pyarrow     pa.Table.from_batches(chunks()(table.to_batches()))

Every call starts the program once, which takes half a second, or more with `--embed`. Use large batches.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

DONE, ROWS_WITH_ERRORS = 0, 3
"""Exit codes of a complete stream. With the second, some rows have no chunks; their column `error` says why."""


def chunks(
    *arguments: str, program: str = "chunkmill"
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns a function from batches of documents to batches of chunks. `arguments` are those of `chunkmill filter`.

    The function streams the batches and stores none of them. All batches of documents must have the same schema.
    """

    def filter(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        batches = iter(batches)
        first = next(batches, None)
        if first is None:
            return
        process = subprocess.Popen([program, "filter", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        failures: list[BaseException] = []

        def write() -> None:
            assert process.stdin is not None
            try:
                with process.stdin, pa.ipc.new_stream(process.stdin, first.schema) as stream:
                    stream.write_batch(first)
                    for batch in batches:
                        stream.write_batch(batch)
            except BrokenPipeError:
                pass  # The program ended early; its exit code says why.
            except BaseException as failure:
                failures.append(failure)
                process.kill()

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        try:
            # The output is empty if the program refuses the table.
            if process.stdout.peek(1):  # type: ignore[attr-defined]
                with pa.ipc.open_stream(process.stdout) as stream:
                    yield from stream
            writer.join()
            code = process.wait()
        finally:
            process.kill()
            process.wait()
        if failures:
            raise failures[0]
        if code not in (DONE, ROWS_WITH_ERRORS):
            raise RuntimeError(f"chunkmill filter ended with exit code {code}; standard error says why")

    return filter


def chunk_table(table: pa.Table, arguments: tuple[str, ...] = (), program: str = "chunkmill") -> pa.Table:
    """Returns the chunks of a table of documents."""
    wanted = schema(table.schema, *arguments, program=program) if table.num_rows == 0 else None
    return pa.Table.from_batches(chunks(*arguments, program=program)(table.to_batches()), schema=wanted)


def schema(documents: pa.Schema, *arguments: str, program: str = "chunkmill") -> pa.Schema:
    """Returns the schema of the chunks of documents with the given schema."""
    empty = pa.BufferOutputStream()
    with pa.ipc.new_stream(empty, documents):
        pass
    done = subprocess.run(
        [program, "filter", *arguments], input=empty.getvalue().to_pybytes(), stdout=subprocess.PIPE, check=True
    )
    return pa.ipc.open_stream(done.stdout).schema
