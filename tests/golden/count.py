#!/usr/bin/env python3
"""Prints the SHA-256 that tests/chunk/real_corpus.rs expects: a hash of tiktoken's counts of every document.

Run it once, by hand, with the unpacked corpus:

    python count.py /path/to/powershell-docs

tiktoken downloads its vocabulary on first use. Without a network, put the file into the folder named by
TIKTOKEN_CACHE_DIR.
"""

import hashlib
import pathlib
import sys

import tiktoken


def main():
    root = pathlib.Path(sys.argv[1])
    encoding = tiktoken.get_encoding("cl100k_base")
    files = sorted(root.rglob("*.md"), key=lambda file: file.relative_to(root).as_posix().encode())
    digest, total = hashlib.sha256(), 0
    for file in files:
        count = len(encoding.encode_ordinary(file.read_bytes().decode("utf-8")))
        digest.update(f"{file.relative_to(root).as_posix()}\t{count}\n".encode())
        total += count
    print(len(files), "files", total, "tokens", digest.hexdigest())


if __name__ == "__main__":
    main()
