"""Runs the shards of a chunkmill plan on a Ray cluster and commits them as one snapshot.

Ray carries the plan to its workers and their receipts back, nothing else: documents are read, and the dataset is
written, by the chunkmill program on each worker. So a task that Ray runs twice, or loses with its node, harms nothing:
every attempt works in a place of its own, and the commit takes each part from one of them.
"""

from chunkmill_ray.driver import Failed, Receipt, Refused, Result, Settings, index

__all__ = ["Failed", "Receipt", "Refused", "Result", "Settings", "index"]
