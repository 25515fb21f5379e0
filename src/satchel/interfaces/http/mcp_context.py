"""The context of a request to ``/mcp``: the rights, tools and session that its token, address and headers give it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, replace
from satchel.client import Satchel
from satchel.interfaces.http.access import Access
from satchel.interfaces.http.callers import Callers, agent_of, checked_session
from satchel.interfaces.mcp.registry import ALL_TOOLSETS, Registry, Tool
from satchel.interfaces.mcp.tools import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.keep.sessions.caller import Caller

_YES, _NO = frozenset({"", "1", "true", "yes"}), frozenset({"0", "false", "no"})


@dataclass(frozen=True, slots=True)
class CallContext:
    """The rights, tools and session of a request.

    Attributes:
        access: the rights of its token, less what it gives up.
        registry: the tools that it chooses.
        caller: the caller, as sessions know it.
        session: what the client calls its session, or None.
        agent: the agent of a call that names none.
    """

    access: Access
    registry: Registry[Satchel]
    caller: Caller
    session: str | None
    agent: str | None


def read_context(access: Access, query: Mapping[str, str], header: str | None, callers: Callers) -> CallContext:
    """Return the context of a request.

    Args:
        query: the parameters of its address: ``toolsets`` and ``read_only``.
        header: the value of :data:`SESSION_HEADER`.

    Raises:
        InvalidInput: it names no such toolset, or no session.
    """
    if access.read_only or _is_chosen("read_only", query.get("read_only")):
        access = replace(access, read_only=True)
    names = query.get("toolsets")
    toolsets = DEFAULT_TOOLSETS if names is None else tuple(sorted({name.strip() for name in names.split(",")}))
    session = None if access.read_only else checked_session(header)
    caller, agent = callers.caller(access, session), agent_of(access, session)
    return CallContext(access, _registry(toolsets, access.read_only), caller, session, agent)


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
