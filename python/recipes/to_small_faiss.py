"""Loads a dataset with small vectors into FAISS: signs find candidates by Hamming distance, floats rank them.

    usage: python to_small_faiss.py DATASET "QUESTION"
    index with: chunkmill index CORPUS -o DATASET --embedding-type f32,bits
"""

import sys

import chunkmill
import faiss
import numpy as np
import pyarrow as pa

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, question = sys.argv[1:]
    dataset, encoder = chunkmill.Dataset(out), chunkmill.Encoder.for_dataset(out)
    rows = pa.table(dataset.chunks(["chunk_id", "path", "header_path"])).to_pylist()
    bits, floats = dataset.vectors("bits"), dataset.vectors()
    index = faiss.IndexBinaryFlat(8 * bits.shape[1])
    index.add(bits)
    vector = encoder.encode_queries([question])
    _, found = index.search(np.packbits(vector > 0, axis=1), min(200, len(rows)))
    scores = floats[found[0]] @ vector[0]
    for at in found[0][np.argsort(-scores)[:5]]:
        print(*rows[at].values(), sep="\t")
