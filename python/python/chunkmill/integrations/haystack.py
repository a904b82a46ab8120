"""Haystack: a component that splits documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import Chunker
from . import _missing, _place

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise _missing("haystack", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._settings import CuttingSettings

__all__ = ["ChunkmillSplitter"]


@component
class ChunkmillSplitter:
    """Splits documents with chunkmill's settings: ``ChunkmillSplitter(preset="structure", max=256)``.

    The meta of each returned document contains the location of its chunk, and ``source_id``. The meta
    ``file_path`` of an input document is its name, and its extension determines the format.
    """

    def __init__(self, **settings: Unpack[CuttingSettings]) -> None:
        self.settings = settings
        self._chunker = Chunker(**settings)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Splits documents, all of them in parallel."""
        texts = [document.content or "" for document in documents]
        names = [str(document.meta.get("file_path") or f"{document.id}.md") for document in documents]
        made = [
            Document(content=chunk.content, meta=document.meta | _place(chunk) | {"source_id": document.id})
            for document, chunks in zip(documents, self._chunker.chunk(texts, name=names))
            for chunk in chunks
        ]
        return {"documents": made}

    def to_dict(self) -> dict[str, Any]:
        """Serializes its settings for a pipeline file."""
        return default_to_dict(self, **self.settings)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ChunkmillSplitter:
        """Creates a splitter from serialized settings."""
        return default_from_dict(cls, data)
