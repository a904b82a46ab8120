"""Integrations with other frameworks. Each module imports its framework: `langchain`, `llama_index`, `haystack`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._chunkmill import Chunk


def _missing(extra: str, error: ImportError) -> ImportError:  # pyright: ignore[reportUnusedFunction]
    """Returns the error for a framework that is not installed."""
    return ImportError(
        f"chunkmill.integrations.{extra.replace('-', '_')} needs a package that is not installed ({error.name})\n"
        f"  help: pip install 'chunkmill[{extra}]'"
    )


def _place(chunk: Chunk) -> dict[str, str | int]:  # pyright: ignore[reportUnusedFunction]
    """Returns the location of a chunk, in values that every store accepts as metadata."""
    return {
        "chunk_id": chunk.chunk_id,
        "header_path": chunk.header_path,
        "start_byte": chunk.start_byte,
        "end_byte": chunk.end_byte,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "n_tokens": chunk.n_tokens,
    }
