"""Pages made from templates: stored text never becomes markup and hides nothing, and nothing loads from elsewhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from markupsafe import Markup, escape
from starlette.responses import Response

from satchel.base.clock import DAY_MS, iso, span_in_words
from satchel.base.invisible import revealed
from satchel.base.text import fold
from satchel.base.vocabulary import HUMAN
from satchel.find.snippets import Snippet
from satchel.interfaces.http.exchange import SAFETY_HEADERS, not_found
from satchel.interfaces.text.parts import total_text
from satchel.keep.names import shown_name

if TYPE_CHECKING:
    from satchel.keep.documents.proposals import Proposal

PAGE_HEADERS = SAFETY_HEADERS | {"Cache-Control": "no-store"}
_STATIC_HEADERS = SAFETY_HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}

_TYPES = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}

# Characters of a text in a section, on the page of an item, and the most that those may become on the page.
SHORT, WHOLE, ROOM = 1_200, 40_000, 70_000

# The names of one and of several items of a kind.
NAMES = {
    "constraint": ("Rule", "Rules"),
    "decision": ("Decision", "Decisions"),
    "error_pattern": ("Error", "Errors and fixes"),
    "entry": ("Note", "Notes"),
    "package": ("Package", "Packages"),
    "strategy": ("Strategy", "Strategies"),
    "message": ("Message", "Messages"),
    "file_change": ("Edit", "Edits"),
    "solution": ("Fix", "Fixes"),
}

# Limits of the overview, so that a full one has less than 120 KB with all that it loads: sessions, less urgent needs,
# conflicts, and characters of a line. The JSON has everything.
_LIMITS = {
    "MOST_SESSIONS": 12,
    "MOST_FOLDED": 8,
    "MOST_CONFLICTS": 6,
    "LINE": 120,
}

# The names of clients that are not what they call themselves.
_CLIENTS = {
    "claude": "Claude Code",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "codex-mcp-client": "Codex",
    "gemini": "Gemini CLI",
    "gemini-cli-mcp-client": "Gemini CLI",
    "qwen": "Qwen Code",
}

# The variables of the frame on a page outside the projects.
_NOTHING = {
    **dict.fromkeys(("page", "project", "twin", "cursor", "notice")),
    "root": "",
    "needs_count": 0,
    "new_count": 0,
}

_REF = re.compile(r"[a-z][0-9]{1,18}")
_COMMANDS = re.compile(r" and accept it with `satchel accept d[\d@]+`, or reject it with `satchel reject d[\d@]+`$")
_UNANSWERED = re.compile(r"an answer from (.+) to m[0-9]+")


def html(
    template: str,
    context: dict[str, Any],
    *,
    key: str = "",
    person: str = "",
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    """Render a template.

    Args:
        key: the key in its forms.
        person: the author of items written on the page.
        headers: additional to those of every page.
    """
    text = _environment().get_template(template).render({**_NOTHING, **context, "person": person, "form_key": key})
    return Response(text, status, PAGE_HEADERS | (headers or {}), media_type="text/html")


def name_for(person: str, name: str) -> str:
    """Return a name as a person sees it: ``you`` for their own."""
    if name == HUMAN:
        return "a person"
    return "you" if person and fold(name) == fold(person) else shown_name(name)


def reason_for(person: str, reason: str) -> str:
    """Return why an agent waits as a person sees it, without the id of the message that it sent."""
    sent = _UNANSWERED.fullmatch(reason)
    return reason if sent is None else f"an answer from {name_for(person, sent[1])}"


def on_page(text: str) -> str:
    """Return a message without the commands of a notice on a proposal, for which the page has buttons."""
    return _COMMANDS.sub("", text)


def coded(text: str) -> Markup:
    """Return a text of one line with its quoted commands as code."""
    code = Markup("<code>{}</code>")
    parts = (visible(part) for part in text.split("`"))
    return Markup("").join(code.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def prepare() -> None:
    """Compile all templates, so that the first page does not wait for it."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


def static(name: str) -> Response:
    """Return a static file.

    Raises:
        Refusal: no static file has that name.
    """
    if name not in _TYPES:
        raise not_found()
    return Response(_file(name), headers=_STATIC_HEADERS, media_type=_TYPES[name])


def visible(value: Any) -> Any:
    """Return a value for a template, with each invisible character of a text as its code, as in ``\\u{202e}``.

    Markup stays as it is; None becomes an empty text.
    """
    if value is None:
        return ""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return revealed(value)
    return value


def clock(milliseconds: int) -> str:
    return f"{_utc(milliseconds):%H:%M}"


def date(milliseconds: int) -> str:
    return f"{_utc(milliseconds).day} {_utc(milliseconds):%b}"


def moment(milliseconds: int | None) -> Markup:
    """Return a time, which the script converts to the reader's time zone."""
    return Markup("") if milliseconds is None else _time(milliseconds, _words(milliseconds), "full")


def at_clock(milliseconds: int, now: int) -> Markup:
    """Return the hour and minute of a time, or its day if it is long ago; the script converts it."""
    if now - milliseconds >= DAY_MS:
        return _time(milliseconds, date(milliseconds), "day")
    return _time(milliseconds, clock(milliseconds), "clock")


def ago(milliseconds: int | None, now: int, suffix: str = " ago") -> Markup:
    """Return how long ago a time was, up to a day, else the time; the script keeps it up to date."""
    if milliseconds is None:
        return Markup("")
    passed = max(0, now - milliseconds)
    words = f"{span_in_words(passed)}{suffix}" if passed < DAY_MS else _words(milliseconds)
    return _time(milliseconds, words, "ago", suffix)


def remaining(milliseconds: int, now: int) -> Markup:
    """Return the time until an expiry, which the script keeps up to date."""
    return _time(milliseconds, f"{span_in_words(max(0, milliseconds - now))} left", "left")


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1_000, UTC)


def _words(milliseconds: int) -> str:
    return f"{date(milliseconds)} {clock(milliseconds)} UTC"


def _time(milliseconds: int, words: str, sort: str, suffix: str = "") -> Markup:
    return Markup('<time datetime="{}" data-{}="{}">{}</time>').format(iso(milliseconds), sort, suffix, words)


def place_and_digest(proposal: Proposal) -> str:
    """Return what names a proposal of a document with the text that a person has seen."""
    return f"{proposal.ref} {proposal.digest}"


def is_ref(text: str) -> bool:
    return _REF.fullmatch(text) is not None


def fit(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most so many characters of a page, where some become several."""
    head = text[:most]
    size = len(escape(visible(head)))
    if size > most:
        head = head[: most * most // size]
        while len(escape(visible(head))) > most:
            head = head[: len(head) * 3 // 4]
    return head


def brief(text: str, most: int) -> str:
    """Return :func:`fit` of a text, with an ellipsis where something is missing."""
    head = fit(text, most)
    return head if len(head) == len(text) else f"{head.rstrip()} …"


def marked(snippet: Snippet) -> Markup:
    """Return a snippet with its matches marked."""
    parts: list[Markup] = []
    end = 0
    for first, last in sorted(snippet.marks):
        if first < end:
            continue
        parts += [
            escape(visible(snippet.text[end:first])),
            Markup("<mark>{}</mark>").format(visible(snippet.text[first:last])),
        ]
        end = last
    return Markup("").join([*parts, escape(visible(snippet.text[end:]))])


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("satchel.interfaces.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters = (
        moment,
        ago,
        at_clock,
        clock,
        date,
        place_and_digest,
        is_ref,
        remaining,
        brief,
        marked,
        shown_name,
        on_page,
        coded,
    )
    environment.filters |= {one.__name__: one for one in filters}
    environment.filters |= {"name": pass_context(lambda context, name: name_for(context["person"], name))}
    environment.filters |= {"reason": pass_context(lambda context, text: reason_for(context["person"], text))}
    environment.filters |= {"client": lambda name: _CLIENTS.get(name, name)}
    environment.globals |= {"asset": _asset, "total_text": total_text, "SHORT": SHORT, "NAMES": NAMES, **_LIMITS}
    return environment


@cache
def _file(name: str) -> bytes:
    return (files("satchel.interfaces.web") / "static" / name).read_bytes()


@cache
def _asset(name: str) -> str:
    return f"/static/{name}?v={sha256(_file(name)).hexdigest()[:12]}"
