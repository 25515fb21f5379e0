"""File changes as text, and the confirmations of claiming, releasing and checking files.

A change's line has the id, file, kind of change, ``by`` agent, ``worktree:``, layer and time; the description follows
below. Of changes that were recorded together the first has the description, and the others ``text as`` its id.

A claim has its path, ``worktree:``, ``shared`` or ``automatic``, and ``until`` when; a claim of someone else also has
its holder and quoted reason. Hints about a file follow on lines below that begin with a space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

from satchel.base.clock import span_in_words
from satchel.base.paging import KeptPage
from satchel.base.records import replace
from satchel.base.text import quoted_line, without_repeats
from satchel.base.vocabulary import LAYERS
from satchel.interfaces.text import lists
from satchel.interfaces.text.parts import content_lines, quoted, value_text
from satchel.keep.files.records import (
    CHANGES,
    Claim,
    Claimed,
    FileChange,
    FileCheck,
    FilesChecked,
    RecentActivity,
    Released,
)
from satchel.keep.paths import covers, is_folder
from satchel.store.transaction import grouped

Activity = TypeVar("Activity", FileCheck, RecentActivity)

_CHANGED = {"created": "created", "modified": "changed", "deleted": "deleted"}


_NO_WORKTREE = "worktree:-"
_CHANGE_BLANKS = (None, None, lists.NO_AGENT, _NO_WORKTREE, lists.NO_LAYER)

# a file of such a name could be taken for another field, or as a heading for a note
_FIELD = re.compile(rf"{'|'.join((*CHANGES, *LAYERS))}|by|with|(?:worktree|layer|note):.*|[0-9:-]+")


def changes_text(page: KeptPage[FileChange]) -> str:
    first: dict[tuple[str | None, str | None, int], str] = {}  # by agent, text and minute
    lines = []
    for change in page.items:
        ref = first.setdefault((change.agent, change.description, change.created_at // 60_000), change.ref)
        lines.append(change_line(change, None if ref == change.ref else ref))
    return lists.list_text("file change", page, lines, _CHANGE_BLANKS)


def change_line(change: FileChange, described_by: str | None = None) -> lists.Line:
    is_described = described_by is not None and change.description is not None
    return lists.Line(
        start=change.ref,
        cells=(
            _file(change.file),
            change.change,
            lists.agent_cell(change.agent),
            _worktree(change.worktree),
            lists.layer_cell(change.layer),
        ),
        own=(f"text as {described_by}",) if is_described else (),
        moment=change.created_at,
        below=() if is_described or change.description is None else tuple(content_lines(change.description)),
    )


def recorded_text(change: FileChange) -> str:
    line = (
        f"recorded {change.ref} {_file(change.file)} {change.change} {lists.agent_cell(change.agent) or lists.NO_AGENT}"
    )
    return "\n".join([line, *lists.note_lines(change.notes)])


_EFFECT = "clients that run Satchel's hooks also stop edits by others, elsewhere it is a request"


def claimed_text(claimed: Claimed, when: lists.When | None = None) -> str:
    """Confirm claims and renewals, with recent changes of the files and whoever shares them."""
    now = claimed.claimed_at
    when = when or lists.in_sentence(now)
    lately = {(one.file, one.worktree): one for one in claimed.lately}
    lines = []
    if claimed.waited_ms:
        lines.append(
            f"waited {_seconds(claimed.waited_ms)} for others; read {_them(claimed.claims)} again before you write"
        )
    descriptions: set[str] = set()
    for (verb, terms), together in groupby(
        claimed.claims,
        key=lambda claim: (
            "renewed" if claim.path in claimed.renewed else "claimed",
            f"{_where(claim)} {_until(claim, now, when)}{_how(claim)}",
        ),
    ):
        claims = list(together)
        names = (f"{_file(claim.path)}{' (not there yet)' * (claim.path in claimed.new)}" for claim in claims)
        lines.append(f"{verb} {', '.join(names)}{terms}")
        hints = []
        for claim in claims:
            if (claim.path, claim.worktree) in lately:
                activity = _without_repeats(lately[claim.path, claim.worktree], descriptions)
                hints += _hints(activity, now, is_named=len(claims) > 1)
        if hints and not claimed.waited_ms:
            hints[-1] += f"; read {_them(hints)} again before you write"
        lines += hints
    fresh = [claim for claim in claimed.claims if claim.path not in claimed.renewed and not claim.is_key]
    exclusive = [_file(claim.path) for claim in fresh if claim.exclusive]
    if exclusive:
        what = ", ".join(exclusive) if len(exclusive) < len(claimed.claims) else _them(exclusive)
        lines.append(f"until then others cannot claim {what}; {_EFFECT}")
    shared = grouped((_holder(claim, claim.path, now, when), _file(claim.path)) for claim in claimed.shared)
    lines += [f"{', '.join(files)} {_is(files)} shared with {holder}" for holder, files in shared.items()]
    if fresh and not (claimed.shared or claimed.lately or claimed.notes):
        lines.append(f"nobody else has claimed {_them(fresh)}")
    return "\n".join([*lines, *lists.note_lines(claimed.notes)])


def released_text(released: Released, when: lists.When | None = None) -> str:
    """Confirm which claims ended, with the recorded changes and the agents that want the files."""
    when = when or lists.in_sentence(max((wish.asked_at for wish in released.wished), default=0))
    lines = [f"released {' '.join(map(_file, released.released))}"] if released.released else ["released nothing"]
    if released.not_held:
        lines.append(f"not held by {value_text(released.agent)}: {' '.join(map(_file, released.not_held))}")
    if released.changes:
        recorded = (f"{change.ref} {_file(change.file)} {change.change}" for change in released.changes)
        lines.append(f"recorded {', '.join(recorded)}")
    while_held = grouped((lists.agent_cell(one.agent) or "by an unnamed agent", one) for one in released.by_others)
    for author, changes in while_held.items():
        names = ", ".join(f"{_file(change.file)} ({change.ref})" for change in changes)
        lines.append(f"changed {author} while you held {_them(changes)}: {names}")
    still = grouped((value_text(claim.agent), _file(claim.path)) for claim in released.still)
    lines += [f"{agent} still holds {', '.join(files)}" for agent, files in still.items()]
    for (who, waits, since), wishes in groupby(
        released.wished, key=lambda wish: (wish.agent, wish.waits, when(wish.asked_at))
    ):
        files = [_file(wish.path) for wish in wishes]
        agent, these = value_text(who), f"{', '.join(files)}"
        if waits:
            lines.append(f"{agent} has waited for {these} since {since}, and is next to get {_them(files)}")
        else:
            lines.append(f"{agent} was refused {these} at {since}, and is notified that {_they(files)} free")
    return "\n".join([*lines, *lists.note_lines(released.notes)])


def _is(files: Sequence[object]) -> str:
    return "are" if len(files) > 1 else "is"


def _them(files: Sequence[object]) -> str:
    return "them" if len(files) > 1 else "it"


def _they(files: Sequence[object]) -> str:
    return "they are" if len(files) > 1 else "it is"


def checked_text(checked: FilesChecked, when: lists.When | None = None) -> str:
    """Render for each file whether it is free, yours or held by another, with its recent changes."""
    when = when or lists.in_sentence(checked.checked_at)
    descriptions: set[str] = set()
    lines = [line for file in checked.files for line in _checked(_once(file, descriptions), checked, when)]
    return "\n".join([*lines, *lists.note_lines(checked.notes)])


def _once(file: FileCheck, descriptions: set[str]) -> FileCheck:
    def fresh(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
        reasons = without_repeats((claim.reason for claim in claims), descriptions)
        return tuple(replace(claim, reason=reason) for claim, reason in zip(claims, reasons, strict=True))

    fresh_file = _without_repeats(file, descriptions)
    return replace(fresh_file, claims=fresh(file.claims), elsewhere=fresh(file.elsewhere))


def _without_repeats(file: Activity, descriptions: set[str]) -> Activity:
    done = without_repeats((change.description for change in file.recent), descriptions)
    recent = tuple(replace(change, description=text) for change, text in zip(file.recent, done, strict=True))
    return replace(file, recent=recent)


def _checked(file: FileCheck, checked: FilesChecked, when: lists.When) -> list[str]:
    now = checked.checked_at
    against = [claim for claim in file.claims if claim.exclusive]
    others = [claim for claim in file.claims if not claim.exclusive]
    name = _file(file.file)
    if file.worktree != checked.worktree:
        name += f" in {_worktree(file.worktree) or 'the main worktree'}"
    parts = [claim for claim in against if is_folder(file.file) and not covers(claim.path, file.file)]
    if file.state == "held" and len(parts) == len(against):
        held = ", ".join(f"{value_text(claim.agent)} holds {_part(claim, now, when)}" for claim in parts)
        lines = [f"in {_folder(name)}: {held}{_own_parts(file)}; the rest is free"]
    elif file.state == "held":
        lines = [f"{name} is held by {_holder(claim, file.file, now, when)}" for claim in against]
    elif file.state == "yours":
        # the last of them to end
        own = max(file.own, key=lambda claim: claim.expires_at)
        yours, how = "yours" if own.exclusive else "shared by you", ", automatic" if own.automatic else ""
        lines = [f"{name} is {yours}{_wider(own, file.file)} {_until(own, now, when)}{how}"]
    elif file.own:
        held = ", ".join(_part(claim, now, when) for claim in file.own)
        lines = [f"in {_folder(name)}: you hold {held}; the rest is free"]
    elif others:
        lines = [f"{name} is shared by {_holder(claim, file.file, now, when)}" for claim in others]
        others = []
    else:
        lines = [f"{name} is free"]
    if file.expired_at is not None:
        suffix = "" if against else "; nobody has taken it"
        lines[0] += f"; your claim expired {_ago(now - file.expired_at)}{suffix}"
    lines += [f" shared by {_holder(claim, file.file, now, when)}" for claim in others]
    for claim in file.elsewhere:
        lines.append(
            f" in {_worktree(claim.worktree) or 'the main worktree'} held by {_holder(claim, file.file, now, when)}"
        )
    return [*lines, *_hints(file, now)]


def _hints(file: FileCheck | RecentActivity, now: int, *, is_named: bool = False) -> list[str]:
    lines = []
    for change in file.recent:
        where = "" if change.worktree == file.worktree else f" in {_worktree(change.worktree) or 'the main worktree'}"
        which = "" if change.file == file.file and not is_named else f" {_file(change.file)}"
        who = lists.agent_cell(change.agent) or "by an unnamed agent"
        what = "" if change.description is None else f": {quoted_line(change.description)}"
        ago = _ago(now - change.created_at)
        lines.append(f" hint:{which} {_CHANGED[change.change]} {who}{where}, recorded {ago} ({change.ref}){what}")
    if file.unrecorded_at is not None:
        which = f" {_file(file.file)}" if is_named else ""
        ago = _ago(now - file.unrecorded_at)
        lines.append(f" hint:{which} changed on disk {ago}, by you or by another who has not recorded it")
    return lines


def _part(claim: Claim, now: int, when: lists.When) -> str:
    why = "" if claim.reason is None else f": {quoted_line(claim.reason)}"
    return f"{_file(claim.path)} {_until(claim, now, when)}{_how(claim)}{why}"


def _own_parts(file: FileCheck) -> str:
    return f", you hold {', '.join(_file(claim.path) for claim in file.own)}" if file.own else ""


def _folder(name: str) -> str:
    return name.replace("/**", "/", 1) if "/**" in name else name.replace("**", "./", 1)


def _holder(claim: Claim, path: str, now: int, when: lists.When) -> str:
    why = "" if claim.reason is None else f": {quoted_line(claim.reason)}"
    how = ", automatic" if claim.automatic else ""
    return f"{value_text(claim.agent)}{_wider(claim, path)} {_until(claim, now, when)}{how}{why}"


def _until(claim: Claim, now: int, when: lists.When) -> str:
    return f"until {when(claim.expires_at)} ({span_in_words(claim.expires_at - now)} left)"


def _ago(milliseconds: int) -> str:
    return f"{_seconds(milliseconds)} ago"


def _seconds(milliseconds: int) -> str:
    seconds = max(0, milliseconds) // 1_000
    return f"{seconds} s" if seconds < 120 else span_in_words(milliseconds)


def _wider(claim: Claim, path: str) -> str:
    return "" if claim.path == path else f" as {_file(claim.path)}"


def _how(claim: Claim) -> str:
    return f"{'' if claim.exclusive else ', shared'}{', automatic' if claim.automatic else ''}"


def _where(claim: Claim) -> str:
    return "" if claim.worktree is None else f" {_worktree(claim.worktree)}"


def _worktree(worktree: str | None) -> str | None:
    return None if worktree is None else f"worktree:{value_text(worktree)}"


def _file(file: str) -> str:
    return quoted(file) if _FIELD.fullmatch(file) else value_text(file)
