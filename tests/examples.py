"""The number of examples that a property is tried with: few in the fast tests, all of them in the slow ones."""

from __future__ import annotations

from hypothesis import settings

FEW = "few-examples"
EVERY = "every-example"
MOST_OF_FEW = 20

# how long an example takes says nothing on a busy machine
settings.register_profile(FEW, deadline=None, max_examples=MOST_OF_FEW)
settings.register_profile(EVERY, deadline=None)


def examples(number: int) -> int:
    """Return a number of examples, cut to :data:`MOST_OF_FEW` unless the run has the profile :data:`EVERY`."""
    return number if settings.get_current_profile_name() == EVERY else min(number, MOST_OF_FEW)
