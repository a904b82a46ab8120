"""Loads a dataset with small vectors into LanceDB: signs find candidates by Hamming distance, floats rank them.

    usage: python to_small_lancedb.py DATASET "QUESTION" FOLDER
    index with: chunkmill index CORPUS -o DATASET --embedding-type f32,bits
"""

import sys

import chunkmill
import lancedb
import numpy as np
import pyarrow as pa

if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    out, question, folder = sys.argv[1:]
    table = lancedb.connect(folder).create_table("chunks", data=pa.table(chunkmill.Dataset(out).chunks()), mode="overwrite")
    vector = chunkmill.Encoder.for_dataset(out).encode_queries([question])[0]
    nearest = table.search(np.packbits(vector > 0), vector_column_name="embedding_bits").distance_type("hamming")
    found = nearest.limit(200).to_list()
    for row in sorted(found, key=lambda row: -np.dot(row["embedding"], vector))[:5]:
        print(row["chunk_id"], row["path"], row["header_path"], sep="\t")
