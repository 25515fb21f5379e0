"""Visibility of messages, and counts of them that stay cheap however many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.records import NamedTuple, dataclass
from satchel.base.vocabulary import HUMAN, PRIORITIES
from satchel.keep import presence
from satchel.keep.names import is_persons
from satchel.keep.presence import ALL_PERSONS, find_agent_row
from satchel.store.transaction import Transaction, set_of

if TYPE_CHECKING:
    from satchel.keep.messages.updates import Unread

# The number of a name that no agent has.
NOBODY = -1

_CRITICAL = PRIORITIES.index("critical") + 1

# The parts of an inbox: to the reader alone, to all, and to all persons if the reader is one. Each has its own index.
ARMS = (
    "m.project_id = :project AND m.to_agent_id = :me",
    "m.project_id = :project AND m.to_agent_id IS NULL AND m.from_agent_id IS DISTINCT FROM :me",
    f"m.project_id = :project AND m.to_agent_id = {ALL_PERSONS} AND m.from_agent_id IS DISTINCT FROM :me",
)

_READ = "SELECT 1 FROM message_reads r WHERE r.agent_id = :me AND r.message_id = m.id"
UNREAD = f"NOT EXISTS ({_READ})"
NOT_GONE = f"NOT EXISTS ({_READ} AND r.gone_at <= :now)"
# a plus keeps the planner from an index: from the one by expiry, which has another order, and from walking the inbox
# where the messages are named
ALIVE = "+m.expires_at > :now"
_TO_ME = (
    f"+m.to_agent_id = :me OR (+m.to_agent_id IS NULL OR +m.to_agent_id = {ALL_PERSONS}) "
    "AND +m.from_agent_id IS DISTINCT FROM :me"
)
IS_MINE = f"+m.project_id = :project AND ({_TO_ME})"
IS_MINE_OR_SENT = f"+m.project_id = :project AND ({_TO_ME} OR +m.from_agent_id = :me)"


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of messages and the time; the agent is -1 for a name that no agent has."""

    project_id: int
    agent_id: int
    now: int

    @property
    def values(self) -> dict[str, object]:
        """The parameters of every statement here."""
        return {"project": self.project_id, "me": self.agent_id, "now": self.now}


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of a reader's messages.

    Attributes:
        total: all that it can see.
        unread_own: unread ones to it alone.
        unread_all: unread ones to all, or to all persons.
    """

    total: int
    unread_own: int
    unread_all: int

    @property
    def unread(self) -> int:
        return self.unread_own + self.unread_all


def find_reader(transaction: Transaction, project_id: int, name: str, now: int) -> tuple[Reader, str]:
    """Return a reader and its name as it was first written; an agent that never acted has an inbox too.

    A person of a new name reads what all persons do.
    """
    row = find_agent_row(transaction, project_id, name)
    if row is None and is_persons(name):
        row = find_agent_row(transaction, project_id, HUMAN)
        row = None if row is None else (row[0], name)
    number, spelled = row[:2] if row else (NOBODY, name)
    return Reader(project_id, int(number), now), str(spelled)


def count(transaction: Transaction, reader: Reader) -> Counts:
    return Counts(*presence.count_messages(transaction, reader.project_id, reader.agent_id, reader.now))


def unread_by_sender(
    transaction: Transaction, reader: Reader, seen_sql: str, values: Mapping[str, object], most: int
) -> list[tuple[str | None, int, int]]:
    """Return who sent what a reader has neither read nor been shown, with how many, and how many are critical."""
    if not count(transaction, reader).unread:
        return []
    return transaction.all(
        f"""
        SELECT (SELECT name FROM agents WHERE id = sender), count(*), count(*) FILTER (WHERE priority = {_CRITICAL})
        FROM ({_newest(seen_sql, most)}) AS newest GROUP BY sender ORDER BY 2 DESC, 1 NULLS FIRST
        """,
        {**reader.values, **values},
    )


class Unseen(NamedTuple):
    """A message that its reader has neither read nor been shown; ``question`` is what it answers, if that is kept."""

    number: int
    seq: int
    sender: str | None
    text: str
    question: str | None


def newest_unseen(
    transaction: Transaction, reader: Reader, seen_sql: str, values: Mapping[str, object], most: int
) -> list[Unseen]:
    """Return what a reader has neither read nor been shown, the newest first."""
    rows = transaction.all(
        f"""
        SELECT id, seq, (SELECT name FROM agents WHERE agents.id = sender),
            message, (SELECT q.message FROM agent_messages q WHERE q.id = newest.reply_to)
        FROM ({_newest(seen_sql, most)}) AS newest
        ORDER BY created_at DESC, id DESC LIMIT {most}
        """,
        {**reader.values, **values},
    )
    return [Unseen(*row) for row in rows]


def _newest(seen_sql: str, most: int) -> str:
    columns = "m.id, m.seq, m.from_agent_id AS sender, m.priority, m.message, m.reply_to, m.created_at"
    return " UNION ALL ".join(
        f"""
        SELECT * FROM (SELECT {columns} FROM agent_messages m
        WHERE {arm} AND {ALIVE} AND {UNREAD} AND NOT {seen_sql}
        ORDER BY m.created_at DESC, m.id DESC LIMIT {most}) AS arm
        """
        for arm in ARMS
    )


def find_unread(transaction: Transaction, reader: Reader, numbers: Sequence[int] | None) -> dict[int, Unread | None]:
    """Return what a reader can see of its inbox, by number: how to mark it, or None for what it has read."""
    # a caller that only counts leaves updates alone
    from satchel.keep.messages.updates import Unread

    to_persons = "m.to_agent_id = (SELECT h.id FROM agents h WHERE h.project_id = :project AND h.folded = 'human')"
    columns = (
        f"m.id, m.to_agent_id IS DISTINCT FROM :me, m.expires_at, m.read_expires_at, {to_persons}, EXISTS ({_READ})"
    )
    if numbers is None:
        rows = transaction.all(
            " UNION ALL ".join(
                f"SELECT {columns} FROM agent_messages m WHERE {arm} AND {ALIVE} AND {UNREAD}" for arm in ARMS
            ),
            reader.values,
        )
    else:
        rows = transaction.all(
            f"SELECT {columns} FROM agent_messages m "
            f"WHERE m.id IN {set_of(numbers)} AND {IS_MINE} AND {ALIVE} AND {NOT_GONE}",
            reader.values,
        )
    return {
        number: None if is_read else Unread(number, bool(to_all), expires, read_expires, bool(to_persons))
        for number, to_all, expires, read_expires, to_persons, is_read in rows
    }


def foreign(transaction: Transaction, reader: Reader, numbers: Sequence[int]) -> set[int]:
    """Return those of the numbers that are messages of the project but not in the reader's inbox."""
    rows = transaction.all(
        f"""
        SELECT m.id FROM agent_messages m
        WHERE m.id IN {set_of(numbers)} AND m.project_id = :project AND m.expires_at > :now
            AND NOT COALESCE({_TO_ME}, FALSE)
        """,
        reader.values,
    )
    return {row[0] for row in rows}
