"""Compares our embedding engines with others: same texts, same machine, alternating runs.

    python3 benches/peers/embedding/run.py [--corpus DIR] [--texts N] [--rounds N] [--isa avx2] [--json FILE]
    python3 benches/peers/embedding/run.py --shape granite-small-r2 --tokens 4000 --texts 8
    python3 benches/peers/embedding/run.py --static --corpus DIR

Creates its virtual environment on first use, loads every engine in its own process, makes them embed the same texts
one after another (A B C … A B C …, so a slow minute of the machine affects all of them), and prints a table in
Markdown. Ratios are computed within a round, and their median says more than the rates. An engine that is not
available is named and left out.

Without `--shape` and `--static`, the model is the default one. A shape is a published network with made-up weights
(`shapes.py`); `--static` is a made-up table of vectors like those of model2vec. Speed does not depend on the values, so
no model has to be downloaded.

Uses only the standard library; the code that needs packages is in `prepare.py` and `worker.py`.
"""

from __future__ import annotations

import argparse
import array
import datetime
import json
import math
import operator
import os
import platform
import re
import subprocess
import sys
import time
import venv
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from common import ROOT, Lost, build, last_words, say  # noqa: E402
from shapes import QUESTION, SHAPES  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
WORK = TARGET / "peers"
PYTHON = WORK / "venv" / "bin" / "python"
MODEL = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True)
class Kind:
    """A kind of work, and the engines that do it."""

    # The packages that each peer needs.
    peers: dict[str, list[str]]
    # The arguments of our worker for each of our engines.
    ours: dict[str, list[str]]
    # The peer whose vectors all others are compared with, and its name in the table.
    reference: str
    compared: str
    # Default number of texts to embed in a run.
    texts: int
    # Graphs that `prepare.py` must create first: the command, a file that shows that it has run, and the engines
    # that need it.
    graphs: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


NETWORK = Kind(
    peers={
        "torch-f32": ["torch", "sentence-transformers"],
        "torch-bf16": ["torch", "sentence-transformers"],
        "torch-autocast": ["torch", "sentence-transformers"],
        "onnxruntime-f32": ["onnxruntime", "torch", "onnx"],
        "onnxruntime-int8": ["onnxruntime", "torch", "onnx"],
        "openvino-f32": ["openvino", "torch", "onnx"],
        "openvino-bf16": ["openvino", "torch", "onnx"],
        "openvino-int8": ["openvino", "torch", "onnx", "nncf"],
        "fastembed": ["fastembed", "torch", "onnx"],
    },
    ours={
        "chunkmill candle": ["--engine", "candle"],
        "chunkmill cpu f32": ["--engine", "cpu", "--precision", "f32"],
        "chunkmill cpu bf16": ["--engine", "cpu", "--precision", "bf16"],
        "chunkmill cpu int8": ["--engine", "cpu", "--precision", "int8"],
    },
    reference="torch-f32",
    compared="f32",
    texts=400,
    graphs=(
        ("graphs", "onnxruntime-int8.onnx", ("onnxruntime", "openvino", "fastembed")),
        ("int8", "openvino-int8.xml", ("openvino-int8",)),
    ),
)
# Without fastembed: it is ONNX Runtime again, its list of models has none of these, and long texts need its memory.
SHAPE = replace(NETWORK, peers={name: needs for name, needs in NETWORK.peers.items() if name != "fastembed"})
STATIC = Kind(
    peers={
        "model2vec": ["model2vec"],
        "model2vec-threads": ["model2vec"],
        "sentence-transformers-static": ["torch", "sentence-transformers"],
    },
    ours={"chunkmill static": ["--engine", "cpu"]},
    reference="model2vec",
    compared="model2vec",
    texts=20_000,
)

RERANK = Kind(
    peers={
        "sentence-transformers-pairs": ["torch", "sentence-transformers"],
        "onnxruntime-pairs-f32": ["onnxruntime", "torch", "onnx"],
        "onnxruntime-pairs-int8": ["onnxruntime", "torch", "onnx"],
    },
    ours={
        f"chunkmill pairs {precision}": ["--engine", "cpu", "--precision", precision, "--question", QUESTION]
        for precision in ("f32", "bf16", "int8")
    },
    reference="sentence-transformers-pairs",
    compared="CrossEncoder (1 less the difference)",
    texts=400,
    graphs=(("pair-graphs", "onnxruntime-pairs-int8.onnx", ("onnxruntime-pairs",)),),
)

# `--isa avx2`: each library's own switch. The kernels of ONNX Runtime, numpy and candle have none, and neither
# have those that OpenVINO uses for f32 products (MLAS: a profile shows 512-bit registers regardless of oneDNN's
# switch).
LIMITS = {
    "avx2": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "CHUNKMILL_CPU_ISA": "avx2",
    }
}
UNLIMITED = ("onnxruntime", "openvino-f32", "fastembed", "model2vec", "chunkmill candle")
FLAGS = re.compile(r"fma|f16c|avx2|avx_vnni\w*|avx512\w*|amx_\w+|avx10\w*|asimd\w*|bf16|i8mm|sve\w*")


@dataclass
class Worker:
    """An engine in its own process, and its measurements."""

    name: str
    peer: bool
    process: subprocess.Popen[str]
    log: Path
    limited: bool
    ready: dict[str, Any] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float | None] = field(default_factory=list)
    peak_mb: float | None = None
    cosine: tuple[float, float] | None = None

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout
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


def install() -> set[str]:
    """Creates the virtual environment that `requirements.txt` pins. Returns the packages that it contains."""
    wanted = (HERE / "requirements.txt").read_text()
    packages = [line for line in wanted.splitlines() if line and not line.startswith("#")]
    stamp = WORK / "venv" / "installed.json"
    if stamp.exists():
        held = json.loads(stamp.read_text())
        if held["requirements"] == wanted:
            return set(held["packages"])
    say(f"installing {', '.join(packages)} into {PYTHON.parents[1]} (a few GB, once)")
    if not PYTHON.exists():
        venv.create(WORK / "venv", with_pip=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    had = packages
    if subprocess.run([*pip, *packages]).returncode:
        had = [package for package in packages if not subprocess.run([*pip, package]).returncode]
    names = [package.partition("==")[0] for package in had]
    for package in packages:
        if package not in had:
            say(f"cannot be installed: {package}")
    # If anything is missing, the next run tries again.
    if had == packages:
        stamp.write_text(json.dumps({"requirements": wanted, "packages": names}))
    return set(names)


def model_folder(given: Path | None) -> Path:
    """Returns the given folder, or the folder where `make model` put the files of the default model."""
    if given:
        return given.resolve()
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    pattern = f"models--{MODEL.replace('/', '--')}/snapshots/*/model.safetensors"
    found = sorted(hub.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"{MODEL} is not in the Hugging Face cache: run `make model`, or give --model DIR")
    return found[-1].parent


def made_up_model(command: list[str], model: Path, folder: Path) -> Path:
    """Returns the folder of a model with weights from a seed and the default model's tokenizer.

    Creates the folder on first use.
    """
    if not any((folder / name).exists() for name in ("modules.json", "complete")):  # these are written last
        say(f"making {folder}")
        try:
            prepare(*command, "--model", model, "--out", folder)
        except Lost as reason:
            sys.exit(f"no model: {reason}")
    return folder


def prepare(*arguments: object) -> None:
    """Runs `prepare.py` in the virtual environment."""
    log = WORK / f"prepare-{arguments[0]}.log"
    with log.open("w") as stderr:
        command = [str(PYTHON), str(HERE / "prepare.py"), *map(str, arguments)]
        status = subprocess.run(command, stdout=stderr, stderr=stderr, env=environment(None)).returncode
    if status:
        raise Lost(last_words(log))


def environment(isa: str | None) -> dict[str, str]:
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true", "PYTHONWARNINGS": "ignore"}
    return os.environ | offline | (LIMITS[isa] if isa else {})


def build_ours() -> Path:
    """Builds the worker of our own engines and returns its path."""
    return build(["bench", "--bench", "embedding-worker", "--no-run"], "embedding-worker")


def start(name: str, peer: bool, command: list[str], isa: str | None, threads: int) -> Worker:
    log = WORK / f"{name.replace(' ', '-')}.log"
    own = {"OMP_NUM_THREADS": threads, "RAYON_NUM_THREADS": threads, "CANDLE_NUM_THREADS": 1}
    env = environment(isa) | {key: str(value) for key, value in own.items()}
    with log.open("w") as stderr:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, env=env
        )
    worker = Worker(name, peer, process, log, limited=not name.startswith(UNLIMITED))
    worker.ready = worker.answer()
    return worker


def peak_mb(process: subprocess.Popen[str]) -> float | None:
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return None
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


def vectors(worker: Worker, n: int) -> list[array.array[float]]:
    path = WORK / "vectors.f32"
    worker.ask({"vectors": str(path)})
    values = array.array("f", path.read_bytes())
    path.unlink()
    if sys.byteorder == "big":
        values.byteswap()
    dim = len(values) // n
    return [values[i * dim : (i + 1) * dim] for i in range(n)]


def cosine(a: array.array[float], b: array.array[float]) -> float:
    """Returns the cosine of two vectors; for two numbers, 1 minus their difference."""
    if len(a) == 1:
        return 1 - abs(a[0] - b[0])

    def dot(x: array.array[float], y: array.array[float]) -> float:
        return sum(map(operator.mul, x, y))

    return dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))


def machine() -> dict[str, Any]:
    """Returns the facts about the machine that a reader needs to interpret the figures."""
    facts = {"machine": platform.machine(), "cores": os.cpu_count(), "date": datetime.date.today().isoformat()}
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return facts | {"cpu": platform.processor()}
    name = re.search(r"model name\s*:\s*(.*)", info)
    family = re.findall(r"(?:cpu family|model|stepping)\s*:\s*(\d+)", info)[:3]
    flags = re.search(r"(?:flags|Features)\s*:\s*(.*)", info)
    return facts | {
        "cpu": f"{name[1] if name else 'unknown'} (family, model, stepping {' '.join(family)})",
        "flags": [flag for flag in (flags[1].split() if flags else []) if FLAGS.fullmatch(flag)],
        "load": os.getloadavg()[0],
    }


def measure(workers: list[Worker], rounds: int, left_out: dict[str, str]) -> None:
    """Runs the engines alternately. The first round is a warm-up and does not count."""
    for n in range(rounds + 1):
        for worker in list(workers):
            try:
                answer = worker.ask({"run": n})
            except Lost as reason:
                left_out[worker.name] = str(reason)
                workers.remove(worker)
                continue
            if n:
                worker.seconds.append(answer["seconds"])
                worker.cpu_seconds.append(answer.get("cpu_seconds"))
            time.sleep(0.2)  # lets the threads of this engine stop spinning
        say(f"round {n} of {rounds}" if n else "warmed up")


def table(workers: list[Worker], rows: list[dict[str, Any]], isa: str | None) -> list[dict[str, Any]]:
    """Returns one row of figures per engine: the peers, fastest first, then ours."""
    n, tokens = len(rows), sum(row["tokens"] for row in rows)
    # Engines that the limit does not reach cannot be compared with those that it does reach.
    rivals = [w for w in workers if w.peer and (w.limited or not isa)]
    best = [min(times) for times in zip(*(w.seconds for w in rivals))]
    figures = []
    for w in workers:
        rates = [n / seconds for seconds in w.seconds]
        figures.append(
            {
                "engine": w.name,
                "peer": w.peer,
                "limited": w.limited,
                "chunks_per_s": {"median": median(rates), "min": min(rates), "max": max(rates)},
                "tokens_per_s": median(rates) * tokens / n,
                "ratio_to_best_peer": median(b / s for b, s in zip(best, w.seconds)) if best else None,
                "peak_rss_mb": w.peak_mb,
                "cosine": {"min": w.cosine[0], "mean": w.cosine[1]} if w.cosine else None,
                "versions": w.ready["versions"],
                "settings": w.ready["settings"],
                "seconds": w.seconds,
                "cpu_seconds": w.cpu_seconds,
            }
        )
    return sorted(figures, key=lambda row: (not row["peer"], -row["chunks_per_s"]["median"]))


def markdown(figures: list[dict[str, Any]], isa: str | None, compared: str) -> str:
    def number(value: float) -> str:
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"

    lines = [
        "| engine | chunks/s, median (min–max) | real tokens/s | ratio to best peer | peak RSS MB "
        f"| cosine to {compared}, min / mean | setting |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in figures:
        rate, cos = row["chunks_per_s"], row["cosine"]
        named = row["engine"] + (" (not limited)" if isa and not row["limited"] else "")
        versions = ", ".join(f"{name} {value}" for name, value in row["versions"].items())
        settings = ", ".join(f"{name} {value}" for name, value in row["settings"].items())
        cells = [
            named if row["peer"] else f"**{named}**",
            f"{number(rate['median'])} ({number(rate['min'])}–{number(rate['max'])})",
            number(row["tokens_per_s"]),
            f"{row['ratio_to_best_peer']:.2f}" if row["ratio_to_best_peer"] else "–",
            f"{row['peak_rss_mb']:,.0f}" if row["peak_rss_mb"] else "–",
            f"{cos['min']:.5f} / {cos['mean']:.5f}" if cos else "–",
            f"{versions}; {settings}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def ratios(workers: list[Worker]) -> str:
    """Returns how many times as fast our engines are as each other engine: medians over the rounds."""
    ours = [w for w in workers if not w.peer]
    lines = ["| times as fast as | " + " | ".join(w.name for w in ours) + " |", "| --- |" + " --- |" * len(ours)]
    for other in [w for w in workers if w.peer or w.name == "chunkmill candle"]:
        cells = [f"{median(o / s for o, s in zip(other.seconds, w.seconds)):.2f}" for w in ours]
        lines.append(f"| {other.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = ROOT / "datasets" / "larder" / "corpus"
    parser.add_argument("--corpus", type=Path, default=default, help="folder of Markdown or text files")
    parser.add_argument("--model", type=Path, help="the default model's folder")
    made_up = parser.add_mutually_exclusive_group()
    made_up.add_argument("--shape", choices=SHAPES, help="use a network of this shape instead")
    made_up.add_argument("--static", action="store_true", help="use a table of vectors instead")
    made_up.add_argument("--rerank", action="store_true", help="score pairs of a question and each text instead")
    parser.add_argument("--tokens", type=int, help="use texts of about this many tokens instead of chunks as they come")
    parser.add_argument("--texts", type=int, help="number of texts to embed in a run (400; with --static 20000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="*", default=[], metavar="ENGINE", help="run only names that start like this")
    parser.add_argument("--isa", choices=LIMITS, help="limit every engine that can be limited")
    parser.add_argument("--json", type=Path, help="file for all figures and facts about the run")
    a = parser.parse_args()
    a.corpus = a.corpus.resolve()

    kind = STATIC if a.static else RERANK if a.rerank else SHAPE if a.shape else NETWORK
    # Name of the model that is measured, and of its folder.
    subject = "static" if a.static else "reranker" if a.rerank else a.shape or "default"
    place = WORK / (f"{subject}-{a.tokens}" if a.tokens else subject)
    place.mkdir(parents=True, exist_ok=True)

    model = model_folder(a.model)
    held = install()
    if subject != "default":
        made = ["shape", a.shape] if a.shape else [subject]
        model = made_up_model(made, model, WORK / "shapes" / subject)
    wanted = [n for n in [*kind.peers, *kind.ours] if not a.only or n == kind.reference or n.startswith(tuple(a.only))]
    left_out: dict[str, str] = {}
    for name in wanted:
        if missing := [package for package in kind.peers.get(name, []) if package not in held]:
            left_out[name] = f"{', '.join(missing)} cannot be installed"

    texts = place / "texts.jsonl"
    graphs = place / "graphs"
    length = ["--tokens", a.tokens] if a.tokens else []
    try:
        prepare("sample", a.corpus, a.texts or kind.texts, *length, "--model", model, "--out", texts)
    except Lost as reason:
        sys.exit(f"no texts: {reason}")
    rows = [json.loads(line) for line in texts.read_text(encoding="utf-8").splitlines()]
    if not rows:
        sys.exit(f"no texts in {a.corpus}")
    for command, made, for_engines in kind.graphs:
        concerned = [n for n in wanted if n.startswith(for_engines) and n not in left_out]
        if concerned and not (graphs / made).exists():
            say(f"making {made}")
            try:
                prepare(command, "--model", model, "--out", graphs, "--texts", texts)
            except Lost as reason:
                left_out |= dict.fromkeys(concerned, f"its graph cannot be created: {reason}")

    commands: dict[str, list[str]] = {}
    for name in wanted:
        if name in kind.peers and name not in left_out:
            commands[name] = [str(PYTHON), str(HERE / "worker.py"), name, "--model", str(model)]
            commands[name] += ["--texts", str(texts), "--graphs", str(graphs), "--threads", str(a.threads)]
    if ours := [name for name in wanted if name in kind.ours]:
        try:
            program = build_ours()
            for name in ours:
                commands[name] = [str(program), *kind.ours[name], "--texts", str(texts), "--model", str(model)]
        except Lost as reason:
            left_out |= dict.fromkeys(ours, str(reason))

    workers: list[Worker] = []
    try:
        for name, command in commands.items():
            try:
                workers.append(start(name, name in kind.peers, command, a.isa, a.threads))
            except Lost as reason:
                left_out[name] = str(reason)
        facts = machine()
        measure(workers, a.rounds, left_out)
        reference = next((vectors(w, len(rows)) for w in workers if w.name == kind.reference), None)
        for worker in workers:
            worker.peak_mb = peak_mb(worker.process)
            if reference:
                cosines = [cosine(x, y) for x, y in zip(vectors(worker, len(rows)), reference)]
                worker.cosine = min(cosines), fmean(cosines)
    finally:
        for worker in workers:
            if worker.process.stdin:
                worker.process.stdin.close()
            worker.process.wait()

    if not workers:
        sys.exit("\n".join(["no engine could be measured"] + [f"{n}: {why}" for n, why in left_out.items()]))
    figures = table(workers, rows, a.isa)
    tokens = sum(row["tokens"] for row in rows)
    sampled = {
        "model": subject,
        "corpus": a.corpus.name,
        "texts": len(rows),
        "tokens": tokens,
        "share_truncated": sum(row["cut"] for row in rows) / len(rows),
    }
    print(
        f"{facts['cpu']}, {facts['cores']} cores, {a.threads} threads, {facts['date']}"
        + (f", limited to {a.isa}" if a.isa else "")
        + f", load before the runs {facts.get('load', 0):.1f}.\n"
        + (f"{subject}, made up; " if subject != "default" else "")
        + f"{len(rows)} texts, {tokens / len(rows):.0f} tokens each on average, "
        f"{sampled['share_truncated']:.0%} truncated; {a.rounds} rounds, in turn.\n"
    )
    print(markdown(figures, a.isa, kind.compared))
    print("\n" + ratios(workers))
    if left_out:
        for why in dict.fromkeys(left_out.values()):
            names = ", ".join(name for name, reason in left_out.items() if reason == why)
            print(f"\nLeft out: {names}: {why}")
    if a.json:
        result = {"machine": facts, "isa": a.isa, "threads": a.threads, "rounds": a.rounds}
        result |= {"sample": sampled, "engines": figures, "left_out": left_out}
        a.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
