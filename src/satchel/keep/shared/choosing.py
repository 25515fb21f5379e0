"""Selection of items and texts by short id, file name, start of a uid, or rule."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import Conflict, InvalidInput, NotFound
from satchel.keep.kinds import read_ref
from satchel.keep.patterns.records import DEMOTED, KNOWN
from satchel.keep.shared.markdown import SHAPES
from satchel.keep.shared.survey import Survey

_LEAST_OF_UID = 4
_RULES = {
    "decisions": ("decision", "SELECT id FROM decisions WHERE project_id = :project AND status = 1"),
    "constraints": ("constraint", "SELECT id FROM constraints WHERE project_id = :project AND active = 1"),
    "errors": (
        "error_pattern",
        "SELECT DISTINCT pattern_id FROM error_solutions "
        f"WHERE project_id = :project AND confidence >= {KNOWN} AND state <> {DEMOTED}",
    ),
    "strategies": (
        "strategy",
        "SELECT id FROM strategies WHERE project_id = :project AND superseded_by IS NULL AND helped > not_helped",
    ),
}


def items_to_share(survey: Survey, refs: Sequence[str], rules: Sequence[str]) -> dict[str, list[int]]:
    """Return the numbers of the selected items, by kind."""
    by_kind: dict[str, dict[int, None]] = {}
    for ref in refs:
        kind, number = read_ref(ref)
        name = kind.name.lower()
        if name not in SHAPES:
            raise InvalidInput(
                f"{ref} is not an item that can be shared", "Decisions, rules, errors, strategies and notes are"
            )
        row = survey.transaction.one(
            f"SELECT 1 FROM {kind.table} WHERE project_id = :project AND id = :id",
            {"project": survey.project, "id": number},
        )
        if row is None:
            raise NotFound(f"the project has no {ref}", "Lists and searches show the ids")
        by_kind.setdefault(name, {})[number] = None
    for rule in rules:
        name, sql = _RULES[rule]
        rows = survey.transaction.all(sql, {"project": survey.project})
        by_kind.setdefault(name, {}).update(dict.fromkeys(number for (number,) in rows))
    return {name: list(numbers) for name, numbers in by_kind.items() if numbers}


def uids_of(survey: Survey, refs: Sequence[str]) -> list[str]:
    """Return the uids of the texts that references name."""
    by_ref = {survey.ref(uid): uid for uid in survey.ours}
    texts = (survey.world.committed, survey.world.here)
    by_file = {file.name: uid for these in texts for uid, file in these.items()}
    uids: list[str] = []
    for ref in refs:
        reference = ref.strip()
        uid = by_ref.get(reference.lower()) or by_file.get(reference.rpartition("/")[2])
        if uid is None:
            begin = [
                one for one in survey.uids if one.startswith(reference.lower()) and len(reference) >= _LEAST_OF_UID
            ]
            if len(begin) > 1:
                raise Conflict(f"{len(begin)} shared texts begin with {reference}", "Give more of the uid")
            uid = begin[0] if begin else None
        if uid is None:
            raise NotFound(f"{reference[:80]!r} matches no shared text", "satchel proposals --all lists it")
        uids.append(uid)
    return list(dict.fromkeys(uids))


def waiting(survey: Survey, refs: Sequence[str], *, is_all: bool) -> list[str]:
    """Return the uids of the selected waiting texts, oldest first."""
    uids = [uid for uid, news in survey.incoming.items() if news.why]
    if not is_all:
        if not refs:
            raise InvalidInput("no shared text is named", "Give ids from satchel proposals, or --all")
        selected = uids_of(survey, refs)
        idle = next((uid for uid in selected if uid not in uids), None)
        if idle is not None:
            raise NotFound(
                f"no shared text waits for {survey.ref(idle) or idle[:8]}", "satchel proposals lists what does"
            )
        uids = selected
    return sorted(uids, key=lambda uid: (survey.incoming[uid].found.text.time, uid))
