"""An object store for tests: moto's S3 server in its own process, behind a proxy that makes requests fail.

The proxy answers some requests with 500 or 503 instead of forwarding them, forwards some and drops the response,
delays some, and truncates some responses in the middle. A seed and the order of the requests determine which ones.
"""

from __future__ import annotations

import http.client
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from common import wait

SLOW = 1.0
"""Delay of a delayed request in seconds."""

PER_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-connection"}


@dataclass
class Faults:
    """How many of a thousand requests fail in each way, and how many did so far."""

    shares: dict[str, int] = field(
        default_factory=lambda: {"error": 30, "busy": 20, "lost": 10, "cut": 20, "slow": 20}
    )
    seed: int = 1
    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.numbers = random.Random(self.seed)

    def draw(self) -> str:
        with self.lock:
            number = self.numbers.randrange(1000)
            for name, share in self.shares.items():
                number -= share
                if number < 0:
                    break
            else:
                name = "passed"
            self.counts[name] += 1
            return name


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def handler(upstream: int, faults: Faults) -> type[BaseHTTPRequestHandler]:
    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fault = faults.draw()
            if fault in ("error", "busy"):
                code, name = (500, "InternalError") if fault == "error" else (503, "SlowDown")
                return self.answer(code, [], f"<Error><Code>{name}</Code></Error>".encode())
            if fault == "slow":
                time.sleep(SLOW)
            connection = http.client.HTTPConnection("127.0.0.1", upstream, timeout=60)
            try:
                headers = {name: value for name, value in self.headers.items() if name.lower() not in PER_HOP}
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
                content = response.read()
            finally:
                connection.close()
            if fault == "lost":
                self.close_connection = True
                return None
            keep = len(content) // 2 if fault == "cut" and content else None
            return self.answer(response.status, response.getheaders(), content, keep)

        def answer(self, code: int, headers: list[tuple[str, str]], content: bytes, keep: int | None = None) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):
                self.send_response_only(code)
                for name, value in headers:
                    if name.lower() not in PER_HOP | {"content-length"}:
                        self.send_header(name, value)
                # The length in a HEAD response is that of the body a GET would return.
                length = dict((name.lower(), value) for name, value in headers).get("content-length", str(len(content)))
                self.send_header("Content-Length", length if self.command == "HEAD" else str(len(content)))
                self.end_headers()
                self.wfile.write(content if keep is None else content[:keep])
            if keep is not None:
                self.close_connection = True

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Proxy


class Quiet(ThreadingHTTPServer):
    """A server that does not report clients that were killed or closed the connection."""

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def object_server(log: Path) -> Iterator[str]:
    """Runs moto's server for the duration of the context. Yields its URL."""
    port = free_port()
    with log.open("wb") as output:
        command = [str(Path(sys.executable).parent / "moto_server"), "--host", "127.0.0.1", "--port", str(port)]
        server = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            wait("the object store answers", lambda: answers(port), 60)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def answers(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False


@contextmanager
def faulty(upstream: str, faults: Faults) -> Iterator[str]:
    """Runs a proxy that makes requests fail, for the duration of the context. Yields its URL."""
    port = int(upstream.rsplit(":", 1)[1])
    server = Quiet(("127.0.0.1", 0), handler(port, faults))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
