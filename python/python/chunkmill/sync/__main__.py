"""The program ``chunkmill-sync``."""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from dataclasses import asdict

from .. import __version__
from .._errors import Error, LockedError, SettingError
from . import sync

_ABOUT = """Brings a table of a vector database up to date with a dataset. Rows that are new or differ are written, and rows
that are gone are deleted. TARGET is postgresql://USER@HOST/DB, qdrant:FOLDER, qdrant+https://HOST:PORT, lancedb:FOLDER,
chroma:FOLDER, chroma+https://HOST:PORT or sqlite:FILE."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("chunkmill-sync", description=_ABOUT, allow_abbrev=False)
    parser.add_argument("dataset", metavar="OUT", help="the dataset")
    parser.add_argument("target", metavar="TARGET", help="the database, as a URL")
    parser.add_argument("--table", metavar="NAME", default="chunks", help="the table or collection (default: chunks)")
    parser.add_argument("--create", action="store_true", help="create the table if it does not exist")
    parser.add_argument("--columns", metavar="NAMES", help="columns of the new table, with commas between them; `chunkmill schema` lists them")
    parser.add_argument("--vectors", choices=("f32", "f16", "int8", "bits"), help="type of vectors of the new table (default: the most exact)")
    parser.add_argument("--check", action="store_true", help="compare all rows, even if the target has the snapshot already")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and write nothing")
    parser.add_argument("--allow-shrink", action="store_true", help="delete rows even if they are more than half")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--version", action="version", version=f"chunkmill-sync {__version__}")
    return parser


def _tell(written: int, total: int) -> None:
    end = "\n" if written == total else ""
    print(f"\r\x1b[K{written:,} of {total:,} rows", end=end, file=sys.stderr, flush=True)


def _in_flags(message: str) -> str:
    """Returns a message with flags in the place of keyword arguments."""
    message = re.sub(r"`(\w+)=True`", lambda found: f"`--{found[1].replace('_', '-')}`", message)
    return re.sub(r'`(\w+)="([^"`]*)"`', lambda found: f"`--{found[1].replace('_', '-')} {found[2]}`", message)


def main() -> int:
    """Runs the program and returns its exit code."""
    # Those of the databases' packages show lines of code.
    warnings.simplefilter("ignore")
    given = vars(_parser().parse_args())
    as_json = given.pop("json")
    columns = given.pop("columns")
    if columns is not None:
        given["columns"] = [name.strip() for name in columns.split(",") if name.strip()]
    try:
        done = sync(**given, progress=_tell if sys.stderr.isatty() else None)
    except Error as error:
        print(f"error: {_in_flags(str(error))}", file=sys.stderr)
        return 2 if isinstance(error, SettingError) else 4 if isinstance(error, LockedError) else 5
    except KeyboardInterrupt:
        print("error: interrupted\n  help: run it again, and it resumes", file=sys.stderr)
        return 130
    print(json.dumps(asdict(done)) if as_json else done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
