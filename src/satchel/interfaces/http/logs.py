"""The server's log on stderr: one line of JSON per request and fault, without contents.

It has no query, body, token or exception message, since any of them may contain stored text.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from satchel.base.clock import iso, system_clock

if TYPE_CHECKING:
    from satchel.interfaces.http.exchange import Exchange

_FRAMES = 12
_KNOWN_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


def method_of(exchange: Exchange) -> str:
    """Return the method of a request for logs and metrics; `other` for an unknown one."""
    return exchange.method if exchange.method in _KNOWN_METHODS else "other"


def request(exchange: Exchange) -> None:
    """Log a completed request: at a terminal, where lines would push the login link away, only one that failed."""
    with suppress(OSError, ValueError, AttributeError):  # as in _write
        if sys.stderr.isatty() and (exchange.status or 0) < 500:
            return
    _write(
        {
            "request": exchange.id,
            "token": exchange.token,
            "method": method_of(exchange),
            "route": exchange.route,
            "status": exchange.status,
            "ms": round(exchange.seconds * 1_000, 1),
            "bytes_in": exchange.bytes_in,
            "bytes_out": exchange.bytes_out,
        }
    )


def fault(error: BaseException, **facts: object) -> None:
    """Log an unexpected error: its type and location, without its message."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    at = [f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    _write({**facts, "fault": type(error).__name__, "at": at})


def take_over() -> None:
    """Reformat the log records of libraries, without their messages."""
    logging.basicConfig(handlers=[_Handler(logging.WARNING)], level=logging.WARNING, force=True)
    logging.captureWarnings(True)


class _Handler(logging.Handler):
    """A handler that logs the source, level and location of a record."""

    def emit(self, record: logging.LogRecord) -> None:
        from satchel.interfaces.http.exchange import CutOff

        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, CutOff):  # the gate has logged why
            return
        line = f"{record.module}:{record.lineno}"
        facts: dict[str, object] = {"logger": record.name, "level": record.levelname.lower(), "line": line}
        if error is None:
            _write(facts)
        else:
            fault(error, **facts)


def _write(facts: dict[str, object]) -> None:
    line = json.dumps({"time": iso(system_clock()), **facts}, separators=(",", ":"))
    # a missing or broken log must not make requests fail
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
