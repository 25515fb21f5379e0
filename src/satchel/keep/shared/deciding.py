"""What a person sees of the shared text, and says of what waits."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import Conflict
from satchel.base.records import replace
from satchel.keep import events
from satchel.keep.kinds import read_ref
from satchel.keep.sessions.actors import acting
from satchel.keep.shared import choosing, listing
from satchel.keep.shared.context import Context, record
from satchel.keep.shared.records import Accepted, Differences, SharedItem, SharedList
from satchel.keep.shared.survey import Survey


def standing(context: Context, refs: Sequence[str], *, is_all: bool) -> SharedList:
    """Return how the shared text stands; see :meth:`satchel.keep.shared.service.SharedTexts.standing`."""
    place, world = context.look()
    with context.surveyed(place, world, write=False) as survey:
        meant = set(choosing.named(survey, refs)) if refs else None
        items = listing.listed(survey, context.is_person, is_all=is_all or meant is not None)
        kept = tuple(one for one in items if meant is None or one.uid in meant)
        shared = sum(one.is_shared for one in survey.known.values())
    return SharedList(kept, shared, place.default, listing.problems_of(survey.problems, is_person=context.is_person))


def accept(context: Context, refs: Sequence[str], seen: Sequence[str] = (), *, is_all: bool) -> Accepted:
    """Let texts that wait hold; see :meth:`satchel.keep.shared.service.SharedTexts.accept`."""
    context.refuse_agents("accepts")
    place, world = context.look()
    items: list[SharedItem] = []
    failed: list[tuple[str, str]] = []
    notes: list[str] = []
    with context.surveyed(place, world, write=True) as survey:
        survey.settle()
        chosen = choosing.waiting(survey, refs, is_all=is_all)
        _check_seen(survey, chosen, seen)
        authors = context.authors(survey, chosen)
        for uid in chosen:
            item = listing.waiting_item(survey, uid, is_person=True)
            done = survey.accept(uid, authors.get(survey.incoming[uid].found.name))
            if done.failure is not None:
                failed.append((item.file or uid, done.failure))
                continue
            notes += done.notes
            items.append(replace(item, ref=survey.ref(done.uid), state="accepted", why=None))
        _tell(context, survey, items)
        record(survey, changed=True)
    return Accepted(True, tuple(items), tuple(failed), tuple(dict.fromkeys(notes)))


def reject(context: Context, refs: Sequence[str], seen: Sequence[str] = (), *, is_all: bool) -> Accepted:
    """Pass over texts that wait; see :meth:`satchel.keep.shared.service.SharedTexts.reject`."""
    context.refuse_agents("rejects")
    place, world = context.look()
    items: list[SharedItem] = []
    with context.surveyed(place, world, write=True) as survey:
        survey.settle()
        chosen = choosing.waiting(survey, refs, is_all=is_all)
        _check_seen(survey, chosen, seen)
        for uid in chosen:
            items.append(replace(listing.waiting_item(survey, uid, is_person=True), state="rejected", why=None))
            survey.reject(uid)
        record(survey, changed=True)
    return Accepted(False, tuple(items), (), ())


def diff(context: Context, refs: Sequence[str], *, is_all: bool) -> Differences:
    """Return the texts that wait, beside ours; see :meth:`satchel.keep.shared.service.SharedTexts.diff`."""
    context.refuse_agents("reads")
    place, world = context.look()
    with context.surveyed(place, world, write=False) as survey:
        chosen = choosing.waiting(survey, refs, is_all=is_all)
        return Differences(tuple(listing.difference(survey, uid) for uid in chosen))


def _check_seen(survey: Survey, uids: Sequence[str], seen: Sequence[str]) -> None:
    """Refuse to decide about texts that are others than those that were seen.

    Raises:
        Conflict: one is.
    """
    for uid in uids if seen else ():
        found = survey.incoming[uid].found
        if found.text.digest.hex() not in seen:
            raise Conflict(f"{found.name} says something else by now", "Nothing was changed; read it again")


def _tell(context: Context, survey: Survey, items: Sequence[SharedItem]) -> None:
    work, project = context.workplace, survey.project
    now = work.clock()
    actor = acting(survey.transaction, work, project, work.agent, now)
    for one in items:
        item = None if one.ref is None else read_ref(one.ref)
        events.record(survey.transaction, project, events.ACCEPTANCE, now, by=actor, item=item)
