"""Checks what chunkmill promises, over files that nobody here wrote: `python3 benches/formats/promises.py [FORMAT...]`.

Each corpus of `corpora.py` is indexed without a model, and the run is measured. Then each chunk is checked:

- *slice*: `content` without its prefix is bytes `start_byte..end_byte` of the layer, and a line that closes a cut
  fence;
- *order*: ranges of a document do not overlap, and only white space lies between, before and after them;
- *place*: another library finds `place` and `source_start..source_end` in the file;
- *words*: what the library reads there has the words of the chunk in their order. White space, marks of Markdown,
  targets of links and numbers of items do not count. Each line of a chunk is looked for after the line before it, as
  words or, as libraries cut words at other places, as letters and digits. A line that is there, but before the line
  before it, counts as *moved*, because notes and captions are written elsewhere than they are read; the table counts
  them apart;

and each document:

- *lost*: words of the whole file, as the library reads it, that are not in the layer, if they have more letters than
  were counted as left out. There is no tolerance, but letters of scripts, styles and comments are on neither side.

`Unreadable` files, which the library refuses, are counted. Exits with 1 if something failed. Needs
`requirements.txt`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from common import CORPORA, SUFFIXES, WORK, Document, documents, index, quarantined, say, words
from sources import SOURCES, Nowhere, Source, Unreadable

KINDS = ["panic", "slice", "order", "place", "words", "lost"]
UNCOUNTED = ("script", "comment")


@dataclass
class Result:
    """What was found in one corpus."""

    format: str
    files: int = 0
    bytes: int = 0
    seconds: float = 0
    memory: int = 0
    code: int = 0
    indexed: int = 0
    chunks: int = 0
    quarantined: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    # Files whose places were not checked because the time was over; they are the largest.
    unchecked: int = 0
    moved: int = 0
    kept: int = 0
    whole: int = 0
    failures: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    counts: Counter[str] = field(default_factory=Counter)

    def fail(self, kind: str, size: int, what: str) -> None:
        """Notes a failure; the size of the file orders the examples."""
        self.counts[kind] += 1
        self.failures[kind].append((size, what))


# Words that readers write for a directive or a style that has none of its own.
LABELS = re.compile(
    r"^\s*(?:>\s*)*\*\*(?:Note|Tip|Hint|Warning|Caution|Danger|Attention|Important|Error|See also|Added in version"
    r"|Changed in version|Deprecated since version|Removed in version|Todo)(?: ([^*:]*))?:\*\*"
    r"|^\s*(?:>\s*)*\*Only .*:\*$"
)


def without_targets(line: str) -> str:
    """Removes the targets of links, which end with the parenthesis that matches, or with the line if a link is cut."""
    parts = []
    at = 0
    while (start := line.find("](", at)) >= 0:
        parts.append(line[at : start + 1])
        depth = 0
        for at in range(start + 1, len(line)):
            depth += (line[at] == "(") - (line[at] == ")")
            if not depth:
                break
        at += 1
    return "".join([*parts, line[at:]])


def without_marks(line: str) -> str:
    """Removes the marks of Markdown from a line of a layer, with what readers write: targets, numbers, languages."""
    line = without_targets(LABELS.sub(lambda match: match.group(1) or "", line))
    line = re.sub(r"\[\^[^\]]+\]:?", " ", line)
    line = re.sub(r"^\s*(?:>\s*)*(?:(?:[-*+:]|\d+[.)]|\w[.)])\s+)*(?:\[[ x]\]\s)?", "", line)
    return line


def letters(text: str) -> str:
    """Returns the letters and digits of a text."""
    return "".join(words(text))


def lines_of(text: str) -> list[str]:
    """Returns the lines of a chunk without marks and fences."""
    return [
        without_marks(line) for line in text.split("\n") if not re.match(r"\s*(?:>\s*)*(```|~~~|\|?[\s|:-]+$)", line)
    ]


def missing(chunk: str, source: str) -> tuple[str, int]:
    """Looks for the lines of a chunk in a text. Returns the first that is not there, and how many were moved."""
    where, flat = words(source), letters(source)
    at = flat_at = moved = 0
    for line in lines_of(chunk):
        for cell in line.split("|") if line.lstrip().startswith("|") else [line]:
            wanted = words(cell)
            if not wanted:
                continue
            joined = "".join(wanted)
            found = flat.find(joined, flat_at)
            if found >= 0:
                flat_at = found + len(joined)
                continue
            found = flat.find(joined)
            if found >= 0:
                moved += 1
                continue
            # Words in order, with others between.
            position = at
            for word in wanted:
                try:
                    position = where.index(word, position) + 1
                except ValueError:
                    position = -1
                    break
            if position >= 0:
                at = position
                continue
            lost = Counter(wanted) - Counter(where)
            if not lost and Counter(wanted) <= Counter(where):
                moved += 1
                continue
            return f"{cell.strip()[:100]!r} has {list(lost)[:5]}", moved
    return "", moved


def check_slices(document: Document, result: Result) -> None:
    """Checks that contents are slices of the layer, in order and without gaps."""
    layer = document.layer
    size = document.row["bytes"]
    end = 0
    for chunk in document.chunks:
        name = f"{document.path} #{chunk['chunk_index']}"
        own = chunk["content"].encode()[chunk["prefix_len"] :]
        part = layer[chunk["start_byte"] : chunk["end_byte"]]
        if own != part and not (
            own.startswith(part) and re.fullmatch(rb"\n?\s*(?:>\s*)*(`{3,}|~{3,})\n?", own[len(part) :])
        ):
            result.fail("slice", size, f"{name}: {own[:80]!r} is not {part[:80]!r}")
        if chunk["start_byte"] < end:
            result.fail("order", size, f"{name}: starts at {chunk['start_byte']}, the one before ends at {end}")
        elif layer[end : chunk["start_byte"]].decode().strip():
            result.fail("order", size, f"{name}: not in a chunk: {layer[end : chunk['start_byte']][:80]!r}")
        end = chunk["end_byte"]
    if layer[end:].decode().strip():
        result.fail("order", size, f"{document.path}: not in a chunk: {layer[end:][:80]!r}")


def check_places(document: Document, source: Source, result: Result) -> None:
    """Reads the place of each chunk again and looks for its words."""
    size = document.row["bytes"]
    for chunk in document.chunks:
        span = f"{chunk['source_start']}..{chunk['source_end']}"
        name = f"{document.path} #{chunk['chunk_index']} at {chunk['place']} {span}"
        own = chunk["content"].encode()[chunk["prefix_len"] :].decode()
        try:
            there = source.at(chunk["place"], chunk["source_start"], chunk["source_end"])
        except Nowhere as problem:
            result.fail("place", size, f"{name}: {problem}")
            continue
        lost, moved = missing(own, there)
        result.moved += moved
        if lost:
            result.fail("words", size, f"{name}: {lost}")


def check_whole(document: Document, source: Source, result: Result) -> None:
    """Looks for words of the whole file that are neither in the layer nor counted."""
    ours = Counter(words(document.layer.decode()))
    theirs = Counter(words(source.text()))
    result.whole += sum(theirs.values())
    lost = theirs - ours
    result.kept += sum(theirs.values()) - sum(lost.values())
    flat = letters(document.layer.decode())
    really = {word: count for word, count in lost.items() if word not in flat or count > flat.count(word)}
    uncounted = sum(len(word) * count for word, count in really.items())
    counted = sum(count for reason, count in document.dropped.items() if reason not in UNCOUNTED)
    if uncounted > counted:
        some = sorted(really.items(), key=lambda item: -item[1] * len(item[0]))[:8]
        size = document.row["bytes"]
        result.fail("lost", size, f"{document.path}: {uncounted} letters, {counted} counted: {some}")


def check(format: str, limit: float) -> Result:
    """Indexes a corpus and checks it."""
    corpus, dataset = CORPORA / format, WORK / "promises" / format
    files = [file for file in corpus.rglob("*") if file.is_file()]
    result = Result(format, len(files), sum(file.stat().st_size for file in files))
    done = index(corpus, dataset, "--include", ",".join(f"*{suffix}" for suffix in SUFFIXES[format]))
    result.seconds, result.memory, result.code = done.seconds, done.memory, done.code
    if done.panicked:
        result.fail("panic", 0, done.err[-500:])
    if not (dataset / "data").exists():
        say(f"{format}: nothing was written: {done.err[-300:]}")
        return result
    for line in quarantined(dataset):
        result.quarantined[line["code"]] += 1
        if "panic" in line["reason"]:
            result.fail("panic", 0, json.dumps(line))
    started = time.monotonic()
    found = documents(dataset)
    result.indexed, result.chunks = len(found), sum(len(document.chunks) for document in found.values())
    for document in sorted(found.values(), key=lambda document: int(document.row["bytes"])):
        check_slices(document, result)
        if time.monotonic() - started > limit:
            result.unchecked += 1
            continue
        try:
            source = SOURCES[format](corpus / document.path)
            check_places(document, source, result)
            if source.whole:
                check_whole(document, source, result)
        except Unreadable:
            result.unreadable += 1
    return result


def print_table(results: list[Result]) -> None:
    """Prints a line for each format."""
    head = "files indexed quarant.     MB  seconds   MB/s  peak MB  code  chunks unread.  moved"
    print(f"{'format':10} {head}  words kept  {'  '.join(KINDS)}")
    for r in results:
        share = f"{r.kept / r.whole:.4f}" if r.whole else "–"
        failures = "  ".join(f"{r.counts[kind]:{len(kind)}}" for kind in KINDS)
        print(
            f"{r.format:10} {r.files:5} {r.indexed:7} {sum(r.quarantined.values()):8} {r.bytes / 1e6:6.1f}"
            f" {r.seconds:8.1f} {r.bytes / 1e6 / max(r.seconds, 0.001):6.1f} {r.memory / 1e6:8.0f} {r.code:5}"
            f" {r.chunks:7} {r.unreadable:7}"
            f" {r.moved:6} {share:>11}  {failures}"
        )


def main() -> None:
    """Checks all formats, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", help="formats, instead of all that have a corpus")
    parser.add_argument("--show", type=int, default=20, help="failures of each kind to print")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds to check places of one format")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20_000)
    results = []
    for format in options.formats or [name for name in SUFFIXES if (CORPORA / name).exists()]:
        say(format)
        results.append(check(format, options.limit))
    print_table(results)
    for result in results:
        reasons: dict[str, Any] = dict(result.quarantined)
        print(f"\n{result.format}: quarantined {reasons}, places of {result.unchecked} files not checked for time")
        for kind in KINDS:
            for size, what in sorted(result.failures[kind])[: options.show]:
                print(f"  {kind} ({size} bytes)  {what}")
    sys.exit(1 if any(result.counts for result in results) else 0)


if __name__ == "__main__":
    main()
