"""Routes of the pages: each path shows a page, as HTML and as JSON, or runs an action."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from satchel.base.errors import InvalidInput, NotFound, Refused
from satchel.interfaces.http import events, logs
from satchel.interfaces.http.exchange import confined, internal, refusal_of
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.web import pages
from satchel.interfaces.web.guard import LOGIN_PATH, STATIC_PATH, PageGuard, Visitor
from satchel.interfaces.web.login import LoginPage
from satchel.interfaces.web.logins import Logins, form_key
from satchel.interfaces.web.pages.memory import subject_of
from satchel.interfaces.web.pages.overview import new_count, start
from satchel.interfaces.web.projects import Projects
from satchel.interfaces.web.rendering import PAGE_HEADERS, html, static
from satchel.interfaces.web.request import Done, EditConflict, Page, PageRequest, View
from satchel.interfaces.web.rows import count_needs

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

Endpoint = Callable[[Request], Any]

_FORM_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20
_KEY_FIELD = "form_key"
_REF = re.compile(r"[a-z]{1,2}[0-9]{1,18}")
_OTHER = "!"
_UNDO = re.compile(r"([a-z_]{1,20})=([\w.~%-]{1,4000})", re.ASCII)


def routes(serving: Serving, guard: PageGuard) -> list[BaseRoute]:
    projects = Projects(serving)

    def visit(answer: Callable[[_Visit, bytes], Response]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await to_thread.run_sync(answer, _Visit(projects, request), await request.body())

        return endpoint

    def page(view: View, *, as_json: bool = False) -> Endpoint:
        return visit(lambda one, _: one.show(view, as_json))

    def act(path: str) -> Endpoint:
        return visit(lambda one, body: one.act(path, body))

    async def stream(request: Request) -> Response:
        visit = _Visit(projects, request)
        project = await to_thread.run_sync(projects.find, visit.login, request.path_params["project"])
        access = projects.access(project, visit.login)
        return await events.answer(serving, request, access, lambda: guard.holds(visit.cookie))

    below = "/p/{project}"
    login_page = LoginPage(serving, guard)
    every: list[BaseRoute] = [
        Route(LOGIN_PATH, login_page.page, methods=["GET"]),
        Route(LOGIN_PATH, login_page.trade, methods=["POST"]),
        Route("/logout", visit(lambda one, body: one.log_out(serving.logins, body)), methods=["POST"]),
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
        Route(below, _moved("/"), methods=["GET"]),
        Route(f"{below}/{{rest:path}}", page(_nothing), methods=["GET"]),
        _BrowserRoute("/{rest:path}", visit(lambda one, _: one.miss()), methods=["GET"]),
    ]
    return every


class _BrowserRoute(Route):
    """A route for browsers alone: programs get the error of an unknown path as JSON."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        accepted = next((value for name, value in scope.get("headers", ()) if name == b"accept"), b"")
        is_page = scope.get("method") == "GET" and b"text/html" in accepted
        return super().matches(scope) if is_page else (Match.NONE, {})


class _Visit:
    """One request of a browser that is logged in."""

    def __init__(self, projects: Projects, request: Request) -> None:
        visitor: Visitor = request.state.visitor
        assert visitor.login is not None
        self.login, self.cookie = visitor.login, visitor.cookie
        self._projects, self._request = projects, request

    def show(self, view: View, as_json: bool) -> Response:
        try:
            if view is start and not as_json and len(own := self._projects.of(self.login)) == 1:
                return RedirectResponse(f"/p/{quote(own[0].address, '')}/", 303, headers=PAGE_HEADERS)
            values = dict(self._request.query_params)
            with self._page_request(values).of_one_moment() as page_request:
                page = view(page_request)
                if as_json:
                    data = page.data() if callable(page.data) else page.data
                    return JSONResponse(fields_of(data), headers=PAGE_HEADERS)
                response = self._html(page_request, page)
            _mark_shown(page, self._page_request(values))
            return response
        except Exception as error:  # noqa: BLE001 -- every error becomes a page
            return self._fail(error, as_json=as_json)

    def act(self, path: str, body: bytes) -> Response:
        values: dict[str, str] = {}
        try:
            form = self._read_form(body)
            page_request = self._page_request(values := form)
            try:
                done = pages.ACTIONS[path].act(page_request)
            except EditConflict as conflict:
                return self._html(page_request, conflict.page, status=409)
            address = _next_address(page_request, path, done, self._request.headers.get("referer", ""))
            return RedirectResponse(address, 303, headers=PAGE_HEADERS)
        except Exception as error:  # noqa: BLE001 -- every error becomes a page
            return self._fail(error, values)

    def log_out(self, logins: Logins | None, body: bytes) -> Response:
        try:
            self._read_form(body)
        except (InvalidInput, Refused) as error:
            return self._fail(error)
        assert logins is not None
        logins.revoke(self.login.id)
        return RedirectResponse(LOGIN_PATH, 303, headers=PAGE_HEADERS)

    def miss(self) -> Response:
        """Return the page of an address outside the projects, with the search of the only project if there is one."""
        try:
            some = self._projects.of(self.login)
            if len(some) == 1:
                self._request.path_params["project"] = some[0].address
            raise NotFound("there is no page at this address", "Search, or open a project")
        except Exception as error:  # noqa: BLE001 -- every error becomes a page
            return self._fail(error)

    def _read_form(self, body: bytes) -> dict[str, str]:
        """Parse a form, and check that it has the key of this login.

        Raises:
            InvalidInput: the body is not a form.
            Refused: it has another key, or none.
        """
        kind = self._request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != _FORM_TYPE:
            raise InvalidInput("this takes a form", f"Send {_FORM_TYPE}")
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
        except ValueError as error:
            raise InvalidInput(f"the form cannot be read: {error}", "Reload the page and submit again") from None
        # browsers send line breaks as two characters
        values = {name: value.replace("\r\n", "\n") for name, value in pairs}
        if not hmac.compare_digest(values.pop(_KEY_FIELD, "").encode(), form_key(self.cookie).encode()):
            raise Refused(
                "the form did not come from a page of this login; nothing was changed",
                "Reload the page and submit again",
            )
        return values

    def _page_request(self, values: Mapping[str, str]) -> PageRequest:
        address = self._request.path_params.get("project")
        project = None if address is None else self._projects.find(self.login, address)
        return PageRequest(self._projects, self.login, project, values, self._request.path_params)

    def _html(self, page_request: PageRequest, page: Page, *, status: int = 200) -> Response:
        query = {name: value for name, value in self._request.query_params.items() if name != "done"}
        twin = _json_path(self._request.url.path) + (f"?{urlencode(query)}" if query else "")
        context: dict[str, Any] = {"page": page, "twin": twin if self._request.method == "GET" else None}
        if page_request.selected is not None:
            room, now = page_request.satchel.room, page_request.reader.workplace.clock()
            needs = room.needs()
            context |= {
                "project": page_request.selected,
                "root": page_request.here,
                "now": now,
                "needs_count": count_needs(needs),
                "quiet_since": self._projects.quiet_since(
                    page_request.selected, self.login.author, now, is_quiet=not needs.total
                ),
                "new_count": new_count(room.since()),
                # the stream brings what changes after the state that the page shows
                "cursor": room.reached().cursor if status == 200 else None,
                "notice": _notice(page_request),
                "places": pages.PLACES,
            }
        key = form_key(self.cookie)
        return html(page.template, page.context | context, key=key, person=self.login.author, status=status)

    def _fail(self, error: Exception, values: Mapping[str, str] | None = None, *, as_json: bool = False) -> Response:
        refusal = refusal_of(error)
        if refusal is None:
            logs.fault(error)
            refusal = internal()
        if as_json:
            raise refusal
        if self.login.token is not None:
            refusal = confined(refusal, self._request.app.state.without_places)
        # with the form as it was sent, so that no text is lost
        address = self._request.path_params.get("project")
        back = f"/p/{address}/" if address else "/"
        context = {"refusal": refusal, "back": back, "values": values, "path": self._request.url.path}
        key = form_key(self.cookie)
        return html("error.html", context, key=key, person=self.login.author, status=refusal.status)


def _nothing(request: PageRequest) -> Page:
    raise NotFound(f"there is no page {request.path['rest'][:80]!r}", "Search, or open one from the navigation")


def _json_path(path: str) -> str:
    return f"{path.rstrip('/') or '/projects'}.json"


def _mark_shown(page: Page, page_request: PageRequest) -> None:
    """Mark the messages that a page has shown to the person they are to as read; questions wait for their answer."""
    shown = {one.ref for one in page.messages if not one.awaits_answer}
    if shown:
        room = page_request.satchel.room
        unread = [one.ref for one in room.needs().items if one.kind == "message" and one.ref in shown]
        if unread:
            page_request.satchel.messages.mark_read(unread)


def _notice(page_request: PageRequest) -> dict[str, Any] | None:
    path, *rest = page_request.values.get("done", "").split(" ")
    action = pages.ACTIONS.get(path.removeprefix(_OTHER))
    if action is None:
        return None
    ref = rest[0] if rest and _REF.fullmatch(rest[0]) else ""
    text, undo = (action.other, action.undo_other) if path.startswith(_OTHER) else (action.notice, action.undo)
    subject = subject_of(page_request, ref) if ref and page_request.selected is not None else None
    return {
        "text": text,
        "subject": subject,
        "undo": None if undo is None else undo.replace("{ref}", ref),
        "fields": {"ref": ref} | {match[1]: unquote(match[2]) for one in rest if (match := _UNDO.fullmatch(one))},
    }


def _next_address(page_request: PageRequest, action: str, result: Done, referer: str) -> str:
    # only a page of the same project, since the header may be forged
    here, origin = f"{page_request.here}/", urlsplit(referer)
    target = origin if origin.path.startswith(here) else urlsplit(here)
    if result.to is not None:
        target = urlsplit(result.to)
    query = {name: value for name, value in parse_qsl(target.query) if name != "done"}
    undo = (f"{name}={quote(str(value), safe='')}" for name, value in result.undo.items())
    done = " ".join(filter(None, (f"{_OTHER if result.is_other else ''}{action}", result.ref, *undo)))
    return f"{target.path}?{urlencode(query | {'done': done})}"


async def _static(request: Request) -> Response:
    return static(request.path_params["name"])


def _moved(target: str, ending: str = "") -> Endpoint:
    path, _, fields = target.partition("?")

    async def endpoint(request: Request) -> Response:
        parts = {name: quote(one, "") for name, one in request.path_params.items()}
        place = f"/p/{parts['project']}{path.format_map(parts)}"
        query = urlencode(dict(parse_qsl(fields)) | dict(request.query_params))
        address = (_json_path(place) if ending else place) + (f"?{query}" if query else "")
        return RedirectResponse(address, 308, headers=PAGE_HEADERS)

    return endpoint
