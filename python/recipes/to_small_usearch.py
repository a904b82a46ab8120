"""Searches the bytes of a dataset exactly with usearch, which takes bytes as they are.

    usage: python to_small_usearch.py DATASET "QUESTION"
    index with: chunkmill index CORPUS -o DATASET --embedding-type int8
"""

import sys

import chunkmill
import numpy as np
import pyarrow as pa
from usearch.index import MetricKind, search

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, question = sys.argv[1:]
    dataset, encoder = chunkmill.Dataset(out), chunkmill.Encoder.for_dataset(out)
    rows = pa.table(dataset.chunks(["chunk_id", "path", "header_path"])).to_pylist()
    vector = np.rint(127 * encoder.encode_queries([question])).astype(np.int8)
    found = search(dataset.vectors("int8"), vector[0], 5, MetricKind.IP, exact=True)
    for at in found.keys:
        print(*rows[at].values(), sep="\t")
