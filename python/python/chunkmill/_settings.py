"""Settings by the tables they stand in. Made by `tools/typed_settings.py`; do not edit."""

from __future__ import annotations

import os
from typing import Literal, TypedDict


class _Corpus(TypedDict, total=False):
    include: str | list[str] | None
    """Take only files that match one of these globs [default: markdown and text]."""
    exclude: str | list[str] | None
    """Leave out files that match one of these globs."""
    hidden: bool | None
    """Whether hidden files and folders count [default: true]."""
    max_file_size: int | None
    """Put files over this size into quarantine [default: 268435456]."""
    security: Literal["strict", "moderate", "permissive"] | None
    """Put documents with these risks into quarantine [default: moderate]."""
    allow_blocked: bool | None
    """Index them all the same, flagged `document_blocked` [default: false]."""
    document_memory: int | None
    """Put documents that would take more memory into quarantine [default: 16 bytes for each of theirs, and
    50000000]."""


class _Chunking(TypedDict, total=False):
    preset: Literal["ragdocs", "sections", "docs", "code", "fixed", "pdf", "heading-tokens", "line-threshold", "structure", "recursive", "windows", "none"] | None
    """Named settings [default: structure]."""
    strategy: Literal["header", "section", "semantic", "code_aware", "fixed", "heading", "lines", "structure", "recursive", "windows", "none"] | None
    """Where documents may be cut [default: the preset's]."""
    unit: Literal["chars", "tokens", "words", "estimate", "model", "lines"] | None
    """What sizes count [default: the preset's]."""
    token_estimator: Literal["bytes", "chars", "tiktoken"] | None
    """The same in the words of another design: bytes (estimate), chars, tiktoken (tokens). A unit goes over it."""
    encoding: Literal["cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "r50k_base"] | None
    """Which tokens are counted, as a unit and in `n_tokens` [default: cl100k_base]."""
    min: int | None
    """Smallest size aimed at; with `lines`, the largest document that is not cut [default: the preset's]."""
    target: int | None
    """Size aimed at [default: the preset's]."""
    max: int | None
    """Largest size of a chunk [default: the preset's]."""
    overlap: int | None
    """How much of a chunk is repeated at the start of the next [default: the preset's]."""
    parent_headers: bool | None
    """Put the headings above a chunk before its text (`header`) [default: the preset's]."""
    context: Literal["none", "headings", "document", "full"] | None
    """What the model sees before the content: none, the heading path (`headings`), the document's name (`document`),
    or both (`full`) [default: the preset's]."""
    heading_context: bool | None
    """An older way to say `headings` or `none`. A context goes over it."""
    pooling: Literal["chunk", "late"] | None
    """What the model reads to make a chunk's vector: its text (`chunk`), or its document, once for all its chunks
    (`late`; for models that pool by mean) [default: chunk]."""
    respect_boundaries: bool | None
    """Let no chunk hold parts of several sections (`semantic`, `code_aware`, `fixed`) [default: the preset's]."""
    include_code: bool | None
    """Keep code blocks (`semantic`, `code_aware`, `fixed`) [default: the preset's]."""
    include_tables: bool | None
    """Keep tables (`semantic`, `code_aware`, `fixed`) [default: the preset's]."""
    cut_oversized: bool | None
    """Cut what is over the maximum between rows, lines, sentences or words; tables keep their header and code its
    fence (`header`, `section`, `semantic`, `code_aware`, `lines`, `structure`) [default: the preset's]."""
    sentence_overlap: bool | None
    """Overlap by whole sentences, at most half a chunk (`header`, `section`, `semantic`, `code_aware`, `lines`,
    `structure`) [default: the preset's]."""
    normalize_whitespace: bool | None
    """Show the model a text with its white space tidied [default: the preset's]."""
    normalize_unicode: bool | None
    """Show the model a text in Unicode's composed form, NFC [default: the preset's]."""
    redact_urls: bool | None
    """Show the model URLs without query and credentials [default: the preset's]."""
    base_url: str | os.PathLike[str] | None
    """URL of the corpus root: relative links become absolute in what the model sees."""


class _Embedding(TypedDict, total=False):
    model: str | os.PathLike[str] | None
    """Model folder, or hub id with an optional revision [default: sentence-transformers/all-MiniLM-L6-v2; to search,
    the dataset's own]."""
    query_model: str | os.PathLike[str] | None
    """Another model for queries, one that was trained to be used with the first [default: the model; to search, the
    dataset's own]."""
    device: str | os.PathLike[str] | None
    """Where the model runs: cpu, cuda:N, metal [default: cpu]."""
    embedder: Literal["auto", "cpu", "candle", "fake"] | None
    """What runs it: our own encoder (`cpu`) where it can, `candle`, or `fake` for a dry run without a model
    [default: auto]."""
    precision: Literal["auto", "f32", "bf16", "int8"] | None
    """What it is computed in [default: auto; to search, the dataset's own]."""
    dimensions: int | None
    """How many of a vector's first values are kept, of those numbers that the model declares [default: all; to
    search, the dataset's own]."""
    force_dimensions: bool | None
    """Whether `dimensions` may be a number that the model does not declare [default: false]."""
    cpu_isa: Literal["portable", "neon", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-bf16", "amx"] | None
    """Which instructions of the CPU are used, for comparisons [default: the best it has]."""
    batch_tokens: int | None
    """Most tokens in a batch of the model [default: 384 for `cpu`, 2048 for `candle`]."""
    deny_truncation: bool | None
    """Fail if a chunk is longer than the model reads [default: false]."""
    embedding_cache: str | os.PathLike[str] | None
    """Where vectors are kept for other runs: auto (`chunkmill` in `$XDG_CACHE_HOME` or `~/.cache`), off, or a folder
    [default: auto]."""
    embedding_cache_size: int | None
    """Most that it may take on disk; what was not used for long goes first [default: 4294967296]."""


class _Output(TypedDict, total=False):
    files: int | None
    """Files per table [default: 8]."""
    embedding_type: Literal["f32", "f16", "list"] | None
    """How vectors are stored [default: f32]."""
    float_encoding: Literal["bss", "plain"] | None
    """How f32 values are encoded: byte stream split (`bss`), or plain [default: bss]."""


class _Search(TypedDict, total=False):
    mode: Literal["vector", "keyword", "hybrid", "graph"] | None
    """How to search [default: hybrid]."""
    fusion: Literal["linear", "rrf"] | None
    """How `hybrid` and `graph` make one score of several: a sum of scores (`linear`), or of reciprocal ranks (`rrf`)
    [default: linear]."""
    vector_share: float | None
    """Share of the vector in `linear`; the rest is the keywords' [default: 0.6]."""
    document_weight: float | None
    """Weight of a document's keyword score in those of its chunks [default: 1]."""
    neighbour_weight: float | None
    """Weight of the vectors of the chunks before and after, in `linear` [default: 0.2]."""
    language: str | os.PathLike[str] | None
    """Language of documents and questions, by which words are reduced to stems: auto (each document in its own), a
    code like `en`, or none [default: auto]."""
    rrf_k: float | None
    """Constant of `rrf` [default: 60]."""
    vector_weight: float | None
    """Weight of the vector list in it [default: 1]."""
    keyword_weight: float | None
    """Weight of the keyword list [default: 1]."""
    recency_weight: float | None
    """Weight of the modification time: the newer, the better [default: 0]."""
    graph_weight: float | None
    """Weight of what is linked with the best hits, in `graph` [default: 0.5]."""
    depth: int | None
    """How far down the vector and keyword lists are read in `rrf` [default: 100]."""
    graph_seeds: int | None
    """How many of the best hits are asked for their neighbours [default: 10]."""
    content_weight: float | None
    """How much a keyword counts in the content [default: 1]."""
    headings_weight: float | None
    """How much in the headings above and inside [default: 0.25]."""
    tags_weight: float | None
    """How much in the tags [default: 1]."""
    aliases_weight: float | None
    """How much in the aliases [default: 1]."""
    title_weight: float | None
    """How much in the title of the document [default: 0.5]."""
    path_weight: float | None
    """How much in its path [default: 2]."""
    rerank: str | os.PathLike[str] | None
    """A network that reads the best chunks with the question and puts them in order (a cross-encoder) [default:
    none]."""
    rerank_depth: int | None
    """How many chunks it reads; no others are found [default: 50]."""
    packing: Literal["evidence", "rank"] | None
    """In which order a context is filled: by expected evidence per token (`evidence`; as `rank` where scores are no
    sum of `linear`), or by rank [default: evidence]."""
    keyword_cache: str | os.PathLike[str] | None
    """Where keyword indexes are kept: auto (`chunkmill` in `$XDG_CACHE_HOME` or `~/.cache`), off, or a folder
    [default: auto]."""


class _Run(TypedDict, total=False):
    threads: int | None
    """Worker threads [default: one per core]."""
    memory: int | None
    """Take no more memory: fewer documents at once; one that needs more than half of it is put into quarantine
    [default: no limit]."""


class CuttingSettings(_Chunking, _Corpus, _Embedding, _Output, _Run, total=False):
    config: str | os.PathLike[str] | None
    """A settings file, over which the other arguments go."""


class EncodingSettings(_Embedding, _Run, total=False):
    config: str | os.PathLike[str] | None
    """A settings file, over which the other arguments go."""


class SearchingSettings(_Search, _Embedding, _Run, total=False):
    config: str | os.PathLike[str] | None
    """A settings file, over which the other arguments go."""


class AskingSettings(_Search, total=False):
    config: str | os.PathLike[str] | None
    """A settings file, over which the other arguments go."""
