"""Facets of a project's memory, and the flags of items in its list: confirmed, stale, pinned, used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from satchel.base.clock import DAY_MS
from satchel.base.records import NamedTuple, dataclass
from satchel.base.text import fold
from satchel.brief.room.looking import Look
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import citations
from satchel.keep.corrections.log import CONFIRMED
from satchel.keep.entries.records import SCRATCHPAD
from satchel.keep.housekeeping.usage import NameUse, count_names
from satchel.keep.kinds import KINDS
from satchel.keep.projects import Project, Workplace
from satchel.store.transaction import Row

# How many items' flags are read at once.
MOST_FLAGGED = 100

_MOST_NAMES = 20
# How many of the newest notes on files are compared with the disk for the number of stale ones.
_MOST_CITED = 200

# In how many windows, newest first, uses are counted.
_WINDOWS = 500

# The kinds that a project's memory consists of; of notes all but scratchpads.
MEMORY = (Kind.CONSTRAINT, Kind.DECISION, Kind.ERROR_PATTERN, Kind.ENTRY, Kind.PACKAGE, Kind.STRATEGY)


@dataclass(frozen=True, slots=True)
class Facet:
    """A value by which the list of memory can be filtered, with the number of its items."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Facets:
    """The facets of a project's memory, or of one kind in it, scratchpads left out.

    Attributes:
        total: the number of items in force, drafts included; it and ``kinds`` are of all kinds.
        kinds: by kind, in force.
        states: live, draft, ended (retracted, replaced or deprecated), stale, unconfirmed (rules), pinned.
        tags: of decisions and rules, the most used first, at most 20; so are ``files`` and ``authors``.
        progress: the number of scratchpads, which the list hides.
    """

    total: int
    kinds: tuple[Facet, ...]
    states: tuple[Facet, ...]
    tags: tuple[Facet, ...]
    files: tuple[Facet, ...]
    authors: tuple[Facet, ...]
    progress: int


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of an item in the list.

    Attributes:
        ref: its short id.
        confirmed_by: who confirmed it, the latest first.
        is_pinned: whether every briefing has it.
        is_stale: whether the text that a note cites has changed on the disk; None if unknown.
        sessions: in how many of the newest 500 windows of sessions it was added to context.
    """

    ref: str
    confirmed_by: tuple[str, ...]
    is_pinned: bool
    is_stale: bool | None
    sessions: int


@dataclass(frozen=True, slots=True)
class Flagged:
    """The flags of items, in the order in which they were asked for."""

    items: tuple[Flags, ...]


_COUNTED = f"""
    SELECT kind, type, status, agent_id, count(*) FROM documents
    WHERE project_id = :project AND kind IN ({", ".join(str(kind.number) for kind in MEMORY)})
        AND (expires_at IS NULL OR expires_at > :now)
    GROUP BY 1, 2, 3, 4
"""
# from an index alone
_FILES = """
    SELECT file, count(*) FROM context
    WHERE project_id = :project AND file IS NOT NULL AND superseded_by IS NULL GROUP BY file
"""


class _Counts(NamedTuple):
    items: list[Row]
    files: tuple[Facet, ...]
    tags: tuple[NameUse, ...]
    unconfirmed: int
    cited: dict[int, citations.Place]


_counts: dict[tuple[str, int], tuple[tuple[int, int], _Counts]] = {}


def _count_items(look: Look, project: Project, work: Workplace) -> _Counts:
    # counting 100,000 items takes longer than a page may, so it is done once a change, or a minute, since items expire
    place, moment = (work.engine.location, project.id), (project.seq, look.now // 60_000)
    if place not in _counts or _counts[place][0] != moment:
        ((unconfirmed,),) = look.rows(f"SELECT count(*) {_UNCONFIRMED}")
        _counts[place] = (
            moment,
            _Counts(
                look.rows(_COUNTED),
                _facets(Counter(dict(look.rows(_FILES))))[:_MOST_NAMES],
                count_names(look.transaction, project, "tag").names,
                unconfirmed,
                citations.load_newest(look.transaction, project.id, _MOST_CITED),
            ),
        )
    return _counts[place][1]


def count(look: Look, project: Project, work: Workplace, only: Kind | None) -> Facets:
    """Return the facets of a project's memory, or of the only kind that is asked for."""
    kinds: Counter[str] = Counter(dict.fromkeys((KINDS[kind].name for kind in MEMORY), 0))
    states, authors = Counter[str](), Counter[str]()
    progress = 0
    counted = _count_items(look, project, work)
    names_of: dict[int, str] = dict(look.rows("SELECT id, name FROM agents WHERE project_id = :project"))
    for number, type_, status, agent, items in counted.items:
        kind, author = KIND_OF[number], names_of.get(agent)
        is_counted = only in {None, kind}
        if kind is Kind.ENTRY and type_ == SCRATCHPAD:
            progress += items
            continue
        state = KINDS[kind].statuses[status - 1]
        is_draft = state == "draft"
        if status != 1 and not is_draft:
            states["ended"] += items * is_counted
            continue
        kinds[KINDS[kind].name] += items
        if is_counted:
            states["draft" if is_draft else "live"] += items
            authors.update({author: items} if author else {})
    pins = look.rows("SELECT kind, count(*) FROM pins WHERE project_id = :project GROUP BY 1")
    states["pinned"] = sum(items for number, items in pins if only in {None, KIND_OF[number]})
    of_notes, of_rules = only in {None, Kind.ENTRY}, only in {None, Kind.CONSTRAINT}
    states["stale"] = sum(_compare(work, counted.cited).values()) if of_notes else 0
    states["unconfirmed"] = counted.unconfirmed if of_rules else 0
    of_decisions = only in {None, Kind.DECISION}
    tags = Counter({one.name: one.decisions * of_decisions + one.rules * of_rules for one in counted.tags})
    return Facets(
        sum(kinds.values()),
        _facets(kinds),
        _facets(states),
        tuple(one for one in _facets(tags)[:_MOST_NAMES] if one.count),
        counted.files if of_notes else (),
        _facets(authors)[:_MOST_NAMES],
        progress,
    )


_UNCONFIRMED = "FROM constraints WHERE project_id = :project AND active = 1 AND unconfirmed = 1"


def _facets(counts: Counter[str]) -> tuple[Facet, ...]:
    return tuple(Facet(name, number) for name, number in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _compare(work: Workplace, places: dict[int, citations.Place]) -> dict[int, bool]:
    compared = citations.Comparing(work.files_root).compare(places)
    return {number: citation.is_stale for number, citation in compared.items()}


def flags(look: Look, work: Workplace, refs: Collection[tuple[Kind, int]]) -> Flagged:
    """Return the flags of items that the project has, in their order."""
    wanted = f"({{0}}, {{1}}) IN (VALUES {', '.join(f'({kind.number}, {number})' for kind, number in refs)})"
    confirmed: dict[tuple[int, int], dict[str, None]] = {}
    for kind_number, number, agent in look.rows(
        f"""
        SELECT c.item_kind, c.item_id, a.name FROM corrections c LEFT JOIN agents a ON a.id = c.agent_id
        WHERE c.project_id = :project AND c.action = {CONFIRMED} AND c.undone_at IS NULL
            AND {wanted.format("c.item_kind", "c.item_id")} ORDER BY +c.id DESC
        """
    ):
        confirmed.setdefault((kind_number, number), {})[agent or ""] = None
    pinned = set(
        look.rows(f"SELECT kind, item_id FROM pins WHERE project_id = :project AND {wanted.format('kind', 'item_id')}")
    )
    uses = {
        (kind_number, number): sessions
        for kind_number, number, sessions in look.rows(
            f"""
            SELECT d.kind, d.item_id, count(DISTINCT w.session_id) FROM (
                SELECT id, session_id FROM windows WHERE project_id = :project ORDER BY id DESC LIMIT {_WINDOWS}
            ) w JOIN deliveries d ON d.window_id = w.id WHERE {wanted.format("d.kind", "d.item_id")} GROUP BY 1, 2
            """
        )
    }
    stale = _compare(work, citations.load(look.transaction, [number for kind, number in refs if kind is Kind.ENTRY]))
    rows = []
    for kind, number in refs:
        key = kind.number, number
        by = tuple(filter(None, confirmed.get(key, ())))
        is_stale = stale.get(number) if kind is Kind.ENTRY else None
        rows.append(Flags(kind.ref(number), by, key in pinned, is_stale, uses.get(key, 0)))
    return Flagged(tuple(rows))


# How many items of a state or tag are listed, the newest.
MOST_SELECTED = 500

_MOST_USED = 100
_DRAFT = KINDS[Kind.DECISION].statuses.index("draft") + 1
_SELECTED = {
    "draft": f"""
        SELECT kind, item_id FROM documents
        WHERE project_id = :project AND kind = {Kind.DECISION.number} AND status = {_DRAFT} ORDER BY id DESC
    """,
    "pinned": "SELECT kind, item_id FROM pins WHERE project_id = :project ORDER BY created_at DESC",
    "unconfirmed": f"SELECT {Kind.CONSTRAINT.number}, id {_UNCONFIRMED} ORDER BY id DESC",
    "used": f"""
        SELECT d.kind, d.item_id FROM (
            SELECT id, session_id FROM windows WHERE project_id = :project ORDER BY id DESC LIMIT {_WINDOWS}
        ) w JOIN deliveries d ON d.window_id = w.id WHERE d.kind IN ({", ".join(str(kind.number) for kind in MEMORY)})
        GROUP BY 1, 2 ORDER BY count(DISTINCT w.session_id) DESC, max(d.created_at) DESC LIMIT {_MOST_USED}
    """,
    "tag": f"""
        SELECT {Kind.DECISION.number}, j.decision_id FROM decision_tags j JOIN tags t ON t.id = j.tag_id
        WHERE t.project_id = :project AND t.folded = :tag
        UNION SELECT {Kind.CONSTRAINT.number}, j.constraint_id FROM constraint_tags j JOIN tags t ON t.id = j.tag_id
        WHERE t.project_id = :project AND t.folded = :tag ORDER BY 2 DESC
    """,
}
SELECTIONS = ("stale", *_SELECTED)


def select(look: Look, work: Workplace, what: str, tag: str = "") -> tuple[str, ...]:
    """Return the short ids of the items of a state, of a tag, or of those used in most sessions."""
    if what == "stale":
        compared = _compare(work, citations.load_newest(look.transaction, look.project_id, _MOST_CITED))
        return tuple(Kind.ENTRY.ref(number) for number, is_stale in compared.items() if is_stale)
    statement = f"SELECT * FROM ({_SELECTED[what]}) AS selected LIMIT {MOST_SELECTED}"
    return tuple(KIND_OF[kind].ref(number) for kind, number in look.rows(statement, tag=fold(tag)))


MOST_DAYS = 90


@dataclass(frozen=True, slots=True)
class Day:
    """The tokens added to context in one day, which began at midnight UTC, in milliseconds."""

    began_at: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Spending:
    """The tokens added to context in a number of days.

    Attributes:
        days: every day in order, today last.
        per_session: the average tokens of a session that received something; None without any.
    """

    days: tuple[Day, ...]
    tokens: int
    deliveries: int
    per_session: int | None


def count_spending(look: Look, days: int) -> Spending:
    """Return the tokens added to context in the last days, today included."""
    today = look.now // DAY_MS
    rows = look.rows(
        """
        SELECT day, sum(tokens), sum(deliveries) FROM delivery_days
        WHERE project_id = :project AND day > :before AND day <= :today GROUP BY 1
        """,
        today=today,
        before=today - days,
    )
    spent = {day: int(tokens) for day, tokens, _ in rows}
    ((sessions, in_sessions),) = look.rows(
        """
        SELECT count(DISTINCT session_id), sum(tokens) FROM windows
        WHERE project_id = :project AND session_id <> 0 AND seen_at >= :began AND tokens > 0
        """,
        began=(today - days + 1) * DAY_MS,
    )
    return Spending(
        days=tuple(Day(day * DAY_MS, spent.get(day, 0)) for day in range(today - days + 1, today + 1)),
        tokens=sum(spent.values()),
        deliveries=sum(int(times) for *_, times in rows),
        per_session=round(in_sessions / sessions) if sessions else None,
    )
