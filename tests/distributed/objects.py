"""A corpus and a dataset in an object store that fails: the bytes must be those of one process on a folder.

A reader verifies the dataset all the time.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3

from common import PROGRAM, expect_same, run, say, wait
from object_server import Faults, faulty, object_server

FILES = 8
"""Number of files per table: few, so the files of chunks are large enough for multipart uploads."""

BUCKET = "chunkmill"

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


class Bucket:
    """The contents of the bucket, without going through the faulty proxy."""

    def __init__(self, url: str) -> None:
        names = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
        self.client: Any = boto3.client("s3", endpoint_url=url, **names)
        self.client.create_bucket(Bucket=BUCKET)

    def objects(self, prefix: str) -> list[dict[str, Any]]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
        return [found for page in pages for found in page.get("Contents", [])]

    def upload(self, folder: Path, prefix: str) -> None:
        """Uploads every file of a folder, and sets its time to that of the object: times are part of a dataset."""
        def send(path: Path) -> None:
            self.client.put_object(Bucket=BUCKET, Key=f"{prefix}/{path.relative_to(folder)}", Body=path.read_bytes())

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(send, sorted(path for path in folder.rglob("*") if path.is_file())))
        for found in self.objects(prefix):
            seconds = found["LastModified"].timestamp()
            os.utime(folder / found["Key"].removeprefix(f"{prefix}/"), (seconds, seconds))

    def download(self, prefix: str, folder: Path) -> None:
        for found in self.objects(prefix):
            path = folder / found["Key"].removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.client.get_object(Bucket=BUCKET, Key=found["Key"])["Body"].read())

    def receipts(self, prefix: str) -> int:
        return sum("/.staging/part-" in found["Key"] for found in self.objects(prefix))


class Reader(threading.Thread):
    """Verifies a dataset repeatedly until told to end. The dataset must be intact each time."""

    def __init__(self, dataset: str, environment: dict[str, str]) -> None:
        super().__init__()
        self.dataset, self.environment = dataset, environment
        self.done = threading.Event()
        self.seen: Counter[int] = Counter()
        self.problem = ""

    def run(self) -> None:
        while not self.done.is_set() and not self.problem:
            command = [str(PROGRAM), "verify", self.dataset, "--json"]
            verified = subprocess.run(command, env=self.environment, capture_output=True, text=True)
            if verified.returncode != 0:
                self.problem = verified.stdout + verified.stderr
                return
            self.seen[json.loads(verified.stdout)["rows"]] += 1

    def end(self) -> str:
        self.done.set()
        self.join()
        if self.problem:
            sys.exit(f"a reader saw a damaged dataset: {self.problem}")
        return ", ".join(f"{times} times a dataset of {rows} rows" for rows, times in sorted(self.seen.items()))


def main() -> None:
    corpus, _, _, datasets = map(Path, sys.argv[1:])
    work = datasets / "objects"
    docs, earlier = work / "docs", work / "earlier"
    settings = ["--files", str(FILES), "--embedding-cache", str(datasets.parent / "cache"), "--progress", "never"]
    shutil.copytree(corpus, docs)
    files = sorted(path for path in docs.rglob("*.md") if path.is_file())
    for path in files[::8]:
        to = earlier / path.relative_to(docs)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
    faults = Faults()
    with object_server(work / "server.log") as clean, faulty(clean, faults) as endpoint:
        bucket = Bucket(clean)
        for folder, prefix in ((docs, "docs"), (earlier, "earlier")):
            bucket.upload(folder, prefix)
        corpus_url, earlier_url, out = (f"s3://{BUCKET}/{name}" for name in ("docs", "earlier", "deep/out"))
        base = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | CREDENTIALS
        environment = base | {"AWS_ENDPOINT_URL": endpoint}
        reference = work / "reference"
        run([str(PROGRAM), "index", str(docs), "-o", str(reference), *settings])

        def chunkmill(*arguments: str) -> str:
            return run([str(PROGRAM), *arguments], env=environment)

        say("Object store that fails, with corpus and dataset in it:")
        printed = chunkmill("index", earlier_url, "-o", out, *settings)
        say(f"  an eighth of the corpus first: {printed.splitlines()[0]}")
        reader = Reader(out, base | {"AWS_ENDPOINT_URL": clean})
        reader.start()
        started = time.monotonic()
        command = [str(PROGRAM), "index", corpus_url, "-o", out, *settings]
        first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait("two parts", lambda: bucket.receipts("deep/out") >= 2 or first.poll() is not None)
        first.send_signal(signal.SIGKILL)
        if first.wait() == 0:
            sys.exit("the job was killed too late: it had already finished")
        finished = bucket.receipts("deep/out")
        printed = chunkmill("index", corpus_url, "-o", out, *settings)
        say(f"  killed after {finished} of {FILES} parts, then repeated to the end: {printed.splitlines()[0]}")
        say(f"  both together {time.monotonic() - started:.0f} s")
        say(f"  {chunkmill('verify', out, '--corpus', corpus_url, '--threads', '16').splitlines()[-1]}")
        found = chunkmill("search", out, "how to format a date", "--mode", "keyword", "--json")
        if found != run([str(PROGRAM), "search", str(reference), "how to format a date", "--mode", "keyword", "--json"]):
            sys.exit("a search in the object store finds something different from the same search in the folder")
        say(f"  meanwhile a reader saw {reader.end()}")
        if len(reader.seen) < 2:
            sys.exit("the reader did not see both snapshots")
        kept = json.loads(chunkmill("gc", out, "--json"))
        removed = json.loads(chunkmill("gc", out, "--older-than", "0", "--json"))
        if kept["removed"] or not kept["kept"] or removed["kept"] or removed["removed_bytes"] != kept["kept_bytes"]:
            sys.exit(f"gc: {kept} {removed}")
        say(f"  gc keeps {len(kept['kept'])} files of old snapshots while they may be read, and removes them on request")
        copy = work / "copy"
        bucket.download("deep/out", copy)
        expect_same(copy, reference)
        parts = sum(path.stat().st_size > 8 << 20 for path in reference.rglob("*") if path.is_file())
        counts = ", ".join(f"{name} {count}" for name, count in sorted(faults.counts.items()))
        say(f"  {parts} files were sent in parts; {faults.counts.total()} requests: {counts}")


if __name__ == "__main__":
    main()
