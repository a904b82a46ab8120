"""Reports, hits and contexts, as plain data classes. Each shows itself on one line, and in notebooks as a table."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from . import _show
from ._words import in_python


def no_attribute(self: object, name: str) -> object:
    """What a chunk or a hit answers when it is asked for a name that it does not have."""
    meant = "; did you mean `content`?" if name == "text" else ""
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{meant}", name=name, obj=self)


SHOWN = 3
"""Number of documents that a list names in its representation."""


def _line(of: object, *parts: object) -> str:
    """Returns the representation of something, on one short line."""
    return f"{type(of).__name__}({', '.join(_show.short(part, 48) for part in parts if part != '')})"


@dataclass(frozen=True)
class Progress:
    """Progress of a running job."""

    documents: int
    """Number of documents found."""
    prepared: int
    """Number of documents that have been chunked, reused or quarantined."""
    chunks: int
    """Number of their chunks."""
    ready: int
    """Number of chunks that have vectors."""
    texts_embedded: int
    """Number of texts that the model has read."""
    tokens_per_second: float
    """Tokens that the model has read per second, since it began."""
    seconds: float
    """Time since the start."""
    eta_seconds: float
    """Estimated time for the rest; 0 while there is no estimate."""
    done: float
    """Share of the work that is done, from 0 to 1."""


@dataclass(frozen=True)
class Quarantined:
    """A document that is not indexed."""

    doc_id: str
    collection: str
    path: str
    code: str
    """A short stable word for the reason."""
    reason: str
    content_hash: str | None = None
    """BLAKE3 of the bytes that were read; ``None`` if nothing was read."""


@dataclass(frozen=True)
class SparseReport:
    """The work of a sparse model in an :func:`index` run."""

    model: str
    model_fingerprint: str
    texts_embedded: int
    """Number of distinct texts that it read."""
    tokens_read: int
    seconds: float
    """Its part of the time of embedding."""


@dataclass(frozen=True, repr=False)
class DocumentList:
    """Some documents: how many, and which."""

    count: int = 0
    first: tuple[str, ...] = ()
    """The first 1,000 of their ids, in order."""

    @classmethod
    def _of(cls, read: dict[str, Any]) -> DocumentList:
        return cls(read["count"], tuple(read["first"]))

    def __len__(self) -> int:
        """Number of documents."""
        return self.count

    def __iter__(self) -> Iterator[str]:
        """The ids that are known."""
        return iter(self.first)

    def __repr__(self) -> str:
        more = ["…"] if self.count > SHOWN else []
        ids = _show.short(", ".join([*self.first[:SHOWN], *more]))
        return f"DocumentList({self.count}{': ' if ids else ''}{ids})"


@dataclass(frozen=True, repr=False)
class Changes:
    """The documents of a corpus, compared with the dataset before."""

    new: DocumentList
    """Documents that the dataset did not have."""
    changed: DocumentList
    """Documents whose contents have changed."""
    unchanged: int
    """Number of documents with the same contents."""
    deleted: DocumentList
    """Documents that the corpus no longer has."""
    discovered: int
    """Number of documents found: indexed and quarantined."""
    passed_over: int
    """Number of documents that are quarantined without being read."""

    @classmethod
    def _of(cls, read: dict[str, Any]) -> Changes:
        lists = {name: DocumentList._of(read[name]) for name in ("new", "changed", "deleted")}
        return cls(**read | lists)

    def __str__(self) -> str:
        """How many documents are new, changed and so on, in words."""
        counts = {"new": len(self.new), "changed": len(self.changed), "deleted": len(self.deleted), "unchanged": self.unchanged}
        return ", ".join(f"{count:,} {name}" for name, count in counts.items())

    def __repr__(self) -> str:
        return f"Changes({self})"


@dataclass(frozen=True)
class ChunkChanges:
    """Numbers of chunks, compared with the dataset before.

    A chunk stays if its document still has a chunk of the same content, wherever that is.
    """

    added: int
    removed: int
    kept: int


@dataclass(frozen=True, repr=False)
class OtherFiles:
    """Files that are no documents, because no glob of ``include`` takes them."""

    count: int
    types: dict[str, int]
    """Number of files by extension; ``""`` for names without one."""
    first: tuple[str, ...]
    """The first 1,000 of their paths."""
    text: str
    """How many they are and of which types, in words."""

    @classmethod
    def _of(cls, read: dict[str, Any], text: str) -> OtherFiles:
        return cls(read["count"], read["types"], tuple(read["first"]), text if read["count"] else "no files of other types")

    def __str__(self) -> str:
        """How many they are and of which types, in words."""
        return self.text

    def __repr__(self) -> str:
        return f"OtherFiles({_show.short(self.text)})"


@dataclass(frozen=True)
class ServiceWork:
    """What a service would be asked for: counted, because it is paid for."""

    texts: int
    """Number of distinct texts that are not in the cache."""
    tokens: int
    texts_cached: int
    """Number of distinct texts whose vectors are in the cache."""
    requests: int


@dataclass(frozen=True, repr=False)
class Estimate:
    """The estimated work of a job, from a sample of the documents and a short trial of the model."""

    documents: int
    """Number of documents to embed."""
    bytes: int
    """Their size."""
    chunks: int
    tokens: int
    """In the encoding of the chunk settings."""
    model_tokens: int
    """Tokens that the model will read, if all texts differ and none is in the cache."""
    seconds: float
    """Time on this machine."""
    seconds_static: float
    """Time with a static model, which is a table of vectors."""
    service: ServiceWork | None = None
    """Work for a service; ``None`` if the model is here."""

    @classmethod
    def _of(cls, read: dict[str, Any]) -> Estimate:
        service = read.pop("service", None)
        return cls(**read, service=service and ServiceWork(**service))

    def __str__(self) -> str:
        """What is to be embedded, and how long it takes, in words."""
        if self.service:
            work = self.service
            sent = f"{_show.count(work.texts, 'text')}, {_show.count(work.tokens, 'token')}"
            return f"{_show.count(self.documents, 'document')} to embed, {sent} to send in {_show.count(work.requests, 'request')}"
        return f"{_show.count(self.documents, 'document')} to embed, {_show.count(self.chunks, 'chunk')}, about {self.seconds:.0f} s"

    def __repr__(self) -> str:
        return f"Estimate({self})"


@dataclass(frozen=True, repr=False)
class Plan:
    """What indexing would do."""

    changes: Changes
    estimate: Estimate
    other_files: OtherFiles

    @classmethod
    def _of(cls, text: str) -> Plan:
        read = json.loads(text)
        return cls(
            Changes._of(read["changes"]),  # pyright: ignore[reportPrivateUsage]
            Estimate._of(read["estimate"]),  # pyright: ignore[reportPrivateUsage]
            OtherFiles._of(read["other_files"], read["left_out"]),  # pyright: ignore[reportPrivateUsage]
        )

    def __repr__(self) -> str:
        return f"Plan({self.changes}; {self.estimate})"

    def _repr_html_(self) -> str:
        return _show.plan(self)


@dataclass(frozen=True, repr=False)
class Report:
    """The result of a job."""

    discovered: int
    """Number of documents found: indexed and quarantined."""
    documents: int
    """Number of documents indexed."""
    chunks: int
    quarantined: int
    bytes: int
    """Total size of the indexed documents."""
    tokens: int
    """Number of tokens of all chunks, in the encoding of the chunk settings."""
    model_tokens: int
    """The same in the model's own tokens, before truncation."""
    truncated: int
    """Number of chunks that the model truncated."""
    edges: int
    """Number of links inside the corpus, including those to missing targets."""
    unresolved_edges: int
    edges_by_kind: dict[str, dict[str, int]]
    duplicates: int
    """Number of documents that have nearly the words of another."""
    changes: Changes
    """What has changed since the previous snapshot; everything is new if there was none."""
    chunk_changes: ChunkChanges | None
    """The same of the chunks; ``None`` if there were too many files to compare."""
    other_files: OtherFiles
    """Files that were left out because of their type."""
    malformed_front_matter: int
    """Number of documents whose front matter is not valid and was read line by line."""
    skipped_paragraphs: int
    """Number of paragraphs that were left out of what is embedded."""
    chunks_reused: int
    """Number of chunks that were not embedded again: in reused parts, or with vectors from the previous snapshot."""
    texts_embedded: int
    """Number of distinct texts that the model read."""
    texts_cached: int
    """Number of distinct texts whose vectors were in the cache."""
    tokens_read: int
    """Number of tokens that the model read."""
    seconds: float
    """Time of the whole job. Its parts overlap."""
    seconds_preparing: float
    seconds_embedding: float
    seconds_writing: float
    spec: str
    """The chunk settings."""
    spec_fingerprint: str
    model: str
    model_fingerprint: str
    sparse: SparseReport | None
    """The work of the sparse model, if there is one."""
    sparse_truncated: int = 0
    """Number of chunks that the sparse model truncated."""
    quarantine: tuple[Quarantined, ...] = ()
    """Every document that is not indexed, with the reason."""
    truncation: str | None = None
    """How many chunks the model truncated and what helps, in words; ``None`` if it truncated none."""

    @classmethod
    def _of(cls, text: str) -> Report:
        read = json.loads(text)
        summary = read["summary"]
        chunks, sparse = summary["chunk_changes"], summary["sparse"]
        summary |= {
            "changes": Changes._of(summary["changes"]),  # pyright: ignore[reportPrivateUsage]
            "chunk_changes": None if chunks is None else ChunkChanges(**chunks),
            "sparse": None if sparse is None else SparseReport(**sparse),
            "other_files": OtherFiles._of(summary["other_files"], read["left_out"]),  # pyright: ignore[reportPrivateUsage]
        }
        quarantine = tuple(Quarantined(**row) for row in read["quarantine"])
        return cls(**summary, quarantine=quarantine, truncation=read["truncation"] and in_python(read["truncation"]))

    def _lines(self) -> list[tuple[str, str]]:
        """What most people want to know, each with its name."""
        changes, chunks, others = self.changes, self.chunk_changes, self.other_files
        lines = [
            ("documents", f"{self.documents:,} of {self.discovered:,} indexed"),
            ("chunks", f"{self.chunks:,} with {self.tokens:,} tokens"),
            ("changed", f"{len(changes.new):,} new, {len(changes.changed):,} changed, {len(changes.deleted):,} deleted"),
        ]
        if chunks is not None:
            lines.append(("", f"chunks: {chunks.added:,} added, {chunks.removed:,} removed, {chunks.kept:,} kept"))
        if others.count:
            lines.append(("left out", str(others)))
        if self.truncation:
            lines.append(("truncated", self.truncation))
        lines += [("quarantined", f"{row.doc_id}: {row.reason}") for row in self.quarantine[:10]]
        lines += [("settings", self.spec), ("model", self.model)]
        if self.sparse is not None:
            lines.append(("sparse model", self.sparse.model))
        lines.append(("time", f"{self.seconds:.1f} s"))
        return lines

    def __repr__(self) -> str:
        """One line for each of the most important fields."""
        return "Report\n" + "\n".join(f"  {name:<12}{line}" for name, line in self._lines())

    def _repr_html_(self) -> str:
        return _show.report(self)


@dataclass(frozen=True, repr=False)
class Hit:
    """A chunk that was found."""

    rank: int
    """Position among the hits, from 1."""
    score: float
    doc_id: str
    chunk_id: str
    path: str
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    header_path: str
    """Heading path as one string."""
    content: str
    citation: str
    """``path:start_line-end_line``."""
    collection: str
    chunk_index: int
    prefix_len: int
    """Number of bytes of ``content`` before the document's own text."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """The document's front matter, without title, tags and aliases."""
    scores: dict[str, dict[str, float] | None] = field(default_factory=dict[str, "dict[str, float] | None"])
    """Its rank and score in each list: ``vector``, ``keyword``, ``sparse``, ``recency``, ``graph``."""
    chance: float | None = None
    """Chance that it holds evidence, from 0 to 1, if the score is a weighted sum."""

    def __repr__(self) -> str:
        return _line(self, self.rank, f"{self.score:.4g}", self.citation, self.header_path)

    def _repr_html_(self) -> str:
        return _show.hits([self])

    if not TYPE_CHECKING:
        # Type checkers would accept any name.
        __getattr__ = no_attribute


@dataclass(frozen=True, repr=False)
class DocumentHit:
    """A document that was found by its chunks."""

    rank: int
    score: float
    """Score of its best chunk."""
    doc_id: str
    collection: str
    path: str
    title: str | None
    bytes: int
    lines: int
    modified_time: str | None
    format: str
    chunk_count: int
    tags: list[str]
    aliases: list[str]
    promotion_level: str | None
    chunks: tuple[Hit, ...]

    @classmethod
    def _of(cls, read: dict[str, Any]) -> DocumentHit:
        return cls(**read | {"chunks": tuple(Hit(**hit) for hit in read["chunks"])})

    def __repr__(self) -> str:
        return _line(self, self.rank, f"{self.score:.4g}", self.path, f"{_show.count(len(self.chunks), 'chunk')} found")

    def _repr_html_(self) -> str:
        return _show.documents([self])


class Hits(list[Hit]):
    """Chunks that were found, best first: a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return _show.hits(self)


class DocumentHits(list[DocumentHit]):
    """Documents that were found, best first: a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return _show.documents(self)


@dataclass(frozen=True, repr=False)
class Passage:
    """A passage of one document in a context."""

    number: int
    """Number in the text, from 1."""
    citation: str
    doc_id: str
    path: str
    start_line: int
    end_line: int
    header_path: str
    rank: int
    """Best rank of a hit in it."""
    score: float
    chance: float | None
    """Largest chance of a hit in it that it holds evidence, from 0 to 1, if the scores are weighted sums."""
    ranges: list[list[int]]
    """Byte ranges of the document that it contains."""
    cut: bool
    """Whether it starts or ends inside of a chunk, of which only a part fits the budget."""
    content: str

    def __repr__(self) -> str:
        return _line(self, self.number, self.citation, self.header_path)


@dataclass(frozen=True, repr=False)
class Context:
    """Passages that fit a token budget."""

    budget: int
    tokens: int
    """Exact number of tokens in ``text``, in the dataset's encoding."""
    left_out: int
    """Number of hits that did not fit, are unlikely to hold evidence, or have the same text as a hit in another document."""
    chance: float | None
    """Largest chance of a hit that it holds evidence, from 0 to 1, if the scores are weighted sums."""
    text: str
    """All passages with their labels, as the reader gets them."""
    passages: tuple[Passage, ...]

    @classmethod
    def _of(cls, text: str) -> Context:
        read = json.loads(text)
        return cls(**read | {"passages": tuple(Passage(**passage) for passage in read["passages"])})

    def __repr__(self) -> str:
        return f"Context({_show.numbers(self)})"

    def _repr_html_(self) -> str:
        return _show.context(self)


@dataclass(frozen=True)
class Finding:
    """A problem with a dataset, or a leftover in it."""

    check: str
    file: str
    problem: str
    help: str


@dataclass(frozen=True, repr=False)
class Verification:
    """The result of verifying a dataset."""

    files: int
    rows: int
    bytes: int
    found: dict[str, int]
    """Number of findings of each kind."""
    findings: tuple[Finding, ...]
    """The problems, at most a thousand of each kind."""
    notes: tuple[Finding, ...]
    """Leftovers: not errors, but they waste disk space."""

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.findings

    def __repr__(self) -> str:
        """Whether the dataset is intact, and the numbers."""
        numbers = f"files={self.files}, rows={self.rows}, bytes={self.bytes}, notes={len(self.notes)}"
        return f"Verification(ok={self.ok}, {numbers}, found={_show.short(self.found)})"

    def _repr_html_(self) -> str:
        return _show.verification(self)

    @classmethod
    def _of(cls, text: str) -> Verification:
        read = json.loads(text)
        lists = {key: tuple(Finding(**finding) for finding in read[key]) for key in ("findings", "notes")}
        return cls(**read | lists)


@cache
def _attributes() -> dict[str, str]:
    """Lists the fields of each class, and what is written below them."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[__name__]))
    except OSError:
        # The package was installed without its sources.
        return {}
    listed: dict[str, str] = {}
    for of in tree.body:
        if isinstance(of, ast.ClassDef):
            lines: list[str] = []
            for field, after in zip(of.body, [*of.body[1:], None]):
                if isinstance(field, ast.AnnAssign):
                    lines.append(f"    {ast.unparse(field.target)}: {ast.unparse(field.annotation)}")
                    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                        lines.append(f"        {' '.join(str(after.value.value).split())}")
            listed[of.name] = "\n".join(lines)
    return listed


class _Docstring:
    """The docstring of a class, with its fields, where `help` shows it. It is made when it is read, because an import should
    not wait for it."""

    def __init__(self, of: type) -> None:
        self._name, self._own = of.__name__, inspect.cleandoc(of.__doc__ or "")

    def __get__(self, instance: object, of: type) -> str:
        attributes = _attributes().get(self._name)
        return f"{self._own}\n\nAttributes:\n{attributes}" if attributes else self._own


for _of in [of for of in globals().values() if isinstance(of, type) and of.__module__ == __name__ and is_dataclass(of)]:
    _of.__doc__ = _Docstring(_of)  # type: ignore[assignment]  # pyright: ignore
