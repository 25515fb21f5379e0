"""The ledger as plain JSON, for ``format="json"`` and ``--json``: times in ISO 8601, items with their short ids.

What is not set is left out; ``to`` alone is null where a message is for everyone.
"""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.clock import iso
from satchel.base.paging import Item, KeptPage, Page
from satchel.find.kind import Kind
from satchel.keep.constraints import Constraint, ConstraintPage
from satchel.keep.decisions.records import Decision, DecisionHistory, DecisionPage, DecisionState, Similar
from satchel.keep.files.records import Claim, Claimed, FileChange, FileChangePage, FileLock, Released
from satchel.keep.messages.records import MarkedRead, Message, MessagePage

Fields = dict[str, object]


def decision_fields(decision: Decision) -> Fields:
    """Return a decision as JSON fields, with what it replaced and what it looks like where it was just set."""
    return set_fields(
        {
            "id": decision.ref,
            "uid": decision.uid,
            "seq": decision.seq,
            "key": decision.key,
            "value": decision.value,
            "status": decision.status,
            "version": decision.version,
            "revision": decision.revision,
            "layer": decision.layer,
            "tags": list(decision.tags),
            "scopes": list(decision.scopes),
            "agent": decision.agent,
            "rationale": decision.rationale,
            "created_at": iso(decision.created_at),
            "updated_at": iso(decision.updated_at),
            "score": decision.score,
            "notes": list(decision.notes),
            "replaced": None if decision.replaced is None else decision_state_fields(decision.replaced),
            "similar": [similar_fields(similar) for similar in decision.similar],
        }
    )


def decision_state_fields(state: DecisionState) -> Fields:
    """Return what a decision was as JSON fields."""
    return set_fields(
        {
            "revision": state.revision,
            "value": state.value,
            "status": state.status,
            "version": state.version,
            "layer": state.layer,
            "tags": list(state.tags),
            "scopes": list(state.scopes),
            "agent": state.agent,
            "rationale": state.rationale,
            "set_at": iso(state.set_at),
            "replaced_at": iso(state.replaced_at),
        }
    )


def similar_fields(similar: Similar) -> Fields:
    """Return another decision that one looks like as JSON fields; likeness in percent."""
    return {
        "id": similar.ref,
        "key": similar.key,
        "value": similar.value,
        "by": similar.by,
        "likeness": similar.likeness,
    }


def decision_page_fields(page: DecisionPage) -> Fields:
    """Return a page of decisions as JSON fields."""
    return {"decisions": [decision_fields(decision) for decision in page], **rest_fields(page)}


def history_fields(history: DecisionHistory) -> Fields:
    """Return a decision with what it was before as JSON fields, the newest state first."""
    return {
        "decision": decision_fields(history.decision),
        "history": [decision_state_fields(state) for state in history.history],
        **rest_fields(history.history),
    }


def constraint_fields(constraint: Constraint) -> Fields:
    """Return a constraint as JSON fields."""
    return set_fields(
        {
            "id": constraint.ref,
            "uid": constraint.uid,
            "seq": constraint.seq,
            "category": constraint.category,
            "text": constraint.text,
            "priority": constraint.priority,
            "layer": constraint.layer,
            "tags": list(constraint.tags),
            "agent": constraint.agent,
            "active": constraint.active,
            "reason": constraint.reason,
            "deactivated_by": constraint.deactivated_by,
            "deactivated_at": _iso(constraint.deactivated_at),
            "created_at": iso(constraint.created_at),
            "score": constraint.score,
            "notes": list(constraint.notes),
        }
    )


def constraint_page_fields(page: ConstraintPage) -> Fields:
    """Return a page of constraints as JSON fields."""
    return {"constraints": [constraint_fields(constraint) for constraint in page], **rest_fields(page)}


def message_fields(message: Message) -> Fields:
    """Return a message as JSON fields."""
    fields = set_fields(
        {
            "id": message.ref,
            "uid": message.uid,
            "seq": message.seq,
            "from": message.sender,
            "type": message.type,
            "priority": message.priority,
            "message": message.message,
            "reply_to": None if message.reply_to is None else Kind.MESSAGE.ref(message.reply_to),
            "thread": Kind.MESSAGE.ref(message.thread),
            "created_at": iso(message.created_at),
            "expires_at": iso(message.expires_at),
            "read_at": _iso(message.read_at),
            "score": message.score,
            "notes": list(message.notes),
        }
    )
    # an empty list is a payload too
    return fields | {"to": message.to} | ({} if message.payload is None else {"payload": message.payload})


def message_page_fields(page: MessagePage) -> Fields:
    """Return a page of an agent's messages as JSON fields."""
    return {
        "agent": page.agent,
        "unread": page.unread,
        "messages": [message_fields(message) for message in page],
        **rest_fields(page),
    }


def marked_fields(marked: MarkedRead) -> Fields:
    """Return what marking as read did as JSON fields."""
    return {
        "agent": marked.agent,
        "marked": list(marked.marked),
        "already": list(marked.already),
        "unknown": list(marked.unknown),
        "foreign": list(marked.foreign),
        "unread": marked.unread,
    }


def file_change_fields(change: FileChange) -> Fields:
    """Return a file change as JSON fields."""
    return set_fields(
        {
            "id": change.ref,
            "uid": change.uid,
            "seq": change.seq,
            "file": change.file,
            "change": change.change,
            "agent": change.agent,
            "worktree": change.worktree,
            "layer": change.layer,
            "description": change.description,
            "created_at": iso(change.created_at),
            "expires_at": iso(change.expires_at),
            "score": change.score,
            "notes": list(change.notes),
        }
    )


def file_change_page_fields(page: FileChangePage) -> Fields:
    """Return a page of file changes as JSON fields."""
    return {"changes": [file_change_fields(change) for change in page], **rest_fields(page)}


def claim_fields(claim: Claim) -> Fields:
    """Return a claim as JSON fields; it has no short id, since operations take its path."""
    return set_fields(
        {
            "uid": claim.uid,
            "seq": claim.seq,
            "path": claim.path,
            "exclusive": claim.exclusive,
            "agent": claim.agent,
            "worktree": claim.worktree,
            "reason": claim.reason,
            "created_at": iso(claim.created_at),
            "expires_at": iso(claim.expires_at),
        }
    )


def claim_page_fields(page: Page[Claim]) -> Fields:
    """Return a page of claims as JSON fields."""
    return {"claims": [claim_fields(claim) for claim in page], **rest_fields(page)}


def claimed_fields(claimed: Claimed) -> Fields:
    """Return what claiming did as JSON fields."""
    return {
        "agent": claimed.agent,
        "claims": [claim_fields(claim) for claim in claimed.claims],
        "renewed": list(claimed.renewed),
        "elsewhere": [claim_fields(claim) for claim in claimed.elsewhere],
        "shared": [claim_fields(claim) for claim in claimed.shared],
        "notes": list(claimed.notes),
    }


def released_fields(released: Released) -> Fields:
    """Return what releasing did as JSON fields."""
    return {"agent": released.agent, "released": list(released.released), "not_held": list(released.not_held)}


def lock_fields(lock: FileLock) -> Fields:
    """Return whether a file is locked, and why, as JSON fields."""
    return set_fields({"file": lock.file, "agent": lock.agent, "locked": lock.locked, "until": _iso(lock.until)}) | {
        "claims": [claim_fields(claim) for claim in lock.claims],
        "elsewhere": [claim_fields(claim) for claim in lock.elsewhere],
        "own": [claim_fields(claim) for claim in lock.own],
        "recent": [file_change_fields(change) for change in lock.recent],
    }


def rest_fields(page: Page[Item]) -> Fields:
    """Return what a page says beside its items."""
    fields: Fields = {"total": page.total, "next_offset": page.next_offset}
    return fields | {"seq": page.cursor, "notes": list(page.notes)} if isinstance(page, KeptPage) else fields


def _iso(moment: int | None) -> str | None:
    return None if moment is None else iso(moment)


def set_fields(fields: Mapping[str, object]) -> Fields:
    """Return the fields that are set."""
    return {name: value for name, value in fields.items() if value is not None and value != []}
