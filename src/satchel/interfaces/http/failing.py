"""Errors as JSON responses: a code, the problem and a remedy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from starlette.exceptions import HTTPException
from starlette.types import Send

from satchel.base.errors import ERROR_KINDS, SatchelError

Headers = Iterable[tuple[str, str]]

SAFETY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # with no-referrer browsers send `Origin: null` with a form, like a page of another site
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""The headers of all pages and of all errors."""

INTERNAL_PROBLEM = "internal error"
INTERNAL_REMEDY = "Nothing more is known here; the server's log names the fault under this request's id"


class Refusal(Exception):
    """A request refused with an HTTP status."""

    def __init__(self, status: int, code: str, problem: str, remedy: str | None = None, headers: Headers = ()) -> None:
        self.status = status
        self.code = code
        self.problem = problem
        self.remedy = remedy
        self.headers = tuple(headers)
        super().__init__(problem)


def refusal_of(error: BaseException) -> Refusal | None:
    """Return the refusal for an error; None for an unexpected one."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, SatchelError):
        return Refusal(error.kind.http_status, error.code, error.problem, error.remedy)
    if isinstance(error, HTTPException):
        headers = (error.headers or {}).items()
        if error.status_code == 404:
            return not_found()
        if error.status_code == 405:
            return method_not_allowed((error.headers or {}).get("Allow", ""))
        return Refusal(error.status_code, _code_of(error.status_code), "the request was refused", None, headers)
    return None


def unknown_token() -> Refusal:
    """Return the refusal of a token that gives no rights."""
    return Refusal(
        401,
        "refused",
        "the token is not known, has expired or was revoked",
        "Ask for a new one: `satchel token new NAME` makes it where the server runs",
        (("WWW-Authenticate", 'Bearer realm="satchel", error="invalid_token"'),),
    )


def not_found() -> Refusal:
    """Return the refusal of an unknown path; the path itself is not repeated."""
    return Refusal(404, "not_found", "there is nothing under this path", "MCP is under /mcp, the JSON API under /api")


def method_not_allowed(allowed: str) -> Refusal:
    """Return the refusal of a method that a path does not support."""
    allowed = ", ".join(sorted(allowed.split(", ")))  # they come from a set
    headers = (("Allow", allowed),) if allowed else ()
    return Refusal(
        405, "invalid_input", "this path does not take that method", f"Use {allowed}" if allowed else None, headers
    )


def head_too_long(limit: int) -> Refusal:
    """Return the refusal of a request head above the limit in bytes."""
    problem = f"the request line and headers are longer than {limit} bytes"
    return Refusal(431, "too_large", problem, "Send only the headers that are needed")


def internal() -> Refusal:
    """Return the refusal for an unexpected error, without its details."""
    return Refusal(500, "internal", INTERNAL_PROBLEM, INTERNAL_REMEDY)


def confined(refusal: Refusal, hide: Callable[[str, str], str]) -> Refusal:
    """Return a refusal for a token holder."""
    remedy = None if refusal.remedy is None else hide(refusal.remedy, refusal.code)
    return Refusal(refusal.status, refusal.code, hide(refusal.problem, refusal.code), remedy, refusal.headers)


def body_of(refusal: Refusal) -> bytes:
    error = {"code": refusal.code, "problem": refusal.problem, "remedy": refusal.remedy}
    return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "backslashreplace")


def headers_of(refusal: Refusal, body: bytes) -> list[tuple[bytes, bytes]]:
    headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("cache-control", "no-store")]
    return [
        (name.lower().encode(), value.encode("latin-1"))
        for name, value in (*headers, *SAFETY_HEADERS.items(), *refusal.headers)
    ]


async def send_refusal(refusal: Refusal, send: Send) -> None:
    """Respond to a request with a refusal."""
    body = body_of(refusal)
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers_of(refusal, body)})
    await send({"type": "http.response.body", "body": body})


def _code_of(status: int) -> str:
    codes = {kind.http_status: kind.code for kind in reversed(ERROR_KINDS.values())}
    return codes.get(status, "invalid_input" if status < 500 else "internal")
