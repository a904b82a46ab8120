"""What the drivers of the benchmarks against others have in common. Standard library only."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Lost(Exception):
    """A peer cannot be had, or ended; the message says why."""


def last_words(log: Path) -> str:
    """The line of a log that says most: the last error, else the last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(\w+\.)*\w*(error|panicked|killed)\b", line, re.I)]
    return (errors or lines or ["it ended without a word"])[-1][:300]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def build(arguments: list[str], name: str) -> Path:
    """Builds a worker with cargo and gives its path."""
    say(f"building {name}")
    command = ["cargo", *arguments, "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("target", {}).get("name") == name and message.get("executable"):
            return Path(message["executable"])
    raise Lost("cargo could not build it")
