"""Rules, packages, strategies and runs, each as a list."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from satchel.base.vocabulary import LAYERS, LIVENESS, PRIORITIES
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.interfaces.http.room.views import listing
from satchel.interfaces.http.room.views.listing import QUERY, Field
from satchel.keep.packages.records import TYPES as PACKAGE_TYPES
from satchel.keep.runs import STATUSES

_FROM = listing.choices(PRIORITIES, "any")
_RULES = (
    QUERY,
    Field("category", "Category"),
    Field("priority", "At least", _FROM),
    Field("layer", "Layer", listing.choices(LAYERS, "any")),
    Field("tag", "Tag"),
    Field("author", "Added by"),
    Field("status", "State", (("", "active"), ("inactive", "retired"), ("all", "all"))),
)
_LIVE = Field("status", "State", (("", "live"), *listing.choices(LIVENESS[1:])))
_PACKAGES = (
    QUERY,
    Field("type", "Type", listing.choices(PACKAGE_TYPES, "any")),
    Field("priority", "At least", _FROM),
    Field("run", "Run", passed_as="run_id"),
    Field("task", "Task", passed_as="task_id"),
    Field("role", "For"),
    Field("author", "By"),
    _LIVE,
)
_STRATEGIES = (
    QUERY,
    Field("topic", "Topic"),
    Field("lang", "Language"),
    Field("framework", "Framework"),
    Field("author", "By"),
    _LIVE,
)
_RUNS = (Field("status", "State", listing.choices(STATUSES, "any")),)


def rules(asked: Asked) -> Page:
    """Return the rules by priority, those of a page by category."""
    chosen = listing.passed(_RULES, listing.given(asked, _RULES), tag="tags")
    part = asked.looking.constraints.find(**chosen, limit=listing.PER_PAGE, offset=asked.number("offset", 0))
    grouped = [
        (priority, sorted(some, key=lambda one: one.category))
        for priority, some in groupby(part, lambda one: one.priority)
    ]
    return listing.shown(asked, "Rules", "rules.html", "/rules", _RULES, part, groups=grouped)


def packages(asked: Asked) -> Page:
    """Return the packages, the most urgent first."""
    chosen = {"run_id": "*"} | listing.passed(_PACKAGES, listing.given(asked, _PACKAGES), type="types")
    part = asked.looking.packages.find(**chosen, limit=listing.PER_PAGE, offset=asked.number("offset", 0))
    return listing.shown(asked, "Packages", "packages.html", "/packages", _PACKAGES, part)


def strategies(asked: Asked) -> Page:
    """Return the strategies, the most helpful first."""
    chosen = listing.passed(_STRATEGIES, listing.given(asked, _STRATEGIES))
    part = asked.looking.strategies.find(**chosen, limit=listing.PER_PAGE, offset=asked.number("offset", 0))
    return listing.shown(asked, "Strategies", "strategies.html", "/strategies", _STRATEGIES, part)


def runs(asked: Asked) -> Page:
    """Return the runs, the newest first."""
    chosen = listing.passed(_RUNS, listing.given(asked, _RUNS))
    part = asked.looking.room.runs(**chosen, limit=listing.PER_PAGE, offset=asked.number("offset", 0))
    return listing.shown(asked, "Runs", "runs.html", "/runs", _RUNS, part)


PAGES: Mapping[str, View] = {"/rules": rules, "/packages": packages, "/strategies": strategies, "/runs": runs}
