"""LanceDB: a folder, or an object store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any

from ._plan import Batch, Plan, State, need, sliced
from ._target import Target, is_remote, locked

_EXTRA = "sync-lancedb"
_FIELD = "row_hash"
"""The field whose metadata has the state."""
_AT_ONCE = 10
"""Batches in one version of the table: LanceDB holds all of them in memory."""


class LanceDB(Target):
    """A table. An update of up to 100,000 rows is one new version of it, followed by one with the state."""

    kinds = ("f32", "f16", "int8", "bits")
    batch = 10_000

    def __init__(self, place: str, table: str, writes: bool) -> None:
        super().__init__(place, table, writes)
        module = need("lancedb", _EXTRA)
        self._arrow = need("pyarrow", _EXTRA)
        self._held = ExitStack()
        self._open: Any = None
        if writes and not is_remote(place):
            os.makedirs(place, exist_ok=True)
            self._held.enter_context(locked(os.path.join(place, f"{table}.sync-lock")))
        self._db: Any = module.connect(place)

    @classmethod
    def exists(cls, place: str) -> bool:
        return is_remote(place) or os.path.isdir(place)

    def close(self) -> None:
        self._held.close()

    def find(self) -> str | None:
        try:
            self._open = self._db.open_table(self.table)
        except ValueError as error:
            if "was not found" not in str(error):
                raise
            return None
        if _FIELD not in self._open.schema.names:
            return ""
        metadata: dict[bytes, bytes] = self._open.schema.field(_FIELD).metadata or {}
        return metadata.get(b"chunkmill", b"").decode()

    def create(self, state: State) -> None:
        width = -(-state.dim // 8) if state.vectors == "bits" else state.dim
        kinds = {"f32": self._arrow.float32(), "f16": self._arrow.float16(), "int8": self._arrow.int8(), "bits": self._arrow.uint8()}
        fields = list(self.source.schema)
        at = self.source.columns.index(_FIELD)
        fields[at] = fields[at].with_metadata({"chunkmill": state.text()})
        fields.append(self._arrow.field("embedding", self._arrow.list_(kinds[state.vectors], width), nullable=False))
        self._open = self._db.create_table(self.table, schema=self._arrow.schema(fields))

    def rows(self) -> Iterator[tuple[str, str]]:
        for batch in self._open.search().select(["chunk_id", "row_hash"]).to_batches(10_000):
            yield from zip(batch.column("chunk_id").to_pylist(), batch.column("row_hash").to_pylist())

    def change(self, state: State, batches: Iterator[Batch], plan: Plan) -> None:
        if state.snapshot is None:
            super().change(state, batches, plan)
            return
        for ids in sliced(plan.twice, self.batch):
            self.delete(ids)
        pieces = max(1, -(-(len(plan.added) + len(plan.changed)) // (_AT_ONCE * self.batch)))
        for number in range(1, pieces + 1):
            parts = (part for batch in islice(batches, _AT_ONCE) for part in self._parts(batch))
            self._merge(parts, plan.removed if number == pieces else [])
        self._open.optimize()

    def write(self, batch: Batch) -> None:
        self._merge(self._parts(batch), [])

    def _schema(self) -> Any:
        return self._arrow.schema([self._open.schema.field(name) for name in (*self.source.columns, "embedding")])

    def _parts(self, batch: Batch) -> Any:
        values = self._arrow.array(batch.vectors.reshape(-1))
        vectors = self._arrow.FixedSizeListArray.from_arrays(values, batch.vectors.shape[1])
        table = batch.table.append_column("embedding", vectors).cast(self._schema())
        return table.combine_chunks().to_batches()

    def _merge(self, parts: Any, removed: Sequence[str]) -> None:
        merge = self._open.merge_insert("chunk_id").when_matched_update_all().when_not_matched_insert_all()
        if removed:
            merge = merge.when_not_matched_by_source_delete(_among(removed))
        merge.execute(self._arrow.RecordBatchReader.from_batches(self._schema(), parts))

    def delete(self, ids: Sequence[str]) -> None:
        self._open.delete(_among(ids))

    def index(self) -> None:
        # Vectors are compared exactly until somebody makes an index, which `optimize` keeps up to date.
        self._open.optimize()

    def put(self, state: State) -> None:
        self._open.update_field_metadata({"path": _FIELD, "metadata": {"chunkmill": state.text()}})


def _among(ids: Sequence[str]) -> str:
    return "chunk_id IN ({})".format(", ".join("'{}'".format(chunk_id.replace("'", "''")) for chunk_id in ids))
