"""State of hooks in the user's folder: recent events, pauses and faults.

These are files rather than tables of a store: they apply to all stores and
without one, and a silent hook opens no connection.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from satchel.base.errors import SatchelError
from satchel.base.folders import state_folder
from satchel.base.records import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from satchel.client import Satchel
    from satchel.store.upkeep import Check

_HEARD, _FAULTS, _PAUSED, _LAST = "hooks-heard", "hooks-faults.jsonl", "hooks-paused.json", "hooks-last"
_DEBTS = "hooks-owed"
_FAILING = "hooks-failing.jsonl"
# A file of events or faults that is larger loses its older half.
_MAX_BYTES = 64 * 1024

# A longer debt is not kept: it would push out those of other sessions.
MAX_DEBT_BYTES = 8 * 1024

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# No link is followed, and opening a pipe does not wait for its other end.
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

# Within this time a second event of the same name is the same one, told by another client's hooks; clients without a
# terminal were seen to resume a session 3 s after they had resumed it.
_SAME_MS = 2_000

_LOCK_TRIES, _LOCK_PAUSE_SECONDS = 10, 0.005

_ALL = "*"

# So many kinds of faults are counted at a time; the one that was met last longest ago gives way.
_MOST_FAILING = 50

# What was met longer ago is counted no more.
_FAILING_SECONDS = 86_400

# A store gets the first fault of a kind in an hour, then each time their number has grown by this factor.
_STEP = 10

_SHOWN_DAYS = 7


class Fault(NamedTuple):
    """A fault of a hook."""

    at: float
    hook: str
    problem: str
    folder: str


class Failing(NamedTuple):
    """The failures of a hook in one way within an hour.

    Attributes:
        hook, folder: as of the faults.
        kind: what the faults have in common.
        hour: hours UTC since 1970.
        problem: of the last fault, and ``at`` when that was, in seconds UTC since 1970.
        times: their number, and ``told`` the number last reported to the store.
    """

    hook: str
    folder: str
    kind: str
    hour: int
    problem: str
    at: float
    times: int
    told: int

    @property
    def is_due(self) -> bool:
        return self.times >= max(1, self.told * _STEP)


def is_first(key: str, now: float | None = None) -> bool:
    """Whether an event is heard for the first time; from then on it was.

    If that cannot be recorded, it counts as the first: twice is better than never.
    """
    now = _now() if now is None else now
    name = f"{key}\t".encode()
    try:
        with _lines_of(_HEARD) as lines:
            heard = next((line for line in reversed(lines) if line.startswith(name)), name)
            at = heard.removeprefix(name).rstrip(b"\n")
            if at.isdigit() and abs(now * 1_000 - int(at)) < _SAME_MS:
                return False
            lines.append(b"%s%d\n" % (name, now * 1_000))
    except OSError:
        return True
    return True


def owe(session: str, agent: str, folder: str, what: str) -> None:
    """Remember what this process owes an agent until :func:`settle`: if it is ended before, the next hook does it."""
    line = _owed_line(session, agent, folder, f"{os.getpid()}\t{what}\n")
    if session and len(line) <= MAX_DEBT_BYTES:
        with suppress(OSError), _lines_of(_DEBTS) as lines:
            lines.append(line)


def owed(session: str, agent: str, folder: str) -> list[str]:
    """Return what hooks that have ended owe an agent of a session in a project, the oldest first."""
    whats: dict[str, None] = {}
    with suppress(OSError):
        file = state_folder() / _DEBTS
        if session and os.path.getsize(file):  # noqa: PTH202 -- on the path of every edit
            begin = _owed_line(session, agent, folder, "")
            for line in _contents(file).splitlines():
                pid, _, what = line.removeprefix(begin).decode(errors="replace").partition("\t")
                if line.startswith(begin) and not _is_another_that_runs(pid):
                    whats[what] = None
    return list(whats)


def settle(session: str, agent: str, folder: str, whats: Sequence[str] | None = None) -> None:
    """Forget what hooks owe an agent of a session in a project."""
    with suppress(OSError):
        if whats == () or not os.path.getsize(state_folder() / _DEBTS):  # noqa: PTH202 -- on the path of every edit
            return
        begin = _owed_line(session, agent, folder, "")
        ends = tuple(f"\t{what}".encode(errors="replace") for what in whats or ())
        with _lines_of(_DEBTS) as lines:
            lines[:] = [
                line
                for line in lines
                if not line.startswith(begin) or (whats is not None and not line.rstrip(b"\n").endswith(ends))
            ]


def _owed_line(session: str, agent: str, folder: str, rest: str) -> bytes:
    who = "\t".join("".join(part.split())[:200] for part in (session, agent))
    return f"{who}\t{json.dumps(project_of(folder) or os.path.realpath(folder))}\t{rest}".encode(errors="replace")


def project_of(folder: str) -> str | None:
    """Return the nearest folder upwards with a store or a repository, by the files alone; None outside of any."""
    try:
        inner = os.path.realpath(folder)
    except ValueError:  # a NUL, which is in no path
        return None
    while not any(os.path.lexists(f"{inner}/{name}") for name in (".git", ".satchel/satchel.db")):
        above = os.path.dirname(inner)  # noqa: PTH120 -- on the path of every edit
        if above == inner:
            return None
        inner = above
    return inner


def _is_another_that_runs(pid: str) -> bool:
    if not pid.isdecimal() or int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _now() -> float:
    try:
        return time.time()
    except OverflowError:  # a clock after 2262
        from satchel.base.clock import system_clock  # most hooks need no more of it

        return system_clock() / 1_000


def record_fault(hook: str, problem: str, folder: str) -> None:
    """Record what went wrong in a hook, if that is possible at all."""
    fault = Fault(_now(), hook, " ".join(problem.split())[:400], folder[:400])
    with suppress(OSError), _lines_of(_FAULTS) as lines:
        lines.append(_line_of(fault))
    with suppress(OSError), _lines_of(_FAILING) as lines:
        counted = {one[:4]: one for one in _failing(lines)}
        place = hook, fault.folder, fault.problem.partition(":")[0][:80], int(fault.at // 3_600)
        times, notices = counted.pop(place)[-2:] if place in counted else (0, 0)
        others = [
            one
            for one in counted.values()
            if one.at > fault.at - _FAILING_SECONDS and (one.is_due or one[:3] != place[:3])
        ]
        new = Failing(*place, fault.problem, fault.at, times + 1, notices)
        lines[:] = map(_line_of, [*others, new][-_MOST_FAILING:])


def failing(folder: str) -> list[Failing]:
    """Return the hooks that fail in a folder or below it, and have not worked since.

    Where none fails at all this takes 2 µs.
    """
    with suppress(OSError):
        file = state_folder() / _FAILING
        if os.path.getsize(file):  # noqa: PTH202 -- on the path of every hook
            begin = f"{folder.rstrip(os.sep)}{os.sep}"
            return [one for one in _failing(_contents(file).splitlines()) if f"{one.folder}{os.sep}".startswith(begin)]
    return []


def settle_failing(told: Sequence[Failing], works: Sequence[Failing]) -> None:
    """Record which failures a store knows, if possible."""
    counts, ended = {one[:4]: one.times for one in told}, {one[:4] for one in works}
    with suppress(OSError), _lines_of(_FAILING) as lines:
        remaining = [one for one in _failing(lines) if one[:4] not in ended]
        lines[:] = [_line_of(one._replace(told=counts.get(one[:4], one.told))) for one in remaining]


def _failing(lines: Sequence[bytes]) -> list[Failing]:
    result = []
    for line in lines:
        with suppress(ValueError, TypeError):
            result.append(Failing(**json.loads(line)))
    return result


def _line_of(one: Fault | Failing) -> bytes:
    return json.dumps(one._asdict()).encode() + b"\n"


def faults(since: float) -> list[Fault]:
    result = []
    with suppress(OSError):
        for line in _contents(state_folder() / _FAULTS).splitlines():
            with suppress(ValueError, TypeError):
                fault = Fault(**json.loads(line))
                if fault.at > since:
                    result.append(fault)
    return result[::-1]


def check_hooks(now: float | None = None) -> Check:
    """Examine what hooks have recorded, as ``satchel doctor`` shows it."""
    from satchel.base.clock import span_in_words
    from satchel.store.upkeep import Check

    now = _now() if now is None else now
    paused = paused_folders()
    if paused:
        where = "all of them" if _ALL in paused else f"those in {', '.join(paused)}"
        return Check("hooks", "warning", f"paused: {where}; `satchel pause --off` lets them speak again")
    # one from the future was recorded under a clock that was ahead
    result = [fault for fault in faults(now - _SHOWN_DAYS * 86_400) if fault.at <= now]
    if not result:
        return Check("hooks", "ok", f"no fault in the last {_SHOWN_DAYS} days")
    last = result[0]
    ago = span_in_words(int((now - last.at) * 1_000))
    message = f"{len(result)} fault{'s' * (len(result) > 1)} in the last {_SHOWN_DAYS} days, the last {ago} ago"
    if not failing(os.sep):
        return Check("hooks", "ok", f"{message}; each has worked since")
    return Check("hooks", "warning", f"{message}: {last.hook} in {last.folder}: {last.problem}")


def is_paused(folder: str) -> bool:
    """Whether hooks are silenced for a folder, or altogether."""
    paused = paused_folders()
    if not paused:
        return False
    folder = os.path.realpath(folder)
    return _ALL in paused or any(folder == one or folder.startswith(f"{one.rstrip(os.sep)}{os.sep}") for one in paused)


def paused_folders() -> list[str]:
    """Return the folders whose hooks are silenced; ``*`` stands for all."""
    try:
        text = _contents(state_folder() / _PAUSED)
    except OSError:
        return []
    try:
        value = json.loads(text)
    except ValueError:
        return [_ALL]  # somebody has silenced them, and what exactly cannot be read
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else [_ALL]


def pause(folder: str | None, *, on: bool) -> list[str]:
    """Silence hooks, or let them speak again."""
    from satchel.base.private_file import write_private

    one = _ALL if folder is None else folder
    now = [] if folder is None and not on else [other for other in paused_folders() if other != one]
    now += [one] * on
    file = state_folder() / _PAUSED
    if now:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = file.with_name(f"{_PAUSED}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        write_private(draft, json.dumps(now).encode())
        draft.replace(file)
    else:
        file.unlink(missing_ok=True)
    return now


def keep_last(hook: str, fields: dict[str, object]) -> None:
    """Remember the last event of a hook, for ``satchel hook --explain``."""
    with suppress(OSError, ValueError):
        folder = state_folder() / _LAST
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder / f"{hook}.json", _WRITE | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, json.dumps(fields).encode())
        finally:
            os.close(descriptor)


def last(hook: str) -> dict[str, object] | None:
    """Return the last event of a hook, or None."""
    with suppress(OSError, ValueError):
        fields = json.loads(_contents(state_folder() / _LAST / f"{hook}.json"))
        return fields if isinstance(fields, dict) else None
    return None


def _contents(file: Path) -> bytes:
    with os.fdopen(os.open(file, _READ), "rb") as stream:
        return stream.read()


@contextmanager
def _lines_of(name: str) -> Iterator[list[bytes]]:
    """Lock a file and yield its lines, which are written back as they are then."""
    import fcntl

    folder = state_folder()
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(folder / name, flags, 0o600)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder / name, flags, 0o600)
    try:
        for tried in range(_LOCK_TRIES + 1):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if tried == _LOCK_TRIES:
                    raise
                time.sleep(_LOCK_PAUSE_SECONDS)
        before = os.pread(descriptor, 2 * _MAX_BYTES, 0)
        lines = before.splitlines(keepends=True)
        yield lines
        after = b"".join(lines)
        if len(after) > _MAX_BYTES:
            after = after[after.find(b"\n", len(after) // 2) + 1 :]
        if after != before:
            same = len(before) if after.startswith(before) else 0
            os.pwrite(descriptor, after[same:], same)
            os.ftruncate(descriptor, len(after))
    finally:
        os.close(descriptor)


_NO_STORE = ("StoreMissing", "StoreCopied", "Detached")


def tell(satchel: Satchel, folder: str, works: str | None = None) -> None:
    """Report to a store the hooks that failed in a folder, and one that works again.

    If the store cannot be written, the next hook does it.
    """
    result = failing(folder)
    due = [one for one in result if one.is_due]
    # that this one found the store mends each that did not
    again = [one for one in result if works and (one.hook == works or one.problem.startswith(_NO_STORE))]
    if not due and not again:
        return
    with suppress(SatchelError, OSError):
        notices = [(one.hook, one.problem, one.times, int(one.at * 1_000)) for one in due]
        satchel.sessions.record_hooks(notices, [*dict.fromkeys(one.hook for one in again)])
        settle_failing(due, again)


def tell_of_project(satchel: Satchel) -> None:
    """Report to a server's store the hooks that failed in its project's folder."""
    work = satchel.workplace
    for folder in {work.root, work.files_root} - {None, "", os.sep}:
        tell(satchel, str(folder))
