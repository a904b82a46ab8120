"""chunkmill in other frameworks, each in a module that imports its framework: `langchain`, `llama_index`, `haystack`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._chunkmill import Chunk


def _missing(extra: str, error: ImportError) -> ImportError:  # pyright: ignore[reportUnusedFunction]
    """What to say where a framework is not installed."""
    return ImportError(
        f"chunkmill.integrations.{extra.replace('-', '_')} needs a package that is not installed ({error.name})\n"
        f"  help: pip install 'chunkmill[{extra}]'"
    )


def _place(chunk: Chunk) -> dict[str, str | int]:  # pyright: ignore[reportUnusedFunction]
    """Where a chunk stands, in values that every store takes as metadata."""
    return {
        "chunk_id": chunk.chunk_id,
        "header_path": chunk.header_path,
        "start_byte": chunk.start_byte,
        "end_byte": chunk.end_byte,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "n_tokens": chunk.n_tokens,
    }
