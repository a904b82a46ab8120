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
    """How the work is divided and run."""

    shards: int
    """Number of tasks. More tasks than can run at once balance the load better, and less work is lost with a node.
    There can be no more shards than the dataset has files per table (`--files`, 8 by default)."""
    num_cpus: float = 1
    """Number of CPUs that a task reserves, and of threads that it uses."""
    num_gpus: float = 0
    """Number of GPUs that a task reserves. Ray hides the others from it, so `--device cuda:0` is always its own."""
    retries: int = 3
    """How often a shard is retried if its worker or node is lost, or its program fails."""
    concurrency: int | None = None
    """Largest number of tasks at a time. None allows as many as fit in the cluster."""
    program: str | None = None
    """Name or path of chunkmill on every node. None uses the shipped program, or else the one on the PATH."""
    ship: str | None = None
    """Path of a local chunkmill that Ray copies to every node."""
    run_arguments: tuple[str, ...] = ()
    """Additional arguments of `chunkmill run`, for example `--device cuda:0`."""
    progress: bool = True
    """Whether to show a progress bar."""
    runtime_env: dict[str, Any] = field(default_factory=dict)
    """Additions to Ray's runtime environment, for example environment variables with credentials."""


@dataclass(frozen=True)
class Receipt:
    """The output of `chunkmill run` for a finished shard."""

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
    """Time of the attempt, as measured by the program."""
    node: str = ""
    """Ray's id of the node that ran it."""
    process_seconds: float = 0.0
    """Time of the whole process, including start-up, when the model is loaded."""


@dataclass(frozen=True)
class Result:
    """The result of a run."""

    receipts: list[Receipt]
    """The receipts of all shards, in order."""
    summary: dict[str, Any]
    """The output of `chunkmill commit --json`."""
    quarantined: bool
    """Whether any documents are quarantined."""
    seconds: dict[str, float]
    """Time of each step: plan, connect, shards, commit."""


def index(corpus: Sequence[str], output: str, settings: Settings, arguments: Sequence[str] = ()) -> Result:
    """Indexes a corpus on a Ray cluster, like `chunkmill index CORPUS... -o OUTPUT ARGUMENTS...`.

    The workers read the corpus and write the output under the paths given here, on a file system that all nodes share.
    Unless Ray is already initialized, connects to the cluster named by `RAY_ADDRESS`, or starts a local one.

    Raises Refused if a retry cannot help, Failed if a shard failed more often than `retries` allows, and Ray's own
    errors if nodes were lost more often than that.
    """
    if settings.ship is not None and settings.program is not None:
        raise Refused("`program` and `ship` cannot both be set: set one of them")
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
    """Makes the path in `PATH` or `NAME=PATH` absolute."""
    name, equals, path = root.partition("=")
    if equals and not os.path.exists(root):
        return f"{name}={_absolute(path)}"
    return _absolute(root)


def _connect(settings: Settings, folder: Path) -> None:
    """Connects to a cluster, and gives its workers this package and the shipped program, if there is one."""
    if ray.is_initialized():
        if settings.ship is not None:
            raise Refused("cannot ship a program: Ray is already initialized; let this package initialize it")
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
    """Runs every shard to completion, at most `concurrency` of them at a time."""
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
    """Runs one attempt at a shard. This is the Ray task."""
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
