"""The names that every project begins with; tags, scopes and categories take more on first use."""

from __future__ import annotations

LAYERS = ("presentation", "business", "data", "infrastructure", "cross-cutting")
"""The layers of an architecture; closed unless ``layers.open`` is set."""

TAGS = (
    "authentication",
    "security",
    "api",
    "database",
    "performance",
    "caching",
    "logging",
    "error-handling",
    "validation",
    "testing",
)
CATEGORIES = ("performance", "architecture", "security")
"""What constraints are about."""

LIVENESS = ("live", "superseded", "all")
"""What of the kept things to look at."""

PRIORITIES = ("low", "medium", "high", "critical")
"""From least to most urgent; the number of one in the tables is its place here, from 1."""


def number_of(what: str, name: object, names: tuple[str, ...]) -> int:
    """Return the number of a name, which is its place among those there are, from 1.

    Args:
        what: what they name, for the error.

    Raises:
        InvalidInput: it is none of them.
    """
    if isinstance(name, str) and name in names:
        return names.index(name) + 1
    from satchel.base.errors import unknown_name

    raise unknown_name(what, name, names)


def priority_number(name: object) -> int:
    """Return the number of a priority, as :func:`number_of` does."""
    return number_of("priority", name, PRIORITIES)


SECTIONS = ("attempts", "reviews", "packages", "rules", "errors", "messages", "entries")
"""The sections of a briefing, in the order in which it shows them: the loop's own scratchpads, open review issues,
packages, constraints and decisions, error solutions and strategies, messages, and entries."""

HUMAN = "human"
"""The author of what a person writes; from the control room ``human:NAME``."""

MAIN_RUN = "main"
"""The run that every project has, made on its first use; what is written without a choice of run goes there."""

ALL_RUNS = "*"
"""What a reader gives for a run to read all of them, even where a default run is set."""
