"""Shapes of published networks. Their files are not needed, because speed depends only on the shape.

`prepare.py` writes each network with made-up weights. Uses only the standard library.
"""

from __future__ import annotations

from typing import Any

# The question that is paired with each text when pairs are measured.
QUESTION = "How long is it kept, and who may change that?"

HIDDEN = 384
MAX_TOKENS = 8192

# The common part of their config.json. The special tokens are those of the default model's tokenizer. Any
# tokenizer works if it has no more tokens than the network has rows for.
MODERN_BERT: dict[str, Any] = {
    "architectures": ["ModernBertModel"],
    "model_type": "modernbert",
    "hidden_size": HIDDEN,
    "hidden_activation": "gelu",
    "max_position_embeddings": MAX_TOKENS,
    "global_attn_every_n_layers": 3,
    "local_attention": 128,
    "norm_eps": 1e-5,
    "norm_bias": False,
    "attention_bias": False,
    "mlp_bias": False,
    "pad_token_id": 0,
    "cls_token_id": 101,
    "bos_token_id": 101,
    "sep_token_id": 102,
    "eos_token_id": 102,
}

# By name: the config.json and the pooling.
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    # hotchpotch/bekko-embedding-v1-a25m: mmBERT-small, pruned to 13 layers. Layers, hidden size and pooling are
    # from its card, and so is the parameter count: 24,930,432 of 123,234,432 are outside the embedding table,
    # exactly as many as here. Heads, windows and rotations are those stated for its smaller sister a8m, pruned
    # from the same network.
    "bekko-a25m": (
        MODERN_BERT
        | {
            "vocab_size": 256_000,
            "num_hidden_layers": 13,
            "num_attention_heads": 6,
            "intermediate_size": 1152,
            "global_rope_theta": 160_000.0,
            "local_rope_theta": 160_000.0,
        },
        "mean",
    ),
    # ibm-granite/granite-embedding-small-english-r2: 47M parameters according to its card, 47,662,464 here.
    # Layers, sizes and heads are from the README of IBM's granite-embedding-models; windows and rotations are from
    # secondary sources.
    "granite-small-r2": (
        MODERN_BERT
        | {
            "vocab_size": 50_368,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "intermediate_size": 1536,
            "global_rope_theta": 80_000.0,
            "local_rope_theta": 10_000.0,
        },
        "cls",
    ),
}
