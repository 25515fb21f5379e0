"""Calls of local programs: each runs one operation or service method for a caller on another machine."""

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
from satchel.base.config import parse_value
from satchel.base.config_keys import KEYS, Config
from satchel.base.errors import Conflict, Interrupted, Refused, SatchelError, Unavailable
from satchel.base.machine import reset_elsewhere, set_elsewhere
from satchel.base.records import replace
from satchel.base.wire import packed, unpacked
from satchel.brief.moments import MOMENTS, Moment
from satchel.brief.working.hook_context import HookAnswer
from satchel.client import Satchel
from satchel.interfaces.http import logs
from satchel.interfaces.http.access import AGENT, PERSON, Access
from satchel.interfaces.http.ask import (
    Ask,
    CallerElsewhere,
    Facts,
    KeptBefore,
    Recorded,
    are_texts,
    check_fit,
    malformed,
    named_arguments,
    read_facts,
)
from satchel.interfaces.http.public import notice_beside, operation_named
from satchel.interfaces.http.stores import Stores
from satchel.keep.sessions.actors import touch_session
from satchel.keep.sessions.caller import COMMAND, HOOK, LIBRARY, SERVER, Caller
from satchel.remote.calls import RECORD, RECORDED, SERVED, TIMED
from satchel.store import kept_calls

_MOST, _MOST_CHARS = 1_000, 8 * 1024 * 1024
_MAX_CHARS = 64 * 1024

Reply = dict[str, Any]
Place = tuple[str, str]


class Answers:
    """Cache of the answers to the last 1,000 calls that wrote something, and the calls in progress. Thread-safe.

    Answers longer than 64 Ki characters are not cached, and all together take at most 8 Mi characters.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Place, Future[Reply]] = {}
        self._replies: OrderedDict[Place, tuple[Reply, int]] = OrderedDict()
        self._chars = 0

    def once(self, place: Place, run: Callable[[], Reply]) -> Reply:
        """Return the answer to a call: the cached one, that of a thread already running it, or a new one.

        If the other thread is interrupted because its caller left, this thread runs the call.
        """
        while True:
            with self._lock:
                if place in self._replies:
                    return self._replies[place][0]
                other = self._running.get(place)
                if other is None:
                    own = self._running[place] = Future[Reply]()
                    break
            try:
                return other.result()
            except Interrupted:
                continue
        try:
            reply = run()
        except BaseException as error:
            self._end(place, None)
            own.set_exception(error)
            raise
        self._end(place, reply)
        own.set_result(reply)
        return reply

    def _end(self, place: Place, reply: Reply | None) -> None:
        size = len(str(reply)) if reply is not None and reply.get("kept") else _MAX_CHARS
        with self._lock:
            del self._running[place]
            if reply is None or size >= _MAX_CHARS:
                return
            self._replies[place] = reply, size
            self._chars += size
            while len(self._replies) > _MOST or self._chars > _MOST_CHARS:
                self._chars -= self._replies.popitem(last=False)[1][1]


_KINDS = frozenset({SERVER, COMMAND, LIBRARY, HOOK})
_MOST_CALLERS, _MOST_RECEIPTS = 1_000, 1_000
# What a server gives a hook of processor time, and by the clock: the hook itself ends after 3 s.
_HOOK_MS, _HOOK_CLOCK_MS = 400, 2_500

_SETTINGS = {key.name: key for key in KEYS if key.name.startswith(("hooks.", "guard."))}


class Calls:
    """Runner of the calls of local programs. Thread-safe."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._lock = threading.Lock()
        self._callers: OrderedDict[tuple[str, str], Caller] = OrderedDict()
        self._answers = Answers()
        self._recorded_of = Recorded()
        self._receipts: OrderedDict[tuple[str, str], Callable[[], object]] = OrderedDict()

    def run(self, access: Access, name: str, fields: Mapping[str, Any], started: Callable[[Satchel], object]) -> Reply:
        ask = Ask(access, name, fields)
        if fields.get("wire") != wire.VERSION:
            raise Conflict(
                f"the server has version {__version__} of Satchel, the local program {fields.get('version')!s:.40}, "
                "and what they say to each other differs",
                "Bring both to the same version",
            )
        key = ask.key()
        if not key:
            return self._run(ask, started)
        return self._answers.once((access.token, key), lambda: self._once(ask, started))

    def _once(self, ask: Ask, started: Callable[[Satchel], object]) -> Reply:
        if not ask.fields.get("again") or not self._was_kept(ask):
            return self._run(ask, started)
        if ask.name not in _BRIEFINGS:
            return {"kept": True}
        # it was asked for to be read, and says of what it gave before that it is known
        by_name = {**ask.member("named", dict), "again": True}
        return self._run(ask._replace(fields={**ask.fields, "named": by_name, "key": None}), started)

    def _was_kept(self, ask: Ask) -> bool:
        key = ask.durable_key()
        satchel = self._stores.satchel(ask.access)
        with satchel.workplace.engine.read() as transaction:
            return key is not None and kept_calls.is_kept(transaction, ask.access.project, key)

    def _run(self, ask: Ask, started: Callable[[Satchel], object]) -> Reply:
        standing = ask.standing()
        stores, access = self._stores, ask.access
        caller = self._caller(ask)
        starts_no_session = caller is None or (caller.kind == COMMAND and not caller.can_start_session())
        is_nobody = access.role == AGENT and starts_no_session
        if caller is None:
            caller = Caller(LIBRARY, {}, ())
            caller.is_of_person = access.role == PERSON
        agent = standing.get("agent") or access.agent or (access.name if is_nobody else None)
        satchel = stores.satchel(access, caller=caller, agent=agent)
        key = None if ask.name in _MADE_AGAIN else ask.durable_key()
        elsewhere = CallerElsewhere(self._facts(ask, standing), access.project, key, satchel.workplace.clock)
        before = set_elsewhere(elsewhere)
        try:
            satchel = self._placed(satchel, ask, standing)
            started(satchel)
            try:
                if ask.name != RECORDED:  # which session it is can depend on what is recorded
                    with elsewhere.beside_the_call():
                        touch_session(satchel.workplace)
                reply = self._done(satchel, ask, elsewhere)
            except KeptBefore:
                return {"kept": True}
            except Interrupted:
                raise
            except SatchelError as error:
                fields = wire.error_fields(error)
                hide = partial(stores.without_places, code=error.code)
                reply = {"error": {name: None if text is None else hide(text) for name, text in fields.items()}}
            except Exception as error:
                if not elsewhere.is_kept:
                    raise
                reply = {}
                logs.fault(error)
            warning = None if satchel.workplace.caller is None else satchel.workplace.caller.pop_warning()
            return {**reply, "kept": elsewhere.is_kept, **({"notes": warning} if warning else {})}
        finally:
            reset_elsewhere(before)

    def _facts(self, ask: Ask, standing: Mapping[str, Any]) -> Facts:
        known_as = partial(self._stores.known_as, standing, ask.access)
        tree = (ask.access.token, *(str(standing.get(name)) for name in ("machine", "root", "worktree")))
        recorded = self._recorded_of.of(tree, read_facts(ask.member("recorded", list), known_as))
        return {**recorded, **read_facts(ask.member("facts", list), known_as)}

    def _placed(self, satchel: Satchel, ask: Ask, standing: Mapping[str, Any]) -> Satchel:
        project = standing.get("project")
        if project is not None and project != ask.access.project:
            raise Refused(
                f"the token leads to the project {ask.access.project!r}, not to {project[:80]!r}",
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
            workplace = replace(workplace, engine=self._stores.engine(ask.access, read_only=True))
        config = _with_settings(satchel.config, ask.member("settings", dict))
        return Satchel(workplace, satchel.place, config, satchel.environ)

    def _done(self, satchel: Satchel, ask: Ask, elsewhere: CallerElsewhere) -> Reply:
        arguments, by_name = unpacked(ask.member("arguments", list)), unpacked(ask.member("named", dict))
        if not isinstance(by_name, dict):
            raise malformed("named")
        if ask.name == RECORD:
            return self._recorded(ask, arguments)
        if ask.name in SERVED:
            answer = _service(satchel, ask, arguments, by_name)()
            elsewhere.is_done = True
            receipt = self._receipt(ask, satchel, arguments, answer)
            answer = replace(answer, prepared=None) if ask.name == "moments.make" else answer
            return {"answer": packed(answer), **({} if receipt is None else {"receipt": receipt})}
        if "." in ask.name:
            raise Unavailable(
                f"{ask.name[:80]} works only where the store is", "Run the command on the server's machine, with --db"
            )
        operation = operation_named(ask.name)
        operation.refuse_remote()
        if operation.of_program:
            raise Unavailable(f"{operation.name} asks the program itself", "Ask it where it runs")
        by_name = named_arguments(operation, arguments, by_name)
        answer = operation.bound(satchel)(**by_name)
        elsewhere.is_done = True
        reply: Reply = {"answer": packed(answer)}
        if isinstance(ask.fields.get("notice"), dict):
            wanted = ask.member("notice", dict)
            reply["notice"] = notice_beside(satchel, operation, answer, wanted.get("agent"), wanted.get("shown_by"))
        return reply

    def _caller(self, ask: Ask) -> Caller | None:
        fields = ask.member("caller", dict)
        if not fields:
            return None
        kind, environ, programs = fields.get("kind"), fields.get("environ"), fields.get("programs", [])
        if not isinstance(kind, str) or kind not in _KINDS:
            raise malformed("caller")
        if not isinstance(environ, dict) or not are_texts(environ.values()):
            raise malformed("caller")
        if not isinstance(programs, list) or not are_texts(programs):
            raise malformed("caller")
        if not are_texts(fields.get(name) for name in ("client", "version", "host_id") if fields.get(name) is not None):
            raise malformed("caller")
        place = ask.access.token, str(fields.get("connection"))
        with self._lock:
            caller = self._callers.get(place)
        if caller is None:
            if kind == HOOK:
                client = str(fields.get("client"))
                caller = Caller.of_hook(environ, client, fields.get("host_id"), begins=fields.get("begins") is True)
            else:
                caller = Caller(kind, environ, programs)
            caller.is_of_person = ask.access.role == PERSON
        if kind == SERVER:
            caller.set_client(fields.get("client"), fields.get("version"))
            caller.set_session_id(fields.get("host_id"))
        with self._lock:
            self._callers[place] = caller
            self._callers.move_to_end(place)
            while len(self._callers) > _MOST_CALLERS:
                self._callers.popitem(last=False)
        return caller

    def _receipt(self, ask: Ask, satchel: Satchel, arguments: list[Any], made: Any) -> str | None:
        if ask.name == "moments.make":
            act: Callable[[], object] = partial(satchel.moments.record, arguments[0], made)
            is_needed = made.prepared is not None
        elif ask.name.startswith("working."):
            act = partial(satchel.working.record, made)
            is_needed = isinstance(made, HookAnswer) and bool(made.items)
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

    def _recorded(self, ask: Ask, arguments: list[Any]) -> Reply:
        with self._lock:
            act = self._receipts.pop((ask.access.token, str(arguments[:1] and arguments[0])), None)
        if act is not None:
            act()
        return {"answer": None}


_BRIEFINGS = frozenset({"brief", "get_briefing"})

# What keeps in several steps, and comes to the same when it is made again: its first step says nothing of the last.
_MADE_AGAIN = frozenset({"claim_files", "clear_old_data", "moments.make", "notices.line", RECORD})


def _service(satchel: Satchel, ask: Ask, arguments: list[Any], named: Mapping[str, Any]) -> Callable[[], Any]:
    method: Callable[..., Any] = attrgetter(ask.name)(satchel)
    if ask.name in TIMED:
        from satchel.brief.briefing.collecting import Deadline

        deadline = Deadline(_HOOK_MS, _HOOK_CLOCK_MS)
        arguments = [*arguments[:1], deadline if ask.name == "moments.make" else deadline.has_passed, *arguments[1:]]
    if ask.name == "moments.make":
        arguments[0] = _moment(arguments[0])
    check_fit(method, arguments, named)
    return partial(method, *arguments, **named)


def _moment(value: Any) -> Moment:
    for moment in MOMENTS:
        if isinstance(value, Moment) and (value.name, value.opens_window) == (moment.name, moment.opens_window):
            return moment
    raise malformed("the moment")


def _with_settings(config: Config, settings: Mapping[str, Any]) -> Config:
    values: dict[str, Any] = {
        name.replace(".", "_"): parse_value(_SETTINGS[name], value)
        for name, value in settings.items()
        if name in _SETTINGS
    }
    return config.with_changes(**values) if values else config
