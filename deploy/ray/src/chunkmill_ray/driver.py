"""Plan, shards, commit: one Ray task for each shard."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from tqdm import tqdm

import chunkmill_ray
from chunkmill_ray.program import QUARANTINED, SHIPPED, Failed, Refused, call, find

__all__ = ["Failed", "Receipt", "Refused", "Result", "Settings", "index"]


@dataclass(frozen=True)
class Settings:
    """How the work is shared out and carried out."""

    shards: int
    """How many tasks there are. More than there are places to run them even out what each takes, and lose less with a
    node; there can be no more than the dataset has files (`--files`, 8 unless it is said)."""
    num_cpus: float = 1
    """Processors that a task reserves, and threads that it works with."""
    num_gpus: float = 0
    """GPUs that a task reserves. Ray hides the others from it, so that `--device cuda:0` is its own."""
    retries: int = 3
    """How often a shard is tried again whose worker or node was lost, or whose program failed."""
    concurrency: int | None = None
    """Most tasks at once; as many as the cluster has room for if it is None."""
    program: str | None = None
    """Name or path of chunkmill on every node. If it is None, the one that was shipped, or the one on the PATH."""
    ship: str | None = None
    """Path of a chunkmill here that Ray brings to every node."""
    run_arguments: tuple[str, ...] = ()
    """More arguments of `chunkmill run`, like `--device cuda:0`."""
    progress: bool = True
    """Whether a progress bar is shown."""
    runtime_env: dict[str, Any] = field(default_factory=dict)
    """More of Ray's runtime environment, like environment variables with credentials."""


@dataclass(frozen=True)
class Receipt:
    """What `chunkmill run` says of a shard that is done."""

    plan: str
    shard: int
    shards: int
    parts: int
    parts_made: int
    documents: int
    chunks: int
    texts_embedded: int
    committed: bool
    seconds: float
    """Time that the attempt took in the program."""
    node: str = ""
    """Ray's id of the node that it ran on."""
    process_seconds: float = 0.0
    """The same with the start of the program, when it loads the model."""


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    receipts: list[Receipt]
    """Of each shard, in order."""
    summary: dict[str, Any]
    """What `chunkmill commit --json` said."""
    quarantined: bool
    """Whether documents are in quarantine."""
    seconds: dict[str, float]
    """Time that each step took: plan, connect, shards, commit."""


def index(corpus: Sequence[str], output: str, settings: Settings, arguments: Sequence[str] = ()) -> Result:
    """Indexes a corpus as `chunkmill index CORPUS... -o OUTPUT ARGUMENTS...` does, on a Ray cluster.

    Corpus and output are read and written by the workers under the names given here: a file system that all nodes
    share. Connects to the cluster that `RAY_ADDRESS` names, or starts one here, unless that was done before.

    Raises Refused where trying again is of no use, Failed where a shard failed more often than it may, and Ray's own
    errors where nodes were lost more often than that.
    """
    if settings.ship is not None and settings.program is not None:
        raise Refused("a program is either shipped or named, not both")
    program = find(settings.ship or settings.program)
    corpus, output = [_absolute_root(root) for root in corpus], _absolute(output)
    with tempfile.TemporaryDirectory(prefix="chunkmill-") as folder:
        started = time.monotonic()
        _, plan = call([program, "plan", *corpus, "-o", output, "--shards", str(settings.shards), *arguments])
        planned = time.monotonic()
        _connect(settings, Path(folder))
        connected = time.monotonic()
        receipts = _run(plan, output, settings)
        made = time.monotonic()
        file = Path(folder) / "plan.json"
        file.write_text(plan, encoding="utf-8")
        code, summary = call([program, "commit", "--plan", str(file), "-o", output, "--json"])
        committed = time.monotonic()
    steps = {"plan": (started, planned), "connect": (planned, connected), "shards": (connected, made), "commit": (made, committed)}
    seconds = {step: after - before for step, (before, after) in steps.items()}
    return Result(receipts, json.loads(summary), code == QUARANTINED, seconds)


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def _absolute_root(root: str) -> str:
    """Of `PATH` or `NAME=PATH`."""
    name, equals, path = root.partition("=")
    if equals and not os.path.exists(root):
        return f"{name}={_absolute(path)}"
    return _absolute(root)


def _connect(settings: Settings, folder: Path) -> None:
    """Connects to a cluster whose workers know this package, and the program if it is shipped."""
    if ray.is_initialized():
        if settings.ship is not None:
            raise Refused("Ray brings a program to its workers only if this package makes the connection")
        return
    # Workers need not have this package installed.
    environment: dict[str, Any] = {"py_modules": [chunkmill_ray], **settings.runtime_env}
    if settings.ship is not None:
        shipped = folder / "ship"
        shipped.mkdir()
        shutil.copy(settings.ship, shipped / SHIPPED)
        environment["working_dir"] = str(shipped)
    ray.init(runtime_env=environment, logging_level=logging.WARNING)


def _run(plan: str, output: str, settings: Settings) -> list[Receipt]:
    """Runs every shard once to its end, a limited number of them at a time."""
    sizes = [0] * settings.shards
    for part in json.loads(plan)["parts"]:
        if part["shard"] is not None:
            sizes[part["shard"] - 1] += part["bytes"]
    task = ray.remote(_shard).options(
        num_cpus=settings.num_cpus,
        num_gpus=settings.num_gpus,
        max_retries=settings.retries,
        retry_exceptions=[Failed],
    )
    carried = ray.put(plan)
    arguments = ["--threads", str(max(1, int(settings.num_cpus))), *settings.run_arguments]
    waiting = list(range(settings.shards, 0, -1))
    running: dict[ray.ObjectRef[Receipt], int] = {}
    receipts: list[Receipt] = []
    bar = tqdm(total=sum(sizes), unit="B", unit_scale=True, desc="shards", disable=not settings.progress)
    try:
        while waiting or running:
            while waiting and (settings.concurrency is None or len(running) < settings.concurrency):
                shard = waiting.pop()
                reference = task.remote(carried, output, shard, settings.shards, settings.program, arguments)
                running[reference] = shard
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                shard = running.pop(reference)
                receipts.append(ray.get(reference))
                bar.update(sizes[shard - 1])
                bar.set_postfix_str(f"{len(receipts)}/{settings.shards}, {sum(r.chunks for r in receipts)} chunks")
    except BaseException:
        for reference in running:
            ray.cancel(reference, force=True)
        raise
    finally:
        bar.close()
    return sorted(receipts, key=lambda receipt: receipt.shard)


def _shard(plan: str, output: str, shard: int, shards: int, program: str | None, arguments: Sequence[str]) -> Receipt:
    """The task: one attempt at a shard."""
    with tempfile.TemporaryDirectory(prefix="chunkmill-") as folder:
        file = Path(folder) / "plan.json"
        file.write_text(plan, encoding="utf-8")
        started = time.monotonic()
        shard_arguments = ["--plan", str(file), "--shard", f"{shard}/{shards}", "-o", output]
        _, printed = call([find(program), "run", *shard_arguments, "--progress", "never", *arguments])
        seconds = time.monotonic() - started
    receipt = json.loads(printed)
    known = {name: receipt[name] for name in Receipt.__dataclass_fields__ if name in receipt}
    return Receipt(**known, node=ray.get_runtime_context().get_node_id(), process_seconds=seconds)
