"""File changes, and what claiming, releasing and asking answered, as compact text.

A change's line is its id, then what differs from what the head or the heading says: file, change, ``by`` agent,
``worktree:``, layer and how long it is ``kept``, then when it was made; what was done stands below.

A claim is told as whether it is ``exclusive`` or ``shared``, its path, ``by`` whom, ``worktree:``, since and ``until``
when; the reason stands below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.base.clock import moment_text, span_in_words
from satchel.base.vocabulary import LAYERS
from satchel.interfaces.ledger.compact_lines import (
    NO_AGENT,
    NO_LAYER,
    Line,
    agent_cell,
    layer_cell,
    list_text,
    note_lines,
)
from satchel.interfaces.text_parts import content_lines, quoted, value_text
from satchel.keep.files.records import (
    CHANGES,
    Claim,
    Claimed,
    FileChange,
    FileChangePage,
    FileLock,
    Released,
)

_NO_WORKTREE = "worktree:-"
_CHANGE_BLANKS = (None, None, NO_AGENT, _NO_WORKTREE, NO_LAYER, None)

# a file of such a name could be taken for another field
_FIELD = re.compile(rf"{'|'.join((*CHANGES, *LAYERS))}|by|kept|(?:worktree|layer):.*|[0-9:-]+")


def changes_text(page: FileChangePage) -> str:
    """Render a page of file changes for an agent; all is there but uid, own seq and score."""
    return list_text("file change", page, [change_line(change) for change in page.changes], _CHANGE_BLANKS)


def change_line(change: FileChange) -> Line:
    """Return the line of a change, with what was done below."""
    return Line(
        start=change.ref,
        cells=(
            _file(change.file),
            change.change,
            agent_cell(change.agent),
            _worktree(change.worktree),
            layer_cell(change.layer),
            f"kept {span_in_words(change.expires_at - change.created_at)}",
        ),
        own=(),
        moment=change.created_at,
        below=() if change.description is None else tuple(content_lines(change.description)),
    )


def recorded_text(change: FileChange) -> str:
    """Say that a change was recorded, and what its author should know."""
    line = f"recorded {change.ref} {_file(change.file)} {change.change} {agent_cell(change.agent) or NO_AGENT}"
    return "\n".join([line, *note_lines(change.notes)])


def claimed_text(claimed: Claimed) -> str:
    """Say what was claimed until when, what of it was renewed, who shares it; the notes say who claims it elsewhere."""
    lines = []
    for claim in claimed.claims:
        verb = "renewed" if claim.path in claimed.renewed else "claimed"
        lines.append(f"{verb} {_path(claim)}{_where(claim)} until {moment_text(claim.expires_at)} UTC")
    lines += _of_others("shared with", claimed.shared)
    return "\n".join([*lines, *note_lines(claimed.notes)])


def released_text(released: Released) -> str:
    """Say what is free now, and what was not the agent's to release."""
    lines = [f"released {' '.join(map(_file, released.released))}"] if released.released else ["released nothing"]
    if released.not_held:
        lines.append(f"not held by {value_text(released.agent)}: {' '.join(map(_file, released.not_held))}")
    return "\n".join(lines)


def lock_text(lock: FileLock) -> str:
    """Say whether a file is free, else until when it is not; who claims or changed it, since when and why."""
    until = "" if lock.until is None else f" until {moment_text(lock.until)} UTC"
    lines = [f"{_file(lock.file)} is {f'locked{until}' if lock.locked else 'free'}"]
    lines += _of_others("claimed", lock.claims)
    lines += _of_others("claimed in another worktree", lock.elsewhere)
    lines += _of_others("yours", lock.own)
    for change in lock.recent:
        where = f" {_worktree(change.worktree)}" if change.worktree else ""
        who = agent_cell(change.agent) or NO_AGENT
        lines.append(f"{change.change} {who}{where} {moment_text(change.created_at)} UTC ({change.ref})")
        lines += [] if change.description is None else content_lines(change.description)
    return "\n".join(lines)


def _of_others(told: str, claims: Sequence[Claim]) -> list[str]:
    lines = []
    for claim in claims:
        since, until = moment_text(claim.created_at), moment_text(claim.expires_at)
        who = f"by {value_text(claim.agent)}"
        lines.append(f"{told}: {_path(claim)} {who}{_where(claim)} {since} until {until} UTC")
        lines += [] if claim.reason is None else content_lines(claim.reason)
    return lines


def _path(claim: Claim) -> str:
    return f"{'exclusive' if claim.exclusive else 'shared'} {_file(claim.path)}"


def _where(claim: Claim) -> str:
    return "" if claim.worktree is None else f" {_worktree(claim.worktree)}"


def _worktree(worktree: str | None) -> str | None:
    return None if worktree is None else f"worktree:{value_text(worktree)}"


def _file(file: str) -> str:
    return quoted(file) if _FIELD.fullmatch(file) else value_text(file)
