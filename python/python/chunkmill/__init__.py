"""Splits documents into chunks, embeds them, and writes Parquet.

Settings are keyword arguments named like the program's flags, with ``_`` for ``-``: ``max=256``, ``preset="sections"``.
`settings` lists them all. A call uses only its arguments: it reads no ``CHUNKMILL_…`` variables, and no
``chunkmill.toml`` unless you pass ``config="chunkmill.toml"``.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeVar, Union, overload

# candle splits every sum among its own threads, which halves the speed when texts are embedded in parallel. Only the
# environment can turn that off, and only before the module is loaded.
os.environ.setdefault("CANDLE_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from . import _child, _chunkmill, _show  # noqa: E402
from ._arguments import checked  # noqa: E402
from ._chunkmill import Chunk, Table, __version__  # noqa: E402
from ._errors import (  # noqa: E402
    CorpusError,
    DatasetError,
    Error,
    LockedError,
    ModelError,
    QuarantineError,
    ServiceError,
    SettingError,
    StorageError,
)
from ._paths import StrPath, is_like_path, roots  # noqa: E402
from ._progress import teller  # noqa: E402
from ._results import (  # noqa: E402
    Changes,
    ChunkChanges,
    Context,
    DocumentHit,
    DocumentHits,
    DocumentList,
    Estimate,
    Finding,
    Hit,
    Hits,
    OtherFiles,
    Passage,
    Plan,
    Progress,
    Quarantined,
    Report,
    ServiceWork,
    SparseReport,
    Verification,
    no_attribute,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._chunkmill import ArrowStream
    from ._settings import AskingSettings, CuttingSettings, EncodingSettings, SearchingSettings

__all__ = [
    "Changes",
    "Chunk",
    "ChunkChanges",
    "Chunker",
    "Context",
    "CorpusError",
    "Dataset",
    "DatasetError",
    "DocumentHit",
    "DocumentHits",
    "DocumentList",
    "Encoder",
    "Error",
    "Estimate",
    "Finding",
    "Hit",
    "Hits",
    "LockedError",
    "ModelError",
    "OtherFiles",
    "Passage",
    "Plan",
    "Progress",
    "QuarantineError",
    "Quarantined",
    "Report",
    "Searcher",
    "ServiceError",
    "ServiceWork",
    "SettingError",
    "SparseReport",
    "StorageError",
    "Table",
    "Verification",
    "__version__",
    "chunk",
    "chunk_table",
    "chunk_to_arrow",
    "count",
    "index",
    "plan",
    "settings",
]

_child.start()

# Data frames, and `dataclasses.asdict`, know the fields of a chunk as they know those of a data class.
_fields: list[tuple[str, Any]] = [(name, Any) for name, _, _ in _chunkmill.columns()]
Chunk.__dataclass_fields__ = dataclasses.make_dataclass("Chunk", _fields).__dataclass_fields__  # type: ignore[attr-defined]  # pyright: ignore
Chunk.__annotations__ = dict(_fields)
Chunk.__getattr__ = no_attribute  # type: ignore[attr-defined]  # pyright: ignore

Source = Union[str, os.PathLike[str]]
"""A text (``str``), or the path of a file or of a folder with documents (``os.PathLike``)."""

_T_co = TypeVar("_T_co", covariant=True)


class _Listed(Protocol[_T_co]):
    """A list of any of the accepted types. A `str` does not match because it has no `pop`."""

    def __iter__(self) -> Iterator[_T_co]: ...
    def pop(self, index: SupportsIndex = -1, /) -> _T_co: ...


_Several = Union[_Listed[Source], tuple[Source, ...]]
_OnQuarantine = Literal["raise", "warn"]


def _listed(source: Source | _Several, name: str | list[str] | None) -> tuple[list[Any], list[str]]:
    """Returns the sources, and the name of each in case it is a text."""
    if isinstance(source, (list, tuple)):
        sources: list[Any] = list(source)
        if isinstance(name, str):
            raise SettingError("name: is a single name for a list of sources\n  help: give a list of names, one for each")
        names = [f"text-{at}.md" for at in range(len(sources))] if name is None else name
    else:
        sources = [source]
        if isinstance(name, list):
            raise SettingError("name: is a list for one source\n  help: give a single name")
        names = ["text.md" if name is None else name]
    if name is None:
        for source in sources:
            _refuse_path(source)
    if len(names) != len(sources):
        raise SettingError(f"name: the number of names is {len(names)}, and that of sources {len(sources)}\n  help: give one for each")
    return sources, names


def _refuse_path(source: object) -> None:
    """A text on one line that names a file, or is written like the path of one, is nearly always meant as a path."""
    if not isinstance(source, str) or not 0 < len(source) < 1024 or "\n" in source or "\0" in source:
        return
    if os.path.exists(source):
        problem = f"is also the path of a {'folder' if os.path.isdir(source) else 'file'}"
    elif is_like_path(source):
        problem = "looks like a path, and there is no file or folder of that name"
    else:
        return
    raise SettingError(
        f"source: the text `{source}` {problem}\n"
        "  help: pass pathlib.Path(…) to chunk what is in a file or folder; with name=, a text is a text"
    )


def _question(text: str) -> str:
    if not text.strip():
        raise SettingError("question: is empty\n  help: ask something, in words of the documents or your own")
    return text


def _number(name: str, value: int) -> int:
    if value < 1:
        raise SettingError(f"{name}: `{value}` is not a number of results or tokens\n  help: give a whole number from 1")
    return value


class Chunker:
    """Cuts documents according to its settings. Tokenizers and models are loaded once."""

    def __init__(self, **settings: Unpack[CuttingSettings]) -> None:
        self._settings = settings
        self._native = _chunkmill.Chunker(**settings)

    def __getstate__(self) -> dict[str, Any]:
        """Its settings: what `pickle` and `copy` need to make it again."""
        return dict(self._settings)

    def __setstate__(self, state: CuttingSettings) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @overload
    def chunk(
        self, source: Source, *, name: str | None = None, quarantined: _OnQuarantine = "raise"
    ) -> list[Chunk]: ...
    @overload
    def chunk(
        self,
        source: _Several,
        *,
        name: list[str] | None = None,
        quarantined: _OnQuarantine = "raise",
    ) -> list[list[Chunk]]: ...
    @checked
    def chunk(
        self,
        source: Source | _Several,
        *,
        name: str | list[str] | None = None,
        quarantined: _OnQuarantine = "raise",
    ) -> list[Chunk] | list[list[Chunk]]:
        """Returns the chunks of a text, a file or a folder; for a list, the chunks of each. See `chunkmill.chunk`."""
        sources, names = _listed(source, name)
        cut = self._native.cut_sources(sources, names, quarantined == "raise")
        return cut if isinstance(source, (list, tuple)) else cut[0]

    @checked
    def chunk_to_arrow(
        self,
        source: Source | _Several,
        *,
        name: str | list[str] | None = None,
        quarantined: _OnQuarantine = "raise",
    ) -> Table:
        """Returns the same chunks as one table."""
        sources, names = _listed(source, name)
        return self._native.cut_to_arrow(sources, names, quarantined == "raise")

    @checked
    def chunk_table(self, table: ArrowStream, *, embed: bool = False) -> Table:
        """Returns the chunks of the documents in a table. See `chunkmill.chunk_table`."""
        return self._native.cut_table(table, embed)

    def __repr__(self) -> str:
        return repr(self._native)


@overload
def chunk(
    source: Source, *, name: str | None = None, quarantined: _OnQuarantine = "raise", **settings: Unpack[CuttingSettings]
) -> list[Chunk]: ...
@overload
def chunk(
    source: _Several,
    *,
    name: list[str] | None = None,
    quarantined: _OnQuarantine = "raise",
    **settings: Unpack[CuttingSettings],
) -> list[list[Chunk]]: ...
@checked
def chunk(
    source: Source | _Several,
    *,
    name: str | list[str] | None = None,
    quarantined: _OnQuarantine = "raise",
    **settings: Unpack[CuttingSettings],
) -> list[Chunk] | list[list[Chunk]]:
    """Returns the chunks of a text, a file or a folder, without a model.

    A ``str`` is a text; one that is also the path of a file is refused, unless it has a ``name``. A path (``pathlib.Path``) is a file, or a folder with documents. A list or tuple of them
    returns a list of chunks for each. Many sources are cut in parallel, without holding Python's lock.

    ``name`` is the name of a text: its extension determines the format (``guide.md``, ``config.yaml``), and the
    ids of its chunks start with it. The default is ``text.md``; in a list, ``text-0.md`` and so on.

    A document that cannot be cut raises `QuarantineError`; with ``quarantined="warn"`` it is logged and has no chunks.
    """
    return Chunker(**settings).chunk(source, name=name, quarantined=quarantined)  # type: ignore[arg-type]  # pyright: ignore


@checked
def chunk_to_arrow(
    source: Source | _Several,
    *,
    name: str | list[str] | None = None,
    quarantined: _OnQuarantine = "raise",
    **settings: Unpack[CuttingSettings],
) -> Table:
    """Returns the chunks of `chunk` as one Arrow table with the columns of ``chunks``."""
    return Chunker(**settings).chunk_to_arrow(source, name=name, quarantined=quarantined)


@checked
def chunk_table(table: ArrowStream, *, embed: bool = False, **settings: Unpack[CuttingSettings]) -> Table:
    """Returns the chunks of the documents in a table, as another table.

    Reads the columns ``doc_id`` and ``text`` and, if present, ``collection``, ``path`` and ``modified_time``.
    Other columns are copied to every chunk of their row. A row that cannot be cut produces one row with the reason
    in the column ``error``. With ``embed=True``, the columns of ``embedding_type`` contain the vectors.

    Tables are exchanged through Arrow's C stream, without copying values.
    """
    return Chunker(**settings).chunk_table(table, embed=embed)


@overload
def count(text: str, **settings: Unpack[CuttingSettings]) -> int: ...
@overload
def count(text: list[str] | tuple[str, ...], **settings: Unpack[CuttingSettings]) -> list[int]: ...
@checked
def count(text: str | list[str] | tuple[str, ...], **settings: Unpack[CuttingSettings]) -> int | list[int]:
    """Returns the length of a text, or of each text in a list.

    It is measured in tokens of ``cl100k_base`` unless ``unit`` or ``encoding`` is set.
    """
    if isinstance(text, str):
        return _chunkmill.count([text], **settings)[0]
    return _chunkmill.count(list(text), **settings)


@checked
def index(
    paths: StrPath | list[StrPath] | tuple[StrPath, ...],
    out: StrPath,
    *,
    fresh: bool = False,
    allow_shrink: bool = False,
    progress: bool | Callable[[Progress], object] | None = None,
    **settings: Unpack[CuttingSettings],
) -> Report:
    """Chunks and embeds the documents in folders and files, and writes the dataset ``out``.

    ``paths`` are written as for the program: ``"docs"``, ``"manual=docs"`` (a collection with that name),
    ``"s3://bucket/docs"``. Progress is shown in notebooks and terminals, through tqdm if it is installed;
    ``progress=False`` turns it off. A function is called with `Progress` in this thread, several times a second and
    once at the end; an exception from it ends the job.

    Ctrl-C ends the job at the next document or batch and raises `KeyboardInterrupt`. The dataset stays as it was,
    and the next run resumes. With ``fresh=True``, the existing dataset is ignored.

    Documents that the corpus no longer has are deleted. If they are more than half of the dataset, this raises
    `SettingError` unless ``allow_shrink=True``.
    """
    tell = None
    call = teller(progress)
    if call is not None:

        def tell(now: str, done: float) -> None:
            call(Progress(**json.loads(now), done=done))

    return Report._of(  # pyright: ignore[reportPrivateUsage]
        _chunkmill.index(roots(paths), os.fspath(out), fresh, allow_shrink, tell, **settings)
    )


@checked
def plan(
    paths: StrPath | list[StrPath] | tuple[StrPath, ...], out: StrPath, *, allow_shrink: bool = False, **settings: Unpack[CuttingSettings]
) -> Plan:
    """Returns what `index` would do with the same arguments, and how long it would take. Nothing is written."""
    return Plan._of(  # pyright: ignore[reportPrivateUsage]
        _chunkmill.plan(roots(paths), os.fspath(out), allow_shrink, **settings)
    )


class Encoder:
    """A loaded model that turns texts into vectors."""

    @checked
    def __init__(self, model: StrPath | None = None, /, **settings: Unpack[EncodingSettings]) -> None:
        if model is not None:
            settings["model"] = model
        self._native = _chunkmill.Encoder(**settings)

    @classmethod
    @checked
    def for_dataset(cls, out: StrPath, **settings: Unpack[EncodingSettings]) -> Encoder:
        """Loads the model that made the vectors of a dataset, so questions can be compared with them."""
        encoder = cls.__new__(cls)
        encoder._native = _chunkmill.Encoder.of_dataset(os.fspath(out), **settings)
        return encoder

    @checked
    def encode(
        self, texts: list[str] | tuple[str, ...], *, role: Literal["document", "query"] = "document"
    ) -> NDArray[np.float32]:
        """Returns their vectors, one per row.

        ``role`` matters for models that read documents and queries with different prompts.
        """
        made = self._native.vectors(list(texts), role == "query")
        return np.frombuffer(made, dtype=np.float32).reshape(len(texts), self.dim)

    def encode_queries(self, texts: list[str] | tuple[str, ...]) -> NDArray[np.float32]:
        """Returns the vectors of questions, for comparison with those of documents."""
        return self.encode(texts, role="query")

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._native.dim

    @property
    def max_tokens(self) -> int:
        """Largest number of tokens that the model reads, including special tokens."""
        return self._native.max_tokens

    @property
    def model(self) -> str:
        """Hub id, or the folder's name."""
        return self._native.model

    @property
    def fingerprint(self) -> str:
        """Identifies the files and everything else that determines the vectors."""
        return self._native.fingerprint

    def __repr__(self) -> str:
        return f"Encoder({self.model}, {self.dim} dimensions, reads {self.max_tokens} tokens)"


class Dataset:
    """A snapshot of a dataset: later runs do not change what it reads."""

    @checked
    def __init__(self, out: StrPath) -> None:
        self._out = os.fspath(out)
        self._native = _chunkmill.Dataset(self._out)

    def __repr__(self) -> str:
        about = self.about()
        counts = about["counts"]
        return f"Dataset({self._out}, {counts['documents']:,} documents, {counts['chunks']:,} chunks, {about['model']})"

    def _repr_html_(self) -> str:
        return _show.dataset(self)

    @checked
    def chunks(self, columns: list[str] | None = None) -> Table:
        """Returns the table ``chunks``, or some of its columns."""
        return self._native.table("chunks", columns)

    @checked
    def documents(self, columns: list[str] | None = None) -> Table:
        """Returns the table ``documents``, or some of its columns."""
        return self._native.table("documents", columns)

    @checked
    def edges(self, columns: list[str] | None = None) -> Table:
        """Returns the table ``edges`` (links inside the corpus), or some of its columns."""
        return self._native.table("edges", columns)

    @checked
    def duplicates(self, columns: list[str] | None = None) -> Table:
        """Returns the table ``duplicates`` (documents with nearly the words of another), or some of its columns."""
        return self._native.table("duplicates", columns)

    @property
    def snapshot(self) -> str:
        """The id of the snapshot."""
        return self._native.snapshot

    @checked
    def changes(self, since: StrPath) -> Table:
        """Returns which chunks are not the same as in an earlier snapshot.

        ``since`` is the id of that snapshot, the beginning of it, or the place of a copy of the dataset. Whoever has that
        snapshot gets this one by writing the rows that are ``added``, ``changed`` or ``moved`` over those with the same
        ``chunk_id``, and deleting those that are ``removed``.
        """
        return self._native.changes(os.fspath(since))

    @overload
    def vectors(self, kind: Literal["f32", "list"] | None = None) -> NDArray[np.float32]: ...
    @overload
    def vectors(self, kind: Literal["int8"]) -> NDArray[np.int8]: ...
    @overload
    def vectors(self, kind: Literal["bits"]) -> NDArray[np.uint8]: ...
    @overload
    def vectors(self, kind: Literal["f16"]) -> NDArray[np.float16]: ...
    def vectors(self, kind: str | None = None) -> NDArray[Any]:
        """Reads the vectors of all chunks into memory, one per row, in the order of the table `chunks`.

        Without ``kind``, these are floats, of the most exact column. Otherwise they are those of a type in
        ``embedding_type``: ``"int8"`` are 127 times the values, ``"bits"`` eight signs in each byte, as
        ``numpy.packbits`` has them.
        """
        dtype = {"f16": np.float16, "int8": np.int8, "bits": np.uint8}.get(kind or "", np.float32)
        values = np.frombuffer(self._native.vectors(kind), dtype=dtype)
        dim = self.about()["dim"]
        return values.reshape(-1, -(-dim // 8) if kind == "bits" else dim)

    def about(self) -> dict[str, Any]:
        """Returns a summary of its manifest: counts, chunk settings, model, versions."""
        return json.loads(self._native.about())  # type: ignore[no-any-return]

    @checked
    def verify(self, corpus: StrPath | list[StrPath] | tuple[StrPath, ...] | None = None) -> Verification:
        """Checks that the dataset is intact; with ``corpus``, also that its documents match the corpus."""
        return Verification._of(  # pyright: ignore[reportPrivateUsage]
            self._native.verify([] if corpus is None else roots(corpus))
        )


class Searcher:
    """A dataset opened for search. Its settings apply to all questions that do not override them."""

    @checked
    def __init__(self, out: StrPath, **settings: Unpack[SearchingSettings]) -> None:
        self._out = os.fspath(out)
        self._native = _chunkmill.Searcher(self._out, **settings)

    def __repr__(self) -> str:
        return f"Searcher({self._out}, {len(self):,} chunks)"

    @checked
    def search(
        self,
        question: str,
        k: int = 5,
        *,
        collection: str | list[str] | None = None,
        promotion_level: str | list[str] | None = None,
        path: str | list[str] | None = None,
        heading: str | list[str] | None = None,
        tag: str | list[str] | None = None,
        min_score: float | None = None,
        **settings: Unpack[AskingSettings],
    ) -> Hits:
        """Returns the best ``k`` chunks, best first.

        Filters apply before the best chunks are chosen. A chunk must be in one of the collections, in a document
        with one of the promotion levels, in one of the paths, folders or globs, under one of the headings
        (``"Guide > Install"``), and in a document with all of the tags.
        """
        place = _place(collection, promotion_level, path, heading, tag)
        found = self._native.search((_question(question), _number("k", k), place, min_score), **settings)
        return Hits(Hit(**hit) for hit in json.loads(found))

    @checked
    def documents(
        self,
        question: str,
        k: int = 5,
        *,
        collection: str | list[str] | None = None,
        promotion_level: str | list[str] | None = None,
        path: str | list[str] | None = None,
        heading: str | list[str] | None = None,
        tag: str | list[str] | None = None,
        min_score: float | None = None,
        **settings: Unpack[AskingSettings],
    ) -> DocumentHits:
        """Returns the best ``k`` documents, each with its chunks that were found. Filters are those of `search`."""
        place = _place(collection, promotion_level, path, heading, tag)
        found = self._native.documents((_question(question), _number("k", k), place, min_score), **settings)
        return DocumentHits(DocumentHit._of(hit) for hit in json.loads(found))  # pyright: ignore[reportPrivateUsage]

    @checked
    def context(
        self,
        question: str,
        budget: int = 2000,
        k: int = 100,
        *,
        collection: str | list[str] | None = None,
        promotion_level: str | list[str] | None = None,
        path: str | list[str] | None = None,
        heading: str | list[str] | None = None,
        tag: str | list[str] | None = None,
        min_score: float | None = None,
        **settings: Unpack[AskingSettings],
    ) -> Context:
        """Packs passages from the best ``k`` chunks into at most ``budget`` tokens. Filters are those of `search`."""
        place = _place(collection, promotion_level, path, heading, tag)
        asked = (_question(question), _number("k", k), place, min_score)
        packed = self._native.context(asked, _number("budget", budget), **settings)
        return Context._of(packed)  # pyright: ignore[reportPrivateUsage]

    def __len__(self) -> int:
        """Number of its chunks."""
        return len(self._native)


def _place(*filters: str | list[str] | None) -> list[list[str]]:
    return [[] if names is None else [names] if isinstance(names, str) else names for names in filters]


def settings() -> list[dict[str, Any]]:
    """Returns all settings: ``name``, ``table`` in a settings file, JSON ``schema`` of the value, and ``help``."""
    return json.loads(_chunkmill.settings())  # type: ignore[no-any-return]


if not TYPE_CHECKING:
    # Type checkers would accept any name.

    def __getattr__(name: str) -> Any:
        """Imports the evaluation, or what fills databases, when it is first used."""
        if name in ("evaluate", "sync"):
            return importlib.import_module(f".{name}", __name__)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'", name=name)


def __dir__() -> list[str]:
    """The public names: what is imported is not shown."""
    return [*__all__, "evaluate", "integrations", "sync"]
