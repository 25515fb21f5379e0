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

LINK_MS = 60_000
"""Lifetime of a link."""

LOGIN_MS = 12 * 3_600_000
"""Lifetime of a login: a working day."""

_NOTED_MS = 3_600_000
"""The last use of a login is recorded at most once in this time."""

_FILE_NAME, _SCHEMA = "logins.json", 1
_SECRET_BYTES = 32
_KEY = r"[A-Za-z0-9_-]{43}"
_ID = r"[0-9a-f]{10}"
_COOKIE = re.compile(rf"({_ID})\.({_KEY})")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNREADABLE = "Remove the file: every browser then has to log in again, with `satchel open`"
_NOBODYS = bytes(32)
_MOST_LINKS, _MOST_LOGINS = 20, 200
"""The oldest are dropped first."""


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
class _Link:
    digest: str
    person: str
    port: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class _Stored(Login):
    digest: str

    @property
    def login(self) -> Login:
        return Login(self.id, self.person, self.token, self.created_at, self.used_at)


@dataclass(frozen=True, slots=True)
class _Book:
    links: tuple[_Link, ...] = ()
    logins: tuple[_Stored, ...] = ()


class Logins:
    """The logins of one user's browsers, safe between threads and processes.

    Args:
        folder: the user's state folder; created with the first link.
        clock: the time in milliseconds UTC.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._file = PrivateFile(
            folder / _FILE_NAME,
            "the logins of browsers",
            schema=_SCHEMA,
            parse=_parse,
            empty=_Book,
            remedy=_UNREADABLE,
        )
        self._clock = clock

    def new_link(self, person: str, port: int) -> str:
        """Create a link for one login within :data:`LINK_MS`, at the server on this port, and return its secret.

        Raises:
            InvalidInput: the person's name is not valid.
            Refused: the file of logins is not trusted, or cannot be written.
        """
        _check_person(person)
        secret = secrets.token_urlsafe(_SECRET_BYTES)

        def add(book: _Book, now: int) -> _Book:
            link = _Link(_digest(secret), person, port, now + LINK_MS)
            return replace(book, links=(*book.links, link)[-_MOST_LINKS:])

        self._change(add)
        return secret

    def is_waiting(self, secret: str) -> bool:
        """Return whether a link is unused and has not expired."""
        digest, now = _digest(secret), self._clock()
        return any(link.digest == digest and now < link.expires_at for link in self._file.load().links)

    def trade_link(self, secret: str, port: int) -> tuple[Login, str] | None:
        """Create the login of a link, which cannot be used again.

        Returns:
            The login and the value of its cookie; None where the link is unknown, used, expired or another server's.
        """
        if not re.fullmatch(_KEY, secret):
            return None
        digest, created = _digest(secret), list[tuple[Login, str]]()

        def trade(book: _Book, now: int) -> _Book:
            matches = [link for link in book.links if hmac.compare_digest(link.digest, digest)]
            rest = tuple(link for link in book.links if link not in matches)
            if not matches or now >= matches[0].expires_at or matches[0].port != port:
                return replace(book, links=rest)
            stored, cookie = _create(book, matches[0].person, None, now)
            created.append((stored.login, cookie))
            return _Book(rest, (*book.logins, stored)[-_MOST_LOGINS:])

        self._change(trade)
        return created[0] if created else None

    def begin(self, person: str, token: str) -> tuple[Login, str]:
        """Create a login for a token.

        Args:
            person: the holder of the token.
            token: its public id.

        Returns:
            The login and the value of its cookie.
        """
        _check_person(person)
        created: list[tuple[Login, str]] = []

        def add(book: _Book, now: int) -> _Book:
            stored, cookie = _create(book, person, token, now)
            created.append((stored.login, cookie))
            return replace(book, logins=(*book.logins, stored)[-_MOST_LOGINS:])

        self._change(add)
        return created[0]

    def login(self, cookie: str) -> Login | None:
        """Return the login of a cookie; None where it is unknown, expired or revoked.

        Raises:
            Refused: the file of logins is not trusted.
        """
        match = _COOKIE.fullmatch(cookie)
        if match is None:
            return None
        stored = next((stored for stored in self._file.current().logins if stored.id == match[1]), None)
        is_right = hmac.compare_digest(_digest(match[2]), _NOBODYS.hex() if stored is None else stored.digest)
        now = self._clock()
        if stored is None or not is_right or now - stored.created_at >= LOGIN_MS:
            return None
        if now - stored.used_at >= _NOTED_MS:
            self._note_use(stored.id, now)
        return stored.login

    def every(self) -> list[Login]:
        now = self._clock()
        return [stored.login for stored in self._file.load().logins if now - stored.created_at < LOGIN_MS]

    def revoke(self, login_id: str | None = None) -> list[Login]:
        """Delete a login, or all of them; the next request of the browser is refused.

        Raises:
            NotFound: there is no such login.
        """
        ended: list[Login] = []

        def remove(book: _Book, _now: int) -> _Book:
            ended.extend(stored.login for stored in book.logins if login_id in {None, stored.id})
            links = () if login_id is None else book.links
            return _Book(links, tuple(stored for stored in book.logins if stored.login not in ended))

        self._change(remove)
        if not ended and login_id is not None:
            raise NotFound(f"there is no login {login_id[:40]!r}", "`satchel open --list` shows all logins")
        return ended

    def _note_use(self, login_id: str, now: int) -> None:
        def note(book: _Book, _now: int) -> _Book:
            logins = tuple(replace(one, used_at=now) if one.id == login_id else one for one in book.logins)
            return replace(book, logins=logins)

        self._change(note)

    def _change(self, change: Callable[[_Book, int], _Book]) -> None:
        with self._file.changing() as book:
            now = self._clock()
            links = tuple(link for link in book.links if now < link.expires_at)
            logins = tuple(stored for stored in book.logins if now - stored.created_at < LOGIN_MS)
            changed = change(_Book(links, logins), now)
            if changed != book:
                both = {"links": changed.links, "logins": changed.logins}
                self._file.save({name: [to_fields(one) for one in items] for name, items in both.items()})


def author_of(person: str) -> str:
    """Return the author of items that a person writes on the pages."""
    return f"{HUMAN}:{person}"


def _check_person(person: str) -> None:
    if person_named(check_identifier(person, "name")) is None:
        raise InvalidInput(f"{person!r} is not a valid name of a person", "Give another name")


def form_key(cookie: str) -> str:
    """Return the key in forms of a login, which other sites cannot know: a one-way function of the cookie."""
    return hmac.new(cookie.encode(), b"satchel form", sha256).hexdigest()[:32]


def _create(book: _Book, person: str, token: str | None, now: int) -> tuple[_Stored, str]:
    taken = {one.id for one in book.logins}
    while (login_id := secrets.token_hex(5)) in taken:
        pass
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return _Stored(login_id, person, token, now, now, _digest(secret)), f"{login_id}.{secret}"


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _parse(fields: dict[str, Any]) -> _Book:
    links = tuple([from_fields(_Link, one) for one in fields["links"]])
    logins = tuple([from_fields(_Stored, one) for one in fields["logins"]])
    if not all(map(_DIGEST.fullmatch, [*(one.digest for one in links), *(one.digest for one in logins)])):
        raise ValueError("a digest in it is malformed")
    return _Book(links, logins)
