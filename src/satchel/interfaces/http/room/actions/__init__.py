"""What a person does on the pages. A module of actions has its paths in ``ACTIONS``, and its words in ``SAID``."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.http.room.actions import corrections, messages, work
from satchel.interfaces.http.room.asking import Action, Said

ACTIONS: Mapping[str, Action] = {**messages.ACTIONS, **corrections.ACTIONS, **work.ACTIONS}
"""What does what is sent to each path below ``/p/PROJECT``."""

SAID: Mapping[str, Said] = {**messages.SAID, **corrections.SAID, **work.SAID}
"""How pages say what was done."""
