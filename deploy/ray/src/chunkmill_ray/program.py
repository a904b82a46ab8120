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
"""Exit codes of success. With the second, some documents are quarantined."""

USAGE, LOCKED = 2, 4
"""Exit codes that a retry would not change: wrong settings, and a dataset that another process is writing to."""

SHIPPED = "chunkmill"
"""Name of the program in a task's working directory if it was shipped with the runtime environment."""


class Failed(Exception):
    """A call of chunkmill that failed and may succeed if it is retried."""


class Refused(Exception):
    """A call of chunkmill that would fail again: wrong settings, or a dataset that another process is writing to."""


def find(program: str | None) -> str:
    """Returns the program to call: the named one, the shipped one, or the one on the PATH."""
    if program is None and os.path.exists(SHIPPED):
        # Archives of runtime environments do not preserve the executable bit.
        os.chmod(SHIPPED, 0o755)
        return os.path.abspath(SHIPPED)
    found = shutil.which(program or SHIPPED)
    if found is None:
        raise Refused(
            f"there is no program `{program or SHIPPED}` on {os.uname().nodename}: install it on every node, name it "
            "with --program, or let Ray copy it with --ship"
        )
    return found


def call(command: Sequence[str], *, stderr_lines: int = 20) -> tuple[int, str]:
    """Runs a command to completion. Returns its exit code, DONE or QUARANTINED, and its output.

    Standard error is forwarded as it arrives. If the command fails, the exception contains its last lines.
    """
    last: list[str] = []
    # A file, because a long plan would fill the pipe while only standard error is being read.
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
    """Makes the program end when the worker that called it is killed; otherwise it would outlive the worker.

    Killing the program is safe at any moment.
    """
    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)
