#!/usr/bin/env python3
"""Finds words and phrases that plain English avoids, in the README, the book, the other texts and the comments of
the Rust code.

In Markdown, code, generated tables and comments are ignored; in Rust, everything except comments. A line that must
use one of these words ends with `style: ok`, in Markdown inside a comment. This is a list of our own bad habits,
not a grammar: vale's package for Python fetches its program from elsewhere, so it cannot be pinned by a hash.

Without arguments it reads everything, otherwise only the given files.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import markdown
from markdown import PAGES, ROOT

OTHERS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/SECURITY.md", "python/README.md", "eval/METHOD.md", "eval/records/README.md", "eval/records/tried.md", "deploy/ray/README.md", "deploy/github-action/README.md", "deploy/gpu/README.md"]
# A pattern, and what to write instead.
WORDS = {
    r"thereof|therein|thereby|therefrom|wherein|whereby": "name the thing",
    r"besides|beside": "also; next to",
    r"so that": "so",
    r"such(?! as)(?! a thing)": "name the thing, or “like this”",
    r"whoever|whosoever|who wants|who takes": "anyone who; if you",
    r"in the place of": "instead of",
    r"(?:made|make|makes|making) again": "rebuild, compute again",
    r"(?:goes|go|went|going) on where": "resumes",
    r"takes? up": "resumes; accepts",
    r"giv(?:e|es|ing) way": "is adjusted",
    r"unasked": "by default",
    r"anew": "again",
    r"likewise": "the same",
    r"all the same": "anyway",
    r"if need be": "if necessary",
    r"(?:can|could|must|is|are|to) be had": "is available",
    r"(?:nothing|something|else) is said|unless said otherwise": "by default",
    r"but for": "except for",
    r"aside": "except",
    r"goes? to quarantine|(?:put|puts) into quarantine": "is quarantined",
    r"at hand": "available",
    r"of its own accord|by itself alone": "",
    r"utili[sz]e[sd]?|leverag(?:e|es|ing)": "use",
    r"in order to": "to",
    r"upon": "on",
    r"shall": "must; will",
    r"simply|obviously|of course|please": "leave it out",
    r"e\.g\.|i\.e\.|etc\.": "for example; that is",
    r"function words": "stop words",
    r"path of headings|heading's path": "heading path",
    r"growing pauses": "exponential back-off",
    r"was stopped|is stopped|were stopped": "was interrupted",
    r"(?:tried|proved) by hand alone": "tested by hand",
    r"what (?:is|are|has|was) \w+ (?:is|are|has|was|goes|comes)": "put the subject first",
}
# A statement that starts with “What”: in plain English, the subject comes first.
INVERTED = re.compile(r"(?:^|[.:;] +)(What|Whatever|Who) [^.?!:|]*?[.]", re.MULTILINE)
LONGEST = 48
GENERATED = re.compile(r"<!-- (?:generated|measured|made by).*?-->.*?<!-- end -->", re.DOTALL)
OK = re.compile(r"^.*(?:<!-- style: ok -->.*|// .*style: ok)$", re.MULTILINE)
# Folders with Rust code whose comments are read.
CODE = ["src", "crates", "eval/src"]
RUST_COMMENT = re.compile(r"^\s*//[/!]?(?:\s(.*))?$")


def comments(code: str) -> str:
    """Returns the comments of Rust code, each on its own line, with empty lines for everything else."""
    found = (RUST_COMMENT.match(line) for line in code.split("\n"))
    return "\n".join((match.group(1) or "") if match else "" for match in found)


def read(file: Path) -> list[str]:
    raw = file.read_text()
    if file.suffix == ".rs":
        raw = comments(OK.sub(markdown.blank, raw))
    text = markdown.prose(OK.sub(markdown.blank, GENERATED.sub(markdown.blank, raw)))
    text = re.sub(r"\]\([^()\s]*\)", markdown.blank, text)
    name = file.relative_to(ROOT)
    found = []

    def add(at: int, what: str) -> None:
        found.append((text.count("\n", 0, at) + 1, what))

    flat = text.replace("\n", " ")
    for pattern, instead in WORDS.items():
        for match in re.finditer(rf"(?<![\w-])(?:{pattern})(?![\w-])", flat, re.IGNORECASE):
            add(match.start(), f"“{match.group()}”: {instead}")
    for match in INVERTED.finditer(text):
        add(match.start(1), f"“{' '.join(match.group().split())[:60]}”: put the subject first")
    for paragraph in re.finditer(r"(?:^(?!\||#).+\n?)+", text, re.MULTILINE):
        start = paragraph.start()
        for sentence in re.finditer(r"[^.!?:;]+(?:[.:;!?](?!\s)[^.!?:;]*)*", re.sub(r"^ *(?:[-*]|\d+\.) ", "; ", paragraph.group(), flags=re.M)):
            words = len(re.findall(r"[A-Za-z]{2,}", sentence.group()))
            if words > LONGEST:
                add(start + sentence.start(), f"a sentence of {words} words: “{' '.join(sentence.group().split())[:50]}…”")
    return [f"{name}:{line}: {what}" for line, what in sorted(found)]


def main() -> int:
    pages = [page for page in sorted(PAGES.rglob("*.md")) if page.name != "SUMMARY.md"]
    code = [file for folder in CODE for file in sorted((ROOT / folder).rglob("*.rs"))]
    files = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / name for name in OTHERS] + pages + code
    found = [line for file in files for line in read(file)]
    print("\n".join(found), file=sys.stderr) if found else print(f"style: {len(files)} texts")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
