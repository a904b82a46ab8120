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
    """Cuts by chunkmill's settings: ``ChunkmillSplitter(preset="structure", max=256)``.

    Each document that comes out has the place of its chunk in its meta, and ``source_id``. The meta ``file_path`` of one that goes
    in names it, and its ending says what the text is.
    """

    def __init__(self, **settings: Unpack[CuttingSettings]) -> None:
        self.settings = settings
        self._chunker = Chunker(**settings)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Splits documents; all are cut side by side."""
        texts = [document.content or "" for document in documents]
        names = [str(document.meta.get("file_path") or f"{document.id}.md") for document in documents]
        made = [
            Document(content=chunk.content, meta=document.meta | _place(chunk) | {"source_id": document.id})
            for document, chunks in zip(documents, self._chunker.chunk(texts, name=names))
            for chunk in chunks
        ]
        return {"documents": made}

    def to_dict(self) -> dict[str, Any]:
        """Its settings, for a pipeline's file."""
        return default_to_dict(self, **self.settings)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ChunkmillSplitter:
        """One with these settings."""
        return default_from_dict(cls, data)
