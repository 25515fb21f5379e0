"""The logins of browsers: begun by a link of one use or by a token, listed, revoked and recognised."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from satchel.base.clock import DAY_MS, Clock
from satchel.base.errors import InvalidInput, NotFound
from satchel.base.records import dataclass, field_names, replace
from satchel.base.vocabulary import HUMAN
from satchel.interfaces.http.private_file import Book, PrivateFile
from satchel.keep.names import check_identifier
from satchel.keep.persons import person_named

LINK_MS = 60_000
"""How long a link is good."""

IDLE_MS = 30 * DAY_MS
"""A login that was not used for so long is over."""

_NOTED_MS = 3_600_000
"""That a login was used is written down at most once in so long."""

_FILE_NAME, _SCHEMA = "logins.json", 1
_SECRET_BYTES = 32
_KEY = r"[A-Za-z0-9_-]{43}"
_ID = r"[0-9a-f]{10}"
_COOKIE = re.compile(rf"({_ID})\.({_KEY})")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNREADABLE = "Remove the file: every browser then has to log in again, with `satchel open`"
_NOBODYS = bytes(32)
_MOST_LINKS, _MOST_LOGINS = 20, 200
"""The oldest go first."""


@dataclass(frozen=True, slots=True)
class Login:
    """What is known of one browser that is in; its secret is not.

    Attributes:
        id: its public id, ten hexadecimal digits.
        person: the name of who uses it, without ``human:``.
        token: the id of the token that it was traded for, which alone says what it leads to; None for one that a link
            began, which leads to all that the server has.
        created_at: when it began, in milliseconds UTC.
        used_at: when it was used last, up to an hour late.
    """

    id: str
    person: str
    token: str | None
    created_at: int
    used_at: int

    @property
    def author(self) -> str:
        """The author of what the person writes."""
        return author_of(self.person)


@dataclass(frozen=True, slots=True)
class _Link:
    digest: str
    person: str
    port: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class _Kept:
    login: Login
    digest: str


@dataclass(frozen=True, slots=True)
class _Book:
    links: tuple[_Link, ...] = ()
    logins: tuple[_Kept, ...] = ()


class Logins:
    """The logins of one user's browsers. Every call sees what other processes did; safe between threads and processes.

    Args:
        folder: the user's state folder; it is made with the first link.
        clock: the time in milliseconds UTC.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._file = PrivateFile(folder / _FILE_NAME, "the logins of browsers")
        self._clock = clock
        self._book = Book(self._file, _read_book, _Book(), ("logins", _UNREADABLE))

    def new_link(self, person: str, port: int) -> str:
        """Return a secret that begins one login within :data:`LINK_MS`, at the server of this port.

        Args:
            person: who will use it.

        Raises:
            InvalidInput: that is no name.
            Refused: the file of logins is not to be believed, or cannot be written.
        """
        _check_person(person)
        secret = secrets.token_urlsafe(_SECRET_BYTES)

        def add(book: _Book, now: int) -> _Book:
            link = _Link(_digest(secret), person, port, now + LINK_MS)
            return replace(book, links=(*book.links, link)[-_MOST_LINKS:])

        self._change(add)
        return secret

    def is_waiting(self, secret: str) -> bool:
        """Whether a link was not used yet, and is still good."""
        digest, now = _digest(secret), self._clock()
        return any(link.digest == digest and now < link.expires_at for link in self._book.load().links)

    def trade_link(self, secret: str, port: int) -> tuple[Login, str] | None:
        """Begin the login of a link, which is used up by that.

        Returns:
            The login and the value of its cookie; None where the link is unknown, used, expired or another server's.
        """
        if not re.fullmatch(_KEY, secret):
            return None
        digest, begun = _digest(secret), list[tuple[Login, str]]()

        def trade(book: _Book, now: int) -> _Book:
            found = [link for link in book.links if hmac.compare_digest(link.digest, digest)]
            left = tuple(link for link in book.links if link not in found)
            if not found or now >= found[0].expires_at or found[0].port != port:
                return replace(book, links=left)
            kept, cookie = _begun(book, found[0].person, None, now)
            begun.append((kept.login, cookie))
            return _Book(left, (*book.logins, kept)[-_MOST_LOGINS:])

        self._change(trade)
        return begun[0] if begun else None

    def begin(self, person: str, token: str) -> tuple[Login, str]:
        """Begin a login for a token.

        Args:
            person: who holds the token.
            token: its public id.

        Returns:
            The login and the value of its cookie.
        """
        _check_person(person)
        begun: list[tuple[Login, str]] = []

        def add(book: _Book, now: int) -> _Book:
            kept, cookie = _begun(book, person, token, now)
            begun.append((kept.login, cookie))
            return replace(book, logins=(*book.logins, kept)[-_MOST_LOGINS:])

        self._change(add)
        return begun[0]

    def login(self, cookie: str) -> Login | None:
        """Return the login of a cookie; None where it is unknown, idle for too long, or revoked.

        Raises:
            Refused: the file of logins is not to be believed.
        """
        found = _COOKIE.fullmatch(cookie)
        if found is None:
            return None
        kept = next((kept for kept in self._book.current().logins if kept.login.id == found[1]), None)
        is_right = hmac.compare_digest(_digest(found[2]), _NOBODYS.hex() if kept is None else kept.digest)
        now = self._clock()
        if kept is None or not is_right or now - kept.login.used_at >= IDLE_MS:
            return None
        if now - kept.login.used_at >= _NOTED_MS:
            self._note_use(kept.login.id, now)
        return kept.login

    def every(self) -> list[Login]:
        """Return all logins, the first begun first."""
        now = self._clock()
        return [kept.login for kept in self._book.load().logins if now - kept.login.used_at < IDLE_MS]

    def revoke(self, login_id: str | None = None) -> list[Login]:
        """End a login, or all of them; the next request of its browser is refused.

        Raises:
            NotFound: there is no such login.
        """
        ended: list[Login] = []

        def remove(book: _Book, _now: int) -> _Book:
            ended.extend(kept.login for kept in book.logins if login_id in {None, kept.login.id})
            links = () if login_id is None else book.links
            return _Book(links, tuple(kept for kept in book.logins if kept.login not in ended))

        self._change(remove)
        if not ended and login_id is not None:
            raise NotFound(f"there is no login {login_id[:40]!r}", "`satchel open --list` shows all that there are")
        return ended

    def _note_use(self, login_id: str, now: int) -> None:
        def note(book: _Book, _now: int) -> _Book:
            return replace(
                book,
                logins=tuple(
                    replace(kept, login=replace(kept.login, used_at=now)) if kept.login.id == login_id else kept
                    for kept in book.logins
                ),
            )

        self._change(note)

    def _change(self, change: Callable[[_Book, int], _Book]) -> None:
        with self._file.changing():
            now, book = self._clock(), self._book.load()
            links = tuple(link for link in book.links if now < link.expires_at)
            logins = tuple(kept for kept in book.logins if now - kept.login.used_at < IDLE_MS)
            changed = change(_Book(links, logins), now)
            if changed != book:
                self._file.replace(json.dumps(_fields(changed), indent=1).encode())


def author_of(person: str) -> str:
    """Return the author of what a person writes in the control room."""
    return f"{HUMAN}:{person}"


def _check_person(person: str) -> None:
    if person_named(check_identifier(person, "name")) is None:
        raise InvalidInput(f"{person!r} is no name of a person", "Give another name")


def form_key(cookie: str) -> str:
    """Return what forms of a login carry, which a page of another site cannot know: made of the cookie, one-way."""
    return hmac.new(cookie.encode(), b"satchel form", sha256).hexdigest()[:32]


def _begun(book: _Book, person: str, token: str | None, now: int) -> tuple[_Kept, str]:
    taken = {kept.login.id for kept in book.logins}
    while (login_id := secrets.token_hex(5)) in taken:
        pass
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return _Kept(Login(login_id, person, token, now, now), _digest(secret)), f"{login_id}.{secret}"


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _fields(book: _Book) -> dict[str, object]:
    links = [{name: getattr(link, name) for name in field_names(link) or ()} for link in book.links]
    logins = [
        {name: getattr(kept.login, name) for name in field_names(kept.login) or ()} | {"digest": kept.digest}
        for kept in book.logins
    ]
    return {"schema": _SCHEMA, "links": links, "logins": logins}


def _read_book(content: bytes) -> _Book:
    """Read the file of logins.

    Raises:
        ValueError, TypeError, KeyError: it is not what :class:`Logins` writes.
    """
    fields: dict[str, Any] = json.loads(content)
    if fields["schema"] != _SCHEMA:
        raise ValueError(f"it has the schema {fields['schema']!r}, which another version of Satchel wrote")
    links = tuple(
        _Link(**_typed(one, {"digest": str, "person": str, "port": int, "expires_at": int})) for one in fields["links"]
    )
    kinds = {"id": str, "person": str, "token": (str, type(None)), "created_at": int, "used_at": int, "digest": str}
    logins = []
    for one in fields["logins"]:
        own = dict(_typed(one, kinds))
        digest = own.pop("digest")
        logins.append(_Kept(Login(**own), digest))
    if not all(map(_DIGEST.fullmatch, [*(one.digest for one in links), *(one.digest for one in logins)])):
        raise ValueError("a digest in it is malformed")
    return _Book(links, tuple(logins))


def _typed(fields: dict[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    if fields.keys() != kinds.keys() or not all(isinstance(fields[name], kind) for name, kind in kinds.items()):
        raise ValueError("a login or link in it is malformed")
    return fields
