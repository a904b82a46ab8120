"""Loads a dataset into FAISS and queries it.

    usage: python to_faiss.py DATASET "QUESTION"
"""

import sys

import chunkmill
import faiss
import pyarrow as pa

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, question = sys.argv[1:]
    dataset, encoder = chunkmill.Dataset(out), chunkmill.Encoder.for_dataset(out)
    rows = pa.table(dataset.chunks(["chunk_id", "path", "header_path"])).to_pylist()
    index = faiss.IndexFlatIP(encoder.dim)
    index.add(dataset.vectors())
    scores, found = index.search(encoder.encode_queries([question]), 5)
    for at in found[0]:
        print(*rows[at].values(), sep="\t")
