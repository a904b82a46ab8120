"""A Ray cluster of two nodes indexes a corpus while a worker is killed and a node is lost; then again undisturbed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import ray
from chunkmill_ray import Result, Settings, index
from ray.cluster_utils import Cluster

from common import FILES, PROGRAM, SETTINGS, UNCACHED, expect_same, receipts, run, say, wait


def shards_at_work() -> list[psutil.Process]:
    """Returns the processes of chunkmill that Ray workers have started."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if len(words) > 2 and words[0].endswith("/chunkmill") and words[1] == "run":
            found.append(process)
    return found


def kill_worker() -> None:
    """Kills the Ray worker of a shard. The program that it started must end with it."""
    while not (found := shards_at_work()):
        time.sleep(0.02)
    program = found[0]
    worker = program.parent()
    assert worker is not None and worker.name().startswith("ray::"), worker
    os.kill(worker.pid, signal.SIGKILL)
    wait("the program ends with its worker", lambda: not program.is_running() or program.status() == "zombie", 10)
    say(f"  killed worker {worker.pid}, and with it its chunkmill {program.pid}")


def go(corpus: Path, out: Path, settings: list[str], disturb: bool) -> Result:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    os.environ["RAY_ADDRESS"] = cluster.address

    def trouble() -> None:
        wait("three parts", lambda: receipts(out) >= 3)
        kill_worker()
        wait("eight parts", lambda: receipts(out) >= 8)
        cluster.remove_node(nodes[1], allow_graceful=False)
        say(f"  removed a node after {receipts(out)} of {FILES} parts")

    troubling = threading.Thread(target=trouble)
    if disturb:
        troubling.start()
    try:
        result = index([str(corpus)], str(out), Settings(shards=FILES, ship=str(PROGRAM), progress=False), settings)
    finally:
        ray.shutdown()
        cluster.shutdown()
    if disturb:
        troubling.join()
    return result


def main() -> None:
    corpus, reference, sample, work = map(Path, sys.argv[1:5])
    say("Ray, two nodes of one CPU, a worker killed and a node removed:")
    started = time.monotonic()
    result = go(corpus, work / "ray-disturbed", SETTINGS, disturb=True)
    again = sum(receipt.parts - receipt.parts_made for receipt in result.receipts)
    say(f"  {len(result.receipts)} shards in {time.monotonic() - started:.0f} s; parts reused from lost attempts: {again}")
    expect_same(work / "ray-disturbed", reference)

    say("Ray, undisturbed, a sample without a cache:")
    result = go(sample, work / "ray", UNCACHED, disturb=False)
    run([str(PROGRAM), "index", str(sample), "-o", str(work / "sample"), *UNCACHED])
    expect_same(work / "ray", work / "sample")
    # Both CPUs were available to the shards from the first to the last.
    inside = sum(receipt.seconds for receipt in result.receipts)
    shards, all_of_it = sum(receipt.process_seconds for receipt in result.receipts), 2 * result.seconds["shards"]
    overhead = all_of_it / shards - 1
    say(f"  processes of the shards took {shards:.1f} s ({inside:.1f} s without loading the model) of {all_of_it:.1f} s "
        f"available on two CPUs: overhead {100 * overhead:.1f} %")
    say("  " + ", ".join(f"{step} {seconds:.1f} s" for step, seconds in result.seconds.items()))
    if overhead > 0.05:
        sys.exit("the overhead exceeds 5 %")


if __name__ == "__main__":
    main()
