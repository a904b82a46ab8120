#!/usr/bin/env python3
"""Prints the vectors of transformers for the made-up models of tests/tiny.rs.

They are computed in 64-bit floats, for `golden` in tests/embed/networks.rs.

Run it by hand, in an environment with torch, transformers, tokenizers and safetensors. Last run with transformers
5.23.0 and torch 2.15.0.

    CHUNKMILL_TINY=/tmp/tiny cargo test --release --test suite -- --ignored embed::networks::writes_the_models_of_the_golden_vectors
    python tests/golden/families.py /tmp/tiny

Jina's networks are not in transformers, and its NomicBERT expects different tensor names from those in the
published files. The values for these come from PyTorch programs that were written from the descriptions of the
networks.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel


def main(root: Path) -> None:
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if folder.name.startswith(("jina", "nomic_bert")):
            continue
        config = AutoConfig.from_pretrained(folder)
        config._attn_implementation = "eager"
        model = AutoModel.from_config(config).double().eval()
        weights = {name: tensor.double() for name, tensor in load_file(folder / "model.safetensors").items()}
        found = model.load_state_dict(weights, strict=False)
        missing = [name for name in found.missing_keys if "pooler" not in name and "position_ids" not in name]
        unexpected = [name for name in found.unexpected_keys if "pooler" not in name]
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        for text in json.loads((folder / "texts.json").read_text()):
            encoding = tokenizer.encode(text)
            ids = torch.tensor([encoding.ids])
            with torch.no_grad():
                states = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
            vector = torch.nn.functional.normalize(states.mean(0), dim=0)
            values = [round(float(value), 7) for value in vector[:6]]
            print(folder.name, len(encoding.ids), values, *(["missing", missing] if missing else []), *(["unread", unexpected] if unexpected else []))


main(Path(sys.argv[1]))
