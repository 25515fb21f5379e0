"""Views of shared texts for people, and their decisions on waiting ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.errors import Conflict
from satchel.base.records import replace
from satchel.keep import events
from satchel.keep.kinds import read_ref
from satchel.keep.sessions.actors import acting
from satchel.keep.shared import choosing, listing
from satchel.keep.shared.context import Context, record
from satchel.keep.shared.records import Accepted, Differences, SharedItem, SharedList
from satchel.keep.shared.survey import Survey

if TYPE_CHECKING:
    from satchel.keep.common_filters import Chosen


def standing(context: Context, refs: Sequence[str], chosen: Chosen, *, is_all: bool) -> SharedList:
    place, world = context.look()
    with context.surveyed(place, world, write=False) as survey:
        uids = set(choosing.uids_of(survey, refs)) if refs else None
        items = listing.listed(survey, context.is_person, is_all=is_all or uids is not None)
        visible = tuple(one for one in items if (uids is None or one.uid in uids) and chosen.keeps(one.changed_at))
        shared = sum(one.is_shared for one in survey.known.values())
    return SharedList(visible, shared, place.default, listing.problems_of(survey.problems, is_person=context.is_person))


def accept(context: Context, refs: Sequence[str], digests: Sequence[str] = (), *, is_all: bool) -> Accepted:
    context.refuse_agents("accepts")
    place, world = context.look()
    items: list[SharedItem] = []
    failed: list[tuple[str, str]] = []
    notes: list[str] = []
    with context.surveyed(place, world, write=True) as survey:
        survey.settle()
        uids = choosing.waiting(survey, refs, is_all=is_all)
        _check_unchanged(survey, uids, digests)
        authors = context.authors(survey, uids)
        for uid in uids:
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


def reject(context: Context, refs: Sequence[str], digests: Sequence[str] = (), *, is_all: bool) -> Accepted:
    context.refuse_agents("rejects")
    place, world = context.look()
    items: list[SharedItem] = []
    with context.surveyed(place, world, write=True) as survey:
        survey.settle()
        uids = choosing.waiting(survey, refs, is_all=is_all)
        _check_unchanged(survey, uids, digests)
        for uid in uids:
            items.append(replace(listing.waiting_item(survey, uid, is_person=True), state="rejected", why=None))
            survey.reject(uid)
        record(survey, changed=True)
    return Accepted(False, tuple(items), (), ())


def diff(context: Context, refs: Sequence[str], *, is_all: bool) -> Differences:
    context.refuse_agents("reads")
    place, world = context.look()
    with context.surveyed(place, world, write=False) as survey:
        uids = choosing.waiting(survey, refs, is_all=is_all)
        return Differences(tuple(listing.difference(survey, uid) for uid in uids))


def _check_unchanged(survey: Survey, uids: Sequence[str], digests: Sequence[str]) -> None:
    # nobody decides on a text other than the one they read
    for uid in uids if digests else ():
        file = survey.incoming[uid].found
        if file.text.digest.hex() not in digests:
            raise Conflict(f"{file.name} has changed since", "Nothing was changed; read it again")


def _tell(context: Context, survey: Survey, items: Sequence[SharedItem]) -> None:
    work, project = context.workplace, survey.project
    now = work.clock()
    actor = acting(survey.transaction, work, project, work.agent, now)
    for one in items:
        item = None if one.ref is None else read_ref(one.ref)
        events.record(survey.transaction, project, events.ACCEPTANCE, now, by=actor, item=item)
