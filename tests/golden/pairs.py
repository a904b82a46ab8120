#!/usr/bin/env python3
"""Prints the scores of sentence-transformers for the made-up rerankers of tests/tiny.rs.

They are computed in 64-bit floats, for `golden` in tests/embed/rerank.rs.

Run it by hand, in an environment with torch and sentence-transformers. Last run with sentence-transformers 6.2.0,
transformers 5.23.0 and torch 2.15.0.

    CHUNKMILL_TINY=/tmp/pairs cargo test --release --test suite -- --ignored embed::rerank::writes_the_rerankers
    python tests/golden/pairs.py /tmp/pairs
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedTokenizerFast


def main(root: Path) -> None:
    question, passages = json.loads((root / "pairs.json").read_text())
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        config = AutoConfig.from_pretrained(folder)
        config._attn_implementation = "eager"
        model = AutoModelForSequenceClassification.from_pretrained(folder, config=config).double().eval()
        inner = Tokenizer.from_file(str(folder / "tokenizer.json"))
        inner.no_padding()
        inner.no_truncation()
        limit = json.loads((folder / "tokenizer_config.json").read_text())["model_max_length"]
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=limit)
        scores = []
        for passage in passages:
            names = ["input_ids", "attention_mask"]
            if config.model_type == "bert":
                names.append("token_type_ids")
            # The arguments that `CrossEncoder` uses.
            inputs = tokenizer([question], [passage], truncation=True, return_tensors="pt", return_token_type_ids=True)
            with torch.no_grad():
                logits = model(**{name: inputs[name] for name in names}).logits
            scores.append(round(float(torch.sigmoid(logits[0, 0])), 7))
        print(folder.name, scores)


main(Path(sys.argv[1]))
