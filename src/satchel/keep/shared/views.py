"""Selection of shared texts, and their records for callers."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from satchel.base.errors import Conflict, InvalidInput, NotFound
from satchel.base.records import replace
from satchel.base.text import shortened
from satchel.keep.binding import BIND_ALL
from satchel.keep.kinds import read_ref
from satchel.keep.patterns.records import DEMOTED, KNOWN
from satchel.keep.shared.folder import BELOW, Problem
from satchel.keep.shared.items import cleaned
from satchel.keep.shared.markdown import SHAPES, SharedText, render
from satchel.keep.shared.records import AHEAD, ELSEWHERE, IN_STEP, NO_FILE, WAITS, Difference, SharedItem
from satchel.keep.shared.repository import RepositoryText
from satchel.keep.shared.states import BOTH, CHANGED, NEW, SAME_KEY
from satchel.keep.shared.survey import Survey

_WHY = {
    NEW: "new",
    CHANGED: "changed",
    BOTH: "changed on both sides: accept takes theirs and keeps the local state in the history, reject keeps it",
    SAME_KEY: "another item has this key: accept merges them, and the later text wins",
}

_LEAST_OF_UID = 4
_RULES = {
    "decisions": ("decision", "SELECT id FROM decisions WHERE project_id = :project AND status = 1"),
    "constraints": (
        "constraint",
        f"SELECT id FROM constraints WHERE project_id = :project AND active = 1 AND {BIND_ALL}",
    ),
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


def select_items(survey: Survey, refs: Sequence[str], rules: Sequence[str]) -> dict[str, list[int]]:
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


def select(survey: Survey, refs: Sequence[str]) -> list[str]:
    by_ref = {survey.ref(uid): uid for uid in survey.ours}
    files = (*survey.repository.committed.items(), *survey.repository.here.items())
    by_file = {file.name: uid for uid, file in files}
    uids: list[str] = []
    for ref in refs:
        reference = ref.strip()
        uid = by_ref.get(reference.lower()) or by_file.get(reference.rpartition("/")[2])
        if uid is None:
            is_long = len(reference) >= _LEAST_OF_UID
            matches = [one for one in survey.uids if is_long and one.startswith(reference.lower())]
            if len(matches) > 1:
                raise Conflict(f"{len(matches)} shared texts begin with {reference}", "Give more of the uid")
            uid = matches[0] if matches else None
        if uid is None:
            raise NotFound(f"{reference[:80]!r} matches no shared text", "satchel share --list --all lists it")
        uids.append(uid)
    return list(dict.fromkeys(uids))


def select_waiting(survey: Survey, refs: Sequence[str], *, is_all: bool) -> list[str]:
    uids = [uid for uid, news in survey.incoming.items() if news.why]
    if not is_all:
        if not refs:
            raise InvalidInput("no shared text is named", "Give ids from satchel share --list, or all")
        selected = select(survey, refs)
        idle = next((uid for uid in selected if uid not in uids), None)
        if idle is not None:
            raise NotFound(
                f"no shared text waits for {survey.ref(idle) or idle[:8]}", "satchel share --list lists what does"
            )
        uids = selected
    return sorted(uids, key=lambda uid: (survey.incoming[uid].file.text.time, uid))


def item_of(text: SharedText, ref: str | None, name: str | None, state: str, why: str | None = None) -> SharedItem:
    return SharedItem(
        ref=ref,
        uid=text.uid,
        kind=text.kind,
        file=None if name is None else f"{BELOW}/{name}",
        title=shortened(cleaned(text)[0].title, 80) or None,
        author=text.author,
        changed_at=text.time,
        state=state,
        why=why,
    )


def _foreign_item(survey: Survey, file: RepositoryText, state: str, why: str) -> SharedItem:
    # an agent gets no words of a stranger
    item = item_of(file.text, survey.ref(file.text.uid), file.name, state, why)
    return item if survey.is_person else replace(item, file=None, title=None, author=None)


def waiting_item(survey: Survey, uid: str) -> SharedItem:
    news = survey.incoming[uid]
    why = _WHY[news.why] + ("" if news.is_committed else ", edited here and not committed")
    return _foreign_item(survey, news.file, WAITS, why)


def waiting_items(survey: Survey) -> tuple[SharedItem, ...]:
    items = [waiting_item(survey, uid) for uid, news in survey.incoming.items() if news.why]
    return tuple(sorted(items, key=lambda item: (item.changed_at or 0, item.uid)))


def list_items(survey: Survey, *, is_all: bool) -> list[SharedItem]:
    """Return the waiting items, then those that differ, then with ``is_all`` the others."""
    others: list[SharedItem] = []
    unwritten = {uid for uid, _ in survey.files_to_write()}
    for uid in survey.uids:
        if uid in survey.incoming:
            continue
        text_state, ours = survey.states.get(uid), survey.ours.get(uid)
        committed, here = survey.repository.committed.get(uid), survey.repository.here.get(uid)
        elsewhere = _elsewhere(survey, uid, committed, here, None if ours is None else ours.digest)
        if elsewhere is not None:
            is_named = survey.is_person and survey.place.branch
            why = f"on branch {survey.place.branch}" if is_named else "not on the default branch"
            others.append(_foreign_item(survey, elsewhere, ELSEWHERE, why))
        elif text_state is not None and text_state.is_shared and ours is not None:
            agreed = here if survey.place.default is None else committed
            state, reason = _state_of(agreed, here, ours.digest, text_state.taken)
            reason = "changed here: satchel sync writes it" if uid in unwritten else reason
            if is_all or state == AHEAD:
                others.append(item_of(survey.text(uid), survey.ref(uid), text_state.file, state, reason))
    others.sort(key=lambda one: (one.state == IN_STEP, one.kind, one.title or "", one.uid))
    return [*waiting_items(survey), *others]


def _elsewhere(
    survey: Survey, uid: str, committed: RepositoryText | None, here: RepositoryText | None, ours: bytes | None
) -> RepositoryText | None:
    # this worktree has another branch's version, which is neither local nor seen
    if here is None or survey.place.is_on_default or here.text.is_gone:
        return None
    digest = here.text.digest
    is_known = digest == ours or (uid, digest) in survey.sightings
    return None if is_known or (committed is not None and committed.text.digest == digest) else here


def _state_of(
    agreed: RepositoryText | None, here: RepositoryText | None, ours: bytes, accepted: bytes | None
) -> tuple[str, str | None]:
    if agreed is not None and agreed.text.digest in {ours, accepted}:
        return IN_STEP, None
    if here is not None and here.text.digest in {ours, accepted}:
        return AHEAD, "in its file, but not on the default branch yet"
    if agreed is not None:
        return AHEAD, "the local item differs from the default branch: satchel share writes it here"
    if here is None:
        return NO_FILE, "no file here or on the default branch: satchel share writes it again"
    return AHEAD, "the local item differs from its file: satchel share writes it"


def difference(survey: Survey, uid: str) -> Difference:
    incoming_text = survey.incoming[uid].file.text
    text, _ = cleaned(incoming_text)
    ours = render(survey.text(uid)).decode() if uid in survey.ours else ""
    item = waiting_item(survey, uid)
    before, after = ours.split("\n")[:-1], render(text).decode().split("\n")[:-1]
    lines = difflib.unified_diff(before, after, "here" if before else "/dev/null", item.file or "", lineterm="")
    return Difference(item, tuple(lines), incoming_text.digest.hex())


def problems_of(survey: Survey) -> tuple[Problem, ...]:
    """Return the problems for the caller; an agent gets no names and words of a stranger."""
    count = len(survey.problems)
    if count and not survey.is_person:
        files = "1 file was" if count == 1 else f"{count:,} files were"
        return (Problem(BELOW, f"{files} skipped; only people see which and why"),)
    return tuple(survey.problems)
