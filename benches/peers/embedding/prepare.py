"""Makes what the workers share: the sample of texts, and the model as graphs for ONNX Runtime and OpenVINO.

    prepare.py sample CORPUS N --model DIR --out FILE
    prepare.py graphs --model DIR --out DIR --texts FILE
    prepare.py int8 --model DIR --out DIR --texts FILE

Runs in the driver's virtual environment, because it needs the tokenizer and torch.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_TOKENS = 256
CHUNK_TOKENS = range(20, 400)
SHORT = 400  # characters
SUFFIXES = {".md", ".mdx", ".markdown", ".txt", ".rst"}


def sections(text: str) -> Iterator[list[str]]:
    """Paragraphs by section: a heading opens a new one unless the last was short. No front matter."""
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


def sample(corpus: Path, n: int, model: Path, out: Path) -> None:
    """Chunks of up to 399 word pieces that keep to their section, N of them spread over the corpus."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    files = sorted(path for path in corpus.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    chunks: dict[str, int] = {}

    def add(parts: list[str], tokens: int) -> None:
        if tokens in CHUNK_TOKENS:
            chunks.setdefault("\n\n".join(parts), tokens)

    for path in files[:: max(1, len(files) // n)]:
        for section in sections(path.read_text(encoding="utf-8", errors="replace")):
            encodings = tokenizer.encode_batch(section, add_special_tokens=False)
            parts: list[str] = []
            total = 0
            for paragraph, encoding in zip(section, encodings):
                # A paragraph that is too long alone is cut between tokens.
                pieces = [paragraph]
                if len(encoding) >= CHUNK_TOKENS.stop:
                    cuts = [start for start, _ in encoding.offsets[:: CHUNK_TOKENS.stop - 1]]
                    pieces = [paragraph[a:b] for a, b in zip(cuts, cuts[1:] + [len(paragraph)])]
                for piece in pieces:
                    size = len(tokenizer.encode(piece, add_special_tokens=False)) if len(pieces) > 1 else len(encoding)
                    if total + size >= CHUNK_TOKENS.stop:
                        add(parts, total)
                        parts, total = [], 0
                    parts.append(piece)
                    total += size
            add(parts, total)

    found = list(chunks.items())
    n = min(n, len(found))
    with out.open("w", encoding="utf-8") as lines:
        for index in range(n):
            text, tokens = found[index * len(found) // n]
            row = {"text": text, "tokens": min(tokens + 2, MAX_TOKENS), "cut": tokens + 2 > MAX_TOKENS}
            print(json.dumps(row), file=lines)


def graphs(model: Path, out: Path) -> None:
    """ONNX from torch; from that ONNX Runtime's fused graph and its int8 form; what fastembed reads."""
    import onnx
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer
    from tokenizers import Tokenizer
    from transformers import AutoModel

    class Pooled(torch.nn.Module):
        """Mean pooling and scaling inside the graph, where they cost least."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = AutoModel.from_pretrained(model, attn_implementation="eager")

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1)
            return torch.nn.functional.normalize(mean, dim=1)

    out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()  # the file says: all to 128
    tokenizer.save(str(out / "tokenizer.json"))
    shutil.copy(model / "config.json", out)
    (out / "tokenizer_config.json").write_text(json.dumps({"model_max_length": MAX_TOKENS, "pad_token": "[PAD]"}))
    (out / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]", "unk_token": "[UNK]"}))
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
    fused = optimizer.optimize_model(str(plain), "bert", num_heads=12, hidden_size=384, opt_level=1)
    print(fused.get_fused_operator_statistics(), file=sys.stderr)
    fused.save_model_to_file(str(out / "onnxruntime-f32.onnx"))
    quantize_dynamic(
        out / "onnxruntime-f32.onnx",
        out / "onnxruntime-int8.onnx",
        per_channel=True,
        weight_type=QuantType.QInt8,
        # Of what the fused operators give, which the quantiser cannot infer.
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def int8(model: Path, out: Path, texts: Path) -> None:
    """OpenVINO's int8 form, calibrated after training on some of the texts, as nncf advises for BERT."""
    import nncf
    import numpy as np
    import openvino
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()

    def inputs(text: str) -> dict[str, np.ndarray]:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids)}

    with texts.open(encoding="utf-8") as lines:
        some = [json.loads(line)["text"] for line in lines]
    some = some[:: max(1, len(some) // 100)]
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
    command = commands.add_parser("sample")
    command.add_argument("corpus", type=Path)
    command.add_argument("n", type=int)
    command.add_argument("--model", type=Path, required=True)
    command.add_argument("--out", type=Path, required=True)
    for name in ("graphs", "int8"):
        command = commands.add_parser(name)
        command.add_argument("--model", type=Path, required=True)
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--texts", type=Path, required=True)
    a = parser.parse_args()
    if a.command == "sample":
        sample(a.corpus, a.n, a.model, a.out)
    elif a.command == "graphs":
        graphs(a.model, a.out)
    else:
        int8(a.model, a.out, a.texts)


if __name__ == "__main__":
    main()
