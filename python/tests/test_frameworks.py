"""LlamaIndex and Haystack."""

from __future__ import annotations

import chunkmill
import pytest

pytestmark = pytest.mark.heavy

TEXT = "# Guide\n\nStart here.\n\n## Install\n\nRun it.\n"


def test_the_node_parser_of_llama_index() -> None:
    from chunkmill.integrations.llama_index import ChunkmillNodeParser
    from llama_index.core import Document
    from llama_index.core.schema import MetadataMode, NodeRelationship, TextNode

    parser = ChunkmillNodeParser(preset="heading-tokens", max=100)
    one = Document(text=TEXT, metadata={"file_name": "guide.md"})
    other = Document(text="plain", doc_id="other")
    nodes = parser.get_nodes_from_documents([one, other])
    assert [node.metadata["chunk_id"] for node in nodes] == ["guide.md#0", "guide.md#1", "other.md#0"]
    second = nodes[1]
    assert isinstance(second, TextNode)
    assert second.text == "## Install\n\nRun it." == TEXT[second.start_char_idx : second.end_char_idx]
    assert second.metadata["header_path"] == "Guide > Install" and second.metadata["file_name"] == "guide.md"
    assert second.relationships[NodeRelationship.SOURCE].node_id == one.node_id  # type: ignore[union-attr]
    assert second.relationships[NodeRelationship.PREVIOUS].node_id == nodes[0].node_id  # type: ignore[union-attr]
    # No model reads the location.
    assert "start_byte" not in second.get_content(metadata_mode=MetadataMode.EMBED)
    assert "start_byte" not in second.get_content(metadata_mode=MetadataMode.LLM)


def test_the_splitter_of_haystack() -> None:
    from chunkmill.integrations.haystack import ChunkmillSplitter
    from haystack import Document, Pipeline

    pipeline = Pipeline()
    pipeline.add_component("split", ChunkmillSplitter(preset="heading-tokens", max=100))
    # Like a pipeline saved to a file. Haystack must be told from which modules it may load components.
    pipeline = Pipeline.loads(pipeline.dumps(), allowed_modules=[ChunkmillSplitter.__module__])
    documents = [Document(content=TEXT, meta={"file_path": "guide.md"}), Document(content="plain")]
    made = pipeline.run({"split": {"documents": documents}})["split"]["documents"]
    assert [document.content for document in made[:2]] == [
        chunk.content for chunk in chunkmill.chunk(TEXT, preset="heading-tokens", max=100)
    ]
    assert made[1].meta["chunk_id"] == "guide.md#1" and made[1].meta["header_path"] == "Guide > Install"
    assert made[1].meta["source_id"] == documents[0].id and made[2].content == "plain"
