"""Runs the shards of a chunkmill plan on a Ray cluster and commits them as one snapshot.

Ray only transports the plan and the receipts. The chunkmill program on each worker reads the documents and writes the
dataset. A task that Ray repeats, or loses with its node, does no harm: each attempt works in its own folder, and the
commit takes each part from one attempt.
"""

from chunkmill_ray.driver import Failed, Receipt, Refused, Result, Settings, index

__all__ = ["Failed", "Receipt", "Refused", "Result", "Settings", "index"]
