"""What items were worth: which helped, which never did, which are stale, and which are seen often."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from satchel.base.clock import DAY_MS, iso
from satchel.base.grouping import grouped
from satchel.base.records import NamedTuple
from satchel.base.text import shortened
from satchel.brief.room.looking import LINE_CHARS
from satchel.brief.room.memory_records import Worth, Worths
from satchel.find.kind import Kind
from satchel.keep import kept
from satchel.keep.corrections.log import CONFIRMED
from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD
from satchel.keep.files.records import CHANGES
from satchel.keep.housekeeping.usefulness import FIRST_DAYS, OFTEN
from satchel.keep.kinds import KIND_OF, KINDS
from satchel.keep.patterns.records import SOLUTION_LETTER
from satchel.store.transaction import Transaction, set_of

MOST_SHOWN = 20
_MOST_NAMED = 5
_WINDOWS, _DELIVERIES, _PADS = 300, 4_000, 1_000
"""So many windows, deliveries, and scratchpads and verdicts each, are looked at, the newest: in 7 ms."""

_COUNTED = 10_000
"""So many of a sort that helped are counted."""

_EDITS, _FILES, _NOTES = 2_000, 400, 2_000

_KINDS = (Kind.ENTRY, Kind.DECISION, Kind.CONSTRAINT, Kind.STRATEGY, Kind.ERROR_PATTERN, Kind.PACKAGE)
_NUMBERS = frozenset(kind.number for kind in _KINDS)

Item = tuple[int, int]
"""The numbers of a kind and of an item."""


class Use(NamedTuple):
    """What became of an item in the windows that were looked at.

    Attributes:
        delivered: to how many of them.
        succeeded: in how many of those the work was done, or passed a review, within a day.
        first_at, last_at: when it was delivered, in milliseconds UTC.
    """

    delivered: int
    succeeded: int
    first_at: int
    last_at: int


class Uses(NamedTuple):
    """What became of the items of the newest windows.

    Attributes:
        rests_on: which were looked at, in a sentence.
    """

    items: Mapping[Item, Use]
    rests_on: str


def uses(transaction: Transaction, project_id: int) -> Uses:
    """Return how often items were delivered, and followed by success, in the newest windows."""
    windows = transaction.all(
        "SELECT id, session_id, agent_id, seen_at FROM windows WHERE project_id = :project "
        f"ORDER BY id DESC LIMIT {_WINDOWS}",
        {"project": project_id},
    )
    if not windows:
        return Uses({}, "Nothing was delivered yet")
    done = _successes(transaction, project_id, min(row[3] for row in windows))
    good = [
        number
        for number, session, agent, seen in windows
        if any(abs(at - seen) <= DAY_MS for at in done.get((session, 0 if session else agent), ()))
    ]
    rows = transaction.all(
        f"""
        SELECT kind, item_id, count(*),
            sum(CASE WHEN window_id IN {set_of(good)} THEN 1 ELSE 0 END), min(created_at), max(created_at)
        FROM (
            SELECT window_id, kind, item_id, created_at FROM deliveries
            WHERE window_id IN {set_of(row[0] for row in windows)} AND kind > 0 ORDER BY window_id DESC
            LIMIT {_DELIVERIES}
        ) AS newest GROUP BY 1, 2
        """
    )
    found = {(kind, item): Use(*use) for kind, item, *use in rows}
    began = iso(min((use.first_at for use in found.values()), default=0))[:10]
    many = len(windows)
    return Uses(found, f"The newest {many:,} windows, since {began}" if many > 1 else f"One window, of {began}")


def _says(content: str, field: str) -> bool:
    """Whether an entry that holds an object of JSON says that something is so."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):  # a row written by other means
        return False
    return isinstance(said, dict) and said.get(field) is True


def _successes(transaction: Transaction, project_id: int, since: int) -> dict[tuple[int, int], list[int]]:
    """Return when sessions, and agents without one, were done or passed a review, by the numbers of both, one 0."""
    found: dict[tuple[int, int], list[int]] = {}
    for kind, field in ((SCRATCHPAD, "done"), (REVIEW_VERDICT, "passed")):
        rows = transaction.all(
            f"""
            SELECT session_id, agent_id, created_at, content FROM (
                SELECT session_id, agent_id, created_at, content FROM context
                WHERE project_id = :project AND type = {kind} AND created_at >= :since
                ORDER BY created_at DESC, id DESC LIMIT {_PADS}
            ) AS newest WHERE content LIKE '%"{field}"%true%'
            """,
            {"project": project_id, "since": since - DAY_MS},
        )
        for session, agent, at, content in rows:
            if not _says(content, field):
                continue
            found.setdefault((session or 0, 0 if session else agent or 0), []).append(at)
    return found


def helped(transaction: Transaction, project_id: int, looked: Uses) -> Worths:
    """Return what agents confirmed, reported as helping, or had before they succeeded."""
    values: dict[str, object] = {"project": project_id}
    is_confirmed = f"project_id = :project AND action = {CONFIRMED} AND undone_at IS NULL"
    has_helped = "project_id = :project AND confirmed > 0"
    is_helpful = "project_id = :project AND superseded_by IS NULL AND helped > 0 AND helped - not_helped >= 0"
    confirmed = transaction.all(
        f"""
        SELECT item_kind, item_id, count(*) FROM corrections WHERE {is_confirmed}
        GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 DESC LIMIT {MOST_SHOWN}
        """,
        values,
    )
    ranked: list[tuple[int, Item, str]] = [
        (times, (kind, item), f"confirmed by {_times(times, 'agent')}") for kind, item, times in confirmed
    ]
    solutions = transaction.all(
        f"""
        SELECT id, pattern_id, confirmed, failed, confidence FROM error_solutions
        WHERE {has_helped} ORDER BY confirmed DESC, id DESC LIMIT {MOST_SHOWN}
        """,
        values,
    )
    for number, pattern, times, failed, confidence in solutions:
        said = f"its fix {SOLUTION_LETTER}{number} helped {_times(times)}{_not(failed)}, confidence {confidence} of 10"
        ranked.append((times, (Kind.ERROR_PATTERN.number, pattern), said))
    strategies = transaction.all(
        f"""
        SELECT id, helped, not_helped FROM strategies WHERE {is_helpful}
        ORDER BY helped - not_helped DESC, last_seen DESC, id DESC LIMIT {MOST_SHOWN}
        """,
        values,
    )
    for number, times, failed in strategies:
        ranked.append((times, (Kind.STRATEGY.number, number), f"helped {_times(times)}{_not(failed)}"))
    ranked.sort(key=lambda one: -one[0])
    facts = grouped((item, said) for _, item, said in ranked)
    succeeded = [item for item, use in looked.items.items() if use.succeeded and _counts(item)]
    proven = _proven(transaction, succeeded)
    succeeded = sorted(set(succeeded) - proven, key=lambda item: (-looked.items[item].succeeded, item))
    for item in succeeded[: max(0, MOST_SHOWN - len(facts))]:
        facts[item] = []
    for item, known in facts.items():
        use = looked.items.get(item)
        if use is not None and use.succeeded:
            windows = f"{_times(use.delivered, 'window')} that got it"
            known.append(f"in {use.succeeded} of {windows} the work was done within a day")
    counted = transaction.one(
        f"""
        SELECT (SELECT count(*) FROM (
                SELECT DISTINCT item_kind, item_id FROM corrections WHERE {is_confirmed} LIMIT {_COUNTED}) AS confirmed)
            + (SELECT count(*) FROM (SELECT 1 FROM error_solutions WHERE {has_helped} LIMIT {_COUNTED}) AS helped)
            + (SELECT count(*) FROM (SELECT 1 FROM strategies WHERE {is_helpful} LIMIT {_COUNTED}) AS helpful)
        """,
        values,
    )
    total = (counted[0] if counted else 0) + len(succeeded)
    rests_on = f"What agents confirmed and reported as helping. {looked.rests_on}"
    return _worths(transaction, facts, total, rests_on)


def unused(transaction: Transaction, looked: Uses, now: int) -> Worths:
    """Return what was delivered again and again since a week, and never confirmed, met again, or followed by success.

    Rules are left out: keeping to one leaves no trace.
    """
    often = {
        item: use
        for item, use in looked.items.items()
        if use.delivered >= OFTEN
        and not use.succeeded
        and now - use.first_at >= FIRST_DAYS * DAY_MS
        and item[0] != Kind.CONSTRAINT.number
    }
    found = _live(transaction, filter(_counts, often)) - _proven(transaction, often)
    ordered = sorted(found, key=lambda item: (-often[item].delivered, often[item].first_at, item))
    facts = {item: [_delivered(often[item], now)] for item in ordered[:MOST_SHOWN]}
    rests_on = (
        f"{looked.rests_on}: delivered {OFTEN} times or more, first {FIRST_DAYS} days ago or earlier, and nobody "
        "confirmed it, met it again or was done within a day. Rules are left out. Whether an agent made use of it "
        "without a word is not recorded"
    )
    return _worths(transaction, facts, len(ordered), rests_on)


def delivered(transaction: Transaction, looked: Uses, now: int) -> Worths:
    """Return what was delivered most often."""
    items = [(-use.delivered, item) for item, use in looked.items.items() if _counts(item)]
    facts = {item: [_delivered(looked.items[item], now)] for _, item in sorted(items)[:MOST_SHOWN]}
    return _worths(transaction, facts, len(items), looked.rests_on)


def sighted(transaction: Transaction, project_id: int) -> Worths:
    """Return the notes that were written more than once, with by whom."""
    where = "project_id = :project AND seen IS NOT NULL"
    rows = transaction.all(
        f"SELECT id, seen FROM context WHERE {where} AND superseded_by IS NULL "
        f"ORDER BY seen DESC, id DESC LIMIT {MOST_SHOWN}",
        {"project": project_id},
    )
    these = set_of(number for number, _ in rows)
    names: dict[int, list[str]] = grouped(
        transaction.all(
            f"""
            SELECT c.id, a.name FROM context c JOIN agents a ON a.id = c.agent_id WHERE c.id IN {these}
            UNION ALL
            SELECT s.entry_id, a.name FROM sightings s JOIN agents a ON a.id = s.agent_id WHERE s.entry_id IN {these}
            """
        )
    )
    facts = {}
    for number, times in rows:
        by = list(dict.fromkeys(names.get(number, ())))
        more = f" and {len(by) - _MOST_NAMED} more" if len(by) > _MOST_NAMED else ""
        who = f", by {', '.join(by[:_MOST_NAMED])}{more}" if by else ""
        facts[Kind.ENTRY.number, number] = [f"seen {_times(times)}{who}"]
    counted = transaction.one(f"SELECT count(*) FROM context WHERE {where}", {"project": project_id})
    total = max(len(rows), counted[0]) if counted and len(rows) == MOST_SHOWN else len(rows)
    return _worths(transaction, facts, total, "Notes that say the same of the same place are kept as one, and counted")


def stale(transaction: Transaction, project_id: int, now: int) -> Worths:
    """Return the notes on files that were edited, or deleted, after they were written, as far as that is recorded."""
    edits = transaction.all(
        f"""
        SELECT f.path, e.change, e.created_at, a.name FROM (
            SELECT file_id, change, created_at, agent_id FROM file_changes
            WHERE project_id = :project AND expires_at > :now ORDER BY created_at DESC, id DESC LIMIT {_EDITS}
        ) e JOIN files f ON f.id = e.file_id LEFT JOIN agents a ON a.id = e.agent_id ORDER BY e.created_at DESC
        """,
        {"project": project_id, "now": now},
    )
    last: dict[str, tuple[int, int, str | None]] = {}
    for path, change, at, agent in edits:
        if path in last or len(last) < _FILES:
            last.setdefault(path, (change, at, agent))
    bound = {f"f{place}": path for place, path in enumerate(last)}
    rows = transaction.all(
        f"""
        SELECT c.id, c.file, c.created_at FROM context c
        WHERE c.project_id = :project AND c.file IN (:{", :".join(bound)}) AND c.superseded_by IS NULL
        LIMIT {_NOTES}
        """,
        {"project": project_id, **bound},
    ) if bound else []  # fmt: skip
    found = [(number, last[file]) for number, file, at in rows if last[file][1] > at]
    found.sort(key=lambda one: (one[1][0] != CHANGES.index("deleted") + 1, -one[1][1], -one[0]))
    facts = {}
    for number, (change, at, agent) in found[:MOST_SHOWN]:
        by = f" by {agent}" if agent else ""
        facts[Kind.ENTRY.number, number] = [f"its file was {CHANGES[change - 1]}{by} on {iso(at)[:10]}, after it"]
    since = f", since {iso(edits[-1][2])[:10]}" if edits else ""
    rests_on = (
        f"The last {len(edits):,} edits that are recorded{since}. The files themselves are not read here: a briefing "
        "compares the lines that a note cites"
    )
    return _worths(transaction, facts, len(found), rests_on)


def _counts(item: Item) -> bool:
    return item[0] in _NUMBERS


def _live(transaction: Transaction, items: Iterable[Item]) -> set[Item]:
    """Return those of some items that hold."""
    return _among(
        transaction, items, "SELECT item_id FROM documents WHERE kind = {kind} AND item_id IN {items} AND status = 1"
    )


_CONFIRMED = f"""
    SELECT item_id FROM corrections
    WHERE item_kind = {{kind}} AND item_id IN {{items}} AND action = {CONFIRMED} AND undone_at IS NULL
"""
_PROVEN_BY = {
    Kind.ENTRY: "SELECT id FROM context WHERE id IN {items} AND seen IS NOT NULL",
    Kind.STRATEGY: "SELECT id FROM strategies WHERE id IN {items} AND helped > 0",
    Kind.ERROR_PATTERN: "SELECT pattern_id FROM error_solutions WHERE pattern_id IN {items} AND confirmed > 0",
}


def _proven(transaction: Transaction, items: Collection[Item]) -> set[Item]:
    """Return those of some items that somebody confirmed, reported as helping, or met again."""
    found = _among(transaction, items, _CONFIRMED)
    for kind, statement in _PROVEN_BY.items():
        found |= _among(transaction, (item for item in items if item[0] == kind.number), statement)
    return found


def _among(transaction: Transaction, items: Iterable[Item], statement: str) -> set[Item]:
    """Return those of some items whose numbers a statement yields, asked for each kind."""
    return {
        (kind, number)
        for kind, numbers in grouped(items).items()
        for (number,) in transaction.all(statement.format(kind=kind, items=set_of(numbers)))
    }


def _worths(transaction: Transaction, facts: Mapping[Item, Sequence[str]], total: int, rests_on: str) -> Worths:
    """Return items with their texts; those that are gone are left out."""
    wanted = list(facts)[:MOST_SHOWN]
    texts: dict[Item, str] = {}
    for kind in _KINDS:
        numbers = [number for of_kind, number in wanted if of_kind == kind.number]
        if numbers:
            found = kept.shown_texts(KINDS[kind], transaction, numbers)
            texts |= {(kind.number, number): text for number, text in found.items()}
    items = tuple(
        Worth(KIND_OF[item[0]].ref(item[1]), KINDS[KIND_OF[item[0]]].name, shortened(texts[item], LINE_CHARS),
              tuple(facts[item]))
        for item in wanted
        if item in texts
    )  # fmt: skip
    return Worths(items, max(total - len(wanted) + len(items), len(items)), rests_on)


def _delivered(use: Use, now: int) -> str:
    days = max(0, now - use.first_at) // DAY_MS
    since = f" in {days + 1} days" if days else " today"
    return f"delivered {_times(use.delivered)}{since}, last on {iso(use.last_at)[:10]}"


def _not(failed: int) -> str:
    return f", and {_times(failed)} not" if failed else ""


def _times(number: int, noun: str = "") -> str:
    if noun:
        return f"{number:,} {noun}{'s' * (number != 1)}"
    return "once" if number == 1 else "twice" if number == 2 else f"{number:,} times"
