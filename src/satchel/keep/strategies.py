"""Strategies: approaches that worked, with counts of successes and failures."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any, Unpack

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.paging import KeptPage
from satchel.base.records import dataclass, replace
from satchel.base.text import fold
from satchel.find import documents, near
from satchel.find.kind import LIVE, SUPERSEDED, Kind
from satchel.find.likeness import MIN_WORDS, words_of
from satchel.keep import events, fields, kept, names, projects, replacing
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.fields import Checking, Codec, Field
from satchel.keep.kind import ItemKind
from satchel.keep.listing import Filter, Order
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import acting
from satchel.keep.sessions.records import Actor
from satchel.keep.texts import check_short
from satchel.store.transaction import Transaction, set_of

MAX_INSIGHT_CHARS = 500
_MAX_SIMILAR = 3

# keep the characters of C++, C# and node.js
_BETWEEN_WORDS = re.compile(r"[^\w+#.]+|_+")


@dataclass(frozen=True, slots=True)
class Strategy:
    """An approach that worked.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        topic: its subject, in lower case and hyphenated, as in ``react-native-offline``.
        insight: the advice and why it works.
        lang: the programming language in lower case; None is any.
        framework: the framework in lower case; None is any.
        helped: number of reported successes; ``not_helped``: of failures.
        agent: its author, or None.
        superseded_by: the number of its replacement; its own if retracted; None while it is live.
        last_seen: when it was saved, last tried or last briefed, in milliseconds UTC.
        created_at: milliseconds UTC.
        score: how well it matched a search, higher is better; None without one.
        notes: what the writer should know; empty when read.
    """

    id: int
    uid: str
    seq: int
    topic: str
    insight: str
    lang: str | None
    framework: str | None
    helped: int
    not_helped: int
    agent: str | None
    superseded_by: int | None
    last_seen: int
    created_at: int
    score: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return Kind.STRATEGY.ref(self.id)


def check_topic(topic: object) -> str:
    name = names.check_identifier(topic, "topic")
    words = _BETWEEN_WORDS.sub("-", fold(name)).strip("-.")
    if not any(character.isalnum() for character in words):
        raise InvalidInput(f"topic {name!r} contains no word", 'Give a topic such as "react-native-offline"')
    return words


def _notes_on_similar(
    transaction: Transaction, project_id: int, old: int | None, insight: str, topic: str
) -> tuple[str, ...]:
    words = words_of(insight)
    if len(words) >= MIN_WORDS:
        matches = near.by_search(transaction, project_id, Kind.STRATEGY, insight, _insights)
    else:  # too few for a search
        on_topic = "SELECT id, insight FROM strategies WHERE project_id = :project AND topic = :topic"
        rows = transaction.all(f"{on_topic} AND superseded_by IS NULL", {"project": project_id, "topic": topic})
        same = (near.Near(0, number, other) for number, other in rows if words_of(other) == words)
        matches = tuple(islice(same, _MAX_SIMILAR))
    topics: dict[int, str] = dict(
        transaction.all(f"SELECT id, topic FROM strategies WHERE id IN {set_of(one.item for one in matches)}")
    )
    return tuple(one.note(Kind.STRATEGY, f"{topics[one.item]}: {one.text}") for one in matches if one.item != old)


def _insights(transaction: Transaction, numbers: Sequence[int]) -> dict[int, str]:
    sql = f"SELECT id, insight FROM strategies WHERE id IN {set_of(numbers)} AND superseded_by IS NULL"
    return dict(transaction.all(sql))


_COUNT = {
    helped: f"""
    UPDATE strategies SET {column} = {column} + 1, last_seen = :now, seq = :seq
    WHERE project_id = :project AND id = :id RETURNING superseded_by
    """
    for helped, column in ((True, "helped"), (False, "not_helped"))
}


def _count_outcome(transaction: Transaction, project_id: int, number: int, now: int, *, helped: bool) -> None:
    seq = transaction.next_seq(project_id)
    values = {"now": now, "seq": seq, "project": project_id, "id": number}
    row = transaction.one(_COUNT[helped], values)
    status = LIVE if row is None or row[0] is None else SUPERSEDED
    documents.set_status(transaction, Kind.STRATEGY, [(number, seq)], status)


def _is_news(transaction: Transaction, project_id: int, number: int, actor: Actor, now: int, *, helped: bool) -> bool:
    earlier = transaction.all(
        """
        SELECT details FROM events
        WHERE project_id = :project AND kind = :kind AND item_kind = :strategy AND item_id = :id
            AND (agent_id = :agent OR session_id = :session)
        """,
        {
            "project": project_id,
            "kind": events.CONFIDENCE,
            "strategy": Kind.STRATEGY.number,
            "id": number,
            "agent": actor.number,
            "session": actor.session,
        },
    )
    if any(json.loads(details) == {"helped": helped} for (details,) in earlier):
        return False
    item = (Kind.STRATEGY, number)
    events.record(transaction, project_id, events.CONFIDENCE, now, by=actor, item=item, details={"helped": helped})
    return True


def touch(transaction: Transaction, numbers: Sequence[int], now: int) -> None:
    transaction.run(f"UPDATE strategies SET last_seen = :now WHERE id IN {set_of(numbers)}", {"now": now})


def _topic(value: Any, context: Checking, _: str) -> str:
    topic = check_topic(value)
    if topic != value.strip():
        context.notes.append(f"the topic is stored as {topic!r}")
    return topic


def _insight(value: Any, context: Checking, name: str) -> str:
    content = check_short(value, name, context.workplace.max_content_bytes, context.workplace.max_content_bytes)
    context.notes += content.notes
    if len(content.text) > MAX_INSIGHT_CHARS:
        raise InvalidInput(
            f"the insight has {len(content.text)} characters, {MAX_INSIGHT_CHARS} at most",
            "Shorten it, or keep the details in a note or package and name its id",
        )
    return content.text


STRATEGY = ItemKind(
    "an approach that worked",
    (
        fields.CREATED,
        Field("topic", Codec("a topic, in lower case", None, _topic, check=_topic), required=True),
        Field("insight", fields.short(MAX_INSIGHT_CHARS)._replace(check=_insight), required=True),
        Field("lang", fields.FOLDED),
        Field("framework", fields.FOLDED),
        Field("helped", fields.WHOLE, default=0, merge=fields.MAX),
        Field("not_helped", fields.WHOLE, default=0, merge=fields.MAX),
        fields.AUTHOR,
        fields.link_field("superseded_by", "strategies", merge=fields.SOFT, is_own=True),
        Field("last_seen", fields.TIME, required=True, merge=fields.MAX),
    ),
    documents=Kind.STRATEGY,
    rank=("superseded_by", "last_seen"),
    record=Strategy,
    statuses=("live", "superseded"),
    text=("insight",),
    words=("topic", "lang", "framework"),
    document={"agent_id": "agent_id"},
)


class StrategyFilters(ListFilters, total=False):
    """Filters for strategies.

    Keys:
        topic: only this one, normalized.
        lang: only those for this language, or for any.
        framework: only those for this framework, or for any.
        author: only those of this agent.
        status: live, superseded or all.
    """

    topic: str | None
    lang: str | None
    framework: str | None
    author: str | None
    status: str


def _folded_check(field: str) -> filters.Check:
    return lambda value, _: fold(names.check_identifier(value, field))


LISTING = kept.listing(
    STRATEGY,
    (
        Filter(
            "topic",
            lambda value, _: check_topic(value),
            lambda view, topic: view.where("i.topic = {}", topic),
            known_sql="SELECT DISTINCT topic FROM strategies WHERE project_id = :project",
        ),
        filters.compared("lang", "(i.lang = {} OR i.lang IS NULL)", _folded_check("lang")),
        filters.compared("framework", "(i.framework = {} OR i.framework IS NULL)", _folded_check("framework")),
        filters.author("i.agent_id"),
        filters.liveness("i.superseded_by"),
    ),
    Order("most helpful", "i.helped - i.not_helped DESC, i.created_at DESC, i.id DESC"),
)


class Strategies(Service):
    """Approaches that worked."""

    def save(
        self,
        topic: str,
        insight: str,
        *,
        lang: str | None = None,
        framework: str | None = None,
        supersedes: str | int | None = None,
        agent: str | None = None,
    ) -> Strategy:
        """Save one strategy; it is durable when this returns.

        Args:
            topic: its subject; stored in lower case, with words joined by hyphens.
            insight: the advice and why it works, at most 500 characters; a longer one is refused.
            lang: the programming language, stored in lower case; None is any.
            framework: the framework, the same way.
            supersedes: the short id of the strategy it replaces, such as ``s7``.
            agent: the author; None takes the default, which may be nobody.

        Returns:
            The strategy; ``notes`` tell the normalized topic, what was cleaned or redacted, and similar
            strategies.

        Raises:
            InvalidInput, TooLarge: something is not acceptable; nothing was written.
            NotFound, Conflict, Refused: what it would replace does not exist, was replaced or retracted, or only a
                person may replace it.
        """
        work = self._workplace
        new = kept.check(STRATEGY, work, topic=topic, insight=insight, lang=lang, framework=framework)
        return kept.add(
            STRATEGY,
            work,
            new,
            agent=agent,
            supersedes=supersedes,
            similar=partial(_notes_on_similar, insight=new.values["insight"], topic=new.values["topic"]),
            end=lambda by, old, heir: replacing.mark(by.transaction, by.project_id, Kind.STRATEGY, [old], heir),
        )

    def find(self, **filters: Unpack[StrategyFilters]) -> KeptPage[Strategy]:
        """List strategies by successes minus failures, best first.

        Returns:
            The page with its total. An unknown topic or agent gives an empty page with a note.

        Raises:
            InvalidInput: a filter is empty or out of range.
        """
        # imported here: writers do not need lists
        from satchel.keep import lists

        return lists.find(self._workplace, LISTING, KeptPage, filters)

    def outcome(self, ref: str | int, helped: bool, *, agent: str | None = None) -> Strategy:
        """Record whether a strategy helped.

        The same verdict of an agent, or of its session, counts once in 90 days, and an author's own praise never.

        Args:
            ref: its short id, such as ``s7``.
            helped: whether it did.
            agent: the agent that tried it; None takes the default, which may be nobody, whose verdicts all count.

        Returns:
            The strategy; it counts as seen now. ``notes`` tell if the verdict did not count.

        Raises:
            NotFound: the project has no such strategy.
            InvalidInput: the id is invalid, or ``helped`` is not a boolean.
        """
        work = self._workplace
        number = Kind.STRATEGY.number_of(ref)
        if not isinstance(helped, bool):
            raise InvalidInput(f"helped {helped!r} is neither true nor false", "Give true or false")
        agent = names.check_agent(work, agent)
        with work.engine.write() as transaction:
            now = work.clock()
            project = projects.find(transaction, work)
            before = kept.load(STRATEGY, transaction, project.id, number) if project.id else None
            if before is None:
                raise NotFound(
                    f"there is no strategy {Kind.STRATEGY.ref(number)} in this project",
                    "Listing strategies shows their ids",
                )
            actor = acting(transaction, work, project.id, agent, now)
            if helped and actor.name is not None and before.agent == actor.name:
                return replace(before, notes=(f"{actor.name} wrote {before.ref}: only another agent's word counts",))
            if actor.number is not None and not _is_news(transaction, project.id, number, actor, now, helped=helped):
                verdict = "helped" if helped else "did not help"
                note = f"{actor.name or 'this session'} already reported that {before.ref} {verdict}: that counts once"
                return replace(before, notes=(note,))
            _count_outcome(transaction, project.id, number, now, helped=helped)
            counted = kept.load(STRATEGY, transaction, project.id, number)
        assert counted is not None
        return counted
