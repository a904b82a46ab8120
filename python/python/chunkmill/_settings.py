"""Settings by the tables they stand in. Made by `tools/typed_settings.py`; do not edit."""

from __future__ import annotations

import os
from typing import Literal, TypedDict


class _Corpus(TypedDict, total=False):
    include: str | list[str] | None
    """Index the files that match one of these globs, instead of the documents that `chunkmill formats` lists. Globs
    are read as in `.gitignore`: `*.py` matches in every folder, `/*.py` only at the top, `api/` everything in
    that folder [default: all documents]."""
    exclude: str | list[str] | None
    """Skip the files that match one of these globs."""
    text_column: str | os.PathLike[str] | None
    """Make each row of a table a document, whose text is in this column: tables in Parquet, JSON lines, CSV and TSV.
    The other columns are its metadata [default: none: a table is one document, or none]."""
    id_column: str | os.PathLike[str] | None
    """The column that names the rows of a table. Without one, they have numbers [default: none]."""
    attachments: bool | None
    """Make each file that is attached to a mail a document too, named `mail.eml#report.pdf` [default: false]."""
    hidden: bool | None
    """Index hidden files and folders too. Folders of version control systems, like `.git`, are always skipped
    [default: true]."""
    max_file_size: int | None
    """Quarantine files larger than this [default: 268435456]."""
    security: Literal["strict", "moderate", "permissive"] | None
    """Which security risks quarantine a document [default: moderate]."""
    allow_blocked: bool | None
    """Index blocked documents anyway, with the flag `document_blocked` [default: false]."""
    drop_duplicates: str | os.PathLike[str] | None
    """Leave out duplicates: `exact`, documents with the same bytes as another, or `near=0.9`, those that share this
    part of all runs of five words with another. The first by id stays; the others are quarantined [default:
    none]."""
    skip_boilerplate: int | None
    """Leave paragraphs that stand in at least this many documents out of what is embedded. `content` keeps them
    [default: none]."""
    html: Literal["main", "whole"] | None
    """Which part of an HTML page to read: `main`, without menus and banners, or `whole` [default: main]."""
    notebook_outputs: bool | None
    """Read the outputs of a notebook's cells too [default: false]."""
    text_growth: int | None
    """Quarantine documents whose text would be more than this many times as long as the file [default: 8]."""
    document_memory: int | None
    """Quarantine documents that would need more memory than this [default: 16 bytes per byte of the document, plus
    50000000]."""


class _Chunking(TypedDict, total=False):
    preset: Literal["ragdocs", "sections", "docs", "code", "fixed", "pdf", "heading-tokens", "line-threshold", "structure", "recursive", "chroma-recursive", "windows", "none"] | None
    """A named group of chunk settings [default: structure]."""
    strategy: Literal["header", "section", "semantic", "code_aware", "fixed", "heading", "lines", "structure", "recursive", "chroma_recursive", "windows", "none"] | None
    """Rule that decides where documents may be cut [default: the preset's]."""
    unit: Literal["chars", "tokens", "words", "estimate", "model", "lines"] | None
    """Unit in which sizes are given [default: the preset's]."""
    token_estimator: Literal["bytes", "chars", "tiktoken"] | None
    """Another name for the unit: bytes (estimate), chars, or tiktoken (tokens). `unit` takes precedence."""
    encoding: Literal["cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "r50k_base"] | None
    """Token encoding for the unit `tokens` and for the column `n_tokens` [default: cl100k_base]."""
    min: int | None
    """Smallest size to aim for. With `lines`: documents up to this size stay whole [default: the preset's]."""
    target: int | None
    """Size to aim for [default: the preset's]."""
    max: int | None
    """Largest size of a chunk [default: the preset's]."""
    overlap: int | None
    """How much of each chunk to repeat at the start of the next one [default: the preset's]."""
    parent_headers: bool | None
    """Prepend the parent headings to the text of a chunk (`header`) [default: the preset's]."""
    context: Literal["none", "headings", "document", "full"] | None
    """What the model sees before the content: nothing (`none`), the heading path (`headings`), the document's name
    (`document`), or both (`full`) [default: the preset's]."""
    pooling: Literal["chunk", "late"] | None
    """What the model reads to embed a chunk: the chunk alone (`chunk`), or the whole document once (`late`, for
    models with mean pooling) [default: chunk]."""
    respect_boundaries: bool | None
    """Never mix several sections in one chunk (`semantic`, `code_aware`, `fixed`) [default: the preset's]."""
    include_code: bool | None
    """Keep code blocks (`semantic`, `code_aware`, `fixed`) [default: the preset's]."""
    include_tables: bool | None
    """Keep tables (`semantic`, `code_aware`, `fixed`) [default: the preset's]."""
    cut_oversized: bool | None
    """Split blocks that exceed the maximum, between rows, lines, sentences or words. Tables keep their header row
    and code keeps its fence (`header`, `section`, `semantic`, `code_aware`, `lines`, `structure`) [default: the
    preset's]."""
    sentence_overlap: bool | None
    """Overlap by whole sentences, up to half a chunk (`header`, `section`, `semantic`, `code_aware`, `lines`,
    `structure`) [default: the preset's]."""
    normalize_whitespace: bool | None
    """Collapse white space in the text that the model sees [default: the preset's]."""
    normalize_unicode: bool | None
    """Convert the text that the model sees to Unicode NFC [default: the preset's]."""
    redact_urls: bool | None
    """Remove queries and credentials from URLs in the text that the model sees [default: the preset's]."""
    base_url: str | os.PathLike[str] | None
    """URL of the corpus root. Relative links become absolute in the text that the model sees."""


class _Embedding(TypedDict, total=False):
    model: str | os.PathLike[str] | None
    """Model folder, or hub id with an optional revision; with `--embedder remote`, the name that the service has for
    it [default: sentence-transformers/all-MiniLM-L6-v2; to search, the dataset's own]."""
    query_model: str | os.PathLike[str] | None
    """A second model, for queries only. It must have been trained to match the first [default: the model; to search,
    the dataset's own]."""
    sparse_model: str | os.PathLike[str] | None
    """A sparse model (SPLADE) next to the model. It adds a column of sparse vectors, by which `search` ranks too. It
    runs on the CPU [default: none; to search, the dataset's own]."""
    device: str | os.PathLike[str] | None
    """Where the model runs: cpu, cuda:N, metal [default: cpu]."""
    embedder: Literal["auto", "cpu", "candle", "fake", "remote"] | None
    """What runs the model: `auto` (`cpu` where it can), `cpu` (our own encoder), `candle`, `remote` (a web service,
    see `--endpoint`), or `fake` (a dry run without a model) [default: auto]."""
    precision: Literal["auto", "f32", "f16", "bf16", "int8"] | None
    """Numeric precision of the model [default: auto; to search, the dataset's own]."""
    dimensions: int | None
    """Keep only the first N values of each vector. The model must declare that N [default: all; to search, the
    dataset's own]."""
    force_dimensions: bool | None
    """Accept a number of dimensions that the model does not declare [default: false]."""
    cpu_isa: Literal["portable", "neon", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-bf16", "amx"] | None
    """Instruction set to use, for comparisons [default: the best it has]."""
    batch_tokens: int | None
    """Largest number of tokens in one batch [default: 384 for `cpu`, 2048 for `candle`, 16384 for `remote`]."""
    deny_truncation: bool | None
    """Fail if the model would truncate a chunk [default: false]."""
    embedding_cache: str | os.PathLike[str] | None
    """Where to cache vectors between runs: auto (`chunkmill` in `$XDG_CACHE_HOME` or `~/.cache`), off, or a folder
    [default: auto]."""
    embedding_cache_size: int | None
    """Largest size of that cache on disk. The least recently used entries go first [default: 4294967296]."""


class _Service(TypedDict, total=False):
    endpoint: str | os.PathLike[str] | None
    """Base URL of the service that computes vectors with `--embedder remote`. It receives every text. Its key comes
    from the variable `CHUNKMILL_API_KEY` [default: none]."""
    dialect: Literal["auto", "openai", "tei", "ollama", "cohere", "voyage", "jina", "gemini", "mistral"] | None
    """Form of its requests. `auto` knows the hosts of the vendors, asks others whether they are TEI or Ollama, and
    takes the rest for compatible with OpenAI [default: auto]."""
    tokenizer: str | os.PathLike[str] | None
    """Model whose tokenizer counts as the service does [default: cl100k_base, OpenAI's]."""
    text_tokens: int | None
    """Largest number of tokens that the service reads of a text. A longer one is cut there and flagged [default:
    what the service or its documentation says]."""
    document_prefix: str | os.PathLike[str] | None
    """Text before each chunk, for models that need one [default: none, or that of the model's documentation]."""
    query_prefix: str | os.PathLike[str] | None
    """Text before each question [default: none, or that of the model's documentation]."""
    requests: int | None
    """Largest number of requests at a time [default: 4]."""
    batch_texts: int | None
    """Largest number of texts in a request [default: what the service or its documentation says, or 32]."""
    requests_per_minute: int | None
    """Largest number of requests in a minute [default: no limit]."""
    tokens_per_minute: int | None
    """Largest number of tokens in a minute [default: no limit]."""
    request_timeout: int | None
    """How long to wait for an answer [default: 60]."""
    price: float | None
    """Price of a million tokens, in any currency, for `plan` and `--max-cost` [default: none]."""
    max_tokens: int | None
    """Stop before this run has sent more tokens [default: no limit]."""
    max_cost: float | None
    """Stop before this run has cost more, by `--price` [default: no limit]."""


class _Output(TypedDict, total=False):
    files: int | None
    """Files per table [default: 8]."""
    embedding_type: str | os.PathLike[str] | None
    """Types in which vectors are stored, each in its column: one of `f32`, `f16` and `list`, and `int8` and `bits`,
    with or without it [default: f32]."""
    float_encoding: Literal["bss", "plain"] | None
    """Parquet encoding of f32 values: byte stream split (`bss`) or `plain` [default: bss]."""


class _Search(TypedDict, total=False):
    mode: Literal["vector", "keyword", "sparse", "hybrid", "graph"] | None
    """How to search [default: hybrid]."""
    fusion: Literal["linear", "rrf"] | None
    """How `hybrid` and `graph` combine scores: a weighted sum of scores (`linear`) or of reciprocal ranks (`rrf`)
    [default: linear]."""
    vector_share: float | None
    """Share of the vector score in `linear`. Keywords get the rest [default: 0.6]."""
    sparse_share: float | None
    """Share of the sparse score in `linear`, if the dataset has sparse vectors. Vectors and keywords get the rest
    [default: 0.1]."""
    document_weight: float | None
    """Weight of the whole document's keyword score in the scores of its chunks [default: 1]."""
    neighbour_weight: float | None
    """Weight of the vectors of the previous and the next chunk, in `linear` [default: 0.2]."""
    language: str | os.PathLike[str] | None
    """Language for stemming: auto (detected for each document), a code such as `en`, or none [default: auto]."""
    rrf_k: float | None
    """The constant k of `rrf` [default: 60]."""
    vector_weight: float | None
    """Weight of the vector list in `rrf` [default: 1]."""
    keyword_weight: float | None
    """Weight of the keyword list in `rrf` [default: 1]."""
    sparse_weight: float | None
    """Weight of the sparse list in `rrf`, if the dataset has sparse vectors [default: 1]."""
    recency_weight: float | None
    """Weight of the modification time. Newer documents rank higher [default: 0]."""
    graph_weight: float | None
    """Weight of chunks linked to the best hits, in `graph` [default: 0.5]."""
    depth: int | None
    """How many entries of each list `rrf` reads [default: 100]."""
    graph_seeds: int | None
    """How many of the best hits `graph` follows links from [default: 10]."""
    content_weight: float | None
    """Weight of a keyword found in the content [default: 1]."""
    headings_weight: float | None
    """Weight of a keyword found in the headings above or inside a chunk [default: 0.25]."""
    tags_weight: float | None
    """Weight of a keyword found in the tags [default: 1]."""
    aliases_weight: float | None
    """Weight of a keyword found in the aliases [default: 1]."""
    title_weight: float | None
    """Weight of a keyword found in the document's title [default: 0.5]."""
    path_weight: float | None
    """Weight of a keyword found in the document's path [default: 2]."""
    rerank: str | os.PathLike[str] | None
    """Reranker (cross-encoder) that reorders the best chunks [default: none]."""
    rerank_depth: int | None
    """How many chunks the reranker reads. The others follow in their order [default: 20]."""
    rerank_weight: float | None
    """Weight of the ranking's score next to the reranker's. With 0, the reranker's replaces it [default: 2]."""
    rerank_ms: int | None
    """Milliseconds for the reranker: it reads only as many chunks as there is time for, but at least 8 [default: no
    limit]."""
    packing: Literal["evidence", "rank"] | None
    """Order in which a context is filled: `evidence` (expected evidence per token, needs `linear` fusion) or `rank`
    [default: evidence]."""
    least: float | None
    """Lowest chance of a passage in a context, from 0 to 1, that it holds evidence. Needs `linear` fusion [default:
    0.005]."""
    search_cache: str | os.PathLike[str] | None
    """Where to cache rows, vectors and keyword indexes for searches: auto (`chunkmill` in `$XDG_CACHE_HOME` or
    `~/.cache`), off, or a folder [default: auto]."""


class _Run(TypedDict, total=False):
    threads: int | None
    """Worker threads [default: one per core]."""
    memory: int | None
    """Memory limit. Fewer documents are processed at once; a document that needs more than half of it is quarantined
    [default: no limit]."""


class CuttingSettings(_Chunking, _Corpus, _Embedding, _Service, _Output, _Run, total=False):
    config: str | os.PathLike[str] | None
    """A settings file, over which the other arguments go."""


class EncodingSettings(_Embedding, _Service, _Run, total=False):
    config: str | os.PathLike[str] | None
    """A settings file, over which the other arguments go."""


class SearchingSettings(_Search, _Embedding, _Service, _Run, total=False):
    config: str | os.PathLike[str] | None
    """A settings file, over which the other arguments go."""


class AskingSettings(_Search, total=False):
    config: str | os.PathLike[str] | None
    """A settings file, over which the other arguments go."""
