#!/usr/bin/env python3
"""Puts what a benchmark prints on the page of the book that shows it.

    make peers-embedding PAGE=amx        runs the benchmark, then  … | measured.py amx

Standard input is printed as it comes. At its end it takes the place of what stands between `<!-- measured: NAME -->` and
`<!-- end -->` on whichever page has these marks. Without a table in it nothing is written: the benchmark has failed.
"""

from __future__ import annotations

import sys

from markdown import PAGES, ROOT


def main() -> int:
    name = sys.argv[1]
    start, end = f"<!-- measured: {name} -->\n", "<!-- end -->"
    found = [page for page in PAGES.rglob("*.md") if start in page.read_text()]
    if len(found) != 1:
        print(f"{len(found)} pages have the mark {start.strip()}", file=sys.stderr)
        return 2
    lines = []
    for line in sys.stdin:
        print(line, end="", flush=True)
        lines.append(line)
    text = "".join(lines).strip()
    if "\n| --- |" not in text:
        print("there is no table in this, so the page stays as it is", file=sys.stderr)
        return 1
    before, rest = found[0].read_text().split(start, 1)
    found[0].write_text(f"{before}{start}\n{text}\n\n{rest[rest.index(end):]}")
    print(f"written to {found[0].relative_to(ROOT)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
