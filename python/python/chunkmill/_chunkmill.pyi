"""Types of the native module. The public interface is `chunkmill`."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, Protocol, final, overload

__version__: str

class ArrowStream(Protocol):
    """Any table with an Arrow C stream: from pyarrow, Polars, DuckDB, pandas or chunkmill."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Chunk:
    """A chunk of a document: a row of the table ``chunks``, without the columns of a model.

    All chunks of a document stay in memory together, as long as one of them does.
    """

    # Columns, made by `tools/typed_columns.py`.
    @property
    def chunk_id(self) -> str:
        """Unique, and the same for the same input and settings."""

    @property
    def doc_id(self) -> str:
        """The document: its path, or collection:path in a named collection."""

    @property
    def collection(self) -> str:
        """Name of the corpus root."""

    @property
    def path(self) -> str:
        """Path below the root, with / between its parts."""

    @property
    def chunk_index(self) -> int:
        """Position in the document, from 0."""

    @property
    def section_index(self) -> int:
        """Position of the section (or merged sections), from 0."""

    @property
    def sub_index(self) -> int | None:
        """Position among the pieces of a section that was split; null if it was not."""

    @property
    def n_in_section(self) -> int:
        """Number of chunks in the section."""

    @property
    def kind(self) -> str:
        """Text, code, footnote, or document for a whole one."""

    @property
    def heading_path(self) -> list[str]:
        """The headings above the first text in the range that is not a heading, outermost first."""

    @property
    def header_path(self) -> str:
        """The heading path as one string."""

    @property
    def headings(self) -> list[dict[str, Any]]:
        """The headings that start in the range, with their levels: Markdown headings, top-level keys of YAML
        and JSON, items of source code."""

    @property
    def content(self) -> str:
        """Prefix_len bytes of prefix, the document's bytes start_byte..end_byte and, if a code fence was cut,
        the line that closes it."""

    @property
    def normalized_content(self) -> str | None:
        """Content as the spec normalises it; null if the spec does not."""

    @property
    def start_byte(self) -> int:
        """First byte of the range in the layer: the file's text as UTF-8 or, of a format that is not text, the
        column layer of documents."""

    @property
    def end_byte(self) -> int:
        """One past the last byte of the range."""

    @property
    def start_char(self) -> int:
        """Start_byte in Unicode scalar values."""

    @property
    def end_char(self) -> int:
        """End_byte in Unicode scalar values."""

    @property
    def start_line(self) -> int:
        """Line of the first byte of the range, from 1."""

    @property
    def end_line(self) -> int:
        """Line of the last byte of the range, from 1."""

    @property
    def source_start(self) -> int | None:
        """First byte of the file that the range is from; null if the file is a package, whose places have
        names."""

    @property
    def source_end(self) -> int | None:
        """One past the last byte of the file that the range is from; null in a package."""

    @property
    def place(self) -> str | None:
        """Where the range is in a file that is not read as it is: #name of a section of a page, :first-last
        line, or names such as slide 4 or Prices!A1:C9; null otherwise."""

    @property
    def page_start(self) -> int | None:
        """Page or slide on which the range starts, from 1; null in formats without pages."""

    @property
    def page_end(self) -> int | None:
        """Page or slide on which the range ends."""

    @property
    def prefix_len(self) -> int:
        """Bytes of content before the source text: parent headers, overlap, the head of a table or fence that
        was cut."""

    @property
    def has_overlap(self) -> bool:
        """Whether the prefix repeats the end of the previous chunk."""

    @property
    def overlap_start_byte(self) -> int | None:
        """First byte, in the file, of what the prefix repeats of the previous chunk; null without overlap."""

    @property
    def overlap_end_byte(self) -> int | None:
        """One past the last byte of it; null without overlap."""

    @property
    def is_sub_split(self) -> bool:
        """Whether the section was over the maximum and was split."""

    @property
    def n_chars(self) -> int:
        """Length of content in Unicode scalar values."""

    @property
    def n_tokens(self) -> int:
        """Exact number of tokens in content, in the encoding of the chunk settings (cl100k_base by default),
        without inline data: URLs."""

    @property
    def n_model_tokens(self) -> int | None:
        """The model's tokens, including special ones, before truncation."""

    @property
    def truncated(self) -> bool | None:
        """Whether the text was truncated to what the model reads."""

    @property
    def flags(self) -> list[str]:
        """Oversized_… for a block over the maximum, alone or with its headings or overlap, or part of a list
        item that is; inline_data if it has an inline data: URL; zero_vector if the model knows no word of
        it; sparse_truncated if the sparse model reads only the beginning; names of risks in the text."""

    @property
    def links(self) -> list[dict[str, Any]]:
        """Links that start in the range: kind, target as written (… for inline data), absolute URL if the spec
        has a base, text."""

    @property
    def images(self) -> list[dict[str, Any]]:
        """Images that start in the range: target as written (… for inline data), absolute URL if the spec has
        a base, alternative text."""

    @property
    def tags(self) -> list[str]:
        """From the front matter and #tags in the text."""

    @property
    def aliases(self) -> list[str]:
        """From the front matter."""

    @property
    def metadata(self) -> str:
        """The rest of the front matter, as JSON."""

    @property
    def promotion_level(self) -> str | None:
        """From the front matter of the document; null in the collection external, which has no levels."""

    @property
    def content_hash(self) -> str:
        """BLAKE3 of content."""

    @property
    def modified_time(self) -> str | None:
        """The file's own modification time."""
    # End of the columns.

    def as_dict(self) -> dict[str, Any]:
        """Returns all columns by name, as ``chunkmill chunk`` prints them."""

    def _repr_html_(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Table:
    """A table: rows in memory, or in the files of a dataset.

    Every Arrow library accepts it directly: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
    ``duckdb.sql("FROM t")``. It is also a sequence of rows, each a ``dict``, so ``pandas.DataFrame(t)`` works without
    Arrow. Rows in files are read when they are used, each time anew.
    """

    @property
    def column_names(self) -> list[str]:
        """Names of its columns."""

    @property
    def num_rows(self) -> int:
        """Number of its rows."""

    def to_arrow(self) -> Any:
        """Returns it as a table of pyarrow, without copying a value."""

    def to_pandas(self) -> Any:
        """Returns it as a data frame of pandas, through pyarrow."""

    def to_polars(self) -> Any:
        """Returns it as a data frame of Polars, without copying a value."""

    def to_pylist(self) -> list[dict[str, Any]]:
        """Returns its rows as a list of dicts. Times are ``datetime`` in UTC."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Its rows, one after the other."""

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]:
        """A row, counted from 0; from the end if the number is negative."""

    @overload
    def __getitem__(self, key: str) -> list[Any]:
        """The values of a column."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class Chunker:
    def __new__(cls, **settings: object) -> Chunker: ...
    def cut_sources(self, sources: list[str | PathLike[str]], names: list[str], strict: bool) -> list[list[Chunk]]: ...
    def cut_to_arrow(self, sources: list[str | PathLike[str]], names: list[str], strict: bool) -> Table: ...
    def cut_table(self, table: ArrowStream, embed: bool) -> Table: ...

@final
class Encoder:
    def __new__(cls, **settings: object) -> Encoder: ...
    @staticmethod
    def of_dataset(out: str, **settings: object) -> Encoder: ...
    def vectors(self, texts: list[str], query: bool) -> bytearray: ...
    @property
    def dim(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def model(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...

@final
class Dataset:
    def __new__(cls, out: str) -> Dataset: ...
    def table(self, name: str, columns: list[str] | None = None) -> Table: ...
    def vectors(self, kind: str | None = None) -> bytearray: ...
    def changes(self, since: str) -> Table: ...
    @property
    def snapshot(self) -> str: ...
    def verify(self, corpus: list[str]) -> str: ...
    def about(self) -> str: ...

# A question: its words, the number of results, the filters, and the minimum score.
_Asked = tuple[str, int, list[list[str]], float | None]

@final
class Searcher:
    def __new__(cls, out: str, **settings: object) -> Searcher: ...
    def search(self, asked: _Asked, **settings: object) -> str: ...
    def documents(self, asked: _Asked, **settings: object) -> str: ...
    def context(self, asked: _Asked, budget: int, **settings: object) -> str: ...
    def __len__(self) -> int: ...

def isolate(program: str, args: list[str]) -> None: ...
def serve() -> None: ...
def count(texts: list[str], **settings: object) -> list[int]: ...
def index(
    paths: list[str],
    out: str,
    fresh: bool,
    allow_shrink: bool,
    progress: Callable[[str, float], object] | None,
    **settings: object,
) -> str: ...
def plan(paths: list[str], out: str, allow_shrink: bool, **settings: object) -> str: ...
def settings() -> str: ...
def one_of(written: str, names: list[str]) -> str: ...
def columns() -> list[tuple[str, str, str]]: ...
