"""Loads a dataset into Chroma, here in memory, and queries it.

    usage: python to_chroma.py DATASET "QUESTION"
"""

import sys

import chromadb
import chunkmill
import pyarrow as pa
from chromadb.utils.batch_utils import create_batches

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, question = sys.argv[1:]
    dataset = chunkmill.Dataset(out)
    table = pa.table(dataset.chunks(["chunk_id", "content", "path", "header_path"]))
    ids, contents, places = table["chunk_id"].to_pylist(), table["content"].to_pylist(), table.select(["path", "header_path"])
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    chunks = client.create_collection("chunks", embedding_function=None, metadata={"hnsw:space": "cosine"})
    for batch in create_batches(client, ids, list(dataset.vectors()), places.to_pylist(), contents):
        chunks.add(*batch)
    found = chunks.query(chunkmill.Encoder.for_dataset(out).encode_queries([question]), n_results=5)
    for chunk_id, place in zip(found["ids"][0], found["metadatas"][0]):
        print(chunk_id, place["path"], place["header_path"], sep="\t")
