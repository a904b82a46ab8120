"""Loads a dataset into LanceDB, which accepts the table directly, and queries it.

    usage: python to_lancedb.py DATASET "QUESTION" FOLDER
"""

import sys

import chunkmill
import lancedb
import pyarrow as pa

if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    out, question, folder = sys.argv[1:]
    dataset = chunkmill.Dataset(out)
    table = lancedb.connect(folder).create_table("chunks", data=pa.table(dataset.chunks()), mode="overwrite")
    vector = chunkmill.Encoder.for_dataset(out).encode_queries([question])[0]
    for row in table.search(vector, vector_column_name="embedding").distance_type("cosine").limit(5).to_list():
        print(row["chunk_id"], row["path"], row["header_path"], sep="\t")
