"""What a loop leaves behind while it works on an error, and what was learned from it."""

from __future__ import annotations

from typing import Any

from satchel import Entry, Satchel, Solution

ERROR = ("TypeError", "x is not callable")
OTHER = ("KeyError", "'token'")


def pad(
    satchel: Satchel, iteration: int, *attempted: str, loop: str | None = "L", task: str | None = None, **more: Any
) -> Entry:
    """Write a scratchpad."""
    content = {"iteration": iteration, "attempted": list(attempted), **more}
    return satchel.entries.write("scratchpad", content, loop_id=loop, task_id=task)


def verdict(satchel: Satchel, *, passed: bool = True, loop: str | None = "L", **more: Any) -> Entry:
    """Write a verdict of a review."""
    return satchel.entries.write("review_verdict", {"passed": passed, "summary": "fine"}, loop_id=loop, **more)


def solutions(satchel: Satchel, error: str = "x1") -> list[str]:
    """Return the texts of the solutions of an error."""
    return [one.text for one in satchel.patterns.get(error, status="all").solutions]


def only(satchel: Satchel, error: str = "x1") -> Solution:
    """Return the only solution of an error."""
    (solution,) = satchel.patterns.get(error, status="all").solutions
    return solution
