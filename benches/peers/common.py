"""Shared code of the drivers of the benchmarks against others. Uses only the standard library."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Lost(Exception):
    """A peer is not available or has exited; the message says why."""


def last_words(log: Path) -> str:
    """Returns the most informative line of a log: the last error, otherwise the last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(\w+\.)*\w*(error|panicked|killed)\b", line, re.I)]
    return (errors or lines or ["it exited without a message"])[-1][:300]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def build(arguments: list[str], name: str) -> Path:
    """Builds a worker with cargo and returns its path."""
    say(f"building {name}")
    command = ["cargo", *arguments, "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("target", {}).get("name") == name and message.get("executable"):
            return Path(message["executable"])
    raise Lost("cargo could not build it")


# The names of tiktoken's vocabularies in its cache.
TIKTOKEN_NAMES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}


def vocabularies(folder: Path, manifest: Path, encodings: list[str]) -> None:
    """Copies the vocabularies of tiktoken-rs to the cache of Python's tiktoken, which would otherwise download them."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", str(manifest)]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    package = next(package for package in json.loads(found)["packages"] if package["name"] == "tiktoken-rs")
    folder.mkdir(parents=True, exist_ok=True)
    for encoding in encodings:
        asset = Path(package["manifest_path"]).parent / "assets" / f"{encoding}.tiktoken"
        shutil.copyfile(asset, folder / TIKTOKEN_NAMES[encoding])
