"""Persons: what the one who works here is called, how that is stored, and how persons see it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from satchel.base.errors import InvalidInput
from satchel.base.text import fold, nameable
from satchel.base.vocabulary import HUMAN
from satchel.keep.names import check_identifier, is_persons

_MOST_CHARS = 60


def person_named(name: str) -> str | None:
    """Return what a person of a name is stored as: ``human:ann`` for ``ann``; None where nothing of it can be a name.

    Controls, invisible characters and colons are left out. ``human`` stays what it is: any person.
    """
    bare = nameable(name).strip()
    bare = bare[len(HUMAN) + 1 :] if fold(bare).startswith(f"{HUMAN}:") else bare
    kept = "".join(one if one.isprintable() and one != ":" else " " for one in bare)
    bare = " ".join(kept.split())[:_MOST_CHARS].rstrip()
    if fold(bare) == HUMAN:
        return HUMAN
    try:
        return check_identifier(f"{HUMAN}:{bare}", "person") if bare else None
    except InvalidInput:
        return None


def person_here(configured: str | None, environ: Mapping[str, str]) -> str:
    """Return what the person who works here is stored as: by ``person.name``, else git's user, else the login.

    Raises:
        InvalidInput: ``person.name`` is no name.
    """
    if configured is not None:
        named = person_named(configured)
        if named is None:
            raise InvalidInput(f"person.name is no name: {configured!r}", "Set it to your name in your config.toml")
        return named
    from satchel.base.git_config import user_name

    candidates = (user_name(environ), *(environ.get(name) for name in ("LOGNAME", "USER", "USERNAME")), _login())
    return next((named for one in candidates if one and (named := person_named(one)) is not None), HUMAN)


def _login() -> str | None:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return None


def shown_name(name: str) -> str:
    """Return an agent's or person's name as persons see it: ``ann`` for ``human:ann``."""
    return name.partition(":")[2] if is_persons(name) and ":" in name else name
