"""Compares the speed and the cuts of our chunkers with others: same documents, same machine, alternating runs.

    python3 benches/peers/chunking/run.py [--corpus DIR] [--mb N] [--rounds N] [--spec LABEL=SPEC] [--only NAME ...]
    python3 benches/peers/chunking/run.py --worst

Creates its virtual environment and builds both Rust workers on first use. A round runs every chunker once, each in a
new process (A B C … A B C …, so a slow minute of the machine affects all of them). The documents are in memory before
the clock starts. The first pass is the cold one; then passes are repeated on one thread and on two. Ratios are computed
within a round, and their medians say more than the rates. A chunker that is not available is named and left out.

`--mb` limits the documents to every k-th file, the same for all, to keep a run within minutes. `judge.py` defines bad
cuts. `--worst` instead times texts that are hard on a chunker, at increasing sizes.

Uses only the standard library; the code that needs packages is in `worker.py` and `judge.py`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import select
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from common import ROOT, Lost, build, last_words, say, vocabularies  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
WORK = TARGET / "peers" / "chunking"
PYTHON = WORK / "venv" / "bin" / "python"
SUFFIXES = {".md", ".mdx", ".markdown", ".txt"}

# Our chunkers: label and spec. `--spec LABEL=SPEC` adds one.
TOKEN_SPECS = {
    "structure": "structure",
    "structure 512": "structure max=512",
    "heading-tokens": "heading-tokens",
    "sections tokens": "sections unit=tokens min=64 target=512 max=512 overlap=0",
    "ragdocs tokens": "ragdocs unit=tokens min=64 max=512 overlap=0",
    "recursive": "recursive max=512",
}
CHAR_SPECS = {
    "structure chars": "structure unit=chars min=200 max=2000",
    "ragdocs": "ragdocs max=2000",
    "sections": "sections target=2000 max=2000 overlap=0",
}
# Those of our chunkers that `--worst` times.
WORST_SPECS = {label: (TOKEN_SPECS | CHAR_SPECS)[label] for label in ("structure 512", "heading-tokens", "ragdocs")}

# Peers and floors, under the names that the ratios use.
TIKTOKEN, FAST, CHARS = "text-splitter md, tiktoken-rs", "text-splitter md, toktok-rs", "text-splitter md, chars"
EVENTS, COUNT, PARSE = "floor: pulldown-cmark events", "floor: cl100k count", "floor: our parse"
FLOORS = {EVENTS: ["events"], COUNT: ["count"], PARSE: ["parse"]}
RUST = {
    TIKTOKEN: ["markdown", "tiktoken", "512", "0"],
    f"{TIKTOKEN}, overlap 50": ["markdown", "tiktoken", "512", "50"],
    FAST: ["markdown", "toktok", "512", "0"],
    CHARS: ["markdown", "chars", "2000", "0"],
    "text-splitter text, chars": ["text", "chars", "2000", "0"],
}
PYTHONS = {
    "chonkie recursive, markdown": ["chonkie:markdown"],
    "chonkie token": ["chonkie:tokens"],
    "semchunk": ["semchunk"],
    "LangChain recursive, overlap 50": ["langchain:recursive", "--overlap", "50"],
    "LangChain headers + recursive": ["langchain:headers"],
    "LlamaIndex sentence": ["llama-index:sentence"],
    "LlamaIndex markdown + sentence": ["llama-index:markdown"],
}
AGAINST = [TIKTOKEN, FAST, CHARS, EVENTS, COUNT]


@dataclass
class Result:
    """The measurements of a chunker, one per round, and the judge's findings."""

    name: str
    command: list[str]
    ours: bool = False
    ready: dict[str, Any] = field(default_factory=dict)
    start_ms: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    two: list[float] = field(default_factory=list)
    peak_mb: list[float] = field(default_factory=list)
    quality: dict[str, int] | None = None

    @property
    def file(self) -> Path:
        return WORK / f"{re.sub(r'[^A-Za-z0-9]+', '-', self.name)}.jsonl"


class Worker:
    """A chunker in its own process."""

    def __init__(self, command: list[str], limit: float | None = None) -> None:
        self.limit = limit
        self.log = WORK / "worker.log"
        offline = {"TIKTOKEN_CACHE_DIR": str(WORK / "tiktoken"), "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
        env = os.environ | offline
        started = time.perf_counter()
        with self.log.open("w") as stderr:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, text=True, env=env)
        self.ready = self.answer()
        self.start_ms = (time.perf_counter() - started - self.ready["loading"]) * 1000

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout
        if self.limit and not select.select([self.process.stdout], [], [], self.limit)[0]:
            self.process.kill()
            raise TimeoutError
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise Lost(last_words(self.log))
        return json.loads(line)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise Lost(last_words(self.log)) from None
        return self.answer()

    def peak_mb(self) -> float:
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return float("nan")
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


def install() -> set[str]:
    """Creates the virtual environment pinned by `requirements.txt`. Returns the packages that are missing from it."""
    wanted = (HERE / "requirements.txt").read_text()
    packages = [line for line in wanted.splitlines() if line and not line.startswith("#")]
    stamp = WORK / "venv" / "installed.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return set()
    say(f"installing {', '.join(packages)} into {PYTHON.parents[1]} (once)")
    if not PYTHON.exists():
        venv.create(WORK / "venv", with_pip=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    missing = set()
    if subprocess.run([*pip, *packages]).returncode:
        missing = {package.partition("==")[0] for package in packages if subprocess.run([*pip, package]).returncode}
    # If anything is missing, the next run tries again.
    if not missing:
        stamp.write_text(wanted)
    return missing


def build_ours() -> Path:
    return build(["build", "--profile", "dist", "--bench", "chunking-worker"], "chunking-worker")


def build_text_splitter() -> Path:
    manifest = ["--manifest-path", str(HERE / "text-splitter" / "Cargo.toml"), "--locked"]
    target = ["--release", "--target-dir", str(WORK / "rust")]
    return build(["build", *manifest, *target], "text-splitter-worker")


def judge(*arguments: object) -> str:
    env = os.environ | {"TIKTOKEN_CACHE_DIR": str(WORK / "tiktoken")}
    command = [str(PYTHON), str(HERE / "judge.py"), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    if done.returncode:
        sys.exit(f"the judge failed: {done.stderr}")
    return done.stdout


def sample(corpus: Path, megabytes: float, out: Path) -> dict[str, Any]:
    """Writes every k-th document, for a total of about `megabytes`. Returns a description of the sample."""
    found = sorted(path for path in corpus.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    total = sum(path.stat().st_size for path in found)
    step = max(1, round(total / (megabytes * 1e6))) if megabytes else 1
    documents = size = 0
    with out.open("w", encoding="utf-8") as lines:
        for path in found[::step]:
            try:
                text = path.read_bytes().decode()
            except UnicodeDecodeError:
                continue
            print(json.dumps({"path": path.relative_to(corpus).as_posix(), "text": text}), file=lines)
            documents, size = documents + 1, size + len(text.encode())
    if not documents:
        sys.exit(f"no documents in {corpus}")
    return {"corpus": corpus.name, "files": len(found), "step": step, "documents": documents, "bytes": size}


def passes(worker: Worker, threads: int, seconds: float) -> tuple[float, float]:
    """Repeats passes for about `seconds`, at least once. Returns the median wall time and the mean CPU time."""
    walls: list[float] = []
    cpus: list[Any] = []
    while not walls or (sum(walls) < seconds and len(walls) < 100):
        answer = worker.ask({"run": threads})
        walls.append(answer["seconds"])
        cpus.append(answer["cpu_seconds"])
    return median(walls), fmean(cpus) if None not in cpus else float("nan")


def measure(result: Result, seconds: float, dump: bool) -> None:
    """Measures one round of one chunker."""
    with Worker(result.command) as worker:
        result.ready = worker.ready
        result.start_ms.append(worker.start_ms)
        result.cold.append(worker.ask({"run": 1})["seconds"])
        warm, cpu = passes(worker, 1, seconds)
        result.warm.append(warm)
        result.cpu.append(cpu)
        result.peak_mb.append(worker.peak_mb())
        result.two.append(passes(worker, 2, seconds)[0])
        if dump and "unit" in worker.ready:
            worker.ask({"chunks": str(result.file)})


def rounds(results: list[Result], count: int, seconds: float, left_out: dict[str, str]) -> None:
    for n in range(count):
        for result in list(results):
            try:
                measure(result, seconds, dump=n == 0)
            except Lost as reason:
                left_out[result.name] = str(reason)
                results.remove(result)
        say(f"round {n + 1} of {count}")


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def shown(result: Result) -> str:
    return f"**{result.name}**" if result.ours else result.name


def speed(results: list[Result], size: int) -> str:
    def rate(seconds: list[float]) -> str:
        rates = [size / 1e6 / s for s in seconds]
        return f"{number(median(rates))} ({number(min(rates))}–{number(max(rates))})"

    def row(r: Result) -> list[str]:
        settings = ", ".join(f"{key} {value}" for key, value in r.ready["settings"].items())
        versions = ", ".join(f"{name} {value}" for name, value in r.ready["versions"].items())
        rates = [rate(r.cold), rate(r.warm), number(size / 1e6 / median(r.cpu)), rate(r.two)]
        ends = [number(median(r.start_ms)), number(median(r.peak_mb)), "; ".join(filter(None, [versions, settings]))]
        return [shown(r), *rates, *ends]

    head = ["chunker", "cold MB/s (min–max)", "warm MB/s", "warm, MB per processor second", "warm, 2 threads"]
    return table([*head, "start-up ms", "peak RSS MB", "what it is"], [row(r) for r in results])


def ratios(results: list[Result]) -> str:
    """Returns how many times as fast ours are as the others: medians over the rounds, in brackets by CPU time."""
    by_name = {r.name: r for r in results}
    others = [by_name[name] for name in AGAINST if name in by_name]

    def times(a: list[float], b: list[float]) -> str:
        return number(median(y / x for x, y in zip(a, b)))

    def row(r: Result) -> list[str]:
        return [shown(r), *(f"{times(r.warm, o.warm)} ({times(r.cpu, o.cpu)})" for o in others), times(r.two, r.warm)]

    head = ["ours ÷", *(o.name for o in others), "its own single thread, on 2"]
    return table(head, [row(r) for r in results if r.ours])


def quality(results: list[Result]) -> str:
    def row(r: Result) -> list[str]:
        q = r.quality or {}
        chunks, cuts = max(1, q["chunks"]), max(1, q.get("cuts", 0))

        def share(key: str, of: int) -> str:
            return f"{100 * q.get(key, 0) / of:.2f}"

        def cut(kind: str) -> str:
            return f"{share(kind, cuts)} ({share(f'{kind}_avoidable', cuts)})"

        exact = f"{100 * q.get('exact', 0) / q['with_offsets']:.1f}" if q.get("with_offsets") else "none given"
        over = f"{q.get('over', 0):,}"
        if r.ours:
            over += f" ({q.get('over_unflagged', 0):,} unflagged)"
        return [
            shown(r),
            f"{q['chunks']:,}",
            f"{q['tokens'] / chunks:.0f}",
            *(cut(kind) for kind in ("fence", "table", "item", "paragraph")),
            share("sentence", cuts),
            over,
            share("small", chunks),
            share("heading_alone", chunks),
            share("crosses", chunks),
            exact + (f", {q['not_found']:,} chunks not in the text" if q.get("not_found") else ""),
            "yes" if q.get("with_path") else "no",
            f"{100 * q.get('lost', 0) / max(1, q['bytes']):.3f}",
            f"{100 * q['count_right'] / q['with_count']:.1f}" if q.get("with_count") else "none given",
        ]

    head = ["chunker", "chunks", "tokens each", "cuts a fence", "a table", "a list item", "a paragraph", "a sentence"]
    head += ["over max", "under 50 tokens", "heading alone", "crosses a heading", "offsets exact", "heading path"]
    head += ["text lost", "token counts right"]
    note = "Cuts: % of them that go through one; in brackets the avoidable. Chunks: % of them. See `judge.py`.\n\n"
    return note + table(head, [row(r) for r in results if r.quality])


def hard_texts() -> dict[str, Callable[[int], str]]:
    """Returns functions that create hard texts of about a given number of bytes."""
    prose = "The night was long and the road went on, past fields and mills and one more river; nobody spoke. "
    wide = 2000

    def wide_table(size: int) -> str:
        row = "|" + "|".join(f" c{n} " for n in range(wide)) + "|\n"
        return row + "|" + " - |" * wide + "\n" + row * max(1, size // len(row) - 1)

    return {
        "all `a`": lambda size: "a" * size,
        "all spaces": lambda size: " " * size,
        "all digits": lambda size: ("0123456789" * (size // 10 + 1))[:size],
        "one line of prose": lambda size: (prose * (size // len(prose) + 1))[:size],
        "all `[`": lambda size: "[" * size,
        f"a table of {wide:,} columns": wide_table,
    }


def worst(limit: float, ours: Path, peer: Path | None) -> None:
    """Prints the CPU seconds for each text at 1, 10 and 100 MB. A linear chunker takes ten times as long each time."""
    commands = {label: ([str(ours)], ["rows", spec], [1, 10, 100]) for label, spec in WORST_SPECS.items()}
    if peer:
        commands |= {name: ([str(peer)], RUST[name], [1]) for name in (FAST, CHARS)}
    text = WORK / "worst.md"

    def seconds(command: tuple[list[str], list[str], list[int]]) -> float:
        program, arguments, _ = command
        with Worker([*program, str(text), *arguments], limit) as worker:
            answer = worker.ask({"run": 1})
            return answer["cpu_seconds"] or answer["seconds"]

    rows = []
    for name, make in hard_texts().items():
        row: dict[str, list[str]] = {label: [] for label in commands}
        before: dict[str, float] = {}
        for size in (1, 10, 100):
            text.write_text(make(size * 1_000_000), encoding="utf-8")
            for label, command in commands.items():
                # Skipped if a tenth of the size did not finish in time.
                if size not in command[2] or (size > 1 and label not in before):
                    continue
                try:
                    took = seconds(command)
                except TimeoutError:
                    row[label].append(f"> {limit:.0f} s")
                    before.pop(label, None)
                    continue
                except Lost as reason:
                    row[label].append(str(reason))
                    before.pop(label, None)
                    continue
                row[label].append(f"{took:.2f} s" + (f" (×{took / before[label]:.1f})" if label in before else ""))
                before[label] = took
        say(f"{name} done")
        rows.append([name, *(", ".join(row[label]) for label in commands)])
    text.unlink()
    sizes = [f"{label}, {' / '.join(map(str, command[2]))} MB" for label, command in commands.items()]
    print(
        f"{machine()}.\nCPU seconds, one thread, in memory, limit {limit:.0f} s of wall time; in brackets: "
        "ratio to the time for a tenth of the size.\n"
    )
    print(table(["text", *sizes], rows))


def machine() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        info = ""
    name = re.search(r"model name\s*:\s*(.*)", info)
    family = re.findall(r"(?:cpu family|model|stepping)\s*:\s*(\d+)", info)[:3]
    cpu = f"{name[1]} (family, model, stepping {' '.join(family)})" if name else platform.processor() or "unknown"
    day, load = datetime.date.today().isoformat(), os.getloadavg()[0]
    return f"{cpu}, {os.cpu_count()} cores, {day}, load before the runs {load:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = ROOT / "datasets" / "larder" / "corpus"
    parser.add_argument("--corpus", type=Path, default=default, help="folder of Markdown or text files")
    parser.add_argument("--mb", type=float, default=4, help="about how many MB to use, as every k-th file; 0 for all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="least time of warm passes per chunker and round")
    parser.add_argument("--spec", action="append", default=[], metavar="LABEL=SPEC", help="another spec of ours")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="run only names that start like this")
    parser.add_argument("--worst", action="store_true", help="time hard texts instead")
    parser.add_argument("--limit", type=float, default=60, help="time limit for a hard text, in seconds")
    parser.add_argument("--json", type=Path, help="file for all figures and facts about the run")
    a = parser.parse_args()

    WORK.mkdir(parents=True, exist_ok=True)
    left_out: dict[str, str] = {}
    ours = build_ours()
    peer = None
    try:
        peer = build_text_splitter()
    except Lost as reason:
        left_out |= dict.fromkeys(RUST, str(reason))
    if a.worst:
        return worst(a.limit, ours, peer)

    missing = install()
    if needed := missing & {"markdown-it-py", "tiktoken"}:
        sys.exit(f"the judge needs {', '.join(needed)}")
    vocabularies(WORK / "tiktoken", HERE / "text-splitter" / "Cargo.toml", ["cl100k_base"])
    judge("--self-test")
    documents = WORK / "documents.jsonl"
    sampled = sample(a.corpus.resolve(), a.mb, documents)

    token_specs = TOKEN_SPECS | dict(spec.split("=", 1) for spec in a.spec)
    file = str(documents)
    results = []
    for label, spec in token_specs.items():
        results.append(Result(f"chunkmill {label}", [str(ours), file, "rows", spec], True))
    for label, spec in CHAR_SPECS.items():
        results.append(Result(f"chunkmill {label}", [str(ours), file, "rows", spec], True))
        results.append(Result(f"chunkmill {label}, tokens not counted", [str(ours), file, "cut", spec], True))
    results += [Result(name, [str(ours), file, *arguments]) for name, arguments in FLOORS.items()]
    if peer:
        results += [Result(name, [str(peer), file, *arguments]) for name, arguments in RUST.items()]
    for name, arguments in PYTHONS.items():
        if lacks := [package for package in missing if package.startswith(arguments[0].partition(":")[0])]:
            left_out[name] = f"{', '.join(lacks)} cannot be installed"
        else:
            results.append(Result(name, [str(PYTHON), str(HERE / "worker.py"), arguments[0], file, *arguments[1:]]))
    results = [r for r in results if not a.only or r.name.startswith(tuple(a.only))]

    facts = machine()
    rounds(results, a.rounds, a.seconds, left_out)
    if not results:
        sys.exit("\n".join(["nothing could be measured", *(f"{name}: {why}" for name, why in left_out.items())]))
    # Chunkers with the same chunks are judged only once.
    judged = [r for r in results if "unit" in r.ready and "not counted" not in r.name]
    say("judging")
    for result, line in zip(judged, judge(documents, *(r.file for r in judged)).splitlines()):
        result.quality = json.loads(line)

    print(
        f"{facts}.\n{sampled['corpus']}: {sampled['documents']:,} documents (one in {sampled['step']} of "
        f"{sampled['files']:,}), {sampled['bytes'] / 1e6:.2f} MB; {a.rounds} rounds, in turn.\n"
    )
    print(speed(results, sampled["bytes"]) + "\n")
    if any(r.ours for r in results):
        print(ratios(results) + "\n")
    print(quality(results))
    for why in dict.fromkeys(left_out.values()):
        print(f"\nLeft out: {', '.join(name for name, reason in left_out.items() if reason == why)}: {why}")
    if a.json:
        chunkers = [{key: value for key, value in vars(r).items() if key != "command"} for r in results]
        a.json.write_text(json.dumps({"machine": facts, "sample": sampled, "chunkers": chunkers}, indent=1) + "\n")


if __name__ == "__main__":
    main()
