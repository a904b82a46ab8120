"""Creates the files that the workers share: models, the sample of texts, and graphs for ONNX Runtime and OpenVINO.

    prepare.py shape NAME --model DIR --out DIR
    prepare.py static --model DIR --out DIR
    prepare.py sample CORPUS N [--tokens T] --model DIR --out FILE
    prepare.py graphs --model DIR --out DIR --texts FILE
    prepare.py int8 --model DIR --out DIR --texts FILE

Runs in the driver's virtual environment, because it needs the tokenizer and torch. The weights of models are generated
from a seed, and their tokenizer is that of the model given with `--model`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapes import HIDDEN, MAX_TOKENS, SHAPES

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

CHUNK_TOKENS = range(20, 400)
SHORT = 400  # characters
SUFFIXES = {".md", ".mdx", ".markdown", ".txt", ".rst"}

SEED = 7
STATIC_SHAPE = (30_522, 256)  # potion-base-8M's; its tokenizer is the default model's except for a few words
CALIBRATION_TEXTS = 100
CALIBRATION_TOKENS = 32_768  # in total, because nncf stores the output of every layer
CALIBRATION_LENGTH = 1024  # per text: with attention over 4,000 tokens, nncf takes 12 GB


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def write(file: Path, value: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=1), encoding="utf-8")


def limits(model: Path) -> tuple[int, int]:
    """Returns how many tokens of a text a model reads, and how many of them are special. Our static model reads all."""
    sentence = model / "sentence_bert_config.json"
    return (read(sentence)["max_seq_length"], 2) if sentence.exists() else (sys.maxsize, 0)


def tokenizer_of(model: Path) -> Tokenizer:
    """Returns a model's tokenizer without the lengths set in its file.

    The default model's file truncates and pads all texts to 128 tokens.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def write_modules(out: Path, modules: list[tuple[str, str]]) -> None:
    """Writes the list of a folder's modules, which tells the driver that the folder is complete."""
    kinds = [(path, f"sentence_transformers.models.{kind}") for path, kind in modules]
    listed = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(kinds)]
    write(out / "modules.json", listed)


def shape(name: str, model: Path, out: Path) -> None:
    """Writes a folder for sentence-transformers with a network of this shape.

    The weights preserve the magnitude of their input, so no layer drowns out the others, and vectors differ
    between texts.
    """
    import numpy as np
    from safetensors.numpy import save_file

    config, pooling = SHAPES[name]
    inner = config["intermediate_size"]
    numbers = np.random.default_rng(SEED)

    def linear(rows: int, columns: int) -> np.ndarray:
        return numbers.standard_normal((rows, columns), np.float32) / np.float32(columns**0.5)

    def norm() -> np.ndarray:
        return numbers.uniform(0.8, 1.2, HIDDEN).astype(np.float32)

    tensors = {
        "embeddings.tok_embeddings.weight": numbers.standard_normal((config["vocab_size"], HIDDEN), np.float32),
        "embeddings.norm.weight": norm(),
        "final_norm.weight": norm(),
    }
    for layer in range(config["num_hidden_layers"]):
        # The input of the first layer is already normalized.
        if layer:
            tensors[f"layers.{layer}.attn_norm.weight"] = norm()
        tensors |= {
            f"layers.{layer}.attn.Wqkv.weight": linear(3 * HIDDEN, HIDDEN),
            f"layers.{layer}.attn.Wo.weight": linear(HIDDEN, HIDDEN),
            f"layers.{layer}.mlp_norm.weight": norm(),
            f"layers.{layer}.mlp.Wi.weight": linear(2 * inner, HIDDEN),
            f"layers.{layer}.mlp.Wo.weight": linear(HIDDEN, inner),
        }

    write(out / "config.json", config)
    write(out / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS, "do_lower_case": False})
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk", "mask")}
    named = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_TOKENS}
    named["model_input_names"] = ["input_ids", "attention_mask"]
    write(out / "tokenizer_config.json", named | special)
    modes = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    poolings = {key: mode == pooling for key, mode in modes.items()}
    write(out / "1_Pooling" / "config.json", {"word_embedding_dimension": HIDDEN} | poolings)
    tokenizer_of(model).save(str(out / "tokenizer.json"))
    save_file(tensors, out / "model.safetensors", {"format": "pt"})
    write_modules(out, [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")])


def static(model: Path, out: Path) -> None:
    """Writes a folder for model2vec: a table of vectors.

    The model reads whole texts, because by default model2vec also truncates by characters, which no other engine does.
    """
    import numpy as np
    from safetensors.numpy import save_file

    table = np.random.default_rng(SEED).standard_normal(STATIC_SHAPE, np.float32)
    config = {"model_type": "model2vec", "normalize": True, "hidden_dim": STATIC_SHAPE[1], "max_length": None}
    write(out / "config.json", config)
    tokenizer_of(model).save(str(out / "tokenizer.json"))
    save_file({"embeddings": table}, out / "model.safetensors")
    write_modules(out, [(".", "StaticEmbedding"), ("1_Normalize", "Normalize")])


def sections(text: str) -> Iterator[list[str]]:
    """Yields the paragraphs of each section, without front matter.

    A heading starts a new section unless the current one is short.
    """
    if text.startswith("---\n") and (end := text.find("\n---", 4)) > 0:
        text = text[text.find("\n", end + 1) + 1 :]
    section: list[str] = []
    paragraph: list[str] = []
    fenced = False
    for line in text.splitlines() + [""]:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        heading = not fenced and line.startswith("#")
        if (heading or not line.strip()) and paragraph:
            section.append("\n".join(paragraph))
            paragraph = []
        if heading and sum(map(len, section)) > SHORT:
            yield section
            section = []
        if line.strip():
            paragraph.append(line)
    if section:
        yield section


def chunks(documents: Iterator[str], tokenizer: Tokenizer) -> Iterator[tuple[str, int]]:
    """Yields texts of up to 399 tokens that stay within their section, each with its number of tokens."""
    for section in (section for document in documents for section in sections(document)):
        encodings = tokenizer.encode_batch(section, add_special_tokens=False)
        parts: list[str] = []
        total = 0
        for paragraph, encoding in zip(section, encodings):
            # A paragraph that is too long on its own is cut between tokens.
            pieces = [paragraph]
            if len(encoding) >= CHUNK_TOKENS.stop:
                cuts = [start for start, _ in encoding.offsets[:: CHUNK_TOKENS.stop - 1]]
                pieces = [paragraph[a:b] for a, b in zip(cuts, cuts[1:] + [len(paragraph)])]
            for piece in pieces:
                size = len(tokenizer.encode(piece, add_special_tokens=False)) if len(pieces) > 1 else len(encoding)
                if total + size >= CHUNK_TOKENS.stop:
                    yield "\n\n".join(parts), total
                    parts, total = [], 0
                parts.append(piece)
                total += size
        yield "\n\n".join(parts), total


def stretches(documents: Iterator[str], tokenizer: Tokenizer, tokens: int) -> Iterator[tuple[str, int]]:
    """Yields the concatenated paragraphs of the documents in pieces of `tokens` tokens, with their token counts."""
    rest = ""
    for document in documents:
        paragraphs = [paragraph for section in sections(document) for paragraph in section]
        rest = "\n\n".join([rest, *paragraphs])
        cuts = [start for start, _ in tokenizer.encode(rest, add_special_tokens=False).offsets[::tokens]]
        for piece in (rest[a:b].strip() for a, b in zip(cuts, cuts[1:])):
            # Counted again, because half a word may have different tokens.
            yield piece, len(tokenizer.encode(piece, add_special_tokens=False))
        rest = rest[cuts[-1] :] if cuts else ""


def sample(corpus: Path, n: int, tokens: int | None, model: Path, out: Path) -> None:
    """Writes N texts spread over the corpus: chunks as they come, or texts of `tokens` tokens each."""
    tokenizer = tokenizer_of(model)
    limit, special = limits(model)
    files = sorted(path for path in corpus.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    step = max(1, len(files) // n)
    if tokens:
        # Enough files for twice as many texts, assuming four characters per token.
        step = max(1, sum(path.stat().st_size for path in files) // (8 * n * tokens))
    documents = (path.read_text(encoding="utf-8", errors="replace") for path in files[::step])
    texts = stretches(documents, tokenizer, tokens - special) if tokens else chunks(documents, tokenizer)
    # Each text once, with its number of tokens.
    distinct: dict[str, int] = {}
    for text, size in texts:
        if tokens or size in CHUNK_TOKENS:
            distinct.setdefault(text, size)

    found = list(distinct.items())
    n = min(n, len(found))
    with out.open("w", encoding="utf-8") as lines:
        for index in range(n):
            text, size = found[index * len(found) // n]
            size += special
            row = {"text": text, "tokens": min(size, limit), "cut": size > limit}
            print(json.dumps(row), file=lines)


def reranker(model: Path, out: Path) -> None:
    """Writes a folder with the default model's network, followed by the layers that score pairs."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    torch.manual_seed(SEED)
    config = AutoConfig.from_pretrained(model, num_labels=1)
    judge = AutoModelForSequenceClassification.from_config(config)
    base = AutoModelForSequenceClassification.from_pretrained(model, config=config)
    judge.bert.load_state_dict(base.bert.state_dict(), strict=False)
    # Makes scores differ between texts.
    torch.nn.init.normal_(judge.classifier.weight, std=0.5)
    judge.save_pretrained(out)
    tokenizer_of(model).save(str(out / "tokenizer.json"))
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk", "mask")}
    named = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}
    named["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    write(out / "tokenizer_config.json", named | special)
    # Tells the driver that the folder is complete. It has no list of modules for sentence-transformers.
    (out / "complete").touch()


def pair_graphs(model: Path, out: Path) -> None:
    """Writes the reranker as graphs for ONNX Runtime."""
    import torch
    from transformers import AutoModelForSequenceClassification

    class Score(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.judge = AutoModelForSequenceClassification.from_pretrained(model, attn_implementation="eager")

        def forward(self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.judge(input_ids=ids, attention_mask=mask, token_type_ids=kinds).logits)

    out.mkdir(parents=True, exist_ok=True)
    plain = out / "pairs.onnx"
    example = torch.ones(2, 8, dtype=torch.int64)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = dict.fromkeys(names, {0: "batch", 1: "tokens"}) | {"scores": {0: "batch"}}
    torch.onnx.export(
        Score().eval(),
        (example, example, torch.zeros_like(example)),
        str(plain),
        input_names=names,
        output_names=["scores"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    for_onnxruntime(plain, read(model / "config.json"), "onnxruntime-pairs")


def for_onnxruntime(plain: Path, config: dict[str, Any], name: str) -> None:
    """Writes ONNX Runtime's fused version of a plain graph, and its int8 version, next to it."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer

    # For ModernBERT it fuses GELU and the norms, but not the attention, which uses rotary positions and may be local.
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    fused = optimizer.optimize_model(str(plain), "bert", num_heads=heads, hidden_size=hidden, opt_level=1)
    print(fused.get_fused_operator_statistics(), file=sys.stderr)
    floats = plain.with_name(f"{name}-f32.onnx")
    fused.save_model_to_file(str(floats))
    quantize_dynamic(
        floats,
        plain.with_name(f"{name}-int8.onnx"),
        per_channel=True,
        weight_type=QuantType.QInt8,
        # The output type of the fused operators, which the quantizer cannot infer.
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def graphs(model: Path, out: Path) -> None:
    """Writes the model as an ONNX graph, ONNX Runtime's fused and int8 versions of it, and the files for fastembed."""
    import torch
    from transformers import AutoModel

    first = read(model / "1_Pooling" / "config.json")["pooling_mode_cls_token"]

    class Pooled(torch.nn.Module):
        """The model with pooling and normalization inside the graph, where they cost least."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = AutoModel.from_pretrained(model, attn_implementation="eager")

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            if first:
                return torch.nn.functional.normalize(hidden[:, 0], dim=1)
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1)
            return torch.nn.functional.normalize(mean, dim=1)

    out.mkdir(parents=True, exist_ok=True)
    tokenizer_of(model).save(str(out / "tokenizer.json"))
    shutil.copy(model / "config.json", out)
    write(out / "tokenizer_config.json", {"model_max_length": limits(model)[0], "pad_token": "[PAD]"})
    write(out / "special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"})
    plain = out / "model.onnx"
    example = torch.ones(2, 8, dtype=torch.int64)
    axes = {0: "batch", 1: "tokens"}
    torch.onnx.export(
        Pooled().eval(),
        (example, example),
        str(plain),
        input_names=["input_ids", "attention_mask"],
        output_names=["vectors"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "vectors": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )
    for_onnxruntime(plain, read(model / "config.json"), "onnxruntime")


def int8(model: Path, out: Path, texts: Path) -> None:
    """Writes OpenVINO's int8 version, calibrated after training on some of the texts, as nncf recommends for BERT."""
    import nncf
    import numpy as np
    import openvino

    tokenizer = tokenizer_of(model)
    tokenizer.enable_truncation(min(limits(model)[0], CALIBRATION_LENGTH))

    def inputs(text: str) -> dict[str, np.ndarray]:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids)}

    with texts.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    tokens = sum(row["tokens"] for row in rows)
    step = max(1, len(rows) // CALIBRATION_TEXTS, tokens // CALIBRATION_TOKENS)
    some = [row["text"] for row in rows[::step]]
    quantized = nncf.quantize(
        openvino.Core().read_model(out / "model.onnx"),
        nncf.Dataset(some, inputs),
        model_type=nncf.ModelType.TRANSFORMER,
        subset_size=len(some),
    )
    openvino.save_model(quantized, out / "openvino-int8.xml")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("--model", type=Path, required=True)
    both.add_argument("--out", type=Path, required=True)
    command = commands.add_parser("shape", parents=[both])
    command.add_argument("name", choices=SHAPES)
    commands.add_parser("static", parents=[both])
    commands.add_parser("reranker", parents=[both])
    command = commands.add_parser("sample", parents=[both])
    command.add_argument("corpus", type=Path)
    command.add_argument("n", type=int)
    command.add_argument("--tokens", type=int)
    for name in ("graphs", "int8", "pair-graphs"):
        command = commands.add_parser(name, parents=[both])
        command.add_argument("--texts", type=Path, required=True)
    a = parser.parse_args()
    if a.command == "shape":
        shape(a.name, a.model, a.out)
    elif a.command == "static":
        static(a.model, a.out)
    elif a.command == "sample":
        sample(a.corpus, a.n, a.tokens, a.model, a.out)
    elif a.command == "reranker":
        reranker(a.model, a.out)
    elif a.command == "pair-graphs":
        pair_graphs(a.model, a.out)
    elif a.command == "graphs":
        graphs(a.model, a.out)
    else:
        int8(a.model, a.out, a.texts)


if __name__ == "__main__":
    main()
