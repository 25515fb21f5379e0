"""Names of persons: stored as ``human:ann``, shown as ``ann``."""

from __future__ import annotations

import os
from collections.abc import Mapping

from satchel.base.errors import InvalidInput
from satchel.base.text import fold, nameable
from satchel.base.vocabulary import HUMAN
from satchel.keep.names import check_author_name, check_identifier, is_persons
from satchel.keep.sessions.standing import PERSON_VARIABLE

_MOST_CHARS = 60


def person_named(name: str) -> str | None:
    """Return the stored name of a person: ``human:ann`` for ``ann``; None if nothing of it is valid.

    Control and invisible characters, signs and colons are removed. ``human`` means any person.
    """
    bare = nameable(name).strip()
    bare = bare[len(HUMAN) + 1 :] if fold(bare).startswith(f"{HUMAN}:") else bare
    printable = "".join(one if one.isprintable() and one != ":" else " " for one in bare)
    if not printable.isascii():
        from satchel.base.confusables import odd_sign

        printable = "".join(" " if odd_sign(one) else one for one in printable)
    bare = " ".join(printable.split())[:_MOST_CHARS].rstrip()
    if fold(bare) == HUMAN:
        return HUMAN
    try:
        if not bare:
            return None
        check_author_name(f"{HUMAN}:{bare}", "person")
        return check_identifier(f"{HUMAN}:{bare}", "person")
    except InvalidInput:
        return None


def person_here(configured: str | None, environ: Mapping[str, str]) -> str:
    """Return the stored name of the local person: from ``SATCHEL_PERSON``, ``person.name``, git's user or the login."""
    given = environ.get(PERSON_VARIABLE)
    for source, name in ((PERSON_VARIABLE, given or None), ("person.name in your config.toml", configured)):
        if name is not None:
            person = person_named(name)
            if person is None:
                raise InvalidInput(f"{source} is not a name: {name!r}", "Set it to your name")
            return person
    from satchel.base.git_files import user_name

    candidates = (user_name(environ), *(environ.get(name) for name in ("LOGNAME", "USER", "USERNAME")), _login())
    return next((person for one in candidates if one and (person := person_named(one)) is not None), HUMAN)


def local_person(environ: Mapping[str, str]) -> str:
    """Return the stored name of the local person by the user's own configuration."""
    from satchel.base.config import FILE_NAME, load_config
    from satchel.base.folders import config_folder

    config = load_config(None, environ, user_file=config_folder() / FILE_NAME)
    return person_here(config.person_name, environ)


def _login() -> str | None:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return None


def shown_name(name: str) -> str:
    """Return a name as people see it: ``ann`` for ``human:ann``."""
    return name.partition(":")[2] if is_persons(name) and ":" in name else name
