"""Runs the book's examples of reading a dataset and prints the result of each as one line of JSON.

The examples run in the working folder, where the dataset is `out`. The arguments are the page and the names of the
examples to run. The name of an example is the first word of its first line, which is a comment.
"""

import json
import pathlib
import re
import sys


def ids(rows):
    """Returns the ids of the chunks in an example's `page`, whose type depends on the reader."""
    if isinstance(rows, list):
        return [row["chunk_id"] for row in rows]
    column = rows["chunk_id"]
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def main():
    page, wanted = sys.argv[1], sys.argv[2:]
    blocks = re.findall(r"^```python\S*\n# (\w+)(.*?)^```$", pathlib.Path(page).read_text(), re.MULTILINE | re.DOTALL)
    for name, text in blocks:
        if name in wanted:
            names = {}
            exec(compile(f"# {name}{text}", f"{page}: {name}", "exec"), names)
            first = names.get("first", {}).get("chunk_id")
            vector = str(names["vector"])
            print(json.dumps({"name": name, "vector": vector, "page": ids(names["page"]), "first": first}))


if __name__ == "__main__":
    main()
