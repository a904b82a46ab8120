#!/usr/bin/env python3
"""Draws the README's picture from the real output of the program.

    make.py PROGRAMS     PROGRAMS is the folder of the programs, for example target/release

Runs the commands below on `datasets/larder` and writes `docs/src/pictures/session.svg`. Lines that are too long
are cut and end in `…`; nothing else is changed. `make picture` does this with the default model.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
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
STYLE = """
  .window { fill: #14181f } .bar { fill: #232a34 } .dot { fill: #4a5564 }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #aeb8c6; white-space: pre }
  .prompt { fill: #7fd18b } .command { fill: #ffffff; font-weight: 600 } .hit { fill: #8cc7ff } .title { fill: #8390a2 }
"""


def session(programs: Path) -> list[tuple[str, str]]:
    """Runs the commands and returns the lines of the session, each with its kind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "datasets" / "larder" / "corpus", folder / "docs")
        env = {key: value for key, value in os.environ.items() if not key.startswith("CHUNKMILL_") or key == "CHUNKMILL_EMBEDDER"}
        env |= {"PATH": f"{programs.resolve()}{os.pathsep}{env['PATH']}", "NO_COLOR": "1", "CHUNKMILL_EMBEDDING_CACHE": "off"}
        lines = []
        for command in COMMANDS:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=True)
            lines.append(("command", command))
            for line in done.stdout.rstrip().splitlines():
                kind = "hit" if re.match(r" *\d+\. ", line) else "output"
                lines.append((kind, line if len(line) <= COLUMNS else line[: COLUMNS - 1].rstrip() + "…"))
            lines.append(("output", ""))
        return lines[:-1]


def draw(lines: list[tuple[str, str]]) -> str:
    width = round(2 * MARGIN + COLUMNS * WIDTH)
    height = BAR + 2 * MARGIN + HEIGHT * len(lines) - 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="t">',
        "<title id=\"t\">A terminal session: chunkmill indexes a folder and answers a question with three cited passages</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="window" width="{width}" height="{height}" rx="10"/>',
        f'<path class="bar" d="M0 {BAR}V10A10 10 0 0 1 10 0H{width - 10}A10 10 0 0 1 {width} 10V{BAR}Z"/>',
        *(f'<circle class="dot" cx="{20 + 18 * n}" cy="{BAR / 2}" r="5.5"/>' for n in range(3)),
    ]
    for n, (kind, line) in enumerate(lines):
        y = BAR + MARGIN + HEIGHT * n + SIZE - 2
        x = MARGIN
        if kind == "command":
            parts.append(f'<text class="prompt" x="{x}" y="{y}">$</text>')
            x += 2 * WIDTH
        if line:
            # The same width in every font, to keep columns aligned.
            length = f' textLength="{len(line) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
            text = html.escape(line, quote=False)
            parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y}" xml:space="preserve"{length}>{text}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(draw(session(Path(sys.argv[1]))))
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")
