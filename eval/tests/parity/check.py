"""Evaluates the runs in a JSON file with pytrec_eval and ranx, and prints the results as one JSON object.

For ranx, it also prints the order into which ranx sorted each run, because ranx does not define the order of ties.
"""

import json
import os
import sys
from unittest.mock import MagicMock

# Compiling ranx takes longer than running it without compilation; the code is the same.
os.environ["NUMBA_DISABLE_JIT"] = "1"

import numba.typed  # noqa: F401  looks for the real scipy, so it comes first

# ranx imports these 400 MB for plots, tables, statistics and downloads. No metric uses them.
for name in (
    "cbor2 ir_datasets lz4 lz4.frame matplotlib matplotlib.pyplot orjson pandas requests rich "
    "rich.console rich.progress rich.table scipy scipy.stats seaborn tabulate yaml"
).split():
    sys.modules[name] = MagicMock()

import pytrec_eval
import ranx

with open(sys.argv[1], encoding="utf-8") as file:
    data = json.load(file)
qrels, runs, cutoffs = data["qrels"], data["runs"], data["cutoffs"]

TREC = {"ndcg_cut": "ndcg", "map_cut": "map", "recall": "recall", "P": "precision", "success": "hit"}
evaluator = pytrec_eval.RelevanceEvaluator(
    qrels,
    {f"{name}.{','.join(map(str, cutoffs))}" for name in TREC} | {"recip_rank", "map", "ndcg", "num_ret"},
)
trec = {}
for query, values in evaluator.evaluate(runs).items():
    ours = {f"{TREC[name]}@{k}": values[f"{name}_{k}"] for name in TREC for k in cutoffs}
    ours |= {"mrr@all": values["recip_rank"], "map@all": values["map"], "ndcg@all": values["ndcg"]}
    trec[query] = ours

RANX = {
    "ndcg": "ndcg",
    "ndcg_burges": "ndcg_exponential",
    "map": "map",
    "recall": "recall",
    "precision": "precision",
    "mrr": "mrr",
    "hit_rate": "hit",
}
ranked = ranx.Run(runs)
judged = ranx.Qrels(qrels)
metrics = [f"{name}@{k}" for name in RANX for k in cutoffs]
ranx.evaluate(judged, ranked, metrics, make_comparable=True)
by_query = {}
for query in ranked.keys():
    values = {}
    for metric in metrics:
        name, k = metric.split("@")
        values[f"{RANX[name]}@{k}"] = float(ranked.scores[metric][query])
    by_query[query] = {"order": [str(doc) for doc in ranked.run[query]], "values": values}

json.dump({"trec": trec, "ranx": by_query}, sys.stdout)
