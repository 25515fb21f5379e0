"""Satchel's MCP server: its tools, guidance and resources over one store; and ``satchel mcp``, for one client."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache

from satchel import __version__
from satchel.base.errors import Refused, SatchelError, StoreMissing
from satchel.client import Satchel
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.mcp.guidance import PROMPTS, Resource, instructions
from satchel.interfaces.mcp.protocol import Server
from satchel.interfaces.mcp.registry import Registry
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.keep.sessions.caller import SERVER, Caller

# The pause before it begins, so that the client has its first answers.
_PAUSE_SECONDS = 0.2

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


def make_server(registry: Registry[Satchel], opened: Callable[[], Satchel], caller: Caller | None) -> Server[Satchel]:
    """Make a server of some tools for a caller; the store is opened when a call needs it."""

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
        opened,
        registry,
        instructions=instructions(registry.tools),
        resources=(
            Resource("satchel://state", "state", "What is known", state),
            Resource("satchel://briefing", "briefing", "What an agent needs most", briefing),
            Resource("satchel://runs/{run_id}/state", "run-state", "What is known in one run", state),
            Resource("satchel://briefing/{role}", "role-briefing", "What an agent in a role needs most", briefing),
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
        caller = Caller(SERVER, os.environ)
        lock = threading.Lock()

        @cache
        def open_here() -> Satchel:
            satchel = stack.enter_context(
                opened(db, project, run_id=run_id, agent=agent, read_only=read_only, caller=caller)
            )
            if satchel.remote is not None:
                return satchel
            stack.enter_context(automatic_backups(satchel.workplace.engine))
            if not read_only:
                stack.enter_context(shared_text_read(satchel))
            return satchel

        def open_once() -> Satchel:
            with lock:
                return open_here()

        try:
            open_here()
        except (Refused, StoreMissing) as error:
            # a client reports only that a server failed, if it exits; the answer to a call, which opens it, can explain
            print(f"satchel: {error}", file=sys.stderr)  # noqa: T201 -- what the host's log keeps
        return serve_stdio(make_server(Registry(ALL_TOOLS, names, read_only=read_only), open_once, caller))
