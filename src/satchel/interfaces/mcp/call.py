"""A running call of a tool: its progress, cancellation, answer and faults."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from satchel.base.errors import Interrupted, SatchelError
from satchel.client import Satchel

INTERNAL_TEXT = "internal error; see the server's log"


def reason_of(error: Exception, where: str) -> str:
    """Return a short reason for a failure; log the traceback of an unexpected one."""
    if isinstance(error, SatchelError):
        return error.problem
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    log_fault(where)
    return INTERNAL_TEXT


def log_fault(where: str) -> None:
    """Write the exception being handled to stderr, with its traceback."""
    with suppress(Exception):  # a client that closed stderr must still get its answer
        import traceback

        print(f"satchel: fault in {where}\n{traceback.format_exc()}", file=sys.stderr, end="", flush=True)  # noqa: T201 - stderr is the log


ServiceT = TypeVar("ServiceT")

Notify = Callable[[str, dict[str, Any]], None]

Hide = Callable[[str, str], str]

_NO_META: Mapping[str, Any] = MappingProxyType({})


class Call(Generic[ServiceT]):
    """A running tool call.

    Attributes:
        is_done: whether the work is done and only the answer is left to render. A later failure costs part of the
            answer, and is never reported as an error of the call.
        is_open: whether the service could be opened.
    """

    def __init__(
        self,
        opened: Callable[[], ServiceT],
        meta: Mapping[str, Any] = _NO_META,
        notify: Notify | None = None,
        hide: Hide = lambda text, _code: text,
    ) -> None:
        self._opened = opened
        self.hide = hide
        self.meta = meta
        token = meta.get("progressToken")
        self._token: str | int | None = token if type(token) in {str, int} else None
        self._notify = notify if self._token is not None else None
        self._done = float("-inf")
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []
        self._cancelled = False
        self._finished = False
        self.is_done = False
        self.is_open = False

    @cached_property
    def service(self) -> ServiceT:
        """The service, opened on first use."""
        service = self._opened()
        self.is_open = True
        return service

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the caller asked for it."""
        if self._notify is None or self._cancelled or self._finished or not done > self._done:
            return
        self._done = done
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self._notify("notifications/progress", params)

    def cancelled(self) -> bool:
        return self._cancelled

    def check(self) -> None:
        if self._cancelled:
            raise Interrupted("the call was cancelled")

    @contextmanager
    def on_cancel(self, callback: Callable[[], object]) -> Iterator[None]:
        """Run a callback in another thread if the call is cancelled while the block runs; wait for it at the end."""
        with self._lock:
            self.check()
            self._callbacks.append(callback)
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)

    def cancel(self) -> None:
        """Cancel the call, on behalf of the transport. No-op if repeated or after the end."""
        with self._lock:
            if self._cancelled or self._finished:
                return
            self._cancelled = True
            for callback in self._callbacks:
                try:
                    callback()
                except Exception:  # noqa: BLE001 - the other callbacks and the reading thread must continue
                    log_fault("a cancellation callback")

    def finish(self) -> None:
        """Mark the handler as returned, on behalf of the transport; nothing is sent or interrupted afterwards."""
        with self._lock:
            self._finished = True


def answer(
    call: Call[Satchel],
    form: str,
    text: Callable[[], str],
    fields: Callable[[], Mapping[str, object]],
    *,
    agent: str | None = None,
    files: Sequence[str | None] = (),
    taken: Sequence[str] = (),
) -> str:
    """Render the answer to a completed call."""
    call.is_done = True
    # rendered before the notice, which reads the store too and may be requested only once
    work = call.service.workplace
    shown = "" if form == "json" else text()
    parts = [notice_for(call, agent, files, taken, _LISTED.findall(shown))]
    if work.caller is not None:
        parts.append(work.caller.pop_warning())
    notice = "\n".join(part for part in parts if part is not None) or None
    return json_answer(fields(), notice) if form == "json" else text_answer(shown, notice)


# The short ids of items that a text shows: only they begin a line. Results of a search may cut what binds.
_LISTED = re.compile(r"^([cdef][1-9][0-9]*) (?!decision|constraint)", re.MULTILINE)


def notice_for(
    call: Call[Satchel],
    agent: str | None,
    files: Sequence[str | None] = (),
    taken: Sequence[str] = (),
    listed: Sequence[str] = (),
    *,
    is_preview: bool = False,
) -> str | None:
    """Return the notice for an answer, or None; if the look-up fails, a notice that reports this."""
    try:
        with call.on_cancel(call.service.interrupter()):
            return call.service.notices.line(
                agent=agent,
                files=[file for file in files if file is not None],
                shown_by="get_messages",
                taken=taken,
                listed=listed,
                is_preview=is_preview,
            )
    except Exception as error:  # noqa: BLE001 - the answer stands without it, and what was written is written
        reason = call.hide(reason_of(error, "a notice"), getattr(error, "code", ""))
        return f"notice: claims and messages of others could not be looked up ({reason})"


def notice_beside_error(call: Call[Any], arguments: Mapping[str, object]) -> str | None:
    """Return the notice for an error, or None if it cannot be looked up."""
    agent = arguments.get("agent")
    if not call.is_open:
        return None
    with suppress(Exception), call.on_cancel(call.service.interrupter()):
        named = agent if isinstance(agent, str) else None
        line: str | None = call.service.notices.line(agent=named, shown_by="get_messages")
        return line
    return None


def json_answer(fields: Mapping[str, object], notice: str | None) -> str:
    value = fields if notice is None else {**fields, "notice": notice}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_answer(text: str, notice: str | None) -> str:
    return text if notice is None else f"{text}\n{notice}"
