"""One Python chunker behind the pipe that `pipe.rs` describes, which lets the driver alternate it with the others.

    worker.py CHUNKER DOCUMENTS [--max N] [--overlap N]

Here, two "threads" are two processes. They are forked once, before the clock starts, and each takes the next remaining
documents. They send back the number of chunks, not the chunks. Caches that would remember a document from the previous
pass are emptied before each pass, outside the timed section.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Chunk = dict[str, Any]
ENCODING = "cl100k_base"
HEADINGS = [f"{'#' * level} " for level in range(1, 7)]


class Chunker:
    """A chunker. `cut` is timed; `show` converts its result to what the judge reads. Offsets are in characters."""

    packages: list[str] = []
    cut: Callable[[str], Any]

    def show(self, made: Any) -> list[Chunk]:
        raise NotImplementedError

    def fresh(self) -> None:
        """Empties caches of texts."""


class Chonkie(Chunker):
    """`markdown`: its recursive chunker, with rules for headings before its default rules. `tokens`: its token chunker.

    Its own recipe for markdown is downloaded from a hub; the rules used here are of the same kind.
    """

    packages = ["chonkie", "tiktoken"]

    def __init__(self, kind: str, encoding: Any, limit: int, overlap: int) -> None:
        from chonkie import RecursiveChunker, RecursiveLevel, RecursiveRules, TokenChunker

        if kind == "tokens":
            chunker: Any = TokenChunker(tokenizer=encoding, chunk_size=limit, chunk_overlap=overlap)
        else:
            headings = RecursiveLevel(delimiters=[f"\n{mark}" for mark in HEADINGS], include_delim="next")
            rules = RecursiveRules(levels=[headings, *(RecursiveRules().levels or [])])
            chunker = RecursiveChunker(tokenizer=encoding, chunk_size=limit, rules=rules)
        self.chunker, self.cut = chunker, chunker.chunk

    def fresh(self) -> None:
        cached = getattr(type(self.chunker), "_estimate_token_count", None)
        if cached:
            cached.cache_clear()

    def show(self, made: Any) -> list[Chunk]:
        return [{"start": c.start_index, "end": c.end_index, "text": c.text, "tokens": c.token_count} for c in made]


class Semchunk(Chunker):
    """semchunk, with offsets: every chunker that can return offsets does so."""

    packages = ["semchunk", "tiktoken"]

    def __init__(self, encoding: Any, limit: int, overlap: int) -> None:
        self.make = lambda: semchunk_of(encoding, limit)
        self.overlap = overlap or None
        self.fresh()

    def fresh(self) -> None:
        chunker = self.make()  # its counter caches every text
        self.cut = lambda text: chunker(text, offsets=True, overlap=self.overlap)

    def show(self, made: Any) -> list[Chunk]:
        return [{"start": start, "end": end, "text": text} for text, (start, end) in zip(*made)]


def semchunk_of(encoding: Any, limit: int) -> Any:
    import semchunk

    return semchunk.chunkerify(lambda text: len(encoding.encode_ordinary(text)), limit)


class LangChain(Chunker):
    """`recursive`: its usual text splitter. `headers`: its Markdown header splitter first, which keeps the headings."""

    packages = ["langchain-text-splitters", "tiktoken"]

    def __init__(self, kind: str, encoding: Any, limit: int, overlap: int) -> None:
        from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter

        settings = {"chunk_size": limit, "chunk_overlap": overlap, "add_start_index": kind == "recursive"}
        splitter = RecursiveCharacterTextSplitter.from_tiktoken_encoder(ENCODING, disallowed_special=(), **settings)
        headers = MarkdownHeaderTextSplitter([(mark.strip(), mark.strip()) for mark in HEADINGS], strip_headers=False)
        if kind == "recursive":
            self.cut = lambda text: splitter.create_documents([text])
        else:
            self.cut = lambda text: splitter.split_documents(headers.split_text(text))

    def show(self, made: Any) -> list[Chunk]:
        chunks = []
        for document in made:
            path = [value for key, value in document.metadata.items() if key.startswith("#")]
            start = document.metadata.get("start_index")
            end = None if start is None else start + len(document.page_content)
            chunks.append({"start": start, "end": end, "text": document.page_content, "path": path})
        return chunks


class LlamaIndex(Chunker):
    """`sentence`: its sentence splitter. `markdown`: its Markdown node parser first."""

    packages = ["llama-index-core", "tiktoken"]

    def __init__(self, kind: str, encoding: Any, limit: int, overlap: int) -> None:
        from llama_index.core import Document
        from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter

        count = encoding.encode_ordinary
        splitter = SentenceSplitter(chunk_size=limit, chunk_overlap=overlap, tokenizer=count)
        markdown = MarkdownNodeParser()

        def cut(text: str) -> Any:
            nodes: Any = [Document(text=text)]
            if kind == "markdown":
                nodes = markdown.get_nodes_from_documents(nodes)
            return splitter.get_nodes_from_documents(nodes)

        self.cut = cut

    def show(self, made: Any) -> list[Chunk]:
        chunks = []
        for node in made:
            path = [part for part in node.metadata.get("header_path", "").split("/") if part]
            chunks.append({"start": node.start_char_idx, "end": node.end_char_idx, "text": node.text, "path": path})
        return chunks


def load(name: str, limit: int, overlap: int) -> Chunker:
    import tiktoken

    encoding = tiktoken.get_encoding(ENCODING)
    family, _, kind = name.partition(":")
    if family == "semchunk":
        return Semchunk(encoding, limit, overlap)
    families = {"chonkie": Chonkie, "langchain": LangChain, "llama-index": LlamaIndex}
    return families[family](kind, encoding, limit, overlap)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chunker")
    parser.add_argument("documents", type=Path)
    parser.add_argument("--max", type=int, default=512)
    parser.add_argument("--overlap", type=int, default=0)
    arguments = parser.parse_args()

    # Standard output belongs to the driver: output of libraries is redirected to standard error.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(value: dict[str, Any]) -> None:
        print(json.dumps(value), file=out, flush=True)

    start = time.perf_counter()
    with arguments.documents.open(encoding="utf-8", newline="") as lines:
        documents = [json.loads(line) for line in lines]
    texts = [document["text"] for document in documents]
    loading = time.perf_counter() - start
    chunker = load(arguments.chunker, arguments.max, arguments.overlap)
    versions = {package: version(package) for package in chunker.packages}
    settings = {"max": arguments.max, "overlap": arguments.overlap}
    ready = {"versions": versions, "settings": settings, "unit": "tokens", "max": arguments.max}
    ready |= {"loading": loading, "bytes": False}
    answer(ready)

    for line in sys.stdin:
        request = json.loads(line)
        chunker.fresh()
        if request.get("run", 0) > 1:
            fork = multiprocessing.get_context("fork")
            with fork.Pool(request["run"], initializer=share, initargs=(chunker, texts)) as pool:
                pool.map(one, [""] * request["run"] * 4, chunksize=1)  # all processes have started
                start = time.perf_counter()
                cut = sum(1 for _ in pool.imap_unordered(one, range(len(texts)), chunksize=4))
                seconds = time.perf_counter() - start
            answer({"seconds": seconds, "cpu_seconds": None, "documents": cut})
        elif "run" in request:
            start, cpu = time.perf_counter(), time.thread_time()
            made = [chunker.cut(text) for text in texts]
            seconds, cpu = time.perf_counter() - start, time.thread_time() - cpu
            answer({"seconds": seconds, "cpu_seconds": cpu, "documents": len(made)})
        else:
            with open(request["chunks"], "w", encoding="utf-8") as file:
                print(json.dumps(ready), file=file)
                for document in documents:
                    chunks = chunker.show(chunker.cut(document["text"]))
                    print(json.dumps({"path": document["path"], "chunks": chunks}), file=file)
            answer({"chunks": request["chunks"]})


SHARED: dict[str, Any] = {}


def share(chunker: Chunker, texts: list[str]) -> None:
    """Initializes a forked process."""
    SHARED.update(cut=chunker.cut, texts=texts)


def one(index: int | str) -> int:
    """Cuts the document with this number, or nothing if the argument is not a number. Returns the number of chunks."""
    return len(SHARED["cut"](SHARED["texts"][index])) if isinstance(index, int) else 0


if __name__ == "__main__":
    main()
