"""The ASGI application: the gate, and the routes behind it."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from satchel.base.errors import SatchelError
from satchel.interfaces.http import api, events, health, mcp
from satchel.interfaces.http.failing import Refusal, body_of, confined, headers_of, internal, refusal_of
from satchel.interfaces.http.gate import Gate
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.web.guard import PageGuard


def make_app(serving: Serving) -> Starlette:
    """Return the application of a server."""
    routes: list[BaseRoute] = []
    for part in (health, events, api, mcp):
        routes += part.routes(serving)
    guard = PageGuard(serving)
    if serving.logins is not None:
        from satchel.interfaces.web.routes import routes as routes_of_pages

        of_pages = routes_of_pages(serving, guard)
        routes += of_pages
        guard.protect(of_pages)

    async def refused(_request: Request, error: Exception) -> Response:
        refusal = confined(refusal_of(error) or internal(), serving.stores.without_places)
        body = body_of(refusal)
        response = Response(body, refusal.status)
        response.raw_headers = headers_of(refusal, body)
        return response

    app = Starlette(
        routes=routes,
        middleware=[Middleware(Gate, serving=serving, routes=routes, guard=guard)],
        exception_handlers=dict.fromkeys((SatchelError, Refusal, HTTPException), refused),
    )
    app.state.without_places = serving.stores.without_places
    app.router.redirect_slashes = False
    return app
