"""The tokens of ``satchel serve``: create, list, revoke and check. They belong to the user, and are in no store."""

from __future__ import annotations

import hmac
import re
import secrets
import shlex
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from satchel.base.clock import DAY_MS, Clock
from satchel.base.errors import Conflict, InvalidInput, NotFound, unknown_name
from satchel.base.private_file import PrivateFile, from_fields, to_fields
from satchel.base.records import dataclass, replace
from satchel.base.text import check_name
from satchel.interfaces.http.access import AGENT, ROLES, Access, Store
from satchel.interfaces.http.databases import is_database
from satchel.keep.names import check_identifier, is_persons
from satchel.redaction import redact

ACTIVE, EXPIRED, REVOKED = "active", "expired", "revoked"

_FILE_NAME, _SCHEMA = "tokens.json", 2
_ID = r"[0-9a-f]{10}"
_TEXT = re.compile(rf"satchel_({_ID})_([A-Za-z0-9_-]{{43}})")
_SECRET_BYTES = 32
_MOST_DAYS = 36_500
# How long a token is listed after it has expired or was revoked.
_KEPT_MS = 90 * DAY_MS

_UNREADABLE = (
    "Nobody has access until this is fixed: restore the file from your backup, or move it away and make new tokens"
)

# What a secret is compared with where its id is unknown.
_NOBODYS = bytes(32)


@dataclass(frozen=True, slots=True)
class Token:
    """A token, without its secret.

    Attributes:
        id: its public id, ten hexadecimal digits.
        name: the name its creator gave it.
        role: :data:`~satchel.interfaces.http.access.AGENT` or ``PERSON``.
        store: the store's file, an absolute path; or the name of a database: ``postgresql:NAME``.
        project: the name of the one project it gives access to.
        agent: the agent of calls that name none; None leaves it to the call.
        read_only: refuse every write.
        created_at: its creation, in milliseconds UTC.
        expires_at: its expiry; None is never.
        revoked_at: its revocation.
        state: :data:`ACTIVE`, :data:`EXPIRED` or :data:`REVOKED`, at the time it was read.
        used_at: its last use at this server since that started; None for none.
    """

    id: str
    name: str
    role: str
    store: Store
    project: str
    agent: str | None
    read_only: bool
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    state: str = ACTIVE
    used_at: int | None = None


@dataclass(frozen=True, slots=True)
class _Stored:
    """A token in the file, with the SHA-256 of its secret."""

    id: str
    name: str
    role: str
    store: str
    project: str
    agent: str | None
    read_only: bool
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    sha256: str


class Tokens:
    """The tokens of one user. Changes of other processes are visible at once; safe between threads and processes."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._file = PrivateFile(
            folder / _FILE_NAME,
            "the tokens",
            schema=_SCHEMA,
            parse=_parse,
            empty=dict[str, _Stored],
            remedy=_UNREADABLE,
        )
        self._clock = clock
        self._used: dict[str, int] = {}

    def new(
        self,
        name: str,
        *,
        store: Store,
        project: str,
        role: str = AGENT,
        agent: str | None = None,
        read_only: bool = False,
        expires_at: int | None = None,
    ) -> tuple[Token, str]:
        """Create a token, and return it with its text, which cannot be recovered later."""
        store = store.absolute() if isinstance(store, Path) else store
        name, project = check_identifier(name, "name"), check_name(project, "project")
        agent = None if agent is None else check_identifier(agent, "agent")
        if role not in ROLES:
            raise unknown_name("role", role, ROLES)
        if role == AGENT and (is_persons(name) or is_persons(agent)):
            raise InvalidInput("an agent does not speak as a person", "Take another name, or the role person")
        with self._file.changing() as stored:
            now = self._clock()
            if expires_at is not None and not now < expires_at <= now + _MOST_DAYS * DAY_MS:
                raise InvalidInput(
                    f"the token would expire {'in the past' if expires_at <= now else 'too far ahead'}",
                    f"Name a time within the next {_MOST_DAYS:,} days, or that it never expires",
                )
            _refuse_taken(name, stored, now)
            names = {one.name for one in stored.values()}
            while (token_id := secrets.token_hex(5)) in stored or token_id in names:
                pass
            secret = secrets.token_urlsafe(_SECRET_BYTES)
            one = _Stored(
                *(token_id, name, role, str(store), project, agent, read_only, now, expires_at, None),
                sha256(secret.encode()).hexdigest(),
            )
            self._save([*stored.values(), one], now)
        return _token(one, now), f"satchel_{token_id}_{secret}"

    def every(self) -> list[Token]:
        """Return all tokens, oldest first; expired and revoked ones are listed for 90 more days."""
        now = self._clock()
        listed = [one for one in self._file.load().values() if not _is_long_over(one, now)]
        return [replace(_token(one, now), used_at=self._used.get(one.id)) for one in listed]

    def revoke(self, name_or_id: str) -> Token:
        """Revoke a token from the next request on. A revoked one is left unchanged."""
        with self._file.changing() as stored:
            now = self._clock()
            one = _named(name_or_id, stored, now)
            if one.revoked_at is None:
                one = replace(one, revoked_at=now)
                self._save((stored | {one.id: one}).values(), now)
            return _token(one, now)

    def access(self, text: str) -> Access | None:
        """Return the rights of a token by its text; None if it is unknown, expired or revoked.

        The file is checked on each call, and read again if it changed.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        one = self._file.current().get(match[1])
        digest = _NOBODYS if one is None else bytes.fromhex(one.sha256)
        is_right = hmac.compare_digest(sha256(match[2].encode()).digest(), digest)
        return None if one is None or not is_right else self._admit(one)

    def access_of(self, token_id: str) -> Access | None:
        """Return the rights of a token by its public id; None as for :meth:`access`."""
        one = self._file.current().get(token_id)
        return None if one is None else self._admit(one)

    def _admit(self, one: _Stored) -> Access | None:
        now = self._clock()
        if _state(one, now) != ACTIVE:
            return None
        self._used[one.id] = now
        return _access(one)

    def digest(self, token_id: str) -> bytes | None:
        """Return the SHA-256 of the secret of a token by its public id, whatever its state; None if it is unknown."""
        one = self._file.current().get(token_id)
        return None if one is None else bytes.fromhex(one.sha256)

    def stores(self) -> list[Store]:
        """Return the stores of active tokens."""
        now = self._clock()
        active = (one for one in self._file.current().values() if _state(one, now) == ACTIVE)
        return list(dict.fromkeys(_store(one) for one in active))

    def _save(self, stored: Iterable[_Stored], now: int) -> None:
        # a clock that is ahead alone drops none: another token must have been made so late, a day ago
        every = list(stored)
        by = max((one.created_at for one in every if one.created_at <= now - DAY_MS), default=0)
        self._file.save({"tokens": [to_fields(one) for one in every if not _is_long_over(one, by)]})


def _access(one: _Stored) -> Access:
    return Access(one.id, one.name, one.role, _store(one), one.project, one.agent, one.read_only)


def _token(one: _Stored, now: int) -> Token:
    fields = to_fields(one) | {"store": _store(one), "state": _state(one, now)}
    del fields["sha256"]
    return Token(**fields)


def _store(one: _Stored) -> Store:
    return one.store if is_database(one.store) else Path(one.store)


def _state(one: _Stored, now: int) -> str:
    if one.revoked_at is not None:
        return REVOKED
    return ACTIVE if one.expires_at is None or now < one.expires_at else EXPIRED


def _is_long_over(one: _Stored, now: int) -> bool:
    ends = [at for at in (one.expires_at, one.revoked_at) if at is not None]
    return bool(ends) and now - min(ends) > _KEPT_MS


def _refuse_taken(name: str, stored: Mapping[str, _Stored], now: int) -> None:
    for one in stored.values():
        if one.name == name and _state(one, now) == ACTIVE:
            raise Conflict(
                f"there is an active token {name!r} already",
                f"Choose another name, or run `satchel token revoke {shlex.quote(name)}` first",
            )
    if name in stored:
        raise Conflict(f"{name!r} is the id of a token", "Choose another name")


def _named(name_or_id: str, stored: Mapping[str, _Stored], now: int) -> _Stored:
    whole = _TEXT.fullmatch(name_or_id.strip())
    token_id = whole[1] if whole else name_or_id.strip()
    if token_id in stored:
        return stored[token_id]
    name = check_name(name_or_id, "name")
    namesakes = [one for one in stored.values() if one.name == name]
    if not namesakes:
        raise NotFound(f"there is no token {redact(name).text!r}", "`satchel token list` shows all that there are")
    return next((one for one in namesakes if _state(one, now) == ACTIVE), namesakes[-1])


def _parse(fields: dict[str, Any]) -> dict[str, _Stored]:
    # a missing or unknown field could be a restriction, so the whole file is refused
    stored: dict[str, _Stored] = {}
    for item in fields["tokens"]:
        one = from_fields(_Stored, item)
        is_right = re.fullmatch(_ID, one.id) and re.fullmatch("[0-9a-f]{64}", one.sha256) and one.role in ROLES
        if not is_right or one.id in stored or not (is_database(one.store) or Path(one.store).is_absolute()):
            raise ValueError(f"its token {len(stored) + 1} is malformed or a duplicate")
        stored[one.id] = one
    return stored
