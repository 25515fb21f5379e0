"""Drafts by which agents propose to change what a person decided: only a person accepts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.errors import Refused
from satchel.base.records import replace
from satchel.keep.decisions import records, tables
from satchel.keep.decisions.records import Decision
from satchel.keep.names import is_persons
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.decisions.updates import Prepared

_PROPOSED = ("value", "tags", "scopes", "paths", "rationale", "metadata")


def note(key: str, person: str | None, what: str) -> str:
    return f"{key} was decided by {person} {records.PROPOSES} {what}"


def persons_decision(transaction: Transaction, project_id: int, key: str) -> Decision | None:
    """Return a person's decision in force that a draft with a key proposes to change, or None."""
    if not key.endswith(records.DRAFT_SUFFIX):
        return None
    decision = records.load(transaction, project_id, key.removesuffix(records.DRAFT_SUFFIX))
    return decision if decision is not None and decision.status == "active" and is_persons(decision.agent) else None


def refusal(key: str, persons: Decision) -> Refused:
    return Refused(
        f"{key} proposes a change of {persons.key}, which {persons.agent} decided; only a person accepts it",
        f"Leave it a draft, with status=draft, and ask {persons.agent} by a message",
    )


def as_prepared(draft: Decision, new: Prepared) -> Prepared:
    """Return what is set with the fields of a draft where it leaves them out."""
    kept = {name: getattr(draft, name) for name in _PROPOSED if isinstance(getattr(new, name), records.Keep)}
    return replace(new, **kept)


def end(transaction: Transaction, project_id: int, decision: Decision, agent: int | None, session: int | None) -> None:
    """End the draft that proposes what a person decided now."""
    draft = records.load(transaction, project_id, f"{decision.key}{records.DRAFT_SUFFIX}")
    if draft is not None and draft.status == "draft" and draft.value == decision.value:
        ended = replace(draft, status="deprecated", agent=decision.agent, updated_at=decision.updated_at)
        tables.change(transaction, project_id, draft, ended, agent, session)
