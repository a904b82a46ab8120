"""Reads datasets with Hugging Face datasets, LanceDB and fastparquet, and prints one line of JSON per dataset.

Compares the results of each with those of pyarrow. These libraries need more packages than the other readers.
"""

import json
import os
import pathlib
import sys
import tempfile

HOME = tempfile.TemporaryDirectory()
os.environ |= {"HF_HOME": HOME.name, "HF_DATASETS_CACHE": f"{HOME.name}/datasets", "HF_HUB_OFFLINE": "1"}

import datasets
import fastparquet
import lancedb
import pyarrow.dataset

datasets.disable_progress_bars()


def by_datasets(out, expected):
    """Reads the tables by their names in the card, both whole and as a stream, and by a glob."""
    tables = {name: datasets.load_dataset(out, name, split="train") for name in ["chunks", "documents", "edges"]}
    chunks = datasets.load_dataset(out, split="train")
    glob = datasets.load_dataset("parquet", data_files=f"{out}/data/chunks/*.parquet", split="train")
    stream = datasets.load_dataset(out, split="train", streaming=True)
    same = all(dict(zip(rows["chunk_id"], rows["embedding"])) == expected for rows in [chunks, glob])
    return {
        "rows": {name: table.num_rows for name, table in tables.items()},
        "type": str(chunks.features["embedding"]),
        "same": same and {row["chunk_id"]: row["embedding"] for row in stream} == expected,
    }


def by_lancedb(out, expected):
    """Creates a table from the dataset. Searching for the vector of a row must find a row at distance zero."""
    chunks = pyarrow.dataset.dataset(f"{out}/data/chunks")
    with tempfile.TemporaryDirectory() as folder:
        table = lancedb.connect(folder).create_table("chunks", chunks)
        rows = {row["chunk_id"]: row["embedding"] for row in table.to_arrow().to_pylist()}
        nearest = 0
        for chunk_id in list(expected)[:20]:
            hit = table.search(expected[chunk_id]).metric("cosine").limit(1).to_list()[0]
            nearest += expected[hit["chunk_id"]] == expected[chunk_id] and abs(hit["_distance"]) < 1e-6
        return {
            "rows": table.count_rows(),
            "type": str(table.schema.field("embedding").type),
            "same": rows == expected,
            "nearest": nearest,
        }


def by_fastparquet(out, expected):
    """Reads file by file, because fastparquet does not accept a list of several files."""
    rows = {}
    try:
        for path in sorted(pathlib.Path(out).glob("data/chunks/*.parquet")):
            frame = fastparquet.ParquetFile(str(path)).to_pandas(columns=["chunk_id", "embedding"])
            rows |= {chunk_id: list(vector) for chunk_id, vector in zip(frame["chunk_id"], frame["embedding"])}
    except NotImplementedError as error:
        return str(error)
    return "same" if rows == expected else str(type(next(iter(rows.values()))[0]))


def main():
    for out in sys.argv[1:]:
        table = pyarrow.dataset.dataset(f"{out}/data/chunks").to_table(columns=["chunk_id", "embedding"])
        expected = dict(zip(table["chunk_id"].to_pylist(), table["embedding"].to_pylist()))
        readers = {"datasets": by_datasets, "lancedb": by_lancedb, "fastparquet": by_fastparquet}
        print(json.dumps({name: reader(out, expected) for name, reader in readers.items()}))


if __name__ == "__main__":
    main()
