"""Calls to a server: what is sent with each, and answers that were lost."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from satchel import __version__
from satchel.base import processes, wire
from satchel.base.errors import AnswerLost, Busy, Interrupted, InvalidInput, Unreachable
from satchel.base.records import dataclass
from satchel.base.wire import packed, unpacked
from satchel.keep.sessions.caller import COMMAND, HOOK, SERVER, Caller
from satchel.keep.sessions.clients import CLIENTS, VARIABLE
from satchel.remote.connection import Connection, Lost, Reply, Untaken
from satchel.remote.facts import Fact, Facts, Surroundings

CONTENT_TYPE = "application/vnd.satchel.call+json"
SERVED = frozenset(
    {
        *("brief", "entries.load_state", "notices.line", "moments.make", "sessions.end", "files.check_commit"),
        *("sessions.record_hooks", "sessions.recorded"),
        *("working.before_edit", "working.after_edit", "working.prompt", "working.look"),
        *("working.command_failed", "working.command_succeeded", "working.command_ended", "working.plan_approved"),
        *("dry_working.before_edit", "dry_working.after_edit", "dry_working.plan_approved"),
        *("dry_working.command_ended", "dry_working.last_error"),
    }
)
"""What hooks, the guard and servers of clients call beside the operations."""

RECORD = "hooks.record"
"""What a hook calls once its text has reached the client."""

NOTHING: Any = object()
"""What came beside an answer under a name that nothing came under."""

SECONDS = 75.0
"""So long a call waits for its answer: waiting for a claim may take 45 s."""

_READ_BACK = "Read it back rather than ask for it again"

RECORDED = "sessions.recorded"
"""What a program asks for as a session starts, to send what holds of it here."""

_PAUSES = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)
"""Seconds before a call whose answer was lost is sent again."""

_OF_EDITS = (".before_edit", ".after_edit")
"""How the calls end that say which files a client's tool edits."""

_VARIABLES = (VARIABLE, *{name for one in CLIENTS for name in (one.id_variable, *one.markers) if name is not None})
"""What a server needs of the environment, to tell which session a call belongs to."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where and as whom a program calls.

    Attributes:
        project: the project that it means, or None for the one of its token.
        run, agent: the run and agent where a call names none.
        read_only: refuse every write.
        settings: what the configuration here says of what is put into a client's session, by key.
        seconds: how long a call may take; None is :data:`SECONDS`.
    """

    here: Surroundings
    project: str | None
    run: str | None
    agent: str | None
    read_only: bool
    settings: tuple[tuple[str, Any], ...] = ()
    seconds: float | None = None


class Calls:
    """The calls of one opened Satchel to its server. Safe to share between threads.

    Attributes:
        kept: how many calls were kept.
    """

    def __init__(self, connection: Connection, standing: Standing, caller: Caller | None) -> None:
        self._connection = connection
        self._standing = standing
        self._caller = caller
        self._identity = os.urandom(16).hex()
        self._side = threading.local()
        self._facts = Facts(standing.here, caller)
        self._has_compared = False
        self.kept = 0

    def call(
        self,
        name: str,
        *arguments: Any,
        asks_notice: Mapping[str, Any] | None = None,
        facts: Mapping[str, str] = MappingProxyType({}),
        cites: bool = False,
        **named: Any,
    ) -> Any:
        """Call a method of a service, or an operation, and return its answer.

        Args:
            name: what is called.
            asks_notice: what the notice of the answer's receiver is to be made for; None asks for none.
            facts: by the names of parameters, what is looked up here of the files that they name.
            cites: whether its answer says of cited files whether they have changed.

        Raises:
            AnswerLost: it was kept, and its answer was lost.
            Unreachable: the server cannot be reached; the error says whether anything may have been kept.
            SatchelError: what the server raises.
        """
        named.pop("progress", None)  # a server does not say how far it is
        deadline = time.monotonic() + (self._standing.seconds or SECONDS)
        request: dict[str, Any] = {
            "wire": wire.VERSION,
            "version": __version__,
            "arguments": packed(list(arguments)),
            "named": packed(named),
            "standing": self._told_standing(),
            "caller": self._told_caller(),
            "settings": dict(self._standing.settings),
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
        return self._taken(self._exchange(name, request, deadline))

    def _is_start(self, name: str, arguments: tuple[Any, ...], *, cites: bool) -> bool:
        kind = None if self._caller is None else self._caller.kind
        if kind == HOOK:
            return name == "moments.make" and (arguments[0].opens_window or arguments[0].name == "resume")
        return (cites and name == "get_briefing") or (not self._has_compared and (cites or kind == SERVER))

    def _compare(self, request: Mapping[str, Any], deadline: float) -> list[Fact]:
        """Return what holds here of what the server has recorded of this machine and tree."""
        self._has_compared = True
        recorded = self._exchange(RECORDED, {**request, "arguments": [], "named": {}}, deadline)
        half = (time.monotonic() + deadline) / 2
        return self._facts.compared(unpacked(recorded.get("answer")), lambda: time.monotonic() > half)

    @property
    def where(self) -> str:
        """The server, in words."""
        return f"that of the server {self._connection.url}"

    def take_side(self, name: str) -> Any:
        """Return what came beside the last answer of this thread, once: ``notice`` or ``receipt``.

        Returns:
            :data:`NOTHING` where nothing came under that name.
        """
        return getattr(self._side, "said", {}).pop(name, NOTHING)

    def close(self) -> None:
        """Close the connections to the server."""
        self._connection.close()

    def _taken(self, said: dict[str, Any]) -> Any:
        self.kept += bool(said.get("kept"))
        self._side.said = {name: said[name] for name in ("notice", "receipt") if name in said}
        if self._caller is not None and "notes" in said:
            self._caller.notes.append(said["notes"])
        if "answer" not in said:
            raise AnswerLost("the answer was lost; what was to be kept is kept", _READ_BACK)
        try:
            return unpacked(said["answer"])
        except InvalidInput as error:
            if not said.get("kept"):
                raise
            raise AnswerLost(f"what was to be kept is kept; {error.problem}", _READ_BACK) from None

    def _exchange(self, name: str, request: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        """Send a request until it is answered: with its key, so that it is done once.

        Once an answer was lost, only an answer that knows of the key says what became of the call.
        """
        lost: str | None = None
        pauses = iter(_PAUSES if self._standing.seconds is None else ())
        while True:
            body = json.dumps({**request, **({} if lost is None else {"again": True})}, separators=(",", ":")).encode()
            try:
                seconds = max(0.05, deadline - time.monotonic())
                return _read(self._connection.post(f"/api/{name}", body, CONTENT_TYPE, seconds), lost)
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
            if self._stop().wait(pause):
                self._side.stop = None
                raise Interrupted("the call was cancelled", "Whether anything was kept is not known: read it back")

    def _stop(self) -> threading.Event:
        """Return what is set once the call of this thread is cancelled."""
        return getattr(self._side, "stop", None) or threading.Event()

    def interrupter(self) -> Callable[[], None]:
        """Return what ends the call that the calling thread makes next, or makes, when it is called."""
        stop = self._side.stop = threading.Event()
        interrupt = self._connection.interrupter()

        def end() -> None:
            stop.set()
            interrupt()

        return end

    def _told_standing(self) -> dict[str, Any]:
        standing, here = self._standing, self._standing.here
        return {
            "project": standing.project,
            "run": standing.run,
            "agent": standing.agent,
            "read_only": standing.read_only,
            "root": here.root,
            "has_files": here.files_root is not None,
            "worktree": here.worktree,
            "host": here.host,
            "machine": processes.machine(),
        }

    def _told_caller(self) -> dict[str, Any] | None:
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
    """Return what a server said; raise the error that it is.

    Args:
        lost: why an earlier answer to the same call was lost; None where none was.

    Raises:
        Lost: what stands before the server, or the server that stops, does not know what became of the call.
        Unreachable: what answered is no Satchel server, or does not know what became of the call that was lost.
        SatchelError: as the server raised it.
    """
    said, is_cut = None, False
    try:
        said = json.loads(reply.body)
    except (ValueError, RecursionError):
        is_cut = "json" in reply.content_type
    told = f"status {reply.status}, {reply.content_type[:80] or 'no type'}"
    if not isinstance(said, dict) and (reply.status >= 500 or is_cut):
        raise Lost(told)
    error = said.get("error") if isinstance(said, dict) else None
    if isinstance(error, dict) and isinstance(error.get("code"), str) and isinstance(error.get("problem"), str):
        known = wire.error_of(error)
        if isinstance(known, Unreachable) or (lost is not None and isinstance(known, Busy)):
            raise Lost(known.problem)
        if lost is not None and isinstance(said, dict) and "kept" not in said:
            raise _unknown(f"{lost}; then the server said: {known.problem}")
        raise known
    if isinstance(said, dict) and _is_said(said):
        return said
    if lost is not None:
        raise _unknown(f"{lost}; then what answered was no Satchel server: {told}")
    raise Unreachable(
        f"what answered is no Satchel server: {told}",
        "See that SATCHEL_URL or server.url names the server itself, and what stands in front of it",
    )


def _is_said(said: Mapping[str, Any]) -> bool:
    """Whether it is what a Satchel server says of a call."""
    return said.get("kept") is True or ("answer" in said and said.get("kept") is False)


def _unknown(why: str) -> Untaken:
    return Untaken(
        f"the answer of the server was lost ({why}), and whether anything was kept is not known",
        "Read it back before you ask for it again",
    )
