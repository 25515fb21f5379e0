"""Statistics of a project and its store, and counts per layer."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.records import dataclass
from satchel.base.retention import HOUR_MS
from satchel.base.vocabulary import LAYERS, TAGS
from satchel.find.documents import until_expiry
from satchel.find.kind import Kind
from satchel.keep.expiry import GOES_ON
from satchel.keep.kinds import KINDS
from satchel.keep.names import PERSONS
from satchel.keep.projects import Project
from satchel.store.engine import Engine
from satchel.store.transaction import Transaction, first_number


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a project: pairs of name and count, and numbers of unexpired items.

    For a workplace confined to the project, figures of the store and of other projects are None.

    Attributes:
        kinds: pairs of searchable kind and number of unexpired items.
        superseded: number of superseded entries.
        turns: number of turns of active conversations; ``turn_bytes``: size of their questions, prompts and answers.
        content_bytes: size of the contents stored for diffs.
        sent_tokens: tokens of all their prompts; ``saved_tokens``: the extra cost of sending every file each time.
        vector_stores: number recorded at providers: in use, or to be deleted.
        tags: number of names besides the predefined ones, used or not; likewise ``scopes``.
    """

    location: str | None
    project: str | None
    seq: int
    runs: int
    active_runs: int
    agents: int
    persons: int
    kinds: tuple[tuple[str, int], ...]
    entries: tuple[tuple[str, int], ...]
    superseded: int
    decisions: tuple[tuple[str, int], ...]
    constraints: tuple[tuple[str, int], ...]
    messages: int
    file_changes: int
    claims: int
    packages: tuple[tuple[str, int], ...]
    error_patterns: int
    solutions: int
    strategies: int
    deliveries: int
    conversations: int
    turns: int
    turn_bytes: int
    content_bytes: int
    sent_tokens: int
    saved_tokens: int
    vector_stores: int
    tags: int
    scopes: int
    other_projects: int | None
    size_bytes: int | None
    bytes_per_item: int | None
    schema_version: int | None

    @property
    def total_entries(self) -> int:
        return sum(count for _, count in self.entries)


# loaded here: `satchel init` counts after its commit
_ENTRY_TYPES = KINDS[Kind.ENTRY].types
_STATUSES = {kind: KINDS[kind].statuses for kind in (Kind.ENTRY, Kind.DECISION, Kind.CONSTRAINT, Kind.PACKAGE)}

_BUILT_IN_TAGS = ", ".join(f"'{name}'" for name in TAGS)
_LIVE = f"c.project_id = :project AND c.turns > 0 AND {GOES_ON}"
_BY_KIND = """
    SELECT kind, type, status, count(*) FROM documents
    WHERE project_id = :project AND (expires_at IS NULL OR expires_at > :now) GROUP BY kind, type, status
"""
_CONVERSATIONS = f"""
    SELECT count(*), COALESCE(sum(turns), 0), COALESCE(sum(sent_tokens), 0),
        COALESCE(sum(CASE WHEN resent_tokens > sent_tokens THEN resent_tokens - sent_tokens ELSE 0 END), 0)
    FROM conversations c WHERE {_LIVE}
"""


def count_up(transaction: Transaction, engine: Engine | None, project: Project, now: int) -> Statistics:
    # ``engine`` None leaves out the store's own figures
    values = {"project": project.id, "now": now}

    def count(sql: str) -> int:
        return first_number(transaction, sql, values)

    def cached_count(sql: str) -> int:
        return until_expiry(transaction, project.id, now, sql, lambda: count(sql))

    kind_counts = until_expiry(transaction, project.id, now, _BY_KIND, lambda: transaction.all(_BY_KIND, values))
    of_kind = {kind: sum(row[-1] for row in kind_counts if row[0] == kind.number) for kind in KINDS}

    def by_status(kind: Kind) -> tuple[tuple[str, int], ...]:
        return _numbered(_STATUSES[kind], [(status, n) for one, _, status, n in kind_counts if one == kind.number])

    of_type = [(number, n) for one, number, _, n in kind_counts if one == Kind.ENTRY.number]
    entries = _numbered(_ENTRY_TYPES, of_type)
    conversations, turns, tokens_sent, saved = transaction.all(_CONVERSATIONS, values)[0]
    everything = 0 if engine is None else cached_count("SELECT count(*) FROM documents")
    size = None if engine is None else engine.upkeep.size()
    return Statistics(
        location=None if engine is None else engine.location,
        project=project.name if project.id else None,
        seq=project.seq,
        runs=count("SELECT count(*) FROM runs WHERE project_id = :project"),
        active_runs=count("SELECT count(*) FROM runs WHERE project_id = :project AND status = 1"),
        agents=count(f"SELECT count(*) FROM agents WHERE project_id = :project AND id NOT IN {PERSONS}"),
        persons=count(f"SELECT count(*) FROM agents WHERE id IN {PERSONS}"),
        kinds=tuple((kind.name.lower(), of_kind[kind]) for kind in KINDS),
        entries=tuple((name, number) for name, number in entries if number),
        superseded=by_status(Kind.ENTRY)[1][1],
        decisions=by_status(Kind.DECISION),
        constraints=by_status(Kind.CONSTRAINT),
        messages=of_kind[Kind.MESSAGE],
        file_changes=of_kind[Kind.FILE_CHANGE],
        claims=count("SELECT count(*) FROM file_claims WHERE project_id = :project AND expires_at > :now"),
        packages=by_status(Kind.PACKAGE),
        error_patterns=of_kind[Kind.ERROR_PATTERN],
        solutions=cached_count(
            "SELECT count(*) FROM error_solutions s JOIN error_patterns p ON p.id = s.pattern_id "
            "WHERE s.project_id = :project AND p.expires_at > :now"
        ),
        strategies=of_kind[Kind.STRATEGY],
        deliveries=cached_count(
            "SELECT count(*) FROM deliveries d JOIN windows w ON w.id = d.window_id "
            "WHERE w.project_id = :project AND d.kind > 0"
        ),
        conversations=conversations,
        turns=turns,
        turn_bytes=count(
            "SELECT COALESCE(sum(octet_length(t.question) + octet_length(t.prompt) + octet_length(t.answer)), 0) "
            f"FROM conversation_turns t JOIN conversations c ON c.id = t.conversation_id WHERE {_LIVE}"
        ),
        content_bytes=count("SELECT COALESCE(sum(size), 0) FROM blobs WHERE project_id = :project"),
        sent_tokens=tokens_sent,
        saved_tokens=saved,
        vector_stores=count("SELECT count(*) FROM vector_stores WHERE project_id = :project"),
        tags=count(f"SELECT count(*) FROM tags WHERE project_id = :project AND folded NOT IN ({_BUILT_IN_TAGS})"),
        scopes=count("SELECT count(*) FROM scopes WHERE project_id = :project"),
        other_projects=None if engine is None else count("SELECT count(*) FROM projects") - (project.id > 0),
        size_bytes=size,
        bytes_per_item=round(size / everything) if everything and size is not None else None,
        schema_version=None if engine is None else count("SELECT max(version) FROM migrations"),
    )


def _numbered(names: Sequence[str], counts: Sequence[tuple[int, int]]) -> tuple[tuple[str, int], ...]:
    return tuple((name, sum(n for number, n in counts if number == place)) for place, name in enumerate(names, 1))


@dataclass(frozen=True, slots=True)
class LayerCount:
    """Counts of a layer, or of items without one, with the file changes of the last hour."""

    layer: str | None
    active_decisions: int
    recent_file_changes: int
    active_constraints: int


@dataclass(frozen=True, slots=True)
class LayerSummary:
    """Counts of all layers in order of creation, then of items without a layer."""

    rows: tuple[LayerCount, ...]
    changes_since: int
    seq: int


# counted separately: joins would multiply the rows
_ACTIVE_DECISIONS = """
    SELECT name_id, decisions FROM decision_counts WHERE project_id = :project AND dimension = 1 AND status = 1
"""
# per layer, so that only the last hour of the index is read; expiry need not be checked, since
# retention.file_changes_hours is at least 1
_RECENT_FILE_CHANGES = """
    SELECT COALESCE(l.id, 0), (
        SELECT count(*) FROM file_changes c
        WHERE c.project_id = :project AND c.layer_id IS NOT DISTINCT FROM l.id
            AND c.created_at > :since
    )
    FROM (SELECT id FROM layers WHERE project_id = :project UNION ALL SELECT NULL) AS l
"""
_ACTIVE_CONSTRAINTS = """
    SELECT COALESCE(layer_id, 0), count(*) FROM constraints
    WHERE project_id = :project AND active = 1 GROUP BY layer_id
"""


def by_layer(transaction: Transaction, project: Project, now: int) -> LayerSummary:
    since = now - HOUR_MS
    if not project.id:
        return LayerSummary(tuple(LayerCount(layer, 0, 0, 0) for layer in (*LAYERS, None)), since, 0)
    values = {"project": project.id, "since": since}
    layers: list[tuple[int, str | None]] = transaction.all(
        "SELECT id, name FROM layers WHERE project_id = :project ORDER BY id", values
    )
    decisions: dict[int, int] = dict(transaction.all(_ACTIVE_DECISIONS, values))
    changes: dict[int, int] = dict(transaction.all(_RECENT_FILE_CHANGES, values))
    constraints: dict[int, int] = dict(transaction.all(_ACTIVE_CONSTRAINTS, values))
    rows = tuple(
        LayerCount(name, decisions.get(number, 0), changes.get(number, 0), constraints.get(number, 0))
        for number, name in (*layers, (0, None))
    )
    return LayerSummary(rows, since, project.seq)
