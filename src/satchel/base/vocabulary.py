"""The names that every project starts with; tags, scopes and categories accept new ones."""

from __future__ import annotations

# Architecture layers; a closed list unless ``layers.open`` is set.
LAYERS = ("presentation", "business", "data", "infrastructure", "cross-cutting")

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
# Categories of constraints.
CATEGORIES = ("performance", "architecture", "security")

# Which stored items to list.
LIVENESS = ("live", "superseded", "all")

# From least to most urgent; tables store the position, from 1.
PRIORITIES = ("low", "medium", "high", "critical")


def number_of(what: str, name: object, names: tuple[str, ...]) -> int:
    """Return the number of a name, its position from 1; ``what`` is the kind of name for the error."""
    if isinstance(name, str) and name in names:
        return names.index(name) + 1
    from satchel.base.errors import unknown_name

    raise unknown_name(what, name, names)


def priority_number(name: object) -> int:
    return number_of("priority", name, PRIORITIES)


# The usual roles of agents; any other name is a role too.
ROLES = ("developer", "senior_engineer", "qa_expert", "tech_lead", "investigator")

# The author of a person's items; in the control room ``human:NAME``.
HUMAN = "human"

# The end, as people see it, of an agent's name that would look like a person's.
AGENT_MARK = " (agent)"

# The end of the author of an imported item whose line names a person as its author.
IMPORTED_MARK = " (imported)"

# The default run, created on first use.
MAIN_RUN = "main"

# Selects all runs, even if a default run is set.
ALL_RUNS = "*"

# Selections of items to share: active decisions and rules, errors with a known fix, strategies that helped.
SHARING_RULES = ("decisions", "constraints", "errors", "strategies")

OURS, THEIRS, BOTH_SIDES = "ours", "theirs", "both"
# Ways to resolve git's conflict markers: the text of the current branch, that of the merged branch (in a rebase the
# other way round), or the later one with the other below it.
RESOLUTIONS = (OURS, THEIRS, BOTH_SIDES)
