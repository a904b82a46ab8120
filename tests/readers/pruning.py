"""Reads one document's rows with pyarrow, DuckDB and Polars and prints how many row groups each of them read.

The arguments are a dataset and the ids of documents. The output is one line of JSON per document: for each reader,
[row groups read, row groups, rows].
"""

import json
import os
import re
import sys
import tempfile

import duckdb
import polars
import pyarrow.dataset


def by_pyarrow(out, doc_id):
    chunks = pyarrow.dataset.dataset(f"{out}/data/chunks")
    wanted = pyarrow.dataset.field("doc_id") == doc_id
    fragments = list(chunks.get_fragments())
    read = sum(len(fragment.split_by_row_group(wanted)) for fragment in fragments)
    return read, sum(fragment.num_row_groups for fragment in fragments), chunks.to_table(filter=wanted).num_rows


def by_duckdb(out, doc_id):
    with tempfile.NamedTemporaryFile(suffix=".json") as profile, duckdb.connect() as connection:
        connection.execute("PRAGMA enable_profiling = 'json'")
        connection.execute(f"PRAGMA profiling_output = '{profile.name}'")
        query = f"SELECT content, embedding FROM '{out}/data/chunks/*.parquet' WHERE doc_id = ?"
        rows = connection.execute(query, [doc_id]).fetchall()
        with open(profile.name) as file:
            seen = json.load(file)["query"]
    return seen["total_row_groups_scanned"], seen["total_row_groups_to_scan"], len(rows)


def bloom_filters(out, doc_id):
    """Returns how many row groups DuckDB's probe of the bloom filters cannot rule out."""
    probe = f"SELECT count(*) FROM parquet_bloom_probe('{out}/data/chunks/*.parquet', 'doc_id', '{doc_id}')"
    return duckdb.sql(f"{probe} WHERE NOT bloom_filter_excludes").fetchall()[0][0]


def by_polars(out, doc_id):
    """Captures standard error, where Polars logs what it reads, bypassing Python."""
    with tempfile.TemporaryFile() as log, polars.Config(verbose=True):
        stderr = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            rows = polars.scan_parquet(f"{out}/data/chunks/*.parquet").filter(polars.col("doc_id") == doc_id).collect()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        log.seek(0)
        lines = re.findall(r"reading (\d+) / (\d+) row groups", log.read().decode())
    return sum(int(read) for read, _ in lines), sum(int(whole) for _, whole in lines), rows.height


def main():
    out = sys.argv[1]
    for doc_id in sys.argv[2:]:
        readers = {"pyarrow": by_pyarrow, "duckdb": by_duckdb, "polars": by_polars}
        seen = {name: reader(out, doc_id) for name, reader in readers.items()}
        print(json.dumps(seen | {"bloom": bloom_filters(out, doc_id)}))


if __name__ == "__main__":
    main()
