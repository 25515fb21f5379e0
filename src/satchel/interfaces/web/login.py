"""The login page: a link that works once, or a personal token."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from satchel.base.errors import SatchelError
from satchel.interfaces.http import logs
from satchel.interfaces.http.access import PERSON, person_of
from satchel.interfaces.http.exchange import Refusal
from satchel.interfaces.web.guard import PageGuard
from satchel.interfaces.web.logins import LOGIN_MS, Login, Logins
from satchel.interfaces.web.rendering import html
from satchel.keep.names import shown_name

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

Result = TypeVar("Result")

_BAD_LINK = "This login link was used already, has expired, or belongs to another server. Run `satchel open` again"
_BAD_TOKEN = "This is not a valid personal token: it is unknown, expired, revoked or belongs to an agent"  # noqa: S105
_FOREIGN = "This form may have been sent by a page of another site"


class LoginPage:
    """The page ``/login``."""

    def __init__(self, serving: Serving, guard: PageGuard) -> None:
        self._serving = serving
        self._guard = guard

    async def page(self, request: Request) -> Response:
        """Show the form for a token; with the key of a link, log in."""
        key = request.query_params.get("key")
        if key is None or request.method == "HEAD":
            return html("login.html", {"problem": None})
        port = _port(request)
        login = await _run(lambda: self._logins.trade_link(key, port))
        return self._refuse(request, _BAD_LINK) if login is None else self._welcome(request, *login)

    async def trade(self, request: Request) -> Response:
        """Log in with a personal token."""
        # without a login there is no form key, so only these headers show that the form came from this server
        if request.headers.get("origin") is None and request.headers.get("sec-fetch-site") != "same-origin":
            return html("login.html", {"problem": _FOREIGN}, status=403)
        body = (await request.body()).decode("utf-8", "replace")
        try:
            token = dict(parse_qsl(body, max_num_fields=5)).get("token", "").strip()
        except ValueError:
            token = ""
        access = await _run(lambda: self._serving.tokens.access(token))
        if access is None or access.role != PERSON:
            return self._refuse(request, _BAD_TOKEN)
        login = await _run(lambda: self._logins.begin(shown_name(person_of(access)), access.token))
        return self._welcome(request, *login)

    @property
    def _logins(self) -> Logins:
        assert self._serving.logins is not None
        return self._serving.logins

    def _refuse(self, request: Request, problem: str) -> Response:
        self._serving.metrics.token_refused()
        wait = self._guard.failures.take(request.client.host if request.client else "")
        if wait:
            raise Refusal(
                429,
                "refused",
                "too many invalid links and tokens from this address",
                f"Try again in {wait} s, or run `satchel open` for a new link",
                (("Retry-After", str(wait)),),
            )
        return html("login.html", {"problem": problem}, status=403)

    def _welcome(self, request: Request, login: Login, cookie: str) -> Response:
        """Set the cookie on a page that redirects to the first one.

        Browsers do not send a cookie of SameSite=Strict after a redirect that began at another site or a file.
        """
        header = self._guard.cookie_header(
            cookie, port=_port(request), host=request.headers.get("host", ""), seconds=LOGIN_MS // 1_000
        )
        headers = {"Set-Cookie": header, "Referrer-Policy": "no-referrer"}
        return html("entered.html", {}, person=login.author, headers=headers)


def _port(request: Request) -> int:
    return int(request.scope["server"][1] or 0)


async def _run(work: Callable[[], Result]) -> Result:
    """Read or write the user's files in a thread.

    Raises:
        Refusal: a file is not trusted.
    """
    try:
        return await to_thread.run_sync(work)
    except SatchelError as error:
        logs.fault(error, problem=error.problem)
        raise Refusal(503, "unavailable", "the server cannot read its logins or tokens", "See the server log") from None
