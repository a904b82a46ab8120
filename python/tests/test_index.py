"""Tests of `chunkmill.index`."""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import chunkmill
import pytest
from conftest import program, python

Documents = Callable[[dict[str, bytes]], Path]


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_dataset_is_that_of_the_program(corpus: Path, dataset: Path, tmp_path: Path) -> None:
    summary = json.loads(program("index", corpus, "-o", tmp_path / "out", "--json"))
    files = files_of(dataset)
    assert files == files_of(tmp_path / "out") and len(files) > 30
    assert filecmp.cmpfiles(dataset, tmp_path / "out", files, shallow=False)[1:] == ([], [])
    report = chunkmill.index([corpus], dataset, embedding_cache="off")
    same = {"documents", "chunks", "tokens", "model_tokens", "edges", "edges_by_kind", "spec", "spec_fingerprint", "model"}
    assert {key: summary[key] for key in same} == {key: getattr(report, key) for key in same}
    # Everything was reused.
    assert (report.chunks_reused, report.texts_embedded) == (report.chunks, 0)


def test_the_report_lists_what_is_not_indexed(documents: Documents, tmp_path: Path) -> None:
    folder = documents({"a.md": b"# A\n", "b.md": b"\xc3\x28"})
    report = chunkmill.index(f"manual={folder}", tmp_path / "out", embedder="fake", embedding_cache="off", files=1)
    assert (report.discovered, report.documents, report.quarantined) == (2, 1, 1)
    [document] = report.quarantine
    assert (document.doc_id, document.collection, document.code) == ("manual:b.md", "manual", "encoding")
    assert document.content_hash is not None and len(document.content_hash) == 64
    assert report.seconds > 0


def pdf(*streams: tuple[bytes, bytes]) -> bytes:
    """Makes a PDF file of streams with their dictionaries. The first one is its table of objects, if it is one."""
    file = b"%PDF-1.7\n"
    start = len(file)
    for number, (dictionary, data) in enumerate(streams, 1):
        file += b"%d 0 obj\n<<%b/Length %d>>\nstream\n%b\nendstream\nendobj\n" % (number, dictionary, len(data), data)
    return file + b"startxref\n%d\n%%%%EOF\n" % start


def test_documents_of_other_formats_are_those_of_the_program(documents: Documents, tmp_path: Path) -> None:
    page = b"BT /F 12 Tf 72 600 Td (Of wheat in a PDF file.) Tj ET"
    objects = (
        b"9 0 obj <</Type/Catalog/Pages 8 0 R>> endobj 8 0 obj <</Type/Pages/Kids[7 0 R]/Count 1>> endobj "
        b"7 0 obj <</Type/Page/Parent 8 0 R/Contents 1 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 6 0 R>>>>>> endobj "
        b"6 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj trailer <</Root 9 0 R>>"
    )
    zeros = zlib.compress(b"\x81\x00" * (30 << 20), 1)
    table = b"/Type/XRef/Size 9/W[1 2 1]/Root 2 0 R/Filter[/FlateDecode/RunLengthDecode]"
    folder = documents(
        {
            "page.html": b"<main><h1 id=mill>Mill</h1><p>Of wheat on a page.</main>",
            "notebook.ipynb": b'{"cells": [{"cell_type": "markdown", "source": "Of wheat."}], "nbformat": 4}',
            "mail.eml": b"Subject: Mill\n\nOf wheat in a mail.\n",
            "file.rtf": rb"{\rtf1\ansi Of wheat in RTF.\par}",
            "crops.csv": b"crop,tons\nwheat,7\n",
            "file.pdf": pdf((b"", page)) + objects,
            # This takes more memory than the process may have that reads it, and ends.
            "greedy.pdf": pdf((table, zeros)),
        }
    )
    out = tmp_path / "python"
    report = chunkmill.index(folder, out, embedder="fake", embedding_cache="off", files=1, include=["*"])
    assert (report.documents, [document.code for document in report.quarantine]) == (6, ["limit"])
    settings = ["--embedder", "fake", "--embedding-cache", "off", "--files", "1", "--include", "*"]
    program("index", folder, "-o", tmp_path / "program", *settings, code=3)
    files = files_of(out)
    assert files == files_of(tmp_path / "program")
    assert filecmp.cmpfiles(out, tmp_path / "program", files, shallow=False)[1:] == ([], [])
    assert chunkmill.Dataset(out).verify(corpus=folder).ok


def test_progress_goes_up_to_the_whole(corpus: Path, tmp_path: Path) -> None:
    seen: list[chunkmill.Progress] = []
    report = chunkmill.index(corpus, tmp_path / "out", progress=seen.append, embedding_cache="off")
    assert len(seen) > 3
    last = seen[-1]
    assert (last.done, last.documents, last.prepared) == (1.0, 50, 50)
    assert last.chunks == last.ready == report.chunks and last.texts_embedded == report.texts_embedded
    assert all(a.seconds <= b.seconds and a.prepared <= b.prepared for a, b in zip(seen, seen[1:]))


def test_what_the_callback_raises_ends_the_job(corpus: Path, tmp_path: Path) -> None:
    def stop(progress: chunkmill.Progress) -> None:
        if progress.ready > 0:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        chunkmill.index(corpus, tmp_path / "out", progress=stop, embedding_cache="off")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_ctrl_c_ends_the_job_cleanly_and_the_next_one_goes_on(corpus: Path, dataset: Path, tmp_path: Path) -> None:
    code = """if True:
        import sys, chunkmill
        print("begun", flush=True)
        try:
            chunkmill.index(sys.argv[1], sys.argv[2], embedding_cache="off", progress=lambda now: now.ready and print("embedding", flush=True))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    out = tmp_path / "out"
    command = [sys.executable, "-c", code, str(corpus), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "embedding\n":
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        told = time.monotonic()
        rest, _ = process.communicate(timeout=60)
    assert "interrupted" in rest and process.returncode == 0
    assert time.monotonic() - told < 5
    assert not (out / "manifest.json").exists()
    chunkmill.index(corpus, out, embedding_cache="off")
    files = files_of(dataset)
    assert files == files_of(out)
    assert filecmp.cmpfiles(dataset, out, files, shallow=False)[1:] == ([], [])


def test_a_dataset_that_is_being_written_is_left_alone(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def again(progress: chunkmill.Progress) -> None:
        if progress.documents == 0:
            return  # The model is still loading.
        with pytest.raises(chunkmill.LockedError, match="is being written by"):
            chunkmill.index(corpus, out, embedder="fake", embedding_cache="off")
        raise LookupError

    with pytest.raises(LookupError):
        chunkmill.index(corpus, out, progress=again, embedding_cache="off")


def test_a_corpus_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(chunkmill.CorpusError, match="name an existing folder or file"):
        chunkmill.index(tmp_path / "none", tmp_path / "out", embedder="fake")
    with pytest.raises(chunkmill.SettingError, match="did you mean `files`"):
        chunkmill.index(tmp_path, tmp_path / "out", filess=1)  # type: ignore[call-arg]


def test_a_process_that_was_forked_after_a_job_is_told(documents: Documents, tmp_path: Path) -> None:
    code = """if True:
        import multiprocessing, sys, chunkmill
        def job(out):
            try:
                chunkmill.index(sys.argv[1], out, embedder="fake", embedding_cache="off", files=1)
            except chunkmill.Error as error:
                return str(error)
            return "done"
        print(job(sys.argv[2]))
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.apply_async(job, (sys.argv[3],)).get(timeout=30))
        """
    folder = documents({"a.md": b"# A\n"})
    said = python(code, folder, tmp_path / "one", tmp_path / "two")
    assert said.startswith("done\nthis process was forked from one that ran a job")
    assert "spawn" in said


def test_the_process_has_the_settings_of_its_own_signals(corpus: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    chunkmill.chunk(corpus)
    assert signal.getsignal(signal.SIGINT) is before
    # According to the operating system, no native handler was installed either.
    status = Path("/proc/self/status")
    if status.exists():
        caught = int(next(line for line in status.read_text().splitlines() if line.startswith("SigCgt")).split()[1], 16)
        assert not caught >> (signal.SIGTERM - 1) & 1 and not caught >> (signal.SIGHUP - 1) & 1


def test_verify_finds_what_is_damaged(corpus: Path, dataset: Path, tmp_path: Path) -> None:
    checked = chunkmill.Dataset(dataset).verify(corpus)
    assert checked.ok and checked.files == 40 and checked.found == {}
    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    file = next((copy / "data" / "chunks").iterdir())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    os.chmod(file, 0o644)
    file.write_bytes(content)
    checked = chunkmill.Dataset(copy).verify()
    assert not checked.ok
    assert file.name in checked.findings[0].file and checked.findings[0].help
