"""Doctor checks, which change nothing; counts of decisions and deliveries, compared and repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from satchel.base.errors import SatchelError, StoreDamaged, StoreForeign, StoreMissing, Untrusted
from satchel.base.records import dataclass
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.index import index_of, mismatch_problems
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import kept
from satchel.keep.corrections import log as corrections
from satchel.keep.kinds import KINDS
from satchel.keep.projects import Workplace
from satchel.store import backups
from satchel.store.engine import Engine
from satchel.store.failures import one_line
from satchel.store.schema import SCHEMA_VERSION
from satchel.store.transaction import Transaction, first_number, grouped
from satchel.store.upkeep import Check

_MAX_NAMED = 5
_SAMPLE = 50
_COMPARED_WHOLE = 100_000
# Of the items, and of the store, beyond which only a sample of texts is compared: it takes more than 20 seconds.
_COMPARED_BYTES = 64 << 20
_AT_ONCE = 500
_KIND_OF_TABLE = {kind.table: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class BeyondRepair(Check):
    """A failure that needs a backup or an empty store; `init --new` moves such a file aside."""


# A check's name and function; a :class:`SatchelError` means that it failed.
Examination = tuple[str, Callable[[Engine], Check]]


def examine(engine: Engine, warnings: tuple[str, ...], further: tuple[Examination, ...] = ()) -> Iterator[Check]:
    if warnings:
        yield Check("configuration", "warning", "; ".join(warnings))
    else:
        yield Check("configuration", "ok", "every value is valid")
    place = _guarded("place", lambda engine: engine.upkeep.check_place(), engine)
    yield place
    if place.status == "failed" or not engine.exists():
        return
    yield from engine.upkeep.check_unopened()
    for name, examination in (
        ("store", _check_version),
        (engine.upkeep.soundness[0], _check_soundness),
        ("schema", _check_schema),
        ("texts", _check_texts),
        ("index", _check_index),
        ("counts", _check_counts),
        ("deliveries", _check_deliveries),
        ("corrections", _check_corrections),
        *further,
    ):
        check = _guarded(name, examination, engine)
        yield check
        if check.status == "failed" and examination in {_check_version, _check_soundness, _check_schema}:
            break
    yield from engine.upkeep.check_surroundings()
    yield _check_backups(engine)


def whereabouts(workplace: Workplace, origin: str) -> Check:
    engine = workplace.engine
    agent = "no agent is named" if workplace.agent is None else f"agent {workplace.agent}"
    run = "no run is chosen" if workplace.run_id is None else f"run {workplace.run_id}"
    trusted, unwritable = engine.upkeep.trust_reason(), engine.upkeep.unwritable_list()
    place = f"{agent}; {run}; store {engine.location}, {origin}; "
    if unwritable is not None:
        return Check(
            "here",
            "warning",
            f"{place}trusted: {trusted}; {unwritable} cannot be written, so backups stay in the "
            "store's folder and no new store can be listed: make it writable, or point XDG_STATE_HOME elsewhere",
        )
    return Check("here", "ok", f"{place}trusted: {trusted}")


def _listed(problems: list[str]) -> str:
    more = len(problems) - _MAX_NAMED
    return "; ".join(problems[:_MAX_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _row_name(table: str, key: str) -> str:
    kind = _KIND_OF_TABLE.get(table)
    return f"{kind.ref(int(key))}" if kind is not None and key.isdigit() else f"row {key} of {table}"


def _check_version(engine: Engine) -> Check:
    with engine.read() as transaction:
        rows = transaction.all("SELECT max(version), (SELECT min_writer FROM store) FROM migrations")
    version, needed = rows[0]
    if needed > SCHEMA_VERSION:
        return Check("store", "warning", f"schema {version} can be read but not written by this Satchel: upgrade it")
    return Check("store", "ok", f"schema {version}, {engine.upkeep.version}")


def _check_soundness(engine: Engine) -> Check:
    name, is_sound = engine.upkeep.soundness
    problems = engine.upkeep.problems()
    if problems:
        problem = f"{one_line(problems[0])} ({len(problems)} in all)"
        # the index can be rebuilt from the items, so its damage does not require a backup
        if all(map(engine.upkeep.is_about_index, problems)):
            return Check(name, "failed", f"{problem}; `satchel doctor --rebuild` rebuilds the index")
        return _beyond_repair(name, problem, engine)
    return Check(name, "ok", is_sound)


def _check_index(engine: Engine) -> Check:
    with engine.read() as transaction:
        count = first_number(transaction, "SELECT count(*) FROM documents")
        is_large = engine.upkeep.size() > _COMPARED_BYTES or count > _COMPARED_WHOLE
        problems = index_problems(transaction, is_sample=is_large)
    if problems:
        return Check("index", "failed", f"{'; '.join(problems)}; `satchel doctor --rebuild` rebuilds it")
    agree = "index, documents and tables agree"
    return Check("index", "ok", f"{agree}, with a sample of the texts: the store is large" if is_large else agree)


def _check_counts(engine: Engine) -> Check:
    with engine.read() as transaction:
        problems = count_problems(transaction)
    if problems:
        return Check("counts", "failed", f"{'; '.join(problems)}; `satchel doctor --rebuild` recounts")
    return Check("counts", "ok", "the counts match the decisions")


def _check_deliveries(engine: Engine) -> Check:
    with engine.read() as transaction:
        recorded, orphaned, of_others = count_deliveries(transaction)
    if of_others:
        return _beyond_repair(
            "deliveries",
            f"{of_others} of {recorded} belong to another project than their run: somebody changed the file",
            engine,
        )
    leftovers = f", {orphaned} of deleted items; `satchel clear --compact` removes those" if orphaned else ""
    return Check("deliveries", "ok", f"{recorded} recorded{leftovers}")


def _check_corrections(engine: Engine) -> Check:
    with engine.read() as transaction:
        recorded, orphaned, holding = corrections.examine(transaction)
    if holding:
        return Check(
            "corrections",
            "failed",
            f"{_listed(holding)} was replaced or retracted but is still active: somebody changed the file; "
            "`satchel retract` ends an item by its id",
        )
    if orphaned:
        return Check(
            "corrections",
            "warning",
            f"{orphaned} of {recorded} refer to items missing in their project: somebody changed the file; nothing "
            "depends on them",
        )
    return Check("corrections", "ok", f"{recorded} recorded")


def _check_backups(engine: Engine) -> Check:
    if engine.upkeep.dump_command(None) is not None:
        return Check("backups", "ok", "they are the database's own; `satchel backup` prints the command that makes one")
    made = engine.upkeep.backups()
    if not made:
        return Check("backups", "warning", "no backup yet; `satchel backup` creates one")
    try:
        backups.verify(made[-1].file)
    except SatchelError as error:
        return Check("backups", "failed", f"the newest is not usable: {error.problem}; `satchel backup` creates one")
    return Check("backups", "ok", f"{len(made)}, the newest {made[-1].file.name} passed its check")


def _guarded(name: str, examination: Callable[[Engine], Check], engine: Engine) -> Check:
    try:
        with engine.without_deadline():
            return examination(engine)
    except (StoreDamaged, StoreForeign) as error:
        return _beyond_repair(name, error.problem, engine)
    except StoreMissing as error:
        if engine.upkeep.newest_backup() is not None:
            return BeyondRepair(name, "failed", f"{error.problem}; {error.remedy}")
        return BeyondRepair(
            name, "failed", f"{error.problem}; there is no usable backup: `satchel init --new` starts an empty store"
        )
    except Untrusted as error:
        if engine.upkeep.is_acceptable():
            return Check(name, "failed", f"{error.problem}; {error.remedy}")
        return _beyond_repair(name, error.problem, engine)
    except SatchelError as error:
        return Check(name, "failed", f"{error.problem}; {error.remedy}")
    except (LookupError, TypeError, ValueError, AssertionError, engine.faults) as error:
        # no column can hold this value: the row was changed outside Satchel
        return _beyond_repair(name, f"rows were changed outside Satchel ({one_line(error)})", engine)


def _beyond_repair(name: str, problem: str, engine: Engine) -> BeyondRepair:
    return BeyondRepair(name, "failed", f"{problem}; {engine.upkeep.recovery_hint()}")


def _check_schema(engine: Engine) -> Check:
    problems = engine.upkeep.schema_problems()
    if problems:
        return _beyond_repair("schema", one_line(_listed(problems)), engine)
    return Check("schema", "ok", "only objects that Satchel created")


def _check_texts(engine: Engine) -> Check:
    problems = engine.upkeep.text_problems(_row_name)
    if problems:
        problem = f"{'; '.join(problems)}; they are shown as damaged, and never exported, shared or written back"
        return _beyond_repair("texts", f"{problem}; `satchel forget` removes an item by its id", engine)
    return Check("texts", "ok", "every text was read")


def index_problems(transaction: Transaction, *, is_sample: bool = False) -> list[str]:
    """Return the differences between index, documents and tables, by number and by text, of all or of a sample."""
    problems = [*mismatch_problems(transaction), *documents.count_problems(transaction)]
    indexed = "SELECT item_id FROM documents WHERE kind = :kind"
    for kind, thing in KINDS.items():
        for text, source in (
            ("not in the documents", f"{kind.table} WHERE id NOT IN ({indexed})"),
            ("in the documents but gone", f"({indexed}) AS d WHERE item_id NOT IN (SELECT id FROM {kind.table})"),
        ):
            count = first_number(transaction, f"SELECT count(*) FROM {source}", {"kind": kind.number})
            if count:
                problems.append(f"{count} items of kind {thing.name} are {text}")
    return problems + _text_problems(transaction, is_sample=is_sample)


def _text_problems(transaction: Transaction, *, is_sample: bool) -> list[str]:
    # compares the items' texts with the index, word by word
    index = index_of(transaction)
    highest = first_number(transaction, "SELECT max(id) FROM documents") if is_sample else 0
    rows = transaction.all(
        "SELECT kind, id, item_id, project_id, run_id, type FROM documents WHERE id % :step = 0 OR id > :newest",
        {"step": max(1, highest // _SAMPLE), "newest": highest - _SAMPLE // 2},
    )
    indexed = index.fingerprints([row[1] for row in rows] if is_sample else None)
    wrong: list[str] = []
    for number, of_kind in grouped((row[0], row[1:]) for row in rows).items():
        kind = KIND_OF[number]
        for start in range(0, len(of_kind), _AT_ONCE):
            step = of_kind[start : start + _AT_ONCE]
            texts = kept.texts(KINDS[kind], transaction, [row[1] for row in step])
            for document, item, project, run, item_type in step:
                if item in texts:
                    document_of = Document(kind, item, 0, project, run, texts[item], 0, item_type)
                    if index.fingerprint(document_of) != indexed.get(document, 0):
                        wrong.append(kind.ref(item))
    return [f"{len(wrong)} texts are not what the index holds, such as {wrong[0]}"] if wrong else []


# Per kind of name: the junction table, its column, and the dimension in ``decision_counts``.
_JUNCTIONS = {"tags": ("decision_tags", "tag_id", 2), "scopes": ("decision_scopes", "scope_id", 3)}

_COUNTED = " UNION ALL ".join(
    (
        "SELECT project_id, 0 AS dimension, 0 AS name_id, status, count(*) AS decisions "
        "FROM decisions GROUP BY project_id, status",
        "SELECT project_id, 1, COALESCE(layer_id, 0), status, count(*) "
        "FROM decisions GROUP BY project_id, layer_id, status",
        *(
            f"SELECT d.project_id, {dimension}, j.{column}, d.status, count(*) "
            f"FROM {table} j JOIN decisions d ON d.id = j.decision_id GROUP BY d.project_id, j.{column}, d.status"
            for table, column, dimension in _JUNCTIONS.values()
        ),
    )
)
_DIFFERS = "(j.status <> d.status OR j.created_at <> d.created_at)"
_ORPHANED = " OR ".join(
    f"(kind = {kind.number} AND NOT EXISTS (SELECT 1 FROM {kind.table} o WHERE o.id = deliveries.item_id))"
    for kind in Kind
)
_OF_OTHERS = " UNION ALL ".join(
    f"SELECT 1 FROM deliveries d JOIN windows w ON w.id = d.window_id JOIN {kind.table} t ON t.id = d.item_id "
    f"WHERE d.kind = {kind.number} AND t.project_id <> w.project_id"
    for kind in Kind
)


def count_problems(transaction: Transaction) -> list[str]:
    problems: list[str] = []
    for what, (table, _, _) in _JUNCTIONS.items():
        sql = f"SELECT count(*) FROM {table} j JOIN decisions d ON d.id = j.decision_id WHERE {_DIFFERS}"
        count = first_number(transaction, sql)
        if count:
            problems.append(f"{count} {what} of decisions have the wrong status or time")
    # a count of zero may be a row or missing
    count = first_number(
        transaction,
        f"""
        SELECT count(*) FROM (
            SELECT 1 FROM ({_COUNTED} UNION ALL
                SELECT project_id, dimension, name_id, status, -decisions FROM decision_counts) AS both_sides
            GROUP BY project_id, dimension, name_id, status HAVING sum(decisions) <> 0
        ) AS differing
        """,
    )
    if count:
        problems.append(f"{count} counts of decisions are wrong")
    return problems


def recount(transaction: Transaction) -> None:
    for table, column, _ in _JUNCTIONS.values():
        transaction.run(
            f"""
            INSERT INTO {table} ({column}, status, created_at, decision_id)
            SELECT DISTINCT j.{column}, d.status, d.created_at, d.id
            FROM {table} j JOIN decisions d ON d.id = j.decision_id WHERE {_DIFFERS} ON CONFLICT DO NOTHING
            """
        )
        transaction.run(
            f"""
            DELETE FROM {table} AS j
            WHERE EXISTS (SELECT 1 FROM decisions d WHERE d.id = j.decision_id AND {_DIFFERS})
            """
        )
    transaction.run("DELETE FROM decision_counts")
    transaction.run(f"INSERT INTO decision_counts (project_id, dimension, name_id, status, decisions) {_COUNTED}")


def delete_deliveries(transaction: Transaction, kind: Kind, number: int) -> None:
    transaction.run(
        "DELETE FROM deliveries WHERE kind = :kind AND item_id = :item", {"kind": kind.number, "item": number}
    )


def delete_sightings(transaction: Transaction, kind: Kind, number: int) -> None:
    # the last condition is that of the index
    transaction.run(
        "DELETE FROM seen WHERE kind = :kind AND item_id = :item AND item_id <> 0",
        {"kind": kind.number, "item": number},
    )


def delete_orphaned_deliveries(transaction: Transaction) -> int:
    # bulk deletions leave them behind, since they are not looked up by item
    return transaction.execute(f"DELETE FROM deliveries WHERE {_ORPHANED}")


def count_deliveries(transaction: Transaction) -> tuple[int, int, int]:
    """Return the numbers of all delivery records, those of deleted items, and those of another project's items."""
    [row] = transaction.all(
        f"""
        SELECT (SELECT count(*) FROM deliveries), (SELECT count(*) FROM deliveries WHERE {_ORPHANED}),
            (SELECT count(*) FROM ({_OF_OTHERS}) AS others)
        """
    )
    return row[0], row[1], row[2]
