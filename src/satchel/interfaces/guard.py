"""``satchel guard run``: what the guard's hook does before a commit.

It stops a commit of what is Satchel's own, and of claimed files where the project says so; nothing else that goes wrong
here stops one.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from satchel.base.git_files import read_head, top_of
from satchel.base.records import dataclass

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from satchel.keep.files.records import CommitCheck

# a renamed file is one that is deleted and one that is added: both names count
_GIT_DIFF = (
    "git -c core.fsmonitor=false diff --cached --name-status --no-renames --no-ext-diff --no-relative -z".split()
)
_LOCK_WAIT_MS = 250

_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Staged:
    """The staged files."""

    top: str
    files: tuple[tuple[str, str], ...]
    has_commit: bool


def staged_files(environ: Mapping[str, str]) -> Staged | None:
    """Return what is staged in the worktree of the current folder; None where git does not say."""
    here = os.getcwd()  # noqa: PTH109 -- pathlib is not needed before a store is
    top = top_of(here) or here
    reading, writing = os.pipe()
    try:
        child = os.posix_spawnp(
            _GIT_DIFF[0],
            _GIT_DIFF,
            {**environ, "GIT_OPTIONAL_LOCKS": "0"},
            file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_CLOSE, reading)],
        )
    except OSError:
        os.close(reading)
        return None
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb", buffering=_AT_ONCE) as stream:
        fields = os.fsdecode(stream.read()).split("\0")
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status):
        return None
    files = tuple(zip(fields[1::2], fields[::2], strict=False))
    return Staged(top, files, read_head(top)[1] is not None)


# The status with which the guard stops a commit. Any other lets it through: Satchel may be missing or broken.
STOPPED = 4

# So long claims are looked for; then the commit goes on.
SECONDS = 2.0

_OURS, _SHARED = ".satchel", "shared"
_MAX_LISTED = 5


def run(environ: Mapping[str, str] = os.environ) -> int:
    """Look at what is staged in the worktree of the current folder."""
    try:
        staged = staged_files(environ)
        if staged is None:
            _say("what is staged could not be read, so nothing was looked at")
            return 0
        ours = [name for name, change in staged.files if change != "D" and is_ours(name)]
        if ours:
            _refuse_ours(ours, staged)
            return STOPPED
        return _look_for_claims(staged, environ) if staged.files else 0
    except OSError:  # the terminal is gone, or the folder
        return 0


def is_ours(name: str) -> bool:
    """Whether a path lies below a ``.satchel`` and not in its shared folder."""
    steps = name.split("/")
    for place, step in enumerate(steps):
        if step.lower() == _OURS:
            return not (steps[place + 1 : place + 2] == [_SHARED] and len(steps) > place + 2)
    return False


def _refuse_ours(names: Sequence[str], staged: Staged) -> None:
    for name in names[:_MAX_LISTED]:
        _say(f"{_printable(name)} is Satchel's own, and not for git")
    more = f" ({len(names)} files in all)" if len(names) > _MAX_LISTED else ""
    folder = _printable(names[0][: names[0].lower().index(_OURS) + len(_OURS)])
    undo = "git restore --staged --" if staged.has_commit else "git rm -r --cached --"
    _say(f"the commit is stopped{more}. `{undo} {folder}` takes it out; only {_OURS}/{_SHARED}/ is to be committed")


def _look_for_claims(staged: Staged, environ: Mapping[str, str]) -> int:
    watch = _Watch()
    try:
        checked = _check(staged, environ)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the commit goes on
        from satchel.base.errors import NoProject, SatchelError, StoreMissing

        if not isinstance(error, (NoProject, StoreMissing)):
            message = error.problem if isinstance(error, SatchelError) else f"{type(error).__name__}: {error}"
            _say(f"claims were not looked at: {' '.join(message.split())}")
        return 0
    finally:
        watch.end()
    return 0 if checked is None else _tell(checked)


def _check(staged: Staged, environ: Mapping[str, str]) -> CommitCheck | None:
    from satchel.keep.presence import is_anything_claimed
    from satchel.remote.where import may_have_server
    from satchel.store.glance import NeedsFullOpen, glance

    try:
        if may_have_server(environ):
            raise NeedsFullOpen
        glimpse = glance(os.path.realpath(staged.top), environ)
        if glimpse is None or not is_anything_claimed(glimpse, glimpse.project, time.time_ns() // 1_000_000):
            return None
        glimpse.close()
    except (NeedsFullOpen, OverflowError):  # the clock may be after 2262
        pass
    from satchel.keep.sessions.caller import COMMAND
    from satchel.remote.where import open_anywhere

    satchel = open_anywhere(
        read_only=True,
        cwd=staged.top,
        environ=environ,
        settings={"store.lock_wait_ms": _LOCK_WAIT_MS},
        caller=COMMAND,
        migrates=False,
    )
    mode = satchel.config.guard_claims
    root = satchel.workplace.files_root
    is_there = satchel.remote is not None or satchel.workplace.engine.exists()
    if mode == "off" or root is None or not is_there:
        return None
    # the store may be that of a folder around the repository, whose files are named from there
    before = "" if staged.top == root else f"{os.path.relpath(staged.top, root)}/"
    if before.startswith("../"):
        return None
    return satchel.files.check_commit([before + name for name, _ in staged.files], denies=mode == "deny")


def _tell(checked: CommitCheck) -> int:
    from satchel.base.clock import until_text
    from satchel.base.text import quoted_line

    for name, claim in checked.claimed[:_MAX_LISTED]:
        why = f", for {quoted_line(claim.reason)}" if claim.reason else ""
        _say(f"{_printable(name)} is claimed by {claim.agent}{why}, {until_text(claim.expires_at, checked.checked_at)}")
    if len(checked.claimed) > _MAX_LISTED:
        _say(f"and {len(checked.claimed) - _MAX_LISTED} more files that others have claimed")
    if checked.hinted:
        name, claim = checked.hinted[0]
        more = len(checked.hinted) - 1
        who = "is shared by" if not claim.automatic else "is being edited by"
        _say(f"{_printable(name)} {who} {claim.agent} too{f', and {more} more files by others' if more else ''}")
    if not checked.is_stopped:
        return 0
    holders = " or ".join(dict.fromkeys(claim.agent for _, claim in checked.claimed[:_MAX_LISTED]))
    _say(
        "the commit is stopped (guard.claims is deny). Take these files out with `git restore --staged`, or ask "
        f"{holders}: `satchel message send`"
    )
    return STOPPED


class _Watch:
    def __init__(self) -> None:
        self._is_over = False
        _thread.start_new_thread(self._wait, ())

    def end(self) -> None:
        self._is_over = True

    def _wait(self) -> None:
        time.sleep(SECONDS)
        if not self._is_over:
            _say(f"claims were not looked at: it took longer than {SECONDS:.0f} s")
            os._exit(0)


def _say(line: str) -> None:
    data = f"satchel guard: {line}\n".encode(errors="backslashreplace")
    try:
        os.write(2, data)
    except OSError:
        return


def _printable(name: str) -> str:
    text = name.encode(sys.getfilesystemencoding(), "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
