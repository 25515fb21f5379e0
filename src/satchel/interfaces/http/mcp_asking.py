"""What one request to ``/mcp`` asks for beside its message: which tools, and in which session."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, replace
from satchel.base.vocabulary import HUMAN
from satchel.client import Satchel
from satchel.interfaces.http.access import PERSON, Access
from satchel.interfaces.mcp.registry import ALL_TOOLSETS, Registry, Tool
from satchel.interfaces.mcp.tools import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.keep.sessions.caller import Caller

SESSION_HEADER = "satchel-session"
"""The header in which a client names its session; names of headers have no case."""

MAX_SESSION_CHARS = 200

_CALLERS = 4_096
"""So many sessions are kept in mind; of others their client's name is forgotten until it says it again."""

_YES, _NO = frozenset({"", "1", "true", "yes"}), frozenset({"0", "false", "no"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for, and may do.

    Attributes:
        access: the rights of its token, less what it gives up.
        registry: the tools that it chooses.
        caller: who calls.
        session: what the client calls its session, or None.
        agent: who acts where the call names nobody.
    """

    access: Access
    registry: Registry[Satchel]
    caller: Caller
    session: str | None
    agent: str | None


class Callers:
    """The callers that have been heard of, by token and session: what each has said of itself stays known."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Caller] = OrderedDict()
        self._lock = threading.Lock()

    def caller(self, access: Access, session: str | None) -> Caller:
        """Return the caller of a request."""
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


def read(access: Access, query: Mapping[str, str], header: str | None, callers: Callers) -> Asked:
    """Return what a request asks for.

    Args:
        query: the parameters of its address: ``toolsets`` and ``read_only``.
        header: what it says in :data:`SESSION_HEADER`.

    Raises:
        InvalidInput: it names no such toolset, or no session.
    """
    if access.read_only or _is_chosen("read_only", query.get("read_only")):
        access = replace(access, read_only=True)
    names = query.get("toolsets")
    chosen = DEFAULT_TOOLSETS if names is None else tuple(sorted({name.strip() for name in names.split(",")}))
    session = None if access.read_only else _checked_session(header)
    otherwise = HUMAN if access.role == PERSON else None if session is not None else access.name
    caller = callers.caller(access, session)
    return Asked(access, _registry(chosen, access.read_only), caller, session, access.agent or otherwise)


@lru_cache(maxsize=64)
def _registry(toolsets: tuple[str, ...], read_only: bool) -> Registry[Satchel]:
    # the declarations of all tools are checked each time one is made: 5 ms
    def choosing(tool: Tool[Satchel]) -> str:
        if read_only and not tool.read_only:
            return "It writes, and this token or address only reads"
        return (
            f"It belongs to the toolset {tool.toolset}; add it to ?toolsets= in the server's address, or {ALL_TOOLSETS}"
        )

    return Registry(ALL_TOOLS, toolsets, read_only=read_only, choosing=choosing)


def _is_chosen(name: str, value: str | None) -> bool:
    if value is None or value.lower() in _NO:
        return False
    if value.lower() in _YES:
        return True
    raise InvalidInput(f"{name} {value!r} is neither yes nor no", f"Give {name}=1, or leave it out")


def _checked_session(header: str | None) -> str | None:
    """Return what a client calls its session; None where it names none.

    Raises:
        InvalidInput: it is too long, cannot be shown, or is a variable that the client did not fill in.
    """
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
