"""``satchel hook CLIENT EVENT``: one command behind every hook of every client.

It never fails its host: whatever goes wrong, it ends with status 0 and prints nothing, and the fault is recorded for
``satchel doctor``. Nothing outlives it, and it never makes, trusts or migrates a store.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from satchel.base.errors import NoProject
from satchel.base.records import NamedTuple
from satchel.interfaces.hooks import events, state
from satchel.interfaces.hooks.events import HookEvent
from satchel.keep.sessions.clients import only_looks

if TYPE_CHECKING:
    from satchel.brief.briefing.collecting import Deadline
    from satchel.brief.moments import Moment
    from satchel.client import Satchel

_DEADLINE_VARIABLE = "SATCHEL_HOOKS_DEADLINE_MS"

# Clock time reserved for printing and recording the text.
_FOR_PRINTING_MS = 60

# That part of its processor time a hook has for what it looks up, however much loading the program took.
_LEAST_SHARE = 1 / 4

_STEP_SECONDS = 0.1

# After so long without a byte an event is read again for whether it is complete.
_IDLE_SECONDS = 0.05

_MOST_KEPT = 20

_STARTS = frozenset({events.START, events.CLEAR, events.RESUME})
# The events at which a person hears that the store is gone, at a prompt once in a session.
_TELLS_OF_LOSS = _STARTS | {events.PROMPT}

USAGE = "usage: satchel hook CLIENT EVENT < EVENT.json, or satchel hook --explain CLIENT EVENT"


class Times(NamedTuple):
    """Limits of a hook, by the clock and of processor time."""

    clock_ms: float
    processor_ms: float


BRIEFING_TIMES = Times(3_000, 400)
WORKING_TIMES = Times(1_500, 150)
# Before an edit, which is let through once they are over.
STOPPING_TIMES = Times(3_000, 150)


class Limit:
    """A limit that ends the process when its time is over, whatever it does.

    Attributes:
        folder: where it is called, for the record.
    """

    def __init__(self, hook: str, clock_ms: float | None = None) -> None:
        self._began, self._processor = time.monotonic(), time.process_time()
        self._looked_up_from: float | None = None
        self._chosen_ms = clock_ms
        self._times = BRIEFING_TIMES
        self.hook = hook
        self.folder = os.sep
        self._is_over = False

    @property
    def clock_ms(self) -> float:
        return self._chosen_ms or self._times.clock_ms

    def choose(self, clock_ms: float | None) -> None:
        """Take another time by the clock, from the same begin; None keeps the one that there is."""
        self._chosen_ms = clock_ms or self._chosen_ms

    def allow(self, times: Times) -> None:
        """Take the times of what the hook turned out to do, from the same begin."""
        self._times = times

    def watch(self) -> None:
        """End this process, silently and well, when its time is over."""
        _thread.start_new_thread(self._wait, ())

    def lift(self) -> None:
        """End the limit once the hook's work is done."""
        self._is_over = True

    def deadline(self) -> Deadline:
        """Return when a briefing must make do with what it has."""
        from satchel.brief.briefing.collecting import Deadline

        return Deadline(*(max(1.0, remaining) for remaining in self._left_ms()))

    def is_short(self) -> bool:
        """Whether what takes long must make do with what it has."""
        return min(self._left_ms()) <= 0

    def _left_ms(self) -> tuple[float, float]:
        now = time.process_time()
        if self._looked_up_from is None:
            self._looked_up_from = now
        elapsed = (time.monotonic() - self._began) * 1_000
        processor_ms = self._times.processor_ms * self.clock_ms / self._times.clock_ms
        remaining = processor_ms - (now - self._processor) * 1_000
        least = processor_ms * _LEAST_SHARE - (now - self._looked_up_from) * 1_000
        return max(remaining, least), self.clock_ms - elapsed - min(_FOR_PRINTING_MS, self.clock_ms / 4)

    def _wait(self) -> None:
        while (remaining := self._began + self.clock_ms / 1_000 - time.monotonic()) > 0:
            time.sleep(min(remaining, _STEP_SECONDS))
        if not self._is_over:
            state.record_fault(self.hook, f"it took longer than {self.clock_ms:.0f} ms and was ended", self.folder)
            os._exit(0)


def run(arguments: Sequence[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in events.CLIENTS:
        return _misused(arguments)
    client, name = arguments
    limit = Limit(f"{client} {name}", _deadline_in(os.environ))
    limit.watch()
    event = HookEvent(client, name, "")
    try:
        with suppress(OSError):  # it may have been deleted
            limit.folder = os.getcwd()  # noqa: PTH109 -- pathlib is not needed before a store is
        event = events.parse(_read(), client, name)
        limit.folder = working_folder(event, os.environ, limit.folder)
        _answer(event, limit.folder, limit)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the host must not notice
        from satchel.base.errors import Detached, StoreCopied, StoreMissing

        if isinstance(error, (Detached, StoreCopied, StoreMissing)) and event.happening in _TELLS_OF_LOSS:
            with suppress(OSError):
                _tell_of_loss(event, limit.folder, f"Satchel is off here: {error.problem}. {error.remedy}")
        if not isinstance(error, BrokenPipeError):
            state.record_fault(limit.hook, f"{type(error).__name__}: {error}", limit.folder)
            _tell_of_fault(event, limit)
    finally:
        limit.lift()
    return 0


def working_folder(event: HookEvent, environ: Mapping[str, str], here: str) -> str:
    """Return the folder in which an event happened: the client's project where the agent has gone elsewhere.

    A clone or submodule inside the project is elsewhere too, since the session is the project's; a linked worktree of
    it is not.
    """
    project = environ.get("CLAUDE_PROJECT_DIR") or environ.get("GEMINI_PROJECT_DIR")
    cwd = event.cwd if event.cwd is not None and os.path.isdir(event.cwd) else here  # noqa: PTH112
    if project is None or not os.path.isdir(project):  # noqa: PTH112
        return cwd
    inner = cwd
    while inner != project and not os.path.lexists(f"{inner}/.git"):
        above = os.path.dirname(inner)  # noqa: PTH120 -- in every hook
        if above == inner:
            return project
        inner = above
    if inner == project:
        return cwd
    from satchel.interfaces.hooks.working import is_worktree

    return cwd if inner.startswith(f"{project}{os.sep}") and is_worktree(inner, project) else project


def moment_of(event: HookEvent) -> Moment | None:
    """Return the moment at which something is put in; None where the event is none."""
    if event.happening == events.RESUME and event.client not in events.FORGETFUL:
        from satchel.brief.moments import RESUME

        return RESUME
    from satchel.interfaces.hooks.working import moment_named

    return moment_named(event.happening)


def open_for(event: HookEvent, folder: str, environ: Mapping[str, str]) -> Satchel | None:
    """Open the store that an event belongs to, if any."""
    from satchel.keep.sessions.caller import Caller
    from satchel.remote.where import open_anywhere

    satchel = open_anywhere(
        cwd=folder,
        environ=environ,
        settings={"store.durability": "relaxed"},
        caller=Caller.of_hook(environ, event.client, event.session_id, begins=event.happening == events.START),
    )
    if satchel.remote is not None or satchel.place.exists:
        return satchel
    with satchel:
        if (
            event.happening in _TELLS_OF_LOSS
        ):  # reading a store that was there and is gone raises; other events say nothing
            with satchel.workplace.engine.read():
                pass
    return None


def _answer(event: HookEvent, folder: str, limit: Limit) -> None:
    if not event.happening or state.is_paused(folder):
        return
    # what has ended ends no second time; an edit that was stopped is stopped again, however soon it is tried again
    if event.happening not in {events.END, events.TURN_END, events.BEFORE_EDIT} and not state.is_first(event.key):
        return
    if event.happening == events.SUBAGENT and only_looks(event.agent_type):
        return
    if event.happening == events.COMPACTING:
        state.owe(*event.who, folder, events.COMPACTION)
        return
    from satchel.interfaces.hooks import working

    late = state.owed(*event.who, folder) if event.carries_late_text else []
    debt = working.debt_of(event, folder)
    is_brief = event.happening == events.PROMPT or event.happening in events.BRIEFED
    is_edit = event.happening == events.BEFORE_EDIT
    limit.allow(BRIEFING_TIMES if is_brief or late else STOPPING_TIMES if is_edit else WORKING_TIMES)
    if debt:  # whatever ends this hook, the next one knows
        state.owe(*event.who, folder, debt)
    satchel: Satchel | None
    try:
        satchel = open_for(event, folder, os.environ)
    except NoProject:
        satchel = None
    text = _act_elsewhere(event, folder, limit, satchel)
    if satchel is None or text is None:
        state.settle(*event.who, folder, (debt,))
        if text:
            _print(events.answer(event, text))
        return
    limit.choose(satchel.config.hooks_deadline_ms)
    if event.happening in events.AT_WORK:
        is_done = _work(event, folder, limit, satchel, late, debt, text)
    else:
        is_done = _brief(event, folder, limit, satchel)
    if is_done and state.failing(folder):
        state.tell(satchel, folder, limit.hook)


def _act_elsewhere(event: HookEvent, folder: str, limit: Limit, satchel: Satchel | None) -> str | None:
    texts = []
    for place, part in _edits_elsewhere(event, folder, None if satchel is None else satchel.workplace.root):
        from satchel.base.errors import SatchelError
        from satchel.interfaces.hooks import working

        try:
            other = open_for(part, place, os.environ)
            if other is None:
                continue
            answer = working.act(part, folder, other.working, limit.is_short)
            if working.stop(event, answer, _print):
                return None
            other.working.record(answer)
        except NoProject:
            continue
        except SatchelError as error:
            state.record_fault(limit.hook, f"{type(error).__name__}: {error}", place)
            continue
        texts.append(answer.text)
    return "\n".join(filter(None, texts))


def _edits_elsewhere(event: HookEvent, folder: str, root: str | None) -> Iterator[tuple[str, HookEvent]]:
    if event.tool is None or event.happening not in {events.BEFORE_EDIT, events.AFTER_EDIT}:
        return
    own, by_top = state.project_of(folder), dict[str, list[int]]()
    for number, edit in enumerate(event.tool.edits):
        path = os.path.normpath(os.path.join(event.cwd or folder, edit.path))  # noqa: PTH118 -- in every edit
        top = state.project_of(os.path.dirname(path))  # noqa: PTH120 -- as above
        if top is not None and top != own:
            by_top.setdefault(top, []).append(number)
    for top, numbers in by_top.items():
        from satchel.interfaces.hooks.working import has_root

        if not has_root(top, root):
            edits = tuple(event.tool.edits[number] for number in numbers)
            yield top, event._replace(tool=event.tool._replace(edits=edits))


def _work(
    event: HookEvent, folder: str, limit: Limit, satchel: Satchel, late: Sequence[str], debt: str, text: str
) -> bool:
    from satchel.interfaces.hooks import working

    opening = working.late_text(event, satchel, late, limit.deadline, limit.is_short) if late else ""
    opening = "\n".join(filter(None, (opening, text)))
    state.keep_last(f"{event.client}-{event.name}", _record_of(event, folder))
    outcome = working.answer(event, folder, satchel, _print, limit.is_short, opening=opening)
    if outcome.problem:
        state.record_fault(limit.hook, outcome.problem, folder)
    is_owed = not debt or (outcome.problem and not outcome.denial)
    state.settle(*event.who, folder, tuple(late) if is_owed else (*late, debt))
    return not outcome.problem


def _brief(event: HookEvent, folder: str, limit: Limit, satchel: Satchel) -> bool:
    from satchel.interfaces.hooks import working

    state.keep_last(f"{event.client}-{event.name}", _record_of(event, folder))
    moment = moment_of(event)
    if event.happening == events.TURN_END:
        satchel.sessions.end_turn()
        return True
    if moment is None:
        state.settle(*event.who, folder)
        if satchel.config.hooks_end:
            satchel.sessions.end(event.reason)
        return True
    put_in = satchel.moments.make(
        moment, limit.deadline(), agent_id=event.agent_id, agent_type=event.agent_type, prompt=event.prompt
    )
    session = None if put_in.entered is None else put_in.entered.session
    line = put_in.line if event.client in events.SHOWS_A_LINE and satchel.config.hooks_visible else ""
    if put_in.text or line:
        _print(events.answer(event, put_in.text, session, line))
        # what the client has counts as delivered; were it the other way round, a text that was cut off would not come
        satchel.moments.record(moment, put_in)
    state.settle(*event.who, folder)
    if not put_in.is_complete:
        state.record_fault(limit.hook, "it was short of time: not everything was looked at", folder)
        state.owe(*event.who, folder, working.REST)
    if session is not None:
        _export(event, session, os.environ)
    return put_in.is_complete


def _tell_of_loss(event: HookEvent, folder: str, text: str) -> None:
    from satchel.interfaces.hooks import working

    if event.happening == events.PROMPT:
        state.settle(*event.who, folder, (working.debt_of(event, folder),))
        if working.RETURN in state.owed(*event.who, folder):
            return
    state.owe(*event.who, folder, working.RETURN)
    _print(events.notify_person(event, text))


def _tell_of_fault(event: HookEvent, limit: Limit) -> None:
    with suppress(Exception):
        if any(one.is_due for one in state.failing(limit.folder)):
            satchel = open_for(event, limit.folder, os.environ)
            if satchel is not None:
                state.tell(satchel, limit.folder)


def _record_of(event: HookEvent, folder: str) -> dict[str, object]:
    # of what a tool does only the files are stored: the rest may hold a secret
    from satchel.redaction import finds_secret, redact

    files = () if event.tool is None else (event.tool.edits or event.tool.reads)[:_MOST_KEPT]
    fields = {key: redact(value).text if isinstance(value, str) else value for key, value in event._asdict().items()}
    return fields | {"cwd": folder, "tool": [one for one in files if finds_secret(one.path) is None]}


def _export(event: HookEvent, session: str, environ: Mapping[str, str]) -> None:
    file = environ.get("CLAUDE_ENV_FILE")
    if file and event.client == "claude" and event.happening != events.SUBAGENT:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"export SATCHEL_SESSION={session}\n".encode())
        finally:
            os.close(descriptor)


def _read() -> bytes:
    import select

    data, read = bytearray(), 0
    while len(data) <= events.MAX_BYTES:
        # a text that keeps growing is looked at again when it has doubled, so that all looks together stay linear
        wait = 0 if len(data) >= 2 * read else _IDLE_SECONDS
        if data and not select.select([0], [], [], wait)[0]:
            if events.is_whole(bytes(data)):
                break
            read = len(data)
        part = os.read(0, 1 << 16)
        if not part:
            break
        data += part
    return bytes(data)


def _print(text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(1, data) :]


def _deadline_in(environ: Mapping[str, str]) -> float | None:
    value = environ.get(_DEADLINE_VARIABLE, "")
    return float(value) if value.isdecimal() else None


def _misused(arguments: Sequence[str]) -> int:
    # a client gets no message, since it might show that as a failure
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"{USAGE}\nCLIENT is one of {', '.join(events.CLIENTS)}", file=sys.stderr)  # noqa: T201
        return 2
    state.record_fault(f"hook {' '.join(arguments)}"[:100], f"it was not understood; {USAGE}", os.sep)
    return 0
