"""Any sequence of sending, reading, marking and waiting, beside a model in plain Python."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agents_here import register
from satchel import MarkedRead, Message, Satchel, open_satchel
from satchel.base.vocabulary import PRIORITIES
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.messages.visibility import Reader, unread_by_sender
from state_machines import short_and_long

HOUR = 3_600_000
READ_MS, UNREAD_MS = 24 * HOUR, 168 * HOUR
AGENTS = ("Ann", "Bob", "Cid")
AGENT = st.sampled_from(AGENTS)
ANY_CASE = st.sampled_from(["Ann", "Bob", "Cid", "ANN", "bOb"])


@dataclass
class Kept:
    """What the model knows of one message."""

    id: int
    seq: int
    sender: str
    to: str | None
    type: str
    priority: str
    word: str
    payload: object
    reply_to: int | None
    thread: int
    created: int
    expires: int
    reads: dict[str, int] = field(default_factory=dict)

    def gone_at(self, agent: str) -> int:
        return max(self.created + READ_MS, self.reads[agent])

    def is_alive(self, now: int) -> bool:
        return now < self.expires

    def is_for(self, agent: str) -> bool:
        return self.to == agent or (self.to is None and self.sender != agent)

    def is_visible(self, agent: str, now: int, *, with_sent: bool = False) -> bool:
        is_place = self.is_for(agent) or (with_sent and self.sender == agent)
        return is_place and self.is_alive(now) and not (agent in self.reads and self.gone_at(agent) <= now)


class Post(RuleBasedStateMachine):
    """The messages of three agents under a clock that may stand still or jump past what expires."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / ".git").mkdir()
        self.now = 1_795_000_000_000
        self.satchel: Satchel = open_satchel(
            cwd=self.folder.name, environ={}, clock=lambda: self.now, settings={"store.durability": "relaxed"}
        )
        self.numbers = {name: register(self.satchel, name).id for name in AGENTS}
        self.model: dict[int, Kept] = {}

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.folder.cleanup()

    def alive(self) -> list[Kept]:
        return [kept for kept in self.model.values() if kept.is_alive(self.now)]

    @rule(milliseconds=st.sampled_from([0, 1, HOUR, READ_MS - 1, READ_MS, 3 * READ_MS, UNREAD_MS]))
    def time_passes(self, milliseconds: int) -> None:
        self.now += milliseconds

    @rule(
        agent=ANY_CASE,
        to=st.none() | ANY_CASE,
        kind=st.sampled_from(MESSAGE_TYPES),
        priority=st.sampled_from(PRIORITIES),
        payload=st.sampled_from([None, {"a": [1]}, "text", False]),
    )
    def send(self, agent: str, to: str | None, kind: str, priority: str, payload: object) -> None:
        self.sent(agent, to, kind, priority, payload, None)

    @precondition(lambda self: self.alive())
    @rule(agent=AGENT, to=st.none() | AGENT | st.just("all"), place=st.integers(0, 9))
    def reply(self, agent: str, to: str | None, place: int) -> None:
        alive = self.alive()
        self.sent(agent, to, "info", "medium", None, alive[place % len(alive)])

    def sent(
        self, agent: str, to: str | None, kind: str, priority: str, payload: object, answered: Kept | None
    ) -> None:
        word = "zz" + "".join("bcdfghjklm"[int(digit)] for digit in f"{len(self.model):04}")
        message = self.satchel.messages.send(
            f"note {word}",
            to=to,
            type=kind,
            priority=priority,
            payload=payload,
            reply_to=None if answered is None else answered.id,
            agent=agent,
        )
        sender = agent.capitalize()
        if answered is not None and answered.is_visible(sender, self.now) and sender not in answered.reads:
            self.reads(answered, sender)
        if to is None and answered is not None:
            to = answered.to if answered.sender == sender else answered.sender
        kept = Kept(
            message.id,
            message.seq,
            sender,
            None if to in {None, "all"} else str(to).capitalize(),
            kind,
            priority,
            word,
            payload,
            None if answered is None else answered.id,
            message.id if answered is None else answered.thread,
            self.now,
            self.now + UNREAD_MS,
        )
        self.model[message.id] = kept
        self.agrees(message, kept, kept.sender)

    def agrees(self, message: Message, kept: Kept, reader: str) -> None:
        answered = None if kept.reply_to is None else self.model[kept.reply_to]
        assert (message.sender, message.to, message.type, message.priority) == (
            kept.sender,
            kept.to,
            kept.type,
            kept.priority,
        )
        assert (message.id, message.seq, message.message, message.payload) == (
            kept.id,
            kept.seq,
            f"note {kept.word}",
            kept.payload,
        )
        assert message.reply_to == (kept.reply_to if answered and answered.is_alive(self.now) else None)
        assert (message.thread, message.created_at, message.expires_at) == (kept.thread, kept.created, kept.expires)
        assert message.read_at == kept.reads.get(reader)
        answers = [other.id for other in self.alive() if other.reply_to == kept.id and other.sender != kept.sender]
        assert message.answered_by == max(answers, default=None)
        assert message.read_by == (tuple(sorted(kept.reads)) if reader == kept.sender else ())

    @rule(agent=AGENT, places=st.lists(st.integers(1, 12), min_size=1, max_size=5))
    def mark(self, agent: str, places: list[int]) -> None:
        expected: dict[str, list[str]] = {"marked": [], "already": [], "unknown": [], "foreign": []}
        for number in dict.fromkeys(places):
            kept = self.model.get(number)
            if kept is None or not kept.is_alive(self.now):
                outcome = "unknown"
            elif not kept.is_for(agent):
                outcome = "foreign"
            elif not kept.is_visible(agent, self.now):
                outcome = "unknown"
            else:
                outcome = "already" if agent in kept.reads else "marked"
            expected[outcome].append(f"m{number}")
            if outcome == "marked":
                assert kept is not None
                self.reads(kept, agent)
        done = self.satchel.messages.mark_read(places, agent=agent)
        assert done == MarkedRead(
            agent,
            tuple(expected["marked"]),
            tuple(expected["already"]),
            tuple(expected["unknown"]),
            tuple(expected["foreign"]),
            self.unread(agent),
        )

    @rule(agent=AGENT)
    def mark_everything(self, agent: str) -> None:
        unread = [kept for kept in self.inbox_of(agent) if agent not in kept.reads]
        for kept in unread:
            self.reads(kept, agent)
        done = self.satchel.messages.mark_read(everything=True, agent=agent)
        assert done.marked == tuple(f"m{kept.id}" for kept in sorted(unread, key=lambda kept: kept.id))
        assert done.unread == 0

    def reads(self, kept: Kept, agent: str) -> None:
        kept.reads[agent] = self.now
        if kept.to is not None:
            kept.expires = min(kept.expires, kept.gone_at(agent))

    def inbox_of(self, agent: str) -> list[Kept]:
        return [kept for kept in self.model.values() if kept.is_visible(agent, self.now)]

    def unread(self, agent: str) -> int:
        return sum(agent not in kept.reads for kept in self.inbox_of(agent))

    @rule(
        agent=AGENT,
        unread=st.booleans(),
        types=st.none() | st.lists(st.sampled_from(MESSAGE_TYPES), min_size=1, max_size=3),
        priority=st.none() | st.sampled_from(PRIORITIES),
        sender=st.none() | AGENT,
        thread=st.none() | st.integers(1, 8),
        since=st.none() | st.sampled_from([0, HOUR, READ_MS]),
        searching=st.booleans(),
        order=st.sampled_from(["asc", "desc"]),
        limit=st.integers(0, 4),
        offset=st.integers(0, 3),
    )
    def read(
        self,
        agent: str,
        unread: bool,
        types: list[str] | None,
        priority: str | None,
        sender: str | None,
        thread: int | None,
        since: int | None,
        searching: bool,
        order: str,
        limit: int,
        offset: int,
    ) -> None:
        page = self.satchel.messages.inbox(
            agent=agent,
            unread=unread,
            types=types,
            priority=priority,
            sender=sender,
            thread=thread,
            since=None if since is None else self.now - since,
            query="note" if searching else None,
            order=order,
            limit=limit,
            offset=offset,
        )
        named = self.thread_of(thread)
        expected = [
            kept
            for kept in self.model.values()
            if kept.is_visible(agent, self.now, with_sent=(thread is not None or sender == agent) and not unread)
            and (thread is None or kept.thread == named)
            and not (unread and agent in kept.reads)
            and (types is None or kept.type in types)
            and (priority is None or PRIORITIES.index(kept.priority) >= PRIORITIES.index(priority))
            and sender in {None, kept.sender}
            and (since is None or kept.created >= self.now - since)
        ]
        expected.sort(key=lambda kept: (kept.created, kept.id), reverse=order == "desc")
        assert page.total == len(expected)
        assert [message.id for message in page] == [kept.id for kept in expected[offset : offset + limit]]
        for message in page:
            self.agrees(message, self.model[message.id], agent)

    def thread_of(self, number: int | None) -> int | None:
        """The thread that any living message of it names, and also the one that began it, though it be gone."""
        threads = {kept.thread for kept in self.alive() if number in {kept.id, kept.thread}}
        return threads.pop() if threads else None

    @rule(agent=AGENT, limit=st.integers(1, 3))
    def follow(self, agent: str, limit: int) -> None:
        cursor, seen = 0, []
        while page := self.satchel.messages.inbox(agent=agent, after_seq=cursor, limit=limit):
            seen += [message.id for message in page]
            cursor = page.cursor
        assert seen == sorted(kept.id for kept in self.inbox_of(agent))

    @rule(newest=st.integers(0, 3))
    def search_everything_for_one_word(self, newest: int) -> None:
        for kept in sorted(self.model.values(), key=lambda kept: -kept.id)[newest : newest + 1]:
            found = self.satchel.finding.search(kept.word).results
            assert [result.ref for result in found] == ([f"m{kept.id}"] if kept.is_alive(self.now) else [])

    @invariant()
    def totals_and_unread_counts_agree(self) -> None:
        if not hasattr(self, "satchel"):
            return
        for agent in AGENTS:
            page = self.satchel.messages.inbox(agent=agent, limit=0)
            assert (page.total, page.unread) == (len(self.inbox_of(agent)), self.unread(agent))
            with self.satchel.workplace.engine.read() as transaction:
                reader = Reader(1, self.numbers[agent], self.now)
                told = unread_by_sender(transaction, reader, "FALSE", {}, 1_000)
            unread = [kept for kept in self.inbox_of(agent) if agent not in kept.reads]
            senders = {kept.sender for kept in unread}
            assert {sender: (count, critical) for sender, count, critical in told} == {
                sender: (
                    sum(kept.sender == sender for kept in unread),
                    sum(kept.sender == sender and kept.priority == "critical" for kept in unread),
                )
                for sender in senders
            }

    @invariant()
    def the_index_the_documents_and_the_messages_agree(self) -> None:
        if hasattr(self, "satchel"):
            checks = {check.name: check for check in self.satchel.housekeeping.doctor()}
            assert checks["index"].status == "ok", checks["index"].detail


TestPost, TestLongPost = short_and_long(Post, examples=10, steps=40)
