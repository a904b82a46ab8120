"""PostgreSQL with pgvector."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._errors import LockedError
from ._plan import Batch, Plan, State, as_json, need
from ._target import Target

_EXTRA = "sync-postgresql"
_TYPES = {"text": "text", "integer": "int8", "boolean": "bool", "texts": "text[]", "json": "jsonb"}
# Type, operators of the index, and the largest number of dimensions that HNSW takes.
_VECTORS = {
    "f32": ("vector", "vector_cosine_ops", 2000),
    "f16": ("halfvec", "halfvec_cosine_ops", 4000),
    "bits": ("bit", "bit_hamming_ops", 64000),
}
# In JSON, an escaped NUL, unless its backslash is escaped itself.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_SECONDS = 5.0


class PostgreSQL(Target):
    """A table. An update is one transaction; a first load is one for each batch, so that it can be resumed."""

    kinds = ("f32", "f16", "bits")

    def __init__(self, place: str, table: str, writes: bool) -> None:
        super().__init__(place, table, writes)
        self._psycopg = need("psycopg", _EXTRA)
        self._pgvector = need("pgvector", _EXTRA)
        self._sql: Any = need("psycopg.sql", _EXTRA)
        self._db: Any = self._psycopg.connect(place, autocommit=True)

    def close(self) -> None:
        self._db.close()

    def find(self) -> str | None:
        if self.writes:
            self._lock()
        (found,) = self._db.execute("SELECT to_regclass(%s)::oid", (self._name().as_string(self._db),)).fetchone()
        if found is None:
            return None
        (comment,) = self._db.execute("SELECT obj_description(%s, 'pg_class')", (found,)).fetchone()
        return comment or ""

    def _lock(self) -> None:
        """Takes a lock that ends with the connection. The server needs a moment to see that a process was killed."""
        try:
            self._db.execute("SET client_connection_check_interval = '500ms'")
        except self._psycopg.Error:
            # Servers before version 14, and some systems, cannot look.
            pass
        until = time.monotonic() + _SECONDS
        query = "SELECT pg_try_advisory_lock(hashtextextended('chunkmill-sync ' || current_schema() || '.' || %s, 0))"
        while not self._db.execute(query, (self.table,)).fetchone()[0]:
            if time.monotonic() > until:
                raise LockedError("another sync is writing to it\n  help: wait until it is done")
            time.sleep(0.1)

    def create(self, state: State) -> None:
        columns = [self._column(name, _TYPES[of]) for name, of in self.source.types.items()]
        kind = self._sql.SQL(f"{_VECTORS[state.vectors][0]}({state.dim})")
        columns.append(self._sql.SQL("embedding {} NOT NULL").format(kind))
        self._db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        with self._db.transaction():
            self._run("CREATE TABLE {} ({})", self._name(), self._sql.SQL(", ").join(columns))
            self.put(state)

    def _column(self, name: str, kind: str) -> Any:
        more = " PRIMARY KEY" if name == "chunk_id" else " NOT NULL" if name == "row_hash" else ""
        return self._sql.SQL("{} " + kind + more).format(self._sql.Identifier(name))

    def rows(self) -> Iterator[tuple[str, str]]:
        with self._db.transaction(), self._db.cursor("chunkmill_rows") as cursor:
            cursor.itersize = 10_000
            cursor.execute(self._sql.SQL("SELECT chunk_id, row_hash FROM {}").format(self._name()))
            yield from cursor

    def change(self, state: State, batches: Iterator[Batch], plan: Plan) -> None:
        self._prepare()
        super().change(state, batches, plan)

    def apply(self, state: State, batches: Iterator[Batch], plan: Plan) -> None:
        if state.snapshot is None:
            super().apply(state, batches, plan)
        else:
            with self._db.transaction():
                super().apply(state, batches, plan)

    def _prepare(self) -> None:
        need("pgvector.psycopg", _EXTRA).register_vector(self._db)
        columns = self._columns()
        self._run("CREATE TEMPORARY TABLE chunkmill_batch AS SELECT {} FROM {} WITH NO DATA", columns, self._name())
        names = [name for name in (*self.source.columns, "embedding") if name != "chunk_id"]
        equal = [self._sql.SQL("{0} = excluded.{0}").format(self._sql.Identifier(name)) for name in names]
        self._upsert = self._sql.SQL(
            "INSERT INTO {0} ({1}) SELECT {1} FROM chunkmill_batch ON CONFLICT (chunk_id) DO UPDATE SET {2}"
        ).format(self._name(), columns, self._sql.SQL(", ").join(equal))
        self._copy = self._sql.SQL("COPY chunkmill_batch ({}) FROM STDIN WITH (FORMAT BINARY)").format(columns)

    def _columns(self) -> Any:
        return self._sql.SQL(", ").join(map(self._sql.Identifier, (*self.source.columns, "embedding")))

    def write(self, batch: Batch) -> None:
        types = [_TYPES[of] for of in self.source.types.values()]
        with self._db.transaction():
            self._db.execute("TRUNCATE chunkmill_batch")
            with self._db.cursor().copy(self._copy) as copy:
                copy.set_types([*types, _VECTORS[self.source.kind][0]])
                for row, vector in zip(batch.rows(), batch.vectors):
                    copy.write_row([*(self._value(name, value) for name, value in row.items()), self._vector(vector)])
            self._db.execute(self._upsert)

    def _value(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        if self.source.types[name] == "json":
            return self._psycopg.types.json.Jsonb(_NUL.sub(r"\1\\ufffd", as_json(value)), dumps=str)
        # PostgreSQL has no character NUL.
        if self.source.types[name] == "texts":
            return [part.replace("\0", "\ufffd") for part in value]
        return value.replace("\0", "\ufffd") if self.source.types[name] == "text" else value

    def _vector(self, vector: Any) -> Any:
        if self.source.kind == "f16":
            return self._pgvector.HalfVector(vector)
        if self.source.kind == "bits":
            return self._pgvector.Bit(np.unpackbits(vector)[: self.source.dim] > 0)
        return vector

    def delete(self, ids: Sequence[str]) -> None:
        self._db.execute(self._sql.SQL("DELETE FROM {} WHERE chunk_id = ANY(%s)").format(self._name()), (list(ids),))

    def index(self) -> None:
        _, operators, most = _VECTORS[self.source.kind]
        if self.source.dim <= most:
            name = self._sql.Identifier(f"{self.table}_embedding")
            self._run(f"CREATE INDEX IF NOT EXISTS {{}} ON {{}} USING hnsw (embedding {operators})", name, self._name())
        else:
            logging.getLogger("chunkmill").warning("the vectors have no index: pgvector's HNSW has a limit of %s dimensions for this type", f"{most:,}")
        if "doc_id" in self.source.columns:
            self._run("CREATE INDEX IF NOT EXISTS {} ON {} (doc_id)", self._sql.Identifier(f"{self.table}_doc_id"), self._name())

    def put(self, state: State) -> None:
        self._run("COMMENT ON TABLE {} IS {}", self._name(), self._sql.Literal(state.text()))

    def _name(self) -> Any:
        return self._sql.Identifier(self.table)

    def _run(self, query: str, *parts: Any) -> None:
        self._db.execute(self._sql.SQL(query).format(*parts))
