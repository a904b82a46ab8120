"""Loads a dataset into pandas and NumPy and queries it.

    usage: python to_pandas.py DATASET "QUESTION"
"""

import sys

import chunkmill
import pandas as pd

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out, question = sys.argv[1:]
    dataset = chunkmill.Dataset(out)
    chunks = pd.DataFrame.from_arrow(dataset.chunks(["chunk_id", "path", "header_path"]))
    chunks["score"] = dataset.vectors() @ chunkmill.Encoder.for_dataset(out).encode_queries([question])[0]
    for row in chunks.nlargest(5, "score").itertuples():
        print(row.chunk_id, row.path, row.header_path, sep="\t")
