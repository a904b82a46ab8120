"""The command `chunkmill-ray`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

import ray

from chunkmill_ray.driver import Settings, index
from chunkmill_ray.program import DONE, QUARANTINED, USAGE, Failed, Refused

FAILED, INTERRUPTED = 5, 130


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chunkmill-ray",
        description="Indexes a corpus on a Ray cluster: one task for each shard, one commit.",
        epilog="Arguments after `--` are settings of `chunkmill index`, for example --preset, --model and --files.",
    )
    parser.add_argument("corpus", nargs="+", metavar="PATH", help="folders or files, PATH or NAME=PATH, on a file system that all nodes share")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="folder of the dataset, also shared by all nodes")
    parser.add_argument("--shards", type=int, required=True, metavar="N", help="number of tasks")
    parser.add_argument("--num-cpus", type=float, default=1, metavar="N", help="CPUs and threads per task [default: 1]")
    parser.add_argument("--num-gpus", type=float, default=0, metavar="N", help="GPUs per task [default: 0]")
    parser.add_argument("--retries", type=int, default=3, metavar="N", help="how often a shard is retried [default: 3]")
    parser.add_argument("--concurrency", type=int, metavar="N", help="most tasks at a time [default: as many as fit]")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--program", metavar="PATH", help="chunkmill on every node [default: chunkmill on the PATH]")
    where.add_argument("--ship", metavar="PATH", help="a local chunkmill that Ray copies to every node")
    parser.add_argument("--device", metavar="DEVICE", help="where the model runs: cpu, cuda:0 [default: the plan's]")
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    parser.add_argument("--json", action="store_true", help="print receipts and summary as one JSON object")
    return parser


def main() -> None:
    # The settings of chunkmill look like our flags, so they are separated first.
    own, rest = _split(sys.argv[1:])
    args = parser().parse_args(own)
    settings = Settings(
        shards=args.shards,
        num_cpus=args.num_cpus,
        num_gpus=args.num_gpus,
        retries=args.retries,
        concurrency=args.concurrency,
        program=args.program,
        ship=args.ship,
        run_arguments=() if args.device is None else ("--device", args.device),
        progress=not args.quiet,
    )
    try:
        result = index(args.corpus, args.output, settings, rest)
    except Refused as error:
        sys.exit(_say(error, USAGE))
    except (Failed, ConnectionError, ray.exceptions.RayError) as error:
        sys.exit(_say(error, FAILED))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    if args.json:
        print(json.dumps(asdict(result)))
    else:
        counts, seconds = result.summary, result.seconds
        print(f"documents indexed: {counts['documents']} of {counts['discovered']}; chunks: {counts['chunks']}")
        print(f"  shards     {len(result.receipts)}; nodes: {len({receipt.node for receipt in result.receipts})}")
        print("  time       " + ", ".join(f"{step} {taken:.1f} s" for step, taken in seconds.items()))
    sys.exit(QUARANTINED if result.quarantined else DONE)


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits arguments at `--`."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def _say(error: Exception, code: int) -> int:
    # Ray wraps the exception of a task in its own error.
    reason = getattr(error, "cause", None) or error
    print(f"chunkmill-ray: {reason}", file=sys.stderr)
    return USAGE if isinstance(reason, Refused) else code


if __name__ == "__main__":
    main()
