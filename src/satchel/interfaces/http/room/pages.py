"""The pages of the control room: what a person looks at, and does."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from satchel.base.errors import InvalidInput, Refused, SatchelError
from satchel.interfaces.http import events, logs
from satchel.interfaces.http.failing import Refusal, internal, refusal_of
from satchel.interfaces.http.room import actions, entrance, views
from satchel.interfaces.http.room.asking import Action, Asked, ChangedMeanwhile, Done, Page, View
from satchel.interfaces.http.room.door import LOGIN_PATH, STATIC_PATH, Door, Guest
from satchel.interfaces.http.room.logins import Login, form_key
from satchel.interfaces.http.room.projects import Projects
from satchel.interfaces.http.room.rendering import PAGE_HEADERS, html, static
from satchel.interfaces.http.room.views import overview
from satchel.interfaces.text.json import fields_of

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

_FORM_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20
KEY_FIELD, KEY_HEADER = "form_key", "x-satchel-form"
_REF = re.compile(r"[a-z]{1,2}[0-9]{1,18}")
_UNDO = re.compile(r"([a-z_]{1,20})=([\w.~%-]{1,400})", re.ASCII)


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

    async def leave(request: Request) -> Response:
        guest = _guest(request)
        try:
            check_key(request, form_of(request, await request.body()), guest)
        except SatchelError as error:
            return _failed(request, guest, error)
        assert serving.logins is not None
        await to_thread.run_sync(serving.logins.revoke, _login(guest).id)
        return RedirectResponse(LOGIN_PATH, 303, headers=PAGE_HEADERS)

    begin = "/p/{project}"
    enter = entrance.Entrance(serving, door)
    found = [
        Route(LOGIN_PATH, enter.page, methods=["GET"]),
        Route(LOGIN_PATH, enter.trade, methods=["POST"]),
        Route("/logout", leave, methods=["POST"]),
        Route(STATIC_PATH, _static, methods=["GET"]),
        Route("/", shows(overview.start), methods=["GET"]),
        Route(twin_of("/"), shows(overview.start, as_json=True), methods=["GET"]),
        Route(f"{begin}/events", stream, methods=["GET"]),
    ]
    for path, view in views.PAGES.items():
        # the twin comes first, since what varies in a path may hold a dot
        found.append(Route(twin_of(begin + path), shows(view, as_json=True), methods=["GET"]))
        found.append(Route(begin + path, shows(view), methods=["GET"]))
    found += [Route(begin + path, does(action), methods=["POST"]) for path, action in actions.ACTIONS.items()]
    # last, since a project's address with .json matches it too
    return [*found, Route(begin, _with_slash, methods=["GET"])]


def twin_of(path: str) -> str:
    """Return the path of a page's twin in JSON."""
    return f"{path.rstrip('/') or '/projects'}.json"


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
        asked = _asked(projects, request, guest, given)
        page = view(asked)
        if as_json:
            return JSONResponse(fields_of(page.data), headers=PAGE_HEADERS)
        return _as_html(asked, page, request, guest)
    except Exception as error:  # noqa: BLE001 -- all end as a page that says so
        return _failed(request, guest, error, as_json=as_json)


def _done(projects: Projects, action: Action, request: Request, guest: Guest, given: Mapping[str, str]) -> Response:
    try:
        asked = _asked(projects, request, guest, given)
        try:
            done = _retrying(asked, action)(asked)
        except ChangedMeanwhile as changed:
            return _as_html(asked, changed.page, request, guest, status=409)
        return RedirectResponse(_address(asked, done, request), 303, headers=PAGE_HEADERS)
    except Exception as error:  # noqa: BLE001 -- all end as a page that says so
        return _failed(request, guest, error, sent=given)


def _retrying(asked: Asked, action: Action) -> Action:
    """Return an action that is done once more where the store has taken back a commit of it."""
    return action if asked.project is None else asked.satchel.workplace.engine.retrying(action)


def _as_html(asked: Asked, page: Page, request: Request, guest: Guest, *, status: int = 200) -> Response:
    query = {name: value for name, value in request.query_params.items() if name != "done"}
    twin = twin_of(request.url.path) + (f"?{urlencode(query)}" if query else "")
    count = page.count
    if count is None:
        count = asked.satchel.room.needs().total if asked.project else 0
    context = {"page": page, "count": count, "twin": twin if request.method == "GET" else None, "told": _told(asked)}
    return html(
        page.template,
        page.context | context | {"places": views.PLACES, "here": request.url.path},
        key=form_key(guest.cookie),
        person=asked.login.author,
        status=status,
    )


def _told(asked: Asked) -> dict[str, Any] | None:
    """Return what was just done, and to what, as the address says it."""
    word, *rest = asked.given.get("done", "").split(" ")
    said = actions.SAID.get(word)
    if said is None:
        return None
    ref = rest[0] if rest and _REF.fullmatch(rest[0]) else ""
    undo = {found[1]: unquote(found[2]) for one in rest if (found := _UNDO.fullmatch(one))}
    return {
        "said": said,
        "ref": ref,
        "undo": None if said.undo is None else said.undo.replace("{ref}", ref),
        "with": undo,
    }


def _address(asked: Asked, done: Done, request: Request) -> str:
    """Return where to go on: where the action says, else the page that the form stood on."""
    to = done.to
    if to is None:
        came = urlsplit(request.headers.get("referer", ""))
        # only a page of the same project: what a browser sends is not what it was given
        to = came.path if came.path.startswith(f"{asked.here}/") else f"{asked.here}/"
        kept = {name: value for name, value in parse_qsl(came.query) if name != "done"} if to == came.path else {}
    else:
        kept = {}
    said = " ".join(
        filter(
            None, (done.word, done.ref, *(f"{name}={quote(str(value), safe='')}" for name, value in done.undo.items()))
        )
    )
    to, _, query = to.partition("?")
    return f"{to}?{urlencode(dict(parse_qsl(query)) | kept | {'done': said})}"


def _failed(
    request: Request, guest: Guest, error: Exception, *, as_json: bool = False, sent: Mapping[str, str] | None = None
) -> Response:
    refusal = refusal_of(error)
    if refusal is None:
        logs.fault(error)
        refusal = internal()
    if as_json:
        raise refusal
    return error_page(refusal, request, key=form_key(guest.cookie), person=_login(guest).author, sent=sent)


def error_page(
    refusal: Refusal, request: Request, *, key: str = "", person: str = "", sent: Mapping[str, str] | None = None
) -> Response:
    """Return the page that says what was wrong, with the form as it was sent, so that no text is lost."""
    address = request.path_params.get("project")
    context = {"refusal": refusal, "back": f"/p/{address}/" if address else "/", "sent": sent, "path": request.url.path}
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
