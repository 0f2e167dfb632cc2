"""The explorer's page served on this machine alone, with plans by real planners.

Whoever asks must know the token in the address and must have come by the address that was given out: a page of another
origin has neither, and a name that was bound to 127.0.0.1 by others is refused. There are two things to ask for: the
page, and a plan.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from trace2strips.errors import FileError, UserError
from trace2strips.schemas import Schema, record

LARGEST_QUESTION = 1_000_000  # bytes
HOST = "127.0.0.1"
TOLD = record("Told", {"steps": list[tuple[str, bool]], "init": list[str] | None, "state": str | None}, {}, "ignore")
QUESTION = Schema(record("Question", {"trace": TOLD, "true": list[str], "false": list[str]}, {}, "ignore"))
Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Server(ThreadingHTTPServer):
    """Holds the page and the one who plans. `address` is where the page is, with its token."""

    daemon_threads = True

    def __init__(self, page: str, answer: Answer, port: int = 0) -> None:
        self.page, self.answer = page.encode(), answer
        self.token = secrets.token_urlsafe(24)
        self.planning = threading.Lock()  # one plan at a time: a planner takes all memory that it may
        try:
            super().__init__((HOST, port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FileError(f"port {port}: {reason}", hint="--port 0 takes any that is free") from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who hangs up in the middle is no error of ours to be told on the terminal."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def origins(self) -> dict[str, str]:
        """The hosts by which it may be asked, with the origin of pages that came by them."""
        return {f"{name}:{self.server_port}": f"http://{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "trace2strips", ""
    timeout = 60

    def do_GET(self) -> None:
        if self.is_welcome("/"):
            self.send(200, self.server.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        if not self.is_welcome("/plan"):
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Origin") not in (None, self.server.origins[self.headers["Host"]]):
            self.refuse(403, "another origin")
        elif self.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            self.refuse(415, "not JSON")  # a form of another page cannot send this
        elif not length.isdecimal() or len(length) > 20 or int(length) > LARGEST_QUESTION:
            self.refuse(413, "too long, or of no length")
        else:
            self.answer(self.rfile.read(int(length)))

    def answer(self, text: bytes) -> None:
        try:
            question = QUESTION.parse(text)
            with self.server.planning:
                found = self.server.answer(question)
        except UserError as error:
            found = {"error": str(error)}
        except ValueError:
            self.refuse(400, "no question")
            return
        self.send(200, json.dumps(found).encode(), "application/json")

    def is_welcome(self, path: str) -> bool:
        """Whether the host, the token and the path are right; otherwise nothing is told but that they are not."""
        if self.headers.get("Host") not in self.server.origins:
            self.refuse(403, "another host")
            return False
        token, _, rest = self.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or f"/{rest}" != path:
            self.refuse(404, "nothing here")
            return False
        return True

    def refuse(self, code: int, why: str) -> None:
        self.close_connection = True
        self.send(code, why.encode(), "text/plain; charset=utf-8")

    def send(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The address has the token: it is not written down."""
