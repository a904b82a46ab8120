#!/usr/bin/env python3
"""Checks the README, the book and the other texts of the repository.

    check.py                   checks links, anchors, flags, paths, sizes and the text of code blocks: takes a second,
                               and needs no build
    check.py --run PROGRAMS    also runs every block that can be run, with the programs in this folder, and writes every
                               settings file that is shown for the commands that read it; `--page NAME` selects one page

The blocks of a page run in order, in a new folder that contains the corpus of `datasets/larder` as `docs`. A block
below `<!-- file: NAME -->` is written to that folder as a file. A block with `norun` in its info string is not
run; the comment above it says why, and all of them are listed at the end, so none is skipped silently.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import markdown
from markdown import PAGES, ROOT

README = ROOT / "README.md"
OTHERS = ["CHANGELOG.md", "CONTRIBUTING.md", "docs/SECURITY.md", "python/README.md", "eval/METHOD.md", "eval/records/README.md", "eval/records/tried.md"]
OTHERS += ["datasets/larder/README.md", "deploy/github-action/README.md", "deploy/gpu/README.md", "deploy/ray/README.md"]
LANGUAGES = {"sh", "bash", "text", "toml", "json", "python", "rust", "yaml", "console"}
# Flags of other programs.
FOREIGN = {
    "--release", "--workspace", "--open", "--no-default-features", "--profile", "--package", "--locked", "--cfg",  # cargo
    "--volume", "--user", "--rm",  # docker
    "--head", "--address", "--port",  # ray
    "--jq", "--repo",  # gh
}  # fmt: skip
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
PATH = re.compile(r"`((?:src|crates|eval|tests|docs|benches|deploy|python|datasets|examples)/[\w./-]*)`")
README_MAX = 12_000
PAGE_MAX = 40_000
SECONDS = 300


class Problems:
    """The problems found, with their locations."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, file: Path, line: int, what: str) -> None:
        self.found.append(f"{file.relative_to(ROOT)}:{line}: {what}")


def texts() -> list[Path]:
    return [README, *markdown.pages(), *(ROOT / name for name in OTHERS)]


def check_links(problems: Problems) -> int:
    known: dict[Path, set[str]] = {}
    count = 0
    for file in texts():
        for match, line in markdown.links(file.read_text()):
            target = match.group(3)
            parts = urlsplit(target)
            if parts.scheme:
                continue
            count += 1
            to = Path(os.path.normpath(file.parent / unquote(parts.path))) if parts.path else file
            if not to.exists():
                problems.add(file, line, f"{target} does not exist")
                continue
            if parts.fragment and to.suffix == ".md":
                # A page that shows another file has the headings of that file.
                shown = markdown.SHOWS.search(to.read_text())
                real = ROOT / shown.group(1) if shown else to
                if parts.fragment not in known.setdefault(real, markdown.anchors(real.read_text())):
                    problems.add(file, line, f"{target}: no heading has this anchor")
    return count


def known_flags() -> set[str]:
    """Returns the flags of our programs and scripts.

    Those of the programs come from the reference, which tests compare with the code.
    """
    flags = {"--help", "--version"} | FOREIGN
    for name in ("chunkmill", "chunkmill-eval", "settings"):
        flags |= set(FLAG.findall((PAGES / "reference" / f"{name}.md").read_text()))
    scripts = [*ROOT.glob("benches/**/*.py"), *ROOT.glob("deploy/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("docs/*.py"), *ROOT.glob("python/python/chunkmill/sync/*.py")]
    for script in scripts:
        flags |= set(re.findall(r"[\"'](--[a-z][a-z0-9-]*)[\"']", script.read_text()))
    return flags


def check_flags(problems: Problems) -> int:
    known = known_flags()
    count = 0
    for file in texts():
        text = markdown.COMMENT.sub(markdown.blank, file.read_text())
        for match in FLAG.finditer(text):
            count += 1
            if match.group() not in known:
                problems.add(file, text.count("\n", 0, match.start()) + 1, f"no program has the flag {match.group()}")
    return count


def check_paths(problems: Problems) -> int:
    """Checks that files and folders named in the texts exist."""
    count = 0
    for file in texts():
        text = markdown.without_blocks(file.read_text())
        for match in PATH.finditer(text):
            count += 1
            path = match.group(1).rstrip("/")
            if re.search(r"/[A-Z]+/", path):
                continue
            # In the examples, `docs` is the larder corpus.
            if not (ROOT / path).exists() and not (ROOT / "datasets/larder/corpus" / path.removeprefix("docs/")).exists():
                problems.add(file, text.count("\n", 0, match.start()) + 1, f"the repository has no {path}")
    return count


def check_sizes(problems: Problems) -> None:
    for file, most in [(README, README_MAX), *((page, PAGE_MAX) for page in markdown.pages())]:
        size = len(file.read_bytes())
        if size > most:
            problems.add(file, 1, f"has {size:,} bytes; the limit is {most:,}, because people do not read more")


def check_summary(problems: Problems) -> None:
    listed = markdown.pages()
    for page, count in Counter(listed).items():
        if count > 1:
            problems.add(PAGES / "SUMMARY.md", 1, f"{page.name} is listed {count} times")
    for page in set(PAGES.rglob("*.md")) - set(listed) - {PAGES / "SUMMARY.md"}:
        problems.add(page, 1, "is not listed in SUMMARY.md")


def check_blocks(problems: Problems) -> None:
    for file in [README, *markdown.pages()]:
        text = file.read_text()
        rest = markdown.FENCE.sub("", text)
        if "\n```" in rest:
            problems.add(file, 1, "a code block is not closed")
        for block in markdown.blocks(text):
            if block.language not in LANGUAGES:
                problems.add(file, block.line, f"the code block has an unknown language: {block.info!r}")
            if not block.is_run and not re.match(r"norun: \S.{5}", block.note):
                problems.add(file, block.line, "a block that is not run needs a comment above it: <!-- norun: why -->")
            named = re.search(r"\b((?:python/)?tests/[\w/]+\.(?:py|rs)) runs it", block.note)
            if named and not (ROOT / named.group(1)).is_file():
                problems.add(file, block.line, f"{named.group(1)} does not exist")
            if block.language == "json" and block.is_run:
                try:
                    json.loads(block.text)
                except ValueError as error:
                    problems.add(file, block.line, f"invalid JSON: {error}")


class Scratch:
    """A folder and an environment for the blocks of a page."""

    def __init__(self, programs: Path, cache: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="chunkmill-docs-"))
        shutil.copytree(ROOT / "datasets" / "larder" / "corpus", self.folder / "docs")
        shutil.copytree(ROOT / "datasets" / "larder", self.folder / "datasets" / "larder")
        models = os.environ.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("CHUNKMILL_", "AWS_"))}
        self.env |= {
            "PATH": f"{programs.resolve()}{os.pathsep}{os.environ['PATH']}",
            "HF_HOME": models,
            "XDG_CACHE_HOME": str(cache),
            "XDG_CONFIG_HOME": str(self.folder / "no-settings-of-yours"),
            "NO_COLOR": "1",
        }

    def run(self, block: markdown.Block) -> str | None:
        """Runs a block. Returns the problem, if there is one."""
        command = ["bash", "-euo", "pipefail", "-c", block.text] if block.language in ("sh", "bash") else [sys.executable, "-c", block.text]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"took longer than {SECONDS} s"
        return None if done.returncode == 0 else f"exited with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}"

    def close(self) -> None:
        shutil.rmtree(self.folder)


def run_blocks(problems: Problems, programs: Path, only: str | None) -> None:
    cache = Path(tempfile.mkdtemp(prefix="chunkmill-docs-cache-"))
    ran, written, left_out, start = 0, 0, [], time.monotonic()
    for file in [README, *markdown.pages()]:
        if only and only not in str(file):
            continue
        blocks = markdown.blocks(file.read_text())
        left_out += [f"{file.relative_to(ROOT)}:{block.line}: {block.note}" for block in blocks if not block.is_run]
        commands = [block for block in blocks if block.is_run and block.language in ("sh", "bash", "python")]
        if not commands:
            continue
        scratch = Scratch(programs, cache)
        for block in blocks:
            name = re.match(r"file: (\S+)", block.note)
            if name:
                path = scratch.folder / name.group(1)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
                written += 1
            elif block.is_run and block.language == "toml":
                problems.add(file, block.line, "a TOML block needs <!-- file: NAME --> and a command that reads it")
            if block not in commands:
                continue
            ran += 1
            wrong = scratch.run(block)
            if wrong:
                problems.add(file, block.line, f"this block {wrong}")
                break
        scratch.close()
    shutil.rmtree(cache)
    print(f"ran {ran} code blocks in {time.monotonic() - start:.0f} s, with {written} files; not run:")
    for line in left_out:
        print(f"  {line}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, metavar="PROGRAMS", help="folder of the programs, like target/release")
    parser.add_argument("--page", help="run only the blocks of pages whose path contains this text")
    arguments = parser.parse_args()
    problems = Problems()
    links, flags = check_links(problems), check_flags(problems)
    paths = check_paths(problems)
    check_sizes(problems)
    check_summary(problems)
    check_blocks(problems)
    print(f"docs: {len(texts())} texts, {links} links, {flags} flags, {paths} paths, README {len(README.read_bytes()):,} bytes")
    if arguments.run:
        run_blocks(problems, arguments.run, arguments.page)
    for line in problems.found:
        print(line, file=sys.stderr)
    return 1 if problems.found else 0


if __name__ == "__main__":
    sys.exit(main())
