"""A state machine as two tests: a short one for every run, and the long one for ``make test-slow``."""

from __future__ import annotations

from unittest import TestCase

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine


def short_and_long(
    machine: type[RuleBasedStateMachine], *, examples: int, steps: int, short: tuple[int, int] = (5, 15)
) -> tuple[type[TestCase], type[TestCase]]:
    """Return the tests of a state machine: a short one, and one marked slow.

    Args:
        examples, steps: of the slow one.
        short: those of the other.
    """

    def case(max_examples: int, step_count: int) -> type[TestCase]:
        chosen = settings(max_examples=max_examples, stateful_step_count=step_count, deadline=None)
        made = type("Case", (machine.TestCase,), {"settings": chosen})
        return pytest.mark.usefixtures("from_template")(made)

    return case(*short), pytest.mark.slow(case(examples, steps))
