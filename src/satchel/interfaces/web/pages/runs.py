"""Runs, and what remains of them: packages, strategies, and proposals of strategies."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from satchel.base.errors import NotFound
from satchel.base.vocabulary import PRIORITIES
from satchel.interfaces.web.listing import LIVE, PER_PAGE, QUERY, Field, arguments, choices, list_page, offset
from satchel.interfaces.web.request import WITHDRAWN, Action, ActionResult, Notice, Page, PageRequest, View
from satchel.keep.packages.records import TYPES as PACKAGE_TYPES
from satchel.keep.runs import STATUSES

_RUNS = (Field("status", "State", choices(STATUSES, "any")),)
_PACKAGES = (
    QUERY,
    Field("type", "Type", choices(PACKAGE_TYPES, "any")),
    Field("priority", "At least", choices(PRIORITIES, "any")),
    Field("run", "Run", argument="run_id"),
    Field("task", "Task", argument="task_id"),
    Field("role", "For"),
    Field("author", "By"),
    LIVE,
)
_STRATEGIES = (
    QUERY,
    Field("topic", "Topic"),
    Field("lang", "Language"),
    Field("framework", "Framework"),
    Field("author", "By"),
    LIVE,
)


def runs(request: PageRequest) -> Page:
    """Return the runs, the newest first."""
    part = request.reader.room.runs(**arguments(request, _RUNS), limit=PER_PAGE, offset=offset(request))
    return list_page(request, "Runs", "runs.html", "/runs", _RUNS, part)


def packages(request: PageRequest) -> Page:
    """Return the packages, the most urgent first."""
    filters = {"run_id": "*"} | arguments(request, _PACKAGES, type="types")
    part = request.reader.packages.find(**filters, limit=PER_PAGE, offset=offset(request))
    return list_page(request, "Packages", "packages.html", "/packages", _PACKAGES, part)


def strategies(request: PageRequest) -> Page:
    """Return the strategies, the most helpful first."""
    part = request.reader.strategies.find(**arguments(request, _STRATEGIES), limit=PER_PAGE, offset=offset(request))
    return list_page(request, "Strategies", "strategies.html", "/strategies", _STRATEGIES, part)


def proposals(request: PageRequest) -> Page:
    """Return the strategies that a run proposes."""
    run = request.values.get("run", "")
    strategies = request.reader.learning.strategies(run or None)
    context = {"run": run, "proposals": strategies}
    return Page(f"Proposals of {run or 'the last run'}", "proposals.html", context, strategies, request.project)


def end_form(request: PageRequest) -> Page:
    """Return the form that ends a run."""
    run = request.reader.runs.get(request.text("run", "the address names no run", "Open it from the overview"))
    if run is None:
        raise NotFound("the run main has not been used yet", "It never ends")
    return Page(f"End the run {run.run_id}", "end.html", {"run": run}, run, request.project)


def end(request: PageRequest) -> ActionResult:
    """End a run permanently, and show its proposals."""
    run = request.text("run_id", "the form names no run", "Reload the page and submit again")
    request.satchel.runs.end(run, request.values.get("status") or "completed")
    return ActionResult("run-ended", "", f"{request.here}/proposals?{urlencode({'run': run})}")


def save_strategy(request: PageRequest) -> ActionResult:
    """Save a strategy, edited or as a run proposes it."""
    strategy = request.satchel.strategies.save(
        request.values.get("topic", ""),
        request.values.get("text", ""),
        lang=request.values.get("lang") or None,
        framework=request.values.get("framework") or None,
    )
    return ActionResult("strategy-saved", strategy.ref, None, WITHDRAWN)


def accept_proposal(request: PageRequest) -> ActionResult:
    """Save the strategy that a run proposes."""
    strategy = request.satchel.room.accept_proposal(request.values.get("ref", ""))
    return ActionResult("strategy-saved", strategy.ref, None, WITHDRAWN)


def reject_proposal(request: PageRequest) -> ActionResult:
    """Reject a strategy that a run proposes."""
    request.satchel.room.reject_proposal(request.values.get("ref", ""))
    return ActionResult("proposal-rejected")


PAGES: Mapping[str, View] = {
    "/runs": runs,
    "/packages": packages,
    "/strategies": strategies,
    "/proposals": proposals,
    "/runs/end": end_form,
}
ACTIONS: Mapping[str, Action] = {
    "/runs/end": end,
    "/strategies": save_strategy,
    "/proposals/accept": accept_proposal,
    "/proposals/reject": reject_proposal,
}
NOTICES: Mapping[str, Notice] = {
    "run-ended": Notice("The run has ended"),
    "strategy-saved": Notice("The strategy was saved", "/items/{ref}/retract"),
    "proposal-rejected": Notice("Rejected, for all persons"),
}
