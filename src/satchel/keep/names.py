"""Names that are registered on first use: agents, and later files, tags and layers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

from satchel.base.errors import InvalidInput
from satchel.base.redaction import finds_secret
from satchel.base.text import check_name, fold
from satchel.keep import projects
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Agent:
    """Who acts. Names differ by more than case; the role says what kind of worker it is."""

    id: int
    name: str
    role: str | None
    created_at: int


class Agents:
    """The agents of a project."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    def register(self, name: str, role: str | None = None) -> Agent:
        """Record an agent, or its role; writing as an agent records it too.

        Args:
            name: at most 200 characters, compared without regard to case.
            role: such as developer, qa_expert or a word of the user's own; None keeps what is recorded.

        Raises:
            InvalidInput: the name or role is not a name.
        """
        name = check_identifier(name, "agent")
        role = None if role is None else check_identifier(role, "role")
        with self._workplace.engine.write() as transaction:
            now = self._workplace.clock()
            project = projects.ensure(transaction, self._workplace, now)
            agent, _ = ensure_agent(transaction, project.id, name, now)
            if role is not None:
                transaction.execute(
                    "UPDATE agents SET role = :role, seq = :seq WHERE id = :id AND role IS DISTINCT FROM :role",
                    {"role": role, "id": agent, "seq": projects.next_seq(transaction, project.id)},
                )
            row = transaction.one("SELECT id, name, role, created_at FROM agents WHERE id = :id", {"id": agent})
        assert row is not None
        return Agent(*row)

    def list(self) -> tuple[Agent, ...]:
        """Return the project's agents, in the order they first acted."""
        with self._workplace.engine.read() as transaction:
            project = projects.find(transaction, self._workplace)
            if project is None:
                return ()
            rows = transaction.all(
                "SELECT id, name, role, created_at FROM agents WHERE project_id = :project ORDER BY id",
                {"project": project.id},
            )
        return tuple(Agent(*row) for row in rows)


def ensure_agent(transaction: Transaction, project_id: int, name: str, now: int) -> tuple[int, str]:
    """Return the number of an agent, recorded on first use, and its name as it was written then."""
    remembered: tuple[int, str] | None = transaction.memo.get(("agent", project_id, name))
    if remembered is not None:
        return remembered
    known = transaction.one(
        "SELECT id, name FROM agents WHERE project_id = :project AND folded = :folded",
        {"project": project_id, "folded": fold(name)},
    )
    if known is None:
        known = transaction.one(
            """
            INSERT INTO agents (uid, seq, project_id, name, folded, created_at)
            VALUES (:uid, :seq, :project, :name, :folded, :now)
            RETURNING id, name
            """,
            {
                "uid": os.urandom(16),
                "seq": projects.next_seq(transaction, project_id),
                "project": project_id,
                "name": name,
                "folded": fold(name),
                "now": now,
            },
        )
    assert known is not None
    agent = transaction.memo["agent", project_id, name] = int(known[0]), str(known[1])
    return agent


def find_agent(transaction: Transaction, project_id: int, name: str | None) -> int | None:
    """Return the number of an agent, -1 for a name that no agent has, None for no name."""
    if name is None:
        return None
    row = transaction.one(
        "SELECT id FROM agents WHERE project_id = :project AND folded = :folded",
        {"project": project_id, "folded": fold(name)},
    )
    return int(row[0]) if row else -1


def check_identifier(value: object, field: str) -> str:
    """Return a name as :func:`satchel.base.text.check_name` does, and refuse one that holds a secret."""
    return _check_text(value, field) if isinstance(value, str) else check_name(value, field)


@lru_cache(maxsize=4_096)
def _check_text(value: str, field: str) -> str:
    # the same few agents, tasks, loops and files come with every call
    name = check_name(value, field)
    secret = finds_secret(name)
    if secret is not None:
        raise InvalidInput(f"{field} looks like a secret ({secret})", "Use a name that gives nothing away")
    return name
