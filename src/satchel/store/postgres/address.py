"""Where a store lies in a PostgreSQL database: the database, the schema and the role; a password is never shown."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, unquote, urlencode

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, field

DEFAULT_SCHEMA = "satchel"
SCHEMES = ("postgresql://", "postgres://")

_URL = re.compile(
    r"postgres(?:ql)?://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?(?P<rest>#.*)?", re.DOTALL
)
_HOSTS = re.compile(r"(?:(?:\[[^\]]*\]|[^:,\[\]]*)(?::[0-9]*)?(?:,|$))*")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SECRET = frozenset({"password", "sslpassword", "passfile", "sslkey", "oauth_client_secret"})
_REMEDY = (
    "Write it as postgresql://USER@HOST:PORT/DATABASE?schema=NAME; a password may stand in a file that PGPASSFILE names"
)


@dataclass(frozen=True, slots=True)
class Address:
    """A store in a PostgreSQL database.

    Attributes:
        url: what libpq connects to, without ``schema`` and ``role``; it may hold a password.
        schema: the schema that holds the store; of a team's own.
        role: the role that statements run as, as SET ROLE has it; None is the one that logs in.
        password: the password, where the URL has none and libpq is not to look for it; None leaves that to libpq.
    """

    url: str = field(repr=False)
    schema: str = DEFAULT_SCHEMA
    role: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def user(self) -> str:
        """Who logs in; empty where the URL does not say."""
        match = _URL.fullmatch(self.url)
        assert match is not None
        return unquote(match["authority"].rpartition("@")[0].partition(":")[0])

    @property
    def shown(self) -> str:
        """The address for people: without a password."""
        match = _URL.fullmatch(self.url)
        assert match is not None
        user, at, hosts = match["authority"].rpartition("@")
        query = [pair for pair in parse_qsl(match["query"] or "") if pair[0] not in _SECRET]
        shown = urlencode([*query, ("schema", self.schema)], safe="/")
        return f"postgresql://{user.partition(':')[0]}{at}{hosts}{match['path'] or ''}?{shown}"


def is_url(text: str) -> bool:
    """Whether a text names a store in a PostgreSQL database."""
    return text.startswith(SCHEMES)


def parse(text: str, schema: str | None = None, role: str | None = None, password: str | None = None) -> Address:
    """Read an address. What is wrong with it is said without repeating it, since it may hold a password.

    Args:
        text: a URL as libpq takes it, with two parameters more: ``schema`` and ``role``.
        schema: the schema; None takes that of the URL, else :data:`DEFAULT_SCHEMA`.
        role: the role; None takes that of the URL.
        password: the password where the URL holds none.

    Raises:
        InvalidInput: the URL, the schema or the role is malformed.

    Source: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
    """
    match = _URL.fullmatch(text)
    if (
        match is None
        or match["rest"]
        or match["authority"].count("@") > 1
        or "@" in (match["path"] or "")  # a password with a slash
        or not _HOSTS.fullmatch(match["authority"].rpartition("@")[2])
        or re.search(r"[\s\0]", text)
    ):
        raise InvalidInput("the database URL is malformed: a special character in it must be written as %XX", _REMEDY)
    query = parse_qsl(match["query"] or "", keep_blank_values=True)
    own = {name: value for name, value in query if name in {"schema", "role"}}
    others = urlencode([pair for pair in query if pair[0] not in own], quote_via=quote, safe="/")
    if not unquote(match["path"] or "").strip("/") and "dbname" not in dict(query):
        raise InvalidInput("the database URL names no database", _REMEDY)
    url = f"postgresql://{match['authority']}{match['path'] or ''}{f'?{others}' if others else ''}"
    found = Address(url, schema or own.get("schema") or DEFAULT_SCHEMA, role or own.get("role") or None, password)
    for what, name in (("schema", found.schema), ("role", found.role)):
        if name is not None and not _NAME.fullmatch(name):
            raise InvalidInput(
                f"the {what} of the database URL is not acceptable",
                f"A {what} has lower-case letters, digits and underscores, and begins with no digit",
            )
    if found.schema.startswith("pg_") or found.schema == "information_schema":
        raise InvalidInput("the schema of the database URL is PostgreSQL's own", "Name one for Satchel alone")
    return found
