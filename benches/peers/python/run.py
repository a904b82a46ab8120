"""Compares the Python module with other chunkers for Python: same documents, same machine, alternating runs.

    make wheel && python3 benches/peers/python/run.py [--corpus DIR ...] [--mb N] [--rounds N] [--encoding NAME ...]
    cargo build --release && python3 benches/peers/python/run.py --program --corpus DIR [--rounds N]

Creates its virtual environment on first use and installs the wheel into it. `measure.py` then runs there, with all
contestants in one process. With `--program`, whole processes are timed instead, from the start to the last byte of
their JSON lines: `chunkmill chunk` and `whole.py`, which does the same with semantic-text-splitter, both on one
thread, at most 512 tokens. A round runs each of them once (A B C … A B C …, so a slow minute of the machine
affects all of them). Uses only the standard library.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import venv
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from common import ROOT, say, vocabularies  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
WORK = TARGET / "peers" / "python"
PYTHON = WORK / "venv" / "bin" / "python"
ENCODINGS = ["cl100k_base", "o200k_base"]


def install(program: bool) -> None:
    wheels = sorted((TARGET / "wheels").glob("chunkmill-*.whl"))
    if not wheels and not program:
        sys.exit("there is no wheel; run `make wheel`")
    wanted = (HERE / "requirements.txt").read_text()
    stamp = WORK / "venv" / "installed.txt"
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not stamp.exists() or stamp.read_text() != wanted:
        say(f"installing the peers into {PYTHON.parents[1]} (once)")
        venv.create(WORK / "venv", with_pip=True, clear=True)
        subprocess.run([*pip, "-r", str(HERE / "requirements.txt")], check=True)
        stamp.write_text(wanted)
    if not program:
        subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheels[-1])], check=True)


def programs(corpus: Path, rounds: int, env: dict[str, str]) -> None:
    """Times both programs over one corpus, in turn, and prints medians and ratios."""
    ours = [TARGET / "release" / "chunkmill", "chunk", corpus, "--threads", "1", "--max", "512", "--include", "*.md"]
    commands = {"chunkmill chunk": ours, "semantic-text-splitter": [PYTHON, HERE / "whole.py", corpus, "512"]}
    size = sum(file.stat().st_size for file in corpus.rglob("*.md")) / 1e6
    times: dict[str, list[float]] = {name: [] for name in commands}
    written = dict.fromkeys(commands, 0.0)
    # The first round, which also reads the files into memory, does not count.
    for turn in range(rounds + 1):
        for name, command in commands.items():
            output = WORK / "output.jsonl"
            with output.open("wb") as file:
                started = time.perf_counter()
                subprocess.run([str(part) for part in command], stdout=file, env=env, check=True)
            if turn:
                times[name].append(time.perf_counter() - started)
            written[name] = output.stat().st_size / 1e6
    print(f"{corpus.name}: {size:.1f} MB, {rounds} rounds")
    ratios = [other / own for own, other in zip(times["chunkmill chunk"], times["semantic-text-splitter"], strict=True)]
    for name, seconds in times.items():
        rates = [size / each for each in seconds]
        print(f"  {name}: {median(rates):.1f} MB/s ({min(rates):.1f} to {max(rates):.1f}), {written[name]:.0f} MB written")
    print(f"  ratio: {median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = ROOT / "datasets" / "larder" / "corpus"
    parser.add_argument("--corpus", type=Path, nargs="+", default=[default], help="folders of Markdown or text files")
    parser.add_argument("--mb", type=float, default=2, help="about how many MB of each, as every k-th file; 0 for all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="least time of passes per contestant and round")
    parser.add_argument("--encoding", nargs="+", default=ENCODINGS, choices=ENCODINGS)
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--program", action="store_true", help="time whole programs instead")
    a = parser.parse_args()

    WORK.mkdir(parents=True, exist_ok=True)
    install(a.program)
    vocabularies(WORK / "tiktoken", HERE.parent / "chunking" / "text-splitter" / "Cargo.toml", ENCODINGS)
    offline = {"TIKTOKEN_CACHE_DIR": str(WORK / "tiktoken"), "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    if a.program:
        for corpus in a.corpus:
            programs(corpus.resolve(), a.rounds, os.environ | offline)
        return
    options = ["--mb", a.mb, "--rounds", a.rounds, "--seconds", a.seconds, *(["--json", a.json.resolve()] if a.json else [])]
    corpora = [folder.resolve() for folder in a.corpus]
    command = [PYTHON, HERE / "measure.py", *options, "--corpus", *corpora, "--encoding", *a.encoding]
    sys.exit(subprocess.run([str(part) for part in command], env=os.environ | offline).returncode)


if __name__ == "__main__":
    main()
