"""Chroma: a server, or a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

from ._plan import Batch, State, as_json, need
from ._target import Target, is_remote, key, locked

_EXTRA = "sync-chroma"


class Chroma(Target):
    """A collection. Records are written, then those that are gone are deleted; a reader in between sees both."""

    kinds = ("f32",)

    def __init__(self, place: str, table: str, writes: bool) -> None:
        super().__init__(place, table, writes)
        module = need("chromadb", _EXTRA)
        self._held = ExitStack()
        self._client: Any
        self._open: Any = None
        settings = module.Settings(anonymized_telemetry=False)
        if is_remote(place):
            url = urlsplit(place)
            is_tls = url.scheme == "https"
            port = url.port or (443 if is_tls else 8000)
            token = key("CHROMA_API_KEY")
            headers = {"x-chroma-token": token} if token else {}
            self._client = module.HttpClient(url.hostname, port, ssl=is_tls, headers=headers, settings=settings)
            return
        if writes:
            os.makedirs(place, exist_ok=True)
            self._held.enter_context(locked(os.path.join(place, "sync-lock")))
        self._client = module.PersistentClient(place, settings=settings)

    @classmethod
    def exists(cls, place: str) -> bool:
        return is_remote(place) or os.path.exists(os.path.join(place, "chroma.sqlite3"))

    def close(self) -> None:
        self._client.close()
        self._held.close()

    def find(self) -> str | None:
        try:
            self._open = self._client.get_collection(self.table, embedding_function=None)
        except need("chromadb.errors", _EXTRA).NotFoundError:
            return None
        metadata: dict[str, Any] = self._open.metadata or {}
        return str(metadata.get("chunkmill", ""))

    def create(self, state: State) -> None:
        self._open = self._client.create_collection(
            self.table, embedding_function=None, metadata={"chunkmill": state.text()}, configuration={"hnsw": {"space": "cosine"}}
        )

    def rows(self) -> Iterator[tuple[str, str]]:
        size, start = 5000, 0
        while True:
            got = self._open.get(limit=size, offset=start, include=["metadatas"])
            metadatas: list[dict[str, Any] | None] = got["metadatas"]
            for chunk_id, metadata in zip(got["ids"], metadatas):
                yield chunk_id, str(metadata.get("row_hash", "")) if metadata else ""
            start += size
            if len(got["ids"]) < size:
                return

    def write(self, batch: Batch) -> None:
        rows = batch.rows()
        documents = [row.pop("content") for row in rows] if "content" in self.source.columns else None
        metadatas = [{name: self._value(name, value) for name, value in row.items() if name != "chunk_id"} for row in rows]
        self._open.upsert(ids=batch.ids(), embeddings=batch.vectors, metadatas=metadatas, documents=documents)

    def _value(self, name: str, value: Any) -> Any:
        # A record keeps what an upsert does not name; null takes a key away.
        if value is None or value == []:
            return None
        return as_json(value) if self.source.types[name] == "json" else value

    def delete(self, ids: Sequence[str]) -> None:
        self._open.delete(ids=list(ids))

    def put(self, state: State) -> None:
        self._open.modify(metadata={"chunkmill": state.text()})
