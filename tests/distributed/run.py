"""`make test-distributed`: tests distributed and interrupted runs.

    python3 tests/distributed/run.py [--corpus DIR] [--mb N] [--only NAME ...]

Runs shards of one corpus on a Ray cluster, with GNU parallel and with Slurm, and disturbs each run. Also runs
`chunkmill filter` in Ray Data and Spark, and a job whose corpus and dataset are in an object store that fails.

Every run must produce the same bytes as `chunkmill index` in one process. Ray and Spark are installed from PyPI
into their own environment. GNU parallel, Slurm and Java must be installed (Debian:
`apt-get install parallel slurm-wlm default-jre-headless`), and `make model` must have fetched the default model. The
first run fills a cache of vectors; with it, each disturbed run takes a minute. The overhead of Ray is measured without
a cache, on a sample of about N megabytes: every k-th file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

from common import FILES, PROGRAM, PROJECT, SETTINGS, WORK, run, say

HERE = Path(__file__).resolve().parent
CHECKS = {"ray": "ray_cluster.py", "schedulers": "schedulers.py", "engines": "engines.py", "objects": "objects.py"}


def environment() -> Path:
    """Returns the Python of an environment with the pinned packages. Creates the environment if necessary."""
    home, requirements = WORK / "venv", HERE / "requirements.txt"
    python, stamp = home / "bin" / "python", home / "requirements.txt"
    if not stamp.exists() or stamp.read_bytes() != requirements.read_bytes():
        say("installing Ray and Spark")
        venv.create(home, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--require-hashes", "--requirement", str(requirements)])
        shutil.copyfile(requirements, stamp)
    return python


def sample(corpus: Path, megabytes: float, out: Path) -> Path:
    """Copies every k-th document, with its modification time, for a total of about `megabytes`."""
    found = sorted(path for path in corpus.rglob("*") if path.suffix == ".md" and path.is_file())
    total = sum(path.stat().st_size for path in found)
    step = max(1, round(total / (megabytes * 1e6)))
    shutil.rmtree(out, ignore_errors=True)
    for path in found[::step]:
        to = out / path.relative_to(corpus)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, to)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="folder of Markdown files [default: the powershell corpus]")
    parser.add_argument("--mb", type=float, default=3, help="size of the sample [default: 3]")
    parser.add_argument("--only", nargs="*", choices=CHECKS, default=list(CHECKS))
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    corpus = options.corpus or powershell()
    run(["cargo", "build", "--release", "--bin", "chunkmill"], cwd=PROJECT)
    python = environment()

    # Use the driver from this checkout, not an installed one.
    os.environ["PYTHONPATH"] = str(PROJECT / "deploy" / "ray" / "src")
    for name in [name for name in os.environ if name.startswith("CHUNKMILL_")]:
        del os.environ[name]
    datasets = WORK / "datasets"
    shutil.rmtree(datasets, ignore_errors=True)
    datasets.mkdir()
    part, reference = sample(corpus, options.mb, WORK / "sample"), datasets / "reference"
    started = time.monotonic()
    printed = run([str(PROGRAM), "index", str(corpus), "-o", str(reference), *SETTINGS])
    say(f"One process: {printed.splitlines()[0]}")
    for name in options.only:
        folders = map(str, (corpus, reference, part, datasets))
        done = subprocess.run([str(python), str(HERE / CHECKS[name]), *folders])
        if done.returncode != 0:
            sys.exit(f"{name} failed; its datasets and logs are in {datasets}")
    shutil.rmtree(datasets)
    say(f"All checks passed, with {FILES} shards, in {time.monotonic() - started:.0f} s")


def powershell() -> Path:
    archive, folder = PROJECT.parent / "shared" / "data" / "powershell-docs.tar.zst", WORK / "powershell-docs"
    if not archive.exists():
        sys.exit("the powershell corpus is not available: name another one with --corpus DIR")
    if not folder.exists():
        run(["tar", "--zstd", "--extract", "--file", str(archive), "--directory", str(WORK)])
    return folder


if __name__ == "__main__":
    main()
