"""Who may see pages: the cookie of a login, and that a request comes from a page of this server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute
from starlette.types import Scope

from satchel.base.errors import SatchelError
from satchel.base.records import dataclass
from satchel.interfaces.http import logs
from satchel.interfaces.http.failing import Refusal
from satchel.interfaces.http.rates import Buckets
from satchel.interfaces.http.room.logins import Login
from satchel.interfaces.http.settings import LOOPBACK_NAMES

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

LOGIN_PATH, STATIC_PATH = "/login", "/static/{name}"
OPEN_PATHS = frozenset({LOGIN_PATH, STATIC_PATH})
LOGIN_BYTES = 8 * 1024
"""The largest body of a request without a login: a token, and what a form has beside it."""

_SAFE = frozenset({"GET", "HEAD"})
_SAME = frozenset({b"same-origin", b"none"})


@dataclass(frozen=True, slots=True)
class Guest:
    """Who a request for a page comes from.

    Attributes:
        login: the login of its browser; None where the page needs none.
        cookie: the value of its cookie.
    """

    login: Login | None = None
    cookie: str = ""


class Door:
    """Admits requests for pages.

    Args:
        serving: what the server works with.

    Attributes:
        failures: how often an address may come with a wrong link or token.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._paths: frozenset[str] = frozenset()
        self.failures = Buckets(serving.settings.failures_per_minute, serving.settings.remembered)

    def guard(self, routes: Sequence[BaseRoute]) -> None:
        """Take routes to be those of pages."""
        self._paths = frozenset(str(getattr(route, "path", "")) for route in routes)

    def guards(self, path: str) -> bool:
        """Whether a route, by its template, is a page's."""
        return path in self._paths

    def admit(self, scope: Scope, headers: Mapping[bytes, bytes], path: str) -> Guest:
        """Return who a request for a page comes from.

        Args:
            scope: the request.
            headers: those of the request.
            path: the template of its route.

        Raises:
            Refusal: a page of another site has sent it, or it needs a login; browsers are sent to that.
        """
        is_safe = scope["method"] in _SAFE
        self._check_site(headers, is_safe=is_safe)
        if path in OPEN_PATHS:
            return Guest()
        guest = self._known(headers, int(scope["server"][1] or 0))
        if guest is not None:
            return guest
        remedy = "Run `satchel open` where the server runs, or log in with a token of a person at /login"
        if is_safe and b"text/html" in headers.get(b"accept", b""):
            raise Refusal(303, "refused", "this page needs a login", remedy, (("Location", LOGIN_PATH),))
        raise Refusal(401, "refused", "this page needs a login", remedy)

    def holds(self, cookie: str) -> bool:
        """Whether a cookie still is that of a login."""
        login = None if self._serving.logins is None else self._serving.logins.login(cookie)
        return login is not None and (login.token is None or self._serving.tokens.access_of(login.token) is not None)

    def cookie_header(self, value: str, *, port: int, host: str, seconds: int) -> str:
        """Return the header that gives a browser its cookie; 0 seconds takes it away.

        Args:
            value: of the cookie.
            port: the server's, which is in the name: browsers tell the servers of one host apart by nothing else.
            host: what the request calls the server.
            seconds: how long the browser keeps it.
        """
        is_direct = host.lower().removesuffix(f":{port}") in LOOPBACK_NAMES
        secure = "; Secure" if self._serving.settings.behind_tls and not is_direct else ""
        return f"{cookie_name(port)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"

    def _check_site(self, headers: Mapping[bytes, bytes], *, is_safe: bool) -> None:
        """Refuse what a page of another site sends, another port of this host included.

        Raises:
            Refusal: it is so.
        """
        site = headers.get(b"sec-fetch-site")
        if site is None or site in _SAME or (is_safe and headers.get(b"sec-fetch-mode") == b"navigate"):
            return
        raise Refusal(
            403,
            "refused",
            "a page of another site has sent this",
            "Open the address of the server in the browser itself",
        )

    def _known(self, headers: Mapping[bytes, bytes], port: int) -> Guest | None:
        if self._serving.logins is None:
            return None
        for cookie in _cookies(headers.get(b"cookie", b""), cookie_name(port)):
            try:
                login = self._serving.logins.login(cookie)
                if login is not None and self.holds(cookie):
                    return Guest(login, cookie)
            except SatchelError as error:
                logs.fault(error, problem=error.problem)
                raise Refusal(503, "unavailable", "the server cannot read its logins", "Its log says why") from None
        return None


def cookie_name(port: int) -> str:
    """Return the name of the cookie of the server at a port."""
    return f"satchel_{port}"


def _cookies(header: bytes, name: str) -> list[str]:
    pairs = (one.strip().partition("=") for one in header.decode("latin-1").split(";"))
    return [value for given, _, value in pairs if given == name]
