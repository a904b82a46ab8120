#!/usr/bin/env python3
"""Puts what a benchmark prints on the page of the book that shows it.

    make peers-embedding PAGE=amx        runs the benchmark, then  … | measured.py amx

Standard input is printed as it comes. At its end it takes the place of what stands between `<!-- measured: NAME -->` and
`<!-- end -->` on whichever page has these marks. With several names the last tables go to the last names, one each, and all before
them to the first name. Without enough tables nothing is written: the benchmark has failed.
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
        sys.exit(f"{len(found)} pages have the mark {mark(name).strip()}")
    return found[0]


def shared_out(text: str, names: list[str]) -> list[str] | None:
    """A part of the text for each name."""
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
        print("there are not enough tables in this, so the pages stay as they are", file=sys.stderr)
        return 1
    for name, page, part in zip(names, pages, parts):
        before, rest = page.read_text().split(mark(name), 1)
        page.write_text(f"{before}{mark(name)}\n{part}\n\n{rest[rest.index(END) :]}")
        print(f"{name} is written to {page.relative_to(ROOT)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
