"""Qdrant: a server, or a folder with the client's local mode."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from .._errors import LockedError, SettingError
from ._plan import Batch, State, need
from ._target import Target, is_remote, key

_EXTRA = "sync-qdrant"
# A point that has no chunk: its id follows.
_STRAY = "\0"


class Qdrant(Target):
    """A collection. Points are written, then those that are gone are deleted; a reader in between sees both."""

    kinds = ("f32", "f16")
    batch = 500

    def __init__(self, place: str, table: str, writes: bool) -> None:
        super().__init__(place, table, writes)
        module = need("qdrant_client", _EXTRA)
        self._models = module.models
        self._is_local = not is_remote(place)
        self._client: Any
        if not self._is_local:
            self._client = module.QdrantClient(url=place, api_key=key("QDRANT_API_KEY"), timeout=120)
        else:
            try:
                self._client = module.QdrantClient(path=place)
            except RuntimeError as error:
                if "already accessed" not in str(error):
                    raise
                raise LockedError("another process has it open\n  help: wait until it is done, or use a server") from None

    @classmethod
    def exists(cls, place: str) -> bool:
        return is_remote(place) or os.path.exists(os.path.join(place, "meta.json"))

    def close(self) -> None:
        self._client.close()

    def find(self) -> str | None:
        if not self._client.collection_exists(self.table):
            return None
        metadata: dict[str, Any] = self._client.get_collection(self.table).config.metadata or {}
        return str(metadata.get("chunkmill", ""))

    def create(self, state: State) -> None:
        datatype = self._models.Datatype.FLOAT16 if state.vectors == "f16" else None
        vectors = self._models.VectorParams(size=state.dim, distance=self._models.Distance.COSINE, datatype=datatype)
        self._client.create_collection(self.table, vectors_config=vectors, metadata={"chunkmill": state.text()})
        if self.find() == "":
            self._client.delete_collection(self.table)
            raise SettingError("this server does not store the metadata of a collection\n  help: use Qdrant 1.16 or later")

    def rows(self) -> Iterator[tuple[str, str]]:
        offset = None
        while True:
            points, offset = self._client.scroll(self.table, limit=10_000, offset=offset, with_payload=["chunk_id", "row_hash"])
            for point in points:
                payload: dict[str, Any] = point.payload or {}
                chunk_id = str(payload.get("chunk_id", ""))
                is_ours = str(point.id) == _point(chunk_id)
                yield chunk_id if is_ours else f"{_STRAY}{point.id}", str(payload.get("row_hash", ""))
            if offset is None:
                return

    def write(self, batch: Batch) -> None:
        points = self._models.Batch(ids=[_point(chunk_id) for chunk_id in batch.ids()], vectors=batch.vectors.tolist(), payloads=batch.rows())
        self._client.upsert(self.table, points, wait=True)

    def delete(self, ids: Sequence[str]) -> None:
        points = [chunk_id[1:] if chunk_id.startswith(_STRAY) else _point(chunk_id) for chunk_id in ids]
        selected: Any = [int(point) if point.isdecimal() else point for point in points]
        self._client.delete(self.table, self._models.PointIdsList(points=selected), wait=True)

    def index(self) -> None:
        # Vectors are indexed by the server. The local mode has no indexes.
        if not self._is_local and "doc_id" in self.source.columns:
            self._client.create_payload_index(self.table, "doc_id", self._models.PayloadSchemaType.KEYWORD, wait=True)

    def put(self, state: State) -> None:
        self._client.update_collection(self.table, metadata={"chunkmill": state.text()})


def _point(chunk_id: str) -> str:
    """Returns the id of a chunk's point: Qdrant takes numbers and UUIDs alone."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, chunk_id))
