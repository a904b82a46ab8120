"""Markdown for the scripts in this folder: code blocks, links, and the anchors of headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "src"
FENCE = re.compile(r"^( {0,3})(`{3,})([^\n`]*)\n(.*?)^ {0,3}\2`*[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
# Marks a page that shows a file from elsewhere in the repository, so the text exists only once.
SHOWS = re.compile(r"<!-- page: (\S+) -->")


@dataclass
class Block:
    """A fenced code block."""

    line: int
    info: str
    text: str
    # The comment directly above it, for example `norun: why` or `file: name`.
    note: str

    @property
    def language(self) -> str:
        return re.split(r"[,\s]", self.info.strip())[0]

    @property
    def is_run(self) -> bool:
        return "norun" not in self.info.split(",")


def blocks(text: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip()
        comments = list(COMMENT.finditer(before))
        note = comments[-1].group(1) if comments and comments[-1].end() == len(before) else ""
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(line, match.group(3).strip(), match.group(4), note))
    return found


def blank(match: re.Match[str]) -> str:
    """Returns as many spaces as the match has characters, so offsets stay the same."""
    return re.sub(r"[^\n]", " ", match.group())


def without_blocks(text: str) -> str:
    return COMMENT.sub(blank, FENCE.sub(blank, text))


def prose(text: str) -> str:
    """Returns the text without code and comments."""
    return CODE.sub(blank, without_blocks(text))


def links(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yields links and images with their lines. Their texts may contain code."""
    plain = without_blocks(text)
    masked = CODE.sub(lambda code: re.sub(r"[\[\]()]", " ", code.group()), plain)
    for match in LINK.finditer(masked):
        yield match, text.count("\n", 0, match.start()) + 1


def slug(heading: str) -> str:
    """Returns the anchor of a heading, as GitHub and mdBook generate it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().rstrip("#").strip())
    heading = re.sub(r"[`*]", "", heading).lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(text: str) -> set[str]:
    found: dict[str, int] = {}
    names = set()
    for match in re.finditer(r"^#{1,6}[ \t]+(.+)$", without_blocks(text), re.MULTILINE):
        name = slug(match.group(1))
        count = found.get(name, 0)
        found[name] = count + 1
        names.add(name if count == 0 else f"{name}-{count}")
    return names


def pages() -> list[Path]:
    """Returns the pages of the book in order."""
    summary = (PAGES / "SUMMARY.md").read_text()
    return [PAGES / match.group(3) for match, _ in links(summary)]
