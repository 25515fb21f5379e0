"""Admission to pages: the cookie of a login, and the check that a request comes from a page of this server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute
from starlette.types import Scope

from satchel.base.errors import SatchelError
from satchel.base.records import dataclass
from satchel.interfaces.http import logs
from satchel.interfaces.http.exchange import Refusal
from satchel.interfaces.http.settings import LOOPBACK_NAMES, Buckets
from satchel.interfaces.web.logins import Login

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

LOGIN_PATH, STATIC_PATH = "/login", "/static/{name}"
OPEN_PATHS = frozenset({LOGIN_PATH, STATIC_PATH})
# The largest body of a request without a login: a form with a token.
LOGIN_BYTES = 8 * 1024

_SAFE = frozenset({"GET", "HEAD"})
_SAME = frozenset({b"same-origin", b"none"})


@dataclass(frozen=True, slots=True)
class Visitor:
    """The sender of a request for a page.

    Attributes:
        login: the login of the browser; None on pages that need none.
        cookie: the value of the cookie.
    """

    login: Login | None = None
    cookie: str = ""


class PageGuard:
    """Admission of requests for pages.

    Attributes:
        failures: the rate limit of wrong links and tokens, by address.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._paths: frozenset[str] = frozenset()
        self.failures = Buckets(serving.settings.failures_per_minute, serving.settings.remembered)

    def protect(self, routes: Sequence[BaseRoute]) -> None:
        """Register the routes of pages."""
        self._paths = frozenset(str(getattr(route, "path", "")) for route in routes)

    def protects(self, path: str) -> bool:
        """Return whether the route with this path template is a page."""
        return path in self._paths

    def admit(self, scope: Scope, headers: Mapping[bytes, bytes], path: str) -> Visitor:
        """Return the sender of a request for a page.

        Args:
            path: the template of its route.

        Raises:
            Refusal: a page of another site has sent it, or the page needs a login; browsers are redirected to it.
        """
        is_safe = scope["method"] in _SAFE
        self._check_site(headers, is_safe=is_safe)
        if path in OPEN_PATHS:
            return Visitor()
        visitor = self._identify(headers, int(scope["server"][1] or 0))
        if visitor is not None:
            return visitor
        remedy = "Run `satchel open` on the machine of the server, or log in at /login with a personal token"
        if is_safe and b"text/html" in headers.get(b"accept", b""):
            raise Refusal(303, "refused", "this page needs a login", remedy, (("Location", LOGIN_PATH),))
        raise Refusal(401, "refused", "this page needs a login", remedy)

    def holds(self, cookie: str) -> bool:
        """Return whether the login of a cookie is still valid."""
        return self._login(cookie) is not None

    def cookie_header(self, value: str, *, port: int, host: str, seconds: int) -> str:
        """Return the header that sets the cookie of a browser; 0 seconds deletes it.

        Args:
            port: part of the cookie's name, since browsers share cookies between the ports of a host.
            host: the ``Host`` header of the request.
            seconds: how long the browser keeps it.
        """
        name = host.lower().removesuffix(f":{port}")
        is_direct = name in LOOPBACK_NAMES or name.endswith(".localhost")
        secure = "; Secure" if self._serving.settings.behind_tls and not is_direct else ""
        return f"{cookie_name(port)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"

    def _check_site(self, headers: Mapping[bytes, bytes], *, is_safe: bool) -> None:
        """Refuse requests from pages of other sites, including other ports of this host."""
        site = headers.get(b"sec-fetch-site")
        if site is None or site in _SAME or (is_safe and headers.get(b"sec-fetch-mode") == b"navigate"):
            return
        raise Refusal(
            403,
            "refused",
            "this request came from a page of another site",
            "Open the address of the server in the browser",
        )

    def _identify(self, headers: Mapping[bytes, bytes], port: int) -> Visitor | None:
        for cookie in _cookies(headers.get(b"cookie", b""), cookie_name(port)):
            try:
                login = self._login(cookie)
            except SatchelError as error:
                logs.fault(error, problem=error.problem)
                raise Refusal(503, "unavailable", "the server cannot read its logins", "See the server log") from None
            if login is not None:
                return Visitor(login, cookie)
        return None

    def _login(self, cookie: str) -> Login | None:
        login = None if self._serving.logins is None else self._serving.logins.login(cookie)
        if login is None or (login.token is not None and self._serving.tokens.access_of(login.token) is None):
            return None
        return login


def cookie_name(port: int) -> str:
    return f"satchel_{port}"


def _cookies(header: bytes, name: str) -> list[str]:
    pairs = (one.strip().partition("=") for one in header.decode("latin-1").split(";"))
    return [value for key, _, value in pairs if key == name]
