"""Routes of the pages: each path shows a page, as HTML and as JSON, or runs an action."""

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
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from satchel.base.errors import InvalidInput, NotFound, Refused, SatchelError
from satchel.interfaces.http import events, logs
from satchel.interfaces.http.failing import confined, internal, refusal_of
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.web import pages
from satchel.interfaces.web.guard import LOGIN_PATH, STATIC_PATH, PageGuard, Visitor
from satchel.interfaces.web.login import LoginPage
from satchel.interfaces.web.logins import Login, form_key
from satchel.interfaces.web.pages.overview import new_count, start
from satchel.interfaces.web.projects import Projects
from satchel.interfaces.web.rendering import PAGE_HEADERS, html, static
from satchel.interfaces.web.request import Done, EditConflict, Page, PageRequest, View
from satchel.interfaces.web.rows import count_needs

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

_FORM_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20
_KEY_FIELD, _KEY_HEADER = "form_key", "x-satchel-form"
_REF = re.compile(r"[a-z]{1,2}[0-9]{1,18}")
_OTHER = "!"
_UNDO = re.compile(r"([a-z_]{1,20})=([\w.~%-]{1,4000})", re.ASCII)


def routes(serving: Serving, guard: PageGuard) -> list[BaseRoute]:
    """Return the routes of the pages."""
    projects = Projects(serving)

    def page(view: View, *, as_json: bool = False) -> Callable[..., Any]:
        async def endpoint(request: Request) -> Response:
            visitor, values = _visitor(request), dict(request.query_params)
            return await to_thread.run_sync(partial(_show, projects, view, request, visitor, values, as_json))

        return endpoint

    def act(path: str) -> Callable[..., Any]:
        async def endpoint(request: Request) -> Response:
            visitor = _visitor(request)
            try:
                values = await _read_form(request)
                _check_key(request, values, visitor)
            except SatchelError as error:
                return _fail(request, visitor, error)
            return await to_thread.run_sync(partial(_act, projects, path, request, visitor, values))

        return endpoint

    async def stream(request: Request) -> Response:
        visitor = _visitor(request)
        login = _login(visitor)
        project = await to_thread.run_sync(projects.find, login, request.path_params["project"])
        access = projects.access(project, login)
        return await events.answer(serving, request, access, lambda: guard.holds(visitor.cookie))

    async def log_out(request: Request) -> Response:
        visitor = _visitor(request)
        try:
            _check_key(request, await _read_form(request), visitor)
        except SatchelError as error:
            return _fail(request, visitor, error)
        assert serving.logins is not None
        await to_thread.run_sync(serving.logins.revoke, _login(visitor).id)
        return RedirectResponse(LOGIN_PATH, 303, headers=PAGE_HEADERS)

    async def nowhere(request: Request) -> Response:
        return await to_thread.run_sync(_miss, projects, request, _visitor(request))

    below = "/p/{project}"
    login_page = LoginPage(serving, guard)
    every: list[BaseRoute] = [
        Route(LOGIN_PATH, login_page.page, methods=["GET"]),
        Route(LOGIN_PATH, login_page.trade, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
        Route(STATIC_PATH, _static, methods=["GET"]),
        Route("/", page(start), methods=["GET"]),
        Route(_json_path("/"), page(start, as_json=True), methods=["GET"]),
        Route(f"{below}/events", stream, methods=["GET"]),
    ]
    for path, view in pages.PAGES.items():
        # the JSON comes first, since the variable part of a path may contain a dot
        every.append(Route(_json_path(below + path), page(view, as_json=True), methods=["GET"]))
        every.append(Route(below + path, page(view), methods=["GET"]))
    for path, target in pages.MOVED.items():
        every.append(Route(_json_path(below + path), _moved(target, ".json"), methods=["GET"]))
        every.append(Route(below + path, _moved(target), methods=["GET"]))
    every += [Route(below + path, act(path), methods=["POST"]) for path in pages.ACTIONS]
    # last, since a project's address with .json matches it too
    every += [
        Route(below, _with_slash, methods=["GET"]),
        Route(f"{below}/{{rest:path}}", page(_nothing), methods=["GET"]),
        _BrowserRoute("/{rest:path}", nowhere, methods=["GET"]),
    ]
    return every


class _BrowserRoute(Route):
    """A route for browsers alone: programs get the error of an unknown path as JSON."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        accepted = next((value for name, value in scope.get("headers", ()) if name == b"accept"), b"")
        is_page = scope.get("method") == "GET" and b"text/html" in accepted
        return super().matches(scope) if is_page else (Match.NONE, {})


def _miss(projects: Projects, request: Request, visitor: Visitor) -> Response:
    """Return the page of an address outside the projects, with the search of the only project if there is one."""
    try:
        some = projects.of(_login(visitor))
    except SatchelError as error:
        return _fail(request, visitor, error)
    if len(some) == 1:
        request.path_params["project"] = some[0].address
    return _fail(request, visitor, NotFound("there is no page at this address", "Search, or open a project"))


def _nothing(request: PageRequest) -> Page:
    raise NotFound(f"there is no page {request.path['rest'][:80]!r}", "Search, or open one from the navigation")


def _json_path(path: str) -> str:
    """Return the path of a page's JSON."""
    return f"{path.rstrip('/') or '/projects'}.json"


async def _read_form(request: Request) -> dict[str, str]:
    """Read and parse a form off the event loop: a large one takes a while."""
    body = await request.body()
    return await to_thread.run_sync(_parse_form, request, body)


def _parse_form(request: Request, body: bytes) -> dict[str, str]:
    """Parse a form.

    Raises:
        InvalidInput: the body is not a form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM_TYPE:
        raise InvalidInput("this takes a form", f"Send {_FORM_TYPE}")
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise InvalidInput(f"the form cannot be read: {error}", "Reload the page and submit again") from None
    # browsers send line breaks as two characters
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def _check_key(request: Request, values: dict[str, str], visitor: Visitor) -> None:
    """Remove the key from a form, and check that it is the key of this login.

    Raises:
        Refused: it is not.
    """
    key = values.pop(_KEY_FIELD, "") or request.headers.get(_KEY_HEADER, "")
    if not hmac.compare_digest(key.encode(), form_key(visitor.cookie).encode()):
        raise Refused(
            "the form did not come from a page of this login; nothing was changed", "Reload the page and submit again"
        )


def _page_request(projects: Projects, request: Request, visitor: Visitor, values: Mapping[str, str]) -> PageRequest:
    login = _login(visitor)
    address = request.path_params.get("project")
    project = None if address is None else projects.find(login, address)
    return PageRequest(projects, login, project, values, request.path_params)


def _show(
    projects: Projects,
    view: View,
    request: Request,
    visitor: Visitor,
    values: Mapping[str, str],
    as_json: bool,
) -> Response:
    try:
        if view is start and not as_json and len(own := projects.of(_login(visitor))) == 1:
            return RedirectResponse(f"/p/{quote(own[0].address, '')}/", 303, headers=PAGE_HEADERS)
        with _page_request(projects, request, visitor, values).of_one_moment() as page_request:
            page = view(page_request)
            if as_json:
                data = page.data() if callable(page.data) else page.data
                return JSONResponse(fields_of(data), headers=PAGE_HEADERS)
            # the stream brings what changes after the state that the page shows
            cursor = None if page_request.selected is None else page_request.satchel.room.reached().cursor
            response = _as_html(page_request, page, request, visitor, cursor)
        _mark_shown(page, _page_request(projects, request, visitor, values))
        return response
    except Exception as error:  # noqa: BLE001 -- every error becomes a page
        return _fail(request, visitor, error, as_json=as_json)


def _mark_shown(page: Page, page_request: PageRequest) -> None:
    """Mark the messages that a page has shown to the person they are to as read; questions wait for their answer."""
    shown = {one.ref for one in page.messages if not one.awaits_answer}
    if shown:
        room = page_request.satchel.room
        unread = [one.ref for one in room.needs().items if one.kind == "message" and one.ref in shown]
        if unread:
            page_request.satchel.messages.mark_read(unread)


def _act(projects: Projects, path: str, request: Request, visitor: Visitor, values: Mapping[str, str]) -> Response:
    try:
        page_request = _page_request(projects, request, visitor, values)
        try:
            done = pages.ACTIONS[path].act(page_request)
        except EditConflict as conflict:
            return _as_html(page_request, conflict.page, request, visitor, status=409)
        return RedirectResponse(_next_address(page_request, path, done, request), 303, headers=PAGE_HEADERS)
    except Exception as error:  # noqa: BLE001 -- every error becomes a page
        return _fail(request, visitor, error, values=values)


def _as_html(
    page_request: PageRequest,
    page: Page,
    request: Request,
    visitor: Visitor,
    cursor: str | None = None,
    *,
    status: int = 200,
) -> Response:
    query = {name: value for name, value in request.query_params.items() if name != "done"}
    twin = _json_path(request.url.path) + (f"?{urlencode(query)}" if query else "")
    context: dict[str, Any] = {"page": page, "twin": twin if request.method == "GET" else None}
    if page_request.selected is not None:
        room = page_request.satchel.room
        context |= {
            "project": page_request.selected,
            "root": page_request.here,
            "needs_count": count_needs(room.needs()),
            "new_count": new_count(room.since()),
            "cursor": cursor,
            "notice": _notice(page_request),
            "places": pages.PLACES,
        }
    return html(
        page.template,
        page.context | context,
        key=form_key(visitor.cookie),
        person=page_request.login.author,
        status=status,
    )


def _notice(page_request: PageRequest) -> dict[str, Any] | None:
    """Return the confirmation of the last action, as the address names it."""
    path, *rest = page_request.values.get("done", "").split(" ")
    action = pages.ACTIONS.get(path.removeprefix(_OTHER))
    if action is None:
        return None
    ref = rest[0] if rest and _REF.fullmatch(rest[0]) else ""
    text, undo = (action.other, action.undo_other) if path.startswith(_OTHER) else (action.notice, action.undo)
    return {
        "text": text,
        "ref": ref,
        "undo": None if undo is None else undo.replace("{ref}", ref),
        "fields": {"ref": ref} | {match[1]: unquote(match[2]) for one in rest if (match := _UNDO.fullmatch(one))},
    }


def _next_address(page_request: PageRequest, action: str, result: Done, request: Request) -> str:
    """Return the address of the page after an action: the action's own, or the page of the form."""
    query: dict[str, str] = {}
    if result.to is None:
        origin = urlsplit(request.headers.get("referer", ""))
        # only a page of the same project, since the header may be forged
        is_of_project = origin.path.startswith(f"{page_request.here}/")
        path = origin.path if is_of_project else f"{page_request.here}/"
        query = {name: value for name, value in parse_qsl(origin.query) if name != "done"} if is_of_project else {}
    else:
        path, _, text = result.to.partition("?")
        query = dict(parse_qsl(text))
    undo = (f"{name}={quote(str(value), safe='')}" for name, value in result.undo.items())
    done = " ".join(filter(None, (f"{_OTHER if result.is_other else ''}{action}", result.ref, *undo)))
    return f"{path}?{urlencode(query | {'done': done})}"


def _fail(
    request: Request,
    visitor: Visitor,
    error: Exception,
    *,
    as_json: bool = False,
    values: Mapping[str, str] | None = None,
) -> Response:
    refusal = refusal_of(error)
    if refusal is None:
        logs.fault(error)
        refusal = internal()
    if as_json:
        raise refusal
    login = _login(visitor)
    if login.token is not None:
        refusal = confined(refusal, request.app.state.without_places)
    # with the form as it was sent, so that no text is lost
    address = request.path_params.get("project")
    back = f"/p/{address}/" if address else "/"
    context = {"refusal": refusal, "back": back, "values": values, "path": request.url.path}
    return html("error.html", context, key=form_key(visitor.cookie), person=login.author, status=refusal.status)


def _visitor(request: Request) -> Visitor:
    visitor: Visitor = request.state.visitor
    return visitor


def _login(visitor: Visitor) -> Login:
    assert visitor.login is not None
    return visitor.login


async def _static(request: Request) -> Response:
    return static(request.path_params["name"])


def _moved(target: str, ending: str = "") -> Callable[..., Any]:
    """Return the endpoint of a former page, which leads to the one that replaces it."""
    path, _, fields = target.partition("?")

    async def endpoint(request: Request) -> Response:
        place = _home(request) + path.format_map({name: quote(one, "") for name, one in request.path_params.items()})
        query = urlencode(dict(parse_qsl(fields)) | dict(request.query_params))
        address = (_json_path(place) if ending else place) + (f"?{query}" if query else "")
        return RedirectResponse(address, 308, headers=PAGE_HEADERS)

    return endpoint


async def _with_slash(request: Request) -> Response:
    return RedirectResponse(f"{_home(request)}/", 308, headers=PAGE_HEADERS)


def _home(request: Request) -> str:
    return f"/p/{quote(request.path_params['project'], '')}"
