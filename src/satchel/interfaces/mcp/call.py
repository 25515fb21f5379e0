"""One running tool call as its handler sees it: its service, its progress and its cancellation."""

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

_NO_META: Mapping[str, Any] = MappingProxyType({})


class Call(Generic[ServiceT]):
    """One call of a tool.

    Args:
        service: the application object that handlers work on.
        meta: the request's ``_meta``.
        notify: sends a notification to the caller; None when the transport has no way.

    Attributes:
        is_done: whether the work is done and only the answer remains to be made. A failure after that costs a part of
            the answer, and is never reported as an error of the call.
    """

    __slots__ = (
        "_callbacks",
        "_cancelled",
        "_done",
        "_finished",
        "_lock",
        "_notify",
        "_token",
        "is_done",
        "meta",
        "service",
    )

    def __init__(self, service: ServiceT, meta: Mapping[str, Any] = _NO_META, notify: Notify | None = None) -> None:
        self.service = service
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
        """Report progress to the caller, if it asked for that.

        Args:
            done: the amount done so far; a value that does not exceed the last one told is not sent, because
                the protocol demands that progress increases.
            total: the whole amount, if known.
            message: what is being done.
        """
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
        """Whether the call is no longer wanted."""
        return self._cancelled

    def check(self) -> None:
        """Raise an error if the call was cancelled.

        Raises:
            Interrupted: it was cancelled.
        """
        if self._cancelled:
            raise Interrupted("the call was cancelled")

    def on_cancel(self, callback: Callable[[], object]) -> CancelHook:
        """Have a callable run, in another thread, when the call is cancelled.

        Args:
            callback: something short that makes the handler's wait end, such as ``connection.interrupt``; it
                must not use the call.

        Returns:
            The hook, as a context manager: once it is left, the callback neither runs nor is running, so that
            it cannot strike the next user of the connection. Without ``with`` it stays until the call ends.

        Raises:
            Interrupted: the call is cancelled already.
        """
        with self._lock:
            self.check()
            self._callbacks.append(callback)
        return CancelHook(self, callback)

    def forget(self, callback: Callable[[], object]) -> None:
        """Drop a callback; waits while it is running."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def cancel(self) -> None:
        """For the transport: the call is no longer wanted. A second time, or after its end, does nothing."""
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
        """For the transport: the handler has returned; nothing is sent or interrupted for it any more."""
        with self._lock:
            self._finished = True


class CancelHook:
    """A registered cancellation callback; leaving it as a context manager takes it back."""

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
