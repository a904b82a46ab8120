"""`chunkmill.sync` against real databases. Each is read with its own client, and must have what the dataset has."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chunkmill
import numpy as np
import pyarrow as pa
import pytest
from chunkmill.sync import Synced, sync
from conftest import QUESTION

COLUMNS = ["doc_id", "collection", "path", "header_path", "content", "kind", "start_line", "end_line", "tags", "metadata", "promotion_level"]
KILLS = int(os.environ.get("CHUNKMILL_SYNC_KILLS", "5"))
"""How often a sync is killed, for each database."""

Rows = dict[str, dict[str, Any]]


class Store(ABC):
    """A database, read and written to without the package."""

    kinds: Sequence[str]
    is_atomic = False
    """Whether an update is one step for readers."""
    tolerance = 0.0

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    def rows(self, table: str = "chunks") -> Rows:
        """All rows by key, with the vector as `embedding`, a list of floats."""

    @abstractmethod
    def state(self, table: str = "chunks") -> dict[str, Any]:
        """What the target says of itself."""

    @abstractmethod
    def damage(self, lost: str, wrong: str, extra: str) -> None:
        """Deletes a row, gives one another hash and text, and copies one under another key."""

    @abstractmethod
    def nearest(self, vector: Any, k: int) -> list[str]:
        """The keys of the rows with the most similar vectors."""

    @abstractmethod
    def make_foreign(self, table: str) -> None:
        """Makes a table that the package knows nothing of."""

    @abstractmethod
    def written(self) -> Any:
        """Differs whenever something was written."""


def files(folder: Path) -> dict[str, str]:
    """The hashes of all files, except for locks and what SQLite makes for readers."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(("lock", "-shm", "-wal"))]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


class SQLite(Store):
    kinds = ("f32", "int8", "bits")
    is_atomic = True

    def __init__(self, folder: Path) -> None:
        self.file = folder / "data.db"
        super().__init__(f"sqlite:{self.file}")

    @contextmanager
    def db(self) -> Iterator[Any]:
        import apsw
        import sqlite_vec

        with closing(apsw.Connection(str(self.file))) as db:
            db.enable_load_extension(True)
            db.load_extension(sqlite_vec.loadable_path())
            yield db

    def rows(self, table: str = "chunks") -> Rows:
        kind = self.state(table)["vectors"]
        found: Rows = {}
        with self.db() as db:
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            assert db.execute(f"SELECT count(*) FROM {table}_vec").get == db.execute(f"SELECT count(*) FROM {table}").get
            for *values, vector in db.execute(f"SELECT c.*, v.embedding FROM {table} c JOIN {table}_vec v ON v.rowid = c.id"):
                row = dict(zip(names, values))
                del row["id"]
                row |= {name: json.loads(row[name]) for name in ("tags", "metadata") if name in row}
                dtype = {"f32": np.float32, "int8": np.int8, "bits": np.uint8}[kind]
                row["embedding"] = np.frombuffer(vector, dtype=dtype).tolist()
                found[row.pop("chunk_id")] = row
        return found

    def state(self, table: str = "chunks") -> dict[str, Any]:
        with self.db() as db:
            return dict(json.loads(db.execute(f"SELECT state FROM {table}_state").get))

    def damage(self, lost: str, wrong: str, extra: str) -> None:
        with self.db() as db:
            db.execute("DELETE FROM chunks WHERE chunk_id = ?", (lost,))
            db.execute("UPDATE chunks SET row_hash = 'x', content = 'y' WHERE chunk_id = ?", (wrong,))
            db.execute("INSERT INTO chunks (chunk_id, row_hash) VALUES ('extra#0', 'x')")
            db.execute("DELETE FROM chunks_vec WHERE rowid = (SELECT id FROM chunks WHERE chunk_id = ?)", (extra,))

    def nearest(self, vector: Any, k: int) -> list[str]:
        query = "SELECT chunk_id FROM (SELECT rowid, distance FROM chunks_vec WHERE embedding MATCH ? AND k = ?) v JOIN chunks c ON c.id = v.rowid ORDER BY distance"
        with self.db() as db:
            return [row[0] for row in db.execute(query, (vector.tobytes(), k))]

    def make_foreign(self, table: str) -> None:
        with self.db() as db:
            db.execute(f"CREATE TABLE {table} (chunk_id TEXT)")

    def written(self) -> Any:
        with self.db() as db:
            # Changes of the file that other connections made.
            return db.execute("PRAGMA wal_checkpoint(TRUNCATE)").get, hashlib.sha256(self.file.read_bytes()).hexdigest()


class PostgreSQL(Store):
    kinds = ("f32", "f16", "bits")
    is_atomic = True

    @contextmanager
    def db(self) -> Iterator[Any]:
        import psycopg
        from pgvector.psycopg import register_vector

        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("CREATE EXTENSION IF NOT EXISTS vector")
            register_vector(db)
            yield db

    def rows(self, table: str = "chunks") -> Rows:
        with self.db() as db:
            cursor = db.execute(f"SELECT * FROM {table}")
            names = [column.name for column in cursor.description]
            found = {}
            for values in cursor:
                row = dict(zip(names, values))
                vector = row["embedding"]
                if isinstance(vector, str):
                    row["embedding"] = np.packbits([digit == "1" for digit in vector]).tolist()
                else:
                    row["embedding"] = (vector if isinstance(vector, np.ndarray) else vector.to_numpy()).tolist()
                found[row.pop("chunk_id")] = row
            return found

    def state(self, table: str = "chunks") -> dict[str, Any]:
        with self.db() as db:
            (text,) = db.execute(f"SELECT obj_description('{table}'::regclass)").fetchone()
            return dict(json.loads(text))

    def damage(self, lost: str, wrong: str, extra: str) -> None:
        with self.db() as db:
            db.execute("DELETE FROM chunks WHERE chunk_id = %s", (lost,))
            db.execute("UPDATE chunks SET row_hash = 'x', content = 'y' WHERE chunk_id = %s", (wrong,))
            db.execute("INSERT INTO chunks (chunk_id, row_hash, embedding) SELECT 'extra#0', row_hash, embedding FROM chunks WHERE chunk_id = %s", (extra,))

    def nearest(self, vector: Any, k: int) -> list[str]:
        with self.db() as db:
            db.execute("SET enable_seqscan = off")
            query = "SELECT chunk_id FROM chunks ORDER BY embedding <=> %s LIMIT %s"
            plan = " ".join(row[0] for row in db.execute(f"EXPLAIN {query}", (vector, k)))
            assert "Index Scan using chunks_embedding" in plan
            return [row[0] for row in db.execute(query, (vector, k))]

    def make_foreign(self, table: str) -> None:
        with self.db() as db:
            db.execute(f"CREATE TABLE {table} (chunk_id text)")

    def written(self) -> Any:
        with self.db() as db:
            return db.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())").fetchone()


class Qdrant(Store):
    kinds = ("f32", "f16")
    # It makes the length of each vector 1 itself.
    tolerance = 1e-6

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "qdrant"
        super().__init__(f"qdrant:{self.folder}")

    @contextmanager
    def client(self) -> Iterator[Any]:
        from qdrant_client import QdrantClient

        with closing(QdrantClient(path=str(self.folder))) as client:
            yield client

    def rows(self, table: str = "chunks") -> Rows:
        with self.client() as client:
            points, _ = client.scroll(table, limit=1_000_000, with_vectors=True)
        found = {}
        for point in points:
            row = dict(point.payload)
            row |= {"embedding": list(point.vector)} | ({"metadata": json.loads(row["metadata"])} if "metadata" in row else {})
            found[row.pop("chunk_id")] = row
        assert len(found) == len(points)
        return found

    def state(self, table: str = "chunks") -> dict[str, Any]:
        with self.client() as client:
            return dict(json.loads(client.get_collection(table).config.metadata["chunkmill"]))

    def damage(self, lost: str, wrong: str, extra: str) -> None:
        from qdrant_client import models

        with self.client() as client:
            by_id = {point.payload["chunk_id"]: point for point in client.scroll("chunks", limit=1_000_000, with_vectors=True)[0]}
            client.delete("chunks", models.PointIdsList(points=[by_id[lost].id]))
            client.set_payload("chunks", {"row_hash": "x", "content": "y"}, points=[by_id[wrong].id])
            of = by_id[extra]
            client.upsert("chunks", [models.PointStruct(id=7, vector=of.vector, payload=of.payload), models.PointStruct(id=8, vector=of.vector, payload={})])

    def nearest(self, vector: Any, k: int) -> list[str]:
        with self.client() as client:
            return [point.payload["chunk_id"] for point in client.query_points("chunks", query=vector, limit=k).points]

    def make_foreign(self, table: str) -> None:
        from qdrant_client import models

        with self.client() as client:
            client.create_collection(table, models.VectorParams(size=64, distance=models.Distance.COSINE))

    def written(self) -> Any:
        return files(self.folder)


class LanceDB(Store):
    kinds = ("f32", "f16", "int8", "bits")
    is_atomic = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "lance"
        super().__init__(f"lancedb:{self.folder}")

    def table(self, table: str = "chunks") -> Any:
        import lancedb

        return lancedb.connect(self.folder).open_table(table)

    def rows(self, table: str = "chunks") -> Rows:
        rows = self.table(table).to_arrow().to_pylist()
        for row in rows:
            row |= {"metadata": json.loads(row["metadata"])} if "metadata" in row else {}
        found = {row.pop("chunk_id"): row for row in rows}
        assert len(found) == len(rows)
        return found

    def state(self, table: str = "chunks") -> dict[str, Any]:
        return dict(json.loads(self.table(table).schema.field("row_hash").metadata[b"chunkmill"]))

    def damage(self, lost: str, wrong: str, extra: str) -> None:
        table = self.table()
        table.delete(f"chunk_id = '{lost}'")
        table.update(f"chunk_id = '{wrong}'", {"row_hash": "x", "content": "y"})
        copy = table.search().where(f"chunk_id = '{extra}'").to_arrow()
        # Nothing in LanceDB keeps a key from being there twice.
        table.add(copy)
        table.add(copy.set_column(copy.schema.names.index("chunk_id"), copy.schema.field("chunk_id"), pa.array(["extra#0"])))

    def nearest(self, vector: Any, k: int) -> list[str]:
        return [row["chunk_id"] for row in self.table().search(vector).distance_type("cosine").limit(k).to_list()]

    def make_foreign(self, table: str) -> None:
        import lancedb

        lancedb.connect(self.folder).create_table(table, [{"chunk_id": "a", "row_hash": "b"}])

    def written(self) -> Any:
        return files(self.folder)


class Chroma(Store):
    kinds = ("f32",)
    # It makes the length of each vector 1 itself.
    tolerance = 1e-6

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.folder = folder / "chroma"
        super().__init__(url or f"chroma:{self.folder}")

    @contextmanager
    def client(self) -> Iterator[Any]:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        if "http" in self.url:
            client = chromadb.HttpClient("localhost", int(self.url.rpartition(":")[2]), settings=settings)
        else:
            client = chromadb.PersistentClient(self.folder, settings=settings)
        with closing(client):
            yield client

    def rows(self, table: str = "chunks") -> Rows:
        with self.client() as client:
            got = client.get_collection(table, embedding_function=None).get(include=["metadatas", "documents", "embeddings"])
        found: Rows = {}
        for chunk_id, row, content, vector in zip(got["ids"], got["metadatas"], got["documents"], got["embeddings"]):
            # It stores neither null nor empty lists.
            row = (({"tags": [], "promotion_level": None} | row | {"metadata": json.loads(row["metadata"])}) if "metadata" in row else dict(row))
            found[chunk_id] = row | {"content": content, "embedding": vector.tolist()}
        return found

    def state(self, table: str = "chunks") -> dict[str, Any]:
        with self.client() as client:
            return dict(json.loads(client.get_collection(table, embedding_function=None).metadata["chunkmill"]))

    def damage(self, lost: str, wrong: str, extra: str) -> None:
        with self.client() as client:
            chunks = client.get_collection("chunks", embedding_function=None)
            of = chunks.get(ids=[extra], include=["metadatas", "documents", "embeddings"])
            chunks.delete(ids=[lost])
            chunks.update(ids=[wrong], embeddings=of["embeddings"], metadatas=[{"row_hash": "x"}], documents=["y"])
            chunks.add(ids=["extra#0"], embeddings=of["embeddings"], metadatas=of["metadatas"], documents=of["documents"])

    def nearest(self, vector: Any, k: int) -> list[str]:
        with self.client() as client:
            return list(client.get_collection("chunks", embedding_function=None).query([vector], n_results=k)["ids"][0])

    def make_foreign(self, table: str) -> None:
        with self.client() as client:
            client.create_collection(table, embedding_function=None)

    def written(self) -> Any:
        with self.client() as client:
            chunks = client.get_collection("chunks", embedding_function=None)
            got = chunks.get(include=["metadatas", "documents"])
            return chunks.metadata, got["ids"], got["metadatas"], got["documents"]


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Starts the server of Chroma."""
    import socket

    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).parent / "chroma", "run", "--path", tmp_path_factory.mktemp("chroma"), "--host", "localhost", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(300):
                with socket.socket() as tried:
                    if tried.connect_ex(("localhost", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"chroma+http://localhost:{port}"
        finally:
            server.terminate()


STORES = ["sqlite", *(pytest.param(name, marks=pytest.mark.heavy) for name in ("postgresql", "qdrant", "lancedb", "chroma"))]


def made(name: str, folder: Path, request: pytest.FixtureRequest) -> Store:
    if name == "postgresql":
        return PostgreSQL(request.getfixturevalue("postgresql"))
    return {"sqlite": SQLite, "qdrant": Qdrant, "lancedb": LanceDB, "chroma": Chroma}[name](folder)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return made(request.param, tmp_path, request)


def index(folder: Path, out: Path, **settings: Any) -> chunkmill.Dataset:
    chunkmill.index(folder, out, embedder="fake", embedding_cache="off", preset="heading-tokens", **settings)
    return chunkmill.Dataset(out)


def wanted(dataset: chunkmill.Dataset, kind: str = "f32", columns: Sequence[str] = COLUMNS) -> Rows:
    """What a target must have: the rows of the dataset as Python reads them."""
    rows = pa.table(dataset.chunks(["chunk_id", *columns, "row_hash"])).to_pylist()
    for row, vector in zip(rows, dataset.vectors(kind)):
        if "metadata" in row:
            row["metadata"] = json.loads(row["metadata"])
        row["embedding"] = vector.tolist()
    return {row.pop("chunk_id"): row for row in rows}


def differ(found: Rows, expected: Rows, tolerance: float = 0.0) -> str:
    """Says what differs first, or nothing."""
    if found.keys() != expected.keys():
        return f"keys: {sorted(found.keys() ^ expected.keys())[:5]}"
    for chunk_id, row in expected.items():
        other = dict(found[chunk_id])
        ours, theirs = np.array(row["embedding"]), np.array(other.pop("embedding"))
        if ours.shape != theirs.shape or not (np.abs(ours - theirs) <= tolerance).all():
            return f"vector of {chunk_id}"
        for name in (row.keys() | other.keys()) - {"embedding"}:
            if (name in row, row.get(name)) != (name in other, other.get(name)):
                return f"{name} of {chunk_id}: {other.get(name, 'none')!r}, not {row.get(name, 'none')!r}"
    return ""


def assert_equal(store: Store, dataset: chunkmill.Dataset, kind: str = "f32", table: str = "chunks") -> None:
    assert differ(store.rows(table), wanted(dataset, kind), store.tolerance) == ""
    state = store.state(table)
    assert state["snapshot"] == dataset.snapshot and state["syncing"] is None


WORDS = [f"{a}{b}" for a in ("vault", "larder", "shelf", "jar", "lid", "crate", "seal", "label") for b in ("", "s", "ed", "ing", "er")]


def text(chance: random.Random, sections: int) -> str:
    """A document: front matter with awkward values, and sections."""
    level = chance.choice(["", "promotion_level: important\n", "promotion_level: archived\n"])
    lines = [f"---\n{level}tags: {chance.choice(['[]', '[one, two]', '[it’s]'])}\nowner: \"o'{chance.randrange(9)}\"\n---\n# {chance.choice(WORDS)}\n"]
    for _ in range(sections):
        lines.append(f"## {chance.choice(WORDS)} 'quoted' \"ünï\" \\ {{}} %s\n\n{' '.join(chance.choices(WORDS, k=12))}.\n")
    return "\n".join(lines)


def write(folder: Path, name: str, content: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content, encoding="utf-8")


def edit(folder: Path, chance: random.Random) -> None:
    """Adds, changes, renames or deletes documents, or moves chunks within them."""
    for _ in range(chance.randint(1, 4)):
        documents = sorted(folder.rglob("*.md"))
        one = chance.choice(documents)
        kind = chance.choice(["add", "rewrite", "insert", "append", "rename", "promote", "delete"])
        if kind == "add":
            write(folder, f"new/it's {chance.randrange(10**6)}.md", text(chance, chance.randint(1, 5)))
        elif kind == "rewrite":
            one.write_text(text(chance, chance.randint(0, 6)))
        elif kind == "insert":
            head, _, rest = one.read_text().partition("## ")
            one.write_text(f"{head}## Inserted {chance.randrange(99)}\n\nA text.\n\n## {rest}")
        elif kind == "append":
            one.write_text(f"{one.read_text()}\n## Appended\n\nA text of {chance.choice(WORDS)}.\n")
        elif kind == "rename":
            one.rename(one.with_name(f"renamed-{chance.randrange(10**6)}.md"))
        elif kind == "promote":
            one.write_text(one.read_text().replace("---\n", f"---\nsince: {chance.randrange(99)}\n", 1))
        elif len(documents) > 8:
            one.unlink()


@pytest.fixture
def other_model(dataset: Path) -> Path:
    """A dataset with vectors of a real model."""
    return dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    chance = random.Random(1)
    for number in range(12):
        write(tmp_path / "docs", f"d{number}.md", text(chance, 4))
    return tmp_path / "docs"


@pytest.mark.parametrize("seed", range(3))
def test_the_target_follows_every_edit(store: Store, folder: Path, tmp_path: Path, seed: int) -> None:
    dataset = index(folder, tmp_path / "out")
    with pytest.raises(chunkmill.SettingError, match="there is no table of this name\n  help: `create=True`"):
        sync(dataset, store.url)
    done = sync(dataset, store.url, create=True)
    assert (done.added, done.changed, done.moved, done.removed, done.unchanged) == (len(dataset.chunks()), 0, 0, 0, 0)
    assert_equal(store, dataset)
    chance, before = random.Random(seed), wanted(dataset)
    for _ in range(4):
        edit(folder, chance)
        dataset = index(folder, tmp_path / "out", allow_shrink=True)
        done = sync(dataset, store.url, allow_shrink=True)
        assert_equal(store, dataset)
        now = wanted(dataset)
        new, gone = now.keys() - before.keys(), before.keys() - now.keys()
        same = [key for key in now.keys() & before.keys() if now[key]["row_hash"] == before[key]["row_hash"]]
        assert (done.removed, done.unchanged) == (len(gone), len(same))
        assert done.added + done.changed + done.moved == len(now) - len(same) and done.added <= len(new)
        before = now


def test_chunks_that_only_moved_are_counted_as_moved(store: Store, folder: Path, tmp_path: Path) -> None:
    sync(index(folder, tmp_path / "out"), store.url, create=True)
    document = folder / "d3.md"
    head, _, rest = document.read_text().partition("## ")
    document.write_text(f"{head}## Inserted\n\nA text.\n\n## {rest}")
    dataset = index(folder, tmp_path / "out")
    done = sync(dataset, store.url)
    assert done.moved >= 4 and done.added + done.changed <= 2 and done.removed == 0
    assert_equal(store, dataset)


def test_without_changes_nothing_is_written(store: Store, folder: Path, tmp_path: Path) -> None:
    dataset = index(folder, tmp_path / "out")
    sync(dataset, store.url, create=True)
    rows = len(dataset.chunks())
    before, expected = store.written(), wanted(dataset)
    for arguments in ({}, {"check": True}, {"create": True}, {"dry_run": True}, {"dry_run": True, "check": True}):
        done = sync(dataset, store.url, **arguments)  # type: ignore[arg-type]
        assert (done.added, done.changed, done.moved, done.removed, done.unchanged) == (0, 0, 0, 0, rows)
    edit(folder, random.Random(5))
    changed = index(folder, tmp_path / "out", allow_shrink=True)
    assert sync(changed, store.url, dry_run=True, allow_shrink=True).unchanged < rows
    assert store.written() == before
    assert differ(store.rows(), expected, store.tolerance) == ""


def test_a_dry_run_creates_nothing(store: Store, folder: Path, tmp_path: Path) -> None:
    dataset = index(folder, tmp_path / "out")
    there = files(tmp_path)
    done = sync(dataset, store.url, create=True, dry_run=True)
    assert done.dry_run and done.added == len(dataset.chunks()) and "nothing is written" in str(done)
    assert files(tmp_path) == there and {path.name for path in tmp_path.iterdir()} == {"docs", "out"}
    with pytest.raises(chunkmill.SettingError, match="there is no table"):
        sync(dataset, store.url, dry_run=True)
    with pytest.raises(chunkmill.SettingError, match="there is no table"):
        sync(dataset, store.url)
    assert {path.name for path in tmp_path.iterdir()} == {"docs", "out"}


def test_what_somebody_damaged_is_repaired(store: Store, folder: Path, tmp_path: Path) -> None:
    dataset = index(folder, tmp_path / "out")
    sync(dataset, store.url, create=True)
    ids = dataset.chunks(["chunk_id"])["chunk_id"]
    store.damage(ids[3], ids[7], ids[9])
    assert sync(dataset, store.url).unchanged == len(ids), "the snapshot is the same, so nothing is read"
    done = sync(dataset, store.url, check=True)
    assert done.added == 1 and done.changed >= 1 and done.removed >= 1
    assert_equal(store, dataset)
    assert sync(dataset, store.url, check=True).unchanged == len(ids)


def test_a_table_of_somebody_else_is_left_alone(store: Store, folder: Path, tmp_path: Path) -> None:
    dataset = index(folder, tmp_path / "out")
    sync(dataset, store.url, create=True)
    store.make_foreign("other")
    before = store.written()
    for arguments in ({}, {"create": True}, {"create": True, "check": True, "allow_shrink": True}):
        with pytest.raises(chunkmill.SettingError, match=r"\(other\): chunkmill-sync did not make this table"):
            sync(dataset, store.url, table="other", **arguments)  # type: ignore[arg-type]
    assert store.written() == before


def test_another_model_another_type_and_other_columns_are_refused(store: Store, folder: Path, tmp_path: Path, other_model: Path) -> None:
    dataset = index(folder, tmp_path / "out")
    columns = ["path", "content", "headings", "is_sub_split", "n_tokens"]
    sync(dataset, store.url, create=True, columns=columns)
    before = store.written()
    with pytest.raises(chunkmill.SettingError, match="it has the columns chunk_id, path"):
        sync(dataset, store.url, columns=["path"])
    if len(store.kinds) > 1:
        few = index(folder, tmp_path / "few", embedding_type="f32,int8,bits")
        with pytest.raises(chunkmill.SettingError, match=f"it has vectors of type `f32`, not `{store.kinds[1]}`"):
            sync(few, store.url, vectors=store.kinds[1])  # type: ignore[arg-type]
    with pytest.raises(chunkmill.SettingError, match=r"of the model `fake` \(64 dimensions, .*`sentence-transformers/.*` \(384 dimensions"):
        sync(other_model, store.url)
    assert store.written() == before
    # Later syncs keep the columns.
    edit(folder, random.Random(1))
    dataset = index(folder, tmp_path / "out", allow_shrink=True)
    sync(dataset, store.url, allow_shrink=True)
    found = store.rows()
    for chunk_id, row in wanted(dataset, columns=columns).items():
        headings = found[chunk_id].get("headings") or []
        found[chunk_id]["headings"] = json.loads(headings) if isinstance(headings, str) else headings
        assert {name: value for name, value in found[chunk_id].items() if name != "embedding"} == {name: row[name] for name in (*columns, "row_hash")}


@pytest.mark.parametrize("kind", ["f32", "f16", "int8", "bits"])
def test_vectors_of_each_type(store: Store, folder: Path, tmp_path: Path, kind: str) -> None:
    dataset = index(folder, tmp_path / "out", embedding_type="f16" if kind == "f16" else "f32,int8,bits")
    if kind not in store.kinds:
        with pytest.raises(chunkmill.SettingError, match=f"this database has no vectors of type `{kind}`"):
            sync(dataset, store.url, create=True, vectors=kind)  # type: ignore[arg-type]
        return
    sync(dataset, store.url, create=True, vectors=kind)  # type: ignore[arg-type]
    # Halves that Qdrant makes a length of 1 are rounded again.
    store.tolerance = max(store.tolerance, 1e-3 if store.tolerance and kind == "f16" else 0)
    assert_equal(store, dataset, kind)
    edit(folder, random.Random(3))
    dataset = index(folder, tmp_path / "out", embedding_type="f16" if kind == "f16" else "f32,int8,bits", allow_shrink=True)
    sync(dataset, store.url, allow_shrink=True)
    assert_equal(store, dataset, kind)


def test_most_of_a_target_is_not_deleted_by_mistake(store: Store, folder: Path, tmp_path: Path) -> None:
    sync(index(folder, tmp_path / "out"), store.url, create=True)
    before = store.written()
    for document in sorted(folder.rglob("*.md"))[2:]:
        document.unlink()
    dataset = index(folder, tmp_path / "out", allow_shrink=True)
    with pytest.raises(chunkmill.SettingError, match="rows would be deleted\n  help: is it the right dataset"):
        sync(dataset, store.url)
    assert store.written() == before
    sync(dataset, store.url, allow_shrink=True)
    assert_equal(store, dataset)


def test_the_nearest_are_those_of_chunkmills_own_search(store: Store, dataset: Path, searcher: chunkmill.Searcher) -> None:
    sync(dataset, store.url, create=True)
    hits = searcher.search(QUESTION, 5, mode="vector")
    vector = chunkmill.Encoder.for_dataset(dataset).encode_queries([QUESTION])[0]
    assert store.nearest(vector, 5) == [hit.chunk_id for hit in hits]


@pytest.mark.heavy
def test_a_server_of_chroma(chroma_server: str, folder: Path, tmp_path: Path) -> None:
    store = Chroma(tmp_path, chroma_server)
    with warnings.catch_warnings():
        # Chroma's client does not close its connections.
        warnings.simplefilter("ignore", ResourceWarning)
        for create in (True, False):
            dataset = index(folder, tmp_path / "out", allow_shrink=True)
            sync(dataset, store.url, create=create, allow_shrink=True)
            assert_equal(store, dataset)
            edit(folder, random.Random(2))
        with pytest.raises(chunkmill.Error, match=r"chroma\+http://localhost:1 \(chunks\): "):
            sync(dataset, "chroma+http://localhost:1")
        gc.collect()


CHILD = """
import sys
from chunkmill.sync import sync
out, url, table = sys.argv[1:]
if url.startswith("lancedb:"):
    # Its batches are larger than the dataset.
    from chunkmill.sync._lancedb import LanceDB
    LanceDB.batch = 500
print("ready", flush=True)
sync(out, url, table=table, create=True, allow_shrink=True, progress=lambda written, total: print("writing", flush=True))
print("end", flush=True)
"""


@dataclass
class Child:
    """A sync in a process of its own, which is killed some time after it is ready, or runs to its end."""

    begun: float
    """Seconds until it wrote."""
    seconds: float
    is_killed: bool
    is_hit: bool
    """Whether it was killed while it wrote."""

    @classmethod
    def run(cls, out: Path, url: str, table: str, kill: tuple[str, float] | None = None) -> Child:
        """Runs it. It is killed so many seconds after it says a word."""
        with subprocess.Popen([sys.executable, "-c", CHILD, out, url, table], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None and child.stderr is not None
            said: dict[str, float] = {}
            killer = threading.Timer(kill[1] if kill else 0, child.send_signal, [signal.SIGKILL])
            for word in map(str.strip, child.stdout):
                if kill is not None and word == kill[0] and word not in said:
                    killer.start()
                said.setdefault(word, time.monotonic())
            error = child.stderr.read()
            killer.cancel()
        is_killed = child.returncode == -signal.SIGKILL and "end" not in said
        assert is_killed or "end" in said, error
        began = said.get("writing", 0.0) - said["ready"]
        return cls(began, said.get("end", 0.0) - said["ready"], is_killed, is_killed and "writing" in said)

    def some_time(self, chance: random.Random) -> tuple[str, float]:
        """A moment of a process like this one: any, or one at which it writes."""
        if chance.random() < 0.3:
            return "ready", chance.uniform(0, self.seconds)
        return "writing", chance.uniform(0, 0.8 * (self.seconds - self.begun))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two datasets of some 2,500 chunks that differ in a third of them."""
    base, chance = tmp_path_factory.mktemp("two"), random.Random(4)
    for number in range(250):
        write(base / "docs", f"p{number % 7}/d{number}.md", text(chance, 9))
    index(base / "docs", base / "one")
    for number, document in enumerate(sorted((base / "docs").rglob("*.md"))):
        if number % 6 == 0:
            document.write_text(text(chance, 12))
        elif number % 6 == 1:
            document.rename(document.with_name(f"renamed-{number}.md"))
    index(base / "docs", base / "other")
    return [base / "one", base / "other"]


def test_a_killed_sync_resumes(store: Store, two: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    datasets = [chunkmill.Dataset(out) for out in two]
    expected = [wanted(dataset) for dataset in datasets]
    chance = random.Random(KILLS)
    load = Child.run(two[0], store.url, "measured")
    update = Child.run(two[1], store.url, "measured")
    sync(two[0], store.url, create=True)
    has = 0
    hits = {"load": 0, "update": 0}
    killed = 0
    for number in range(KILLS):
        if number % 3 == 0:
            # A first load of a new table.
            table = f"load{number}"
            child = Child.run(two[0], store.url, table, load.some_time(chance))
            hits["load"] += child.is_hit
            load = load if child.is_killed else min(load, child, key=lambda run: run.seconds)
            sync(two[0], store.url, table=table, create=True)
            assert differ(store.rows(table), expected[0], store.tolerance) == "", number
            assert store.state(table)["snapshot"] == datasets[0].snapshot
        else:
            child = Child.run(two[1 - has], store.url, "chunks", update.some_time(chance))
            hits["update"] += child.is_hit
            update = update if child.is_killed else min(update, child, key=lambda run: run.seconds)
            if store.is_atomic:
                rows = store.rows()
                assert "" in (differ(rows, expected[has]), differ(rows, expected[1 - has])), "a reader sees one snapshot or the other"
            sync(two[1 - has], store.url, allow_shrink=True)
            has = 1 - has
            assert differ(store.rows(), expected[has], store.tolerance) == "", number
            assert store.state()["syncing"] is None
        killed += child.is_killed
    with capsys.disabled():
        print(f"\n{type(store).__name__}: {killed} of {KILLS} killed, while they wrote: {hits['load']} loads, {hits['update']} updates", end=" ")


def test_two_syncs_at_once_do_no_harm(store: Store, two: list[Path]) -> None:
    sync(two[0], store.url, create=True)
    command = [sys.executable, "-c", CHILD, two[1], store.url, "chunks"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [child.communicate()[1] for child in both]
    assert any(child.returncode == 0 for child in both), errors
    assert all(child.returncode == 0 or "LockedError" in error for child, error in zip(both, errors)), errors
    dataset = chunkmill.Dataset(two[1])
    assert_equal(store, dataset)


def test_a_nul_in_front_matter(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "docs", "a.md", '---\nowner: "a\\0b\\\\u0000c"\ntags: ["x\\0y"]\n---\n# A\n\nText.\n')
    dataset = index(tmp_path / "docs", tmp_path / "out")
    sync(dataset, store.url, create=True)
    expected = wanted(dataset)
    row = expected["a.md#0"]
    assert (row["metadata"], row["tags"]) == ({"owner": "a\0b\\u0000c"}, ["x\0y"])
    if isinstance(store, PostgreSQL):
        row |= {"metadata": {"owner": "a\ufffdb\\u0000c"}, "tags": ["x\ufffdy"]}
    assert differ(store.rows(), expected, store.tolerance) == ""


@pytest.mark.heavy
def test_a_large_update_of_lancedb_is_written_in_pieces(two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LanceDB(tmp_path)
    sync(two[0], store.url, create=True)
    before = store.table().version
    monkeypatch.setattr("chunkmill.sync._lancedb._AT_ONCE", 2)
    monkeypatch.setattr("chunkmill.sync._lancedb.LanceDB.batch", 100)
    done = sync(two[1], store.url, allow_shrink=True)
    assert done.removed and store.table().version > before + (done.added + done.changed + done.moved) // 200
    assert_equal(store, chunkmill.Dataset(two[1]))


@pytest.mark.parametrize("name", [STORES[0], STORES[1]])
def test_columns_and_tables_of_the_user_stay(name: str, folder: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    store: Any = made(name, tmp_path, request)
    with store.db() as db:
        db.execute("CREATE TABLE mine (a TEXT)")
    dataset = index(folder, tmp_path / "out")
    sync(dataset, store.url, create=True)
    kept = dataset.chunks(["chunk_id"])["chunk_id"][5]
    with store.db() as db:
        db.execute("ALTER TABLE chunks ADD COLUMN note TEXT")
        db.execute(f"UPDATE chunks SET note = 'mine' WHERE chunk_id = '{kept}'")
    head, _, rest = (folder / "d3.md").read_text().partition("## ")
    (folder / "d3.md").write_text(f"{head}## Inserted\n\nA text.\n\n## {rest}")
    dataset = index(folder, tmp_path / "out")
    sync(dataset, store.url)
    with store.db() as db:
        noted = list(db.execute("SELECT chunk_id FROM chunks WHERE note = 'mine'"))
        assert [tuple(row) for row in noted] == [(kept,)]
        db.execute("ALTER TABLE chunks DROP COLUMN note")
        assert len(list(db.execute("SELECT a FROM mine"))) == 0
    assert_equal(store, dataset)


# The program, and what it says.


def program(*arguments: str | Path, code: int = 0, **env: str) -> str:
    command = [sys.executable, "-m", "chunkmill.sync", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | env)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def test_the_program(folder: Path, tmp_path: Path) -> None:
    dataset = index(folder, tmp_path / "out")
    target, rows = f"sqlite:{tmp_path / 'data.db'}", len(dataset.chunks())
    said = program(tmp_path / "out", target, code=2)
    assert said == f"error: {target} (chunks): there is no table of this name\n  help: `--create` creates it\n"
    assert program(tmp_path / "out", target, "--create", "--columns", "path, content").startswith(f"{target} (chunks): {rows} added, 0 changed")
    read = json.loads(program(tmp_path / "out", target, "--json"))
    assert read["unchanged"] == rows and read["snapshot"] == dataset.snapshot and read["target"] == f"{target} (chunks)"
    assert "the columns chunk_id, path, content, row_hash" in program(tmp_path / "out", target, "--columns", "path", code=2)
    assert "usage: chunkmill-sync" in program("--help") and "--dry-run" in program("--help")
    assert "usage: chunkmill-sync" in program(tmp_path / "out", code=2)
    assert "nowhere" in program(tmp_path / "nowhere", target, code=5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": "data.db"}, "`data.db` is not the URL of a database"),
        ({"target": "mysql://u:secret@h/d"}, "`mysql://u:***@h/d` is not the URL of a database"),
        ({"target": "sqlite:"}, "names no place"),
        ({"target": "sqlite:///data.db"}, "names no place"),
        ({"target": "sqlite:data.db", "table": "a; drop"}, "`a; drop` is not a name for a table"),
        ({"target": "sqlite:data.db", "create": True, "columns": ["modified_time"]}, "cannot be kept up to date"),
        ({"target": "sqlite:data.db", "create": True, "columns": ["embedding"]}, "`embedding` has vectors"),
        ({"target": "sqlite:data.db", "create": True, "columns": ["contents"]}, "contents"),
        ({"target": "sqlite:data.db", "create": True, "vectors": "int8"}, "the dataset has no vectors of type `int8`; it has f32"),
        ({"target": "sqlite:data.db", "vectors": "f64"}, "`f64` is not understood"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], said: str) -> None:
    index(folder, tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(chunkmill.SettingError) as error:
        sync("out", **arguments)
    assert said in str(error.value) and "\n  help: " in str(error.value)
    assert not Path("data.db").exists()


@pytest.mark.heavy
def test_passwords_are_not_shown(folder: Path, tmp_path: Path) -> None:
    index(folder, tmp_path / "out")
    for target in ("postgresql://me:s3cr%2Ft@localhost:1/db", "postgresql://me@localhost:1/db?password=s3cr%2Ft", "postgresql://me:s3cr%2Ft@[bad/db"):
        said = program(tmp_path / "out", target, code=5)
        assert said.startswith("error: postgresql://me") and "***" in said and "s3cr" not in said and "help: " in said, said
    said = program(tmp_path / "out", "qdrant+http://localhost:1", code=5, QDRANT_API_KEY="s3cr/t")
    assert "s3cr" not in said and "qdrant+http://localhost:1 (chunks): " in said


@pytest.mark.parametrize(
    ("target", "package", "extra"),
    [
        ("postgresql://localhost/db", "psycopg", "postgresql"),
        ("qdrant:q", "qdrant_client", "qdrant"),
        ("lancedb:l", "lancedb", "lancedb"),
        ("chroma:c", "chromadb", "chroma"),
        ("sqlite:s", "apsw", "sqlite"),
        ("sqlite:s", "sqlite_vec", "sqlite"),
    ],
)
def test_a_missing_package_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, package: str, extra: str) -> None:
    index(folder, tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(chunkmill.SettingError) as error:
        sync("out", target, create=True)
    assert f"the package `{package}` is not installed\n  help: pip install 'chunkmill[sync-{extra}]'" in str(error.value)


def test_an_interrupted_program_says_so(two: list[Path], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "chunkmill.sync", two[0], f"sqlite:{tmp_path / 'data.db'}", "--create"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        while not (tmp_path / "data.db").exists() and child.poll() is None:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        said = child.communicate()[1]
    assert (child.returncode, said) in [(130, "error: interrupted\n  help: run it again, and it resumes\n"), (0, "")]
    assert isinstance(sync(two[0], f"sqlite:{tmp_path / 'data.db'}", create=True), Synced)


