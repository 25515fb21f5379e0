"""Messages as compact text, as the agent that reads them sees them.

A message's line is its id, then what differs from what the head or the heading says: type unless it is info, priority
unless it is medium, ``from`` and ``to`` an agent (``me`` is the reader, ``all`` everyone); then which message it
``answers``, the ``thread`` where that began with another one, whether it is ``new``, ``gone in`` how long where that is
less than an hour, and when it was sent; once the reader has ``read`` it that time too, without the day where that is
the same; then ``answered by`` the last message that answers it, and of one that the reader sent ``not read yet`` or
``read by`` whom. Its text stands below; where the line says ``payload`` the last line below is that, as JSON.
"""

from __future__ import annotations

from satchel.base.clock import DAY_MS, moment_text, span_in_words, year_of
from satchel.find.kind import Kind
from satchel.interfaces.text.lists import Line, list_text, names_text, note_lines
from satchel.interfaces.text.parts import NONE, content_lines, json_line, quoted, value_text
from satchel.keep.messages.records import MarkedRead, Message, MessagePage

_TYPE, _PRIORITY = "info", "medium"
"""What a message is where nothing is said."""

_BLANKS = (_TYPE, _PRIORITY, None, None)
_ME, _ALL = "me", "all"

_SOON_MS = 3_600_000
"""What is gone in less than so long says so."""

_MAX_READERS = 5
"""So many of those who read a message are named."""


def messages_text(page: MessagePage) -> str:
    """Render a page of an agent's messages; all is there but uid, own seq and score."""
    year = year_of(page.messages[0].created_at) if page.messages else ""
    lines = [message_line(message, page.agent, year, page.asked_at) for message in page.messages]
    is_sent = bool(page.messages) and all(message.sender == page.agent for message in page.messages)
    whose = f" {'from' if is_sent else 'for'} {value_text(page.agent)}"
    whose += f", {page.unread} unread left" if page.unread else ""
    return list_text("message", page, lines, _BLANKS, more=whose)


def sent_text(message: Message) -> str:
    """Say that a message was sent, to whom, in which thread, and what it is where that is not the usual."""
    said = (*filter(None, _kind(message)), *_place(message))
    line = f"sent {message.ref} to {_name(message.to or _ALL, message.to is None)}"
    return "\n".join([", ".join([line, *said]), *note_lines(message.notes)])


def marked_text(marked: MarkedRead) -> str:
    """Say what marking as read did with each id that was given, and how many unread messages are left."""
    told = (
        (f"{len(marked.marked)} marked read", marked.marked),
        ("already read", marked.already),
        ("unknown or expired", marked.unknown),
        (f"not {value_text(marked.agent)}'s to read", marked.foreign),
    )
    lines = [f"{name}: {' '.join(refs)}" for name, refs in told if refs] or ["0 marked read"]
    return "\n".join([*lines, f"{marked.unread} unread left for {value_text(marked.agent)}"])


def message_line(message: Message, reader: str | None, year: str, now: int | None = None) -> Line:
    """Return the line of a message as its reader sees it, with its text and payload below.

    Args:
        now: milliseconds UTC; None says nothing of what is gone soon.
    """
    has_payload = message.payload is not None
    is_new = message.read_at is None and (reader is None or message.sender != reader)
    left = _SOON_MS if now is None else message.expires_at - now
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
            *((f"gone in {span_in_words(left)}",) if left < _SOON_MS else ()),
        ),
        moment=message.created_at,
        after=(
            *(() if message.read_at is None else (f"read {_read(message.read_at, message.created_at, year)}",)),
            *_fate(message, reader),
        ),
        below=(*content_lines(message.message), *((f" {json_line(message.payload)}",) if has_payload else ())),
    )


def _kind(message: Message) -> tuple[str | None, str | None]:
    """Return type and priority where they are not the usual."""
    return (
        None if message.type == _TYPE else message.type,
        None if message.priority == _PRIORITY else message.priority,
    )


def _read(read_at: int, sent_at: int, year: str) -> str:
    """Return when a message was read, without the day on which it was sent."""
    told = moment_text(read_at, year)
    return told.split()[-1] if read_at // DAY_MS == sent_at // DAY_MS else told


def _fate(message: Message, reader: str | None) -> tuple[str, ...]:
    """Say what answers a message, and of one that the reader sent who read it."""
    answer = message.answered_by
    return (
        *(() if answer is None else (f"answered by {Kind.MESSAGE.ref(answer)}",)),
        *(("not read yet",) if message.sender == reader is not None and not (message.read_by or answer) else ()),
        *names_text(_read_by(len(message.read_by)), message.read_by[:_MAX_READERS]),
    )


def _read_by(readers: int) -> str:
    return "read by " if readers <= _MAX_READERS else f"read by {readers} agents: "


def _place(message: Message) -> tuple[str, ...]:
    """Say what a message answers, and which thread it is in unless that began with itself or with what it answers."""
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
