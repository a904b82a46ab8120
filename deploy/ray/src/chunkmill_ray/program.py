"""Calls the chunkmill program."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence

DONE, QUARANTINED = 0, 3
"""Exit codes of work that was done; after the second, some documents are in quarantine."""

USAGE, LOCKED = 2, 4
"""Exit codes that the same command would give again: wrong settings, and a dataset that another process writes to."""

SHIPPED = "chunkmill"
"""Name of a program that came with the runtime environment, in a task's working directory."""


class Failed(Exception):
    """A call of chunkmill that failed and may succeed when it is repeated."""


class Refused(Exception):
    """A call of chunkmill that would fail again: wrong settings, or a dataset that somebody else writes to."""


def find(program: str | None) -> str:
    """The program to call here: the one named, the one shipped, or the one on the PATH."""
    if program is None and os.path.exists(SHIPPED):
        # Archives of runtime environments forget which files may be executed.
        os.chmod(SHIPPED, 0o755)
        return os.path.abspath(SHIPPED)
    found = shutil.which(program or SHIPPED)
    if found is None:
        raise Refused(
            f"there is no program `{program or SHIPPED}` on {os.uname().nodename}: install it on every node, name it "
            "with --program, or let Ray bring it with --ship"
        )
    return found


def call(command: Sequence[str], *, stderr_lines: int = 20) -> tuple[int, str]:
    """Runs a command to its end. Gives its exit code, DONE or QUARANTINED, and what it printed.

    Its standard error is passed on as it comes, and the last lines of it are in the exception if it fails.
    """
    last: list[str] = []
    # A file, because a long plan would not fit a pipe while standard error is being read.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.PIPE, text=True, errors="replace", preexec_fn=_end_with_parent
        )
        assert process.stderr is not None
        try:
            for line in process.stderr:
                sys.stderr.write(line)
                last = [*last[1 - stderr_lines :], line]
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        output.seek(0)
        printed = output.read()
    if code in (DONE, QUARANTINED):
        return code, printed
    ended = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    message = f"`{' '.join(command)}` {ended} on {os.uname().nodename}:\n{''.join(last).strip()}"
    raise (Refused if code in (USAGE, LOCKED) else Failed)(message)


def _end_with_parent() -> None:
    """Lets a program end when the worker that called it is killed, which it would otherwise outlive. It may be killed at
    any moment."""
    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)
