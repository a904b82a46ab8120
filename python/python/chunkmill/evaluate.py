"""Which chunk settings suit the documents? The evaluation harness, with results as rows for data frames.

These functions run the program ``chunkmill-eval``, which comes with the package. Settings are keyword arguments named
like its flags.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from . import _chunkmill, _show
from ._arguments import checked
from ._errors import Error, SettingError
from ._paths import StrPath
from ._progress import stream
from ._words import in_python

__all__ = ["Advice", "Gate", "Run", "baseline", "gate", "recommend", "sweep"]


_OUTCOMES = {"f": "found", "s": "split", "p": "part", "m": "missed", "u": "unreachable", "-": "document", "n": "no answer"}


_WARNING = " WARN "
"""The beginning of a line with a warning of the program."""


class Run:
    """A finished sweep: its folder, and what is in its ``report.json``."""

    @checked
    def __init__(self, folder: StrPath) -> None:
        self.folder = Path(folder)
        file = self.folder / "report.json"
        try:
            self.report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingError(f"{file} does not exist\n  help: run a sweep first: chunkmill.evaluate.sweep") from None

    @property
    def html(self) -> Path:
        """The report as a page."""
        return self.folder / "report.html"

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return str(self.report["scoring"]["primary"])

    @property
    def sentences(self) -> list[str]:
        """The advice: what to use, what you gain, what it costs, how sure that is, what to do next, and what to know."""
        advice = (self.report["verdict"] or {}).get("advice", {})
        named = [advice.get(name) for name in ("headline", "gain", "cost", "certainty", "next")]
        return [in_python(sentence) for sentence in [*named, *advice.get("caveats", [])] if sentence]

    @property
    def verdict(self) -> str:
        """The advice as one text."""
        return " ".join(self.sentences) or "no question could be scored"

    @property
    def advised(self) -> str | None:
        """Name of the settings that are advised."""
        return (self.report["verdict"] or {}).get("advised")

    def settings(self) -> list[dict[str, Any]]:
        """One row for each setting: its name, its settings, the mean of each metric, and what it costs.

        ``low`` and ``high`` are the ends of the confidence interval of the metric that decides.
        """
        return [self._row(cell) for cell in self.report["cells"]]

    def _row(self, cell: dict[str, Any]) -> dict[str, Any]:
        metric, cost = cell["metrics"][self.metric], cell["cost"]
        # Only a sweep that builds a dataset anew measures that.
        index = cost["index"] or {}
        return {
            "name": cell["id"],
            **cell["spec"],
            "model": cell["model"],
            "mode": cell["retrieval"],
            "k": cell["k"],
            **{name: value["mean"] for name, value in cell["metrics"].items()},
            "low": metric["lo"],
            "high": metric["hi"],
            "advised": cell["id"] == self.advised,
            "chunks": cell["chunks"],
            "truncated": cost["truncated"],
            "bytes": cost["bytes"],
            "index_seconds": (index.get("seconds") or {}).get("median"),
        }

    @checked
    def questions(self, metric: str | None = None) -> list[dict[str, Any]]:
        """One row for each question and setting, with the value of a metric: the one that decides, if none is named.

        ``outcome`` says how the evidence is in what is handed over: ``found``, ``split``, ``part``, ``missed``,
        ``unreachable``, ``document`` for a question judged by its documents, or ``no answer``.
        """
        metric = metric or self.metric
        known = [of["name"] for of in self.report["metrics"]]
        if metric not in known:
            raise SettingError(f"metric: there is no metric `{metric}`\n  help: {_chunkmill.one_of(metric, known)}")
        asked = self.report["queries"]
        return [
            {"id": question["id"], "question": question["text"], "name": cell["id"], "value": value, "outcome": _OUTCOMES.get(letter)}
            for cell in self.report["cells"]
            for question, value, letter in zip(asked, cell["values"][metric], cell["outcomes"])
        ]

    def __repr__(self) -> str:
        cells, questions = len(self.report["cells"]), len(self.report["queries"])
        return f"{type(self).__name__}({self.folder}, {cells} settings, {questions} questions, advised: {self.advised})"

    def _repr_html_(self) -> str:
        names = ["name", self.metric, "low", "high", "chunks", "truncated", "bytes"]
        rows = sorted(self.settings(), key=lambda row: -row[self.metric])
        shown = [[f"{value:.3f}" if isinstance(value, float) else value for value in (row[name] for name in names)] for row in rows]
        return _show.rows(names, shown) + _show.paragraph(self.verdict)


class Advice(Run):
    """A recommendation: a finished sweep, and the file with the advised settings."""

    def __init__(self, folder: StrPath) -> None:
        super().__init__(folder)
        self.config = self.folder / "chunkmill.toml"


class Gate:
    """The comparison of a run with a baseline. It is true if the run is not worse."""

    def __init__(self, read: dict[str, Any]) -> None:
        self.passed: bool = read["passed"]
        self.report = read

    def __bool__(self) -> bool:
        return self.passed

    @property
    def lost(self) -> list[dict[str, Any]]:
        """The questions that lost evidence which the baseline had."""
        return list(self.report["evidence"]["lost"])

    def checks(self) -> list[dict[str, Any]]:
        """One row for each check: setting, metric, state, before and now."""
        rows: list[dict[str, Any]] = []
        for check in self.report["checks"]:
            change = check.get("change") or {}
            rows.append({
                "name": check["cell"],
                "what": check["what"],
                "state": check["state"],
                "before": change.get("before"),
                "now": change.get("after"),
                "text": check["text"],
            })
        return rows

    def __repr__(self) -> str:
        checks, lost = self.report["checks"], self.lost
        failed = sum(check["state"] == "failed" for check in checks)
        reasons = [f"{len(lost)} questions lost evidence (allow_lost={self.report['allow_lost']})"] if lost else []
        reasons += [f"{failed} of {len(checks)} checks failed"] if failed or not reasons else []
        return f"Gate(passed={self.passed}, {', '.join(reasons)})"

    def _repr_html_(self) -> str:
        lost = [[question["query"], question["text"]] for question in self.lost]
        # Checks that passed say nothing to act on.
        rows = [[row["name"], row["what"], row["state"], row["text"]] for row in self.checks() if row["state"] != "passed"]
        shown = _show.paragraph(repr(self))
        shown += _show.rows(["question that lost evidence", ""], lost) if lost else ""
        return shown + (_show.rows(["setting", "metric", "", ""], rows) if rows else "")


@checked
def sweep(labels: StrPath, grid: Mapping[str, Any] | Sequence[Mapping[str, Any]] | StrPath, out: StrPath, **settings: Any) -> Run:
    """Measures every combination of some settings against labelled questions.

    ``labels`` is a folder with ``queries.jsonl`` and ``corpus``. ``grid`` has lists of values by setting
    (``{"max": [128, 256], "mode": "hybrid"}``), or is a list of such grids, or a TOML file with a whole sweep.
    ``out`` is the folder of the run; an interrupted run resumes. A report there that this run replaces, and whose
    figures it will not have, is named in the log: use another folder to keep both.
    """
    if isinstance(grid, (str, os.PathLike)):
        _run("sweep", "--labels", labels, "--sweep", grid, "--output", out, **settings)
        return Run(out)
    text = _toml([grid] if isinstance(grid, Mapping) else grid)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sweep.toml"
        file.write_text(text, encoding="utf-8")
        try:
            _run("sweep", "--labels", labels, "--sweep", file, "--output", out, **settings)
        except Error as error:
            # Nobody knows this file.
            raise type(error)(str(error).replace(f"{file}: ", "").replace(str(file), "grid")) from None
    return Run(out)


@checked
def recommend(
    documents: StrPath, out: StrPath, *, questions: StrPath | None = None, minutes: int = 10, **settings: Any
) -> Advice:
    """Finds settings for documents.

    ``out`` is the folder of the result; an interrupted run resumes. A report there that this run replaces, and whose
    figures it will not have, is named in the log.

    Without questions, some are made up, which is good for a first look only. ``questions`` is a file of them with their
    evidence, like ``queries.jsonl``; questions without evidence are labelled in a terminal, by the program.
    """
    given = [] if questions is None else ["--questions", questions]
    _run("recommend", documents, "--output", out, "--minutes", str(minutes), "--json", *given, **settings)
    return Advice(out)


@checked
def gate(run: Run | StrPath, baseline: StrPath, **limits: Any) -> Gate:
    """Compares a run with a baseline: has a question lost its evidence, or is less found?

    ``limits`` are the flags of ``chunkmill-eval gate``: ``allow_lost=3``, ``max_drop="ndcg_at_10=0.02"``.
    """
    folder = run.folder if isinstance(run, Run) else run
    return Gate(json.loads(_run("gate", folder, "--baseline", baseline, "--json", fails=True, **limits)))


@checked
def baseline(run: Run | StrPath, out: StrPath) -> Path:
    """Writes what `gate` needs of a run into one file."""
    folder = run.folder if isinstance(run, Run) else run
    _run("baseline", folder, "--output", out)
    return Path(out)


def _toml(grids: Sequence[Mapping[str, Any]]) -> str:
    if not grids:
        raise SettingError("grid: is empty\n  help: give lists of values by setting, like {'max': [128, 256]}")
    return "".join("[[grid]]\n" + "".join(f"{_key(key)} = {_value(key, value)}\n" for key, value in grid.items()) for grid in grids)


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise SettingError(f"grid: {key!r} is not the name of a setting\n  help: write {{'max': [128, 256]}}")
    return json.dumps(key)


def _value(key: str, value: Any) -> str:
    """Writes a value, or a list of them, as TOML: texts, numbers and bools are as in JSON."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, (str, bool)):
        return json.dumps(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        return f"[{', '.join(_value(key, part) for part in value)}]"
    problem = f"`{key}` has a value of type {type(value).__name__}"
    raise SettingError(f"grid: {problem}\n  help: give a text, a number, a bool, or a list of them; leave out what has no value")


def _program() -> str:
    name = "chunkmill-eval.exe" if os.name == "nt" else "chunkmill-eval"
    for scheme in (None, f"{os.name}_user"):
        folder = sysconfig.get_path("scripts") if scheme is None else sysconfig.get_path("scripts", scheme)
        if os.access(found := os.path.join(folder, name), os.X_OK):
            return found
    if found_elsewhere := shutil.which(name):
        return found_elsewhere
    raise Error(f"the program {name} is not in this environment\n  help: install the wheel of chunkmill again")


def _run(command: str, *arguments: StrPath, fails: bool = False, **settings: Any) -> str:
    """Runs a command and returns what it prints. With ``fails``, exit code 1 is a result."""
    flags = [f"--{name.replace('_', '-')}={_written(value)}" for name, value in settings.items() if value is not None]
    line = [_program(), command, *(os.fspath(argument) for argument in arguments), *flags]
    error: list[str] = []
    with tempfile.TemporaryFile() as out:
        program = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
        )
        with program:
            assert program.stderr is not None
            try:
                # Progress is shown while it is made; an error becomes an exception.
                for text in program.stderr:
                    if error or text.startswith("error: "):
                        error.append(text)
                    elif text.startswith(_WARNING):
                        logging.getLogger("chunkmill").warning("%s", in_python(text.removeprefix(_WARNING).rstrip()))
                    else:
                        print(in_python(text), file=stream(), end="", flush=True)
            except BaseException:
                program.kill()
                raise
        if program.returncode == 0 or (fails and program.returncode == 1):
            out.seek(0)
            return out.read().decode("utf-8")
    message = "".join(error).strip().removeprefix("error: ") or f"{command} ended with exit code {program.returncode}"
    raise (SettingError if program.returncode == 2 else Error)(message)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def __dir__() -> list[str]:
    """The public names: what is imported is not shown."""
    return list(__all__)
