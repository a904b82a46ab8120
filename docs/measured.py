#!/usr/bin/env python3
"""Writes the output of a benchmark to the page of the book that shows it.

    make peers-embedding PAGE=amx        runs the benchmark, then  … | measured.py amx

Standard input is printed as it arrives. At its end, it replaces the text between `<!-- measured: NAME -->` and
`<!-- end -->` on the page that has these marks. With several names, each name after the first gets one of the last
tables, and the first name gets everything before them. If there are too few tables, nothing is written: the
benchmark has failed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from markdown import PAGES, ROOT

END = "<!-- end -->"


def mark(name: str) -> str:
    return f"<!-- measured: {name} -->\n"


def page_of(name: str) -> Path:
    found = [page for page in PAGES.rglob("*.md") if mark(name) in page.read_text()]
    if len(found) != 1:
        sys.exit(f"{len(found)} pages have the mark {mark(name).strip()}; exactly one must have it")
    return found[0]


def shared_out(text: str, names: list[str]) -> list[str] | None:
    """Splits the text into a part for each name. Returns None if there are too few tables."""
    paragraphs = text.strip().split("\n\n")
    tables = [at for at, paragraph in enumerate(paragraphs) if "\n| --- |" in paragraph]
    if len(tables) < len(names):
        return None
    starts = [0, *(tables[len(tables) - len(names) + 1 :] if len(names) > 1 else []), len(paragraphs)]
    return ["\n\n".join(paragraphs[start:end]) for start, end in zip(starts, starts[1:])]


def main() -> int:
    names = sys.argv[1:]
    pages = [page_of(name) for name in names]
    lines = []
    for line in sys.stdin:
        print(line, end="", flush=True)
        lines.append(line)
    parts = shared_out("".join(lines), names)
    if parts is None:
        print("the output has too few tables; the pages are unchanged", file=sys.stderr)
        return 1
    for name, page, part in zip(names, pages, parts):
        before, rest = page.read_text().split(mark(name), 1)
        page.write_text(f"{before}{mark(name)}\n{part}\n\n{rest[rest.index(END) :]}")
        print(f"{name} was written to {page.relative_to(ROOT)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
