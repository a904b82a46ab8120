"""Compares what other converters read in the same files: `python3 benches/formats/peers.py [FORMAT...] [--most N]`.

Peers: pandoc (to Markdown), markitdown, pdftotext, and docling if it is installed (documents without a layout model
only: its PDF pipeline needs models from a hub, so PDF is skipped for it). For each format and peer:

- *theirs in ours*: the share of the peer's words (a multiset for each file) that our layer has. Below 1 we lost text,
  or the peer reads what we leave out on purpose: menus, hidden text, outputs;
- *ours in theirs*: the share of the words of our layer that the peer has;
- *headings*, *tables*: how many both find, counted in Markdown: lines with `#` outside of code, and rules of tables.

Targets of links and names of languages are not words. A file that a peer cannot read counts as failed and is left out
on both sides. Every k-th file of a corpus is compared. Needs `requirements.txt`; `promises.py` has to be run before,
as its datasets are what is compared.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from common import CORPORA, SUFFIXES, WORK, Document, documents, pandoc, say, shared, words
from promises import without_marks

PANDOC = {
    "html": "html",
    "rst": "rst",
    "notebook": "ipynb",
    "latex": "latex",
    "docx": "docx",
    "odt": "odt",
    "rtf": "rtf",
    "epub": "epub",
    "csv": "csv",
}
MARKITDOWN = ("html", "notebook", "csv", "docx", "pptx", "xlsx", "epub", "pdf")
DOCLING = ("html", "docx", "pptx", "xlsx")
# A converter that takes longer for a file has failed on it.
PATIENCE = 60

Reader = Callable[[Path], str]


class Failed(Exception):
    """A peer cannot read a file."""


def printed(command: list[str]) -> str:
    """Returns what a converter prints."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired as problem:
        raise Failed("it takes too long") from problem
    if done.returncode:
        raise Failed(done.stderr.decode(errors="replace").strip()[-150:])
    return done.stdout.decode(errors="replace")


def of_pandoc(format: str) -> Reader:
    """Reads with pandoc."""
    return lambda path: printed([pandoc(), "-f", PANDOC[format], "-t", "gfm-raw_html", "--wrap=none", str(path)])


def markitdown() -> Reader:
    """Reads with markitdown, in this process."""
    from markitdown import MarkItDown  # type: ignore[import-not-found]

    converter = MarkItDown()

    def read(path: Path) -> str:
        try:
            return str(converter.convert(str(path)).text_content)
        except Exception as problem:  # noqa: BLE001  it raises what its libraries raise
            raise Failed(repr(problem)[:150]) from problem

    return read


def docling() -> Reader:
    """Reads with docling, in this process."""
    from docling.document_converter import DocumentConverter  # type: ignore[import-not-found]

    converter = DocumentConverter()

    def read(path: Path) -> str:
        try:
            return str(converter.convert(str(path)).document.export_to_markdown())
        except Exception as problem:  # noqa: BLE001
            raise Failed(repr(problem)[:150]) from problem

    return read


def readers(format: str) -> dict[str, Reader]:
    """Returns the peers that read a format and are installed."""
    found: dict[str, Reader] = {}
    if format in PANDOC:
        found["pandoc"] = of_pandoc(format)
    if format == "pdf" and shutil.which("pdftotext"):
        found["pdftotext"] = lambda path: printed(["pdftotext", "-enc", "UTF-8", str(path), "-"])
    for name, formats, make in (("markitdown", MARKITDOWN, markitdown), ("docling", DOCLING, docling)):
        if format in formats:
            try:
                found[name] = make()
            except ImportError:
                say(f"{name} is not installed")
    return found


@dataclass
class Shape:
    """The words, headings and tables of a text in Markdown."""

    words: Counter[str]
    headings: int
    tables: int


def shape(text: str) -> Shape:
    """Counts what a text in Markdown has. Fences are followed, so that comments of code are no headings."""
    found: Counter[str] = Counter()
    headings = tables = 0
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(?:>\s*)*(`{3,}|~{3,})", line)
        if mark and (not fence or mark.group(1).startswith(fence)):
            fence = "" if fence else mark.group(1)
            continue
        if not fence:
            headings += bool(re.match(r"#{1,6} ", line))
            tables += bool(re.match(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?$", line))
        found.update(words(line if fence else without_marks(line)))
    return Shape(found, headings, tables)


def compare(format: str, name: str, read: Reader, found: dict[str, Document], most: int) -> str:
    """Compares one peer with our layers over a corpus. Returns a line of the table."""
    paths = sorted(found)
    paths = paths[:: max(1, -(-len(paths) // most))]
    ours: Counter[str] = Counter()
    theirs: Counter[str] = Counter()
    headings, tables, failed = [0, 0], [0, 0], 0
    worst: list[tuple[int, str, list[tuple[str, int]]]] = []
    for path in paths:
        try:
            text = read(CORPORA / format / path)
        except Failed:
            failed += 1
            continue
        one, two = shape(found[path].layer.decode()), shape(text)
        ours.update({f"{path} {word}": count for word, count in one.words.items()})
        theirs.update({f"{path} {word}": count for word, count in two.words.items()})
        headings[0], headings[1] = headings[0] + one.headings, headings[1] + two.headings
        tables[0], tables[1] = tables[0] + one.tables, tables[1] + two.tables
        lost = two.words - one.words
        worst.append((sum(lost.values()), path, lost.most_common(6)))
    for count, path, lost_words in sorted(worst, reverse=True)[:5]:
        if count:
            say(f"{format} {name} {path}: {count} words that we lack: {lost_words}")
    return (
        f"{format:10} {name:11} {len(paths):5} {failed:6}  {shared(theirs, ours):14.4f}  {shared(ours, theirs):14.4f}"
        f"  {headings[0]:6}/{headings[1]:<6}  {tables[0]:6}/{tables[1]:<6}"
    )


def main() -> None:
    """Compares all formats, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", help="formats, instead of all that promises.py has indexed")
    parser.add_argument("--most", type=int, default=100, help="files of a corpus")
    options = parser.parse_args()
    print("format     peer        files failed  theirs in ours  ours in theirs  headings o/t   tables o/t")
    for format in options.formats or [name for name in SUFFIXES if (WORK / "promises" / name / "data").exists()]:
        found = documents(WORK / "promises" / format)
        for name, read in readers(format).items():
            print(compare(format, name, read, found, options.most), flush=True)


if __name__ == "__main__":
    main()
