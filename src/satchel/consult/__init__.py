"""Consulting: questions to other models, with files that are sent once and never jump.

Of client programs that a consultation starts: hooks do nothing in them, and no other model is asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

# Variable that names the folder of the consultation.
MARK = "SATCHEL_CONSULTED"

FOLDER_PREFIX = "satchel-consult-"
_FOR_OTHERS = 0o077


def is_consulted(environ: Mapping[str, str]) -> bool:
    """Return whether this process works in the folder of the consultation that its environment names.

    The variable alone proves nothing, since a cloned project may set the variables of its clients. A folder that git
    makes has another name, or others may read it.
    """
    folder = environ.get(MARK, "")
    if not os.path.basename(folder).startswith(FOLDER_PREFIX):  # noqa: PTH119 -- hooks need no pathlib
        return False
    try:
        state = os.stat(folder)  # noqa: PTH116
        is_inside = os.getcwd().startswith(f"{folder}{os.sep}")  # noqa: PTH109
    except OSError:
        return False
    return is_inside and state.st_uid == os.geteuid() and not state.st_mode & _FOR_OTHERS
