"""Names that a caller gives, in a module that costs nothing to load."""

from __future__ import annotations

RULES = ("decisions", "constraints", "errors", "strategies")
"""What may be shared all at once: decisions and rules that hold, errors whose fix is known, strategies that helped."""

OURS, THEIRS, BOTH = "ours", "theirs", "both"
WAYS = (OURS, THEIRS, BOTH)
"""Which text stands where git could not merge two: that of the branch one is on, that of the one merged in (in a rebase
the other way round), or the later one with the other below it."""
