"""The rights that a token gives to a request, and callers without a local program, by token and session header."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.base.vocabulary import HUMAN
from satchel.keep.names import is_persons, person_named
from satchel.keep.sessions.caller import Caller

AGENT, PERSON = "agent", "person"
# Who holds a token: a program in which agents work, or a person.
ROLES = (AGENT, PERSON)

# Where a token leads: a file, or ``postgresql:NAME`` for a database of the server's configuration.
Store = Path | str


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


# The header in which a client names its session; names of headers have no case.
SESSION_HEADER = "satchel-session"

MAX_SESSION_CHARS = 200

# So many sessions are kept in mind; of others their client's name is forgotten until it says it again.
_CALLERS = 4_096


def person_of(access: Access) -> str:
    """Return the stored name of the person behind a token: the one it acts as, else the token's name."""
    return access.agent if access.agent is not None and is_persons(access.agent) else person_named(access.name) or HUMAN


def owner_of(access: Access) -> str:
    """Return the owner of the conversations of a token: its person, its agent, or the token if it names neither.

    The name of a token is no owner: a later token of that name may be another's.
    """
    if access.role == PERSON:
        person = person_of(access)
        return person if person != HUMAN else f"token:{access.token}"
    return f"token:{access.token}" if access.agent is None else f"agent:{access.agent}"


def agent_of(access: Access, session: str | None) -> str | None:
    """Return the agent of a call that names none; None if the session has its own."""
    if access.agent is not None or access.role == PERSON:
        return access.agent or person_of(access)
    return access.name if session is None else None


class Callers:
    """The known callers by token and session, with their clients' names."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Caller] = OrderedDict()
        self._lock = threading.Lock()

    def caller(self, access: Access, session: str | None) -> Caller:
        is_of_person = access.role == PERSON
        if session is None or access.read_only:
            return Caller.of_request(access.token, None, is_of_person=is_of_person)
        key = (access.token, session)
        with self._lock:
            if key not in self._known:
                self._known[key] = Caller.of_request(access.token, session, is_of_person=is_of_person)
                if len(self._known) > _CALLERS:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return self._known[key]


def checked_session(header: str | None) -> str | None:
    session = "" if header is None else header.strip()
    if not session:
        return None
    with suppress(UnicodeError):
        session = session.encode("latin-1").decode()
    remedy = f"Give any text of at most {MAX_SESSION_CHARS} printable characters, one for each conversation"
    if len(session) > MAX_SESSION_CHARS:
        raise InvalidInput(f"Satchel-Session has {len(session)} characters", remedy)
    if not session.isprintable():
        raise InvalidInput("Satchel-Session holds characters that cannot be shown", remedy)
    if "${" in session:
        raise InvalidInput(f"Satchel-Session {session!r} is a variable without a value", remedy)
    return session
