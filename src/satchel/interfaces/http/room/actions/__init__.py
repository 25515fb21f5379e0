"""What a person does on the pages. A module of actions has its paths in ``ACTIONS``, and its words in ``SAID``."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.http.room.actions import corrections, deciding, forgetting, messages, sharing, work, writing
from satchel.interfaces.http.room.asking import Action, Said

_MODULES = (messages, corrections, writing, deciding, work, sharing, forgetting)

ACTIONS: Mapping[str, Action] = {path: action for one in _MODULES for path, action in one.ACTIONS.items()}
"""What does what is sent to each path below ``/p/PROJECT``."""

SAID: Mapping[str, Said] = {word: said for one in _MODULES for word, said in one.SAID.items()}
"""How pages say what was done."""
