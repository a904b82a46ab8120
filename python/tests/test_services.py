"""Tests of vectors from a web service."""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import chunkmill
import pyarrow.parquet as pq
import pytest
from conftest import QUESTION

KEY = "sk-of-the-test"


class Service(ThreadingHTTPServer):
    """Answers like OpenAI, with the vectors of the default model. It notes each text."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.encoder = chunkmill.Encoder(precision="f32", embedding_cache="off")
        self.texts: list[str] = []
        self.endpoint = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.respond(404, {"error": {"message": "nothing here"}})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/embeddings" or self.headers["Authorization"] != f"Bearer {KEY}":
            self.respond(401, {"error": {"message": "not you"}})
            return
        texts = asked["input"]
        self.server.texts.extend(texts)
        data = []
        for index, vector in enumerate(self.server.encoder.encode(texts)):
            packed = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
            data.append({"index": index, "embedding": packed})
        self.respond(200, {"data": data, "model": asked["model"], "usage": {"prompt_tokens": 1}})

    def respond(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("CHUNKMILL_API_KEY", KEY)
    server = Service()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def vectors(dataset: Path) -> dict[str, list[float]]:
    tables = [pq.read_table(file, columns=["chunk_id", "embedding"]) for file in dataset.glob("data/chunks/*.parquet")]
    return {row["chunk_id"]: row["embedding"] for table in tables for row in table.to_pylist()}


def test_vectors_of_a_service_are_those_that_it_sent_and_questions_go_there(
    service: Service, corpus: Path, tmp_path: Path
) -> None:
    here = chunkmill.index(corpus, tmp_path / "here", precision="f32", embedding_cache="off")
    settings: dict[str, Any] = {"embedder": "remote", "endpoint": service.endpoint, "model": "mini"}
    there = chunkmill.index(corpus, tmp_path / "there", embedding_cache=tmp_path / "cache", **settings)
    assert (there.chunks, there.texts_embedded) == (here.chunks, here.texts_embedded)
    ours, theirs = vectors(tmp_path / "here"), vectors(tmp_path / "there")
    assert ours.keys() == theirs.keys() and len(ours) == here.chunks
    assert min(sum(a * b for a, b in zip(ours[id], theirs[id], strict=True)) for id in ours) > 0.99999
    assert len(service.texts) == len(set(service.texts)) == there.texts_embedded + 2
    searcher = chunkmill.Searcher(tmp_path / "there", endpoint=service.endpoint, search_cache="off")
    expected = chunkmill.Searcher(tmp_path / "here", search_cache="off").search(QUESTION, k=5, mode="vector")
    found = searcher.search(QUESTION, k=5, mode="vector")
    assert [hit.chunk_id for hit in found] == [hit.chunk_id for hit in expected]
    assert service.texts[-1] == QUESTION
    with pytest.raises(chunkmill.ModelError, match=service.endpoint):
        chunkmill.Searcher(tmp_path / "there", search_cache="off").search(QUESTION, k=5, mode="vector")
    assert KEY not in "".join(file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file())


def test_a_plan_counts_and_a_service_that_refuses_is_an_error_of_its_own(service: Service, corpus: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"embedder": "remote", "endpoint": service.endpoint, "model": "mini"}
    work = chunkmill.plan(corpus, tmp_path / "out", embedding_cache=tmp_path / "cache", **settings).estimate.service
    assert work is not None and work.texts > 500 and work.texts_cached == 0 and work.requests >= work.texts / 32
    assert len(service.texts) == 2
    with pytest.raises(chunkmill.ServiceError, match="--max-tokens|max_tokens"):
        chunkmill.index(corpus, tmp_path / "out", embedding_cache=tmp_path / "cache", max_tokens=5000, **settings)
    with pytest.raises(chunkmill.ServiceError, match="404|401"):
        chunkmill.Encoder("mini", embedder="remote", endpoint=service.endpoint + "/elsewhere", embedding_cache="off")
    encoder = chunkmill.Encoder("mini", embedder="remote", endpoint=service.endpoint, embedding_cache="off")
    assert encoder.encode(["backups"]).shape == (1, 384)
