"""Claims that hooks check before edits, and recorded changes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from satchel.base.clock import span_in_words, until_text
from satchel.base.errors import InvalidInput, Refused
from satchel.base.records import NamedTuple
from satchel.base.text import quoted_line, shortened
from satchel.brief.fields import by, name_text
from satchel.brief.working.hook_context import HookContext, ItemVersion, has
from satchel.keep import deliveries
from satchel.keep.expiry import end_expired
from satchel.keep.files import changes, claims
from satchel.keep.files.claims import Claimant, Lease, Terms
from satchel.keep.files.places import Place, clashing, edited_file, is_there, tree_of
from satchel.keep.files.records import CHANGES
from satchel.keep.presence import is_anyone_waiting
from satchel.keep.projects import Workplace
from satchel.store.transaction import set_of

# How many files of an edit a line names.
_MOST_FILES = 3

# How many refused files of an edit are remembered: each is checked until it is free.
_MOST_REFUSED = 20

# The length of a path in a line for an agent.
_NAME_CHARS = 120

# How long the claim of an edit lasts, and the minimum time between its renewals.
_CLAIM_MINUTES, _RENEWED_MS = 5, 60_000

# Edits of one file by one agent within this time are one change.
_RECORDED_MS = 60_000

DELETED = "deleted"


class EditedFile(NamedTuple):
    """A file of an edit.

    Attributes:
        change: created, modified or deleted; empty if only the disk can tell.
    """

    place: Place
    change: str


class Conflicts(NamedTuple):
    """Claims of others that conflict with an edit, by whether they were requested."""

    explicit: list[Lease]
    automatic: list[Lease]


def places_of(work: Workplace, cwd: str, files: Sequence[tuple[str, str]]) -> dict[Place, str]:
    """Return the places of files that are in the project, each once, with the change of each."""
    change_of: dict[Place, str] = {}
    for path, change in files:
        try:
            place = edited_file(tree_of(work), cwd, path)
        except (InvalidInput, Refused, OSError, ValueError):
            continue  # outside of the project, or an invalid name
        if not place.path.startswith((".satchel/", ".git/")):
            change_of.setdefault(place, change)
    return change_of


def resolve(context: HookContext, cwd: str, edits: Sequence[tuple[str, str]]) -> list[EditedFile]:
    """Return the files of an edit that are in the project, each once, in the worktree that contains it."""
    return [EditedFile(place, change) for place, change in places_of(context.work, cwd, edits).items()]


def find_conflicts(context: HookContext, touched: Sequence[EditedFile]) -> Conflicts:
    """Return others' claims that conflict with an edit; those of ended sessions do not."""
    places = [one.place for one in touched]
    overlaps = claims.find_overlaps(_claimant(context), places)
    is_explicit = [not lease.claim.automatic and lease.claim.exclusive for lease in overlaps.blocking]
    leases = list(zip(overlaps.blocking, is_explicit, strict=True))
    return Conflicts([lease for lease, wins in leases if wins], [lease for lease, wins in leases if not wins])


def claim(context: HookContext, touched: Sequence[EditedFile], *, tells: bool) -> list[str]:
    """Claim the free files of an edit for its session, or renew its claims; return lines on claims taken over.

    ``tells`` is whether the lines reach the agent; otherwise no claim is taken over, since the agent must know.
    """
    places = [one.place for one in touched]
    transaction, now = context.transaction, context.now
    end_expired(transaction, context.project_id, now)
    by = _claimant(context)
    overlaps = claims.find_overlaps(by, places)
    due = now + _CLAIM_MINUTES * 60_000 - _RENEWED_MS
    # a shared claim stays shared
    fresh = {lease.place for lease in overlaps.mine if lease.claim.expires_at > due or not lease.claim.exclusive}
    is_taken = clashing(
        lease.place for lease in (overlaps.blocking if tells else [*overlaps.blocking, *overlaps.orphaned])
    )
    wanted = {place: is_there(context.work, place) for place in places if place not in fresh and not is_taken(place)}
    if wanted and is_anyone_waiting(transaction, context.project_id):
        from satchel.keep.files import waiters

        wanted = {place: existed for place, existed in wanted.items() if waiters.next_waiter(by, [place]) is None}
    if not wanted:
        return []
    is_wanted = clashing(wanted)
    over = [lease for lease in overlaps.orphaned if is_wanted(lease.place)]
    terms = Terms(_CLAIM_MINUTES, automatic=True)
    claims.grant(by, wanted, overlaps._replace(orphaned=over), terms)
    if not over:
        return []
    first = over[0].claim
    verb = "is" if len(over) == 1 else "are"
    return [
        f"Satchel: {_path_text(first.path, len(over))} {verb} taken over from {first.agent}, whose session is over."
    ]


def refuse(context: HookContext, touched: Sequence[EditedFile], leases: Sequence[Lease]) -> str:
    """Record that an edit is stopped; return the reason, the end of the claim, and what to do."""
    from satchel.keep.files import refusals

    places = covered_places(touched, leases)
    refused = places[:_MOST_REFUSED]
    holders = [one.claim.agent for one in leases]
    by = _claimant(context)
    refusals.log(by, refused, context.work.worktree, holders, by="hook")
    refusals.add(by, refused)
    return denial(context, places, leases)


def _claimant(context: HookContext) -> Claimant:
    return Claimant(context.transaction, context.project_id, context.actor, context.now)


def covered_places(touched: Sequence[EditedFile], leases: Sequence[Lease]) -> list[Place]:
    """Return the files of an edit that claims cover."""
    is_held = clashing(one.place for one in leases)
    return [one.place for one in touched if is_held(one.place)]


def denial(context: HookContext, places: Sequence[Place], leases: Sequence[Lease]) -> str:
    claims_text = "; ".join(_claimed(context, one) for one in leases[:_MOST_FILES])
    more = len(leases) - _MOST_FILES
    them = "it" if len(places) == 1 else "them"
    files = json.dumps([place.path for place in places[:_MOST_FILES]], ensure_ascii=False)
    return (
        f"Satchel: not edited: {claims_text}{f'; and {more} more' if more > 0 else ''}. Do not change {them} by other "
        f"means. Work on something else, ask {leases[0].claim.agent} (satchel's send_message), or wait for {them}: "
        f"claim_files({files}, wait_seconds=45){_way_out(context, leases, files)}"
    )


def _way_out(context: HookContext, leases: Sequence[Lease], files: str) -> str:
    rows = context.transaction.all(
        f"""
        SELECT h.uid FROM sessions h JOIN sessions own ON own.id = :own
        WHERE h.id IN {set_of(one.session for one in leases if one.session is not None)} AND h.client = own.client
            AND h.worktree = own.worktree AND h.machine = own.machine AND h.server IS NOT NULL AND own.server IS NULL
        """,
        {"own": context.actor.session},
    )
    if not rows:
        return ""
    return (
        f". If the claim is your own, your client runs its hooks and server in separate sessions: "
        f"release_files({files}) ends it, and starting the client with SATCHEL_SESSION={rows[0][0].hex()} joins them"
    )


def hints(context: HookContext, conflicts: Conflicts, *, is_made: bool = False) -> tuple[list[str], list[ItemVersion]]:
    """Return one line for requested and one for automatic claims on the files of an edit, and their items.

    A claim is named once in a window until it is renewed.
    """
    if not conflicts.explicit and not conflicts.automatic:
        return [], []
    contents = deliveries.delivered(context.transaction, context.window)
    lines: list[str] = []
    items: list[ItemVersion] = []
    for all_leases in conflicts:
        versions = {(deliveries.CLAIM, one.claim.id, one.claim.seq): one for one in all_leases}
        new = {version: one for version, one in versions.items() if not has(contents, version)}
        if not new:
            continue
        leases = list(new.values())
        first = leases[0].claim
        if first.automatic:
            span = span_in_words(context.now - first.created_at)
            lines.append(
                f"Satchel: {first.agent} is editing {_path_text(first.path, len(leases))} too, for {span}: read it "
                "again before you change it, and leave the other's changes alone."
            )
        else:
            lines.append(warning(context, leases, is_made=is_made))
        items += new
    return lines, items


def warning(context: HookContext, leases: Sequence[Lease], *, is_made: bool = False) -> str:
    """Return a line on who claims a file that is or was edited."""
    more = f"; and {len(leases) - 1} more" if len(leases) > 1 else ""
    holder = leases[0].claim.agent
    what_to_do = f" Tell {holder} what you changed (satchel's send_message) before you continue." if is_made else ""
    return f"Satchel: {_claimed(context, leases[0])}{more}.{what_to_do}"


def _path_text(path: str, count: int) -> str:
    more = count - 1
    return f"{name_text(shortened(path, _NAME_CHARS))}" + (f" and {more} more file{'s' * (more > 1)}" if more else "")


def _claimed(context: HookContext, lease: Lease) -> str:
    claim = lease.claim
    why = f", for {quoted_line(claim.reason)}" if claim.reason else ""
    how = "claimed" if claim.exclusive else "shared"
    name = name_text(shortened(claim.path, _NAME_CHARS))
    return f"{name} is {how} {by(claim.agent)}{why}, {until_text(claim.expires_at, context.now)}"


def record(context: HookContext, touched: Sequence[EditedFile]) -> None:
    """Record changes of files; changes of one file by one agent within a minute are one.

    An edit also counts as an action after failed commands of the session.
    """
    failed = "failed_commands WHERE session_id = :session AND acted_at IS NULL"
    if context.transaction.one(f"SELECT 1 FROM {failed} LIMIT 1", {"session": context.actor.session}) is not None:
        context.transaction.run(
            f"UPDATE {failed.replace(' WHERE', ' SET acted_at = :now WHERE')}",
            {"session": context.actor.session, "now": context.now},
        )
    existed = {
        lease.place: lease.existed
        for lease in claims.load_overlapping(
            context.transaction, context.project_id, [one.place for one in touched], context.now
        )
    }
    for one in touched:
        is_now = is_there(context.work, one.place)
        was = existed.get(one.place)
        change = one.change or ("created" if was is False else "modified")
        if not is_now:
            change = DELETED if was or one.change == DELETED else ""  # neither before nor after: no change
        if is_now is None or change not in CHANGES:
            continue
        new = changes.new_change(context.work, context.project_id, context.actor, one.place, change, context.now)
        if not changes.renew(context.transaction, new, context.now - _RECORDED_MS):
            changes.insert(context.transaction, new)
