"""How the output of a failing program is written down.

In an output ⟨line⟩ is volatile and filled differently each time, ‹requests|numpy› is the one word that says the
cause, and a line that begins with ⋮ belongs to a stack and may be missing or stand twice; so may the lines below it
up to the next one, which begin with ⋯.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Output:
    """What a failing program printed: its language, the error's type, and the template of its text."""

    language: str
    error_type: str
    text: str
