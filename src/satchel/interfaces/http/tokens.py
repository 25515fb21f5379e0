"""The tokens of ``satchel serve``: made, listed, revoked and recognised. They are the user's, and lie in no store."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import shlex
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from satchel.base.clock import DAY_MS, Clock
from satchel.base.errors import Conflict, InvalidInput, NotFound, unknown_name
from satchel.base.records import dataclass, field_names, replace
from satchel.base.text import check_name
from satchel.interfaces.http.access import AGENT, ROLES, Access, Store
from satchel.interfaces.http.databases import is_database
from satchel.interfaces.http.private_file import Book, PrivateFile
from satchel.keep.names import check_identifier, is_persons
from satchel.redaction import redact

ACTIVE, EXPIRED, REVOKED = "active", "expired", "revoked"

_FILE_NAME, _SCHEMA = "tokens.json", 2
_SCHEMAS = (1, _SCHEMA)
"""Those that can be read; in the first every store is a file."""
_ID = r"[0-9a-f]{10}"
_TEXT = re.compile(rf"satchel_({_ID})_([A-Za-z0-9_-]{{43}})")
_SECRET_BYTES = 32
_MOST_DAYS = 36_500
_KEPT_MS = 90 * DAY_MS
"""How long a token is listed after it has expired or was revoked."""

_UNREADABLE = (
    "Nobody has access until this is fixed: restore the file from your backup, or move it away and make new tokens"
)

_NOBODYS = bytes(32)
"""What a secret is compared with where its id is unknown."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token, without its secret.

    Attributes:
        id: its public id, ten hexadecimal digits.
        name: what the person who made it calls it.
        role: :data:`~satchel.interfaces.http.access.AGENT` or ``PERSON``.
        store: the store's file, an absolute path; or the name of a database: ``postgresql:NAME``.
        project: the one project of the store that it leads to, by name.
        agent: who acts where a call names nobody; None leaves that to the call.
        read_only: refuse every write.
        created_at: when it was made, in milliseconds UTC.
        expires_at: from when on it gives no access; None is never.
        revoked_at: when it was revoked.
        state: :data:`ACTIVE`, :data:`EXPIRED` or :data:`REVOKED`, when it was looked at.
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


@dataclass(frozen=True, slots=True)
class _Kept:
    """A token as the file keeps it, with the SHA-256 of its secret."""

    token: Token
    digest: bytes


class Tokens:
    """The tokens of one user. Every call sees what other processes did; safe between threads and processes.

    Args:
        folder: the user's state folder; it is made with the first token.
        clock: the time in milliseconds UTC.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._file = PrivateFile(folder / _FILE_NAME, "the tokens")
        self._clock = clock
        self._book = Book(self._file, _read, dict[str, _Kept](), ("tokens", _UNREADABLE))

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
        """Make a token.

        Args:
            name: what it is called; no other active token has this name.
            store: the store's file, or the name of a database.
            project: the project of the store that it leads to.
            role: who holds it.
            agent: who acts where a call names nobody.
            read_only: whether it refuses every write.
            expires_at: from when on it gives no access, in milliseconds UTC, at most 36,500 days ahead; None is never.

        Returns:
            The token, and its text, which nothing gives again.

        Raises:
            InvalidInput: a name, the role or the time is not acceptable.
            Conflict: an active token has the name.
            Refused: the file of tokens is not to be believed, or cannot be written.
        """
        store = store.absolute() if isinstance(store, Path) else store
        name, project = check_identifier(name, "name"), check_name(project, "project")
        agent = None if agent is None else check_identifier(agent, "agent")
        if role not in ROLES:
            raise unknown_name("role", role, ROLES)
        if role == AGENT and (is_persons(name) or is_persons(agent)):
            raise InvalidInput("an agent does not speak as a person", "Take another name, or the role person")
        with self._file.changing():
            now = self._clock()
            if expires_at is not None and not now < expires_at <= now + _MOST_DAYS * DAY_MS:
                raise InvalidInput(
                    f"the token would expire {'in the past' if expires_at <= now else 'too far ahead'}",
                    f"Name a time within the next {_MOST_DAYS:,} days, or that it never expires",
                )
            kept = self._book.load()
            _refuse_taken(name, kept, now)
            names = {one.token.name for one in kept.values()}
            while (token_id := secrets.token_hex(5)) in kept or token_id in names:
                pass
            secret = secrets.token_urlsafe(_SECRET_BYTES)
            token = Token(token_id, name, role, store, project, agent, read_only, now, expires_at)
            self._save([*kept.values(), _Kept(token, _digest(secret))], now)
        return token, f"satchel_{token_id}_{secret}"

    def every(self) -> list[Token]:
        """Return all tokens, the first made first; those that are over are listed for 90 days more.

        Raises:
            Refused: the file of tokens is not to be believed.
        """
        now = self._clock()
        return [_seen(one.token, now) for one in self._book.load().values() if not _is_long_over(one.token, now)]

    def revoke(self, name_or_id: str) -> Token:
        """Revoke a token: it gives no access from the next request on. One that was revoked stays as it is.

        Args:
            name_or_id: its name or its id; its text does as well. Of tokens with one name it is the active one, else
                the last that was made.

        Raises:
            NotFound: there is no such token.
            Refused: the file of tokens is not to be believed, or cannot be written.
        """
        with self._file.changing():
            now, kept = self._clock(), self._book.load()
            token = _meant(name_or_id, kept, now)
            if token.revoked_at is None:
                token = replace(token, revoked_at=now)
                self._save((kept | {token.id: replace(kept[token.id], token=token)}).values(), now)
            return _seen(token, now)

    def access(self, text: str) -> Access | None:
        """Return what a token's text gives access to; None where it is unknown, expired or revoked.

        The file is read again when it changed, and looked at each time.

        Raises:
            Refused: the file of tokens is not to be believed.
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        kept = self._book.current().get(found[1])
        is_right = hmac.compare_digest(_digest(found[2]), _NOBODYS if kept is None else kept.digest)
        if kept is None or not is_right or _state(kept.token, self._clock()) != ACTIVE:
            return None
        return _access(kept.token)

    def access_of(self, token_id: str) -> Access | None:
        """Return what the token of a public id gives access to; None as :meth:`access` does.

        Raises:
            Refused: the file of tokens is not to be believed.
        """
        kept = self._book.current().get(token_id)
        return None if kept is None or _state(kept.token, self._clock()) != ACTIVE else _access(kept.token)

    def stores(self) -> list[Store]:
        """Return the stores that active tokens lead to.

        Raises:
            Refused: the file of tokens is not to be believed.
        """
        now = self._clock()
        active = (kept.token for kept in self._book.current().values() if _state(kept.token, now) == ACTIVE)
        return list(dict.fromkeys(token.store for token in active))

    def _save(self, kept: Iterable[_Kept], now: int) -> None:
        fields = [_fields(one) for one in kept if not _is_long_over(one.token, now)]
        self._file.replace(json.dumps({"schema": _SCHEMA, "tokens": fields}, indent=1).encode())


def _access(token: Token) -> Access:
    return Access(token.id, token.name, token.role, token.store, token.project, token.agent, token.read_only)


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _state(token: Token, now: int) -> str:
    if token.revoked_at is not None:
        return REVOKED
    return ACTIVE if token.expires_at is None or now < token.expires_at else EXPIRED


def _seen(token: Token, now: int) -> Token:
    return replace(token, state=_state(token, now))


def _is_long_over(token: Token, now: int) -> bool:
    ends = [at for at in (token.expires_at, token.revoked_at) if at is not None]
    return bool(ends) and now - min(ends) > _KEPT_MS


def _refuse_taken(name: str, kept: Mapping[str, _Kept], now: int) -> None:
    for one in kept.values():
        if one.token.name == name and _state(one.token, now) == ACTIVE:
            raise Conflict(
                f"there is an active token {name!r} already",
                f"Choose another name, or run `satchel token revoke {shlex.quote(name)}` first",
            )
    if name in kept:
        raise Conflict(f"{name!r} is the id of a token", "Choose another name")


def _meant(name_or_id: str, kept: Mapping[str, _Kept], now: int) -> Token:
    """Return the token that a name, an id or a text means.

    Raises:
        NotFound: none.
    """
    whole = _TEXT.fullmatch(name_or_id.strip())
    token_id = whole[1] if whole else name_or_id.strip()
    if token_id in kept:
        return kept[token_id].token
    name = check_name(name_or_id, "name")
    named = [one.token for one in kept.values() if one.token.name == name]
    if not named:
        raise NotFound(f"there is no token {redact(name).text!r}", "`satchel token list` shows all that there are")
    return next((token for token in named if _state(token, now) == ACTIVE), named[-1])


_OPTIONAL_TIME = (int, type(None))
_KINDS: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "name": (str,),
    "role": (str,),
    "store": (str,),
    "project": (str,),
    "agent": (str, type(None)),
    "read_only": (bool,),
    "created_at": (int,),
    "expires_at": _OPTIONAL_TIME,
    "revoked_at": _OPTIONAL_TIME,
    "sha256": (str,),
}


def _fields(kept: _Kept) -> dict[str, object]:
    own = {name: getattr(kept.token, name) for name in field_names(kept.token) or () if name in _KINDS}
    return own | {"store": str(kept.token.store), "sha256": kept.digest.hex()}


def _read(content: bytes) -> dict[str, _Kept]:
    """Read the file of tokens. What is missing or unknown in it could have been a limit, so nothing is passed over.

    Raises:
        ValueError: it is not what :meth:`Tokens._save` writes.
    """
    book = json.loads(content)
    if not isinstance(book, dict) or not isinstance(book.get("tokens"), list):
        raise ValueError("it holds no list of tokens")
    if book.get("schema") not in _SCHEMAS:
        raise ValueError(f"it has the schema {book.get('schema')!r}, which another version of Satchel wrote")
    kept: dict[str, _Kept] = {}
    for number, fields in enumerate(book["tokens"], 1):
        one = _read_one(fields)
        if one is None or one.token.id in kept:
            raise ValueError(f"its token {number} is {'malformed' if one is None else 'there twice'}")
        kept[one.token.id] = one
    return kept


def _read_one(fields: Any) -> _Kept | None:
    if not isinstance(fields, dict) or fields.keys() != _KINDS.keys():
        return None
    if not all(type(fields[name]) in kinds for name, kinds in _KINDS.items()):
        return None
    store = fields["store"]
    own = fields | {"store": store if is_database(store) else Path(store)}
    digest = own.pop("sha256")
    is_right = re.fullmatch(_ID, own["id"]) and re.fullmatch("[0-9a-f]{64}", digest) and own["role"] in ROLES
    is_right = is_right and (is_database(store) or own["store"].is_absolute())
    return _Kept(Token(**own), bytes.fromhex(digest)) if is_right else None
