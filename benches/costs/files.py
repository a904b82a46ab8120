"""`make costs FILES='FOLDER …'`: compares the memory that real documents need with the estimate.

    python3 benches/costs/files.py FOLDER... [--least 1] [--most 50] [--also-as md] [--preset structure] [--json FILE] [--program PROGRAM]

Chunks every text file of 1 to 50 MB below the folders, with one process and one thread per file: once with the limit
of every document, to see what is estimated and whether it is quarantined, and once with a limit that all of them pass,
for the memory that it takes. That of our own 50 pages, with the vocabulary of the tokenizer, is what the program takes
by itself. With `--also-as md`, files in other formats are read as Markdown as well, as a file `CHANGELOG.md` would be.
The report lists the quarantined files, and those whose estimate is furthest from the peak, both with what the program
takes. The exit code is 1 if a file is quarantined although the memory it takes is within the limit.
"""

from __future__ import annotations

import argparse
import codecs
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", PROJECT / "target")).resolve() / "release" / "chunkmill"

ESTIMATE = re.compile(rb"may need (\d+) bytes of memory")


@dataclass
class File:
    """The cost of one file, read in one format. Memory is in bytes, without what the program takes by itself."""

    path: str
    suffix: str
    size: int
    quarantined: str
    estimate: int
    memory: int
    base: int

    @property
    def factor(self) -> float:
        return (self.estimate + self.base) / (self.memory + self.base)


# Runs a command, and prints its exit code and peak memory. The peak that the system reports is at least what the
# process that starts it takes, so this is one that takes very little.
LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
"""


def run(program: Path, path: Path, *flags: str) -> tuple[int, bytes, int]:
    """Chunks a file. Returns the exit code, what is on standard error, and the peak memory."""
    command = [str(program), "chunk", str(path), "--threads", "1", *flags]
    done = subprocess.run([sys.executable, "-S", "-E", "-c", LAUNCHER, *command], capture_output=True, check=True)
    code, peak = done.stdout.split()
    return int(code), done.stderr, int(peak)


def is_text(path: Path) -> bool:
    """Returns whether a file is UTF-8 without control characters that no text has."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 16):
                if "\0" in decoder.decode(block):
                    return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def measure(program: Path, folder: Path, path: Path, suffix: str, base: int, preset: str) -> File:
    size = path.stat().st_size
    link = folder / f"{os.getpid()}-{abs(hash((str(path), suffix)))}.{suffix}"
    try:
        link.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, link)
    flags = ["--preset", preset, "--security", "permissive"]
    code, said, _ = run(program, link, *flags, "--verbose", "--verbose")
    quarantined = said.decode(errors="replace").strip()[-200:] if code == 3 else ""
    # With a limit that every document passes, there is nothing to estimate.
    estimate = ESTIMATE.search(said)
    _, _, peak = run(program, link, *flags, "--document-memory", str(1 << 40))
    link.unlink()
    return File(str(path), suffix, size, quarantined, int(estimate[1]) if estimate else 0, peak - base, base)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="folders with large files")
    parser.add_argument("--least", type=float, default=1, help="size of the smallest files in MB [default: 1]")
    parser.add_argument("--most", type=float, default=50, help="size of the largest files in MB [default: 50]")
    parser.add_argument("--also-as", nargs="*", default=[], help="formats to read all files in as well")
    parser.add_argument("--preset", default="structure", help="preset to chunk with")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the program to measure")
    options = parser.parse_args()
    within = range(int(options.least * 1e6), int(options.most * 1e6) + 1)
    found = (path for folder in options.folders for path in sorted(folder.rglob("*")))
    files = [path for path in found if path.is_file() and not path.is_symlink() and path.stat().st_size in within and is_text(path)]
    cases = [(path, suffix) for path in files for suffix in dict.fromkeys([path.suffix[1:] or "txt", *options.also_as])]
    with tempfile.TemporaryDirectory(dir=options.folders[0]) as home:
        folder = Path(home)
        pages = sorted((PROJECT / "datasets" / "larder" / "corpus").rglob("*.md"))
        (folder / "a.md").write_text("\n\n".join(page.read_text(encoding="utf-8") for page in pages), encoding="utf-8")
        base = min(run(options.program, folder / "a.md")[2] for _ in range(3))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            costs = list(pool.map(lambda case: measure(options.program, folder, *case, base, options.preset), cases))
    if options.json:
        options.json.write_text(json.dumps([asdict(cost) for cost in costs], indent=1))
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB; the program takes {base / 1e6:.0f} MB\n")
    print("| read as | files | quarantined | estimate / peak: least | median | most |\n| --- | --- | --- | --- | --- | --- |")
    for suffix, group in sorted(grouped(costs).items()):
        factors = [cost.factor for cost in group]
        lost = sum(bool(cost.quarantined) for cost in group)
        print(f"| {suffix} | {len(group)} | {lost} | {min(factors):.2f} | {statistics.median(factors):.2f} | {max(factors):.2f} |")
    print("\n| file | read as | MB | memory | estimate | factor | |\n| --- | --- | --- | --- | --- | --- | --- |")
    by_factor = sorted(costs, key=lambda cost: cost.factor)
    shown = {id(cost): cost for cost in [*(cost for cost in costs if cost.quarantined), *by_factor[:10], *by_factor[-10:]]}
    for cost in shown.values():
        print(f"| {Path(cost.path).name} | {cost.suffix} | {cost.size / 1e6:.1f} | {cost.memory / 1e6:.0f} | {cost.estimate / 1e6:.0f} | {cost.factor:.2f} | {cost.quarantined} |")
    if any("may need" in cost.quarantined and cost.memory <= 16 * cost.size + 50_000_000 for cost in costs):
        sys.exit("a document is quarantined that is within the limit")


def grouped(costs: list[File]) -> dict[str, list[File]]:
    groups: dict[str, list[File]] = {"all": costs}
    for cost in costs:
        groups.setdefault(cost.suffix, []).append(cost)
    return {suffix: group for suffix, group in groups.items() if len(group) > 4 or suffix == "all"}


if __name__ == "__main__":
    main()
