"""How a browser comes in: by a link of one use, or by trading a token of a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from satchel.base.errors import SatchelError
from satchel.interfaces.http import logs
from satchel.interfaces.http.access import PERSON
from satchel.interfaces.http.callers import person_of
from satchel.interfaces.http.failing import Refusal
from satchel.interfaces.http.room.door import Door
from satchel.interfaces.http.room.logins import IDLE_MS, Login, Logins
from satchel.interfaces.http.room.rendering import html
from satchel.keep.persons import shown_name

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

Result = TypeVar("Result")

_BAD_LINK = "this link was used already, is older than a minute, or belongs to another server"
_BAD_TOKEN = "this is no token of a person: it is unknown, has expired, was revoked, or is an agent's"  # noqa: S105
_FOREIGN = "a page of another site may have sent this form"


class Entrance:
    """The page ``/login``.

    Args:
        serving: what the server works with.
        door: knows cookies.
    """

    def __init__(self, serving: Serving, door: Door) -> None:
        self._serving = serving
        self._door = door

    async def page(self, request: Request) -> Response:
        """Show the form for a token; with a key, begin the login that it stands for."""
        key = request.query_params.get("key")
        if key is None:
            return html("login.html", {"problem": None})
        port = _port(request)
        if request.method == "HEAD":
            return html("login.html", {"problem": None})
        begun = await _tried(lambda: self._logins.trade_link(key, port))
        return self._refused(request, _BAD_LINK) if begun is None else self._entered(request, *begun)

    async def trade(self, request: Request) -> Response:
        """Begin a login for a token of a person."""
        # nothing else says that a page of this server has sent it, since there is no login yet
        if request.headers.get("origin") is None and request.headers.get("sec-fetch-site") != "same-origin":
            return html("login.html", {"problem": _FOREIGN}, status=403)
        body = (await request.body()).decode("utf-8", "replace")
        try:
            token = dict(parse_qsl(body, max_num_fields=5)).get("token", "").strip()
        except ValueError:
            token = ""
        access = await _tried(lambda: self._serving.tokens.access(token))
        if access is None or access.role != PERSON:
            return self._refused(request, _BAD_TOKEN)
        begun = await _tried(lambda: self._logins.begin(shown_name(person_of(access)), access.token))
        assert begun is not None
        return self._entered(request, *begun)

    @property
    def _logins(self) -> Logins:
        assert self._serving.logins is not None
        return self._serving.logins

    def _refused(self, request: Request, problem: str) -> Response:
        self._serving.metrics.token_refused()
        wait = self._door.failures.take(request.client.host if request.client else "")
        if wait:
            raise Refusal(
                429,
                "refused",
                "too many wrong links and tokens came from this address",
                f"Try again in {wait} s; `satchel open` makes a new link",
                (("Retry-After", str(wait)),),
            )
        return html("login.html", {"problem": problem}, status=403)

    def _entered(self, request: Request, login: Login, cookie: str) -> Response:
        """Give a browser its cookie, on a page that goes on by itself.

        Browsers do not send a cookie of SameSite=Strict along with a redirect that began at another site or a file.
        """
        given = self._door.cookie_header(
            cookie, port=_port(request), host=request.headers.get("host", ""), seconds=IDLE_MS // 1_000
        )
        headers = {"Set-Cookie": given, "Referrer-Policy": "no-referrer"}
        return html("entered.html", {}, person=login.author, headers=headers)


def _port(request: Request) -> int:
    return int(request.scope["server"][1] or 0)


async def _tried(work: Callable[[], Result]) -> Result:
    """Do what reads or writes the user's files in a thread.

    Raises:
        Refusal: the file is not to be believed.
    """
    try:
        return await to_thread.run_sync(work)
    except SatchelError as error:
        logs.fault(error, problem=error.problem)
        raise Refusal(503, "unavailable", "the server cannot read its logins or tokens", "Its log says why") from None
