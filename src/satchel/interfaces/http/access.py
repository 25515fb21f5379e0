"""The rights that a token gives to a request."""

from __future__ import annotations

from pathlib import Path

from satchel.base.records import dataclass

AGENT, PERSON = "agent", "person"
ROLES = (AGENT, PERSON)
"""Who holds a token: a program in which agents work, or a person."""

Store = Path | str
"""Where a token leads: a file, or ``postgresql:NAME`` for a database of the server's configuration."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rights of one token.

    Attributes:
        token: its public id.
        name: the name its creator gave it.
        role: :data:`AGENT` or :data:`PERSON`.
        store: the store's file, an absolute path; or the name of a database: ``postgresql:NAME``.
        project: the name of the one project it gives access to.
        agent: the agent of calls that name none; None leaves it to the call.
        read_only: refuse every write.
    """

    token: str
    name: str
    role: str
    store: Store
    project: str
    agent: str | None = None
    read_only: bool = False
