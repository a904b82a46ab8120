"""Loads a dataset into PostgreSQL with pgvector, in halves and signs: signs find candidates, halves rank them.

    usage: python to_small_pgvector.py DATASET "QUESTION" postgresql://USER@HOST/DATABASE
    index with: chunkmill index CORPUS -o DATASET --embedding-type f32,bits
"""

import sys

import chunkmill
import numpy as np
import psycopg
import pyarrow as pa
from pgvector import Bit, HalfVector
from pgvector.psycopg import register_vector

FIND = """SELECT id, path, headings FROM (SELECT * FROM small ORDER BY signs <~> %s LIMIT 200) AS found
    ORDER BY embedding <#> %s LIMIT 5"""

if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    out, question, server = sys.argv[1:]
    dataset, encoder, columns = chunkmill.Dataset(out), chunkmill.Encoder.for_dataset(out), "id text, path text, headings text"
    with psycopg.connect(server) as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(db)
        db.execute(f"CREATE TABLE small ({columns}, embedding halfvec({encoder.dim}), signs bit({encoder.dim}))")
        rows = pa.table(dataset.chunks(["chunk_id", "path", "header_path"])).to_pylist()
        with db.cursor().copy("COPY small FROM STDIN WITH (FORMAT BINARY)") as copy:
            copy.set_types(["text", "text", "text", "halfvec", "bit"])
            for row, vector, bits in zip(rows, dataset.vectors(), np.unpackbits(dataset.vectors("bits"), axis=1)):
                copy.write_row([*row.values(), HalfVector(vector), Bit(bits[: encoder.dim] > 0)])
        vector = encoder.encode_queries([question])[0]
        for row in db.execute(FIND, (Bit(vector > 0), HalfVector(vector))):
            print(*row, sep="\t")
