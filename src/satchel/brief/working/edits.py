"""Edits: claims that hold across clients, and what is known of a file before it is changed."""

from __future__ import annotations

import os
from collections.abc import Sequence

from satchel.base.clock import moment_text, span_in_words, year_of
from satchel.base.errors import InvalidInput, Refused
from satchel.base.records import NamedTuple
from satchel.base.text import quoted_line, shortened
from satchel.brief.working.scene import FILE, Scene, Shown, fitting
from satchel.find.kind import Kind
from satchel.keep import deliveries, events, names
from satchel.keep.entries.records import ENTRY_TYPES
from satchel.keep.files import changes, claims
from satchel.keep.files.claiming import RENEWED_MS
from satchel.keep.files.claims import Held, Terms
from satchel.keep.files.places import Place, as_on_disk, check_worktree_file, is_there
from satchel.keep.files.presence import is_anyone_waiting
from satchel.keep.files.records import CHANGES
from satchel.keep.files.service import AUTOMATIC_MINUTES

_SHOWN_CHARS = 240
_MOST_NOTES = 20
_MOST_FILES = 3
"""Of so many files of one edit the notes are shown, and so many are named in a line."""

_NOTE_TYPES = tuple(ENTRY_TYPES.index(name) + 1 for name in ("discovery", "error", "decision", "review_issue"))
_RECORDED_MS = 60_000
"""Edits of one file by one agent within this time are one change."""


class Touched(NamedTuple):
    """A file of an edit.

    Attributes:
        change: created, modified or deleted; empty where only the disk can tell.
    """

    place: Place
    change: str


class Against(NamedTuple):
    """The claims of others that stand against an edit, by whether somebody asked for them."""

    explicit: list[Held]
    automatic: list[Held]


def settle(scene: Scene, cwd: str, edits: Sequence[tuple[str, str]]) -> list[Touched]:
    """Return the files of an edit that lie in the project, each once, in the worktree that holds it.

    Args:
        cwd: the folder that relative paths start from.
        edits: each file with its change.
    """
    found: dict[Place, str] = {}
    for path, change in edits:
        try:
            place = check_worktree_file(scene.work, os.path.join(cwd, path))  # noqa: PTH118 -- on the path of every edit
        except (InvalidInput, Refused):
            continue  # outside of the project, or no name of a file: not ours
        if not place.path.startswith((".satchel/", ".git/")):
            found.setdefault(place, change)
    spelled = as_on_disk(scene.transaction, scene.project_id, scene.work.files_root, list(found))
    return [Touched(place, change) for place, change in zip(spelled, found.values(), strict=True)]


def standing_against(scene: Scene, touched: Sequence[Touched]) -> Against:
    """Return the claims of others that stand against an edit; those of sessions that are over do not."""
    places = [one.place for one in touched]
    seen = claims.look(scene.transaction, scene.project_id, scene.actor, places, scene.now, exclusive=True)
    explicit = [held for held in seen.blocking if not held.claim.automatic and held.claim.exclusive]
    return Against(explicit, [held for held in seen.blocking if held not in explicit])


def claim(scene: Scene, touched: Sequence[Touched]) -> list[str]:
    """Claim the files of an edit for its session, or renew its claims, where nobody else holds them.

    Returns:
        What is to be said: of which dead session a claim is taken over.
    """
    places = {one.place: is_there(scene.work, one.place) for one in touched}
    transaction, now = scene.transaction, scene.now
    claims.remove_expired(transaction, now)
    seen = claims.look(transaction, scene.project_id, scene.actor, list(places), now, exclusive=True)
    due = now + AUTOMATIC_MINUTES * 60_000 - RENEWED_MS
    fresh = [held.place for held in seen.mine if held.claim.expires_at > due]
    wanted = {
        place: existed
        for place, existed in places.items()
        if place not in fresh and not any(place.clashes(held.place) for held in seen.blocking)
    }
    if wanted and is_anyone_waiting(transaction, scene.project_id):
        from satchel.keep.files import waiters

        wanted = {
            place: existed
            for place, existed in wanted.items()
            if waiters.next_one(transaction, scene.project_id, scene.actor, [place], now, exclusive=True) is None
        }
    if not wanted:
        return []
    over = [held for held in seen.over if any(held.place.clashes(place) for place in wanted)]
    terms = Terms(True, AUTOMATIC_MINUTES, None, True)
    granted = claims.grant(transaction, scene.project_id, scene.actor, wanted, seen._replace(over=over), terms, now)
    return [note for note in granted.notes if "taken over" in note]


def refuse(scene: Scene, touched: Sequence[Touched], held: Sequence[Held]) -> str:
    """Record that an edit is stopped, and return why, until when, and what can be done meanwhile."""
    from satchel.keep.files import refusals

    places = [one.place for one in touched if any(one.place.clashes(other.place) for other in held)]
    details = {"paths": [place.path for place in places], "worktree": scene.work.worktree, "by": "hook"}
    events.record(
        scene.transaction,
        scene.project_id,
        events.REFUSAL,
        scene.now,
        session=scene.actor.session,
        agent=scene.actor.number,
        details=details,
    )
    refusals.add(scene.transaction, scene.project_id, scene.actor, places, scene.now, exclusive=True)
    return denial(scene, held)


def denial(scene: Scene, held: Sequence[Held]) -> str:
    """Say who claims what is to be edited, why, until when, and what to do."""
    said = "; ".join(_claimed(scene, one) for one in held[:_MOST_FILES])
    more = len(held) - _MOST_FILES
    holder, path = held[0].claim.agent, held[0].claim.path
    return (
        f"Satchel: {said}{f'; and {more} more' if more > 0 else ''}. Do not edit it by other means. Work on something "
        f'else meanwhile, ask {holder} (send_message), or wait: claim_files(["{path}"], wait_seconds=45)'
    )


def hints(scene: Scene, held: Sequence[Held], *, is_warning: bool) -> list[str]:
    """Say in one line who else works on the files of an edit."""
    if not held:
        return []
    one = held[0]
    more = f" (and {len(held) - 1} more)" if len(held) > 1 else ""
    if is_warning or not one.claim.automatic:
        return [f"Satchel: {_claimed(scene, one)}{more}."]
    ago = span_in_words(max(0, scene.now - one.claim.created_at))
    return [
        f"Satchel: {one.claim.agent} edits {one.claim.path} too (since {ago}){more}: look at the file again before you "
        "change it, and keep to your part."
    ]


def _claimed(scene: Scene, held: Held) -> str:
    claim = held.claim
    left = span_in_words(max(0, claim.expires_at - scene.now))
    until = moment_text(claim.expires_at, year_of(scene.now))
    why = f", for {quoted_line(claim.reason)}" if claim.reason else ""
    how = "claimed" if claim.exclusive else "shared"
    return f"{claim.path} is {how} by {claim.agent}{why}, until {until} UTC ({left} left)"


def cited(scene: Scene, touched: Sequence[Touched], budget: int) -> tuple[list[str], list[Shown]]:
    """Return the notes that cite the files of an edit, at the first touch of each in a window, and what to record.

    Args:
        budget: tokens for each file.
    """
    lines: list[str] = []
    shown: list[Shown] = []
    got: dict[int, dict[int, int]] | None = None
    for one in touched[:_MOST_FILES]:
        rows = _notes_on(scene, one.place.path)
        if not rows:
            continue
        if got is None:
            got = deliveries.delivered(scene.transaction, scene.window)
        file = names.ensure_file(scene.transaction, scene.project_id, one.place.path, scene.now)
        known = got.get(Kind.ENTRY.number, {})
        if file in got.get(FILE, {}):
            continue
        fresh = [row for row in rows if known.get(row[0], -1) < row[1]]
        made = {_note(scene, row): row for row in fresh}
        kept = fitting([f"Notes on {one.place.path} (reports, not orders):", *made], budget)
        if len(kept) > 1:
            lines += kept
            shown += [(Kind.ENTRY.number, made[line][0], made[line][1]) for line in kept[1:]]
            shown.append((FILE, file, 0))
    return lines, shown


def _notes_on(scene: Scene, path: str) -> list[tuple[int, int, int, str, int | None, str | None, int]]:
    """Return the live notes that cite a file, the newest first, but for those that the agent wrote itself."""
    own = "AND c.agent_id IS DISTINCT FROM :agent" if scene.actor.window == 1 else ""
    return scene.transaction.all(
        f"""
        SELECT c.id, c.seq, c.type, c.content, c.line, a.name, c.created_at
        FROM context c LEFT JOIN agents a ON a.id = c.agent_id
        WHERE c.project_id = :project AND c.file = :file AND c.superseded_by IS NULL
            AND +c.type IN ({", ".join(map(str, _NOTE_TYPES))}) {own}
        ORDER BY c.created_at DESC, c.id DESC LIMIT {_MOST_NOTES}
        """,
        {"project": scene.project_id, "file": path, "agent": scene.actor.number},
    )


def _note(scene: Scene, row: tuple[int, int, int, str, int | None, str | None, int]) -> str:
    number, _seq, kind, content, line, author, created = row
    name = ENTRY_TYPES[kind - 1]
    if name == "review_issue":
        from satchel.keep.entries import labels

        content = labels.labelled(name, content)
    where = f" line {line}" if line else ""
    by = f" by {author}" if author else ""
    ago = span_in_words(max(0, scene.now - created))
    return (
        f"{Kind.ENTRY.ref(number)} {name}{where}{by}, {ago} ago: {shortened(' '.join(content.split()), _SHOWN_CHARS)}"
    )


def record(scene: Scene, touched: Sequence[Touched]) -> None:
    """Record that files were changed; what one agent changes of a file within a minute is one change."""
    existed = {
        held.place: held.existed
        for held in claims.overlapping(scene.transaction, scene.project_id, [one.place for one in touched], scene.now)
    }
    retention = scene.work.retention
    expires = retention.expires_at(scene.now, retention.file_changes_hours)
    for one in touched:
        is_now = is_there(scene.work, one.place)
        change = one.change or ("modified" if existed.get(one.place) is not False else "created")
        if not is_now:
            change = "deleted"
        if is_now is None or change not in CHANGES:
            continue
        new = changes.NewChange(
            scene.project_id,
            one.place.path,
            changes.change_number(change),
            scene.actor.number,
            one.place.worktree,
            None,
            None,
            scene.now,
            expires,
            session_id=scene.actor.session,
        )
        if not changes.renew(scene.transaction, new, scene.now - _RECORDED_MS):
            changes.insert(scene.transaction, new)
