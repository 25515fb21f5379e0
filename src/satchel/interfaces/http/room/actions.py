"""What a person does on the pages. Each returns the address to go on at."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from satchel.base.errors import Conflict, InvalidInput, NotFound
from satchel.client import Satchel
from satchel.find.kind import Kind
from satchel.interfaces.http.room.projects import Project
from satchel.interfaces.http.room.views import Page
from satchel.keep.files.releasing import release_of_session
from satchel.keep.messages.records import Message

if TYPE_CHECKING:
    from satchel.interfaces.http.room.pages import Asked


class ChangedMeanwhile(Exception):
    """Another has acted on the same, and nothing was changed.

    Args:
        page: what says so, with a form to do it all the same.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page.title)
        self.page = page


def answer(asked: Asked) -> str:
    """Answer a message; where another has answered since the form was made, ask first."""
    project, satchel = _place(asked)
    ref, text = asked.path["ref"], asked.given.get("text", "")
    message = _message(asked, project, ref)
    seen = asked.given.get("answered_by", "")
    now = "" if message.answered_by is None else Kind.MESSAGE.ref(message.answered_by)
    if now != seen:
        other = _message(asked, project, now) if now else None
        context = {"message": message, "other": other, "text": text}
        raise ChangedMeanwhile(Page(f"{ref} was answered meanwhile", "answered.html", context, None, 0, project))
    sent = satchel.messages.send(text, reply_to=ref)
    return f"/p/{project.address}/?done={quote(f'answered {sent.ref}')}"


def mark_read(asked: Asked) -> str:
    """Set a message aside, as read by the person."""
    project, satchel = _place(asked)
    marked = satchel.messages.mark_read([asked.path["ref"]])
    if marked.unknown or marked.foreign:
        raise Conflict(f"{asked.path['ref']} is gone, or is no message to you", "Nothing was changed")
    return f"/p/{project.address}/?done={quote('set-aside ' + asked.path['ref'])}"


def retract(asked: Asked) -> str:
    """Retract a note, rule or strategy, with a reason; where another did so meanwhile, say by whom."""
    project, satchel = _place(asked)
    reason = asked.given.get("reason", "").strip()
    if not reason:
        raise InvalidInput("the reason is missing", "Say why it holds no more, in a few words")
    retracted = satchel.corrections.retract(asked.path["ref"], reason)
    if retracted.already is not None:
        raise Conflict(f"{retracted.ref} was {retracted.already}, before you", "Nothing was changed by you")
    return f"/p/{project.address}/items/{retracted.ref}?done={quote('retracted ' + retracted.ref)}"


def release(asked: Asked) -> str:
    """End the claim of a session, and tell the agent that held it."""
    project, satchel = _place(asked)
    session, path, expires = (asked.given.get(name, "") for name in ("session", "path", "expires_at"))
    if not (session and path and expires.isascii() and expires.isdigit() and len(expires) <= 18):
        raise InvalidInput("the form names no claim", "Reload the page, and send it anew")
    released = release_of_session(satchel.workplace, session, path, int(expires))
    satchel.messages.send(f"I released your claim on {released.path}", to=released.agent, type="warning")
    return f"/p/{project.address}/?done=released"


def tell(asked: Asked) -> str:
    """Send a message to an agent."""
    project, satchel = _place(asked)
    sent = satchel.messages.send(asked.given.get("text", ""), to=asked.given.get("to", ""))
    return f"/p/{project.address}/?done={quote(f'told {sent.ref}')}"


def see(asked: Asked) -> str:
    """Mark changes as seen, up to what the page showed: what came since is shown again."""
    project, satchel = _place(asked)
    seq, ref = asked.given.get("seq", ""), asked.given.get("ref")
    if not (seq.isascii() and seq.isdigit() and len(seq) <= 18):
        raise InvalidInput("the form does not say up to which change", "Reload the page, and send it anew")
    satchel.room.see(None if ref is None else [ref], up_to=int(seq))
    return f"/p/{project.address}/?done=seen"


def _place(asked: Asked) -> tuple[Project, Satchel]:
    assert asked.project is not None
    return asked.project, asked.projects.satchel(asked.project, asked.login)


def _message(asked: Asked, project: Project, ref: str) -> Message:
    """Return a message as nobody, for whom nothing counts as read.

    Raises:
        NotFound: the project has no such message.
    """
    opened = asked.projects.satchel(project, asked.login, is_looking=True).items.read([ref])
    record = opened.items[0].record
    if not isinstance(record, Message):
        raise NotFound(f"{opened.items[0].ref} is no message", "Answer one, such as m12")
    return record
