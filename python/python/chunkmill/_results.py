"""Reports, hits and contexts, as plain data classes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


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


@dataclass(frozen=True)
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
    deleted: int
    """Number of documents of the previous snapshot that the corpus no longer has."""
    deleted_first: list[str]
    """Ids of the first of them."""
    malformed_front_matter: int
    """Number of documents whose front matter is not valid and was read line by line."""
    chunks_kept: int
    """Number of chunks in reused parts, or with vectors from the previous snapshot."""
    texts_embedded: int
    texts_cached: int
    tokens_read: int
    """Number of tokens that the model read."""
    seconds: float
    seconds_preparing: float
    seconds_embedding: float
    seconds_writing: float
    spec: str
    """The chunk settings."""
    spec_fingerprint: str
    model: str
    model_fingerprint: str
    quarantine: tuple[Quarantined, ...] = ()
    """Every document that is not indexed, with the reason."""

    @classmethod
    def _of(cls, text: str) -> Report:
        read = json.loads(text)
        return cls(**read["summary"], quarantine=tuple(Quarantined(**row) for row in read["quarantine"]))


@dataclass(frozen=True)
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
    """Its rank and score in each list: ``vector``, ``keyword``, ``recency``, ``graph``."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
    ranges: list[list[int]]
    """Byte ranges of the document that it contains."""
    cut: bool
    """Whether its end was cut off because nothing would have fit otherwise."""
    content: str


@dataclass(frozen=True)
class Context:
    """Passages that fit a token budget."""

    budget: int
    tokens: int
    """Exact number of tokens in ``text``, in the dataset's encoding."""
    left_out: int
    """Number of hits that did not fit or have the same text as a hit in another document."""
    text: str
    """All passages with their labels, as the reader gets them."""
    passages: tuple[Passage, ...]

    @classmethod
    def _of(cls, text: str) -> Context:
        read = json.loads(text)
        return cls(**read | {"passages": tuple(Passage(**passage) for passage in read["passages"])})


@dataclass(frozen=True)
class Finding:
    """A problem with a dataset, or a leftover in it."""

    check: str
    file: str
    problem: str
    help: str


@dataclass(frozen=True)
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

    @classmethod
    def _of(cls, text: str) -> Verification:
        read = json.loads(text)
        lists = {key: tuple(Finding(**finding) for finding in read[key]) for key in ("findings", "notes")}
        return cls(**read | lists)
