"""Tests the scripts for GNU parallel, Slurm and Kubernetes.

Each script is run for real if this machine can run it, and interrupted once.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import FILES, PROGRAM, PROJECT, SETTINGS, expect_same, receipts, run, say, wait

ENVIRONMENT = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}


def parallel(corpus: Path, reference: Path, out: Path) -> None:
    say("GNU parallel, two jobs, killed midway and repeated:")
    command = [str(PROJECT / "deploy/parallel/index.sh"), str(FILES), "2", str(out), str(corpus), *SETTINGS]
    first = subprocess.Popen(
        command, env=ENVIRONMENT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait("eight parts", lambda: receipts(out) >= 8)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    finished = receipts(out)
    if (out / "manifest.json").exists():
        sys.exit("the job was killed too late: it had already finished")
    run(command, env=ENVIRONMENT)
    say(f"  killed after {finished} of {FILES} parts, then repeated to the end")
    expect_same(out, reference)


@contextmanager
def slurm_cluster(work: Path) -> Iterator[dict[str, str]]:
    """Runs Slurm with this machine as its only node, for the duration of the context.

    Yields the environment variables for its commands.
    """
    host = socket.gethostname().split(".")[0]
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        ports = one.getsockname()[1], two.getsockname()[1]
    for folder in ("state", "spool"):
        (work / folder).mkdir(parents=True)
    configuration = work / "slurm.conf"
    configuration.write_text(
        f"""ClusterName=chunkmill
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={work}/munge.socket
SlurmUser=root
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool
SlurmctldPidFile={work}/slurmctld.pid
SlurmdPidFile={work}/slurmd.pid
SlurmctldLogFile={work}/slurmctld.log
SlurmdLogFile={work}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=5,batch_sched_delay=1
SlurmdParameters=config_overrides
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
    )
    key = work / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    environment = {**ENVIRONMENT, "SLURM_CONF": str(configuration)}
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={work}/munge.socket"]
    munge += [f"--pid-file={work}/munge.pid", f"--log-file={work}/munge.log", f"--seed-file={work}/munge.seed"]
    daemons = []
    try:
        with open(work / "daemons.log", "wb") as log:
            for command in (munge, ["slurmctld", "-D", "-i"], ["slurmd", "-D"]):
                daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
                if command is munge:
                    wait("munge", (work / "munge.socket").exists, 20)
        wait("Slurm's node", lambda: "idle" in subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True).stdout, 60)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait()


def slurm(corpus: Path, reference: Path, out: Path) -> None:
    say("Slurm, one node of two CPUs, cancelled midway and repeated:")
    with slurm_cluster(out.parent / "slurm-daemons") as environment:
        version = run(["sinfo", "--version"], env=environment).strip()
        command = [str(PROJECT / "deploy/slurm/index.sh"), str(FILES), "2", str(out), str(corpus), *SETTINGS]
        jobs = dict(line.split() for line in run(command, env=environment).splitlines())
        wait("eight parts", lambda: receipts(out) >= 8)
        run(["scancel", jobs["shards"]], env=environment)
        queue = ["squeue", "-h", "-o", "%i"]
        wait("the queue to be empty", lambda: run(queue, env=environment).strip() == "", 120)
        finished = receipts(out)
        if (out / "manifest.json").exists():
            sys.exit("the job was cancelled too late: it had already finished")
        jobs = dict(line.split() for line in run(command, env=environment).splitlines())
        wait("the queue to be empty", lambda: run(queue, env=environment).strip() == "")
        say(f"  {version}; cancelled after {finished} of {FILES} parts, then repeated to the end")
    expect_same(out, reference)


def kubernetes(work: Path) -> None:
    """Checks the manifest against the schema of its version, and runs its containers' commands without a cluster."""
    import kubernetes_validate
    import yaml

    version = "1.31"
    documents = list(yaml.safe_load_all((PROJECT / "deploy/kubernetes/index.yaml").read_text()))
    for document in documents:
        kubernetes_validate.validate(document, version, strict=True)
    data = work / "kubernetes"
    shutil.copytree(PROJECT / "datasets/larder/corpus", data / "docs")

    def start(job: dict[str, Any], **environment: str) -> subprocess.Popen[bytes]:
        container = job["spec"]["template"]["spec"]["containers"][0]
        command = [*container["command"], *(argument.replace("/data/", f"{data}/") for argument in container["args"])]
        return subprocess.Popen(command, env={**ENVIRONMENT, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def end(process: subprocess.Popen[bytes]) -> None:
        _, errors = process.communicate()
        if process.returncode != 0:
            sys.exit(f"{process.args!r}: exit code {process.returncode}\n{errors.decode()}")

    plan, shards, commit = (document for document in documents if document["kind"] == "Job")
    end(start(plan))
    for index in range(shards["spec"]["completions"]):
        end(start(shards, JOB_COMPLETION_INDEX=str(index)))
    end(start(commit))
    run([str(PROGRAM), "index", str(data / "docs"), "-o", str(data / "single"), "--files", "16"])
    say(f"Kubernetes: the manifest is valid for {version}; its commands were run here, without a cluster:")
    expect_same(data / "out", data / "single")


def main() -> None:
    corpus, reference, _, work = map(Path, sys.argv[1:5])
    for tool, package in (("parallel", "parallel"), ("slurmctld", "slurm-wlm"), ("munged", "munge")):
        if shutil.which(tool, path=f"{ENVIRONMENT['PATH']}:/usr/sbin") is None:
            sys.exit(f"{tool} is missing: apt-get install {package}")
    parallel(corpus, reference, work / "parallel")
    slurm(corpus, reference, work / "slurm")
    kubernetes(work)


if __name__ == "__main__":
    main()
