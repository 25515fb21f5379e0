"""The proof of a server that it knows a token, at ``GET /proof``: see :mod:`satchel.remote.connection`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from satchel.base.errors import InvalidInput
from satchel.interfaces.http.failing import unknown_token
from satchel.remote.connection import NONCE, PATH, proof

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

_LONGEST_ID = 64


def routes(serving: Serving) -> list[BaseRoute]:
    """Return the route of proofs."""

    async def prove(request: Request) -> Response:
        token, nonce = request.query_params.get("token", ""), request.query_params.get("nonce", "")
        if not NONCE.fullmatch(nonce) or len(token) > _LONGEST_ID:
            raise InvalidInput("a proof needs the id of a token, and a nonce", "Send 32 random hexadecimal digits")
        key = serving.tokens.digest(token)  # from memory, unless the file has changed
        if key is None:
            raise unknown_token()
        made = proof(key, request.headers["host"], nonce)
        return JSONResponse({"proof": made}, headers={"Cache-Control": "no-store"})

    return [Route(PATH, prove, methods=["GET"])]
