"""Judges chunks by the cuts that a reader of the document would see. Shares no code with chunkmill: markdown-it-py
parses (CommonMark and tables), tiktoken counts (cl100k_base).

    judge.py DOCUMENTS [CHUNKS ...]   prints one JSON object per file of chunks
    judge.py --self-test              judges small documents with known answers

Definitions. All offsets are in characters; leading and trailing white space never counts.

- Text: a document without byte order mark and front matter (from `---` in its first line to the next `---` or
  `...`, or between `+++`). A chunk that contains only front matter is left out.
- Location of a chunk: its own offsets if the text there equals the chunk ("exact"). Otherwise the range where its
  characters, without white space, occur consecutively: at the end of the previous chunk or, if they are not there,
  at their first occurrence after the start of the previous chunk. `skip` and `tail` are the lengths of the text that
  a chunkmill chunk has before and after its location (repeated text, parent headings, the end of a fence).
- New text of a chunk: its location without the part that the previous chunk of the document already contains. A
  chunk without new text (all of it is repeated) makes no cut.
- Cut: between two consecutive chunks with new text, at the start of the new text of the second one.
- A cut goes through a block if the block has text before the cut and from the cut on. Blocks are fenced code, tables,
  and list items and paragraphs at every depth, with any content. One cut may go through several blocks, for example
  a list item and its paragraph.
- Avoidable: the smallest block of that kind that is cut would fit the chunker's maximum on its own, in the chunker's
  unit.
- A cut goes through a sentence if it is inside a paragraph or heading and the text before it does not end with one
  of . ! ? : ; … or their full-width forms, optionally followed by closing quotes, brackets or emphasis.
- Over max: the chunk's whole text, including repeated text, exceeds the maximum by our own count. "Unflagged": the
  chunk also has no `oversized_…` flag.
- Small: the whole text has fewer than 50 tokens, in a document with more than one chunk.
- Heading alone: in a document with more than one chunk, the new text of the chunk consists only of headings, or ends
  with a heading that has something below it (text, or a deeper heading). Headings in lists and quotes do not count.
- Crosses a heading: the new text contains a heading, with text other than headings before it and after it.
- Lost: share of the UTF-8 bytes of the text, without white space, that no chunk's location covers.
"""

from __future__ import annotations

import argparse
import bisect
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiktoken
from markdown_it import MarkdownIt

LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")
FRONT = re.compile(
    r"\ufeff?(?:---[ \t]*\r?\n(?:.*\n)*?(?:---|\.\.\.)|\+{3}[ \t]*\r?\n(?:.*\n)*?\+{3})[ \t]*(?:\r?\n|$)"
)
SENTENCE_END = re.compile(r"[.!?:;…。！？：；]['\"”’»)\]*_`~]*$")
KINDS = {"fence": "fence", "table_open": "table", "list_item_open": "item", "paragraph_open": "paragraph"}
SMALL = 50

Range = tuple[int, int]
MARKDOWN = MarkdownIt("commonmark").enable("table")
ENCODING = tiktoken.get_encoding("cl100k_base")


def tokens(text: str) -> int:
    return len(ENCODING.encode_ordinary(text))


def trimmed(text: str, start: int, end: int) -> Range:
    """Returns the range without leading and trailing white space."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, max(start, start + len(piece.strip()))


@dataclass
class Heading:
    place: Range
    level: int
    holds: bool = False  # whether it has text or a deeper heading below it


class Document:
    """The structure of a document, independent of the chunker."""

    def __init__(self, text: str) -> None:
        self.text = text
        front = FRONT.match(text)
        self.start = front.end() if front else (1 if text.startswith("\ufeff") else 0)
        body = text[self.start :]
        lines = [self.start + line.start() for line in LINE.finditer(body)] + [len(text)]
        self.blocks: dict[str, list[Range]] = {kind: [] for kind in KINDS.values()}
        self.lines_of_text: list[Range] = []
        self.headings: list[Heading] = []
        for token in MARKDOWN.parse(body):
            if not token.map or token.nesting < 0:
                continue
            place = trimmed(text, lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)])
            if token.type in KINDS:
                self.blocks[KINDS[token.type]].append(place)
            if token.type in ("paragraph_open", "heading_open"):
                self.lines_of_text.append(place)
            if token.type == "heading_open" and token.level == 0:
                self.headings.append(Heading(place, int(token.tag[1])))
        ends = [heading.place[0] for heading in self.headings[1:]] + [len(text)]
        deeper = [b.level > a.level for a, b in zip(self.headings, self.headings[1:])] + [False]
        for heading, end, below in zip(self.headings, ends, deeper):
            heading.holds = below or bool(text[heading.place[1] : end].strip())
        # The offset of each character other than white space.
        self.solid = [at for at, character in enumerate(text) if not character.isspace()]
        self.squeezed = "".join(map(text.__getitem__, self.solid))

    def own_text(self, start: int, end: int) -> bool:
        """Returns whether a range contains text other than headings."""
        for heading in self.headings:
            a, b = heading.place
            if b <= start or a >= end:
                continue
            if self.text[start : max(a, start)].strip():
                return True
            start = b
        return bool(self.text[start:end].strip()) if start < end else False


def places(document: Document, chunks: list[dict[str, Any]], count: Counter[str]) -> list[Range | None]:
    """Returns the location of each chunk in characters; converts offsets in bytes."""
    text, found = document.text, []
    cursor = ended = 0
    wide = None if text.isascii() else [0]
    if wide:
        for character in text:
            wide.append(wide[-1] + len(character.encode()))
    for chunk in chunks:
        source, start, end = chunk["text"], chunk.get("start"), chunk.get("end")
        if chunk.get("bytes"):
            encoded = source.encode()
            source = encoded[chunk.get("skip", 0) : len(encoded) - chunk.get("tail", 0)].decode()
            if wide:
                start, end = bisect.bisect_left(wide, start), bisect.bisect_left(wide, end)
        if start is not None:
            count["with_offsets"] += 1
        if start is not None and text[start:end] == source:
            count["exact"] += 1
        else:
            squeezed = "".join(source.split())
            # At the end of the previous chunk. If it is not there, it may repeat text of that chunk, or some was
            # left out.
            here = bisect.bisect_left(document.solid, ended)
            if not document.squeezed.startswith(squeezed, here):
                here = document.squeezed.find(squeezed, bisect.bisect_left(document.solid, cursor))
            if here < 0 or not squeezed:
                count["not_found"] += 1
                found.append(None)
                continue
            start, end = document.solid[here], document.solid[here + len(squeezed) - 1] + 1
        cursor, ended = max(cursor, start + 1), max(ended, end)
        found.append(trimmed(text, start, end))
    return found


def cut_blocks(document: Document, cut: int, unit: str, limit: int, count: Counter[str]) -> None:
    for kind, blocks in document.blocks.items():
        hit = [document.text[a:b] for a, b in blocks if a < cut < b]
        if hit:
            count[kind] += 1
            least = min(hit, key=len)
            count[f"{kind}_avoidable"] += (len(least) if unit == "chars" else tokens(least)) <= limit
    for start, end in document.lines_of_text:
        if start < cut < end:
            count["sentence"] += not SENTENCE_END.search(document.text[start:cut].rstrip())
            break


def judge(document: Document, chunks: list[dict[str, Any]], unit: str, limit: int, count: Counter[str]) -> None:
    text = document.text
    placed = zip(chunks, places(document, chunks, count))
    placed = [(chunk, place) for chunk, place in placed if place is None or place[1] > document.start]
    count["chunks"] += len(placed)
    several = len(placed) > 1
    for chunk, _ in placed:
        n_tokens = tokens(chunk["text"])
        count["tokens"] += n_tokens
        if chunk.get("tokens") is not None:
            count["with_count"] += 1
            count["count_right"] += chunk["tokens"] == n_tokens
        count["small"] += several and n_tokens < SMALL
        over = (len(chunk["text"]) if unit == "chars" else n_tokens) > limit
        count["over"] += over
        count["over_unflagged"] += over and not any(f.startswith("oversized_") for f in chunk.get("flags", []))
        count["with_path"] += bool(chunk.get("path"))

    done, first = document.start, True
    held = bytearray(len(text))
    for _, place in placed:
        if place is None:
            continue
        held[place[0] : place[1]] = b"\1" * (place[1] - place[0])
        start, end = trimmed(text, max(place[0], done), place[1]) if place[1] > done else (0, 0)
        if start >= end:
            continue
        if not first:
            count["cuts"] += 1
            cut_blocks(document, start, unit, limit, count)
        first, done = False, end
        inside = [h for h in document.headings if start < h.place[1] and h.place[0] < end]
        only = not document.own_text(start, end)
        last = bool(inside) and inside[-1].place[1] >= end and inside[-1].holds
        count["heading_alone"] += several and bool(inside) and (only or last)
        count["crosses"] += any(
            document.own_text(start, h.place[0]) and document.own_text(h.place[1], end)
            for h in inside
            if start < h.place[0]
        )
    size = len if text.isascii() else lambda s: len(s.encode())
    body = document.solid[bisect.bisect_left(document.solid, document.start) :]
    count["bytes"] += size("".join(map(text.__getitem__, body)))
    count["lost"] += size("".join(text[at] for at in body if not held[at]))


def judge_file(documents: dict[str, Document], chunks: Path) -> Counter[str]:
    """Judges a file of chunks, whose first line is its worker's description of itself."""
    count: Counter[str] = Counter()
    with chunks.open(encoding="utf-8", newline="") as lines:
        ready = json.loads(next(lines))
        for line in lines:
            row = json.loads(line)
            for chunk in row["chunks"]:
                chunk["bytes"] = ready["bytes"]
            judge(documents[row["path"]], row["chunks"], ready["unit"], ready["max"], count)
    return count


def self_test() -> None:
    def check(name: str, text: str, pieces: list[Any], limit: int, **expected: int) -> None:
        count: Counter[str] = Counter()
        chunks = [piece if isinstance(piece, dict) else {"text": piece} for piece in pieces]
        judge(Document(text), chunks, "tokens", limit, count)
        wrong = {key: (count[key], value) for key, value in expected.items() if count[key] != value}
        if wrong:
            sys.exit(f"the judge is wrong about {name}: (found, expected) {wrong}")

    fence = "Before.\n\n```sh\none\n\ntwo\n```\n"
    check("a fence", fence, ["Before.\n\n```sh\none", "two\n```"], 100, cuts=1, fence=1, fence_avoidable=1, sentence=0)
    check("a long fence", fence, ["Before.\n\n```sh\none", "two\n```"], 5, cuts=1, fence=1, fence_avoidable=0)
    check("no cut", fence, ["Before.", "```sh\none\n\ntwo\n```"], 100, cuts=1, fence=0, paragraph=0, lost=0)
    table = "| a | b |\n| - | - |\n| 1 | 2 |\n| 3 | 4 |\n"
    check("a table", table, [table[:30], table[30:]], 100, table=1, table_avoidable=1, paragraph=0, item=0)
    items = "- One thing.\n- Two\n  things.\n\n  And more.\n- Three.\n"
    check("between items", items, ["- One thing.", items[13:]], 100, cuts=1, item=0, paragraph=0)
    check("inside an item", items, [items[:20], items[20:]], 100, item=1, paragraph=1, sentence=1)
    check("paragraphs of an item", items, [items[:29], items[29:]], 100, item=1, paragraph=0, sentence=0)
    nested = "- Outer\n  - Inner a.\n  - Inner b.\n"
    check("an outer item", nested, [nested[:21], nested[21:]], 100, item=1, item_avoidable=1)
    deep = "- Outer with very many words in it, more than fit.\n  - Inner\n    item.\n"
    check("the inner of two items", deep, [deep[:60], deep[60:]], 10, item=1, item_avoidable=1)
    prose = "First sentence (here.) Second one\nends. Third.\n"
    check("between sentences", prose, [prose[:22], prose[23:]], 100, paragraph=1, sentence=0)
    check("inside a sentence", prose, [prose[:33], prose[34:]], 100, paragraph=1, sentence=1)
    # The second chunk repeats the end of the first. The cut is where its new text starts.
    first, second = ({"text": prose[a:b], "start": a, "end": b} for a, b in ((0, 33), (23, 46)))
    check("overlap", prose, [first, second], 100, cuts=1, sentence=1, exact=2, lost=0)
    prefix = {"text": "one Second one", "skip": 4, "start": 23, "end": 33, "bytes": True}
    check("a prefix", prose, [{"text": prose[:22], "start": 0, "end": 22, "bytes": True}, prefix], 100, exact=2, cuts=1)
    wide = "Für. Öl.\n"
    check("bytes", wide, [{"text": "Öl.", "start": 6, "end": 10, "bytes": True}], 100, exact=1, lost=5, bytes=9)
    check("wrong offsets", prose, [{"text": "Second", "start": 22, "end": 28}], 100, with_offsets=1, exact=0)
    sections = "---\ntitle: x\n---\n# A\n\n## B\n\nText b.\n\n## C\n\n### D\n\nText d.\n\n## E\n"
    body = sections[sections.index("# A") :]
    cut = body.index("### D")
    check("front matter and headings", sections, [body[:cut], body[cut:]], 100, heading_alone=1, crosses=0, lost=0)
    check("front matter alone", sections, [sections[:15], body], 100, chunks=1, cuts=0, small=0)
    check("TOML", "+++\na = 1\n+++\nText.\n", ["Text."], 100, lost=0, bytes=5)
    check("headings only", sections, ["# A", body[5:cut], "### D\n\nText d.", "## E"], 100, heading_alone=3, crosses=0)
    check("whole", sections, [body], 100, cuts=0, heading_alone=0, crosses=1, small=0)
    check("empty section at the end", sections, [body[:cut], body[cut:]], 100, small=2, cuts=1)
    check("a setext heading", "Title\n=====\n\nText.\n", ["Title\n=====", "Text."], 100, heading_alone=1, paragraph=0)
    check("a heading in a fence", "# A\n\n```\n# no\n```\n", ["# A\n\n```\n# no\n```"], 100, crosses=0)
    check("lost", "one two three", ["one", "three"], 100, lost=3, cuts=1, bytes=11)
    check("changed white space", "a  b\n\nc", ["a b c"], 100, not_found=0, lost=0)
    check("the same again", "a b. a  b. c.", ["a b.", "a b.", "c."], 100, not_found=0, lost=0, cuts=2)
    check("overlap without offsets", prose, [prose[:33], prose[23:46]], 100, cuts=1, sentence=1, not_found=0, lost=0)
    check("not in it", "one two", ["elsewhere"], 100, not_found=1, lost=6)
    oversized = {"text": "one two three four", "flags": ["oversized_table"]}
    check("over", "one two three four five six", [oversized, "five six"], 1, over=2, over_unflagged=1)
    crlf = "a.\r\n\r\n```\r\nx\r\ny\r\n```\r\n"
    check("windows' lines", crlf, ["a.\r\n\r\n```\r\nx", "y\r\n```"], 99, fence=1, lost=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, nargs="?")
    parser.add_argument("chunks", type=Path, nargs="*")
    parser.add_argument("--self-test", action="store_true")
    a = parser.parse_args()
    if a.self_test:
        return self_test()
    with a.documents.open(encoding="utf-8", newline="") as lines:
        rows = map(json.loads, lines)
        documents = {row["path"]: Document(row["text"]) for row in rows}
    for chunks in a.chunks:
        print(json.dumps(judge_file(documents, chunks)), flush=True)


if __name__ == "__main__":
    main()
