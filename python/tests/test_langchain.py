"""Tests of the LangChain integration."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Literal

import chunkmill
from chunkmill.integrations.langchain import ChunkmillLoader, ChunkmillTextSplitter
from conftest import CORPUS, ROOT
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

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


@functools.cache
def tokens(text: str) -> int:
    """Returns the number of tokens, which other tests compare with tiktoken's."""
    return chunkmill.count(text)


def test_recursive_gives_the_chunks_of_langchains_splitter() -> None:
    """Equal without white space around them, with two exceptions.

    We leave out a chunk that only repeats the one before, and we cut one that is over the maximum: LangChain adds the
    tokens of its parts, which may be fewer than those of the whole.
    """
    dice = random.Random(7)
    pieces = [*"ab .?!é\t", "  ", "\n", "\n\n", "\n\n\n", "word ", "Two words. ", "日本語", "😀", "5,148.75 ", "config.toml", "x" * 30]
    pieces += ["\r\n", "<|endoftext|>", "- item\n", "    code\n"]
    generated = ["".join(dice.choices(pieces, k=dice.randrange(100))) for _ in range(1000)]
    corpora = {
        "larder": [path.read_text("utf-8-sig") for path in sorted(CORPUS.rglob("*.md"))],
        "book": [path.read_text() for path in sorted((ROOT / "docs" / "src").rglob("*.md"))],
        "code": [path.read_text() for path in sorted((ROOT / "src" / "chunk").glob("*.rs"))],
    }
    sizes: list[tuple[Literal["chars", "tokens"], int, int]] = [
        ("chars", 1000, 200),
        ("chars", 60, 30),
        ("tokens", 400, 0),
        ("tokens", 40, 20),
    ]
    separators = {"recursive": None, "chroma-recursive": ["\n\n", "\n", ".", "?", "!", " ", ""]}
    compared = repeated = over = 0
    for texts in [*corpora.values(), generated]:
        for unit, most, overlap in sizes if texts is not generated else [("chars", 12, 5), ("tokens", 9, 4), ("tokens", 30, 0)]:
            length = len if unit == "chars" else tokens
            for preset, marks in separators.items():
                splitter = RecursiveCharacterTextSplitter(
                    separators=marks, chunk_size=most, chunk_overlap=overlap, length_function=length
                )
                for text in texts:
                    cut = chunkmill.chunk(text, name="a.txt", preset=preset, unit=unit, max=most, overlap=overlap)
                    ours = [chunk.content.strip() for chunk in cut]
                    theirs = [chunk.strip() for chunk in splitter.split_text(text)]
                    compared += len(theirs)
                    for at, chunk in enumerate(theirs):
                        if ours[at : at + 1] != [chunk]:
                            if length(chunk) > most:
                                over += 1
                                break
                            assert at > 0 and ours[at - 1].endswith(chunk), (preset, unit, most, overlap, text)
                            ours.insert(at, chunk)
                            repeated += 1
                    else:
                        assert ours == theirs, (preset, unit, most, overlap, text)
    assert compared > 100_000 and repeated < compared / 100 and over < 10, (compared, repeated, over)
