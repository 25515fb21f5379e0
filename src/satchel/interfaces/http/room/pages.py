"""The pages of the control room: what a person looks at, and does."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from satchel.base.errors import InvalidInput, Refused, SatchelError
from satchel.base.records import dataclass
from satchel.interfaces.http import events, logs
from satchel.interfaces.http.failing import Refusal, internal, refusal_of
from satchel.interfaces.http.room import actions, entrance, views
from satchel.interfaces.http.room.door import LOGIN_PATH, STATIC_PATH, Door, Guest
from satchel.interfaces.http.room.logins import Login, form_key
from satchel.interfaces.http.room.projects import Project, Projects
from satchel.interfaces.http.room.rendering import PAGE_HEADERS, html, static
from satchel.interfaces.to_json import fields_of

if TYPE_CHECKING:
    from satchel.interfaces.http.app import Serving

_FORM_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20
KEY_FIELD, KEY_HEADER = "form_key", "x-satchel-form"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for a page.

    Attributes:
        projects: those of the server.
        login: whose it is.
        project: the project that it is about; None where it is about none.
        given: what its address or form says.
        path: what of its path varies.
    """

    projects: Projects
    login: Login
    project: Project | None
    given: Mapping[str, str]
    path: Mapping[str, str]


View = Callable[[Asked], "views.Page"]
Action = Callable[[Asked], str]


def routes(serving: Serving, door: Door) -> list[BaseRoute]:
    """Return the routes of the pages.

    Args:
        serving: what the server works with.
        door: admits to them.
    """
    projects = Projects(serving)

    def shows(view: View, *, as_json: bool = False) -> Callable[..., Any]:
        async def endpoint(request: Request) -> Response:
            guest = _guest(request)
            given = dict(request.query_params)
            return await to_thread.run_sync(partial(_shown, projects, view, request, guest, given, as_json))

        return endpoint

    def does(action: Action) -> Callable[..., Any]:
        async def endpoint(request: Request) -> Response:
            guest = _guest(request)
            try:
                given = form_of(request, await request.body())
                check_key(request, given, guest)
            except SatchelError as error:
                return _failed(request, guest, error)
            return await to_thread.run_sync(partial(_done, projects, action, request, guest, given))

        return endpoint

    async def stream(request: Request) -> Response:
        guest = _guest(request)
        login = _login(guest)
        project = await to_thread.run_sync(projects.find, login, request.path_params["project"])
        return await events.answer(serving, request, projects.access(project, login), lambda: door.holds(guest.cookie))

    def leave(asked: Asked) -> str:
        assert serving.logins is not None
        serving.logins.revoke(asked.login.id)
        return LOGIN_PATH

    begin = "/p/{project}"
    enter = entrance.Entrance(serving, door)
    return [
        Route(LOGIN_PATH, enter.page, methods=["GET"]),
        Route(LOGIN_PATH, enter.trade, methods=["POST"]),
        Route("/logout", does(leave), methods=["POST"]),
        Route(STATIC_PATH, _static, methods=["GET"]),
        Route("/", shows(views.start), methods=["GET"]),
        Route("/projects.json", shows(views.start, as_json=True), methods=["GET"]),
        Route(f"{begin}.json", shows(views.room, as_json=True), methods=["GET"]),
        Route(f"{begin}/", shows(views.room), methods=["GET"]),
        Route(begin, _with_slash, methods=["GET"]),
        Route(f"{begin}/sections/{{section}}", shows(views.section), methods=["GET"]),
        Route(f"{begin}/search", shows(views.search), methods=["GET"]),
        Route(f"{begin}/search.json", shows(views.search, as_json=True), methods=["GET"]),
        Route(f"{begin}/items/{{ref}}.json", shows(views.item, as_json=True), methods=["GET"]),
        Route(f"{begin}/items/{{ref}}", shows(views.item), methods=["GET"]),
        Route(f"{begin}/events", stream, methods=["GET"]),
        Route(f"{begin}/messages/{{ref}}/answer", does(actions.answer), methods=["POST"]),
        Route(f"{begin}/messages/{{ref}}/read", does(actions.mark_read), methods=["POST"]),
        Route(f"{begin}/items/{{ref}}/retract", does(actions.retract), methods=["POST"]),
        Route(f"{begin}/messages", does(actions.tell), methods=["POST"]),
        Route(f"{begin}/seen", does(actions.see), methods=["POST"]),
        Route(f"{begin}/claims/release", does(actions.release), methods=["POST"]),
    ]


def form_of(request: Request, body: bytes) -> dict[str, str]:
    """Return the fields of a form.

    Raises:
        InvalidInput: it is none.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM_TYPE:
        raise InvalidInput("this takes a form", f"Send {_FORM_TYPE}")
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise InvalidInput(f"the form cannot be read: {error}", "Reload the page and send it again") from None
    # browsers send the ends of lines as two characters
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def check_key(request: Request, given: dict[str, str], guest: Guest) -> None:
    """Take the key out of a form, and refuse one that did not come from a page of this login.

    Raises:
        Refused: it did not.
    """
    key = given.pop(KEY_FIELD, "") or request.headers.get(KEY_HEADER, "")
    if not hmac.compare_digest(key.encode(), form_key(guest.cookie).encode()):
        raise Refused(
            "the form did not come from a page of this login, and nothing was changed",
            "Reload the page, and send it anew",
        )


def _asked(projects: Projects, request: Request, guest: Guest, given: Mapping[str, str]) -> Asked:
    login = _login(guest)
    address = request.path_params.get("project")
    project = None if address is None else projects.find(login, address)
    return Asked(projects, login, project, given, request.path_params)


def _shown(
    projects: Projects,
    view: View,
    request: Request,
    guest: Guest,
    given: Mapping[str, str],
    as_json: bool,
) -> Response:
    try:
        page = view(_asked(projects, request, guest, given))
    except Exception as error:  # noqa: BLE001 -- all end as a page that says so
        return _failed(request, guest, error, as_json=as_json)
    if as_json:
        return JSONResponse(fields_of(page.data), headers=PAGE_HEADERS)
    return html(page.template, page.context | {"page": page}, key=form_key(guest.cookie), person=_login(guest).author)


def _done(projects: Projects, action: Action, request: Request, guest: Guest, given: Mapping[str, str]) -> Response:
    try:
        asked = _asked(projects, request, guest, given)
        return RedirectResponse(action(asked), 303, headers=PAGE_HEADERS)
    except actions.ChangedMeanwhile as changed:
        page = changed.page
        context = page.context | {"page": page}
        return html(page.template, context, key=form_key(guest.cookie), person=_login(guest).author, status=409)
    except Exception as error:  # noqa: BLE001 -- all end as a page that says so
        return _failed(request, guest, error)


def _failed(request: Request, guest: Guest, error: Exception, *, as_json: bool = False) -> Response:
    refusal = refusal_of(error)
    if refusal is None:
        logs.fault(error)
        refusal = internal()
    if as_json:
        raise refusal
    return error_page(refusal, request, key=form_key(guest.cookie), person=_login(guest).author)


def error_page(refusal: Refusal, request: Request, *, key: str = "", person: str = "") -> Response:
    """Return the page that says what was wrong."""
    address = request.path_params.get("project")
    context = {"refusal": refusal, "back": f"/p/{address}/" if address else "/"}
    return html("error.html", context, key=key, person=person, status=refusal.status)


def _guest(request: Request) -> Guest:
    guest: Guest = request.state.guest
    return guest


def _login(guest: Guest) -> Login:
    assert guest.login is not None
    return guest.login


async def _static(request: Request) -> Response:
    return static(request.path_params["name"])


async def _with_slash(request: Request) -> Response:
    return RedirectResponse(f"/p/{request.path_params['project']}/", 308, headers=PAGE_HEADERS)
