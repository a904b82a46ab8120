"""Types of the native module. The public interface is `chunkmill`."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Protocol, final

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
        """Unique in the corpus, and the same for the same input and settings."""

    @property
    def doc_id(self) -> str:
        """Id of the document: its path, or the name of the text."""

    @property
    def collection(self) -> str:
        """Name of the corpus root."""

    @property
    def path(self) -> str:
        """Path below the root."""

    @property
    def chunk_index(self) -> int:
        """Position in the document, from 0."""

    @property
    def section_index(self) -> int:
        """Position of its section (or of its merged sections), from 0."""

    @property
    def sub_index(self) -> int | None:
        """Position among the pieces of a section that was split; None if it was not."""

    @property
    def n_in_section(self) -> int:
        """Number of chunks in its section."""

    @property
    def kind(self) -> str:
        """``text``, ``code``, ``footnote``, or ``document`` for a whole document."""

    @property
    def heading_path(self) -> list[str]:
        """The headings above its start, outermost first."""

    @property
    def header_path(self) -> str:
        """The heading path as one string."""

    @property
    def content(self) -> str:
        """Its text: a prefix (overlap, repeated headings), then the document's own bytes."""

    @property
    def normalized_content(self) -> str | None:
        """``content``, normalized according to the settings; None without normalization."""

    @property
    def start_byte(self) -> int:
        """Offset of its start in the document, in UTF-8 bytes."""

    @property
    def end_byte(self) -> int:
        """Offset of its end."""

    @property
    def start_char(self) -> int:
        """Offset of its start in the document, as an index into a ``str``."""

    @property
    def end_char(self) -> int:
        """Offset of its end."""

    @property
    def start_line(self) -> int:
        """Its first line, from 1."""

    @property
    def end_line(self) -> int:
        """Its last line, inclusive."""

    @property
    def prefix_len(self) -> int:
        """Number of bytes of ``content`` before the document's own text."""

    @property
    def has_overlap(self) -> bool:
        """Whether the prefix repeats the end of the previous chunk."""

    @property
    def overlap_start_byte(self) -> int | None:
        """First byte of what the prefix repeats of the previous chunk; ``None`` without overlap."""

    @property
    def overlap_end_byte(self) -> int | None:
        """One past the last byte of it; ``None`` without overlap."""

    @property
    def is_sub_split(self) -> bool:
        """Whether its section exceeded the maximum and was split."""

    @property
    def n_chars(self) -> int:
        """Length of ``content`` in characters."""

    @property
    def n_tokens(self) -> int:
        """Exact number of tokens of ``content``, in the encoding of the settings."""

    @property
    def flags(self) -> list[str]:
        """``oversized_…`` for a block that exceeds the maximum; security risks of the text by name."""

    @property
    def tags(self) -> list[str]:
        """Tags of the document."""

    @property
    def aliases(self) -> list[str]:
        """Other names of the document."""

    @property
    def promotion_level(self) -> str | None:
        """Promotion level from the document's front matter."""

    @property
    def content_hash(self) -> str:
        """BLAKE3 hash of ``content``."""
    # End of the columns.

    def as_dict(self) -> dict[str, Any]:
        """Returns all columns by name, as ``chunkmill chunk`` prints them."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Table:
    """A table: rows in memory, or in the files of a dataset.

    Every Arrow library accepts it directly: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
    ``duckdb.sql("FROM t")``. Rows in files are read when they are used.
    """

    @property
    def column_names(self) -> list[str]:
        """Names of its columns."""

    @property
    def num_rows(self) -> int:
        """Number of its rows."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

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
    def vectors(self) -> bytearray: ...
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

def count(texts: list[str], **settings: object) -> list[int]: ...
def index(
    paths: list[str],
    out: str,
    fresh: bool,
    allow_shrink: bool,
    progress: Callable[[str, float], object] | None,
    **settings: object,
) -> str: ...
def settings() -> str: ...
def columns() -> list[tuple[str, str, str]]: ...
