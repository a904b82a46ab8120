"""chunkmill splits documents into chunks, embeds them, and writes Parquet; this is its Python module.

Settings are keyword arguments with the names of the program's flags, ``_`` for ``-``: ``max=256``, ``preset="sections"``.
A call knows what it is told and nothing else: it reads no variable ``CHUNKMILL_…`` and no ``chunkmill.toml``, unless
``config="chunkmill.toml"`` names one. `settings` lists them all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeVar, Union, overload

# candle shares every sum between threads of its own, which halves the speed of texts that are embedded side by side. Only
# the environment turns that off, before the module is there.
os.environ.setdefault("CANDLE_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from . import _chunkmill  # noqa: E402
from ._chunkmill import Chunk, Table, __version__  # noqa: E402
from ._errors import (  # noqa: E402
    CorpusError,
    DatasetError,
    Error,
    LockedError,
    ModelError,
    QuarantineError,
    SettingError,
    StorageError,
)
from ._results import (  # noqa: E402
    Context,
    DocumentHit,
    Finding,
    Hit,
    Passage,
    Progress,
    Quarantined,
    Report,
    Verification,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._chunkmill import ArrowStream
    from ._settings import AskingSettings, CuttingSettings, EncodingSettings, SearchingSettings

__all__ = [
    "Chunk",
    "Chunker",
    "Context",
    "CorpusError",
    "Dataset",
    "DatasetError",
    "DocumentHit",
    "Encoder",
    "Error",
    "Finding",
    "Hit",
    "LockedError",
    "ModelError",
    "Passage",
    "Progress",
    "QuarantineError",
    "Quarantined",
    "Report",
    "Searcher",
    "SettingError",
    "StorageError",
    "Table",
    "Verification",
    "__version__",
    "chunk",
    "chunk_table",
    "chunk_to_arrow",
    "count",
    "index",
    "settings",
]

Source = Union[str, "os.PathLike[str]"]
"""A ``str`` is a text. An ``os.PathLike`` is the path of a file, or of a folder with all its documents."""

Path = Union[str, "os.PathLike[str]"]
"""Where something is, in text or as a path."""

_T_co = TypeVar("_T_co", covariant=True)


class _Listed(Protocol[_T_co]):
    """A list, whatever of the wanted types it holds. A `str` is none: it has no `pop`."""

    def __iter__(self) -> Iterator[_T_co]: ...
    def pop(self, index: SupportsIndex = -1, /) -> _T_co: ...


_Several = Union[_Listed[Source], tuple[Source, ...]]
_OnQuarantine = Literal["raise", "warn"]


def _listed(source: Source | _Several, name: str | list[str] | None) -> tuple[list[Any], list[str]]:
    """The sources, and what each is called if it is a text."""
    if isinstance(source, (list, tuple)):
        sources: list[Any] = list(source)
        if isinstance(name, str):
            raise SettingError(f"name: is one for {len(sources)} sources\n  help: give a list of as many names")
        names = [f"text-{at}.md" for at in range(len(sources))] if name is None else name
    else:
        sources = [source]
        if isinstance(name, list):
            raise SettingError("name: is a list for one source\n  help: give one name")
        names = ["text.md" if name is None else name]
    if len(names) != len(sources):
        raise SettingError(f"name: has {len(names)} names for {len(sources)} sources\n  help: give one for each")
    return sources, names


def _is_strict(quarantined: str) -> bool:
    if quarantined not in ("raise", "warn"):
        raise SettingError(f"quarantined: `{quarantined}` is not understood\n  help: it is raise or warn")
    return quarantined == "raise"


class Chunker:
    """Cuts documents as its settings say. What they need is loaded once."""

    def __init__(self, **settings: Unpack[CuttingSettings]) -> None:
        self._native = _chunkmill.Chunker(**settings)

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
    def chunk(
        self,
        source: Source | _Several,
        *,
        name: str | list[str] | None = None,
        quarantined: _OnQuarantine = "raise",
    ) -> list[Chunk] | list[list[Chunk]]:
        """The chunks of a text, a file or a folder; of a list of them, a list for each. See `chunkmill.chunk`."""
        sources, names = _listed(source, name)
        cut = self._native.cut_sources(sources, names, _is_strict(quarantined))
        return cut if isinstance(source, (list, tuple)) else cut[0]

    def chunk_to_arrow(
        self,
        source: Source | _Several,
        *,
        name: str | list[str] | None = None,
        quarantined: _OnQuarantine = "raise",
    ) -> Table:
        """The same chunks as one table."""
        sources, names = _listed(source, name)
        return self._native.cut_to_arrow(sources, names, _is_strict(quarantined))

    def chunk_table(self, table: ArrowStream, *, embed: bool = False) -> Table:
        """The chunks of the documents in a table. See `chunkmill.chunk_table`."""
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
def chunk(
    source: Source | _Several,
    *,
    name: str | list[str] | None = None,
    quarantined: _OnQuarantine = "raise",
    **settings: Unpack[CuttingSettings],
) -> list[Chunk] | list[list[Chunk]]:
    """The chunks of a text, a file or a folder, without a model.

    A ``str`` is a text. A path (``pathlib.Path``) is a file, or a folder with all its documents. Of a list or tuple of them
    comes a list of chunks for each; many are cut side by side, while Python runs on.

    ``name`` is what a text is called: its ending says what it is (``guide.md``, ``config.yaml``), and the ids of its chunks begin
    with it. Without one it is ``text.md``; in a list ``text-0.md`` and so on.

    A document that cannot be cut raises `QuarantineError`; with ``quarantined="warn"`` it is logged and has no chunks.
    """
    return Chunker(**settings).chunk(source, name=name, quarantined=quarantined)  # type: ignore[arg-type]  # pyright: ignore


def chunk_to_arrow(
    source: Source | _Several,
    *,
    name: str | list[str] | None = None,
    quarantined: _OnQuarantine = "raise",
    **settings: Unpack[CuttingSettings],
) -> Table:
    """What `chunk` gives, as one Arrow table with the columns of ``chunks``."""
    return Chunker(**settings).chunk_to_arrow(source, name=name, quarantined=quarantined)


def chunk_table(table: ArrowStream, *, embed: bool = False, **settings: Unpack[CuttingSettings]) -> Table:
    """The chunks of the documents in a table, as another table.

    It reads the columns ``doc_id`` and ``text``, and, if there are any, ``collection``, ``path`` and ``modified_time``. Other
    columns go with each chunk of their row. A row that cannot be cut gives one row with the reason in the column ``error``. With
    ``embed=True`` the chunks have their vectors in the column ``embedding``.

    Tables go in and out by Arrow's C stream, which copies no value.
    """
    return Chunker(**settings).chunk_table(table, embed=embed)


@overload
def count(text: str, **settings: Unpack[CuttingSettings]) -> int: ...
@overload
def count(text: list[str] | tuple[str, ...], **settings: Unpack[CuttingSettings]) -> list[int]: ...
def count(text: str | list[str] | tuple[str, ...], **settings: Unpack[CuttingSettings]) -> int | list[int]:
    """How long a text is: in tokens of ``cl100k_base``, unless ``unit`` and ``encoding`` say otherwise."""
    if isinstance(text, str):
        return _chunkmill.count([text], **settings)[0]
    return _chunkmill.count(list(text), **settings)


def index(
    paths: Path | list[Path] | tuple[Path, ...],
    out: Path,
    *,
    fresh: bool = False,
    progress: Callable[[Progress], object] | None = None,
    **settings: Unpack[CuttingSettings],
) -> Report:
    """The job: chunks and embeds the documents in folders and files, and writes the dataset ``out``.

    ``paths`` are written as for the program: ``"docs"``, ``"manual=docs"`` (a collection of that name), ``"s3://bucket/docs"``.
    ``progress`` is called in this thread, several times a second and at the end; what it raises ends the job.

    Ctrl-C ends the job at the next document or batch and raises `KeyboardInterrupt`. The dataset is then as it was before, and
    the next run goes on where this one was. With ``fresh=True`` what is there counts for nothing.
    """
    roots = [os.fspath(path) for path in (paths if isinstance(paths, (list, tuple)) else [paths])]
    tell = None
    if progress is not None:
        # Bound here, for the type checkers: nobody sets it to None later.
        call = progress

        def tell(now: str, done: float) -> None:
            call(Progress(**json.loads(now), done=done))

    return Report._of(  # pyright: ignore[reportPrivateUsage]
        _chunkmill.index(roots, os.fspath(out), fresh, tell, **settings)
    )


class Encoder:
    """A model that is loaded, to make vectors of texts."""

    def __init__(self, model: Path | None = None, /, **settings: Unpack[EncodingSettings]) -> None:
        if model is not None:
            settings["model"] = model
        self._native = _chunkmill.Encoder(**settings)

    @classmethod
    def for_dataset(cls, out: Path, **settings: Unpack[EncodingSettings]) -> Encoder:
        """The model that made the vectors of a dataset: what it makes of questions fits them."""
        encoder = cls.__new__(cls)
        encoder._native = _chunkmill.Encoder.of_dataset(os.fspath(out), **settings)
        return encoder

    def encode(
        self, texts: list[str] | tuple[str, ...], *, role: Literal["document", "query"] = "document"
    ) -> NDArray[np.float32]:
        """Their vectors, one a row. Some models read documents and queries with different prompts: ``role`` says which."""
        if role not in ("document", "query"):
            raise SettingError(f"role: `{role}` is not understood\n  help: it is document or query")
        if isinstance(texts, str):
            raise SettingError("texts: is one text\n  help: give a list of texts")
        made = self._native.vectors(list(texts), role == "query")
        return np.frombuffer(made, dtype=np.float32).reshape(len(texts), self.dim)

    def encode_queries(self, texts: list[str] | tuple[str, ...]) -> NDArray[np.float32]:
        """The vectors of questions, to be compared with those of documents."""
        return self.encode(texts, role="query")

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._native.dim

    @property
    def max_tokens(self) -> int:
        """Most tokens the model reads, special ones included."""
        return self._native.max_tokens

    @property
    def model(self) -> str:
        """Hub id, or the folder's name."""
        return self._native.model

    @property
    def fingerprint(self) -> str:
        """Identifies the files and everything else that decides the vectors."""
        return self._native.fingerprint


class Dataset:
    """A dataset, as it is now: a later run does not change what is read here."""

    def __init__(self, out: Path) -> None:
        self._native = _chunkmill.Dataset(os.fspath(out))

    def chunks(self, columns: list[str] | None = None) -> Table:
        """The table ``chunks``, or some of its columns."""
        return self._native.table("chunks", columns)

    def documents(self, columns: list[str] | None = None) -> Table:
        """The table ``documents``."""
        return self._native.table("documents", columns)

    def edges(self, columns: list[str] | None = None) -> Table:
        """The table ``edges``: links inside the corpus."""
        return self._native.table("edges", columns)

    def vectors(self) -> NDArray[np.float32]:
        """The vectors of all chunks, one a row, in the order of the table `chunks`. They are read into memory."""
        return np.frombuffer(self._native.vectors(), dtype=np.float32).reshape(-1, self.about()["dim"])

    def about(self) -> dict[str, Any]:
        """What its manifest says: counts, chunk settings, model, versions."""
        return json.loads(self._native.about())  # type: ignore[no-any-return]

    def verify(self, corpus: Path | list[Path] | None = None) -> Verification:
        """Whether it is what it says it is; with the corpus, also whether its documents are as they are there."""
        roots = [] if corpus is None else corpus if isinstance(corpus, list) else [corpus]
        return Verification._of(  # pyright: ignore[reportPrivateUsage]
            self._native.verify([os.fspath(root) for root in roots])
        )


class Searcher:
    """A dataset that is open for questions. Settings hold for all questions that say nothing else."""

    def __init__(self, out: Path, **settings: Unpack[SearchingSettings]) -> None:
        self._native = _chunkmill.Searcher(os.fspath(out), **settings)

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
    ) -> list[Hit]:
        """The best ``k`` chunks, best first.

        Filters hold before the best are chosen: in one of the collections; of documents with one of the levels; in one of the
        paths, folders or globs; under one of the headings (``"Guide > Install"``); of documents with all of the tags.
        """
        place = _place(collection, promotion_level, path, heading, tag)
        found = self._native.search((question, k, place, min_score), **settings)
        return [Hit(**hit) for hit in json.loads(found)]

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
    ) -> list[DocumentHit]:
        """The best ``k`` documents, each with its chunks that were found. Filters are those of `search`."""
        place = _place(collection, promotion_level, path, heading, tag)
        found = self._native.documents((question, k, place, min_score), **settings)
        return [DocumentHit._of(hit) for hit in json.loads(found)]  # pyright: ignore[reportPrivateUsage]

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
        """Passages that answer it, of the best ``k`` chunks, in at most ``budget`` tokens. Filters are those of `search`."""
        place = _place(collection, promotion_level, path, heading, tag)
        packed = self._native.context((question, k, place, min_score), budget, **settings)
        return Context._of(packed)  # pyright: ignore[reportPrivateUsage]

    def __len__(self) -> int:
        """Number of its chunks."""
        return len(self._native)


def _place(*filters: str | list[str] | None) -> list[list[str]]:
    return [[] if names is None else [names] if isinstance(names, str) else names for names in filters]


def settings() -> list[dict[str, Any]]:
    """All settings: ``name``, the ``table`` of a settings file, the ``schema`` of a value in JSON, and ``help``."""
    return json.loads(_chunkmill.settings())  # type: ignore[no-any-return]
