"""Removal of the server's paths, database addresses and tokens from errors for token holders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.folders import config_folder, state_folder
from satchel.base.paths import FOLDER_NAME
from satchel.interfaces.http.access import Store

_TOKEN = re.compile(r"satchel_[0-9a-f]{10}_[A-Za-z0-9_-]{20,}")
_DATABASE = re.compile(r"\bpostgres(?:ql)?(?:\+\w+)?://[^\s\"'`\\]+")
_REST = r"(?![\w-])(?:/[^\s\"'`\\,;()]*[^\s\"'`\\,;().:])?"
_OF_CALLER = frozenset({InvalidInput.code, NotFound.code})
"""Errors about what the caller sent, which may name paths of the caller's own."""


def without_places(text: str, code: str, stores: Iterable[Store]) -> str:
    """Return the text of an error without tokens, database addresses and paths of the server.

    Args:
        text: the text.
        code: the code of the error.
        stores: the stores of the server.
    """
    text = _DATABASE.sub("(the server's database)", _TOKEN.sub("(a token)", text))
    if code in _OF_CALLER or "/" not in text:
        return text
    folders = {str(folder) for folder in (state_folder(), config_folder(), *map(_folder, stores)) if folder is not None}
    for folder in sorted(folders - {"/"}, key=len, reverse=True):
        if folder in text:
            text = re.sub(re.escape(folder) + _REST, "(a path of the server)", text)
    return text


def _folder(store: Store) -> Path | None:
    if not isinstance(store, Path):
        return None
    return store.parent.parent if store.parent.name == FOLDER_NAME else store.parent
