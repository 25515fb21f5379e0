"""Calls of local programs: each is one run of an operation or a service, for a caller on another machine."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from operator import attrgetter
from typing import Any

from satchel import __version__
from satchel.base import machine, wire
from satchel.base.config import Config, parse_value
from satchel.base.config_keys import KEYS
from satchel.base.errors import Conflict, InvalidInput, Refused, Unavailable
from satchel.base.machine import Asks, caller_elsewhere, reset_elsewhere, set_elsewhere
from satchel.base.records import NamedTuple, replace
from satchel.base.wire import packed, unpacked
from satchel.client import Satchel
from satchel.interfaces.http.access import AGENT, PERSON, Access
from satchel.interfaces.http.elsewhere import CallerElsewhere
from satchel.interfaces.http.served import operation_named
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.operations.declaration import Operation
from satchel.keep.sessions.actors import be_seen
from satchel.keep.sessions.caller import COMMAND, HOOK, LIBRARY, SERVER, Caller
from satchel.remote.calls import RECORD, SERVED
from satchel.store import kept_calls

_KINDS = frozenset({SERVER, COMMAND, LIBRARY, HOOK})
_MOST_CALLERS, _MOST_ANSWERS, _MOST_RECEIPTS = 1_000, 1_000, 1_000
_MAX_KEPT_ANSWER = 64 * 1024
_HOOK_MS = 400
_SETTINGS = {key.name: key for key in KEYS if key.name.startswith(("hooks.", "guard."))}

Said = dict[str, Any]


class _Ask(NamedTuple):
    """One request of a local program, as it was sent."""

    access: Access
    name: str
    fields: Mapping[str, Any]

    def member(self, name: str, kind: Any, default: Any = None) -> Any:
        """Return a member of the request.

        Raises:
            InvalidInput: it is of another type.
        """
        value = self.fields.get(name, default)
        if value is not None and not isinstance(value, kind):
            raise InvalidInput(f"{name} of the call is of a wrong type", "Use the satchel program to call the server")
        return value


class Calls:
    """Runs the calls of local programs. Safe to share between threads.

    Args:
        stores: the stores of the server.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._lock = threading.Lock()
        self._callers: OrderedDict[tuple[str, str], Caller] = OrderedDict()
        self._answers: OrderedDict[tuple[str, str], Future[Said]] = OrderedDict()
        self._receipts: OrderedDict[tuple[str, str], Callable[[], object]] = OrderedDict()

    def run(self, access: Access, name: str, fields: Mapping[str, Any], started: Callable[[Satchel], object]) -> Said:
        """Run one call.

        Args:
            access: the rights of its token.
            name: what is called.
            fields: the call, as it was sent.
            started: told what the call works with, in the thread that runs it.

        Returns:
            ``answer``, as it travels, with ``kept`` and what stands beside it; or ``asks``, questions to the caller
            before it calls again; or ``kept`` alone, where the call was kept before and its answer is gone.

        Raises:
            SatchelError: the call is refused, or fails.
        """
        ask = _Ask(access, name, fields)
        if fields.get("wire") != wire.VERSION:
            raise Conflict(
                f"the server has version {__version__} of Satchel, the local program {fields.get('version')!s:.40}, "
                "and what they say to each other differs",
                "Bring both to the same version",
            )
        key = str(ask.member("key", str, ""))[:64]
        if not key:
            return self._run(ask, None, started)
        place = access.token, key
        with self._lock:
            known = self._answers.get(place) if fields.get("again") else None
            if known is None:
                future = self._answers[place] = Future[Said]()
                while len(self._answers) > _MOST_ANSWERS:
                    self._answers.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            said = self._was_kept(ask, key) if fields.get("again") else None
            said = self._run(ask, bytes.fromhex(key), started) if said is None else said
        except BaseException as error:
            future.set_exception(error)
            self._forget(place)
            raise
        future.set_result(said)
        if "asks" in said or not said.get("kept") or len(str(said)) > _MAX_KEPT_ANSWER:
            self._forget(place)
        return said

    def _forget(self, place: tuple[str, str]) -> None:
        with self._lock:
            self._answers.pop(place, None)

    def _was_kept(self, ask: _Ask, key: str) -> Said | None:
        """Return that a call was kept before, as by a server that was ended before it could answer."""
        satchel = self._stores.satchel(ask.access)
        with satchel.workplace.engine.read() as transaction:
            return {"kept": True} if kept_calls.is_kept(transaction, bytes.fromhex(key)) else None

    def _run(self, ask: _Ask, key: bytes | None, started: Callable[[Satchel], object]) -> Said:
        standing = ask.member("standing", dict, {})
        stores, access = self._stores, ask.access
        caller = self._caller(ask)
        is_nobody = access.role == AGENT and (caller is None or (caller.kind == COMMAND and not caller.may_make()))
        agent = standing.get("agent") or access.agent or (access.name if is_nobody else None)
        satchel = stores.satchel(access, caller=caller, agent=agent)
        elsewhere = CallerElsewhere(
            ask.member("facts", list, []),
            partial(stores.known_as, standing, access),
            None if ask.name in _REPEATABLE else key,
            satchel.workplace.clock,
            may_repeat=ask.name in _REPEATABLE,
        )
        before = set_elsewhere(elsewhere)
        try:
            satchel = self._placed(satchel, ask, standing)
            started(satchel)
            try:
                with elsewhere.beside_the_call():
                    be_seen(satchel.workplace)
                said = self._done(satchel, ask)
            except Asks:
                said = {}
                if caller is not None:
                    caller.was_not_seen()
            except Exception:
                if not elsewhere.asks:  # else it may be for want of an answer
                    raise
                said = {}
            if elsewhere.asks:
                return {"asks": elsewhere.asks}
            notes = [satchel.workplace.engine.take_note()]
            if satchel.workplace.caller is not None:
                notes.append(satchel.workplace.caller.take_note())
            told = "\n".join(note for note in notes if note)
            return {**said, "kept": elsewhere.is_kept, **({"notes": told} if told else {})}
        finally:
            reset_elsewhere(before)

    def _placed(self, satchel: Satchel, ask: _Ask, standing: Mapping[str, Any]) -> Satchel:
        """Return a Satchel that works where the caller stands."""
        project = standing.get("project")
        if project is not None and project != ask.access.project:
            raise Refused(
                f"the token leads to the project {ask.access.project!r}, not to {project!r}",
                "Leave --project and SATCHEL_PROJECT out, or use a token of that project",
            )
        root = machine.ROOT if standing.get("root") else None
        workplace = replace(
            satchel.workplace,
            root=root,
            files_root=machine.ROOT if standing.get("has_files") else None,
            worktree=self._stores.known_as(standing, ask.access, standing.get("worktree")) if root else None,
            run_id=standing.get("run"),
        )
        if standing.get("read_only"):
            workplace = replace(
                workplace, engine=self._stores.opened(ask.access.store, read_only=True).workplace.engine
            )
        config = _with_settings(satchel.config, ask.member("settings", dict, {}))
        return Satchel(workplace, satchel.place, config, satchel.environ)

    def _done(self, satchel: Satchel, ask: _Ask) -> Said:
        """Run what is called."""
        arguments = unpacked(ask.member("arguments", list, []))
        named = unpacked(ask.member("named", dict, {}))
        if ask.name == RECORD:
            return self._recorded(ask, arguments)
        if ask.name in SERVED:
            answer = _service(satchel, ask)(*arguments, **named)
            receipt = self._receipt(ask, satchel, arguments, answer)
            answer = replace(answer, prepared=None) if ask.name == "moments.make" else answer
            return {"answer": packed(answer), **({} if receipt is None else {"receipt": receipt})}
        if "." in ask.name:
            raise Unavailable(
                f"{ask.name[:80]} works only where the store is", "Run the command on the server's machine, with --db"
            )
        operation = operation_named(ask.name)
        operation.refuse_remote()
        _check_names(operation, named)
        answer = operation.bound(satchel)(*arguments, **named)
        said: Said = {"answer": packed(answer)}
        wanted = ask.member("notice", dict)
        if wanted is not None and not caller_asks():
            said["notice"] = satchel.notices.line(
                agent=wanted.get("agent"),
                shown_by=wanted.get("shown_by"),
                files=operation.files(answer),
                taken=() if operation.takes is None else operation.takes(answer),
            )
        return said

    def _caller(self, ask: _Ask) -> Caller | None:
        """Return who calls: the same for all calls of one program, so that its session is looked for once."""
        told = ask.member("caller", dict)
        if told is None:
            return None
        kind, environ = told.get("kind"), told.get("environ")
        if kind not in _KINDS or not isinstance(environ, dict):
            raise InvalidInput("the caller of the call is of an unknown kind", "Use the satchel program")
        place = ask.access.token, str(told.get("connection"))
        with self._lock:
            caller = self._callers.get(place)
        if caller is None:
            if kind == HOOK:
                client = str(told.get("client"))
                caller = Caller.of_hook(environ, client, told.get("host_id"), begins=told.get("begins") is True)
            else:
                caller = Caller(kind, environ)
            caller.is_of_person = ask.access.role == PERSON
        if kind == SERVER:
            caller.meet(told.get("client"), told.get("version"))
            caller.hear_id(told.get("host_id"))
        with self._lock:
            self._callers[place] = caller
            self._callers.move_to_end(place)
            while len(self._callers) > _MOST_CALLERS:
                self._callers.popitem(last=False)
        return caller

    def _receipt(self, ask: _Ask, satchel: Satchel, arguments: list[Any], made: Any) -> str | None:
        """Keep what is to be recorded once a text has reached the client; return the receipt for it."""
        if ask.name == "moments.make":
            act: Callable[[], object] = partial(satchel.moments.record, arguments[0], made)
            is_needed = made.prepared is not None
        elif ask.name.startswith("working."):
            act = partial(satchel.working.record, made)
            is_needed = bool(getattr(made, "shown", ()))
        else:
            return None
        if not is_needed:
            return None
        receipt = secrets.token_urlsafe(16)
        with self._lock:
            self._receipts[ask.access.token, receipt] = act
            while len(self._receipts) > _MOST_RECEIPTS:
                self._receipts.popitem(last=False)
        return receipt

    def _recorded(self, ask: _Ask, arguments: list[Any]) -> Said:
        with self._lock:
            act = self._receipts.pop((ask.access.token, str(arguments[0])), None)
        if act is not None:
            act()
        return {"answer": None}


_REPEATABLE = frozenset({"moments.make", "notices.line", RECORD})
"""What may be made again after something of it was kept: a window that is opened twice is as new as one."""


def caller_asks() -> bool:
    """Whether the caller of this context is to be asked before its call can be answered."""
    caller = caller_elsewhere()
    return isinstance(caller, CallerElsewhere) and bool(caller.asks)


def _service(satchel: Satchel, ask: _Ask) -> Callable[..., Any]:
    method: Callable[..., Any] = attrgetter(ask.name)(satchel)
    if ask.name == "moments.make":
        from satchel.brief.briefing.collecting import Deadline

        return lambda moment, **named: method(moment, Deadline(_HOOK_MS, _HOOK_MS), **named)
    if ask.name in {"working.prompt", "working.look"}:
        from satchel.brief.briefing.collecting import Deadline

        deadline = Deadline(_HOOK_MS, _HOOK_MS)
        return lambda text, **named: method(text, deadline.has_passed, **named)
    return method


def _check_names(operation: Operation, named: Mapping[str, Any]) -> None:
    """Refuse arguments that are none of an operation's."""
    known = {one.passed_as or one.name for one in operation.parameters} | {"dry_run", "run_id", "detail"}
    strangers = [name for name in named if name not in known]
    if strangers:
        raise InvalidInput(f"{operation.name} takes no {strangers[0]}", "Server and program need the same version")


def _with_settings(config: Config, given: Mapping[str, Any]) -> Config:
    """Return the configuration with what its user wants put into sessions."""
    values: dict[str, Any] = {
        name.replace(".", "_"): parse_value(_SETTINGS[name], value)
        for name, value in given.items()
        if name in _SETTINGS
    }
    return replace(config, **values) if values else config
