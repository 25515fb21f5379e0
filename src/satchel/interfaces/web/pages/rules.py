"""Rules, and adding one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from satchel.base.vocabulary import LAYERS, PRIORITIES
from satchel.interfaces.web.listing import PER_PAGE, QUERY, Field, arguments, choices, list_page, offset
from satchel.interfaces.web.request import WITHDRAWN, Action, ActionResult, Notice, Page, PageRequest, View
from satchel.keep.constraints import DEFAULT_CATEGORY, DEFAULT_PRIORITY

_FIELDS = (
    QUERY,
    Field("category", "Category"),
    Field("priority", "At least", choices(PRIORITIES, "any")),
    Field("layer", "Layer", choices(LAYERS, "any")),
    Field("tag", "Tag"),
    Field("author", "Added by"),
    Field("status", "State", (("", "active"), ("inactive", "retired"), ("all", "all"))),
)


def rules(request: PageRequest) -> Page:
    """Return the rules by priority, and within a page by category."""
    filters = arguments(request, _FIELDS, tag="tags")
    part = request.reader.constraints.find(**filters, limit=PER_PAGE, offset=offset(request))
    groups = [
        (priority, sorted(some, key=lambda one: one.category))
        for priority, some in groupby(part, lambda one: one.priority)
    ]
    return list_page(request, "Rules", "rules.html", "/rules", _FIELDS, part, groups=groups)


def add(request: PageRequest) -> ActionResult:
    """Add a rule."""
    rule = request.satchel.constraints.add(
        request.values.get("text", ""),
        category=request.optional("category") or DEFAULT_CATEGORY,
        priority=request.values.get("priority") or DEFAULT_PRIORITY,
    )
    return ActionResult("rule-added", rule.ref, request.item_page(rule.ref), WITHDRAWN)


PAGES: Mapping[str, View] = {"/rules": rules}
ACTIONS: Mapping[str, Action] = {"/rules": add}
NOTICES: Mapping[str, Notice] = {"rule-added": Notice("The rule is in force", "/items/{ref}/retract")}
