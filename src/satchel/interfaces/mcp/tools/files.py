"""Toolset ``files``: edits that were made, and claims that announce them."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import (
    ACTOR,
    AUTHOR,
    CHANGES,
    FLAG,
    FORMAT,
    TEXT,
    TEXTS,
    WHOLE,
    choice,
    said,
    takes,
)
from satchel.interfaces.mcp.registry import Tool

_CHANGE = choice("created", "modified", "deleted")


def record_file_change(
    call: Call[Satchel],
    /,
    *,
    file: str,
    change: str,
    description: str | None = None,
    layer: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Record an edit."""
    from satchel.interfaces.ledger.files_text import recorded_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        made = call.service.files.record(file, change, description=description, layer=layer, agent=agent)
    return answer(call, format, lambda: recorded_text(made), lambda: fields_of(made), agent=agent, files=[made.file])


def get_file_changes(
    call: Call[Satchel],
    /,
    *,
    file: str | None = None,
    change: str | None = None,
    agent: str | None = None,
    layer: str | None = None,
    search: str | None = None,
    since: str | None = None,
    after_seq: int | None = None,
    order: str | None = None,
    limit: int = 20,
    offset: int = 0,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Read recorded edits."""
    from satchel.interfaces.ledger.files_text import changes_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        page = call.service.files.changes(
            file=file,
            change=change,
            author=agent,
            layer=layer,
            since=since,
            after_seq=after_seq,
            query=search,
            order=order,
            limit=limit,
            offset=offset,
        )
    return answer(
        call,
        format,
        lambda: changes_text(page),
        lambda: fields_of(page, "changes"),
        files=[made.file for made in page.changes],
    )


def check_files(
    call: Call[Satchel],
    /,
    *,
    file: str,
    window_seconds: int = 300,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Say whether a file is another's to edit; that is the answer itself, so no notice repeats it."""
    from satchel.interfaces.ledger.files_text import lock_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        lock = call.service.files.check_lock(file, window_seconds=window_seconds, agent=agent)
    return answer(call, format, lambda: lock_text(lock), lambda: fields_of(lock), agent=agent)


def claim_files(
    call: Call[Satchel],
    /,
    *,
    paths: Sequence[str],
    exclusive: bool = True,
    minutes: int | None = None,
    reason: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Claim files and folders; the answer says what others claim of them."""
    from satchel.interfaces.ledger.files_text import claimed_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        claimed = call.service.files.claim(paths, exclusive=exclusive, minutes=minutes, reason=reason, agent=agent)
    return answer(call, format, lambda: claimed_text(claimed), lambda: fields_of(claimed), agent=agent)


def release_files(
    call: Call[Satchel],
    /,
    *,
    paths: Sequence[str] | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """End claims of one's own."""
    from satchel.interfaces.ledger.files_text import released_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        released = call.service.files.release(paths, agent=agent)
    return answer(call, format, lambda: released_text(released), lambda: fields_of(released), agent=agent)


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="record_file_change",
        toolset="files",
        description="Record an edit you made.",
        parameters=takes(
            {"file": TEXT, "change": _CHANGE, "description": TEXT, "layer": TEXT, "agent": ACTOR, "format": FORMAT},
            "file",
            "change",
        ),
        handler=record_file_change,
        read_only=False,
    ),
    Tool(
        name="get_file_changes",
        toolset="files",
        description="Who changed which files, newest first or by search.",
        parameters=takes(
            {
                "file": said(TEXT, "A file, or folder/"),
                "change": _CHANGE,
                "agent": AUTHOR,
                "layer": TEXT,
                "search": TEXT,
                **CHANGES,
            }
        ),
        handler=get_file_changes,
        read_only=True,
    ),
    Tool(
        name="check_files",
        toolset="files",
        description="May you edit a file? Who claimed it or changed it just now, since and until when.",
        parameters=takes(
            {
                "file": said(TEXT, "A file, or folder/"),
                "window_seconds": said(WHOLE, "How recent a change counts; default 300, 0: claims only"),
                "agent": ACTOR,
                "format": FORMAT,
            },
            "file",
        ),
        handler=check_files,
        read_only=True,
    ),
    Tool(
        name="claim_files",
        toolset="files",
        description="Claim files before you edit them, all or none; claiming again renews.",
        parameters=takes(
            {
                "paths": said(TEXTS, "Files, or folder/ for all in it"),
                "exclusive": said(FLAG, "Default true"),
                "minutes": said(WHOLE, "Default 30"),
                "reason": TEXT,
                "agent": ACTOR,
                "format": FORMAT,
            },
            "paths",
        ),
        handler=claim_files,
        read_only=False,
    ),
    Tool(
        name="release_files",
        toolset="files",
        description="End your claims on paths, or all of yours.",
        parameters=takes({"paths": TEXTS, "agent": ACTOR, "format": FORMAT}),
        handler=release_files,
        read_only=False,
    ),
)
