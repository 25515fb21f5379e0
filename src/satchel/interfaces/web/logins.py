"""The logins of browsers: created by a link that works once or by a token, listed, checked and revoked."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from satchel.base.clock import Clock
from satchel.base.errors import InvalidInput, NotFound
from satchel.base.private_file import PrivateFile, from_fields, to_fields
from satchel.base.records import dataclass, replace
from satchel.base.vocabulary import HUMAN
from satchel.keep.names import check_identifier, person_named

# Lifetime of a link.
LINK_MS = 60_000

# Lifetime of a login: a working day.
LOGIN_MS = 12 * 3_600_000

# The last use of a login is recorded at most once in this time.
_NOTED_MS = 3_600_000

_FILE_NAME, _SCHEMA = "logins.json", 1
_SECRET_BYTES = 32
_KEY = r"[A-Za-z0-9_-]{43}"
_ID = r"[0-9a-f]{10}"
_COOKIE = re.compile(rf"({_ID})\.({_KEY})")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNREADABLE = "Remove the file: every browser then has to log in again, with `satchel open`"
_NOBODYS = bytes(32)
# The oldest are dropped first.
_MOST_LINKS, _MOST_LOGINS = 20, 200


@dataclass(frozen=True, slots=True)
class Login:
    """The login of one browser, without its secret.

    Attributes:
        id: the public id, ten hexadecimal digits.
        person: the name of the person, without ``human:``.
        token: the id of the token that it was created with, which decides what it may open; None for a login by a link,
            which may open all projects of the server.
        created_at: milliseconds UTC.
        used_at: the last use, up to an hour late.
    """

    id: str
    person: str
    token: str | None
    created_at: int
    used_at: int

    @property
    def author(self) -> str:
        """The author of the person's items."""
        return author_of(self.person)


@dataclass(frozen=True, slots=True)
class _Stored(Login):
    """A login with the digest of its secret; ``port`` is that of the server at which a link waits to be used."""

    digest: str
    port: int | None

    def is_valid(self, now: int) -> bool:
        return now - self.created_at < (LOGIN_MS if self.port is None else LINK_MS)

    @property
    def login(self) -> Login:
        return Login(self.id, self.person, self.token, self.created_at, self.used_at)


_All = tuple[_Stored, ...]


class Logins:
    """The logins of one user's browsers, and the links that wait to become one, safe between threads and processes.

    Args:
        folder: the user's state folder; created with the first link.
        clock: the time in milliseconds UTC.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._file: PrivateFile[_All] = PrivateFile(
            folder / _FILE_NAME,
            "the logins of browsers",
            schema=_SCHEMA,
            parse=_parse,
            empty=tuple,
            remedy=_UNREADABLE,
        )
        self._clock = clock

    def new_link(self, person: str, port: int) -> str:
        """Create a link for one login within :data:`LINK_MS`, at the server on this port, and return its secret.

        Raises:
            InvalidInput: the person's name is not valid.
            Refused: the file of logins is not trusted, or cannot be written.
        """
        return self._add(person, None, port)[1]

    def is_waiting(self, secret: str) -> bool:
        """Return whether a link is unused and has not expired."""
        digest = _digest(secret)
        return any(one.digest == digest and one.port is not None for one in self._valid())

    def trade_link(self, secret: str, port: int) -> tuple[Login, str] | None:
        """Create the login of a link, which cannot be used again.

        Returns:
            The login and the value of its cookie; None where the link is unknown, used, expired or another server's.
        """
        if not re.fullmatch(_KEY, secret):
            return None
        digest, used = _digest(secret), list[_Stored]()

        def take(stored: _All, _now: int) -> _All:
            used.extend(one for one in stored if one.port is not None and hmac.compare_digest(one.digest, digest))
            return tuple(one for one in stored if one not in used)

        self._change(take)
        if not used or used[0].port != port:
            return None
        login, key = self._add(used[0].person, None, None)
        return login, f"{login.id}.{key}"

    def begin(self, person: str, token: str) -> tuple[Login, str]:
        """Create a login for a token.

        Args:
            person: the holder of the token.
            token: its public id.

        Returns:
            The login and the value of its cookie.
        """
        login, key = self._add(person, token, None)
        return login, f"{login.id}.{key}"

    def login(self, cookie: str) -> Login | None:
        """Return the login of a cookie; None where it is unknown, expired or revoked.

        Raises:
            Refused: the file of logins is not trusted.
        """
        match = _COOKIE.fullmatch(cookie)
        if match is None:
            return None
        stored = next((one for one in self._file.current() if one.id == match[1] and one.port is None), None)
        is_right = hmac.compare_digest(_digest(match[2]), _NOBODYS.hex() if stored is None else stored.digest)
        now = self._clock()
        if stored is None or not is_right or not stored.is_valid(now):
            return None
        if now - stored.used_at >= _NOTED_MS:
            used = replace(stored, used_at=now)
            self._change(lambda every, _: tuple(used if one.id == used.id else one for one in every))
        return stored.login

    def every(self) -> list[Login]:
        return [one.login for one in self._valid() if one.port is None]

    def revoke(self, login_id: str | None = None) -> list[Login]:
        """Delete a login, or all of them with all links; the next request of the browser is refused.

        Raises:
            NotFound: there is no such login.
        """
        ended: list[Login] = []

        def remove(stored: _All, _now: int) -> _All:
            ended.extend(one.login for one in stored if one.port is None and login_id in {None, one.id})
            return tuple(one for one in stored if login_id is not None and one.login not in ended)

        self._change(remove)
        if not ended and login_id is not None:
            raise NotFound(f"there is no login {login_id[:40]!r}", "`satchel open --list` shows all logins")
        return ended

    def _valid(self) -> list[_Stored]:
        now = self._clock()
        return [one for one in self._file.load() if one.is_valid(now)]

    def _add(self, person: str, token: str | None, port: int | None) -> tuple[Login, str]:
        if person_named(check_identifier(person, "name")) is None:
            raise InvalidInput(f"{person!r} is not a valid name of a person", "Give another name")
        secret, added = secrets.token_urlsafe(_SECRET_BYTES), list[_Stored]()

        def add(stored: _All, now: int) -> _All:
            taken = {one.id for one in stored}
            while (login_id := secrets.token_hex(5)) in taken:
                pass
            added.append(_Stored(login_id, person, token, now, now, _digest(secret), port))
            return (*stored, *added)

        self._change(add)
        return added[0].login, secret

    def _change(self, change: Callable[[_All, int], _All]) -> None:
        with self._file.changing() as stored:
            now = self._clock()
            changed = change(tuple(one for one in stored if one.is_valid(now)), now)
            links = [one for one in changed if one.port is not None][-_MOST_LINKS:]
            changed = (*links, *[one for one in changed if one.port is None][-_MOST_LOGINS:])
            if changed != stored:
                self._file.save({"logins": [to_fields(one) for one in changed]})


def author_of(person: str) -> str:
    """Return the author of items that a person writes on the pages."""
    return f"{HUMAN}:{person}"


def form_key(cookie: str) -> str:
    """Return the key in forms of a login, which other sites cannot know: a one-way function of the cookie."""
    return hmac.new(cookie.encode(), b"satchel form", sha256).hexdigest()[:32]


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _parse(fields: dict[str, Any]) -> _All:
    stored = tuple([from_fields(_Stored, {"port": None, **one}) for one in fields["logins"]])
    if not all(_DIGEST.fullmatch(one.digest) for one in stored):
        raise ValueError("a digest in it is malformed")
    return stored
