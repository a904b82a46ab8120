"""Reads the small vectors of a dataset with pyarrow, Polars and DuckDB and compares them with roundings of its floats."""

import json
import pathlib
import sys

import duckdb
import polars
import pyarrow.dataset
import pyarrow.parquet

COLUMNS = ["embedding", "embedding_int8", "embedding_bits"]


def integer(value):
    """Returns 127 times a value, in single precision, rounded to nearest."""
    return round((polars.Series([value], dtype=polars.Float32) * polars.Series([127], dtype=polars.Float32))[0])


def signs(vector):
    """Returns a bit for each value, the most significant bit of a byte first."""
    return [int("".join("1" if x > 0 else "0" for x in vector[at : at + 8]).ljust(8, "0"), 2) for at in range(0, len(vector), 8)]


def main():
    out = pathlib.Path(sys.argv[1])
    files = sorted(str(file) for file in out.glob("data/chunks/*.parquet"))
    table = pyarrow.dataset.dataset(files).to_table(columns=COLUMNS)
    frame = polars.read_parquet(files, columns=COLUMNS)
    rows = duckdb.sql(f"SELECT {', '.join(COLUMNS)} FROM read_parquet({files!r})").fetchall()
    seen = {
        "pyarrow": [table[name].to_pylist() for name in COLUMNS],
        "polars": [frame[name].to_list() for name in COLUMNS],
        "duckdb": [[list(row[at]) for row in rows] for at in range(len(COLUMNS))],
    }
    floats, integers, bits = seen["pyarrow"]
    metadata = pyarrow.parquet.read_metadata(files[0]).metadata
    print(
        json.dumps(
            {
                "rows": table.num_rows,
                "agree": [name for name, columns in seen.items() if columns == seen["pyarrow"]],
                "types": [str(table.schema.field(name).type) for name in COLUMNS[1:]],
                "bits": bits == [signs(vector) for vector in floats],
                "int8": integers == [[integer(x) for x in vector] for vector in floats],
                "scale": metadata[b"chunkmill.embedding_int8_scale"].decode(),
            }
        )
    )


if __name__ == "__main__":
    main()
