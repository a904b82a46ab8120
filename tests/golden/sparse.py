#!/usr/bin/env python3
"""Writes sparse.txt: the sparse vectors of sentence-transformers for the made-up sparse models of tests/tiny.rs.

They are computed in 64-bit floats.

Run it by hand, in an environment with torch and sentence-transformers. Last run with sentence-transformers 6.2.0,
transformers 5.24.0 and torch 2.15.0.

    CHUNKMILL_TINY=/tmp/sparse cargo test --release --test suite -- --ignored embed::sparse::writes_the_sparse
    python tests/golden/sparse.py /tmp/sparse > tests/golden/sparse.txt
"""

import json
import sys
from pathlib import Path

from sentence_transformers import SparseEncoder


def written(vector) -> str:
    """A vector as `token:weight`, in the order of the tokens."""
    vector = vector.coalesce()
    pairs = zip(vector.indices()[0].tolist(), vector.values().tolist())
    return " ".join(f"{token}:{weight:.6f}" for token, weight in pairs if weight)


def main(root: Path) -> None:
    question, documents = json.loads((root / "texts.json").read_text())
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        model = SparseEncoder(str(folder), device="cpu").double()
        print(folder.name)
        # One at a time, so no padding takes part.
        for document in documents:
            print("  document", written(model.encode_document([document])[0]))
        print("  question", written(model.encode_query([question])[0]))


main(Path(sys.argv[1]))
