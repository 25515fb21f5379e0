"""The registered agents of a project."""

from __future__ import annotations

from typing import NamedTuple

from satchel import Satchel
from satchel.keep import names, projects


class Agent(NamedTuple):
    id: int
    name: str
    has_acted: bool


def register(satchel: Satchel, name: str) -> Agent:
    """Register an agent as its first write does."""
    checked = names.check_agent(satchel.workplace, name)
    assert checked is not None
    with projects.writing(satchel.workplace) as (transaction, project, now):
        number, _ = names.ensure_agent(transaction, project.id, checked, now)
    return next(one for one in agents(satchel) if one.id == number)


def agents(satchel: Satchel) -> tuple[Agent, ...]:
    """Return the agents in the order they were first named."""
    with projects.reading(satchel.workplace) as (transaction, project):
        rows = transaction.all(
            "SELECT id, name, has_acted FROM agents WHERE project_id = :project ORDER BY id", {"project": project.id}
        )
    return tuple(Agent(number, name, bool(has_acted)) for number, name, has_acted in rows)
