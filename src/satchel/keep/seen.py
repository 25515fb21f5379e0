"""Numbers of what a person has seen in the table ``seen``, beside those of :class:`satchel.find.kind.Kind`."""

from __future__ import annotations

EVERYTHING = 0
SOLUTION, FILES, CORRECTION, HOOK, PROPOSAL = 20, 21, 22, 23, 24
"""A solution, the edits of an agent, a correction, a failure of a hook, and the strategy that a verdict lets a run
propose, which anybody accepts or rejects for all."""

NOBODY = -1
"""Stands for the agent of edits whose author is unknown; 0 is all of a kind."""
