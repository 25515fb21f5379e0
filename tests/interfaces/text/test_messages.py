"""Messages as text read back by a parser."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from interfaces.text import hostile
from interfaces.text.hostile import DAY, MINUTE, NEW_YEAR
from interfaces.text.reading import (
    NAMES,
    SPAN,
    TIME,
    VALUE,
    WHEN,
    Format,
    Item,
    List,
    read_content,
    read_list,
    read_names,
    read_when,
)
from satchel.base.clock import moment_text
from satchel.base.vocabulary import PRIORITIES
from satchel.interfaces.text.messages import marked_text, messages_text, sent_text
from satchel.keep.messages.records import MESSAGE_TYPES, MarkedRead, Message, MessagePage

FORMAT = Format(
    noun="message",
    more=rf" (?:for|from) (?P<agent>{VALUE})(?:, (?P<unread>[1-9][0-9]*) unread left)?",
    start="m(?P<id>[0-9]+)",
    cells={
        "type": "|".join(MESSAGE_TYPES),
        "priority": "|".join(PRIORITIES),
        "sender": rf"from {VALUE}",
        "to": rf"to {VALUE}",
    },
    own=(
        "(?: answers m(?P<reply>[0-9]+))?(?: thread m(?P<thread>[0-9]+))?(?P<payload> payload)?(?: new)?"
        rf"(?: gone in {SPAN})?"
    ),
    after=rf"(?: read (?P<read>{WHEN}|{TIME}))?(?: answered by m(?P<answer>[0-9]+))?(?: not read yet)?"
    rf"(?: read by (?P<readers>{NAMES}))?",
)


def kept(message: Message) -> Message:
    return replace(message, uid="", seq=0, score=None, expires_at=0)


def read_message(item: Item, year: str, reader: str) -> Message:
    def agent(name: str, mark: str) -> str | None:
        written = item.fields[name].removeprefix(mark)
        return reader if written == "me" else None if written == "all" and name == "to" else item.value(name, mark)

    number = int(item.fields["id"])
    reply = int(item.fields["reply"]) if "reply" in item.fields else None
    below = list(item.below)
    payload: object = json.loads(below.pop()) if "payload" in item.fields else None
    read, readers = item.fields.get("read"), item.fields.get("readers", "")
    if read is not None and " " not in read:
        read = f"{moment_text(item.moment, '')} ".split()[0] + f" {read}"
    return Message(
        id=number,
        uid="",
        seq=0,
        sender=agent("sender", "from "),
        to=agent("to", "to "),
        type=item.fields.get("type", "info"),
        priority=item.fields.get("priority", "medium"),
        message=read_content(below),
        payload=payload,
        reply_to=reply,
        thread=int(item.fields["thread"]) if "thread" in item.fields else reply or number,
        created_at=item.moment,
        expires_at=0,
        read_by=read_names(readers),
        answered_by=int(item.fields["answer"]) if "answer" in item.fields else None,
        read_at=None if read is None else read_when(read, year),
    )


def read_messages(text: str) -> tuple[List, str, tuple[Message, ...]]:
    page = read_list(text, FORMAT)
    written = page.head["agent"]
    assert written is not None
    reader = str(json.loads(written)) if written.startswith('"') else written
    items = [read_message(item, page.year, reader) for item in page.items]
    if page.order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=page.order == "newest")
    return page, reader, tuple(items)


def message(number: int = 1, text: str = "x", **changes: object) -> Message:
    one = Message(
        id=number,
        uid="0" * 32,
        seq=number,
        sender="builder",
        to="planner",
        type="info",
        priority="medium",
        message=text,
        payload=None,
        reply_to=None,
        thread=number,
        created_at=NEW_YEAR,
        expires_at=NEW_YEAR + DAY,
    )
    return replace(one, **changes)  # type: ignore[arg-type] # the tests give each field its own type


def page_of(*some: Message, agent: str = "planner") -> MessagePage:
    return MessagePage(some, len(some), 0, 20, 9, agent=agent, unread=5)


payloads: st.SearchStrategy[object] = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | hostile.texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile.texts, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    number = draw(hostile.numbers)
    created = draw(hostile.moments)
    reply = draw(st.none() | st.sampled_from([1, 2, 3]))
    return message(
        number,
        draw(hostile.texts),
        sender=draw(st.none() | hostile.agents),
        to=draw(st.none() | hostile.agents),
        type=draw(st.sampled_from(MESSAGE_TYPES)),
        priority=draw(st.sampled_from(PRIORITIES)),
        payload=draw(st.none() | payloads),
        reply_to=reply,
        thread=draw(st.sampled_from([number, reply or 7, 5])),
        created_at=created,
        expires_at=created + draw(hostile.spans),
        read_at=draw(st.none() | hostile.moments),
        read_by=tuple(draw(st.lists(hostile.agents, max_size=5, unique=True))),
        answered_by=draw(st.none() | st.integers(1, 99)),
    )


@st.composite
def pages(draw: st.DrawFn) -> MessagePage:
    items = draw(st.lists(messages(), max_size=6, unique_by=lambda item: item.id))
    order = draw(st.sampled_from(["newest", "oldest", "relevance", "seq"]))
    if order in {"newest", "oldest"}:
        items.sort(key=lambda item: (item.created_at, item.id), reverse=order == "newest")
    reader = draw(hostile.agents)
    unread = draw(st.integers(0, 9))
    asked_at = max((item.expires_at for item in items), default=0) - draw(st.sampled_from([0, MINUTE, DAY]))
    notes = draw(hostile.notes)
    return MessagePage(tuple(items), len(items), 0, 20, 9, order, notes, agent=reader, unread=unread, asked_at=asked_at)


@given(pages())
@example(page_of(message(2, sender="me", to="all"), message(1, sender="all", to=None), agent="me"))
@example(page_of(message(1, "a\n{}", payload={"line": "\u2028m9 x"}), agent="all"))
@example(page_of(message(1, payload=[])))
def test_what_was_said_can_be_read_back(page: MessagePage) -> None:
    read, reader, back = read_messages(messages_text(page))
    assert back == tuple(map(kept, page.items))
    assert (reader, read.head["unread"]) == (page.agent, str(page.unread) if page.unread else None)
    assert (read.total, read.notes) == (page.total, page.notes)


@given(pages())
def test_no_message_can_pass_for_a_line_of_ours(page: MessagePage) -> None:
    ours = [line for line in messages_text(page).splitlines() if not line.startswith(" ")]
    headings = [line for line in ours[1:] if line.endswith(":") and not line.startswith("note:")]
    items = [line for line in ours if FORMAT.item.fullmatch(line)]
    assert FORMAT.head.fullmatch(ours[0])
    assert len(items) == len(page.items)
    assert len(ours) == 1 + len(headings) + len(items) + len(page.notes)


def test_a_message_is_its_line_its_text_and_its_payload() -> None:
    one = message(7, "a\nb", payload={"x": [1, None]}, reply_to=3, thread=1, to=None, read_at=NEW_YEAR + MINUTE)
    assert messages_text(page_of(one)).split("\n") == [
        "1 message for planner, 5 unread left, newest first, UTC times of 2026",
        "m7 from builder to all answers m3 thread m1 payload 01-01 00:00 read 00:01",
        " a",
        " b",
        ' {"x":[1,null]}',
    ]


def test_what_the_reader_sent_says_that_nobody_has_read_it() -> None:
    text = messages_text(page_of(message(7, sender="planner", to="builder")))
    assert "m7 from me to builder 01-01 00:00 not read yet" in text


def test_what_is_not_the_usual_is_said_and_the_day_of_reading_where_it_is_another() -> None:
    one = message(7, type="request", priority="high", read_at=NEW_YEAR + DAY)
    assert "m7 request high from builder to me 01-01 00:00 read 01-02 00:00" in messages_text(page_of(one))
    assert "m7 from builder to me new 01-01 00:00" in messages_text(page_of(message(7)))


def test_where_the_usual_is_another_for_most_it_is_said() -> None:
    asked = [message(number, type="request", priority="critical") for number in (9, 8, 7, 6)]
    head, *lines = messages_text(page_of(*asked, message(5))).split("\n")
    assert "; each request critical from builder to me unless noted" in head
    assert "m5 info medium new 00:00" in lines


def test_what_is_gone_within_an_hour_says_so() -> None:
    page = page_of(message(7))
    for left, told in ((60 * MINUTE, False), (60 * MINUTE - 1, True)):
        text = messages_text(replace(page, asked_at=NEW_YEAR + DAY - left))
        assert (" new gone in 59 min 01-01 " in text) == told


def test_who_read_what_the_reader_sent_and_what_answers_it() -> None:
    one = message(7, sender="planner", to=None, read_by=tuple("abcdef"), answered_by=9)
    assert " 01-01 00:00 answered by m9 read by 6 agents: a b c d e" in messages_text(page_of(one))


def test_a_reply_to_the_first_message_of_a_thread_does_not_name_it_twice() -> None:
    assert " answers m3 new 01-01" in messages_text(page_of(message(7, reply_to=3, thread=3)))


def test_the_answer_to_sending_names_the_reader_the_thread_and_what_is_not_the_usual() -> None:
    one = message(7, priority="high", reply_to=3, thread=1, notes=("nobody of that name is here yet",))
    assert sent_text(one) == "sent m7 to planner, high, answers m3, thread m1\nnote: nobody of that name is here yet"
    assert sent_text(message(8, type="request")) == "sent m8 to planner, request"


def test_the_answer_to_sending_to_everyone_cannot_be_an_agent_of_that_name() -> None:
    assert sent_text(message(to=None)).startswith("sent m1 to all")
    assert sent_text(message(to="all")).startswith('sent m1 to "all"')


def test_marking_says_what_became_of_every_id() -> None:
    marked = MarkedRead("planner", ("m1", "m2"), ("m3",), ("m9",), ("m4",), 6)
    assert marked_text(marked).split("\n") == [
        "2 marked read: m1 m2",
        "already read: m3",
        "unknown or expired: m9",
        "not planner's to read: m4",
        "6 unread left for planner",
    ]


def test_marking_nothing_says_so() -> None:
    assert marked_text(MarkedRead("a b", (), (), (), (), 0)) == '0 marked read\n0 unread left for "a b"'
