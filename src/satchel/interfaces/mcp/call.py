"""A running tool call for its handler: service, progress and cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Generic, TypeVar

from satchel.base.errors import Interrupted
from satchel.interfaces.mcp.faults import log_fault

ServiceT = TypeVar("ServiceT")

Notify = Callable[[str, dict[str, Any]], None]
"""Sends a notification to the client: its method and params."""

Hide = Callable[[str, str], str]

_NO_META: Mapping[str, Any] = MappingProxyType({})


class Call(Generic[ServiceT]):
    """A running tool call.

    Attributes:
        is_done: whether the work is done and only the answer is left to render. A later failure costs part of the
            answer, and is never reported as an error of the call.
    """

    __slots__ = (
        "_callbacks",
        "_cancelled",
        "_done",
        "_finished",
        "_lock",
        "_notify",
        "_token",
        "hide",
        "is_done",
        "meta",
        "service",
    )

    def __init__(
        self,
        service: ServiceT,
        meta: Mapping[str, Any] = _NO_META,
        notify: Notify | None = None,
        hide: Hide = lambda text, _code: text,
    ) -> None:
        self.service = service
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
        """Return whether the call was cancelled."""
        return self._cancelled

    def check(self) -> None:
        """Raise an error if the call was cancelled."""
        if self._cancelled:
            raise Interrupted("the call was cancelled")

    def on_cancel(self, callback: Callable[[], object]) -> CancelHook:
        """Register a callback that runs in another thread if the call is cancelled."""
        with self._lock:
            self.check()
            self._callbacks.append(callback)
        return CancelHook(self, callback)

    def forget(self, callback: Callable[[], object]) -> None:
        """Remove a callback; wait for it if it is running."""
        with self._lock:
            if callback in self._callbacks:
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


class CancelHook:
    """A registered cancellation callback; its exit as a context manager removes it."""

    __slots__ = ("_call", "_callback")

    def __init__(self, call: Call[Any], callback: Callable[[], object]) -> None:
        self._call = call
        self._callback = callback

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call.forget(self._callback)
