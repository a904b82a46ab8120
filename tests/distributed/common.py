"""What the checks of `make test-distributed` have in common."""

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
"""Files of each table, and shards."""

WORK = PROGRAM.parents[1] / "distributed"
"""Where all of it is made."""

SETTINGS = ["--files", str(FILES), "--embedding-cache", str(WORK / "cache")]
"""Of `chunkmill index`. With a cache, which the run in one process fills, the whole corpus takes a minute."""

UNCACHED = ["--files", str(FILES), "--embedding-cache", "off"]
"""The same with all the work, for what is timed."""


def say(line: str) -> None:
    print(line, flush=True)


def run(command: list[str], **more: object) -> str:
    """What a command prints. It must succeed; 3 says that documents are in quarantine."""
    done = subprocess.run(command, capture_output=True, text=True, **more)  # type: ignore[call-overload]
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def receipts(out: Path) -> int:
    """How many parts the shards of a plan have finished so far."""
    return sum(1 for _ in out.glob(".shards-*/*/part-*.json"))


def wait(what: str, true: Callable[[], bool], seconds: float = 600) -> None:
    """Waits until something is true."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            sys.exit(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(0.05)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def expect_same(out: Path, reference: Path) -> None:
    """Every file of a dataset is there, has the bytes of the reference's, and nothing else is."""
    ours, theirs = files(out), files(reference)
    if ours != theirs:
        sys.exit(f"{out} has other files than {reference}: {sorted(set(ours) ^ set(theirs))}")
    _, different, unreadable = filecmp.cmpfiles(out, reference, theirs, shallow=False)
    if different or unreadable:
        sys.exit(f"{out} differs from {reference}: {different + unreadable}")
    say(f"  same bytes as one process: {len(theirs)} files, {sum((reference / f).stat().st_size for f in theirs)} bytes")
