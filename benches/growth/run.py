"""`make growth`: measures the cost of a commit to a dataset with very many files.

    python3 benches/growth/run.py [--parts 25000] [--rows 40000] [--documents 0 40] [--work DIR]

The plan is real; the output of its shards is simulated: a receipt for each part, its files of chunks and documents
(sparse files of the right size, because a commit only checks sizes), and its outlines (real ones, with ten anchors
and five links per document). Then `chunkmill commit` publishes them: it reads every receipt, resolves every link,
writes a file of edges for each part, and the manifest. The report shows its time and peak memory, and those of
readers that open the dataset afterwards. The disk needs about 16 KB of space per part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", PROJECT / "target")).resolve() / "release" / "chunkmill"

CHUNK_BYTES = 600
"""Bytes per row of `chunks` in a file, with vector. The powershell corpus with 64 dimensions takes three times that."""


def chunkmill(*arguments: str, out: Path | None = None) -> tuple[float, float]:
    """Runs the program. Returns its time in seconds and its peak memory in MB."""
    started = time.monotonic()
    process = subprocess.Popen([str(PROGRAM), *arguments], stdout=out.open("w") if out else subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"chunkmill {' '.join(arguments)}: status {status}")
    return time.monotonic() - started, usage.ru_maxrss / 1024


def outlines(part: int, parts: int, documents: int) -> bytes:
    """Returns the outlines of a part: documents with links to each other, to other parts, and to missing files."""
    lines = []
    for number in range(documents):
        name = f"part-{part:05}/document-{number:03}.md"
        links = [f"document-{(number + step) % documents:03}.md#section-{step}" for step in (1, 2)]
        links += [f"../part-{(part + step) % parts:05}/document-{number:03}.md" for step in (1, 7)] + ["gone.md"]
        line: dict[str, Any] = {
            "doc_id": name,
            "path": name,
            "aliases": [],
            "chunks": [f"{name}#{chunk}" for chunk in range(10)],
            # Anchors are stored as hashes; their values do not matter here.
            "anchors": [[int.from_bytes(hashlib.blake2b(f"{name}{at}".encode(), digest_size=8).digest()), at] for at in range(10)],
            "links": [{"chunk": at, "kind": "link", "named": False, "target": target} for at, target in enumerate(links)],
        }
        lines.append(json.dumps({"document": line}) + "\n")
    compressed = subprocess.run(["zstd", "-3", "-c"], input="".join(lines).encode(), capture_output=True, check=True)
    return compressed.stdout


def lay_out(out: Path, plan: dict[str, Any], rows: int, documents: int) -> None:
    """Writes the files that the shards of the plan would write."""
    attempt = out / f".shards-{plan['id']}" / "simulated"
    for folder in ("data/chunks", "data/documents", "data/edges", "state/outlines"):
        (attempt / folder).mkdir(parents=True)
    parts = plan["parts"]
    empty = outlines(0, 1, 0)
    for index, part in enumerate(parts):
        lines = outlines(index, len(parts), documents) if documents else empty
        files = []
        for table, folder, suffix, count, size in (
            ("chunks", "data", "parquet", rows, rows * CHUNK_BYTES),
            ("documents", "data", "parquet", rows // 16, rows * 10),
            ("outlines", "state", "jsonl.zst", documents, len(lines)),
        ):
            digest = hashlib.blake2b(f"{table} {index}".encode(), digest_size=32).hexdigest()
            path = f"{folder}/{table}/train-{index:05}-of-{len(parts):05}-{digest[:16]}.{suffix}"
            with (attempt / path).open("wb") as file:
                file.write(lines) if table == "outlines" else file.truncate(size)
            files.append({"table": table, "path": path, "rows": count, "bytes": size, "blake3": digest})
        counts = {name: 0 for name in ("quarantined", "truncated", "edges", "unresolved_edges")}
        counts |= {"discovered": rows // 16, "documents": rows // 16, "chunks": rows}
        counts |= {"bytes": rows * 700, "tokens": rows * 150, "model_tokens": rows * 180}
        inputs = {name: part[name] for name in ("inputs", "promotions") if name in part}
        receipt = {"index": index, "record": {**inputs, "counts": counts}, "files": files}
        (attempt / f"part-{index:05}.json").write_text(json.dumps(receipt))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=25_000, help="parts, with four files each [default: 25000]")
    parser.add_argument("--rows", type=int, default=40_000, help="chunks per part [default: 40000]")
    parser.add_argument("--documents", type=int, nargs="*", default=[0, 40], help="documents with outlines per part")
    parser.add_argument("--work", type=Path, help="working folder [default: a temporary folder]")
    options = parser.parse_args()
    print(f"| parts | files | chunks | documents with links | step | seconds | peak MB |\n| {'--- | ' * 7}")
    for documents in options.documents:
        with tempfile.TemporaryDirectory(dir=options.work) as home:
            work = Path(home)
            (work / "docs").mkdir()
            (work / "docs" / "a.md").write_text("# A\n\nOne document, so that there is a plan.\n")
            settings = ["--embedder", "fake", "--files", str(options.parts), "--shards", "8"]
            out = work / "out"
            plan = chunkmill("plan", str(work / "docs"), "-o", str(out), *settings, out=work / "plan.json")
            lay_out(out, json.loads((work / "plan.json").read_text()), options.rows, documents)
            commit = chunkmill("commit", "--plan", str(work / "plan.json"), "-o", str(out), "--json")
            again = chunkmill("commit", "--plan", str(work / "plan.json"), "-o", str(out), "--json")
            stats = chunkmill("stats", str(out))
            manifest = (out / "manifest.json").stat().st_size / 1e6
            chunks, linked = options.parts * options.rows, options.parts * documents
            steps = {"plan": plan, "commit": commit, "the same commit again": again, f"stats (manifest {manifest:.1f} MB)": stats}
            for step, (seconds, memory) in steps.items():
                row = (options.parts, 4 * options.parts, chunks, linked, step, f"{seconds:.1f}", f"{memory:.0f}")
                print("| " + " | ".join(map(str, row)) + " |", flush=True)
            shutil.rmtree(out)


if __name__ == "__main__":
    main()
