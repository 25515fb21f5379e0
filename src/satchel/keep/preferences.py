"""Rules of one person: preferences, and what a person stated and no person has confirmed; both bind only that person's
sessions.
"""

from __future__ import annotations

from satchel.find.kind import Kind
from satchel.keep.names import find_agent
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

UNCONFIRMED = "unconfirmed"
"""The mark of a rule that a person stated and no person has confirmed."""

BIND_ALL = "unconfirmed = 0 AND for_person IS NULL"
"""The condition that a rule binds everybody's sessions."""


def author_of(alias: str) -> str:
    """Return SQL for the author of a rule."""
    return Kind.CONSTRAINT.author.replace("i.", f"{alias}.")


def binding_caller(transaction: Transaction, workplace: Workplace, project_id: int, alias: str = "c") -> str:
    """Return the condition that a rule binds the caller's sessions, after ``AND``; empty if all rules do."""
    restricted = "SELECT 1 FROM constraints WHERE project_id = :project AND (unconfirmed = 1 OR for_person IS NOT NULL)"
    if transaction.one(f"{restricted} LIMIT 1", {"project": project_id}) is None:
        return ""  # the usual case does not look up who the person is
    person = find_agent(transaction, project_id, workplace.person())
    return (
        f" AND ({alias}.unconfirmed = 0 OR {alias}.stated_by = {person}) "
        f"AND COALESCE({alias}.for_person, {person}) = {person}"
    )
