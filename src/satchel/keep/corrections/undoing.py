"""Changes of an agent or a person, as an undo takes them back."""

from __future__ import annotations

import json
from collections.abc import Iterator

from satchel.base.errors import Conflict, NotFound, SatchelError
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import events, kept
from satchel.keep.corrections.log import CONFIRMED, RETRACTED, SUPERSEDED, Correction, Corrector, last_of, log_event
from satchel.keep.decisions.records import DRAFT_SUFFIX, STATUSES
from satchel.keep.kinds import KINDS
from satchel.keep.messages import updates as messages
from satchel.store.transaction import Transaction

WRITTEN, SET, PINNED = "written", "set", "pinned"

# Maximum number of the newest changes of each kind searched for one that was not undone.
_MOST_CHANGES = 50

_AUTHORS = {
    Kind.ENTRY: "agent_id",
    Kind.CONSTRAINT: "created_by",
    Kind.STRATEGY: "agent_id",
    Kind.MESSAGE: "from_agent_id",
}


class Change(NamedTuple):
    """A change by a caller; ``seq`` orders changes of one millisecond."""

    action: str
    kind: Kind
    item: int
    made_at: int
    revision: int = 0
    seq: int = 0


def _changes(by: Corrector) -> Iterator[Change]:
    # those that an undo may take back, the newest first
    transaction, values = by.transaction, {"project": by.project_id, "agent": by.agent, "most": _MOST_CHANGES}
    mine: list[Change] = []
    for kind, author in _AUTHORS.items():
        alive = f" AND expires_at > {by.now}" if kind is Kind.MESSAGE else ""
        rows = transaction.all(
            f"SELECT id, created_at, 0, seq FROM {kind.table} WHERE project_id = :project AND {author} = :agent{alive} "
            "ORDER BY id DESC LIMIT :most",
            values,
        )
        mine += [Change(WRITTEN, kind, *row) for row in rows]
    decisions = transaction.all(
        """
        SELECT id, at, max(revision), max(seq) FROM (
            SELECT x.id, x.updated_at AS at, x.revision, x.seq FROM decisions x
            WHERE x.project_id = :project AND x.agent_id = :agent AND NOT (x.status = 2 AND EXISTS (
                SELECT 1 FROM decisions p
                WHERE p.project_id = :project AND x.key = p.key || '_draft' AND p.updated_at = x.updated_at))
            UNION ALL
            SELECT h.decision_id, h.set_at, h.revision, 0
            FROM decision_history h JOIN decisions d ON d.id = h.decision_id
            WHERE d.project_id = :project AND h.agent_id = :agent
        ) AS mine GROUP BY id, at ORDER BY at DESC, 3 DESC LIMIT :most
        """,
        values,
    )
    # a draft that ended as its decision was changed is part of that change; only the last change of each, since an undo
    # is not undone in turn
    newest: dict[int, Change] = {}
    for item, at, revision, seq in decisions:
        newest.setdefault(item, Change(SET, Kind.DECISION, item, at, revision, seq))
    mine += newest.values()
    pins = transaction.all(
        "SELECT kind, item_id, created_at FROM pins WHERE project_id = :project AND agent_id = :agent "
        "ORDER BY created_at DESC LIMIT :most",
        values,
    )
    mine += [Change(PINNED, KIND_OF[number], item, at) for number, item, at in pins]
    mine.sort(key=lambda one: (one.made_at, one.seq), reverse=True)
    yield from (one for one in mine if not _is_taken_back(by, one))


_LOGGED = {
    events.UNPINNED: "unpinned",
    events.CONFIDENCE: "reported an outcome of",
    events.FORGOTTEN: "forgot",
    events.ACCEPTANCE: "decided on the proposal",
    events.RUN_ENDED: "ended the run",
    events.RELEASE: "released",
}

# What hooks record in a session is nobody's intention, so it is no change to undo.
_LASTING = f"""
    SELECT kind, item_kind, item_id, details, created_at FROM events
    WHERE project_id = :project AND agent_id = :agent AND created_at > :after
        AND kind IN ({", ".join(map(str, _LOGGED))}) AND (kind <> {events.RELEASE} OR session_id IS NULL)
    UNION ALL SELECT 0, NULL, NULL, 'reported x' || pattern_id, created_at FROM error_reports
    WHERE project_id = :project AND agent_id = :agent AND created_at > :after AND session_id IS NULL
    UNION ALL SELECT 0, NULL, NULL, 'saved the fix y' || id, created_at FROM error_solutions
    WHERE project_id = :project AND agent_id = :agent AND created_at > :after
    UNION ALL SELECT 0, NULL, NULL, 'saved p' || id, updated_at FROM context_packages
    WHERE project_id = :project AND producer_id = :agent AND updated_at > :after
    UNION ALL SELECT 0, NULL, NULL, 'claimed ' || path, created_at FROM file_claims
    WHERE project_id = :project AND agent_id = :agent AND created_at > :after AND automatic = 0
    UNION ALL SELECT 0, NULL, NULL, 'recorded an edit of ' || f.path, c.created_at
    FROM file_changes c JOIN files f ON f.id = c.file_id
    WHERE c.project_id = :project AND c.agent_id = :agent AND c.created_at > :after AND c.session_id IS NULL
    ORDER BY 5 DESC LIMIT :most
"""


def _lasting_since(by: Corrector, after: int) -> list[str]:
    values = {"project": by.project_id, "agent": by.agent, "after": after, "most": _MOST_CHANGES}
    lasting = []
    for kind, item_kind, item, text, _ in by.transaction.all(_LASTING, values):
        words = _LOGGED.get(kind)
        details = json.loads(text) if words and text else {}
        if "by" in details:
            continue  # somebody else ended the claim
        name = next((details[one] for one in ("solution", "ref", "path", "run") if one in details), None)
        lasting.append(text if words is None else f"{words} {name or KIND_OF[item_kind].ref(item)}")
    return list(dict.fromkeys(lasting))


def last_change(by: Corrector, item: tuple[Kind, int] | None) -> tuple[Change | Correction | None, list[str]]:
    """Return the caller's last change of an item, or of any, with what they did since and cannot undo, in words."""
    correction = last_of(by, item)
    after, lasting = 0 if correction is None else correction.created_at, []
    change = None
    for one in _changes(by):
        if one.made_at <= after:
            break
        if item not in {None, (one.kind, one.item)}:
            continue
        if one.kind is Kind.MESSAGE and (names := messages.readers(by.transaction, by.project_id, by.agent, one.item)):
            lasting.append(f"sent {one.kind.ref(one.item)}, which {names} read")
            continue
        change, after = one, one.made_at
        break
    lasting += _lasting_since(by, after)
    return change or correction, lasting if item is None else []


def not_last(transaction: Transaction, lasting: list[str], last: Change | Correction | None) -> SatchelError:
    """Return the error that names what cannot be undone, and the last change before it."""
    more = f" and {len(lasting) - 3} more" if len(lasting) > 3 else ""
    problem = f"you {', '.join(lasting[:3])}{more}: undo cannot take that back"
    if last is None:
        return NotFound(problem, "Nothing was changed")
    text = kept.texts(KINDS[last.kind], transaction, [last.item]).get(last.item, "").partition("\n")[0]
    ref = last.kind.ref(last.item)
    what = f'{_in_words(transaction, last)} {ref} "{shortened(text)}"'
    return Conflict(problem, f"`satchel undo {ref}` takes back your {what}, your last change before that")


_CORRECTED = {SUPERSEDED: "replacement", RETRACTED: "retraction", CONFIRMED: "confirmation"}


def _in_words(transaction: Transaction, last: Change | Correction) -> str:
    if isinstance(last, Correction):
        return f"{_CORRECTED[last.action]} of"
    if last.action != SET:
        return "pin of" if last.action == PINNED else last.kind.noun
    row = transaction.one("SELECT status, key FROM decisions WHERE id = :id", {"id": last.item})
    is_over = row is not None and row[0] == STATUSES.index("deprecated") + 1
    if is_over:
        return "rejection of" if row and row[1].endswith(DRAFT_SUFFIX) else "end of"
    return "change of" if last.revision > 1 else last.kind.noun


def record_taken_back(by: Corrector, change: Change) -> None:
    """Record that a change was undone; for a decision it has the current revision."""
    log_undo(by, (change.kind, change.item), change.made_at, action=change.action, revision=change.revision)


def log_undo(by: Corrector, item: tuple[Kind, int], made_at: int, **details: object) -> None:
    """Record that what was done to an item at ``made_at`` no longer holds."""
    log_event(by, events.TAKEN_BACK, item, {"made_at": made_at, **details})


def _is_taken_back(by: Corrector, change: Change) -> bool:
    if change.action == PINNED:
        return False
    rows = by.transaction.all(
        "SELECT details FROM events WHERE project_id = :project AND kind = :kind AND item_kind = :of "
        "AND item_id = :item AND details IS NOT NULL",
        {"project": by.project_id, "kind": events.TAKEN_BACK, "of": change.kind.number, "item": change.item},
    )
    revisions = [json.loads(details).get("revision") for (details,) in rows]
    # the undo of a revision made the next one, which is its first author's where that was another
    return change.revision in revisions or (change.revision > 0 and change.revision + 1 in revisions)
