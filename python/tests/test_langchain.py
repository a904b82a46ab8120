"""Tests of the LangChain integration."""

from __future__ import annotations

from pathlib import Path

import chunkmill
from chunkmill.integrations.langchain import ChunkmillLoader, ChunkmillTextSplitter
from langchain_core.documents import Document

TEXT = "# Guide\n\nStart here.\n\n## Install\n\nRun it.\n"


def test_the_splitter_gives_chunks_with_their_places() -> None:
    splitter = ChunkmillTextSplitter(preset="heading-tokens", max=100)
    assert splitter.split_text(TEXT) == [chunk.content for chunk in chunkmill.chunk(TEXT, preset="heading-tokens")]
    made = splitter.split_documents(
        [
            Document(page_content=TEXT, metadata={"source": "docs/guide.md", "author": "A"}),
            Document(page_content="first: 1\nsecond: 2\n", metadata={"source": "values.yaml"}),
            Document(page_content="plain"),
        ]
    )
    assert [document.metadata["chunk_id"] for document in made] == [
        "docs/guide.md#0",
        "docs/guide.md#1",
        "values.yaml#0",
        "values.yaml#1",
        "text-2.md#0",
    ]
    second = made[1]
    assert second.page_content == "## Install\n\nRun it."
    assert second.metadata == {
        "source": "docs/guide.md",
        "author": "A",
        "chunk_id": "docs/guide.md#1",
        "header_path": "Guide > Install",
        "start_byte": 22,
        "end_byte": 41,
        "start_line": 5,
        "end_line": 7,
        "n_tokens": 6,
    }


def test_the_loader_gives_the_chunks_of_a_dataset(dataset: Path) -> None:
    loader = ChunkmillLoader(dataset)
    documents = loader.load()
    assert len(documents) == 592 and next(iter(loader.lazy_load())) == documents[0]
    first = documents[0]
    assert first.id == first.metadata["chunk_id"]
    by_id = {chunk.chunk_id: chunk for chunk in chunkmill.chunk(Path(__file__).parents[2] / "datasets/larder/corpus")}
    for document in documents:
        chunk = by_id.pop(str(document.id))
        assert document.page_content == chunk.content
        assert document.metadata["source"] == chunk.path and document.metadata["start_line"] == chunk.start_line
    assert not by_id
