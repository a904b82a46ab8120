"""Shared code of the checks of `make test-distributed`."""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", PROJECT / "target")).resolve() / "release" / "chunkmill"

FILES = 32
"""Number of files per table, and number of shards."""

WORK = PROGRAM.parents[1] / "distributed"
"""The working folder."""

SETTINGS = ["--files", str(FILES), "--embedding-cache", str(WORK / "cache")]
"""Settings of `chunkmill index`. The run in one process fills the cache; with it, the whole corpus takes a minute."""

UNCACHED = ["--files", str(FILES), "--embedding-cache", "off"]
"""The same settings without the cache, for runs that are timed."""


def say(line: str) -> None:
    print(line, flush=True)


def run(command: list[str], **more: object) -> str:
    """Runs a command and returns its output. It must succeed; exit code 3 means that documents were quarantined."""
    done = subprocess.run(command, capture_output=True, text=True, **more)  # type: ignore[call-overload]
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def receipts(out: Path) -> int:
    """Returns how many parts the shards of a plan have finished so far."""
    return sum(1 for _ in out.glob(".shards-*/*/part-*.json"))


def wait(what: str, true: Callable[[], bool], seconds: float = 600) -> None:
    """Waits until a condition is true."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            sys.exit(f"timed out after {seconds:.0f} s waiting for: {what}")
        time.sleep(0.05)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def expect_same(out: Path, reference: Path) -> None:
    """Checks that a dataset has exactly the files of the reference, with the same bytes."""
    ours, theirs = files(out), files(reference)
    if ours != theirs:
        sys.exit(f"the files of {out} and {reference} differ: {sorted(set(ours) ^ set(theirs))}")
    _, different, unreadable = filecmp.cmpfiles(out, reference, theirs, shallow=False)
    if different or unreadable:
        sys.exit(f"{out} differs from {reference}: {different + unreadable}")
    say(f"  same bytes as one process: {len(theirs)} files, {sum((reference / f).stat().st_size for f in theirs)} bytes")
