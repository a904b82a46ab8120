"""Loads a dataset into PostgreSQL with pgvector and queries it.

    usage: python to_pgvector.py DATASET "QUESTION" postgresql://USER@HOST/DATABASE
"""

import sys

import chunkmill
import psycopg
import pyarrow as pa
from pgvector.psycopg import register_vector

if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    out, question, server = sys.argv[1:]
    dataset, encoder = chunkmill.Dataset(out), chunkmill.Encoder.for_dataset(out)
    with psycopg.connect(server) as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(db)
        db.execute(f"CREATE TABLE chunks (id text PRIMARY KEY, path text, headings text, embedding vector({encoder.dim}))")
        with db.cursor().copy("COPY chunks FROM STDIN WITH (FORMAT BINARY)") as copy:
            copy.set_types(["text", "text", "text", "vector"])
            rows = pa.table(dataset.chunks(["chunk_id", "path", "header_path"])).to_pylist()
            for row, vector in zip(rows, dataset.vectors()):
                copy.write_row([*row.values(), vector])
        vector = encoder.encode_queries([question])[0]
        for row in db.execute("SELECT id, path, headings FROM chunks ORDER BY embedding <=> %s LIMIT 5", (vector,)):
            print(*row, sep="\t")
