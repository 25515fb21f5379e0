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
        name: what the person who made it calls it.
        role: :data:`AGENT` or :data:`PERSON`.
        store: the store's file, an absolute path; or the name of a database: ``postgresql:NAME``.
        project: the one project of the store that it leads to, by name.
        agent: who acts where a call names nobody; None leaves that to the call.
        read_only: refuse every write.
    """

    token: str
    name: str
    role: str
    store: Store
    project: str
    agent: str | None = None
    read_only: bool = False
