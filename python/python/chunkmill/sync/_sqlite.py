"""SQLite with sqlite-vec."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from .._errors import LockedError
from ._plan import Batch, Plan, State, as_json, need
from ._target import Target, locked

_EXTRA = "sync-sqlite"
_TYPES = {"text": "TEXT", "integer": "INTEGER", "boolean": "INTEGER", "texts": "TEXT", "json": "TEXT"}
# Type of the column, and how a value is passed.
_VECTORS = {"f32": ("float[{}] distance_metric=cosine", "?"), "int8": ("int8[{}] distance_metric=cosine", "vec_int8(?)"), "bits": ("bit[{}]", "vec_bit(?)")}


class SQLite(Target):
    """A table, one with its vectors, and one with the state. Transactions are those of PostgreSQL."""

    kinds = ("f32", "int8", "bits")

    def __init__(self, place: str, table: str, writes: bool) -> None:
        super().__init__(place, table, writes)
        # Python's own module cannot load extensions everywhere.
        self._apsw = need("apsw", _EXTRA)
        vec = need("sqlite_vec", _EXTRA)
        self._held = ExitStack()
        if writes:
            self._held.enter_context(locked(f"{place}-sync-lock"))
        flags = self._apsw.SQLITE_OPEN_READWRITE | self._apsw.SQLITE_OPEN_CREATE if writes else self._apsw.SQLITE_OPEN_READONLY
        self._db: Any = self._apsw.Connection(place, flags=flags)
        self._db.set_busy_timeout(5000)
        self._db.enable_load_extension(True)
        self._db.load_extension(vec.loadable_path())
        self._db.enable_load_extension(False)

    @classmethod
    def exists(cls, place: str) -> bool:
        return os.path.exists(place)

    def close(self) -> None:
        self._db.close()
        self._held.close()

    def find(self) -> str | None:
        if not self._has(self.table):
            return None
        if not self._has(f"{self.table}_vec") or not self._has(f"{self.table}_state"):
            return ""
        return str(self._db.execute(f"SELECT state FROM {self.table}_state").get)

    def _has(self, table: str) -> bool:
        return bool(self._db.execute("SELECT count(*) FROM sqlite_master WHERE name = ? COLLATE NOCASE", (table,)).get)

    def create(self, state: State) -> None:
        columns = [f"{name} {_TYPES[of]}{' NOT NULL UNIQUE' if name == 'chunk_id' else ''}" for name, of in self.source.types.items()]
        if not self._db.execute("SELECT count(*) FROM sqlite_master").get:
            # In a new file, readers neither wait for a sync nor keep it waiting.
            self._db.execute("PRAGMA journal_mode = WAL")
        with self._db:
            self._db.execute(f"CREATE TABLE {self.table} (id INTEGER PRIMARY KEY, {', '.join(columns)})")
            vectors = _VECTORS[state.vectors][0].format(state.dim)
            self._db.execute(f"CREATE VIRTUAL TABLE {self.table}_vec USING vec0(embedding {vectors})")
            self._db.execute(f"CREATE TABLE {self.table}_state (state TEXT NOT NULL)")
            self._db.execute(f"INSERT INTO {self.table}_state VALUES ('')")
            self.put(state)

    def rows(self) -> Iterable[tuple[str, str]]:
        # A row without its vector is written again.
        has_vector = f"id IN (SELECT rowid FROM {self.table}_vec)"
        return self._db.execute(f"SELECT chunk_id, CASE WHEN {has_vector} THEN row_hash ELSE '' END FROM {self.table}")  # type: ignore[no-any-return]

    def apply(self, state: State, batches: Iterator[Batch], plan: Plan) -> None:
        try:
            if state.snapshot is None:
                super().apply(state, batches, plan)
            else:
                with self._db:
                    super().apply(state, batches, plan)
        except self._apsw.BusyError:
            raise LockedError("another process is writing to it\n  help: wait until it is done") from None

    def write(self, batch: Batch) -> None:
        names = self.source.columns
        equal = ", ".join(f"{name} = excluded.{name}" for name in names if name != "chunk_id")
        rows = [tuple(self._value(name, value) for name, value in row.items()) for row in batch.rows()]
        keys = [(chunk_id,) for chunk_id in batch.ids()]
        vectors = [(vector.tobytes(), chunk_id) for vector, (chunk_id,) in zip(batch.vectors, keys)]
        with self._db:
            self._db.executemany(
                f"INSERT INTO {self.table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
                f" ON CONFLICT (chunk_id) DO UPDATE SET {equal}",
                rows,
            )
            # A table of vec0 has neither upserts nor, for all types, updates.
            self._db.executemany(f"DELETE FROM {self.table}_vec WHERE rowid = (SELECT id FROM {self.table} WHERE chunk_id = ?)", keys)
            value = _VECTORS[self.source.kind][1]
            self._db.executemany(f"INSERT INTO {self.table}_vec (rowid, embedding) SELECT id, {value} FROM {self.table} WHERE chunk_id = ?2", vectors)

    def _value(self, name: str, value: Any) -> Any:
        if value is None or self.source.types[name] not in ("json", "texts"):
            return value
        return as_json(value)

    def delete(self, ids: Sequence[str]) -> None:
        keys = [(chunk_id,) for chunk_id in ids]
        with self._db:
            self._db.executemany(f"DELETE FROM {self.table}_vec WHERE rowid = (SELECT id FROM {self.table} WHERE chunk_id = ?)", keys)
            self._db.executemany(f"DELETE FROM {self.table} WHERE chunk_id = ?", keys)

    def index(self) -> None:
        if "doc_id" in self.source.columns:
            self._db.execute(f"CREATE INDEX IF NOT EXISTS {self.table}_doc_id ON {self.table} (doc_id)")

    def change(self, state: State, batches: Iterator[Batch], plan: Plan) -> None:
        super().change(state, batches, plan)
        # Somebody may have deleted a row and left its vector.
        self._db.execute(f"DELETE FROM {self.table}_vec WHERE rowid NOT IN (SELECT id FROM {self.table})")

    def put(self, state: State) -> None:
        self._db.execute(f"UPDATE {self.table}_state SET state = ?", (state.text(),))
