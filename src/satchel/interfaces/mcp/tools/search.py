"""Toolset ``search``: one search over everything the project keeps."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import AUTHOR, CHANGES, FLAG, LIVENESS, PAGE, TEXT, TEXTS, choice, said, takes
from satchel.interfaces.mcp.registry import Tool


def search(
    call: Call[Satchel],
    /,
    *,
    query: str | None = None,
    like: str | None = None,
    syntax: str = "natural",
    run_id: str | None = None,
    kinds: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
    agent: str | None = None,
    task_id: str | None = None,
    loop_id: str | None = None,
    file: str | None = None,
    since: str | None = None,
    status: str = "all",
    limit: int = 10,
    offset: int = 0,
    explain: bool = False,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Search everything the project keeps."""
    # an agent that never searches does not pay for it at start
    from satchel.interfaces.found_text import found_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        page = call.service.finding.search(
            query,
            like=like,
            syntax=syntax,
            run_id=run_id,
            kinds=kinds,
            types=types,
            author=agent,
            task_id=task_id,
            loop_id=loop_id,
            file=file,
            since=since,
            status=status,
            limit=limit,
            offset=offset,
            explain=explain,
        )
    return answer(
        call,
        format,
        lambda: found_text(page),
        lambda: fields_of(page, "results"),
        files=[result.file for result in page.results],
    )


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="search",
        toolset="search",
        description="Search all that is kept, of all runs.",
        parameters=takes(
            {
                "query": TEXT,
                "like": said(TEXT, "Instead: more like this id"),
                "syntax": said(choice("natural", "operators"), "operators: AND OR NOT prefix* ( )"),
                "run_id": TEXT,
                "kinds": TEXTS,
                "types": TEXTS,
                "agent": AUTHOR,
                "task_id": TEXT,
                "loop_id": TEXT,
                "file": TEXT,
                "since": CHANGES["since"],
                "status": LIVENESS,
                "explain": FLAG,
                **PAGE,
            }
        ),
        handler=search,
        read_only=True,
    ),
)
