"""LangChain: a text splitter, and a loader for the chunks of a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import Chunker, Dataset
from . import _missing, _place

try:
    from langchain_core.document_loaders import BaseLoader
    from langchain_core.documents import Document
    from langchain_text_splitters import TextSplitter
except ImportError as error:
    raise _missing("langchain", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._settings import CuttingSettings

__all__ = ["ChunkmillLoader", "ChunkmillTextSplitter"]


class ChunkmillTextSplitter(TextSplitter):
    """Splits texts with chunkmill's settings: ``ChunkmillTextSplitter(preset="structure", max=256)``.

    The metadata of each returned document contains the location of its chunk. The metadata ``source`` of an input
    document is its name, and its extension determines the format.
    """

    def __init__(self, **settings: Unpack[CuttingSettings]) -> None:
        super().__init__()
        self._chunker = Chunker(**settings)

    def split_text(self, text: str) -> list[str]:
        """Returns the contents of a text's chunks."""
        return [chunk.content for chunk in self._chunker.chunk(text, name="text.md")]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Returns a document for each chunk. All texts are cut in parallel."""
        metadatas = metadatas or [{} for _ in texts]
        names = [str(metadata.get("source") or f"text-{at}.md") for at, metadata in enumerate(metadatas)]
        cut = self._chunker.chunk(list(texts), name=names)
        return [
            Document(page_content=chunk.content, metadata=metadata | _place(chunk))
            for metadata, chunks in zip(metadatas, cut)
            for chunk in chunks
        ]


class ChunkmillLoader(BaseLoader):
    """Loads the chunks of a dataset as documents, a batch at a time. Needs pyarrow."""

    COLUMNS = ["chunk_id", "doc_id", "path", "header_path", "content", "start_line", "end_line", "n_tokens"]

    def __init__(self, out: str | os.PathLike[str]) -> None:
        self._dataset = Dataset(out)

    def lazy_load(self) -> Iterator[Document]:
        """Yields the documents one by one; the metadata ``source`` is the path of the file."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise _missing("langchain", error) from error
        for batch in pa.RecordBatchReader.from_stream(self._dataset.chunks(self.COLUMNS)):
            for row in batch.to_pylist():
                content, path = row.pop("content"), row.pop("path")
                yield Document(id=row["chunk_id"], page_content=content, metadata={"source": path} | row)
