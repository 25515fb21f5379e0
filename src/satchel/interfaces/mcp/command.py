"""``satchel mcp``: its options, and a server for one client over stdio."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from satchel.base.errors import Refused, SatchelError, StoreMissing
from satchel.client import Satchel
from satchel.interfaces.cli.opening import opened
from satchel.interfaces.cli.options import AGENT, DB, PROJECT, RUN, Option
from satchel.keep.sessions.caller import SERVER

_PAUSE_SECONDS = 0.2
"""The pause before it begins, so that the client has its first answers."""

_LAST_SECONDS = 2.0


@contextmanager
def shared_text_read(satchel: Satchel) -> Iterator[None]:
    """Read the repository's shared text in a thread while the block runs."""
    import threading

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


OPTIONS = (
    DB,
    PROJECT,
    RUN,
    AGENT,
    Option(
        "--toolsets",
        "toolsets",
        "Comma-separated names, or all. Default: context,search,decisions,constraints,briefing,errors,messages,files.",
        "NAMES",
    ),
    Option("--read-only", "read_only", "Serve only the tools that change nothing."),
    Option("--json", "as_json", "Do not serve: print the tools as JSON and leave."),
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
    from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS

    names = DEFAULT_TOOLSETS if toolsets is None else tuple(name.strip() for name in toolsets.split(","))
    if as_json:
        from satchel.interfaces.cli.common import show_json
        from satchel.interfaces.mcp.registry import Registry

        show_json({"tools": Registry(ALL_TOOLS, names, read_only=read_only).listing()})
        return 0
    from satchel.find.meaning import load_in_background
    from satchel.interfaces.mcp.server import make_late_server, make_server
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
            load_in_background(satchel.workplace.meaning)
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
