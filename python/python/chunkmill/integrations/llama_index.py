"""LlamaIndex: a node parser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import Chunker
from . import _missing, _place

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.node_parser import NodeParser
    from llama_index.core.node_parser.node_utils import build_nodes_from_splits
    from llama_index.core.schema import BaseNode, MetadataMode, TextNode
except ImportError as error:
    raise _missing("llama-index", error) from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._settings import CuttingSettings

__all__ = ["ChunkmillNodeParser"]


class ChunkmillNodeParser(NodeParser):
    """Parses nodes with chunkmill's settings: ``ChunkmillNodeParser(preset="structure", max=256)``.

    The metadata of each node contains the location of its chunk. The metadata ``file_name`` of a document is its
    name, and its extension determines the format.
    """

    _chunker: Chunker = PrivateAttr()

    def __init__(self, **settings: Unpack[CuttingSettings]) -> None:
        super().__init__()
        self._chunker = Chunker(**settings)

    @classmethod
    def class_name(cls) -> str:
        """Returns its name in LlamaIndex's own files."""
        return "ChunkmillNodeParser"

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        texts = [node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        names = [str(node.metadata.get("file_name") or f"{node.node_id}.md") for node in nodes]
        parsed: list[BaseNode] = []
        for node, chunks in zip(nodes, self._chunker.chunk(texts, name=names)):
            made: list[TextNode] = build_nodes_from_splits([chunk.content for chunk in chunks], node)
            for part, chunk in zip(made, chunks):
                part.metadata |= _place(chunk)
                # The location is known, so it need not be searched for. It does not include the prefix.
                part.start_char_idx, part.end_char_idx = chunk.start_char, chunk.end_char
                # No model needs to see the location.
                part.excluded_embed_metadata_keys += list(_place(chunk))
                part.excluded_llm_metadata_keys += list(_place(chunk))
            parsed += made
        return parsed
