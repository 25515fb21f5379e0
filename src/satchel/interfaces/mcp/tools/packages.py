"""Toolset ``packages``: files and texts that agents hand to each other, and approaches that worked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.errors import InvalidInput
from satchel.base.paging import DEFAULT_LIMIT
from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import (
    AUTHOR,
    CHANGES,
    FORMAT,
    LEAST_PRIORITY,
    LIVENESS,
    PRIORITY,
    TEXT,
    TEXTS,
    WHOLE,
    choice,
    said,
    takes,
)
from satchel.interfaces.mcp.registry import Tool

if TYPE_CHECKING:
    from satchel.keep.packages import Package


def save_package(
    call: Call[Satchel],
    /,
    *,
    summary: str | None = None,
    path: str | None = None,
    content: str | None = None,
    type: str | None = None,  # noqa: A002 -- the field's own name
    priority: str | None = None,
    task_id: str | None = None,
    consumers: Sequence[str] | None = None,
    supersedes: str | None = None,
    package: str | None = None,
    event: str | None = None,
    run_id: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Save a package, or say how urgent one is that was saved."""
    from satchel.interfaces.briefing.packages_text import changed_text, saved_text
    from satchel.interfaces.to_json import fields_of

    if package is not None:
        of_a_new_one = {
            "summary": summary,
            "path": path,
            "content": content,
            "type": type,
            "task_id": task_id,
            "consumers": consumers,
            "supersedes": supersedes,
            "run_id": run_id,
        }
        _refuse_beside("package", of_a_new_one, "It changes a priority; leave package out to save a new one")
        changed = _changed(call, package, priority, event)
        return answer(call, format, lambda: changed_text(changed), lambda: fields_of(changed), agent=agent)
    if event is not None:
        raise InvalidInput("event was given without package", "Say what it happened to, such as package p3")
    if summary is None:
        raise InvalidInput("summary is missing", "Say in one line what is in it, or name the package to change")
    with call.on_cancel(call.service.interrupter()):
        saved = call.service.packages.save(
            summary,
            path=path,
            content=content,
            type="research" if type is None else type,
            priority="medium" if priority is None else priority,
            task_id=task_id,
            consumers=() if consumers is None else consumers,
            supersedes=supersedes,
            run_id=run_id,
            agent=agent,
        )
    return answer(call, format, lambda: saved_text(saved), lambda: fields_of(saved), agent=agent, files=[saved.path])


def _changed(call: Call[Satchel], package: str, priority: str | None, event: str | None) -> Package:
    with call.on_cancel(call.service.interrupter()):
        if priority is not None and event is None:
            return call.service.packages.set_priority(package, priority)
        if event is not None and priority is None:
            return call.service.packages.react(package, event)
    given = "neither priority nor event" if priority is None else "both priority and event"
    raise InvalidInput(f"package was given with {given}", "Say its new priority, or which event changes it")


def get_packages(
    call: Call[Satchel],
    /,
    *,
    search: str | None = None,
    types: Sequence[str] | None = None,
    priority: str | None = None,
    role: str | None = None,
    task_id: str | None = None,
    agent: str | None = None,
    status: str | None = None,
    run_id: str | None = None,
    packages: Sequence[str] | None = None,
    max_bytes: int | None = None,
    since: str | None = None,
    after_seq: int | None = None,
    order: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """List packages, or read what some of them hold."""
    if packages is not None:
        filters = {
            "search": search,
            "types": types,
            "priority": priority,
            "role": role,
            "task_id": task_id,
            "agent": agent,
            "status": status,
            "run_id": run_id,
            "since": since,
            "after_seq": after_seq,
            "order": order,
            "limit": limit,
            "offset": offset,
        }
        _refuse_beside("packages", filters, "They choose from the list; leave packages out to get that")
        return _contents(call, packages, max_bytes, format)
    if max_bytes is not None:
        raise InvalidInput(
            "max_bytes was given without packages", 'Say what to read, as in packages ["p3"], or leave it out'
        )
    from satchel.interfaces.briefing.packages_text import packages_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        page = call.service.packages.find(
            query=search,
            types=types,
            priority=priority,
            role=role,
            task_id=task_id,
            author=agent,
            status="live" if status is None else status,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=DEFAULT_LIMIT if limit is None else limit,
            offset=0 if offset is None else offset,
            run_id=run_id,
        )
    return answer(
        call,
        format,
        lambda: packages_text(page),
        lambda: fields_of(page, "packages"),
        files=[package.path for package in page],
    )


def _contents(call: Call[Satchel], packages: Sequence[str], max_bytes: int | None, form: str) -> str:
    from satchel.interfaces.briefing.packages_text import contents_fields, contents_text

    with call.on_cancel(call.service.interrupter()):
        contents = call.service.packages.read_many(packages, max_bytes)
    files = [content.package.path for content in contents if content.package is not None]
    return answer(call, form, lambda: contents_text(contents), lambda: contents_fields(contents), files=files)


def _refuse_beside(name: str, others: Mapping[str, object], remedy: str) -> None:
    given = [other for other, value in others.items() if value is not None]
    if given:
        raise InvalidInput(f"{name} was given beside {', '.join(given)}", remedy)


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="save_package",
        toolset="packages",
        description="Hand a file (path) or text (content) to other agents, or change the priority of a package.",
        parameters=takes(
            {
                "summary": said(TEXT, "One line"),
                "path": TEXT,
                "content": TEXT,
                "type": choice("research", "failures", "decisions", "handoff", "investigation"),
                "priority": PRIORITY,
                "task_id": TEXT,
                "consumers": said(TEXTS, "Roles; default any"),
                "supersedes": TEXT,
                "package": said(TEXT, "As p3, with its new priority or an event"),
                "event": choice("error", "blocker", "finding", "resolved", "stale"),
                "run_id": TEXT,
                "agent": TEXT,
                "format": FORMAT,
            }
        ),
        handler=save_package,
        read_only=False,
    ),
    Tool(
        name="get_packages",
        toolset="packages",
        description="The run's packages, most urgent first or by search; or what some hold.",
        parameters=takes(
            {
                "search": TEXT,
                "types": TEXTS,
                "priority": LEAST_PRIORITY,
                "role": TEXT,
                "task_id": TEXT,
                "agent": AUTHOR,
                "status": LIVENESS,
                "run_id": TEXT,
                "packages": said(TEXTS, "Read these, as p3"),
                "max_bytes": said(WHOLE, "Of each"),
                **CHANGES,
            }
        ),
        handler=get_packages,
        read_only=True,
    ),
)
