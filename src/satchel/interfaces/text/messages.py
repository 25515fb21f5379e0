"""Messages as text: an agent's messages, and the confirmations of sending and of marking as read.

A message's line has the id, a type other than info, a priority other than medium, ``from`` and ``to`` an agent (``me``
is the reader, ``all`` everyone), the message it ``answers``, the ``thread`` if another message began it, ``new`` if it
is unread, ``gone in`` the time left if that is less than an hour, the time it was sent and ``read``, ``answered by``
the last answer, and for the reader's own messages ``not read yet`` or ``read by`` the readers. The text follows below;
with ``payload``, the last line below is the payload as JSON.
"""

from __future__ import annotations

from satchel.base.clock import span_in_words
from satchel.find.kind import Kind
from satchel.interfaces.text.lists import Line, list_text, names_text, note_lines, show_lines
from satchel.interfaces.text.parts import NONE, content_lines, json_line, quoted, value_text
from satchel.keep.messages.records import MarkedRead, Message, MessagePage
from satchel.keep.names import is_persons

_TYPE, _PRIORITY = "info", "medium"

_BLANKS = (_TYPE, _PRIORITY, None, None)
_ME, _ALL = "me", "all"

# A message that expires sooner has its remaining time.
_SOON_MS = 3_600_000

_MAX_READERS = 5


def messages_text(page: MessagePage) -> str:
    lines = [message_line(message, page.agent, page.asked_at) for message in page.items]
    is_sent = bool(page.items) and all(message.sender == page.agent for message in page.items)
    whose = f" {'from' if is_sent else 'for'} {value_text(page.agent)}"
    whose += f", {page.unread} unread left" if page.unread else ""
    return list_text("message", page, lines, _BLANKS, more=whose)


def show_inbox(page: MessagePage) -> None:
    hint = "" if page.total else "; `satchel message sent` lists yours"
    _show(page, f"messages for {page.agent}, {page.unread} unread in all{hint}")
    questions = [one.ref for one in page if one.read_at is None and one.sender != page.agent and one.awaits_answer]
    if questions and is_persons(page.agent):
        import click

        ref = questions[0]
        answer = f"`satchel message send TEXT --reply-to {ref}`"
        click.echo(f"{ref} stays unread until you answer it with {answer}, or run `satchel message read {ref}`")


def show_sent(page: MessagePage) -> None:
    _show(page, f"messages sent by {page.agent}")


def _show(page: MessagePage, what: str) -> None:
    show_lines(page, what, [message_line(message, page.agent, page.asked_at) for message in page.items])


def sent_text(message: Message) -> str:
    line = f"sent {message.ref} to {_name(message.to or _ALL, message.to is None)}"
    fields = (*filter(None, _kind(message)), *_place(message))
    return "\n".join([", ".join([line, *fields]), *note_lines(message.notes)])


def marked_text(marked: MarkedRead) -> str:
    groups = (
        (f"{len(marked.marked)} marked read", marked.marked),
        ("already read", marked.already),
        ("unknown or expired", marked.unknown),
        (f"not {value_text(marked.agent)}'s to read", marked.foreign),
    )
    lines = [f"{name}: {' '.join(refs)}" for name, refs in groups if refs] or ["0 marked read"]
    return "\n".join([*lines, f"{marked.unread} unread left for {value_text(marked.agent)}"])


def message_line(message: Message, reader: str | None, now: int | None = None) -> Line:
    """Return the line of a message as its reader sees it, with its text and payload below."""
    has_payload = message.payload is not None
    is_new = message.read_at is None and (reader is None or message.sender != reader)
    remaining = _SOON_MS if now is None else message.expires_at - now
    return Line(
        start=message.ref,
        cells=(
            *_kind(message),
            f"from {NONE if message.sender is None else _name(message.sender, False, reader)}",
            f"to {_name(message.to or _ALL, message.to is None, reader)}",
        ),
        own=(
            *_place(message),
            *(("payload",) if has_payload else ()),
            *(("new",) if is_new else ()),
            *((f"gone in {span_in_words(remaining)}",) if remaining < _SOON_MS else ()),
            *(() if message.answer_by is None or message.answered_by else (_answer_due(message, now),)),
        ),
        moment=message.created_at,
        after=(*(() if message.read_at is None else (("read", message.read_at),)), *_fate(message, reader)),
        below=(*content_lines(message.message), *((f" {json_line(message.payload)}",) if has_payload else ())),
    )


def _answer_due(message: Message, now: int | None) -> str:
    assert message.answer_by is not None
    if now is None:
        return f"answer needed within {span_in_words(message.answer_by - message.created_at)} of being sent"
    remaining = message.answer_by - now
    return (
        f"answer needed within {span_in_words(remaining)}"
        if remaining > 0
        else f"answer overdue by {span_in_words(-remaining)}"
    )


def _kind(message: Message) -> tuple[str | None, str | None]:
    return (
        None if message.type == _TYPE else message.type,
        None if message.priority == _PRIORITY else message.priority,
    )


def _fate(message: Message, reader: str | None) -> tuple[str, ...]:
    answer = message.answered_by
    return (
        *(() if answer is None else (f"answered by {Kind.MESSAGE.ref(answer)}",)),
        *(("not read yet",) if message.sender == reader is not None and not (message.read_by or answer) else ()),
        *names_text(_read_by(len(message.read_by)), message.read_by[:_MAX_READERS]),
    )


def _read_by(readers: int) -> str:
    return "read by " if readers <= _MAX_READERS else f"read by {readers} agents: "


def _place(message: Message) -> tuple[str, ...]:
    place = [] if message.reply_to is None else [f"answers {Kind.MESSAGE.ref(message.reply_to)}"]
    if message.thread != (message.reply_to or message.id):
        place.append(f"thread {Kind.MESSAGE.ref(message.thread)}")
    return tuple(place)


def _name(agent: str, everyone: bool, reader: str | None = None) -> str:
    if everyone:
        return _ALL
    if agent == reader:
        return _ME
    return quoted(agent) if agent in {_ME, _ALL} else value_text(agent)
