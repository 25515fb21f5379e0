"""Writes of strategies and of their search documents."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.base.text import fold
from satchel.find import documents, likeness, near
from satchel.find.documents import Document
from satchel.find.kind import LIVE, SUPERSEDED, Kind
from satchel.keep import names, replacing
from satchel.keep.corrections import log
from satchel.keep.projects import Workplace
from satchel.keep.strategies.records import COLUMNS, MAX_INSIGHT_CHARS, SOURCE, Strategy, strategy_of
from satchel.keep.texts import check_short
from satchel.store.transaction import Transaction, set_of

_MAX_SIMILAR = 3

# keep the characters of C++, C# and node.js
_BETWEEN_WORDS = re.compile(r"[^\w+#.]+|_+")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked strategy, ready to be stored."""

    topic: str
    insight: str
    lang: str | None
    framework: str | None
    notes: tuple[str, ...]


def prepare(topic: object, insight: object, lang: object, framework: object, workplace: Workplace) -> Prepared:
    """Check a strategy and make its texts storable."""
    name = check_topic(topic)
    stored = check_short(insight, "insight", MAX_INSIGHT_CHARS, workplace.max_content_bytes)
    notes = () if isinstance(topic, str) and topic.strip() == name else (f"the topic is stored as {name!r}",)
    return Prepared(
        topic=name,
        insight=stored.text,
        lang=check_folded(lang, "lang"),
        framework=check_folded(framework, "framework"),
        notes=(*notes, *stored.notes),
    )


def check_topic(topic: object) -> str:
    """Return a topic in lower case, its words joined by hyphens."""
    name = names.check_identifier(topic, "topic")
    words = _BETWEEN_WORDS.sub("-", fold(name)).strip("-.")
    if not any(character.isalnum() for character in words):
        raise InvalidInput(f"topic {name!r} contains no word", 'Give a topic such as "react-native-offline"')
    return words


def check_folded(value: object, field: str) -> str | None:
    """Return a name in lower case, or None; a name with a secret is refused."""
    return None if value is None else fold(names.check_identifier(value, field))


def insert(
    transaction: Transaction,
    project_id: int,
    agent: int | None,
    new: Prepared,
    now: int,
) -> int:
    """Insert a strategy with its bands and document."""
    seq = transaction.next_seq(project_id, documents=1)
    number = transaction.add(
        "strategies",
        {
            "uid": os.urandom(16),
            "seq": seq,
            "project_id": project_id,
            "topic": new.topic,
            "insight": new.insight,
            "lang": new.lang,
            "framework": new.framework,
            "agent_id": agent,
            "last_seen": now,
            "created_at": now,
        },
    )
    likeness.remember(transaction, project_id, Kind.STRATEGY, number, bands_of(project_id, new.insight).recorded)
    text = _searchable(new.topic, new.insight, new.lang, new.framework)
    document = Document(Kind.STRATEGY, number, seq, project_id, None, text, now, agent_id=agent)
    documents.add(transaction, document)
    return number


def enter(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Record the bands of strategies after their rows were written."""
    for number, insight in _of_numbers(transaction, numbers):
        likeness.remember(transaction, project_id, Kind.STRATEGY, number, bands_of(project_id, insight).recorded)


def withdraw(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Remove the bands of strategies before their rows change."""
    for number, insight in _of_numbers(transaction, numbers):
        likeness.forget(transaction, project_id, Kind.STRATEGY, number, bands_of(project_id, insight).recorded)


def _of_numbers(transaction: Transaction, numbers: Sequence[int]) -> list[tuple[int, str]]:
    rows = transaction.all(f"SELECT id, insight FROM strategies WHERE id IN {set_of(numbers)}")
    return [(row[0], row[1]) for row in rows]


def bands_of(project_id: int, insight: str) -> likeness.Bands:
    """Return the bands of a short insight, which is compared like a key; longer ones are found by a search."""
    words = likeness.words_of(insight)
    return likeness.key_bands(project_id, words) if len(words) < likeness.MIN_WORDS else likeness.NO_BANDS


def notes_on_similar(
    transaction: Transaction, project_id: int, insight: str, old: int | None = None
) -> tuple[str, ...]:
    """Return notes on strategies similar to a new one, except the one it replaces, best first."""
    words = likeness.words_of(insight)
    if len(words) >= likeness.MIN_WORDS:
        matches = near.by_search(transaction, project_id, Kind.STRATEGY, insight, _insights)
    else:
        numbers = likeness.candidates(transaction, project_id, Kind.STRATEGY, bands_of(project_id, insight))
        alike = (
            near.Near(100 - likeness.key_likeness(words, likeness.words_of(other)), number, other)
            for number, other in (_insights(transaction, numbers) if numbers else {}).items()
        )
        matches = tuple(sorted(one for one in alike if one.distance <= 100 - likeness.THRESHOLD)[:_MAX_SIMILAR])
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


def count_outcome(transaction: Transaction, project_id: int, number: int, now: int, *, helped: bool) -> bool:
    """Count a strategy's success or failure in one statement."""
    seq = transaction.next_seq(project_id)
    values = {"now": now, "seq": seq, "project": project_id, "id": number}
    row = transaction.one(_COUNT[helped], values)
    if row is None:
        return False
    status = LIVE if row[0] is None else SUPERSEDED
    documents.set_status(transaction, Kind.STRATEGY, [(number, seq)], status)
    return True


def load(transaction: Transaction, project_id: int, number: int, *, notes: tuple[str, ...] = ()) -> Strategy | None:
    """Return a strategy, or None."""
    row = transaction.one(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE t.project_id = :project AND t.id = :id",
        {"project": project_id, "id": number},
    )
    return None if row is None else strategy_of(row, notes=notes)


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Delete strategies with their bands and documents; those they replaced become replaced by their replacement, or
    live again.
    """
    for number in numbers:
        replacing.hand_on(transaction, project_id, Kind.STRATEGY, number)
    rows = transaction.all(
        f"SELECT id, insight FROM strategies WHERE project_id = :project AND id IN {set_of(numbers)}",
        {"project": project_id},
    )
    for number, insight in rows:
        likeness.forget(transaction, project_id, Kind.STRATEGY, number, bands_of(project_id, insight).recorded)
    transaction.many(
        "DELETE FROM strategies WHERE project_id = :project AND id = :id",
        [{"project": project_id, "id": number} for number, _ in rows],
    )
    documents.remove(transaction, Kind.STRATEGY, [number for number, _ in rows])
    log.forget(transaction, Kind.STRATEGY, [number for number, _ in rows])


def _searchable(topic: str, insight: str, lang: str | None, framework: str | None) -> str:
    return "\n".join((insight, " ".join((topic, *filter(None, (lang, framework))))))


DOCUMENTS = documents.Source(
    Kind.STRATEGY,
    "topic, insight, lang, framework",
    _searchable,
    agent_id="agent_id",
    status=documents.STATUS_BY_HEIR,
)
