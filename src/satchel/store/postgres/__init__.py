"""The address of a store in a PostgreSQL database: database, schema and role; a password is never shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, quote, unquote, urlencode

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, field

DEFAULT_SCHEMA = "satchel"

_HOST = r"(?:\[[^\]\s\0]*\]|[^:,\[\]@/?#\s\0]*)(?::[0-9]*)?"
_URL = re.compile(rf"postgres(?:ql)?://(?:([^@/?#\s\0]*)@)?({_HOST}(?:,{_HOST})*)(/[^@?#\s\0]*)?(?:\?([^#\s\0]*))?")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PASSWORDS = frozenset({"password", "sslpassword", "oauth_client_secret"})
_SECRET = _PASSWORDS | {"passfile", "sslkey"}
_REMEDY = (
    "Write it as postgresql://USER@HOST:PORT/DATABASE?schema=NAME; a password belongs in a file that PGPASSFILE names"
)


@dataclass(frozen=True, slots=True)
class Address:
    """A store in a PostgreSQL database.

    Attributes:
        url: for libpq, without ``schema`` and ``role``; it may hold a password.
        schema: the schema that holds the store, used by one team.
        role: the role that statements run as (SET ROLE); None is the login role.
        password: the password, if the URL has none and libpq must not search for it; None leaves that to libpq.
    """

    url: str = field(repr=False)
    schema: str = DEFAULT_SCHEMA
    role: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def label(self) -> str:
        """The address for people: without a password."""
        return self._without(_SECRET, ("schema", self.schema))

    @property
    def public_url(self) -> str:
        """The URL for libpq without passwords; files that hold one are named."""
        return self._without(_PASSWORDS)

    def _without(self, names: frozenset[str], *more: tuple[str, str]) -> str:
        login, place, query = _parts(self.url)
        pairs = [pair for pair in parse_qsl(query) if pair[0] not in names]
        return _url(login.partition(":")[0], place, [*pairs, *more])


def _parts(url: str) -> tuple[str, str, str]:
    # the login, with a password; hosts and database; parameters
    match = _URL.fullmatch(url)
    if match is None:
        raise InvalidInput("the database URL is malformed: a special character in it must be written as %XX", _REMEDY)
    login, hosts, path, query = match.groups("")
    return login, hosts + path, query


def _url(login: str, place: str, query: Sequence[tuple[str, str]]) -> str:
    parameters = urlencode(query, quote_via=quote, safe="/")
    return f"postgresql://{login}{'@' if login else ''}{place}{'?' if query else ''}{parameters}"


def parse(text: str, schema: str | None = None, role: str | None = None, password: str | None = None) -> Address:
    """Parse an address. Errors never repeat it, since it may hold a password.

    The text is a URL as libpq takes it, with two more parameters: ``schema`` and ``role``. The other arguments take
    precedence over it.

    Source: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
    """
    login, place, query_text = _parts(text)
    query = parse_qsl(query_text, keep_blank_values=True)
    own = {name: value for name, value in query if name in {"schema", "role"}}
    if not unquote(place.partition("/")[2]).strip("/") and "dbname" not in dict(query):
        raise InvalidInput("the database URL names no database", _REMEDY)
    url = _url(login, place, [pair for pair in query if pair[0] not in own])
    address = Address(url, schema or own.get("schema") or DEFAULT_SCHEMA, role or own.get("role") or None, password)
    for part, name in (("schema", address.schema), ("role", address.role)):
        if name is not None and not _NAME.fullmatch(name):
            raise InvalidInput(
                f"the {part} of the database URL is not acceptable",
                f"A {part} has lower-case letters, digits and underscores, and does not begin with a digit",
            )
    if address.schema.startswith("pg_") or address.schema == "information_schema":
        raise InvalidInput("the schema of the database URL is PostgreSQL's own", "Name one for Satchel alone")
    return address
