"""Satchel's MCP server: its tools, guidance and resources over one store; and ``satchel mcp``, for one client."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, cast

from satchel import __version__
from satchel.base.errors import Refused, SatchelError, StoreMissing
from satchel.base.records import replace
from satchel.client import Satchel
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.guidance import PROMPTS, Resource, ResourceTemplate, instructions
from satchel.interfaces.mcp.protocol import Server
from satchel.interfaces.mcp.registry import Registry, Tool
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.keep.sessions.caller import SERVER, Caller

_PAUSE_SECONDS = 0.2
"""The pause before it begins, so that the client has its first answers."""

_LAST_SECONDS = 2.0


@contextmanager
def shared_text_read(satchel: Satchel) -> Iterator[None]:
    """Read the repository's shared text in a thread while the block runs."""
    done = threading.Event()

    def read() -> None:
        if done.wait(_PAUSE_SECONDS):
            return
        # satchel sync reads it again and reports the error
        with suppress(SatchelError, OSError):
            from satchel.keep.shared.folder import may_be_news

            if may_be_news(satchel.workplace, satchel.config.share_branch):
                satchel.shared.read_news()

    thread = threading.Thread(target=read, name="shared-text", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_LAST_SECONDS)


def make_late_server(
    open_satchel: Callable[[], Satchel], toolsets: Iterable[str] = DEFAULT_TOOLSETS, *, read_only: bool = False
) -> Server[Satchel]:
    """Make a server for a store that cannot be opened yet: each call tries again, or answers with the remedy."""
    lock = threading.Lock()
    satchel: Satchel | None = None
    client: tuple[str | None, str | None] = (None, None)

    def set_client(name: str | None, version: str | None) -> None:
        nonlocal client
        client = (name, version)

    def opened_late(call: Call[Satchel]) -> Satchel:
        nonlocal satchel
        with lock:
            if satchel is None:
                satchel = open_satchel()
                if satchel.workplace.caller is not None:
                    satchel.workplace.caller.set_client(*client)
        if satchel.workplace.caller is not None:
            satchel.workplace.caller.read_meta(call.meta)
        return satchel

    def late(tool: Tool[Satchel]) -> Tool[Satchel]:
        def handle(call: Call[Satchel], /, **arguments: Any) -> str:
            call.service = opened_late(call)
            return tool.handler(call, **arguments)

        return replace(tool, handler=handle)

    registry = Registry([late(tool) for tool in ALL_TOOLS], toolsets, read_only=read_only)
    return Server(
        "satchel",
        __version__,
        cast("Satchel", None),  # each tool opens it first
        registry,
        instructions=instructions(registry.tools),
        prompts=PROMPTS,
        on_client=set_client,
    )


def make_server(
    satchel: Satchel, toolsets: Iterable[str] = DEFAULT_TOOLSETS, *, read_only: bool = False
) -> Server[Satchel]:
    """Make a server for any transport."""
    registry = Registry(ALL_TOOLS, toolsets, read_only=read_only)
    return make_server_of(registry, lambda: satchel, satchel.workplace.caller, satchel)


def make_server_of(
    registry: Registry[Satchel], opened: Callable[[], Satchel], caller: Caller | None, service: Satchel | None = None
) -> Server[Satchel]:
    """Make a server of some tools for a caller."""

    def state(values: Mapping[str, str]) -> str:
        from satchel.interfaces.text.runs import state_text

        return state_text(opened().entries.load_state(values.get("run_id")))

    def briefing(values: Mapping[str, str]) -> str:
        from satchel.interfaces.text.briefings import briefing_text

        satchel = opened()
        return briefing_text(satchel.brief(values.get("role"), dry_run=True), satchel.briefings.count)

    return Server(
        "satchel",
        __version__,
        cast("Satchel", service),
        registry,
        instructions=instructions(registry.tools),
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
        on_client=None if caller is None else caller.set_client,
        on_meta=None if caller is None else caller.read_meta,
    )


def run(
    db: str | None,
    project: str | None,
    run_id: str | None,
    agent: str | None,
    toolsets: str | None,
    read_only: bool,
    as_json: bool,
) -> int:
    """Serve one client until its input ends, or print the tools; return the exit status."""
    names = DEFAULT_TOOLSETS if toolsets is None else tuple(name.strip() for name in toolsets.split(","))
    if as_json:
        from satchel.interfaces.cli.common import show_json

        show_json({"tools": Registry(ALL_TOOLS, names, read_only=read_only).listing()})
        return 0
    from satchel.interfaces.mcp.stdio import serve_stdio
    from satchel.store.engine import automatic_backups

    with ExitStack() as stack:

        def open_here() -> Satchel:
            satchel = stack.enter_context(
                opened(db, project, run_id=run_id, agent=agent, read_only=read_only, caller=SERVER)
            )
            if satchel.remote is not None:
                return satchel
            stack.enter_context(automatic_backups(satchel.workplace.engine))
            if not read_only:
                stack.enter_context(shared_text_read(satchel))
            return satchel

        try:
            server = make_server(open_here(), names, read_only=read_only)
        except (Refused, StoreMissing) as error:
            # a client reports only that a server failed, if it exits; the answer to a call can explain why
            print(f"satchel: {error}", file=sys.stderr)  # noqa: T201 -- what the host's log keeps
            server = make_late_server(open_here, names, read_only=read_only)
        return serve_stdio(server)
