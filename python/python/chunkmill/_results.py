"""Results that are few: reports, hits, contexts. They are plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    documents: int
    """Documents found."""
    prepared: int
    """Those of them that are chunked, taken over or in quarantine."""
    chunks: int
    """Chunks of these."""
    ready: int
    """Chunks that have their vectors."""
    texts_embedded: int
    """Texts that the model has read."""
    tokens_per_second: float
    seconds: float
    """Time since the start."""
    eta_seconds: float
    """Time that the rest will take; 0 while nothing is known."""
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
    """What came of a job."""

    discovered: int
    """Documents found: indexed and quarantined."""
    documents: int
    """Documents indexed."""
    chunks: int
    quarantined: int
    bytes: int
    """Of the indexed documents."""
    tokens: int
    """Of all chunks, in the encoding of the chunk settings."""
    model_tokens: int
    """The same in the model's own tokens."""
    truncated: int
    """Chunks that the model cut."""
    edges: int
    """Links to somewhere in the corpus, or to what is not there."""
    unresolved_edges: int
    edges_by_kind: dict[str, dict[str, int]]
    chunks_kept: int
    """Chunks whose vectors earlier runs had made."""
    texts_embedded: int
    texts_cached: int
    tokens_read: int
    """Tokens that the model read."""
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
    """Every document that is not indexed, and why."""

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
    """The headings it stands under."""
    content: str
    citation: str
    """``path:start_line-end_line``."""
    collection: str
    chunk_index: int
    prefix_len: int
    """Bytes of ``content`` that stand before the document's text."""
    scores: dict[str, dict[str, float] | None] = field(default_factory=dict[str, "dict[str, float] | None"])
    """What each list says of it: ``vector``, ``keyword``, ``recency``, ``graph``."""


@dataclass(frozen=True)
class DocumentHit:
    """A document that was found by its chunks."""

    rank: int
    score: float
    """That of its best chunk."""
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
    """A stretch of one document in a context."""

    number: int
    """In the text, from 1."""
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
    """The bytes of the document that it holds."""
    cut: bool
    """Whether its end was cut off, because nothing would have fit else."""
    content: str


@dataclass(frozen=True)
class Context:
    """Passages that fit a budget of tokens."""

    budget: int
    tokens: int
    """Of ``text``, exactly, in the dataset's encoding."""
    left_out: int
    """Hits that had no room, or the text of another document's."""
    text: str
    """All passages with their labels, as they are handed to a reader."""
    passages: tuple[Passage, ...]

    @classmethod
    def _of(cls, text: str) -> Context:
        read = json.loads(text)
        return cls(**read | {"passages": tuple(Passage(**passage) for passage in read["passages"])})


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a dataset, or in vain."""

    check: str
    file: str
    problem: str
    help: str


@dataclass(frozen=True)
class Verification:
    """Whether a dataset is what it says it is."""

    files: int
    rows: int
    bytes: int
    found: dict[str, int]
    """How many findings of each kind there are."""
    findings: tuple[Finding, ...]
    """What is wrong; of each kind at most a thousand."""
    notes: tuple[Finding, ...]
    """What is there in vain: no mistake, but room on the disk."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    @classmethod
    def _of(cls, text: str) -> Verification:
        read = json.loads(text)
        lists = {key: tuple(Finding(**finding) for finding in read[key]) for key in ("findings", "notes")}
        return cls(**read | lists)
