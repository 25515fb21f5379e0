"""The forms for a new note, decision, rule or message."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.web.request import Page, PageRequest, View
from satchel.keep.constraints import DEFAULT_CATEGORY, DEFAULT_PRIORITY
from satchel.keep.messages.service import EVERYONE


def new(request: PageRequest) -> Page:
    """Return the forms."""
    decision = {"key": "", "value": "", "rationale": "", "status": "active", "revision": 0}
    message = {
        "to": request.values.get("to", EVERYONE),
        "text": "",
        "message_type": "info",
        "priority": DEFAULT_PRIORITY,
    }
    forms = (
        ("Note", "/notes", "Write note", {"text": "", "type": "discovery", "task_id": "", "file": ""}),
        ("Decision", "/decisions", "Decide", decision),
        ("Rule", "/rules", "Add rule", {"text": "", "category": DEFAULT_CATEGORY, "priority": DEFAULT_PRIORITY}),
        ("Message", "/messages", "Send (cannot be unsent)", message),
    )
    data = {"forms": {name: {"path": path, "fields": [*fields]} for name, path, _, fields in forms}}
    return Page(f"New in {request.project.name}", "new.html", {"forms": forms}, data, request.project)


PAGES: Mapping[str, View] = {"/new": new}
