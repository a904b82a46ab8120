"""Loads a dataset into Qdrant with its own bytes of each vector, which find candidates for the floats: here in memory; for a
server, replace `:memory:` with its URL. Qdrant makes these bytes itself, so the dataset needs none.

    usage: python to_small_qdrant.py DATASET "QUESTION"
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
    quantized = models.ScalarQuantization(scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True))
    vectors = models.VectorParams(size=encoder.dim, distance=models.Distance.DOT, on_disk=True)
    client.create_collection("chunks", vectors, quantization_config=quantized)
    client.upload_collection("chunks", vectors=dataset.vectors(), payload=rows)
    again = models.SearchParams(quantization=models.QuantizationSearchParams(rescore=True, oversampling=4))
    vector = encoder.encode_queries([question])[0]
    for point in client.query_points("chunks", query=vector, limit=5, search_params=again).points:
        print(point.payload["chunk_id"], point.payload["path"], point.payload["header_path"], sep="\t")
