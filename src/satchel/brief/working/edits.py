"""Edits: claims that hold across clients, and what is known of a file before it is changed."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence

from satchel.base.clock import span_in_words, until_text
from satchel.base.errors import InvalidInput, Refused
from satchel.base.records import NamedTuple
from satchel.base.text import quoted_line, shortened
from satchel.brief.working import notes
from satchel.brief.working.scene import CLAIM, FILE, Scene, Shown, fitting
from satchel.find.kind import Kind
from satchel.find.words import STOP_WORDS, WORD
from satchel.keep import deliveries, events, names
from satchel.keep.files import changes, claims
from satchel.keep.files.claiming import RENEWED_MS
from satchel.keep.files.claims import Lease, Terms
from satchel.keep.files.places import Place, as_on_disk, check_worktree_file, clashing, is_there
from satchel.keep.files.presence import is_anyone_waiting
from satchel.keep.files.records import CHANGES
from satchel.keep.files.service import AUTOMATIC_MINUTES
from satchel.store.transaction import set_of

_MOST_NOTES, _MOST_SHOWN = 20, 2
"""So many notes of a file are looked at, the newest, and so many shown."""

_MOST_FILES = 3
"""Of so many files of one edit the notes are shown, and so many are named in a line."""

_MOST_REFUSED = 20
"""Of so many files of one edit it is remembered that they were refused: each is looked up until it is free."""

_NAME_CHARS = 120
"""So much of a path is said in a line for an agent."""

_RECORDED_MS = 60_000
"""Edits of one file by one agent within this time are one change."""

DELETED = "deleted"


class Touched(NamedTuple):
    """A file of an edit.

    Attributes:
        change: created, modified or deleted; empty where only the disk can tell.
    """

    place: Place
    change: str


class Against(NamedTuple):
    """The claims of others that stand against an edit, by whether somebody asked for them."""

    explicit: list[Lease]
    automatic: list[Lease]


def settle(scene: Scene, cwd: str, edits: Sequence[tuple[str, str]]) -> list[Touched]:
    """Return the files of an edit that lie in the project, each once, in the worktree that holds it.

    Args:
        cwd: the folder that relative paths start from.
        edits: each file with its change.
    """
    found: dict[Place, str] = {}
    for path, change in edits:
        if path.startswith("~") or "://" in path:
            continue  # what no tool takes for a file below a folder
        try:
            place = check_worktree_file(scene.work, _below(scene.work.files_root, os.path.join(cwd, path)))  # noqa: PTH118 -- on the path of every edit
        except (InvalidInput, Refused, OSError, ValueError):
            continue  # outside of the project, or no name of a file: not ours
        if not place.path.startswith((".satchel/", ".git/")):
            found.setdefault(place, change)
    spelled = as_on_disk(scene.transaction, scene.project_id, scene.work.files_root, list(found))
    return [Touched(place, change) for place, change in dict(zip(spelled, found.values(), strict=True)).items()]


def _below(root: str | None, path: str) -> str:
    """Return a path below a folder as it is called from there, since the length of names is limited."""
    start = "" if root is None else f"{root.rstrip('/')}/"
    return path[len(start) :] if start and path.startswith(start) else path


def standing_against(scene: Scene, touched: Sequence[Touched]) -> Against:
    """Return the claims of others that stand against an edit; those of sessions that are over do not."""
    places = [one.place for one in touched]
    seen = claims.find_overlaps(scene.transaction, scene.project_id, scene.actor, places, scene.now, exclusive=True)
    is_explicit = [not held.claim.automatic and held.claim.exclusive for held in seen.blocking]
    found = list(zip(seen.blocking, is_explicit, strict=True))
    return Against([held for held, wins in found if wins], [held for held, wins in found if not wins])


def claim(scene: Scene, touched: Sequence[Touched], *, tells: bool) -> list[str]:
    """Claim the files of an edit for its session, or renew its claims, where nobody else holds them.

    Args:
        tells: whether what is returned reaches the agent; otherwise nothing is taken over, which is to be said.

    Returns:
        What is to be said: of which session that is over a claim is taken over.
    """
    places = [one.place for one in touched]
    transaction, now = scene.transaction, scene.now
    claims.remove_expired(transaction, scene.project_id, now)
    seen = claims.find_overlaps(transaction, scene.project_id, scene.actor, places, now, exclusive=True)
    due = now + AUTOMATIC_MINUTES * 60_000 - RENEWED_MS
    # a share that was asked for stays one
    fresh = {held.place for held in seen.mine if held.claim.expires_at > due or not held.claim.exclusive}
    is_taken = clashing(held.place for held in (seen.blocking if tells else [*seen.blocking, *seen.orphaned]))
    wanted = {place: is_there(scene.work, place) for place in places if place not in fresh and not is_taken(place)}
    if wanted and is_anyone_waiting(transaction, scene.project_id):
        from satchel.keep.files import waiters

        wanted = {
            place: existed
            for place, existed in wanted.items()
            if waiters.next_waiter(transaction, scene.project_id, scene.actor, [place], now, exclusive=True) is None
        }
    if not wanted:
        return []
    is_wanted = clashing(wanted)
    over = [held for held in seen.orphaned if is_wanted(held.place)]
    terms = Terms(True, AUTOMATIC_MINUTES, None, True)
    claims.grant(transaction, scene.project_id, scene.actor, wanted, seen._replace(orphaned=over), terms, now)
    if not over:
        return []
    first = over[0].claim
    verb = "is" if len(over) == 1 else "are"
    return [f"Satchel: {_named(first.path, len(over))} {verb} taken over from {first.agent}, whose session is over."]


def refuse(scene: Scene, touched: Sequence[Touched], held: Sequence[Lease]) -> str:
    """Record that an edit is stopped, and return why, until when, and what can be done meanwhile."""
    from satchel.keep.files import refusals

    places = held_of(touched, held)
    refused = places[:_MOST_REFUSED]
    details = {"paths": [place.path for place in refused], "worktree": scene.work.worktree, "by": "hook"}
    events.record(scene.transaction, scene.project_id, events.REFUSAL, scene.now, by=scene.actor, details=details)
    refusals.add(scene.transaction, scene.project_id, scene.actor, refused, scene.now, exclusive=True)
    return denial(scene, places, held)


def held_of(touched: Sequence[Touched], held: Sequence[Lease]) -> list[Place]:
    """Return the files of an edit that claims are about."""
    is_held = clashing(one.place for one in held)
    return [one.place for one in touched if is_held(one.place)]


def denial(scene: Scene, places: Sequence[Place], held: Sequence[Lease]) -> str:
    """Say who claims what is to be edited, why, until when, and what to do."""
    said = "; ".join(_claimed(scene, one) for one in held[:_MOST_FILES])
    more = len(held) - _MOST_FILES
    them = "it" if len(places) == 1 else "them"
    files = json.dumps([place.path for place in places[:_MOST_FILES]], ensure_ascii=False)
    return (
        f"Satchel: not edited: {said}{f'; and {more} more' if more > 0 else ''}. Do not change {them} by other means. "
        f"Work on something else meanwhile, ask {held[0].claim.agent} (send_message), or wait for {them}: "
        f"claim_files({files}, wait_seconds=45){_way_out(scene, held, files)}"
    )


def _way_out(scene: Scene, held: Sequence[Lease], files: str) -> str:
    """Say how to go on where the holder may be the server of the same agent, which its hooks did not meet."""
    rows = scene.transaction.all(
        f"""
        SELECT h.uid FROM sessions h JOIN sessions own ON own.id = :own
        WHERE h.id IN {set_of(one.session for one in held if one.session is not None)} AND h.client = own.client
            AND h.worktree = own.worktree AND h.machine = own.machine AND h.server IS NOT NULL AND own.server IS NULL
        """,
        {"own": scene.actor.session},
    )
    if not rows:
        return ""
    return (
        f". If the claim is your own, the hooks and the server of your client did not meet: release_files({files}) "
        f"ends it, and starting the client with SATCHEL_SESSION={rows[0][0].hex()} joins them"
    )


def hints(scene: Scene, against: Against, *, is_made: bool = False) -> tuple[list[str], list[Shown]]:
    """Say who else works on the files of an edit, in one line each for what is claimed explicitly and by edits.

    A claim is named once in a window until it is renewed.

    Args:
        is_made: whether the edit was made already.
    """
    if not against.explicit and not against.automatic:
        return [], []
    got = deliveries.delivered(scene.transaction, scene.window).get(CLAIM, {})
    lines: list[str] = []
    shown: list[Shown] = []
    for all_held in against:
        held = [one for one in all_held if got.get(one.claim.id, -1) < one.claim.seq]
        if not held:
            continue
        first = held[0].claim
        if first.automatic:
            span = span_in_words(scene.now - first.created_at)
            lines.append(
                f"Satchel: {first.agent} is editing {_named(first.path, len(held))} too, for {span}: read it again "
                "before you change it, and leave the other's changes alone."
            )
        else:
            lines.append(warning(scene, held, is_made=is_made))
        shown += [(CLAIM, one.claim.id, one.claim.seq) for one in held]
    return lines, shown


def warning(scene: Scene, held: Sequence[Lease], *, is_made: bool = False) -> str:
    """Say in a line who claims what is to be edited, or was edited."""
    more = f"; and {len(held) - 1} more" if len(held) > 1 else ""
    what_to_do = f" Tell {held[0].claim.agent} what you changed (send_message) before you go on." if is_made else ""
    return f"Satchel: {_claimed(scene, held[0])}{more}.{what_to_do}"


def _named(path: str, count: int) -> str:
    """Name a path, and say of how many it is the first."""
    more = count - 1
    return shortened(path, _NAME_CHARS) + (f" and {more} more file{'s' * (more > 1)}" if more else "")


def _claimed(scene: Scene, held: Lease) -> str:
    claim = held.claim
    why = f", for {quoted_line(claim.reason)}" if claim.reason else ""
    how = "claimed" if claim.exclusive else "shared"
    name = shortened(claim.path, _NAME_CHARS)
    return f"{name} is {how} by {claim.agent}{why}, {until_text(claim.expires_at, scene.now)}"


def cited(scene: Scene, touched: Sequence[Touched], text: str, budget: int) -> tuple[list[str], list[Shown]]:
    """Return the notes that cite the files of an edit, at the first touch of each in a window, and what to record.

    Args:
        text: what is written and replaced: of many notes those are shown that share most words with it.
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
        fresh = [note for note in rows if known.get(note.number, -1) < note.seq]
        standing = notes.standing(scene.transaction, scene.work.files_root, fresh)
        worth = _worth(fresh, text)
        fresh.sort(key=lambda note: (note.number in standing and standing[note.number].is_stale, -worth[note.number]))
        made = {
            notes.line(note.head(scene.now, standing.get(note.number), names_file=False), note.text): note
            for note in fresh[:_MOST_SHOWN]
        }
        more = f"{len(made)} of {len(fresh)}; " if len(fresh) > len(made) else ""
        heading = f"Satchel on {shortened(one.place.path, _NAME_CHARS)} ({more}reports, not orders):"
        kept = [line for line in fitting([heading, *made], budget) if line in made]
        if kept:
            lines += [heading, *kept]
            shown += [(Kind.ENTRY.number, made[line].number, made[line].seq) for line in kept]
            shown.append((FILE, file, 0))
    return lines, shown


def _worth(some: Sequence[notes.Note], text: str) -> dict[int, float]:
    """Return how many words notes share with a text, by their numbers; what several notes hold counts less."""
    holding = {note.number: _words(note.text) for note in some} if len(some) > _MOST_SHOWN else {}
    times = Counter(word for words in holding.values() for word in words)
    wanted = _words(text)
    return {
        note.number: sum(1 / times[word] for word in holding.get(note.number, frozenset()) & wanted) for note in some
    }


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in WORD.findall(text.lower()) if len(word) > 1) - STOP_WORDS


def _notes_on(scene: Scene, path: str) -> list[notes.Note]:
    """Return the live notes that cite a file, the newest first, but for those that the agent wrote itself."""
    own = "AND c.agent_id IS DISTINCT FROM :agent" if scene.actor.window == 1 else ""
    rows = scene.transaction.all(
        f"""
        SELECT {notes.COLUMNS} FROM {notes.SOURCE}
        WHERE c.project_id = :project AND c.file = :file AND c.superseded_by IS NULL
            AND +c.type IN ({", ".join(map(str, notes.NOTE_TYPES))}) {own}
        ORDER BY c.created_at DESC, c.id DESC LIMIT {_MOST_NOTES}
        """,
        {"project": scene.project_id, "file": path, "agent": scene.actor.number},
    )
    return [notes.Note(*row) for row in rows]


def record(scene: Scene, touched: Sequence[Touched]) -> None:
    """Record that files were changed; what one agent changes of a file within a minute is one change.

    From then on something was done about the commands of the session that have failed.
    """
    failed = "failed_commands WHERE session_id = :session AND acted_at IS NULL"
    if scene.transaction.one(f"SELECT 1 FROM {failed} LIMIT 1", {"session": scene.actor.session}) is not None:
        scene.transaction.run(
            f"UPDATE {failed.replace(' WHERE', ' SET acted_at = :now WHERE')}",
            {"session": scene.actor.session, "now": scene.now},
        )
    existed = {
        held.place: held.existed
        for held in claims.load_overlapping(
            scene.transaction, scene.project_id, [one.place for one in touched], scene.now
        )
    }
    retention = scene.work.retention
    expires = retention.expires_at(scene.now, retention.file_changes_hours)
    for one in touched:
        is_now = is_there(scene.work, one.place)
        was = existed.get(one.place)
        change = one.change or ("created" if was is False else "modified")
        if not is_now:
            change = DELETED if was or one.change == DELETED else ""  # what neither was nor is there has not changed
        if is_now is None or change not in CHANGES:
            continue
        new = changes.NewChange(
            one.place.path,
            scene.project_id,
            changes.change_number(change),
            scene.actor.number,
            scene.actor.session,
            one.place.worktree,
            expires,
            scene.now,
        )
        if not changes.renew(scene.transaction, new, scene.now - _RECORDED_MS):
            changes.insert(scene.transaction, new)
