"""Reads datasets with pyarrow, Polars and DuckDB and prints what each of them sees, one line of JSON per dataset."""

import json
import pathlib
import sys

import duckdb
import polars
import pyarrow.dataset
import pyarrow.parquet


def main():
    for out in sys.argv[1:]:
        check(pathlib.Path(out))


def encodings(file):
    """Returns the encodings of a file's vectors; none if it has no rows."""
    metadata = pyarrow.parquet.read_metadata(file)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    return {
        encoding
        for column in columns
        if column.path_in_schema.startswith("embedding.") and column.num_values
        for encoding in column.encodings
    }


def check(out):
    manifest = json.loads((out / "manifest.json").read_text())
    dim = manifest["model"]["dim"]
    files = [str(out / file["path"]) for file in manifest["files"] if file["table"] == "chunks"]

    table = pyarrow.dataset.dataset(files).to_table().sort_by([("doc_id", "ascending"), ("chunk_index", "ascending")])
    frame = polars.read_parquet(files).sort("doc_id", "chunk_index")
    rows = duckdb.sql(
        f"SELECT chunk_id, content, embedding::FLOAT[{dim}] AS embedding, headings, links, modified_time::VARCHAR FROM read_parquet({files!r}) "
        "ORDER BY doc_id, chunk_index"
    ).fetchall()
    documents = polars.read_parquet(str(out / "data/documents/*.parquet"))
    edges = {
        "pyarrow": [tuple(row.values()) for row in pyarrow.dataset.dataset(str(out / "data/edges")).to_table().to_pylist()],
        "polars": polars.read_parquet(str(out / "data/edges/*.parquet")).rows(),
        "duckdb": duckdb.sql(f"SELECT * FROM read_parquet('{out}/data/edges/*.parquet')").fetchall(),
    }
    edges = {name: sorted(rows, key=repr) for name, rows in edges.items()}

    def norm(vector):
        return sum(x * x for x in vector) ** 0.5

    seen = {
        "pyarrow": [table["chunk_id"].to_pylist(), table["content"].to_pylist(), table["embedding"].to_pylist()],
        "polars": [frame["chunk_id"].to_list(), frame["content"].to_list(), frame["embedding"].to_list()],
        "duckdb": [[row[0] for row in rows], [row[1] for row in rows], [list(row[2]) for row in rows]],
    }
    headings = {
        "pyarrow": table["headings"].to_pylist(),
        "polars": frame["headings"].to_list(),
        "duckdb": [row[3] for row in rows],
    }
    first = seen["pyarrow"]
    print(
        json.dumps(
            {
                "rows": table.num_rows,
                "documents": documents.height,
                "agree": [name for name, columns in seen.items() if columns == first],
                "types": [str(table.schema.field("embedding").type), str(frame.schema["embedding"])],
                "unit": all(abs(norm(vector) - 1) < 1e-3 for vector in first[2]),
                "edges": edges["pyarrow"][:2],
                "edge_rows": len(edges["pyarrow"]),
                "edges_agree": [name for name, rows in edges.items() if rows == edges["pyarrow"]],
                "url": str(table.schema.field("links").type.value_type.field("url").type),
                "nulls": table["embedding"].null_count,
                "headings": headings["pyarrow"][:2],
                "headings_agree": [name for name, lists in headings.items() if lists == headings["pyarrow"]],
                "split": all("BYTE_STREAM_SPLIT" in encodings(file) for file in files if encodings(file)),
            }
        )
    )


if __name__ == "__main__":
    main()
