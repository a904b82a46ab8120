#!/usr/bin/env python3
"""Draws the README's picture from the real output of the program.

    make.py PROGRAMS     PROGRAMS is the folder of the programs, for example target/release

Runs the commands below on `datasets/larder`, in a terminal of 112 columns, and writes `docs/src/pictures/session.svg`:
what the program wrote there, as it looks there. `make picture` does this with the default model.
"""

from __future__ import annotations

import fcntl
import html
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "src" / "pictures" / "session.svg"
QUESTION = "how do I restore a single file?"
COMMANDS = [
    "chunkmill index docs -o out",
    f'chunkmill search out "{QUESTION}" -k 3',
]
COLUMNS = 112
WIDTH, HEIGHT, SIZE = 7.8, 19, 13
MARGIN, BAR = 18, 34
# The looks of the program's output, by their codes.
LOOKS = {"2": "faint", "1;36": "place", "1;33": "mark"}
STYLE = """
  .window { fill: #14181f } .bar { fill: #232a34 } .dot { fill: #4a5564 }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #c3ccd8; white-space: pre }
  .prompt { fill: #7fd18b } .command { fill: #ffffff; font-weight: 600 }
  .place { fill: #6fc7d9; font-weight: 700 } .mark { fill: #e6c46a; font-weight: 700 } .faint { fill: #7c889a }
"""

Line = list[tuple[str, str]]
"""Parts of a line, each with its look."""


def terminal(command: str, folder: Path, env: dict[str, str]) -> str:
    """Runs a command whose standard output is a terminal, and returns what it writes there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    done = subprocess.Popen(["bash", "-c", command], cwd=folder, env=env, stdout=theirs, stderr=subprocess.DEVNULL, stdin=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    if done.wait() != 0:
        raise SystemExit(f"{command}: exit code {done.returncode}")
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def parts(line: str) -> Line:
    """Splits a line at the codes of its looks. Links are left out."""
    line = re.sub(r"\x1b\]8;;.*?\x1b\\", "", line)
    found: Line = []
    codes: list[str] = []
    for code, text in re.findall(r"(?:\x1b\[([0-9;]*)m)?([^\x1b]*)", line):
        if code == "0":
            codes = []
        elif code:
            codes.append(code)
        if text:
            found.append((LOOKS[";".join(codes)] if codes else "output", text))
    return found


def session(programs: Path) -> list[Line]:
    """Runs the commands and returns the lines of the session."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "datasets" / "larder" / "corpus", folder / "docs")
        taken = ("CHUNKMILL_", "CLICOLOR", "NO_COLOR", "FORCE_HYPERLINK")
        env = {key: value for key, value in os.environ.items() if not key.startswith(taken) or key == "CHUNKMILL_EMBEDDER"}
        env |= {"PATH": f"{programs.resolve()}{os.pathsep}{env['PATH']}", "TERM": "xterm-256color", "CHUNKMILL_EMBEDDING_CACHE": "off"}
        lines: list[Line] = []
        for command in COMMANDS:
            lines.append([("command", command)])
            lines += [parts(line) for line in terminal(command, folder, env).rstrip().splitlines()]
            lines.append([])
        return lines[:-1]


def draw(lines: list[Line]) -> str:
    width = round(2 * MARGIN + COLUMNS * WIDTH)
    height = BAR + 2 * MARGIN + HEIGHT * len(lines) - 6
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="t">',
        "<title id=\"t\">A terminal session: chunkmill indexes a folder and answers a question with three cited passages</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="window" width="{width}" height="{height}" rx="10"/>',
        f'<path class="bar" d="M0 {BAR}V10A10 10 0 0 1 10 0H{width - 10}A10 10 0 0 1 {width} 10V{BAR}Z"/>',
        *(f'<circle class="dot" cx="{20 + 18 * n}" cy="{BAR / 2}" r="5.5"/>' for n in range(3)),
    ]
    for n, line in enumerate(lines):
        y = BAR + MARGIN + HEIGHT * n + SIZE - 2
        column = 0
        if line and line[0][0] == "command":
            drawn.append(f'<text class="prompt" x="{MARGIN}" y="{y}">$</text>')
            column = 2
        for look, text in line:
            # Each part has its place and width, so columns are aligned in every font.
            shown = html.escape(text, quote=False)
            x, length = MARGIN + column * WIDTH, len(text) * WIDTH
            drawn.append(f'<text class="{look}" x="{x:.1f}" y="{y}" xml:space="preserve" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs">{shown}</text>')
            column += len(text)
    return "\n".join([*drawn, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(draw(session(Path(sys.argv[1]))))
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")
