"""What a user of semantic-text-splitter writes to cut a folder: reads its Markdown files, prints JSON lines.

    python3 whole.py FOLDER MAX

`run.py --program` times it as a process, next to `chunkmill chunk`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from semantic_text_splitter import MarkdownSplitter

folder, most = Path(sys.argv[1]), int(sys.argv[2])
splitter = MarkdownSplitter.from_tiktoken_model("gpt-4", most)
for file in sorted(folder.rglob("*.md")):
    text = file.read_text(encoding="utf-8-sig")
    for at, (start, content) in enumerate(splitter.chunk_indices(text)):
        chunk = {"path": str(file.relative_to(folder)), "chunk_index": at, "start_char": start, "content": content}
        print(json.dumps(chunk, ensure_ascii=False))
