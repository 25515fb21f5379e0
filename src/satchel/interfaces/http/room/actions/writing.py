"""Writing a note, a rule or a strategy."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.http.room.asking import Action, Asked, Done, Said
from satchel.keep.constraints import DEFAULT_CATEGORY, DEFAULT_PRIORITY

_WITHDRAWN: Mapping[str, str | int] = {"reason": "withdrawn"}


def note(asked: Asked) -> Done:
    """Write a note; one that says what another says already is that one."""
    made = asked.satchel.entries.write(
        asked.given.get("type") or "discovery",
        asked.given.get("text", ""),
        task_id=asked.given.get("task_id", "").strip() or None,
        file=asked.given.get("file", "").strip() or None,
    )
    to = f"{asked.here}/items/{made.ref}"
    return Done("said-before", made.ref, to) if made.seen is not None else Done("written", made.ref, to, _WITHDRAWN)


def rule(asked: Asked) -> Done:
    """Add a rule."""
    made = asked.satchel.constraints.add(
        asked.given.get("text", ""),
        category=asked.given.get("category", "").strip() or DEFAULT_CATEGORY,
        priority=asked.given.get("priority") or DEFAULT_PRIORITY,
    )
    return Done("ruled", made.ref, f"{asked.here}/items/{made.ref}", _WITHDRAWN)


def strategy(asked: Asked) -> Done:
    """Save a strategy, as a run that has ended suggests it."""
    made = asked.satchel.strategies.save(
        asked.given.get("topic", ""),
        asked.given.get("text", ""),
        lang=asked.given.get("lang") or None,
        framework=asked.given.get("framework") or None,
    )
    return Done("saved", made.ref, None, _WITHDRAWN)


ACTIONS: Mapping[str, Action] = {"/notes": note, "/rules": rule, "/strategies": strategy}
SAID: Mapping[str, Said] = {
    "written": Said("Written", "/items/{ref}/retract"),
    "said-before": Said("It was written before, and nothing was written"),
    "ruled": Said("The rule holds from now on", "/items/{ref}/retract"),
    "saved": Said("The strategy was saved", "/items/{ref}/retract"),
}
