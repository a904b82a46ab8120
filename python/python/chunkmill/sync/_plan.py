"""What a sync has to do: the rows of a dataset, and their comparison with those of a target."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._errors import Error, SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .. import Dataset

COLUMNS = ("doc_id", "collection", "path", "header_path", "content", "kind", "start_line", "end_line", "tags", "metadata", "promotion_level")
"""The columns of a target by default."""

KEYS = ("chunk_id", "row_hash")
"""The columns that every target has."""

_T = TypeVar("_T")


def need(module: str, extra: str) -> Any:
    """Imports a module of a package that only one target needs."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = getattr(error, "name", None) or module
        raise SettingError(f"the package `{missing}` is not installed\n  help: pip install 'chunkmill[{extra}]'") from None


@dataclass(frozen=True)
class State:
    """What a target says of itself: how it was made, and which snapshot of the dataset it has."""

    model: str
    model_fingerprint: str
    dim: int
    vectors: str
    columns: tuple[str, ...]
    snapshot: str | None = None
    """The snapshot that the target has; None until the first load is done."""
    syncing: str | None = None
    """The snapshot that a sync is writing, or was writing when it was interrupted."""

    def text(self) -> str:
        """Returns it as JSON."""
        return json.dumps({"made_by": "chunkmill-sync", "format": 1, **asdict(self)})

    @classmethod
    def parse(cls, text: str | None) -> State | None:
        """Reads it, or returns None if the text is not a state: the target is somebody else's."""
        try:
            read: dict[str, Any] = json.loads(text or "")
            ours = read.pop("made_by") == "chunkmill-sync"
        except (ValueError, LookupError, TypeError, AttributeError):
            return None
        if not ours:
            return None
        if read.pop("format", None) != 1:
            raise SettingError("a later version of chunkmill-sync made it\n  help: install that version")
        read["columns"] = tuple(read["columns"])
        return cls(**read)


@dataclass(frozen=True)
class Batch:
    """Some rows to write."""

    table: Any
    """An Arrow table of the columns, the keys included."""
    vectors: NDArray[Any]

    def ids(self) -> list[str]:
        """Returns the chunk ids of its rows."""
        return self.table.column("chunk_id").to_pylist()  # type: ignore[no-any-return]

    def rows(self) -> list[dict[str, Any]]:
        """Returns its rows without the vectors."""
        return self.table.to_pylist()  # type: ignore[no-any-return]


class Source:
    """The rows of a dataset, with some columns and one type of vectors. They are read in batches."""

    def __init__(self, dataset: Dataset, columns: Sequence[str], kind: str) -> None:
        self._arrow = need("pyarrow", "sync")
        self._dataset = dataset
        self.dim: int = dataset.about()["dim"]
        self.kind = kind
        self._vectors, self._dtype = _vector_column(vector_columns(dataset), kind)
        self.columns = tuple(dict.fromkeys([KEYS[0], *columns, KEYS[1]]))
        self.schema: Any = self._arrow.schema(dataset.chunks(list(self.columns)))
        self.types = {name: _type(self._arrow, name, self.schema.field(name).type) for name in self.columns}

    def hashes(self) -> Iterator[tuple[str, str]]:
        """Yields the key and the hash of each row."""
        for batch in self._read(list(KEYS)):
            yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist())

    def batches(self, wanted: set[str] | None, size: int) -> Iterator[Batch]:
        """Yields the wanted rows, or all of them, in batches of a size."""
        pending = self._arrow.Table.from_batches([], self._arrow.schema(self._dataset.chunks([*self.columns, self._vectors])))
        for batch in self._read([*self.columns, self._vectors]):
            if wanted is not None:
                is_wanted = [chunk_id in wanted for chunk_id in batch.column(0).to_pylist()]
                batch = batch.filter(self._arrow.array(is_wanted, self._arrow.bool_()))
            pending = self._arrow.concat_tables([pending, self._arrow.Table.from_batches([batch])])
            while pending.num_rows >= size:
                yield self._batch(pending.slice(0, size))
                pending = pending.slice(size)
        if pending.num_rows:
            yield self._batch(pending)

    def _batch(self, table: Any) -> Batch:
        parts = [part.flatten().to_numpy(zero_copy_only=False) for part in table.column(self._vectors).chunks]
        vectors = np.concatenate(parts).reshape(table.num_rows, -1).astype(self._dtype, copy=False)
        return Batch(table.drop_columns([self._vectors]), vectors)

    def _read(self, columns: list[str]) -> Any:
        return self._arrow.RecordBatchReader.from_stream(self._dataset.chunks(columns))


def vector_columns(dataset: Dataset) -> dict[str, str]:
    """Returns the types of a dataset's vectors with the columns that have them, the most exact first."""
    arrow = need("pyarrow", "sync")
    schema = arrow.schema(dataset.chunks())
    found: dict[str, str] = {}
    for name in schema.names:
        if name == "embedding":
            found["f16" if schema.field(name).type.value_type == arrow.float16() else "f32"] = name
        elif name in ("embedding_int8", "embedding_bits"):
            found[name.removeprefix("embedding_")] = name
    return {kind: found[kind] for kind in ("f32", "f16", "int8", "bits") if kind in found}


def choose_kind(stored: dict[str, str], able: Sequence[str], wanted: str | None) -> str:
    """Returns the type of vectors for a target: the one that is wanted, or the most exact one."""
    if wanted is not None and wanted not in able:
        raise SettingError(f"this database has no vectors of type `{wanted}`\n  help: it has {' and '.join(able)}")
    # Halves can be written as floats without a loss.
    exact = [*stored, *(["f32"] if "f16" in stored else [])]
    for kind in exact if wanted is None else [wanted]:
        if kind in able:
            return kind
    has = " and ".join(stored)
    raise SettingError(f"this database has no vectors of type {has}, and the dataset no others\n  help: index with `embedding_type=\"f32\"`")


def _vector_column(stored: dict[str, str], kind: str) -> tuple[str, Any]:
    dtype = {"f32": np.float32, "f16": np.float16, "int8": np.int8, "bits": np.uint8}[kind]
    floats = stored.get("f32") or stored.get("f16")
    column = stored.get(kind) or (floats if kind in ("f32", "f16") else None)
    if column is None:
        has = " and ".join(stored)
        raise SettingError(
            f"the dataset has no vectors of type `{kind}`; it has {has}\n  help: index with `embedding_type=\"{','.join([*stored, kind])}\"`"
        )
    return column, dtype


def _type(arrow: Any, name: str, of: Any) -> str:
    """Returns the type of a column as the targets know it: text, integer, boolean, texts or json."""
    if name == "modified_time":
        raise SettingError(f"columns: `{name}` is not part of `row_hash`, so it cannot be kept up to date\n  help: leave it out")
    if name in ("sparse_embedding", "embedding", "embedding_int8", "embedding_bits"):
        raise SettingError(f"columns: `{name}` has vectors\n  help: leave it out; `vectors` says which vectors are written")
    if name == "metadata" or (arrow.types.is_list(of) and arrow.types.is_struct(of.value_type)):
        return "json"
    if arrow.types.is_list(of):
        return "texts"
    return "text" if arrow.types.is_string(of) else "boolean" if arrow.types.is_boolean(of) else "integer"


def as_json(value: Any) -> str:
    """Returns a value of type json as a text; `metadata` is one already."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass
class Plan:
    """The differences between a dataset and a target."""

    added: set[str] = field(default_factory=set[str])
    changed: set[str] = field(default_factory=set[str])
    removed: list[str] = field(default_factory=list[str])
    twice: list[str] = field(default_factory=list[str])
    """Keys that the target has more than once, which only a store without unique keys can."""
    unchanged: int = 0
    stored: int = 0

    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.added or self.changed or self.removed)


def compare(wanted: Iterable[tuple[str, str]], stored: Iterable[tuple[str, str]]) -> Plan:
    """Compares the keys and hashes of a dataset's rows with those of a target."""
    plan = Plan()
    have: dict[str, bytes | None] = {}
    for chunk_id, row_hash in stored:
        if chunk_id in have:
            plan.twice.append(chunk_id)
        have[chunk_id] = None if chunk_id in have else _bytes(row_hash)
    plan.stored = len(have)
    for chunk_id, row_hash in wanted:
        if chunk_id not in have:
            plan.added.add(chunk_id)
        elif have.pop(chunk_id) == _bytes(row_hash):
            plan.unchanged += 1
        else:
            plan.changed.add(chunk_id)
    plan.removed = list(have)
    return plan


def _bytes(row_hash: str) -> bytes:
    """Returns a hash in half the memory. Somebody may have written a text that is none."""
    try:
        return bytes.fromhex(row_hash)
    except (ValueError, TypeError):
        return b""


def moved(dataset: Dataset, since: str | None, plan: Plan) -> set[str]:
    """Returns which of the rows to write have a text that another row had before, if the dataset still knows that."""
    if since is None or not (plan.added or plan.changed):
        return set()
    arrow = need("pyarrow", "sync")
    try:
        changes = arrow.table(dataset.changes(since)).select(["change", "chunk_id"])
    except Error:
        return set()
    is_moved = need("pyarrow.compute", "sync").equal(changes["change"], "moved")
    return set(changes.filter(is_moved)["chunk_id"].to_pylist()) & (plan.added | plan.changed)


def sliced(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    """Yields the values in slices of a size."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
