"""Calls to a server: the data sent with each, and recovery of lost answers."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from satchel import __version__
from satchel.base import processes, wire
from satchel.base.errors import AnswerLost, Busy, Interrupted, InvalidInput, SatchelError, Unreachable
from satchel.base.wire import packed, unpacked
from satchel.keep.projects import Workplace
from satchel.keep.sessions.caller import COMMAND, HOOK, SERVER
from satchel.keep.sessions.clients import CLIENTS, VARIABLE
from satchel.remote.connection import Connection, Lost, Reply, Untaken, error_in, plain
from satchel.remote.facts import Fact, Facts

CONTENT_TYPE = "application/vnd.satchel.call+json"

# methods that hooks, the guard and clients' servers call, which are no operations
SERVED = frozenset(
    {
        *("brief", "entries.load_state", "notices.line", "moments.make", "sessions.end", "files.check_commit"),
        *("sessions.end_turn", "sessions.record_hooks", "sessions.recorded"),
        *("working.before_edit", "working.after_edit", "working.after_read", "working.unchecked_edit"),
        *("working.prompt", "working.look", "dry_working.prompt"),
        *("working.command_failed", "working.command_succeeded", "working.command_ended", "working.plan_approved"),
        *("dry_working.before_edit", "dry_working.after_edit", "dry_working.after_read", "dry_working.plan_approved"),
        *("dry_working.command_ended", "dry_working.last_error"),
    }
)

# methods whose second argument, how long they may take, is the server's
TIMED = frozenset({"moments.make", "working.prompt", "working.look", "dry_working.prompt"})

# what a hook calls once its text has reached the client
RECORD = "hooks.record"

# marks a missing notice or receipt
NOTHING: Any = object()

# so long a call waits for its answer: waiting for a claim may take 45 s
SECONDS = 75.0

_DONE = "done, but the answer was lost"
_READ_BACK = "Read it back instead of repeating the call"

# what a program asks for as a session starts, to send what holds of it here
RECORDED = "sessions.recorded"

_PAUSES = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)

# how the calls end that say which files a client's tool edits
_OF_EDITS = (".before_edit", ".after_edit", ".after_read", ".unchecked_edit")

# what a server needs of the environment, to tell which session a call belongs to
_VARIABLES = (VARIABLE, *{name for one in CLIENTS for name in (one.id_variable, *one.markers) if name is not None})


class Calls:
    """The calls of one opened Satchel to its server. Thread-safe.

    Args:
        settings: values of configuration keys that go before the server's.
        seconds: how long each call may take, without retries; None is the default, with them.
    """

    def __init__(
        self,
        connection: Connection,
        workplace: Workplace,
        *,
        read_only: bool,
        settings: Mapping[str, Any] = MappingProxyType({}),
        seconds: float | None = None,
    ) -> None:
        self.connection = connection
        self._workplace = workplace
        self._caller = workplace.caller
        self._read_only = read_only
        self._settings = settings
        self._seconds = seconds
        self._identity = os.urandom(16).hex()
        self._side = threading.local()
        self._facts = Facts(workplace)
        self._has_compared = False

    def call(
        self,
        name: str,
        *arguments: Any,
        asks_notice: Mapping[str, Any] | None = None,
        facts: Mapping[str, str] = MappingProxyType({}),
        cites: bool = False,
        **named: Any,
    ) -> Any:
        """Call a service method or an operation, and return its answer."""
        named.pop("progress", None)  # a server does not report progress
        deadline = time.monotonic() + (self._seconds or SECONDS)
        request: dict[str, Any] = {
            "wire": wire.VERSION,
            "version": __version__,
            "arguments": packed(list(arguments)),
            "named": packed(named),
            "standing": self._standing_fields(),
            "caller": self._caller_fields(),
            "settings": dict(self._settings),
            "facts": self._facts.of_caller(),
        }
        if self._is_start(name, arguments, cites=cites):
            request["recorded"] = self._compare(request, deadline)
        request["key"] = os.urandom(16).hex()
        if asks_notice is not None:
            request["notice"] = packed(dict(asks_notice))
        request["facts"] += self._facts.of_parameters(facts, named)
        if name.endswith(_OF_EDITS):
            request["facts"] += self._facts.of_edits(*arguments)
        return self._answer_of(self._exchange(name, request, deadline))

    def _is_start(self, name: str, arguments: tuple[Any, ...], *, cites: bool) -> bool:
        kind = None if self._caller is None else self._caller.kind
        if kind == HOOK:
            return name == "moments.make" and (arguments[0].opens_window or arguments[0].name == "resume")
        return (cites and name == "get_briefing") or (not self._has_compared and (cites or kind == SERVER))

    def _compare(self, request: Mapping[str, Any], deadline: float) -> list[Fact]:
        self._has_compared = True
        recorded = self._exchange(RECORDED, {**request, "arguments": [], "named": {}}, deadline)
        half = (time.monotonic() + deadline) / 2
        return self._facts.compared(unpacked(recorded.get("answer")), lambda: time.monotonic() > half)

    def take_side(self, name: str) -> Any:
        """Return and clear the ``notice`` or ``receipt`` of this thread's last answer."""
        return getattr(self._side, "beside", {}).pop(name, NOTHING)

    def _answer_of(self, fields: dict[str, Any]) -> Any:
        self.connection.kept += bool(fields.get("kept"))
        self._side.beside = {name: fields[name] for name in ("notice", "receipt") if name in fields}
        if self._caller is not None and isinstance(fields.get("notes"), str):
            self._caller.notes.append(fields["notes"])
        if "answer" not in fields:
            raise AnswerLost(_DONE, _READ_BACK)
        try:
            return unpacked(fields["answer"])
        except InvalidInput as error:
            if not fields.get("kept"):
                raise
            raise AnswerLost(f"{_DONE}: {error.problem}", _READ_BACK) from None

    def _exchange(self, name: str, request: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        lost: str | None = None
        pauses = iter(_PAUSES if self._seconds is None else ())
        while True:
            body = json.dumps({**request, **({} if lost is None else {"again": True})}, separators=(",", ":")).encode()
            try:
                seconds = max(0.05, deadline - time.monotonic())
                return _read(self._post(name, body, seconds, lost), lost)
            except Lost as error:
                is_first, lost = lost is None, str(error)
                if is_first and error.is_at_once:
                    continue
            except Untaken:
                raise
            except Unreachable as unreachable:
                if lost is None:
                    raise
                lost = unreachable.problem
            pause = next(pauses, None)
            if pause is None or time.monotonic() + pause >= deadline:
                raise _unknown(lost)
            if self.connection.pause(pause):
                raise Interrupted("the call was cancelled", "Whether anything was kept is not known: read it back")

    def _post(self, name: str, body: bytes, seconds: float, lost: str | None) -> Reply:
        try:
            return self.connection.post(f"/api/{name}", body, CONTENT_TYPE, seconds)
        except Unreachable:
            raise
        except SatchelError as error:
            if lost is None:
                raise
            raise _unknown(f"{lost}; then the server said: {error.problem}") from None

    def _standing_fields(self) -> dict[str, Any]:
        work = self._workplace
        return {
            "project": work.project_name,
            "run": work.run_id,
            "agent": work.agent,
            "read_only": self._read_only,
            "root": work.root,
            "has_files": work.files_root is not None,
            "worktree": work.worktree,
            "host": os.uname().nodename.replace(":", "-"),  # others see a worktree by host and path
            "machine": processes.machine(),
        }

    def _caller_fields(self) -> dict[str, Any] | None:
        caller = self._caller
        if caller is None:
            return None
        return {
            "kind": caller.kind,
            "environ": {name: value for name in _VARIABLES if (value := caller.environ.get(name))},
            "programs": list(caller.programs) if caller.kind == COMMAND else [],
            "client": None if caller.client is None else caller.client.name,
            "version": caller.version,
            "host_id": caller.host_id,
            "begins": caller.begins,
            "connection": self._identity,
        }


def _read(reply: Reply, lost: str | None) -> dict[str, Any]:
    fields, is_cut, kind = None, False, plain(reply.content_type)[:80]
    try:
        fields = _plain(json.loads(reply.body))
    except (ValueError, RecursionError):
        is_cut = "json" in reply.content_type
    status = f"status {reply.status}, {kind or 'no type'}"
    if not isinstance(fields, dict) and (reply.status >= 500 or is_cut):
        raise Lost(status)
    failure = error_in(fields)
    if failure is not None:
        if isinstance(failure, Unreachable) or (lost is not None and isinstance(failure, Busy)):
            raise Lost(failure.problem)
        if lost is not None and isinstance(fields, dict) and "kept" not in fields:
            raise _unknown(f"{lost}; then the server said: {failure.problem}")
        raise failure
    if isinstance(fields, dict) and _is_answer(fields):
        return fields
    if lost is not None:
        raise _unknown(f"{lost}; then what answered was no Satchel server: {status}")
    raise Unreachable(
        f"what answered is no Satchel server: {status}",
        "Check that SATCHEL_URL or server.url names the server itself, and look at any proxy in front of it",
    )


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return list(map(_plain, value))
    return {plain(name): _plain(one) for name, one in value.items()} if isinstance(value, dict) else value


def _is_answer(fields: Mapping[str, Any]) -> bool:
    return fields.get("kept") is True or ("answer" in fields and fields.get("kept") is False)


def _unknown(why: str) -> Untaken:
    return Untaken(
        f"the answer of the server was lost ({why}), and whether anything was kept is not known",
        "Read it back before you ask for it again",
    )
