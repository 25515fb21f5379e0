"""Satchel's own MCP server: its tools, guidance and resources over one opened store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from satchel import __version__
from satchel.client import Satchel
from satchel.interfaces.mcp.guidance import INSTRUCTIONS, PROMPTS
from satchel.interfaces.mcp.offers import Resource, ResourceTemplate
from satchel.interfaces.mcp.protocol import Server
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.mcp.tools import ALL_TOOLS, DEFAULT_TOOLSETS


def make_server(
    satchel: Satchel, toolsets: Iterable[str] = DEFAULT_TOOLSETS, *, read_only: bool = False
) -> Server[Satchel]:
    """Put together what is served, whatever the transport.

    Args:
        satchel: the opened store.
        toolsets: names of toolsets; ``all`` for every one.
        read_only: leave out the tools that write.

    Raises:
        InvalidInput: there is no such toolset.
    """

    def state(given: Mapping[str, str]) -> str:
        from satchel.interfaces.state_text import state_text

        return state_text(satchel.entries.load_state(given.get("run_id")))

    def briefing(given: Mapping[str, str]) -> str:
        from satchel.interfaces.briefing.briefing_text import briefing_text

        return briefing_text(satchel.brief(given.get("role"), preview=True), satchel.briefings.count)

    caller = satchel.workplace.caller
    return Server(
        "satchel",
        __version__,
        satchel,
        Registry(ALL_TOOLS, toolsets, read_only=read_only),
        instructions=INSTRUCTIONS,
        resources=(
            Resource("satchel://state", "state", "What is known", "text/plain", lambda: state({})),
            Resource("satchel://briefing", "briefing", "What an agent needs most", "text/plain", lambda: briefing({})),
        ),
        templates=(
            ResourceTemplate(
                "satchel://runs/{run_id}/state", "run-state", "What is known in one run", "text/plain", state
            ),
            ResourceTemplate(
                "satchel://briefing/{role}",
                "role-briefing",
                "What an agent in a role needs most",
                "text/plain",
                briefing,
            ),
        ),
        prompts=PROMPTS,
        meet=None if caller is None else caller.meet,
        hear=None if caller is None else caller.hear,
    )
