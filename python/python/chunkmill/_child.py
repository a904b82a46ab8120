"""Processes that read one file each.

A hostile PDF file may take all memory, or crash the process that reads it. So each is read in a process of its own: this
interpreter, without the user's environment and packages, with only the native module.
"""

from __future__ import annotations

import os
import sys

from . import _chunkmill

_PROGRAM = """
import sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("_chunkmill", sys.argv[1])
module = module_from_spec(spec)
spec.loader.exec_module(module)
module.serve()
"""


def start() -> None:
    """Reads hostile formats in such processes from now on.

    In a program that only contains Python, there is no interpreter to start; then, they are read in that program.
    """
    program = sys.executable or ""
    if os.path.basename(program).lower().startswith(("python", "pypy")):
        _chunkmill.isolate(program, ["-I", "-S", "-c", _PROGRAM, _chunkmill.__file__])
