"""Making answers of templates: with autoescape, and the headers that let a page load nothing from elsewhere."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from satchel.interfaces.http.failing import not_found
from satchel.interfaces.http.room import formatting
from satchel.interfaces.text.parts import total_text
from satchel.keep.persons import shown_name

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

SAFETY_HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    # with no-referrer browsers send `Origin: null` with a form, which then cannot be told from another site's
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
PAGE_HEADERS = SAFETY_HEADERS | {"Cache-Control": "no-store"}
_STATIC_HEADERS = SAFETY_HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}

_TYPES = {"room.css": "text/css", "room.js": "text/javascript", "icon.svg": "image/svg+xml"}


def html(
    template: str,
    context: dict[str, Any],
    *,
    key: str = "",
    person: str = "",
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    """Return the page of a template.

    Args:
        template: its name.
        context: what it shows.
        key: what its forms carry.
        person: the author of what is written in it.
        status: of the answer.
        headers: beside those of every page.
    """
    text = _environment().get_template(template).render({"person": person, **context, "form_key": key})
    return Response(text, status, PAGE_HEADERS | (headers or {}), media_type="text/html")


def prepare() -> None:
    """Compile all templates: measured, the first page takes 280 ms longer for that and for what it loads."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


def static(name: str) -> Response:
    """Return a file that pages load.

    Raises:
        Refusal: there is none of that name.
    """
    if name not in _TYPES:
        raise not_found()
    return Response(_file(name), headers=_STATIC_HEADERS, media_type=_TYPES[name])


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("satchel.interfaces.http.room"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=formatting.shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "moment": formatting.moment,
        "ago": formatting.ago,
        "clock": formatting.clock,
        "date": formatting.date,
        "is_ref": formatting.is_ref,
        "left": formatting.left,
        "cut": formatting.cut,
        "brief": formatting.brief,
        "marked": formatting.marked,
        "name": shown_name,
    }
    environment.globals |= {
        "asset": _asset,
        "total_text": total_text,
        "SHORT": formatting.SHORT,
        **formatting.MOST_OF_SECTIONS,
    }
    return environment


@cache
def _file(name: str) -> bytes:
    return (files("satchel.interfaces.http.room") / "static" / name).read_bytes()


@cache
def _asset(name: str) -> str:
    """Return the address of a file that pages load, which changes with what it holds."""
    return f"/static/{name}?v={sha256(_file(name)).hexdigest()[:12]}"
