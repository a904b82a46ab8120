"""Published networks whose files this machine need not have: speed depends on their shape alone.

`prepare.py` writes each with made-up weights. Standard library only.
"""

from __future__ import annotations

from typing import Any

# What each text is paired with where pairs are measured.
QUESTION = "How long is it kept, and who may change that?"

HIDDEN = 384
MAX_TOKENS = 8192

# Of config.json, what they have in common. The special tokens are those of the default model's tokenizer, which
# they get because any will do that has no more tokens than the network has rows for.
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

# By name: config.json, and how the vectors of the tokens become one.
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    # hotchpotch/bekko-embedding-v1-a25m: mmBERT-small, pruned to 13 layers. Its card says layers, hidden size, pooling,
    # and 24,930,432 parameters of 123,234,432 outside the table of words, which are exactly those written here. Heads,
    # windows and rotations are said of its smaller sister a8m, pruned from the same network.
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
    # ibm-granite/granite-embedding-small-english-r2: 47M parameters by its card, 47,662,464 as written here. Layers,
    # sizes and heads are in the README of IBM's granite-embedding-models; windows and rotations as others quote them.
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
