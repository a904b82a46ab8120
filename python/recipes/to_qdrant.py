"""Loads a dataset into Qdrant and queries it: here in memory; for a server, replace `:memory:` with its URL.

    usage: python to_qdrant.py DATASET "QUESTION"
"""

import sys

import chunkmill
import pyarrow as pa
from qdrant_client import QdrantClient, models

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, question = sys.argv[1:]
    dataset, encoder = chunkmill.Dataset(out), chunkmill.Encoder.for_dataset(out)
    rows = pa.table(dataset.chunks(["chunk_id", "path", "header_path", "content"])).to_pylist()
    client = QdrantClient(":memory:")
    client.create_collection("chunks", models.VectorParams(size=encoder.dim, distance=models.Distance.COSINE))
    client.upload_collection("chunks", vectors=dataset.vectors(), payload=rows)
    vector = encoder.encode_queries([question])[0]
    for point in client.query_points("chunks", query=vector, limit=5).points:
        print(point.payload["chunk_id"], point.payload["path"], point.payload["header_path"], sep="\t")
